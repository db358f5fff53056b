-- SPDX-License-Identifier: BSD-3-Clause
--- The cost of a cache a month at each size, memory and misses, and the size that costs least. Pure.
--
--     cost of memory m  =  m * price of memory  +  reads a month * (1 - hits with m) * price of a miss
--
-- Prices are in any currency: of one GiB for a month, and of one miss.
local sampled = require "slate.facts.sampled"
local limits = require "slate.judge.thresholds"

local M = {}

local GIB <const> = 1 << 30
local MONTH_S <const> = 365.25 / 12 * 24 * 3600
local PARTS <const> = 8 -- sizes that are computed between two of the curve

-- The points of slate.facts.sampled, raised where they fall: the curve never falls.
local function rising(curve)
    local points, most = {}, 0
    for i, point in ipairs(sampled.points(curve)) do
        most = math.max(most, point[2])
        points[i] = { point[1], most }
    end
    return points
end

-- Adds sizes between those of the curve, so that a band does not jump; on straight lines no added size costs least.
local function finer(points)
    local list = {}
    for i, point in ipairs(points) do
        local last = points[i - 1]
        for part = 1, last and PARTS - 1 or 0 do
            local share = part / PARTS
            list[#list + 1] = { last[1] + (point[1] - last[1]) * share, last[2] + (point[2] - last[2]) * share }
        end
        list[#list + 1] = point
    end
    return list
end

--- The hit ratio over the bytes, { bytes, hit_ratio } in ascending order; or nil and what is lacking. curve: of
-- slate.facts.sampled.
function M.points(curve)
    local reads = curve.reads or 0
    if #curve.points < 2 or not curve.bytes or curve.bytes == 0 then
        return nil, sampled.too_few("for a curve")
    elseif reads < limits.price_reads_least then
        return nil, ("%.0f reads were sampled so far, and a price needs %d: traffic brings more, unless sample_rate is "
            .. "0"):format(reads, limits.price_reads_least)
    elseif sampled.is_young(curve) then
        return nil, sampled.first_reads_words(curve)
    end
    return finer(rising(curve))
end

-- The standard error of the difference between the hit ratios of two sizes. Each band of the server is the error of a
-- size against today's size. If both sizes are on one side of today's, the smaller error is part of the larger; else
-- the two are independent. If the server reports no bands, those sampled reads count that hit at one size and miss at
-- the other.
local function doubt(curve, a, b)
    local a_error = sampled.error_at(curve, a.bytes / curve.bytes)
    local b_error = sampled.error_at(curve, b.bytes / curve.bytes)
    if a_error and b_error then
        local is_one_side = (a.bytes - curve.bytes) * (b.bytes - curve.bytes) > 0
        return math.sqrt(is_one_side and math.abs(a_error ^ 2 - b_error ^ 2) or a_error ^ 2 + b_error ^ 2)
    end
    local share = math.abs(a.hit_ratio - b.hit_ratio)
    return math.sqrt(math.max(share * (1 - share), 1 / curve.reads) / curve.reads)
end

-- The standard error of one hit ratio. If the server reports bands, today's hit ratio was counted.
local function doubt_of(curve, one)
    local ratio = one.hit_ratio
    return sampled.error_at(curve, one.bytes / curve.bytes)
        or math.sqrt(math.max(ratio * (1 - ratio), 1 / curve.reads) / curve.reads)
end

--- The cost of a size: { bytes, hit_ratio, cost, cost_of_memory, cost_of_misses }. load: { reads_per_s, price_per_gb,
-- price_per_miss }.
function M.cost(points, load, bytes)
    local ratio = sampled.between(points, bytes)
    local of_memory = bytes * load.price_per_gb / GIB
    local of_misses = load.reads_per_s * MONTH_S * (1 - ratio) * load.price_per_miss
    return { bytes = math.floor(bytes + 0.5), hit_ratio = ratio, cost = of_memory + of_misses,
        cost_of_memory = of_memory, cost_of_misses = of_misses }
end

--- The size of the curve that costs least, as from M.cost, with least_bytes and most_bytes (the range of sizes that
-- cost no more beyond chance), its cost_error, and at_end if it is the curve's last size, so that more memory might
-- cost less still. curve: that of the points, for its bands or else its sampled reads.
function M.cheapest(points, load, curve)
    local costs, best, at = {}, nil, nil
    for i, point in ipairs(points) do
        costs[i] = M.cost(points, load, point[1])
        if not best or costs[i].cost < best.cost then
            best, at = costs[i], i
        end
    end
    local price = load.reads_per_s * MONTH_S * load.price_per_miss
    local function is_as_cheap(one)
        return one and one.cost - best.cost <= limits.errors_apart * price * doubt(curve, one, best)
    end
    -- The range ends at the first size that costs more. Errors grow with distance: sizes beyond may just seem cheap.
    local first, last = at, at
    while is_as_cheap(costs[first - 1]) do
        first = first - 1
    end
    while is_as_cheap(costs[last + 1]) do
        last = last + 1
    end
    best.least_bytes, best.most_bytes = math.floor(points[first][1]), math.floor(points[last][1])
    best.cost_error = limits.errors_apart * price * doubt_of(curve, best)
    best.at_end = best.bytes >= math.floor(points[#points][1])
    return best
end

--- An amount of money in words, with as many digits as matter.
function M.words(amount)
    local size = math.abs(amount)
    return (size >= 1e15 and "%.3g" or size >= 1000 and "%.0f" or size >= 1 and "%.2f" or size > 0 and "%.3g"
        or "%.0f"):format(amount)
end

-- No real amount is larger, and no product of prices and reads is infinite.
local AMOUNT_MOST <const> = 1e15

local function parse_amount(text, what, such_as)
    local amount = tonumber(text)
    if amount and amount >= 0 and amount <= AMOUNT_MOST and not text:find("[xX]") then
        return amount
    end
    return nil, ("'%s' is not %s: write a number from 0 to %g, such as %s"):format(text, what, AMOUNT_MOST, such_as)
end

--- Parses a price of the command line, a number from 0 to 1e15. Returns the number, or nil and a message.
function M.parse_price(text)
    return parse_amount(text, "a price", "4.5 or 2e-6")
end

--- Parses a number of reads a second in the same way.
function M.parse_rate(text)
    return parse_amount(text, "a number of reads a second", "20000")
end

return M
