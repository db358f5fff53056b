-- SPDX-License-Identifier: BSD-3-Clause
-- A class starves if its items live too short; the verdict on pages for that class is the same wherever it is shown.
local gather = require "slate.base.gather"
local verdict = require "slate.judge.verdict"
local advice_slabs = require "slate.judge.advice_slabs"
local attention = require "slate.judge.attention"
local doctor = require "slate.judge.doctor"
local policy_curve = require "slate.base.policy_curve"
local relief = require "slate.judge.relief"
local snapshots = require "support.snapshots"
local bounds = require "slate.judge.bounds"

local SECONDS <const> = 12

-- Class 5 has ten pages; class 17 has two and evicts items that it stores. hits_per_s: of class 17; others: of class 5.
local function load_of(hits_per_s, misses_per_s, others)
    local list = {}
    for t = 0, SECONDS do
        list[#list + 1] = snapshots.make(1000 + t, {
            [5] = snapshots.full(10, 0, { get_hits = others * t, cmd_set = 20 * t, age = 900 }),
            [17] = snapshots.full(2, 300 * t, { get_hits = hits_per_s * t, cmd_set = 300 * t, age = 7 }),
        }, { cmd_get = (others + hits_per_s + misses_per_s) * t, get_hits = (others + hits_per_s) * t,
            get_misses = misses_per_s * t, cmd_set = 320 * t, evictions = 300 * t, uptime = 9000 + t,
            limit_maxbytes = 12 << 20, bytes = 12 << 20 }, { slab_automove = 0, slab_reassign = true })
    end
    return list
end

local seen = snapshots.seen

local UNREAD <const>, READ <const> = load_of(0, 100, 5000), load_of(2000, 3000, 500)

-- Classes 17 to 19 starve beside class 5, which could give pages; three in four reads of all miss.
local function three_starving()
    local list = {}
    for t = 0, SECONDS do
        local classes = { [5] = snapshots.full(10, 0, { get_hits = 500 * t, cmd_set = 20 * t, age = 900 }) }
        for id = 17, 19 do
            classes[id] = snapshots.full(2, (300 + id) * t, { get_hits = 1000 * t, cmd_set = 300 * t, age = 7 })
        end
        list[#list + 1] = snapshots.make(1000 + t, classes, { cmd_get = 14000 * t, get_hits = 3500 * t,
            get_misses = 10500 * t, cmd_set = 920 * t, evictions = 954 * t, uptime = 9000 + t,
            limit_maxbytes = 16 << 20, bytes = 16 << 20 }, { slab_automove = 0, slab_reassign = true })
    end
    return list
end

-- Each command's words on class 17.
local TOLD_BY <const> = {
    ["slatectl doctor"] = function(one)
        local found = gather.values(doctor.findings(attention.known_of(one)), function(finding)
            return finding.class == 17 and ("%s: %s -> %s"):format(finding.severity, finding.what,
                finding.todo) or nil
        end)
        return table.concat(found, "\n")
    end,
    ["slatectl advise pages"] = function(one)
        local advice = advice_slabs.pages({ who = {}, pair = function() return one.now, nil, nil, nil, one end },
            nil, {})
        return advice.text .. "\n" .. table.concat(advice.commands, "\n")
    end,
    ["slatetop's overview"] = function(one)
        local lines = gather.values(attention.findings(one, {}), function(finding)
            return finding.text:find("class 17", 1, true) and finding.text
                .. (finding.key and ": press " .. finding.key or "") or nil
        end)
        return table.concat(lines, "\n")
    end,
    ["slatetop's row of the class"] = function(one) return attention.hint(one, { class_id = 17 })[1].text end,
    ["slatetop's curves"] = function(one) return relief.relief_sentence(one, {})[1].text end,
}

-- As slatectl check and slatectl fleet have a server. curves: of the server; nil for none.
local function member_of(one, curves)
    return { now = one.now, before = one.before, rates = one.rates, judge = one.judge, observer = one, curves = curves,
        client = {}, server = {} }
end

local function check_of(list, curves)
    for _, figure in ipairs(bounds.judge(member_of(seen(list), curves), { warn = {}, crit = {} })) do
        if figure.name == "starving" then
            return figure
        end
    end
end

describe("a class that starves", function()
    it("is helped by a restart alone where the server cannot move pages: no key, no command, no automove", function()
        local list = load_of(2000, 3000, 500)
        for _, now in ipairs(list) do
            now.settings.slab_reassign, now.settings.slab_automove = false, 1
        end
        local one = seen(list)
        assert.is_true(one.rows[2].starves)
        for who, tell in pairs(TOLD_BY) do
            local text = tell(one)
            for _, wrong in ipairs({ "press m", "press f", "slatectl move", "slatectl advise", "m reviews" }) do
                assert.is_nil(text:find(wrong, 1, true), ("%s: %s"):format(who, text))
            end
            assert.truthy(text:find("start the server with -o slab_reassign", 1, true)
                or text:find("class 17 starves", 1, true), ("%s: %s"):format(who, text))
        end
        assert.equal("", one.automove)
        local review = require("slate.judge.prediction").change(one, { change = { from = 5, to = 17, pages = 1 } })
        for _, row in ipairs(review) do
            assert.is_nil(row.text:find("take the pages back", 1, true), row.text)
        end
    end)

    it("is told by lives where its reads are not reported: unknown reads are not few", function()
        for _, name in ipairs({ "get_hits", "cmd_set", "get_misses" }) do
            local list = load_of(0, 100, 5000)
            for _, now in ipairs(list) do
                now.general[name] = nil
                for _, class in ipairs(now.classes) do class[name] = nil end
            end
            local one = seen(list)
            for who, tell in pairs(TOLD_BY) do
                local text = tell(one)
                assert.is_nil(text:find("hardly ever", 1, true) or text:find("points of hits", 1, true)
                    or text:find("no hits", 1, true), ("%s, %s: %s"):format(name, who, text))
            end
            assert.is_nil(relief.of(one, 17).made)
            assert.equal("this server does not report which reads find their item: no prediction is possible",
                relief.of(one, 17).why)
        end
    end)
end)

describe("a class whose items live short lives and that nobody reads", function()
    it("is no starving class, on any screen", function()
        local one = seen(UNREAD)
        local row = one.rows[2]
        assert.same({ false, true, "no_gain", { "no_gain" } }, { row.starves, row.lives_short, row.state, row.flags })
        assert.equal("pages bring no hits: items live 7s", require("slate.judge.view").note(row))
        assert.is_true(relief.of(one, 17).made.hit_ratio_change < 0)
    end)

    for who, tell in pairs(TOLD_BY) do
        it("is given no pages by " .. who .. ", which tells what they would bring", function()
            local text = tell(seen(UNREAD))
            local told = "class 17 evicts items after 7s, but 1 page of class 5 would bring %-%d+%.%d points of hits %("
            assert.truthy(text:find(told), text)
            for _, wrong in ipairs({ "starve", "press m", "slatectl move", "m reviews" }) do
                assert.is_nil(text:find(wrong, 1, true), text)
            end
        end)
    end

    it("has a finding", function()
        local one = seen(UNREAD)
        for _, who in ipairs({ "slatectl doctor", "slatectl advise pages", "slatetop's overview" }) do
            local text = TOLD_BY[who](one)
            assert.truthy(text:find("its items are hardly ever read", 1, true), text)
        end
    end)

    it("is no alarm of slatectl check", function()
        local figure = check_of(UNREAD)
        assert.are.same({ 0, "ok" }, { figure.value, figure.state })
        assert.equal("warning", check_of(READ).state)
    end)

    it("does not hide that the server is short of memory", function()
        assert.is_nil(relief.about(seen(UNREAD)).starves)
        assert.equal(17, relief.about(seen(READ)).starves)
    end)
end)

-- The move to class 17 by predictions of(pages) of the hit ratio's change and its least.
local function predicted(one, of)
    local predicted_move = verdict.predicted_move
    verdict.predicted_move = function(_, _, _, pages)
        local change, least = of(pages)
        return { hit_ratio_change = change, least = least, most = 0.02, hits_per_s = 9, lost_per_s = 0 }
    end
    local move = relief.of(one, 17, {})
    verdict.predicted_move = predicted_move
    return move
end

-- The same figures in a snapshot of their own.
local function next_snapshot(now)
    local copy = {}
    for name, value in pairs(now) do copy[name] = value end
    return copy
end

describe("a class that starves and that is read", function()
    for who, tell in pairs(TOLD_BY) do
        it("is advised pages by " .. who, function()
            local text = tell(seen(READ))
            local advised = text:find("press m", 1, true) or text:find("slatectl move 5 17 4", 1, true)
                or text:find("4 pages from class 5, m reviews it", 1, true)
            assert.truthy(advised, text)
        end)
    end

    it("is advised them by its lives where too few reads were seen for a prediction", function()
        local few = load_of(20, 30, 50)
        for _, now in ipairs(few) do now.general.cmd_get = now.general.cmd_get // 100 end
        local one = seen(few)
        local move = relief.of(one, 17)
        assert.is_nil(move.made)
        assert.is_true(move.is_advised)
        assert.truthy(TOLD_BY["slatectl advise pages"](one):find("is not known: fewer than 1000 reads", 1, true))
    end)

    for who, tell in pairs(TOLD_BY) do
        it("is advised no pages with items after wrong predictions of moves, by " .. who, function()
            local function told(came_true, started_s)
                local one = seen(load_of(2000, 3000, 500))
                one.now.general.time = started_s + one.now.general.uptime
                one.judged_moves, one.page_plan = {}, nil
                for i = 1, 2 do one.judged_moves[i] = { time_s = 500, is_within = i <= came_true } end
                one:plan()
                return tell(one)
            end
            local text = told(0, 499)
            assert.truthy(text:find("class 17 evicts items after 7s, but 0 of 2 earlier predictions of moves on this "
                .. "server came true (19 of 20 should): nothing is advised by new ones", 1, true), text)
            assert.is_nil(text:find("press m", 1, true) or text:find("slatectl move", 1, true), text)
            for _, trusted in ipairs({ told(1, 499), told(0, 501) }) do
                assert.is_nil(trusted:find("earlier predictions", 1, true), trusted)
            end
        end)
    end

    it("is advised free pages all the same, which cost nothing", function()
        local one = seen(load_of(2000, 3000, 500))
        one.rows[1].free_pages = 6
        one.judged_moves, one.page_plan = { { time_s = 1 }, { time_s = 1 } }, nil
        assert.equal(1, #one:plan().advised)
    end)

    it("is predicted as on a memcached after failed predictions of its server, whose curves are not used", function()
        local function change(curves, one)
            return relief.plan(one or seen(READ), curves)[1].made.hit_ratio_change
        end
        local flat, failed = { { 1 << 20, 0.4 }, { 2 << 20, 0.4 }, { 64 << 20, 0.4 } }, { { 1 << 20, 0.4 } }
        flat.reads, failed.predictions, failed.predictions_within = 1e6, 2, 0
        assert.not_equal(change(nil), change({ [17] = flat }))
        assert.equal(change(nil), change({ [0] = failed, [17] = flat }))
        local one = seen(READ)
        doctor.findings({ now = one.now, one = one, rows = one.rows,
            curve = require("slate.facts.sampled").parse_curve({ "STAT predictions 2", "STAT predictions_within 0" }) })
        assert.equal(change(nil), change({ [17] = flat }, one))
    end)

    it("gets half of the pages, or half of these, where the gain of all is not sure", function()
        for most_sure, pages in pairs({ [4] = 4, [3] = 2, [2] = 2, [1] = 1, [0] = 4 }) do
            local move = predicted(seen(READ), function(count)
                return count <= most_sure and 0.01 or -0.01, count <= most_sure and 0.001 or -0.02
            end)
            assert.same({ pages, most_sure > 0 }, { move.pages, move.is_advised })
        end
    end)

    it("still gets advice until no gain was expected for ten seconds, or hits are lost for sure", function()
        local one, other = seen(READ), seen(READ)
        assert.is_true(relief.of(one, 17).is_advised and relief.of(other, 17).is_advised)
        local move = verdict.predicted_move
        local change, most = 0.002, 0.01
        verdict.predicted_move = function()
            return { hit_ratio_change = change, least = -0.01, most = most, hits_per_s = 9, lost_per_s = 0,
                seen_s = 10 }
        end
        finally(function() verdict.predicted_move = move end)
        local function is_advised(who) -- by the next snapshot
            who.now = next_snapshot(who.now)
            who.now.time_s = who.now.time_s + 1
            return relief.of(who, 17).is_advised
        end
        assert.is_true(is_advised(one))
        assert.is_false(is_advised(setmetatable({ page_plan = false }, { __index = seen(READ) })))
        for _ = 1, 3 do -- chance has it now below 0, now above
            change = -0.002
            for _ = 1, 9 do assert.is_true(is_advised(one)) end
            change = 0.002
            assert.is_true(is_advised(one))
        end
        change = -0.002
        for i = 1, 10 do assert.equal(i < 10, is_advised(one)) end
        assert.equal("class 17 evicts items after 7s, but 1 page of class 5 would bring -0.2 points of hits "
            .. "(-1.0 to +1.0): no gain expected", relief.no_use(relief.of(one, 17)))
        change = 0.002
        assert.is_false(is_advised(one))
        assert.equal("gain_unsure", one:plan() and one.rows[2].state)
        change = -0.002
        for i = 1, 10 do
            assert.is_false(is_advised(one))
            assert.equal(i < 10 and "gain_unsure" or "no_gain", one:plan() and one.rows[2].state)
        end
        most = -0.001
        assert.is_false(is_advised(other))
        assert.equal("no_gain", other:plan() and other.rows[2].state)
    end)
end)

describe("a class that starves for less than a point of hits", function()
    it("is a note, no fault, until its moves bring a point, and later until they bring less than half", function()
        local one, move, change = seen(READ), verdict.predicted_move, nil
        one.page_plan = nil
        verdict.predicted_move = function()
            return { hit_ratio_change = change, least = 0.001, most = 0.1, hits_per_s = 9, lost_per_s = 0, seen_s = 10 }
        end
        finally(function() verdict.predicted_move = move end)
        for _, case in ipairs({ { 0.009, "note" }, { 0.01, "bad" }, { 0.006, "bad" }, { 0.004, "note" },
            { 0.006, "note" } }) do
            change, one.now = case[1], next_snapshot(one.now)
            one:plan()
            assert.is_true(one.rows[2].starves)
            local said = attention.findings(one, {})[1]
            assert.same({ "starving", case[2], case[2] },
                { said.label, said.tone, attention.hint(one, { class_id = 17 })[1].tone })
        end
    end)
end)

-- The observer while each move to class 17 is expected to bring +2.1 points, which is not certain.
local function unsure(one)
    local move = verdict.predicted_move
    verdict.predicted_move = function()
        return { hit_ratio_change = 0.021, least = -0.028, most = 0.108, hits_per_s = 9, lost_per_s = 0, seen_s = 10 }
    end
    finally(function() verdict.predicted_move = move end)
    one.page_plan = nil
    one:plan()
    return one
end

describe("a class that pages may help, though not for certain", function()
    for who, tell in pairs(TOLD_BY) do
        it("is never said to get nothing by " .. who .. ", which tells the gain and its bounds", function()
            local text = tell(unsure(seen(READ)))
            local told = "class 17 evicts items after 7s, and 4 pages of class 5 would bring +2.1 points of hits "
                .. "(-2.8 to +10.8): gain not certain"
            assert.truthy(text:find(told, 1, true), text)
            for _, wrong in ipairs({ "nothing", "no gain", "no hits", "starve", "press m" }) do
                assert.is_nil(text:find(wrong, 1, true), text)
            end
        end)
    end

    it("is named with the trial that would tell", function()
        local one = unsure(seen(READ))
        for _, who in ipairs({ "slatectl doctor", "slatectl advise pages" }) do
            assert.truthy(TOLD_BY[who](one):find("a trial or more reads will tell%W+slatectl move 5 17 4 %-%-verdict"),
                TOLD_BY[who](one))
        end
        local row = one.rows[2]
        assert.same({ "gain_unsure", { "gain_unsure" } }, { row.state, row.flags })
        assert.equal("gain not certain, +2.1 points (-2.8 to +10.8): items live 7s",
            require("slate.judge.view").note(row))
        row = require("slate.judge.view").classes(one.now, one.before, one.rates, one.judge)[2] -- as for a table
        assert.same({ 0.021, -0.028, 0.108 }, { row.predicted_change, row.predicted_least, row.predicted_most })
        assert.equal("class 17 evicts items early, too, and no gain of pages is certain",
            relief.further({ "17" }, false))
    end)

    it("has the note of the plan with curves in slatectl classes", function()
        local one, asked = seen(READ), {}
        one.now.slated, one.page_plan = "0.1.0", nil
        local client = { close = function() end, stats = function(_, group)
            asked[group] = true
            return nil, "refused", "refused"
        end }
        local context = { json = true, open = function() return client end, out_json = function() end, pair = function()
            return one.now, one.before, one.rates, one.judge, one
        end }
        assert.equal(0, require("slate.commands.inspect.classes").run(context, { ids = {} }))
        assert.same({ curve = true, ["curve 5"] = true, ["curve 17"] = true }, asked)
    end)
end)

describe("a plan of page moves", function()
    it("that is made first without and then with curves is that made with curves at once", function()
        local move, curves = verdict.predicted_move, { [0] = { { 1 << 20, 0.4 } } }
        verdict.predicted_move = function(_, _, _, _, known) -- sure without curves alone
            return { hit_ratio_change = 0.01, least = known and -0.01 or 0.005, most = 0.02, hits_per_s = 9,
                lost_per_s = 0, seen_s = 10 }
        end
        finally(function() verdict.predicted_move = move end)
        local function advised(passes)
            local one = seen(READ) -- earlier snapshots have plans without curves
            for i = 1, #passes do one:plan(passes[i] and curves) end
            return #relief.plan(one, curves).advised
        end
        assert.equal(1, #relief.plan(seen(READ)).advised)
        assert.same({ 0, 0, 0 }, { advised({ true }), advised({ false, true }), advised({}) })
        local figure, with_curves = check_of(READ), check_of(READ, curves)
        assert.same({ 1, "warning", 0, "ok" }, { figure.value, figure.state, with_curves.value, with_curves.state })
        for _, known in ipairs({ false, curves }) do -- slatectl fleet tells the same
            local row = require("slate.fleet.members").rows({ member_of(seen(READ), known or nil) })[1]
            assert.same({ not known and "1 class starves" or nil }, row.notes)
        end
    end)

    it("keeps an advice of the snapshot before, however often the plan of this one is made", function()
        local one, move, change, most = seen(READ), verdict.predicted_move, -0.01, -0.001
        one.page_plan = nil
        assert.equal(1, #one:plan({}).advised)
        verdict.predicted_move = function()
            return { hit_ratio_change = change, least = -0.02, most = most, hits_per_s = 9, lost_per_s = 0,
                seen_s = 10 }
        end
        finally(function() verdict.predicted_move = move end)
        one.now = next_snapshot(one.now)
        assert.equal(0, #one:plan({}).advised)
        change, most = 0.01, 0.02
        assert.equal(1, #one:plan({}).advised) -- other curves: made anew
    end)
end)

describe("a class that evicts and refuses stores, but does not starve", function()
    local function refused_by(pages_of_other)
        local list = {}
        for t = 0, SECONDS do
            list[#list + 1] = snapshots.make(1000 + t, {
                [5] = snapshots.full(pages_of_other, 290 * t, { get_hits = 500 * t, cmd_set = 290 * t, age = 9 }),
                [17] = snapshots.full(2, 300 * t, { get_hits = 500 * t, cmd_set = 300 * t, age = 7,
                    outofmemory = 4 * t }),
            }, { cmd_get = 1500 * t, get_hits = 1000 * t, get_misses = 500 * t, cmd_set = 600 * t,
                evictions = 590 * t, uptime = 9000 + t }, { slab_automove = 0, slab_reassign = true })
        end
        return seen(list)
    end

    for who, tell in pairs(TOLD_BY) do
        it("is named with the move to it by " .. who, function()
            local one = refused_by(10)
            assert.is_false(one.rows[2].starves)
            local text = tell(one)
            assert.truthy(text:find("class 17 refuses", 1, true), text)
            assert.truthy(text:find("press m", 1, true) or text:find("m reviews it", 1, true)
                or text:find("slatectl move 5 17 ", 1, true), text)
            assert.is_nil(text:find("starve", 1, true), text)
        end)
    end

    it("is named without a move where no other class has a page", function()
        local text = TOLD_BY["slatectl advise pages"](refused_by(1))
        assert.equal("class 17 refuses 4 stores a second: it has 2 pages and finds no memory; no other class has a "
            .. "page to spare\n", text)
    end)

    -- A class that refuses 400 stores a second, and a class of 20 pages, of which so many are free and whose items are
    -- read often.
    local function costly(free_pages, settings)
        local list = {}
        settings.slab_automove, settings.slab_reassign = 0, true
        for t = 0, SECONDS do
            list[#list + 1] = snapshots.make(1000 + t, {
                [5] = snapshots.full(20, 0, { get_hits = 9000 * t, cmd_set = 290 * t, age = 9,
                    free_chunks = free_pages * 1000 }),
                [17] = snapshots.full(2, 0, { get_hits = 0, cmd_set = 300 * t, age = 7, outofmemory = 400 * t }),
            }, { cmd_get = 10000 * t, get_hits = 9000 * t, get_misses = 1000 * t, cmd_set = 600 * t, evictions = 0,
                uptime = 9000 + t }, settings)
        end
        return seen(list)
    end

    it("gets at the price of hits no more pages than its refused items fill, and reads that it is a trade", function()
        local one = costly(0, {})
        local move = relief.plan(one).advised[1]
        assert.is_true(move.made.hit_ratio_change < 0)
        assert.is_true(move.pages >= 2 and move.pages <= 4, move.pages) -- 400 a second of 1,000 bytes, for ten seconds
        local trade = "trades hits for fewer refused stores, which are errors to clients: -"
        for _, who in ipairs({ "slatectl doctor", "slatectl advise pages" }) do
            assert.truthy(TOLD_BY[who](one):find(trade, 1, true), TOLD_BY[who](one))
        end
        assert.truthy(TOLD_BY["slatetop's curves"](one):find("pages from class 5 at the price of hits, m", 1, true))
    end)

    it("gets a page without that price where more have it", function()
        local one = costly(0, {})
        local move = predicted(one, function(count) return count > 1 and -0.01 or 0, -0.01 end)
        assert.same({ 1, 0 }, { move.pages, move.made.hit_ratio_change })
    end)

    it("gets all free pages that it can use: these cost no hits", function()
        local move = relief.plan(costly(11.5, {})).advised[1]
        assert.equal(11, move.pages)
        assert.truthy(move.made.hit_ratio_change >= 0)
    end)

    it("gets only free pages of a server that never evicts, and is told what to do where there are none", function()
        assert.equal(3, relief.plan(costly(3.5, { evictions = "off" })).advised[1].pages)
        local one = costly(0, { evictions = "off" })
        assert.same({}, relief.plan(one).advised)
        for _, who in ipairs({ "slatectl doctor", "slatectl advise pages", "slatetop's curves" }) do
            local text = TOLD_BY[who](one)
            assert.truthy(text:find("with -M no page with items can be moved: delete items or flush", 1, true), text)
            assert.is_nil(text:find("slatectl move", 1, true), text)
        end
    end)

    it("is counted and named by advise automove, too", function()
        local one = refused_by(10)
        local told = require("slate.judge.advice").automove({ who = {}, pair = function()
            return one.now, one.before, one.rates, one.judge, one
        end }, nil, {})
        assert.equal(1, told.classes_in_need)
        assert.truthy(told.text:find("^classes refuse stores, and automove is off; run a policy"), told.text)
    end)
end)

describe("several classes that starve", function()
    local one = seen(three_starving())
    local findings = doctor.findings(attention.known_of(one))

    it("name all free pages of their donor, also those that another class gets", function()
        local rich = seen(three_starving())
        rich.rows[1].free_pages, rich.page_plan = 6.5, nil
        local plan = rich:plan()
        assert.is_true(plan[2].from == 5 and plan[2].free_pages < 6 and plan[2].free_pages >= 1)
        assert.same({ "has 6 free pages", "has 6 free pages" },
            { relief.donor_has(plan[1]), relief.donor_has(plan[2]) })
        local remedy = relief.remedy(plan[2], plan)
        assert.truthy(remedy:find("(class 5 has 6 free pages)", 1, true), remedy)
    end)

    it("keep the first one until another gains twice as much", function()
        local same, gains = seen(three_starving()), { [17] = 10, [18] = 9, [19] = 8 }
        local move = verdict.predicted_move
        verdict.predicted_move = function(_, _, to)
            return { hit_ratio_change = 0.02, least = 0.01, most = 0.03, hits_per_s = gains[to], lost_per_s = 0 }
        end
        finally(function() verdict.predicted_move = move end)
        local function first(gain)
            gains[18], same.now = gain or gains[18], next_snapshot(same.now)
            return same:plan({})[1].to
        end
        same.page_plan = nil
        assert.same({ 17, 17, 18 }, { first(), first(19), first(21) })
    end)

    it("leave the cheapest pages to the one that had them until another gains more than that one can", function()
        local same, gains = seen(three_starving()), { [17] = { 10, 5, 15 }, [18] = { 9, 5, 14 }, [19] = { 1, 0, 2 } }
        local move, gain = verdict.predicted_move, policy_curve.gain
        verdict.predicted_move = function(_, _, _, _, _, given) -- only the first move pays
            local change = given and -0.01 or 0.01
            return { hit_ratio_change = change, least = change - 0.005, most = change + 0.005, hits_per_s = change,
                lost_per_s = 0 }
        end
        policy_curve.gain = function(class) return table.unpack(gains[class.id] or { 0, 0, 0 }) end
        finally(function() verdict.predicted_move, policy_curve.gain = move, gain end)
        local function advised(of_18)
            gains[18], same.now = of_18, next_snapshot(same.now)
            return same:plan({}).advised[1].to
        end
        same.page_plan = nil
        assert.same({ 17, 17, 18, 18 }, { advised({ 9, 5, 14 }), advised({ 14, 9, 19 }), advised({ 16, 9, 19 }),
            advised({ 12, 9, 17 }) })
    end)

    it("get pages of one donor at once, which keeps two of its ten", function()
        local plan, taken = relief.plan(one), 0
        assert.equal(3, #plan.advised)
        for i, move in ipairs(plan.advised) do
            taken = taken + move.pages
            assert.equal(5, move.from)
            assert.is_true(i == 1 or move.made.hits_per_s <= plan.advised[i - 1].made.hits_per_s)
        end
        assert.is_true(taken <= 8, taken)
        local sum = 0
        for _, move in ipairs(plan.advised) do sum = sum + move.made.hit_ratio_change end
        assert.near(sum, plan.sum.hit_ratio_change, 1e-12)
    end)

    it("have two sentences in slatectl top: that of doctor on the first in full, and the others", function()
        local move = relief.plan(one).advised[1]
        local advice, of_doctor = doctor.class_sentences(attention.known_of(one)), {}
        for _, finding in ipairs(doctor.gathered(findings)) do
            of_doctor[#of_doctor + 1] = finding.name == "starving" and finding.what .. "; " .. finding.todo or nil
        end
        assert.same(of_doctor, advice)
        assert.truthy(advice[1]:find(("try slatectl move 5 %d %d "):format(move.to, move.pages), 1, true), advice[1])
        assert.truthy(advice[2]:find("^classes %d+ and %d+ starve, too; slatectl advise pages$"), advice[2])
    end)

    it("are one plan of advise pages, with one expected sum and one command", function()
        local told = advice_slabs.pages({ who = {}, pair = function()
            return one.now, one.before, one.rates, nil, one
        end }, nil, {})
        assert.equal(3, #told.moves)
        assert.truthy(told.text:find("These 3 moves together should bring %+%d+%.%d points of hits %("), told.text)
        assert.same({ "slatectl advise pages --apply --verdict" }, told.commands)
    end)

    it("get their pages by advise pages --apply, in the order of the plan", function()
        local steps, made, expected = require "slate.act.steps", {}, {}
        local carry_out = steps.carry_out
        finally(function() steps.carry_out = carry_out end)
        steps.carry_out = function(_, _, step)
            made[#made + 1] = ("%s %d %d %d"):format(step.kind, step.src, step.dst, step.pages)
            return "moved", #made
        end
        for i, move in ipairs(relief.plan(one).advised) do
            expected[i] = ("move %d %d %d"):format(move.from, move.to, move.pages)
        end
        local nothing = function() end
        local context = { who = {}, server = { name = "here" }, out = nothing, flush = nothing,
            open = function() return { close = nothing } end,
            pair = function() return one.now, one.before, one.rates, nil, one end }
        local run = require("slate.commands.judge.advise").run
        assert.equal(0, run(context, { subject = "pages", apply = true }))
        assert.same(expected, made)
        assert.same({ nil, "--apply and --verdict are for advise pages", "usage" },
            { run(context, { subject = "memory", apply = true }) })
    end)

    it("come before curves where hits are few: slatetop names the key for what doctor advises", function()
        local few
        for _, finding in ipairs(findings) do few = finding.name == "hits" and finding or few end
        assert.equal("a class starves: feed it first", few.todo)
        for _, line in ipairs(attention.findings(one, {})) do
            few = line.label == "hits" and line or few
        end
        assert.equal("m", few.key)
    end)
end)
