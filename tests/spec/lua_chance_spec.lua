-- SPDX-License-Identifier: BSD-3-Clause
-- What chance makes of the hits of a steady load, over many simulated trials: which of them end, and how soon.
local bounds = require "slate.judge.bounds"
local chance = require "slate.judge.chance"
local limits = require "slate.judge.thresholds"
local verdict = require "slate.judge.verdict"

local BEFORE_S <const>, FOR_S <const> = 10, 600

local function gauss()
    return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
end

-- So many of `count` events happen by chance, each with this probability, `together` of them at a time.
local function happened(count, probability, together)
    local groups = count / together
    local mean, deviation = groups * probability, math.sqrt(groups * probability * (1 - probability))
    return math.max(0, math.min(count, together * math.floor(mean + deviation * gauss() + 0.5)))
end

-- A load with a change at 0 s; at harm_s hits fall by `harm`. One second passes with each call of the function that is
-- returned first; then the counters so far.
local function load(about)
    local past, general, time_s = verdict.past(), { cmd_get = 0, get_hits = 0, evictions = 0 }, -BEFORE_S - 1
    local function second()
        time_s = time_s + 1
        local is_harmed = time_s > (about.harm_s or math.huge)
        general.cmd_get = general.cmd_get + about.gets
        general.get_hits = general.get_hits + happened(about.gets, about.hit_ratio - (is_harmed and about.harm or 0),
            about.together or 1)
        general.evictions = general.evictions + happened(2 * (about.evictions or 0), 0.5, 1)
        past:add({ time_s = time_s, classes = {}, general = general })
        return time_s
    end
    return second, past
end

-- When a trial of such a load ends by one of its guards, and the sentence; nil: it goes on to its end.
local function ended(about, guards)
    local second, past = load(about)
    repeat until second() == 0
    local base = past:before(0)
    while true do
        local time_s = second()
        local sentence = bounds.guard_crossed_lately(guards, base, past, 0, FOR_S)
        if sentence or time_s == FOR_S then
            return sentence and time_s, sentence, past
        end
    end
end

-- Of so many trials: how many end before harm_s; then the seconds from there until half and 19 of 20 of the others do.
local function trials(count, about, guards)
    math.randomseed(about.gets, count)
    local early, took = 0, {}
    for _ = 1, count do
        local at_s = ended(about, guards)
        if at_s and at_s <= (about.harm_s or FOR_S) then
            early = early + 1
        else
            took[#took + 1] = at_s and at_s - about.harm_s or math.huge
        end
    end
    table.sort(took)
    return early, took[(#took + 1) // 2], took[math.ceil(#took * 0.95)]
end

describe("a trial that changes nothing", function()
    local REVIEW <const> = bounds.guards_of_terms(20, 1)

    it("is not ended by the noise of its hits and evictions", function()
        for _, about in ipairs({ { gets = 1700, hit_ratio = 0.552, evictions = 700 },
            { gets = 1700, hit_ratio = 0.488, evictions = 20 }, { gets = 20000, hit_ratio = 0.95, evictions = 15 } }) do
            assert.equal(0, (trials(50, about, REVIEW)), about.gets)
        end
    end)

    it("is ended rarely where few are read, or many reads hit or miss together", function()
        assert.is_true(trials(50, { gets = 50, hit_ratio = 0.552, evictions = 15 }, REVIEW) <= 3)
        assert.is_true(trials(50, { gets = 1700, hit_ratio = 0.552, together = 17 }, REVIEW) <= 5)
    end)
end)

describe("a trial that costs hits", function()
    it("is ended within a minute if they are three points, within ten seconds if they are five", function()
        local guards = { assert(bounds.parse_guard("hit-1")) }
        for _, harm_s in ipairs({ 0, 300 }) do
            local about = { gets = 1700, hit_ratio = 0.552, harm_s = harm_s, harm = 0.03 }
            local early, half_s, most_s = trials(50, about, guards)
            assert.equal(0, early)
            assert.is_true(half_s <= 12 and most_s <= 60, half_s .. " " .. most_s)
            about.harm = 0.05
            early, half_s, most_s = trials(50, about, guards)
            assert.equal(0, early)
            assert.is_true(half_s <= 7 and most_s <= 10, half_s .. " " .. most_s)
        end
    end)

    it("has an outcome that says so, too, when it ends", function()
        math.randomseed(1, 1)
        local compared = 0
        for i = 1, 40 do
            local at_s, sentence, past = ended({ gets = 1700, hit_ratio = 0.552, harm_s = i, harm = 0.03 },
                { assert(bounds.parse_guard("hit-1")) })
            if at_s <= limits.verdict_lasts_s then
                local was, is = sentence:match("^hits (%S+) %-> (%S+) %%")
                local words = verdict.verdict_words(past:outcome(0, 0))
                assert.truthy(words:find(("hits %s%% -> %s%%"):format(was, is), 1, true), sentence .. "; " .. words)
                compared = compared + 1
            end
        end
        assert.is_true(compared >= 30)
    end)
end)

describe("the error of a hit ratio", function()
    it("is not 0 where all of some reads hit, or all missed", function()
        for _, hit_ratio in ipairs({ 0, 1 }) do
            local of_three, of_many = chance.ratio_error(hit_ratio, 3), chance.ratio_error(hit_ratio, 1e6)
            assert.is_true(of_three > 0.2 and of_many > 0 and of_many < 1e-5)
        end
    end)

    it("grows with the spread of the samples before, and never falls below chance", function()
        local whole = { hit_ratio = 0.5, reads = 1000, error = chance.ratio_error(0.5, 1000) }
        local function spread(...)
            local steps = {}
            for i, hit_ratio in ipairs({ ... }) do steps[i] = { hit_ratio = hit_ratio, reads = 250 } end
            return chance.spreads(whole, steps).hit_ratio
        end
        assert.equal(1, spread(0.5, 0.5, 0.5, 0.5))
        assert.is_true(math.abs(spread(0.6, 0.4, 0.6, 0.4) - 40 / 3) < 0.1)
        assert.equal(1, spread(0.6), "a single sample shows no spread")
    end)
end)
