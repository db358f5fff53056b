-- SPDX-License-Identifier: BSD-3-Clause
-- The view Fleet of slatetop: its reviewed screens, its rows, and what keys do.
require "support.world" -- its interpreter has slate.console.cells
local fleet = require "slate.console.views.fleet"
local fleet_rows = require "slate.console.fleet_rows"
local fleet_table = require "slate.console.draw.fleet_table"
local model = require "slate.console.model"
local screens = require "screens"

-- The frame of some models, each a server.
local function frame_of(models, fields)
    local rows = {}
    for i, one in ipairs(models) do
        rows[i] = fleet_rows.row(i, { model = one, now_s = 12.4, interval_s = 1 }, 0)
    end
    local frame = screens.frame(models[1], fields)
    frame.servers = fleet_rows.compare(rows)
    return frame
end

local function drawn(frame, ui, width, height)
    return screens.text(screens.grid("views.fleet", frame, width or 80, height or 24, { fleet = ui or fleet.state() }))
end

describe("slatetop's Fleet", function()
    local one

    setup(function() one = screens.look("memcached-1.6.18", 20) end)

    for _, size in ipairs({ { 80, 24 }, { 160, 50 } }) do
        it(("is as it was reviewed at %dx%d"):format(table.unpack(size)), function()
            local grid = screens.grid("views.fleet", frame_of({ one }), size[1], size[2])
            assert.is_nil(screens.difference("Fleet", size[1], size[2], grid))
        end)
    end

    it("shows a dead server as a row, and counts it", function()
        local dead = model.new("cache9:11211")
        dead:set_link("down", "refused", 1050)
        local frame = frame_of({ one, dead })
        frame.servers[2].retry_s = 14
        local text = drawn(frame)
        assert.truthy(text:find("!>cache9:11211 +DOWN refused, next try in 2 s"), text)
        assert.truthy(text:find("2 servers, 1 up", 1, true), text)
    end)

    it("says what it waits for while no server is known", function()
        local frame = frame_of({ one })
        frame.servers = {}
        assert.truthy(drawn(frame):find("looking up the list of servers", 1, true))
        frame.fleet_note = "file:/x names no server"
        assert.truthy(drawn(frame):find("file:/x names no server", 1, true))
    end)

    it("fits every size, with whole columns only", function()
        local path = model.new("/a/very/long/path/of/a/socket/in/a/deep/folder/one.sock")
        for _, size in ipairs({ { 40, 10 }, { 60, 14 }, { 132, 43 }, { 238, 61 } }) do
            local grid = screens.grid("views.fleet", frame_of({ one, path }), size[1], size[2])
            assert.equal(0, grid.clipped)
            assert.truthy(screens.text(grid):find("one.sock", 1, true))
        end
    end)
end)

describe("the order of slatetop's servers", function()
    -- Rows with these fields; a row's name is its place.
    local function rows_of(list)
        for i, row in ipairs(list) do
            row.server, row.name, row.is_odd, row.version = i, tostring(i), row.is_odd or false, row.version or ""
            row.tone, row.is_up = row.tone or "good", row.is_up ~= false
        end
        return list
    end

    local function order(list, ui)
        local places = {}
        for i, row in ipairs(fleet_table.sorted(rows_of(list), ui or {})) do
            places[i] = row.server
        end
        return table.concat(places, " ")
    end

    it("is worst first: down, bad, odd, evicting", function()
        assert.equal("6 5 4 3 2 1", order({ { evictions_per_s = 1 }, { evictions_per_s = 9 },
            { is_odd = true, far = 4 }, { is_odd = true, far = 9 }, { tone = "bad" }, { is_up = false } }))
    end)

    it("follows a column, the unknown last in either direction", function()
        local list = { { hit_ratio = 0.5 }, {}, { hit_ratio = 0.1 } }
        local hit = fleet_table.column_of("hit_ratio").index
        assert.equal("3 1 2", order(list, { sort = hit, is_ascending = true }))
        assert.equal("1 3 2", order(list, { sort = hit, is_ascending = false }))
        assert.equal("2 1", order({ { version = "1.6.9" }, { version = "1.6.45" } }, { sort = 2, is_ascending = true }))
    end)

    it("is chosen by keys and clicks", function()
        local frame, ui = { servers = rows_of({ {}, {}, {} }) }, { fleet = fleet.state() }
        local at = ui.fleet
        fleet.command(frame, ui, "sort_next")
        assert.same({ 1, true }, { at.sort, at.is_ascending })
        fleet.command(frame, ui, "sort_reverse")
        assert.is_false(at.is_ascending)
        fleet.command(frame, ui, "sort_previous")
        assert.is_nil(at.sort)
        fleet.command(frame, ui, "sort_previous")
        assert.equal(#fleet_table.COLUMNS, at.sort)
        fleet.click(ui, "sort", 7)
        fleet.click(ui, "sort", 7)
        assert.same({ 7, false }, { at.sort, at.is_ascending })
    end)

    it("keeps the cursor on its server, and marks rows one after the other", function()
        local frame, ui = { servers = rows_of({ {}, {}, {} }) }, { fleet = fleet.state() }
        fleet.command(frame, ui, "mark_server")
        fleet.command(frame, ui, "mark_server")
        assert.same({ { true, true }, 3 }, { ui.fleet.marked, ui.fleet.cursor })
        fleet.command(frame, ui, "mark_server")
        fleet.command(frame, ui, "mark_server")
        assert.same({ true, true }, ui.fleet.marked)
        frame.servers[1].evictions_per_s = 1
        assert.same({ kind = "open_server", server = 3 }, fleet.command(frame, ui, "open_server"))
        fleet.click(ui, "row", 2)
        assert.equal(2, fleet.selected(frame.servers, ui))
        fleet.command(frame, ui, "top")
        assert.equal(1, ui.fleet.cursor)
    end)

    it("marks outliers of the pool", function()
        local list = {}
        for i = 1, 7 do
            list[i] = { hit_ratio = i == 7 and 0.2 or 0.9, evictions_per_s = -1 }
        end
        local rows = fleet_rows.compare(rows_of(list))
        assert.same({ true, "hit_ratio", false }, { rows[7].is_odd, rows[7].odd, rows[1].is_odd })
        assert.equal("!", fleet_table.column_of("far").text(rows[7]):sub(1, 1))
    end)
end)
