-- SPDX-License-Identifier: BSD-3-Clause
--- The changes between two snapshots of one layout (slate.facts.record_change) as a short text, for the tape: some 3
--- bytes a changed number, decoded by a few calls. slate.facts.record_change has the text of recordings, which has only
--- letters.
--
-- A text is six groups, by the form of their values: differences of 1, 2, 3, 4 and 8 bytes, and new values of numbers
-- that are not whole. A group is the count of its changes, how many numbers to go on to each (0: 255 without a change),
-- and the values.
local change = require "slate.facts.record_change"

local M = {}

local FORMS <const> = { "i1", "i2", "i3", "i4", "i8", "d" }
local WHOLE <const>, FLOATS <const>, FAR <const> = 5, 6, 255
local pack, rep, unpack, type_of = string.pack, string.rep, string.unpack, math.type

local Code = {}
Code.__index = Code
Code.__name = "slate.console.sample_code"

--- A code for snapshots of a layout.
function M.new(layout)
    return setmetatable({ layout = layout }, Code)
end

-- The group of a change, and its value there.
local function form_of(old, new)
    if type_of(old) ~= "integer" or type_of(new) ~= "integer" then
        return FLOATS, new
    end
    local difference, form, most = new - old, 1, 0x80
    while form < WHOLE and (difference < -most or difference >= most) do
        form, most = form + 1, most << 8
    end
    return form, difference
end

local function group_text(group, form)
    local count = #group.values
    return pack("<I2s2", count, string.char(table.unpack(group.steps)))
        .. pack("<" .. rep(form, count), table.unpack(group.values))
end

-- Notes that the number at a place changed.
local function note(groups, place, old, new)
    local form, value = form_of(old, new)
    local group = groups[form]
    local steps = group.steps
    while place - group.at > FAR do
        steps[#steps + 1], group.at = 0, group.at + FAR
    end
    steps[#steps + 1], group.at = place - group.at, place
    group.values[#group.values + 1] = value
end

--- The text of the changes; nil if `after` has another layout.
function Code:encode(before, after)
    local was, is, groups, place = change.parts_of(before), change.parts_of(after), {}, 0
    if not change.fits(self.layout, after, is) then
        return nil
    end
    for form = 1, #FORMS do
        groups[form] = { at = 0, steps = {}, values = {} }
    end
    for i, of in ipairs(self.layout) do
        local keys, before_it, after_it = of.keys, was[i], is[i]
        for at = 1, #keys do
            local key = keys[at]
            local old, new = before_it[key], after_it[key]
            if old ~= new then
                note(groups, place + at, old, new)
            end
        end
        place = place + #keys
    end
    for form, group in ipairs(groups) do
        groups[form] = group_text(group, FORMS[form])
    end
    return table.concat(groups)
end

-- Changes the numbers of one group. steps, values: of the group.
local function apply_group(layout, parts, form, steps, values)
    local place, used, i = 0, 0, 1 -- place: within part i
    local keys = layout[1].keys
    for at = 1, #steps do
        local step = steps[at]
        place = place + (step > 0 and step or FAR)
        while place > #keys do
            place, i = place - #keys, i + 1
            keys = layout[i].keys
        end
        if step > 0 then
            local part, key = parts[i], keys[place]
            used = used + 1
            part[key] = form == FLOATS and values[used] or part[key] + values[used]
        end
    end
end

--- Changes a snapshot to the one after it. at: where the text begins.
function Code:apply(one, text, at)
    local parts = change.parts_of(one)
    for form = 1, #FORMS do
        local count, steps
        count, steps, at = unpack("<I2s2", text, at)
        local values = { unpack("<" .. rep(FORMS[form], count), text, at) }
        apply_group(self.layout, parts, form, { steps:byte(1, -1) }, values)
        at = values[count + 1]
    end
end

return M
