-- SPDX-License-Identifier: BSD-3-Clause
-- Every view at three sizes, and at a large one of two more servers, compared cell by cell with its reviewed screen; a
-- change of layout is a diff there.
-- SCREENS=update writes the files anew.
require "support.world"
local cells = require "slate.console.cells"
local keys = require "slate.console.keys"
local propose = require "slate.console.propose"
local review = require "slate.console.review"
local screen = require "slate.console.screen"
local screens = require "screens"
local view_list = require "slate.console.view_list"

local SIZES <const> = { { 60, 15 }, { 80, 24 }, { 160, 50 } }

describe("a screen", function()
    local frame = screens.frame(screens.look("memcached-1.6.18", 20))

    local function compare_one(of, name, size, prepare)
        local ui, grid = view_list.ui(), cells.new(size[1], size[2], false)
        prepare(ui)
        screen.draw(of, ui, grid)
        assert.is_nil(screens.difference(name, size[1], size[2], grid, 0, size[2] - 1))
    end

    local function compare(name, prepare)
        for _, size in ipairs(SIZES) do compare_one(frame, name, size, prepare) end
    end

    for index, view in ipairs(view_list.LIST) do
        it(("of %s is as it was reviewed"):format(view.title), function()
            compare(view.title, function(ui) view_list.open(ui, index) end)
        end)
    end

    for _, server in ipairs({ "memcached-1.6.45", "slated-0.1" }) do
        it("of every view is as it was reviewed at 250x60, of " .. server, function()
            local of = screens.model(server)
            local mark = { wall_s = 1000, server = "cache7:11211", snapshot = of.before }
            screens.go_on(of, 20)
            if server == "slated-0.1" then
                screens.take_details(of, "slated-0.1-second", 12, 12)
            end
            for i, kind in ipairs({ "pages", "setting", "alarm", "server", "you" }) do
                of:note(kind, 990 + i, "class 4: 64 → 62, class 12: 1 → 3 pages")
            end
            local one = screens.frame(of, { mark = mark })
            one.servers[2] = setmetatable({ server = 2, name = "cache8:11211", limit_bytes = 96 << 30 },
                { __index = one.servers[1] })
            for index, view in ipairs(view_list.LIST) do
                compare_one(one, server .. "-" .. view.title, { 250, 60 }, function(ui)
                    view_list.open(ui, index)
                end)
            end
            compare_one(one, server .. "-Class", { 250, 60 }, function(ui)
                view_list.open_class(ui, 12)
            end)
        end)
    end

    it("of one class, and of the zoomed graphs of the worst ones, is as it was reviewed", function()
        compare("Class", function(ui) view_list.open_class(ui, 12) end)
        compare("zoom", function(ui) ui.overview.is_zoomed = true end)
    end)

    it("has a panel that z zooms, and z brings back", function()
        local ui = view_list.ui()
        local function shows_after(key, words)
            local view, grid = view_list.current(ui), cells.new(160, 50, false)
            view.command(frame, ui, keys.command(key, view.scope))
            screen.draw(frame, ui, grid)
            screens.shows(screens.text(grid), words)
            assert.equal(0, grid.clipped)
        end
        shows_after("z", "─ class 12, hits/s ─")
        screens.shows(view_list.current(ui).command(frame, ui, "down").text, "z goes back")
        shows_after("z", "─ health ─")
        shows_after("z", "─ class 12, hits/s ─")
        shows_after("escape", "─ health ─")
        view_list.open(ui, view_list.index("classes"))
        shows_after("k", "─ sizes: 193 to 1184 B")
        shows_after("z", "every stat: value, change a second")
        shows_after("z", "3 classes by EV/s")
    end)

    it("has the class under the cursor in Overview also below a message of three lines", function()
        local model, ui, grid = screens.look("slated-0.1", 0), view_list.ui(), cells.new(80, 24, false)
        local said = screens.frame(model, { message = ("a page moved "):rep(18) })
        for _, key in ipairs({ "end", "up" }) do
            screen.draw(said, ui, grid)
            view_list.current(ui).command(said, ui, keys.command(key, "overview"))
            screen.draw(said, ui, grid)
            local shown = screens.text(grid)
            assert.truthy(shown:find((">%2d "):format(ui.classes.cursor), 1, true), shown)
            assert.truthy(shown:find("more: press 2", 1, true), shown)
        end
    end)

    it("with help, and with a review, is as it was reviewed", function()
        compare("help", function(ui) ui.help.is_open = true end)
        compare("review", function(ui) review.open(ui, propose.move(frame, 12, 4).plan) end)
    end)

    it("is drawn at any size, of any server, live or not", function()
        for _, server in ipairs({ "memcached-1.4.25", "memcached-1.6.45-extstore", "memcached-1.6.45-proxy",
            "slated-0.1" }) do
            local of = screens.model(server)
            if server == "slated-0.1" then
                screens.take_details(of, "slated-0.1-second", 12, 12)
            end
            for _, one in ipairs({ screens.frame(of), screens.frame(require("slate.console.model").new("x")) }) do
                for index = 1, #view_list.LIST do
                    for _, size in ipairs({ { 10, 3 }, { 60, 15 }, { 250, 60 } }) do
                        local ui, grid = view_list.ui(), cells.new(size[1], size[2], false)
                        view_list.open(ui, index)
                        screen.draw(one, ui, grid)
                        assert.is_true(#screens.text(grid) > 0)
                    end
                end
            end
        end
    end)
end)
