-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl check [SERVER...]: a monitoring plugin: one line, performance data, and exit codes 0 to 3.
local caught = require("slate.base.failure").caught
local gather = require "slate.base.gather"
local must = require("slate.base.failure").must
local order = require "slate.base.order"
local bounds = require "slate.judge.bounds"
local units = require "slate.base.units"

local M = {}

local EXITS <const> = { ok = 0, warning = 1, critical = 2, unknown = 3 }
-- The order of states: a line with several gets the state with the highest rank.
local RANK <const> = { ok = 0, unknown = 1, warning = 2, critical = 3 }

function M.declare(command)
    local names = gather.values(bounds.FIGURES, function(figure)
        return ("%s (%s)"):format(figure.name, figure.what)
    end)
    command:argument("members", "The servers; those of -s and SLATE_SERVER when there are none."):args("*")
        :argname("SERVER"):convert(function(text) return require("slate.wire.addresses").parse(text) end)
    command:option("--warn", "Warn beyond this, such as ev=100. Figures: " .. table.concat(names, ", "))
        :argname("NAME=NUMBER"):count("*"):convert(bounds.parse)
    command:option("--crit", "The same, for a critical state."):argname("NAME=NUMBER"):count("*")
        :convert(bounds.parse)
    command:option("--interval", "Time between the two samples that give the rates. Default: 1s, and 3s where "
        .. "anything is evicted"):argname("TIME")
        :convert(units.parse_duration)
end

local function by_name(list)
    local values = {}
    for _, pair in ipairs(list) do
        values[pair[1]] = pair[2]
    end
    return values
end

-- A number without an exponent, which monitoring programs do not read.
local function number(value)
    if not value then
        return ""
    elseif math.abs(value) >= 1000 then
        return ("%.0f"):format(value)
    end
    return (("%.3f"):format(value):gsub("%.?0+$", ""))
end

-- 'label'=value;warn;crit; with several servers, the label begins with the server's name.
local function performance(server, figures)
    local parts = {}
    for _, figure in ipairs(figures) do
        if figure.value or figure.state == "unknown" then
            local label = (server and server .. "_" or "") .. figure.name
            local low = figure.name == "hit" or figure.name == "uptime"
            local value = figure.value and number(figure.value) .. figure.unit or "U"
            parts[#parts + 1] = ("'%s'=%s;%s;%s"):format(label:gsub("['=]", "_"), value,
                figure.warn and number(figure.warn) .. (low and ":" or "") or "",
                figure.crit and number(figure.crit) .. (low and ":" or "") or "")
        end
    end
    return table.concat(parts, " ")
end

-- The problem of a figure in words: "starving=2 (classes 14, 7)", "failed=1 (lua:mine: line 3)".
local function words_of(figure)
    if figure.state == "unknown" then
        return figure.name .. " is unknown: the server does not report it"
    end
    local ids = figure.classes or {}
    return ("%s=%s%s%s"):format(figure.name, number(figure.value), figure.unit, figure.why and (" (%s)"):format(
        figure.why) or #ids == 0 and ""
        or (#ids == 1 and " (class %s)" or " (classes %s)"):format(table.concat(ids, ", ")))
end

-- Adds the findings of an operator's own rules: critical and warning are also states of these names.
local function judge_by(own, member, result)
    for _, finding in ipairs(own:named_findings(member)) do
        if finding.severity ~= "note" then
            result.words[#result.words + 1] = finding.what
            result.state = RANK[finding.severity] > RANK[result.state] and finding.severity or result.state
        end
    end
end

-- The figures that other servers report and this one does not, in words; "" if there are none.
local function lacking(figures)
    local names = gather.values(figures, function(figure) return figure.is_lacking and figure.name or nil end)
    return #names > 0 and (" in what it reports (not %s)"):format(table.concat(names, ", ")) or ""
end

-- The result for one member: { server, state, words (problems), figures }. own: of slate.judge.rules, or nil.
local function judge(member, given, own)
    local result = { server = member.server.name, state = "ok", words = {}, figures = {} }
    if member.code == "unsupported" then
        result.state, result.words[1] = "unknown", "reports no statistics: " .. member.message
        return result
    elseif not member.client then
        result.state, result.words[1] = "critical", "down: " .. member.message:gsub("^cannot connect to .-: ", "")
        return result
    end
    result.figures = bounds.judge(member, given)
    for _, figure in ipairs(result.figures) do
        if figure.state ~= "ok" then
            result.words[#result.words + 1] = words_of(figure)
            if RANK[figure.state] > RANK[result.state] then
                result.state = figure.state
            end
        end
    end
    if own then
        judge_by(own, member, result)
    end
    return result
end

local INKS <const> = { ok = "good", warning = "warn", critical = "bad", unknown = "warn" }

local function line_of(context, results, state)
    local parts, performances, ok, lacks = {}, {}, 0, ""
    for _, one in ipairs(results) do
        if one.state == "ok" then
            ok, lacks = ok + 1, lacking(one.figures)
        else
            parts[#parts + 1] = ("%s %s"):format(one.server, table.concat(one.words, ", "))
        end
        local text = performance(#results > 1 and one.server, one.figures)
        performances[#performances + 1] = text ~= "" and text or nil
    end
    if ok > 0 then
        parts[#parts + 1] = #results == 1 and results[1].server .. " is well" .. lacks or ("%d of %s well"):format(ok,
            units.plural(#results, "server"))
    end
    local text = (table.concat(parts, "; "):gsub("[|%c]", "?"))
    return ("%s - %s | %s\n"):format(context:paint(INKS[state], state:upper()), text, table.concat(performances, " "))
end

function M.run(context, parsed)
    local servers = must(context:servers_of(parsed.members))
    local given = { warn = by_name(parsed.warn), crit = by_name(parsed.crit) }
    local own = require("slate.judge.rules").own(function(message) context:print_note(message) end)
    local results, state = {}, "ok"
    local sampled, message, code = caught(require("slate.fleet.members").sample, context, servers, parsed.interval)
    if code == "exhausted" and not context.json then -- the state of every server is unknown
        context:out(("UNKNOWN - %s\n"):format(message))
        return EXITS.unknown
    end
    for i, member in ipairs(must(sampled, message, code)) do
        results[i] = judge(member, given, own)
        if RANK[results[i].state] > RANK[state] then
            state = results[i].state
        end
    end
    order.largest_first(results, function(one) return RANK[one.state] end, "server")
    if context.json then
        local json = require "slate.base.json"
        for _, one in ipairs(results) do
            json.array(one.words)
            json.array(one.figures)
            for _, figure in ipairs(one.figures) do
                figure.classes = figure.classes and json.array(figure.classes)
            end
        end
        context:out_json("slate/check/1", { time_s = require("slate.base.clock").time_s(), state = state,
            servers = results })
    else
        context:out(line_of(context, results, state))
    end
    return EXITS[state]
end

return M
