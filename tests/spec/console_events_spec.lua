-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's view of events and of the watched stream, and its view of latency.
require "support.world"
local latency = require "slate.console.latency"
local model = require "slate.console.model"
local screens = require "screens"

local SIZES <const> = { { 80, 24 }, { 160, 50 } }

local function shows(text, ...)
    for _, wanted in ipairs({ ... }) do
        assert.truthy(text:find(wanted, 1, true), ("%s\nlacks '%s'"):format(text, wanted))
    end
end

-- Whether a view looks as it was reviewed.
local function as_reviewed(name, view)
    for _, size in ipairs(SIZES) do
        it(("looks as it was reviewed at %d columns"):format(size[1]), function()
            local frame = screens.frame(screens.look("memcached-1.6.18", 20))
            assert.is_nil(screens.difference(name, size[1], size[2], screens.grid(view, frame, size[1], size[2])))
        end)
    end
end

-- A log of slate.console.watch.
local function watched(note)
    return { stream = "evictions", note = note or "", shown = 3, lost = 1,
        lines = { { at_s = 1, text = "type=eviction key=a fetch=no" },
            { at_s = 2, text = "type=eviction key=b fetch=yes" }, { text = "no type at all" } } }
end

describe("the view of events", function()
    as_reviewed("Events", "views.events")

    it("has the newest first, an alarm as bad, and scrolls to the oldest", function()
        local of, ui = model.new("cache7"), { events = { top = 1 } }
        for i, kind in ipairs({ "pages", "you", "alarm" }) do
            of:note(kind, i, "text of " .. kind)
        end
        local grid = screens.grid("views.events", screens.frame(of), 80, 8, ui)
        shows(screens.text(grid), "00:00:03 alarm    text of alarm\n00:00:02 you      text of you")
        assert.equal("dddddddd bbbbbbbb bbbbbbbbbbbbb", select(2, screens.row(grid, 3)))
        require("slate.console.views.events").command(screens.frame(of), ui, "bottom")
        shows(screens.text(screens.grid("views.events", screens.frame(of), 80, 7, ui)),
            "WHAT\n00:00:02 you      text of you\n00:00:01 pages    text of pages")
    end)

    it("has the watched stream below, without the type that all lines have", function()
        local frame = screens.frame(model.new("cache7"), { watch = watched() })
        shows(screens.text(screens.grid("views.events", frame, 80, 24)), "watch evictions: 3 lines, 25.0 % lost",
            "-        no type at all\n00:00:02 key=b fetch=yes\n00:00:01 key=a fetch=no")
        frame.watch.stream = "connevents" -- of which the type says what happened
        shows(screens.text(screens.grid("views.events", frame, 80, 24)), "00:00:01 type=eviction key=a")
        frame.watch = watched("this user may not watch")
        shows(screens.text(screens.grid("views.events", frame, 80, 24)), "\nthis user may not watch\n")
    end)
end)

describe("the view of latency", function()
    as_reviewed("Latency", "views.latency")

    it("has a row for each span of time with round trips, and those between", function()
        local log = latency.new()
        for i = 1, 100 do
            log:add(i < 95 and 40 or 150)
        end
        log:add(2500)
        local frame = screens.frame(screens.model("slated-0.1"), { probes = log })
        shows(screens.text(screens.grid("views.latency", frame, 80, 24)), "version: the last 101",
            "half within 40us, 90 % within 40us, 99 % within 150us, longest 2.5ms",
            "      20us to 50us      94  ████", "     50us to 100us       0\n",
            "        2ms to 5ms       1  █\n", "whole refreshes, all statistics in one round trip: the last 2")
    end)

    for _, case in ipairs({
        { "measuring", link = "up" }, { "no connection: nothing is measured", link = "down" },
        { "measured only now: . returns to live", link = "up", is_past = true },
        { "not recorded: a recording has no round trips", link = "up", is_past = true, is_replay = true },
    }) do
        it("says why there is no time: " .. case[1], function()
            local of = model.new("cache7")
            of:set_link(case.link, "", 1000)
            shows(screens.text(screens.grid("views.latency", screens.frame(of,
                { is_past = case.is_past, is_replay = case.is_replay }), 80, 24)), case[1])
        end)
    end

    it("measures while it is open", function()
        local wants = {}
        require("slate.console.views.latency").wants(nil, wants)
        assert.is_true(wants.probes)
    end)
end)
