-- SPDX-License-Identifier: BSD-3-Clause
-- Tune, the list of keys and the reasons of automove in slatetop, drawn and used.
require "support.world" -- its interpreter has slate.console.cells
local cells = require "slate.console.cells"
local change = require "slate.console.change"
local help = require "slate.console.overlay.help"
local keys = require "slate.console.keys"
local picker = require "slate.console.overlay.picker"
local review = require "slate.console.review"
local screen = require "slate.console.screen"
local screens = require "screens"
local settings_shown = require "slate.facts.settings_shown"
local tune = require "slate.console.views.tune"
local view_list = require "slate.console.view_list"
local why = require "slate.console.overlay.why"

local SLATED <const> = "slated-0.1-second"

local function console(model)
    local one = { ui = view_list.ui(), frame = screens.frame(model) }
    one.ui.view = view_list.index("tune")
    function one.draw(width, height)
        local grid = cells.new(width or 80, height or 24, false)
        screen.draw(one.frame, one.ui, grid)
        one.text = screens.text(grid) .. "\n"
        return grid
    end
    function one.shows(...)
        for _, text in ipairs({ ... }) do
            if not one.text:find(text, 1, true) then
                return false
            end
        end
        return true
    end
    -- The intent of the last key.
    function one.press(...)
        local intent
        for _, key in ipairs({ ... }) do
            local scope = screen.scope(one.ui)
            local command = keys.command(key, scope)
            if scope == "value" then
                tune.edit(one.frame, one.ui, command, key)
            else
                intent = tune.command(one.frame, one.ui, command)
            end
        end
        one.draw()
        return intent
    end
    function one.type(text)
        for letter in text:gmatch(".") do one.press(letter) end
        one.press("enter")
    end
    one.draw()
    return one
end

local function slated()
    local model = screens.model("slated-0.1")
    screens.take_details(model, SLATED, 13, 12)
    return model
end

describe("Tune", function()
    it("chooses new values, and reviews them together", function()
        local one = console(screens.model("memcached-1.6.18"))
        assert.truthy(one.press("t").text:find("no new value is chosen"))
        one.press("+")
        assert.is_true(one.shows("*automove mode       off           ratio                   undo: off"))
        one.press("down", "-")
        assert.same({ { name = "slab_automove", value = "ratio" }, { name = "slab_automove_ratio", value = "0.75" } },
            one.press("t").plan)
        one.press("r")
        assert.same({ { name = "slab_automove", value = "ratio" } }, one.press("t").plan)
        assert.truthy(one.press("down", "+").text:find("needs memcached 1.6.34"))
        tune.forget(one.ui)
        assert.equal("say", one.press("t").kind)
    end)

    it("has a list of the values by Enter, a line each with its effect, and takes one as the new value", function()
        local model = slated()
        model.answers:take("config", "STAT slab_automove:value utility\r\nSTAT policy:value s3fifo\r\n"
            .. "STAT slab_automove:choices off|ratio|eviction|random|lra|lrc|utility|lua:NAME\r\n"
            .. "STAT policy:choices slru|lru|sieve|s3fifo\r\n", { at_s = 12, is_stats = true })
        local one = console(model)
        local function pick(...)
            for _, key in ipairs({ ... }) do
                picker.command(one.frame, one.ui, keys.command(key, "picker"))
            end
            one.draw()
        end
        one.press("enter")
        one.draw()
        assert.is_true(one.shows("│>● utility    pages go where")) -- the cursor is on the mode in force
        assert.is_true(one.shows("ratio      a page a second at most, to the class whose items die youngest"))
        pick("home", "down", "enter")
        assert.same({ false, "ratio" }, { one.ui.picker.is_open, one.ui.tune.wanted.slab_automove })
        one.press("enter")
        pick("end", "enter") -- a part must be typed
        assert.same({ true, "lua:" }, { one.ui.tune.edits, one.ui.tune.typed })
        assert.equal("ratio", one.ui.tune.wanted.slab_automove)
        picker.open(one.ui, "slab_automove", "lua:NAME", function(value) error("sends " .. value) end)
        one.ui.tune.edits, one.ui.tune.cursor = false, 4
        pick("enter") -- as from the key t of another view
        assert.same({ true, "lua:", 1 }, { one.ui.tune.edits, one.ui.tune.typed, one.ui.tune.cursor })
        view_list.open(one.ui, view_list.index("fleet"))
        one.ui.fleet.marked = { true, true }
        picker.open(one.ui, "slab_automove", "lua:NAME", function(value) error("sends " .. value) end)
        picker.command(one.frame, one.ui, "accept") -- for marked servers the palette takes the rest: Tune is of one
        assert.same({ true, "set slab_automove lua:" }, { one.ui.palette.is_open, one.ui.palette.typed })
        one.ui.palette.is_open, one.ui.fleet.marked = false, {}
        view_list.open(one.ui, view_list.index("tune"))
        one.press("escape", "down", "down", "down", "down", "enter")
        one.draw()
        assert.is_true(one.shows("● s3fifo     items not read while they are new go early"))
        pick("up", "escape")
        assert.same({ false, nil }, { one.ui.picker.is_open, one.ui.tune.wanted.policy })
    end)

    it("takes the value that a key proposes, also before slated has listed its values", function()
        local one, taken = console(slated()), nil
        picker.open(one.ui, "slab_automove", "utility", function(value) taken = value end)
        picker.command(one.frame, one.ui, "accept")
        assert.equal("utility", taken)
        picker.open(one.ui, "slab_automove", "ratio", function(value) taken = value end, false, "ratio")
        one.draw()
        assert.is_true(one.shows("─ automove mode, proposed: ratio ─") and one.shows(">  ratio      a page a second"))
        picker.open(one.ui, "slab_automove", "utility", function(value) taken = value end)
        picker.command(one.frame, one.ui, "down") -- the first row that is listed is off
        picker.command(one.frame, one.ui, "accept")
        assert.equal("ratio", taken)
    end)

    it("has the values and their effects below the rows of a tall screen, the one in force marked", function()
        local model = slated()
        model.answers:take("config", "STAT slab_automove:choices off|lra|utility\r\n", { at_s = 12, is_stats = true })
        local one, words = console(model), "\n● utility    pages go where they promise most hits\n"
        one.draw(160, 50)
        assert.is_true(one.shows(words, "\n  lra        a class in need gets the page not accessed for longest"))
        one.draw(80, 24)
        assert.is_false(one.shows("where they are") or one.shows("for longest") or one.shows("most hits\n"))
    end)

    it("says the effect of every value of every list", function()
        for _, row in ipairs(change.rows(slated(), 12)) do
            for _, value in ipairs(row.choices ~= "" and settings_shown.values(row) or {}) do
                local words = settings_shown.value_words(row.name, value)
                assert(words ~= "" or row.name:find("^ext_"), row.name .. " " .. value)
            end
        end
    end)

    it("sends the four values of the LRU at once when two change", function()
        local one = console(screens.model("memcached-1.6.18"))
        one.ui.tune.wanted.hot_lru_pct = "25"
        assert.same({ { name = "hot_lru_pct", value = "25" } }, one.press("t").plan)
        one.ui.tune.wanted.warm_max_factor, one.ui.tune.wanted.verbosity = "3", "1"
        assert.same({ { name = "lru_tune", value = "25 40 0.20 3" }, { name = "verbosity", value = "1" } },
            one.press("t").plan)
    end)

    it("says the whole reason of a refusal at 60x15, after : too", function()
        local one = console(screens.model("memcached-1.6.45"))
        for i, row in ipairs(one.ui.tune.rows) do
            one.ui.tune.cursor = row.name == "maxbytes" and i or one.ui.tune.cursor
        end
        one.press("e")
        one.type("1")
        local palette = require "slate.console.overlay.palette"
        local function shows_whole(reason)
            assert.is_true(cells.width_of(reason) > 60)
            one.draw(60, 15)
            assert.truthy(one.text:gsub("%s+", " "):find(reason, 1, true), one.text)
        end
        shows_whole(one.ui.tune.typed_why)
        one.press("escape")
        palette.open(one.ui)
        one.ui.palette.typed = "set maxbytes 1"
        palette.command(one.frame, one.ui, "accept", "enter")
        shows_whole(one.ui.palette.why)
    end)

    it("takes typed values within their limits", function()
        local one = console(screens.model("memcached-1.6.18"))
        one.press("down", "enter")
        assert.is_true(one.shows("new value: _"))
        one.type("7")
        assert.is_true(one.ui.tune.edits and one.shows("takes"))
        one.press("backspace")
        assert.equal("", one.ui.tune.typed_why)
        one.type("0.5")
        assert.is_false(one.ui.tune.edits)
        assert.equal("0.5", one.ui.tune.wanted.slab_automove_ratio)
        one.press("e", "1", "escape")
        assert.equal("0.5", one.ui.tune.wanted.slab_automove_ratio)
        one.ui.tune.cursor = 10
        for _, typed in ipairs({ "99", "0", "x" }) do
            one.press("e")
            one.type(typed)
            assert.is_true(one.shows("lru hot % takes a number: 1 to 80"))
            one.press("escape")
        end
        one.ui.classes.cursor = 12
        one.press("escape")
        assert.is_true(one.shows("policy of class 12"))
    end)

    it("cuts notes between words and has the rest below", function()
        local model = slated()
        model.answers:take("config", "STAT slab_automove:value utility\r\nSTAT slab_automove:source start\r\n"
            .. "STAT policy:value s3fifo\r\n"
            .. "STAT slab_automove:choices off|ratio|eviction|random|lra|lrc|utility|lua:NAME\r\n"
            .. "STAT policy:choices slru|lru|bag|fifo|clock|clock2|clock3|sieve\r\n", { at_s = 12, is_stats = true })
        local one = console(model)
        assert.is_true(one.shows(" off|ratio|eviction|…\n", " slru|lru|bag|fifo|…\n", " auto, factor N, …\n",
            "\none of off, ratio, eviction, random, lra, lrc, utility, lua:NAME\n"))
        for height = 18, 24, 2 do -- the panel's text has ever less room
            one.draw(80, height)
            assert(one.text:find("…\n%- %+ or Enter") or one.text:find("[.\n]\n%- %+ or Enter"), "at " .. height)
        end
        one.draw(160, 50)
        assert.is_true(one.shows(" off|ratio|eviction|random|lra|lrc|utility|lua:NAME\n"))
        assert.is_false(one.shows("one of off"))
        model.now.store = "heap"
        one.draw()
        assert.is_true(one.shows("needs --store=slab; this server has heap\n")
            and not one.shows("needs --store=slab; …"))
        one.draw(160, 50)
        assert.is_true(one.shows(" start    needs --store=slab; this server has heap\n"))
    end)

    it("shows what policies would do, what automove failed of, and the forecast of a new value", function()
        local one = console(slated())
        one.ui.tune.cursor = 5
        one.draw(160, 50)
        assert.is_true(one.shows("tinylfu 95.1% +0.9±5.2,  s3fifo 94.2% +0.0±5.2"))
        one.ui.tune.wanted.policy = "lru"
        one.draw(160, 50)
        assert.is_true(one.shows("hit ratio 94.2%, +0.0 points ± 5.2 from today's policy"))
        one.frame.model.answers:take("whatif", "STAT sampling 1\r\nSTAT policy s3fifo\r\n"
            .. "STAT why nothing was counted yet\r\nSTAT class:12:lru:hit_ratio 1\r\n"
            .. "STAT class:12:lru:difference 0\r\nEND\r\n",
            { at_s = 12, is_stats = true })
        one.ui.tune.cursor, one.ui.classes.cursor, one.ui.tune.wanted.class_policy = 6, 12, "lru"
        one.draw(160, 50)
        assert.equal(1, select(2, one.text:gsub("nothing was counted yet", "")), one.text)
        one.ui.tune.wanted.class_policy, one.ui.tune.cursor = nil, 7
        one.ui.tune.wanted.geometry = "factor 1.25"
        one.draw(160, 50)
        assert.is_true(one.shows("waiting for the server's prediction", "undo: revert"))
        local wants = screen.wants(one.ui)
        assert.same({ "factor 1.25" }, wants.orders)
        one.ui.tune.cursor = 1
        one.frame.model.answers:take("moves", "STAT mode off\r\nSTAT failed lua:x, its line 3\r\n",
            { at_s = 12, is_stats = true })
        one.draw()
        assert.is_true(one.shows("automove failed: lua:x, its line 3; now it is off"))
    end)

    it("has the settings of storage on flash only where there is storage", function()
        local one = console(screens.model("memcached-1.6.45-extstore"))
        one.press("end")
        assert.is_true(one.shows(" flash item size     512", " flash max sleep us  1000000"))
        one = console(screens.model("memcached-1.6.45"))
        one.draw(80, 50)
        assert.is_false(one.shows("flash"))
    end)

    it("explains the settings, first that under the cursor, and waits for them", function()
        local one = console(screens.model("memcached-1.6.18"))
        one.ui.tune.cursor = 2
        local terms, current = tune.terms(one.ui)
        assert.same({ "slab_automove_ratio", 2 }, { terms[2], current })
        one = console(screens.model("memcached-1.6.18"))
        one.frame.model.answers = require("slate.console.answers").new()
        one.draw()
        assert.is_true(one.shows("waiting for the server"))
        one.frame.is_past = true
        one.draw()
        assert.is_true(one.shows("automove ratio      0.8"))
        one.frame.model.now.settings = nil
        one.draw()
        assert.is_true(one.shows("not recorded"))
    end)

    it("says of what the past of a slated lacks that it is not recorded, and shows no other value", function()
        local one = console(screens.model("slated-0.1"))
        one.frame.model.answers, one.frame.is_past = require("slate.console.answers").new(), true
        one.frame.model.now.settings = { growth_factor = 1.25, maxbytes = 64 << 20 }
        one.draw(120, 50)
        assert.is_true(one.shows("chunk sizes         -             not recorded"))
        assert.is_true(one.shows("eviction policy     -             not recorded"))
        assert.is_false(one.shows("not reported here"))
    end)
end)

describe("the list of keys", function()
    local one = console(screens.model("memcached-1.6.18"))
    local function helps_with(...)
        for _, row in ipairs(keys.rows) do
            for _, scope in ipairs({ ... }) do
                assert(not row.scopes[scope] or one.shows(row.help), row.help)
            end
        end
    end

    it("has every key of the view and of the dialogs, in two columns on a wide screen", function()
        one.ui.view = view_list.index("classes")
        help.open(one.ui)
        one.draw(80, 120)
        helps_with("classes", "review", "filter", "columns")
        assert.equal(0, one.draw(160, 60).clipped)
        assert.is_true(one.shows("in this view", "in this list"))
    end)

    it("is searched in letters of either case", function()
        help.open(one.ui)
        for _, key in ipairs({ "/", "U", "N", "D", "O", "enter" }) do
            help.command(one.frame, one.ui, keys.command(key, screen.scope(one.ui)), key)
        end
        one.draw()
        assert.is_true(one.shows("undo the last change") and not one.shows("leave; pages"))
        one.ui.help.searched = "bananas"
        one.draw()
        assert.is_true(one.shows("no key of this view does 'bananas'"))
        help.command(one.frame, one.ui, "filter", "/")
        assert.same({ "", true }, { one.ui.help.searched, one.ui.help.is_searched })
        help.command(one.frame, one.ui, "cancel", "escape") -- keeps the old one, as the key bar says
        assert.same({ "bananas", false, true },
            { one.ui.help.searched, one.ui.help.is_searched, one.ui.help.is_open })
        help.command(one.frame, one.ui, "cancel", "escape")
        assert.is_false(one.ui.help.is_open)
        help.open(one.ui)
        local said = help.command(one.frame, one.ui, nil, "m")
        assert.same({ "say", true }, { said.kind, said.text:find("Esc closes it", 1, true) ~= nil })
        assert.is_true(one.ui.help.is_open)
        one.ui.help.is_open = false
    end)

    it("finds figures, too, and Enter explains one", function()
        help.open(one.ui)
        for _, key in ipairs({ "/", "l", "i", "f", "e" }) do
            help.command(one.frame, one.ui, keys.command(key, screen.scope(one.ui)), key)
        end
        one.draw()
        assert.is_true(one.shows("figures: Enter explains the first", "LIFE", "How long an item stays"))
        help.command(one.frame, one.ui, "accept", "enter")
        assert.same({ false, true, "class.life" },
            { one.ui.help.is_open, one.ui.explain.is_open, one.ui.explain.terms[1] })
        one.ui.explain.is_open = false
    end)

    it("scrolls to its end and no further", function()
        help.open(one.ui)
        help.command(one.frame, one.ui, "bottom", "G")
        one.draw()
        assert.is_true(one.shows("close the help"))
        help.command(one.frame, one.ui, "up", "k")
        one.draw()
        assert.is_false(one.shows("close the help"))
    end)

    it("in a review has its keys only, below it", function()
        review.open(one.ui, { { name = "slab_automove", value = "1" } })
        help.open(one.ui)
        one.draw()
        helps_with("review")
        assert.is_true(one.shows("capital S sends it") and not one.shows("in this view"))
    end)
end)

describe("the reasons of automove", function()
    it("are drawn and scrolled, and in the past are not known", function()
        local one = console(slated())
        why.open(one.ui)
        one.draw()
        assert.is_true(one.shows("why automove moves pages, or does not", "  cache7:11211",
            "  automove is utility: class 5 would gain"))
        one.frame = screens.frame(screens.model("slated-0.1"), { is_past = true })
        one.draw()
        assert.is_true(one.shows("The reasons of the past are not recorded"))
        assert.is_true(screen.wants(one.ui).inquiries.automove)
        why.command(one.frame, one.ui, "cancel")
        assert.is_false(one.ui.why.is_open)
    end)
end)
