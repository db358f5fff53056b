-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's first screen.
require "support.world"
local cells = require "slate.console.cells"
local filter = require "slate.console.overlay.filter"
local gather = require "slate.base.gather"
local keys = require "slate.console.keys"
local screen = require "slate.console.screen"
local screens = require "screens"
local overview = require "slate.console.views.overview"
local snapshot = require "slate.facts.snapshot"
local view_list = require "slate.console.view_list"

local function draw(model, width, height, fields, ui)
    local grid = screens.grid("views.overview", screens.frame(model, fields), width or 80, height or 24,
        ui or view_list.ui())
    return screens.text(grid), grid
end

local function shows(text, words)
    return text:find(words, 1, true) ~= nil
end

describe("the overview", function()
    it("is as it was reviewed", function()
        local model = screens.look("memcached-1.6.18", 20)
        for _, size in ipairs({ { 80, 24 }, { 160, 50 } }) do
            local _, grid = draw(model, size[1], size[2])
            assert.is_nil(screens.difference("Overview", size[1], size[2], grid))
        end
    end)

    it("shows faults, the keys that help, and the classes that evict", function()
        local text = draw(screens.look("memcached-1.4.25", 2))
        for _, words in ipairs({ "! BAD   class 12 starves: it evicts 100 items a second, which live 7s, while\n",
            "        class 4 has 7 free pages\n", "WARN  slab_reassign is off",
            "hit %               75.0", "ops/s                300",
            "items   48 MiB", "of 64 MiB", "conns     10 of -", "class 12: 1.6 % of the pages, 100 % of the evictions",
            "!>12   1184     1    1.6% █             100% ███████████", "     7s  STARVING",
            "evictions/s          100      100     100     100" }) do
            assert.truthy(shows(text, words), words)
        end
    end)

    it("counts the lines of health without room, and cuts no sentence", function()
        local model = screens.look("memcached-1.6.18", 20)
        local found, many = require("slate.console.question").findings(model), {}
        for i = 1, 6 do
            many[i] = { tone = "warn", text = ("fault %d is told in a sentence that takes two rows of a small screen:")
                :format(i) .. " the end of it is here" }
        end
        table.move(many, 1, math.max(#found, #many), 1, found)
        for _, size in ipairs({ { 60, 15 }, { 80, 24 }, { 150, 50 } }) do
            local text = draw(model, size[1], size[2]):gsub("%s+", " ")
            local _, whole = text:gsub("the end of it is here", "")
            local _, begun = text:gsub("fault %d is told", "")
            local more = tonumber(text:match("health: (%d+) more on a taller screen")) or 0
            assert.same({ begun, true }, { whole, more >= 6 - whole }, text)
        end
    end)

    it("has the class under the cursor beside its list from 160 columns on, and no rows of zeros", function()
        local model, ui = screens.look("memcached-1.6.18", 20), view_list.ui()
        local text = draw(model, 160, 50, nil, ui)
        screens.shows(text, "─ class 12: STARVING ─", "─ hits/s ─", "─ sizes: ",
            "0 in all samples: out of memory/s, refused conns/s, expired unread/s")
        assert.is_nil(text:find("\nrefused conns", 1, true))
        local wants = { inquiries = {}, curves_first = {} }
        overview.wants(ui, wants)
        assert.same({ 12 }, wants.curves_first)
        view_list.choose_class(ui, 22)
        screens.shows(draw(model, 160, 50, nil, ui), "─ class 22: no gain ─")
        wants = { inquiries = {}, curves_first = {} }
        assert.is_nil(draw(model, 159, 50, nil, ui):find("─ hits/s ─", 1, true))
        overview.wants(ui, wants) -- a smaller screen asks for nothing
        assert.same({ inquiries = {}, curves_first = {} }, wants)
    end)

    it("has a whole line of memory, however long its figures are", function()
        local model = screens.look("memcached-1.4.25", 2)
        model.now.general.bytes, model.now.general.limit_maxbytes = 703 * 1024 + 400, 1000 << 20
        assert.truthy(draw(model):find("items 703%.4 KiB %[%S+%] of 1000 MiB, slack [%d.]+ %a*B\n"), draw(model))
    end)

    it("gives the room of good lines to classes on a small screen, while a class starves", function()
        local model = screens.look("memcached-1.4.25", 2)
        assert.is_false(shows(draw(model), "○ ok"))
        assert.truthy(shows(draw(model, 160, 50), "○ ok    hit ratio"))
    end)

    it("shows the classes that pass the filter of Classes, which its heading names", function()
        local frame, ui = screens.frame(screens.look("memcached-1.6.18", 20)), view_list.ui()
        local function after(...)
            for _, key in ipairs({ ... }) do
                if key == "/" then
                    filter.open(ui, overview)
                elseif view_list.is_open(ui, "filter") then
                    filter.command(frame, ui, keys.command(key, "filter"), key)
                else
                    overview.command(frame, ui, keys.command(key, "overview"))
                end
            end
            local grid = cells.new(80, 24, false)
            screen.draw(frame, ui, grid)
            return screens.text(grid)
        end
        screens.shows(after("/", "e", "v", ">", "0"), "filter: ev>0_", "class 12: 1.5 % of the pages")
        local text = after("enter")
        screens.shows(text, "─ filter: ev>0 ─", "!>12   1184     1    1.5%", "  22  11104     1    1.5%")
        assert.is_false(shows(text, "  4    192"))
        screens.shows(after("down"), " >22  11104")
        screens.shows(after("/", "x", "enter"), "filter: 'x' is not understood") -- typed in place of ev>0
        ui.classes.filter, ui.filter.is_open = "size>99999999", false
        screens.shows(after("up"), "─ filter: size>99999999 ─", "no class passes the filter: / changes it")
        screens.shows(after("z"), "no class passes the filter: / changes it")
    end)

    it("names no key for the past", function()
        local text = draw(screens.look("memcached-1.4.25", 2), 80, 24, { is_replay = true })
        assert.truthy(shows(text, "starves"))
        assert.is_false(shows(text, ": press m"))
    end)

    it("keeps a spike from flattening a minute", function()
        local model = screens.look("memcached-1.4.25", 20)
        local spike = {}
        for name, value in pairs(model.now) do spike[name] = value end
        spike.general = setmetatable({}, nil)
        for name, value in pairs(model.now.general) do spike.general[name] = value end
        spike.general.evictions = spike.general.evictions + 1000000
        model:take(spike, { at_s = model.at_s + 1, reply_ms = 0.4, wall_s = 1100 })
        assert.truthy(shows(draw(model), "400+"))
    end)

    it("has the graphs of the classes that evict most beside it from 240 columns on", function()
        local model = screens.look("memcached-1.6.18", 20)
        local text = draw(model, 250, 60)
        for _, id in ipairs({ 12, 22, 4 }) do
            screens.shows(text, ("class %d, evictions/s"):format(id), ("class %d, hits/s"):format(id))
        end
        assert.is_false(shows(draw(model, 239, 60), "class 22, evictions/s"))
    end)

    it("has heads and a title that do not overlap at 60 columns", function()
        local text = draw(screens.look("slated-0.1", 20), 60, 20)
        screens.shows(text, "PAGES  % PAGES    % EVICTED    LIFE  STATE", " more: press 2 ")
        screens.shows(draw(screens.look("memcached-1.6.18", 20), 60, 15), "─ classes ─", " more: press 2 ")
    end)

    it("says between which values the graph of hits lies", function()
        screens.shows(draw(screens.look("memcached-1.6.18", 20)), "77.8   76-78 ")
    end)

    it("says once that no server answers at the start, and what to look at", function()
        local down = require("slate.console.model").new("cache7:11211")
        down:set_link("down", "cannot connect", 1000)
        local grid = cells.new(80, 24, false)
        screen.draw(screens.frame(down), view_list.ui(), grid)
        local _, count = screens.text(grid):gsub("cannot connect", "")
        assert.equal(1, count)
        screens.shows(screens.text(grid), "cannot connect: press C",
            "Is it the right port? Start with slatetop HOST:PORT")
        assert.is_false(shows(screens.text(grid), "─ rates")) -- nor headings of nothing
        assert.is_false(shows(screens.text(grid), "does not report its classes")) -- nothing is known of it
    end)

    it("says which option trusts a certificate, and does not doubt the port of a server that has one", function()
        local down = require("slate.console.model").new("tls://cache7:11211")
        down:set_link("down", "no TLS with tls://cache7:11211: the server's certificate: self-signed certificate", 1000)
        local text = draw(down)
        screens.shows(text, "the server's certificate: self-signed", "-A FILE names certificates to trust")
        assert.is_false(shows(text, "right port"))
    end)

    it("asks for a login alone where a server wants one, or another: neither C nor another port helps", function()
        local wants <const>, refuses <const> = "it wants a login: start with -P FILE",
            "login refused: wrong user or password in the file of -P (cache7:11211)"
        for note, said in pairs({ ["the server refuses to answer: " .. wants] = wants, [refuses] = refuses }) do
            local down = require("slate.console.model").new("cache7:11211")
            down:set_link("down", note, 1000)
            for view = 1, 2 do
                local grid, ui = cells.new(80, 24, false), view_list.ui()
                ui.view = view
                screen.draw(screens.frame(down), ui, grid)
                local text = screens.text(grid)
                screens.shows(text, said)
                for _, other in ipairs({ "press C", "C connects", "right port", "does no server run", "what helps" }) do
                    assert.is_false(shows(text, other), other)
                end
            end
        end
    end)

    it("is measuring before the second refresh, and empty before the first", function()
        local model = require("slate.console.model").new("cache7:11211")
        assert.truthy(shows(draw(model), "connecting to cache7:11211"))
        model:set_link("up", "", 1000)
        model:take(screens.snapshot(screens.replies("memcached-1.6.18-first")), { at_s = 10, reply_ms = 1, wall_s = 1 })
        local text = draw(model)
        assert.truthy(shows(text, "measuring: rates need a second sample"))
        assert.truthy(text:find("\nops/s +measuring\n"))
        assert.truthy(text:find("\n  12 +1184 .* unknown"))
    end)

    it("takes the values on flash off the memory, and shows no zero for what is not reported", function()
        local text = draw(screens.look("memcached-1.6.45-extstore", 0))
        local used_mib = tonumber(text:match("items +([%d.]+) MiB"))
        assert.truthy(used_mib and used_mib < 64)
        local model = require("slate.console.model").new("x")
        model:set_link("up", "", 1000)
        model:take(screens.snapshot({ ["stats"] = "STAT pid 1\r\nSTAT limit_maxbytes 67108864\r\n" }),
            { at_s = 10, reply_ms = 1, wall_s = 1 })
        assert.truthy(shows(draw(model), "pages      - in - classes, pool -   free chunks -   items -"))
    end)
end)

describe("the overview's classes", function()
    local model, ui, frame

    before_each(function()
        model, ui = screens.look("memcached-1.6.18", 20), view_list.ui()
        frame = screens.frame(model)
        draw(model, 80, 24, nil, ui)
    end)

    local function receiver()
        local intent = overview.command(frame, ui, "move_pages")
        return intent.plan and intent.plan[1].to
    end

    it("have the cursor on the class that starves, then on the one that the operator chooses", function()
        assert.equal(12, receiver())
        assert.is_nil(ui.classes.cursor)
        for _, one in ipairs({ { "down", 22, 22 }, { "bottom", 4 }, { "down", 4 }, { "up", 22, 22 },
            { "top", 12, 12 } }) do
            assert.is_nil(overview.command(frame, ui, one[1]))
            assert.equal(one[2], ui.classes.cursor)
            assert.equal(one[3], receiver()) -- class 4 has the only pages to give
            assert.truthy(draw(model, 80, 24, nil, ui):find((">%2d "):format(one[2])))
        end
    end)

    it("get pages as the health lines say, until the operator chooses one here", function()
        model.observer.plan = function()
            return { advised = { { from = 4, to = 12, pages = 2 }, { from = 4, to = 22, pages = 1 } } }
        end
        local function moves()
            local moved = gather.values(overview.command(frame, ui, "move_pages").plan, "to")
            return table.concat(moved, " ")
        end
        assert.equal("12 22", moves())
        ui.view = 2
        screens.grid("views.classes", frame, 80, 24, ui)
        require("slate.console.views.classes").command(frame, ui, "bottom")
        assert.equal(4, ui.classes.cursor) -- which needs none
        view_list.open(ui, 1)
        screens.shows(draw(model, 80, 24, nil, ui), "\n!>12 ")
        assert.equal("12 22", moves())
        overview.command(frame, ui, "down")
        assert.equal("22", moves())
        view_list.open(ui, 2)
        view_list.open(ui, 1)
        assert.equal("12 22", moves())
    end)

    it("are opened by Enter, chosen by a click, and shared with the table", function()
        local _, grid = draw(model, 80, 24, nil, ui)
        overview.click(ui, grid:hot_at(20, 5))
        assert.equal(22, ui.classes.cursor)
        overview.command(frame, ui, "open_class")
        assert.same({ true, 22 }, { ui.class_is_open, ui.focus })
        assert.truthy(screens.text(screens.grid("views.classes", frame, 80, 24, ui)):find("\n> +22 "))
    end)

    it("follow the cursor where not all have room", function()
        model = screens.look("slated-0.1", 0)
        draw(model, 80, 24, nil, ui)
        assert.is_true(ui.overview.shown < #model.now.classes)
        overview.command(screens.frame(model), ui, "bottom")
        local text = draw(model, 80, 24, nil, ui)
        assert.truthy(shows(text, " more: press 2"))
        assert.truthy(text:find((">%2d "):format(ui.classes.cursor)))
    end)

    it("put no donor first for the items that its moves evicted", function()
        local one = screens.look("memcached-1.6.45", 20)
        local function first(given)
            local now = screens.snapshot(screens.replies("memcached-1.6.45-second"))
            local by_id = snapshot.by_id(now)
            for _, class in ipairs(one.now.classes) do
                by_id[class.id].evicted, by_id[class.id].total_pages = class.evicted, class.total_pages
            end
            now.general = gather.copy(one.now.general)
            now.general.uptime = now.general.uptime + 2
            by_id[4].evicted, by_id[4].total_pages = by_id[4].evicted + 34490, by_id[4].total_pages - given
            one:take(now, { at_s = one.at_s + 2, reply_ms = 1, wall_s = one.wall_s + 2 })
            return require("slate.console.draw.imbalance").rows(one, view_list.ui())[1].class.id
        end
        assert.equal(12, first(1))
        assert.equal(4, first(0))
    end)

    it("have the class under the cursor in their heading", function()
        for _, case in ipairs({ { "down", "class 22: 1.5 % of the pages, 10.4 % of the evictions" },
            { "down", "class 4: 97.0 % of the pages, 0 % of the evictions" }, { "top", "class 12: 1.5 % of" } }) do
            overview.command(frame, ui, case[1])
            screens.shows(draw(model, 80, 24, nil, ui), "─ " .. case[2])
        end
    end)

    it("keep the cursor in sight and count the others below an outcome of three lines", function()
        model = screens.look("slated-0.1", 0)
        for _, size in ipairs({ { 80, 24 }, { 160, 50 }, { 60, 15 } }) do
            frame, ui = screens.frame(model, { message = ("word "):rep(size[1] // 2) }), view_list.ui()
            for _, key in ipairs({ "up", "down", "bottom", "top" }) do
                local grid = cells.new(size[1], size[2], false)
                screen.draw(frame, ui, grid)
                overview.command(frame, ui, key)
                screen.draw(frame, ui, grid)
                local text, rows = screens.text(grid), require("slate.console.draw.imbalance").rows(model, ui)
                assert.truthy(text:find((">%2d "):format(ui.classes.cursor)), text)
                assert.equal(math.max(0, #rows - ui.overview.shown), tonumber(text:match("(%d+) more: press 2")) or 0)
            end
        end
    end)

    it("are no target where none is drawn, and none is asked for", function()
        view_list.choose_class(ui, 22)
        draw(model, 50, 24, nil, ui)
        overview.command(frame, ui, "down")
        overview.command(frame, ui, "open_class")
        assert.same({ 22, false, 12 }, { ui.classes.cursor, ui.class_is_open, receiver() })
        model.observer.plan, ui = function() return { advised = {} } end, view_list.ui()
        draw(model, 80, 24, nil, ui)
        assert.equal("no class is starving: choose one in the class table (2) and press m there",
            overview.command(frame, ui, "move_pages").text)
    end)
end)
