-- SPDX-License-Identifier: BSD-3-Clause
-- The review of a change in slatetop: what is sent is what was seen.
require "support.world" -- its interpreter has slate.console.cells
local cells = require "slate.console.cells"
local change = require "slate.console.change"
local keys = require "slate.console.keys"
local marked = require "slate.console.marked"
local propose = require "slate.console.propose"
local review = require "slate.console.review"
local screen = require "slate.console.screen"
local screens = require "screens"
local view_list = require "slate.console.view_list"

local NOWHERE <const> = math.maxinteger

-- A console of a fixture's server: frame, ui, and functions that draw and press keys.
local function console(fixture)
    local one = { ui = view_list.ui(), frame = screens.frame(screens.model(fixture or "memcached-1.6.18")) }
    one.ui.view = view_list.index("classes")
    function one.draw(width, height)
        local grid = cells.new(width or 80, height or 24, false)
        screen.draw(one.frame, one.ui, grid)
        one.text = screens.text(grid)
        return grid
    end
    function one.shows(text)
        return one.text:find(text, 1, true) ~= nil
    end
    function one.press(...)
        for _, key in ipairs({ ... }) do
            review.command(one.frame, one.ui, keys.command(key, "review"), key)
        end
        one.draw()
    end
    return one
end

describe("a review", function()
    it("has the whole effect of a new value in words, at 80 columns too", function()
        local one = console()
        for _, mode in ipairs(require("slate.facts.automove").MODES) do
            if mode.name:find("%a$") then
                review.open(one.ui, { { name = "slab_automove", value = mode.name } })
                one.draw()
                local words = {}
                for line in one.text:gmatch("│ +(.-) *│") do
                    words[#words + 1] = line
                end
                screens.shows(table.concat(words, " "), "then      " .. mode.words)
                assert.is_false(one.shows("mode 2")) -- modes have names
            end
        end
    end)

    it("shows exactly the lines to be sent, their receiver, cost and confirmation", function()
        local one = console()
        review.open(one.ui, propose.move(one.frame, 12, 4).plan)
        one.press("3")
        for _, text in ipairs({ "slabs reassign 4 12 × 3, one after the other", "Move pages: review, to cache7:11211 ─",
            "capital S sends it", "up to 16383 items of class 4", "SSend" }) do
            assert(one.shows(text), text)
        end
        assert.is_false(one.shows("F5Move"))
        one.press("9")
        assert.is_true(one.shows("[  39]"))
        one.press("9")
        assert.is_true(one.shows("refused") and one.shows("class 4 has 64 pages, keeps its last one"))
        assert.is_false(one.shows("slabs reassign"))
        assert.is_true(one.shows("Change the fields until it can be sent") and not one.shows("SSend"))
        assert.is_false(one.shows("rRemove"))
        one.ui.review.plan[1].pages = 3
        one.draw()
        assert.is_true(one.shows("SSend"))
        one.frame.locked = "ROLE read"
        one.draw()
        assert.is_true(one.shows("ROLE read: nothing can be sent") and not one.shows("capital S"))
        assert.is_false(one.shows("SSend"))
    end)

    it("shows on a small screen all that is changed and its cost, or why it is refused, or needs more rows", function()
        local one = console()
        one.frame = screens.frame(screens.look("memcached-1.6.18", 20))
        review.open(one.ui, propose.move(one.frame, 12, 4).plan)
        one.draw(60, 15)
        for _, text in ipairs({ "slabs reassign 4 12 ×", "expects", "may lose", "capital S sends it", "SSend" }) do
            assert(one.shows(text), text .. "\n" .. one.text)
        end
        one.draw(40, 10)
        assert.is_true(one.shows("S needs 5 more rows.  Esc cancels") and not one.shows("SSend"))
        assert.equal(review.UNSEEN, one.ui.review.refusal)
        one.draw(40, 15)
        assert.is_true(one.shows("may lose") and one.shows("SSend"))
        review.open(one.ui, { { name = "slab_automove_ratio", value = "7" } })
        one.draw(40, 10)
        assert.is_true(one.shows("number from 0.01 to 1,") and one.shows('not "7"') and one.shows("Esc cancels"))
        one.draw(30, 9)
        assert.is_true(one.text == "need 40x10" .. ("\n"):rep(8) and one.ui.review.refusal ~= nil)
    end)

    it("says to change the fields only if that helps", function()
        local one = console()
        review.open(one.ui, { { name = "policy", value = "lru" } })
        one.draw()
        assert.is_true(one.shows("refused") and one.shows("Nothing can be sent now"))
        review.open(one.ui, { { name = "slab_automove_ratio", value = "7" } })
        one.draw()
        assert.is_true(one.shows("Change the fields until it can be sent"))
        review.open(one.ui, { { name = "slab_automove_ratio", value = "7" }, { name = "verbosity", value = "1" } })
        one.draw()
        assert.is_true(one.shows("refused") and one.shows("Nothing can be sent now"))
    end)

    it("of a plan has a step a row, the effect of each and of all, and gives up a step by a key", function()
        local one = console()
        one.frame = screens.frame(screens.look("memcached-1.6.18", 20))
        review.open(one.ui, { { from = 4, to = 12, pages = 3 }, { from = 4, to = 22, pages = 20 },
            { from = 4, to = 12, pages = 1 } })
        one.draw()
        for _, text in ipairs({ "Plan of moves: review", "  slabs reassign 4 12 ×  [   3]  +",
            "▶ slabs reassign 4 12 ×  [   1]  +", "from, to      pages  points of hits",
            "3 moves; it stops at the first that fails", "up to 131K items of class 4", "rRemove" }) do
            assert(one.shows(text), text .. "\n" .. one.text)
        end
        local sum, points = one.text:match("expects +(%S+) points of hits"), 0
        for step in one.text:gmatch("slabs reassign [%d ]+×  %[[ %d]+%]  ([+-][%d.]+) %(") do
            points = points + tonumber(step)
        end
        assert.near(points, tonumber(sum), 0.2)
        one.press("up", "2", "+")
        assert.equal(3, one.ui.review.plan[2].pages)
        one.press("r")
        assert.same({ 12, 12 }, { one.ui.review.plan[1].to, one.ui.review.plan[2].to })
        one.press("r") -- the cursor is on the last step
        assert.is_true(one.shows("Move pages: review") and one.shows("slabs reassign 4 12 × 3"))
        assert.is_true(one.shows("▶ pages"))
        one.press("r")
        assert.equal(1, #one.ui.review.plan)
    end)

    it("of a plan says once what it warns of", function()
        local one = console("slated-0.1")
        one.frame = screens.frame(screens.look("slated-0.1", 20))
        review.open(one.ui, { { from = 10, to = 13, pages = 2 }, { from = 10, to = 13, pages = 2 } })
        one.draw(80, 40)
        assert.equal(1, select(2, one.text:gsub("class 10 is left with one page", "")), one.text)
    end)

    it("of a plan that goes back is sent at 80x24, with what all its classes may lose", function()
        local one, plan = console(), {}
        one.frame = screens.frame(screens.look("slated-0.1", 20))
        for _, class in ipairs(one.frame.live.now.classes) do
            plan[#plan + 1] = class.total_pages > 1 and class.id ~= 13
                and { from = class.id, to = 13, pages = class.total_pages - 1 } or nil
        end
        review.open(one.ui, plan, "undo", ("%d moves of pages"):format(#plan))
        one.draw()
        screens.shows(one.text, "WARNING   each of classes 2, 3, 10, 11, 12 and 14 is left with one ",
            "items of classes 2, 3, 10, 11, 12 and 14, the", "capital S sends it")
        assert.is_nil(one.ui.review.refusal)
    end)

    it("of a plan of three moves can be sent at 60x15, with each command, gain and cost as a whole", function()
        for fixture, of in pairs({ ["memcached-1.6.18"] = { 4, 12, 22,
                "slabs reassign 4 22 ×  [   5]", "slabs reassign 4 12 ×  [   1]" },
            ["slated-0.1"] = { 3, 13, 11, "slabs reassign 3 11 5  [   5]", "slabs reassign 3 13    [   1]" } }) do
            local one = console()
            local plan = { { from = of[1], to = of[2], pages = 3 }, { from = of[1], to = of[3], pages = 5 },
                { from = of[1], to = of[2], pages = 1 } }
            one.frame = screens.frame(screens.look(fixture, 20))
            review.open(one.ui, plan)
            one.draw(60, 15)
            local said = one.text:gsub(" *│\n│ *", " ")
            screens.shows(said, of[4], of[5], "capital S sends it")
            assert.is_nil(one.ui.review.refusal)
            for _, sentence in ipairs(change.forecast_of_moves(one.frame.live, one.ui.review.plan)) do
                assert.truthy(sentence.label == "undo" or said:find(sentence.text, 1, true), said)
            end
            assert.truthy(said:find("items that were lost", 1, true) or said:find("…", 1, true), said)
        end
    end)

    it("opens at the last field of the change, from which one key down is the trial, and ends at both ends", function()
        local one = console("slated-0.1")
        local moves = { { from = 12, to = 4, pages = 3 }, { from = 12, to = 4, pages = 5 } }
        for _, plan in ipairs({ moves, { moves[1] }, { { name = "slab_automove", value = "1" } },
            { { name = "slab_automove", value = "1" }, { name = "verbosity", value = "1" } } }) do
            review.open(one.ui, plan)
            one.press("down", "1")
            assert.equal(1, one.ui.review.terms.minutes)
            one.press("down", "down", "down", "7") -- the last field is a bound of the trial
            assert.equal(7, one.ui.review.terms.hit_points)
            one.press("up", "up", "up", "up", "up", "up")
            assert.equal(1, one.ui.review.field)
        end
        review.open(one.ui, moves)
        one.press("up", "9", "up", "8")
        assert.same({ 8, 5 }, { one.ui.review.plan[1].pages, one.ui.review.plan[2].pages })
    end)

    it("changes its fields by keys", function()
        local one = console()
        local plan = propose.move(one.frame, 12, 4).plan
        review.open(one.ui, plan)
        local first = one.ui.review.plan[1]
        one.press("up", "right")
        assert.equal(22, first.to) -- the next class with pages
        one.press("left", "left", "left")
        assert.equal(0, first.to) -- below the first class is the pool
        one.press("down", "down", "1", "0")
        assert.equal(10, one.ui.review.terms.minutes)
        assert.is_true(one.shows("goes back after 10 min") and one.shows("evict +%"))
        one.press("down", "4", ".")
        assert.same({ minutes = 10, evictions_pct = 4, hit_points = 1 }, one.ui.review.terms)
        one.press("up", "9", "9", "9")
        assert.equal(999, one.ui.review.terms.minutes)
        one.press("9") -- beyond a day the number begins anew
        assert.equal(9, one.ui.review.terms.minutes)
        one.press("down", "up", "0")
        assert.is_false(one.shows("evict +%"))
        assert.equal(12, plan[1].to) -- the view's own plan stays
        one.press("q")
        assert.is_false(one.ui.review.is_open)
        review.open(one.ui, { { name = "class_policy", value = "lru 5" } })
        one.press("right")
        assert.equal("lru 5", one.ui.review.plan[1].value) -- memcached has no other
        review.open(one.ui, { { name = "slab_automove_ratio", value = "0.50" } })
        one.press("right")
        assert.equal("0.55", one.ui.review.plan[1].value)
        one.press("0", ".", "7")
        assert.equal("0.7", one.ui.review.plan[1].value)
        review.open(one.ui, plan, "undo", "what was done")
        one.press("3", "right")
        assert.equal(2, one.ui.review.plan[1].pages) -- an undo has no fields
        assert.is_true(one.shows("F1Keys EscCancel") and not one.shows("Less") and not one.shows("rRemove"))
        assert.is_true(one.shows("undoes") and one.shows("what was done") and one.shows("Undo: review"))
    end)

    -- The screen without blanks, ends of lines and the dialog's frame, so that wrapped text is one line again.
    local function unwrapped(text)
        return (text:gsub("│", ""):gsub("%s", ""))
    end

    -- The number of screen sizes at which the review says that all lines are visible; each is checked.
    local function sizes_that_show(one, plan)
        local seen = 0
        review.open(one.ui, plan)
        assert.truthy(one.ui.review.refusal)
        for height = 1, 34, 3 do
            for width = 1, 76, 5 do
                one.draw(width, height)
                seen = seen + (one.ui.review.refusal and 0 or 1)
                local text = unwrapped(one.text)
                for _, step in ipairs(one.ui.review.refusal and {} or plan) do
                    for _, sent in ipairs(change.lines(one.frame.live, step)) do
                        assert(text:find(unwrapped(sent.line), 1, true),
                            ("%s at %dx%d"):format(sent.line, width, height))
                    end
                end
            end
        end
        return seen
    end

    it("knows whether all that is sent was seen", function()
        local one, plan = console("memcached-1.6.45"), {}
        for name, value in pairs({ slab_automove = "2", slab_automove_ratio = "0.55", temporary_ttl = "30",
            maxbytes = "80", lru_crawler = "no", lru_crawler_sleep = "700", lru_crawler_tocrawl = "4000",
            verbosity = "1" }) do
            plan[#plan + 1] = { name = name, value = value }
        end
        assert.truthy(sizes_that_show(one, plan) > 30)
        one.draw()
        assert.is_true(not one.ui.review.refusal and one.shows("8 changes; it stops at the first that fails"))
        one.draw(20, 4)
        assert.truthy(one.ui.review.refusal)
        one.draw(80, 12)
        assert.equal(review.UNSEEN, one.ui.review.refusal)
        assert.truthy(one.text:find("S needs %d+ more rows%.  Esc cancels"), one.text)
        local sizes = { "sizes 96" }
        for size = 104, 4000, 96 do
            sizes[#sizes + 1] = ("%d"):format(size)
        end
        assert.truthy(sizes_that_show(console(), { { from = 4, to = 12, pages = 3 }, { from = 4, to = 12, pages = 1 },
            { from = 4, to = 22, pages = 2 } }) > 30)
        assert.truthy(sizes_that_show(console("slated-0.1"), { { name = "geometry",
            value = table.concat(sizes, ",") } }) > 30) -- a list without a blank
    end)

    it("sends no chunk sizes that the server would refuse, and says how it takes them", function()
        local one = console("slated-0.1")
        local predictions = one.frame.live.answers.predictions
        local function answered(line)
            review.open(one.ui, { { name = "geometry", value = "factor 1.25" } })
            predictions:want({})
            predictions:want({ "factor 1.25" })
            predictions:take(select(2, predictions:next(0)), line, 0)
            one.draw(80, 40)
            return one.ui.review.refusal
        end
        local made = "PREDICTED 39 classes would hold 1.2 % fewer items in 64 pages, 1000 instead of 1010, and waste "
            .. "9.9 % of their memory instead of 10.1 %"
        assert.equal("the server would refuse it: it brings less than 2 % more items; :set chunk sizes factor 1.25 "
            .. "force changes them even so", answered(made .. "; under 2 % more it would be refused without force"))
        assert.is_true(one.shows("refused") and not one.shows("capital S"))
        assert.equal("the server would refuse it: these are the sizes", answered("SAME these are the sizes"))
        assert.is_nil(answered(made))
    end)

    it("asks for what its forecast needs, and is drawn before the server answers", function()
        local one = console()
        review.open(one.ui, { { name = "geometry", value = "factor 1.25" }, { from = 4, to = 12, pages = 1 } })
        local wants = screen.wants(one.ui)
        assert.same({ { "factor 1.25" }, { 4, 12 } }, { wants.orders, wants.curves_first })
        assert.is_true(wants.inquiries.predictions and wants.inquiries.config and wants.inquiries.class_curves)
        one.frame.live = require("slate.console.model").new("cache7:11211")
        one.draw()
        assert.is_true(one.shows("Changes: review") and not one.shows("capital S"))
    end)
end)

describe("a change to marked servers", function()
    local function fleet(...)
        local one = console()
        one.frame.servers, one.ui.fleet = {}, { marked = {} }
        for i, fixture in ipairs({ ... }) do
            one.frame.servers[i] = { server = i, model = screens.model(fixture), words = "" }
            one.frame.servers[i].model.server = "c" .. i
            one.ui.fleet.marked[i] = true
        end
        return one, one.frame.servers
    end
    local PLAN <const> = { { name = "slab_automove_ratio", value = "0.8" } }

    it("goes to those with other values, unless one refuses", function()
        local one, servers = fleet("memcached-1.6.18", "memcached-1.6.45")
        assert.equal(2, marked.count(one.ui))
        local function why_not(plan)
            local targets, why = marked.targets(one.frame, one.ui, { plan = plan or PLAN })
            return why, targets and #targets
        end
        assert.same({ "all marked servers have these values already" }, { why_not() })
        assert.same({ 0, 2 }, { why_not({ { name = "verbosity", value = "1" } }) })
        assert.equal("has", marked.answer(one.frame, servers[1].model, PLAN))
        servers[2].model:set_link("down", "gone", 1000)
        assert.equal("c2: no connection", (why_not()))
        servers[2].model:set_link("up", "", 1000)
        servers[2].model.now.role = "read"
        assert.equal("c2: its role is read, and changes need admin", (why_not()))
        one, servers = fleet("slated-0.1")
        assert.equal("c1: its settings have not arrived yet", (why_not()))
        one.ui.fleet.marked = { [NOWHERE] = true }
        assert.equal("no server is marked", (why_not()))
        assert.equal("refuses", (marked.answer(one.frame, servers[1].model, PLAN)))
    end)

    it("is refused by a stalled server, whatever value was read from it, and every refusing one is named", function()
        local one, servers = fleet("memcached-1.6.18", "memcached-1.6.18", "memcached-1.6.18", "memcached-1.6.18",
            "memcached-1.6.18")
        local function refusal(review_of)
            local targets, why, is_of_values = marked.targets(one.frame, one.ui, review_of or { plan = PLAN })
            assert.is_nil(targets)
            return why, is_of_values
        end
        servers[1].model.at_s = 3
        assert.equal("c1: no answer for 9s", (refusal()))
        servers[3].model:set_link("down", "gone", 1000)
        servers[4].model.at_s = 3
        assert.same({ "c1, c4: no answer for 9s; c3: no connection" }, { refusal() })
        servers[2].model.at_s, servers[5].model.at_s = 3, 3
        assert.equal("c1, c2, c4 and 1 more: no answer for 9s; c3: no connection", (refusal()))
        assert.equal("c1: no answer for 9s", (refusal({ plan = PLAN, taken = { [servers[1].model] = PLAN } })))
        review.open(one.ui, PLAN, nil, nil, true)
        one.draw()
        assert.is_true(one.shows("Nothing is sent while a marked server refuses") and not one.shows("SSend"))
        assert.is_false(one.shows("value already") or one.shows("Change the fields"))
    end)

    it("says to change the fields when every refusing server would take other values", function()
        local one, servers = fleet("memcached-1.6.18", "memcached-1.6.18")
        review.open(one.ui, { { name = "slab_automove_ratio", value = "7" } }, nil, nil, true)
        one.draw()
        assert.is_true(one.shows("c1, c2: automove ratio") and one.shows("Change the fields until it can be sent"))
        servers[2].model:set_link("down", "gone", 1000)
        one.draw()
        assert.is_false(one.shows("Change the fields"))
    end)

    it("is of settings, not of pages, nor of one class", function()
        assert.is_true(marked.takes(PLAN))
        assert.is_false(marked.takes({ PLAN[1], { from = 4, to = 12, pages = 1 } }))
        assert.is_false(marked.takes({ { name = "class_policy", value = "lru 5" } }))
        assert.is_false(marked.takes({}))
    end)

    it("names the values of now and the servers in its review", function()
        local one, servers = fleet("memcached-1.6.18", "memcached-1.6.18", "memcached-1.6.18")
        local function set(i, value)
            servers[i].model.answers:take("settings", "STAT verbosity " .. value .. "\r\n",
                { at_s = 12, is_stats = true })
        end
        assert.equal("0", marked.now(one.frame, one.ui, "verbosity"))
        assert.equal("-", marked.now(one.frame, one.ui, "policy"))
        set(3, "1")
        assert.equal("0 on 2, 1 on 1", marked.now(one.frame, one.ui, "verbosity"))
        review.open(one.ui, { { name = "verbosity", value = "1" } }, nil, nil, true)
        one.draw()
        assert.is_true(one.shows("verbosity, to 2 marked servers ─"))
        assert.is_true(one.shows("to c1, c2") and one.shows("1 marked server has the value already"))
        assert.is_true(one.shows("0 on 2, 1 on 1"))
        set(2, "1")
        one.draw()
        assert.is_true(one.shows("to 1 marked server ─") and one.shows("2 marked servers have the value already"))
        servers[1].model:set_link("down", "gone", 1000)
        one.draw()
        assert.is_true(one.shows("refused") and one.shows("c1: no connection") and not one.shows("capital S"))
    end)

    it("shows what an undo sends to each of them, and leaves out those that did not get the change", function()
        local one, servers = fleet("memcached-1.6.18", "memcached-1.6.18", "memcached-1.6.18", "memcached-1.6.18")
        local function back(value) return { { name = "verbosity", value = value } } end
        review.open(one.ui, back("0"), "undo", "set verbosity to 2", true)
        one.ui.review.taken = { [servers[1].model] = back("0"), [servers[2].model] = back("1"),
            [servers[4].model] = back("0") }
        one.draw()
        assert.is_true(one.shows("Undo: review, to 3 marked servers ─") and one.shows("set verbosity to 2"))
        local text = one.text:gsub("[^%w%s,]", "")
        assert.truthy(text:find("verbosity 0 +\n +to c1, c4 .*verbosity 1 +\n +to c2 "), one.text)
        one.draw(60, 15)
        assert.is_nil(one.ui.review.refusal)
    end)

    it("refuses an undo over what another client set since, on one server or one of many", function()
        local one, servers = fleet("memcached-1.6.18", "memcached-1.6.18")
        local set = tonumber(change.row(one.frame.live, "verbosity").now)
        local function open(was, is)
            local entry = { name = "verbosity", was = tostring(was), is = tostring(is) }
            local back = { { name = "verbosity", value = entry.was, undoes = entry } }
            review.open(one.ui, back, "undo", "set verbosity")
            one.draw()
            local refused = one.ui.review.refusal
            review.open(one.ui, back, "undo", "set verbosity", true)
            one.ui.review.taken = { [servers[1].model] = back }
            one.draw()
            return refused, one.ui.review.refusal
        end
        local alone, many = open(set + 1, set + 2)
        assert.equal(("verbosity is no longer %d but %d: another client changed it since"):format(set + 2, set), alone)
        assert.truthy(many:find(alone, 1, true), many)
        assert.same({}, { open(set + 1, set) })
        assert.same({}, { open(set, set + 1) }) -- it is back already
    end)

    it("shows what an undo of several changes leaves to others, and does not send that", function()
        local one = console()
        local set = tonumber(change.row(one.frame.live, "verbosity").now)
        local function entry(name, was, is) return { name = name, was = tostring(was), is = tostring(is) } end
        review.open(one.ui, { { name = "verbosity", value = "1", undoes = entry("verbosity", set + 1, set + 2) },
            { name = "hot_lru_pct", value = "30" } }, "undo", "set verbosity=2 hot_lru_pct=20")
        one.draw()
        assert.is_nil(one.ui.review.refusal)
        assert.matches(("leaves +verbosity is no longer %d but %d: another client changed it"):format(set + 2, set),
            one.text)
        assert.is_nil(one.text:find("verbosity 1", 1, true))
        assert.truthy(one.text:find("lru tune 30", 1, true), one.text)
    end)

    it("shows the end of an address that its title cannot hold", function()
        local one = console()
        one.frame.live.server = "/" .. ("long/"):rep(20) .. "one.sock"
        review.open(one.ui, propose.move(one.frame, 12, 4).plan)
        one.draw()
        assert.is_true(one.shows("long/one.sock ─┐"))
    end)
end)
