-- SPDX-License-Identifier: BSD-3-Clause
--- Steps that change a server: settings and page moves, planned, carried out, verified, put on record and taken back.
--
-- A step is { kind = "set", name, value }, { kind = "move", src, dst, pages, reason } or { kind = "geometry", line }.
-- All requests go through a client: a blocking one (slate.wire.client) or that of a talk (slate.act.talk). A context
-- has who (of Client:identify), server.name, print_note and snapshot, as slate.cli.context, and perhaps a record, of
-- slate.facts.audit, and named, a function that turns the name and value of a setting into those of a screen.
local audit = require "slate.facts.audit"
local faults = require "slate.facts.faults"
local move = require "slate.act.move"
local runtime = require "slate.facts.runtime"
local settings = require "slate.facts.settings"
local settings_change = require "slate.facts.settings_change"
local snapshot = require "slate.facts.snapshot"
local verdict = require "slate.judge.verdict"

local M = {}

local MOVE_LIMIT_S <const> = 60

--- A step in words.
function M.words(step)
    if step.kind == "geometry" then
        return "order " .. step.line
    end
    if step.kind == "set" then
        return ("set %s %s%s"):format(step.name, step.was and settings.named(step.name, step.was) .. " -> " or "",
            settings.named(step.name, step.value))
    end
    return ("move %s from %s to %s%s"):format(require("slate.base.units").plural(step.pages, "page"),
        step.src == 0 and "the pool" or "class " .. step.src, step.dst == 0 and "the pool" or "class " .. step.dst,
        step.reason and ": " .. step.reason or "")
end

--- A changed setting in words. change: name, was and is, as of slate.facts.settings_change.plan and of the record.
function M.changed_words(change)
    return ("%s: %s -> %s"):format(change.name, settings.named(change.name, change.was),
        settings.named(change.name, change.is))
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

local function set(context, client, change, undoes)
    if settings.same(change.name, change.is, change.was) then
        return ("%s is %s already"):format(named(context, change.name, change.was))
    end
    local fault = faults.of_setting(context.who, change.name, change.is)
    if fault then
        context:print_note("caution: " .. fault)
    end
    local ok, message, code = runtime.apply(client, change, context.who)
    if not ok then
        return nil, message, code
    end
    local entry = { what = "set", name = change.name, was = change.was, is = change.is, back = change.back,
        undoes = undoes }
    local id = audit.note(context, entry)
    return M.changed_words(change), id, entry
end

local function order(context, client, step, undoes)
    local ok, id, entry = require("slate.facts.geometry").change(context, client, step.line, undoes)
    if not ok then
        return nil, id, entry
    end
    return M.words(step), id, entry
end

-- Pages that moved go on record, even if others did not move, or the connection broke.
local function move_pages(context, client, plan, undoes, progress)
    local seen = {}
    local result, message, code = move.run(client, plan, { wait = true, limit_s = MOVE_LIMIT_S, result = seen,
        progress = progress })
    local pages = result and result.pages_moved or seen.pages_seen or 0
    local entry = pages > 0 and audit.move(plan.before, { src = plan.src, dst = plan.dst, pages = pages,
        undoes = undoes, items_lost = (result or seen).items_lost }) or nil
    local id = entry and audit.note(context, entry)
    if not result then
        return nil, message, code, entry
    end
    if entry then -- for the end of a trial; not on record
        entry.dst_pages = result.dst_pages_after
    end
    if result.state ~= "moved" then
        return nil, move.words(plan, result), "no", entry
    end
    return move.words(plan, result), id, entry
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
        return order(context, client, step, undoes)
    end
    return move_pages(context, client, prepared, undoes, progress)
end

-- taking back ---------------------------------------------------------------------------------

local OPPOSITE <const> = { ["slabs geometry pause"] = "slabs geometry resume",
    ["slabs geometry resume"] = "slabs geometry pause" }

-- True if the server was restarted since a move, and has given its pages anew.
local function is_of_earlier_start(entry, general)
    local started_s = snapshot.started_s(general)
    return tonumber(entry.started_s) and started_s
        and (entry.pid ~= general.pid or math.abs(entry.started_s - started_s) > 1)
end

--- The step that takes an entry of the record back; nil and a message if there is none. general: `stats` of the server,
-- to find out whether it was restarted since; nil if that does not matter.
function M.reverse(entry, general)
    if entry.what == "set" and entry.name == "geometry" then -- of an older slatetop: was holds the verb back
        return { kind = "geometry", line = "slabs geometry " .. tostring(entry.was) }
    elseif entry.what == "set" then
        return { kind = "set", name = entry.name, value = tostring(entry.back or entry.was), was = tostring(entry.is) }
    elseif entry.what == "geometry" then
        return { kind = "geometry", line = OPPOSITE[entry.is] or "slabs geometry revert" }
    elseif general and is_of_earlier_start(entry, general) then
        return nil, ("change %s cannot be taken back: the server was restarted since, and its pages were given anew")
            :format(entry.id)
    elseif entry.what == "move" and entry.src >= 0 and entry.dst ~= 0 then
        return { kind = "move", src = entry.dst, dst = entry.src, pages = entry.pages }
    end
    return nil, ("change %s cannot be taken back: %s"):format(entry.id or "made here", entry.dst == 0
        and "it moved pages to the pool" or "the server chose the source itself")
end

-- The value that the setting of an entry has now, "not known" if the server does not report it; or nil, message, code.
local function value_now(context, client, entry)
    local values, message, code = runtime.read(client, context.who)
    if not values then
        return nil, message, code
    end
    return settings.value(values, entry.name, tostring(entry.is)) or "not known"
end

-- A setting must still have the value that the change gave it.
local function is_untouched(context, client, entry)
    local now, message, code = value_now(context, client, entry)
    if not now then
        return nil, message, code
    elseif not settings.same(entry.name, tostring(entry.is), now) then
        return nil, ("%s is %s, not %s as change %s left it: another client changed it since, or the server "
            .. "was restarted; nothing was sent"):format(entry.name, settings.named(entry.name, now),
            settings.named(entry.name, entry.is), entry.id or "made here"), "no"
    end
    return true
end

-- A server can take back only the last change of its chunk sizes: an undo of an earlier one would hit another.
local function is_last_geometry(client, entry)
    local change, message, code = require("slate.facts.geometry").read(client)
    if not change then
        return nil, message, code
    elseif entry.generation and change.generation ~= entry.generation then
        return nil, ("the chunk sizes were changed since change %s: only the last change of them can be taken back")
            :format(entry.id or "made here"), "no"
    end
    return true
end

--- `stats` of the server, for M.reverse; or nil, message, code.
function M.general(client)
    local lines, message, code = client:stats("")
    if not lines then
        return nil, message, code
    end
    return require("slate.facts.stats").figures(lines)
end

--- Leaves a move only the pages that its source can give: a class keeps its last one. pages: of the source, or nil.
-- True if that makes them fewer.
function M.fit_move(step, pages)
    local is_less = step.kind == "move" and pages and pages > 1 and step.pages >= pages
    step.pages = is_less and pages - 1 or step.pages
    return is_less or false
end

--- Checks that an entry can be taken back now. force: even if another client changed the setting since. Returns the
-- step, or nil, message, code.
function M.check_back(context, client, entry, force)
    local general, message, code = M.general(client)
    if not general then
        return nil, message, code
    end
    local step, problem = M.reverse(entry, general)
    if not step then
        return nil, problem, "no"
    end
    local ok = true
    if step.kind == "geometry" then
        ok, message, code = is_last_geometry(client, entry)
    elseif step.kind == "set" and not force then
        ok, message, code = is_untouched(context, client, entry)
    elseif step.kind == "move" then
        ok, message, code = client:stats("slabs")
        M.fit_move(step, ok and require("slate.facts.stats").flat(ok)[step.src .. ":total_pages"])
    end
    if not ok then
        return nil, message, code
    end
    return step
end

--- What a restart of the server has left of an entry of the record: words, and true if the entry still stands; or nil,
-- message, code.
function M.left_by_restart(context, client, entry)
    if not entry.name then
        local what = entry.what == "move" and "pages" or "chunk sizes"
        return ("the %s are those of the server's start"):format(what), false
    end
    local now, message, code = value_now(context, client, entry)
    if not now then
        return nil, message, code
    end
    local stands = settings.same(entry.name, tostring(entry.is), now)
    local name, value = named(context, entry.name, now)
    return ("%s is %s%s"):format(name, stands and "still " or "", value), stands
end

--- What the server has now of a step whose outcome is unknown, in words; or nil, message, code.
function M.words_now(context, client, step)
    if step.kind == "geometry" then
        return "the Tune view shows whether the chunk sizes change"
    elseif step.kind == "move" then
        local pages, message, code = client:stats("slabs")
        pages = pages and require("slate.facts.stats").flat(pages)
        return pages and ("class %d has %d pages now, and class %d has %d"):format(step.src,
            pages[step.src .. ":total_pages"] or 0, step.dst, pages[step.dst .. ":total_pages"] or 0), message, code
    end
    local now, message, code = value_now(context, client, { name = step.name, is = step.value })
    if not now then
        return nil, message, code
    end
    local name, value = named(context, step.name, now)
    return ("%s is %s: %s"):format(name, value,
        settings.same(step.name, step.value, now) and "set, but not on record" or "not set")
end

--- Takes an entry of the record back: as carry_out.
function M.take_back(context, client, entry, force, progress)
    local step, message, code = M.check_back(context, client, entry, force)
    if not step then
        return nil, message, code
    end
    local words, id, of, partly = M.carry_out(context, client, step, entry.id, progress)
    if words and step.kind == "move" and step.pages < entry.pages then
        words = ("%s, and class %d keeps its last page"):format(words, step.src)
    end
    return words, id, of, partly
end

-- The pages of a move that others moved on since.
local function pages_moved_on(client, entry)
    local lines, message, code = client:stats("slabs")
    if not lines then
        return nil, message, code
    end
    local now = require("slate.facts.stats").flat(lines)[entry.dst .. ":total_pages"] or 0
    return math.max(0, (entry.dst_pages or now) - now)
end

-- What others left of an entry of a trial: the entry, of a move with fewer pages if some were moved on; or false and
-- words on what others made of it; or nil, message, code.
local function left_by_others(context, client, entry)
    if entry.what == "geometry" then
        local ok, message, code = is_last_geometry(client, entry)
        if not ok and code ~= "no" then
            return nil, message, code
        end
        return ok and entry or false, message
    elseif entry.what == "move" then
        local gone, message, code = pages_moved_on(client, entry)
        if not gone then
            return nil, message, code
        elseif gone >= entry.pages then
            return false, ("the pages of class %d were moved on meanwhile"):format(entry.dst)
        end
        return setmetatable({ pages = entry.pages - gone }, { __index = entry }), gone > 0
            and ("; the other %d were moved on meanwhile"):format(gone) or ""
    end
    local now, message, code = value_now(context, client, entry)
    if not now then
        return nil, message, code
    end
    local stands = settings.same(entry.name, tostring(entry.is), now)
    if stands or settings.same(entry.name, tostring(entry.was), now) then
        return entry
    end
    local who = audit.author(audit.text(context), context.server.name, entry.name, now, entry.time_s or math.huge)
    local name, value = named(context, entry.name, now)
    return false, ("%s was changed meanwhile to %s%s"):format(name, value, who and " by " .. who or "")
end

--- Takes back an entry of a trial, or what others left of it: the words then say so, and the entry of the record is
-- nil if that is nothing. After a restart of the server since the snapshot `before`, only what still stands; the record
-- says that nothing was judged. Returns as carry_out, and true after a restart.
function M.end_trial(context, client, entry, before, progress)
    local general, message, code = M.general(client)
    if not general then
        return nil, message, code
    elseif not (before and snapshot.is_restart(before, { general = general })) then
        local rest, others, why = left_by_others(context, client, entry)
        if rest == false then
            return others .. ": not taken back"
        elseif not rest then
            return nil, others, why
        end
        local words, id, of, partly = M.take_back(context, client, rest, true, progress)
        return words and words .. (others or ""), id, of, partly
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
    local words, id, of = M.take_back(context, client, entry, true, progress)
    return words, id, of, nil, true
end

return M
