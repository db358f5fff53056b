-- SPDX-License-Identifier: BSD-3-Clause
-- The table of classes in slatetop: its rows, filters, columns and cursor, and the view around it.
require "support.world"
local cells = require "slate.console.cells"
local columns = require "slate.console.draw.class_columns"
local columns_overlay = require "slate.console.overlay.columns"
local class_filter = require "slate.console.draw.class_filter"
local class_table = require "slate.console.draw.class_table"
local classes = require "slate.console.views.classes"
local filter = require "slate.console.overlay.filter"
local gather = require "slate.base.gather"
local model_facts = require "slate.console.model"
local rules = require "slate.judge.rules"
local screens = require "screens"
local view_list = require "slate.console.view_list"

local function ids(model, ui)
    local list = gather.values(class_table.rows(model, ui), "id")
    return table.concat(list, " ")
end

local function draw(model, ui, width, height)
    local grid = screens.grid("views.classes", screens.frame(model), width or 80, height or 24, ui)
    return screens.text(grid), grid
end

local function shows(text, words)
    return text:find(words, 1, true) ~= nil
end

describe("the table of classes", function()
    local model, ui

    before_each(function()
        model, ui = screens.look("memcached-1.6.18", 0), class_table.state()
    end)

    it("says how many pages a class without items has to spare, in the longest form that fits", function()
        local class_state, row = require "slate.console.draw.class_state", { state = "empty", pages = 9 }
        for width, words in pairs({ [20] = "empty, 9 spare pages", [15] = "empty, 9 spare", [11] = "9 spare" }) do
            assert.equal(words, class_state.words(row, width))
        end
        assert.equal("empty, 1 spare page", class_state.words({ state = "empty", pages = 1 }))
        assert.equal("empty", class_state.words({ state = "empty", pages = 0 }, 11))
        model.rows = { [4] = { id = 4, state = "empty", pages = 64 } }
        for width, words in pairs({ [96] = " empty, 64 spare ", [138] = " empty, 64 spare pages " }) do
            screens.shows(screens.text(screens.grid("views.classes", screens.frame(model), width, 24)), words)
        end
        for width, words in pairs({ [60] = "64 spare", [80] = "empty, 64 spare", [160] = "empty, 64 spare pages" }) do
            screens.shows(screens.text(screens.grid("views.overview", screens.frame(model), width, 24)),
                ("  %s\n"):format(words))
        end
    end)

    it("is sorted by the chosen column, equal rows by class id", function()
        assert.equal("12 22 4", ids(model, ui))
        ui.sort = columns.named("pages")
        assert.equal("4 12 22", ids(model, ui))
        ui.is_ascending = true
        assert.equal("12 22 4", ids(model, ui))
        for _, column in ipairs(columns.LIST) do
            ui.sort = column
            assert.equal(3, #class_table.rows(model, ui), column.head)
        end
    end)

    it("is sorted by an operator's own columns: rows without a value last, texts by their letters", function()
        model.rules = rules.for_screen("mine.lua", [[return { columns = {
            { title = "FAR", value = function(row) return row.id ~= 12 and 100 - row.id or nil end },
            { title = "WORD", value = function(row) return row.id == 4 and "b" or "a" end },
            { title = "NAN", value = function() return 0 / 0 end } } }]])
        local far, word, unknown = table.unpack(columns.own(model.rules))
        assert.equal("FAR", far.head)
        for _, one in ipairs({ { far, false, "4 22 12" }, { far, true, "22 4 12" }, { word, true, "12 22 4" },
            { word, false, "4 12 22" }, { unknown, false, "4 12 22" } }) do
            ui.sort, ui.is_ascending = one[1], one[2]
            assert.equal(one[3], ids(model, ui), one[1].head)
        end
        local grid = cells.new(160, 10)
        class_table.draw(model, ui, grid, cells.area(0, 0, 10, 160))
        assert.truthy(screens.text(grid):find("FAR +WORD +NAN▼ +STATE"))
        assert.truthy(screens.text(grid):find(" 78 +a +%-"))
        class_table.step_sort(ui, 1)
        assert.equal("class", ui.sort.name)
    end)

    it("has rows of unknown values last both ways", function()
        model.now.classes[2].age = nil
        ui.sort = columns.named("age")
        for _, is_ascending in ipairs({ false, true }) do
            ui.is_ascending = is_ascending
            assert.truthy(ids(model, ui):find("12$"))
        end
    end)

    it("shows the classes that pass a filter", function()
        for text, rows in pairs({ [""] = 3, ["ev>0"] = 2, ["size>=1000 pages=1"] = 2, ["12"] = 1, ["pages>1"] = 1,
            ["size<200"] = 1, ["ev>1000000000"] = 0, ["  ev>0   12 "] = 1, ["class<=12"] = 2, ["usedpct>50"] = 3 }) do
            ui.filter = text
            assert.truthy(class_filter.parse(text), text)
            assert.equal(rows, #class_table.rows(model, ui), text)
        end
        for word in ("ev ev> >3 ev>>3 ev=>3 nosuch>1 ev>1x ev>nan ev>1e999 2x"):gmatch("%S+") do
            local terms, why = class_filter.parse("ev>0 " .. word)
            assert.is_nil(terms)
            assert.equal(("filter: '%s' is not understood; try ev>0, size>=1000 or a class number"):format(word), why)
        end
    end)

    it("has a dash for what is unknown, never zero", function()
        local bare = model_facts.new("x")
        bare:take(screens.snapshot({ ["stats slabs"] = "STAT 7:nonsense 1\r\n" }), { at_s = 1, wall_s = 1 })
        for i = 2, #columns.LIST do
            assert.equal("-", columns.text(columns.LIST[i], bare, bare:class(7), 1), columns.LIST[i].head)
        end
    end)

    it("has no text wider than its column", function()
        model = screens.look("memcached-1.6.45", 0)
        for _, class in ipairs(model.now.classes) do
            for _, column in ipairs(columns.LIST) do
                local text = columns.text(column, model, class, 1)
                assert.truthy(cells.width_of(text) <= column.width, column.head .. " " .. text)
            end
        end
    end)

    it("keeps the cursor on its class", function()
        local area, grid = cells.area(0, 0, 20, 80), cells.new(80, 20)
        class_table.draw(model, ui, grid, area)
        assert.equal(12, ui.cursor)
        class_table.move_cursor(model, ui, 1)
        ui.sort = columns.named("pages")
        class_table.draw(model, ui, grid, area)
        assert.equal(22, ui.cursor)
        class_table.move_cursor(model, ui, 1000)
        class_table.move_cursor(model, ui, 1)
        assert.equal(22, ui.cursor)
        class_table.move_cursor(model, ui, -1000)
        assert.equal(4, ui.cursor)
        ui.filter = "ev>1000000000"
        class_table.draw(model, ui, grid, area)
        assert.is_nil(ui.cursor)
    end)

    it("says why it has no rows", function()
        local whole = view_list.ui()
        whole.classes.filter = "ev>1000000000"
        assert.truthy(shows(draw(model, whole), "no class passes the filter"))
        local bare = model_facts.new("x")
        bare:take(screens.snapshot({ ["stats"] = "STAT pid 1\r\n" }), { at_s = 1, wall_s = 1 })
        assert.truthy(shows(draw(bare, view_list.ui()), "this server does not report its classes"))
    end)
end)

describe("the view of classes", function()
    local model, ui, frame

    before_each(function()
        model, ui = screens.look("memcached-1.6.18", 20), view_list.ui()
        frame = screens.frame(model)
    end)

    it("is as it was reviewed", function()
        for _, size in ipairs({ { 80, 24 }, { 160, 50 } }) do
            local grid = screens.grid("views.classes", frame, size[1], size[2], ui)
            assert.is_nil(screens.difference("Classes", size[1], size[2], grid))
        end
    end)

    it("says that there are more classes beside whole sums, at 60 columns, too", function()
        local of = screens.look("slated-0.1", 20)
        screens.shows(draw(of, ui, 60, 14), " 13813    245  6↓\n")
        screens.shows(draw(of, ui, 80, 14), " 13813   4482    245   5 more ↓\n")
        local one = of.classes[12]
        one.evicted, one.evicted_unfetched, one.expired_unfetched = 123456, 98765, 87654
        ui.classes.cursor = 12
        local text, grid = draw(of, ui, 100, 40)
        screens.shows(text, "so far: 123K evicted, 98765 of them unread; 87654 expired unread; 0 refused for want of ")
        assert.equal(0, grid.clipped)
    end)

    it("has the class under the cursor beside the table from 160 columns on, with its curve if sampled", function()
        local of = screens.look("slated-0.1", 20)
        screens.take_details(of, "slated-0.1-second", 12, 12)
        ui.classes.cursor = 12
        local text = draw(of, ui, 160, 50)
        screens.shows(text, "class 12: evicting", "items by segment", "─ rates ─", "─ evictions/s ─", "─ hits/s ─",
            "─ pages ─", "LRU model of class 12")
        local wants = { inquiries = {}, curves_first = {} }
        classes.wants(ui, wants)
        assert.same({ 12 }, wants.curves_first)
        assert.is_false(shows(draw(of, ui, 159, 50), "LRU model"))
        wants = { inquiries = {}, curves_first = {} }
        classes.wants(ui, wants) -- a small screen asks for nothing
        assert.same({ inquiries = {}, curves_first = {} }, wants)
    end)

    it("keeps a typed filter that is none, with the reason, until it is one", function()
        local function type_text(text)
            for character in text:gmatch(".") do filter.command(frame, ui, nil, character) end
        end
        filter.open(ui, classes)
        type_text("ev>>>1")
        filter.command(frame, ui, "accept", "enter")
        assert.same({ true, "ev>>>1", "" }, { ui.filter.is_open, ui.filter.typed, ui.classes.filter })
        assert.truthy(shows(ui.filter.why, "'ev>>>1' is not understood"))
        filter.command(frame, ui, "back", "backspace")
        assert.equal("", ui.filter.why)
        for _ = 1, 10 do filter.command(frame, ui, "back", "backspace") end
        type_text("12")
        filter.command(frame, ui, "accept", "enter")
        assert.is_false(ui.filter.is_open)
        local text = draw(model, ui)
        assert.truthy(shows(text, "1 classes") and shows(text, "filter: 12"))
    end)

    local function choose(name, toggles)
        ui.columns.cursor = 1
        while ui.classes.order[ui.columns.cursor].name ~= name do
            columns_overlay.command(frame, ui, "down")
        end
        for _ = 1, toggles do columns_overlay.command(frame, ui, "toggle") end
    end

    it("shows the columns that are chosen, in their order, and sorts by no other", function()
        local text, grid = draw(model, ui)
        assert.truthy(not shows(text, "WST%") and shows(text, "SET/s"))
        classes.command(frame, ui, "columns")
        assert.is_true(ui.columns.is_open)
        columns_overlay.draw(frame, ui, grid)
        text = screens.text(grid)
        for _, words in ipairs({ "columns: Space shows or hides", "▶ room", "slab class id" }) do
            assert.truthy(shows(text, words), words)
        end
        choose("waste", 1)
        choose("sets", 2)
        choose("ev", 0)
        for _ = 1, #columns.LIST do columns_overlay.command(frame, ui, "earlier") end
        columns_overlay.command(frame, ui, "cancel")
        assert.is_false(ui.columns.is_open)
        text = draw(model, ui)
        assert.truthy(shows(text, "WST%") and not shows(text, "SET/s"))
        assert.truthy(text:find("EV/s", 1, true) < text:find("SIZE", 1, true))
        text, grid = draw(model, ui, 40, 10)
        assert.truthy(shows(text, "WST%"))
        assert.equal(0, grid.clipped)
        draw(model, ui, 300, 24)
        for _ = 1, 3 * #columns.LIST do
            class_table.step_sort(ui.classes, 1)
            assert.not_equal("sets", ui.classes.sort.name)
        end
        columns_overlay.command(frame, ui, "reset")
        text = draw(model, ui)
        assert.truthy(shows(text, "SET/s") and not shows(text, "WST%"))
        for _ = 1, #columns.LIST do
            class_table.step_sort(ui.classes, -1)
            assert.truthy(shows(draw(model, ui), ui.classes.sort.head))
        end
    end)

    it("turns the order round at a second click on a head, and marks a clicked row", function()
        local _, grid = draw(model, ui)
        local kind, value = grid:hot_at(2, 4)
        assert.equal("sort", kind)
        classes.click(ui, kind, value)
        assert.same({ "class", true }, { ui.classes.sort.name, ui.classes.is_ascending })
        classes.click(ui, kind, value)
        assert.is_false(ui.classes.is_ascending)
        classes.click(ui, grid:hot_at(4, 20))
        assert.equal(22, ui.classes.cursor)
    end)

    it("marks a source, and unmarks it", function()
        draw(model, ui)
        assert.equal("class 12 is the source: go to the class that needs the pages and press m",
            classes.command(frame, ui, "mark_source").text)
        assert.truthy(shows(draw(model, ui), "◀!"))
        assert.truthy(shows(draw(model, ui), "from: class 12 ◀"))
        assert.equal("no source is marked", classes.command(frame, ui, "mark_source").text)
        assert.is_nil(ui.classes.source)
    end)

    it("hides idle classes, and has means over 1, 10 and 100 s", function()
        classes.command(frame, ui, "window")
        assert.equal(100, ui.classes.window_s)
        classes.command(frame, ui, "window")
        assert.equal(1, ui.classes.window_s)
        for _, class in ipairs({ 12, 22 }) do
            for _, name in ipairs({ "hits", "sets", "evictions" }) do
                model.class_metrics[class][name] = 0
            end
        end
        classes.command(frame, ui, "idle_rows")
        assert.equal("4", ids(model, ui.classes))
    end)
end)

describe("the view of one class", function()
    local class = require "slate.console.views.class"

    local function draw_class(model, ui, width, height, fields)
        local grid = screens.grid("views.class", screens.frame(model, fields), width, height, ui)
        return screens.text(grid), grid
    end

    it("shows rates, moves and every stat, with their change", function()
        local model, ui = screens.look("slated-0.1", 0), view_list.ui()
        view_list.open_class(ui, 12)
        screens.take_details(model, "slated-0.1-first", 12, 10)
        screens.take_details(model, "slated-0.1-second", 12, 12)
        local text, grid = draw_class(model, ui, 160, 50)
        for _, words in ipairs({ "class 12: ", "items by segment: hot ", "; policy ", "unread ev/s", "automove ",
            "idle time at eviction  1s ", "every stat: value, change a second", "chunk_size",
            "─ sizes: 945 to 1184 B, mean 1064 B", "─ LRU model of class 12: " }) do
            assert.truthy(shows(text, words), words)
        end
        assert.equal(0, grid.clipped)
    end)

    it("says what is missing", function()
        local model, ui = screens.look("memcached-1.6.18", 0), view_list.ui()
        view_list.open_class(ui, 12)
        assert.truthy(shows(draw_class(model, ui, 80, 40), "waiting for the server"))
        local recorded = draw_class(model, ui, 80, 40, { is_replay = true })
        assert.truthy(shows(recorded, "stats of the class that are recorded") and shows(recorded, "evicted_unfetched"))
        view_list.open_class(ui, 99)
        assert.truthy(shows(draw_class(model, ui, 80, 24), "class 99: the server does not list it (Esc goes back)"))
    end)

    it("goes on in the order of the table, and scrolls its stats", function()
        local model, ui = screens.look("memcached-1.6.18", 0), view_list.ui()
        local frame = screens.frame(model)
        view_list.open_class(ui, 12)
        for _, one in ipairs({ { "next_class", 22 }, { "next_class", 4 }, { "previous_class", 22 } }) do
            class.command(frame, ui, one[1])
            assert.equal(one[2], ui.focus)
        end
        screens.take_details(model, "memcached-1.6.18-second", 22, 12)
        assert.truthy(shows(draw_class(model, ui, 40, 16), " more: Down"))
        class.command(frame, ui, "bottom")
        assert.truthy(shows(draw_class(model, ui, 40, 16), " more: Up"))
        class.command(frame, ui, "close_class")
        assert.is_false(ui.class_is_open)
    end)
end)

describe("views of classes", function()
    local function each_drawing(servers, is_ascii, check)
        for _, server in ipairs(servers) do
            local model = server == "" and model_facts.new("x") or screens.look(server, 2)
            for _, size in ipairs({ { 40, 10 }, { 60, 17 }, { 80, 24 }, { 132, 43 }, { 238, 61 } }) do
                for _, name in ipairs({ "overview", "classes", "class" }) do
                    local ui, grid = view_list.ui(), cells.new(size[1], size[2], is_ascii)
                    view_list.open_class(ui, 12)
                    view_list.module(name).draw(screens.frame(model), ui, grid,
                        cells.area(2, 0, size[2] - 4, size[1]))
                    check(grid, ("%s of %s at %dx%d"):format(name, server, size[1], size[2]))
                end
            end
        end
    end

    it("fit every size, also before the first reply", function()
        each_drawing({ "", "memcached-1.4.25", "memcached-1.6.45-extstore", "slated-0.1" }, false, function(grid, words)
            assert.equal(0, grid.clipped, words)
        end)
    end)

    it("name the class that starves, in ASCII, too", function()
        each_drawing({ "memcached-1.4.25" }, true, function(grid, words)
            local text = screens.text(grid)
            assert.is_nil(text:find("[\x80-\xff]"), words)
            assert.truthy(text:find("starves", 1, true) or text:find("STARVING", 1, true), words)
        end)
    end)
end)
