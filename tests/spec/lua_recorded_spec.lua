-- SPDX-License-Identifier: BSD-3-Clause
-- Changes whose connection breaks before their outcome is known: on record before they are sent, read back over another
-- connection, and never passed over by an undo.
local rig = require "support.acting" -- first: its clock
local audit = require "slate.facts.audit"

local TRIAL <const> = { minutes = 1, evictions_pct = 20, hit_points = 50 }
local RATIO <const> = { { name = "slab_automove", value = "1" } }

-- Begins a change, which is sent, and whose connection breaks once the server has the line, or before.
local function cut(console, changes, terms, line, is_lost)
    assert.is_true(console.acting:begin("change", changes, rig.STOCK, true, terms or rig.NO_TRIAL))
    local sent
    repeat
        sent = console.acting:step(true)
        if sent and (sent ~= line or not is_lost) then
            local reply = console.server:answer(sent)
            if sent ~= line then
                console.acting:reply(reply)
            end
        end
        assert.truthy(sent and console.acting.run, console.acting.news)
    until sent == line
    console.is_up = false
    return console.run()
end

describe("a trial whose connection breaks once the server has its line", function()
    local server, console

    before_each(function()
        server = rig.server()
        console = rig.console(server)
        cut(console, RATIO, TRIAL, "slabs automove 1")
        console.is_up = true
        console.run(5)
    end)

    it("runs on, is on record, and goes back at its time", function()
        assert.truthy(console.acting:words():find("^trial, back in "))
        assert.same({ "0", "1" }, { rig.entries(console)[1].was, rig.entries(console)[1].is })
        rig.pass(61)
        console.run(5)
        assert.equal("0", server.settings.slab_automove)
        assert.equal(1, rig.entries(console)[2].undoes)
    end)

    it("goes back when slatetop is left, and by undo", function()
        assert.is_true(console.acting:leave())
        console.run(5)
        assert.equal("0", server.settings.slab_automove)
        assert.is_false(console.acting:leave())
    end)
end)

describe("a change of unknown outcome", function()
    it("is on record when its console ends, and the next one reads it back before any undo", function()
        for _, is_lost in ipairs({ false, true }) do
            local server = rig.server()
            local console = rig.console(server)
            console.begin({ { name = "hot_lru_pct", value = "30" } })
            assert.equal("30", server.settings.hot_lru_pct)
            cut(console, RATIO, nil, "slabs automove 1", is_lost)
            console.acting:leave()
            assert.truthy(console.acting:leftovers():find("it is change 2 on record", 1, true))
            assert.equal("slab_automove", audit.last_unknown(console.text, "here").name)

            local next_one = rig.console(server)
            next_one.text = console.text
            assert.equal("the outcome of the last change is unknown: automove mode off → ratio, change 2 on record",
                next_one.undo())
            assert.equal("automove mode off → ratio, change 2 on record: it was "
                .. (is_lost and "not made: automove mode is off: not set" or "made"), next_one.run(5))
            next_one.undo()
            assert.same({ "0", is_lost and "20" or "30" },
                { server.settings.slab_automove, server.settings.hot_lru_pct })
        end
    end)

    it("ends its plan: the next steps are not sent", function()
        local server = rig.server()
        local console = rig.console(server)
        cut(console, { RATIO[1], { name = "hot_lru_pct", value = "30" } }, nil, "slabs automove 1")
        console.is_up = true
        assert.equal("stopped at change 2 of 2: the connection broke: nothing more was sent", console.run(5))
        assert.same({ "1", "20" }, { server.settings.slab_automove, server.settings.hot_lru_pct })
        console.undo()
        assert.equal("0", server.settings.slab_automove)
    end)

    it("is looked at again when the connection breaks while it is read back", function()
        local server = rig.server()
        local console = rig.console(server)
        cut(console, RATIO, nil, "slabs automove 1")
        assert.equal("stats settings", console.acting:step(true))
        assert.truthy(console.run():find("is unknown$"))
        console.is_up = true
        assert.equal("automove mode off → ratio", console.run(5))
    end)

    it("of a move to a server that was restarted since is none", function()
        local server = rig.server()
        local console = rig.console(server)
        cut(console, { { from = 4, to = 12, pages = 2 } }, nil, "slabs reassign 4 12")
        server.pid, console.is_up = 2, true
        assert.equal("the server was restarted since, and its pages were given anew", console.run(5))
        assert.same({}, rig.entries(console))
    end)
end)

describe("the record", function()
    it("gives the number of a change that was not made again, and keeps the one that was", function()
        local text, context = "", { server = { name = "here" }, record = {} }
        function context.record.read() return text end
        function context.record.append(compose)
            text = text .. compose(text)
            return true
        end
        local function made(is, is_made)
            local entry = { what = "set", name = "verbosity", was = "0", is = is }
            audit.begin(context, entry)
            return audit.settle(context, entry, is_made)
        end
        assert.same({ 1, nil, 2, nil }, { made("1", true), made("2", false), made("3", true), made("4", false) })
        local list = {}
        for entry in audit.backwards(text) do list[#list + 1] = { entry.id, entry.is, entry.unknown } end
        assert.same({ { 2, "3" }, { 1, "1" } }, list)
        for i, entry in ipairs(audit.entries(text)) do
            assert.same(list[3 - i], { entry.id, entry.is, entry.unknown })
        end
    end)
end)
