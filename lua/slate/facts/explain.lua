-- SPDX-License-Identifier: BSD-3-Clause
--- The meaning of every figure and setting: the entries of man/explain.txt (installed as share/slate/explain.txt),
-- which is also the source of slatetop's `?` and slate-terms(7).
local gather = require "slate.base.gather"
local order = require "slate.base.order"

local M = {}

--- The fields of an entry in their order in the file, `term` first. Each is a string, except `also`, a list of other
-- names. `formula` may be nil and `also` empty; the others are always present.
M.FIELDS = { "term", "also", "unit", "meaning", "source", "formula", "do" }

local KNOWN <const> = {}
for _, field in ipairs(M.FIELDS) do
    KNOWN[field] = true
end
local REQUIRED <const> = { "unit", "meaning", "source", "do" }
local SUGGESTIONS <const> = 5

-- Paths of explain.txt from this folder in the source, from share/lua/5.4/slate/facts, and in a rock, one folder up.
local function places()
    local here = assert(package.searchpath("slate.facts.explain", package.path)):gsub("[^/]*$", "")
    return { here .. "../../../man/explain.txt", here .. "../../../../slate/explain.txt", here .. "../explain.txt" }
end

local function finish(entry, list)
    for _, field in ipairs(REQUIRED) do
        if not entry[field] then
            return nil, ("the entry %s lacks its %s"):format(entry.term, field)
        end
    end
    local names = {}
    for name in (entry.also or ""):gmatch("[^,]+") do
        names[#names + 1] = name:match("^%s*(.-)%s*$")
    end
    entry.also, list[#list + 1] = names, entry
    return true
end

--- Parses a whole text. Returns the list of entries in its order, or nil and a sentence that names the line.
function M.parse(text)
    local list, entry, field, number = {}, nil, nil, 0
    for line in (text .. "\n\n"):gmatch("(.-)\n") do
        number = number + 1
        local word, value = line:match("^(%l+) (.+)$")
        if line:match("^%s*$") then
            local right, why = true, nil
            if entry then
                right, why = finish(entry, list)
            end
            if not right then
                return nil, ("line %d: %s"):format(number, why)
            end
            entry, field = nil, nil
        elseif line:match("^%s") and field then
            entry[field] = entry[field] .. " " .. line:match("^%s*(.-)%s*$")
        elseif word == "term" and not entry then
            entry, field = { term = value }, "term"
        elseif word and entry and KNOWN[word] and not entry[word] then
            entry[word], field = value, word
        elseif not line:match("^#") then
            return nil, ("line %d is not a part of an entry: %s"):format(number, line)
        end
    end
    return list
end

local loaded, by_name

local function names_of(entry)
    local names = { entry.term }
    table.move(entry.also, 1, #entry.also, 2, names)
    return names
end

-- Maps each name, in lower case, to its entries, in the order of the file.
local function index_of(list)
    local index = {}
    for _, entry in ipairs(list) do
        for _, name in ipairs(names_of(entry)) do
            local of_name = index[name:lower()] or {}
            index[name:lower()] = of_name
            if of_name[#of_name] ~= entry then
                of_name[#of_name + 1] = entry
            end
        end
    end
    return index
end

-- The text, and the path of its file. In slatetop, which reads no files, the text is a module in C. nil and a sentence
-- if there is no file.
local function read()
    if not io then
        return require("slate.facts.explain_text"), "explain.txt"
    end
    local tried = places()
    for _, path in ipairs(tried) do
        local file = io.open(path)
        if file then
            local text = file:read("a")
            file:close()
            return text, path
        end
    end
    return nil, "the explanations are missing: no " .. table.concat(tried, ", no ")
end

--- All entries, in the order of the file; read once. nil and a sentence if the file is absent or wrong.
function M.entries()
    if not loaded then
        local text, path = read()
        if not text then
            return nil, path
        end
        local list, why = M.parse(text)
        if not list then
            return nil, path .. ": " .. why
        end
        loaded, by_name = list, index_of(list)
    end
    return loaded
end

--- The names of all entries, in the order of the file. nil and a sentence, as from entries().
function M.list()
    local entries, why = M.entries()
    if not entries then
        return nil, why
    end
    return gather.values(entries, "term")
end

--- The entries of a name: a term or one of its other names, in any case. More than one if a name stands for several
-- things; empty if no entry has the name. nil and a sentence, as from entries().
function M.find(name)
    local entries, why = M.entries()
    if not entries then
        return nil, why
    end
    return by_name[name:lower()] or {}
end

-- The number of characters to insert, delete or replace (Levenshtein).
local function distance(a, b)
    local row = {}
    for j = 0, #b do
        row[j] = j
    end
    for i = 1, #a do
        local diagonal = row[0]
        row[0] = i
        for j = 1, #b do
            local cost = a:byte(i) == b:byte(j) and 0 or 1
            row[j], diagonal = math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost), row[j]
        end
    end
    return row[#b]
end

-- The distance of a name from the typed word: a part of the name counts as near; nil: too far.
local function unlikeness(typed, name)
    if name:find(typed, 1, true) then
        return (#name - #typed) / #name
    end
    local apart = distance(typed, name)
    return apart <= math.max(2, #typed // 3) and 1 + apart or nil
end

--- Names like the typed word, the likeliest first, at most five. Only names that find() knows. Cost: the lengths
-- of all names times that of the typed word.
function M.suggest(typed)
    local entries, why = M.entries()
    if not entries then
        return nil, why
    end
    local wanted, alike, seen = typed:lower(), {}, {}
    for _, entry in ipairs(entries) do
        for _, name in ipairs(names_of(entry)) do
            local unlike = unlikeness(wanted, name:lower())
            if unlike and not seen[name:lower()] then
                seen[name:lower()] = true
                alike[#alike + 1] = { name = name, unlike = unlike, at = #alike }
            end
        end
    end
    order.largest_first(alike, function(one) return -one.unlike end, "at")
    return gather.values(order.first(alike, SUGGESTIONS), "name")
end

return M
