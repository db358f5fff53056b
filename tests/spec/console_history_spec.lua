-- SPDX-License-Identifier: BSD-3-Clause
-- The rings of samples behind graphs and means.
local history = require "slate.console.history"

-- A history of samples { at_s, values }.
local function of(capacity, samples)
    local made = history.new(capacity)
    for _, sample in ipairs(samples) do
        made:add(sample[1], sample[2], 2)
    end
    return made
end

describe("a history", function()
    it("keeps the newest samples, oldest first", function()
        local one = history.new(4)
        for i = 0, 9 do
            one:add(i, { i }, 2)
        end
        assert.same({ n = 4, 6, 7, 8, 9 }, one:series(1, 8))
        assert.same({ n = 2, 8, 9 }, one:series(1, 2))
        assert.is_nil(one:value(2, 0), "a column without values is unknown")
        assert.is_nil(one:value(3, 0), "so is one that was never there")
        assert.is_nil(one:value(1, 4), "and a sample that was dropped")
    end)

    it("has columns that begin later", function()
        local one = history.new(4)
        one:add(1, { 5 }, 1)
        one:add(2, { 6, 7 }, 2)
        assert.same({ n = 2, nil, 7 }, one:series(2))
        assert.equal(7, one:change(2, 60), "a class that was not listed had no pages")
        one:clear(1)
        one:add(3, { 8, 9 }, 2)
        assert.same({ n = 3, nil, nil, 8 }, one:series(1))
        assert.equal(0, one:change(1, 60), "a cleared column begins anew")
    end)

    it("weighs means by time, and skips gaps", function()
        local one = of(10, { { 0, {} }, { 1, { 10 } }, { 4, { 50 } }, { 5, {} } })
        assert.equal(40, one:mean(1, 10)) -- (10 x 1 + 50 x 3) / 4
        assert.equal(50, one:mean(1, 2))
        assert.is_nil(one:mean(1, 0.5), "nothing measured is unknown, not zero")
        one:add(6, { 70 }, 2)
        assert.equal((150 + 70) / 4, one:mean(1, 5), "a new sample makes a new mean")
    end)

    it("begins a new life at a restart: means and changes, not graphs", function()
        local one = of(10, { { 0, { 100 } }, { 1, { 101 } }, { 2, { 102 } } })
        assert.equal(2, one:change(1, 60))
        assert.equal(1, one:change(1, 1))
        one:begin_life()
        one:add(3, { 5 }, 2)
        assert.equal(0, one:change(1, 60))
        assert.is_nil(one:mean(1, 60))
        assert.same({ n = 4, 100, 101, 102, 5 }, one:series(1, 4))
        assert.equal(0, one:covered_s(10))
    end)

    it("says how much of a window it covers", function()
        local one = history.new(4)
        assert.equal(0, one:covered_s(10))
        for i = 0, 3 do
            one:add(5 + 2 * i, {}, 1)
        end
        assert.equal(6, one:covered_s(10))
        assert.equal(5, one:covered_s(5))
    end)

    it("takes 4 bytes a value", function()
        local one, values = history.new(416), {}
        collectgarbage()
        local before_kb = collectgarbage("count")
        for i = 1, 1000 do
            for column = 1, 287 do -- 45 classes
                values[column] = i * column / 7
            end
            one:add(i, values, 287)
        end
        collectgarbage()
        assert.is_true(collectgarbage("count") - before_kb < 560)
    end)
end)
