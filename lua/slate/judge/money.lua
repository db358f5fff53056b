-- SPDX-License-Identifier: BSD-3-Clause
--- What a cache costs a month at each size, and which size costs least: memory, flash behind it, and misses. Pure.
--
--     cost of memory m and flash f  =  m * price of memory  +  f * price of flash
--                                      + reads a month * (1 - hits with m + f) * price of a miss
--
-- Prices are in whatever money the reader thinks of: a month of one GiB, and one miss. A hit on flash counts as a hit;
-- that it waits for the device is not in the price.
--
-- Behind it: the size to go to next.
local foresight = require "slate.facts.foresight"
local limits = require "slate.judge.thresholds"
local units = require "slate.base.units"

local M = {}

local GIB <const> = 1 << 30
local MONTH_S <const> = 365.25 / 12 * 24 * 3600
local FLASH_TIMES_MOST <const> = 40 -- of the memory: what it holds needs heads in memory
local PARTS <const> = 8 -- sizes looked at between two of a curve

-- The curve as slate.facts.foresight tells it, but one that never falls.
local function rising(curve)
    local points, most = {}, 0
    for i, point in ipairs(foresight.points(curve)) do
        most = math.max(most, point[2])
        points[i] = { point[1], most }
    end
    return points
end

-- Sizes between those of the curve, for a band that does not jump; on straight lines none of them costs least.
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
-- slate.facts.foresight.
function M.points(curve)
    local reads = curve.reads or 0
    if #curve.points < 2 or not curve.bytes or curve.bytes == 0 then
        return nil, foresight.too_few("for a curve")
    elseif reads < limits.price_reads_least then
        return nil, ("%.0f reads were sampled so far, and a price needs %d: traffic brings more, unless sample_rate is "
            .. "0"):format(reads, limits.price_reads_least)
    end
    return finer(rising(curve))
end

-- How far the difference between the hit ratios of two sizes may be off, a standard error. By the server's bands, each
-- of which is the error against today's size: on the one side of it the smaller size's error is part of the larger's,
-- on both sides they are apart. Where it tells none, of the sampled reads those count that hit at the one size and miss
-- at the other.
local function doubt(curve, a, b)
    local a_bytes, b_bytes = a.bytes + a.flash_bytes, b.bytes + b.flash_bytes
    local a_error = foresight.error_at(curve, a_bytes / curve.bytes)
    local b_error = foresight.error_at(curve, b_bytes / curve.bytes)
    if a_error and b_error then
        local is_one_side = (a_bytes - curve.bytes) * (b_bytes - curve.bytes) > 0
        return math.sqrt(is_one_side and math.abs(a_error ^ 2 - b_error ^ 2) or a_error ^ 2 + b_error ^ 2)
    end
    local share = math.abs(a.hit_ratio - b.hit_ratio)
    return math.sqrt(math.max(share * (1 - share), 1 / curve.reads) / curve.reads)
end

-- Likewise of one hit ratio. Today's, where there are bands, was counted.
local function doubt_of(curve, one)
    local ratio = one.hit_ratio
    return foresight.error_at(curve, (one.bytes + one.flash_bytes) / curve.bytes)
        or math.sqrt(math.max(ratio * (1 - ratio), 1 / curve.reads) / curve.reads)
end

local function misses_cost(load, ratio)
    return load.reads_per_s * MONTH_S * (1 - ratio) * load.price_per_miss
end

-- How memory and flash share so many bytes at the least cost: with flash that is cheaper, as much flash as may be.
local function shared(load, bytes)
    local flash_price = load.flash_price_per_gb
    if not flash_price or flash_price >= load.price_per_gb then
        return bytes, 0
    end
    local memory = math.max(math.min(bytes, load.memory_least_bytes or 0), bytes / (1 + FLASH_TIMES_MOST))
    return memory, bytes - memory
end

--- What a size costs: { bytes, flash_bytes, hit_ratio, cost, cost_of_memory, cost_of_misses }. load: { reads_per_s,
-- price_per_gb, price_per_miss, flash_price_per_gb (nil: no flash), memory_least_bytes }.
function M.cost(points, load, bytes)
    local memory, flash = shared(load, bytes)
    local ratio = foresight.between(points, bytes)
    local of_memory = (memory * load.price_per_gb + flash * (load.flash_price_per_gb or 0)) / GIB
    local of_misses = misses_cost(load, ratio)
    return { bytes = math.floor(memory + 0.5), flash_bytes = math.floor(flash + 0.5), hit_ratio = ratio,
        cost = of_memory + of_misses, cost_of_memory = of_memory, cost_of_misses = of_misses }
end

--- The size that costs least between two bounds (bytes of memory and flash together; nil: as far as the curve
-- reaches), as of `cost`, with the sizes that cost no more beyond chance as least_bytes and most_bytes (in all), its
-- cost_error, and at_end when it is where the curve ends, so that more might cost less still. curve: that of the
-- points, for its bands or else its sampled reads.
function M.cheapest(points, load, curve, least, most)
    local from, to = math.max(least or 0, points[1][1]), math.min(most or math.huge, points[#points][1])
    from = math.min(from, to)
    local sizes, best = { from }, nil
    for _, point in ipairs(points) do
        if point[1] > from and point[1] < to then
            sizes[#sizes + 1] = point[1]
        end
    end
    sizes[#sizes + 1] = to > from and to or nil
    local costs, at = {}, nil
    for i, bytes in ipairs(sizes) do
        costs[i] = M.cost(points, load, bytes)
        if not best or costs[i].cost < best.cost then
            best, at = costs[i], i
        end
    end
    local price = load.reads_per_s * MONTH_S * load.price_per_miss
    local function is_as_cheap(one)
        return one and one.cost - best.cost <= limits.errors_apart * price * doubt(curve, one, best)
    end
    -- Without a gap: of sizes further away less is known, so that they may be as cheap again for all that is known.
    local first, last = at, at
    while is_as_cheap(costs[first - 1]) do
        first = first - 1
    end
    while is_as_cheap(costs[last + 1]) do
        last = last + 1
    end
    best.least_bytes, best.most_bytes = math.floor(sizes[first]), math.floor(sizes[last])
    best.cost_error = limits.errors_apart * price * doubt_of(curve, best)
    best.at_end = best.bytes + best.flash_bytes >= math.floor(points[#points][1]) and not most
    return best
end

--- Money in words: as many digits as tell something.
function M.words(amount)
    local size = math.abs(amount)
    return (size >= 1e15 and "%.3g" or size >= 1000 and "%.0f" or size >= 1 and "%.2f" or size > 0 and "%.3g"
        or "%.0f"):format(amount)
end

-- Nobody means more, and no product of prices and reads is infinite.
local AMOUNT_MOST <const> = 1e15

local function parse_amount(text, what, such_as)
    local amount = tonumber(text)
    if amount and amount >= 0 and amount <= AMOUNT_MOST and not text:find("[xX]") then
        return amount
    end
    return nil, ("'%s' is not %s: write a number from 0 to %g, such as %s"):format(text, what, AMOUNT_MOST, such_as)
end

--- A price of the command line: a number from 0 to 1e15. Returns it, or nil and a message.
function M.parse_price(text)
    return parse_amount(text, "a price", "4.5 or 2e-6")
end

--- Likewise a number of reads a second.
function M.parse_rate(text)
    return parse_amount(text, "a number of reads a second", "20000")
end

-- Which size a cache should have next, so that its memory and its misses cost least: a step at a time, between bounds,
-- and back when hits fall. Pure: what is seen goes in, what to do comes out.
--
--     local scale = autoscale.new({ least_bytes =, most_bytes =, step_ratio =, cool_down_s =, fall_points =,
--         price_per_gb =, price_per_miss = })
--     local decision = scale:decide({ time_s =, curve =, reads_per_s =, hit_ratio = })

local MIB <const> = 1 << 20

--- How a server is followed unless it is said otherwise.
M.SCALE_DEFAULTS = { step_ratio = 0.25, cool_down_s = 300, fall_points = 2 }

local Scale = {}
Scale.__index = Scale
Scale.__name = "slate.judge.money.scale"

--- What follows one server. options: as above.
function M.scale(options)
    return setmetatable({ options = options }, Scale)
end

local function whole_mib(bytes)
    return math.floor(bytes / MIB + 0.5) * MIB
end

local function stay(why, more)
    local decision = more or {}
    decision.action, decision.why = "stay", why
    return decision
end

-- Back to the size before the last step, when hits have fallen beyond the bound since.
local function fallen(self, seen)
    local step, options = self.step, self.options
    if not step or step.to >= step.from or not (step.hit_ratio and seen.hit_ratio)
        or (seen.reads or 0) < limits.autoscale_reads_least then
        return nil
    end
    local fall = (step.hit_ratio - seen.hit_ratio) * 100
    if fall <= options.fall_points then
        return nil
    end
    self.shy = { bytes = step.from, until_s = seen.time_s + limits.autoscale_shy_cool_downs * options.cool_down_s }
    self.step, self.quiet_until_s = nil, seen.time_s + options.cool_down_s
    return { action = "back", from = step.to, to = step.from, entry = step.entry,
        why = ("hits fell by %.1f points since the step from %s to %s, and %g may be"):format(fall,
            units.bytes(step.from), units.bytes(step.to), options.fall_points) }
end

-- The limit is another than the last step left: that step is not judged by the hits of now, and the limit rests before
-- it is changed once more.
local function changed_by_others(self, seen)
    local step = self.step
    if not step or step.to == seen.limit_bytes then
        return nil
    end
    self.step, self.quiet_until_s = nil, seen.time_s + self.options.cool_down_s
    return stay(("the limit is %s, not %s as the last step left it: somebody changed it, and a cool-down of %.0f s "
        .. "begins"):format(units.bytes(seen.limit_bytes), units.bytes(step.to), self.options.cool_down_s),
        { is_changed_by_others = true })
end

-- The size to go for, within the bounds, and what it costs.
local function target_of(self, seen, points)
    local options, now = self.options, seen.limit_bytes
    local load = { reads_per_s = seen.reads_per_s, price_per_gb = options.price_per_gb,
        price_per_miss = options.price_per_miss }
    local least = options.least_bytes
    if self.shy and seen.time_s < self.shy.until_s then
        least = math.min(math.max(least, self.shy.bytes), options.most_bytes)
    end
    local best = M.cheapest(points, load, seen.curve, least, options.most_bytes)
    local cost = M.cost(points, load, now)
    local is_within = now >= best.least_bytes and now <= best.most_bytes
    return math.min(math.max(best.bytes, least), options.most_bytes), best, cost, is_within
end

--- What to do now: { action = "stay" | "step" | "back", why, from, to, now, target (costs) }.
-- seen: time_s; curve, of slate.facts.foresight; limit_bytes, the server's limit; reads_per_s; reads and hit_ratio,
-- counted since the last step or lately. After a step that was made, call `stepped`.
function Scale:decide(seen)
    local options, limit = self.options, seen.limit_bytes
    local decided = changed_by_others(self, seen) or fallen(self, seen)
    if decided then
        return decided
    elseif self.quiet_until_s and seen.time_s < self.quiet_until_s then
        return stay(("%.0f s of the cool-down are left"):format(self.quiet_until_s - seen.time_s))
    elseif seen.reads_per_s <= 0 then
        return stay("no reads: no figure to decide by")
    end
    local points, lacking = M.points(seen.curve)
    if not points then
        return stay(lacking)
    end
    local target, best, cost, is_within = target_of(self, seen, points)
    local is_outside = limit < options.least_bytes or limit > options.most_bytes
    local told = { now = cost, target = best }
    if is_within and not is_outside then
        return stay("no other size is surely cheaper", told)
    end
    local step = limit * options.step_ratio
    local to = math.min(math.max(target, limit - step), limit + step)
    if is_outside then -- the bounds are orders: those are reached at once
        to = math.min(math.max(to, options.least_bytes), options.most_bytes)
    end
    to = whole_mib(to)
    if math.abs(to - limit) < math.max(MIB, not is_outside and limit * limits.autoscale_step_least_ratio or 0) then
        return stay("the size that costs least is this one, or too near to it to go there", told)
    end
    told.action, told.from, told.to = "step", limit, to
    told.why = ("%s would cost %s a month, now it is %s"):format(units.bytes(target), M.words(best.cost),
        M.words(cost.cost))
    return told
end

--- A step was made: entry is that of the record, hit_ratio that of before it.
function Scale:stepped(decision, time_s, hit_ratio, entry)
    self.step = { from = decision.from, to = decision.to, hit_ratio = hit_ratio, entry = entry, time_s = time_s }
    self.quiet_until_s = time_s + self.options.cool_down_s
end

return M
