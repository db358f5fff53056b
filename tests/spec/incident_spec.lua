-- SPDX-License-Identifier: BSD-3-Clause
-- Incidents: loads with their noise, swings of a day and warm-ups make none; each kind is found within two samples, is
-- counted in lost hits, and ends. The servers are drawn: counts by Poisson's and the binomial law.
local attention = require "slate.judge.attention"
local doctor = require "slate.judge.doctor"
local history = require "slate.judge.history"
local incident = require "slate.judge.incident"
local incident_words = require "slate.judge.incident_words"
local record = require "slate.facts.record"
local record_line = require "slate.facts.record_line"
local snapshots = require "support.snapshots"
local snapshot = require "slate.facts.snapshot"
local story = require "slate.report.story"
local view = require "slate.judge.view"

local SEED <const> = math.tointeger(tonumber(os.getenv("SEED"))) or 1
local HOUR_S <const>, DAY_S <const> = 3600, 86400

local function normal()
    return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
end

-- How many of `count` requests come or hit, each with its own chance: by the bell curve for many.
local function drawn(count, share)
    if count > 50 then
        return math.max(0, math.min(share < 1 and count or math.huge,
            math.floor(count * share + normal() * math.sqrt(count * share * (share < 1 and 1 - share or 1)) + 0.5)))
    end
    local sum = 0
    if share >= 1 then -- Poisson's law
        local left = math.exp(-count)
        local product = math.random()
        while product > left do
            sum, product = sum + 1, product * math.random()
        end
        return sum
    end
    for _ = 1, count do
        sum = sum + (math.random() < share and 1 or 0)
    end
    return sum
end

-- A server: of(t) returns, for the time t in seconds, { rate (gets a second), ratio (of hits), items, step_s (until the
-- next sample; 1) } and perhaps restart, flush, and answers = false if no snapshot is taken.
local Server = {}
Server.__index = Server

local function server(of)
    return setmetatable({ of = of, t = 0, pid = 1, started_s = -HOUR_S, gets = 360000, hits = 0, flushes = 0,
        evictions = 0, refused = 0 }, Server)
end

function Server:sample()
    local state = self.of(self.t)
    if state.restart then
        self.pid, self.started_s, self.gets, self.hits, self.flushes = self.pid + 1, self.t, 0, 0, 0
    end
    local gets = drawn(state.rate * (self.step_s or 1), 1)
    self.gets, self.hits = self.gets + gets, self.hits + drawn(gets, state.ratio)
    self.flushes, self.evictions = self.flushes + (state.flush or 0), self.evictions + (state.evicted or 0)
    self.refused = self.refused + (state.refused or 0)
    local now = snapshots.make(1e6 + self.t, {}, { cmd_get = self.gets, get_hits = self.hits, cmd_set = self.gets // 9,
        get_misses = self.gets - self.hits, curr_items = state.items and math.floor(state.items),
        cmd_flush = self.flushes, pid = self.pid, uptime = math.floor(self.t - self.started_s),
        evictions = self.evictions, rejected_connections = self.refused, curr_connections = state.connections,
        max_connections = state.connections and 1024, limit_maxbytes = state.limit_bytes })
    self.step_s = state.step_s or 1
    self.t = self.t + self.step_s
    return state.answers ~= false and now or nil
end

-- Watches a server for some seconds: the watch, and the news as { seconds, text }.
local function watched(of, seconds)
    local one, watch, news = server(of), incident.watch(), {}
    while one.t <= seconds do
        local now = one:sample()
        for _, text in ipairs(now and watch:add(now) or {}) do
            news[#news + 1] = { now.time_s - 1e6, text }
        end
    end
    return watch, news
end

local function words(watch)
    local list = {}
    for i, one in ipairs(watch.list) do
        list[i] = incident_words.what(one)
    end
    return table.concat(list, "; ")
end

-- A steady load with more spread than its counts have: of the rate, as a share, and of the hit ratio.
local function steady(rate, ratio, rate_spread, ratio_spread, step_s)
    return function()
        return { rate = rate * math.exp((rate_spread or 0) * normal()), items = 100000 * (1 + 0.02 * normal()),
            ratio = math.max(0, math.min(1, ratio + (ratio_spread or 0) * normal())),
            step_s = (step_s or 1) * (0.95 + 0.1 * math.random()) }
    end
end

local CALM <const> = {
    { "few requests", steady(20, 0.5), HOUR_S }, { "some requests", steady(200, 0.99), HOUR_S },
    { "a usual load", steady(2000, 0.77), 2 * HOUR_S }, { "many requests", steady(50000, 0.9), HOUR_S },
    { "a rough load", steady(2000, 0.8, 0.2, 0.03), 2 * HOUR_S },
    { "a very rough load", steady(500, 0.6, 0.5, 0.06), 2 * HOUR_S },
    { "samples every ten seconds", steady(1000, 0.8, 0.1, 0.01, 10), 12 * HOUR_S },
    { "samples every minute", steady(1000, 0.8, 0.1, 0.01, 60), DAY_S },
    { "bursts", function(t)
        local is_burst = t // 1 % 10 < 2
        return { rate = is_burst and 5000 or 50, ratio = is_burst and 0.7 or 0.9, items = 1e5 }
    end, HOUR_S },
    { "a day", function(t)
        local wave = (1 + math.sin(2 * math.pi * t / DAY_S)) / 2
        return { rate = 100 + 2000 * wave, ratio = 0.6 + 0.3 * wave, items = 2e4 + 1e5 * wave, step_s = 5 }
    end, DAY_S },
    { "a warm-up", function(t)
        local filled = 1 - math.exp(-t / 120)
        return { rate = 2000, ratio = 0.85 * filled, items = 1e5 * filled }
    end, HOUR_S },
    { "a server without requests", function() return { rate = 0, ratio = 0, items = 0 } end, HOUR_S },
    { "a night in which clients go one by one", function(t)
        return { rate = 2000 * math.exp(-t / 600), ratio = 0.8, items = 1e5 * math.exp(-t / 1200) }
    end, HOUR_S },
}

describe("incidents", function()
    before_each(function() math.randomseed(SEED) end)

    for _, case in ipairs(CALM) do
        it("are none in " .. case[1], function()
            assert.equal("", words((watched(case[2], case[3]))), "SEED=" .. SEED)
        end)
    end

    -- A usual load, from second 100 on changed by `change(state, seconds since)`.
    local function changed(change, ...)
        local usual = steady(...)
        return function(t)
            local state = usual(t)
            state.step_s = 1
            return t >= 100 and change(state, t - 100) or state
        end
    end

    local function with(fields, for_s)
        return function(state, since_s)
            for name, value in pairs(since_s < (for_s or math.huge) and fields or {}) do
                state[name] = value
            end
            return state
        end
    end

    local function first(news) return news[1] and news[1][1] - 100, news[1] and news[1][2] end

    it("are a flush, with the hits that it cost until they are back", function()
        local watch, news = watched(changed(function(state, since_s)
            state.flush = since_s == 0 and 1 or 0
            state.items = 1e5 * (1 - math.exp(-(since_s + 1) / 60))
            state.ratio = 0.77 - 0.5 * math.exp(-since_s / 30)
            return state
        end, 2000, 0.77), 400)
        assert.same({ 0, "a client sent flush_all: " }, { news[1][1] - 100, news[1][2]:match("^.*flush_all: ") })
        assert.is_true(news[2][1] - 100 <= 2)
        assert.truthy(news[2][2]:find("^hits fell from 77%% to %d+%%, after flush_all$"))
        assert.truthy(news[3][2]:find("^hits are back after %d+[ms]%d*: %d+ hits lost$"), news[3][2])
        assert.equal(1, #watch.list, words(watch))
        assert.near(27000, watch.list[1].cost_hits, 2000) -- of 30,000, nine tenths until the end
        assert.is_false(watch.list[1].is_open)
    end)

    it("are a fall of hits within two samples, of few and of many requests", function()
        for _, case in ipairs({ { 2000, 0.77, 0.6, 1 }, { 200, 0.9, 0.5, 1 }, { 30000, 0.3, 0.1, 1 },
            { 2000, 0.8, 0.4, 1, 0.1, 0.03 }, { 40, 0.9, 0.3, 5 } }) do
            local watch, news = watched(changed(with({ ratio = case[3] }), case[1], case[2], case[5], case[6]), 160)
            local after_s, text = first(news)
            assert.is_true(after_s and after_s <= case[4], ("%s gets/s: %s"):format(case[1], after_s))
            assert.truthy(text:find("^hits fell from"))
            assert.equal(1, #watch.list, words(watch))
        end
        local _, news = watched(changed(with({ ratio = 0.72 }), 2000, 0.77), 160)
        assert.same({}, news, "five points are within the swing of a load")
    end)

    it("are a fall of items, and of traffic, which ends", function()
        local _, news = watched(changed(with({ items = 60000 }), 2000, 0.77), 130)
        assert.same({ 0, "items fell from " }, { news[1][1] - 100, news[1][2]:match("^items fell from ") })
        local watch
        watch, news = watched(changed(with({ rate = 300 }, 40), 2000, 0.77), 200)
        assert.is_true(first(news) <= 1)
        assert.truthy(news[1][2]:find("^requests fell from 2%d%d%d to %d+ a second"), news[1][2])
        assert.truthy(news[2][2]:find("^requests come again after 4%ds"), news[2][2])
        assert.near(0.77 * 1700 * 40, watch.list[1].cost_hits, 4000)
        watch, news = watched(changed(with({ rate = 0 }), 2000, 0.77), 130)
        assert.is_true(first(news) <= 1)
        assert.equal("traffic", watch.list[1].name)
    end)

    it("are a fall of items by evictions, which is a note where slated changes its chunk sizes by itself", function()
        local one, observer = server(changed(function(state, since_s)
            state.items, state.evicted = 60000, since_s == 0 and 30000 or 0
            return state
        end, 2000, 0.77)), view.observer()
        for _ = 0, 105 do observer:observe(one:sample()) end
        local known = attention.known_of(observer)
        local function found(change)
            known.geometry = change
            for _, finding in ipairs(doctor.findings(known)) do
                if finding.name == "items_fell" then
                    return finding.severity, finding.what, finding.todo
                end
            end
        end
        local severity, what, todo = found(nil)
        assert.equal("warning", severity)
        assert.truthy(what:find("^items fell 5s ago from %d+K? to 60000: the server evicted them$"), what)
        assert.equal("less memory, or other chunk sizes: slatectl settings, slatectl geometry", todo)
        for _, case in ipairs({ { "yes", "draining", 0, "note" }, { "yes", "steady", 29000, "note" },
            { "yes", "steady", 100, "warning" }, { "no", "draining", 29000, "warning" } }) do
            assert.equal(case[4], (found({ auto = case[1], state = case[2], items_dropped = case[3] })))
        end
    end)

    it("are a fall of items by moves of pages, whoever made them: a note, unless hits fall with it", function()
        for severity, ratio in pairs({ note = 0.77, warning = 0.3 }) do
            local one, observer = server(changed(with({ items = 60000, ratio = ratio, evicted = 30000 }), 2000, 0.77)),
                view.observer()
            for t = 0, 105 do
                local now, moved = one:sample(), t >= 100 and 8 or 0
                now.classes = { snapshots.full(12 - moved, 0), snapshots.full(4 + moved, 0) }
                now.classes[1].id, now.classes[1].number = 4, (12 - moved) * 5000
                now.classes[1].chunks_per_page = 5000
                now.classes[2].id, now.general.slabs_moved = 20, moved
                observer:observe(now)
            end
            local found = {}
            for _, finding in ipairs(doctor.findings(attention.known_of(observer))) do found[finding.name] = finding end
            assert.equal(severity, found.items_fell.severity)
            assert.matches("^items fell 5s ago from %d+K? to 60000: moves of 8 pages dropped them",
                found.items_fell.what)
            assert.matches("slatectl undo takes the moves back$", found.items_fell.todo)
        end
    end)

    it("are a stall of nine seconds, but not a pause of the program that records", function()
        local function paused(rate, ...)
            return changed(function(state, since_s)
                if since_s < 9 then
                    state.answers, state.rate = false, rate
                end
                return state
            end, 2000, 0.77, ...)
        end
        local watch, news = watched(paused(0), 130)
        assert.same({ 9, "the server answered no request for 9s" }, { news[1][1] - 100, news[1][2] })
        assert.near(0.77 * 2000 * 9, watch.list[1].cost_hits, 1000)
        assert.equal("", words((watched(paused(2000), 130))))
        watch = watched(paused(0, 0.3), 130) -- one second alone may have as few requests
        assert.truthy(words(watch):find("the server answered no request for %d+s"), words(watch))
        assert.equal("", words((watched(paused(2000, 0.3), 130))))
    end)

    it("are a restart, with its items and its hits", function()
        local watch, news = watched(changed(function(state, since_s)
            state.restart, state.ratio = since_s == 0, 0.77 * (1 - math.exp(-since_s / 30))
            state.items = 1e5 * (1 - math.exp(-since_s / 30))
            return state
        end, 2000, 0.77), 400)
        assert.same({ 0, "the server restarted and lost " }, { news[1][1] - 100, news[1][2]:match("^.* lost ") })
        assert.truthy(news[2][2]:find("^hits fell from 77%%"))
        assert.near(42500, watch.list[1].cost_hits, 3000) -- of 46,200, until five points are missing
        assert.equal(1, #watch.list, words(watch))
    end)

    it("are a restart after which clients stay away, with the hits that they miss", function()
        local watch, news = watched(changed(function(state, since_s)
            state.restart, state.rate, state.items = since_s == 0, since_s < 3 and 0 or 100, 1000
            return state
        end, 2000, 0.77), 160)
        assert.equal(10, news[2][1] - 100)
        assert.truthy(news[2][2]:find("^requests fell from 2%d%d%d to %d+ a second, after the restart$"), news[2][2])
        assert.equal(1, #watch.list, words(watch))
        assert.truthy(words(watch):find("^the server restarted .*; requests fell from 2%d%d%d to %d+ a second$"))
        assert.equal("find the reason in its log or in the system's log", incident_words.todo(watch.list[1]))
        assert.near(0.77 * 1900 * 50, watch.list[1].cost_hits, 8000)
    end)

    it("are a flush that makes clients wait for their database: fewer requests are its cost, once", function()
        local watch, news = watched(changed(function(state, since_s)
            state.flush, state.ratio = since_s == 0 and 1 or 0, since_s < 30 and 0 or state.ratio
            state.rate, state.items = since_s < 30 and 300 or state.rate, since_s < 30 and 100 or state.items
            return state
        end, 2000, 0.77), 200)
        assert.equal(1, #watch.list, words(watch))
        assert.truthy(words(watch):find("^a client sent flush_all: .*; hits fell .*; requests fell from 2%d+ to %d+"))
        assert.near(0.77 * 2000 * 30, watch.list[1].cost_hits, 4000)
        assert.truthy(news[#news][2]:find("^hits are back after 3%ds"), news[#news][2])
        assert.is_false(watch.list[1].is_open)
    end)

    -- A stall of nine seconds, nine seconds after a flush or without; few requests, so that a window has several steps.
    local function stalled(is_flushed, rate_after)
        return watched(changed(function(state, since_s)
            state.flush = is_flushed and since_s == 0 and 1 or 0
            state.ratio, state.items = is_flushed and 0 or state.ratio, is_flushed and 100 or state.items
            if since_s >= 9 and since_s < 18 then
                state.answers, state.rate = false, 0
            elseif since_s >= 18 then
                state.rate = rate_after
            end
            return state
        end, 90, 0.77), 150)
    end

    it("are a stall that costs nothing after a flush that left no hits, and that explains requests after it", function()
        local watch = stalled(true, 90)
        assert.same({ "flush", "stall" }, { watch.list[1].name, (watch.list[2] or {}).name })
        assert.equal(2, #watch.list, words(watch))
        assert.equal(0, watch.list[2].cost_hits)
        assert.near(0.77 * 90 * 42, watch.list[1].cost_hits, 400) -- of the reads that came
        for rate_after, effect in pairs({ [90] = "^", [10] = "; requests fell from %d+ to [%d.]+ a second$" }) do
            watch = stalled(false, rate_after)
            assert.equal(1, #watch.list, words(watch))
            assert.truthy(words(watch):find("answered no request for %d+s" .. (rate_after == 90 and "$" or effect)),
                words(watch))
            assert.near(0.77 * (90 * 9 + (90 - rate_after) * 33), watch.list[1].cost_hits, 400)
            assert.is_nil(watch:stopped())
        end
    end)

    it("are a fall of their own where hits or requests fall later than ten seconds after another", function()
        local function falls_after(began, at_s, fields)
            local watch, news = watched(changed(function(state, since_s)
                began(state, since_s)
                state.ratio, state.items = 0.65 - 0.63 * math.exp(-(since_s + 1) / 20), 28000
                return since_s >= at_s and with(fields, at_s + 20)(state, since_s) or state
            end, 800, 0.77), 200 + at_s)
            assert.equal(2, #watch.list, words(watch))
            assert.is_nil(watch.list[1].requests_was)
            assert.truthy(incident_words.what(watch.list[1]):find("; hits fell from 77%% to [%d.]+%%$"), words(watch))
            assert.near(at_s, watch.list[2].from_s - 1e6 - 100, 2)
            return watch, news
        end
        for _, began in ipairs({ function(state, since_s) state.restart = since_s == 0 end,
            function(state, since_s) state.flush = since_s == 0 and 1 or 0 end }) do
            local watch, news = falls_after(began, 51, { rate = 120 })
            assert.matches("^requests fell 1s ago from 8%d%d to 1%d+ a second", incident_words.line(watch.list[2], 1))
            assert.truthy(news[4][2]:find("^requests come again after %d+s"), news[4][2])
            watch, news = falls_after(began, 120, { ratio = 0.2 })
            assert.truthy(words(watch):find("; hits fell from 6%d%% to %d+%%$"), words(watch))
            assert.is_false(watch.list[1].is_open)
            assert.near(0.45 * 800 * 20, watch.list[2].cost_hits, 2000)
            assert.truthy(news[4][2]:find("^hits are back after 2%ds"), news[4][2])
        end
    end)

    it("are none of hits in a sample without reads, and are found again after it", function()
        local one, observer = server(changed(with({ ratio = 0.2 }), 2000, 0.77)), view.observer()
        for t = 0, 110 do
            local now = one:sample()
            now.general.cmd_get = (t < 90 or t > 92) and now.general.cmd_get or nil
            observer:observe(now)
            doctor.findings(attention.known_of(observer))
        end
        assert.truthy(words(observer.incidents):find("^hits fell from 77%% to [%d.]+%%$"), words(observer.incidents))
    end)

    it("are no fall by a cut of the memory that was taken back before", function()
        local watch = watched(changed(function(state, since_s)
            state.limit_bytes = (since_s < 1 or since_s >= 50) and 16 << 20 or 8 << 20
            state.items = since_s < 1 and state.items or math.min(1e5, 45000 + math.max(0, since_s - 50) * 900)
            state.ratio = since_s < 1 and 0.85 or since_s < 50 and 0.77 or 0.8
            return since_s >= 150 and with({ ratio = 0.32 })(state, since_s) or state
        end, 2000, 0.85), 300)
        assert.same({ "items_fell", "hits_fell" }, { watch.list[1].name, (watch.list[2] or {}).name })
        assert.equal(2, #watch.list, words(watch))
        assert.matches("from 16 MiB to 8 MiB, and raised again", words(watch))
        assert.matches("; hits fell from [78]%d%% to [23]%d%%$", words(watch))
        assert.is_nil(watch.list[2].cut)
        assert.near(250, watch.list[2].from_s - 1e6, 2)
        assert.equal("nothing: hits come back as items are stored again", incident_words.todo(watch.list[1]))
        watch = watched(changed(function(state, since_s) -- the limit is back a second before hits fall
            state.limit_bytes = since_s >= 1 and since_s < 4 and 8 << 20 or 16 << 20
            return since_s >= 5 and with({ ratio = 0.32 })(state, since_s) or state
        end, 2000, 0.85), 130)
        assert.matches("^hits fell from 8%d%% to [23]%d%%$", words(watch))
    end)

    it("are a fall of items or hits by a cut of the memory, whose remedy is the memory", function()
        for name, fall in pairs({ items_fell = { items = 12000 }, hits_fell = { ratio = 0.3 } }) do
            local watch = watched(changed(function(state, since_s)
                state.limit_bytes = since_s < 1 and 64 << 20 or 8 << 20
                return with(since_s < 1 and {} or fall)(state, since_s)
            end, 2000, 0.77), 130)
            local one = watch.list[1] or {}
            assert.equal(name, one.name)
            assert.truthy(words(watch):find(": the memory limit was lowered from 64 MiB to 8 MiB", 1, true))
            assert.equal("take the memory back if its hits are missed: slatectl set maxbytes=64",
                incident_words.todo(one))
        end
    end)

    it("are a fall that ends at a flush, which has the items, the hits and the cost from then on", function()
        for name, fall in pairs({ items_fell = { items = 60000, ratio = 0.6 }, hits_fell = { ratio = 0.6 } }) do
            local watch, news = watched(changed(function(state, since_s)
                local is_flushed = since_s >= 40
                state.limit_bytes = since_s < 1 and 64 << 20 or 8 << 20
                state.flush = since_s == 40 and 1 or 0
                with(since_s < 1 and {} or is_flushed and { items = 10, ratio = since_s < 60 and 0 or 0.77 } or fall)(
                    state, since_s)
                return state
            end, 2000, 0.77), 200)
            local one, flush = watch.list[1], watch.list[2] or {}
            assert.same({ name, "flush", 2 }, { one.name, flush.name, #watch.list }, words(watch))
            assert.truthy(words(watch):find("to 60000: the memory limit") or words(watch):find("to [56]%d%%: the mem"))
            assert.is_false(one.is_open)
            assert.near((0.77 - 0.6) * 2000 * 39, one.cost_hits, 2000)
            assert.near(0.6, flush.hits_was, 0.01) -- since the fall
            assert.near(0.6 * 2000 * 20, flush.cost_hits, 1500)
            assert.truthy(news[#news][2]:find("^hits are back after 2[01]s: 2%d+ hits lost$"), news[#news][2])
        end
    end)

    it("are the cause of their cost although clients had gone away before", function()
        local watch = watched(changed(function(state, since_s)
            state.rate, state.flush = 500, since_s == 40 and 1 or 0
            state.ratio = since_s >= 40 and since_s < 60 and 0 or state.ratio
            return state
        end, 2000, 0.77), 200)
        assert.same({ "traffic", "flush" }, { watch.list[1].name, watch.list[2].name })
        assert.near(0.77 * 500 * 20, watch.list[2].cost_hits, 700)
        assert.near(0.77 * 1500 * 101, watch.list[1].cost_hits, 8000)
    end)

    it("are counted from their beginning on, so that a fall of one second has its cost", function()
        for flush, last in pairs({ [0] = "hits are back after 1s: ", "a client sent flush_all: " }) do
            local watch, news = watched(changed(function(state, since_s)
                state.flush, state.ratio = since_s == 0 and flush or 0, since_s == 0 and 0.1 or 0.77
                return state
            end, 2000, 0.77), 160)
            assert.equal(1, #watch.list, words(watch))
            assert.near(0.67 * 2000, watch.list[1].cost_hits, 500)
            assert.equal(last, news[#news][2]:match("^.*: "), news[#news][2])
            assert.equal(flush == 0, news[#news][2]:find(": 1%d+ hits lost$") ~= nil, news[#news][2])
        end
    end)

    it("keep their cost when the requests that waited come all at once", function()
        local watch, news = watched(changed(function(state, since_s)
            state.rate = since_s < 12 and 0 or since_s < 13 and 26000 or state.rate
            return state
        end, 2000, 0.77), 160)
        assert.near(0.77 * 2000 * 12, watch.list[1].cost_hits, 1500)
        assert.truthy(news[#news][2]:find("^requests come again after 12s: 1%d+ hits lost$"), news[#news][2])
    end)

    it("are over neither while hits fall, nor for want of a second with a hundred reads", function()
        for rate, ratio in pairs({ [2000] = 0.63, [20] = 0.2 }) do -- the first is near the least fall
            local watch, news = watched(changed(function(state, since_s)
                state.flush = since_s == 0 and 1 or 0
                return with({ ratio = ratio }, 60)(state, since_s)
            end, rate, 0.77), 300)
            assert.equal(1, #watch.list, words(watch))
            assert.truthy(news[#news][2]:find("^hits are back after 1m0%d: ")
                or news[#news][2]:find("^hits are back after 5%ds: "), news[#news][2])
            assert.is_false(watch.list[1].is_open)
        end
    end)

    it("are findings for a minute, and then while hits or requests are low, at most an hour; then an event ends them",
        function()
            -- Of each second since the beginning: the line of the incident; nil without one.
            local function lines_of(name, fall, for_s, seconds)
                local one, observer = server(changed(with(fall, for_s), 2000, 0.77)), view.observer()
                local lines, news = {}, {}
                while one.t <= 100 + seconds do
                    one.step_s = one.t > 200 and 10 or nil
                    observer:observe(one:sample())
                    table.move(observer.news, 1, #observer.news, #news + 1, news)
                    for _, finding in ipairs(doctor.findings(attention.known_of(observer))) do
                        lines[(one.t - 100) // 1] = finding.name == name and finding.what or lines[(one.t - 100) // 1]
                    end
                end
                local from_s, to_s = math.huge, -math.huge
                for at_s in pairs(lines) do
                    from_s, to_s = math.min(from_s, at_s), math.max(to_s, at_s)
                end
                return from_s, to_s, lines[to_s], news[#news]
            end
            for name, fall in pairs({ hits_fell = { ratio = 0.2 }, traffic = { rate = 200 } }) do
                local from_s, to_s, line, ending = lines_of(name, fall, 20, 90)
                assert.is_true(from_s <= 3 and to_s >= 60 and to_s <= 63, ("%s to %s"):format(from_s, to_s))
                assert.truthy(line:find("; " .. ending, 1, true), line)
                assert.truthy(ending:find(" after 2%ds: %d+ hits lost$"), ending)
                from_s, to_s, line, ending = lines_of(name, fall, 80, 99)
                assert.is_true(from_s <= 3 and to_s >= 80 and to_s <= 85, ("%s to %s"):format(from_s, to_s))
                assert.truthy(line:find("^%a+ fell 1m2%d ago from "), line)
                assert.truthy(ending:find(" after 1m2%d: %d+K? hits lost$"), ending)
            end
            local watch, news = watched(changed(function(state, since_s)
                state.ratio, state.step_s = 0.2, since_s > 10 and 10 or nil
                return state
            end, 2000, 0.77), 3800)
            assert.is_false(watch.list[1].is_open)
            assert.is_nil(watch:lately("hits_fell"))
            assert.truthy(news[#news][2]:find("^hits are still low after 1h00: %d+K hits lost$"), news[#news][2])
        end)

    it("are connections that are turned away, once for as long as it goes on", function()
        local one, observer, told, news = server(changed(function(state, since_s)
            state.connections, state.refused = 1024, since_s < 30 and since_s % 4 // 3 * 7 or 0
            return state
        end, 2000, 0.77)), view.observer(), {}, {}
        while one.t <= 200 do
            observer:observe(one:sample())
            table.move(observer.news, 1, #observer.news, #news + 1, news)
            for _, finding in ipairs(doctor.findings(attention.known_of(observer))) do
                local at_s = one.t - 101
                told[#told + 1] = finding.name == "connections"
                    and ("%s %d %s"):format(finding.severity, at_s, finding.what) or nil
            end
        end
        local text = table.concat(told, "\n")
        assert.same({ "the server turned connections away: 1024 of 1024 were open" }, news)
        assert.equal("warning 0 1024 of 1024 connections are open", told[1])
        assert.equal(7, select(2, text:gsub("critical %d+ the server turns connections away: 1024 of 1024", "")))
        assert.truthy(text:find("\nwarning 63 the server turned connections away 1m00 ago: 1024 of 1024 were open\n"))
        assert.is_nil(text:find("turned connections away 1m01 ago", 1, true))
        assert.is_nil(observer.incidents.list[1].cost_hits)
    end)

    it("have few words, too, which fit STATE in Fleet", function()
        for _, case in ipairs({ { "flush", 12, "flushed 12s ago" }, { "flush", 3599, "flushed 59m59 ago" },
            { "hits_fell", 75, "hits fell 1m15" }, { "items_fell", 5, "items fell 5s ago" },
            { "restart", 75, "restarted 1m15" }, { "traffic", 12, "requests fell 12s" },
            { "stall", 12, "stalled 12s ago" }, { "connections", 75, "turned away 1m15" } }) do
            assert.equal(case[3], incident_words.short({ name = case[1] }, case[2]))
        end
    end)

    it("are none where a server does not report the figure, or its clock was set back", function()
        local one, watch = server(changed(with({ ratio = 0.1, items = 100, rate = 10 }), 2000, 0.77)), incident.watch()
        for _ = 1, 150 do
            local now = one:sample()
            now.general = { pid = 1, uptime = now.general.uptime }
            assert.same({}, watch:add(now))
        end
        one, watch = server(steady(2000, 0.77)), incident.watch()
        for i = 1, 150 do
            local now = one:sample()
            now.time_s = now.time_s - (i > 100 and 500 or 0)
            assert.same({}, watch:add(now))
        end
    end)

    -- The snapshots of a load as the lines of a recording; a text is read back as `doctor --recording` reads it.
    local function recorded(of, seconds)
        local one, chain, lines = server(of), record_line.chain(true), {}
        while one.t <= seconds do
            lines[#lines + 1] = chain:encode(one:sample()) .. "\n"
        end
        return table.concat(lines)
    end

    local function read_back(text)
        local file <close> = io.tmpfile()
        file:write(text)
        file:seek("set")
        return record.read(file, "torn")
    end

    it("are none in recordings that were torn within lines, and went on", function()
        for _, of in ipairs({ CALM[3][2], CALM[5][2], CALM[7][2] }) do
            local text, kept = recorded(of, of == CALM[7][2] and 3000 or 300), 0
            for i = 1, 12 do
                local from = math.random(#text)
                local to = text:find("\n", math.min(#text, from + math.random(({ 9, 900, 9000 })[i % 3 + 1]) - 1))
                local list = read_back(text:sub(1, from) .. text:sub((to or #text) + i % 2))
                kept = kept + (list and 1 or 0)
                for _, episode in ipairs(list and history.of(list, nil, {}) or {}) do
                    assert.is_nil(episode.is_incident, ("%s SEED=%d"):format(episode.what, SEED))
                end
            end
            assert.is_true(kept > 6, kept)
        end
    end)

    it("are none where the load is another after a gap, and findings of both sides are two", function()
        local function of(t)
            local is_later = t > 200
            return { rate = 2000, ratio = is_later and 0.3 or 0.8, items = is_later and 2e4 or 1e5,
                step_s = t == 200 and HOUR_S or 2 }
        end
        assert.equal("", words((watched(of, HOUR_S + 400))))
        local list, times = read_back(recorded(of, HOUR_S + 400)), {}
        local function starves(known)
            local name = known.now.time_s % 20 < 10 and "starving" or "no_relief"
            return { { name = name, class = 5, severity = "warning", what = name, todo = "-", hits_lost_per_s = 1 } }
        end
        for _, episode in ipairs(assert(history.of(list, starves, {}))) do
            times[#times + 1] = ("%s %d"):format(episode.what, episode.last_s - episode.first_s)
            assert.is_true(episode.cost_hits <= 200, episode.cost_hits)
        end
        assert.same({ "starving 200", "starving 200" }, times)
    end)

    it("are findings of a live server for a minute, and lead the history by their cost", function()
        local one, observer, list = server(changed(function(state, since_s)
            state.flush = since_s == 0 and 1 or 0
            state.ratio = since_s < 3 and 0.1 or since_s < 60 and 0.45 or 0.77
            return state
        end, 2000, 0.77)), view.observer(), {}
        local lasts_s, few_s = 0, nil
        for _ = 0, 250 do
            local now = one:sample()
            list[#list + 1] = assert(snapshot.decode(snapshot.encode(now)))
            observer:observe(now)
            for _, finding in ipairs(doctor.findings(attention.known_of(observer))) do
                lasts_s = lasts_s + (finding.name == "flush" and 1 or 0)
                assert.not_equal("hits_fell", finding.name, "the flush has its fall of hits")
                few_s = finding.name == "hits" and (few_s or one.t - 101) or few_s
            end
        end
        assert.is_true(lasts_s >= 60 and lasts_s <= 70, lasts_s)
        assert.is_true(few_s >= 10, "the mean of ten seconds has none of the time before the flush")
        local refusal = { name = "out_of_memory", severity = "critical", what = "refuses", todo = "-" }
        local found = assert(history.of(list, function(known)
            refusal.hits_lost_per_s = 40
            return known.now.time_s == list[50].time_s and { refusal } or {}
        end, { { time_s = list[49].time_s, what = "1 page moved", who = "eve@web1", id = 2 } }))
        assert.same({ "flush", "out_of_memory" }, { found[1].name, found[2].name })
        assert.near(0.32 * 2000 * 60 + 0.35 * 2000 * 3, found[1].cost_hits, 3000)
        assert.equal("about 40 hits lost; at the moment of change 2: 1 page moved, by eve@web1",
            history.about(found[2]))
        assert.is_nil(found[1].change)
        local flush = { time_s = list[1].time_s + found[1].first_s, what = "flush_all now", name = "flush_all" }
        local function todo_of() return history.of(list, function() return {} end, { flush })[1].todo end
        assert.truthy(todo_of():find("^find the client"))
        flush.who = "bob@web2"
        assert.equal("ask the author; -F forbids flush_all", todo_of())
    end)

    it("of hits and items that come with a change name the way back, and a restart its settings", function()
        local one, list = server(changed(function(state, since_s)
            state.items, state.restart = since_s < 60 and 5e4 or 1e5, since_s == 60
            return state
        end, 2000, 0.77)), {}
        for _ = 0, 170 do
            list[#list + 1] = one:sample()
            list[#list].settings = { maxbytes = (one.t > 100 and one.t < 165 and 32 or 64) << 20, oldest = 0 }
            if one.t > 160 and one.t < 165 then
                list[#list].settings = list[#list - 1].settings -- as in a recording, until the settings are read anew
            end
        end
        local set = { id = 3, time_s = list[101].time_s - 0.5, server = "here", what = "set", name = "maxbytes",
            was = 64 << 20, is = 32 << 20, who = "eve@web1" }
        local function told(entries)
            local texts = {}
            for _, found in ipairs(history.of(list, function() return {} end, story.changes(list, entries))) do
                texts[found.name] = ("%s -> %s"):format(history.about(found):gsub("^[^;]*hits lost; ", ""), found.todo)
            end
            return texts
        end
        local found = told({ set })
        assert.equal("at the moment of change 3: maxbytes: 67108864 → 33554432, by eve@web1 -> if the change did it: "
            .. "slatectl undo 3", found.items_fell)
        assert.truthy(found.restart:find("restarted with another memory limit (32 MiB → 64 MiB) -> find", 1, true),
            found.restart)
        assert.is_nil(found.restart:find("change", 1, true))
        assert.truthy(told({}).items_fell:find("author not known -> items were deleted", 1, true))
        for i, now in ipairs(list) do
            now.general.limit_maxbytes = i <= 100 and 64 << 20 or 32 << 20
        end
        assert.equal("at the moment of change 3: maxbytes: 67108864 → 33554432, by eve@web1 -> take the memory back if "
            .. "its hits are missed: slatectl undo 3", told({ set }).items_fell)
        assert.truthy(told({}).items_fell:find("are missed: slatectl set maxbytes=64", 1, true))
    end)

    it("of a recording have no server's address as author, and slated's predictions are no changes", function()
        local list = {}
        for i = 1, 3 do
            list[i] = snapshots.make(100 + i, {}, { pid = 1, uptime = 100 + i, cmd_flush = i // 2 })
        end
        list[2].changes = { { who = "unix:/run/slated.sock", what = "flush_all", is = "now" },
            { who = "tuner", what = "prediction", is = "maxbytes 64 to 8: within" } }
        local changes = story.changes(list, {})
        assert.equal(1, #changes)
        local flush = history.of(list, function() return {} end, changes)[1]
        assert.equal("at the moment of a change: flush_all now, author not known", history.about(flush))
        assert.truthy(flush.todo:find("^find the client"))
    end)

    it("are tied to changes that slatetop has read later, each told once, at its own time", function()
        local list = {}
        for i = 1, 9 do
            list[i] = snapshots.make(100 + i, {}, { pid = 1, uptime = 100 + i, cmd_flush = i > 2 and 1 or 0,
                time = 5000 + i, limit_maxbytes = i > 2 and 64 << 20 or 32 << 20 }, { maxbytes = 1, verbosity = 0 })
        end
        list[9].settings = { maxbytes = 2, verbosity = 1 }
        list[9].changes = { { who = "10.0.0.7:4711", what = "flush_all", is = "now", time_s = 5002.5 },
            { who = "10.0.0.7:4711", what = "maxbytes", was = "1", is = "2", time_s = 5002.75 } }
        local changes = story.changes(list, {})
        assert.same({ "flush_all now", 101.5, "maxbytes: 1 → 2", 101.75, "verbosity: 0 → 1", 109 }, { changes[1].what,
            changes[1].time_s, changes[2].what, changes[2].time_s, changes[3].what, changes[3].time_s })
        assert.equal(3, #changes)
        local flush = history.of(list, function() return {} end, changes)[1]
        assert.equal("ask the author; -F forbids flush_all", flush.todo)
    end)

    it("leave the changes that are tied to none as notes, an author's page moves at one time as one", function()
        local eve, tied = "eve@web1", { time_s = 49, what = "flush_all now", who = "bob@web2", name = "flush_all" }
        local told = { { name = "flush", change = tied } }
        history.add_changes(told, { { time_s = 10, what = "1 page moved", who = eve }, tied,
            { time_s = 50, what = "1 page moved", who = eve }, { time_s = 51, what = "verbosity: 1", name = "-" },
            { time_s = 60, what = "2 pages moved", who = eve } }, 5)
        local texts = {}
        for i = 2, #told do
            texts[i - 1] = ("%d to %d: %s"):format(told[i].first_s, told[i].last_s, told[i].what)
        end
        assert.same({ "5 to 5: 1 page moved, by eve@web1", "45 to 55: 1 page moved and 1 more change, by eve@web1",
            "46 to 46: verbosity: 1, author not known" }, texts)
    end)
end)
