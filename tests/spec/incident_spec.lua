-- SPDX-License-Identifier: BSD-3-Clause
-- Incidents: loads with their noise, swings of a day and warm-ups make none; each fall is found within two samples, is
-- counted in lost hits, and ends.
local attention = require "slate.judge.attention"
local doctor = require "slate.judge.doctor"
local incident = require "slate.judge.incident"
local incident_words = require "slate.judge.incident_words"
local loads = require "support.loads"
local snapshots = require "support.snapshots"
local view = require "slate.judge.view"

local server, watched, words, steady = loads.server, loads.watched, loads.words, loads.steady
local changed, with, first = loads.changed, loads.with, loads.first

describe("incidents", function()
    before_each(function() math.randomseed(loads.SEED) end)

    for _, case in ipairs(loads.CALM) do
        it("are none in " .. case[1], function()
            assert.equal("", words((watched(case[2], case[3]))), "SEED=" .. loads.SEED)
        end)
    end

    it("are a fall of hits within two samples, of few and of many requests", function()
        for _, case in ipairs({ { 2000, 0.77, 0.6, 1 }, { 200, 0.9, 0.5, 1 }, { 30000, 0.3, 0.1, 1 },
            { 2000, 0.8, 0.4, 1, 0.1, 0.03 }, { 40, 0.9, 0.3, 5 } }) do
            local watch, news = watched(changed(with({ ratio = case[3] }), case[1], case[2], case[5], case[6]), 160)
            local after_s, text = first(news)
            assert.is_true(after_s and after_s <= case[4], ("%s gets/s: %s"):format(case[1], after_s))
            assert.truthy(text:find("^hits fell from"))
            assert.equal(1, #watch.list, words(watch))
        end
        local _, news = watched(changed(with({ ratio = 0.72 }), 2000, 0.77), 160)
        assert.same({}, news, "five points are within the swing of a load")
    end)

    it("are a fall of items, and of traffic, which ends", function()
        local _, news = watched(changed(with({ items = 60000 }), 2000, 0.77), 130)
        assert.same({ 0, "items fell from " }, { news[1][1] - 100, news[1][2]:match("^items fell from ") })
        local watch
        watch, news = watched(changed(with({ rate = 300 }, 40), 2000, 0.77), 200)
        assert.is_true(first(news) <= 1)
        assert.truthy(news[1][2]:find("^requests fell from 2%d%d%d to %d+ a second"), news[1][2])
        assert.truthy(news[2][2]:find("^requests come again after 4%ds"), news[2][2])
        assert.near(0.77 * 1700 * 40, watch.list[1].cost_hits, 4000)
        watch, news = watched(changed(with({ rate = 0 }), 2000, 0.77), 130)
        assert.is_true(first(news) <= 1)
        assert.equal("traffic", watch.list[1].name)
    end)

    it("are a fall of items by evictions, which is a note where slated changes its chunk sizes by itself", function()
        local one, observer = server(changed(function(state, since_s)
            state.items, state.evicted = 60000, since_s == 0 and 30000 or 0
            return state
        end, 2000, 0.77)), view.observer()
        for _ = 0, 105 do observer:observe(one:sample()) end
        local known = attention.known_of(observer)
        local function found(change)
            known.geometry = change
            for _, finding in ipairs(doctor.findings(known)) do
                if finding.name == "items_fell" then
                    return finding.severity, finding.what, finding.todo
                end
            end
        end
        local severity, what, todo = found(nil)
        assert.equal("warning", severity)
        assert.truthy(what:find("^items fell 5s ago from %d+K? to 60000: the server evicted them$"), what)
        assert.equal("less memory, or other chunk sizes: slatectl settings, slatectl geometry", todo)
        for _, case in ipairs({ { "yes", "draining", 0, "note" }, { "yes", "steady", 29000, "note" },
            { "yes", "steady", 100, "warning" }, { "no", "draining", 29000, "warning" } }) do
            assert.equal(case[4], (found({ auto = case[1], state = case[2], items_dropped = case[3] })))
        end
    end)

    it("are a fall of items by moves of pages, whoever made them: a note, unless hits fall with it", function()
        for severity, ratio in pairs({ note = 0.77, warning = 0.3 }) do
            local one, observer = server(changed(with({ items = 60000, ratio = ratio, evicted = 30000 }), 2000, 0.77)),
                view.observer()
            for t = 0, 105 do
                local now, moved = one:sample(), t >= 100 and 8 or 0
                now.classes = { snapshots.full(12 - moved, 0), snapshots.full(4 + moved, 0) }
                now.classes[1].id, now.classes[1].number = 4, (12 - moved) * 5000
                now.classes[1].chunks_per_page = 5000
                now.classes[2].id, now.general.slabs_moved = 20, moved
                observer:observe(now)
            end
            local found = {}
            for _, finding in ipairs(doctor.findings(attention.known_of(observer))) do found[finding.name] = finding end
            assert.equal(severity, found.items_fell.severity)
            assert.matches("^items fell 5s ago from %d+K? to 60000: moves of 8 pages dropped them",
                found.items_fell.what)
            assert.matches("slatectl undo takes the moves back$", found.items_fell.todo)
        end
    end)

    it("are a fall of hits that rose until then, as in a cache that fills: its start is not the reason", function()
        for _, begins_s in ipairs({ 50, 105 }) do
            local one, observer, news, told = server(changed(function(state, since_s)
                local is_scanned = since_s >= 0 and since_s < 25
                state.rate, state.ratio = is_scanned and 1050 or 450, state.ratio * (is_scanned and 450 / 1050 or 1)
                return state
            end, 450, 0.77)), view.observer(), {}, {}
            local usual = one.of
            one.started_s = 100 - begins_s
            function one.of(t)
                local state = usual(t)
                state.rate, state.items = t < 100 and 450 or state.rate, 1e5 * (1 - math.exp(one.started_s - t) / 30)
                state.ratio = state.ratio * (1 - math.exp((one.started_s - t) / 30))
                return state
            end
            one.t = one.started_s + 2
            while one.t < 160 do
                observer:observe(one:sample())
                table.move(observer.news, 1, #observer.news, #news + 1, news)
                for _, finding in ipairs(one.t > 102 and doctor.findings(attention.known_of(observer)) or {}) do
                    told[finding.name] = finding.what
                end
            end
            assert.matches("^hits fell from [67]%d%% to [234]%d%% so far$", news[1])
            assert.matches("^hits are back after 2%ds, from [23]%d%% at the lowest", news[2])
            assert.equal(2, #news, table.concat(news, "; "))
            assert.matches("^hits fell %d+s ago from [67]%d%% to [23]%d%%", told.hits_fell)
            assert.is_nil(told.young)
        end
    end)

    it("cost nothing where reads of other keys come besides and miss: the hits a second are as before", function()
        local watch, news = watched(changed(with({ rate = 1050, ratio = 0.92 * 450 / 1050 }, 25), 450, 0.92), 160)
        local one = watch.list[1]
        assert.matches("^hits fell 5s ago from 92%% to 3%d%%: hits/s as before, misses rose by [56]%d%d/s; "
            .. "hits are back after 2%ds$", incident_words.line(one, 5))
        assert.equal("find the clients that read keys which are not stored: slatectl conns", incident_words.todo(one))
        assert.matches("^hits fell from 92%% to [34]%d%% so far$", news[1][2])
        assert.matches("^hits are back after 2%ds, from 3%d%% at the lowest: hits/s as before, misses rose by "
            .. "[56]%d%d/s$", news[2][2])
        watch = watched(changed(with({ rate = 1050, ratio = 0.2 }, 25), 450, 0.92), 160) -- 210 hits of 414
        assert.near((414 - 210) * 25, watch.list[1].cost_hits, 800)
        assert.matches("; hits are back after 2%ds: [45]%d%d%d hits lost$", incident_words.line(watch.list[1], 5))
    end)

    it("count the pages that move while items fall on, and those of which the count comes late", function()
        -- By second since the fall: the pages that moved, as counted by the server and as its classes have it.
        local function line_of(counted, moved)
            local one, observer = server(changed(function(state, since_s)
                state.items = 116000 - 3400 * (counted[since_s] or 9)
                return state
            end, 2000, 0.77)), view.observer()
            for t = 0, 106 do
                local now, pages = one:sample(), t >= 100 and moved[t - 100] or t >= 100 and 9 or 0
                now.general.curr_items = t < 100 and 116000 or now.general.curr_items
                now.general.slabs_moved = t >= 100 and counted[t - 100] or t >= 100 and 9 or 0
                now.classes = { snapshots.full(12 - pages, 0), snapshots.full(4 + pages, 0) }
                now.classes[1].id, now.classes[1].number = 4, (12 - pages) * 5000
                now.classes[1].chunks_per_page, now.classes[2].id = 5000, 20
                observer:observe(now)
            end
            return incident_words.line(observer.incidents.list[1], 5)
        end
        for _, case in ipairs({ { { [0] = 0 }, { [0] = 2 } }, { { [0] = 7 }, { [0] = 7 } }, { {}, {} } }) do
            assert.equal("items fell 5s ago from 116K to 85400: moves of 9 pages dropped them",
                line_of(case[1], case[2]))
        end
    end)

    it("are none of hits in a sample without reads, and are found again after it", function()
        local one, observer = server(changed(with({ ratio = 0.2 }), 2000, 0.77)), view.observer()
        for t = 0, 110 do
            local now = one:sample()
            now.general.cmd_get = (t < 90 or t > 92) and now.general.cmd_get or nil
            observer:observe(now)
            doctor.findings(attention.known_of(observer))
        end
        assert.truthy(words(observer.incidents):find("^hits fell from 77%% to [%d.]+%%$"), words(observer.incidents))
    end)

    it("are no fall by a cut of the memory that was taken back before", function()
        local watch = watched(changed(function(state, since_s)
            state.limit_bytes = (since_s < 1 or since_s >= 50) and 16 << 20 or 8 << 20
            state.items = since_s < 1 and state.items or math.min(1e5, 45000 + math.max(0, since_s - 50) * 900)
            state.ratio = since_s < 1 and 0.85 or since_s < 50 and 0.77 or 0.8
            return since_s >= 150 and with({ ratio = 0.32 })(state, since_s) or state
        end, 2000, 0.85), 300)
        assert.same({ "items_fell", "hits_fell" }, { watch.list[1].name, (watch.list[2] or {}).name })
        assert.equal(2, #watch.list, words(watch))
        assert.matches("from 16 MiB to 8 MiB, and raised again", words(watch))
        assert.matches("; hits fell from [78]%d%% to [23]%d%%$", words(watch))
        assert.is_nil(watch.list[2].cut)
        assert.near(250, watch.list[2].from_s - 1e6, 2)
        assert.equal("nothing: hits come back as items are stored again", incident_words.todo(watch.list[1]))
        watch = watched(changed(function(state, since_s) -- the limit is back a second before hits fall
            state.limit_bytes = since_s >= 1 and since_s < 4 and 8 << 20 or 16 << 20
            return since_s >= 5 and with({ ratio = 0.32 })(state, since_s) or state
        end, 2000, 0.85), 130)
        assert.matches("^hits fell from 8%d%% to [23]%d%%$", words(watch))
    end)

    it("are a fall of items or hits by a cut of the memory, whose remedy is the memory", function()
        for name, fall in pairs({ items_fell = { items = 12000 }, hits_fell = { ratio = 0.3 } }) do
            local watch = watched(changed(function(state, since_s)
                state.limit_bytes = since_s < 1 and 64 << 20 or 8 << 20
                return with(since_s < 1 and {} or fall)(state, since_s)
            end, 2000, 0.77), 130)
            local one = watch.list[1] or {}
            assert.equal(name, one.name)
            assert.truthy(words(watch):find(": the memory limit was lowered from 64 MiB to 8 MiB", 1, true))
            assert.equal("take the memory back if its hits are missed: slatectl set maxbytes=64",
                incident_words.todo(one))
        end
    end)

    it("are counted from their beginning on, so that a fall of one second has its cost", function()
        for flush, last in pairs({ [0] = "hits are back after 1s, from ", "a client sent flush_all: " }) do
            local watch, news = watched(changed(function(state, since_s)
                state.flush, state.ratio = since_s == 0 and flush or 0, since_s == 0 and 0.1 or 0.77
                return state
            end, 2000, 0.77), 160)
            assert.equal(1, #watch.list, words(watch))
            assert.near(0.67 * 2000, watch.list[1].cost_hits, 500)
            assert.equal(last, news[#news][2]:match("^.* from ") or news[#news][2]:match("^.*: "), news[#news][2])
            assert.equal(flush == 0, news[#news][2]:find(": 1%d+ hits lost$") ~= nil, news[#news][2])
        end
    end)

    it("are findings for a minute, and then while hits or requests are low, at most an hour; then an event ends them",
        function()
            -- Of each second since the beginning: the line of the incident; nil without one.
            local function lines_of(name, fall, for_s, seconds)
                local one, observer = server(changed(with(fall, for_s), 2000, 0.77)), view.observer()
                local lines, news = {}, {}
                while one.t <= 100 + seconds do
                    one.step_s = one.t > 200 and 10 or nil
                    observer:observe(one:sample())
                    table.move(observer.news, 1, #observer.news, #news + 1, news)
                    for _, finding in ipairs(doctor.findings(attention.known_of(observer))) do
                        lines[(one.t - 100) // 1] = finding.name == name and finding.what or lines[(one.t - 100) // 1]
                    end
                end
                local from_s, to_s = math.huge, -math.huge
                for at_s in pairs(lines) do
                    from_s, to_s = math.min(from_s, at_s), math.max(to_s, at_s)
                end
                return from_s, to_s, lines[to_s], news[#news]
            end
            for name, fall in pairs({ hits_fell = { ratio = 0.2 }, traffic = { rate = 200 } }) do
                local from_s, to_s, line, ending = lines_of(name, fall, 20, 90)
                assert.is_true(from_s <= 3 and to_s >= 60 and to_s <= 63, ("%s to %s"):format(from_s, to_s))
                assert.truthy(line:find("; " .. ending:gsub(", from %S+ at the lowest", ""), 1, true), line)
                assert.truthy(ending:find(" after 2%ds.*: %d+ hits lost$"), ending)
                from_s, to_s, line, ending = lines_of(name, fall, 80, 99)
                assert.is_true(from_s <= 3 and to_s >= 80 and to_s <= 85, ("%s to %s"):format(from_s, to_s))
                assert.truthy(line:find("^%a+ fell 1m2%d ago from "), line)
                assert.truthy(ending:find(" after 1m2%d.*: %d+K? hits lost$"), ending)
            end
            local watch, news = watched(changed(function(state, since_s)
                state.ratio, state.step_s = 0.2, since_s > 10 and 10 or nil
                return state
            end, 2000, 0.77), 3800)
            assert.is_false(watch.list[1].is_open)
            assert.is_nil(watch:lately("hits_fell"))
            assert.matches("^hits are still low after 1h00, from 1?%d%% at the lowest: %d+K hits lost$",
                news[#news][2])
        end)

    it("are connections that are turned away, once for as long as it goes on", function()
        local one, observer, told, news = server(changed(function(state, since_s)
            state.connections, state.refused = 1024, since_s < 30 and since_s % 4 // 3 * 7 or 0
            return state
        end, 2000, 0.77)), view.observer(), {}, {}
        while one.t <= 200 do
            observer:observe(one:sample())
            table.move(observer.news, 1, #observer.news, #news + 1, news)
            for _, finding in ipairs(doctor.findings(attention.known_of(observer))) do
                local at_s = one.t - 101
                told[#told + 1] = finding.name == "connections"
                    and ("%s %d %s"):format(finding.severity, at_s, finding.what) or nil
            end
        end
        local text = table.concat(told, "\n")
        assert.same({ "the server turned connections away: 1024 of 1024 were open" }, news)
        assert.equal("warning 0 1024 of 1024 connections are open", told[1])
        assert.equal(7, select(2, text:gsub("critical %d+ the server turns connections away: 1024 of 1024", "")))
        assert.truthy(text:find("\nwarning 63 the server turned connections away 1m00 ago: 1024 of 1024 were open\n"))
        assert.is_nil(text:find("turned connections away 1m01 ago", 1, true))
        assert.is_nil(observer.incidents.list[1].cost_hits)
    end)

    it("have few words, too, which fit STATE in Fleet", function()
        for _, case in ipairs({ { "flush", 12, "flushed 12s ago" }, { "flush", 3599, "flushed 59m59 ago" },
            { "hits_fell", 75, "hits fell 1m15" }, { "items_fell", 5, "items fell 5s ago" },
            { "restart", 75, "restarted 1m15" }, { "traffic", 12, "requests fell 12s" },
            { "stall", 12, "stalled 12s ago" }, { "connections", 75, "turned away 1m15" } }) do
            assert.equal(case[3], incident_words.short({ name = case[1] }, case[2]))
        end
    end)

    it("are none where a server does not report the figure, or its clock was set back", function()
        local one, watch = server(changed(with({ ratio = 0.1, items = 100, rate = 10 }), 2000, 0.77)), incident.watch()
        for _ = 1, 150 do
            local now = one:sample()
            now.general = { pid = 1, uptime = now.general.uptime }
            assert.same({}, watch:add(now))
        end
        one, watch = server(steady(2000, 0.77)), incident.watch()
        for i = 1, 150 do
            local now = one:sample()
            now.time_s = now.time_s - (i > 100 and 500 or 0)
            assert.same({}, watch:add(now))
        end
    end)
end)
