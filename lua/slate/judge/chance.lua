-- SPDX-License-Identifier: BSD-3-Clause
--- How much of a figure of a server, or of a difference between two, may be chance. Pure.
--
-- The figures are those of slate.judge.verdict. Reads that hit and items that are evicted differ from period to period
-- by chance at least. A load that comes in bursts, or reads that hit or miss together, differ by more: so the error is
-- as much larger as the samples before a change varied more than chance has it, the spread of a figure.
local M = {}

local RATES <const> = { "evictions_per_s", "item_loss_per_s", "out_of_memory_per_s" }

--- Rule of three: what was seen in none of n cases has a share below 3 / n in 19 of 20, and one pause in 20 is longer
-- than 3 mean ones.
M.NONE_SEEN = 3

--- How many times too small, and too large, a count may be, at 95 %: the square root of a count has a standard error
-- of a half. 1 and 1 without a count.
function M.count_doubt(count)
    if not count then
        return 1, 1
    end
    return (math.sqrt(count + 1) + 1) ^ 2 / count, count > 1 and count / (math.sqrt(count) - 1) ^ 2 or math.huge
end

--- The error of a difference of two figures, from their independent errors.
function M.joint(one, other)
    return math.sqrt(one ^ 2 + other ^ 2)
end

--- The standard error of a hit ratio of so many reads.
function M.ratio_error(hit_ratio, reads)
    local ratio = (hit_ratio * reads + 1) / (reads + 2) -- of 100 % of some reads no more is known
    return math.sqrt(ratio * (1 - ratio) / reads)
end

-- The variance of steps about the whole, as a multiple of that by chance, at least 1. weight: a field of each step.
local function spread_of(name, weight, whole, steps, by_chance)
    local sum, count = 0, 0
    for _, step in ipairs(steps) do
        if step[name] then
            sum, count = sum + ((step[name] - whole[name]) * step[weight]) ^ 2, count + 1
        end
    end
    return count > 1 and by_chance > 0 and math.max(1, sum * count / (count - 1) / by_chance) or 1
end

--- The spreads of the figures of a period, by name. steps: the figures from each of its samples to the next.
function M.spreads(whole, steps)
    local spreads = {}
    if whole.hit_ratio then
        spreads.hit_ratio = spread_of("hit_ratio", "reads", whole, steps, (whole.error * whole.reads) ^ 2)
    end
    for _, name in ipairs(RATES) do
        if whole[name] then
            spreads[name] = spread_of(name, "for_s", whole, steps, whole[name] * whole.for_s)
        end
    end
    return spreads
end

--- The standard error of the difference of a figure before a change, with its spread, and after it; nil if it is not
-- known. Of a rate: the error of `times` the rate before, and of the rate after, were that `bound`.
function M.error(name, before, after, times, bound)
    local spread = (before.spreads or {})[name]
    if not (spread and before[name] and after[name]) then
        return nil
    elseif name == "hit_ratio" then
        return math.sqrt(spread) * M.joint(before.error, after.error)
    end
    return math.sqrt(spread * (times ^ 2 * before[name] / before.for_s + bound / after.for_s))
end

return M
