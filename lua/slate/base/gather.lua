-- SPDX-License-Identifier: BSD-3-Clause
--- Sums, counts, lists and maps of the entries of a list, and copies. Pure.
local M = {}

--- The sum of a number of the entries. of: the name of a field of all of them, or a function of an entry.
function M.sum(list, of)
    local sum, is_named = 0, type(of) == "string"
    for _, one in ipairs(list) do
        sum = sum + (is_named and one[of] or not is_named and of(one))
    end
    return sum
end

--- The number of entries for which a function is true.
function M.count(list, is_one)
    return M.sum(list, function(one) return is_one(one) and 1 or 0 end)
end

--- True if a function is true for an entry.
function M.any(list, is_one)
    for _, one in ipairs(list) do
        if is_one(one) then
            return true
        end
    end
    return false
end

--- A value of each entry, as a list without those that are nil. of: the name of a field, or a function of an entry and
-- its place.
function M.values(list, of)
    local values, is_named = {}, type(of) == "string"
    for i, one in ipairs(list) do
        if is_named then
            values[#values + 1] = one[of]
        else
            values[#values + 1] = of(one, i)
        end
    end
    return values
end

--- Copies the fields of a table into another one (a new one by default), and returns that.
function M.copy(from, into)
    into = into or {}
    for name, value in pairs(from) do
        into[name] = value
    end
    return into
end

--- The entries by a field, the last one of those with the same value.
function M.map(list, name)
    local map = {}
    for _, one in ipairs(list) do
        map[one[name]] = one
    end
    return map
end

--- The keys of a table, sorted.
function M.keys(of)
    local keys = {}
    for key in pairs(of) do
        keys[#keys + 1] = key
    end
    table.sort(keys)
    return keys
end

--- The words of a text, or the other parts that match a pattern, as a list.
function M.words(text, pattern)
    local words = {}
    for word in text:gmatch(pattern or "%S+") do
        words[#words + 1] = word
    end
    return words
end

-- True if the second table has every field of the first.
local function has_all(a, b)
    for name, value in pairs(a) do
        if b[name] ~= value then
            return false
        end
    end
    return true
end

--- True if two tables have the same fields with equal values (of tables in them: the same ones). Cost: O(fields).
function M.is_same(a, b)
    return has_all(a, b) and has_all(b, a)
end

return M
