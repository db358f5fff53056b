-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's map of pages, and the moves below it.
require "support.world"
local model = require "slate.console.model"
local screens = require "screens"
local snapshot = require "slate.facts.snapshot"
local view = require "slate.console.views.pages"
local view_list = require "slate.console.view_list"
local shows = screens.shows

local POOL <const> = 0

local function slated()
    local made = screens.model("slated-0.1")
    screens.take_details(made, "slated-0.1-second", 13, 12)
    return screens.frame(made)
end

local function new_ui(cursor)
    local ui = { pages = view.state(), classes = {} }
    ui.pages.cursor = cursor
    return ui
end

local function drawn(frame, ui, width, height)
    return screens.text(screens.grid("views.pages", frame, width or 80, height or 24, ui or new_ui()))
end

-- A frame of a slated with one more snapshot, in which `change` changes its classes.
local function changed(change)
    local frame = slated()
    local part = screens.snapshot(screens.replies("slated-0.1-second"), 13)
    change(snapshot.by_id(part), part)
    frame.model:take(part, { at_s = 13, reply_ms = 0.4, wall_s = 1003 })
    return frame
end

describe("the map of pages", function()
    it("looks as it was reviewed: an estimate on memcached", function()
        assert.is_nil(screens.unlike_reviewed("Pages", "views.pages", new_ui))
    end)

    it("has a cell a page, the fullest first, and begins on the first class", function()
        local ui = new_ui()
        shows(drawn(slated(), ui), "EXACT: a cell is 1 page", "   13   1480 B    18 █████████████████▒\n")
        assert.equal(2, ui.pages.cursor)
    end)

    it("begins on the class that starves", function()
        local ui, frame = new_ui(), changed(function(classes)
            classes[3].free_chunks = 3 * classes[3].chunks_per_page
            classes[12].evicted = classes[12].evicted + 6000
        end)
        screens.go_on(frame.model, 2)
        drawn(frame, ui)
        assert.equal(12, ui.pages.cursor)
    end)

    it("has the class under the cursor that was chosen elsewhere, and the other way round", function()
        local ui, frame = view_list.ui(), slated()
        view_list.choose_class(ui, 13)
        drawn(frame, ui)
        assert.equal(13, ui.pages.cursor)
        view.command(frame, ui, "down")
        assert.same({ 14, 14 }, { ui.pages.cursor, ui.classes.cursor })
        view.command(frame, ui, "bottom")
        assert.same({ POOL, 14 }, { ui.pages.cursor, ui.classes.cursor })
        drawn(frame, ui)
        assert.equal(POOL, ui.pages.cursor)
    end)

    it("has several pages a cell in a large cache, and says how many", function()
        local list = {}
        for i = 0, 59999 do
            list[#list + 1] = ("STAT page:%d 13 owned %d 708 100 -\r\n"):format(i, i % 2 == 0 and 708 or 0)
        end
        local frame = changed(function(classes) classes[13].total_pages = 60000 end)
        frame.model.answers:take("pages", table.concat(list) .. "END\r\n", { at_s = 12, is_stats = true })
        local grid = screens.grid("views.pages", frame, 80, 24, new_ui())
        local text = screens.text(grid)
        assert.truthy(tonumber(text:match("a cell is (%d+)")) > 60000 / (20 * 59))
        shows(text, "13   1480 B 60000 ██", "·")
        assert.equal(0, grid.clipped)
    end)

    it("has ages of pages on slated only", function()
        local frame, ui = slated(), new_ui(13)
        view.command(frame, ui, "cell_mode")
        shows(drawn(frame, ui), "s seconds m minutes", "18 ssssssssssssssssss\n")
        frame = screens.frame(screens.model("memcached-1.6.18"))
        shows(drawn(frame), "ESTIMATED: a cell is 1 page")
        assert.is_nil(drawn(frame):find("aged", 1, true))
        assert.equal("say", view.command(frame, new_ui(), "cell_mode").kind)
    end)

    it("calls only a page without items empty", function()
        local frame = slated()
        frame.model.answers:take("pages", "STAT page:1 13 owned 3 708 5 -\r\nSTAT page:2 13 owned 0 708 5 -\r\nEND\r\n",
            { at_s = 12, is_stats = true })
        shows(drawn(frame, new_ui(13)), "2 pages: 1 empty, 1 more under 10 %")
        frame = screens.frame(screens.model("memcached-1.6.18"))
        frame.model:class(22).used_chunks = frame.model:class(22).used_chunks and 0
        shows(drawn(frame, new_ui(22)), "1 page: 1 empty, 0 more under 10 %")
        frame.model:class(4).total_pages, frame.model:class(4).used_chunks = 1, 3
        shows(drawn(frame, new_ui(4)), "1 page: 0 empty, 1 more under 10 %")
    end)

    it("is an estimate in the past", function()
        local frame = screens.frame(screens.model("slated-0.1"), { is_past = true })
        shows(drawn(frame), "ESTIMATED")
        frame.is_past = false
        shows(drawn(frame), "READING")
        frame.model.answers:take("pages", "STAT page:0 2 owned 10 20 5 -\r\nSTAT next 7\r\nEND\r\n",
            { at_s = 12, is_stats = true })
        shows(drawn(frame), "READING") -- a part of the list is no list
    end)

    it("scrolls to the cursor, and says that there is more", function()
        local ui = new_ui(POOL)
        shows(drawn(slated(), ui, 80, 14), "more ↑", "> pool ")
        assert.truthy(ui.pages.top > 1)
        ui.pages.cursor = 2
        shows(drawn(slated(), ui, 80, 14), ">   2", "more ↓")
        assert.equal(1, ui.pages.top)
    end)

    it("has no map of one heap, nor of nothing", function()
        local frame = slated()
        frame.model.now.store = "heap"
        shows(drawn(frame), "pages of classes need --store=slab; this server has heap")
        frame.model.now.store = "blocks"
        shows(drawn(frame), "EXACT")
        shows(drawn(screens.frame(model.new("cache7"))), "nothing is known about the server yet")
        assert.is_nil(view.command(screens.frame(model.new("cache7")), new_ui(), "move_pages"))
    end)
end)

describe("moving pages on the map", function()
    it("marks the emptiest pages of a class, which keeps its last one", function()
        local frame, ui = slated(), new_ui(13)
        assert.equal("say", view.command(frame, ui, "more_pages").kind)
        assert.equal("1 page of class 13 marked: + and - for more or fewer, then m on the receiver",
            view.command(frame, ui, "mark_source").text)
        view.command(frame, ui, "more_pages")
        view.command(frame, ui, "more_pages")
        shows(drawn(frame, ui), "◀  13", "18 ███████████████◆◆◆\n", "◆ 3 of class 13 marked (+ -): ")
        assert.equal("say", view.command(frame, ui, "move_pages").kind)
        for _ = 1, 40 do view.command(frame, ui, "more_pages") end
        assert.equal(17, ui.pages.marked)
        view.command(frame, ui, "mark_source")
        assert.same({ 0, nil }, { ui.pages.marked, ui.classes.source })
    end)

    for _, case in ipairs({ { "another class", 12 }, { "the pool", POOL } }) do
        it("opens the review with the pages marked, for " .. case[1], function()
            local frame, ui = slated(), new_ui(case[2])
            ui.classes.source, ui.pages.marked = 13, 3
            assert.same({ kind = "review", plan = { { from = 13, to = case[2], pages = 3 } } },
                view.command(frame, ui, "move_pages"))
        end)
    end

    it("shows what a move to the class under the cursor would bring", function()
        local frame, ui = slated(), new_ui(12)
        ui.classes.source, ui.pages.marked = 13, 3
        shows(drawn(frame, ui), "m: 3 pages from class 13: ", " points of hits")
    end)

    it("needs no page of the pool", function()
        local frame, ui = slated(), new_ui(POOL)
        shows(drawn(frame, ui), "\nf on a class, then m here: the pool gets its pages; any over the limit go back\n")
        ui.classes.source, ui.pages.marked = 13, 16
        shows(drawn(frame, ui), "items in them; m on the receiver\n")
        assert.equal("say", view.command(frame, new_ui(POOL), "mark_source").kind)
        assert.equal("say", view.command(frame, new_ui(POOL), "move_pages").kind)
    end)

    it("has the charts of the class under the cursor beside it from 160 columns on", function()
        local ui, wants = new_ui(12), { curves_first = {}, inquiries = {} }
        shows(drawn(slated(), ui, 160, 50), "─ class 12: ", "─ hits/s ─", "─ sizes: ")
        view.wants(ui, wants)
        assert.is_true(wants.inquiries.sizehist)
        local of_pool = new_ui(POOL)
        of_pool.classes.filter, of_pool.classes.window_s = "", 10
        shows(drawn(slated(), of_pool, 250, 60), "─ class 12, evictions/s ─") -- the pool has none
        ui, wants = new_ui(12), { curves_first = {}, inquiries = {} }
        assert.is_nil(drawn(slated(), ui, 159, 50):find("─ hits/s ─", 1, true))
        view.wants(ui, wants)
        assert.is_nil(wants.inquiries.sizehist)
    end)

    it("asks first for the curves of both classes", function()
        for _, case in ipairs({ { { 13, 12 }, 13, 12 }, { { 12 }, nil, 12 }, { { 13 }, 13, POOL } }) do
            local ui, wants = new_ui(case[3]), { curves_first = {}, inquiries = {} }
            ui.classes.source = case[2]
            view.wants(ui, wants)
            assert.same(case[1], wants.curves_first)
        end
    end)
end)

describe("the moves below the map", function()
    it("have the whole reason of a move, beside charts too; the last one shows where it is cut", function()
        local text = drawn(slated(), nil, 160, 50)
        local _, cut = text:gsub("pages? moved, lost[^\n]*…", "")
        shows(text, " page moved, lost ")
        assert.equal(1, cut, text)
        assert.is_nil(text:match("pages? moved, lost[^\n]*….* moved, lost"), text)
    end)

    it("have the flows, with those that came back as a warning, automove's reason, and the newest first", function()
        local text = drawn(slated(), nil, 160, 50)
        shows(text, "moves, automove utility", "pages moved lately   6→4 9 (and back)  5→4 9 (and back)  4→5 8",
            "now: class 5 would gain 0.32 hits a page", "5→11  1 page moved, lost 0  utility: class 11 evicts")
    end)

    it("have the pool by its name", function()
        local answer = "STAT mode off\r\nSTAT pages_moved 13\r\n"
        for name, value in pairs({ time = 5, mode = "order", from = 38, to = POOL, pages = 13, wanted = 13,
            rescued = 0, lost = 0, expired = 0, duration_us = 1, outcome = "moved", reason = "an order" }) do
            answer = ("%sSTAT 1:%s %s\r\n"):format(answer, name, value)
        end
        local frame = slated()
        frame.model.answers:take("moves", answer .. "END\r\n", { at_s = 12, is_stats = true })
        shows(drawn(frame, nil, 160, 50), "pages moved lately   38→pool 13", "  38→pool  13 pages moved")
    end)

    it("are the last events where the server lists none", function()
        local frame = screens.frame(screens.model("memcached-1.6.18"))
        frame.model:note("pages", 1000, "class 4: 64 → 63 pages")
        shows(drawn(frame), "─ events ─", "00:16:40 pages    class 4: 64 → 63 pages")
    end)
end)
