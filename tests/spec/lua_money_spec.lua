-- SPDX-License-Identifier: BSD-3-Clause
-- The cost of a cache at each size, and the cheapest size.
local money = require "slate.judge.money"

local MIB <const>, GIB <const> = 1 << 20, 1 << 30
local MONTH_S <const> = 365.25 / 12 * 24 * 3600

-- A curve whose misses fall as a power of the size: 1 at `from`, so that the cheapest size has a closed form.
local function power_curve(from, power, reads)
    local points = {}
    for step = 0, 32 do
        local bytes = from * 2 ^ (step / 4)
        points[#points + 1] = { bytes, 1 - (from / bytes) ^ power }
    end
    return { points = points, sizes = {}, bytes = from * 16, reads = reads }
end

describe("slate.judge.money", function()
    it("finds the size of the closed form", function()
        -- cost(b) = P b + M Q (c / b)^a is least where P = a M Q c^a b^-(a + 1).
        local c, a, price, reads_per_s, miss = 64 * MIB, 0.7, 5, 2000, 1e-8
        local curve = power_curve(c, a, 1e9)
        local points = assert(money.points(curve))
        local load = { reads_per_s = reads_per_s, price_per_gb = price, price_per_miss = miss }
        local best = money.cheapest(points, load, curve)
        local exact = (a * reads_per_s * MONTH_S * miss * c ^ a / (price / GIB)) ^ (1 / (1 + a))
        assert.is_true(exact > 2 * c and exact < 64 * c, "the test's minimum lies within its curve")
        assert.is_true(math.abs(best.bytes / exact - 1) < 0.1, ("%d against %.0f"):format(best.bytes, exact))
        assert.near(best.bytes * price / GIB, best.cost_of_memory, 1e-6)
        assert.near(reads_per_s * MONTH_S * miss * (1 - best.hit_ratio), best.cost_of_misses, 1e-6)
        assert.near(best.cost_of_memory + best.cost_of_misses, best.cost, 1e-9)
        for _, point in ipairs(points) do
            assert.is_true(money.cost(points, load, point[1]).cost >= best.cost - 1e-9, "nothing costs less")
        end
        assert.is_true(best.least_bytes <= best.bytes and best.bytes <= best.most_bytes)
        assert.is_false(best.at_end)
    end)

    it("takes the server's bands for its error where there are some, whatever was sampled", function()
        local load, errors = { reads_per_s = 2000, price_per_gb = 1, price_per_miss = 1e-7 }, {}
        for i, band in ipairs({ 0.001, 0.01, 0.05 }) do
            local curve = power_curve(64 * MIB, 0.7, 1000)
            curve.sizes = {}
            for _, times in ipairs({ 0.5, 1, 2, 4 }) do
                curve.sizes[#curve.sizes + 1] = { times, 1 - (1 / 16 / times) ^ 0.7 }
                curve[("band_x%g"):format(times)] = band
            end
            local best = money.cheapest(assert(money.points(curve)), load, curve)
            curve.reads = 1e9
            local same = money.cheapest(assert(money.points(curve)), load, curve)
            assert.same({ best.least_bytes, best.most_bytes, best.cost_error },
                { same.least_bytes, same.most_bytes, same.cost_error })
            errors[i] = best.cost_error
            assert.is_true(best.bytes > 4 * curve.bytes, "the cheapest size is beyond today's")
            local price = 2000 * MONTH_S * 1e-7
            local times = best.bytes / curve.bytes
            assert.near(2 * price * require("slate.facts.sampled").error_at(curve, times), best.cost_error, 1e-9)
        end
        assert.is_true(errors[1] < errors[2] and errors[2] < errors[3])
    end)

    it("does not take today's size for as cheap because less is known of a smaller one", function()
        local curve = power_curve(64 * MIB, 0.7, 1e6)
        curve.sizes = { { 0.5, 0.70 }, { 1, 0.72 }, { 2, 0.76 }, { 4, 0.765 } }
        curve["band_x0.5"], curve.band_x2, curve.band_x4 = 0.05, 0.01, 0.02
        local points = {}
        for _, point in ipairs(assert(money.points(curve))) do
            points[#points + 1] = point[1] <= 2 * curve.bytes and point or nil
        end
        local load = { reads_per_s = 2000, price_per_gb = 0.001, price_per_miss = 1 }
        local best = money.cheapest(points, load, curve)
        assert.equal(2 * curve.bytes, best.bytes)
        assert.is_true(best.least_bytes > curve.bytes, ("%d from %d"):format(best.least_bytes, best.bytes))
    end)

    it("has finite costs and a size for the largest prices, and for none", function()
        local curve = power_curve(64 * MIB, 0.7, 1e6)
        local points, most = assert(money.points(curve)), assert(money.parse_price("1e15"))
        for _, prices in ipairs({ { most, most }, { most, 0 }, { 0, most }, { 0, 0 }, { 1e-300, 1e-300 } }) do
            local load = { reads_per_s = most, price_per_gb = prices[1], price_per_miss = prices[2] }
            local best = money.cheapest(points, load, curve)
            assert.is_true(best.cost >= 0 and best.cost < math.huge and best.cost_error < math.huge)
            assert.is_true(best.least_bytes <= best.bytes and best.bytes <= best.most_bytes)
        end
    end)

    it("shifts the LRU's curve to the miniatures' hits, and never falls", function()
        local curve = power_curve(64 * MIB, 0.7, 1e6)
        curve.sizes = { { 0.5, 0.80 }, { 1, 0.87 }, { 2, 0.92 }, { 4, 0.9 } }
        local points = assert(money.points(curve))
        local sampled = require "slate.facts.sampled"
        assert.near(0.87, sampled.between(points, curve.bytes), 1e-9)
        assert.near(0.80, sampled.between(points, curve.bytes / 2), 1e-9)
        for i = 2, #points do
            assert.is_true(points[i][2] >= points[i - 1][2] and points[i][2] <= 1)
        end
    end)

    it("names the missing condition until the sample is large enough", function()
        local points, why = money.points(power_curve(64 * MIB, 0.7, 499))
        assert.is_nil(points)
        assert.truthy(why:find("499 reads were sampled so far, and a price needs 500", 1, true))
        points, why = money.points({ points = {}, sizes = {}, bytes = GIB, reads = 0 })
        assert.is_nil(points)
        assert.truthy(why:find("too few reads were sampled", 1, true))
    end)

    it("reads prices", function()
        assert.equal(2e-6, money.parse_price("2e-6"))
        assert.equal(1e15, money.parse_price("1e15"))
        for _, text in ipairs({ "-1", "x", "inf", "nan", "0x10", "", "1e308", "1.1e15" }) do
            local price, problem = money.parse_price(text)
            assert.is_nil(price, text)
            assert.equal(("'%s' is not a price: write a number from 0 to 1e+15, such as 4.5 or 2e-6"):format(text),
                problem)
            assert.truthy(select(2, money.parse_rate(text)):find("is not a number of reads a second", 1, true))
        end
        assert.equal("0", money.words(0))
        assert.equal("0.00123", money.words(0.00123))
        assert.equal("12.35", money.words(12.345678))
        assert.equal("12346", money.words(12345.678))
    end)
end)
