-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's view of the changes since a marked moment.
require "support.world"
local screens = require "screens"
local snapshot = require "slate.facts.snapshot"
local shows = screens.shows

-- The screen of a server whose second refresh differs from the mark as `change` changes that.
local function drawn(server, change, width, height, moment_s)
    local part = screens.snapshot(screens.replies(server .. "-second"), 12)
    change(part, snapshot.by_id(part))
    local frame = screens.frame(screens.model(server), { moment_s = moment_s })
    frame.mark = { wall_s = 1000, server = "cache7", snapshot = part }
    return screens.text(screens.grid("views.diff", frame, width or 80, height or 24))
end

describe("the view of changes", function()
    it("looks as it was reviewed: it needs a mark", function()
        assert.is_nil(screens.unlike_reviewed("Diff", "views.diff"))
    end)

    it("has what changed: counters, gauges, and classes, the largest change of pages first", function()
        local text = drawn("memcached-1.6.18", function(mark, classes)
            mark.general.cmd_get, mark.general.curr_connections = mark.general.cmd_get - 50, 7
            classes[12].total_pages, classes[4].number = classes[12].total_pages - 1, classes[4].number - 5
        end)
        shows(text, "cache7 00:16:40 → 00:16:42: 2s", "keys requested              50", "connections  7 → 2",
            "  12    1184         0 → 1     +1", "   4     192       64 → 64      ·      +5")
        assert.truthy(text:find("  12    1184", 1, true) < text:find("   4     192", 1, true))
        assert.is_nil(text:find("  22  ", 1, true))
    end)

    it("counts the changed classes that have no room", function()
        local function more(...)
            return drawn("memcached-1.6.18", function(_, classes)
                for _, id in ipairs({ 4, 12, 22 }) do
                    classes[id].number = classes[id].number - 5
                end
            end, ...)
        end
        shows(more(80, 8), "EVICTED  AGE    1 more ↓\n")
        shows(more(60, 8), "SETS   1↓\n")
    end)

    it("turns round for a moment before the mark", function()
        shows(drawn("memcached-1.6.18", function(mark)
            mark.general.cmd_get = mark.general.cmd_get + 50
        end, 80, 24, 900), "00:15:00 → cache7 00:16:40: 1m40", "keys requested              50")
    end)

    it("shows a counter that fell as reset, never as a number", function()
        shows(drawn("memcached-1.6.18", function(mark)
            mark.general.cmd_get, mark.general.get_hits = mark.general.cmd_get + 50, mark.general.get_hits + 1
        end), "keys requested           reset", "hit % of these               -")
    end)

    it("has two rows for an id with another chunk size since: a class that went, and one that came", function()
        shows(drawn("memcached-1.6.18", function(_, classes)
            classes[12].chunk_size, classes[12].age = 944, 3549600
        end), "  12     944", "  12    1184", "41d02 → -", "- → 5s")
    end)

    it("has whole columns only on a narrow screen", function()
        local text = drawn("memcached-1.6.18", function(_, classes)
            classes[12].total_pages = 0
        end, 40, 10)
        shows(text, "+1\n")
        assert.is_nil(text:find("ITEMS", 1, true))
    end)

    it("counts refused stores by class before memcached 1.6.13, and shows no unreported figure as zero", function()
        shows(drawn("memcached-1.4.25", function(_, classes)
            classes[12].outofmemory = classes[12].outofmemory - 30
        end), "out of memory               30", "pool pages   - → -")
    end)
end)
