-- SPDX-License-Identifier: BSD-3-Clause
-- memcached's rule, which is built into slated as automove mode 1: ages should be equal.
--
-- The class with the oldest tail gives a page to the class with the youngest tail, if the receiver evicts now and its
-- age is below `ratio` of the donor's. Ages are means over the window, and no page moves before the window has filled
-- once. Another rule comes first, once all pages were in use: a class with free chunks for more than `spare_pages` that
-- neither evicted nor got a page during a whole window gives the pages beyond to the pool.
-- Fair by time, not by hits: a class of large items that are never read again keeps its pages as
-- long as one of small items that are read all day.
-- Source of the rule: memcached's slab_automove.c.

-- One sample of a class: its events of the last second.
local function sample_of(was, class)
    local evicted = class.evicted - was.evicted
    return {
        age = class.age, evicted = evicted,
        dirty = evicted > 0 or class.outofmemory > was.outofmemory or class.total_pages > was.total_pages,
    }
end

-- The oldest sample of a window does not count as dirty: see ratio.c.
local function add_up(samples, window)
    local sum = { age = 0, evicted = 0, evicting = 0, dirty = 0, evicted_now = samples[#samples].evicted > 0 }
    for i, sample in ipairs(samples) do
        sum.age = sum.age + sample.age
        sum.evicted = sum.evicted + sample.evicted
        sum.evicting = sum.evicting + (sample.evicted > 0 and 1 or 0)
        sum.dirty = sum.dirty + (sample.dirty and i > #samples - window + 1 and 1 or 0)
    end
    return sum
end

-- Adds this second's samples and returns the sums of the window by class, and all evictions in it.
local function sample(before, after, state)
    local sums, evicted = {}, 0
    state.seen = math.min(state.seen + 1, state.window)
    for _, class in ipairs(after.classes) do
        local samples = state.samples[class.id] or {}
        samples[#samples + 1] = sample_of(before.by_id[class.id], class)
        if #samples > state.window then
            table.remove(samples, 1)
        end
        state.samples[class.id] = samples
        sums[class.id] = add_up(samples, state.window)
        evicted = evicted + sums[class.id].evicted
    end
    return sums, evicted
end

-- The moves to the pool: up to 8, of up to 8 pages each.
local function surplus(after, sums, state)
    local moves = {}
    for _, class in ipairs(after.classes) do
        local is_idle = state.is_full and state.seen == state.window and sums[class.id].dirty == 0
            and class.chunks_per_page > 0
        local pages = is_idle and math.ceil(class.free_chunks / class.chunks_per_page - state.spare_pages) or 0
        while pages > 0 and #moves < 8 do
            moves[#moves + 1] = { from = class.id, to = 0, pages = math.min(pages, 8),
                reason = ("class %d has %d free chunks, %d make a page"):format(class.id, class.free_chunks,
                    class.chunks_per_page) }
            pages = pages - 8
        end
    end
    return moves
end

local function decide(before, after, state)
    local sums, evicted = sample(before, after, state)
    state.is_full = state.is_full or after.pages_free == 0
    local moves = surplus(after, sums, state)
    if #moves > 0 then
        return moves
    elseif after.pages_free > 0 then
        return {}, ("the pool has %d pages"):format(after.pages_free)
    end
    local oldest, youngest
    for _, class in ipairs(after.classes) do
        local sum = sums[class.id]
        if class.total_pages > 2 and sum.age > (oldest and sums[oldest].age or 0) then
            oldest = class.id
        end
        local evicting = sum.evicting > state.window // 2 or sum.evicted * 4 > evicted
        if sum.evicted > 0 and evicting and sum.age < (youngest and sums[youngest].age or math.huge) then
            youngest = class.id
        end
    end
    if state.seen < state.window then
        return {}, ("the window has seen %d of %d samples"):format(state.seen, state.window)
    elseif not youngest or not oldest or oldest == youngest then
        return {}, "no class evicts enough, or none can give a page"
    end
    local young_s, old_s = sums[youngest].age // state.window, sums[oldest].age // state.window
    local words = ("class %d evicts at age %d s, class %d's tail is %d s old"):format(youngest, young_s, oldest, old_s)
    if not sums[youngest].evicted_now or sums[youngest].age >= sums[oldest].age * state.ratio then
        return {}, words .. ": close enough"
    end
    return { { from = oldest, to = youngest, reason = words } }
end

local function starving(age_s)
    return function(second)
        return { { id = 3, age = age_s }, { id = 7, total_pages = 5, age = 10, evicted = second * 600 } }
    end
end

return {
    name = "ratio",
    summary = "equal ages: from the oldest tail to the youngest that evicts, as memcached does",
    settings = {
        ratio = { default = 0.8, min = 0.01, max = 1, unit = "ratio", help = "the younger tail is below this share" },
        window = { default = 10, min = 3, max = 600, unit = "samples", help = "ages are means over this many samples" },
        spare_pages = { default = 2.5, min = 1, max = 1000, unit = "pages", help = "what a class may keep free" },
    },
    init = function(settings)
        return {
            ratio = settings.ratio, window = settings.window, spare_pages = settings.spare_pages,
            seen = 0, samples = {},
        }
    end,
    decide = decide,
    checks = {
        { name = "nothing moves before the window has filled", settings = "window=5", seconds = 5,
            classes = starving(100), moves = "", says = "the window has seen 4 of 5 samples" },
        { name = "the oldest tail gives to the youngest that evicts", settings = "window=5", seconds = 6,
            classes = starving(100), moves = "3>7", says = "class 7 evicts at age 10 s, class 3's tail is 100 s old" },
        { name = "like ages stay", settings = "window=3", seconds = 6, classes = starving(12), moves = "",
            says = "class 7 evicts at age 10 s, class 3's tail is 12 s old: close enough" },
        { name = "nothing moves while the pool has pages", settings = "window=3", seconds = 6, pool = 2,
            classes = starving(100), moves = "", says = "the pool has 2 pages" },
        { name = "pages of free chunks go to the pool", settings = "window=3", seconds = 5,
            classes = function() return { { id = 3, free_chunks = 3000 } } end,
            moves = "3>0", says = "class 3 has 3000 free chunks, 1024 make a page" },
    },
}
