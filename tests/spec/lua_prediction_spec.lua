-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's review before a change is sent.
local view = require "slate.judge.view"
local policy_curve = require "slate.base.policy_curve"
local verdict = require "slate.judge.verdict"
local prediction = require "slate.judge.prediction"
local shown = require "slate.judge.curves"
local snapshots = require "support.snapshots"

local MIB <const> = 1 << 20

-- A server watched for five seconds: class 3 as given, class 5 evicts so many items a second.
local function watched(donor, evicted_per_s, about)
    about = about or {}
    local one = view.observer()
    for i = 0, 5 do
        local fields = { evicted = (about.donor_evicts or 0) * i }
        for name, value in pairs(donor) do fields[name] = value end
        local now = snapshots.make(1000 + i, { [3] = snapshots.class(fields),
            [5] = snapshots.class({ age = 10, evicted = evicted_per_s * i }) },
            { limit_maxbytes = about.limit_bytes or 64 * MIB, evictions = about.evictions and about.evictions * i,
                cmd_get = about.hits and 1000 * i, get_hits = about.hits and about.hits * i },
            { slab_automove = about.mode or 0 })
        now.slated = about.slated
        one:observe(now)
    end
    return one
end

-- The sentence with a label; nil without.
local function told(one, change, label, asked)
    asked = asked or {}
    asked.change = change
    for _, sentence in ipairs(prediction.change(one, asked)) do
        if sentence.label == label then
            return sentence.text
        end
    end
end

describe("the review of a move of pages", function()
    it("has no warning where free pages of a calm class move", function()
        local one = watched({ free_chunks = 3000, used_chunks = 1000, number = 1000 }, 400)
        assert.is_nil(told(one, { from = 3, to = 5, pages = 2 }, "WARNING"))
        assert.equal("probably nothing: class 3 has as many free chunks as the pages hold",
            told(one, { from = 3, to = 5, pages = 2 }, "may lose"))
        assert.equal("u moves the pages back, but not the items that were lost",
            told(one, { from = 3, to = 5, pages = 2 }, "undo"))
    end)

    it("says that hits rise anyway, before it says what the move brings", function()
        local one = view.observer()
        for i = 0, 20 do
            one:observe(snapshots.make(1000 + i, { [3] = snapshots.full(10, 0, { get_hits = 500 * i }),
                [5] = snapshots.full(1, 300 * i, { cmd_set = 300 * i, get_hits = 9 * i + 2 * i * i }) },
                { evictions = 300 * i, cmd_get = 1000 * i, get_hits = 509 * i + 2 * i * i }))
        end
        local labels, asked = {}, { change = { from = 3, to = 5, pages = 1 } }
        for _, sentence in ipairs(prediction.change(one, asked)) do
            labels[#labels + 1] = (sentence.label == "also" or sentence.label == "expects") and sentence.label or nil
        end
        assert.same({ "also", "expects" }, labels)
        assert.equal("hits rise anyway, by 4.0 points in 10s, without the change",
            told(one, asked.change, "also"))
        assert.is_nil(told(watched({}, 400, { hits = 500 }), asked.change, "also"))
    end)

    it("warns of a source that evicts more, by the mean that its row of the class table has", function()
        local one = watched({ age = 600 }, 400, { donor_evicts = 500 })
        assert.equal("class 3 evicts more: 500 items a second, class 5 only 400",
            told(one, { from = 3, to = 5, pages = 1 }, "WARNING"))
        one = watched({ age = 600 }, 0, { donor_evicts = 5 })
        assert.equal("class 3 evicts more: 5 items a second, class 5 none",
            told(one, { from = 3, to = 5, pages = 1 }, "WARNING"))
        assert.equal("class 3 evicts too, 100 items a second: it will evict more",
            told(watched({ age = 600 }, 400, { donor_evicts = 100 }), { from = 3, to = 5, pages = 1 }, "WARNING"))
        assert.equal("class 3 would starve: it keeps its items 5s, class 5 10s",
            told(watched({ age = 5 }, 400), { from = 3, to = 5, pages = 1 }, "WARNING"))
        assert.equal("class 3 is left with one page: it evicts nearly all it has",
            told(watched({ age = 600 }, 400), { from = 3, to = 5, pages = 3 }, "WARNING"))
    end)

    it("names the most items that may be lost, and that automove may undo the move", function()
        local one = watched({ age = 600 }, 400, { mode = 1 })
        assert.equal("up to 2000 items of class 3, the oldest ones",
            told(one, { from = 3, to = 5, pages = 2 }, "may lose"))
        assert.truthy(told(one, { from = 3, to = 5, pages = 2 }, "automove"))
        assert.is_nil(told(watched({}, 0), { from = 3, to = 5, pages = 2 }, "automove"))
        assert.truthy(told(one, { from = 9, to = 5, pages = 1 }, "may lose"):find("^unknown"))
    end)

    -- A server with 1,000 reads a second, of which class 5 misses 400; watched for so many seconds.
    local function read(seconds, slated)
        local one = view.observer()
        for i = 0, seconds do
            local now = snapshots.make(1000 + i, { [3] = snapshots.class({ age = 600, get_hits = 300 * i }),
                [5] = snapshots.class({ age = 10, evicted = 400 * i, get_hits = 300 * i, cmd_set = 400 * i }) },
                { cmd_get = 1000 * i, get_misses = 400 * i, get_hits = 600 * i }, { slab_automove = 0 })
            now.slated = slated
            one:observe(now)
        end
        return one
    end

    it("predicts the hits gained, in the figure and the words of slatectl move", function()
        local one, change = read(12), { from = 3, to = 5, pages = 1 }
        local made = assert(verdict.predicted_move(one, 3, 5, 1))
        assert.is_true(made.hit_ratio_change ~= 0)
        assert.equal(verdict.prediction_words(made), told(one, change, "expects"))
        assert.equal("fewer than 1000 reads were seen: too few for a prediction",
            told(read(0), change, "expects") or told(watched({}, 400), change, "expects"))
        assert.is_true(verdict.predicted_move(one, 3, 0, 1).hit_ratio_change <= 0, "the pool reads nothing")
    end)

    it("waits for the curves that a slated was asked for", function()
        local one, change = read(12, "0.1.0"), { from = 3, to = 5, pages = 1 }
        local curves = { [3] = { { 3 << 20, 0.99 }, { 4 << 20, 1 } } }
        assert.equal("waiting for the server's curves of the classes",
            told(one, change, "expects", { curves = curves }))
        curves[5] = { { 4 << 20, 0.4 }, { 8 << 20, 0.8 } }
        assert.equal("waiting for the server's curves of the classes",
            told(one, change, "expects", { curves = curves }), "that of the whole is missing")
        curves[0] = {}
        assert.truthy(told(one, change, "expects", { curves = curves }):find("points of hits", 1, true))
        assert.truthy(told(one, change, "expects"):find("points of hits", 1, true), "nobody asks for curves")
    end)

    -- The gain of one more page for class 5 with this slope. The page is filled in 2.5 s, before it is judged.
    local function by_slope(slope) return 700 * slope * math.log(5 / 4) / 1000 end
    local function nearly(expected, value, ...)
        assert.near(expected, value, 0.05 * math.abs(expected), ...)
    end

    -- A curve of class 5, whose four pages hit 3/7 of the reads: the shares with half to sixteen pages.
    local function curve(reads, share_with)
        local points = { reads = reads, bytes = 4 << 20, lru_band = 0.02 }
        for _, pages in ipairs({ 0.5, 1, 2, 4, 8, 16 }) do
            points[#points + 1] = { math.floor(pages * (1 << 20)), share_with(pages) }
        end
        return points
    end

    it("goes by a class's own curve, the nearer, the more reads that rests on", function()
        local one = read(12, "0.1.0")
        local function change(...)
            local made = verdict.predicted_move(one, 0, 5, 1, { [5] = curve(...) })
            return made.hit_ratio_change, made.least, made.most
        end
        local width
        for _, reads in ipairs({ 60, 200, 1000, 10000 }) do
            local made, least, most = change(reads, function(pages) return math.min(1, 3 / 28 * pages) end)
            nearly(700 * 3 / 28 / 1000, made)
            assert.is_true(least < made and made < most and (not width or most - least < width), reads)
            width = most - least
        end
        assert.is_true(change(5000, function(pages) return math.min(3 / 7, 3 / 28 * pages) end) < 0.001, "it is flat")
        local counted_less = change(5000, function(pages) return math.min(1, 0.12 * pages) end)
        assert.is_true(counted_less > 1.05 * 700 * 0.12 / 1000, "more misses can become hits than the curve has")
    end)

    it("gains as fast as the class would have evicted items", function()
        local seen = verdict.figures_seen(read(12, "0.1.0")).by_id[5]
        seen.curve = curve(1e9, function(pages) return math.min(1, 3 / 28 * pages) end)
        local filled = policy_curve.gain(seen, 1)
        seen.evicted_per_s = seen.chunks_per_page / 18 -- half of a page after 9 s
        nearly(filled / 2, (policy_curve.gain(seen, 1)))
        seen.curve = nil
        filled = policy_curve.gain(seen, 1)
        seen.evicted_per_s = 1e9
        nearly(filled, (policy_curve.gain(seen, 0.5)))
    end)

    it("costs a class that just got pages the hits that these bring since, too", function()
        local seen = verdict.figures_seen(read(12, "0.1.0")).by_id[5]
        seen.curve = curve(1e9, function(pages) return math.min(1, 3 / 28 * pages) end)
        local reads_per_s = seen.get_hits_per_s + seen.misses_per_s
        local both_pages = reads_per_s * 2 * 3 / 28
        seen.get_hits_per_s, seen.counted_pages = reads_per_s * 3 * 3 / 28, 3 -- it had two pages five seconds ago
        seen.misses_per_s = reads_per_s - seen.get_hits_per_s
        nearly(both_pages, (policy_curve.cost(seen, 2)))
        seen.counted_pages = nil
        assert.is_true(policy_curve.cost(seen, 2) < 0.8 * both_pages)
    end)

    it("knows how many pages a class used while its reads were counted", function()
        local one = view.observer()
        for i = 0, 10 do
            local now = snapshots.make(1000 + i, { [5] = snapshots.full(i < 6 and 2 or 4, 400 * i, { cmd_set = 400 * i,
                get_hits = 300 * i }) }, { cmd_get = 700 * i, get_hits = 300 * i, get_misses = 400 * i })
            now.slated = "0.1.0"
            one:observe(now)
        end
        local seen = verdict.figures_seen(one, { [5] = {}, [0] = {} })
        assert.equal(3, seen.by_id[5].counted_pages)
    end)

    it("never gains less by more pages, though only some of these are filled in time", function()
        local seen = verdict.figures_seen(read(12, "0.1.0")).by_id[5]
        seen.evicted_per_s = seen.chunks_per_page / 9
        for _, own in ipairs({ false, curve(500, function(pages) return math.min(1, 3 / 28 * pages) end) }) do
            seen.curve = own or nil
            local won, least, most = policy_curve.gain(seen, 1)
            for pages = 2, 16 do
                local more_won, more_least, more_most = policy_curve.gain(seen, pages)
                assert.is_true(more_won >= won and more_least >= least and more_most >= most, pages)
                won, least, most = more_won, more_least, more_most
            end
        end
    end)

    it("expects of a class without a curve a gain between a tenth and the slope of the whole cache's", function()
        local one = read(12, "0.1.0")
        local function change(at_half, own)
            local whole = at_half and { { 8 << 20, at_half }, { 16 << 20, 0.6 }, { 32 << 20, 0.7 }, reads = 9999,
                bytes = 16 << 20 } or {}
            local made = verdict.predicted_move(one, 0, 5, 1, { [0] = whole, [5] = own })
            return made.hit_ratio_change, made.most - made.least
        end
        nearly(by_slope(0.1), (change(nil)), "too little is known of it")
        nearly(by_slope(math.sqrt(0.1 * 0.2 / math.log(2))), (change(0.4)))
        nearly(by_slope(math.sqrt(0.1 * 0.02 / math.log(2))), (change(0.58)), "it is nearly flat")
        local expected, width = change(0.4)
        local known, its_width = change(0.4, curve(1e9, function(pages) return 3 / 7 + 0.02 * math.log(pages / 4) end))
        assert.is_true(known < expected and its_width <= width, "its own curve tells more")
    end)

    it("predicts from the last ten seconds, and names a shorter time", function()
        for seconds, from_s in pairs({ [3] = 0, [10] = 0, [19] = 9, [20] = 10, [55] = 45 }) do
            local one, change = read(seconds), { from = 3, to = 5, pages = 1 }
            assert.equal(1000 + from_s, one.recent:begin().time_s, seconds)
            assert.equal(seconds < 8, told(one, change, "expects"):find("; judged by 3s of traffic", 1, true) ~= nil)
        end
    end)

    it("promises a gain only where even the least is one, and warns of a loss where even the most is", function()
        local function words(change, least, most)
            return verdict.prediction_words({ hit_ratio_change = change, least = least, most = most, seen_s = 10 })
        end
        assert.equal("+14.0 points of hits (+3.5 to +31.2)", words(0.14, 0.035, 0.312))
        assert.equal("+0.7 points of hits (-0.1 to +1.5): gain not certain", words(0.007, -0.001, 0.015))
        assert.equal("+0.0 points of hits (-0.8 to +0.8): gain not certain", words(-0.0001, -0.008, 0.008))
        assert.equal("-0.7 points of hits (-1.5 to +0.1): a loss is likelier than a gain", words(-0.007, -0.015, 0.001))
        assert.equal("+0.3 points of hits (-7.0 to +0.7): a loss is likelier than a gain", words(0.003, -0.07, 0.007))
        assert.equal("-9.0 points of hits (-19.0 to -2.2): it costs hits", words(-0.09, -0.19, -0.022))
        assert.truthy(told(read(12), { from = 5, to = 3, pages = 1 }, "expects"):find("it costs hits", 1, true))
        assert.truthy(told(read(12), { from = 5, to = 3, pages = 1 }, "WARNING"))
    end)

    it("is of moves that are sent together the sum of all, and who gives twice loses more by the second", function()
        local one, move = read(12), { from = 3, to = 5, pages = 1 }
        local alone = prediction.of_moves(one, nil, { move })
        local sum, each = prediction.of_moves(one, nil, { move, move })
        assert.equal(alone.lost_per_s, each[1].lost_per_s)
        assert.is_true(each[2].lost_per_s > each[1].lost_per_s)
        assert.near(each[1].hit_ratio_change + each[2].hit_ratio_change, sum.hit_ratio_change, 1e-9)
        assert.near(each[1].least + each[2].least, sum.least, 1e-9)
    end)

    it("has a sentence for each of several moves, and one for the items that a class loses by all", function()
        local one, texts = watched({ age = 600 }, 400), {}
        for _, sentence in ipairs(prediction.change(one, { changes = { { from = 3, to = 5, pages = 1 },
            { from = 3, to = 5, pages = 2 }, { from = 3, to = 0, pages = 1 } } })) do
            texts[sentence.label] = texts[sentence.label] or {}
            table.insert(texts[sentence.label], sentence.text)
        end
        assert.same({ 3, 1 }, { #texts.step, #texts["may lose"] })
        assert.same({ "class 3 is left with one page: it evicts nearly all it has" }, texts.WARNING)
    end)

    it("has one sentence of all classes that give for the same reason, and one of the items that all lose", function()
        local one, texts = watched({ age = 600 }, 400), {}
        for _, sentence in ipairs(prediction.change(one, { changes = { { from = 3, to = 5, pages = 3 },
            { from = 5, to = 3, pages = 9 } } })) do
            texts[sentence.label] = sentence.text
        end
        assert.equal("each of classes 3 and 5 is left with one page: it evicts nearly all it has", texts.WARNING)
        assert.truthy(texts["may lose"]:find("items of classes 3 and 5, the oldest ones", 1, true), texts["may lose"])
    end)
end)

describe("the pages of a move that somebody chose", function()
    it("are those that would be advised of these two classes", function()
        local one = watched({ free_chunks = 3000, used_chunks = 1000, number = 1000 }, 400)
        local move = require("slate.judge.page_plan").move(one, 5)
        assert.equal(3, move.from)
        assert.equal(move.pages, prediction.pages(one, 3, 5))
        assert.equal(2, prediction.pages(one, 3, 0), "free pages, half of the class at most")
        assert.equal(1, prediction.pages(watched({ age = 600 }, 400), 3, 0), "what costs items goes page by page")
        assert.equal(1, prediction.pages(one, 9, 5), "of a class that is not there")
    end)
end)

describe("the review of a setting", function()
    local WHATIF <const> = "STAT policy slru\r\nSTAT sieve:hit_ratio 0.7\r\nSTAT sieve:difference 0.02\r\n"
        .. "STAT sieve:doubt 0.005\r\nSTAT fifo:hit_ratio 0.68\r\nSTAT fifo:difference 0.001\r\n"
        .. "STAT fifo:doubt 0.005\r\nSTAT class:5:sieve:hit_ratio 0.4\r\nSTAT class:5:sieve:difference -0.1\r\n"
        .. "STAT class:5:sieve:doubt 0.01\r\nSTAT class:5:lru:hit_ratio 0.5\r\nSTAT class:5:lru:difference 0\r\n"
        .. "STAT class:5:lru:reads 2000\r\nEND\r\n"
    local LIKE <const>, UNLIKE <const> = { { MIB, 0.45 }, { 4 * MIB, 0.48 }, bytes = 4 * MIB, reads = 2000 },
        { { MIB, 0.1 }, { 4 * MIB, 0.3 }, bytes = 4 * MIB, reads = 2000 }

    it("names the hits of another policy, and whether they could be chance", function()
        local one = watched({}, 0, { slated = "0.1.0" })
        assert.equal("hit ratio 70.0%, +2.0 points ± 0.5 from today's policy, by sampled keys",
            told(one, { name = "policy", value = "sieve" }, "expects", { whatif = WHATIF }))
        assert.truthy(told(one, { name = "policy", value = "fifo" }, "expects", { whatif = WHATIF })
            :find(": inconclusive$"))
        assert.equal("hit ratio 40.0%, -10.0 points ± 1.0 from today's policy, by sampled keys",
            told(one, { name = "class_policy", value = "sieve 5" }, "expects",
                { whatif = WHATIF, curves = { [5] = LIKE } }))
        assert.is_nil(told(one, { name = "class_policy", value = "sieve 3" }, "expects", { whatif = WHATIF }))
        assert.is_nil(told(one, { name = "policy", value = "sieve" }, "expects"))
        assert.truthy(told(one, { name = "policy", value = "none" }, "WARNING"))
    end)

    it("tells nothing of a class whose pages hit otherwise than the queue that the miniatures share", function()
        local one = watched({}, 0, { slated = "0.1.0" })
        local function expects(whatif, curve)
            return told(one, { name = "class_policy", value = "sieve 5" }, "expects",
                { whatif = whatif, curves = { [5] = curve } })
        end
        assert.equal("not known: the miniature of lru hits 50.0%, the class with its own pages 30.0%; a trial tells",
            expects(WHATIF, UNLIKE))
        assert.equal("not known: too few reads of the class were sampled; a trial tells", expects(WHATIF, nil))
        assert.equal("not known: nothing was counted yet", expects("STAT policy lru\r\n"
            .. "STAT why nothing was counted yet\r\nSTAT class:5:lru:hit_ratio 1\r\nSTAT class:5:lru:difference 0\r\n"
            .. "STAT class:5:lru:reads 900\r\nEND\r\n", LIKE))
    end)

    it("reads the curve for another memory limit", function()
        local asked = { curve = ("STAT bytes %d\r\nSTAT reads 10000\r\nSTAT point:%d 0.5\r\nSTAT point:%d 0.7\r\n"
            .. "END\r\n"):format(64 * MIB, 32 * MIB, 96 * MIB) }
        local one = watched({}, 0, { slated = "0.1.0", evictions = 1 })
        assert.equal("hit ratio 60.0% → 70.0%, +10.0 ± 0.9 points, by the LRU model",
            told(one, { name = "maxbytes", value = "96" }, "expects", asked))
        asked.curve = asked.curve:gsub("END", "STAT hit_ratio_x0.5 0.5\r\nSTAT hit_ratio_x1 0.8\r\n"
            .. "STAT hit_ratio_x2 0.9\r\nEND")
        assert.equal("hit ratio 80.0% → 90.0%, +10.0 ± 0.6 points, by predictions of its policy",
            told(one, { name = "maxbytes", value = "96" }, "expects", asked))
        asked.curve = asked.curve:gsub("reads 10000", "reads 299")
        assert.equal("what other memory would bring is not known: 299 sampled reads of the 300 that are needed",
            told(one, { name = "maxbytes", value = "96" }, "expects", asked))
        assert.is_nil(told(watched({}, 0), { name = "maxbytes", value = "96" }, "expects", asked), "needs slated")
        assert.equal("a lower limit evicts until it is met", told(one, { name = "maxbytes", value = "32" }, "WARNING"))
        assert.equal("each of 1 classes keeps a page: the server holds at least 1 MiB",
            told({ now = { slated = "0.1.0", general = {}, classes = { { id = 5, total_pages = 1 } } } },
                { name = "maxbytes", value = "0.5" }, "WARNING"))
        assert.equal("a lower limit evicts, and gives no memory back at once",
            told(watched({}, 0), { name = "maxbytes", value = "32" }, "WARNING"))
        one = watched({}, 0, { limit_bytes = 64 * MIB + 1 })
        assert.truthy(told(one, { name = "maxbytes", value = "96" }, "WARNING"):find("no whole number", 1, true))
    end)

    it("adds a curve's gain to the hits counted lately, and has none where the advice of memory has none", function()
        local function review(about, mib, further)
            about.slated = "0.1.0"
            local reply = ("STAT bytes %d\r\nSTAT reads 10000\r\nSTAT point:%d 0.5\r\nSTAT point:%d 0.7\r\n%sEND\r\n")
                :format(64 * MIB, 32 * MIB, 96 * MIB, further or "")
            local one, asked = watched({}, 0, about), { curve = reply }
            local memory = shown.sentences(one, asked)[1].text
            return told(one, { name = "maxbytes", value = mib }, "expects", asked), memory
        end
        assert.equal("hit ratio 55.0% → 65.0%, +10.0 ± 0.9 points, by the LRU model",
            (review({ evictions = 1, hits = 550 }, "96")))
        local told_of, memory = review({ evictions = 0 }, "96")
        assert.equal("nothing is evicted now: more memory would bring nothing now", told_of)
        assert.equal(memory, told_of)
        assert.equal("hit ratio 60.0% → 50.0%, -10.0 ± 1.0 points, by the LRU model",
            (review({ evictions = 0 }, "32")), "less memory may cost hits that nothing costs now")
        told_of, memory = review({ evictions = 0 }, "96", ("STAT used_bytes %d\r\n"):format(58 * MIB))
        assert.equal("the cache is not full yet, it has 58 MiB of 64 MiB: more memory would bring nothing", told_of)
        assert.equal(memory, told_of)
        told_of, memory = review({ evictions = 1 }, "96", "STAT first_reads 4000\r\nSTAT lru_hit_ratio 0.5\r\n")
        assert.truthy(told_of:find("the sample is too young to tell what more memory would bring", 1, true), told_of)
        assert.equal(memory, told_of)
    end)

    it("tells nothing of more or less memory while the server lacks a part of its sample, as after a change", function()
        local asked = { curve = ("STAT bytes %d\r\nSTAT reads 10000\r\nSTAT point:%d 0.5\r\nSTAT point:%d 0.7\r\n"
            .. "STAT lacks no quarter of a turnover was seen since the last change\r\nEND\r\n"):format(64 * MIB,
            32 * MIB, 96 * MIB) }
        local one = watched({}, 0, { slated = "0.1.0", evictions = 1 })
        local untold = "what other memory would bring is not known: no quarter of a turnover was seen since the last "
            .. "change"
        for _, mib in ipairs({ "32", "96" }) do
            assert.equal(untold, told(one, { name = "maxbytes", value = mib }, "expects", asked))
        end
        assert.equal(untold, shown.sentences(one, asked)[1].text)
        asked.curve = asked.curve:gsub("lacks [%l ]+", "lacks nothing")
        assert.truthy(told(one, { name = "maxbytes", value = "32" }, "expects", asked):find("^hit ratio 60"))
    end)

    it("says which modes of automove are not for long", function()
        local one = watched({}, 0)
        assert.truthy(told(one, { name = "slab_automove", value = "2" }, "WARNING"):find("trial", 1, true))
        assert.equal("with automove off, only you move pages",
            told(one, { name = "slab_automove", value = "0" }, "WARNING"))
        assert.is_nil(told(one, { name = "slab_automove", value = "1" }, "WARNING"))
        assert.equal("u sets the old value again", told(one, { name = "lru_tune", value = "1" }, "undo"))
        assert.same({}, prediction.change(view.observer(), { change = { name = "policy", value = "lru" } }))
    end)
end)

describe("slatectl set --dry-run", function()
    -- The output for a setting of a slated with this curve.
    local function dry_run(setting, ...)
        local FIXTURES <const> = "tests/console/fixtures/slated-0.1-"
        local one = require("support.canned").new({ FIXTURES .. "first.txt", FIXTURES .. "second.txt" },
            { version = "VERSION 1.6.45" })
        one.files["stats curve"] = { { ("STAT bytes %d"):format(64 * MIB), "STAT reads 10000",
            "STAT hit_ratio_x0.5 0.5", "STAT hit_ratio_x1 0.8", "STAT hit_ratio_x2 0.9", "END" } }
        one:install()
        local code, out, err = one:slatectl({ "set", setting, "--dry-run", ... }, {})
        assert.equal(0, code, err)
        return out
    end

    it("prints what slatetop's review says of the same change, but not how a key takes it back", function()
        local out = dry_run("memory=128m")
        assert.truthy(out:find("\nexpects: hit ratio 94.2% → 97.1%, +2.9 ± 0.3 points, by predictions of its policy\n",
            1, true), out)
        assert.is_nil(out:find("u sets", 1, true))
        assert.truthy(dry_run("automove=off"):find("\ncaution: with automove off, only you move pages\n", 1, true))
        assert.is_nil(dry_run("lru_crawler_sleep=200"):find("expects", 1, true))
        local change = require("dkjson").decode(dry_run("memory=128m", "--json")).changes[1]
        assert.matches("^hit ratio 94.2%% → 97.1%%", change.expects)
        assert.is_nil(change.caution)
    end)

    it("promises a gain if it brings hits or may bring none, and none if it may cost some", function()
        for _, case in ipairs({ { 0.01, 0.002, 0.03, "gain" }, { 0.069, 0, 0.199, "gain" },
            { 0.069, -0.0004, 0.2, "gain" }, { 0.069, -0.001, 0.199, "unsure" }, { 0.0004, 0, 0.2, "unsure" },
            { 0, 0, 0, "unsure" },
            { -0.02, -0.03, -0.01, "loss" } }) do
            local made = { hit_ratio_change = case[1], least = case[2], most = case[3] }
            assert.equal(case[4], require("slate.judge.verdict").promise(made), case[1])
        end
    end)
end)
