-- SPDX-License-Identifier: BSD-3-Clause
-- Restarts, flushes and stalls: each is found at once, is the cause of the falls after it, counts their cost, and ends.
local incident_words = require "slate.judge.incident_words"
local loads = require "support.loads"

local watched, words, changed, with = loads.watched, loads.words, loads.changed, loads.with

describe("incidents that interrupt", function()
    before_each(function() math.randomseed(loads.SEED) end)

    it("are a flush, with the hits that it cost until they are back", function()
        local watch, news = watched(changed(function(state, since_s)
            state.flush = since_s == 0 and 1 or 0
            state.items = 1e5 * (1 - math.exp(-(since_s + 1) / 60))
            state.ratio = 0.77 - 0.5 * math.exp(-since_s / 30)
            return state
        end, 2000, 0.77), 400)
        assert.same({ 0, "a client sent flush_all: " }, { news[1][1] - 100, news[1][2]:match("^.*flush_all: ") })
        assert.is_true(news[2][1] - 100 <= 2)
        assert.truthy(news[2][2]:find("^hits fell from 77%% to %d+%% so far, after flush_all$"))
        assert.truthy(news[3][2]:find("^hits are back after %d+[ms]%d*, from 2%d%% at the lowest: %d+ hits lost$"),
            news[3][2])
        assert.equal(1, #watch.list, words(watch))
        assert.near(27000, watch.list[1].cost_hits, 2000) -- of 30,000, nine tenths until the end
        assert.is_false(watch.list[1].is_open)
    end)

    it("are a restart, with its items and its hits", function()
        local watch, news = watched(changed(function(state, since_s)
            state.restart, state.ratio = since_s == 0, 0.77 * (1 - math.exp(-since_s / 30))
            state.items = 1e5 * (1 - math.exp(-since_s / 30))
            return state
        end, 2000, 0.77), 400)
        assert.same({ 0, "the server restarted and lost " }, { news[1][1] - 100, news[1][2]:match("^.* lost ") })
        assert.truthy(news[2][2]:find("^hits fell from 77%%"))
        assert.near(42500, watch.list[1].cost_hits, 3000) -- of 46,200, until five points are missing
        assert.equal(1, #watch.list, words(watch))
    end)

    it("are a restart after which clients stay away, with the hits that they miss", function()
        local watch, news = watched(changed(function(state, since_s)
            state.restart, state.rate, state.items = since_s == 0, since_s < 3 and 0 or 100, 1000
            return state
        end, 2000, 0.77), 160)
        assert.equal(10, news[2][1] - 100)
        assert.truthy(news[2][2]:find("^requests fell from 2%d%d%d to %d+ a second, after the restart$"), news[2][2])
        assert.equal(1, #watch.list, words(watch))
        assert.truthy(words(watch):find("^the server restarted .*; requests fell from 2%d%d%d to %d+ a second$"))
        assert.equal("find the reason in its log or in the system's log", incident_words.todo(watch.list[1]))
        assert.near(0.77 * 1900 * 50, watch.list[1].cost_hits, 8000)
    end)

    it("are a flush that makes clients wait for their database: fewer requests are its cost, once", function()
        local watch, news = watched(changed(function(state, since_s)
            state.flush, state.ratio = since_s == 0 and 1 or 0, since_s < 30 and 0 or state.ratio
            state.rate, state.items = since_s < 30 and 300 or state.rate, since_s < 30 and 100 or state.items
            return state
        end, 2000, 0.77), 200)
        assert.equal(1, #watch.list, words(watch))
        assert.truthy(words(watch):find("^a client sent flush_all: .*; hits fell .*; requests fell from 2%d+ to %d+"))
        assert.near(0.77 * 2000 * 30, watch.list[1].cost_hits, 4000)
        assert.truthy(news[#news][2]:find("^hits are back after 3%ds"), news[#news][2])
        assert.is_false(watch.list[1].is_open)
    end)

    it("are a stall of nine seconds, but not a pause of the program that records", function()
        local function paused(rate, ...)
            return changed(function(state, since_s)
                if since_s < 9 then
                    state.answers, state.rate = false, rate
                end
                return state
            end, 2000, 0.77, ...)
        end
        local watch, news = watched(paused(0), 130)
        assert.same({ 9, "the server answered no request for 9s" }, { news[1][1] - 100, news[1][2] })
        assert.near(0.77 * 2000 * 9, watch.list[1].cost_hits, 1000)
        assert.equal("", words((watched(paused(2000), 130))))
        watch = watched(paused(0, 0.3), 130) -- one second alone may have as few requests
        assert.truthy(words(watch):find("the server answered no request for %d+s"), words(watch))
        assert.equal("", words((watched(paused(2000, 0.3), 130))))
    end)

    -- A stall of nine seconds, nine seconds after a flush or without; few requests, so that a window has several steps.
    local function stalled(is_flushed, rate_after)
        return watched(changed(function(state, since_s)
            state.flush = is_flushed and since_s == 0 and 1 or 0
            state.ratio, state.items = is_flushed and 0 or state.ratio, is_flushed and 100 or state.items
            if since_s >= 9 and since_s < 18 then
                state.answers, state.rate = false, 0
            elseif since_s >= 18 then
                state.rate = rate_after
            end
            return state
        end, 90, 0.77), 150)
    end

    it("are a stall that costs nothing after a flush that left no hits, and that explains requests after it", function()
        local watch = stalled(true, 90)
        assert.same({ "flush", "stall" }, { watch.list[1].name, (watch.list[2] or {}).name })
        assert.equal(2, #watch.list, words(watch))
        assert.equal(0, watch.list[2].cost_hits)
        assert.near(0.77 * 90 * 42, watch.list[1].cost_hits, 400) -- of the reads that came
        for rate_after, effect in pairs({ [90] = "^", [10] = "; requests fell from %d+ to [%d.]+ a second$" }) do
            watch = stalled(false, rate_after)
            assert.equal(1, #watch.list, words(watch))
            assert.truthy(words(watch):find("answered no request for %d+s" .. (rate_after == 90 and "$" or effect)),
                words(watch))
            assert.near(0.77 * (90 * 9 + (90 - rate_after) * 33), watch.list[1].cost_hits, 400)
            assert.is_nil(watch:stopped())
        end
    end)

    it("are a fall of their own where hits or requests fall later than ten seconds after another", function()
        local function falls_after(began, at_s, fields)
            local watch, news = watched(changed(function(state, since_s)
                began(state, since_s)
                state.ratio, state.items = 0.65 - 0.63 * math.exp(-(since_s + 1) / 20), 28000
                return since_s >= at_s and with(fields, at_s + 20)(state, since_s) or state
            end, 800, 0.77), 200 + at_s)
            assert.equal(2, #watch.list, words(watch))
            assert.is_nil(watch.list[1].requests_was)
            assert.truthy(incident_words.what(watch.list[1]):find("; hits fell from 77%% to [%d.]+%%$"), words(watch))
            assert.near(at_s, watch.list[2].from_s - 1e6 - 100, 2)
            return watch, news
        end
        for _, began in ipairs({ function(state, since_s) state.restart = since_s == 0 end,
            function(state, since_s) state.flush = since_s == 0 and 1 or 0 end }) do
            local watch, news = falls_after(began, 51, { rate = 120 })
            assert.matches("^requests fell 1s ago from 8%d%d to 1%d+ a second", incident_words.line(watch.list[2], 1))
            assert.truthy(news[4][2]:find("^requests come again after %d+s"), news[4][2])
            watch, news = falls_after(began, 120, { ratio = 0.2 })
            assert.truthy(words(watch):find("; hits fell from 6%d%% to %d+%%$"), words(watch))
            assert.is_false(watch.list[1].is_open)
            assert.near(0.45 * 800 * 20, watch.list[2].cost_hits, 2000)
            assert.truthy(news[4][2]:find("^hits are back after 2%ds"), news[4][2])
        end
    end)

    it("are a fall that ends at a flush, which has the items, the hits and the cost from then on", function()
        for name, fall in pairs({ items_fell = { items = 60000, ratio = 0.6 }, hits_fell = { ratio = 0.6 } }) do
            local watch, news = watched(changed(function(state, since_s)
                local is_flushed = since_s >= 40
                state.limit_bytes = since_s < 1 and 64 << 20 or 8 << 20
                state.flush = since_s == 40 and 1 or 0
                with(since_s < 1 and {} or is_flushed and { items = 10, ratio = since_s < 60 and 0 or 0.77 } or fall)(
                    state, since_s)
                return state
            end, 2000, 0.77), 200)
            local one, flush = watch.list[1], watch.list[2] or {}
            assert.same({ name, "flush", 2 }, { one.name, flush.name, #watch.list }, words(watch))
            assert.truthy(words(watch):find("to 60000: the memory limit") or words(watch):find("to [56]%d%%: the mem"))
            assert.is_false(one.is_open)
            assert.near((0.77 - 0.6) * 2000 * 39, one.cost_hits, 2000)
            assert.near(0.6, flush.hits_was, 0.01) -- since the fall
            assert.near(0.6 * 2000 * 20, flush.cost_hits, 1500)
            assert.truthy(news[#news][2]:find("^hits are back after 2[01]s, from 0%% at the lowest: 2%d+ hits lost$"),
                news[#news][2])
        end
    end)

    it("are the cause of their cost although clients had gone away before", function()
        local watch = watched(changed(function(state, since_s)
            state.rate, state.flush = 500, since_s == 40 and 1 or 0
            state.ratio = since_s >= 40 and since_s < 60 and 0 or state.ratio
            return state
        end, 2000, 0.77), 200)
        assert.same({ "traffic", "flush" }, { watch.list[1].name, watch.list[2].name })
        assert.near(0.77 * 500 * 20, watch.list[2].cost_hits, 700)
        assert.near(0.77 * 1500 * 101, watch.list[1].cost_hits, 8000)
    end)

    it("keep their cost when the requests that waited come all at once", function()
        local watch, news = watched(changed(function(state, since_s)
            state.rate = since_s < 12 and 0 or since_s < 13 and 26000 or state.rate
            return state
        end, 2000, 0.77), 160)
        assert.near(0.77 * 2000 * 12, watch.list[1].cost_hits, 1500)
        assert.truthy(news[#news][2]:find("^requests come again after 12s: 1%d+ hits lost$"), news[#news][2])
    end)

    it("are over neither while hits fall, nor for want of a second with a hundred reads", function()
        for rate, ratio in pairs({ [2000] = 0.63, [20] = 0.2 }) do -- the first is near the least fall
            local watch, news = watched(changed(function(state, since_s)
                state.flush = since_s == 0 and 1 or 0
                return with({ ratio = ratio }, 60)(state, since_s)
            end, rate, 0.77), 300)
            assert.equal(1, #watch.list, words(watch))
            assert.truthy(news[#news][2]:find("^hits are back after 1m0%d, ")
                or news[#news][2]:find("^hits are back after 5%ds, "), news[#news][2])
            assert.is_false(watch.list[1].is_open)
        end
    end)
end)
