-- SPDX-License-Identifier: BSD-3-Clause
--- Changes as slatetop shows them: whether they may be sent, which lines are sent, and their words. Pure.
--
-- slatetop's review has changes { from, to, pages } (class ids; to 0: the pool) and { name, value, and of an undo of
-- chunk sizes auto, as in its step }, with values as on the screen. A step is of slate.act.steps.
local class_ids = require "slate.facts.class_ids"
local find = require "slate.base.find"
local gather = require "slate.base.gather"
local geometry = require "slate.facts.geometry"
local move = require "slate.act.move"
local page_moves = require "slate.facts.moves"
local settings = require "slate.facts.settings"
local settings_change = require "slate.facts.settings_change"
local settings_shown = require "slate.facts.settings_shown"
local steps = require "slate.act.steps"
local units = require "slate.base.units"

local M = {}

local GEOMETRY <const> = "slabs geometry "

--- The step of a change.
function M.step(change)
    if change.pages then
        return { kind = "move", src = change.from, dst = change.to, pages = change.pages }
    elseif change.name == "geometry" then
        return { kind = "geometry", line = GEOMETRY .. change.value }
    end
    local row = settings.row(change.name)
    return { kind = "set", name = change.name, value = row and settings.text(row, change.value) or change.value }
end

--- The change of a step: the inverse of M.step.
function M.change(step)
    if step.kind == "move" then
        return { from = step.src, to = step.dst, pages = step.pages }
    elseif step.kind == "geometry" then
        return { name = "geometry", value = step.line:sub(#GEOMETRY + 1), auto = step.auto }
    end
    local row = settings.row(step.name)
    return { name = step.name, value = row and settings.shown(row, step.value) or step.value }
end

--- The changes of steps that all move pages; nil if one does not.
function M.moves(list)
    local moves = {}
    for i, step in ipairs(list) do
        if step.kind ~= "move" then
            return nil
        end
        moves[i] = M.change(step)
    end
    return moves
end

local function why_not_moved(one, who, change)
    local ok, message = require("slate.facts.store").needs_slab(who, "pages that move")
    if ok and change.from == move.POOL then
        ok, message = nil, "choose a class to take pages from"
    elseif ok then
        ok, message = move.plan(one.now, { src = change.from, dst = change.to, pages = change.pages,
            slated = who.slated })
    end
    return not ok and message:gsub("; nothing was sent", "") or nil
end

--- Why a change may not be sent to a server, and a code: "usage" if another value may; nil if it may. one: of
-- slate.judge.view; replies: as for slate.facts.settings_shown.list.
function M.why_not(one, who, replies, change)
    if not one.now then
        return "nothing is known about the server yet", "no"
    elseif change.pages then
        return why_not_moved(one, who, change), "usage"
    end
    local id = change.name == "class_policy" and tonumber(change.value:match(" (%d+)$") or 0)
    if id and not find.by(one.now.classes, "id", id) then
        return ("this server has no class %d"):format(id), "no"
    end
    return settings_shown.check_shown(who, replies, change.name, change.value)
end

--- Why the undo of a setting would overwrite another client's value: a sentence; nil if it would not. replies: as for
-- M.why_not; change: its field undoes is the entry on record that it takes back.
function M.why_set_since(replies, change)
    local entry = change.undoes
    local now = entry and settings.value((settings.values(replies)), entry.name, tostring(entry.is))
    if now and settings.is_set_since(entry, now) then
        local name, text = M.named(entry.name, now)
        local _, left = M.named(entry.name, tostring(entry.is))
        return ("%s is no longer %s but %s: another client changed it since"):format(name, left, text)
    end
end

--- The lines to send for a change: a list of { line, times }.
function M.lines(who, replies, change)
    if change.pages then
        local commands = move.commands({ src = change.from, dst = change.to, pages = change.pages,
            slated = who.slated })
        return { { line = commands[1], times = #commands } }
    end
    local row, lines = settings.row(change.name), {}
    local text = row and settings.text(row, change.value) or change.value
    local each = row and settings_change.lines(row, text, who, (settings.values(replies)))
        or { ("config set %s %s"):format(change.name, text) }
    each = each and row == settings.row("geometry") and geometry.lines(each[1], change.auto) or each
    for i, line in ipairs(each or {}) do
        lines[i] = { line = line, times = 1 }
    end
    return lines
end

local function label(step)
    local row = settings.row(step.kind == "geometry" and "geometry" or step.name)
    local id = step.name == "class_policy" and step.value:match(" (%d+)$")
    return id and "policy of class " .. id or row and row.label or step.name
end

-- A setting's value as the screen shows it, from the server's text; of a class's policy only the policy.
local function value(step, text)
    local row = settings.row(step.name)
    text = step.name == "class_policy" and text:match("^%S+") or text
    return row and settings.shown(row, text) or text
end

--- The name and value of a setting in the words of the screen, from the server's: "memory limit", "56 MiB".
function M.named(name, text)
    local step = { name = name, value = text }
    return settings_shown.label_and_value(label(step), value(step, text))
end

-- A setting's change as it is on record: "automove ratio 0.80 → 0.60". step: with its name and value.
local function recorded(step, entry)
    return settings_shown.changed(label(step), value(step, entry.was or ""), value(step, entry.is))
end

--- "move 3 pages from class 4 to class 12", "set automove ratio to 0.60", "4 changes".
function M.title(list)
    local step = list[1]
    if #list > 1 then
        return M.moves(list) and #list .. " moves of pages" or #list .. " changes"
    elseif step.kind == "move" then
        return steps.words(step)
    elseif step.kind == "geometry" then
        return ("set %s to %s"):format(label(step), M.change(step).value)
    end
    return ("set %s to %s"):format(M.named(step.name, step.value))
end

--- The words of a step under way. moved, wanted: pages; nil for a setting.
function M.progress(step, moved, wanted)
    if step.kind == "move" then
        return ("moved %d of %s, class %d to %s"):format(moved or 0, units.plural(wanted or step.pages, "page"),
            step.src, units.place(step.dst))
    end
    return (M.title({ step }):gsub("^set ", "setting "))
end

--- The words of a step that is done. entry: of the record; words: of slate.act.steps.
function M.done(step, entry, words)
    if step.kind == "move" then
        return words
    elseif step.kind == "geometry" then
        local order = M.change(step).value
        local auto = geometry.auto_after(order, entry.auto_was, step.auto)
        return ("%s: %s has begun; the tune view shows how far it is%s"):format(label(step), order,
            auto and "; automatic sizes are " .. (auto == "yes" and "on again" or "off now") or "")
    end
    return recorded(step, entry)
end

--- The items that moves are known to have cost; nil if unknown. entries: of the record.
function M.lost_by(entries)
    local lost
    for _, entry in ipairs(entries) do
        lost = entry.items_lost and (lost or 0) + entry.items_lost or lost
    end
    return lost
end

-- The sum of moves: "9 of 12 pages moved, 5461 items lost". list: their steps; entries: of those made.
local function summed(list, entries)
    local lost = M.lost_by(entries)
    return ("%d of %s moved%s"):format(gather.sum(entries, "pages"), units.plural(gather.sum(list, "pages"), "page"),
        lost and ", " .. units.plural(lost, "item") .. " lost" or "")
end

--- How a plan ended, of which `count` steps are done; the next one failed, or (else) leaving slatetop stopped the plan.
-- run: steps, done, the entries of the record, and left, words on changes that stay because others changed them since;
-- text: about the last step. Of moves the sum comes first.
function M.ended(run, text, count, has_failed)
    local sum = M.moves(run.steps) and summed(run.steps, run.done)
    if #run.steps == 1 then
        return text
    elseif count == #run.steps and run.left[1] then
        return ("%d of %d changes made; %s"):format(count - #run.left, count, table.concat(run.left, "; "))
    elseif count == #run.steps then
        return sum and ("all %d moves made: %s"):format(count, sum)
            or ("all %d changes made; the last: %s"):format(count, text)
    end
    return ("%sstopped %s change %d of %d: %s"):format(sum and sum .. "; " or "", has_failed and "at" or "after",
        has_failed and count + 1 or count, #run.steps, text)
end

--- A change in few words, to stand before its figures. entries: its entries in the record; text: about its end.
function M.short(list, entries, title, text)
    local entry = entries[1]
    if #list > 1 then
        return title
    elseif entry.what == "move" then
        return ("moved %s %s"):format(units.plural(entry.pages, "page"), page_moves.way(entry.src, entry.dst))
    end
    return text
end

--- The step by which an entry of the record was made.
function M.step_of(entry)
    return { kind = entry.what, name = entry.name, value = entry.is, line = entry.is, src = entry.src, dst = entry.dst,
        pages = entry.pages }
end

--- The steps that take a list of entries back, the last first, and words on class ids that changed; nil and a message
-- if one entry cannot be taken back. now: the last snapshot of the server, or nil.
function M.way_back(entries, now)
    local list, all_words = {}, ""
    for i = #entries, 1, -1 do
        local entry, step, words = entries[i], nil, ""
        if now then
            entry, words = class_ids.of_now(entry, now.classes)
        end
        all_words = all_words .. words
        if entry then
            step, words = steps.reverse(entry, now and now.general)
        end
        if not step then
            return nil, words
        end
        list[#list + 1] = step
    end
    return list, all_words
end

--- A change that another program made, in words. entry: of the record of changes.
function M.entry(entry)
    local step = M.step_of(entry)
    local what = entry.what == "set" and recorded(step, entry) or entry.what == "geometry" and entry.is
        or steps.words(step)
    return ("%s, change %d on record"):format(what, entry.id)
end

--- What was read back of an entry of unknown outcome, in words; or nil and why that failed. is_made, words: of
-- slate.act.recorded.
function M.read_back(entry, is_made, words)
    if is_made == nil then
        return nil, words
    end
    return M.entry(entry) .. (is_made and ": it was made" or ": it was not made: " .. words)
end

return M
