-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's view of item sizes over chunk sizes.
require "support.world"
local model = require "slate.console.model"
local screens = require "screens"
local size_graph = require "slate.console.draw.size_graph"
local view = require "slate.console.views.sizes"
local shows = screens.shows

local FEWER <const> = "PREDICTED 99 classes would hold 3.1 % fewer items in 64 pages, 96900 instead of 100000, "
    .. "and waste 2.0 % of their memory instead of 12.0 %; under 2 % more it would be refused without force\r\n"
local MORE <const> = "PREDICTED 61 classes would hold 9.3 % more items in 64 pages, 109300 instead of 100000, "
    .. "and waste 4.1 % of their memory instead of 12.0 %\r\n"

local function slated()
    local made = screens.model("slated-0.1")
    screens.take_details(made, "slated-0.1-second", 13, 12)
    return screens.frame(made)
end

local function drawn(frame, ui, width, height)
    return screens.text(screens.grid("views.sizes", frame, width or 80, height or 24, ui or { sizes = view.state() }))
end

-- The server answers the requests for predictions, in order.
local function predict(frame, ...)
    local predictions = frame.model.answers.predictions
    predictions:want({ "factor 1.04", "factor 1.08" })
    for _, line in ipairs({ ... }) do
        local _, ticket = predictions:next(0)
        predictions:take(ticket, line, 12.4)
    end
end

describe("the view of sizes", function()
    it("looks as it was reviewed: an estimate without conclusions", function()
        assert.is_nil(screens.unlike_reviewed("Sizes", "views.sizes"))
    end)

    it("has how many items, from where, and the orders that the server is asked about", function()
        local wants = { orders = {} }
        shows(drawn(slated()), "153K items by size", "EXACT, of live items", "now               39   10.6 %",
            "factor 1.08  waiting for the server", "geometry steady: nothing was asked for")
        view.wants(nil, wants)
        assert.equal("factor 1.04", wants.orders[1])
    end)

    it("has the server's predictions, and marks what would hold most items", function()
        local frame = slated()
        predict(frame, FEWER, MORE)
        shows(drawn(frame), "factor 1.04       99    2.0 %    -3.1 %  no gain: refused\n",
            "factor 1.08       61    4.1 %    +9.3 %  ◀ most items\n", "  best ")
        frame.now_s = frame.now_s + 20
        shows(drawn(frame), "no gain: refused  20s ago")
    end)

    it("has the rule by which the server refuses a small gain", function()
        local frame = slated()
        predict(frame, (FEWER:gsub("3.1 %% fewer", "1.5 %% more")))
        shows(drawn(frame), "factor 1.04       99    2.0 %    +1.5 %  under +2 %: refused\n")
    end)

    it("reviews the order under the cursor", function()
        local frame, ui = slated(), { sizes = view.state() }
        predict(frame, FEWER, MORE)
        shows(drawn(frame, ui), "\n>now  ", "\n factor 1.04  ")
        assert.equal("these are today's sizes: go to others first", view.command(frame, ui, "review").text)
        view.command(frame, ui, "down")
        view.command(frame, ui, "down")
        shows(drawn(frame, ui), "\n now  ", "\n>factor 1.08  ")
        assert.same({ kind = "review", plan = { { name = "geometry", value = "factor 1.08" } } },
            view.command(frame, ui, "review"))
        view.click(ui, "row", 2)
        assert.equal("factor 1.04", view.command(frame, ui, "review").plan[1].value)
    end)

    it("has the computed effect for a memcached that tracks sizes, which takes them at its start only", function()
        local frame = screens.frame(screens.model("memcached-1.6.18"))
        frame.model.answers:take("stock_sizes", "STAT 96 1000\r\nSTAT 128 3000\r\nSTAT 1024 10\r\nEND\r\n",
            { at_s = 12, is_stats = true })
        local text = drawn(frame)
        shows(text, "4010 items by size", "as the server tracks them", "no gain\n")
        assert.is_nil(text:find("refused", 1, true))
        assert.equal("say", view.command(frame, { sizes = view.state() }, "review").kind)
        frame.model.answers:take("stock_sizes", "STAT sizes_status disabled\r\nEND\r\n", { at_s = 12, is_stats = true })
        shows(drawn(frame), "ESTIMATED, a bar a class")
    end)

    it("is an estimate in the past of a slated", function()
        local frame = screens.frame(screens.model("slated-0.1"), { is_past = true })
        shows(drawn(frame), "ESTIMATED, a bar a class")
        frame.is_past = false
        shows(drawn(frame), "waiting for the server")
    end)

    it("says that sizes are not known where no classes are reported", function()
        local of = model.new("cache7")
        of:take(screens.snapshot({ stats = "STAT pid 1\r\nSTAT curr_items 5\r\nEND\r\n" }, 1),
            { at_s = 1, wall_s = 1000 })
        local text = drawn(screens.frame(of))
        shows(text, "sizes are not known")
        assert.is_nil(text:find("items by size", 1, true))
    end)

    for _, store in ipairs({ "heap", "blocks" }) do
        it("says that chunk sizes need another store than " .. store, function()
            local frame = slated()
            frame.model.now.store = store
            local why = "chunk sizes need --store=slab; this server has " .. store
            shows(drawn(frame), why)
            assert.same({ kind = "say", text = why }, view.command(frame, { sizes = view.state() }, "review"))
        end)
    end
end)

describe("the graph of sizes", function()
    it("has eight bins to a doubling: the end of each belongs to it", function()
        for _, case in ipairs({ { 9, 8 }, { 16, 16 }, { 17, 18 }, { 128, 128 }, { 129, 144 }, { 1000, 1024 } }) do
            local first, last = size_graph.axis({ { bytes = case[1], items = 1 } }, 0, 80),
                size_graph.axis({ { bytes = case[2], items = 1 } }, 0, 80)
            assert.equal(first.first, last.first, ("%d and %d bytes"):format(case[1], case[2]))
        end
        assert.not_equal(size_graph.axis({ { bytes = 128, items = 1 } }, 0, 80).first,
            size_graph.axis({ { bytes = 129, items = 1 } }, 0, 80).first)
    end)
end)
