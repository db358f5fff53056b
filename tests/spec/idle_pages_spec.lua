-- SPDX-License-Identifier: BSD-3-Clause
-- Pages that nobody misses go to all classes that starve, at once; and what is said of the classes that give.
local attention = require "slate.judge.attention"
local doctor = require "slate.judge.doctor"
local gather = require "slate.base.gather"
local limits = require "slate.judge.thresholds"
local page_plan = require "slate.judge.page_plan"
local prediction = require "slate.judge.prediction"
local relief = require "slate.judge.relief"
local snapshots = require "support.snapshots"
local verdict = require "slate.judge.verdict"

local EMPTY <const> = { used_chunks = 0, number = 0, age = 0 }

-- An empty class of so many pages.
local function empty(pages)
    local fields = snapshots.full(pages, 0, EMPTY)
    fields.free_chunks = fields.total_chunks
    return fields
end

-- Classes 17 to 19 of a page each evict, 19 twice as much as 18, and 18 as 17; they hit half of their reads. donors:
-- the fields of other classes, by id.
local function calcified(donors)
    local list = {}
    for t = 0, 12 do
        local classes = {}
        for id, fields in pairs(donors) do classes[id] = fields end
        for id, times in pairs({ [17] = 1, [18] = 2, [19] = 4 }) do
            classes[id] = snapshots.full(1, 300 * times * t, { get_hits = 300 * times * t, cmd_set = 300 * times * t,
                age = 3 })
        end
        list[#list + 1] = snapshots.make(1000 + t, classes, { cmd_get = 4200 * t, get_hits = 2100 * t,
            get_misses = 2100 * t, cmd_set = 2100 * t, evictions = 2100 * t, uptime = 9000 + t,
            limit_maxbytes = 64 << 20, bytes = 3 << 20 }, { slab_automove = 0, slab_reassign = true })
    end
    return snapshots.seen(list)
end

-- The pages of a plan by the class that a field names.
local function pages_by(plan, name)
    local pages = {}
    for _, move in ipairs(plan.advised) do
        pages[move[name]] = (pages[move[name]] or 0) + move.pages
    end
    return pages
end

describe("idle pages", function()
    it("go to all classes that starve by one plan, most to those to which they bring most", function()
        local plan = calcified({ [5] = empty(45) }):plan()
        local got = pages_by(plan, "to")
        assert.equal(44, pages_by(plan, "from")[5])
        assert.is_true(got[19] > got[18] and got[18] > got[17] and got[17] >= 1,
            ("%d %d %d"):format(got[17], got[18], got[19]))
    end)

    it("are no more than the classes fill with what they evict in half a minute", function()
        local plan = calcified({ [5] = empty(400) }):plan()
        for id, pages in pairs(pages_by(plan, "to")) do
            local most = ({ [17] = 300, [18] = 600, [19] = 1200 })[id] * limits.idle_fills_s / 2 * 1000 / (1 << 20)
            assert.is_true(pages <= most and pages >= most - 12, ("%d of %.1f"):format(pages, most))
        end
    end)

    it("come from several classes where one has too few, and all that a class gets is one finding", function()
        local one = calcified({ [5] = empty(5), [6] = empty(4), [7] = empty(3) })
        local plan = one:plan()
        assert.same({ 4, 3, 2 }, { pages_by(plan, "from")[5], pages_by(plan, "from")[6], pages_by(plan, "from")[7] })
        assert.is_true(#plan.advised > #plan)
        assert.is_true(gather.count(plan.advised, function(move) return move.to == plan[1].to end) > 1)
        assert.equal(#plan, gather.count(doctor.findings(attention.known_of(one)), function(finding)
            return finding.name == "starving"
        end))
    end)

    it("are predicted together as a review of the same moves predicts them", function()
        local one = calcified({ [5] = empty(5), [6] = empty(4), [7] = empty(3) })
        local plan = one:plan()
        local made = prediction.of_moves(one, nil, plan.advised)
        for name, value in pairs(plan.sum) do assert.near(value, made[name], 1e-9, name) end
    end)

    it("stay shared out as they were while new shares are about as good", function()
        local one = calcified({ [5] = empty(45) })
        local was = pages_by(one:plan(), "to")
        for _, row in ipairs(one.rows) do
            row.mean_evicted_per_s = row.mean_evicted_per_s * (row.id == 18 and 1.2 or 1)
        end
        local now = {}
        for name, value in pairs(one.now) do now[name] = value end
        one.now = now
        assert.same(was, pages_by(page_plan.of(one), "to"))
    end)
end)

describe("a class that gives pages", function()
    -- The words of a move with these fields to a class whose items live 36 s.
    local function said(fields)
        local move = { from = 8, to = 21, pages = 2, free_pages = 0, held_free_pages = 0, row = { id = 21, life_s = 36,
            mean_evicted_per_s = 22 } }
        for name, value in pairs(fields) do move[name] = value end
        return relief.need_words(move.row, move):match("while class 8 (.*)$")
    end

    it("is said to keep its items only if it keeps them clearly longer", function()
        assert.equal("keeps its items 2m00", said({ lifetime_s = 120, made = {} }))
        assert.equal("needs its pages less", said({ lifetime_s = 37, made = {} }))
        assert.equal("could give pages", said({ lifetime_s = 37 }))
    end)

    it("is said to have free pages while it has any for the move, and never a life of 0s", function()
        assert.equal("has 3 free pages", said({ free_pages = 2, held_free_pages = 3 }))
        assert.equal("has 3 free pages", said({ free_pages = 1, held_free_pages = 3, pages = 1 }))
        local plan = calcified({ [5] = empty(4) }):plan()
        for _, move in ipairs(plan.advised) do
            assert.equal("has 4 free pages", relief.donor_has(move))
            assert.is_nil(move.lifetime_s)
        end
    end)
end)

describe("the worst class", function()
    it("is the same for an old and a new observer once it was the worst for ten seconds", function()
        local one, move = calcified({ [5] = empty(45) }), verdict.predicted_move
        local gains = { [17] = 10, [18] = 9, [19] = 8 }
        verdict.predicted_move = function(_, _, to)
            return { hit_ratio_change = 0.02, least = 0.01, most = 0.03, hits_per_s = gains[to], lost_per_s = 0,
                seen_s = 10 }
        end
        finally(function() verdict.predicted_move = move end)
        local function first(seconds)
            local now = {}
            for name, value in pairs(one.now) do now[name] = value end
            now.time_s = now.time_s + seconds
            one.now = now
            return page_plan.of(one)[1].to
        end
        one.page_plan = nil
        assert.equal(17, first(1))
        gains[18] = 12
        assert.same({ 17, 17, 18, 18 }, { first(1), first(8), first(1), first(1) })
    end)
end)
