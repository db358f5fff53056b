-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl stats [GROUP]: one group of statistics, names and order as the server sends them.
local stats = require "slate.facts.stats"

local M = {}

-- Groups that only slated has, for an answer that says more than ERROR.
local SLATED_GROUPS <const> = {
    slated = true, policies = true, pages = true, moves = true, geometry = true, curve = true, whatif = true,
    hotkeys = true, latency = true, describe = true, automove = true, audit = true,
    sizehist = true, evictions = true, memory = true, forecast = true,
}

function M.declare(command)
    command:argument("group", "general when absent; items, slabs, settings, sizes, conns, and on slated: "
        .. "slated, policies, pages, moves, geometry, curve, whatif, forecast, hotkeys, latency, automove, audit, "
        .. "sizehist, evictions, memory, describe")
        :args("*"):argname("GROUP")
end

local function explain(group, message, code)
    if code ~= "unsupported" then
        return nil, message, code
    elseif SLATED_GROUPS[group:match("^%S*")] then
        return nil, ("stats %s needs slated: this server does not know it"):format(group), code
    end
    return nil, ("this server does not know 'stats %s'"):format(group), code
end

-- Typed values by name, NULL as null; lines that are no STAT lines are kept as they are.
local function as_json(lines)
    local json = require "slate.base.json"
    local values, others = {}, json.array()
    for _, line in ipairs(lines) do
        local name, text = stats.split(line)
        if name then
            local value = stats.typed(name, text)
            values[name] = value == nil and json.null or value
        else
            others[#others + 1] = line
        end
    end
    return { stats = values, lines = #others > 0 and others or nil }
end

local function as_text(context, lines)
    local rows = {}
    for i, line in ipairs(lines) do
        local name, text = stats.split(line)
        rows[i] = name and { name, text } or { line, "" }
    end
    return (context:pairs(rows):gsub("%s+\n", "\n"))
end

function M.run(context, parsed)
    local group = table.concat(parsed.group, " ")
    local client, message, code = context:connect()
    if not client then
        return nil, message, code
    end
    local lines
    lines, message, code = client:stats(group)
    if not lines then
        return explain(group, message, code)
    end
    client:close()
    if context.json then
        local fields = as_json(lines)
        fields.server, fields.time_s, fields.group = context.server.name, require("slate.base.clock").time_s(), group
        context:out_json("slate/stats/1", fields)
    else
        context:out(as_text(context, lines))
    end
    return 0
end

return M
