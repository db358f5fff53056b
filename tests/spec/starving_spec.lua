-- SPDX-License-Identifier: BSD-3-Clause
-- Which classes starve: slatectl (Lua) and slatetop (C) say the same of the same two samples.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local snapshot = require "slate.snapshot"
local snapshots = require "support.snapshots"
local starving = require "slate.starving"
local view = require "slate.view"

local SEED <const> = math.tointeger(tonumber(os.getenv("SEED") or "")) or os.time()
local class, make = snapshots.class, snapshots.make

-- The ids of the classes that starve, by slatectl.
local function by_slatectl(before, after)
    local ids = {}
    for _, row in ipairs(view.classes(after, before, snapshot.rates(before, after))) do
        if table.concat(row.flags, " "):find("starving", 1, true) then
            ids[#ids + 1] = row.id
        end
    end
    return ids
end

describe("starving", function()
    local function starves(first, second, about)
        about = about or {}
        local time_s, age_s = about.time_s or 1000, about.age or 10
        local before = make(time_s, { [3] = class(first), [5] = class({ age = age_s }) })
        local after = make(time_s + 1, { [3] = class(second or first), [5] = class({ age = age_s, evicted = 100,
            free_chunks = about.own_free }) }, { evictions = 100 }, { slab_automove = about.mode })
        before.general.evictions, after.slated = about.evictions or 7, true
        return by_slatectl(before, after)[1] == 5
    end

    it("is a class that evicts while another keeps items twice as long, in a cache full for a minute", function()
        assert.is_true(starves({ age = 20 }))
        assert.is_false(starves({ age = 19 }))
        assert.is_false(starves({ age = 900 }, nil, { time_s = 50 }), "it has just been started")
        assert.is_false(starves({ age = 900 }, nil, { evictions = 0 }), "it has just begun to evict")
        assert.is_false(starves({ age = 900 }, nil, { mode = "utility" }), "ages do not count there")
    end)

    it("is one that evicts while another has two free pages, at any time and in any mode", function()
        local rich = { free_chunks = 2000, age = 900 }
        assert.is_true(starves(rich, nil, { time_s = 50, mode = "utility" }))
        assert.is_false(starves({ free_chunks = 1999, age = 900 }, nil, { time_s = 50 }), "a class keeps one")
        assert.is_false(starves({ free_chunks = 2000, age = 9 }), "a younger one is about to fill its pages itself")
        assert.is_false(starves(rich, nil, { own_free = 1000 }), "it was given a page and is filling it")
        assert.is_false(starves({ free_chunks = 2000, total_pages = 2 }, nil, { time_s = 50 }),
            "nobody gives the last page")
        assert.is_false(starves({ total_pages = 3 }, rich), "who has just got a page needed it")
        assert.is_false(starves({ age = 900 }, { age = 900, evicted = 100 }), "who evicts as much gives none")
    end)

    it("goes by the oldest item, not by what was evicted last: policies let new items go first", function()
        local before, after = make(1000, { [3] = class({}), [5] = class({}) }),
            make(1001, { [3] = class({}), [5] = class({ evicted = 100, evicted_time = 1 }) })
        assert.same({}, by_slatectl(before, after))
    end)

    it("names the giver with most whole free pages, else the one with the oldest tail", function()
        local rows = { { id = 1, pages = 9, free_pages = 2.5, age_s = 5, items = 9 },
            { id = 2, pages = 9, free_pages = 3.1, age_s = 1, items = 9 },
            { id = 4, pages = 9, age_s = 90, items = 9 } }
        local to = { id = 7, pages = 1, evicted_per_s = 5 }
        local giver, free = starving.giver_for(to, rows)
        assert.equal(2, giver.id)
        assert.equal(3.0, free)
        rows[1].free_pages, rows[2].free_pages = 0, 0
        assert.equal(4, starving.giver_for(to, rows).id)
        rows[3].pages = 2 -- of which it would lose half
        rows[1].age_s = 60
        assert.equal(1, starving.giver_for(to, rows).id)
    end)

    -- What slatetop shows at the end of a recording of the two samples.
    local function by_slatetop(before, after)
        local text = snapshots.in_slatetop(before, after)
        assert(text:find("STATE\n", 1, true), text)
        local ids = {}
        for id in text:gsub("^.*STATE\n", ""):gmatch("(%d+)[^\n]*STARVING\n") do
            ids[#ids + 1] = math.tointeger(tonumber(id))
        end
        return ids, text
    end

    local function any(...)
        return (select(math.random(select("#", ...)), ...))
    end

    -- A server of which anything may be true that the rule looks at.
    local function any_server()
        local first, second, total = {}, {}, 0
        for id = 1, math.random(2, 6) do
            local pages, evicted = math.random(1, 5), any(0, 0, 5, 50)
            local fields = { total_pages = pages, age = any(0, 1, 5, 9, 10, 18, 20, 100, 900),
                free_chunks = any(0, 0, 0, 1000, 1999, 2000, 2500), number = any(0, 4000, 4000, 4000) }
            first[id] = class(fields)
            fields.evicted, fields.total_pages = evicted, pages + any(0, 0, 0, 1)
            second[id], total = class(fields), total + evicted
        end
        local time_s, before_s = any(40, 1000), any(0, 7)
        local settings = { slab_automove = any("utility", 1, "lra") }
        local before = make(time_s, first, { evictions = before_s, cmd_get = 1 }, settings)
        local after = make(time_s + 2, second, { evictions = before_s + total, cmd_get = 9 }, settings)
        before.slated, after.slated = "0.1.0", "0.1.0"
        return before, after
    end

    it("is the same in slatetop, whatever the server is like", function()
        math.randomseed(SEED)
        local seen = 0
        for round = 1, 60 do
            local before, after = any_server()
            local shown, text = by_slatetop(before, after)
            local told = by_slatectl(assert(snapshot.decode(snapshot.encode(before))),
                assert(snapshot.decode(snapshot.encode(after))))
            assert.same(shown, told, ("SEED=%d round %d: %s"):format(SEED, round, text))
            seen = seen + #told
        end
        assert.is_true(seen > 0, ("SEED=%d: none starved"):format(SEED))
    end)
end)
