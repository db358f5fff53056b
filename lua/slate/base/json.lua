-- SPDX-License-Identifier: BSD-3-Clause
--- JSON: our own writer, and lua-cjson as the reader. lua-cjson writes keys in no order, integers of 64 bits with 14
-- digits, and bytes that are not UTF-8. And slatetop has this module built in: it writes the record of changes without
-- lua-cjson.
local M = {}

--- JSON's null, for a key that must be present without a value.
M.null = setmetatable({}, { __tostring = function() return "null" end, __name = "json.null" })

local array_mark <const> = { __name = "json.array" }

--- Marks a table as an array, so that an empty one is written `[]`.
function M.array(list)
    return setmetatable(list or {}, array_mark)
end

local ESCAPES <const> = {
    ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t",
}
local REPLACEMENT <const> = utf8.char(0xFFFD)

--- A text as UTF-8: a server may send any bytes, and each one that is not UTF-8 becomes U+FFFD.
function M.only_utf8(text)
    local parts, at = {}, 1
    while true do
        local length, bad = utf8.len(text, at)
        if length then
            parts[#parts + 1] = text:sub(at)
            return table.concat(parts)
        end
        parts[#parts + 1] = text:sub(at, bad - 1)
        parts[#parts + 1] = REPLACEMENT
        at = bad + 1
    end
end

local function encode_string(text)
    if not utf8.len(text) then
        text = M.only_utf8(text)
    end
    return '"' .. text:gsub('[%c"\\]', function(c)
        return ESCAPES[c] or ("\\u%04x"):format(c:byte())
    end) .. '"'
end

local function encode_number(n)
    if math.type(n) == "integer" then
        return ("%d"):format(n)
    end
    if n ~= n or n == math.huge or n == -math.huge then
        return "null"
    end
    local short = ("%.14g"):format(n)
    if tonumber(short) == n then
        return short
    end
    return ("%.17g"):format(n)
end

-- The keys of an object: first those in `order`, in that order, then the others, sorted.
local function ordered_keys(object, order)
    local keys, seen = {}, {}
    for _, key in ipairs(order) do
        if object[key] ~= nil then
            keys[#keys + 1] = key
            seen[key] = true
        end
    end
    local others = {}
    for key in pairs(object) do
        if not seen[key] then
            if type(key) ~= "string" then
                error("an object's keys must be strings, not " .. type(key), 0)
            end
            others[#others + 1] = key
        end
    end
    table.sort(others)
    return table.move(others, 1, #others, #keys + 1, keys)
end

local encode_value

local function encode_table(value, order)
    local parts = {}
    if getmetatable(value) == array_mark or value[1] ~= nil then
        for i = 1, #value do
            parts[i] = encode_value(value[i], order)
        end
        return "[" .. table.concat(parts, ",") .. "]"
    end
    for i, key in ipairs(ordered_keys(value, order)) do
        parts[i] = encode_string(key) .. ":" .. encode_value(value[key], order)
    end
    return "{" .. table.concat(parts, ",") .. "}"
end

function encode_value(value, order)
    local kind = type(value)
    if kind == "table" then
        return value == M.null and "null" or encode_table(value, order)
    elseif kind == "string" then
        return encode_string(value)
    elseif kind == "number" then
        return encode_number(value)
    elseif kind == "boolean" then
        return tostring(value)
    end
    error("cannot write a " .. kind .. " as JSON", 0)
end

--- Writes a value as one line of JSON.
-- Tables with an element 1, or marked by `array`, are arrays; all others are objects with string keys. NaN and
-- infinities become null. `order` names the keys that come first in every object.
-- Raises an error for a value that JSON cannot hold: that is a mistake of the caller.
function M.encode(value, order)
    return encode_value(value, order or {})
end

-- Makes plain Lua values: cjson returns floats for all numbers and light userdata for null.
local function tidy(value)
    local kind = type(value)
    if kind == "number" then
        return math.tointeger(value) or value
    elseif kind == "userdata" then
        return nil
    elseif kind == "table" then
        for key, item in pairs(value) do
            if type(item) ~= "string" then
                value[key] = tidy(item)
            end
        end
    end
    return value
end

--- Reads one JSON text. Whole numbers become integers, null becomes nil.
-- Returns the value, or nil and a message.
function M.decode(text)
    local cjson = require "cjson.safe"
    local value, problem = cjson.decode(text)
    if value == nil then
        return nil, problem
    end
    return tidy(value)
end

return M
