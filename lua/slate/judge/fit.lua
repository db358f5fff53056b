-- SPDX-License-Identifier: BSD-3-Clause
--- Chunk sizes that fit, for servers that cannot fit them themselves. Pure.
--
-- The same search with the same rules as slated's own (daemon/mem/fit.h states them): the sizes that take the fewest
-- pages when such items fill all pages, in whole pages. Around these, a ladder of coarser sizes for later items, finer
-- where there are no items yet. Takes some tenths of a second for 60 classes.
--
-- After that: the sizes that waste least with a given number of classes, for advice.
local chunks = require "slate.facts.chunks"
local gather = require "slate.base.gather"

local M = {}

-- The largest ratio of two neighbouring sizes, where the limits allow it; BARE_FACTOR: between sizes without items.
local LADDER_FACTOR <const>, BARE_FACTOR <const> = 1.5, 1.25
local CLASSES_MOST <const> = 40 -- classes with items, unless the caller wants more
local PAGE_BYTES <const> = chunks.PAGE_BYTES
local FINE_BYTES <const> = 4096
local ROUNDS <const> = 6
local SAVING_LEAST <const> = 4 -- the least product of the pages that one more class saves and of all pages
local MINIMUMS_MOST <const> = 1 / 4 -- of all pages: the most for classes that need less than one page

-- The bytes of a page that one chunk uses up.
local function cost_of(chunk_bytes)
    return PAGE_BYTES / (PAGE_BYTES // chunk_bytes)
end

-- The end of the step that contains a size: steps of 8 bytes up to 4 KiB, then 256 an octave. All sizes of a step count
-- as the largest one that occurs. Returns the step's width, too.
local function step_of(bytes)
    local width, most = 8, FINE_BYTES
    while bytes > most do
        width, most = width * 2, most * 2
    end
    return (bytes + width - 1) // width * width, width
end

-- Sizes in their steps: { bytes = the largest, items }, ascending.
local function steps_of(parts)
    local steps, last = {}, nil
    for _, part in ipairs(parts) do
        local step = step_of(part.bytes)
        if step ~= last then
            steps[#steps + 1] = { bytes = part.bytes, items = 0 }
            last = step
        end
        steps[#steps].bytes, steps[#steps].items = part.bytes, steps[#steps].items + part.items
    end
    return steps
end

local function rounded_up(bytes, unit)
    return (bytes + unit - 1) // unit * unit
end

-- The largest size of which a page holds as many chunks as of `bytes`.
local function widest_chunk(bytes, rules)
    local widest = PAGE_BYTES // (PAGE_BYTES // bytes) // rules.unit_bytes * rules.unit_bytes
    return math.min(widest, rules.most_bytes)
end

-- The chunk sizes that a class may have, ascending, as three lists: the sizes, the cost of an item in such a chunk, and
-- the number of items up to each size. The largest chunk is the last.
local function ends_of(parts, rules)
    local steps, ends = steps_of(parts), { bytes = {}, cost = {}, items = {} }
    local at, items, chunk_bytes, total = 1, 0, rules.least_bytes - 1, gather.sum(steps, "items")
    repeat
        local bytes = rounded_up(chunk_bytes + 1, rules.unit_bytes)
        chunk_bytes = widest_chunk(math.min(bytes, rules.most_bytes), rules)
        while steps[at] and steps[at].bytes <= chunk_bytes do
            items, at = items + steps[at].items, at + 1
        end
        local n = #ends.bytes + 1
        ends.bytes[n], ends.cost[n], ends.items[n] = chunk_bytes, cost_of(chunk_bytes), items
    until chunk_bytes >= rules.most_bytes
    ends.items[#ends.items] = total
    return ends
end

-- True if one size may follow another on the ladder.
local function is_rung(from_bytes, to_bytes, factor, unit)
    return to_bytes < from_bytes * factor + unit or PAGE_BYTES // to_bytes + 1 >= PAGE_BYTES // from_bytes
end

-- For each end, the lowest and the highest end of the class below; and the last end that the first class may have.
local function set_ladder(ends, rules, factor)
    local lowest, highest, first_most = 1, 0, 1
    local first_bytes = math.max(rules.first_bytes, rules.least_bytes)
    ends.lowest, ends.highest = {}, {}
    for j, bytes in ipairs(ends.bytes) do
        while lowest < j and not is_rung(ends.bytes[lowest], bytes, factor, rules.unit_bytes) do
            lowest = lowest + 1
        end
        while ends.bytes[highest + 1] + rules.step_bytes <= bytes do
            highest = highest + 1
        end
        ends.lowest[j], ends.highest[j] = lowest, highest
        if factor > rules.most_bytes // first_bytes or bytes <= first_bytes then
            first_most = j
        end
    end
    ends.first_most = first_most
end

-- The pages for items that fill `need` pages: at least one, but none without items.
local function pages_of(need)
    return (need > 1 or need <= 0) and need or 1
end

local function first_row(ends, scale)
    local row = {}
    for j = 1, #ends.bytes do
        row[j] = j <= ends.first_most and pages_of(ends.items[j] * ends.cost[j] * scale) or math.huge
    end
    return row
end

-- Adds one class: the fewest pages up to each end, and the end of the class below.
local function next_row(ends, above, scale)
    local row, from, items = {}, {}, ends.items
    for j = 1, #ends.bytes do
        local least, at, here, cost = math.huge, nil, items[j], ends.cost[j]
        for i = ends.lowest[j], ends.highest[j] do
            local pages = above[i]
            if pages < least then
                local need = (here - items[i]) * cost * scale
                pages = pages + ((need > 1 or need <= 0) and need or 1)
                if pages < least then
                    least, at = pages, i
                end
            end
        end
        row[j], from[j] = least, at
    end
    return row, from
end

-- Walks back from k classes. Returns the sizes, how many have items, and how many of these need less than one page.
local function trace(ends, froms, k, scale)
    local sizes, used, minimums, last = {}, 0, 0, #ends.bytes
    for i = k, 1, -1 do
        local before = i > 1 and froms[i][last] or nil
        local need = (ends.items[last] - (before and ends.items[before] or 0)) * ends.cost[last] * scale
        sizes[i] = ends.bytes[last]
        used = used + (need > 0 and 1 or 0)
        minimums = minimums + ((need > 0 and need < 1) and 1 or 0)
        last = before
    end
    return sizes, used, minimums
end

-- Adds rows until they reach the largest chunk, and while a row saves pages and keeps to the limits. Returns the sizes
-- and the pages that they take; nil when no ladder keeps to the limits.
local function choose(ends, limits, scale)
    local row, froms, total, chosen, pages = first_row(ends, scale), {}, math.huge, nil, nil
    local k, count = 1, #ends.bytes
    while true do
        if row[count] < math.huge then
            local sizes, used, minimums = trace(ends, froms, k, scale)
            if used > limits.used_classes_most or (total - row[count]) * limits.pages < SAVING_LEAST then
                return chosen, pages
            end
            total = row[count]
            if minimums <= limits.pages * MINIMUMS_MOST then
                chosen, pages = sizes, total
            end
        end
        if k == limits.classes_most or k == count then
            return chosen, pages
        end
        k = k + 1
        row, froms[k] = next_row(ends, row, scale)
    end
end

-- The number of items that fill all pages depends on the sizes, and the sizes on that number: some rounds find both.
local function settle(ends, limits, item_bytes)
    local sizes, taken
    local scale = item_bytes > 0 and limits.pages / item_bytes or 0.0
    for _ = 1, ROUNDS do
        local found, pages = choose(ends, limits, scale)
        sizes, taken = found or sizes, pages
        if not taken or taken <= 0 or taken > limits.pages * 0.995 and taken < limits.pages * 1.005 then
            break
        end
        scale = scale * (limits.pages / taken)
    end
    return taken and sizes
end

-- The end of a hole: sizes above `above` and below the result have no items.
local function bare_end(steps, above, chunk_bytes)
    for _, step in ipairs(steps) do
        if step.items > 0 and step.bytes > above then
            local last, width = step_of(step.bytes)
            return math.min(math.max(last - width + 1, above), chunk_bytes)
        end
    end
    return chunk_bytes
end

-- A size in the middle of the hole from `from` to `to`. A page holds more chunks of it than of `to`. nil: none fits.
local function middle_of(from, to, size, rules)
    local unit = rules.unit_bytes
    local middle = (math.floor(math.sqrt(from * to)) // unit + 1) * unit
    local bytes = PAGE_BYTES // math.max(PAGE_BYTES // middle, PAGE_BYTES // to + 1) // unit * unit
    return bytes >= from + rules.step_bytes and bytes < to and bytes + rules.step_bytes <= size and bytes or nil
end

-- Adds a size without items, which costs nothing, where neighbours are furthest apart. False: no neighbours are further
-- apart than BARE_FACTOR.
local function add_rung(sizes, steps, rules)
    local widest, place, rung = 0, nil, nil
    for i = 2, #sizes do
        local from, to = sizes[i - 1], bare_end(steps, sizes[i - 1], sizes[i])
        local middle = middle_of(from, to, sizes[i], rules)
        if middle and to / from > widest and not is_rung(from, to, BARE_FACTOR, rules.unit_bytes) then
            widest, place, rung = to / from, i, middle
        end
    end
    if place then
        table.insert(sizes, place, rung)
    end
    return place ~= nil
end

--- The sizes, ascending, the largest chunk last.
-- parts: { bytes, items }, ascending. rules: least_bytes (of a chunk), first_bytes (the ladder begins here at the
-- latest), most_bytes (the largest chunk), unit_bytes (sizes are multiples of it), step_bytes (the least between two).
-- limits: classes_most, used_classes_most (with items), pages (that are to be full).
function M.sizes(parts, rules, limits)
    local ends, factor = ends_of(parts, rules), LADDER_FACTOR
    local item_bytes = gather.sum(parts, function(part) return part.bytes * part.items end)
    while true do
        set_ladder(ends, rules, factor)
        local sizes = settle(ends, limits, item_bytes)
        if sizes then
            local steps = steps_of(parts)
            while #sizes < limits.classes_most and add_rung(sizes, steps, rules) do
            end
            return sizes
        elseif factor > rules.most_bytes then
            return { rules.most_bytes }
        end
        factor = factor * factor
    end
end

-- Chunk sizes that waste least for the items there are. Pure.
--
-- A chunk costs its share of a page, 1 MiB / the chunks in a page, so that the ends of pages count. Items in a chain of
-- chunks are left out: other sizes do not change the memory of these items.

-- memcached requires that sizes lie further apart than its alignment.
local LEAST_STEP_BYTES <const> = 16
local LEAST_CHUNK_BYTES <const> = 64
local PAGES_A_CLASS <const> = 2
local FINEST <const> = 128 -- no part is finer than its size divided by this

-- Cuts each step of the histogram into equal parts of a few bytes, and spreads its items evenly over them: a class may
-- end within a step. A step of one size (exact) is one part. Returns a list of { bytes, items }, ascending.
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

--- The waste of items of sizes that no item has now, from the smallest chunk to the largest: the mean, in which every
-- octave counts the same, and the most, as ratios.
function M.unseen_waste(histogram, sizes)
    local seen, class, octaves, wasted, most = {}, 1, 0, 0, 0
    for _, part in ipairs(parts_of(histogram)) do
        seen[step_of(part.bytes)] = part.items > 0 or nil
    end
    local above = rounded_up(sizes[1], 8)
    while above < sizes[#sizes] do
        local bytes = step_of(above + 1)
        while sizes[class] < bytes and sizes[class + 1] do
            class = class + 1
        end
        if not seen[bytes] and bytes <= sizes[#sizes] then
            local cost, span = cost_of(sizes[class]), math.log(bytes / above, 2)
            octaves, wasted = octaves + span, wasted + span * (1 - (above + bytes) / 2 / cost)
            most = math.max(most, 1 - (above + 1) / cost)
        end
        above = bytes
    end
    return octaves > 0 and wasted / octaves or 0, most
end

-- Places the items in chunks of these sizes: items (by class, in the order of the sizes), taken (bytes), needed (bytes,
-- at most), chained (items too large for any chunk) and chained_bytes. sizes: ascending; histogram: of
-- slate.facts.sizehist.
local function lay(histogram, sizes)
    local laid, class = { items = {}, taken = 0, needed = 0, chained = 0, chained_bytes = 0 }, 1
    for _, part in ipairs(parts_of(histogram)) do
        while sizes[class] and sizes[class] < part.bytes do
            class = class + 1
        end
        if sizes[class] then
            laid.items[class] = (laid.items[class] or 0) + part.items
            laid.taken = laid.taken + part.items * cost_of(sizes[class])
            laid.needed = laid.needed + part.items * part.bytes
        else
            laid.chained = laid.chained + part.items
            laid.chained_bytes = laid.chained_bytes + part.items * part.bytes
        end
    end
    return laid
end

--- The chunk sizes that waste least, by M.sizes, for a memcached with options.memory_bytes. options: chunk_max_bytes
-- (the largest chunk), room_bytes (option -n), memory_bytes, and classes: the most classes besides the one of the
-- largest chunk. Returns the sizes, ascending, without the largest chunk, which every server adds by itself; nil when
-- no item fits a chunk.
function M.least_waste_sizes(histogram, options)
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
    local sizes = M.sizes(parts, rules, { classes_most = classes or chunks.MOST_CLASSES,
        used_classes_most = classes or CLASSES_MOST, pages = options.memory_bytes // chunks.PAGE_BYTES })
    sizes[#sizes] = nil
    return sizes
end

--- How many classes, besides that of the largest chunk, a factor may make in this memory: one for each two pages,
-- because a class leaves half a page free on average; at most 62.
function M.classes_for(memory_bytes)
    return math.max(2, math.min(chunks.MOST_CLASSES - 1, memory_bytes // chunks.PAGE_BYTES // PAGES_A_CLASS))
end

--- The sizes with the largest chunk added, a size that every server has.
function M.whole_sizes(sizes, chunk_max_bytes)
    local list = table.move(sizes, 1, #sizes, 1, {})
    if list[#list] ~= chunk_max_bytes then
        list[#list + 1] = chunk_max_bytes
    end
    return list
end

--- The waste of these sizes by the items that fit a chunk: { waste_ratio, taken_bytes, classes }. Items in chains take
-- the same memory with any sizes. histogram.item_bytes: what the items need, if known better than by its steps.
function M.sizes_judged(histogram, sizes, chunk_max_bytes)
    local all = M.whole_sizes(sizes, chunk_max_bytes)
    local laid = lay(histogram, all)
    local needed = histogram.item_bytes and histogram.item_bytes - laid.chained_bytes or laid.needed
    needed = math.max(0, math.min(needed, laid.needed))
    return {
        classes = #all, taken_bytes = math.floor(laid.taken),
        waste_ratio = laid.taken > 0 and math.max(0, 1 - needed / laid.taken) or 0,
    }
end

-- Pages for `times` times the items, each class by itself: the first page of a class with items counts whole.
local function pages_for(per_class, times)
    return gather.sum(per_class, function(need) return math.max(1, need * times) end)
end

--- How many such items the pages hold. Each class with items takes at least one page: that is the cost of one more
-- class. nil without items or pages.
function M.items_held(histogram, sizes, pages)
    local per_class, all = {}, 0
    for class, items in pairs(lay(histogram, sizes).items) do
        per_class[#per_class + 1], all = items * cost_of(sizes[class]) / chunks.PAGE_BYTES, all + items
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

--- The growth factor from 1.02 to 2 that wastes least and makes at most most_classes classes; if all make more, the
-- factor of fewest classes. room_bytes: the option -n. Returns the factor and its judgement.
function M.least_waste_factor(histogram, room_bytes, chunk_max_bytes, most_classes)
    local best, best_factor
    for hundredths = 102, 200 do
        local judged = M.sizes_judged(histogram, chunks.by_factor(hundredths / 100, room_bytes, chunk_max_bytes),
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
