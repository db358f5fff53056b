-- SPDX-License-Identifier: BSD-3-Clause
-- The state of a server in words, in slatetop.
require "support.world"
local health = require "slate.console.health"
local model_facts = require "slate.console.model"
local question = require "slate.console.question"
local screens = require "screens"

-- The first line that holds the words; nil without one.
local function line_with(lines, words)
    for _, line in ipairs(lines) do
        if line.text:find(words, 1, true) then
            return line
        end
    end
end

local function lines_at(model, now_s)
    return health.lines({ model = model, now_s = now_s, interval_s = 1 })
end

local function no_wants()
    return { inquiries = {}, unhurried = {}, curves_first = {}, orders = {} }
end

describe("health", function()
    it("has the hit ratio over all seconds seen", function()
        local model = screens.look("memcached-1.4.25", 2)
        assert.truthy(line_with(lines_at(model, 16.1), "hit ratio ").text:find("%% over 6 s$"))
        screens.go_on(model, 10)
        assert.truthy(line_with(lines_at(model, 36.1), "hit ratio ").text:find("%% over 10 s, .* %% over 26 s$"))
    end)

    it("says neither ok nor that no class starves while pages moved just now", function()
        local model = screens.look("memcached-1.4.25", 0)
        screens.go_on(model, 4)
        model.observer.rows[1].is_measuring = true
        local line = line_with(lines_at(model, model.at_s), "which class starves is not judged yet")
        assert.equal("note", line.tone)
        assert.is_nil(line_with(lines_at(model, model.at_s), "no class starves"))
    end)

    it("requests what the judgement reads, now and then", function()
        local model, wants = model_facts.new("x"), no_wants()
        health.wants(model, 1, wants)
        assert.same({}, wants.unhurried)
        model = screens.look("slated-0.1", 0)
        health.wants(model, 1, wants)
        assert.same({ moves = true, memory = true, curve = true, whatif = true, geometry = true },
            wants.unhurried)
        assert.same({}, wants.inquiries)
        for name in pairs(wants.unhurried) do
            model.answers:take(name, "STAT a 1\r\nEND\r\n", { at_s = 5, is_stats = true })
        end
        wants = no_wants()
        health.wants(model, 14, wants)
        assert.same({}, wants.unhurried)
        model.has_moved = true -- pages changed class: it may be for other chunk sizes
        health.wants(model, 14, wants)
        assert.same({ geometry = true }, wants.unhurried)
        health.wants(model, 15, wants)
        assert.is_true(wants.unhurried.curve)
    end)

    it("requests the curves of a class in need and its donor, unless a view needs others", function()
        local model = screens.look("memcached-1.4.25", 2)
        model.now.slated = "0.1"
        local wants = no_wants()
        health.wants(model, 16, wants)
        assert.same({ 4, 12 }, wants.curves_first)
        assert.is_true(wants.unhurried.class_curves)
        wants = no_wants()
        wants.curves_first = { 22 }
        health.wants(model, 16, wants)
        assert.same({ 22 }, wants.curves_first)
    end)

    it("calls old figures old, with the reason", function()
        local model = screens.look("memcached-1.4.25", 0)
        assert.is_false(health.is_stale({ model = model, now_s = 13, interval_s = 1 }))
        assert.is_true(health.is_stale({ model = model, now_s = 17, interval_s = 1 }))
        local first = lines_at(model, 17)[1]
        assert.same({ "bad", "the server does not answer: figures are 5s old" }, { first.tone, first.text })
        model:set_link("down", "cannot connect: refused", 0)
        local lines = lines_at(model, 17)
        assert.equal("figures are 5s old: cannot connect: refused", lines[1].text)
        assert.truthy(line_with(lines_at(model, 13), "hit ratio"))
    end)

    it("has a line before the first figures", function()
        local model = model_facts.new("x")
        assert.equal("connecting to x", lines_at(model, 0)[1].text)
        model:set_link("up", "", 0)
        assert.equal("waiting for the first reply of x", lines_at(model, 0)[1].text)
        model:set_link("down", "cannot connect", 0)
        assert.equal("cannot connect", lines_at(model, 0)[1].text)
        assert.equal(1, #lines_at(model, 0))
    end)

    it("names losses and limits, the worst first", function()
        local model = screens.look("memcached-1.6.18", 0)
        local now = screens.snapshot(screens.replies("memcached-1.6.18-second"))
        for _, class in ipairs(now.classes) do
            class.outofmemory = class.id == 12 and class.outofmemory + 40 or class.outofmemory
        end
        now.general.curr_connections = 1000
        now.general.slab_reassign_busy_deletes = now.general.slab_reassign_busy_deletes + 10
        model:take(now, { at_s = 14, reply_ms = 250, wall_s = 0 })
        local lines = lines_at(model, 14.1)
        local refused = line_with(lines, "class 12 refuses 20 stores a second")
        assert.same({ "bad", "m" }, { refused.tone, refused.key })
        assert.equal("warn", line_with(lines, "1000 of 1024 connections are open").tone)
        assert.equal("note", line_with(lines, "the server took 250 ms to answer").tone)
        assert.truthy(line_with(lines, "page moves lose 5 items a second"))
        local rank = { bad = 1, warn = 2, note = 3, good = 4 }
        for i = 2, #lines do assert.truthy(rank[lines[i - 1].tone] <= rank[lines[i].tone]) end
    end)

    it("says of a change of chunk sizes how far it is, and not that pages stay where they are", function()
        local model = screens.look("slated-0.1", 0)
        model.observer.automove = "off: pages stay where they are"
        assert.truthy(line_with(lines_at(model, 0), "pages stay"))
        for _, case in ipairs({ { "draining", 31, ": range 2 of 5, 31 pages of old sizes left" },
            { "draining", 0, ": range 2 of 5" },
            { "paused", 1, ", paused: range 2 of 5, 1 page of old sizes left" } }) do
            model.answers:take("geometry", ("STAT state %s\r\nSTAT ranges 5\r\nSTAT ranges_done 2\r\n"
                .. "STAT pages_old %d\r\nEND\r\n"):format(case[1], case[2]), { at_s = 12, is_stats = true })
            local line = line_with(lines_at(model, 0), "chunk sizes change")
            assert.same({ "chunk sizes change" .. case[3], "note" }, { line.text, line.tone })
            assert.is_nil(line_with(lines_at(model, 0), "pages stay"))
        end
        model.answers:take("geometry", "STAT state steady\r\nSTAT ranges 5\r\nEND\r\n", { at_s = 13, is_stats = true })
        assert.is_nil(line_with(lines_at(model, 0), "chunk sizes"))
    end)

    it("finds anew with each snapshot and reply, and not in between", function()
        local model = screens.look("memcached-1.4.25", 2)
        local known = question.findings(model)
        assert.equal("starving", known[1].label)
        assert.equal(known, question.findings(model))
        model.answers:take("moves", "STAT mode off\r\nSTAT failed lua:mine: line 3\r\nEND\r\n",
            { at_s = 17, is_stats = true })
        assert.truthy(line_with(lines_at(model, 16.1), "automove failed: lua:mine"))
    end)

    it("says of a module that fails what failed, and goes on", function()
        local model = screens.look("memcached-1.4.25", 2)
        model.failure = "a fault"
        local lines = lines_at(model, 16.1)
        assert.same({ "bad", "not judged: a fault" }, { lines[1].tone, lines[1].text })
        assert.truthy(line_with(lines, "hit ratio "))
    end)
end)
