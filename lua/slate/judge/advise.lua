-- SPDX-License-Identifier: BSD-3-Clause
--- Chunk sizes that waste least for the items there are. Pure.
--
-- A chunk costs its share of a page, so that the ends of pages count: 1 MiB by the chunks in it. An item that needs
-- a chain of chunks is left out: other sizes do not change what it takes.
local chunks = require "slate.facts.chunks"
local fit = require "slate.judge.fit"

local M = {}

-- memcached wants sizes that lie further apart than its alignment.
local LEAST_STEP_BYTES <const> = 16
local LEAST_CHUNK_BYTES <const> = 64
local PAGES_A_CLASS <const> = 2
local FINEST <const> = 128 -- parts are no finer than a size by this

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

-- The items as they lie in chunks of these sizes: items (by class, in the order of the sizes), taken (bytes), needed
-- (bytes, at most), chained (items too large for any chunk) and chained_bytes. sizes: ascending; histogram: of
-- slate.facts.sizehist.
local function lay(histogram, sizes)
    local laid, class = { items = {}, taken = 0, needed = 0, chained = 0, chained_bytes = 0 }, 1
    for _, part in ipairs(parts_of(histogram)) do
        while sizes[class] and sizes[class] < part.bytes do
            class = class + 1
        end
        if sizes[class] then
            laid.items[class] = (laid.items[class] or 0) + part.items
            laid.taken = laid.taken + part.items * fit.cost(sizes[class])
            laid.needed = laid.needed + part.items * part.bytes
        else
            laid.chained = laid.chained + part.items
            laid.chained_bytes = laid.chained_bytes + part.items * part.bytes
        end
    end
    return laid
end

--- What items take in chunks of these sizes: the bytes taken, and the items too large for any.
function M.taken(histogram, sizes)
    local laid = lay(histogram, sizes)
    return laid.taken, laid.chained
end

--- The chunk sizes that waste least, by slate.judge.fit, for a memcached of so much memory.
-- options: chunk_max_bytes (the largest chunk), room_bytes (option -n), memory_bytes, and classes: no more than these
-- besides the one of the largest chunk. Returns the sizes, ascending, without the largest chunk, which every server
-- adds by itself; nil when no item fits a chunk.
function M.sizes(histogram, options)
    local parts, most = {}, options.chunk_max_bytes
    for _, part in ipairs(parts_of(histogram)) do
        parts[#parts + 1] = part.bytes <= most and part or nil
    end
    if #parts == 0 then
        return nil
    end
    local rules = { least_bytes = LEAST_CHUNK_BYTES, first_bytes = chunks.MEMCACHED_HEADER_BYTES + options.room_bytes,
        most_bytes = most, unit_bytes = chunks.ALIGN_BYTES, step_bytes = LEAST_STEP_BYTES }
    local classes = options.classes and options.classes + 1
    local sizes = fit.sizes(parts, rules, { classes_most = classes or chunks.MOST_CLASSES,
        used_classes_most = classes or fit.CLASSES_MOST, pages = options.memory_bytes // chunks.PAGE_BYTES })
    sizes[#sizes] = nil
    return sizes
end

--- How many classes, besides that of the largest chunk, a factor may make in so much memory: one for two pages, for a
-- class leaves half a page free on the average; at most 62.
function M.classes_for(memory_bytes)
    return math.max(2, math.min(chunks.MOST_CLASSES - 1, memory_bytes // chunks.PAGE_BYTES // PAGES_A_CLASS))
end

--- What sizes that no item has yet would waste in these: the mean and the most, as ratios.
function M.unseen(histogram, sizes)
    return fit.unseen(parts_of(histogram), sizes)
end

--- The list with the largest chunk, which is always there.
function M.whole(sizes, chunk_max_bytes)
    local list = table.move(sizes, 1, #sizes, 1, {})
    if list[#list] ~= chunk_max_bytes then
        list[#list + 1] = chunk_max_bytes
    end
    return list
end

--- How much is wasted with these sizes by the items that fit a chunk: { waste_ratio, taken_bytes, classes }. Those that
-- need a chain take as much with any sizes.
-- item_bytes: what the items need, when that is known better than by the steps of the histogram.
function M.judge(histogram, sizes, chunk_max_bytes)
    local all = M.whole(sizes, chunk_max_bytes)
    local laid = lay(histogram, all)
    local needed = histogram.item_bytes and histogram.item_bytes - laid.chained_bytes or laid.needed
    needed = math.max(0, math.min(needed, laid.needed))
    return {
        classes = #all, taken_bytes = math.floor(laid.taken),
        waste_ratio = laid.taken > 0 and math.max(0, 1 - needed / laid.taken) or 0,
    }
end

-- Pages for so many times the items, each class by itself: the first page of one that has any is whole.
local function pages_for(per_class, times)
    local pages = 0
    for _, need in ipairs(per_class) do
        pages = pages + math.max(1, need * times)
    end
    return pages
end

--- How many such items so many pages hold, where each class that has any takes one page at least: what one more class
-- costs. nil without items or pages.
function M.items_held(histogram, sizes, pages)
    local per_class, all = {}, 0
    for class, items in pairs(lay(histogram, sizes).items) do
        per_class[#per_class + 1], all = items * fit.cost(sizes[class]) / chunks.PAGE_BYTES, all + items
    end
    if all == 0 or not pages or pages <= 0 then
        return nil
    end
    local low, high = 0, 1 -- in multiples of the items there are
    while pages_for(per_class, high) < pages do
        high = high * 2
    end
    for _ = 1, 40 do
        local middle = (low + high) / 2
        if pages_for(per_class, middle) < pages then
            low = middle
        else
            high = middle
        end
    end
    return low * all
end

--- The growth factor of those from 1.02 to 2 that wastes least with a smallest room (option -n) of room_bytes and no
-- more classes than that, or the one of fewest classes where all make more: the factor and its judgement.
function M.factor(histogram, room_bytes, chunk_max_bytes, most_classes)
    local best, best_factor
    for hundredths = 102, 200 do
        local judged = M.judge(histogram, chunks.by_factor(hundredths / 100, room_bytes, chunk_max_bytes),
            chunk_max_bytes)
        local is_better = not best or best.classes > most_classes and judged.classes < best.classes
            or judged.classes <= most_classes and judged.taken_bytes < best.taken_bytes
        if is_better then
            best, best_factor = judged, hundredths / 100
        end
    end
    return best_factor, best
end

return M
