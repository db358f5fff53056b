-- SPDX-License-Identifier: BSD-3-Clause
--- Servers with a drawn load: counts by Poisson's and the binomial law, of a seed of one's own.
local incident = require "slate.judge.incident"
local incident_words = require "slate.judge.incident_words"
local snapshots = require "support.snapshots"

local M = {}

M.SEED = math.tointeger(tonumber(os.getenv("SEED"))) or 1
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
    for _ = 1, count do sum = sum + (math.random() < share and 1 or 0) end
    return sum
end

local Server = {}
Server.__index = Server

--- A server. of(t): for the time t in seconds, { rate (gets a second), ratio (of hits), items, step_s (until the next
-- sample; 1) } and perhaps restart, flush, and answers = false if no snapshot is taken.
function M.server(of)
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

--- Watches a server for some seconds: the watch, and the news as { seconds, text }.
function M.watched(of, seconds)
    local one, watch, news = M.server(of), incident.watch(), {}
    while one.t <= seconds do
        local now = one:sample()
        for _, text in ipairs(now and watch:add(now) or {}) do
            news[#news + 1] = { now.time_s - 1e6, text }
        end
    end
    return watch, news
end

function M.words(watch)
    local list = {}
    for i, one in ipairs(watch.list) do list[i] = incident_words.what(one) end
    return table.concat(list, "; ")
end

--- A steady load with more spread than its counts have: of the rate, as a share, and of the hit ratio.
function M.steady(rate, ratio, rate_spread, ratio_spread, step_s)
    return function()
        return { rate = rate * math.exp((rate_spread or 0) * normal()), items = 100000 * (1 + 0.02 * normal()),
            ratio = math.max(0, math.min(1, ratio + (ratio_spread or 0) * normal())),
            step_s = (step_s or 1) * (0.95 + 0.1 * math.random()) }
    end
end

M.CALM = {
    { "few requests", M.steady(20, 0.5), HOUR_S }, { "some requests", M.steady(200, 0.99), HOUR_S },
    { "a usual load", M.steady(2000, 0.77), 2 * HOUR_S }, { "many requests", M.steady(50000, 0.9), HOUR_S },
    { "a rough load", M.steady(2000, 0.8, 0.2, 0.03), 2 * HOUR_S },
    { "a very rough load", M.steady(500, 0.6, 0.5, 0.06), 2 * HOUR_S },
    { "samples every ten seconds", M.steady(1000, 0.8, 0.1, 0.01, 10), 12 * HOUR_S },
    { "samples every minute", M.steady(1000, 0.8, 0.1, 0.01, 60), DAY_S },
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

--- A usual load, from second 100 on changed by `change(state, seconds since)`.
function M.changed(change, ...)
    local usual = M.steady(...)
    return function(t)
        local state = usual(t)
        state.step_s = 1
        return t >= 100 and change(state, t - 100) or state
    end
end

function M.with(fields, for_s)
    return function(state, since_s)
        for name, value in pairs(since_s < (for_s or math.huge) and fields or {}) do
            state[name] = value
        end
        return state
    end
end

function M.first(news) return news[1] and news[1][1] - 100, news[1] and news[1][2] end

return M
