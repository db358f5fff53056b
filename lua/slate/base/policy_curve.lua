-- SPDX-License-Identifier: BSD-3-Clause
--- The worth of pages to a class, in hits; and curves of its misses over the items that it could hold. Pure.
--
-- Predictions for people (slate.judge.verdict) and policies in Lua use this module. slated has it built in with
-- slate.base.policy_core, whose rule holds here: library functions are looked up once.
--
-- Hits grow with the logarithm of the pages. The slope is their growth, as a share of the class's reads, for each unit
-- of the natural logarithm. If keys are about as popular as in Zipf's law with an exponent of 0.8 to 1, the slope is
-- about a tenth for any class and size; if few keys take nearly all reads, it is less. If all keys are equally popular,
-- hits grow with the pages themselves, and the slope is the hit ratio. The slope of a class is unknown. So slopes from
-- almost 0 to the hit ratio are weighted: by their distance from the expected slope, halfway between a tenth and the
-- slope of the whole cache's curve, and by how well the class's sampled curve agrees with them at a half, a quarter and
-- an eighth of the memory. The result is the median over these slopes, with a least and a most that enclose four fifths
-- of the weight. `make bench-moves` compares predictions with the effect of moves alone; the constants are from there.
local ipairs = ipairs
local abs, exp, huge, log, max, min, sqrt = math.abs, math.exp, math.huge, math.log, math.max, math.min, math.sqrt
local unpack = table.unpack

local M = {}

local PAGE_BYTES <const> = 1 << 20
local SLOPE <const> = 0.1 -- the expected slope, from classes of many kinds
local APART <const> = 0.33 -- standard error of the logarithm of a class's slope against the expected one
local ALIKE <const> = 0.05 -- the share of classes whose keys are all equally popular, if no more is known
local SLOPES <const>, SLOPE_LEAST <const> = 12, 0.02 -- the number of weighted slopes, and the least of them
local LRU_POWER <const>, LRU_ERROR <const> = 0.9, 0.4 -- of an LRU's curve: the exponent for a slope, its error
local FARTHER <const> = 3 -- multiplies LRU_ERROR for sizes below half of the memory
local CLUSTERED <const> = 2 -- multiplies the error of single reads: a sampled key has several reads
local CHANCE_LEAST <const> = 0.005 -- a share of the reads: curves are no more exact
local DOUBT_SHARE <const> = 0.1 -- the share of the weight above the reported most, and below the reported least
local SOON_S <const> = 12 -- reports half of a gain if the class needs this long to fill the pages

-- (e^z - 1) / z
local function growth(z)
    return abs(z) < 1e-9 and 1 or (exp(z) - 1) / z
end

--- The misses of a class over the items that it could hold, fitted to its misses with today's items.
-- requests, misses: in one unit of time; items: held now; age: of the item evicted next, in such units.
-- By the footprint theory of Xiang et al. (ASPLOS 2013) the items held are those requested in the last `age`, and the
-- misses are the rate at which those items grow. So the curve goes through (0, requests) and (items, misses): with
-- these misses a cache has `items` after `age`. A curve requests * (1 + n/a)^-b, from linear to hyperbolic, fits.
-- Returns a function of items. Cost: some 40 steps to fit.
function M.miss_curve(requests, misses, items, age)
    if misses >= requests then
        return function() return requests end
    elseif misses <= 0 or items <= 0 then -- every request hits: how few items would do is unknown
        return function(n) return max(0, requests * (1 - n / max(items, 1))) end
    end
    local fall = log(requests / misses)
    local wanted, low, high = age * requests / items, -fall, 14
    for _ = 1, 40 do
        local middle = (low + high) / 2
        if growth(middle + fall) / growth(middle) < wanted then
            low = middle
        else
            high = middle
        end
    end
    local bend = (low + high) / 2
    return function(n)
        if abs(bend) < 1e-6 then
            return requests * exp(-fall * n / items)
        end
        local base = 1 + (exp(bend) - 1) * n / items
        return base > 0 and requests * base ^ (-fall / bend) or 0
    end
end

--- The value at x along straight lines between points { x, y } in ascending order; beyond the ends, that of the end.
function M.between(points, x)
    local last
    for _, point in ipairs(points) do
        if point[1] >= x then
            if not last or point[1] == last[1] then
                return point[2]
            end
            return last[2] + (point[2] - last[2]) * (x - last[1]) / (point[1] - last[1])
        end
        last = point
    end
    return last[2]
end

-- The growth of a class's hits in `times` times its memory, as a share of today's hits. power: its slope over its hit
-- ratio. With 1, all keys are equally popular and hits grow as the memory does; with small powers, as its logarithm.
local function growth_of(times, power)
    return (times ^ (power * power) - 1) / power
end

-- The slope to expect of a class if no more is known. whole: the curve of the whole cache, or nil.
local function expected_slope(whole)
    if not (whole and #whole >= 2 and whole.bytes) then
        return SLOPE
    end
    local share = M.between(whole, whole.bytes) - M.between(whole, whole.bytes / 2)
    return sqrt(SLOPE * max(SLOPE_LEAST / 2, share / log(2)))
end

-- Slopes that a class may have, in ascending order, and the logarithms of their weights, from the expected slope.
local function slopes_of(hit_ratio, whole)
    local slopes, weights, sum = {}, {}, 0
    local center, least = min(expected_slope(whole), hit_ratio), min(SLOPE_LEAST, hit_ratio / 5)
    for i = 1, SLOPES do
        slopes[i] = least * (hit_ratio / least) ^ ((i - 1) / (SLOPES - 1))
        weights[i] = -0.5 * (log(slopes[i] / center) / APART) ^ 2
        sum = sum + exp(weights[i])
    end
    weights[SLOPES] = log(exp(weights[SLOPES]) + sum * ALIKE / (1 - ALIKE))
    return slopes, weights
end

-- Weights slopes by a class's own curve: by its share of the reads between each amount of memory and half of that
-- amount. bytes: today's memory.
local function weigh(slopes, weights, hit_ratio, curve, bytes)
    local reads, error_ratio = curve.reads or huge, LRU_ERROR
    for step = 0, 2 do
        local near, far = 2.0 ^ -step, 2.0 ^ -(step + 1)
        local share = M.between(curve, near * bytes) - M.between(curve, far * bytes)
        local chance = max(CHANCE_LEAST, CLUSTERED * sqrt(max(share, 1 / reads) * (1 - share) / reads))
        for i, slope in ipairs(slopes) do
            local power = slope / hit_ratio
            local lru = power ^ LRU_POWER
            local predicted = hit_ratio * (growth_of(near, lru) - growth_of(far, lru))
            local doubt = sqrt(chance ^ 2 + (error_ratio * (1 - power) * predicted) ^ 2)
            weights[i] = weights[i] - 0.5 * ((share - predicted) / doubt) ^ 2 - log(doubt)
        end
        error_ratio = LRU_ERROR * FARTHER
    end
end

-- Returns the median of values in ascending order, and the bounds of the middle four fifths of their weight. weights:
-- logarithms, one for each value.
local function middle(values, weights)
    local most, sum, below, at = max(unpack(weights)), 0, 0, {}
    for i in ipairs(values) do
        weights[i] = exp(weights[i] - most)
        sum = sum + weights[i]
    end
    for i, value in ipairs(values) do
        at[i] = { (below + weights[i] / 2) / sum, value }
        below = below + weights[i]
    end
    return M.between(at, 0.5), M.between(at, DOUBT_SHARE), M.between(at, 1 - DOUBT_SHARE)
end

-- The change of hits a second if a class has `pages` and not `held`, at most most_per_s: the results of `middle`.
local function hits_between(class, held, pages, most_per_s)
    if class.hits_per_s == 0 then
        return 0, 0, 0
    end
    local hit_ratio, changes = class.hits_per_s / (class.hits_per_s + class.misses_per_s), {}
    local slopes, weights = slopes_of(hit_ratio, class.whole_curve)
    if class.curve and #class.curve >= 2 then
        weigh(slopes, weights, hit_ratio, class.curve, held * PAGE_BYTES)
    end
    for i, slope in ipairs(slopes) do
        changes[i] = min(most_per_s, class.hits_per_s * abs(growth_of(pages / held, slope / hit_ratio)))
    end
    return middle(changes, weights)
end

--- The hits a second that a class gains by `pages` more, and the least and the most gain. If the class fills them
-- slowly, the early gain is less. class: of `after`, from slate.base.policy_core's pair; if known with `curve` and
-- `whole_curve`, its own and that of the whole cache: lists of { bytes, hit_ratio } in ascending order, with their
-- `reads` (unlimited if absent); that of the whole has today's `bytes`.
function M.gain(class, pages)
    local held = max(class.total_pages, 1)
    if class.evicted_per_s == 0 or pages <= 0 then
        return 0, 0, 0 -- the class does not fill the pages that it has
    end
    local won, least, most = hits_between(class, held, held + pages, class.misses_per_s)
    local fill_s = pages * class.chunks_per_page / max(class.stores_per_s, 1e-9)
    local soon = SOON_S / (SOON_S + fill_s)
    return won * soon, least * soon, most * soon
end

--- The hits a second that a class loses by `pages` less, and the least and the most loss: entirely free pages cost
-- nothing.
function M.cost(class, pages)
    local free = class.free_chunks // max(class.chunks_per_page, 1)
    local held, missing = class.total_pages - free, pages - free
    if missing <= 0 then
        return 0, 0, 0
    elseif missing >= held then
        return class.hits_per_s, class.hits_per_s, class.hits_per_s
    end
    return hits_between(class, held, held - missing, class.hits_per_s)
end

--- For policies: the change of a class's hits a second with `pages` more; negative pages cost hits.
function M.page_gain(class, pages)
    if pages < 0 then
        return -(M.cost(class, -pages))
    end
    return (M.gain(class, pages))
end

return M
