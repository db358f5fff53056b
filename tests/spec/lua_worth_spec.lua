-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's display of a page's value to each class, and of a class's row.
local attention = require "slate.judge.attention"
local view = require "slate.judge.view"
local verdict = require "slate.judge.verdict"
local recordings = require "support.recordings"
local snapshots = require "support.snapshots"
local prediction = require "slate.judge.prediction"

local MIB <const> = 1 << 20

-- A server seen for four seconds with 1,000 reads in each: class 3 is calm, class 5 evicts.
local function watched()
    local one = view.observer()
    for i = 0, 4 do
        one:observe(snapshots.make(1000 + i, {
            [3] = snapshots.class({ age = 20, get_hits = 300 * i, free_chunks = 1500 }),
            [5] = snapshots.class({ evicted = 400 * i, get_hits = 300 * i, cmd_set = 400 * i }) },
            { cmd_get = 1000 * i, get_misses = 400 * i, evictions = 400 * i }))
    end
    return one
end

local CURVES <const> = { [0] = { reads = 4000 },
    [3] = { { 3 * MIB, 0.9 }, { 4 * MIB, 1 }, { 5 * MIB, 1 }, reads = 1000 },
    [5] = { { 3 * MIB, 0.3 }, { 4 * MIB, 0.5 }, { 5 * MIB, 0.6 }, reads = 3000, bytes = 4 * MIB } }

describe("the value of a page", function()
    it("is by the classes' curves the predicted gain of a move of one page", function()
        local one = watched()
        local list = prediction.page_worth(one, { curves = CURVES })
        assert.same({ 5, 3 }, { list[1].id, list[2].id })
        assert.is_true(list[1].gain > 0 and list[1].loss > list[1].gain, "its curve falls off")
        assert.same({ 0.75, 0.5 }, { list[1].read_share, list[1].hit_ratio })
        assert.same({ 0, 0 }, { math.floor(list[2].gain), math.floor(list[2].loss) }, "its free page costs nothing")
        local move = assert(verdict.predicted_move(one, 3, 5, 1, CURVES))
        assert.is_true(move.hits_per_s > 0)
        assert.near(list[1].gain - list[2].loss, move.hits_per_s, 1e-9)
    end)

    it("has no share of the reads while classes that are gone have many of them", function()
        local curves = { [0] = { reads = 9000 }, [3] = CURVES[3], [5] = CURVES[5] }
        for _, class in ipairs(prediction.page_worth(watched(), { curves = curves })) do
            assert.is_nil(class.read_share)
        end
        curves[0] = nil
        assert.is_nil(prediction.page_worth(watched(), { curves = curves })[1].read_share)
    end)

    it("is the same beside an automove that weighs pages otherwise: two screens show one figure", function()
        local automove = "STAT mode utility\r\nSTAT weighed 1\r\nSTAT 3:gain 2.5\r\nSTAT 3:loss 400\r\nEND\r\n"
        local one, list = watched(), {}
        for _, class in ipairs(prediction.page_worth(one, { automove = automove, curves = CURVES })) do
            list[class.id] = class
        end
        assert.near(list[5].gain - list[3].loss, assert(verdict.predicted_move(one, 3, 5, 1, CURVES)).hits_per_s, 1e-9)
        assert.near(list[3].gain - list[5].loss, assert(verdict.predicted_move(one, 5, 3, 1, CURVES)).hits_per_s, 1e-9)
    end)

    it("names a better policy only where the miniatures hit as the class does with its own pages", function()
        local function policy(lru)
            local whatif = ("STAT policy lru\r\nSTAT class:5:lru:hit_ratio %g\r\nSTAT class:5:lru:difference 0\r\n"
                .. "STAT class:5:lru:reads 3000\r\nSTAT class:5:sieve:hit_ratio 0.99\r\n"
                .. "STAT class:5:sieve:difference 0.09\r\nSTAT class:5:sieve:doubt 0.01\r\n"
                .. "STAT class:5:sieve:reads 3000\r\nEND\r\n"):format(lru)
            return prediction.page_worth(watched(), { curves = CURVES, whatif = whatif })[1].policy
        end
        assert.equal("sieve", policy(0.51))
        assert.is_nil(policy(0.9), "the class hits half of its reads")
    end)

    it("is unknown of classes without a curve, and before enough was read", function()
        assert.same({}, prediction.page_worth(watched(), {}))
        local one = view.observer()
        one:observe(snapshots.make(1000, { [3] = snapshots.class({}) }, { cmd_get = 0 }))
        assert.same({}, prediction.page_worth(one, { curves = CURVES }))
    end)
end)

describe("the row of a class in words", function()
    local function hint(one, id)
        local said = attention.hint(one, { class_id = id })[1]
        return said and said.text, said and said.tone
    end

    it("shows its state", function()
        local one = watched()
        assert.equal("class 3 is calm: it evicts nothing", hint(one, 3))
        assert.equal("class 5 evicts, as a full cache does; no donor keeps its items much longer",
            hint(one, 5))
        assert.is_nil(hint(one, 9))
        one = view.observer()
        one:observe(snapshots.make(1000, { [3] = snapshots.class({}), [4] = snapshots.class({ total_pages = 0 }) }, {}))
        assert.equal("class 3: rates need a second sample", hint(one, 3))
        assert.equal("class 4 has no pages", hint(one, 4))
    end)

    it("says why a class that evicts beside one with longer lives does not starve", function()
        local function of_class_5(mode, evicted_of_7, fields)
            local one = view.observer()
            for i = 0, 4 do
                local now = snapshots.make(1000 + i, { [3] = snapshots.class({ age = 600 }),
                    [5] = snapshots.class({ evicted = 400 * i }),
                    [7] = snapshots.class({ evicted = evicted_of_7 * i }) },
                    { evictions = 400 * i }, { slab_automove = mode })
                for name, value in pairs(fields or {}) do now.classes[2][name] = value end
                now.slated = "0.1.0"
                one:observe(now)
            end
            return hint(one, 5):match("^class 5 evicts, as a full cache does; (.*)$")
        end
        assert.equal("utility goes by hits, not by lives", of_class_5("utility", 0))
        assert.equal("only a few items, or not all the time", of_class_5("off", 9000))
        assert.equal("it has free pages", of_class_5("off", 0, { free_chunks = 1000 }))
    end)

    it("calls no page free to give that the class fills", function()
        local one = view.observer()
        for i = 0, 6 do
            one:observe(snapshots.make(1000 + i, { [20] = snapshots.class({ used_chunks = 1000 + 50 * i,
                free_chunks = 3000 - 50 * i }) }, { evictions = 0 }))
        end
        assert.same({ "class 20 is calm: it evicts nothing and fills 2 free pages", "calm" },
            { (hint(one, 20)), one.rows[1].state })
        for i, state in pairs({ [59] = "calm", [63] = "spare" }) do -- 14 pages take it more than two minutes
            one = view.observer()
            for t = 0, i do
                local pages = t < 3 and 4 or 18
                one:observe(snapshots.make(1000 + t, { [20] = snapshots.class({ total_pages = pages,
                    used_chunks = 4000 + 100 * math.max(0, t - 3), free_chunks = (pages - 4) * 1000
                        - 100 * math.max(0, t - 3) }) }, { evictions = 0 }))
            end
            assert.equal(state, one.rows[1].state)
            assert.equal(state == "spare", view.is_idle(one.rows[1]))
        end
    end)

    it("names possible donors, and the key, unless the figures are of the past", function()
        local one = view.observer()
        for i = 1, 20 do one:observe(recordings.load("calcified")[i]) end
        local text, tone = hint(one, 14)
        assert.equal("bad", tone)
        assert.truthy(text:find("^! class 14 starves, %d+ evictions/s; class %d+ keeps its items %w+: press m$"),
            text)
        assert.equal(text:gsub(": press m$", ""), attention.hint(one, { class_id = 14, is_past = true })[1].text)
    end)
end)
