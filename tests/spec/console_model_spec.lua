-- SPDX-License-Identifier: BSD-3-Clause
-- The model of one server: rates, events, the link, the judgement.
require "support.world"
local gather = require "slate.base.gather"
local model = require "slate.console.model"
local screens = require "screens"

-- A fixture's snapshot at a time.
local function part(server, which, change)
    local one = screens.snapshot(screens.replies(("%s-%s"):format(server, which)))
    if change then
        change(one, require("slate.facts.snapshot").by_id(one))
    end
    return one
end

-- Takes a changed snapshot of a fixture.
local function take(of, at_s, server, which, change)
    of:take(part(server, which, change), { at_s = at_s, reply_ms = 1, wall_s = at_s })
end

local function near(wanted, got)
    assert.is_true(got ~= nil and math.abs(got - wanted) < 1e-6 * math.max(1, math.abs(wanted)), tostring(got))
end

describe("a model", function()
    it("knows nothing at first, and gauges, but no rates, after one snapshot", function()
        local one = model.new("x")
        assert.is_nil(one:age_s(5))
        assert.is_nil(one:metric("gets"))
        take(one, 10, "memcached-1.6.18", "first")
        assert.is_nil(one:metric("gets"))
        assert.is_nil(one:class_metric(12, "evictions"))
        assert.is_truthy(one:metric("connections"))
        assert.equal(2, one:age_s(12))
    end)

    it("has rates by the steady time, and a measured zero is none that is unknown", function()
        local one = screens.model("memcached-1.4.25")
        for name, wanted in pairs({ gets = 100, evictions = 100, hit_ratio = 0.75, server_cpu = 2, ops = 300,
            out_of_memory = 0 }) do
            near(wanted, one:metric(name))
        end
        near(100, one:class_metric(12, "evictions"))
        assert.equal(0, one:class_metric(4, "evictions"))
        assert.is_nil(one:metric("page_moves"), "1.4.25 has no slabs_moved")
        assert.is_nil(one:class_metric(200, "pages"))
    end)

    it("has no rate while it is uncertain when figures were true, then one since the last that were certain", function()
        local one = model.new("x")
        local function take_late(at_s, gets, error_s)
            take(one, at_s, "memcached-1.6.18", "second", function(now)
                now.general.cmd_get, now.time_error_s = gets, error_s
            end)
            return one:metric("gets")
        end
        take_late(10, 1000, 0)
        near(100, take_late(11, 1100, 0))
        assert.is_nil(take_late(12.5, 1200, 0.5))
        assert.is_truthy(one:metric("connections"))
        near(100, take_late(15, 1500, 0))
        near(100, take_late(16, 1600, 0.1))
        assert.same({ n = 4, 100, nil, 100, 100 }, one:series("gets", 4))
        near(100, take_late(20, 2000, 0.4))
        assert.is_nil(take_late(20.5, 2100, 0)) -- known better than the one before: the next rate is since this one
        near(100, take_late(21.5, 2200, 0))
    end)

    it("says that a counter was reset, and leaves a gap in graphs", function()
        local one = screens.model("memcached-1.6.18")
        take(one, 13, "memcached-1.6.18", "second", function(now, classes)
            now.general.cmd_get, classes[12].evicted = 3, 0
        end)
        assert.equal(model.RESET, one:metric("gets"))
        assert.equal(model.RESET, one:class_metric(12, "evictions"))
        assert.equal('the counters went back: someone sent "stats reset"', one.events[#one.events].text)
        assert.same({ n = 1 }, one:series("gets", 1))
    end)

    it("begins a new life at a restart", function()
        local one = screens.model("memcached-1.6.18")
        assert.is_true(one:mean("evictions", 10) > 0)
        take(one, 14, "memcached-1.6.18", "first", function(now)
            now.general.pid, now.settings = now.general.pid + 1, gather.copy(one.now.settings)
            now.settings.maxbytes, now.settings.slab_automove = 32 << 20, 1
        end)
        assert.matches("^the server restarted and lost %d+ items; restarted with another memory limit "
            .. "%(%d+ MiB → 32 MiB%) and other settings: slab_automove: off → ratio$", one.events[#one.events].text)
        assert.is_nil(one:mean("evictions", 10))
    end)

    for _, after_a_while in ipairs({ false, true }) do
        it("gives a class of other chunks no past, " .. (after_a_while and "after a while" or "at once"), function()
            local one = screens.model("memcached-1.4.25")
            one.answers:focus(12)
            one.answers:take("class_curves", "STAT bytes 5\r\n", { at_s = 12, is_stats = true, class_id = 12 })
            one.answers:take_group("slabs", "STAT 12:chunk_size 5\r\n", { at_s = 12, is_stats = true })
            if after_a_while then
                take(one, 13, "memcached-1.4.25", "second", function(now) now.classes = {} end)
            end
            local function other(by)
                return function(_, classes)
                    classes[12].chunk_size, classes[12].evicted = classes[12].chunk_size + 8, classes[12].evicted + by
                end
            end
            take(one, 14, "memcached-1.4.25", "second", other(1000000))
            local evictions, pages = one:class_series(12, "evictions", 4), one:class_series(12, "pages", 4)
            assert.is_nil(next(evictions, next(evictions)), "no evictions of the class before")
            assert.is_true(pages[pages.n] ~= nil and pages[pages.n - 1] == nil)
            assert.is_nil(one:class_metric(12, "evictions"))
            assert.is_nil(one:class_mean(12, "evictions", 10))
            assert.is_nil(one.answers:class_curve(12))
            assert.same({}, one.answers:class())
            assert.is_truthy(one:class_series(4, "pages", 4)[1], "other classes keep their past")
            take(one, 16, "memcached-1.4.25", "second", other(1000020))
            near(10, one:class_metric(12, "evictions"))
        end)
    end

    it("takes no evictions of a class that gave pages meanwhile for demand: the move of a page evicts, too", function()
        local one = screens.model("memcached-1.6.45")
        for i, given in ipairs({ 0, 1, 0 }) do
            take(one, 12 + 10 * i, "memcached-1.6.45", "second", function(_, classes)
                local class, was = classes[4], one:class(4)
                class.total_pages, class.evicted = was.total_pages - given, was.evicted + 500 + 34490 * given
            end)
            near(50 + 3449 * given, one:class_metric(4, "evictions"))
            assert.equal(given == 0 and 50 or nil, one:class_demand(4, 10))
        end
        assert.equal(50, one:class_demand(4, 20)) -- of the last alone
        assert.is_nil(one:class_demand(200, 10))
    end)

    it("does not know the items lost by moves of a memcached that counts them as evictions only", function()
        assert.is_nil(screens.model("memcached-1.6.45"):metric("lost_by_moves"))
        assert.equal(0, screens.model("memcached-1.6.18"):metric("lost_by_moves"))
    end)

    it("has the items lost by moves of slated from stats moves, none before the second answer", function()
        local one = screens.model("slated-0.1")
        local seen = {}
        for i, evicted in ipairs({ 40, 1040, 1040, 40 }) do
            one.answers:take("moves", ("STAT mode utility\r\nSTAT pages_moved 9\r\nSTAT evicted %d\r\nEND\r\n")
                :format(evicted), { at_s = 4 + 10 * i, is_stats = true })
            take(one, 4 + 10 * i, "slated-0.1", "second")
            seen[i] = one:metric("lost_by_moves") or "-"
        end
        assert.same({ "-", 100, 0, model.RESET }, seen)
    end)

    it("makes an event of each setting that another program changes, and none of its own changes", function()
        local one = screens.model("memcached-1.6.18")
        local known = one.now.settings
        one:note("you", 1001, "verbosity 0 → 1")
        take(one, 13, "memcached-1.6.18", "second", function(now)
            now.settings = setmetatable({ verbosity = 1, hot_max_factor = 0.45, lru_crawler = not known.lru_crawler,
                slab_automove_window = 60 }, { __index = known })
        end)
        local texts = gather.values(one.events, function(event) return event.kind .. ": " .. event.text end)
        assert.same({ "you: verbosity 0 → 1", "setting: automove window 30 s → 60 s",
            "setting: lru hot age factor 0.2 → 0.45", "setting: crawler yes → no" }, texts)
    end)

    it("names the author of a change: of the record of changes, else of the server", function()
        local one, asked = screens.model("slated-0.1"), {}
        one.author_of = function(name, is)
            asked[#asked + 1] = name .. " " .. is
            return name == "verbosity" and "eve@host" or nil
        end
        one:note("you", 1001, "eviction policy s3fifo → sieve, change 4 on record")
        local function change(what, was, is, who)
            return { what = what, was = was, is = is, who = who or "10.0.0.7:4711" }
        end
        take(one, 1004, "slated-0.1", "second", function(now)
            now.settings = setmetatable({ verbosity = 2, hot_max_factor = 0.5, temp_lru = true, temporary_ttl = 30 },
                { __index = one.now.settings })
            now.changes = { change("verbosity", "0", "1"), change("verbosity", "1", "2"),
                change("policy", "lru", "sieve"),
                change("hot_max_factor", "0.20", "0.50", "unix:/a"), change("temp_lru", "no", "yes"),
                change("temporary_ttl", "61", "30"), change("flush_all", nil, "now"), change("prediction", nil, "x"),
                change("slabs reassign", nil, "2 pages from class 4 to 12"),
                change("policy of class 5", "lru", "fifo") }
        end)
        local texts = {}
        for i, event in ipairs(one.events) do texts[i] = event.kind == "setting" and event.text or nil end
        assert.same({ nil, "verbosity 0 → 1, by eve@host", "verbosity 1 → 2, by eve@host",
            "lru hot age factor 0.20 → 0.50",
            "moves 2 pages from class 4 to 12, by 10.0.0.7:4711", "policy of class 5 lru → fifo, by 10.0.0.7:4711",
            "lru temp_ttl off → 30 s, by 10.0.0.7:4711", "flush_all now, by 10.0.0.7:4711" }, texts)
        assert.equal("hot_max_factor 0.50", asked[3])
        one.changing = "moved 0 of 1 page" -- by slatetop itself
        take(one, 1005, "slated-0.1", "second", function(now)
            now.settings = one.now.settings
            now.changes = { change("slabs reassign", nil, "1 pages from class 4 to 12") }
        end)
        one.changing = "setting verbosity to 1"
        take(one, 1006, "slated-0.1", "second", function(now)
            now.settings = setmetatable({ verbosity = 1 }, { __index = one.now.settings })
        end)
        assert.equal(#texts, #one.events)
        for second, value in ipairs({ 0, 3 }) do -- by another client, while and right after it
            take(one, 1006 + second, "slated-0.1", "second", function(now)
                now.settings = setmetatable({ verbosity = value }, { __index = one.now.settings })
            end)
            one.changing = nil
            one:note("you", 1007, "verbosity 2 → 1")
        end
        assert.equal("verbosity 1 → 0, by eve@host", one.events[#texts + 1].text)
        assert.equal("verbosity 0 → 3, by eve@host", one.events[#texts + 3].text)
    end)

    it("says of chunk sizes that the server changed itself what they were and are", function()
        local one = screens.model("slated-0.1")
        take(one, 1004, "slated-0.1", "second", function(now)
            now.changes = { { what = "chunk sizes", was = "39 of the start", is = "21 fitted to the items",
                who = "the server itself" } }
        end)
        assert.equal("chunk sizes 39 of the start → 21 fitted to the items, by the server itself", one.events[1].text)
    end)

    it("names the author of a flush in the event of the incident, which comes with its record or before", function()
        for _, later in ipairs({ 0, 1 }) do
            local one = screens.model("slated-0.1")
            for i = 0, 1 do
                take(one, 1004 + i, "slated-0.1", "second", function(now)
                    now.settings = one.now.settings
                    now.changes = i == later and { { who = "10.0.0.7:4711", what = "flush_all", is = "now" } } or nil
                    now.general.cmd_flush = one.now.general.cmd_flush + (i == 0 and 1 or 0)
                end)
            end
            local texts = gather.values(one.events, function(event)
                return event.text:find("flush_all", 1, true) and event.text or nil
            end)
            assert.equal(1, #texts, table.concat(texts, "; "))
            assert.matches("^10%.0%.0%.7:4711 sent flush_all: ", texts[1])
        end
    end)

    it("wants the settings at once when the limit is another one, and after a flush", function()
        local one = screens.model("memcached-1.6.18")
        for i, flushes in ipairs({ 0, 0, 1, 1 }) do
            take(one, 12 + i, "memcached-1.6.18", "second", function(now)
                now.general.limit_maxbytes, now.general.cmd_flush = 128 << 20, flushes
            end)
            assert.equal(i % 2 == 1, one.was_changed)
        end
    end)

    it("puts a change that the server recorded before the moves of pages that followed from it", function()
        local one = screens.model("slated-0.1")
        for i, pages in ipairs({ 60, 58, 58 }) do
            take(one, 1003 + i, "slated-0.1", "second", function(now, classes)
                classes[4].total_pages, now.general.time, now.settings = pages, 5003 + i, one.now.settings
                now.changes = i == 3 and { { who = "10.0.0.7:4711", what = "maxbytes", was = "67108864",
                    is = "50331648", time_s = 5003.2 } } or nil
            end)
        end
        assert.same({ "setting", "pages", "pages" }, gather.values(one.events, function(event) return event.kind end))
        near(1006 - 3.8, one.events[1].wall_s)
        assert.equal("memory limit 64 MiB → 48 MiB, by 10.0.0.7:4711", one.events[1].text)
    end)

    it("makes no events of the pages of chunk sizes that change: the change has its own", function()
        for state, count in pairs({ draining = 0, steady = 1 }) do
            local one = screens.model("slated-0.1")
            one.answers:take("geometry", ("STAT state %s\r\nEND\r\n"):format(state), { at_s = 12, is_stats = true })
            take(one, 1004, "slated-0.1", "second", function(_, classes) classes[4].total_pages = 60 end)
            assert.equal(count, #one.events)
        end
    end)

    it("makes events of page moves and settings", function()
        local one = screens.model("memcached-1.6.18")
        take(one, 13, "memcached-1.6.18", "second", function(now, classes)
            classes[4].total_pages, classes[12].total_pages = 62, 3
            now.settings.slab_automove, now.settings.maxbytes, now.general.limit_maxbytes = 1, 128 << 20, 128 << 20
        end)
        local texts = gather.values(one.events, function(event) return event.kind .. ": " .. event.text end)
        assert.same({ "setting: automove mode off → ratio", "setting: memory limit 64 MiB → 128 MiB",
            "pages: class 4: 64 → 62, class 12: 1 → 3 pages" }, texts) -- pages may move because of a setting
        assert.equal(2, one:page_change(12, 60))
        assert.is_false(one.events[3].is_by_command)
        for i, case in ipairs({ { 60, 5, true }, { 60, 6, false }, { 59, 6, true } }) do -- the second has a new page
            take(one, 13 + i, "memcached-1.6.18", "second", function(now, classes)
                classes[4].total_pages, classes[12].total_pages, now.settings.slab_automove = case[1], case[2], 0
            end)
            local is_by_command -- of the last event about pages
            for _, event in ipairs(one.events) do
                if event.kind == "pages" then
                    is_by_command = event.is_by_command
                end
            end
            assert.equal(case[3], is_by_command)
        end
    end)

    it("reports the loss of the link once, and its return", function()
        local one = screens.model("memcached-1.6.18")
        for _, step in ipairs({ { "down", "refused", 1 }, { "down", "refused again", 1 }, { "up", "", 2 } }) do
            one:set_link(step[1], step[2], 1)
            assert.equal(step[3], one.events_total)
        end
        assert.equal("connection lost: refused", one.events[1].text)
        assert.equal("connected again", one.events[2].text)
    end)

    it("keeps the newest events, and page moves do not push out the others", function()
        local one, moment = model.new("x"), model.new("x")
        for i = 1, 266 do one:note("you", 0, "event " .. i) end
        assert.equal("event 266", one.events[256].text)
        assert.is_nil(one.events[257])
        one = model.new("x")
        one:note("pages", 10, "the first move")
        one:note("you", 20, "a trial begins")
        for i = 0, 767 do one:note("pages", 30, "move " .. i) end
        for i = 1, 100 do one:note("setting", 40, "setting " .. i) end
        assert.equal("a trial begins", one.events[1].text)
        moment:copy_events(one, 30)
        assert.equal(156, moment.events_total)
        assert.equal("move 767", moment.events[#moment.events].text)
    end)

    it("has a history as long as a graph is wide", function()
        local one = model.new("x")
        for i = 1, model.SAMPLES + 100 do
            take(one, i, "memcached-1.6.18", "first", function(now) now.general.cmd_get = 10 * i end)
        end
        assert.equal(model.SAMPLES, one:series("gets").n)
        near(10, one:mean("gets", 100))
    end)

    it("judges its snapshots; a module that fails says so, and the next snapshot is judged", function()
        local one, question = model.new("x"), require "slate.console.question"
        for i = 1, 4 do -- class 12, of one page, evicts 100 items a second
            take(one, 12 + 2 * i, "memcached-1.4.25", "second", function(now, classes)
                classes[12].evicted = classes[12].evicted + 200 * i
                now.general.evictions = now.general.evictions + 200 * i
            end)
            assert.equal(i == 1 and "unknown" or i == 4 and "starving" or one:row(12).state, one:row(12).state)
        end
        assert.equal(12, one:in_need().id)
        assert.equal(100, one:row(12).mean_evicted_per_s // 1)
        assert.equal(7, one:row(12).life_s // 1)
        assert.is_nil(one:row(200))
        assert.same({ 4, 3 }, { question.donor(one, 12) })
        assert.is_nil((question.donor(one, 4)), "class 12 has one page: nothing to give")
        one.observer.observe = function() error("broken", 0) end
        take(one, 30, "memcached-1.4.25", "second")
        assert.equal("broken", one.failure)
        assert.is_nil(one:row(12))
        assert.same({ { tone = "bad", text = "not judged: broken", short = "not judged" } }, question.findings(one))
        assert.is_nil(question.donor(one, 12))
        take(one, 32, "memcached-1.4.25", "second")
        assert.is_nil(one.failure)
        assert.equal("unknown", one:row(12).state)
    end)

    it("judges anew when curves come: rows, the worst and the plan agree before anything is drawn", function()
        local one, question = model.new("x"), require "slate.console.question"
        for i = 1, 6 do -- two classes of a page evict, the first more
            take(one, 12 + 2 * i, "memcached-1.4.25", "second", function(now, classes)
                local other = {}
                for name, value in pairs(classes[12]) do other[name] = value end
                now.slated, now.classes[#now.classes + 1] = "0.1", other
                now.general.evictions = now.general.evictions + 350 * i
                other.id, other.chunk_size, other.evicted, other.get_hits = 13, other.chunk_size + 200, 150 * i, 300 * i
                other.cmd_set, classes[12].cmd_set = 150 * i, 200 * i
                classes[12].evicted, classes[12].get_hits = 200 * i, 300 * i
                now.general.cmd_get, now.general.get_hits, now.general.get_misses = 1000 * i, 600 * i, 400 * i
            end)
        end
        assert.equal(12, one.worst.id)
        local function curve(id, times, ...)
            local lines = { ("STAT bytes %d\r\nSTAT reads 4000\r\n"):format(times << 20) }
            for i, ratio in ipairs({ ... }) do
                lines[#lines + 1] = ("STAT point:%d %.4f\r\n"):format((times << 20) * i // 2, ratio)
            end
            one.answers:take("class_curves", table.concat(lines), { at_s = 25, is_stats = true, class_id = id })
        end
        curve(12, 1, 0.5, 0.6, 0.6, 0.6, 0.6) -- pages bring more to the other
        curve(13, 1, 0.4, 0.6, 0.7, 0.8, 0.9)
        curve(4, 64, 0.6, 0.6, 0.6)
        one:follow_curves()
        assert.same({ 13, true, nil }, { one.worst.id, one:row(13).is_worst, one:row(12).is_worst })
        assert.equal(13, question.plan(one)[1].to)
        local plan = one.observer.page_plan
        one:follow_curves()
        assert.equal(plan, one.observer.page_plan, "made once")
    end)

    it("makes room for 100 s at short intervals", function()
        assert.equal(model.SAMPLES, model.new("x", { interval_s = 1 }).history.capacity)
        assert.is_true(model.new("x", { interval_s = 0.1 }).history.capacity >= 1000)
    end)
end)
