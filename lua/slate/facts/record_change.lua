-- SPDX-License-Identifier: BSD-3-Clause
--- The changes between two snapshots of a recording as a short text, and the second snapshot from the first and the
-- text. An hour of a busy server takes 3 MB.
--
-- A line of changes is { schema = "slate/change/1", time_s, of, d }. `of` is the line's distance from the last whole
-- snapshot: it shows a missing line. `d` has the changed numbers, in the order of `places`: for each, the count of
-- skipped numbers, then twice the difference, plus 1 if it is in millionths (of a number not whole). Each is a varint
-- of 5 bits a letter, the lowest first; letters of the alphabet's second half mean that more follow. Differences are
-- zigzagged: 0, -1, 1, -2 are 0, 1, 2, 3. After other changes (a text, a new class) the snapshot is written whole.
local gather = require "slate.base.gather"
local stats = require "slate.facts.stats"

local M = {}

M.SCHEMA = "slate/change/1"
--- At least one line in this many is a whole snapshot: this limits the loss by a damaged line.
M.WHOLE_EVERY = 300

local ALPHABET <const> = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
local MILLION <const>, DIFFERENCE_MOST <const>, NUMBER <const> = 1000000, 1 << 60, {}
local VALUES <const>, LETTERS <const> = {}, {}
for i = 1, #ALPHABET do
    VALUES[ALPHABET:byte(i)], LETTERS[i - 1] = i - 1, ALPHABET:sub(i, i)
end
local floor, type_of = math.floor, math.type

-- Appends a number to a list of `count` letters; returns the new count.
local function put(out, count, value)
    while value >= 32 or value < 0 do
        count = count + 1
        out[count] = LETTERS[(value & 31) + 32]
        value = value >> 5
    end
    out[count + 1] = LETTERS[value]
    return count + 1
end

-- The number at a position and the position after it; nil if there is no number.
local function take(text, at)
    local value, shift = 0, 0
    while shift < 65 do
        local digit = VALUES[text:byte(at)]
        if not digit then
            return nil
        end
        value = value | (digit & 31) << shift
        at, shift = at + 1, shift + 5
        if digit < 32 then
            return value, at
        end
    end
end

--- The tables of a snapshot that have numbers, in their order.
function M.parts_of(one)
    local classes = one.classes or {}
    return table.move(classes, 1, #classes, 4, { one, one.general or {}, one.totals or {} })
end

local parts_of <const> = M.parts_of

local function keys_of(part, is_top)
    return is_top and { "pages_free", "pages_limit" } or gather.keys(part)
end

--- The places of a snapshot's numbers, in their order: { part, key } each; part is an index into `parts_of`.
function M.places(one)
    local list = {}
    for i, part in ipairs(parts_of(one)) do
        for _, key in ipairs(keys_of(part, i == 1)) do
            if type(part[key]) == "number" then
                list[#list + 1] = { i, key }
            end
        end
    end
    return list
end

local HEAD <const> = { "server", "version", "slated", "role", "store" }

-- True if a part of a snapshot has the keys of a layout, numbers where it has numbers, and the same texts.
local function part_fits(kinds, count, part)
    for key, value in next, part do
        local kind = kinds[key]
        if kind ~= value and not (kind == NUMBER and type_of(value)) then
            return false
        end
        count = count - 1
    end
    return count == 0
end

local function part_layout(part, is_top)
    local keys, kinds, count = {}, {}, 0
    for _, key in ipairs(keys_of(part, is_top)) do
        local is_number = type(part[key]) == "number"
        keys[#keys + 1] = is_number and key or nil
        kinds[key], count = is_number and NUMBER or part[key], count + (part[key] ~= nil and 1 or 0)
    end
    return { keys = keys, kinds = kinds, count = count }
end

--- The layout of a snapshot: what must stay the same while lines can have changes alone, which are all fields except
-- the values of numbers.
function M.layout(one)
    local layout = { head = {} }
    for i, name in ipairs(HEAD) do
        layout.head[i] = one[name] or false
    end
    for i, part in ipairs(parts_of(one)) do
        local last = layout[i - 1] -- nearly all classes have the same keys
        local is_same = i > 4 and part_fits(last.kinds, last.count, part)
        layout[i] = is_same and last or part_layout(part, i == 1)
    end
    return layout
end

--- A snapshot of a layout in which all numbers are 0.
function M.blank(layout)
    local one = { general = {}, totals = {}, classes = {} }
    for i, name in ipairs(HEAD) do
        one[name] = layout.head[i] or nil
    end
    for i = 4, #layout do
        one.classes[i - 3] = {}
    end
    for i, part in ipairs(parts_of(one)) do
        for key, kind in pairs(layout[i].kinds) do
            part[key] = kind ~= NUMBER and kind or 0
        end
    end
    return one
end

--- True if a snapshot has a layout. parts: of parts_of.
function M.fits(layout, one, parts)
    for i, name in ipairs(HEAD) do
        if layout.head[i] ~= (one[name] or false) then
            return false
        end
    end
    local top = { pages_free = one.pages_free, pages_limit = one.pages_limit }
    for i = 1, math.max(#parts, #layout) do
        local of = layout[i]
        if not (of and parts[i] and part_fits(of.kinds, of.count, i == 1 and top or parts[i])) then
            return false
        end
    end
    return true
end

local function millionths(value)
    return floor(value * MILLION + 0.5)
end

-- The code of a difference, and the value that a reader decodes from it; nil if the code cannot hold the difference.
local function code_of(before, after)
    local was, is = type_of(before) == "integer" and before, type_of(after) == "integer" and after
    local scale, value = 0, after
    if not was or not is then
        if math.abs(before) > 1e12 or math.abs(after) > 1e12
            or math.abs(after * MILLION - millionths(after)) > 0.01 then
            return nil
        end
        was, is, scale = millionths(before), millionths(after), 1
        value = is / MILLION
    end
    local difference = is - was
    local has_wrapped = (is >= was) ~= (difference >= 0)
    if has_wrapped or difference > DIFFERENCE_MOST or difference < -DIFFERENCE_MOST then
        return nil
    end
    return ((difference << 1) ~ (difference < 0 and -1 or 0)) << 1 | scale, value
end

--- The changes from one snapshot to the next as the text d; nil if the next must be written whole. Rounds numbers of
-- `after` that are not whole to millionths, as a reader will have them. layout: of `before`, or of any snapshot since
-- which only numbers changed; nil: it is made.
function M.between(before, after, layout)
    local was, is, out, count, skipped = parts_of(before), parts_of(after), {}, 0, 0
    layout = layout or M.layout(before)
    if after.settings or after.changes or not M.fits(layout, after, is) then
        return nil
    end
    for i, part in ipairs(is) do
        local old_part = was[i]
        for _, key in ipairs(layout[i].keys) do
            local old, new = old_part[key], part[key]
            if old == new then
                skipped = skipped + 1
            else
                local code, value = code_of(old, new)
                if not code then
                    return nil
                end
                part[key] = value
                count = put(out, put(out, count, skipped), code)
                skipped = 0
            end
        end
    end
    return table.concat(out)
end

--- A copy of a snapshot without its settings, which still hold.
function M.copy_of(before)
    local one = gather.copy(before)
    one.general, one.totals = gather.copy(before.general or {}), before.totals and gather.copy(before.totals)
    one.classes = gather.values(before.classes or {}, function(class) return gather.copy(class) end)
    return one
end

local function changed(value, code)
    local difference = code >> 2 ~ -(code >> 1 & 1)
    if code & 1 == 1 then
        return (millionths(value) + difference) / MILLION
    end
    return math.tointeger(value) and math.tointeger(value) + difference
end

--- The snapshot after a line of changes. before: the last snapshot; places: of `before`, or of any snapshot since which
-- only numbers changed. is_in_place: changes and returns `before`, else a new table. Or nil and the problem.
function M.apply(before, line, places, is_in_place)
    local one = is_in_place and before or M.copy_of(before)
    local parts, at, place = parts_of(one), 1, 0
    if type(line.d) ~= "string" or type(line.time_s) ~= "number" then
        return nil, "it is not a line of changes"
    end
    while at <= #line.d do
        local skipped, code
        skipped, at = take(line.d, at)
        if skipped then
            code, at = take(line.d, at)
        end
        place = code and skipped >= 0 and skipped < #places and place + skipped + 1 or #places + 1
        local found = places[place]
        local part, key = found and found[1], found and found[2]
        local value = part and changed(parts[part][key], code)
        if not value or part > 3 and not stats.class_figure(key, value)
            or (part == 2 or part == 3) and not stats.is_figure(key, value) then
            return nil, "its changes do not fit the snapshot before it"
        end
        parts[part][key] = value
    end
    one.time_s, one.settings, one.changes = line.time_s, nil, nil
    return one
end

return M
