-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's view of events and of the watched stream.
require "support.world"
local events = require "slate.console.views.events"
local model = require "slate.console.model"
local screens = require "screens"

local shows = screens.shows

-- A log of slate.console.watch.
local function watched(note)
    return { stream = "evictions", note = note or "", shown = 3, lost = 1,
        lines = { { at_s = 1, text = "type=eviction key=a fetch=no" },
            { at_s = 2, text = "type=eviction key=b fetch=yes" }, { text = "no type at all" } } }
end

describe("the view of events", function()
    it("looks as it was reviewed", function()
        assert.is_nil(screens.unlike_reviewed("Events", "views.events"))
    end)

    it("has the newest first, an alarm as bad, and scrolls to the oldest", function()
        local of, ui = model.new("cache7"), { events = events.state() }
        for i, kind in ipairs({ "pages", "you", "alarm" }) do
            of:note(kind, i, "text of " .. kind)
        end
        local grid = screens.grid("views.events", screens.frame(of), 80, 8, ui)
        shows(screens.text(grid), "00:00:03 alarm    text of alarm\n00:00:02 you      text of you")
        assert.truthy(select(2, screens.row(grid, 3)):find("^DDDDDDDDPBBBBBBBBPBBBBBBBBBBBBBP+$")) -- under the cursor
        events.command(screens.frame(of), ui, "bottom")
        shows(screens.text(screens.grid("views.events", screens.frame(of), 80, 7, ui)),
            "  1 more ↑\n00:00:02 you      text of you\n00:00:01 pages    text of pages")
    end)

    it("has the event under the cursor whole, below a list that cuts it", function()
        local of = model.new("cache7")
        of:note("pages", 1, ("class 4: 64 → 62, class 12: 1 → 3, "):rep(3) .. "to its end pages")
        of:note("you", 2, "short")
        local ui = { events = events.state() }
        local function drawn()
            return screens.text(screens.grid("views.events", screens.frame(of), 60, 15, ui))
        end
        assert.is_nil(drawn():find("to its end", 1, true))
        events.command(screens.frame(of), ui, "down")
        shows(drawn(), "to its end\npages")
    end)

    it("keeps the cursor on its event when newer ones come, and goes to its moment by Enter", function()
        local of, ui = model.new("cache7"), { events = events.state() }
        local function enter()
            return events.command(screens.frame(of), ui, "open_event")
        end
        assert.is_nil(enter())
        for i = 1, 4 do of:note("you", i, "same text") end
        assert.same({ kind = "open_moment", wall_s = 4 }, enter())
        events.command(screens.frame(of), ui, "down")
        events.command(screens.frame(of), ui, "down")
        of:note("you", 5, "newer")
        assert.equal(2, enter().wall_s)
        events.click(ui, "row", 2)
        screens.grid("views.events", screens.frame(of), 80, 8, ui)
        of:note("you", 6, "newer")
        assert.equal(4, enter().wall_s)
    end)

    it("shows the events whose row has a text, the time too", function()
        local of, ui = model.new("cache7"), { events = events.state() }
        of:note("you", 52821, "first")
        of:note("you", 52822, "second")
        local at = os.date("%H:%M:%S", 52822)
        ui.events.filter = at
        local text = screens.text(screens.grid("views.events", screens.frame(of), 80, 24, ui))
        shows(text, at .. " you      second")
        assert.is_nil(text:find("first", 1, true))
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
