-- SPDX-License-Identifier: BSD-3-Clause
-- Whether more memory, or another policy, would help: one answer for slatectl doctor, slatectl advise and slatetop.
local advice = require "slate.judge.advice"
local curves = require "slate.judge.curves"
local json = require "slate.base.json"
local sampled = require "slate.facts.sampled"
local view = require "slate.judge.view"
local prediction = require "slate.judge.prediction"
local relief = require "slate.judge.relief"
local verdict = require "slate.judge.verdict"
local snapshots = require "support.snapshots"

local CALM <const>, EVICTS <const> = { evicts = false }, { evicts = true }

local function curve_of(...)
    local lines = { "STAT bytes 67108864", "STAT reads 1000000" }
    for i, ratio in ipairs({ ... }) do
        lines[#lines + 1] = ("STAT hit_ratio_x%g %g"):format(2.0 ^ (i - 2), ratio)
    end
    return lines
end

local function whatif_of(difference, doubt, about, today)
    local lines = { "STAT policy s3fifo", "STAT s3auto " .. (about and about.s3auto or 0),
        "STAT s3fifo:hit_ratio " .. (today or 0.8),
        "STAT s3fifo:difference 0", "STAT s3fifo:doubt 0", "STAT s3fifo:reads 9999",
        "STAT sieve:hit_ratio " .. (today or 0.8) + difference, "STAT sieve:difference " .. difference,
        "STAT sieve:doubt " .. doubt, "STAT sieve:reads 9999", "STAT none:hit_ratio 0.99", "STAT none:difference 0.19",
        "STAT none:doubt 0" }
    return lines
end

local function policy(lines, about)
    local totals, policies = sampled.parse_whatif(lines)
    return relief.policy({ totals = totals, policies = policies }, about)
end

describe("a gain with the server's bands", function()
    it("has the error of its band, whose square grows as the logarithm of the memory, and none now", function()
        local lines = curve_of(0.7, 0.8, 0.86, 0.9)
        for name, band in pairs({ ["band_x0.5"] = 0.02, band_x2 = 0.0196, band_x4 = 0.04 }) do
            lines[#lines + 1] = ("STAT %s %g"):format(name, band)
        end
        local curve = sampled.parse_curve(lines)
        local gain, chance = sampled.gain_at(curve, 2)
        assert.near(0.06, gain, 1e-9)
        assert.near(0.01, chance, 1e-9)
        assert.near(0.01 * 0.5 ^ 0.5, select(2, sampled.gain_at(curve, 2 ^ 0.5)), 1e-9)
        assert.near(0, select(2, sampled.gain_at(curve, 1)), 1e-9)
        assert.is_true(select(2, sampled.gain_at(sampled.parse_curve(curve_of(0.7, 0.8, 0.86, 0.9)), 2)) < 0.001,
            "a server that tells no band is judged by its reads")
    end)
end)

describe("a curve", function()
    it("follows the shape of the LRU model between miniatures, and meets each of these", function()
        local lines = curve_of(0.5, 0.8, 0.9)
        for mib, ratio in pairs({ [32] = 0.4, [64] = 0.7, [80] = 0.78, [128] = 0.8 }) do
            lines[#lines + 1] = ("STAT point:%d %g"):format(mib << 20, ratio)
        end
        local curve = sampled.parse_curve(lines)
        table.sort(curve.points, function(a, b) return a[1] < b[1] end)
        assert.near(0.08, (sampled.gain_at(curve, 1.25)), 1e-9)
        assert.near(0.1, (sampled.gain_at(curve, 2)), 1e-9)
        assert.near(0.88, sampled.between(sampled.points(curve), 80 << 20), 1e-9)
    end)
end)

describe("whether more memory helps", function()
    local function memory(about, ...) return relief.memory(sampled.parse_curve(curve_of(...)), about) end

    local function with_reads(reads, ...)
        local curve = sampled.parse_curve(curve_of(...))
        curve.reads = reads
        return curve
    end

    it("is given as the least memory that brings a point beyond chance", function()
        local answer = memory(EVICTS, 0.7, 0.8, 0.86, 0.9)
        assert.equal("memory is short: 16 MiB more (25 %) would bring +1.9 ± 0.1 points of hits, by its curve",
            answer.text)
        assert.is_true(answer.is_short)
        assert.equal("more memory would bring little: twice as much brings +0.9 ± 0.1 points of hits",
            memory(EVICTS, 0.7, 0.8, 0.809, 0.9).text)
        assert.equal("more memory would bring little: twice as much brings +0.0 ± 0.1 points of hits",
            memory(EVICTS, 0.7, 0.8, 0.79, 0.79).text, "never less than nothing")
        local idle = { id = 18, free_pages = 61.5, flags = { "idle" } }
        for words, row in pairs({ ["61 pages lie idle in class 18: use these before memory is bought"] = idle,
            ["measuring: which class starves is not judged yet"] = { id = 25, flags = {}, is_measuring = true } }) do
            answer = memory({ evicts = true, rows = { row } }, 0.7, 0.8, 0.86, 0.9)
            assert.same({ text = words }, answer)
        end
        local rough = sampled.parse_curve(curve_of(0.7, 0.8, 0.86, 0.9))
        rough.reads = 400 -- 4 points of the gain are chance
        assert.equal("what more memory would bring is not known: twice as much brings +1.5 ± 3.3 points of hits",
            relief.memory(with_reads(400, 0.7, 0.86, 0.875, 0.9), EVICTS).text)
        assert.matches("^what more memory would bring is not known: twice as much brings %+0%.5 ± ",
            relief.memory(with_reads(4000, 0.7, 0.86, 0.865, 0.9), EVICTS).text, "perhaps more than a point")
        rough.reads = 299
        assert.equal("what other memory would bring is not known: 299 sampled reads of the 300 that are needed",
            relief.memory(rough, EVICTS).text)
    end)

    it("is not told by a step whose band, as wide as reads of its size allow, is wider than the gain", function()
        local lines = curve_of(0.5, 0.575, 0.585, 0.6) -- a quarter more tells 3 points: noise of 198 reads
        for _, line in ipairs({ "band_x0.5 0.1", "band_x2 0.112", "band_x4 0.15", "point:67108864 0.575",
            "point:83886080 0.605", "point:134217728 0.585" }) do
            lines[#lines + 1] = "STAT " .. line
        end
        local told = relief.memory(sampled.parse_curve(lines), EVICTS)
        assert.falsy(told.is_short)
        assert.equal("what more memory would bring is not known: twice as much brings +1.0 ± 11.4 points of hits",
            told.text)
    end)

    it("is never more than the misses of today, which may be fewer than those of the minutes of its curve", function()
        local lines, one = curve_of(0.84, 0.89, 0.968, 0.98), view.observer()
        for i = 0, 3 do
            one:observe(snapshots.make(1000 + i, { [5] = snapshots.full(9, i) }, { evictions = i, cmd_get = i * 1000,
                get_hits = i * 986, limit_maxbytes = 64 << 20 }))
        end
        local today = relief.about(one)
        one.now.slated = "0.1"
        for _, band in ipairs({ "x0.5 0.05", "x2 0.01", "x4 0.02" }) do lines[#lines + 1] = "STAT band_" .. band end
        local curve = sampled.parse_curve(lines)
        assert.equal("memory is short: 16 MiB more (25 %) would bring +2.5 ± 0.6 points of hits, by its curve",
            relief.memory(curve, EVICTS).text)
        assert.equal("what more memory would bring is not known: twice as much brings +1.0 ± 0.1 points of hits",
            relief.memory(curve, today).text)
        local expected = prediction.change(one, { curve = table.concat(lines, "\r\n"),
            change = { name = "maxbytes", value = "80" } })[1]
        assert.same({ "expects", "hit ratio 98.6% → 98.9%, +0.3 ± 0.1 points, by predictions of its policy" },
            { expected.label, expected.text })
        for _, ratio in ipairs({ 0.5, 0.89, 0.9, 0.986, 1 }) do
            local levelled = sampled.at_level(curve, ratio)
            for _, times in ipairs({ 1.25, 2, 8 }) do
                local gain, _, most = sampled.gain_at(levelled, times)
                assert.is_true(gain <= 1 - math.max(ratio, 0.89) + 1e-9 and most <= 1 - math.max(ratio, 0.89) + 1e-9)
            end
        end
        assert.equal("+1.0 (+0.1 to +1.4) points", relief.gain_words(0.01, 0.0045, 0.014))
    end)

    it("never counts reads that no memory makes hits", function()
        local lines = curve_of(0.5, 0.56, 0.6, 0.65)
        lines[#lines + 1] = "STAT compulsory_ratio 0.43"
        local curve = sampled.parse_curve(lines)
        assert.near(0.57, curve.sizes[#curve.sizes][2], 1e-9)
        assert.near(0.01, (sampled.gain_at(curve, 2)), 1e-9)
        assert.near(0.01, (sampled.gain_at(curve, 8)), 1e-9)
        lines[#lines] = "STAT compulsory_ratio 0.5"
        curve = sampled.parse_curve(lines)
        assert.equal(0, (sampled.gain_at(curve, 4)), "today's hits stay")
        assert.equal(0.56, curve.sizes[#curve.sizes][2], "today's hits stay")
        lines[#lines] = "STAT first_reads 430000"
        assert.near(0.57, sampled.parse_curve(lines).sizes[4][2], 1e-9)
        for mib, ratio in pairs({ [64] = 0.5, [96] = 0.7, [128] = 0.55 }) do -- a model above the miniatures
            lines[#lines + 1] = ("STAT point:%d %g"):format(mib << 20, ratio)
        end
        assert.near(0.01, (sampled.gain_at(sampled.parse_curve(lines), 1.5)), 1e-9)
    end)

    it("is not known, never nothing, while no reads were sampled", function()
        local curve = with_reads(0, 0.7, 0.8, 0.86, 0.9)
        local general = { limit_maxbytes = 128 << 20, evictions = 0 }
        local few = "what other memory would bring is not known: 0 sampled reads of the 300 that are needed"
        assert.equal("the cache is not full yet, it has 64 MiB of 128 MiB: " .. few,
            relief.memory(curve, { evicts = false, general = general }).text)
        assert.equal(few, relief.memory(curve, CALM).text)
        assert.equal("what more memory would bring is not known: evictions are not reported, or not yet",
            memory({}, 0.7, 0.8, 0.86, 0.9).text)
    end)

    -- Advice for a server that evicts, with this band of its curve at all sizes, so many sampled reads and classes.
    local function advised_for(hits, band, reads, classes, more)
        local client = { stats = function(_, group)
            local lines = group == "whatif" and whatif_of(0, 0) or curve_of(0.4, 0.5, 0.55, 0.575)
            for _, times in ipairs(group == "whatif" and {} or { "0.5", "2", "4" }) do
                lines[#lines + 1] = ("STAT band_x%s %g"):format(times, band)
            end
            lines[2] = group == "whatif" and lines[2] or "STAT reads " .. reads
            return table.move(more or {}, 1, #(more or {}), #lines + 1, lines)
        end }
        local now = { general = { evictions = 5 }, settings = {}, classes = classes }
        return assert(advice.memory({ pair = function() return now end }, client, { hits = hits }))
    end

    it("of 64 MiB in JSON is that of the text: at most today's misses, and null where the text tells none", function()
        local told, young = advised_for(nil, 0.001, 1000000), advised_for(nil, 0.001, 1000000, nil,
            { "STAT first_reads 400000", "STAT lru_hit_ratio 0.5" })
        assert.matches("^%+5%.0 ± ", told.facts[3][2])
        assert.near(0.05, told.gain_64m_ratio, 1e-9) -- twice today's memory
        assert.matches("the sample is too young", young.facts[3][2])
        for _, name in ipairs({ "gain_64m_ratio", "hit_ratio_most", "enough_bytes" }) do
            assert.same({ "number", json.null }, { type(told[name]), young[name] }, name)
        end
        assert.equal(json.null, advised_for(nil, 0.001, 299).gain_64m_ratio)
    end)

    it("has hits in reach that the band of the curve's end does not exclude", function()
        local told = advised_for(61, 0.11, 200)
        assert.equal("61 % of hits are not known to be in reach: the curve covers up to 256 MiB and tells 57.5 % "
            .. "(± 11.2)", told.text)
        assert.same({}, told.commands)
        assert.matches("^61 %% of hits are out of reach: the curve covers up to 256 MiB and tells 57.5 %% %(± 2.0%)$",
            advised_for(61, 0.02, 100000).text)
        assert.matches("61 %% of hits are not known to be in reach: .* %(± 5.0%)$",
            advised_for(61, 0.02, 100000, nil, { "STAT real_hit_ratio 0.45" }).text, "as far as today's point is off")
    end)

    it("advises a memory for hits only where its gain is beyond chance", function()
        local told = advised_for(55, 0.01, 100000)
        assert.same({ "55 % of hits need about 128 MiB:", { "slatectl set maxbytes 134217728" } },
            { told.text, told.commands })
        told = advised_for(55, 0.11, 100000)
        assert.equal("the memory for 55 % of hits is not known: by the curve it is about 128 MiB, whose gain is +5.0 ± "
            .. "11.2 points, of 100000 sampled reads", told.text)
        assert.same({}, told.commands)
        assert.same({}, advised_for(55, 0.01, 299).commands)
    end)

    it("is never less than a page for each class", function()
        local classes = {}
        for id = 1, 60 do classes[id] = { id = id, total_pages = 1 } end
        assert.equal("out of reach: each of 60 classes keeps a page: the server holds at least 60 MiB",
            advised_for(nil, 0.01, 1e5, classes).facts[4][2])
        assert.equal("64 MiB, but the classes hold 96 MiB",
            advised_for(nil, 0.01, 1e5, nil, { "STAT used_bytes 100663296" }).facts[1][2])
        assert.matches("^20.0 of 60.0 points of misses are first reads: no memory",
            advised_for(nil, 0.01, 1e5, nil, { "STAT first_reads 20000", "STAT lru_hit_ratio 0.4" }).facts[6][2])
        local curve = sampled.parse_curve(curve_of(0.5, 0.6, 0.8, 0.9))
        for id = 61, 100 do classes[id] = { id = id, total_pages = 1 } end
        assert.equal(128 << 20, curve.bytes + relief.memory(curve, { evicts = true, classes = classes }).bytes_more)
        for id = 101, 150 do classes[id] = { id = id, total_pages = 1 } end
        local now = { classes = classes, general = { limit_maxbytes = 64 << 20 } }
        assert.equal("each of 150 classes keeps a page: the server holds at least 150 MiB: "
            .. relief.against_classes(now), relief.memory(curve, { evicts = true, classes = classes, now = now }).text)
        for id = 61, 150 do classes[id] = nil end
        assert.same({ "slatectl set maxbytes " .. (60 << 20) }, advised_for(45, 0.01, 1e5, classes).commands)
    end)

    it("is not advised where chance may be as much as hits can rise, or fall", function()
        local function advised(band)
            local client = { stats = function(_, group)
                if group == "whatif" then
                    return whatif_of(0, 0)
                end
                local lines = curve_of(0.4, 0.5, 0.7, 0.9)
                for _, times in ipairs({ "0.5", "2", "4" }) do
                    lines[#lines + 1] = ("STAT band_x%s %g"):format(times, band)
                end
                return lines
            end }
            local context = { pair = function() return { general = { evictions = 1 }, settings = {} } end }
            local facts = assert(advice.memory(context, client, {})).facts
            assert.matches("; ± is a band of 95%%$", facts[5][2])
            return facts[3][2], facts[4][2]
        end
        local twice, half = advised(0.098)
        assert.equal("+20.0 ± 10.0 points", twice)
        assert.equal("-10.0 ± 10.0 points", half)
        twice, half = advised(0.6)
        assert.equal("not known yet: too few reads were sampled", twice)
        assert.equal("not known yet: too few reads were sampled", half)
    end)

    it("is a question where an item is evicted now and then, also in a second without one", function()
        local one = view.observer()
        for i = 0, 6 do
            local evicted = i // 2
            one:observe(snapshots.make(1000 + i, { [5] = snapshots.full(9, evicted) }, { evictions = evicted,
                cmd_get = i * 1000, get_hits = i * 800 }))
            if i >= 3 then
                local told = memory(relief.about(one), 0.7, 0.8, 0.86, 0.9)
                assert.truthy(told.text:find("^memory is short: "), ("second %d: %s"):format(i, told.text))
            end
        end
    end)

    it("is no question where a class starves, nor where nothing is evicted", function()
        assert.truthy(memory({ evicts = true, starves = 7 }, 0.5, 0.6, 0.8, 0.9).text:find("^class 7 starves"))
        assert.truthy(memory(CALM, 0.5, 0.6, 0.8, 0.9).text:find("^nothing is evicted"))
        assert.is_nil(memory(EVICTS))
        local general = { limit_maxbytes = 128 << 20, evictions = 0 }
        local unfilled = "the cache is not full yet, it has 64 MiB of 128 MiB: more memory would bring nothing"
        assert.equal(unfilled, memory({ evicts = false, general = general }, 0.5, 0.6, 0.8, 0.9).text)
        local client = { stats = function(_, group)
            return group == "whatif" and whatif_of(0, 0) or { "STAT bytes 67108864", "STAT reads 0" }
        end }
        local told = assert(advice.memory({ pair = function()
            return { general = general, settings = {} }
        end }, client, {}))
        assert.matches("^the cache is not full yet, it has 64 MiB of 128 MiB: what other memory would bring is not ",
            told.text, "also before a curve can be told")
    end)
end)

describe("whether another policy helps", function()
    it("is advised when it is worth a point beyond chance", function()
        assert.equal("sieve would bring +3.0 ± 0.4 points of hits over s3fifo, by its miniatures",
            policy(whatif_of(0.03, 0.004), EVICTS).text)
        for _, case in ipairs({ { 0.03, 0.024 }, { 0.009, 0 } }) do
            assert.equal("no policy is better than s3fifo by more than chance: keep it",
                policy(whatif_of(case[1], case[2]), EVICTS).text)
        end
    end)

    it("is never worth more than the misses of today", function()
        local lines = whatif_of(0.15, 0.01)
        lines[#lines + 1] = "STAT real_hit_ratio 0.8"
        assert.equal("sieve would bring +1.5 ± 0.1 points of hits over s3fifo, by its miniatures",
            policy(lines, { evicts = true, today = 0.98 }).text)
        assert.equal("sieve would bring +1.9 (+1.6 to +2.0) points of hits over s3fifo, by its miniatures",
            policy(whatif_of(0.019, 0.003, {}, 0.98), EVICTS).text)
    end)

    it("is left to s3auto where that follows it, and to later where a class starves", function()
        local followed = whatif_of(0.03, 0.004, { s3auto = 1 })
        assert.is_true(policy(followed, EVICTS).is_better, "sieve is not of s3fifo's structure")
        followed[#followed + 1] = "STAT sieve:record small_percent=30"
        assert.matches("%+3.0 ± 0.4 points of hits over s3fifo: s3auto switches to it$", policy(followed, EVICTS).text)
        assert.falsy(policy(whatif_of(0.03, 0.004), { evicts = true, starves = 7 }).is_better)
        assert.falsy(policy(whatif_of(0.03, 0.004), CALM).is_better)
    end)

    -- A comparison after so many sampled reads in which no policy did better on any.
    local function alike(reads, windows, rate)
        return { totals = { policy = "lru", windows = windows, rate = rate },
            policies = { { policy = "lru", hit_ratio = 0.8, difference = 0, doubt = 0, reads = reads },
                { policy = "sieve", hit_ratio = 0.8, difference = 0, doubt = 0, reads = reads } } }
    end

    it("is not advised after few reads: it names the number needed, and when they will be there", function()
        local about = { evicts = true, reads_per_s = 200 }
        assert.equal("too few reads were sampled to compare policies: 60 of the 300 that are needed; at this rate that "
            .. "takes 2m00", relief.policy(alike(60, 1, 0.01), about).text)
        assert.equal(240, relief.policy(alike(60, 1, 0.005), about).too_few.in_s)
        for _, case in ipairs({ { 0, about }, { 0.01, { evicts = true } } }) do
            assert.truthy(relief.policy(alike(60, 1, case[1]), case[2]).text:find("more come with traffic", 1, true))
        end
        assert.is_nil(relief.policy(alike(300, 1, 0.01), about).too_few)
        assert.is_nil(relief.policy(alike(299, 8, 0.01), about).too_few, "the oldest have faded: no more will come")
        assert.is_nil(relief.policy(alike(60, 1, 0.01), { evicts = true, starves = 7, reads_per_s = 200 }).too_few)
    end)

    it("says how many reads are missing where none was sampled yet", function()
        local client = { stats = function(_, group)
            return group == "whatif" and { "STAT policy lru", "STAT rate 0.01", "STAT windows 1" } or {}
        end }
        local told = assert(advice.policy({ pair = function() return { general = {}, settings = {} } end }, client, {}))
        assert.truthy(told.text:find("0 of the 300 that are needed", 1, true), told.text)
        assert.equal(300, told.reads_needed)
    end)

    it("is not advised after predictions that did not come true, nor is memory", function()
        local function failed(came_true, made)
            return verdict.failed_before({ predictions = made, predictions_within = came_true })
        end
        assert.equal("0 of 2 earlier predictions of this server came true (19 of 20 should): nothing is advised by new "
            .. "ones", failed(0, 2))
        assert.same({}, { failed(0, 0), failed(0, 1), failed(1, 2), failed(10, 12) }, "as chance may have it")
        assert.is_string(failed(2, 5))
        local lines = curve_of(0.7, 0.8, 0.86, 0.9)
        table.move({ "STAT predictions 2", "STAT predictions_within 0" }, 1, 2, #lines + 1, lines)
        local curve = sampled.parse_curve(lines)
        assert.equal(failed(0, 2), relief.memory(curve, EVICTS).text)
        local totals, policies = sampled.parse_whatif(whatif_of(0.05, 0.01))
        local whatif = { totals = totals, policies = policies }
        assert.is_true(relief.policy(whatif, EVICTS).is_better)
        assert.equal(failed(0, 2), relief.policy(whatif, EVICTS, curve).text)
    end)

    it("says too young to tell in place of bounds of more than 100 points", function()
        local reply = table.concat(whatif_of(0.05, 1.06), "\r\n"):gsub("none:doubt 0", "none:doubt 1.14")
        local replies, words = { whatif = reply }, {}
        for _, judge in ipairs({ curves.ratings, curves.compared }) do
            for _, one in ipairs(judge(nil, replies)) do
                words[#words + 1] = (one.label or "") .. " " .. one.text
            end
        end
        words = table.concat(words, "; ")
        assert.matches("sieve too young to tell", words)
        assert.matches("sieve: too young to tell", words)
        assert.matches("none too young to tell", words)
        assert.not_matches("106", words)
    end)

    it("has a doubt that is no smaller than so few reads can hide", function()
        assert.equal(0.01, relief.doubt({ doubt = 0, reads = 300 }))
        assert.equal(0.02, relief.doubt({ doubt = 0.02, reads = 300 }))
        assert.equal(1, relief.doubt({ doubt = 0, reads = 0 }))
        assert.equal("inconclusive", relief.rate({ difference = 0.02, doubt = 0, reads = 200 }))
        assert.equal("better", relief.rate({ difference = 0.02, doubt = 0, reads = 4000 }))
    end)
end)

describe("advise memory on a server without a curve", function()
    local snapshot = require "slate.facts.snapshot"

    local function advised(list, has_rates)
        local one = snapshots.seen(list)
        local now, before = list[#list], list[#list - 1]
        local context = { pair = function()
            if has_rates == false then
                return now
            end
            return now, before, snapshot.rates(before, now), one.judge, one
        end }
        return advice.memory(context, { stats = function() return nil, "no such statistics", "unsupported" end }, {})
    end

    -- A full memcached of one class that evicts so many items a second, of which so many were never read.
    local function full(evicted_per_s, unread_per_s, evicted_before)
        local list = {}
        for i = 0, 4 do
            local evicted = evicted_before + i * evicted_per_s
            list[i + 1] = snapshots.make(1000 + i, { [5] = snapshots.full(9, evicted) }, { evictions = evicted,
                evicted_unfetched = evicted_before + i * unread_per_s, bytes = 9 << 20, limit_maxbytes = 9 << 20 })
        end
        return list
    end

    it("names the class that starves, as doctor does, and advises no memory", function()
        local told = advised(require("support.recordings").load("calcified"))
        assert.truthy(told.text:find("^class 14 starves: give it pages of other classes before memory is bought:$"))
        assert.same({ "slatectl advise pages" }, told.commands)
    end)

    it("judges present evictions, not those since the start", function()
        local told = advised(full(200, 50, 1000000))
        assert.truthy(told.text:find("^the memory is full%. 25%% of what it evicts now was never read%. "), told.text)
        assert.truthy(advised(full(0, 0, 1000000)).text:find("^nothing is evicted now, so more memory would bring no"))
        assert.truthy(advised(full(0, 0, 0)).text:find("^nothing was evicted yet: the memory is enough"))
        local unread = full(0, 0, 0)
        for _, now in ipairs(unread) do now.general.cmd_get = 0 end
        assert.matches("^no reads were counted, so whether more memory would bring anything", advised(unread).text)
        assert.truthy(advised(full(200, 50, 1000000), false).text:find("^the memory is full%. How many more hits"))
    end)
end)
