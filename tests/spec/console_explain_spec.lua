-- SPDX-License-Identifier: BSD-3-Clause
-- `?` in slatetop: every figure that a view shows, and every head of a column, has an explanation; that of the row
-- under the cursor comes first.
require "support.world"
local cells = require "slate.console.cells"
local class_columns = require "slate.console.draw.class_columns"
local explain = require "slate.console.overlay.explain"
local metrics = require("slate.console.metrics").OF_SERVER
local screen = require "slate.console.screen"
local screens = require "screens"
local view_list = require "slate.console.view_list"

local SIZES <const> = { { 80, 24 }, { 160, 50 }, { 250, 60 } }

-- A choice of views' names, with that of a class.
local function names_of_views()
    local names = { "class" }
    for i, row in ipairs(view_list.LIST) do names[i + 1] = row.name end
    return names
end

-- A server with all answers that a view may draw: a moment is marked, and there are two servers.
local function full_frame(server)
    local of = screens.look(server, 20)
    local mark = { wall_s = 1000, server = "cache7", snapshot = of.before }
    if server == "slated-0.1" then
        screens.take_details(of, "slated-0.1-second", 12, 12)
    end
    local frame = screens.frame(of, { mark = mark })
    frame.servers[2] = setmetatable({ server = 2, name = "cache8" }, { __index = frame.servers[1] })
    return frame
end

-- Draws a view; returns the grid and the operator's choices.
local function draw(frame, name, size, from)
    local ui, grid = view_list.ui(), cells.new(size[1], size[2], false)
    ui.view, ui.from = view_list.index(name) or 1, from
    if name == "class" then
        view_list.open_class(ui, 12)
    end
    screen.draw(frame, ui, grid)
    return grid, ui
end

-- The lines of heads: what stands in their style, or in that of the order's column, before the rule of a panel.
local function heads_of(grid)
    local heads = {}
    for y = 2, grid.height - 3 do
        local text, styles = screens.row(grid, y)
        local head, x = {}, 0
        for _, code in utf8.codes(text) do
            x = x + 1
            head[x] = styles:sub(x, x):find("[hs]") and utf8.char(code) or " "
        end
        local line = table.concat(head):gsub("─.*$", ""):gsub("[^ ]│.*$", "")
        heads[#heads + 1] = styles:find("^h") and line:find("%S") and line or nil
    end
    return heads
end

-- The names of the terms that `?` shows, in lower case, the longest first.
local function names_shown(view, ui, frame)
    local names = {}
    for _, term in ipairs((explain.terms_of(view, ui, frame))) do
        local entry = assert(explain.entry(term), term)
        for _, name in ipairs(entry.also) do names[#names + 1] = name:lower() end
    end
    table.sort(names, function(a, b) return #a > #b end)
    return names
end

-- The first word of a line of heads that is not explained; nil if each is. What begins with a glyph is a legend, with a
-- digit a figure, and words in small letters are notes.
local function unexplained(line, names)
    line = (" " .. line .. " "):gsub("▼", " "):gsub("▲", " ")
    for _, name in ipairs(names) do
        local lower = line:lower()
        local from, to = lower:find(name, 1, true)
        while from do
            if lower:find("^[ ,]", from - 1) and lower:find("^[ ,:]", to + 1) then
                line = line:sub(1, from - 1) .. (" "):rep(#name) .. line:sub(to + 1)
            end
            from, to = lower:find(name, to + 1, true)
        end
    end
    for word in line:gmatch("%S+") do
        if word:find("^[A-Z]") or word:find("^[+-]%d") or word:find("^%l.*[A-Z%%]") or word:find("^Δ") then
            return word
        end
    end
end

describe("an explanation", function()
    it("is there for every figure that a view shows", function()
        local frame = full_frame("memcached-1.6.18")
        for _, name in ipairs(names_of_views()) do
            local _, ui = draw(frame, name, SIZES[1])
            local terms, current = explain.terms_of(view_list.module(name), ui, frame)
            assert.truthy(terms[current], name)
            for _, term in ipairs(terms) do
                assert.truthy(explain.entry(term), ("%s: %s"):format(name, term))
            end
        end
        for _, column in ipairs(class_columns.LIST) do
            assert.truthy(explain.entry("class." .. column.name), column.name)
        end
        for _, metric in ipairs(metrics) do
            assert.truthy(explain.entry(metric.name), metric.name)
        end
        assert.is_nil(explain.entry("no_such_term"))
    end)

    it("is there for every head of a column, in each view at each size", function()
        local count = 0
        for _, server in ipairs({ "memcached-1.6.18", "slated-0.1" }) do
            local frame = full_frame(server)
            for _, name in ipairs(names_of_views()) do
                for _, size in ipairs(SIZES) do
                    local grid, ui = draw(frame, name, size, "fleet")
                    local names = names_shown(view_list.current(ui), ui, frame)
                    for _, line in ipairs(heads_of(grid)) do
                        assert.is_nil(unexplained(line, names), ("%s at %d columns: %s"):format(name, size[1], line))
                        count = count + 1
                    end
                end
            end
        end
        assert.is_true(count > 40)
    end)

    it("is there for what the rules of rates have behind their titles", function()
        local names = {}
        for _, name in ipairs(explain.entry("rates").also) do names[name] = true end
        for _, name in ipairs({ "overview", "class" }) do
            local frame = full_frame("memcached-1.6.18")
            local grid, ui = draw(frame, name, SIZES[2])
            screens.shows(table.concat(explain.terms_of(view_list.current(ui), ui, frame), " "), "rates")
            local rule = screens.text(grid):match("─ rates [^\n]*100 s[^\n]*"):gsub("^─ rates ", "")
                :gsub("%d+ samples.*", ""):gsub("   .*", "")
            for words in rule:gsub("─", "|"):gmatch("[^|]+") do
                assert.truthy(names[words:match("^ *(.-) *$")], words)
            end
        end
    end)

    it("begins with the state of the row under the cursor, and what is said of it", function()
        local frame = full_frame("memcached-1.6.18")
        for _, name in ipairs({ "overview", "classes", "pages", "class" }) do
            for id, state in pairs({ [12] = "starving", [22] = "state.no_gain", [4] = "state.calm" }) do
                local _, ui = draw(frame, name, SIZES[1])
                view_list.choose_class(ui, id)
                ui.pages.cursor, ui.focus = id, id
                local terms, current, words = explain.terms_of(view_list.current(ui), ui, frame)
                assert.equal(state, terms[current], name)
                assert.truthy(words:find(("class %d "):format(id), 1, true), words)
            end
        end
        local _, ui = draw(frame, "fleet", SIZES[1])
        local terms, _, words = explain.terms_of(view_list.current(ui), ui, frame)
        assert.equal("fleet.state", terms[1])
        screens.shows(words, "cache7:11211: class 12 starves")
    end)

    it("has the name in its title that stands on the screen", function()
        local frame = full_frame("memcached-1.6.18")
        for _, case in ipairs({ { "overview", 80, "class.page_share", "SHARE OF PAGES" },
            { "overview", 60, "class.page_share", "% PAGES" }, { "overview", 80, "hit_ratio", "hit %" },
            { "fleet", 80, "hit_ratio", "HIT%" }, { "fleet", 80, "gets", "GET/s" },
            { "tune", 80, "slab_automove", "automove mode" },
            { "overview", 160, "memory.items", "items of memory" }, { "classes", 250, "class.agex", "AGE/MED" } }) do
            local name, width, term, title = table.unpack(case)
            local grid, ui = draw(frame, name, { width, 24 })
            explain.open(ui, view_list.current(ui), frame, { explain.entry(term) })
            explain.draw(frame, ui, grid)
            screens.shows(screens.text(grid), ("─ %s (1 of "):format(title))
        end
    end)

    it("goes on to the column of the order, and to the next figures", function()
        local frame = full_frame("memcached-1.6.18")
        local _, ui = draw(frame, "classes", SIZES[1])
        explain.open(ui, view_list.current(ui), frame)
        local function after(command, width, height)
            explain.command(nil, ui, command)
            local grid = cells.new(width or 80, height or 24)
            explain.draw(nil, ui, grid)
            return screens.text(grid), grid
        end
        screens.shows(after("none"), "STARVING (1 of ", "here     ! class 12 starves, 300 evictions/s;",
            "what     A class evicts")
        after("next_field")
        local text = after("next_field")
        screens.shows(text, "EV/s (3 of ", "what     Live items thrown out of this class.",
            "source   stats items: evicted")
        assert.is_nil(text:find("here", 1, true))
        screens.shows(after("next_field"), "─ CL (", "also     class.class, class, clsid")
        after("previous_field")
        screens.shows(after("previous_field"), "─ STATE (")
        local grid
        for _ = 1, 100 do text, grid = after("down", 40, 10) end
        screens.shows(text, "also ")
        assert.equal(0, grid.clipped)
        assert.truthy(text:find("%d+ more ↑─┘"), text)
        after("cancel")
        assert.is_false(ui.explain.is_open)
    end)
end)
