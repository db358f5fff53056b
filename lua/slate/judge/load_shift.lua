-- SPDX-License-Identifier: BSD-3-Clause
--- Whether requests go to items of other sizes than before, by the counters of classes. Pure.
local limits = require "slate.judge.thresholds"

local M = {}

--- The requests for each class by its chunk size, or its id where that is not reported: a get that misses mostly ends
-- in a set, so pages, which turn misses into hits, do not change the sum. As text, "size count stores size …": a table
-- for each sample would take six times the memory. An infinite count is skipped when the text is read.
function M.load_of(classes)
    local parts = {}
    for _, class in pairs(classes or {}) do
        parts[#parts + 1] = ("%.0f %.0f %.0f"):format(class.chunk_size or class.id,
            (class.get_hits or 0) + (class.cmd_set or 0), class.cmd_set or 0)
    end
    return table.concat(parts, " ")
end

-- What came between two samples by chunk size: the requests, their sum, and the stores among them.
local function requests_between(from, to)
    local requests_before, stores_before, requests, stores, sum = {}, {}, {}, {}, 0
    for size, count, stored in from.requests:gmatch("(%d+) (%d+) (%d+)") do
        requests_before[size], stores_before[size] = count, stored
    end
    for size, count, stored in to.requests:gmatch("(%d+) (%d+) (%d+)") do
        requests[size] = math.max(0, count - (requests_before[size] or 0))
        stores[size] = math.max(0, stored - (stores_before[size] or 0))
        sum = sum + requests[size]
    end
    return requests, sum, stores
end

-- The sizes of both lists, ascending, and whether each list has them all.
local function sizes_of_both(one, other)
    local sizes, is_same = {}, true
    for size in pairs(one) do
        sizes[#sizes + 1], is_same = size, is_same and other[size] ~= nil
    end
    for size in pairs(other) do
        sizes[#sizes + 1], is_same = not one[size] and size or nil, is_same and one[size] ~= nil
    end
    table.sort(sizes, function(a, b) return tonumber(a) < tonumber(b) end)
    return sizes, is_same
end

--- The share of the requests that went to items of other sizes after a change than before (the total variation distance
-- of the two mixes); 0 if that may be chance, or there were no requests. Where chunk sizes came or went, classes are
-- compared together up to each size that took stores before and after: no item changed sides there.
function M.shift(first, turn, start, last)
    local was, were, was_stored = requests_between(first, turn)
    local is, are, is_stored = requests_between(start, last)
    if were == 0 or are == 0 then
        return 0
    end
    local sizes, is_same = sizes_of_both(was, is)
    local apart, by_chance, a, b = 0, 0, 0, 0
    for i, size in ipairs(sizes) do
        a, b = a + (was[size] or 0) / were, b + (is[size] or 0) / are
        if is_same or i == #sizes or (was_stored[size] or 0) > 0 and (is_stored[size] or 0) > 0 then
            apart = apart + math.abs(b - a) / 2
            by_chance = by_chance + math.sqrt((a + b) / 2 * (1 / were + 1 / are)) / 2
            a, b = 0, 0
        end
    end
    return apart > limits.errors_apart * by_chance and apart or 0
end

return M
