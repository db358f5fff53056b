-- SPDX-License-Identifier: BSD-3-Clause
-- The changes that slatetop makes: conversations with given replies and times, so that no claim waits.
local now_s = 1000
package.loaded["slate.base.clock"] = {
    steady_s = function() return now_s end, time_s = function() return now_s end, sleep = coroutine.yield,
}
local acting = require "slate.act.acting"
local audit = require "slate.facts.audit"
local dkjson = require "dkjson"
local view = require "slate.judge.view"
local snapshots = require "support.snapshots"

local NO_TRIAL <const> = { minutes = 0, evictions_pct = 20, hit_points = 1 }
local STOCK <const>, SLATED <const> = { version = "1.6.45" }, { version = "1.6.45", slated = "0.1.0" }

-- A server that records the commands it receives, by command.
local Server = {}
Server.__index = Server

local function new_server(settings)
    local all = { slab_automove = "0", slab_reassign = "yes", hot_lru_pct = "20", warm_lru_pct = "40",
        hot_max_factor = "0.20", warm_max_factor = "2.00", verbosity = "0", maxbytes = "67108864", temp_lru = "no",
        temporary_ttl = "61", lru_crawler_sleep = "100" }
    for name, value in pairs(settings or {}) do all[name] = value end
    return setmetatable({ settings = all, pages = { [4] = 64, [12] = 1 }, slabs_moved = 0, log = {} }, Server)
end

local function stats_of(values, prefix)
    local lines = {}
    for name, value in pairs(values) do
        lines[#lines + 1] = ("STAT %s%s%s\r\n"):format(name, prefix or "", " " .. value)
    end
    return table.concat(lines) .. "END\r\n"
end

function Server:move(src, dst, count)
    self.pages[src], self.pages[dst] = self.pages[src] - count, self.pages[dst] + count
    self.slabs_moved, self.lost = self.slabs_moved + count, (self.lost or 0) + 400 * count
end

function Server:answer(line)
    self.log[#self.log + 1] = line
    local change = line:match("^slabs reassign (.*)$") or line:match("^lru tune (.*)$")
    if self.says and (change or not line:find("^stats")) then
        return self.says
    elseif line == "stats" then
        return stats_of({ pid = self.pid or 1, uptime = now_s // 1, slabs_moved = self.slabs_moved,
            slab_reassign_running = 0, limit_maxbytes = self.settings.maxbytes, total_items = 1 })
    elseif line == "stats moves" and self.lost_from then -- a slated
        return stats_of({ evicted = self.lost_from + (self.lost or 0) })
    elseif line == "stats slabs" then
        return stats_of(self.pages, ":total_pages")
    elseif line == "stats settings" then
        return stats_of(self.settings)
    elseif line:find("^slabs reassign") then
        local src, dst, count = line:match("(%d+) (%d+) ?(%d*)$")
        self:move(tonumber(src), tonumber(dst), tonumber(count) or 1)
        return "OK\r\n"
    elseif line:find("^lru tune") then
        local s = self.settings
        s.hot_lru_pct, s.warm_lru_pct, s.hot_max_factor, s.warm_max_factor = change:match(
            "(%S+) (%S+) (%S+) (%S+)")
        return "OK\r\n"
    elseif line:find("^slabs automove") then
        self.settings.slab_automove = self.keeps and self.settings.slab_automove or line:match("%S+$")
        return "OK\r\n"
    elseif line:find("^lru temp_ttl") then
        local seconds = line:match("%S+$")
        self.settings.temp_lru = seconds == "-1" and "no" or "yes"
        self.settings.temporary_ttl = seconds == "-1" and self.settings.temporary_ttl or seconds
        return "OK\r\n"
    end
    return line:find("^stats items") and "END\r\n" or "ERROR\r\n"
end

function Server:sent()
    local list = {}
    for _, line in ipairs(self.log) do
        list[#list + 1] = not line:find("^stats") and line or nil
    end
    return table.concat(list, "; ")
end

-- A console of this server; its record of changes is the string console.text.
local function new_console(server, who)
    local one = view.observer()
    local console = { server = server, observer = one, text = "", is_up = true, who = who or STOCK, gets = 0, hits = 0,
        evictions = 0, dropped = 0, refused = 0 }
    console.acting = acting.new({ server = "here", observer = one, record = { who = "me",
        read = function() return console.text end,
        append = function(compose)
            console.text = console.text .. compose(console.text)
            return true
        end } })
    -- A second passes, with so many gets, hits, evictions, items that moves drop, stores refused, and pages of class
    -- 12.
    function console.second(gets, hits, evictions, dropped, refused, pages)
        now_s = now_s + 1
        console.gets, console.hits = console.gets + (gets or 1000), console.hits + (hits or 900)
        console.evictions = console.evictions + (evictions or 100)
        console.dropped, console.refused = console.dropped + (dropped or 0), console.refused + (refused or 0)
        one:observe(snapshots.make(now_s, { [4] = snapshots.class({ total_pages = 64 }),
            [12] = snapshots.class({ total_pages = pages or 1 }) }, { cmd_get = console.gets, get_hits = console.hits,
            pid = server.pid or 1, time = now_s // 1, evictions = console.evictions,
            get_misses = console.gets - console.hits, slab_reassign_busy_deletes = console.dropped,
            store_no_memory = console.refused }, { slab_reassign = true }))
        console.run()
    end
    -- Goes on until nothing is due for a while; returns the last message.
    function console.run(limit_s)
        local until_s = now_s + (limit_s or 0)
        for _ = 1, 100000 do
            local line = console.acting:step(console.is_up)
            local due_s = console.acting:due_s()
            if line then
                console.acting:reply(server:answer(line))
            elseif due_s and due_s > now_s and due_s <= until_s then
                now_s = due_s
            elseif not due_s or due_s > now_s then
                break
            end
        end
        return console.acting.news
    end
    function console.begin(changes, terms, kind)
        local ok, why = console.acting:begin(kind or "change", changes, console.who, console.is_up, terms or NO_TRIAL)
        return ok and console.run(20) or why
    end
    function console.undo()
        local proposed, why = console.acting:propose_undo()
        return proposed and console.begin({}, nil, "undo") or why, proposed
    end
    console.second()
    return console
end

local function entries(console)
    local list = {}
    for line in console.text:gmatch("[^\n]+") do list[#list + 1] = dkjson.decode(line) end
    return list
end

describe("a change from slatetop", function()
    it("is done when the server shows the new value, on record, and taken back", function()
        local server = new_server()
        local console = new_console(server)
        assert.equal("automove mode off → eviction", console.begin({ { name = "slab_automove", value = "2" } }))
        local entry = entries(console)[1]
        assert.same({ 1, "set", "here", "me", "slab_automove", "0", "2" },
            { entry.id, entry.what, entry.server, entry.who, entry.name, entry.was, entry.is })
        local said, proposed = console.undo()
        assert.equal("automove mode eviction → off", said)
        assert.same({ { name = "slab_automove", value = "off" } }, proposed.changes)
        assert.equal(1, entries(console)[2].undoes)
        assert.equal("slabs automove 2; slabs automove 0", server:sent())
        assert.truthy(console.undo():find("nothing to undo", 1, true))
        assert.truthy(console.acting:propose_redo())
        assert.equal("automove mode off → eviction", console.begin({}, nil, "redo"))
        assert.is_nil(entries(console)[3].undoes)
    end)

    it("goes back to the letter, also where a value hides another", function()
        local server = new_server()
        local console = new_console(server)
        console.begin({ { name = "temporary_ttl", value = "30" } })
        assert.same({ "yes", "30" }, { server.settings.temp_lru, server.settings.temporary_ttl })
        console.undo()
        assert.same({ "no", "61" }, { server.settings.temp_lru, server.settings.temporary_ttl })
        assert.same({ "-1", "-1 61" }, { entries(console)[1].was, entries(console)[1].back })
    end)

    it("to several servers is one on record, and known as one when it is taken back", function()
        local group, consoles = { fleet = true }, { new_console(new_server()), new_console(new_server()) }
        local terms = { minutes = 0, evictions_pct = 20, hit_points = 1, group = group }
        local first, last
        for i, console in ipairs(consoles) do
            console.text = consoles[1].text -- one file
            console.begin({ { name = "slab_automove", value = "2" } }, terms)
            first, last = last or console.acting:propose_undo(), console.acting:propose_undo()
            assert.same({ i, 1 }, { last.id, entries(console)[i].fleet })
        end
        assert.equal(first.group, last.group)
        consoles[2].begin({ { name = "slab_automove", value = "1" } })
        assert.is_nil(consoles[2].acting:propose_undo().group)
    end)

    it("of several settings is one plan and one undo, and stops at the first that fails", function()
        local server = new_server()
        local console = new_console(server)
        local plan = { { name = "slab_automove", value = "1" }, { name = "lru_tune", value = "50 30 0.20 2.00" } }
        assert.equal("all 2 changes made; the last: lru tune 20 40 0.20 2.00 → 50 30 0.20 2.00",
            console.begin(plan))
        assert.truthy(console.undo():find("all 2 changes made", 1, true))
        assert.equal("slabs automove 1; lru tune 50 30 0.20 2.00; lru tune 20 40 0.20 2.00; slabs automove 0",
            server:sent())
        local said = console.begin({ { name = "slab_automove", value = "1" }, { name = "verbosity", value = "1" },
            { name = "lru_tune", value = "50 30 0.20 2.00" } })
        assert.truthy(said:find("^stopped at change 2 of 3: verbosity stays 0: the server answered: ERROR"), said)
        assert.equal("1", server.settings.slab_automove)
        console.undo()
        assert.equal("0", server.settings.slab_automove)
    end)

    it("is not believed as long as the server shows the old value", function()
        local server = new_server()
        server.keeps = true
        local console = new_console(server)
        assert.equal("the server answered OK, but slab_automove is off",
            console.begin({ { name = "slab_automove", value = "1" } }))
        assert.equal("", console.text)
        assert.truthy(#server.log < 300, "patient looks, not a storm of them")
    end)

    it("is not sent when the value is the present one, or not shown", function()
        local server = new_server()
        local console = new_console(server)
        assert.equal("verbosity is 0 already", console.begin({ { name = "verbosity", value = "0" } }))
        server.settings.verbosity = nil
        assert.equal("this server has no setting verbosity", console.begin({ { name = "verbosity", value = "1" } }))
        assert.equal("", server:sent())
        assert.equal("", console.text)
    end)

    it("that is refused has a message without escape sequences", function()
        for reply, part in pairs({ ["CLIENT_ERROR \27[2J no\r\n"] = "CLIENT_ERROR ?[2J no", ["ERROR\r\n"] = "ERROR",
            ["\27[2J\r\n"] = "unexpected reply", [""] = "unexpected reply" }) do
            local server = new_server()
            server.says = reply
            local console = new_console(server)
            local said = console.begin({ { name = "slab_automove", value = "1" } })
            assert.truthy(said:find("slab_automove stays off", 1, true) and said:find(part, 1, true), said)
            assert.is_nil(said:find("%c"), said)
            assert.equal("", console.text)
        end
    end)

    it("waits while there is no connection, and is one at a time", function()
        local server = new_server()
        local console = new_console(server)
        console.is_up = false
        assert.equal("no connection: nothing was sent", console.begin({ { name = "verbosity", value = "1" } }))
        console.is_up = true
        assert.is_true(console.acting:begin("change", { { name = "slab_automove", value = "1" } }, STOCK, true,
            NO_TRIAL))
        assert.truthy(console.begin({ { name = "verbosity", value = "1" } }):find("one change at a time", 1, true))
        assert.equal("setting automove mode", console.acting:words())
        console.is_up = false
        assert.equal("the connection broke: nothing was sent", console.run())
        assert.is_nil(console.acting.run)
    end)

    it("with an unknown outcome is looked up when the server answers again", function()
        local setting <const>, move <const> = { name = "slab_automove", value = "1" }, { from = 4, to = 12, pages = 1 }
        for _, case in ipairs({ { setting, "slabs automove 1", false, "automove mode is off: not set" },
            { setting, "slabs automove 1", true, "automove mode is ratio: set, but not on record" },
            { move, "slabs reassign 4 12", true, "class 4 has 63 pages now, and class 12 has 2" } }) do
            local server = new_server()
            local console = new_console(server)
            assert.is_true(console.acting:begin("change", { case[1] }, STOCK, true, NO_TRIAL))
            local line
            repeat
                line = console.acting:step(true)
                if line and line ~= case[2] then
                    console.acting:reply(server:answer(line))
                end
            until line == case[2]
            if case[3] then -- the server did it, and its answer was lost
                server:answer(line)
            end
            console.is_up = false
            assert.equal(("the connection broke, so the outcome of %s is unknown"):format(case[2]), console.run())
            console.is_up = true
            assert.equal(case[4], console.run())
            local notes = console.acting.notes
            assert.equal(3, #notes)
            assert.equal(case[4], notes[3].text)
            assert.is_nil(console.acting.unknown)
        end
    end)
end)

describe("a move from slatetop", function()
    local function move(pages) return { { from = 4, to = 12, pages = pages } } end

    it("is done when the pages have moved, one command a page on memcached", function()
        local server = new_server()
        local console = new_console(server)
        local said = console.begin(move(2))
        assert.truthy(said:find("moved 2 of 2 pages from class 4 to class 12", 1, true), said)
        assert.equal("slabs reassign 4 12; slabs reassign 4 12", server:sent())
        assert.same({ "move", 4, 12, 2 }, { entries(console)[1].what, entries(console)[1].src, entries(console)[1].dst,
            entries(console)[1].pages })
        local back, proposed = console.undo()
        assert.same({ { from = 12, to = 4, pages = 2 } }, proposed.changes)
        assert.truthy(back:find("moved 2 of 2 pages from class 12 to class 4", 1, true), back)
    end)

    it("goes back as far as its class has pages: it keeps its last one", function()
        local server = new_server()
        local console = new_console(server)
        console.begin(move(3))
        server.pages[12] = 3 -- others moved one on
        console.second(nil, nil, nil, nil, nil, 3)
        local back, proposed = console.undo()
        assert.same({ { from = 12, to = 4, pages = 2 } }, proposed.changes)
        assert.equal("move 3 pages from class 4 to class 12; a class keeps its last page", proposed.title)
        assert.truthy(back:find("moved 2 of 2 pages from class 12 to .*, and class 12 keeps its last page$"), back)
        assert.equal(1, server.pages[12])
    end)

    it("of a plan tells the sum of all, and what ended a plan too early", function()
        local plan = { { from = 4, to = 12, pages = 2 }, { from = 4, to = 12, pages = 3 } }
        for _, case in ipairs({ { {}, "all 2 moves made: 5 of 5 pages moved, 2000 items lost" },
            { { refuses = true }, "2 of 5 pages moved, 800 items lost; stopped at change 2 of 2: " } }) do
            local server = new_server()
            server.lost_from = 0
            local move_pages = server.move
            function server.move(...)
                move_pages(...)
                server.says = case[1].refuses and "NOSPARE no pages\r\n" or nil
            end
            local said = new_console(server, SLATED).begin(plan)
            assert.equal(case[2], said:sub(1, #case[2]))
        end
    end)

    it("without an effect is none, whatever the OK says", function()
        local server = new_server()
        server.says = "OK\r\n"
        local console = new_console(server)
        local said = console.begin(move(1))
        assert.truthy(said:find("moved 0 of 1 page", 1, true), said)
        assert.equal("", console.text)
    end)

    it("that ends with the connection is on record as far as the console saw it", function()
        local server = new_server()
        local console = new_console(server)
        assert.is_true(console.acting:begin("change", move(3), STOCK, true, NO_TRIAL))
        while #server.log < 6 do -- up to the reading after the first page
            local line = console.acting:step(true)
            if line then
                console.acting:reply(server:answer(line))
            else
                now_s = console.acting:due_s()
            end
        end
        console.is_up = false
        console.run()
        assert.equal(1, entries(console)[1].pages)
        console.is_up = true
        local _, proposed = console.undo()
        assert.same({ { from = 12, to = 4, pages = 1 } }, proposed.changes)
    end)
end)

describe("undo in slatetop", function()
    local function record(rest)
        return ('{"schema":"slate/audit/1","time_s":1,"server":"here",%s}\n'):format(rest)
    end

    it("takes back another program's change, unless another client has changed the value since", function()
        local server = new_server({ hot_lru_pct = "25" })
        local console = new_console(server)
        console.text = record('"id":5,"what":"set","name":"hot_lru_pct","was":"20","is":"25"')
        local said, proposed = console.undo()
        assert.equal("lru hot 20 % → 25 %, change 5 on record", proposed.title)
        assert.equal("lru hot 25 % → 20 %", said)
        assert.same({ 6, 5 }, { entries(console)[2].id, entries(console)[2].undoes })
        console.text = record('"id":5,"what":"set","name":"hot_lru_pct","was":"20","is":"30"')
        assert.truthy(console.undo():find("hot_lru_pct is 20, not 30 as change 5 left it", 1, true))
    end)

    it("proposes no move from before the server's restart", function()
        local console = new_console(new_server())
        local move = '"id":5,"what":"move","src":4,"dst":12,"pages":1,"pid":%d,"started_s":%d'
        for _, start in ipairs({ { 1, -90 }, { 2, 0 } }) do
            console.text = record(move:format(start[1], start[2]))
            local said, proposed = console.undo()
            assert.is_nil(proposed)
            assert.truthy(said:find("change 5 cannot be taken back: the server was restarted since", 1, true), said)
        end
        console.text = record(move:format(1, 0))
        assert.equal("move 1 page from class 4 to class 12, change 5 on record", select(2, console.undo()).title)
    end)

    it("does not take back a change that others have taken back", function()
        local server = new_server()
        local console = new_console(server)
        console.begin({ { name = "slab_automove", value = "1" } })
        console.text = console.text
            .. record('"id":2,"what":"set","name":"slab_automove","was":"1","is":"0","undoes":1')
        assert.truthy(console.undo():find("nothing to undo", 1, true))
    end)

    it("skips lines that are no entry, or lack a field", function()
        local console = new_console(new_server({ slab_automove = "1" }))
        console.text = record('"id":1,"what":"set","name":"slab_automove","was":0,"is":1')
            .. record('"id":2,"what":"move","src":"x","dst":5,"pages":1')
            .. record('"id":3,"what":"move","src":4,"dst":5')
            .. record('"id":4,"what":"set","name":"verbosity","is":"1"') .. record('"id":"5","what":"set"')
            .. record('"id":6,"what":"new thing"')
            .. record('"id":7,"what":"set","name":"a","was":"1","is":"2","undoes":{}')
            .. '{"schema":"slate/audit/1","id":8,"what":"geometry","is":"x"}\n{"id":9}\nnonsense\n[]\n7\n'
        assert.equal("automove mode ratio → off", (console.undo()))
        assert.equal(1, #audit.entries(console.text:match("^[^\n]*\n")))
    end)
end)

describe("the outcome of a move from slatetop", function()
    local CURVES <const> = { [0] = { { 32 << 20, 0.6 }, { 128 << 20, 0.8 }, bytes = 64 << 20 },
        [4] = { { 63 << 20, 0.9 }, { 64 << 20, 0.9 } },
        [12] = { { 1 << 20, 0.5 }, { 2 << 20, 0.8 } } }

    -- A server whose class 12 evicts, and a console that has watched it for so many seconds and moved a page since.
    local function moved(curves)
        local server = new_server()
        server.lost_from = 5000
        local console = new_console(server, SLATED)
        for _ = 1, 15 do console.second(1000, 700, 300) end
        console.observer.now.slated = SLATED.slated
        for i, class in ipairs(console.observer.now.classes) do
            class.get_hits, class.cmd_set, class.evicted = 3500 * i, 5000, i == 2 and 900 or 0
        end
        local ok = console.acting:begin("change", { { from = 4, to = 12, pages = 1 } }, SLATED, true, NO_TRIAL, curves)
        assert.is_true(ok)
        console.run(20)
        for _ = 1, 5 do console.second(1000, 800, 100, 7) end
        return console
    end

    it("is on record with its prediction and the items that it cost, also when slatetop is left", function()
        local console = moved(CURVES)
        console.acting:leave()
        local outcome = entries(console)[2]
        assert.same({ "outcome", 1 }, { outcome.what, outcome.of })
        assert.is_true(outcome.predicted_change > 0.01, console.text)
        assert.is_true(outcome.predicted_least < outcome.predicted_most, console.text)
        assert.equal(400, entries(console)[1].items_lost)
        assert.equal(400, outcome.items_lost)
        assert.truthy(outcome.words:find("400 items lost by moves", 1, true))
        assert.equal(1, audit.accuracy(audit.entries(console.text)).predictions)
    end)
end)

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
        assert.same({ 4, console.acting.news }, { #notes, notes[4].text }) -- after the change, its end and its verdict
    end)

    it("names a setting and its value with its unit", function()
        local steps = { { kind = "set", name = "maxbytes", value = "41943040" } }
        assert.equal("set memory limit to 40 MiB", require("slate.act.shown").title(steps))
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
        assert.equal("automove mode was changed meanwhile to eviction: not taken back", over(console, function(server)
            server.settings.slab_automove = "2"
        end))
        assert.equal("2", console.server.settings.slab_automove)
        console = begin(minute)
        assert.equal("automove mode was changed meanwhile to eviction by you@there: not taken back",
            over(console, function(server)
                server.settings.slab_automove = "2"
                console.text = console.text .. ('{"schema":"slate/audit/1","time_s":%.3f,"who":"you@there",'
                    .. '"server":"here","id":2,"what":"set","name":"slab_automove","was":"1","is":"2"}\n'):format(now_s)
            end))
        console = begin(minute)
        assert.equal("automove mode is off already", over(console, function(server)
            server.settings.slab_automove = "0"
        end))
        for moved_on, words in pairs({ [2] = "moved 1 of 1 page from class 12 to class 4",
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
                    now_s = now_s + 60
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

describe("the result of a change from slatetop", function()
    it("is shown for a minute, and then on record", function()
        local console = new_console(new_server())
        for _ = 1, 15 do console.second() end
        console.begin({ { name = "slab_automove", value = "1" } })
        for _ = 1, 10 do console.second(1000, 950) end
        assert.equal("automove mode off → ratio: hits 90.0% -> 95.0%, evictions as before; u undoes",
            console.acting:words())
        for _ = 1, 55 do console.second(1000, 950) end
        assert.equal("", console.acting:words())
        local last = entries(console)[2]
        assert.same({ "outcome", 1, "here" }, { last.what, last.of, last.server })
        assert.equal("hits 90.0% -> 95.0%, evictions as before", last.words)
    end)
end)

describe("whatever a server says", function()
    local WORDS <const> = { "OK\r\n", "BUSY x\r\n", "END\r\n", "ERROR\r\n", "STAT slab_automove 1\r\nEND\r\n", "",
        "\r\n", "STAT 4:total_pages 64\r\nSTAT 12:total_pages 1\r\nEND\r\n", "STAT slabs_moved 9\r\nEND\r\n",
        "STAT \r\nSTAT a\r\n",
        "STAT slabs_moved x\r\nSTAT limit_maxbytes 1\r\nSTAT slab_global_page_pool 2\r\nEND\r\n", "NOSPARE\r\n",
        "STAT state steady\r\nSTAT generation 1\r\nSTAT 1:chunk_size x\r\nEND\r\n" }
    local PLANS <const> = { { { from = 4, to = 12, pages = 2 } }, { { name = "geometry", value = "auto" } },
        { { name = "slab_automove", value = "1" }, { name = "temporary_ttl", value = "30" } },
        { { name = "policy", value = "sieve" } }, { { name = "class_policy", value = "lru 4" } },
        { { name = "lru_tune", value = "50 30 0.20 2.00" } }, { { name = "no_row", value = "1" } } }

    it("a change ends, in words", function()
        local seed = math.tointeger(tonumber(os.getenv("SEED"))) or os.time()
        print("# SEED=" .. seed)
        math.randomseed(seed)
        local sane = new_server()
        for round = 1, 500 do
            local console = new_console({ log = {}, answer = function(_, line)
                return math.random(3) == 1 and sane:answer(line) or WORDS[math.random(#WORDS)]
            end }, math.random(2) == 1 and SLATED or STOCK)
            console.begin(PLANS[round % #PLANS + 1])
            console.run(200)
            assert.is_nil(console.acting.run, "round " .. round)
            assert.is_nil(console.acting.news:find("given up: ", 1, true), console.acting.news)
            if console.acting:propose_undo() then
                console.begin({}, nil, "undo")
                console.run(200)
                assert.is_nil(console.acting.run, "undo of round " .. round)
                assert.is_nil(console.acting.news:find("given up: ", 1, true), console.acting.news)
            end
        end
    end)
end)
