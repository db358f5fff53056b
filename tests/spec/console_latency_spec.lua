-- SPDX-License-Identifier: BSD-3-Clause
-- The times of round trips to a server, and slatetop's view of them.
require "support.world"
local latency = require "slate.console.latency"
local model = require "slate.console.model"
local screens = require "screens"
local shows = screens.shows
local view = require "slate.console.views.latency"

describe("times of round trips", function()
    it("have quantiles that were measured, and a count for each span", function()
        local log = latency.new()
        for us = 100, 1, -1 do log:add(us) end
        local summary = log:summary()
        assert.same({ 100, 50, 90, 99, 100 }, { summary.count, summary.p50_us, summary.p90_us, summary.p99_us,
            summary.most_us })
        assert.same({ 10, 10, 30, 50, 0 }, table.move(summary.buckets, 1, 5, 1, {}))
    end)

    it("leave out what was not measured", function()
        local summary = latency.of({ n = 4, nil, 5, nil, 2e6 })
        assert.same({ 2, 1 }, { summary.count, summary.buckets[#summary.buckets] })
        assert.same({ 0 }, { latency.of({}).count, latency.of({}).most_us, latency.of({}).p50_us })
    end)

    it("are the last ones only", function()
        local log = latency.new()
        for i = 1, 2 * latency.SAMPLES do log:add(i <= latency.SAMPLES and 1000 or 10) end
        assert.same({ latency.SAMPLES, 10 }, { log:summary().count, log:summary().most_us })
    end)
end)

describe("the view of latency", function()
    it("looks as it was reviewed", function()
        assert.is_nil(screens.unlike_reviewed("Latency", "views.latency"))
    end)

    it("has a row for each span of time with round trips, and those between", function()
        local log = latency.new()
        for i = 1, 100 do log:add(i < 95 and 40 or 150) end
        log:add(2500)
        local frame = screens.frame(screens.model("slated-0.1"), { probes = log })
        shows(screens.text(screens.grid("views.latency", frame, 80, 24)), "version: the last 101",
            "half within 40us, 90 % within 40us, 99 % within 150us, longest 2.5ms",
            "      20us to 50us      94  ████", "     50us to 100us       0\n",
            "        2ms to 5ms       1  █\n", "whole refreshes, each in one round trip: the last 2")
    end)

    it("says how many spans have no room, and scrolls to them", function()
        local log, ui = latency.new(), { latency = view.state() }
        for i = 0, 99 do
            log:add(5 * 10 ^ (i // 20))
        end
        local frame = screens.frame(screens.model("slated-0.1"), { probes = log })
        local function drawn()
            return screens.text(screens.grid("views.latency", frame, 60, 15, ui))
        end
        shows(drawn(), " more ↓\n         0 to 10us      20")
        view.command(frame, ui, "down")
        shows(drawn(), "1 ↑ ", " more\n      10us to 20us")
        view.command(frame, ui, "bottom")
        shows(drawn(), "7 more ↑\n", "      20ms to 50ms      20")
        view.command(frame, ui, "up")
        shows(drawn(), "6 ↑ 1 ↓ more\n")
    end)

    for _, case in ipairs({
        { "measuring", link = "up" }, { "no connection: nothing is measured", link = "down" },
        { "measured only now: . returns to live", link = "up", is_past = true },
        { "not recorded: a recording has no round trips", link = "up", is_past = true, is_replay = true },
    }) do
        it("says why there is no time: " .. case[1], function()
            local of = model.new("cache7")
            of:set_link(case.link, "", 1000)
            shows(screens.text(screens.grid("views.latency", screens.frame(of,
                { is_past = case.is_past, is_replay = case.is_replay }), 80, 24)), case[1])
        end)
    end

    it("measures while it is open", function()
        local wants = {}
        view.wants(nil, wants)
        assert.is_true(wants.probes)
    end)
end)
