-- SPDX-License-Identifier: BSD-3-Clause
-- Trials in slatetop: when they end, and what goes back then.
local rig = require "support.acting" -- first: its clock
local audit = require "slate.facts.audit"

local new_server, new_console = rig.server, rig.console

describe("a trial in slatetop", function()
    local function begin(terms)
        local server = new_server()
        local console = new_console(server)
        for _ = 1, 15 do console.second() end
        console.begin({ { name = "slab_automove", value = "1" } }, terms)
        assert.equal("1", server.settings.slab_automove)
        return console, function() return server.settings.slab_automove == "1" end
    end
    local function pass(console, seconds, ...)
        for _ = 1, seconds do console.second(...) end
    end

    it("goes back when its time is over", function()
        local console, is_on = begin({ minutes = 1, evictions_pct = 20, hit_points = 1 })
        pass(console, 59)
        assert.is_true(is_on())
        assert.equal("trial, back in 0:01 unless kept (K): set automove mode to ratio", console.acting:words())
        pass(console, 1)
        assert.is_false(is_on())
        assert.equal("trial reverted, 1 min are over: automove mode ratio → off", console.acting.news)
        assert.is_nil(console.acting.trial)
        local notes = console.acting.notes
        assert.same({ 3, console.acting.news }, { #notes, notes[3].text }) -- after the change, its end and its verdict
    end)

    it("names a setting and its value with its unit", function()
        local steps = { { kind = "set", name = "maxbytes", value = "41943040" } }
        assert.equal("set memory limit to 40 MiB", require("slate.act.shown").title(steps))
    end)

    it("is not blamed for the misses after a flush", function()
        local console, is_on = begin({ minutes = 1, evictions_pct = 20, hit_points = 1 })
        pass(console, 8)
        console.flushes = 1
        pass(console, 50, 1000, 500)
        assert.is_true(is_on())
        pass(console, 2, 1000, 500)
        assert.is_false(is_on())
        assert.equal("trial reverted, 1 min are over: automove mode ratio → off", console.acting.news)
    end)

    it("goes back when evictions, losses, refused stores or hits cross a bound, not in its first seconds", function()
        local bound <const> = { minutes = 10, evictions_pct = 20, hit_points = 2 }
        local none <const> = { minutes = 10, evictions_pct = 0, hit_points = 2 }
        -- In each of so many seconds: gets, hits, evictions, items dropped by moves, stores refused.
        for _, case in ipairs({ { bound, { 4, 1000, 900, 500 } },
            { bound, { 14, 1000, 900, 500 }, "evictions 100 -> " },
            { bound, { 60, 1000, 900, 115 } }, { none, { 60, 1000, 900, 5000 } },
            { bound, { 10, 1000, 900, 100, 9790 }, "lost items 100 -> " }, { none, { 10, 1000, 900, 100, 9790 } },
            { bound, { 10, 1000, 900, 100, 0, 1 }, "refused stores 0 -> 1/s," }, { none, { 10, 1000, 900, 100, 0, 1 } },
            { bound, { 60, 1000, 885 } }, { bound, { 30, 1000, 850 }, "hits 90.0 -> " },
            { bound, { 60, 0, 0 } } }) do
            local console, is_on = begin(case[1])
            pass(console, table.unpack(case[2]))
            local words = table.concat(case[2], " ")
            assert.equal(case[3] == nil, is_on(), words)
            assert.truthy(not case[3] or console.acting.news:find("trial reverted, " .. case[3], 1, true), words)
            if case[3] then -- by its bound the trial is judged: no second sentence says that it is not
                console.acting.observer.outcome = function() return { not_judged = "flush" }, "not judged" end
                console.acting.outcome.seen_s, console.acting.outcome.found = nil, nil
                console.acting:step(true)
                assert.equal("", console.acting:words())
            end
        end
    end)

    it("goes on while hits are over the bound by chance, and its outcome and its end never contradict", function()
        for hits, words in pairs({ [920] = "hits 54.1%, as before", [875] = "hits 55.2% -> 51.5%" }) do
            local server = new_server()
            local console = new_console(server)
            pass(console, 20, 1700, 938)
            console.begin({ { name = "slab_automove", value = "1" } },
                { minutes = 10, evictions_pct = 20, hit_points = 1 })
            pass(console, 60, 1700, hits)
            assert.equal(hits > 900, server.settings.slab_automove == "1")
            local notes = {}
            for i, note in ipairs(console.acting.notes) do notes[i] = note.text end
            notes = table.concat(notes, "; ")
            assert.truthy(notes:find(": " .. words, 1, true), notes)
            assert.equal(hits < 900, notes:find("trial reverted, hits 55.2 -> 51.5 %", 1, true) ~= nil, notes)
        end
    end)

    it("is compared with the ten seconds before, neither with more nor with the last one", function()
        local function goes_back(evicted_before, evicted_during)
            local server = new_server()
            local console = new_console(server)
            for i = 1, 30 do console.second(1000, 900, evicted_before(i)) end
            console.begin({ { name = "slab_automove", value = "1" } },
                { minutes = 10, evictions_pct = 20, hit_points = 0 })
            pass(console, 15, 1000, 900, evicted_during)
            return server.settings.slab_automove == "0"
        end
        assert.is_false(goes_back(function(i) return i == 30 and 10 or 100 end, 100), "91 a second were before it")
        assert.is_true(goes_back(function(i) return i <= 20 and 1000 or 100 end, 150), "100 a second were before it")
    end)

    it("stays when confirmed, and waits for a server that is gone", function()
        local console, is_on = begin({ minutes = 1, evictions_pct = 20, hit_points = 1 })
        assert.is_true(console.acting:accept_trial())
        pass(console, 70)
        assert.is_true(is_on())
        console, is_on = begin({ minutes = 1, evictions_pct = 20, hit_points = 1 })
        console.is_up = false
        pass(console, 70)
        assert.is_true(is_on())
        assert.equal("trial over, 1 min are over: waiting for the server to go back", console.acting:words())
        console.is_up = true
        pass(console, 1)
        assert.is_false(is_on())
    end)

    it("that the server refuses to take back ends once, and is left to the operator", function()
        local console, is_on = begin({ minutes = 1, evictions_pct = 20, hit_points = 1 })
        console.server.says = "ERROR no\r\n"
        pass(console, 59)
        local notes = #console.acting.notes
        pass(console, 20)
        assert.equal("the trial cannot go back: slab_automove stays ratio: the server answered: ERROR no",
            console.acting.news)
        assert.equal("slabs automove 1; slabs automove 0", console.server:sent())
        assert.is_true(is_on() and #console.acting.notes - notes <= 3)
        console.server.says = nil
        assert.equal("automove mode ratio → off", (console.undo()))
    end)

    it("leaves what others changed meanwhile: a value, a mode, pages", function()
        local minute <const> = { minutes = 1, evictions_pct = 20, hit_points = 0 }
        local function over(console, by)
            pass(console, 30)
            by(console.server)
            pass(console, 30)
            assert.is_nil(console.acting.trial)
            return (console.acting.news:gsub("^trial %S+, 1 min are over: ", ""))
        end
        local console = begin(minute)
        assert.equal("automove mode is no longer ratio but eviction: not taken back", over(console, function(server)
            server.settings.slab_automove = "2"
        end))
        assert.equal("2", console.server.settings.slab_automove)
        console = begin(minute)
        assert.equal("automove mode is no longer ratio but eviction, set by you@there: not taken back",
            over(console, function(server)
                server.settings.slab_automove = "2"
                console.text = console.text .. ('{"schema":"slate/audit/1","time_s":%.3f,"who":"you@there","server":'
                    .. '"here","id":2,"what":"set","name":"slab_automove","was":"1","is":"2"}\n'):format(rig.pass())
            end))
        console = begin(minute)
        assert.equal("automove mode is off already", over(console, function(server)
            server.settings.slab_automove = "0"
        end))
        for moved_on, words in pairs({ [2] = "; others moved 2 pages on meanwhile",
            [3] = "the pages of class 12 were moved on meanwhile: not taken back" }) do
            console = new_console(new_server())
            for _ = 1, 15 do console.second() end
            console.begin({ { from = 4, to = 12, pages = 3 } }, minute)
            console.server.pages[7] = 0
            local news = over(console, function(server) server:move(12, 7, moved_on) end)
            assert.truthy(news:find(words, 1, true), news)
            assert.same({ [4] = moved_on == 2 and 62 or 61, [7] = moved_on, [12] = 1 },
                console.server.pages)
        end
    end)

    it("ends with a restart of the server, judges nothing, and takes back only what still stands", function()
        for _, case in ipairs({ { "2", "automove mode is eviction since the restart: nothing to take back" },
            { "1", "automove mode ratio → off" } }) do
            for _, is_seen in ipairs({ true, false }) do -- or the time is over before the first snapshot
                local console, is_on = begin({ minutes = 1, evictions_pct = 20, hit_points = 1 })
                pass(console, 30)
                console.server.pid, console.server.settings.slab_automove = 2, case[1]
                if is_seen then
                    pass(console, 1, 1, 0)
                else
                    rig.pass(60)
                    console.run()
                end
                assert.equal(("trial %s, the server restarted, and nothing is judged: %s"):format(is_on() and "x"
                    or case[1] == "1" and "reverted" or "over", case[2]), console.acting.news)
                assert.is_nil(console.acting.trial)
                assert.equal(case[1] == "1" and "0" or "2", console.server.settings.slab_automove)
                local of = audit.entries(console.text)[1]
                assert.equal("restart", of.not_judged)
                assert.equal("the server restarted meanwhile: not judged; automove mode is "
                    .. (case[1] == "1" and "still ratio" or "eviction"), of.outcome)
            end
        end
        local console = begin({ minutes = 1, evictions_pct = 20, hit_points = 1 })
        console.acting:accept_trial()
        console.begin({ { from = 4, to = 12, pages = 2 } }, { minutes = 1, evictions_pct = 0, hit_points = 0 })
        console.server.pid, console.server.pages = 2, { [4] = 64, [12] = 1 }
        pass(console, 1, 1, 0)
        assert.truthy(console.acting.news:find("the pages are those of the server's start", 1, true),
            console.acting.news)
        assert.same({ [4] = 64, [12] = 1 }, console.server.pages)
    end)

    it("goes back when slatetop is left, or the user reads how to undo it", function()
        local console, is_on = begin({ minutes = 1, evictions_pct = 20, hit_points = 1 })
        assert.is_true(console.acting:leave())
        assert.truthy(console.acting:leftovers():find("so the trial is still on", 1, true))
        console.run()
        assert.is_false(is_on())
        assert.is_false(console.acting:leave())
    end)
end)
