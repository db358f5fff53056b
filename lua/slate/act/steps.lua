-- SPDX-License-Identifier: BSD-3-Clause
--- Steps that change a server: settings and page moves, planned, carried out, verified, put on record and taken back.
--
-- A step is { kind = "set", name, value }, { kind = "move", src, dst, pages, reason } or { kind = "geometry", line, and
-- of an undo auto, the value of slab_geometry_auto that comes back with the sizes }.
-- All requests go through a client: a blocking one (slate.wire.client) or that of a talk (slate.act.talk). A context
-- has who (of Client:identify), server.name, print_note and snapshot, as slate.cli.context, and perhaps a record, of
-- slate.facts.audit, and named, a function that turns the name and value of a setting into those of a screen.
local audit = require "slate.facts.audit"
local class_ids = require "slate.facts.class_ids"
local clock = require "slate.base.clock"
local faults = require "slate.facts.faults"
local geometry = require "slate.facts.geometry"
local move = require "slate.act.move"
local move_outcome = require "slate.act.move_outcome"
local recorded = require "slate.act.recorded"
local runtime = require "slate.facts.runtime"
local settings = require "slate.facts.settings"
local settings_change = require "slate.facts.settings_change"
local snapshot = require "slate.facts.snapshot"
local stats = require "slate.facts.stats"
local units = require "slate.base.units"
local verdict = require "slate.judge.verdict"

local M = {}

local MOVE_LIMIT_S <const> = 60

--- A step in words.
function M.words(step)
    if step.kind == "geometry" then
        return "order " .. table.concat(geometry.lines(step.line, step.auto), ", then ")
    end
    if step.kind == "set" then
        return ("set %s %s%s"):format(step.name, step.was and settings.named(step.name, step.was) .. " -> " or "",
            settings.named(step.name, step.value))
    end
    return ("move %s from %s to %s%s"):format(units.plural(step.pages, "page"), units.place(step.src),
        units.place(step.dst), step.reason and ": " .. step.reason or "")
end

--- A changed setting in words. change: name, was and is, as of slate.facts.settings_change.plan and of the record.
function M.changed_words(change)
    local was, is = settings.named(change.name, change.was), settings.named(change.name, change.is)
    return ("%s: %s"):format(change.name, was == is and is .. " already" or was .. " -> " .. is)
end

--- Checks a step against the server as it is. Returns the change or plan to carry out, or nil, message, code.
function M.prepare(context, client, step)
    if step.kind == "set" then
        local values, traits, code = runtime.read(client, context.who)
        if not values then
            return nil, traits, code
        end
        return settings_change.plan(values, traits, step.name, step.value, context.who)
    end
    if step.kind == "geometry" then
        return step
    end
    return move.prepare(context, client, { src = step.src, dst = step.dst, pages = step.pages })
end

-- A setting and its value in words: as context.named has them, else as the server has.
local function named(context, name, text)
    if context.named then
        return context.named(name, text)
    end
    return name, settings.named(name, text)
end

-- The chunk sizes of the class ids in a change of a setting, for the record; nil without any, or if they are not known.
local function chunk_sizes(client, change)
    if not class_ids.has(change) then
        return nil
    end
    local known, classes = geometry.read(client)
    return known and class_ids.chunk_sizes(change, classes) or nil
end

local function set(context, client, change, undoes)
    if settings.same(change.name, change.is, change.was) then
        local id = undoes and audit.note(context, { what = "set", name = change.name, was = change.was, is = change.was,
            undoes = undoes }) -- or the next undo would take it for the last change again
        return ("%s is %s already"):format(named(context, change.name, change.was)), id
    end
    local fault = faults.of_setting(context.who, change.name, change.is)
    if fault then
        context:print_note("caution: " .. fault)
    end
    local entry = { what = "set", name = change.name, was = change.was, is = change.is, back = change.back,
        chunk_sizes = chunk_sizes(client, change), undoes = undoes }
    local ok, id, code, partly = recorded.make(context, client, entry, function()
        local ok, message, code, now = runtime.apply(client, change, context.who)
        entry.is = now or change.is
        if now and not settings.same(change.name, change.was, now) then -- otherwise than meant
            entry.is_partly, entry.undoes = true, nil -- if it was an undo, the change before stands
            message = ("%s, and was %s"):format(message, settings.named(change.name, change.was))
        end
        return ok, message, code
    end)
    if not ok then
        local hint = partly and partly.id and not partly.unknown and ("; undo takes change %d back"):format(partly.id)
        return nil, id .. (hint or ""), code, partly
    end
    return M.changed_words(entry), id, entry
end

local AUTO_OFF <const> = "the chunk sizes change, but automatic sizes stay off: "

-- Sends an order and the line that completes it. "sent"; or nil, message, code; the entry has what was made.
local function order(client, step, entry)
    local ok, message, code = geometry.order(client, step.line)
    if not ok then
        return nil, message, code
    end
    local line, answer = geometry.lines(step.line, step.auto)[2], nil
    if line then -- an order takes long enough that a console withholds what is not part of it
        answer, message, code = client:command(line, { is_rest = true })
        ok = answer == "OK"
    end
    if answer and not ok then
        message, code = runtime.refusal(answer)
    end
    entry.generation = (geometry.read(client) or entry).generation
    entry.is_partly = true
    return ok and "sent", not ok and AUTO_OFF .. message or nil, code
end

--- Sends an order that changes the chunk sizes, and records it with the server's number of the change, and with the
-- value of slab_geometry_auto before it. undoes: the id of a change that it takes back; step.auto: the value of
-- slab_geometry_auto before that change, which comes back with the sizes: slated's revert sets it off. Returns a
-- sentence, the id on record and the entry; or nil, message, code, and the entry of sizes that change even so.
function M.order(context, client, step, undoes)
    local before = geometry.read(client) or {}
    local entry = { what = "geometry", is = step.line, undoes = undoes, auto_was = before.auto,
        generation = before.generation and before.generation + 1 }
    local ok, id, code, partly = recorded.make(context, client, entry, function()
        return order(client, step, entry)
    end)
    if not ok then
        return nil, id, code, partly
    elseif ok ~= "sent" and #geometry.lines(step.line, step.auto) > 1 then -- read back: the second line was not sent
        return nil, AUTO_OFF .. "the connection broke", "closed", entry
    end
    return M.words(step), id, entry
end

--- Carries out a plan of slate.act.move, on record: pages that moved, even if others did not. options: as for its run;
-- fields: others of the entry. Returns the result, its id on record and the entry, both nil if no page moved; or nil,
-- message, code, and the entry of pages that moved, or may have moved.
function M.move(context, client, plan, options, fields)
    local entry, seen, began_s = audit.move(plan, fields), options.result or {}, clock.steady_s()
    options.result = seen
    local result, id, code, made = recorded.make(context, client, entry, function()
        local result, message, code = move.run(client, plan, options)
        local found = result or { pages_moved = seen.pages_seen or 0, items_lost = seen.items_lost }
        if result or not client.broken then
            entry.pages, entry.is_partly = found.pages_moved or found.pages_accepted, true
            entry.dst_pages, entry.items_lost = found.dst_pages_after, found.items_lost
        end
        return result, message, code
    end)
    if not result then
        return nil, id, code, made
    elseif result == true then -- read back
        seen.why = entry.pages < plan.pages and "the connection broke" or nil
        local problem, why
        result, problem, why = move.verify(client, plan, seen, began_s)
        return result, result and id or problem, why or entry, entry
    end
    return result, id, made
end

local function move_pages(context, client, plan, undoes, progress)
    local result, id, entry, made = M.move(context, client, plan, { wait = true, limit_s = MOVE_LIMIT_S,
        progress = progress }, { undoes = undoes })
    if not result then
        return nil, id, entry, made
    elseif result.state ~= "moved" then
        return nil, move_outcome.words(plan, result), "no", entry
    end
    return move_outcome.words(plan, result), id, entry
end

--- Prepares a step, carries it out, verifies it and puts it on record. undoes: the id of the change that the step takes
-- back. progress: a function of pages moved and wanted, during a move. Returns a sentence on the outcome, the id on
-- record and its entry (nil if nothing had to change); or nil, message, code, and the entry of a change made even so.
function M.carry_out(context, client, step, undoes, progress)
    local prepared, message, code = M.prepare(context, client, step)
    if not prepared then
        return nil, message, code
    elseif step.kind == "set" then
        return set(context, client, prepared, undoes)
    elseif step.kind == "geometry" then
        return M.order(context, client, step, undoes)
    end
    return move_pages(context, client, prepared, undoes, progress)
end

local OPPOSITE <const> = { ["slabs geometry pause"] = "slabs geometry resume",
    ["slabs geometry resume"] = "slabs geometry pause" }

-- True if the server was restarted since a move, and has given its pages anew.
local function is_of_earlier_start(entry, general)
    local started_s = snapshot.started_s(general)
    return tonumber(entry.started_s) and started_s
        and (entry.pid ~= general.pid or math.abs(entry.started_s - started_s) > 1)
end

--- The step that takes an entry of the record back; nil and a message if there is none. general: `stats` of the server,
-- to find out whether it was restarted since; nil if that does not matter. The entry's class ids are those of now.
function M.reverse(entry, general)
    if entry.what == "set" and entry.name == "geometry" then -- of an older slatetop: was holds the verb back
        return { kind = "geometry", line = "slabs geometry " .. tostring(entry.was) }
    elseif entry.what == "set" then
        return { kind = "set", name = entry.name, value = tostring(entry.back or entry.was), was = tostring(entry.is) }
    elseif entry.what == "geometry" then
        return { kind = "geometry", line = OPPOSITE[entry.is] or "slabs geometry revert", auto = entry.auto_was }
    elseif general and is_of_earlier_start(entry, general) then
        return nil, ("change %s cannot be taken back: the server was restarted since, and its pages were given anew")
            :format(entry.id)
    elseif entry.what == "move" and entry.src >= 0 and entry.dst ~= 0 then
        return { kind = "move", src = entry.dst, dst = entry.src, pages = entry.pages }
    end
    return nil, ("change %s cannot be taken back: %s"):format(entry.id or "made here", entry.dst == 0
        and "it moved pages to the pool" or "the server chose the source itself")
end

-- An entry with the class ids that the server has now, and words, as of slate.facts.class_ids; or nil, message, code.
local function entry_now(client, entry)
    if not entry.chunk_sizes then
        return entry, ""
    end
    local change, classes, code = geometry.read(client)
    if not change then
        return nil, classes, code
    end
    local now, words = class_ids.of_now(entry, classes, true)
    return now, words, "no"
end

--- As M.reverse, with the class ids that the server has now; then the entry with these, and words on them. Or nil,
-- message, code.
function M.reverse_now(client, entry, general)
    local now, words, code = entry_now(client, entry)
    if not now then
        return nil, words, code
    end
    local step, problem = M.reverse(now, general)
    return step, step and now or problem, step and words or "no"
end

-- The setting of an entry as the server has it now: { text (of the server), name, value (in words), stands (the change
-- left it so) }; or nil, message, code.
local function setting_now(context, client, entry)
    local values, message, code = runtime.read(client, context.who)
    if not values then
        return nil, message, code
    end
    local text = settings.value(values, entry.name, tostring(entry.is)) or "not known"
    local name, value = named(context, entry.name, text)
    return { text = text, name = name, value = value, stands = settings.same(entry.name, tostring(entry.is), text) }
end

-- A server can take back only the last change of its chunk sizes: an undo of an earlier one would hit another. true;
-- false and words; or nil, message, code.
local function is_last_geometry(client, entry)
    local change, message, code = geometry.read(client)
    if not change then
        return nil, message, code
    elseif entry.generation and change.generation ~= entry.generation then
        return false, ("the chunk sizes were changed since change %s: only the last change of them can be taken back")
            :format(entry.id or "made here")
    end
    return true
end

-- A setting still has the value of the change, or that of before it already. Returns as is_last_geometry.
local function is_own_setting(context, client, entry)
    local now, message, code = setting_now(context, client, entry)
    if not now then
        return nil, message, code
    elseif not settings.is_set_since(entry, now.text) then
        return true
    end
    local since_s = entry.time_s or math.huge
    local who = audit.author(audit.text(context), context.server.name, entry.name, now.text, since_s)
    local _, is = named(context, entry.name, tostring(entry.is))
    return false, ("%s is no longer %s but %s%s"):format(now.name, is, now.value, who and ", set by " .. who or "")
end

--- Leaves a move back only the pages that it may take: not those that others moved on since, and no class's last one.
-- entry: of the move that it takes back; pages: of its class now; due: by slate.facts.audit.pages_due; both nil if
-- unknown. Returns words on the pages that stay, "" if none do, and whether others moved on all of them.
function M.fit_move(step, entry, pages, due)
    local gone = pages and due and math.max(0, due - pages) or 0
    if gone >= entry.pages then
        return ("the pages of class %d were moved on meanwhile"):format(step.src), true
    end
    step.pages = entry.pages - gone
    local words = gone > 0 and ("; others moved %s on meanwhile"):format(units.plural(gone, "page")) or ""
    if pages and pages > 1 and step.pages >= pages then
        step.pages, words = pages - 1, ("%s, and class %d keeps its last page"):format(words, step.src)
    end
    return words, false
end

local function fit_move_now(context, client, step, entry, force)
    local figures, message, code = stats.read(client, "slabs")
    if not figures then
        return nil, message, code
    end
    local due = not force and audit.pages_due(audit.text(context), entry) or nil
    local words, is_gone = M.fit_move(step, entry, figures[step.src .. ":total_pages"] or 0, due)
    return not is_gone, words
end

-- The step that takes an entry back now, and words on what it leaves to others; false and words on what others made of
-- all of it since, which is not overwritten without `force`; or nil, message, code.
local function step_back(context, client, entry, force)
    if entry.unknown then
        local is_made, why, code = recorded.read_back(context, client, entry)
        if not is_made then
            entry.is_unmade = is_made == false
            return is_made, entry.is_unmade and "it was not made: " .. why or why, code
        end
    end
    local general, message, code = stats.read(client)
    if not general then
        return nil, message, code
    end
    local step, now, ids = M.reverse_now(client, entry, general)
    if not step then
        return nil, now, ids
    end
    local ok, words = true, ""
    if step.kind == "geometry" then
        ok, words, code = is_last_geometry(client, entry)
    elseif step.kind == "move" then
        ok, words, code = fit_move_now(context, client, step, entry, force)
    elseif not force then
        ok, words, code = is_own_setting(context, client, now)
    end
    return ok and step, ok and (words or "") .. ids or words, code
end

--- The way to overwrite what others made of an entry; "" where there is none.
function M.way_to_force(context, entry)
    local can_force = entry.id and not entry.undoes and not entry.is_unmade and entry.what ~= "geometry"
    return can_force and ("; to take it back anyway: slatectl -s %s undo %d --force"):format(context.server.name,
        entry.id) or ""
end

-- The refusal to overwrite what others made of an entry, from words on it.
local function refusal(context, entry, words)
    return words .. "; nothing was sent" .. M.way_to_force(context, entry)
end

local function words_left(words)
    return words .. ": not taken back"
end

--- Checks that an entry can be taken back now. force: also over what others set since, and with pages that they moved
-- on. Returns the step, and words on what it leaves to others; or nil, message, code. leaves: as for take_back; then
-- false and words for what stays.
function M.check_back(context, client, entry, force, leaves)
    local step, words, code = step_back(context, client, entry, force)
    if step == false and leaves then
        return false, words_left(words)
    elseif step == false then
        return nil, refusal(context, entry, words), "no"
    end
    return step, words, code
end

--- Takes an entry of the record back. way: force, as for check_back; leaves (what others set since stays, and that is
-- no failure: the words say so, there is no entry, and the fourth result is true); is_redo (the entry is of an undo);
-- progress. Returns as carry_out.
function M.take_back(context, client, entry, way)
    local step, rest, code = step_back(context, client, entry, way.force)
    if step == false and way.leaves then
        return words_left(rest), nil, nil, true
    elseif step == false then
        return nil, refusal(context, entry, rest), "no"
    elseif not step then
        return nil, rest, code
    end
    local undoes = not way.is_redo and entry.id or nil
    local words, id, of, partly = M.carry_out(context, client, step, undoes, way.progress)
    return words and words .. rest, id, of, partly
end

--- What a restart of the server has left of an entry of the record: words, and true if the entry still stands; or nil,
-- message, code.
function M.left_by_restart(context, client, entry)
    if not entry.name then
        local what = entry.what == "move" and "pages" or "chunk sizes"
        return ("the %s are those of the server's start"):format(what), false
    end
    local aimed, why = entry_now(client, entry)
    if not aimed then
        return why, false
    end
    local now, message, code = setting_now(context, client, aimed)
    if not now then
        return nil, message, code
    end
    return ("%s is %s%s"):format(now.name, now.stands and "still " or "", now.value), now.stands
end

--- Takes back an entry of a trial, but for what others made of it. After a restart of the server since the snapshot
-- `before`, only what still stands; the record says that nothing was judged. Returns as carry_out, and true after a
-- restart.
function M.end_trial(context, client, entry, before, progress)
    local way = { leaves = true, progress = progress }
    local general, message, code = stats.read(client)
    if not general then
        return nil, message, code
    elseif not (before and snapshot.is_restart(before, { general = general })) then
        return M.take_back(context, client, entry, way)
    end
    local left, stands, why = M.left_by_restart(context, client, entry)
    if not left then
        return nil, stands, why
    end
    local found = { not_judged = "restart" }
    found.words = ("%s; %s"):format(verdict.verdict_words(found), left)
    audit.note_outcome(context, entry.id, found)
    if not stands then
        return left .. " since the restart: nothing to take back", nil, nil, nil, true
    end
    local words, id, of = M.take_back(context, client, entry, way)
    return words, id, of, nil, true
end

return M
