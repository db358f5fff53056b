-- SPDX-License-Identifier: BSD-3-Clause
-- The result of a change in words: hits and evictions before and after.
local verdict = require "slate.judge.verdict"
local view = require "slate.judge.view"
local snapshots = require "support.snapshots"

-- An observer with a snapshot each second from -12 s to `to` s; f(second) gives the hits of 1,000 gets, the evictions,
-- the items lost by moves, and the items present at its end.
local function seen(to, f)
    local one, hits, gets, evictions, lost, items = view.observer(), 0, 0, 0, 0, nil
    for second = -12, to do
        one:observe(snapshots.make(1000 + second, {}, { cmd_get = gets, get_hits = hits, evictions = evictions,
            slab_reassign_evictions_nomem = lost, uptime = 5000 + second, curr_items = items }))
        local h, e, l, there = f(second)
        items = there
        gets, hits, evictions, lost = gets + (h and 1000 or 0), hits + (h or 0), evictions + (e or 0), lost + (l or 0)
    end
    return one
end

local function words(to, f) return (select(2, seen(to, f):outcome(1000, 1000))) end

describe("the verdict", function()
    it("has hits, evictions and items lost, before and after", function()
        assert.equal("hits 71.2% -> 77.2%, evictions/get -50%, 250 items lost by moves", words(12, function(second)
            return second < 0 and 712 or 772, second < 0 and 1000 or 500, second == 0 and 250 or 0
        end))
    end)

    it("covers the last ten seconds, and so follows the effect of the change", function()
        local function rising(second)
            return second < 0 and 600 or second < 20 and 600 + second * 10 or 800
        end
        assert.equal("hits 60.0% -> 62.0%", words(5, rising))
        assert.equal("hits 60.0% -> 80.0%", words(30, rising))
    end)

    it("calls no difference one that chance would make", function()
        assert.equal("hits 70.0%, as before", (words(5, function(second) return second < 0 and 698 or 700 end)))
        assert.equal("evictions as before", words(5, function(second) return nil, second < 0 and 100 or 105 end))
    end)

    it("does not credit a change with hits that rose, or fell, already before", function()
        assert.equal("hits 65.5% -> 75.5%, but they rose before it already", words(10, function(second)
            return 710 + 10 * second
        end))
        assert.equal("hits 66.5% -> 56.5%, but they fell before it already", words(10, function(second)
            return 610 - 10 * second
        end))
        assert.equal("hits 65.5% -> 57.0%", words(10, function(second) -- against the trend
            return second < 0 and 710 + 10 * second or 570
        end))
        assert.equal("hits 65.5% -> 80.5%, up to 10.0 points of it under way before", words(10, function(second)
            return 710 + 10 * second + (second >= 0 and 50 or 0)
        end))
    end)

    -- The effect on hits that the verdict counts, and twice its error, of a change after which hits are f(second).
    local function effect(to, f)
        local outcome = seen(to, f):outcome(1000, 1000)
        return outcome.effect, 2 * outcome.effect_error
    end

    it("counts half of what hits would move by themselves as no effect, and doubts as much", function()
        for most, counted in pairs({ [14] = 0.1 + 0.07 / 2, [0] = 0.1275 - 0.07 / 2 }) do -- until then they rise
            local found, doubt = effect(14, function(second)
                return 600 + 5 * math.min(second, most) + (second >= 0 and 100 or 0)
            end)
            assert.near(counted, found, 1e-9)
            assert.near(0.1, found, doubt)
            assert.is_true(doubt < 0.06)
        end
    end)

    it("judges a prediction by the seconds that it is for, and by none that come later", function()
        local function later(second) return second < 0 and 600 or second < 15 and 650 or 900 end
        assert.near(0.05, effect(14, later), 1e-9)
        assert.near(0.05, effect(60, later), 1e-9)
        assert.near(0.05, effect(4, later), 1e-9)
    end)

    it("takes hits that come back after a flush for no fall before it", function()
        local one, gets, hits = view.observer(), 0, 0
        for second = -20, 0 do
            local flushed_s = second + 15
            one:observe(snapshots.make(1000 + second, {}, { cmd_get = gets, get_hits = hits, evictions = 0,
                uptime = 5000 + second, curr_items = 50000, cmd_flush = flushed_s >= 0 and 1 or 0 }))
            gets, hits = gets + 1000, hits + (flushed_s < 0 and 900 or 300 + 20 * flushed_s)
        end
        assert.matches("^hits rise anyway", one.past:caveat())
    end)

    -- Filled by 1,000 items a second until `full`; then each new item evicts one.
    local function filling(full, hits)
        return function(second)
            return hits(second), second < full and 0 or 1000, 0, 50000 + 1000 * math.min(second, full)
        end
    end

    it("neither credits nor blames a change to a cache that was still filling", function()
        local function rising(second) return 710 + 10 * second end
        local known = seen(10, filling(-6, rising)):outcome(1000, 1000)
        assert.is_true(known.filling)
        assert.equal(1, known.drift) -- so that no prediction is compared
        assert.equal("hits 65.5% -> 75.5%, evictions 500 -> 1000 per 1,000 gets, but the cache was still filling",
            words(10, filling(-5, rising)))
        assert.equal("hits 70.0%, as before, evictions 0 -> 1000 per 1,000 gets, but the cache was still filling",
            words(10, filling(0, function() return 700 end)))
        assert.equal("hits 70.0% -> 60.0%, evictions/get +11%", -- in spite of the change
            words(10, filling(-9, function(second) return second < 0 and 700 or 600 end)))
    end)

    it("takes no full cache for one that fills, whether items come, go or grow smaller", function()
        local function outcome(items)
            return seen(10, function(second) return 700, 1000, 0, items(second) end):outcome(1000, 1000)
        end
        assert.is_nil(outcome(function() return 50000 end).filling)
        assert.is_nil(outcome(function(second) return 50000 + (second % 2) * 400 end).filling)
        assert.is_nil(outcome(function(second) return 50000 + 900 * second end).filling)
        assert.is_nil(outcome(function(second) return 50000 - 900 * second end).filling)
        assert.is_true(outcome(function(second) return second < -5 and 0 or 50000 + 3000 * second end).filling)
    end)

    it("neither credits nor blames a change for effects that a changed load may explain", function()
        -- From the change on `moved` of 1,000 gets go to class 3 instead of 1; `hits` of them hit, the others are
        -- stored.
        local function told(moved, hits_after)
            local one, hits, sums = view.observer(), 0, { [1] = 0, [2] = 0, [3] = 0 }
            for second = -12, 10 do
                local classes = {}
                for id, sum in pairs(sums) do
                    classes[id] = snapshots.class({ chunk_size = 100 * id, get_hits = sum, cmd_set = sum })
                end
                one:observe(snapshots.make(1000 + second, classes, { cmd_get = 1000 * (second + 12), get_hits = hits,
                    uptime = 5000 + second }))
                hits = hits + (second < 0 and 600 or hits_after)
                local there = second >= 0 and moved or 0
                sums = { sums[1] + 250 - there // 2, sums[2] + 250, sums[3] + there // 2 }
            end
            return one:outcome(1000, 1000)
        end
        local known, text = told(200, 500)
        assert.equal("hits 60.0% -> 50.0%, but the load changed: 20% of it went to other classes", text)
        assert.equal(-1, known.drift)
        assert.near(0.2, known.shift, 1e-6)
        assert.equal("hits 60.0% -> 70.0%, but the load changed: 20% of it went to other classes",
            (select(2, told(200, 700))))
        assert.equal("hits 60.0%, as before", (select(2, told(200, 600)))) -- no change to explain
        assert.equal("hits 60.0% -> 20.0%", (select(2, told(200, 200)))) -- by more than the changed load may explain
        assert.equal("hits 60.0% -> 58.0%", (select(2, told(30, 580)))) -- as loads vary all the time
    end)

    it("takes other chunk sizes for no other load, and sees another load with them", function()
        -- A second stores and reads 100 items of each size; from the change on the chunk sizes are others, `more` items
        -- are large ones, and what is in old chunks is read there.
        local SIZES <const>, LARGE <const> = { 90, 180, 270, 360, 450 }, 900
        local function told(more)
            local one, sums = view.observer(), {}
            local function count(bytes, chunks, stores, reads)
                for id, chunk in pairs(chunks) do
                    if bytes <= chunk and bytes > (chunks[id - 1] or 0) then
                        local sum = sums[chunk] or { id = id, get_hits = 0, cmd_set = 0 }
                        sums[chunk] = sum
                        sum.get_hits, sum.cmd_set = sum.get_hits + reads, sum.cmd_set + stores
                    end
                end
            end
            local OLD <const>, NEW <const> = { 100, 200, 300, 500, 1000 }, { [11] = 150, [12] = 300, [13] = 400,
                [14] = 1000 }
            for second = -12, 10 do
                local classes = {}
                for chunk, sum in pairs(sums) do
                    classes[sum.id] = snapshots.class({ chunk_size = chunk, get_hits = sum.get_hits,
                        cmd_set = sum.cmd_set })
                end
                one:observe(snapshots.make(1000 + second, classes, { cmd_get = 1000 * (second + 12),
                    get_hits = 600 * (second + 12) - 50 * math.max(0, second), uptime = 5000 + second }))
                local is_new = second >= 0
                for _, bytes in ipairs(SIZES) do
                    count(bytes, is_new and NEW or OLD, 50, is_new and 20 or 50)
                    count(bytes, OLD, 0, is_new and 30 or 0)
                end
                count(LARGE, is_new and NEW or OLD, is_new and more or 0, 0)
            end
            return select(2, one:outcome(1000, 1000))
        end
        assert.equal("hits 60.0% -> 55.0%", told(0))
        assert.equal("hits 60.0% -> 55.0%, but the load changed: 17% of it went to other classes", told(200))
    end)

    -- After the change this share of 1,000 gets a second, each 100 of which evict ten items; flushes at a second.
    local function with_traffic(share, flush_at, to)
        local one, gets, hits, evictions = view.observer(), 0, 0, 0
        for second = -12, to or 12 do
            one:observe(snapshots.make(1000 + second, {}, { cmd_get = gets, get_hits = hits, evictions = evictions,
                uptime = 5000 + second, cmd_flush = flush_at and second >= flush_at and 1 or 0 }))
            local more = second < 0 and 1000 or 1000 * share
            gets, hits, evictions = gets + more // 1, hits + more * 0.7 // 1, evictions + more // 10
        end
        local outcome, text = one:outcome(1000, 1000)
        return outcome, text, one
    end

    it("neither credits nor blames a change for pages that others move after it", function()
        local function moved(mode, pages)
            local one = view.observer()
            for second = -12, 10 do
                one:observe(snapshots.make(1000 + second, {}, { cmd_get = 1000 * second, uptime = 5000 + second,
                    get_hits = (second < 0 and 700 or 600) * second, evictions = 0,
                    slabs_moved = second < 0 and 4 or second < 3 and 7 or 7 + pages }, { slab_automove = mode }))
            end
            return one:outcome(1000, 1000)
        end
        local found, told = moved(0, 2)
        assert.equal("hits 70.0% -> 60.0%, but others moved 2 pages meanwhile", told)
        assert.same({ 2, -1 }, { found.others_moved, found.drift })
        for mode, pages in pairs({ [1] = 2, [0] = 0 }) do -- the server moves pages by itself; nobody does
            found, told = moved(mode, pages)
            assert.equal("hits 70.0% -> 60.0%", told)
            assert.is_nil(found.drift)
        end
    end)

    it("counts evictions for each read, so that less traffic is no success", function()
        assert.equal("hits 70.0%, as before, evictions as before", (select(2, with_traffic(0.6))))
    end)

    it("is not given where the traffic fell by half or more, or ended, and does not count as a prediction", function()
        local outcome, text = with_traffic(0.2)
        assert.same({ "traffic fell by 80%: not judged", -1 }, { text, outcome.drift })
        assert.equal("traffic fell by 100%: not judged", (select(2, with_traffic(0))))
    end)

    it("is not given where the cache was flushed in between, which it says at once", function()
        for at, to in pairs({ [3] = 12, [0] = 0, [1] = 1, [-9] = 0 }) do
            local outcome, text = with_traffic(1, at, to)
            assert.same({ "the cache was flushed meanwhile: not judged", "flush" }, { text, outcome.not_judged })
        end
        assert.equal("hits 70.0%, as before, evictions as before", (select(2, with_traffic(1))))
    end)

    it("has figures for evictions that begin or end, or grow to more than twice as many", function()
        assert.equal("evictions 0 -> 50/s", words(5, function(second) return nil, second < 0 and 0 or 50 end))
        assert.equal("evictions 50 -> 0/s", words(5, function(second) return nil, second < 0 and 50 or 0 end))
        assert.equal("evictions 50 -> 150/s", words(5, function(second) return nil, second < 0 and 50 or 150 end))
    end)

    it("leaves out the time of the change itself, except the items that it cost", function()
        local one = seen(15, function(second)
            local is_made = second >= 0 and second < 5
            return is_made and 0 or 500, is_made and 9000 or 10, second == 2 and 7 or 0
        end)
        assert.equal("hits 50.0%, as before, evictions as before, 7 items lost by moves",
            (select(2, one:outcome(1000, 1005))))
    end)

    it("has no evictions of a slated in which other moves dropped items at the same time", function()
        for at, known in pairs({ [-20] = true, [-5] = false, [2] = true, [8] = false }) do
            local one = view.observer()
            for second = -25, 12 do
                local now = snapshots.make(1000 + second, {}, { cmd_get = 1e6 + second * 1000,
                    get_hits = 5e5 + second * 500, evictions = 1e5 + second * 10 + (second >= at and 3149 or 0),
                    slabs_moved = second >= at and 6 or 0, uptime = 5000 + second })
                now.slated = "0.1.0"
                one:observe(now)
            end
            assert.equal("hits 50.0%, as before" .. (known and ", evictions as before" or ""),
                (select(2, one:outcome(1000, 1004))), at)
        end
    end)

    it("has the items that the change itself is known to have cost", function()
        local one = seen(5, function() return 500 end)
        assert.equal("hits 50.0%, as before, 250 items lost by moves", (select(2, one:outcome(1000, 1000, 250))))
        assert.equal(250, one:outcome(1000, 1000, 250).items_lost)
    end)

    it("does not know the items lost by moves of a memcached that counts them as evictions only", function()
        for _, case in ipairs({ { "slab_reassign_evictions_nomem", 7 }, { "chunk_rescues" } }) do
            local one = view.observer()
            for second = -12, 5 do
                one:observe(snapshots.make(1000 + second, {}, { cmd_get = 1e6 + second * 1000, evictions = 1e5,
                    get_hits = 5e5 + second * 500, slab_reassign_busy_deletes = second > 2 and 3 or 0,
                    [case[1]] = second > 2 and 4 or 0, uptime = 5000 + second }))
            end
            assert.equal(case[2], one:outcome(1000, 1000).items_lost)
        end
    end)

    it("is silent before two seconds have passed, without traffic, and for a time before its first sample", function()
        local function flat() return 500 end
        assert.is_nil(words(1, flat))
        assert.truthy(words(2, flat))
        assert.is_nil(words(5, function() end))
        assert.is_nil((seen(5, flat):outcome(900, 900)))
        assert.is_nil((view.observer():outcome(0, 0)))
    end)

    it("says at once that the server restarted, or its counters were reset, and begins anew", function()
        for name, after in pairs({
            restart = { "the server restarted meanwhile: not judged", { uptime = 1, pid = 2 } },
            reset = { "the counters were reset meanwhile: not judged", { uptime = 5006 } },
        }) do
            local one = seen(5, function() return 500 end)
            after[2].cmd_get, after[2].get_hits = 10, 5
            one:observe(snapshots.make(1006, {}, after[2]))
            local outcome, text = one:outcome(1000, 1005)
            assert.same({ after[1], name, 1 }, { text, outcome.not_judged, outcome.for_s })
            assert.is_nil((one:outcome(1006, 1006)), "a change that was made then")
        end
    end)

    it("is known beforehand not to count after a flush, while the cache fills, and while hits rise or fall", function()
        local function caveat(f) return seen(0, f).past:caveat() end
        local function flat() return 700, 100, 0, 50000 end
        assert.is_nil(caveat(flat))
        assert.equal("the cache is still filling: hits may rise without the change",
            caveat(filling(9, function() return 700 end)))
        assert.equal("hits rise anyway, by 10.0 points in 10s, without the change",
            caveat(function(second) return 710 + 10 * second end))
        assert.equal("hits fall anyway, by 10.0 points in 10s, without the change",
            caveat(function(second) return 610 - 10 * second end))
        local _, _, one = with_traffic(1, -3, 0)
        assert.equal("the cache was just flushed: the change will not be judged", one.past:caveat())
        assert.is_nil(view.observer().past:caveat())
    end)
end)

describe("the accuracy of predictions", function()
    it("is how far they were off: the median, and nine of ten", function()
        local audit = require "slate.facts.audit"
        local entries = { { id = 1, predicted_change = 0.5 }, { id = 2, measured_change = 0.5 } }
        assert.same({ predictions = 0, left_out = 0 }, audit.accuracy(entries))
        for i = 1, 10 do
            entries[#entries + 1] = { predicted_change = 0.01 * i, measured_change = 0,
                predicted_least = 0.01 * i - 0.03, predicted_most = 0.01 * i + 0.5 }
        end
        entries[1 + 2].measured_error = 0.001 -- that one was outside
        entries[#entries + 1] = { predicted_change = 0.5, measured_change = 0, drift = 1 } -- hits rose without the move
        entries[#entries + 1] = { predicted_change = 0.5, not_judged = "restart" }
        assert.same({ predictions = 10, median = 0.05, p90 = 0.09, within = 3, left_out = 2 },
            audit.accuracy(entries))
    end)

    it("of memory and policies is what slated compared itself", function()
        local lines = {}
        for i, told in ipairs({ "maxbytes 67108864 to 134217728: 0.7000 expected with a band of 0.0200, "
            .. "0.6500 before, 0.6900 came: within", "policy s3fifo to lru: 0.6000 expected with a band of 0.0100, "
            .. "0.7000 before, 0.6200 came: beyond", "nonsense" }) do
            for name, text in pairs({ time = "100." .. i, who = "tuner", what = "prediction", is = told }) do
                lines[#lines + 1] = ("STAT %d:%s %s"):format(i, name, text)
            end
        end
        local list = require("slate.facts.changes").compared({ stats = function() return lines end })
        assert.equal(2, #list)
        assert.same({ "maxbytes", "67108864", "134217728" }, { list[1].name, list[1].was, list[1].is })
        assert.near(0.04, list[1].measured_change, 1e-9)
        local audit = require "slate.facts.audit"
        assert.equal(1, audit.accuracy({ list[1] }).within)
        assert.same({ 1, 0 }, { audit.accuracy({ list[2] }).predictions, audit.accuracy({ list[2] }).within })
    end)
end)

describe("a predicted move", function()
    local class, make = snapshots.class, snapshots.make

    -- Class 3 is quiet and has a page of free chunks; class 5 misses as often as it hits, and evicts.
    local function at(i, free_chunks)
        return make(1000 + 10 * i, {
            [3] = class({ get_hits = 1000 * i, free_chunks = free_chunks, number = 4000 - free_chunks }),
            [5] = class({ get_hits = 5000 * i, cmd_set = 5000 * i, evicted = 5000 * i, age = 8 }) },
            { cmd_get = 11000 * i, get_hits = 6000 * i, get_misses = 5000 * i })
    end

    -- The prediction of an observer with both samples.
    local function move(before, after, ...)
        local one = view.observer()
        one:observe(before)
        one:observe(after)
        return verdict.predicted_move(one, ...)
    end

    it("brings the receiver hits, and costs the donor's where it has no free page", function()
        local free = assert(move(at(0, 1000), at(1, 1000), 3, 5, 1))
        assert.equal(0, free.lost_per_s)
        assert.is_true(free.hit_ratio_change > 0.001 and free.hit_ratio_change < 0.12, free.hit_ratio_change)
        local dear = assert(move(at(0, 0), at(1, 0), 3, 5, 1))
        assert.near(100 * 0.1 * math.log(4 / 3), dear.lost_per_s, 0.15)
        assert.is_true(dear.hit_ratio_change < free.hit_ratio_change and dear.least < dear.most)
        assert.is_true(move(at(0, 0), at(1, 0), 0, 5, 1).hit_ratio_change > dear.hit_ratio_change)
    end)

    it("is none of a class that is not there", function()
        assert.is_nil(move(at(0, 0), at(1, 0), 3, 9, 1))
    end)
end)
