-- SPDX-License-Identifier: BSD-3-Clause
--- The changes between two snapshots of one layout (slate.facts.record_change) as a short text, for the tape: some 2
--- bytes a changed number, decoded by a few calls. slate.facts.record_change has the text of recordings, which has only
--- letters.
--
-- A text begins with the width of the change of every number, four numbers in a byte, the first in its lowest bits: 0
-- (the same), or the difference is of 1, 2 or 4 bytes. The differences follow, then the values of 8 bytes. A difference
-- FAR or OTHER stands for the next of these: a larger difference, or the new value of a number that is not whole.
local change = require "slate.facts.record_change"

local M = {}

local BYTE <const>, SHORT <const>, LONG <const> = 1, 2, 3
local FORMS <const> = { "i1", "i2", "i4" }
local OTHER <const>, FAR <const> = -0x80000000, -0x7fffffff
local pack, unpack, type_of = string.pack, string.unpack, math.type

-- The forms of the differences of four numbers, by the byte of their widths.
local forms_of <const> = setmetatable({}, { __index = function(known, letter)
    local widths, forms = letter:byte(), ""
    for shift = 0, 6, 2 do
        forms = forms .. (FORMS[widths >> shift & 3] or "")
    end
    known[letter] = forms
    return forms
end })

local Code = {}
Code.__index = Code
Code.__name = "slate.console.sample_code"

--- A code for snapshots of a layout.
function M.new(layout)
    local numbers = 0
    for _, of in ipairs(layout) do
        numbers = numbers + #of.keys
    end
    return setmetatable({ layout = layout, width_bytes = (numbers + 3) // 4 }, Code)
end

-- The width of a change, its difference, and its value of 8 bytes, "" if it needs none.
local function code_of(old, new)
    if type_of(old) ~= "integer" or type_of(new) ~= "integer" then
        return LONG, OTHER, pack("<d", new)
    end
    local difference = new - old
    if difference >= -0x80 and difference < 0x80 then
        return BYTE, difference, ""
    elseif difference >= -0x8000 and difference < 0x8000 then
        return SHORT, difference, ""
    elseif difference > FAR and difference < 0x80000000 then
        return LONG, difference, ""
    end
    return LONG, FAR, pack("<j", difference)
end

--- The text of the changes; nil if `after` has another layout.
function Code:encode(before, after)
    local was, is, place = change.parts_of(before), change.parts_of(after), 0
    if not change.fits(self.layout, after, is) then
        return nil
    end
    local widths, differences, count, values = {}, {}, 0, ""
    for i = 1, self.width_bytes do
        widths[i] = 0
    end
    for i, of in ipairs(self.layout) do
        local keys, before_it, after_it = of.keys, was[i], is[i]
        for at = 1, #keys do
            local key = keys[at]
            local old, new = before_it[key], after_it[key]
            if old ~= new then
                local width, difference, value = code_of(old, new)
                local byte = place // 4 + 1
                count, widths[byte] = count + 1, widths[byte] | width << place % 4 * 2
                differences[count], values = difference, values .. value
            end
            place = place + 1
        end
    end
    widths = string.char(table.unpack(widths))
    return widths .. pack("<" .. widths:gsub(".", forms_of), table.unpack(differences)) .. values
end

--- Changes a snapshot to the one after it. at: where the text begins.
function Code:apply(one, text, at)
    local parts, place, count, differences_at = change.parts_of(one), 0, 0, at + self.width_bytes
    local widths = text:sub(at, differences_at - 1)
    local differences = { unpack("<" .. widths:gsub(".", forms_of), text, differences_at) }
    local value_at = differences[#differences]
    widths = { widths:byte(1, -1) }
    for i, of in ipairs(self.layout) do
        local keys, part = of.keys, parts[i]
        for at_key = 1, #keys do
            if widths[place // 4 + 1] >> place % 4 * 2 & 3 > 0 then
                local key = keys[at_key]
                count = count + 1
                local difference = differences[count]
                if difference > FAR then
                    part[key] = part[key] + difference
                elseif difference == FAR then
                    difference, value_at = unpack("<j", text, value_at)
                    part[key] = part[key] + difference
                else
                    part[key], value_at = unpack("<d", text, value_at)
                end
            end
            place = place + 1
        end
    end
end

return M
