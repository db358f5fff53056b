-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl undo [ID] [--run]: undoes changes by slatectl.
local audit = require "slate.facts.audit"
local must = require("slate.base.failure").must
local recorded = require "slate.act.recorded"
local stats = require "slate.facts.stats"
local steps = require "slate.act.steps"

local M = {}

function M.declare(command)
    command:argument("id", "The number of one change. Default: all changes of the last command that was not "
        .. "taken back"):args("?"):argname("ID")
        :convert(require("slate.base.units").whole(1))
    command:flag("--run", "All pages that a run of a policy moved, or all changes of a plan: of the last one, or of "
        .. "that with change ID.")
    command:flag("--force", "Take back also what others changed since: a setting, pages that they moved on.")
    command:flag("--dry-run", "Show what would be done; do nothing.")
end

-- Codes of a change that cannot be undone; others mean that the server was not reached.
local AT_FAULT <const> = { no = true, usage = true, unsupported = true, refused = true, input = true }

-- A hint how to skip a change that cannot be undone; "" if no change before it can be undone.
local function way_past(context, entries, stuck)
    local client = context:open()
    local general = client and stats.read(client)
    for entry in audit.standing(client and entries or {}) do
        if entry.id < stuck.id and entry.server == stuck.server
            and steps.reverse_now(client, entry, general) then
            return ("; to take back the change before it: slatectl undo %d"):format(entry.id)
        end
    end
    return ""
end

local function dry_run(context, client, list, force)
    local lines = {}
    for i = #list, 1, -1 do
        local step, rest, code = steps.check_back(context, client, list[i], force, #list > 1)
        if step == nil then
            must(step, rest, code)
        end
        lines[#lines + 1] = step and ("would undo change %d: %s%s\n"):format(list[i].id, steps.words(step), rest)
            or ("would leave change %d: %s\n"):format(list[i].id, rest)
    end
    context:out(table.concat(lines), "nothing was sent\n")
    return 0
end

-- Undoes one entry: { id, undoes, words, is_left (others changed it since, and it stays: only with `leaves`) }; or nil,
-- message, code.
local function take_back(context, client, entry, force, leaves)
    local words, id, why, is_left = steps.take_back(context, client, entry, { force = force, leaves = leaves })
    if not words then
        return nil, ("change %d cannot be taken back: %s"):format(entry.id, id), why
    end
    if not context.json then
        context:out(("change %d is %s: %s\n"):format(entry.id, is_left and "left" or "taken back", words))
    end
    return { id = id, undoes = entry.id, words = words, is_left = is_left }
end

-- Undoes a list, the last first; of several changes those stay that others changed since. Returns what became of each,
-- the number of those that stay, and an entry of these; or nil, message, code and the entry that cannot be undone.
local function undo_each(context, client, list, force)
    local done, left, last_left = {}, 0, nil
    for i = #list, 1, -1 do
        local one, message, code = take_back(context, client, list[i], force, #list > 1)
        if not one then
            message = #done > left and ("%s (%d of %d changes were taken back)"):format(message, #done - left, #list)
                or message
            return nil, message, code, list[i]
        end
        done[#done + 1] = one
        left, last_left = left + (one.is_left and 1 or 0), one.is_left and list[i] or last_left
    end
    return done, left, last_left
end

-- Undoes a list. An exit code; or nil, message, code and the entry that cannot be undone.
local function take_all_back(context, list, parsed)
    local client = must(context:open())
    local general = must(stats.read(client))
    for _, entry in ipairs(list) do -- before anything is changed
        local can, problem, code = steps.reverse_now(client, entry, general)
        if not can then
            return nil, problem, code, entry
        end
    end
    if parsed.dry_run then
        return dry_run(context, client, list, parsed.force)
    end
    local done, left, last_left, stuck = undo_each(context, client, list, parsed.force)
    if not done then
        return nil, left, last_left, stuck
    end
    if list[#list].what == "move" and left < #done and not context.json then
        context:out("the pages are back; items that their move lost are not\n")
    end
    if context.json then
        local first = done[1]
        for i = #done, 1, -1 do
            first = done[i].is_left and first or done[i]
        end
        context:out_json("slate/undo/1", { server = context.server.name, id = first.id, undoes = first.undoes,
            words = first.words, changes = done })
    end
    if left > 0 then
        return nil, ("%d of %d changes were taken back; others changed the rest since%s"):format(#done - left, #done,
            left == 1 and steps.way_to_force(context, last_left) or ""), "no", last_left
    end
    return 0
end

-- Reads the outcome of the last change back, if it is unknown: an undo of the change before would hit another one than
-- was meant. true; or nil, message, code.
local function read_back(context, entries)
    local last = audit.last_unknown(entries, context.server.name)
    if not last then
        return true
    end
    local client = must(context:open())
    local is_made, words, code = recorded.read_back(context, client, last)
    client:close()
    if is_made == nil then
        return nil, ("the outcome of change %d is unknown: %s"):format(last.id, words), code
    elseif is_made == (last.undoes ~= nil) then
        return nil, (is_made and ("change %d was taken back by change %d, of which the answer never came"):format(
            last.undoes, last.id) or ("change %d was not made: %s"):format(last.id, words))
            .. way_past(context, entries, last), "no"
    end
    return true
end

function M.run(context, parsed)
    local entries = must(audit.read(audit.path()))
    if context.format == "csv" then
        return nil, "undo has no rows: use --json", "usage"
    elseif not parsed.id then
        must(read_back(context, entries))
        entries = must(audit.read(audit.path()))
    end
    local entry, problem = audit.last_undoable(entries, context.server.name, parsed.id, parsed.run)
    if not entry then
        return nil, problem, "no"
    end
    local list = parsed.id and not parsed.run and { entry } or audit.of_command(entries, entry, parsed.run)
    local exit_code, message, code, stuck = take_all_back(context, list, parsed)
    if not exit_code and not parsed.id and stuck and AT_FAULT[code] then
        message = message .. way_past(context, entries, list[1])
    end
    return exit_code, message, code
end

return M
