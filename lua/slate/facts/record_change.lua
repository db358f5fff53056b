-- SPDX-License-Identifier: BSD-3-Clause
--- The changes between two snapshots of a recording as a short text, and the second snapshot from the first and the
-- text. An hour of a busy server takes 3 MB.
--
-- A line of changes is { schema = "slate/change/1", time_s, of, d }. `of` is the line's distance from the last whole
-- snapshot: it shows a missing line. `d` has the changed numbers, in the order of `places`: for each, the count of
-- skipped numbers, then twice the difference, plus 1 if it is in millionths (of a number not whole). Each is a varint
-- of 5 bits a letter, the lowest first; letters of the alphabet's second half mean that more follow. Differences are
-- zigzagged: 0, -1, 1, -2 are 0, 1, 2, 3. After other changes (a text, a new class) the snapshot is written whole.
local class_figure = require("slate.facts.stats").class_figure

local M = {}

M.SCHEMA = "slate/change/1"
--- At least one line in this many is a whole snapshot: this limits the loss by a damaged line.
M.WHOLE_EVERY = 300

local ALPHABET <const> = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
local MILLION <const>, DIFFERENCE_MOST <const> = 1000000, 1 << 60
local VALUES <const> = {}
for i = 1, #ALPHABET do
    VALUES[ALPHABET:byte(i)] = i - 1
end

local function put(out, value)
    while value >= 32 or value < 0 do
        local digit = (value & 31) + 33
        out[#out + 1] = ALPHABET:sub(digit, digit)
        value = value >> 5
    end
    out[#out + 1] = ALPHABET:sub(value + 1, value + 1)
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

local function sorted_keys(object)
    local keys = {}
    for key in pairs(object) do
        keys[#keys + 1] = key
    end
    table.sort(keys)
    return keys
end

-- The tables of a snapshot that have numbers, in their order.
local function parts_of(one)
    local classes = one.classes or {}
    return table.move(classes, 1, #classes, 4, { one, one.general or {}, one.totals or {} })
end

local function keys_of(part, is_top)
    return is_top and { "pages_free", "pages_limit" } or sorted_keys(part)
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

-- All fields except the numbers, as one text. Only while this text stays the same can a line have changes alone.
local function remainder_of(one)
    local fields = {}
    for i, name in ipairs({ "server", "version", "slated", "role", "store" }) do
        fields[i] = tostring(one[name])
    end
    for i, part in ipairs(parts_of(one)) do
        for _, key in ipairs(keys_of(part, i == 1)) do
            if i > 1 or part[key] == nil then
                fields[#fields + 1] = key .. "=" .. (type(part[key]) == "number" and "#" or tostring(part[key]))
            end
        end
        fields[#fields + 1] = ";"
    end
    return table.concat(fields, " ")
end

local function millionths(value)
    return math.floor(value * MILLION + 0.5)
end

-- The code of a difference, and the value that a reader decodes from it; nil if the code cannot hold the difference.
local function code_of(before, after)
    local was, is = math.type(before) == "integer" and before, math.type(after) == "integer" and after
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
-- `after` that are not whole to millionths, as a reader will have them.
function M.between(before, after)
    if after.settings or after.changes or remainder_of(before) ~= remainder_of(after) then
        return nil
    end
    local was, is, out, skipped = parts_of(before), parts_of(after), {}, 0
    for _, place in ipairs(M.places(after)) do
        local i, key = place[1], place[2]
        local old, new = was[i][key], is[i][key]
        if old == new then
            skipped = skipped + 1
            is[i][key] = old -- with the type that a reader has
        else
            local code, value = code_of(old, new)
            if not code then
                return nil
            end
            is[i][key] = value
            put(out, skipped)
            put(out, code)
            skipped = 0
        end
    end
    return table.concat(out)
end

local function copy(one)
    local new = {}
    for key, value in pairs(one) do
        new[key] = value
    end
    return new
end

-- A copy of a snapshot without its settings, which still hold.
local function copy_of(before)
    local one = copy(before)
    one.general, one.totals, one.classes = copy(before.general or {}), before.totals and copy(before.totals), {}
    for i, class in ipairs(before.classes or {}) do
        one.classes[i] = copy(class)
    end
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
    local one = is_in_place and before or copy_of(before)
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
        local part, key = table.unpack(places[place] or {})
        local value = part and changed(parts[part][key], code)
        if not value or part > 3 and not class_figure(key, value) then
            return nil, "its changes do not fit the snapshot before it"
        end
        parts[part][key] = value
    end
    one.time_s, one.settings, one.changes = line.time_s, nil, nil
    return one
end

return M
