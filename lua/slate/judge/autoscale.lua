-- SPDX-License-Identifier: BSD-3-Clause
--- Which size a cache should have next, so that its memory and its misses cost least: a step at a time, between bounds,
--- and back when hits fall. Pure: what is seen goes in, what to do comes out.
--
--     local scale = autoscale.new({ least_bytes =, most_bytes =, step_ratio =, cool_down_s =, fall_points =,
--         price_per_gb =, price_per_miss = })
--     local decision = scale:decide({ time_s =, curve =, reads_per_s =, hit_ratio = })
local money = require "slate.judge.money"
local units = require "slate.base.units"

local M = {}

local MIB <const> = 1 << 20
local WORTH_IT_RATIO <const> = 0.02 -- of the size: a smaller step is none
local READS_LEAST <const> = 1000 -- since a step, before its hits are judged
local SHY_TIMES <const> = 12 -- cool-downs in which a size that cost hits is not tried again

--- How a server is followed unless it is said otherwise.
M.DEFAULTS = { step_ratio = 0.25, cool_down_s = 300, fall_points = 2 }

local Scale = {}
Scale.__index = Scale
Scale.__name = "slate.judge.autoscale"

--- What follows one server. options: as above.
function M.new(options)
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
        or (seen.reads or 0) < READS_LEAST then
        return nil
    end
    local fall = (step.hit_ratio - seen.hit_ratio) * 100
    if fall <= options.fall_points then
        return nil
    end
    self.shy = { bytes = step.from, until_s = seen.time_s + SHY_TIMES * options.cool_down_s }
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
    local best = money.cheapest(points, load, seen.curve, least, options.most_bytes)
    local cost = money.cost(points, load, now)
    local is_within = now >= best.least_bytes and now <= best.most_bytes
    return math.min(math.max(best.bytes, least), options.most_bytes), best, cost, is_within
end

--- What to do now: { action = "stay" | "step" | "back", why, from, to, now, target (costs, of slate.judge.money) }.
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
    local points, lacking = money.points(seen.curve)
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
    if math.abs(to - limit) < math.max(MIB, not is_outside and limit * WORTH_IT_RATIO or 0) then
        return stay("the size that costs least is this one, or too near to it to go there", told)
    end
    told.action, told.from, told.to = "step", limit, to
    told.why = ("%s would cost %s a month, now it is %s"):format(units.bytes(target), money.words(best.cost),
        money.words(cost.cost))
    return told
end

--- A step was made: entry is that of the record, hit_ratio that of before it.
function Scale:stepped(decision, time_s, hit_ratio, entry)
    self.step = { from = decision.from, to = decision.to, hit_ratio = hit_ratio, entry = entry, time_s = time_s }
    self.quiet_until_s = time_s + self.options.cool_down_s
end

return M
