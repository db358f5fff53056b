-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl fleet apply PLAN [SERVER...]: carries a plan out on many servers, one after the other, under guards.
local bounds = require "slate.judge.bounds"
local gather = require "slate.base.gather"
local must = require("slate.base.failure").must
local rolling = require "slate.fleet.rolling"
local units = require "slate.base.units"

local M = {}

local DEFAULT_FOR_S <const> = 30

function M.declare(command)
    command:argument("file", "A plan of slatectl plan, made for any server."):argname("PLAN")
    command:argument("members", "The servers; those of -s and SLATE_SERVER when there are none."):args("*")
        :argname("SERVER"):convert(function(text) return require("slate.wire.addresses").parse(text) end)
    command:flag("--one-at-a-time", "Change one server after the other. This is always so; "
        .. "the option only makes that plain.")
    command:option("--guard", "Stop beyond this change of a server: ev+20%, ev+100, loss+20%, oom+0 or hit-2 (points); "
        .. "may be given again. Default: ev+50%, loss+50%, hit-5 and oom+0"):argname("GUARD"):count("*")
        :convert(bounds.parse_guard)
    command:option("--for", "How long each server is watched. Default: 30s"):argname("TIME")
        :convert(units.parse_duration):target("for_s")
    command:option("--interval", "Time between samples. Default: 1s"):argname("TIME"):convert(units.parse_duration)
    command:flag("--all-or-nothing", "When a guard stops the change, take it back on all servers.")
    command:flag("--dry-run", "Check that every server can take every step; change nothing.")
end

local STATES <const> = { changed = "changed", unchanged = "had it already", ["put back"] = "put back",
    ["not put back"] = "NOT PUT BACK", ["left to others"] = "others changed it",
    failed = "not changed", ["not begun"] = "not begun" }

local INKS <const> = { changed = "good", ["put back"] = "warn", ["left to others"] = "warn",
    ["not put back"] = "bad", failed = "bad" }

local function dry_run(context, contexts, found)
    local rows = gather.values(contexts, function(one, i)
        return { server = one.server.name, state = "would change",
            steps = require("slate.base.json").array(found[i]) }
    end)
    return context:answer("slate/fleet-apply/1", { dry_run = true, servers = rows }, function()
        for _, row in ipairs(rows) do
            context:out(row.server, ": would ", table.concat(row.steps, "; "), "\n")
        end
        context:out("nothing was sent\n")
    end)
end

local function out_text(context, rows, words)
    local cells = {}
    for i, row in ipairs(rows) do
        local before, during = row.before or {}, row.during or {}
        cells[i] = { row.server, STATES[row.state] or row.state, units.percent(before.hit_ratio, 2),
            units.percent(during.hit_ratio, 2), units.rate(before.evictions_per_s), units.rate(during.evictions_per_s),
            row.why or "" }
    end
    context:out(context:table("SERVER<|STATE<|HITS|THEN|EV/s|THEN|WHY<", cells,
        function(i) return INKS[rows[i].state] end), words, "\n")
end

local function count_changed(rows)
    return gather.count(rows, function(row) return row.state == "changed" end)
end

-- The state of the fleet at the end, in a sentence.
local function outcome(rows, fleet, ended)
    local changed = count_changed(rows)
    local undo = fleet and changed > 0 and ("; slatectl fleet undo %d takes all of it back"):format(fleet) or ""
    if not ended then
        return ("%s changed, and no guard was crossed%s"):format(units.plural(changed, "server"), undo)
    end
    return ("stopped at %s; %d of %s changed%s"):format(ended.server, changed, units.plural(#rows, "server"),
        changed > 0 and undo or "")
end

--- Exits with 0 if all servers have the change; 1 if a guard was crossed.
function M.run(context, parsed)
    if parsed.for_s == 0 then
        return nil, "--for takes more than 0: a server must be watched for some time", "usage"
    end
    local plan = must(require("slate.commands.change.apply").load(parsed.file))
    local contexts = must(context:contexts_of(parsed.members))
    local found, message, code = rolling.check(contexts, plan.steps)
    if not found then
        return nil, message .. "; no server was changed", code
    elseif parsed.dry_run then
        return dry_run(context, contexts, found)
    end
    local can_note, problem = require("slate.facts.audit").can_note(context)
    if not can_note then
        return nil, ("no server was changed, since a change that is not on record cannot be taken back: %s"):format(
            problem), "output"
    end
    local rows_so_far = {}
    context.summary = function()
        local changed = count_changed(rows_so_far)
        return ("%d of %s changed%s"):format(changed, units.plural(#contexts, "server"),
            changed > 0 and "; slatectl fleet undo takes all of it back" or "")
    end
    local rows, fleet, ended = rolling.apply(contexts, plan.steps, {
        guards = #parsed.guard > 0 and parsed.guard or bounds.default_guards(), for_s = parsed.for_s or DEFAULT_FOR_S,
        interval_s = parsed.interval or 1,
    }, function(row)
        rows_so_far[#rows_so_far + 1] = row
        context:print_note(("%d of %d, %s: %s%s"):format(#rows_so_far, #contexts, row.server,
            STATES[row.state] or row.state, row.why and ": " .. row.why or ""))
    end)
    local stayed = ended and parsed.all_or_nothing and rolling.put_back(contexts, rows) or 0
    local words = outcome(rows, fleet, ended)
    for _, row in ipairs(rows) do
        row.done, row.snapshot, row.steps = nil, nil, row.steps and require("slate.base.json").array(row.steps)
    end
    context:answer("slate/fleet-apply/1", { fleet = fleet, dry_run = false, outcome = words, servers = rows },
        function() out_text(context, rows, words) end)
    return (ended or stayed > 0) and 1 or 0
end

return M
