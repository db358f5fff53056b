-- SPDX-License-Identifier: BSD-3-Clause
-- The running console without a terminal: what keys, the pointer and time do.
require "support.world" -- its interpreter has slate.console.cells
for _, name in ipairs({ "link", "files" }) do -- modules in C that only slatetop has: nothing here uses them
    package.loaded["slate.console." .. name] = package.loaded["slate.console." .. name] or {}
end
local app_of = require "slate.console.app"
local options = require "slate.console.options"
local screens = require "screens"
local tape = require "slate.console.tape"

describe("slatetop's app", function()
    local app, term, texts, errors, environment

    -- A session whose model has seen a server.
    local function session_of(server)
        local one = screens.model("memcached-1.6.18")
        one.server = server.name
        local session = { address = server.name, server = server, model = one, tape = tape.new(), record_name = "",
            polled = function() end, step = function() end, read = function() end,
            finish = function() end, due_s = function() end,
            retry_s = function() end,
            hurry = function(self, now_s)
                self.hurried_s = self.model.link == "down" and now_s or nil
                return self.hurried_s ~= nil
            end,
            close = function(self) self.is_closed = true end }
        session.changes = { begun = {}, words = function() return "" end, take_news = function() end,
            trial_left_s = function() end, is_busy = function() end, accept_trial = function() end,
            propose = function() return nil, "nothing to undo" end,
            begin = function(self, ...) table.insert(self.begun, { ... }) return true end }
        function session.want(_, wants) session.wants = wants end
        function session.record_to(_, path) session.record, session.record_name = {}, path return true end
        function session.record_end() session.record = nil end
        function session.watch_stream(_, stream, why)
            session.watch = stream and { log = { stream = stream, note = why or "", lines = {}, shown = 0, lost = 0 } }
        end
        session.tape:add(one.now, { at_s = 12, reply_ms = 0.4, wall_s = 1002 })
        return session
    end

    local function open(line)
        local words = {}
        for word in line:gmatch("%S+") do
            words[#words + 1] = word
        end
        local files = { environment = function(name) return environment[name] end,
            read = function(path) return texts[path], "No such file or directory", texts[path] == nil end,
            replace = function(path, text) texts[path] = text return true end,
            write_error = function(text) errors = errors .. text end }
        app = app_of.new(assert(options.parse(words, files)), { term = term, files = files,
            link = { now_s = function() return 12 end }, open_session = session_of })
        assert(app:start())
        app:step(12.1, 1002)
        return app
    end

    local function press(...)
        for _, key in ipairs({ ... }) do
            app:key(key, 12.2)
            app:draw(12.2)
        end
    end

    local function screen()
        return screens.text(app.grid)
    end

    local function assert_shows(text)
        assert.truthy(screen():find(text, 1, true), screen())
    end

    before_each(function()
        texts, errors, environment = {}, "", { HOME = "/home/me" }
        term = { open = function() return true end, size = function() return 80, 24 end, is_ascii = function() end,
            show = function() end, set_theme = function() return true end, set_mouse = function() end }
    end)

    it("shows its server, and goes from view to view by keys and clicks", function()
        open("cache7")
        press("2")
        assert_shows("[2 Classes]")
        press("tab", "backtab", "7")
        assert_shows("[7 Fleet]")
        app:pointer("click", 1, 1, 12.2)
        app:draw(12.2)
        assert_shows("[1 Overview]")
        press("X")
        assert_shows("X does nothing in Overview: F1 lists the keys")
        press("f1")
        assert_shows("keys: ")
        press("escape", "q")
        assert.is_true(app.is_done)
    end)

    it("leaves a list or an explanation by a key of a view, but no review", function()
        open("cache7")
        for _, key in ipairs({ "f1", "?", "x", "t" }) do
            press("1", key, "2")
            assert_shows("[2 Classes]")
            assert.is_nil(screen():find("┌─", 1, true))
        end
        press("t", "enter", "f1", "3")
        assert_shows("keys: Up and Down")
        press("escape", "3") -- types a digit into the review
        assert_shows("Esc cancels")
        press("escape")
        assert_shows("[2 Classes]")
    end)

    it("says where a key of another view went that the palette found", function()
        open("cache7")
        press(":", "c", "o", "l", "u", "m", "n", "s", "enter")
        assert_shows("[2 Classes]")
        assert_shows("c: choose the columns and their order")
    end)

    it("connects at once by a key, which the line on the lost link names", function()
        open("a")
        app.open.model:set_link("down", "cannot connect: refused", 1002)
        app:draw(12.2)
        assert_shows("C connects now; cannot connect: refused")
        press("C")
        assert.equal(12.2, app.open.hurried_s)
        assert_shows("connecting to a:11211")
    end)

    it("connects in Fleet to every server that is down, whichever row is under the cursor", function()
        open("a b c")
        press("s", "C")
        assert_shows("no server is down, or it is tried right now")
        for place = 2, 3 do
            app.fleet.sessions[place].model:set_link("down", "refused", 1002)
        end
        press("C")
        assert_shows("connecting to b:11211, c:11211")
        assert.is_nil(app.fleet.sessions[1].hurried_s)
        press("1", "C")
        assert_shows("a:11211 is not down, or it is tried right now")
    end)

    for name, lose in pairs({ stalled = function() app.open.model.at_s = 2 end,
        down = function() app.open.model:set_link("down", "refused", 1002) end }) do
        it(("sends nothing to a server that is %s, and says so in the review"):format(name), function()
            open("a")
            press("t", "enter")
            lose()
            app:draw(12.2)
            assert_shows("Nothing can be sent now")
            press("S")
            assert.truthy(app.message:find("does not answer: nothing was sent", 1, true), app.message)
            assert.same({}, app.open.changes.begun)
        end)
    end

    it("acts on the server under the cursor of Fleet", function()
        open("a b")
        app:draw(12.2)
        assert_shows("2 servers, 2 up")
        press("s", "down")
        assert.equal("b:11211", app.open.address)
        press("up", "u")
        assert_shows("a:11211: nothing to undo")
        press("down", "m", "up", "enter")
        assert_shows("slatetop  a:11211")
        app:step(12.3, 1002)
        assert.is_true(app.fleet.sessions[2].wants.inquiries.config, "a marked server tells its settings")
    end)

    -- The servers to which lines went, and what they were.
    local function sent()
        local list = {}
        for _, session in ipairs(app.fleet.sessions) do
            for _, begun in ipairs(session.changes.begun) do
                list[#list + 1] = ("%s %s %s"):format(session.address, begun[1], begun[2][1].value)
            end
        end
        return table.concat(list, "; ")
    end

    it("sends to the marked servers of Fleet, and not to the one under the cursor", function()
        open("a b c")
        local now = app.fleet.sessions[1].model.now
        press("s", "m", "m") -- the cursor is on c
        app.fleet.sessions[1].model.now = nil -- a server without figures is not shown in the review
        press("t", "enter")
        assert_shows("refused   a:11211: no connection")
        press("S")
        assert.same({ "", true }, { sent(), app.message:find("a:11211: no connection", 1, true) ~= nil })
        assert_shows("to 2 marked servers ─")
        assert.equal("b:11211", app.open.address)
        press("escape")
        app.fleet.sessions[1].model.now = now
        assert_shows("2 marked: t, u and :set go to them")
        press("t", "enter")
        assert_shows("Automove: review, to 2 marked servers ─")
        assert.equal("a:11211", app.open.address)
        press("S")
        assert.truthy(sent():find("^a:11211 change %w+; b:11211 change %w+$"), sent())
        assert.equal(app.fleet.sessions[1].changes.begun[1][3].group, app.fleet.sessions[2].changes.begun[1][3].group)
        assert_shows("0 of 2 marked servers took the change, 2 not yet; 8 shows each outcome, u takes")
        assert.equal("c:11211", app.open.address)
    end)

    it("says how many marked servers took a change, and which did not, and why", function()
        open("a b c d e f")
        local sessions = app.fleet.sessions
        local function news_of(place, text, has_failed)
            sessions[place].changes.take_news = function(self)
                self.take_news = function() end
                return text, has_failed
            end
        end
        local function message()
            app:step(12.3, 1002)
            app:draw(12.3)
            return (screen():match("\n([^\n]* marked servers? took .-)\n[^\n]*F1"):gsub("\n", " "))
        end
        sessions[5].changes.begin = function() return nil, "one change at a time" end
        press("s", "m", "m", "m", "m", "m", "m", "t", "enter", "S")
        news_of(1, "automove mode off → ratio")
        assert.equal("1 of 6 marked servers took the change, 3 not yet; e:11211: one change at a time; "
            .. "f:11211: not sent; 8 shows each outcome, u takes it back", message())
        news_of(2, "not allowed", true)
        news_of(3, "automove mode off → ratio")
        news_of(4, "not allowed", true)
        assert.equal("2 of 6 marked servers took the change; e:11211: one change at a time; f:11211: not sent; "
            .. "b:11211, d:11211: not allowed; 8 shows each outcome, u takes it back", message())
        news_of(1, "kept: it")
        news_of(3, "kept: it")
        app:step(12.4, 1002)
        app:draw(12.4)
        assert_shows("a:11211, c:11211: kept: it")
    end)

    it("takes back the last change to many servers, on those that are marked and got it", function()
        open("a b c d")
        local function has(place, id, group)
            app.fleet.sessions[place].changes.propose = function()
                return { title = "change " .. id, id = id, group = group,
                    changes = { { name = "slab_automove", value = tostring(id) } } }
            end
        end
        has(1, 11, 11) has(2, 7) has(3, 12, 11) has(4, 13, 11)
        press("s", "m", "m", "m", "u")
        assert_shows("Undo: review, to 2 marked servers ─")
        press("escape", "8", "u")
        assert_shows("Undo: review, to 2 marked servers ─")
        press("S", "7")
        assert.equal("a:11211 undo 11; c:11211 undo 12", sent())
        press("g", "m", "down", "m", "u") -- b alone is marked
        assert_shows("to 1 marked server ─")
        press("S", "g", "down", "m", "G", "u") -- none is: d is under the cursor
        assert_shows("Undo: review, to d:11211 ─")
    end)

    it("shows the events of all servers, those of the moment that is shown", function()
        open("a b")
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
            for i = 1, 200 do
                session.model:note("you", 1010, "later " .. i)
            end
        end
        press(".", "G") -- the newest 256
        assert.truthy(screen():find("b:11211 later 145\n+F1Help"), screen())
    end)

    it("goes from an event to its moment, in the events of all servers to that of its server", function()
        open("a b")
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
        open("a b")
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
        open("a")
        app.open.tape:add(app.open.model.now, { at_s = 22, wall_s = 1012 })
        app.open.model:note("alarm", 1010, "a flush")
        press("home", "8", "space", "home")
        assert_shows("nothing had happened until this moment: } goes on")
    end)

    it("lists in Fleet the modes of automove that the marked servers have, and how many lack one", function()
        open("a b c")
        local slated = screens.model("slated-0.1")
        slated.answers:take("config", "STAT slab_automove:value utility\r\n"
            .. "STAT slab_automove:choices off|ratio|utility\r\n", { at_s = 12, is_stats = true })
        slated.server, app.fleet.sessions[1].model = "a:11211", slated
        press("s", "g", "m", "m", "t")
        assert.truthy(screen():find("off +pages stay"), screen())
        assert.truthy(screen():find("utility +not on 1 of 2 servers; "), screen())
        press("escape", "m", "t") -- the same, whichever row is under the cursor
        assert.truthy(screen():find("utility +not on 2 of 3 servers; "), screen())
    end)

    it("goes by braces through the events of all servers that Events lists, and opens the server of each", function()
        open("a b")
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

    it("shows in Fleet, Events and Tune the rows with a text, and types it where other keys would act", function()
        open("a b cm")
        app.fleet.sessions[2].model:note("alarm", 1001, "MQ flush")
        app.fleet.sessions[3].model:note("alarm", 1002, "class 5 starves")
        press("/", "c", "m")
        assert_shows("filter: cm_")
        assert_shows("1 of 3 servers with 'cm'")
        assert.is_nil(screen():find("a:11211", 1, true))
        press("enter", "t", "escape")
        assert.same({ "cm:11211", {} }, { app.open.address, app.ui.fleet.marked })
        press("/", "z")
        assert_shows("no server has 'z' in its row, so all are shown")
        press("escape")
        assert_shows("1 of 3 servers with 'cm'")
        press("/", "enter", "8", "/", "m", "q")
        assert.truthy(screen():find("WHAT with 'mq'", 1, true) and not screen():find("starves", 1, true), screen())
        press("enter", "/", "q", "q")
        assert_shows("no event has 'qq' in its row")
        press("escape")
        assert_shows("WHAT with 'mq'")
        app.open.model.answers:take("settings", "STAT hot_lru_pct 20\r\nSTAT warm_lru_pct 40\r\n",
            { at_s = 12, is_stats = true })
        press("4", "/", "h", "o", "t", "enter", "+")
        assert_shows(" with 'hot'")
        assert.equal(2, #app.ui.tune.rows)
        local wanted = app.ui.tune.wanted[app.ui.tune.rows[1].name]
        press("/", "w", "enter", "t") -- a new value that is not shown is reviewed, too
        assert.truthy(wanted and app.ui.review.plan[1].value == wanted, screen())
    end)

    it("types in views without a filter that of Classes, and goes there", function()
        open("a")
        for _, key in ipairs({ "3", "5", "6", "d", "l" }) do
            press(key, "/", "q", "enter")
            assert_shows("filter: 'q' is not understood")
            press("backspace", "4", "enter")
            assert_shows("filter: 4")
            assert_shows("[2 Classes]")
        end
        press("enter", "/", "escape")
        assert.same({ true, "4", false }, { app.ui.class_is_open, app.ui.classes.filter, app.is_done })
    end)

    it("goes by braces only to the events that the filter of Events shows", function()
        open("a")
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

    it("sends a reviewed change by a capital S alone", function()
        open("a")
        press("t", "enter", "enter", "s")
        assert.same({}, app.open.changes.begun)
        press("S")
        local begun = app.open.changes.begun[1]
        assert.same({ "change", "slab_automove" }, { begun[1], begun[2][1].name })
        assert.is_false(app.ui.review.is_open)
    end)

    for words, why in pairs({ ["-r a"] = "read-only: nothing was sent", a = "no room for all that would be sent" }) do
        it("says why it sends nothing: " .. why, function()
            open(words)
            term.size = function() return words == "a" and 39 or 80, 24 end
            press("t", "enter", "S")
            assert.truthy(app.message:find(why, 1, true), app.message)
            assert.same({}, app.open.changes.begun)
        end)
    end

    it("shows a whole refresh at once, and gathers its pieces, and those of several servers, into one frame", function()
        open("a")
        app:draw(12.2)
        app.open.has_news = true
        app:step(12.5, 1002)
        local draw_s = app.draw_s
        app.open.has_news = true
        app:step(12.52, 1002)
        assert.same({ false, draw_s, true }, { app.is_dirty, app.draw_s, draw_s < 12.56 })
        app.open.has_sample = true
        app:step(12.53, 1002)
        assert.is_true(app.is_dirty)
        app:draw(12.53)
        app:step(13, 1003) -- a second has passed: the title has a clock
        assert.is_true(not app.is_dirty and app.draw_s > 13 and app.draw_s < 13.06)
        open("a b")
        app:draw(12.2)
        app.fleet.sessions[2].has_sample, app.fleet.sessions[2].has_news = true, true
        app:step(12.3, 1002)
        assert.is_true(not app.is_dirty and app.draw_s > 12.3 and app.draw_s < 12.36)
    end)

    it("reads all servers before it works for one, since work is no time that a server takes to answer", function()
        open("a b")
        local order = {}
        for _, session in ipairs(app.fleet.sessions) do
            function session.read() order[#order + 1] = "read" end
            function session.step() order[#order + 1] = "step" end
        end
        app:step(12.3, 1002)
        assert.same({ "read", "read", "step", "step" }, order)
    end)

    it("shows Fleet live, also while the servers are paused, and opens them at the same moment", function()
        open("a b")
        for _, session in ipairs(app.fleet.sessions) do
            session.tape:add(session.model.now, { at_s = 22, wall_s = 1012 })
        end
        press("s", "space")
        assert_shows("Space does nothing in Fleet")
        assert_shows("live 1s")
        press("1", "space", "home", "7")
        assert_shows("live 1s")
        assert_shows(("Fleet shows now; servers stay paused at %s, . ends it"):format(os.date("%H:%M:%S", 1002)))
        app.fleet.sessions[1].model:set_link("down", "refused", 1012)
        press("home")
        assert_shows("down: refused")
        press("down", "t") -- Fleet is live, so it changes servers
        assert.is_false(app.message:find("past", 1, true) or false)
        press("escape", "enter")
        assert_shows("slatetop  b:11211")
        assert_shows("PAUSED " .. os.date("%H:%M:%S", 1002))
        press("7", ".")
        assert.is_nil(screen():find("paused", 1, true))
        app.fleet.sessions[2].tape:add(app.fleet.sessions[2].model.now, { at_s = 31.5, wall_s = 1021.5 })
        app.fleet.sessions[1].tape:add(app.fleet.sessions[1].model.now, { at_s = 31, wall_s = 1021 })
        press("1", "space") -- of b, whose samples have other times than those of a
        local moment_s = app.timeline.wall_s
        press("7", "up", "enter", "7", "down", "enter")
        assert.equal(moment_s, app.timeline.wall_s)
    end)

    it("pauses, and comes back to live", function()
        open("a")
        press("space")
        assert_shows("PAUSED")
        press("t")
        assert_shows("this is the past")
        press("}")
        assert_shows("no event there")
        press(".")
        assert_shows("live 1s")
    end)

    it("says at each key of changes that a recording or the past cannot be changed", function()
        open("a")
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
        open("a")
        local line, live = app.open, app.open.model
        for i = 1, 100 do
            line.tape:add(live.now, { at_s = 12 + i, wall_s = 1002 + i })
        end
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
        press("t")
        assert_shows("this is the past")
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

    it("marks a moment, and asks before it records", function()
        open("a")
        press("D")
        assert_shows("marked: d shows what changes")
        environment.PWD = "/home/me"
        press("R")
        assert.truthy(screen():find("record to /home/me/slatetop%-a%-11211%-%d+%-%d+%.jsonl, .*R again: yes"), screen())
        assert.is_nil(app.open.record)
        press("R")
        assert.truthy(app.open.record_name:find("^/home/me/slatetop%-a%-11211%-%d+%-%d+%.jsonl$"), app.open.record_name)
        assert_shows("rec")
        press("R")
        assert.is_nil(app.open.record)
    end)

    it("watches one stream after the other, and then none", function()
        open("a")
        press("8", "w")
        assert.equal("evictions", app.open.watch.log.stream)
        press("w", "w")
        assert.truthy(app.open.watch.log.note:find("crashes when a store of the binary protocol fails", 1, true))
        press("w", "w", "w")
        assert.is_nil(app.open.watch)
        assert_shows("nothing is watched")
    end)

    it("saves the operator's choices, if they changed", function()
        local path = "/home/me/.local/state/slate/slatetop"
        open("a")
        app:save_choices()
        assert.is_nil(texts[path])
        press("T")
        app:save_choices()
        assert.truthy(texts[path]:find("theme = light", 1, true))
        texts[path] = "theme = pink\n"
        open("a")
        app:draw(12.2)
        assert_shows("slatetop:1: theme can't be 'pink': starting with the defaults")
    end)

    it("drops a server that left its file, and keeps marks and the cursor on theirs", function()
        open("a b c")
        press("s", "G", "m")
        app.fleet.origins[2] = { list = { server = { is_list = "file" } }, has_left = true }
        local gone = app.fleet.sessions[2]
        press("g")
        app:step(12.3, 1002)
        assert.is_true(gone.is_closed)
        assert.same({ [2] = true }, app.ui.fleet.marked)
    end)
end)
