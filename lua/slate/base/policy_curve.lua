-- SPDX-License-Identifier: BSD-3-Clause
--- What pages are worth to a class, in hits; and curves of its misses over the items that it could hold. Pure.
--
-- Predictions for people (slate.judge.predict) and policies in Lua ask here. It is built into slated with
-- slate.base.policy_core, under whose rule it stands: what it uses is looked up once.
--
-- Hits grow with the logarithm of the pages: by so large a share of the class's reads, its slope, for each unit of the
-- natural logarithm. Where keys are about as popular as Zipf's law has them, with an exponent of 0.8 to 1, the slope is
-- about a tenth whatever the class and its size; where few keys take nearly all reads it is less, and where all are
-- alike it is the hit ratio. So what is expected of a class lies halfway between a tenth and the slope of the whole
-- cache's curve, and the class's own curve counts the more, the more reads it rests on. `make bench-moves` holds
-- predictions against what came on a server, `make bench-moves-reckoned` against what moves alone brought; the
-- constants are from there.
local ipairs = ipairs
local abs, exp, huge, log, max, min, sqrt = math.abs, math.exp, math.huge, math.log, math.max, math.min, math.sqrt

local M = {}

local PAGE_BYTES <const> = 1 << 20
local SLOPE <const>, SLOPE_ERROR <const> = 0.1, 0.04 -- of classes of many kinds, and its standard error
local WHOLE_WEIGHT <const> = 0.5 -- of the whole cache's slope in what is expected of a class, where it is known
local APART_RATIO <const>, APART <const> = 0.4, 0.02 -- how far classes are from that: so large a part of it, and more
local LRU_SHARE <const>, LRU_ERROR <const> = 0.7, 0.06 -- other policies keep other items than a curve's, the LRU
local CLUSTERED <const> = 2 -- so many times the error of as many single reads: a sampled key has several
local CURVE_SPAN <const> = 2 -- a curve's slope is that to so many times the pages, or to a part: of less it is chance
local SOON_S <const> = 12 -- of a gain half is told of where it takes the class so long to fill the pages

-- (e^z - 1) / z
local function growth(z)
    return abs(z) < 1e-9 and 1 or (exp(z) - 1) / z
end

--- The misses of a class over the items that it could hold, fitted to what it did with those it has.
-- requests, misses: in some time; items: held; age: of the item evicted next, in the same time.
-- By the footprint theory of Xiang et al. (ASPLOS 2013) the items held are what was asked for in the last `age`, and
-- the misses the rate at which that grows. So the curve goes through (0, requests) and (items, misses), and filling
-- it to `items` takes `age`; of the curves requests * (1 + n/a)^-b, from linear to hyperbolic, one fits.
-- Returns a function of items. Cost: some 40 steps to fit.
function M.miss_curve(requests, misses, items, age)
    if misses >= requests then
        return function() return requests end
    elseif misses <= 0 or items <= 0 then -- all that is asked for is there: who knows how little would do
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

--- The value at x along straight lines between points { x, y } in ascending order; beyond their ends, that of the end.
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

-- The slope of a curve between two amounts of memory, and the standard error that so few reads have.
local function slope_between(curve, bytes, far_bytes)
    local share = abs(M.between(curve, far_bytes) - M.between(curve, bytes))
    local reads, span = curve.reads or huge, abs(log(far_bytes / bytes))
    return share / span, CLUSTERED * sqrt(max(share, 1 / reads) * (1 - share) / reads) / span
end

-- The slope to expect of a class of which no more is known, and its standard error. whole: the curve of the
-- whole cache, or nil.
local function expected_slope(whole, is_more)
    if not (whole and #whole >= 2 and whole.bytes) then
        return SLOPE, SLOPE_ERROR
    end
    local slope = slope_between(whole, whole.bytes, is_more and whole.bytes * CURVE_SPAN or whole.bytes / CURVE_SPAN)
    slope = SLOPE + WHOLE_WEIGHT * (slope - SLOPE)
    return slope, APART_RATIO * slope + APART
end

-- A class's slope from the pages that it has on to others, and the standard error of that.
local function slope_of(class, held, pages)
    local expected, apart = expected_slope(class.whole_curve, pages > held)
    local curve = class.curve
    if not (curve and #curve >= 2) then
        return expected, apart
    end
    local far = pages > held and max(pages, held * CURVE_SPAN) or min(pages, held / CURVE_SPAN)
    local slope, chance = slope_between(curve, held * PAGE_BYTES, far * PAGE_BYTES)
    local weight = apart ^ 2 / (apart ^ 2 + LRU_ERROR ^ 2 + chance ^ 2)
    return expected + weight * (LRU_SHARE * slope - expected), apart * sqrt(1 - weight)
end

-- How many hits a second more, or less, pages in the place of those held mean, and the standard error.
local function hits_between(class, held, pages)
    local slope, doubt = slope_of(class, held, pages)
    local reads = (class.hits_per_s + class.misses_per_s) * abs(log(pages / held))
    return reads * slope, reads * doubt
end

--- The hits a second that a class wins by pages more, and the standard error. Where it fills them slowly, what they
-- bring soon is less. class: of `after` as slate.base.policy_core pairs snapshots; where they are known with `curve`
-- and `whole_curve`, its own and that of the whole cache: lists of { bytes, hit_ratio } in ascending order, with their
-- `reads` (any number unless told), that of the whole with its `bytes` of now.
function M.gain(class, pages)
    local held = max(class.total_pages, 1)
    if class.evicted_per_s == 0 or pages <= 0 then
        return 0, 0 -- it does not fill the pages that it has
    end
    local won, doubt = hits_between(class, held, held + pages)
    local fill_s = pages * class.chunks_per_page / max(class.stores_per_s, 1e-9)
    local soon = SOON_S / (SOON_S + fill_s)
    return min(won, class.misses_per_s) * soon, doubt * soon
end

--- The hits a second that a class loses by pages less, and the standard error: whole free pages cost nothing.
function M.cost(class, pages)
    local free = class.free_chunks // max(class.chunks_per_page, 1)
    local held, missing = class.total_pages - free, pages - free
    if missing <= 0 then
        return 0, 0
    elseif missing >= held then
        return class.hits_per_s, 0
    end
    local lost, doubt = hits_between(class, held, held - missing)
    return min(lost, class.hits_per_s), doubt
end

--- For policies: how many hits a second a class would have more with so many pages more; a negative number of pages
-- costs hits.
function M.page_gain(class, pages)
    if pages < 0 then
        return -(M.cost(class, -pages))
    end
    return (M.gain(class, pages))
end

return M
