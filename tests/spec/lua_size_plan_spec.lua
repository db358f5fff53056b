-- SPDX-License-Identifier: BSD-3-Clause
-- The effect of other chunk sizes in slatetop's Sizes view and in slatectl advise sizes.
local fit = require "slate.judge.fit"
local view = require "slate.judge.view"
local prediction = require "slate.judge.prediction"
local sizehist = require "slate.facts.sizehist"
local snapshots = require "support.snapshots"

local MIB <const> = 1 << 20
local SETTINGS <const> = { chunk_size = 48, slab_chunk_max = 524288, growth_factor = 1.25 }

-- A server of 64 MiB after one reading. sizes: its reply to stats sizes.
local function seen(classes, slated)
    local one = view.observer()
    local now = snapshots.make(1000, classes or {}, { limit_maxbytes = 64 * MIB }, SETTINGS)
    now.slated = slated
    one:observe(now)
    return one
end

local function sizes_reply(items)
    local lines = {}
    for bytes, count in pairs(items) do lines[#lines + 1] = ("STAT %d %d"):format(bytes, count) end
    return table.concat(lines, "\r\n") .. "\r\nEND\r\n"
end

local function by_order(plan)
    local list = {}
    for _, choice in ipairs(plan) do list[choice.order] = choice end
    return list
end

describe("other chunk sizes", function()
    it("are reckoned for a memcached that keeps track of sizes, with the figures of slatectl advise sizes", function()
        local asked = { sizes = sizes_reply({ [160] = 50000, [4128] = 3000, [20000] = 500 }) }
        local plan = prediction.size_choices(seen(), asked)
        local list = by_order(plan)
        assert.equal(6, #plan, "auto is slated's alone")
        local histogram = sizehist.of_sizes({ "STAT 160 50000", "STAT 4128 3000", "STAT 20000 500" })
        for _, choice in ipairs(plan) do
            local judged = fit.sizes_judged(histogram, choice.sizes, SETTINGS.slab_chunk_max)
            assert.same({ judged.classes, judged.waste_ratio }, { choice.classes, choice.waste_ratio }, choice.order)
        end
        assert.near(0, list["factor 1.25"].items_change, 1e-9, "these are its sizes")
        assert.is_false(list["factor 1.25"].is_worth_it)
        assert.equal(plan.waste_ratio, list["factor 1.25"].waste_ratio)
        local best
        for _, choice in ipairs(plan) do
            best = choice.is_best and choice or best
            assert.is_true(not choice.is_worth_it or choice.items_change >= 0.02)
        end
        assert.is_true(best ~= nil and best.is_worth_it)
        for _, choice in ipairs(plan) do
            assert.is_true(choice.items_change <= best.items_change + 0.001)
        end
    end)

    it("are not guessed where the server does not report sizes", function()
        local plan = prediction.size_choices(seen({ [3] = snapshots.class({ chunk_size = 1000 }) }), {})
        assert.equal(0, #plan)
        assert.is_nil(plan.waste_ratio)
        assert.equal(0, #prediction.size_choices(seen(), { sizes = "STAT sizes_status disabled\r\nEND\r\n" }))
        local has = {}
        for _, bytes in ipairs(plan.now) do has[bytes] = true end
        assert.is_true(has[96] and has[120] and has[1000] and has[524288], "those of its start, and those in use")
    end)

    it("are those that a slated predicts, the one with most items marked", function()
        local outlooks = {
            ["factor 1.04"] = { classes = 62, waste_pct = 3, items_pct = 9.31, would_be_made = true, words = "x" },
            ["factor 1.08"] = { classes = 60, waste_pct = 3, items_pct = 9.3, would_be_made = true, words = "x" },
            ["factor 2.00"] = { classes = 13, waste_pct = 30, items_pct = -20, would_be_made = false, words = "x" },
            auto = { would_be_made = false, words = "these are the chunk sizes already" },
        }
        local geometry = "STAT state steady\r\nSTAT 1:chunk_size 96\r\nSTAT 1:class_state active\r\n"
            .. "STAT 2:chunk_size 120\r\nSTAT 2:class_state retired\r\nSTAT 3:chunk_size 524288\r\nEND\r\n"
        local plan = prediction.size_choices(seen({}, "0.1.0"), { geometry = geometry, outlooks = outlooks })
        local list = by_order(plan)
        assert.same({ 96, 524288 }, plan.now)
        assert.is_true(list["factor 1.08"].is_best, "as many items with fewer classes")
        assert.is_nil(list["factor 1.04"].is_best)
        assert.equal("these are the chunk sizes already", list.auto.words)
        assert.is_nil(list["factor 1.15"].is_known)
        assert.is_nil(list["factor 2.00"].words)
    end)
end)
