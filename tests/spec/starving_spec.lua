-- SPDX-License-Identifier: BSD-3-Clause
-- Which classes starve: the rule, and false findings on recorded servers; one_brain_spec has the true ones.
local bounds = require "slate.judge.bounds"
local find = require "slate.base.find"
local view = require "slate.judge.view"
local recordings = require "support.recordings"
local snapshots = require "support.snapshots"
local page_plan = require "slate.judge.page_plan"
local relief = require "slate.judge.relief"
local starving = require "slate.judge.starving"

local class, make = snapshots.class, snapshots.make

-- The ids of the classes that starve, smallest first.
local function starving_of(one)
    local ids = {}
    for _, row in ipairs(one.rows) do
        if row.starves then
            ids[#ids + 1] = row.id
        end
    end
    return ids
end

describe("starving", function()
    -- A server with class 5, which evicts 400 of its 4,000 items a second (they live 10 s), and class 3, which evicts
    -- nothing; each a second apart. fields: of class 3, or a function of the sample's number that returns both
    -- classes'.
    local function after(samples, fields, about)
        about = about or {}
        local one = view.observer()
        for i = 0, samples do
            local donor, own = fields, {}
            if type(fields) == "function" then
                donor, own = fields(i)
            end
            own.evicted = own.evicted or 400 * i
            local now = make(1000 + i, { [3] = class(donor), [5] = class(own) }, { evictions = 400 * i },
                { slab_automove = about.mode })
            now.slated = "0.1.0"
            one:observe(now)
        end
        return starving_of(one)[1] == 5, one
    end

    local rich <const> = { free_chunks = 2000, age = 900 }

    -- Whether class 5 starves, by the rule's words: { it does, samples, fields, about }.
    for claim, rows in pairs({
        ["is a class whose items live a fourth of what another would keep its own without a page"] = {
            { true, 3, { age = 54 } }, { false, 3, { age = 53 } }, -- three fourths of 54 are 40 s
            { true, 3, { age = 600 } } },
        ["is found after three samples with evictions, not before"] = {
            { false, 2, { age = 600 } }, { true, 3, { age = 600 } },
            { false, 3, function(i) return { age = 600 }, { evicted = i < 3 and 400 * i or 800 } end } },
        ["is found of few evictions once their count tells that a donor keeps its items twice as long, at 95 %"] = {
            { false, 3, function(i) return { age = 54 }, { evicted = 2 * i, number = 20 } end }, -- 6 of them
            { true, 6, function(i) return { age = 54 }, { evicted = 2 * i, number = 20 } end },
            { true, 3, function(i) return { age = 80 }, { evicted = 2 * i, number = 20 } end } },
        ["is nothing at lives that differ by less than a second"] = { -- they live 0.1 s
            { false, 3, function(i) return { age = 1 }, { evicted = 40000 * i } end },
            { true, 3, function(i) return { age = 2 }, { evicted = 40000 * i } end } },
        ["is one that evicts while another has two free pages, also where pages go by hits"] = {
            { true, 3, rich, { mode = "utility" } },
            { false, 3, { age = 9000 }, { mode = "utility" } }, -- in that mode lives are not meant to be equal
            { false, 3, { free_chunks = 1999, age = 11 } }, -- a class always has one page
            { false, 3, { free_chunks = 2000, age = 9 } }, -- a younger class is about to fill its pages itself
            { false, 3, { free_chunks = 2000, total_pages = 2, age = 11 } } }, -- no class gives its last page
        ["is none that was given a page and is filling it"] = {
            { false, 3, function(i) return { age = 600 }, { evicted = 400 * i, free_chunks = 1000 } end },
            { false, 4, function(i) -- the starving ends at once
                return { age = 600 }, { evicted = 400 * i, free_chunks = i == 4 and 1000 or 0 }
            end } },
    }) do
        it(claim, function()
            for i, row in ipairs(rows) do
                assert.equal(row[1], (after(table.unpack(row, 2, 4))), i)
            end
        end)
    end

    it("goes by how long items live, not by the oldest item that the class has", function()
        assert.is_true(after(3, function(i) return { age = 600 }, { age = 5000, evicted = 400 * i } end))
        local starves, one = after(3, { age = 600 })
        assert.is_true(starves)
        assert.equal(10.0, one.rows[2].life_s)
    end)

    it("goes by all items that leave a class of a slated: evicted, expired and deleted ones", function()
        local function kept_s(evicted, reclaimed, deleted, program)
            local one = view.observer()
            for i = 0, 3 do
                local now = make(1000 + i, { [3] = class({ age = 2, evicted = evicted * i, reclaimed = reclaimed * i,
                    delete_hits = deleted * i, crawler_reclaimed = 0 }) }, { evictions = i })
                now.slated = program
                one:observe(now)
            end
            return starving.lived_s(one.rows[1])
        end
        assert.equal(40.0, kept_s(100, 0, 0, "0.1.0"), "its queue's oldest item came two seconds ago")
        assert.equal(20.0, kept_s(100, 60, 40, "0.1.0"))
        assert.equal(50.0, kept_s(0, 80, 0, "0.1.0"), "nothing is evicted")
        assert.equal(2, kept_s(0, 0, 0, "0.1.0"))
        assert.equal(2, kept_s(100, 60, 40), "memcached does not count all")
    end)

    it("evicts as long as three of its usual pauses last, ten seconds at least and a minute at most", function()
        local function calm_after_s(pause_s)
            local one, evicted = view.observer(), 0
            for i = 0, 200 + 100 do
                evicted = i <= 200 and i // pause_s or evicted
                one:observe(make(1000 + i, { [5] = class({ evicted = evicted }) }, { evictions = evicted }))
                if i > 200 and one.rows[1].state == "calm" then
                    return i - 200 // pause_s * pause_s
                end
            end
        end
        assert.same({ 10, 24, 60 }, { calm_after_s(1), calm_after_s(8), calm_after_s(40) })
    end)

    it("shows no life longer than the server's, or than that of items from before its start", function()
        for age_s, life_s in pairs({ [15] = 23, [700] = 700 }) do
            local one = view.observer()
            for i = 0, 3 do
                one:observe(make(1000 + i, { [5] = class({ evicted = 2 * i, age = age_s }) },
                    { evictions = 2 * i, uptime = 20 + i }))
            end
            assert.equal(life_s, one.rows[1].life_s) -- 4,000 items, two a second, would live 2,000 s
        end
    end)

    it("does not come and go with the evictions of a class that chance spreads", function()
        local evicted, began, was, random = 0, 0, false, 1
        local one = view.observer()
        for i = 0, 600 do
            for _ = 1, 8 do -- 2.4 a second, of a class whose items live 42 s: a third of what the other keeps its own
                random = (random * 48271) % 2147483647
                evicted = evicted + (random % 10 < 3 and 1 or 0)
            end
            one:observe(make(1000 + i, { [3] = class({ age = 160 }), [5] = class({ evicted = evicted, number = 100 }) },
                { evictions = evicted }))
            local starves = starving_of(one)[1] == 5
            began, was = began + (starves and not was and 1 or 0), starves
        end
        assert.is_true(began <= 1, began)
    end)

    it("is found beside a class that keeps its items long, also where another one has a free page", function()
        local one = view.observer()
        for i = 0, 3 do
            one:observe(make(1000 + i, { [3] = class({ age = 600 }), [5] = class({ evicted = 400 * i }),
                [7] = class({ age = 11, free_chunks = 1000 }) }, { evictions = 400 * i }))
        end
        assert.same({ 5 }, starving_of(one))
    end)

    it("is no class with less than a twentieth of all evictions", function()
        local function beside(evicted)
            local one = view.observer()
            for i = 0, 3 do
                one:observe(make(1000 + i, { [3] = class({ age = 600 }), [5] = class({ evicted = 10 * i, number = 40 }),
                    [7] = class({ evicted = evicted * i }) }, { evictions = i }))
            end
            return starving_of(one)
        end
        assert.same({ 5 }, beside(0))
        assert.same({ 7 }, beside(300), "10 of 310 are none")
    end)

    it("ignores evictions for pages that the class gave away", function()
        local function gives(at, evicted)
            return after(4, function(i)
                return { age = 60 }, { total_pages = i < at and 5 or 4, age = 100,
                    evicted = 40 * i + (i >= at and evicted or 0) }
            end)
        end
        assert.is_false(gives(2, 20000), "of 40 a second items live 100 s, of 20,000 in a second a fifth of one")
        assert.is_false(gives(4, 20000))
        assert.is_false(gives(9, 0))
    end)

    it("counts no class as evicting that evicted only what a page held that it gave", function()
        local row = { pages = 9, items = 1000, age_s = 60, evicted_per_s = 3449, pages_delta = -1 }
        assert.is_nil(starving.demand_per_s(row))
        local other = { pages = 9, items = 1000, age_s = 600, evicted_per_s = 5, pages_delta = 1 }
        assert.equal(5, starving.demand_per_s(other))
        assert.is_nil(starving.spread({ row, other }))
        row.pages_delta = 0
        assert.equal(10, starving.spread({ row, other }))
    end)

    it("is none beside a class that got pages within three samples alone", function()
        local function grows(at)
            return after(5, function(i) return { age = 600, total_pages = i < at and 4 or 5 }, {} end)
        end
        assert.is_false(grows(5))
        assert.is_false(grows(3))
        assert.is_true(grows(2))
    end)

    it("stays for ten seconds when lives come closer than two times, so that a finding does not flicker", function()
        local function eases(samples, age_s)
            return after(3 + samples, function(i) return { age = i <= 3 and 600 or age_s }, {} end)
        end
        assert.is_true(eases(20, 27), "still twice as long")
        assert.is_true(eases(9, 26))
        assert.is_false(eases(10, 26))
    end)

    it("forgets an id that has gone to another class, and a server that restarted", function()
        assert.is_false(after(4, function(i)
            return { age = 600 }, { evicted = 400 * i, chunk_size = i < 4 and 1000 or 1200 }
        end))
        local one = view.observer()
        for i = 0, 4 do
            local classes = { [3] = class({ age = 600 }), [5] = class({ evicted = 400 * i }) }
            local life = i < 4 and { uptime = 100 + i, pid = 1 } or { uptime = 1, pid = 2 }
            one:observe(make(i < 4 and 1000 + i or 2000, classes, life))
        end
        assert.same({}, starving_of(one))
    end)

    it("is judged by one pair of snapshots where there are no more", function()
        local before = make(1000, { [3] = class({ age = 600 }), [5] = class({}) })
        local now = make(1001, { [3] = class({ age = 600 }), [5] = class({ evicted = 400 }) })
        local rows = require("slate.judge.view").classes(now, before,
            require("slate.facts.snapshot").rates(before, now))
        assert.is_true(rows[2].starves)
    end)

    it("moves as many pages as make both live equally long, at most a quarter of the donor's at once", function()
        local function pages(donor_s, own_s, donor_pages, own_pages, free)
            local own = { id = 1, pages = own_pages, life_s = own_s, items = 9, age_s = own_s,
                mean_evicted_per_s = 1e6 }
            local donor = { id = 2, pages = donor_pages, items = 9, age_s = donor_s, free_pages = free }
            return page_plan.pages({}, own, donor)
        end
        assert.equal(10, pages(40, 10, 40, 5)) -- 30 s ÷ (1 s + 2 s a page)
        assert.equal(2, pages(40, 8, 8, 1)) -- rounded from 2.5
        assert.equal(1, pages(40, 30, 40, 5))
        assert.equal(1, pages(40, 40, 40, 5))
        assert.equal(1, pages(0, 0, 2, 1))
        assert.equal(7, pages(40, 10, 63, 1, 7.2))
        assert.equal(4, pages(40, 10, 5, 1, 4.9), "free pages cost nothing")
    end)

    -- Class 5 starves beside classes 3 and 4, of 40 pages each. ages(i): of these two in sample i. Returns the advice
    -- after each sample from the fourth on, as "donor: pages".
    local function advised(samples, ages, own)
        local one, list = view.observer(), {}
        for i = 0, samples do
            local a, b = ages(i)
            one:observe(make(1000 + i, { [3] = snapshots.full(40, 0, { age = a }),
                [4] = snapshots.full(40, 0, { age = b }), [5] = class(own and own(i) or { evicted = 400 * i }) }))
            local move = page_plan.move(one, 5)
            list[#list + 1] = i >= 3 and ("%d: %d"):format(move.from, move.pages) or nil
        end
        return list
    end

    it("names the same move while lives go up and down a little", function()
        local list = advised(9, function(i) return i % 2 == 0 and 60 or 90, i % 2 == 0 and 90 or 60 end)
        assert.same({ "3: 10", "3: 10", "3: 10", "3: 10", "3: 10", "3: 10", "3: 10" }, list)
    end)

    it("names another donor once that keeps its items twice as long, or has free pages", function()
        assert.same({ "3: 10", "3: 10" }, advised(4, function(i) return 90, i < 4 and 60 or 180 end))
        assert.same({ "3: 10", "4: 10" }, advised(4, function(i) return 90, i < 4 and 60 or 181 end))
        local one, donors = view.observer(), {}
        for i = 0, 5 do
            local free = i == 5 and { age = 60, free_chunks = 2000, used_chunks = 38000 } or { age = 60 }
            one:observe(make(1000 + i, { [3] = snapshots.full(40, 0, { age = 90 }), [4] = snapshots.full(40, 0, free),
                [5] = class({ evicted = 400 * i }) }))
            donors[i] = (page_plan.move(one, 5) or {}).from
        end
        assert.same({ 3, 4 }, { donors[4], donors[5] })
    end)

    it("names another number of pages once that is twice as good, and judges anew when the class got pages", function()
        local function life(i) -- 10 s, then 25, then 40
            return { evicted = ({ 0, 400, 800, 1200, 1360, 1520, 1680, 1780, 1880, 1980 })[i + 1] }
        end
        local list = advised(9, function() return 60, 50 end, life)
        assert.same({ "3: 10", "3: 10" }, { list[1], list[2] })
        assert.equal("3: 1", list[#list], "of nearly as long a life no more than a page")
        local got = advised(8, function() return 60, 50 end, function(i)
            return { evicted = 400 * i, total_pages = i < 6 and 4 or 12, number = i < 6 and 4000 or 12000 }
        end)
        assert.equal("3: 10", got[3])
        assert.not_equal("3: 10", got[#got])
    end)

    it("takes no pages from a class that got them while it fills them, or for three samples", function()
        local function donors(fills_per_s)
            local one, list = view.observer(), {}
            for i = 0, 20 do
                local pages, used = i < 2 and 4 or 8, math.min(4000 + fills_per_s * math.max(i - 2, 0), 8000)
                one:observe(make(1000 + i, { [3] = class({ total_pages = pages, total_chunks = pages * 1000,
                    used_chunks = used, free_chunks = pages * 1000 - used }),
                    [4] = snapshots.full(4, 0, { age = 50 }), [5] = class({ evicted = 400 * i }) }))
                list[i] = (page_plan.move(one, 5) or {}).from
            end
            return { list[4], list[5], list[20] }
        end
        assert.same({ 4, 4, 4 }, donors(100))
        assert.same({ 4, 3, 3 }, donors(0))
    end)

    -- Class 5 evicts beside class 4, which keeps its items long. Class 3 gets six pages in sample 4, which it fills at
    -- this rate. Returns the observer after each sample, by its number, to judge(one, i).
    local function beside_new_pages(fills_per_s, judge, refused_per_s)
        local one = view.observer()
        for i = 0, 70 do
            local pages, used = i < 4 and 4 or 10, math.min(4000 + fills_per_s * math.max(i - 4, 0), 10000)
            one:observe(make(1000 + i, { [3] = class({ total_pages = pages, total_chunks = pages * 1000,
                used_chunks = used, free_chunks = pages * 1000 - used, number = used }),
                [4] = snapshots.full(14, 0, { age = 900 }),
                [5] = class({ evicted = 400 * i, outofmemory = (refused_per_s or 0) * i }) },
                { evictions = 400 * i }, { slab_automove = 0, slab_reassign = true }))
            judge(one, i)
        end
    end

    it("waits beside a class with untried free pages, and takes these rather than pages with items if it is told to",
        function()
            local given_by, chosen, told = {}, {}, {}
            beside_new_pages(55, function(one, i)
                local move = page_plan.of(one).advised[1]
                given_by[i], told[i] = move and move.from or one.rows[3].state, relief.no_move(one)
                chosen[i] = page_plan.move(one, 5)
            end)
            assert.equal(4, given_by[3])
            for i = 4, 53 do -- it has 3,300 free chunks then, which it fills in a minute
                assert.equal("measuring", given_by[i], i)
            end
            assert.equal(4, given_by[54])
            assert.equal("measuring: class 3 just got pages, 5 are free: wait up to 49s: no move is advised", told[15])
            assert.same({ 3, 5 }, { chosen[15].from, chosen[15].pages })
        end)

    it("takes pages with items once a class is seen to fill its free pages within a minute", function()
        local donors = {}
        beside_new_pages(200, function(one, i) donors[i] = (page_plan.of(one).advised[1] or {}).from end)
        assert.same({ 4, nil, nil, nil, 4, 4 }, { donors[3], donors[4], donors[5], donors[6], donors[7], donors[20] })
    end)

    it("takes free pages that a class got, once it is seen not to fill them within two minutes", function()
        local donors = {}
        beside_new_pages(30, function(one, i) donors[i] = (page_plan.of(one).advised[1] or {}).from end)
        assert.same({ 4, nil, nil, nil, 3, 3 }, { donors[3], donors[4], donors[5], donors[6], donors[7], donors[20] })
    end)

    it("takes untried free pages at once for a class that refuses stores", function()
        local donors = {}
        beside_new_pages(55, function(one, i) donors[i] = page_plan.of(one).advised[1] end, 5)
        assert.same({ 3, true }, { donors[7].from, donors[7].pages <= 5 })
    end)

    -- Class 5 evicts 2,000 items a second. From sample `at` on class 3 gets the 12 pages back that class 5 had,
    -- `a_sample` pages a sample; then 59 pages of class 3 are free; or these 12, which so many stores a second fill.
    -- Returns the snapshots, and `at`.
    local function after_undo(program, a_sample, fills_per_s)
        local list, at <const> = {}, 6
        for i = 0, 40 do
            local back = math.max(0, math.min(12, (i - at + 1) * a_sample))
            local pages, own = 48 + back, 13 - back
            local used = fills_per_s and math.min(48000 + fills_per_s * math.max(0, i - at), pages * 1000) or 1000
            local evicted = 2000 * i + 1000 * back
            list[#list + 1] = make(1000 + i, {
                [3] = snapshots.full(pages, 0, { used_chunks = used, free_chunks = pages * 1000 - used, number = used,
                    age = 900, get_hits = 500 * i, cmd_set = 5 * i }),
                [5] = snapshots.full(own, evicted, { age = 1, get_hits = 2500 * i, cmd_set = 2000 * i }) },
                { evictions = evicted, cmd_get = 5000 * i, get_hits = 3000 * i, get_misses = 2000 * i,
                    uptime = 5000 + i, limit_maxbytes = 64 << 20 }, { slab_automove = 0 })
            list[#list].slated = program
        end
        return list, at
    end

    for name, program in pairs({ slated = "0.1.0", memcached = false }) do
        for _, a_sample in ipairs({ 12, 3 }) do
            it(("is found by slatetop when doctor finds it, and measuring before, %d pages a second, on %s"):format(
                a_sample, name), function()
                local list, at = after_undo(program or nil, a_sample)
                local in_slatetop, judged_at = view.observer(), nil
                for i, now in ipairs(list) do
                    in_slatetop:observe(now)
                    if i > at then
                        local doctor = snapshots.seen(table.move(list, i - 3, i, 1, {}))
                        assert.same(starving_of(doctor), starving_of(in_slatetop), i)
                        judged_at = judged_at or starving_of(in_slatetop)[1] and i or nil
                        local state = in_slatetop.rows[2].state
                        assert.equal(judged_at and "starving" or "measuring", state, i)
                        assert.equal(not judged_at, starving.is_measuring(in_slatetop.rows))
                    end
                end
                assert.equal(at + 12 // a_sample + 3, judged_at)
            end)
        end
    end

    it("is not denied of a class with a page while its only donor fills the pages that it got back", function()
        for _, program in ipairs({ "0.1.0", false }) do
            local list, at = after_undo(program or nil, 12, 400)
            local one, words = view.observer(), "measuring: class 5 keeps items 1s, class 3 still fills 4 free pages"
            for i, now in ipairs(list) do
                now.classes[3] = snapshots.full(1, 500 * i, { id = 7, age = 900, cmd_set = 500 * i, number = 450000,
                    chunks_per_page = 450000, total_chunks = 450000, used_chunks = 450000 })
                one:observe(now)
                if i > at + 3 then assert.equal("evicting", one.rows[3].state) end -- it keeps its items as long
                local is_full, donor = i > at + 28, (page_plan.of(one).advised[1] or {}).from
                local seen = i > at and snapshots.seen(table.move(list, i - 3, i, 1, {})) or one
                if i > at then
                    local state = is_full and "starving" or "measuring"
                    assert.same({ state, state }, { one.rows[2].state, seen.rows[2].state })
                    assert.equal(is_full and 3 or nil, donor)
                end
                if i == at + 20 then
                    local _, figure = find.by(bounds.judge({ now = now, before = list[i - 1], rates = seen.rates,
                        judge = seen.judge, observer = seen }, { warn = {}, crit = {} }), "name", "starving")
                    assert.same({ "warning", { 5 }, words }, { figure.state, figure.classes, figure.why })
                    assert.equal(words .. ": no move is advised", relief.no_move(one))
                end
            end
        end
    end)

    it("moves no more pages than the class fills with its evictions in half a minute", function()
        local own = { id = 1, pages = 2, life_s = 1, items = 9, age_s = 1, chunk_bytes = 1 << 10 }
        local donor = { id = 2, pages = 40, items = 9, age_s = 900, free_pages = 30 }
        for evicted_per_s, pages in pairs({ [10] = 1, [100] = 2, [400] = 11 }) do
            own.mean_evicted_per_s = evicted_per_s
            assert.equal(pages, page_plan.pages({}, own, donor))
        end
    end)

    it("names the same class first until another evicts twice as much", function()
        local one, first = view.observer(), {}
        local five, seven = 0, 0
        for i = 0, 9 do
            one:observe(make(1000 + i, { [3] = snapshots.full(40, 0, { age = 900 }), [5] = class({ evicted = five }),
                [7] = class({ evicted = seven }) }))
            local worst = starving.in_order(one.rows)[1]
            first[#first + 1] = i >= 3 and worst.id or nil
            five, seven = five + 400, seven + (i < 3 and 390 or i < 6 and 750 or 1500)
        end
        assert.same({ 5, 5, 5, 5, 7, 7, 7 }, first)
    end)

    it("names the donor with most whole free pages, else the one that would keep its items longest", function()
        local rows = { { id = 1, pages = 9, free_pages = 2.5, age_s = 5, items = 9 },
            { id = 2, pages = 9, free_pages = 3.1, age_s = 1, items = 9 },
            { id = 4, pages = 9, age_s = 90, items = 9 } }
        rows[4] = { id = 7, pages = 1 }
        local function donor()
            local move = page_plan.move({ rows = rows }, 7)
            return move.from, move.free_pages
        end
        assert.same({ 2, 3 }, { donor() })
        rows[1].free_pages, rows[2].free_pages = 0, 0
        assert.equal(4, (donor()))
        rows[3].pages = 2 -- half of these would be lost
        rows[1].age_s = 60
        assert.equal(1, (donor()))
        rows[1].life_s = 20 -- a few old items, but evicted ones have lived 20 s
        assert.equal(4, (donor()))
    end)
end)

describe("starving in a recording", function()
    it("is found for no class that lives longer than all others, and none is calm that evicted lately", function()
        local told_at = 0
        for _, case in ipairs(recordings.CASES) do
            local one, last_s = view.observer(), {}
            for _, now in ipairs(recordings.load(case.name)) do
                one:observe(now)
                local worst = starving.in_order(one.rows)[1]
                local keeps_s, has_spare = 0, false
                for _, row in ipairs(worst and one.rows or {}) do
                    if row.id ~= worst.id and starving.may_give(row) then
                        keeps_s = math.max(keeps_s, starving.lifetime_s(row))
                        has_spare = has_spare or starving.has_spare(starving.free_pages(row))
                    end
                end
                if worst and not has_spare then
                    told_at = told_at + 1
                    assert.is_true(keeps_s >= worst.life_s, ("%s at %.0f: class %d lives %.0f s, others keep %.0f s")
                        :format(case.name, now.time_s, worst.id, worst.life_s, keeps_s))
                end
                for _, row in ipairs(one.rates and one.rows or {}) do
                    last_s[row.id] = (row.evicted_per_s or 0) > 0 and now.time_s or last_s[row.id]
                    local lately = last_s[row.id] and last_s[row.id] > now.time_s - 10 -- as the table of rates has it
                    assert.is_true(not lately or row.state ~= "calm" and row.state ~= "spare" or one.rates.reset,
                        ("%s at %.0f: class %d is %s"):format(case.name, now.time_s, row.id, row.state))
                end
            end
        end
        assert.is_true(told_at > 100, told_at)
    end)
end)
