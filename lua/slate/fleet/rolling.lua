-- SPDX-License-Identifier: BSD-3-Clause
--- One change on many servers, one after the other, and the way back on all of them.
--
-- First every server is checked for every step: a change that one server would refuse begins nowhere. Then each server
-- is measured, changed and watched; the first crossed guard, or the first failure, ends the round, and the changes of
-- that server are taken back. The entries of the record share the round's number, by which `undo` finds them.
local gather = require "slate.base.gather"
local limits = require "slate.judge.thresholds"
local guarded = require "slate.act.guarded"
local snapshot = require "slate.facts.snapshot"
local steps = require "slate.act.steps"
local together = require "slate.wire.together"

local M = {}

-- Checks that a server can take the steps. Returns { sizes = chunk sizes by the classes that pages move between, words
-- }; or nil, message, code.
local function check(context, list)
    local client, message, code = context:open()
    if not client then
        return nil, message, code
    end
    local found = { sizes = {}, words = {} }
    for i, step in ipairs(list) do
        local prepared
        prepared, message, code = steps.prepare(context, client, step)
        if not prepared then
            client:close()
            return nil, ("%s: %s: %s"):format(context.server.name, steps.words(step), message), code
        end
        found.words[i] = steps.words(step)
        for _, id in ipairs(step.kind == "move" and { step.src, step.dst } or {}) do
            local class = snapshot.by_id(prepared.before)[id]
            found.sizes[id] = class and class.chunk_size
        end
    end
    client:close()
    return found
end

-- "class 5" must mean the same class on every server. true, or nil, message, code.
local function same_classes(contexts, found)
    for i = 2, #found do
        for id, bytes in pairs(found[1].sizes) do
            if found[i].sizes[id] ~= bytes then
                return nil, ("class %d has chunks of %d bytes on %s and %s on %s: a plan that moves pages fits servers "
                    .. "with the same classes"):format(id, bytes, contexts[1].server.name,
                    found[i].sizes[id] and "of " .. found[i].sizes[id] or "no pages", contexts[i].server.name), "no"
            end
        end
    end
    return true
end

--- Checks all servers at once for the steps. Returns a list with a list of sentences for each server; or nil, message,
-- code of the first server that cannot take them.
function M.check(contexts, list)
    local found = {}
    for i, result in ipairs(together.each(contexts, function(context) return check(context, list) end)) do
        if not result[1] then
            return nil, result[2], result[3]
        end
        found[i] = result[1]
    end
    local ok, message, code = same_classes(contexts, found)
    if not ok then
        return nil, message, code
    end
    return gather.values(found, "words")
end

-- true when all entries are on record; else nil, message, code.
local function on_record(entries)
    for _, entry in ipairs(entries) do
        if not entry.id then
            return nil, "a change that is not on record cannot be taken back later", "output"
        end
    end
    return true
end

-- Measures a server, changes it and watches it. Fills in row.before, row.during, row.steps and row.done. Returns true,
-- or nil and the reason that ends the round: a sentence and its code ("guard" for a guard).
local function change(context, client, row, list, options)
    local now, message, code, _, one = context:pair(client, math.min(limits.lately_s, options.for_s))
    if not now then
        return nil, message, code
    end
    row.snapshot, row.before = now, require("slate.judge.view").overview(now, code)
    local sentences
    sentences, message, code = guarded.carry_out(context, client, list, row.done)
    if not sentences then
        return nil, message, code
    end
    row.steps = sentences
    local noted
    noted, message, code = on_record(row.done)
    if not noted then
        return nil, message, code
    end
    local last, sentence, why = guarded.watch(context, client, one, options)
    row.during = last
    if not last or sentence then
        return nil, sentence, why or "guard"
    end
    return true
end

-- Puts a server back over a new connection: the state of the old one is unknown. What others set meanwhile stays. Fills
-- in row.state, and empties row.done unless some of it could not be taken back.
local function put_back(context, row)
    local left, kept = #row.done, 0
    context.fleet = nil
    local client, message = context:open()
    if client then
        local _
        left, _, kept = guarded.go_back(context, client, row.done, row.snapshot)
        client:close()
    else
        context:print_note("it could not be put back: " .. message)
    end
    row.state = left > 0 and "not put back" or kept > 0 and "left to others" or "put back"
    row.done = left > 0 and row.done or {}
end

--- Puts the servers of a round that still have changes back, the last first. rows: of `apply`. Returns the number of
-- servers that could not be put back.
function M.put_back(contexts, rows)
    local failed = 0
    for i = #rows, 1, -1 do
        if #rows[i].done > 0 then
            put_back(contexts[i], rows[i])
            failed = failed + (#rows[i].done > 0 and 1 or 0)
        end
    end
    return failed
end

-- One server of a round. Returns its row { server, state, why, steps, before, during, done, snapshot }.
local function turn(context, list, options)
    local row = { server = context.server.name, done = {} }
    local client, message = context:open()
    if not client then
        row.state, row.why = "failed", message
        return row
    end
    local finished, ok, why = pcall(change, context, client, row, list, options)
    client:close()
    if finished and ok then
        row.state = #row.done > 0 and "changed" or "unchanged"
        return row
    end
    row.state, row.why = "failed", why
    if #row.done > 0 then
        put_back(context, row)
    end
    if not finished then
        error(ok, 0)
    end
    return row
end

--- Carries a list of steps out on the servers of contexts (of slate.cli.context), one after the other, after `check`.
-- options: guards, for_s, interval_s. each: called with the row of each server after its turn. Returns the rows, in
-- order, with the state "not begun" for servers without a turn; the id of the change on record (nil: none is); and the
-- row that ended the round, or nil. A raised error (Ctrl-C) first puts back the server in turn.
function M.apply(contexts, list, options, each)
    local rows, fleet, ended = {}, true, nil
    for i, context in ipairs(contexts) do
        if ended then
            rows[i] = { server = context.server.name, state = "not begun", done = {} }
        else
            context.fleet = fleet
            rows[i] = turn(context, list, options)
            for _, entry in ipairs(rows[i].done) do
                fleet = entry.fleet or fleet
            end
            ended = (rows[i].state ~= "changed" and rows[i].state ~= "unchanged") and rows[i] or nil
            each(rows[i])
        end
    end
    return rows, fleet ~= true and fleet or nil, ended
end

--- Takes entries of the record back, in the given order, each on its server, and goes on after a failure. context_of: a
-- function of the name of a server. force, dry_run: as for undo. Returns a list of { server, id, state = "taken back" |
-- "would be taken back" | "failed", words }, and the number of failures.
function M.take_back(entries, context_of, force, dry_run)
    local results, failed, clients = {}, 0, {}
    local function connected(name)
        if not clients[name] then
            local context = context_of(name)
            local client, message = context:open()
            clients[name] = { context = context, client = client, message = message }
        end
        return clients[name]
    end
    for i, entry in ipairs(entries) do
        local at = connected(entry.server)
        local words, problem = nil, at.message
        if at.client and dry_run then
            local step
            step, problem = steps.check_back(at.context, at.client, entry, force)
            words = step and steps.words(step) .. problem
        elseif at.client then
            words, problem = steps.take_back(at.context, at.client, entry, { force = force })
        end
        failed = failed + (words and 0 or 1)
        results[i] = { server = entry.server, id = entry.id, words = words or problem,
            state = not words and "failed" or dry_run and "would be taken back" or "taken back" }
    end
    for _, at in pairs(clients) do
        if at.client then
            at.client:close()
        end
    end
    return results, failed
end

return M
