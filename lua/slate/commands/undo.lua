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

local function dry_run(context, client, entry, force)
    local step, message, code = steps.check_back(context, client, entry, force)
    if not step then
        return nil, message, code
    end
    context:out(("would undo change %d: %s\nnothing was sent\n"):format(entry.id, steps.words(step)))
    return 0
end

-- Takes one entry back. Returns an exit code; or nil, message, code.
local function take_back(context, entry, parsed)
    local can, problem = steps.reverse(entry)
    if not can then
        return nil, problem, "no"
    end
    local client, message, code = context:open()
    if not client then
        return nil, message, code
    end
    if parsed.dry_run then
        return dry_run(context, client, entry, parsed.force)
    end
    local words, id, why = steps.take_back(context, client, entry, parsed.force)
    if not words then
        if id:find("somebody changed it since", 1, true) then
            id = ("%s; --force goes back to %s all the same"):format(id, entry.was)
        end
        return nil, ("change %d cannot be taken back: %s"):format(entry.id, id), why
    end
    if context.json then
        context:out_json("slate/undo/1", { server = context.server.name, id = id, undoes = entry.id, words = words })
    else
        context:out(("change %d is taken back: %s\n"):format(entry.id, words))
        if entry.what == "move" then
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
