-- SPDX-License-Identifier: BSD-3-Clause
--- Chunk sizes that waste least for the items there are. Pure.
--
-- A chunk costs its share of a page, so that the ends of pages count: 1 MiB by the chunks in it. An item that needs
-- a chain of chunks is left out: other sizes do not change what it takes.
local chunks = require "slate.chunks"

local M = {}

-- memcached wants sizes that lie further apart than its alignment.
local LEAST_STEP_BYTES <const> = 16
local LEAST_CHUNK_BYTES <const> = 64
local FINEST <const> = 128 -- parts are no finer than a size by this
-- A class leaves half a page free on the average: no more classes than would leave a quarter of the memory free.
local PAGES_A_CLASS <const> = 2
local LEAST_SAVING <const> = 1 / 2000 -- by one class more

local function cost_of(chunk_bytes)
    return chunks.PAGE_BYTES / (chunks.PAGE_BYTES // chunk_bytes)
end

-- Steps of the histogram cut into parts of a chunk's alignment, the items of a step spread evenly over it: boundaries
-- may lie within a step. A step of one size (exact) is a part by itself. List of { bytes, items }, ascending.
local function parts_of(histogram)
    local parts = {}
    for _, step in ipairs(histogram.sizes) do
        local low = histogram.exact and step.bytes - 1 or step.above_bytes
        local count = math.max(1, (step.bytes - low) // math.max(chunks.ALIGN_BYTES, step.bytes // FINEST))
        for i = 1, count do
            parts[#parts + 1] = { bytes = low + (step.bytes - low) * i // count, items = step.items / count }
        end
    end
    return parts
end

--- What items take in chunks of these sizes. sizes: ascending; histogram: of slate.sizehist. Returns the bytes taken
-- and the items too large for any.
function M.taken(histogram, sizes)
    local taken, chained, class = 0, 0, 1
    for _, part in ipairs(parts_of(histogram)) do
        while sizes[class] and sizes[class] < part.bytes do
            class = class + 1
        end
        if sizes[class] then
            taken = taken + part.items * cost_of(sizes[class])
        else
            chained = chained + part.items
        end
    end
    return taken, chained
end

-- What a chunk size may be: { bytes, items up to it, previous = the last candidate that may stand right before it,
-- 0 being none }, ascending.
local function candidates_of(histogram, chunk_max_bytes)
    local list, items, previous = {}, 0, 0
    for _, part in ipairs(parts_of(histogram)) do
        local bytes = math.max(LEAST_CHUNK_BYTES, chunks.aligned(part.bytes))
        if bytes > chunk_max_bytes then
            break
        end
        items = items + part.items
        if not (list[#list] and list[#list].bytes == bytes) then
            list[#list + 1] = { bytes = bytes }
        end
        list[#list].items = items
    end
    for _, candidate in ipairs(list) do
        while list[previous + 1].bytes + LEAST_STEP_BYTES <= candidate.bytes do
            previous = previous + 1
        end
        candidate.previous = previous
    end
    return list
end

-- One more class: best[j], the least cost of the items up to candidate j in k classes, from that in k - 1. The best
-- split moves right as j does, so the halves of a range need to look at parts only (divide and conquer).
local function add_layer(candidates, before, count)
    local best, from = {}, {}
    local function solve(low, high, least, most)
        if low > high then
            return
        end
        local middle, at = (low + high) // 2, nil
        local cost = cost_of(candidates[middle].bytes)
        for split = least, math.min(most, candidates[middle].previous) do
            local total = before[split] and before[split]
                + (candidates[middle].items - (split > 0 and candidates[split].items or 0)) * cost
            if total and (not best[middle] or total < best[middle]) then
                best[middle], at = total, split
            end
        end
        from[middle] = at
        solve(low, middle - 1, least, at or most)
        solve(middle + 1, high, at or least, most)
    end
    solve(1, count, 0, count - 1)
    return best, from
end

--- How many classes, besides that of the largest chunk, suit so much memory: one for two pages, at most 62.
function M.classes_for(memory_bytes)
    return math.max(2, math.min(chunks.MOST_CLASSES - 1, memory_bytes // chunks.PAGE_BYTES // PAGES_A_CLASS))
end

--- The chunk sizes that waste least, by dynamic programming over the steps of a histogram.
-- options: classes (use so many) or most_classes (use no more, and none that saves less than 1/2000),
-- chunk_max_bytes (the largest chunk). Returns the sizes, ascending, without the largest chunk, which
-- every server adds by itself; nil when no item fits a chunk.
function M.sizes(histogram, options)
    local candidates = candidates_of(histogram, options.chunk_max_bytes)
    local count = #candidates
    if count == 0 then
        return nil
    end
    local most = options.classes or options.most_classes
    local layers, best = {}, { [0] = 0 }
    for k = 1, math.min(most, count) do
        local before = best[count]
        local layer, from = add_layer(candidates, best, count)
        best = layer
        local saved = before and best[count] and before - best[count]
        if not best[count] or saved and saved < before * (options.classes and 0 or LEAST_SAVING) then
            break
        end
        layers[k] = from
    end
    local sizes, at = {}, count
    for k = #layers, 1, -1 do
        table.insert(sizes, 1, candidates[at].bytes)
        at = layers[k][at]
    end
    return sizes
end

-- With the largest chunk, which is always there.
local function whole(sizes, chunk_max_bytes)
    local list = table.move(sizes, 1, #sizes, 1, {})
    if list[#list] ~= chunk_max_bytes then
        list[#list + 1] = chunk_max_bytes
    end
    return list
end

--- How much is wasted with these sizes: { waste_ratio, taken_bytes, classes }.
-- item_bytes: what the items need, when that is known better than by the steps of the histogram.
function M.judge(histogram, sizes, chunk_max_bytes)
    local all = whole(sizes, chunk_max_bytes)
    local taken = M.taken(histogram, all)
    local needed = histogram.item_bytes or histogram.bytes
    return {
        classes = #all, taken_bytes = math.floor(taken),
        waste_ratio = taken > 0 and math.max(0, 1 - needed / taken) or 0,
    }
end

--- The growth factor of those from 1.02 to 2 that wastes least with a smallest room (option -n) of room_bytes and no
-- more classes than that: the factor and its judgement.
function M.factor(histogram, room_bytes, chunk_max_bytes, most_classes)
    local best, best_factor
    for hundredths = 102, 200 do
        local judged = M.judge(histogram, chunks.by_factor(hundredths / 100, room_bytes, chunk_max_bytes),
            chunk_max_bytes)
        if judged.classes <= most_classes and not (best and best.taken_bytes <= judged.taken_bytes) then
            best, best_factor = judged, hundredths / 100
        end
    end
    return best_factor, best
end

return M
