-- SPDX-License-Identifier: BSD-3-Clause
--- Events for the changes that two snapshots of a model show: moves of pages, and settings that others changed.
local automove = require "slate.facts.automove"
local setting_changes = require "slate.facts.changes"

local M = {}

local OWN_S <const>, NOTE_BYTES <const> = 5, 170 -- a change from here is read back at once

local function pages_of(classes, id)
    return classes[id] and classes[id].total_pages or 0
end

-- "class 4: 120 → 118, class 12: 31 → 33 pages" for the classes whose page count changed, and whether one lost pages;
-- nil when none did.
local function page_changes(before, now)
    local changes, ids, bytes, has_loss = {}, {}, 0, false
    for id, class in pairs(now) do
        ids[#ids + 1] = (class.total_pages or 0) ~= pages_of(before, id) and id or nil
    end
    for id in pairs(before) do
        ids[#ids + 1] = not now[id] and pages_of(before, id) ~= 0 and id or nil
    end
    table.sort(ids)
    for _, id in ipairs(ids) do
        has_loss = has_loss or pages_of(now, id) < pages_of(before, id)
        if bytes < NOTE_BYTES then
            local text = ("class %d: %d → %d"):format(id, pages_of(before, id), pages_of(now, id))
            bytes = bytes + #text + 2
            changes[#changes + 1] = bytes < NOTE_BYTES and text or "…"
        end
    end
    return changes[1] and table.concat(changes, ", ") .. " pages", has_loss
end

-- True if a text of a change from here is of this change: another client may set another value at the same time.
local function has(text, one)
    return text:find(one.label, 1, true) and (not one.value or text:find(one.value, 1, true))
end

-- True if slatetop itself makes the change now, or did just now, which an event says.
local function is_own(model, one, wall_s)
    if model.changing and has(model.changing, one) then
        return true
    end
    for i = #model.events, 1, -1 do
        local event = model.events[i]
        if event.wall_s < wall_s - OWN_S then
            return false
        elseif event.kind == "you" and has(event.text, one) then
            return true
        end
    end
    return false
end

-- The changes that others made: those that the server recorded, each with ago_s, and other settings that differ.
local function changes_seen(model)
    local list, who, ago_s, is_known = {}, {}, {}, {}
    for _, one in ipairs(setting_changes.of_recorded(model.now.changes or {}, model.now)) do
        who[one.name], ago_s[one.name], is_known[one.name] = one.who, one.ago_s, not one.is_part
        list[#list + 1] = not one.is_part and one or nil
    end
    for _, one in ipairs(setting_changes.of_settings(model.before.settings or {}, model.now.settings or {})) do
        one.who, one.ago_s = who[one.name], ago_s[one.name]
        list[#list + 1] = not is_known[one.name] and one or nil
    end
    return list
end

local function note_setting(model, wall_s, one, who)
    model:note_late("setting", wall_s, one.text .. (who and ", by " .. who or ""), one.ago_s or 0)
end

--- Notes the flush that the server recorded, once the snapshot is judged: its author stands in the event of the
--- incident, if there is one.
function M.note_flush(model, wall_s)
    local one = model.flush
    if not one then
        return
    end
    local told = require("slate.judge.incident_words").title({ name = "flush" })
    model.flush = nil
    for i = #model.events, 1, -1 do
        local event = model.events[i]
        if event.wall_s < wall_s - OWN_S then
            break
        elseif event.is_incident and event.text:find(told, 1, true) == 1 then
            event.text = one.who and event.text:gsub("^a client", (one.who:gsub("%%", "%%%%"))) or event.text
            return
        end
    end
    note_setting(model, wall_s, one, one.who)
end

local function note_settings(model, wall_s)
    for _, one in ipairs(changes_seen(model)) do
        if one.name == "flush_all" then
            model.flush = one -- its incident is found later in this snapshot, or was in one before
        elseif not (one.is_move and model.changing) and not is_own(model, one, wall_s) then
            note_setting(model, wall_s, one, model.author_of and model.author_of(one.name, one.is) or one.who)
        end
    end
end

--- Notes the changes between the last two snapshots: of settings by others, and of pages, which may follow from them.
-- While the chunk sizes of a slated change, its pages go from class to class: the change has an event of its own.
function M.note(model, wall_s)
    local mode = (model.now.settings or {}).slab_automove
    local pages, has_loss = page_changes(model.classes_before, model.classes)
    note_settings(model, wall_s)
    model.has_moved = pages ~= nil
    if pages and (model.answers:parsed("geometry") or {}).state ~= "draining" then
        model:note("pages", wall_s, pages).is_by_command = has_loss and not model.changing
            and not (mode and automove.name_of(mode) ~= "off")
    end
    local before, now = model.before.general, model.now.general
    model.was_changed = before.limit_maxbytes ~= now.limit_maxbytes or before.cmd_flush ~= now.cmd_flush
end

return M
