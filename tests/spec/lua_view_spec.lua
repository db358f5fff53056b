-- SPDX-License-Identifier: BSD-3-Clause
local attention = require "slate.judge.attention"
local doctor = require "slate.judge.doctor"
local snapshot = require "slate.facts.snapshot"
local snapshots = require "support.snapshots"
local view = require "slate.judge.view"

local class, make = snapshots.class, snapshots.make

local function rows_of(before, after) return view.classes(after, before, snapshot.rates(before, after)) end

describe("view", function()
    it("flags a class that starves, and says how long its items live", function()
        local before = make(1000, { [3] = class({}), [5] = class({}) })
        local after = make(1001, { [3] = class({}), [5] = class({ evicted = 400 }) })
        local rows = rows_of(before, after)
        assert.same({}, rows[1].flags)
        assert.same({ "starving" }, rows[2].flags)
        assert.equal("starves: items live 10s", view.note(rows[2]))
        assert.equal("calm", rows[1].state)
        assert.equal("starving", rows[2].state)
    end)

    it("warns of uneven lives only when a threshold is given: alike they need not be", function()
        local fields = { [3] = class({ age = 900, evicted = 4 }), [5] = class({ age = 10, evicted = 100 }) }
        local before = make(1000, { [3] = class({}), [5] = class({}) }, { evictions = 7 })
        local function state_of(mode, warn)
            local now = make(1001, fields, { evictions = 111 }, { slab_automove = mode })
            now.slated = "0.1.0"
            for _, figure in ipairs(require("slate.judge.bounds").judge({ now = now, before = before,
                rates = snapshot.rates(before, now) }, { warn = { spread = warn }, crit = {} })) do
                if figure.name == "spread" then
                    assert.equal(25, figure.value) -- 4,000 items leave in 1,000 s, and in 40 s
                    return figure.state
                end
            end
        end
        assert.equal("ok", state_of("lra"))
        assert.equal("ok", state_of("utility"))
        assert.equal("warning", state_of("lra", 4))
    end)

    it("calls a class idle that holds whole free pages, and advises to take them", function()
        local before = make(1, { [3] = class({ free_chunks = 3000 }), [5] = class({ age = 1 }) })
        local after = make(2, { [3] = class({ free_chunks = 3000 }), [5] = class({ age = 1, evicted = 9 }) })
        local rows = rows_of(before, after)
        assert.same({ "idle" }, rows[1].flags)
        local advised = doctor.class_sentences({ now = after, before = before })
        assert.equal(1, #advised)
        assert.truthy(advised[1]:find("slatectl move 3 5 1 --dry-run", 1, true))
    end)

    it("calls a class with pages and no item empty, takes its pages first, and says how many are spare", function()
        local list = {}
        for t = 0, 12 do
            -- memcached lists no figures of items of such a class
            local four = t < 6 and snapshots.full(9, 0, { get_hits = 500 * t, age = 900 }) or { chunk_size = 1000,
                chunks_per_page = 1000, total_pages = 9, total_chunks = 9000, used_chunks = 0, free_chunks = 9000 }
            list[#list + 1] = make(1000 + t, { [4] = four,
                [16] = snapshots.full(10, 0, { get_hits = 30 * t, age = 900, used_chunks = 4500, free_chunks = 5500 }),
                [17] = snapshots.full(2, 300 * t, { get_hits = 2000 * t, cmd_set = 300 * t, age = 7 }) },
                { cmd_get = 6000 * t, get_hits = 2500 * t, get_misses = 3500 * t, evictions = 300 * t })
        end
        local one = snapshots.seen(list)
        assert.equal("empty", one.rows[1].state)
        assert.same({ "idle" }, one.rows[1].flags)
        assert.equal(4, require("slate.judge.page_plan").move(one, 17).from) -- class 16 was advised before the flush
        assert.equal("+ press f to give: class 4 is empty, 9 spare pages",
            attention.hint(one, { class_id = 4 })[1].text)
    end)

    it("calls no class idle that has just got pages, or fills its free chunks within a minute", function()
        local function flags(pages_before, free_before, used_before)
            local before = make(1, { [3] = class({ free_chunks = free_before, used_chunks = used_before,
                total_pages = pages_before }), [5] = class({ age = 1 }) })
            return rows_of(before, make(2, { [3] = class({ free_chunks = 3000, used_chunks = 1000 }),
                [5] = class({ age = 1, evicted = 9 }) }))[1].flags
        end
        local pages = class({}).total_pages
        assert.same({}, flags(pages, 3050, 950))
        assert.same({ "idle" }, flags(pages, 3040, 960))
        assert.same({}, flags(pages - 1, 2000, 1000))
    end)

    it("has no rates for a class whose id was another's, of other chunks, in the sample before", function()
        local before = make(1, { [3] = class({}), [5] = class({ chunk_size = 2000, evicted = 0, total_pages = 9 }) })
        local rows = rows_of(before, make(2, { [3] = class({ evicted = 7 }), [5] = class({ evicted = 1000000 }) }))
        assert.equal(7, rows[1].evicted_per_s)
        assert.is_nil(rows[2].evicted_per_s)
        assert.is_nil(rows[2].pages_delta)
    end)

    it("computes waste from mem_requested, and none without that", function()
        local one = make(1, { [3] = class({ mem_requested = 3000000 }), [4] = class({}),
            [5] = class({ mem_requested = 5000000 }) })
        local rows = view.classes(one)
        assert.is_nil(rows[1].slack_ratio, "pieces of class 5 may lie here")
        assert.is_nil(rows[2].slack_ratio)
        assert.is_nil(rows[3].slack_ratio)
        one.classes[3].mem_requested = 4000000
        rows = view.classes(one)
        assert.equal(0.25, rows[1].slack_ratio)
        assert.equal(0, rows[3].slack_ratio)
    end)

    it("knows no rates from one snapshot", function()
        local one = make(1, { [3] = class({}) }, { cmd_get = 5, get_hits = 3, get_misses = 1 })
        assert.is_nil(view.classes(one)[1].set_per_s)
        local overview = view.overview(one)
        assert.is_nil(overview.get_per_s)
        assert.equal(0.75, overview.hit_ratio_total)
    end)

    it("invents nothing for a server that reports nothing", function()
        local overview = view.overview(make(1, {}))
        for _, name in ipairs({ "items", "used_bytes", "hit_ratio_total", "evictions_per_s", "item_loss_per_s",
            "free_pool_pages", "automove", "cpu_ratio" }) do
            assert.is_nil(overview[name], name)
        end
    end)

    it("sums up every way in which items get lost", function()
        local before = make(1, {}, { evictions = 0, slab_reassign_evictions_nomem = 0, slab_reassign_busy_deletes = 0 })
        local after = make(2, {}, { evictions = 5, slab_reassign_evictions_nomem = 3, slab_reassign_busy_deletes = 1 })
        assert.equal(9, view.overview(after, snapshot.rates(before, after)).item_loss_per_s)
    end)
end)
