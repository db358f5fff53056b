-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl rules list|test: an operator's own rules, see slate-rules(7).
local gather = require "slate.base.gather"
local must = require("slate.base.failure").must
local rules = require "slate.judge.rules"
local units = require "slate.base.units"

local M = {}

function M.declare(command)
    command:argument("action", "list what the file has, or test it: over a recording, else on the server.")
        :choices({ "list", "test" }):argname("list|test")
    command:argument("file", "The rules. Default: SLATE_RULES, else slate/rules.lua in the folder of configurations")
        :args("?"):argname("FILE")
    command:option("--recording", "With test: run the rules over this recording."):argname("FILE")
    command:option("--interval", "With test: time between the two samples that give the rates. Default: 1s")
        :argname("TIME"):convert(units.parse_duration)
end

local function list(context, own, path)
    local json = require "slate.base.json"
    local names, titles = gather.values(own.rules, "name"), gather.values(own.columns, "title")
    return context:answer("slate/rules/1", { path = path, rules = json.array(names), columns = json.array(titles),
    }, function()
        context:out(context:pairs({ { "file", path }, { "rules", table.concat(names, ", ") },
            { "columns", table.concat(titles, ", ") } }, true))
    end)
end

local function out(context, findings, about)
    if context.json then
        about.findings = require("slate.base.json").array(findings)
        context:out_json("slate/rules-test/1", about)
        return
    end
    for _, finding in ipairs(findings) do
        local when = finding.first_s and ("%s to %s: "):format(units.age(finding.first_s), units.age(finding.last_s))
            or ""
        context:out(("%s%s: %s: %s\n"):format(when, finding.name, finding.severity, finding.what))
    end
    context:out(#findings == 0 and "nothing was found\n" or units.plural(#findings, "finding") .. "\n")
end

-- Fails the test if a rule is broken. Returns 0; or nil, message, code.
local function judged(own)
    local name, problem = next(own.off)
    if name then
        return nil, ("rule %s is broken: %s"):format(name, problem), "no"
    end
    return 0
end

-- The facts of the server that rules may use; or nil, message, code.
local function observe(context, interval_s)
    local client = must(context:open())
    local now, before, rates, judge, one = context:pair(client, interval_s)
    client:close()
    if not now then
        return nil, before, rates
    end
    return { now = now, before = before, rates = rates, judge = judge, one = one }
end

local function test(context, own, parsed)
    if not parsed.recording then
        local known = must(observe(context, parsed.interval or 1))
        local findings = own:findings(known)
        own:values(known)
        out(context, findings, { server = known.now.server })
        return judged(own)
    end
    local snapshots = must(context:recordings({ parsed.recording }))
    local findings = require("slate.judge.history").findings_over(snapshots, function(known)
        own:values(known)
        return own:findings(known)
    end)
    out(context, findings, { recording = parsed.recording, snapshots = #snapshots })
    return judged(own)
end

local function is_there(path)
    local file <close> = io.open(path)
    return file ~= nil
end

function M.run(context, parsed)
    local path = parsed.file or rules.path()
    if not path then
        return nil, "no file of rules is known: name one, or set HOME or SLATE_RULES", "usage"
    elseif not parsed.file and not is_there(path) then
        return nil, ("no rules yet: there is no %s"):format(path), "no"
    end
    local own = must(rules.open(path, { log = function(text) context:print_note("rules: " .. text) end }))
    return (parsed.action == "list" and list or test)(context, own, parsed.action == "list" and path or parsed)
end

return M
