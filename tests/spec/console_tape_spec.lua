-- SPDX-License-Identifier: BSD-3-Clause
-- The past hour, and the moments of it that the screen shows.
local model = require "slate.console.model"
local screens = require "screens"
local tape = require "slate.console.tape"
local timeline = require "slate.console.timeline"
local world = require "support.world"

local function copy_of(value)
    local new = {}
    for key, one in pairs(value) do new[key] = type(one) == "table" and copy_of(one) or one end
    return new
end

-- The name of the first field that differs; nil if none does.
local function difference(wanted, got)
    local all = {}
    for key in pairs(wanted) do all[key] = true end
    for key in pairs(got) do all[key] = true end
    for key in pairs(all) do
        local a, b = wanted[key], got[key]
        local deeper = type(a) == "table" and type(b) == "table" and difference(a, b)
        if deeper or type(a) ~= "table" and a ~= b then
            return ("%s %s: %s, not %s"):format(key, deeper or "", b, a)
        end
    end
end

-- A second of forty busy classes on a large server.
local function go_on(one, number)
    one = copy_of(one)
    one.time_s, one.schema = 10 + number, nil
    for name, value in pairs(one.general) do
        one.general[name] = math.type(value) == "integer" and value + math.random(0, 49999) or value
    end
    one.general.rusage_user = math.random(0, 1 << 40) / 1000000
    for _, class in ipairs(one.classes) do
        for name, most in pairs({ get_hits = 3000, cmd_set = 1000, evicted = 500, evicted_unfetched = 100,
            mem_requested = 9000, number_hot = 30 }) do
            class[name] = (class[name] or 0) + math.random(0, most - 1)
        end
        class.age, class.free_chunks = 600 + math.random(0, 19), math.random(0, 199)
        class.used_chunks, class.number_cold = 30000 - class.free_chunks, 40000 - class.number_hot
    end
    return one
end

local function busy_server(fixture)
    local one = screens.snapshot(screens.replies(fixture))
    local like = copy_of(require("slate.facts.snapshot").by_id(one)[4])
    one.classes = {}
    for id = 1, 40 do
        one.classes[id] = copy_of(like)
        one.classes[id].id = id
    end
    return one
end

describe("a tape", function()
    setup(function()
        math.randomseed(world.seed)
    end)

    it("gives every sample back whole, in any order", function()
        local made, kept, one = tape.new(), {}, busy_server("memcached-1.6.45-first")
        assert.is_nil(made:read(1))
        local extremes = { 0, math.mininteger, math.maxinteger, 0x7fffffff, -0x80000000, 0xffffffff, -1 }
        for i = 1, 200 do
            one = go_on(one, i)
            one.settings = i < 150 and one.settings or { slab_automove = 1 }
            if i == 70 then -- everything is another, and back: the hardest steps
                one = { general = {}, classes = {}, totals = {}, time_s = 80, settings = one.settings }
            elseif i == 71 then
                one = go_on(busy_server("slated-0.1-second"), i)
            elseif i > 100 and i < 120 then
                one.general.cmd_get = extremes[i % #extremes + 1]
                one.general.rusage_user = ({ 1e300, 7, -1.5 })[i % 3 + 1]
            end
            kept[i] = copy_of(one)
            made:add(one, { wall_s = i - 0.005, at_s = 10 + i, reply_ms = i < 3 and 0.5 or nil })
        end
        local function reads(number)
            local got, about = made:read(number)
            assert.is_nil(difference(kept[number], got))
            assert.same({ wall_s = number - 0.005, at_s = 10 + number, reply_ms = number < 3 and 0.5 or nil }, about)
        end
        for i = 1, 200 do
            reads(i)
            reads(math.random(1, 200))
        end
        for i = 200, 1, -1 do reads(i) end
        for wall_s, number in pairs({ [120] = 120, [119.994] = 119, [-99] = 1, [1 << 30] = 200 }) do
            assert.equal(number, made:find(wall_s))
        end
        assert.same({ 1, 200 }, { made.first, made.last })
        assert.is_nil(made:wall_s(201))
    end)

    it("is small, and has an hour of samples and no more", function()
        local made, one, bytes = tape.new(), busy_server("memcached-1.6.45-extstore-first"), {}
        for i = 1, 4000 do
            one = i <= 128 and go_on(one, i) or { general = {}, totals = {}, classes = {} }
            made:add(one, { wall_s = i, at_s = i })
            bytes[i] = made.bytes
        end
        assert.is_true((bytes[128] - bytes[64]) / 64 * tape.HOUR_SAMPLES < 5.3e6, "bytes: " .. bytes[128])
        local samples = made.last - made.first + 1
        assert.is_true(samples >= tape.HOUR_SAMPLES and samples < tape.HOUR_SAMPLES + 256, "samples: " .. samples)
        assert.equal(4000, (select(2, made:read(4000))).wall_s)
        assert.is_nil(made:read(made.first - 1))
    end)

    it("has bounds, whatever a server says", function()
        local made, most = tape.new(nil, 1 << 20), 0
        for i = 1, 130 do -- more than a block
            local one = { general = {}, totals = {}, classes = {} }
            for id = 1, 255 do
                local class = { id = id }
                for field = 1, 12 do class["f" .. math.random(1, 30)] = math.random(0) + field end
                one.classes[id] = class
            end
            made:add(one, { wall_s = math.random(0), at_s = i })
            most = math.max(most, made.bytes)
            assert.is_nil(difference(one.classes, made:read(i).classes))
        end
        assert.is_true(most < 3 << 20, "bytes: " .. most)
    end)
end)

-- Two hundred samples, a second apart; the n-th second saw n - 1 gets.
local function counting_tape()
    local made, live = tape.new(), model.new("x")
    local one = screens.snapshot(screens.replies("memcached-1.6.45-first"))
    for i = 1, 200 do
        one = copy_of(one)
        one.general.uptime, one.general.cmd_get = one.general.uptime + 1, one.general.cmd_get + i - 1
        local about = { wall_s = 999 + i, at_s = 1 + i, reply_ms = 1 }
        live:take(copy_of(one), about)
        made:add(one, about)
    end
    return made, live
end

describe("a timeline", function()
    local made, live = counting_tape()

    it("shows the rates of its moment", function()
        local line = timeline.new()
        assert.equal(live, line:model(made, live, 80))
        line:hold(made)
        local shown = line:model(made, live, 80)
        assert.is_true(shown ~= live and shown:metric("gets") == 199)
        line:step(made, -9)
        assert.equal(190, line:model(made, live, 80):metric("gets"))
        line:step(made, 1)
        shown = line:model(made, live, 80)
        assert.equal(191, shown:metric("gets"))
        assert.is_true(math.abs(shown:mean("gets", 100) - 141.5) < 0.01, "means look back from there")
        assert.is_nil(shown.events[1])
        line:step(made, -100000)
        assert.equal(1, line.index)
        line:step(made, 100000)
        assert.equal(200, line.index)
        line:seek(made, 1000 + 50.4)
        assert.equal(51, line.index)
        line:seek_from_start(made, 20)
        assert.equal(21, line.index)
        line:go_live()
        assert.equal(live, line:model(made, live, 80))
    end)

    it("has more of the past on a wider screen", function()
        local line = timeline.new()
        line:step(made, -9)
        assert.equal(timeline.LEAST + 1, line:model(made, live, 80):series("gets").n)
        line:step(made, 1)
        assert.equal(timeline.LEAST + 1, line:model(made, live, 80):series("gets").n)
        local values = line:model(made, live, 150):series("gets")
        assert.same({ 151, 191, 42 }, { values.n, values[151], values[2] })
    end)

    it("has the answers of the moment of the pause, and no others", function()
        local line = timeline.new()
        live.answers:take("hotkeys", "STAT requests 5\r\n", { at_s = 1, is_stats = true })
        line:hold(made)
        for _, step in ipairs({ { 0, true }, { -1, false }, { 1, true } }) do
            line:step(made, step[1])
            assert.equal(step[2], line:model(made, live, 80).answers:is_known("hotkeys"))
        end
    end)

    local function to_stop(line, past, of, direction)
        line:hold(past)
        local stop_s = timeline.stop(past, of.events, line:chosen_s() // 1, direction)
        if stop_s then
            line:seek_event(past, stop_s)
        end
        return stop_s ~= nil
    end

    it("stops at events", function()
        local line = timeline.new()
        live:note("you", 1040, "one")
        live:note("you", 1090, "two")
        for _, step in ipairs({ { -1, 91 }, { -1, 41 }, { -1 }, { 1, 91 } }) do
            assert.equal(step[2] ~= nil, to_stop(line, made, live, step[1]))
            assert.equal(step[2] or 41, line.index)
            assert.equal(line.index == 41 and 1 or 2, line:model(made, live, 80).events_total)
        end
    end)

    it("stops at the beginning of a move by a command, not at those of automove, states and recordings", function()
        local other, line = model.new("x"), timeline.new()
        line:hold(made)
        for _, event in ipairs({ { "pages", 1005, true }, { "pages", 1008, true }, { "pages", 1020 }, { "you", 1030 },
            { "pages", 1031, true }, { "pages", 1050, true }, { "alarm", 1060 }, { "pages", 1061, true },
            { "state", 1080 }, { "record", 1090 } }) do
            other:note(event[1], event[2], "x")
            other.events[#other.events].is_by_command = event[3]
        end
        for _, index in ipairs({ 62, 61, 51, 31, 6 }) do
            assert.is_true(to_stop(line, made, other, -1))
            assert.equal(index, line.index)
        end
        assert.is_false(to_stop(line, made, other, -1))
    end)

    it("stops at incidents, which are events", function()
        local other, past, line = model.new("x"), tape.new(), timeline.new()
        local one = screens.snapshot(screens.replies("memcached-1.6.45-first"))
        for i = 0, 99 do
            one = copy_of(one)
            local general = one.general
            general.uptime, general.curr_items = i == 80 and 1 or general.uptime + 1, 5000
            general.cmd_flush = general.cmd_flush + (i == 50 and 1 or 0)
            local about = { wall_s = 1000 + i, at_s = 2 + i, reply_ms = 1 }
            other:take(copy_of(one), about)
            past:add(one, about)
        end
        assert.equal(2, other.events_total)
        assert.equal("a client sent flush_all: 5000 items were in the cache", other.events[1].text)
        assert.equal("the server restarted and lost 5000 items", other.events[2].text)
        assert.is_true(to_stop(line, past, other, -1) and line.index == 81)
        assert.is_true(to_stop(line, past, other, -1) and line.index == 51)
    end)

    it("plays at the pace of the samples", function()
        local line = timeline.new()
        line:seek(made, 0)
        line.plays, line.due_s = true, 5
        for _, step in ipairs({ { 4.999, false, 1 }, { 5, true, 2 }, { 5.999, false, 2 }, { 9.5, true, 6 },
            { 10000, true, 200 }, { 20000, false, 200 } }) do
            assert.equal(step[2], line:tick(made, step[1]))
            assert.equal(step[3], line.index)
        end
    end)

    -- Steps back from the newest sample and compares each moment with one made anew; returns how many steps fed more
    -- samples than lie between two models that are kept.
    local function slow_steps(has_time)
        local stepped, fed, slow = timeline.new(), 0, 0
        local counted = setmetatable({ read = function(_, ...) fed = fed + 1 return made:read(...) end },
            { __index = made })
        stepped:hold(made)
        for index = 200, 150, -1 do
            fed = 0
            local shown, anew = stepped:model(counted, live, 80), timeline.new()
            slow = slow + (fed > 10 and 1 or 0)
            anew:step(made, index - 200)
            local other = anew:model(made, live, 80)
            assert.is_nil(difference(other:series("gets"), shown:series("gets")))
            assert.equal(other:mean("gets", 100), shown:mean("gets", 100))
            assert.equal(#other.observer.rows, #shown.observer.rows)
            repeat
                stepped:prepare(counted, live)
            until not has_time or not stepped:next_s(counted)
            stepped:step(made, -1)
        end
        return slow
    end

    it("steps back as it would come there anew, and with time between steps feeds few samples for it", function()
        assert.equal(1, slow_steps(true))
    end)

    it("steps back so without time between steps, too, and feeds many samples for the first two alone", function()
        assert.equal(2, slow_steps(false))
    end)

    -- Every moment of a past, from the newest back, tells what the live screen told. next_one(i): the i-th snapshot.
    local function tells_the_same(samples, next_one)
        local past, other, line, told = tape.new(), model.new("x"), timeline.new(), {}
        local question = require "slate.console.question"
        for i = 1, samples do
            local one, about = next_one(i), { wall_s = 1000 + i, at_s = 2 * i, reply_ms = 1 }
            other:take(copy_of(one), about)
            past:add(copy_of(one), about)
            told[i] = { question.findings(other), other:metric("out_of_memory"), other.worst and other.worst.advised }
        end
        for i = samples, 1, -1 do
            line:step(past, i - (line.index or samples))
            local shown = line:model(past, other, 80)
            assert.same(told[i], { question.findings(shown), shown:metric("out_of_memory"),
                shown.worst and shown.worst.advised })
        end
        return other, told
    end

    it("judges each moment as the live screen did", function()
        local fixture = screens.look("memcached-1.6.18", 0)
        tells_the_same(130, function()
            screens.go_on(fixture, 1)
            return fixture.now
        end)
    end)

    it("keeps the newest moves up to a bound, and plans those before anew", function()
        local judged, fixture = require "slate.console.judged", screens.look("memcached-1.6.18", 0)
        local most = judged.MOVES_BYTES
        finally(function() judged.MOVES_BYTES = most end)
        judged.MOVES_BYTES = 200
        local live_one = tells_the_same(40, function()
            screens.go_on(fixture, 1)
            return fixture.now
        end)
        assert.is_true(live_one.judged.bytes > 0 and live_one.judged.bytes <= 200, live_one.judged.bytes)
    end)

    it("tells an incident with the figures that it had live, long after its beginning, too", function()
        local one = screens.snapshot(screens.replies("memcached-1.6.45-first"))
        local _, told = tells_the_same(150, function(i)
            one = copy_of(one)
            local general, is_before = one.general, i < 60
            general.uptime, general.cmd_flush = general.uptime + 2, general.cmd_flush + (i == 60 and 1 or 0)
            general.curr_items = is_before and 58572 or math.min(58572, (i - 60) * 700)
            general.cmd_get, general.cmd_set = general.cmd_get + 10000, general.cmd_set + 10
            general.get_hits = general.get_hits + (is_before and 8600 or math.min(8600, 4040 + (i - 60) * 60))
            return one
        end)
        assert.equal("a client sent flush_all 1m20 ago: 58572 items were in the cache; hits fell from 86% to 41%",
            told[100][1][1].text)
    end)

    it("tells a class that starves, as live, though it would not begin to by the figures of that moment", function()
        local one = screens.snapshot(screens.replies("memcached-1.6.45-first"))
        local poor, rich = copy_of(one.classes[1]), copy_of(one.classes[1])
        rich.id, rich.number, rich.total_pages, rich.free_chunks, rich.evicted = poor.id + 1, 9000, 40, 0, 0
        poor.age, poor.number, poor.total_pages, poor.free_chunks, poor.used_chunks = 100, 1000, 3, 0, 1000
        local _, told = tells_the_same(180, function(i)
            one = copy_of(one)
            rich.age, poor.evicted = i < 20 and 900 or 300, 20 * i
            one.general.uptime, one.general.evictions = 90000 + 2 * i, 20 * i
            one.classes = { copy_of(poor), copy_of(rich) }
            return one
        end)
        assert.truthy(told[180][1][1].text:find("starves"), told[180][1][1].text)
    end)
end)
