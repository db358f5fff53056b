-- SPDX-License-Identifier: BSD-3-Clause
-- The data that a policy sees: an interval of a server, the results of earlier moves, and the gain of pages.
local core = require "slate.base.policy_core"
local policy_curve = require "slate.base.policy_curve"
local json = require "slate.base.json"
local policy = require "slate.policy.file"
local snapshots = require "support.snapshots"

local class, make = snapshots.full, snapshots.make

-- The sandbox without its limit of processor time, so that a busy machine changes nothing.
local PATIENT <const> = { cpu_s = 600 }

describe("a policy's data of an interval", function()
    -- Class 7 evicts 500 of its 10,000 items in 2 s; 900 requests hit its items; the server missed 300 times.
    local function shown(more)
        local function at(time_s, evicted, hits, stores, missed)
            return make(time_s, { [3] = class(10, 0, { cmd_set = stores // 5 }),
                [7] = class(10, evicted, { get_hits = hits, cmd_set = stores, age = (more or {}).age }) },
                { get_misses = missed })
        end
        local _, after = core.pair(at(100, 0, 0, 0, 0), at(102, 500, 900, 500, (more or {}).missed))
        return after.by_id[7], after.by_id[3]
    end

    it("have the life of a class's evicted items, whatever the age of its oldest item", function()
        local seven, three = shown({ age = 900 })
        assert.equal(40.0, seven.victim_age_s) -- 10,000 items, 250 of them a second
        assert.equal(250.0, seven.evicted_per_s)
        assert.equal(100, three.victim_age_s)
        assert.equal(30, shown({ age = 30 }).victim_age_s)
    end)

    it("have the server's misses, shared out as stores are; stores where it counts none", function()
        local seven, three = shown({ missed = 300 })
        assert.equal(125.0, seven.misses_per_s)
        assert.equal(25.0, three.misses_per_s)
        assert.equal(250.0, shown().misses_per_s)
        assert.equal(450.0, shown().get_hits_per_s)
    end)

    it("have the gain of more pages and the loss of fewer, with a part for a sampled curve if there is one", function()
        local seven, three = shown({ missed = 300 })
        local more, less = policy_curve.page_gain(seven, 1), policy_curve.page_gain(seven, -1)
        assert.is_true(more > 0 and less < 0 and more < -less, ("%s %s"):format(more, less))
        assert.near(575 * 0.1 * math.log(11 / 10), more, 0.3) -- class 7 fills a page in 4 s, before it counts
        assert.near(-575 * 0.1 * math.log(10 / 9), less, 0.3)
        assert.is_true(policy_curve.page_gain(seven, 1000) < 125, "no more than its misses")
        assert.equal(0, policy_curve.page_gain(three, 1), "it fills no page that it has")
        assert.near(-seven.get_hits_per_s, policy_curve.page_gain(seven, -10), 1e-6)
        seven.curve = { { 5 << 20, 0.78 }, { 10 << 20, 0.8 }, { 20 << 20, 0.82 }, reads = 5000 }
        assert.is_true(policy_curve.page_gain(seven, 1) < more, "its curve is flat")
        assert.is_true(policy_curve.page_gain(seven, -1) > less, "down from here, too")
        seven.curve = { { 5 << 19, 0.2 }, { 5 << 20, 0.4 }, { 10 << 20, 0.8 }, { 20 << 20, 1 }, reads = 5000 }
        assert.is_true(policy_curve.page_gain(seven, 1) > 2 * more, "it is a straight line")
        assert.is_true(policy_curve.page_gain(seven, -1) < 2 * less, "down from here, too")
        seven.free_chunks, seven.curve = 1000, nil
        assert.equal(0, policy_curve.page_gain(seven, -1), "a free page costs nothing")
    end)
end)

describe("a policy's data of earlier intervals", function()
    local SOURCE <const> = [[
        return { decide = function(_, after)
            local last = after.last_moves[1]
            return { { from = 3, to = 7, pages = 2, reason = ("%d seen; last %s"):format(#after.history,
                last and ("%d %s %s"):format(last.moved, last.state or "-", last.lost or "-") or "none") } }
        end }]]

    it("have its last moves, with their results, and the last twelve decisions", function()
        local running = assert(assert(policy.load(SOURCE, "it.lua", { limits = PATIENT })):start({}))
        local pages, said = 10, {}
        for i = 0, 14 do
            local moves = running:feed(make(100 + i, { [3] = class(pages + 10), [7] = class(30 - pages) }))
            said[i] = moves and moves[1].reason
            pages = pages - (i == 1 and 2 or 0) -- the first decision took effect, the others did not
            if i == 3 then
                running:report({ { state = "refused", pages_moved = 0, items_lost = 5 } })
            end
        end
        assert.equal("0 seen; last none", said[1])
        assert.equal("1 seen; last 2 - -", said[2])
        assert.equal("2 seen; last 0 - -", said[3])
        assert.equal("3 seen; last 0 refused 5", said[4])
        assert.equal("12 seen; last 0 - -", said[14])
    end)
end)

describe("a policy's data", function()
    local function seen(before, after) return core.pair(before, after) end

    it("has every class of the later snapshot in the earlier one, with counters that do not shrink", function()
        local before, after = seen(
            make(1, { [3] = class(1, 100), [5] = class(2, 50, { get_hits = 10 }), [9] = class(1) }),
            make(2, { [3] = class(1, 30), [5] = class(2, 60, { get_hits = 40 }), [200] = class(4, 777) }))
        assert.equal(0, before.by_id[3].evicted) -- counters began anew
        assert.equal(30, after.by_id[3].evicted)
        assert.equal(50, before.by_id[5].evicted)
        assert.equal(30, after.by_id[5].get_hits - before.by_id[5].get_hits)
        assert.equal(777, before.by_id[200].evicted) -- its counters cannot be compared
        assert.equal(0, before.by_id[200].total_pages)
        assert.equal(1, before.by_id[9].total_pages)
        local ids = {}
        for i, one in ipairs(before.classes) do ids[i] = one.id end
        assert.same({ 3, 5, 9, 200 }, ids)
    end)

    it("takes a class of another size by the same id for a new one", function()
        local before, after = seen(make(1, { [3] = class(5, 10) }),
            make(2, { [3] = class(2, 90, { chunk_size = 500 }) }))
        assert.equal(500, before.by_id[3].chunk_size)
        assert.equal(0, before.by_id[3].total_pages)
        assert.equal(90, before.by_id[3].evicted)
        assert.equal(before.by_id[3], before.classes[1])
        assert.equal(2, after.by_id[3].total_pages)
    end)

    it("misses nothing that a server leaves out", function()
        local empty = { chunk_size = 1000, chunks_per_page = 1000, total_pages = 1, total_chunks = 1000,
            free_chunks = 1000, used_chunks = 0, get_hits = 5, cmd_set = 6 }
        local before, after = seen(make(1, { [1] = class(1, 40) }), make(2, { [1] = empty }))
        assert.equal(0, after.by_id[1].number)
        assert.equal(0, after.by_id[1].age)
        assert.equal(40, after.by_id[1].evicted)
        assert.equal(40, before.by_id[1].evicted)
    end)

    it("have the age of the next victim, also while the queue that evicts is empty", function()
        local _, after = seen(make(1, {}), make(2, {
            [1] = class(1, 0, { age = 0, number_cold = 0, age_hot = 7, age_warm = 9 }),
            [2] = class(1, 0, { age_hot = 120 }),
        }))
        assert.equal(9, after.by_id[1].age)
        assert.equal(100, after.by_id[2].age)
    end)

    it("counts free pages as each server does", function()
        local general = { limit_maxbytes = 64 << 20, slab_global_page_pool = 2 }
        local memcached = make(1, {}, general)
        memcached.totals.total_malloced = 60 << 20
        assert.same({ 64, 6 }, { core.pages(memcached) })
        memcached.slated = "0.1.0"
        assert.same({ 64, 2 }, { core.pages(memcached) })
        assert.same({}, { core.pages(make(1, {})) })
    end)

    it("is a copy", function()
        local before, after = make(100, { [3] = class(10) }, {}), make(101, { [3] = class(10, 500) }, {})
        local copy = json.encode(after)
        local source = "return { decide = function(before, after) after.classes[1].total_pages = 0 "
            .. "after.general.pid = 0 before.classes = nil end }"
        local one = assert(policy.load(source, "c.lua"))
        assert(assert(one:start({})):decide(before, after))
        assert.equal(copy, json.encode(after))
    end)
end)
