-- SPDX-License-Identifier: BSD-3-Clause
--- The worth of pages to a class, in hits; and curves of its misses over the items that it could hold. Pure.
--
-- Predictions for people (slate.judge.verdict) and policies in Lua use this module. slated has it built in with
-- slate.base.policy_core, whose rule holds here: library functions are looked up once.
--
-- A class with a sampled curve of its own (`stats curve CLASS`) gains and loses what the curve has between the memory
-- that it uses now and then. The error of that has these parts, none of them fitted:
--
-- - Sampled reads, as many as the curve has between both sizes; a key has several of them, as the curve's band shows.
-- - The counted hit ratio is not the curve's. Either the difference stays with the other memory, or it goes, as it
--   would at no memory and at all memory; that is the likelier, the more the memory changes.
-- - The curve is the LRU's. The server's predictions of the running policy say how far that may be off.
-- - Whether free chunks are filled meanwhile.
--
-- A gain comes when the pages are filled, by the items that the class would have evicted. It is that of the seconds in
-- which the outcome is judged. `make bench-moves` compares predictions with the effect of moves alone.
--
-- Without such a curve, as with memcached, hits grow with the logarithm of the pages. The slope is their growth, as a
-- share of the class's reads, for each unit of the natural logarithm. If keys are about as popular as in Zipf's law
-- with an exponent of 0.8 to 1, the slope is about a tenth for any class and size; if few keys take nearly all reads,
-- it is less. If all keys are equally popular, hits grow with the pages themselves, and the slope is the hit ratio. The
-- slope of a class is unknown. So slopes from almost 0 to the hit ratio are weighted by their distance from the
-- expected slope, halfway between a tenth and the slope of the whole cache's curve. The result is their median.
--
-- A least and a most enclose 19 of 20 outcomes.
local ipairs, setmetatable = ipairs, setmetatable
local abs, exp, log, max, min, sqrt = math.abs, math.exp, math.log, math.max, math.min, math.sqrt
local unpack = table.unpack

local M = {}

local PAGE_BYTES <const> = 1 << 20
local SLOPE <const> = 0.1 -- the expected slope, from classes of many kinds
local APART <const> = 0.33 -- standard error of the logarithm of a class's slope against the expected one
local ALIKE <const> = 0.05 -- the share of classes whose keys are all equally popular, if no more is known
local SLOPES <const>, SLOPE_LEAST <const> = 12, 0.02 -- the number of weighted slopes, and the least of them
local DOUBT_SHARE <const> = 0.025 -- the share of the weight above the reported most, and below the reported least
local EXACT_READS <const> = 1e9 -- of a curve without reads and band, as policies have it: the curve counts as exact
local DEVIATIONS <const> = 1.96 -- 19 of 20 values of a normal distribution are so near to the mean
local JUDGED_FROM_S <const>, JUDGED_TO_S <const> = 4, 14

--- From and to, in seconds after a move: the time of its outcome.
M.JUDGED_S = { JUDGED_FROM_S, JUDGED_TO_S }

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

-- The powers that a class may have, in ascending order, and their weights. center: the expected slope.
local function weighted_powers(hit_ratio, center)
    local powers, weights, sum, least = {}, {}, 0, min(SLOPE_LEAST, hit_ratio / 5)
    for i = 1, SLOPES do
        powers[i] = (hit_ratio / least) ^ ((i - SLOPES) / (SLOPES - 1))
        weights[i] = exp(-0.5 * (log(powers[i] * hit_ratio / center) / APART) ^ 2)
        sum = sum + weights[i]
    end
    weights[SLOPES] = weights[SLOPES] + sum * ALIKE / (1 - ALIKE)
    return powers, weights, sum / (1 - ALIKE)
end

-- The powers with this share of the weight below them, as { lower, upper, part of the way between }.
local function power_at(powers, weights, sum, share)
    local below, last_at = 0, 0
    for i, weight in ipairs(weights) do
        local at = (below + weight / 2) / sum
        if at >= share then
            return { powers[max(i - 1, 1)], powers[i], i > 1 and (share - last_at) / (at - last_at) or 0 }
        end
        below, last_at = below + weight, at
    end
    return { powers[#powers], powers[#powers], 0 }
end

local POWERS <const> = setmetatable({}, { __mode = "k" }) -- by class: a plan asks for the worth of many page counts

-- The powers of a class at the median, and at the bounds of the middle 19 of 20 parts of their weight.
local function powers_of(class)
    local hit_ratio = class.get_hits_per_s / (class.get_hits_per_s + class.misses_per_s)
    local known, whole = POWERS[class], class.whole_curve
    if not known or known.hit_ratio ~= hit_ratio or known.whole ~= whole then
        local powers, weights, sum = weighted_powers(hit_ratio, min(expected_slope(whole), hit_ratio))
        known = { hit_ratio = hit_ratio, whole = whole, power_at(powers, weights, sum, 0.5),
            power_at(powers, weights, sum, DOUBT_SHARE), power_at(powers, weights, sum, 1 - DOUBT_SHARE) }
        POWERS[class] = known
    end
    return known
end

-- The change of hits a second if a class has `pages` and not `held`, at most most_per_s, if the class has no curve: the
-- median, the least and the most.
local function hits_by_slopes(class, held, pages, most_per_s)
    local function change_of(at)
        local lower, upper, part = unpack(at)
        local from = min(most_per_s, class.get_hits_per_s * abs(growth_of(pages / held, lower)))
        local to = min(most_per_s, class.get_hits_per_s * abs(growth_of(pages / held, upper)))
        return from + (to - from) * part
    end
    local powers = powers_of(class)
    return change_of(powers[1]), change_of(powers[2]), change_of(powers[3])
end

-- A difference less what chance makes of it: figures that differ by a standard error may be the same.
local function beyond_chance(difference, error_ratio)
    return (difference < 0 and -1 or 1) * sqrt(max(0, difference ^ 2 - error_ratio ^ 2))
end

-- How far predictions of the running policy differ from the LRU's curve in their change from today's memory to half
-- of it, or to twice; 0 if the server does not report both. whole: the curve of the whole cache, or nil.
local function policy_apart(whole, times)
    local here, there
    for _, size in ipairs(whole and #whole >= 2 and whole.bytes and whole.sizes or {}) do
        here, there = size[1] == 1 and size or here, size[1] == times and size or there
    end
    if not (here and there and there[4]) then
        return 0
    end
    local by_lru = M.between(whole, times * whole.bytes) - M.between(whole, whole.bytes)
    return beyond_chance(there[2] - here[2] - by_lru, (there[4] - there[3]) / 2 / DEVIATIONS)
end

-- The curve's hit ratio with so many pages.
local function curve_at(curve, pages)
    local bytes = pages * PAGE_BYTES
    return bytes < curve[1][1] and curve[1][2] * bytes / curve[1][1] or M.between(curve, bytes)
end

-- The gain, or the loss as a positive number, of a class with a curve, as a share of its reads, and its variance. used,
-- other: pages now and then; counted: the hit ratio, with the pages that were used meanwhile.
local function change_by_curve(class, used, other, counted)
    local curve = class.curve
    local here, reads = curve_at(curve, used), max(curve.reads or EXACT_READS, 1)
    local sign, band = other < used and -1 or 1, (curve.lru_band or 0) / DEVIATIONS
    local change = sign * (curve_at(curve, other) - here)
    -- A sampled key has so many reads, by the band of today's ratio: see curve_error in daemon/sample/curve.c.
    local a_key = max(1, (band * reads) ^ 2 / max(here ^ 2 * (1 - here) * reads, 1))
    -- A class that just got pages has hits of fewer: a loss takes those, too, that the pages bring since.
    local counted_at = sign < 0 and class.counted_pages and curve_at(curve, class.counted_pages) or here
    local apart = beyond_chance(sign * (counted_at - counted), band) -- the more of it goes, the larger is the change
    local goes = 1 - min(used, other) / max(used, other)
    -- A running policy that hits more than the LRU does so with less memory, too.
    local stays = sign < 0 and counted > counted_at
    local variance = a_key * max(change * reads, 1) / reads ^ 2 + goes * (stays and 1 or 1 - goes) * apart ^ 2
        + (policy_apart(class.whole_curve, other < used and 0.5 or 2) * 2 * goes) ^ 2
    change = change + (stays and 0 or goes * apart)
    local level = max(0, min(1, counted + here - counted_at))
    return max(0, min(sign < 0 and level or 1 - level, change)), variance
end

-- The change of hits a second of a class with a curve, and its least and most. cases: equally likely, each { pages now,
-- pages then }.
local function hits_by_curve(class, cases, most_per_s)
    local reads_per_s, sum, squares, variance = class.get_hits_per_s + class.misses_per_s, 0, 0, 0
    for _, case in ipairs(cases) do
        local change, doubt = 0, 0
        if case[1] ~= case[2] then
            change, doubt = change_by_curve(class, case[1], case[2], class.get_hits_per_s / reads_per_s)
        end
        sum, squares, variance = sum + change, squares + change ^ 2, variance + doubt
    end
    local mean = sum / #cases
    local between = cases.are_doubtful and max(0, squares / #cases - mean ^ 2) or 0
    local half = DEVIATIONS * sqrt(variance / #cases + between)
    return mean * reads_per_s, max(0, mean - half) * reads_per_s, min(most_per_s, (mean + half) * reads_per_s)
end

-- Whether a class has a curve, which reaches above its memory.
local function has_curve(class)
    local last = class.curve and class.curve[#class.curve]
    return last and last[1] > class.total_pages * PAGE_BYTES
end

--- The hits a second that a class gains by `pages` more, and the least and the most gain, in the seconds in which the
-- outcome is judged. class: of `after`, from slate.base.policy_core's pair; if known with `curve` and `whole_curve`,
-- its own and that of the whole cache (see slate.facts.sampled.curves), and with counted_pages, the mean of the pages
-- that it used while its rates were counted.
function M.gain(class, pages)
    local held = max(class.total_pages, 1)
    if class.evicted_per_s == 0 or class.get_hits_per_s == 0 or pages <= 0 then
        return 0, 0, 0 -- the class does not fill the pages that it has, or is not read
    end
    local cases, filled = {}, 0
    for second = JUDGED_FROM_S, JUDGED_TO_S - 1 do
        local more = min(pages, class.evicted_per_s * (second + 0.5) / max(class.chunks_per_page, 1))
        cases[#cases + 1] = { held, held + more }
        filled = filled + more / (JUDGED_TO_S - JUDGED_FROM_S)
    end
    if has_curve(class) then
        return hits_by_curve(class, cases, class.misses_per_s)
    end
    return hits_by_slopes(class, held, held + filled, class.misses_per_s)
end

--- The hits a second that a class loses by `pages` less, and the least and the most loss: entirely free pages cost
-- nothing, unless the class may fill them meanwhile.
function M.cost(class, pages)
    local held, chunks = class.total_pages, max(class.chunks_per_page, 1)
    local used = held - class.free_chunks // chunks
    if class.get_hits_per_s == 0 then
        return 0, 0, 0
    elseif has_curve(class) then
        local cases = { are_doubtful = true }
        for second = JUDGED_FROM_S, JUDGED_TO_S - 1 do
            for _, stored in ipairs({ 0, class.stores_per_s * (second + 0.5) / chunks }) do
                local full = min(held, held - class.free_chunks / chunks + stored)
                cases[#cases + 1] = { full, min(full, max(held - pages, 0)) }
            end
        end
        return hits_by_curve(class, cases, class.get_hits_per_s)
    elseif held - pages >= used then
        return 0, 0, 0
    elseif pages >= held then
        return class.get_hits_per_s, class.get_hits_per_s, class.get_hits_per_s
    end
    return hits_by_slopes(class, used, held - pages, class.get_hits_per_s)
end

--- For policies: the change of a class's hits a second with `pages` more; negative pages cost hits.
function M.page_gain(class, pages)
    if pages < 0 then
        return -(M.cost(class, -pages))
    end
    return (M.gain(class, pages))
end

return M
