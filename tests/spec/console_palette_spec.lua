-- SPDX-License-Identifier: BSD-3-Clause
-- The palette of slatetop: what is typed is found, completed and run, and nothing is sent by it.
require "support.world" -- its interpreter has slate.console.cells
local cells = require "slate.console.cells"
local choices = require "slate.console.overlay.palette_choices"
local keys = require "slate.console.keys"
local palette = require "slate.console.overlay.palette"
local screen = require "slate.console.screen"
local screens = require "screens"
local view_list = require "slate.console.view_list"

describe("the palette", function()
    local frame, ui = screens.frame(screens.look("memcached-1.6.18", 20)), nil

    local function press(key)
        return palette.command(frame, ui, keys.command(key, "palette"), key)
    end

    -- Types into the palette; a line's end is Enter. Returns the intent of the last key.
    local function type_text(text)
        local intent
        for letter in text:gmatch(".") do
            intent = press(letter == " " and "space" or letter == "\n" and "enter" or letter)
        end
        return intent
    end

    -- The same in a palette that is opened in Overview.
    local function typed(text)
        ui = view_list.ui()
        palette.open(ui)
        return type_text(text)
    end

    -- The lines that are offered for a text.
    local function offered(text)
        typed(text)
        local lines = {}
        for i, choice in ipairs(choices.of(frame, ui, ui.palette.typed)) do
            lines[i] = choice.line
            lines[choice.line] = true
        end
        return lines
    end

    it("finds every command of a view", function() -- keys move through a list; sort, filter and others take an argument
        for line, command in pairs({ undo = "undo", redo = "redo", record = "record", quit = "quit", pause = "pause",
            ["hot keys"] = "view_hotkeys", help = "help", keep = "accept_trial", ["back by min"] = "minute_back",
            mouse = "mouse", shell = "suspend", ["event after"] = "event_after", diff = "view_diff", tune = "view_tune",
            q = "quit" }) do
            assert.same({ kind = "command", command = command }, typed(line .. "\n"))
            assert.is_false(ui.palette.is_open)
        end
    end)

    it("completes a word and its arguments", function()
        assert.truthy(offered("")["classes"])
        assert.is_nil(offered("")["the next theme of colours"]) -- for a key a word stands that does the same
        local lines = offered("cl")
        assert.is_true(lines["classes"] and lines["class "] and not lines["tune"])
        press("tab")
        assert.equal("classes", ui.palette.typed)
        for text, line in pairs({ ["sort "] = "sort age", ["theme l"] = "theme light", ["class "] = "class 12",
            ["filter ev>0 si"] = "filter ev>0 size>", ["set slab_auto"] = "set slab_automove ",
            ["set slab_automove "] = "set slab_automove off",
            ["set slab_automove_ratio 0.7"] = "set slab_automove_ratio 0.7", memory = "overview",
            settings = "tune", hot = "hot keys", keys = "hot keys", config = "tune",
            pol = "set class_policy " }) do
            assert(offered(text)[line], text)
        end
        assert.is_nil(offered("set class")["class "]) -- behind a word stand its arguments only
    end)

    it("finds any word of a name or its help, the best first", function()
        for text, line in pairs({ pol = "set policy ", ["eviction policy"] = "set policy ",
            ["policy evic"] = "set policy ", ["set evic pol"] = "set policy ", ["limit mib"] = "set maxbytes ",
            light = "theme light",
            ["crawler sl"] = "set lru_crawler_sleep ", ["12"] = "class 12", ["other memory"] = "curves",
            ["round trips"] = "latency", fac = "sizes", factor = "sizes", growth = "sizes",
            ["chunk sizes"] = "sizes" }) do
            assert.equal(line, offered(text)[1])
        end
        assert.is_nil(typed("eviction pol\n")) -- Enter goes on with a setting that was found
        assert.same({ true, "set policy ", "" }, { ui.palette.is_open, ui.palette.typed, ui.palette.why })
        assert.is_nil(offered("k")["hot keys"]) -- nearly every text contains a single letter: it must begin the name
    end)

    it("runs a line", function()
        assert.same({ kind = "command", command = "view_classes" }, typed("sort age\n"))
        assert.equal("age", ui.classes.sort.name)
        typed("filter ev>0\n")
        assert.equal("ev>0", ui.classes.filter)
        typed("window 100\n")
        assert.equal(100, ui.classes.window_s)
        assert.same({ "theme", "mono" }, { typed("theme mono\n").kind, cells.themes[typed("theme mono\n").theme] })
        assert.is_nil(typed("class 12\n"))
        assert.same({ true, 12 }, { ui.class_is_open, ui.focus })
        assert.same({ kind = "review", plan = { { name = "slab_automove", value = "eviction" } } },
            typed("set slab_automove 2\n"))
        ui = view_list.ui()
        ui.view = view_list.index("fleet")
        palette.open(ui)
        type_text("sort mem\n")
        assert.equal("MEM", require("slate.console.draw.fleet_table").COLUMNS[ui.fleet.sort].head)
        frame.servers = { { server = 3, model = frame.model, words = "no faults" } }
        assert.same({ kind = "open_server", server = 3 }, typed("server cache7:11211\n"))
        assert.is_nil(offered("cache7")[1]) -- the only server is open
        assert.equal("server cache7:11211", offered("server ")[1])
        frame.servers[2] = frame.servers[1]
        assert.equal("server cache7:11211", offered("cache7")[1])
    end)

    it("has a name that was typed whole before names that begin with it", function()
        local names = frame.model.server
        frame.model.server, frame.servers = "12.0.0.1:26001", { { server = 1, model = frame.model, words = "" } }
        frame.servers[2] = frame.servers[1]
        assert.same({ "class 12", "server 12.0.0.1:26001" }, table.move(offered("12"), 1, 2, 1, {}))
        frame.model.server, frame.servers = names, {}
    end)

    it("sets by the names that Tune shows, the longest first", function()
        for text, plan in pairs({ ["automove ratio 0.7"] = "slab_automove_ratio=0.7", ["automove ratio"] =
            "slab_automove=ratio", ["memory limit 80"] = "maxbytes=80", ["lru hot 30"] = "hot_lru_pct=30",
            ["crawler sleep 200"] = "lru_crawler_sleep=200", ["lru warm age factor 3"] = "warm_max_factor=3" }) do
            local shown, intent = offered("set " .. text)[1], type_text("\n")
            assert(intent, text .. ": " .. ui.palette.why)
            local one = intent.plan[1]
            assert.equal(plan, one.name .. "=" .. one.value)
            assert.equal(("set %s %s"):format(one.name, one.value), shown)
        end
        assert.is_nil(typed("set automove mode ratio 0.7\n"))
        assert.truthy(ui.palette.why:find('takes one of off|ratio|eviction, not "ratio 0.7"', 1, true), ui.palette.why)
        assert.equal("set slab_automove_ratio ", offered("set automove ratio ")[1])
        assert.is_nil(type_text("\n"))
        assert.equal("set slab_automove_ratio ", ui.palette.typed)
    end)

    it("shows what Enter does with a line that is complete", function()
        for text, line in pairs({ ["filter ev>0"] = "filter ev>0",
            ["set slab_automove 2"] = "set slab_automove eviction", ["set lru_crawler off"] = "set lru_crawler off",
            ["set lru_tune 10 30 0.2 2"] = "set lru_tune 10 30 0.2 2" }) do
            assert.same({ line, 1 }, { offered(text)[1], #offered(text) }, text)
            assert(type_text("\n") or line:find("^filter"), ui.palette.why)
            assert.is_false(ui.palette.is_open)
        end
        offered("cl")
        press("down") -- a choice that was marked goes before the typed line
        local marked = choices.of(frame, ui, "cl")[2].line
        press("enter")
        assert.equal(marked, ui.palette.typed)
        ui.classes.filter = "ev>0"
        palette.open(ui)
        type_text("filter ")
        assert.equal("show all classes again", choices.of(frame, ui, "filter ")[1].help)
        type_text("\n")
        assert.equal("", ui.classes.filter)
    end)

    it("offers explanations by any of their names, and opens them", function()
        for text, line in pairs({ evictions = "explain evictions", calcif = "explain calcification",
            ["explain age/m"] = "explain AGE/MED", ["explain as every class of"] = "explain state.evicting" }) do
            assert.is_true(offered(text)[line], text)
        end
        for text, line in pairs({ LIFE = "explain LIFE", age = "explain age", share = "explain SHARE OF PAGES",
            hitrate = "explain hitrate", mem = "set maxbytes ", rebalance = "move", plan = "move" }) do
            assert.equal(line, offered(text)[1])
        end
        ui.view = view_list.index("events") -- Overview has the plan
        assert.equal("overview", choices.of(frame, ui, "plan")[1].line)
        local evictions = offered("evic")
        assert.is_true(evictions["sort evicted"])
        assert.equal("set ", evictions[1]:sub(1, 4)) -- settings stand before columns and explanations
        typed("set slab_automove r")
        assert.truthy(choices.of(frame, ui, ui.palette.typed)[1].help:find("whose items die youngest", 1, true))
        assert.is_true(offered("pages")["explain pages"] and offered("pages").pages) -- after the view of this name
        assert.equal("pages", offered("pages")[1])
        assert.is_nil(typed("no gain\n"))
        assert.same({ true, 1, "state.no_gain", false },
            { ui.explain.is_open, ui.explain.current, ui.explain.terms[1], ui.palette.is_open })
        typed("explain EV/s\n")
        assert.same({ "evictions", "class.ev" }, { ui.explain.terms[1], ui.explain.terms[2] })
        typed("explain nonsense\n")
        assert.truthy(ui.palette.why:find("nothing explains 'nonsense'", 1, true))
        for text, line in pairs({ hot = "hot keys", log = "events", settings = "tune" }) do
            assert.equal(line, offered(text)[1])
        end
        for text, help in pairs({ log = "events of the server; after Fleet, of all servers (8)",
            mark = "mark the moment on the screen, for the diff (D)", mem = "memory limit MiB: now 64, 8 or more",
            ["explain MEM"] = "Memory for items." }) do -- one sentence each, and no half of one
            offered(text)
            assert.equal(help, choices.of(frame, ui, ui.palette.typed)[1].help)
        end
    end)

    it("finds keys of other views, goes there, and says the key", function()
        assert.equal("hot keys", offered("hotkeys")[1])
        assert.equal("record", offered("export")[1])
        assert.equal("columns", offered("columns")[1])
        assert.same({ kind = "command", command = "view_classes", words = "c: choose the columns and their order" },
            typed("columns\n"))
    end)

    it("finds values of settings, and else what is nearest", function()
        assert.is_true(offered("eviction")["set slab_automove eviction"])
        assert.is_true(offered("evictoins")["explain evictions"])
        assert.same({}, offered("199")) -- no class has this id
        offered("evictoins")
        local grid = cells.new(80, 24, false)
        screen.draw(frame, ui, grid)
        screens.shows(screens.text(grid), "nothing has this name; near it is")
    end)

    it("knows the class under the cursor", function()
        local function class_in(view, cursor)
            ui = view_list.ui()
            ui.view = view_list.index(view)
            ui[view].cursor = cursor
            return choices.class_of(ui)
        end
        assert.same({ 5, 7, 9 }, { class_in("classes", 5), class_in("pages", 7), class_in("curves", 9) })
        assert.is_nil(class_in("pages", 0)) -- the pool
        ui = view_list.ui()
        ui.classes.cursor = 5
        assert.equal(5, choices.class_of(ui)) -- Overview and Classes have one cursor
        view_list.open_class(ui, 12)
        assert.same({ 12, 12 }, { choices.class_of(ui), ui.classes.cursor }) -- which Tune's policy is of, too
        palette.open(ui)
        type_text("set class_policy sieve\n")
        assert.truthy(ui.palette.why:find("needs slated"))
    end)

    it("names the class whose policy is set", function()
        local model = screens.model("slated-0.1")
        model.answers:take("config", "STAT policy:choices lru|sieve\r\n", { at_s = 12, is_stats = true })
        frame, ui = screens.frame(model), view_list.ui()
        view_list.open_class(ui, 9)
        palette.open(ui)
        type_text("set class_policy si")
        assert.matches("^policy of class 9: ", choices.of(frame, ui, ui.palette.typed)[1].help)
    end)

    it("keeps a line with a mistake, and says which", function()
        for line, why in pairs({ frobnicate = "there is no command 'frobnicate'",
            ["sort bananas"] = "there is no column", ["theme bananas"] = "there is no theme 'bananas'",
            ["class 99"] = "there is no class '99'",
            ["set slab_automove bananas"] = "takes", ["window 7"] = "1, 10 or 100",
            ["filter >>"] = "not understood", ["server nobody"] = "no server 'nobody'",
            ["set bananas 1"] = "bananas" }) do
            assert.is_nil(typed(line .. "\n"))
            assert(ui.palette.is_open and ui.palette.why:find(why, 1, true), line .. ": " .. ui.palette.why)
        end
        typed("x")
        press("backspace")
        assert.is_true(ui.palette.is_open)
        press("backspace")
        assert.is_false(ui.palette.is_open) -- on an empty line the key leaves it
    end)

    it("is drawn above the typed line, and scrolls to the marked choice", function()
        local function draw(width, height)
            local grid = cells.new(width, height, false)
            screen.draw(frame, ui, grid)
            assert.equal(0, grid.clipped)
            return screens.text(grid)
        end
        typed("se")
        local text = draw(80, 24)
        for _, shown in ipairs({ ":se_", " set ", " server ", "change a setting: opens the review" }) do
            assert(text:find(shown, 1, true), shown)
        end
        typed("zzz")
        assert.truthy(draw(40, 10):find("nothing matches"))
        typed("")
        assert.truthy(draw(80, 24):find("of %d+ choices, Down shows more"))
        for _ = 1, 400 do press("down") end
        draw(80, 24)
        assert.equal(#choices.of(frame, ui, ""), ui.palette.choice)
    end)

    it("asks for settings while it is open, and says that they are on their way", function()
        local model = screens.model("slated-0.1")
        frame, ui = screens.frame(model), view_list.ui()
        assert.is_nil(screen.wants(ui).inquiries.config)
        typed("set eviction")
        assert.truthy(choices.of(frame, ui, ui.palette.typed)[1].help:find("waiting for the server"))
        local inquiries = screen.wants(ui).inquiries
        assert.is_true(inquiries.config and inquiries.policies)
    end)

    it("goes on after lua:, and sends no NAME", function()
        local model = screens.model("slated-0.1")
        model.answers:take("config", "STAT slab_automove:choices off|ratio|lua:NAME\r\n",
            { at_s = 12, is_stats = true })
        frame = screens.frame(model)
        assert.equal("set slab_automove lua:", offered("set slab_automove l")[1])
        assert.is_nil(type_text("\n"))
        assert.same({ true, "set slab_automove lua:" }, { ui.palette.is_open, ui.palette.typed })
        assert.is_nil(type_text("NAME\n"))
        assert.truthy(ui.palette.why:find('not "lua:NAME"', 1, true), ui.palette.why)
        assert.equal("lua:burst", typed("set slab_automove lua:burst\n").plan[1].value)
    end)
end)
