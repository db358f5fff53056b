-- SPDX-License-Identifier: BSD-3-Clause
-- The running console of several servers, without a terminal: Fleet, its marks, and changes to marked servers.
require "support.world" -- its interpreter has slate.console.cells
local console = require "support.console"
local screens = require "screens"

local open, press, screen, assert_shows = console.open, console.press, console.screen, console.assert_shows

describe("slatetop's app with several servers", function()
    before_each(console.begin)

    it("connects in Fleet to every server that is down, whichever row is under the cursor", function()
        local app = open("a b c")
        press("s", "C")
        assert_shows("no server is down, or it is tried right now")
        for place = 2, 3 do app.fleet.sessions[place].model:set_link("down", "refused", 1002) end
        press("C")
        assert_shows("connecting to b:11211, c:11211")
        assert.is_nil(app.fleet.sessions[1].hurried_s)
        press("1", "C")
        assert_shows("a:11211 is not down, or it is tried right now")
    end)

    it("acts on the server under the cursor of Fleet", function()
        local app = open("a b")
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
    local function sent(app)
        local list = {}
        for _, session in ipairs(app.fleet.sessions) do
            for _, begun in ipairs(session.changes.begun) do
                list[#list + 1] = ("%s %s %s"):format(session.address, begun[1], begun[2][1].value)
            end
        end
        return table.concat(list, "; ")
    end

    it("sends to the marked servers of Fleet, and not to the one under the cursor", function()
        local app = open("a b c")
        local now = app.fleet.sessions[1].model.now
        press("s", "m", "m") -- the cursor is on c
        app.fleet.sessions[1].model.now = nil -- a server without figures is not shown in the review
        press("t", "enter")
        assert_shows("refused   a:11211: no connection")
        press("S")
        assert.same({ "", true }, { sent(app), app.message:find("a:11211: no connection", 1, true) ~= nil })
        assert_shows("to 2 marked servers ─")
        assert.equal("b:11211", app.open.address)
        press("escape")
        app.fleet.sessions[1].model.now = now
        assert_shows("2 marked: t, u and :set go to them")
        press("t", "enter")
        assert_shows("Automove: review, to 2 marked servers ─")
        assert.equal("a:11211", app.open.address)
        press("S")
        assert.truthy(sent(app):find("^a:11211 change %w+; b:11211 change %w+$"), sent(app))
        assert.equal(app.fleet.sessions[1].changes.begun[1][3].group, app.fleet.sessions[2].changes.begun[1][3].group)
        assert_shows("0 of 2 marked servers took the change, 2 not yet; 8 shows each outcome, u takes")
        assert.equal("c:11211", app.open.address)
    end)

    it("says how many marked servers took a change, and which did not, and why", function()
        local app = open("a b c d e f")
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
        local app = open("a b c d")
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
        press("S")
        assert.equal("0 of 2 marked servers took the undo, 2 not yet; 8 shows each outcome", app.message)
        press("7")
        assert.equal("a:11211 undo 11; c:11211 undo 12", sent(app))
        press("g", "m", "down", "m", "u") -- b alone is marked
        assert_shows("to 1 marked server ─")
        press("S", "g", "down", "m", "G", "u") -- none is: d is under the cursor
        assert_shows("Undo: review, to d:11211 ─")
    end)

    it("lists in Fleet the modes of automove that the marked servers have, and how many lack one", function()
        local app = open("a b c")
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

    it("shows in Fleet, Events and Tune the rows with a text, and types it where other keys would act", function()
        local app = open("a b cm")
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

    it("reads all servers before it works for one, since work is no time that a server takes to answer", function()
        local app = open("a b")
        local order = {}
        for _, session in ipairs(app.fleet.sessions) do
            function session.read() order[#order + 1] = "read" end
            function session.step() order[#order + 1] = "step" end
        end
        app:step(12.3, 1002)
        assert.same({ "read", "read", "step", "step" }, order)
    end)

    it("shows Fleet live, also while the servers are paused, and opens them at the same moment", function()
        local app = open("a b")
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

    it("drops a server that left its file, and keeps marks and the cursor on theirs", function()
        local app = open("a b c")
        press("s", "G", "m")
        app.fleet.origins[2] = { list = { server = { is_list = "file" } }, has_left = true }
        local gone = app.fleet.sessions[2]
        press("g")
        app:step(12.3, 1002)
        assert.is_true(gone.is_closed)
        assert.same({ [2] = true }, app.ui.fleet.marked)
    end)
end)
