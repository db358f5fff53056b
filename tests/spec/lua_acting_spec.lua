-- SPDX-License-Identifier: BSD-3-Clause
-- The changes that slatetop makes, and their way back; trials are in lua_trials_spec.
local rig = require "support.acting" -- first: its clock
local audit = require "slate.facts.audit"

local NO_TRIAL <const>, STOCK <const>, SLATED <const> = rig.NO_TRIAL, rig.STOCK, rig.SLATED
local new_server, new_console, entries = rig.server, rig.console, rig.entries

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
        assert.same({ "slab_automove", "off" }, { proposed.changes[1].name, proposed.changes[1].value })
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
        assert.same({}, entries(console))
        assert.truthy(#server.log < 300, "patient looks, not a storm of them")
    end)

    it("that came out otherwise than meant is on record and taken back", function()
        local server = new_server()
        server.sets = "1" -- whatever is sent
        local console = new_console(server)
        local said = console.begin({ { name = "slab_automove", value = "2" } })
        assert.equal("the server answered OK, but slab_automove is ratio, and was off; undo takes change 1 back", said)
        local entry = entries(console)[1]
        assert.same({ "slab_automove", "0", "1" }, { entry.name, entry.was, entry.is })
        assert.same({ kind = "alarm", text = said }, console.acting.notes[1])
        said = console.undo() -- which comes out otherwise, too: the server has ratio still
        assert.equal("the server answered OK, but slab_automove is ratio", said)
        server.sets = nil
        assert.equal("automove mode ratio → off", (console.undo()))
        assert.same({ "0", 1 }, { server.settings.slab_automove, entries(console)[2].undoes })
    end)

    it("of several lines is on record and taken back when a later line is refused", function()
        local server = new_server({ temp_lru = "yes" })
        server.refuses = "lru temp_ttl -1"
        local console = new_console(server)
        local said = console.begin({ { name = "temporary_ttl", value = "-1 90" } })
        assert.truthy(said:find("^temporary_ttl is 90: the server answered: ERROR.*, and was 61; undo takes change 1"),
            said)
        assert.equal("lru temp_ttl 90 s → 61 s", (console.undo()))
        assert.equal("61", server.settings.temporary_ttl)
    end)

    it("is not sent when the value is the present one, or not shown", function()
        local server = new_server()
        local console = new_console(server)
        assert.equal("verbosity is 0 already", console.begin({ { name = "verbosity", value = "0" } }))
        assert.same({}, console.acting.notes)
        server.settings.verbosity = nil
        assert.equal("this server has no setting verbosity", console.begin({ { name = "verbosity", value = "1" } }))
        assert.equal("", server:sent())
        assert.same({}, entries(console))
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
            assert.same({}, entries(console))
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
        assert.equal("setting automove mode to ratio", console.acting:words())
        console.is_up = false
        assert.equal("the connection broke: nothing was sent", console.run())
        assert.is_nil(console.acting.run)
    end)

    it("with an unknown outcome is looked up when the server answers again", function()
        local setting <const>, move <const> = { name = "slab_automove", value = "1" }, { from = 4, to = 12, pages = 1 }
        for _, case in ipairs({ { setting, "slabs automove 1", false, "automove mode is off: not set" },
            { setting, "slabs automove 1", true, "automove mode off → ratio" },
            { move, "slabs reassign 4 12", false, "no page moved from class 4 to class 12" },
            { move, "slabs reassign 4 12", true, "moved 1 of 1 page from class 4 to class 12" } }) do
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
            assert.is_true(entries(console)[1].unknown)
            assert.truthy(console.undo():find("^the outcome of the last change is unknown: "))
            console.is_up = true
            local said, notes = console.run(20), console.acting.notes
            assert.equal(case[4], said:sub(1, #case[4]))
            assert.same({ 2, said }, { #notes, notes[2].text }) -- the unknown outcome, and what was found
            assert.equal(case[3] and 1 or 0, #entries(console))
            assert.is_nil((entries(console)[1] or {}).unknown)
            console.undo()
            assert.same({ "0", 64, 1 }, { server.settings.slab_automove, server.pages[4], server.pages[12] })
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
        console.text = console.text:gsub('"dst_pages":%d+,?', "") -- of a program that did not count them
        server.pages[12] = 3
        console.second(nil, nil, nil, nil, nil, 3)
        local back, proposed = console.undo()
        assert.same({ { from = 12, to = 4, pages = 2 } }, proposed.changes)
        assert.equal("move 3 pages from class 4 to class 12, and class 12 keeps its last page", proposed.title)
        assert.truthy(back:find("moved 2 of 2 pages from class 12 to .*, and class 12 keeps its last page$"), back)
        assert.equal(1, server.pages[12])
    end)

    it("goes back without the pages that others moved on", function()
        for moved_on, words in pairs({ [1] = "moved 2 of 2 pages from .*; others moved 1 page on meanwhile$",
            [3] = "^the pages of class 12 were moved on meanwhile; nothing was sent; to take it back anyway: "
                .. "slatectl %-s here undo 1 %-%-force$" }) do
            local server = new_server()
            local console = new_console(server)
            console.begin(move(3))
            server.pages[7] = 0
            server:move(12, 7, moved_on)
            console.second(nil, nil, nil, nil, nil, 4 - moved_on)
            local said, proposed = console.undo()
            assert.truthy(said:find(words), said)
            assert.equal("move 3 pages from class 4 to class 12"
                .. (moved_on == 1 and "; others moved 1 page on meanwhile" or ""), proposed.title)
            assert.same({ [4] = moved_on == 1 and 63 or 61, [7] = moved_on, [12] = 1 }, server.pages)
            assert.equal(moved_on == 1 and 1 or nil, (entries(console)[2] or {}).undoes)
        end
    end)

    it("is passed over by the next undo once the server has none of its pages, where there is a change before it",
        function()
        local server = new_server()
        local console = new_console(server)
        console.begin({ { name = "slab_automove", value = "2" } })
        console.begin(move(3))
        server.pages[7] = 0
        server:move(12, 7, 3)
        console.second(nil, nil, nil, nil, nil, 1)
        assert.matches("were moved on meanwhile; nothing was sent", (console.undo()))
        local said, proposed = console.undo()
        assert.equal("automove mode eviction → off", said)
        assert.matches("^set automove mode to eviction; change 2 stays: the pages of class 12 were ", proposed.title)
        assert.matches("were moved on meanwhile; nothing was sent", (console.undo())) -- no other is left
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
        assert.same({}, entries(console))
    end)

    it("of which the connection breaks is on record as far as the server made it", function()
        local server = new_server()
        local console = new_console(server)
        assert.is_true(console.acting:begin("change", move(3), STOCK, true, NO_TRIAL))
        while #server.log < 6 do -- up to the reading after the first page
            local line = console.acting:step(true)
            if line then
                console.acting:reply(server:answer(line))
            else
                rig.pass(console.acting:due_s() - rig.pass())
            end
        end
        console.is_up = false
        console.run()
        assert.is_true(entries(console)[1].unknown)
        console.is_up = true
        assert.truthy(console.run(20):find("^moved 1 of 3 pages from class 4 to class 12.*the connection broke$"))
        assert.equal(1, entries(console)[1].pages)
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
        server.settings.hot_lru_pct = "22"
        console.text = record('"id":5,"what":"set","name":"hot_lru_pct","was":"20","is":"30"')
        assert.equal("lru hot is no longer 30 % but 22 %; nothing was sent; to take it back anyway: slatectl -s here "
            .. "undo 5 --force", (console.undo()))
    end)

    -- Another client sets a value; who: by a program that records it, which perhaps takes back a change.
    local function set(console, name, was, is, who, undoes)
        console.server.settings[name] = is
        console.text = console.text .. (who and ('{"schema":"slate/audit/1","time_s":%.3f,"who":"%s","server":"here",'
            .. '"id":%d,"what":"set","name":"%s","was":"%s","is":"%s"%s}\n'):format(rig.pass(), who,
            #entries(console) + 1, name, was, is, undoes and ',"undoes":' .. undoes or "") or "")
    end

    it("and redo leave a value that another client set since, name it and who set it, and wait", function()
        local console = new_console(new_server())
        local plan = { { name = "slab_automove", value = "1" } }
        console.begin(plan)
        set(console, "slab_automove", "1", "2")
        local left = "automove mode is no longer %s but eviction; nothing was sent"
        assert.equal(left:format("ratio") .. "; to take it back anyway: slatectl -s here undo 1 --force",
            (console.undo()))
        assert.equal("slabs automove 1", console.server:sent())
        set(console, "slab_automove", "2", "1")
        assert.equal("automove mode ratio → off", (console.undo()))
        set(console, "slab_automove", "0", "2")
        assert.truthy(console.acting:propose_redo())
        assert.equal(left:format("off"), console.begin({}, nil, "redo"))
        assert.equal("2", console.server.settings.slab_automove)
        set(console, "slab_automove", "2", "0")
        assert.truthy(console.acting:propose_redo())
        assert.equal("automove mode off → ratio", console.begin({}, nil, "redo"))
        console = new_console(new_server())
        console.begin({ { name = "slab_automove", value = "1" }, { name = "temporary_ttl", value = "30" } })
        set(console, "temporary_ttl", "30", "40", "you@there")
        set(console, "temporary_ttl", "40", "30", "you@there", 3)
        set(console, "temporary_ttl", "30", "40") -- you again
        local stays <const> = "lru temp_ttl is no longer 30 s but 40 s, set by you@there"
        assert.equal("1 of 2 changes made; " .. stays .. ": not taken back", (console.undo())) -- the rest
        assert.equal("0", console.server.settings.slab_automove)
        assert.matches(stays .. "; nothing was sent", console.undo(), 1, true)
        set(console, "temporary_ttl", "40", "61", "me", 2) -- by slatectl undo 2 --force
        assert.matches("^nothing to undo", (console.undo()))
    end)

    it("of several values that others all set since sends nothing, and names each", function()
        local console = new_console(new_server())
        console.begin({ { name = "slab_automove", value = "1" }, { name = "temporary_ttl", value = "30" } })
        local sent = #console.server:sent()
        set(console, "slab_automove", "1", "2")
        set(console, "temporary_ttl", "30", "40")
        assert.equal("0 of 2 changes made; lru temp_ttl is no longer 30 s but 40 s: not taken back; "
            .. "automove mode is no longer ratio but eviction: not taken back", (console.undo()))
        assert.same({ sent, true }, { #console.server:sent(), console.acting.has_failed })
    end)

    it("of what another client took back already sends nothing, and goes on record", function()
        local console = new_console(new_server())
        console.begin({ { name = "slab_automove", value = "1" } })
        set(console, "slab_automove", "1", "0")
        assert.equal("automove mode is off already", (console.undo()))
        assert.same({ 1, "0", "0" }, { entries(console)[2].undoes, entries(console)[2].was, entries(console)[2].is })
        assert.equal("slabs automove 1", console.server:sent())
        assert.truthy(console.undo():find("nothing to undo", 1, true))
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
            .. record('"id":6,"what":"move","src":4,"dst":5,"pages":1,"dst_pages":"x"')
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

    it("names u only where u takes just that back: not after an undo, nor once others changed something", function()
        local console = new_console(new_server())
        local function change(name, value, kind)
            for _ = 1, 15 do console.second() end
            if kind then console.undo() else console.begin({ { name = name, value = value } }) end
            for _ = 1, 5 do console.second() end
            return console.acting:words():match("; (u undoes)$")
        end
        assert.equal("u undoes", change("slab_automove", "1"))
        assert.equal("u undoes", change("temporary_ttl", "30"))
        assert.is_nil(change(nil, nil, "undo"))
        assert.equal("u undoes", change("temporary_ttl", "31"))
        console.text = console.text .. '{"schema":"slate/audit/1","time_s":1,"who":"you@there","server":"here","id":99,'
            .. '"what":"set","name":"hot_lru_pct","was":"20","is":"21"}\n'
        console.second()
        assert.is_nil(console.acting:words():match("u undoes"))
    end)

    it("is none where another client set the same setting since", function()
        local console = new_console(new_server())
        for _ = 1, 15 do console.second() end
        console.begin({ { name = "temporary_ttl", value = "30" } })
        local judged = "hits 90.0% -> 95.0%, evictions as before; u undoes"
        for _, case in ipairs({ { false, 61, judged }, { true, 30, judged }, -- settings of before the change, and after
            { true, 45, "lru temp_ttl is no longer 30 s but 45 s: another client changed it since, and nothing is "
                .. "judged" } }) do
            console.settings = { slab_reassign = true, temp_lru = case[1], temporary_ttl = case[2] }
            for _ = 1, 10 do console.second(1000, 950) end
            assert.equal("lru temp_ttl off → 30 s: " .. case[3], console.acting:words())
        end
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
