-- SPDX-License-Identifier: BSD-3-Clause
-- The view Fleet of slatetop: its reviewed screens, its rows, and what keys do.
require "support.world" -- its interpreter has slate.console.cells
local fleet = require "slate.console.views.fleet"
local fleet_rows = require "slate.console.fleet_rows"
local fleet_table = require "slate.console.draw.fleet_table"
local gather = require "slate.base.gather"
local health = require "slate.console.health"
local model = require "slate.console.model"
local question = require "slate.console.question"
local screens = require "screens"

-- The frame of some models, each a server.
local function frame_of(models, fields)
    local rows = gather.values(models, function(one, i)
        return fleet_rows.row(i, { model = one, now_s = 12.4, interval_s = 1 }, 0)
    end)
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
        dead:set_link("down", "refused (cache9:11211)", 1050)
        local frame = frame_of({ one, dead })
        frame.servers[2].retry_s = 14
        local text = drawn(frame)
        assert.truthy(text:find("!> cache9:11211 +down: refused, next try in 2 s"), text)
        screens.shows(text, "2 servers, 1 up", "\ncache9:11211: refused; C connects now\n") -- its address once
    end)

    it("shows the order by an arrow at the head", function()
        local frame, ui = frame_of({ one }), fleet.state()
        assert.truthy(drawn(frame, ui):find("STATE▼", 1, true))
        fleet.click({ fleet = ui }, "sort", fleet_table.column_of("hit_ratio").index)
        assert.truthy(drawn(frame, ui):find("HIT%▲", 1, true))
    end)

    it("shows the cursor, marks, and where a change would go", function()
        local ui = fleet.state()
        local frame = frame_of({ one, model.new("cache9:11211") })
        ui.marked, ui.cursor = { true }, 2
        for _, height in ipairs({ 24, 15 }) do
            local text = drawn(frame, ui, 80, height)
            screens.shows(text, "! ◆cache7:11211", "!> cache9:11211", "◆ 1 marked: t, u and :set go to it; m unmarks")
        end
        ui.marked = { true, true }
        screens.shows(drawn(frame, ui), "!>◆cache9:11211", "◆ 2 marked: t, u and :set go to them; m unmarks")
    end)

    it("shows the port of every server, and the end of a path", function()
        for name, shown in pairs({ ["tls://cache-production-7.example.com:11217"] = "tls://cache-pr…:11217",
            ["/a/very/long/path/of/a/socket/one.sock"] = "…of/a/socket/one.sock" }) do
            local text = drawn(frame_of({ model.new(name) }))
            assert.truthy(text:find("!> " .. shown, 1, true), text)
        end
    end)

    -- The only finding on a server; nil: none.
    local function found(of, finding)
        local findings = question.findings(of)
        table.move({ finding }, 1, math.max(#findings, 1), 1, findings)
    end

    -- By a state: what happens to a model that has seen a server.
    for state, happens in pairs({
        ["starves 1"] = function() end,
        ["down: refused, next try in 2 s"] = function(of) of:set_link("down", "refused", 1050) end,
        ["stalled: no answer for 9s"] = function(of) of.at_s = 3.4 end,
        ["measuring"] = function(of) of.before = nil end,
        ["restarted 3s ago"] = function(of)
            of.now.general.uptime, of.cached = 3, {}
            of.observer.incidents.lately = function(_, name)
                return name == "restart" and { name = name, to_s = of.now.time_s - 1 } or nil
            end
            for _, finding in ipairs(question.findings(of)) do
                if finding.label == "restart" then
                    found(of, finding)
                end
            end
        end,
        ["ok"] = function(of)
            of.rows = {}
            found(of)
        end,
        ["slow 470 ms"] = function(of)
            of.rows, of.reply_ms = {}, 470
            found(of)
        end,
        ["hits are few"] = function(of)
            of.rows = {}
            found(of, { text = "hits are few", tone = "warn" })
        end,
    }) do
        it("has the state of a server: " .. state, function()
            local of = screens.look("memcached-1.6.18", 20)
            happens(of)
            local frame = frame_of({ of })
            frame.servers[1].retry_s = 14
            assert.truthy(drawn(frame):find("[ ]" .. state .. "\n"), drawn(frame))
        end)
    end

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
        local places = gather.values(fleet_table.sorted(rows_of(list), ui or {}), "server")
        return table.concat(places, " ")
    end

    it("is worst first: down, bad, odd, warned, noted, evicting", function()
        local list = { { evictions_per_s = 1 }, { evictions_per_s = 9 }, { tone = "note" }, { tone = "warn" },
            { tone = "warn", is_odd = true, far = 4 }, { tone = "warn", is_odd = true, far = 9 },
            { tone = "bad", evictions_per_s = 0 }, { is_up = false } }
        assert.equal("8 7 6 5 4 3 2 1", order(list))
        assert.equal("1 2 3 4 5 6 7 8", order(list, { is_ascending = true }))
        assert.equal("1 2 3", order({ { evictions_per_s = 40 }, { evictions_per_s = 60 }, { evictions_per_s = 50 } }),
            "rows that evict about alike keep their places")
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
        assert.equal("STATE", fleet_table.sort_column(at).head)
        fleet.command(frame, ui, "sort_previous")
        assert.equal("MS", fleet_table.sort_column(at).head)
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
        for i = 1, 7 do list[i] = { hit_ratio = i == 7 and 0.2 or 0.9, evictions_per_s = -1 } end
        local rows = fleet_rows.compare(rows_of(list))
        assert.same({ true, "hit_ratio", false }, { rows[7].is_odd, rows[7].odd, rows[1].is_odd })
        assert.equal("!", fleet_table.column_of("far").text(rows[7]):sub(1, 1))
    end)

    it("say in STATE how an outlier is odd, unless it has a worse state, and mark its row", function()
        local list = rows_of({ {}, {}, {}, {}, {}, {}, {}, {}, {} })
        for i, row in ipairs(list) do
            row.hit_ratio, row.words = (i == 7 or i == 8) and 0.2 or 0.9, "no faults"
            row.model = { link = "up", events = {} }
            row.hits, row.evictions, row.state = { n = 0 }, { n = 0 }, i == 8 and "starves 1" or "ok"
            row.tone = i == 8 and "bad" or "good"
        end
        local frame = screens.frame(screens.look("memcached-1.6.18", 20))
        local slow = screens.look("memcached-1.6.18", 20)
        slow.reply_ms = 470
        local slow_line
        for _, line in ipairs(health.lines({ model = slow, now_s = slow.at_s, interval_s = 1 })) do
            slow_line = (line.short or ""):find("^slow") and line or slow_line
        end
        list[9].hit_ratio, list[9].state, list[9].tone = 0.2, slow_line.short, slow_line.tone
        frame.servers = fleet_rows.compare(list)
        assert.equal("odd: few hits", list[9].state)
        local text = drawn(frame, nil, 200, 24)
        screens.shows(text, "odd: few hits  hits 70 points below the middle; no faults", "starves 1")
        assert.truthy(text:find("\n●[> ] 7 .*odd: few hits"), text)
    end)

    it("has few hits as its state with fewer than four servers, too, above those that are ok", function()
        local of, calm = screens.look("memcached-1.6.18", 20), screens.look("memcached-1.6.18", 20)
        local function only(one, name)
            one.cached = {}
            local list = question.findings(one)
            for i = #list, 1, -1 do
                if list[i].label ~= name then
                    table.remove(list, i)
                end
            end
        end
        of.observer.lately = function() return { hit_ratio = 0.025, reads = 9000, for_s = 10 } end
        only(of, "hits")
        only(calm, "")
        local text = drawn(frame_of({ calm, of }))
        assert.truthy(text:find("\n·> cache7:11211 [^\n]* few hits\n   cache7:11211 [^\n]* ok\n"), text)
    end)

    it("compares no server before its fifth minute, and no age where nothing is evicted", function()
        local function odd(last)
            local list = {}
            for i = 1, 6 do
                list[i] = { hit_ratio = 0.9, age_s = 900, evictions_per_s = 10, uptime_s = 9000 }
            end
            list[7] = last
            local rows = fleet_rows.compare(rows_of(list))
            return rows[7].is_odd, rows[7].odd
        end
        assert.same({ true, "hit_ratio" }, { odd({ hit_ratio = 0.2, uptime_s = 300 }) })
        assert.same({ false }, { odd({ hit_ratio = 0.2, uptime_s = 299 }) })
        assert.same({ true, "age_s" }, { odd({ hit_ratio = 0.9, age_s = 9, evictions_per_s = 10, uptime_s = 9000 }) })
        assert.is_false(odd({ hit_ratio = 0.9, age_s = 9, evictions_per_s = 0, uptime_s = 9000 }))
    end)
end)
