-- SPDX-License-Identifier: BSD-3-Clause
--- The times of round trips: the last ones, how many took how long, and quantiles.
local M = {}

--- A log keeps so many.
M.SAMPLES = 600
-- Upper limits of the counts, in microseconds; one more count has no limit.
M.LIMITS_US = { 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000 }

local Log = {}
Log.__index = Log
Log.__name = "slate.console.latency"

--- A log without round trips. count: all that were ever added.
function M.new()
    return setmetatable({ us = {}, count = 0 }, Log)
end

function Log:add(us)
    self.us[self.count % M.SAMPLES + 1] = us
    self.count = self.count + 1
end

--- Summarizes a list of times, in which unknown ones may be nil if it has n: { count, p50_us, p90_us, p99_us, most_us
-- (nil without any), buckets = how many took at most each of LIMITS_US, and more than the one before; the last: longer
-- }.
function M.of(list)
    local sorted = {}
    for i = 1, list.n or #list do
        sorted[#sorted + 1] = list[i]
    end
    table.sort(sorted)
    local summary, bucket = { count = #sorted, buckets = {} }, 1
    local function quantile(share) return sorted[math.max(math.ceil(share * #sorted), 1)] end
    summary.p50_us, summary.p90_us = quantile(0.5), quantile(0.9)
    summary.p99_us, summary.most_us = quantile(0.99), quantile(1)
    for i = 1, #M.LIMITS_US + 1 do
        summary.buckets[i] = 0
    end
    for _, us in ipairs(sorted) do
        while M.LIMITS_US[bucket] and us > M.LIMITS_US[bucket] do
            bucket = bucket + 1
        end
        summary.buckets[bucket] = summary.buckets[bucket] + 1
    end
    return summary
end

--- The summary of a log.
function Log:summary()
    return M.of(self.us)
end

return M
