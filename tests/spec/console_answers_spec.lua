-- SPDX-License-Identifier: BSD-3-Clause
-- The answers to inquiries, what is made from them, and the questions that use them.
require "support.world"
local answers = require "slate.console.answers"
local inquiries = require "slate.console.inquiries"
local page_summary = require "slate.console.page_summary"
local predictions = require "slate.console.predictions"
local question = require "slate.console.question"
local screens = require "screens"
local server = require "slate.console.server"
local snapshot = require "slate.facts.snapshot"

local function slated(class_id)
    local made = screens.model("slated-0.1")
    screens.take_details(made, "slated-0.1-second", class_id, 12)
    return made
end

local function near(wanted, got)
    assert.is_true(got ~= nil and math.abs(got - wanted) < 1e-6 * math.max(1, math.abs(wanted)), tostring(got))
end

describe("an inquiry", function()
    it("has a reason where a server does not know it", function()
        local stock, own = { general = {}, settings = {} }, { general = {}, slated = "0.1.0" }
        for _, case in ipairs({
            { "curve", nil, "nothing is known" }, { "curve", stock, "the classes %(2%)" },
            { "hotkeys", stock, "slatectl hotkeys" },
            { "config", stock, "^needs slated: memcached does not report this$" },
            { "settings", stock }, { "stock_sizes", stock, "%-o track_sizes" },
            { "stock_sizes", { general = {}, settings = { track_sizes = true } } }, { "curve", own },
            { "stock_sizes", own, "sizehist" },
        }) do
            local why = inquiries.why_not(case[1], case[2])
            assert.is_true(case[3] and why and why:find(case[3]) ~= nil or not case[3] and why == nil, why)
        end
    end)
end)

describe("answers", function()
    it("are known, with their texts, or refused, in the server's words", function()
        local one, text = answers.new(), "STAT mode ratio\r\nSTAT why the pool has 64 pages\r\nEND\r\n"
        assert.equal("none", one:state("moves"))
        one:take("moves", text, { at_s = 5, is_stats = true })
        assert.same({ "known", text, 5 }, { one:state("moves"), one:text("moves"), one:at_s("moves") })
        assert.equal("the pool has 64 pages", one:parsed("moves").why)
        local stamp = one:stamp({ "moves", "curve" })
        one:take("moves", "CLIENT_ERROR not\027 allowed\r\n", { at_s = 6 })
        assert.same({ "refused", "CLIENT_ERROR not? allowed" }, { one:state("moves") })
        assert.is_nil(one:text("moves"))
        assert.is_nil((one:parsed("moves")))
        assert.is_true(one:stamp({ "moves", "curve" }) ~= stamp)
    end)

    it("of a slated have figures", function()
        local one = slated(12).answers
        local change, classes = one:parsed("geometry")
        assert.same({ "s3fifo", "utility", "steady" }, { one:parsed("policies").active, one:parsed("moves").mode,
            change.state })
        local moves, worth = select(2, one:parsed("moves")), one:parsed("automove")
        local last = moves[#moves]
        assert.is_true(#moves > 10 and #classes > 10 and last.from > 0 and last.to > 0 and last.reason ~= "")
        near(2.272, worth.is_weighed and worth.classes[12].gain)
        near(31.307, worth.classes[13].loss)
        local curve = one:parsed("curve")
        assert.same({ 17, 8388608, 0.9435 }, { #curve.points, curve.points[1][1], curve.sizes[4][2] })
        assert.same({ 17, 0 }, { #one:class_curve(12).points, #one:class_curve(5).points })
        assert.is_nil(one:class_curve(200))
        assert.equal(11, #one:parsed("whatif").policies)
        local hot = one:parsed("hotkeys").keys
        assert.same({ 20, 12640, 864 }, { #hot, hot[1].requests, hot[1].error })
        assert.equal(152721, one:parsed("sizehist").items)
        local ages, steps = one:parsed("evictions"), {}
        for id, list in pairs(ages) do
            steps[#steps + 1] = #list
            assert.is_true(id > 0 and list[1].name:find("^under_") ~= nil and list[#list].name == "older")
        end
        assert.is_true(#steps > 0)
    end)

    it("have one table of curves until the next curve comes, so that one plan of page moves suffices", function()
        local one = slated(12).answers
        local curves = one:curves()
        assert.is_true(#curves[12] > 0)
        one:take("moves", "STAT mode off\r\nEND\r\n", { at_s = 13, is_stats = true })
        assert.equal(curves, one:curves())
        one:take("class_curves", "END\r\n", { at_s = 14, is_stats = true, class_id = 12 })
        assert.are_not.equal(curves, one:curves())
        assert.equal(0, #(one:curves()[12] or {}))
        one:forget_class(13)
        assert.is_nil(one:curves()[13])
        one:forget()
        assert.is_nil(one:curves())
    end)

    it("have every statistic of the class in focus, in the server's order", function()
        local one = slated(12).answers
        local list, names = one:class(), {}
        for _, stat in ipairs(list) do names[stat.name] = stat end
        assert.is_true(#list > 40 and names.moves_to_cold.now ~= nil and list[1].name == "number")
        assert.is_nil(names.moves_to_cold.before)
        local about = { at_s = 13, is_stats = true }
        one:take_group("items", "STAT items:12:moves_to_cold 12x\r\nSTAT items:1:a 1\r\n", about)
        one:take_group("slabs", "STAT 12:get_hits 70\r\nSTAT 120:get_hits 1\r\n", about)
        list = one:class()
        assert.same({ "moves_to_cold", "12x" }, { list[1].name, list[1].value })
        assert.is_nil(list[1].now)
        assert.equal(names.moves_to_cold.now, list[1].before)
        assert.same({ 70, names.get_hits.now, 13, 12 }, { list[2].now, list[2].before, list.at_s, list.before_s })
        one:focus(13)
        assert.equal("none", one:state("class"))
        assert.same({}, one:class())
    end)
end)

describe("the list of pages", function()
    it("agrees with the classes", function()
        local one, sum = slated(), 0
        for id, class in pairs(one.classes) do
            local summary = page_summary.of(one, id)
            sum = sum + summary.pages
            local used, all = class.used_chunks, page_summary.cost(summary, summary.pages)
            assert.is_true(summary.is_exact and all <= class.chunks_per_page * summary.pages and all >= used * 0.9)
            assert.is_true(page_summary.cost(summary, 1) * summary.pages <= all + 0.5, "the emptiest is no fuller")
        end
        assert.equal(64, sum)
    end)

    it("is an estimate of a server without one", function()
        local one = screens.model("memcached-1.6.18")
        local summary = page_summary.of(one, 4)
        assert.same({ false, 64 }, { summary.is_exact, summary.pages })
        assert.is_nil(summary.oldest_s)
        near(one:class(4).used_chunks, page_summary.cost(summary, 64))
        assert.equal(0, page_summary.of(one, 200).pages)
    end)

    it("comes in parts, and a page is in one class only", function()
        local list = page_summary.list()
        list:take("STAT page:0 4 owned 10 20 5 -\r\nSTAT page:1 5 draining 3 20 9 7\r\nSTAT pages_limit 64\r\n"
            .. "STAT next 7\r\nEND\r\n")
        assert.same({ false, 7, true }, { list.is_complete or false, list.next, list.notes_use })
        assert.same({ 1, 1 }, { list:of(5).pages, list:of(5).draining })
        assert.same({ [50] = 1 }, list:of(4).by_fill)
        list:take("STAT page:9 5 owned 20 20 5 -\r\nSTAT next 0\r\nEND\r\n")
        assert.same({ true, 0 }, { list.is_complete, list.next })
        assert.equal(2, list:of(5).pages)
        list:take("STAT page:1 6 owned 1 20 1 -\r\nSTAT next 7\r\nEND\r\n")
        assert.same({ 0, 1, 1 }, { list:of(4).pages, list:of(5).pages, list:of(6).pages })
        list.next = 0
        list:take("STAT page:0 0 owned 1 20 1 -\r\nSTAT page:1 300 owned 1 2 1 -\r\nSTAT page:2 5 owned 9 2 1 -\r\n")
        assert.equal(0, list:of(5).pages, "impossible pages are none")
    end)
end)

describe("a prediction", function()
    local SAID <const> = {
        gain = "PREDICTED 61 classes would hold 9.3 % more items in 64 pages, 109310 instead of 100000, and waste "
            .. "4.1 % of their memory instead of 12.0 %\r\n",
        loss = "PREDICTED 40 classes would hold 1.5 % fewer items in 64 pages, 98500 instead of 100000, and waste "
            .. "9.0 % of their memory instead of 12.0 %; under 2 % more it would be refused without force\r\n",
    }

    it("is requested one order after the other, and again after a while", function()
        local one = predictions.new()
        one:want({ "factor 1.08", "auto" })
        local line, first = one:next(1)
        assert.equal("slabs geometry factor 1.08 dry", line)
        local second = select(2, one:next(1))
        assert.is_nil((one:next(1 + predictions.EVERY_S - 0.001)))
        one:want({ "auto" })
        one:take(first, SAID.gain, 2)
        assert.is_nil(one:of("auto"), "an answer to another order")
        one:take(second, SAID.loss, 2)
        local known = one:of("auto")
        assert.same({ false, -1.5, 9.0, 40, 2 }, { known.would_be_made, known.items_pct, known.waste_pct,
            known.classes, known.known_s })
        for _, case in ipairs({ { SAID.gain, true, 9.3 },
            { "SAME these are the sizes\r\n", false, nil, "these are the sizes" },
            { "CLIENT_ERROR moves are off\r\n", false, nil, "CLIENT_ERROR moves are off" } }) do
            one:take(second, case[1], 2)
            assert.same({ case[2], case[3] }, { known.would_be_made, known.items_pct })
            assert.is_true(not case[4] or case[4] == known.words, known.words)
        end
        one:take(second, "BUSY with another request\r\n", 4)
        assert.equal(2, known.known_s)
        assert.is_truthy((one:next(4)), "it is requested again")
    end)
end)

describe("a question", function()
    it("has the findings and the worth of pages that slatectl has", function()
        local one = slated()
        assert.same({ "measuring" }, { question.findings(one)[1].label, question.findings(one)[2] }, "two samples")
        local worth = question.worth(one)
        assert.same({ 2, 12 }, { #worth, worth[1].id })
        assert.is_true(worth[1].gain > worth[2].gain)
        assert.equal(worth, question.worth(one), "they are made once a snapshot")
        one.answers:take("whatif", "STAT policy lru\r\n", { at_s = 13, is_stats = true })
        assert.is_true(worth ~= question.worth(one), "and once an answer")
    end)

    it("has other chunk sizes", function()
        local one = slated()
        local plan = question.sizes(one)
        assert.same({ 39, 7, "factor 1.04" }, { #plan.now, #plan, plan[1].order })
        assert.is_nil(plan[1].is_known)
        one.answers.predictions:want({ "factor 1.04" })
        local ticket = select(2, one.answers.predictions:next(1))
        one.answers.predictions:take(ticket, "PREDICTED 61 classes would hold 9.3 % more items in 64 pages, 109310 "
            .. "instead of 100000, and waste 6.2 % of their memory instead of 12.8 %\r\n", 5)
        local best = question.sizes(one)[1]
        assert.is_true(best.is_known and best.is_worth_it and best.is_best and #best.sizes > 39)
        near(0.093, best.items_change)
        near(0.062, best.waste_ratio)
        plan = question.sizes(screens.model("memcached-1.6.18"))
        assert.same({ 39, 0 }, { #plan.now, #plan })
    end)

    it("that fails has the error as its sentence", function()
        local one = slated()
        local sentences = question.ask(one, "slate.judge.attention", "nothing_of_the_kind")
        assert.same({ 1, "bad" }, { #sentences, sentences[1].tone })
        assert.matches("^not judged: ", sentences[1].text)
        assert.same({}, question.findings(require("slate.console.model").new("x")))
    end)

    it("before a snapshot is judged has the answer measuring, or none", function()
        for _, name in ipairs({ "automove_reasons", "findings", "watch_automove" }) do
            local one = require("slate.console.model").new("x")
            assert.same({ { tone = "plain", text = "measuring" } }, question.ask(one, "slate.judge.attention", name))
            one:take(screens.model("memcached-1.6.18").now, { at_s = 1, wall_s = 1, is_unjudged = true })
            assert.same({ { tone = "plain", text = "measuring" } }, question.ask(one, "slate.judge.attention", name))
            assert.same({ {}, {}, {}, 1 }, { question.worth(one), question.plan(one), question.plan_classes(one),
                (question.pages(one, 4, 5)) })
            assert.same({}, { question.sizes(one), (question.donor(one, 4)) })
            assert.equal("measuring", (require("slate.console.change").why_not(one, { from = 4, to = 5, pages = 1 })))
        end
    end)

    it("has the cells of the operator's own columns", function()
        local one = slated()
        assert.same({ {}, {} }, { question.own_cells(one) })
        one.rules = { cells = function() return { [4] = { "x" } }, { [4] = { 7 } } end }
        assert.same({ { [4] = { "x" } }, { [4] = { 7 } } }, { question.own_cells(one) })
    end)
end)

describe("a server", function()
    it("is named by its own version, and has its role", function()
        local one = screens.model("slated-0.1").now
        assert.same({ "slated", "0.1.0" }, { server.software(one), server.version(one) })
        assert.same({ "memcached", "1.6.18" }, { server.software(screens.model("memcached-1.6.18").now),
            server.version(screens.model("memcached-1.6.18").now) })
        assert.same({ true, false }, { server.may_change({}), server.may_change({ role = "read" }) })
    end)

    it("of any version has the same figures", function()
        local old, flash = screens.model("memcached-1.4.25"), screens.model("memcached-1.6.45-extstore").now
        assert.equal(39543, server.free_chunks(old:class(4)))
        assert.is_nil(server.tail_age_s({ number = 0, age = 0 }))
        assert.is_nil(server.free_pages({ free_chunks = 5 }))
        assert.is_true(server.has_extstore(flash) and snapshot.item_bytes(flash) < flash.general.bytes)
        local proxy = screens.model("memcached-1.6.45-proxy").now
        assert.is_true(require("slate.facts.proxy").is_one(proxy) and proxy.general.proxy_links_bad > 0)
    end)
end)
