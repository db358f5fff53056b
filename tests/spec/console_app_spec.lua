-- SPDX-License-Identifier: BSD-3-Clause
-- The running console without a terminal: what keys, the pointer and time do.
require "support.world" -- its interpreter has slate.console.cells
local console = require "support.console"

local open, press, screen, assert_shows = console.open, console.press, console.screen, console.assert_shows

describe("slatetop's app", function()
    before_each(console.begin)

    it("shows its server, and goes from view to view by keys and clicks", function()
        local app = open("cache7")
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
        local app = open("a")
        app.open.model:set_link("down", "cannot connect: refused", 1002)
        app:draw(12.2)
        assert_shows("C connects now; cannot connect: refused")
        press("C")
        assert.equal(12.2, app.open.hurried_s)
        assert_shows("connecting to a:11211")
        app.open.model:set_link("up", "", 1003)
        app:step(12.4, 1003)
        app:draw(12.4)
        assert_shows("connected to a:11211")
    end)

    for name, lose in pairs({ stalled = function(model) model.at_s = 2 end,
        down = function(model) model:set_link("down", "refused", 1002) end }) do
        it(("sends nothing to a server that is %s, and says so in the review"):format(name), function()
            local app = open("a")
            press("t", "enter")
            lose(app.open.model)
            app:draw(12.2)
            assert_shows("Nothing can be sent now")
            press("S")
            assert.truthy(app.message:find("does not answer: nothing was sent", 1, true), app.message)
            assert.same({}, app.open.changes.begun)
        end)
    end

    it("types in views without a filter that of Classes, and goes there", function()
        local app = open("a")
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

    it("sends a reviewed change by a capital S alone", function()
        local app = open("a")
        press("t", "enter", "enter", "s")
        assert.same({}, app.open.changes.begun)
        press("S")
        local begun = app.open.changes.begun[1]
        assert.same({ "change", "slab_automove" }, { begun[1], begun[2][1].name })
        assert.is_false(app.ui.review.is_open)
    end)

    for words, why in pairs({ ["-r a"] = "read-only: nothing was sent", a = "no room for all that would be sent" }) do
        it("says why it sends nothing: " .. why, function()
            local app = open(words)
            console.term.size = function() return words == "a" and 39 or 80, 24 end
            press("t", "enter", "S")
            assert.truthy(app.message:find(why, 1, true), app.message)
            assert.same({}, app.open.changes.begun)
        end)
    end

    it("shows a whole refresh at once, and gathers its pieces, and those of several servers, into one frame", function()
        local app = open("a")
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
        app = open("a b")
        app:draw(12.2)
        app.fleet.sessions[2].has_sample, app.fleet.sessions[2].has_news = true, true
        app:step(12.3, 1002)
        assert.is_true(not app.is_dirty and app.draw_s > 12.3 and app.draw_s < 12.36)
    end)

    it("does not stop by ^Z while a change or a trial is on, which it could not end", function()
        local app, stopped = open("a"), 0
        console.term.suspend = function() stopped = stopped + 1 end
        app.open.changes.is_busy = function() return true end
        press("ctrl-z")
        assert_shows("not while a change or a trial is on: K keeps the trial, u takes it back")
        assert.equal(0, stopped)
        app.open.changes.is_busy = function() return false end
        press("ctrl-z")
        assert.equal(1, stopped)
    end)

    it("marks a moment, and asks before it records", function()
        local app = open("a")
        press("D")
        assert_shows("marked: d shows what changes")
        console.environment.PWD = "/home/me"
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
        local app = open("a")
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
        local app = open("a")
        app:save_choices()
        assert.is_nil(console.texts[path])
        press("T")
        app:save_choices()
        assert.truthy(console.texts[path]:find("theme = light", 1, true))
        console.texts[path] = "theme = pink\n"
        app = open("a")
        app:draw(12.2)
        assert_shows("slatetop:1: theme can't be 'pink': starting with the defaults")
    end)
end)
