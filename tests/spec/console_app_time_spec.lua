-- SPDX-License-Identifier: BSD-3-Clause
-- The running console without a terminal: events, the past, and the way between.
require "support.world" -- its interpreter has slate.console.cells
local console = require "support.console"
local screens = require "screens"

local open, press, screen, assert_shows = console.open, console.press, console.screen, console.assert_shows

describe("slatetop's app in the past", function()
    before_each(console.begin)

    it("shows the events of all servers, those of the moment that is shown", function()
        local app = open("a b")
        for i, session in ipairs(app.fleet.sessions) do
            session.model:note("you", 1000 + 2 * i, "event " .. i)
        end
        press("8")
        assert_shows("SERVER  WHAT")
        assert.truthy(screen():find("you      b:11211 event 2\n[%d:]+ you      a:11211 event 1"), screen())
        assert_shows("slatetop  2 servers")
        press("1", "8")
        assert_shows("you      event 1")
        press("7", "8", "space")
        assert.truthy(screen():find("event 1", 1, true) and not screen():find("event 2", 1, true), screen())
        for _, session in ipairs(app.fleet.sessions) do
            for i = 1, 200 do session.model:note("you", 1010, "later " .. i) end
        end
        press(".", "G") -- the newest 256
        assert.truthy(screen():find("b:11211 later 145\n+F1Help"), screen())
    end)

    it("goes from an event to its moment, in the events of all servers to that of its server", function()
        local app = open("a b")
        local b = app.fleet.sessions[2]
        b.tape:add(b.model.now, { at_s = 22, wall_s = 1012 })
        b.model:note("alarm", 900, "long ago", true)
        b.model:note("alarm", 1002.4, "a flush", true)
        press("8", "down", "enter")
        assert_shows("no figures of that moment are kept")
        press("up", "enter")
        assert_shows("slatetop  b:11211")
        assert_shows("[1 Overview]")
        assert_shows("PAUSED " .. os.date("%H:%M:%S", 1002))
    end)

    it("goes back by Esc to where Enter opened a server or an event, and to the time shown there", function()
        local app = open("a b")
        for i, session in ipairs(app.fleet.sessions) do
            session.tape:add(session.model.now, { at_s = 22, wall_s = 1012 })
            session.model:note("alarm", 1000 + 2 * i, "event " .. i)
        end
        app:step(22.1, 1012)
        press("down", "enter", "escape")
        assert_shows("[7 Fleet]")
        press("8", "down", "enter", "enter", "escape") -- a class is closed first
        assert_shows("[1 Overview]")
        assert.is_true(app.timeline.is_past)
        press("escape")
        assert.truthy(screen():find("b:11211 event 2\n[^\n]*a:11211 event 1"), screen())
        assert.is_false(app.timeline.is_past)
        press("{", "enter", "[", "escape")
        assert.equal(1004, app.timeline:chosen_s() // 1)
        press("7", "enter", "2", "1", "escape") -- Overview was opened by its key
        assert_shows("[1 Overview]")
    end)

    it("says at a moment before all events that they come later", function()
        local app = open("a")
        app.open.tape:add(app.open.model.now, { at_s = 22, wall_s = 1012 })
        app.open.model:note("alarm", 1010, "a flush")
        press("home", "8", "space", "home")
        assert_shows("nothing had happened until this moment: } goes on")
    end)

    it("goes by braces through the events of all servers that Events lists, and opens the server of each", function()
        local app = open("a b")
        for i, session in ipairs(app.fleet.sessions) do
            for second = 1003, 1050 do
                session.tape:add(session.model.now, { at_s = second - 990, wall_s = second })
            end
            session.model:note("alarm", 1000 + 10 * i, "event of " .. session.address)
            session.model:note("alarm", 1000 + 30 + i, "later event of " .. session.address)
        end
        app:step(60.1, 1050)
        press("8")
        for _, step in ipairs({ { "{", 1032, "b" }, { "{", 1031, "a" }, { "{", 1020, "b" }, { "{", 1010, "a" },
            { "}", 1020, "b" } }) do
            press(step[1])
            assert.same({ step[2], step[3] .. ":11211" }, { app.timeline.wall_s, app.open.address })
            assert.truthy(screens.row(app.grid, 3):find(os.date("%H:%M:%S", step[2]), 1, true), screen())
        end
        press("1", "}") -- where the events of one server are
        assert.same({ 1032, "b:11211" }, { app.timeline.wall_s, app.open.address })
    end)

    it("goes by braces only to the events that the filter of Events shows", function()
        local app = open("a")
        for second = 1003, 1050 do
            app.open.tape:add(app.open.model.now, { at_s = second - 990, wall_s = second })
        end
        for i, text in ipairs({ "a flush", "class 5 starves", "another flush", "class 6 starves" }) do
            app.open.model:note("alarm", 1000 + 10 * i, text)
        end
        app:step(60.1, 1050)
        press("8", "/", "f", "l", "u", "enter", "{")
        assert.equal(1030, app.timeline.wall_s)
        press("{")
        assert.equal(1010, app.timeline.wall_s)
        press("1", "}")
        assert.equal(1020, app.timeline.wall_s)
    end)

    it("pauses, and comes back to live", function()
        open("a")
        press("space")
        assert_shows("PAUSED")
        press("}")
        assert_shows("no event there")
        press(".")
        assert_shows("live 1s")
    end)

    it("says at each key of changes that a recording or the past cannot be changed", function()
        local app = open("a")
        press("space")
        for _, is_replay in ipairs({ false, true }) do
            app.open.loaded_ratio = function() return 1 end
            app.replay = is_replay and app.open or nil
            for view, names in pairs({ ["1"] = { "m", "t", "u", "ctrl-r" }, ["2"] = { "m" }, ["3"] = { "m" },
                ["4"] = { "+", "-", "enter", "e", "t" }, ["5"] = { "m" }, ["6"] = { "m" } }) do
                for _, key in ipairs(names) do
                    press(view, key)
                    assert_shows(is_replay and "a recording can't be changed" or "this is the past: . returns to live")
                end
            end
        end
    end)

    it("shows the past as a line with its incidents, the keys of time, and goes where it is clicked", function()
        local app = open("a")
        local line, live = app.open, app.open.model
        for i = 1, 100 do line.tape:add(live.now, { at_s = 12 + i, wall_s = 1002 + i }) end
        live:note("server", 1052, "the server restarted and lost 5 items")
        live:note("pages", 1080, "class 1: 2 → 3 pages")
        live:note("alarm", 1052, "class 5 starves")
        live:note("alarm", 1077, "class 5 starves")
        live:note("state", 1090, "class 5 starves no more")
        press("space")
        local row = screens.row(app.grid, 22)
        assert.truthy(row:find("^%d%d:16:42 ──.*─▼─.*─·─.*─● %d%d:18:22$"), row)
        assert_shows("SpaceGo on ←→Step []Minute {}Event Home EndEnds .Now F1Help")
        assert.is_nil(screens.row(app.grid, 23):find("Automove", 1, true))
        press("home")
        assert.equal(1002, app.timeline.wall_s)
        assert.truthy(screens.row(app.grid, 22):find("^%d%d:16:42 ●"))
        press("}")
        assert.equal(1052, app.timeline.wall_s)
        press("end")
        assert.equal(1102, app.timeline.wall_s)
        app:pointer("click", 22, 40, 12.2)
        assert.is_true(math.abs(app.timeline.wall_s - 1052) <= 1, app.timeline.wall_s)
        press("2", "space", "down", "home")
        assert.is_false(app.timeline.is_past)
        assert_shows("F7Automove")
    end)
end)
