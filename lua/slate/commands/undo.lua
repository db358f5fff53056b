-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl undo [ID]: takes a change back that slatectl made.
local audit = require "slate.facts.audit"
local steps = require "slate.act.steps"

local M = {}

function M.declare(command)
    command:argument("id", "The change. Default: the last one made to the server that was not taken back"):args("?")
        :argname("ID"):convert(function(text) return require("slate.base.units").parse_whole(text, 1) end)
    command:flag("--force", "Take a setting back also when somebody changed it since.")
    command:flag("--dry-run", "Show what would be done; do nothing.")
end

-- A setting must still have the value that the change gave it.
local function is_untouched(client, entry)
    local settings = require "slate.facts.settings"
    local values, message, code = require("slate.facts.runtime").read(client)
    if not values then
        return nil, message, code
    end
    local now = settings.value(values, entry.name, tostring(entry.is))
    if not settings.same(entry.name, tostring(entry.is), now or "") then
        return nil, ("%s is %s, not %s as change %d left it: somebody changed it since; --force goes back to %s all "
            .. "the same"):format(entry.name, now, entry.is, entry.id, entry.was), "no"
    end
    return true
end

-- A server goes back by one change of its chunk sizes: to undo an earlier one would take back another.
local function is_last_geometry(client, entry)
    local change, message, code = require("slate.facts.geometry").read(client)
    if not change then
        return nil, message, code
    elseif entry.generation and change.generation ~= entry.generation then
        return nil, ("the chunk sizes were changed since change %d: only the last change of them can be taken back")
            :format(entry.id), "no"
    end
    return true
end

-- May the change be taken back by this step? True; or nil, message, code.
local function check(client, entry, step, force)
    if step.kind == "geometry" then
        return is_last_geometry(client, entry)
    elseif step.kind == "set" and not force then
        return is_untouched(client, entry)
    end
    return true
end

-- Codes that say of the change that it cannot be taken back, rather than that the server was not reached.
local AT_FAULT <const> = { no = true, usage = true, unsupported = true, refused = true, input = true }

-- How to get past a change that cannot be taken back: "" when none is on record before it.
local function way_past(entries, stuck)
    for i = #entries, 1, -1 do
        local entry = entries[i]
        if entry.id < stuck.id and entry.server == stuck.server and not entry.undoes and steps.reverse(entry)
            and audit.last_undone(entries, entry.server, entry.id) then
            return ("; for the change before it: slatectl undo %d"):format(entry.id)
        end
    end
    return ""
end

-- Takes one entry back. Returns an exit code; or nil, message, code.
local function take_back(context, entry, parsed)
    local step, problem = steps.reverse(entry)
    if not step then
        return nil, problem, "no"
    end
    local client, message, code = context:open()
    if not client then
        return nil, message, code
    end
    local ok
    ok, message, code = check(client, entry, step, parsed.force)
    if not ok then
        return nil, message, code
    end
    if parsed.dry_run then
        context:out(("would undo change %d: %s\nnothing was sent\n"):format(entry.id, steps.words(step)))
        return 0
    end
    local words, id, why = steps.carry_out(context, client, step, entry.id)
    if not words then
        return nil, ("change %d cannot be taken back: %s"):format(entry.id, id), why
    end
    if context.json then
        context:out_json("slate/undo/1", { server = context.server.name, id = id, undoes = entry.id, words = words })
    else
        context:out(("change %d is taken back: %s\n"):format(entry.id, words))
        if step.kind == "move" then
            context:out("the pages are back; items that the move lost are not\n")
        end
    end
    return 0
end

function M.run(context, parsed)
    local entries = audit.read(audit.path())
    if context.format == "csv" then
        return nil, "undo has no rows: use --json", "usage"
    end
    local entry, problem = audit.last_undone(entries, context.server.name, parsed.id)
    if not entry then
        return nil, problem, "no"
    end
    local exit_code, message, code = take_back(context, entry, parsed)
    if not exit_code and not parsed.id and AT_FAULT[code] then
        message = message .. way_past(entries, entry)
    end
    return exit_code, message, code
end

return M
