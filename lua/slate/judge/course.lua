-- SPDX-License-Identifier: BSD-3-Clause
--- The course of a server over the last minutes: whether it restarted, whether its traffic stopped, whether its hit
--- ratio fell. Pure; no I/O.
--
-- The last four seconds are held against what came before: against ten minutes at most, and, where less than twenty
-- seconds of that were seen, against all since the server's start, which its own counters tell.
local M = {}

--- A server that started less long ago, in seconds, has not filled yet: what it does is not what it will do.
M.NEW_S = 300

local LATELY_S <const>, BEFORE_S <const> = 4, 20
local KEPT_S <const> = 600
local APART_S <const> = 5 -- of samples before LATELY_S, of which only the oldest in reach counts
local PAUSE_LEAST_S <const> = 0.9 -- requests come in bursts: a shorter pause says nothing
local EXPECTED_LEAST <const> = 30 -- requests: when so many are due, none comes by chance once in e^30
local READS_LEAST <const> = 100 -- for a hit ratio
local RATIO_LEAST <const> = 0.1 -- a hit ratio below this was none to lose
local FELL_TO_RATIO <const> = 0.5 -- of what it was
local ERRORS_APART <const> = 2 -- by so many standard errors, so that chance does not count

local Course = {}
Course.__index = Course
Course.__name = "slate.judge.course"

--- A course without a past.
function M.new()
    return setmetatable({}, Course)
end

local function sample_of(now)
    local general = now.general
    return {
        time_s = now.time_s, pid = general.pid, uptime_s = general.uptime, items = general.curr_items,
        gets = general.cmd_get, hits = general.get_hits,
        requests = general.cmd_get and general.cmd_set and general.cmd_get + general.cmd_set
            + (general.cmd_touch or 0) or nil,
    }
end

local function went_back(from, to)
    return to.gets and from.gets and to.gets < from.gets or to.requests and from.requests
        and to.requests < from.requests
end

-- Is `to` of a server that started after `from` was taken?
local function is_restart(from, to)
    return from.pid ~= to.pid or (from.uptime_s or 0) > (to.uptime_s or 0)
end

--- Takes the next snapshot in. A restart and a reset of the counters end what is remembered.
function Course:add(now)
    local last, sample = self[#self], sample_of(now)
    if last and (is_restart(last, sample) or went_back(last, sample)) then
        if is_restart(last, sample) then
            self.restart = { time_s = sample.time_s - math.min(sample.uptime_s or 0, sample.time_s - last.time_s),
                items = last.items }
        end
        for i = #self, 1, -1 do
            self[i] = nil
        end
        self.is_reset = not is_restart(last, sample)
    end
    self[#self + 1] = sample
    while self[2] and self[2].time_s < sample.time_s - KEPT_S do
        table.remove(self, 1)
    end
    -- Of those just gone out of what is lately the ones between two that lie close together go.
    local i = #self
    while i > 0 and self[i].time_s >= sample.time_s - LATELY_S do
        i = i - 1
    end
    if i >= 3 and self[i].time_s - self[i - 2].time_s < APART_S then
        table.remove(self, i - 1)
    end
end

-- The samples that the last seconds, and what came before, lie between: from, turn, last; nil when too little is
-- known. A server's start is a sample of which all counters are 0.
local function spans(course)
    local last, turn = course[#course], nil
    for _, sample in ipairs(course) do
        turn = turn or sample.time_s >= last.time_s - LATELY_S and sample or nil
    end
    if not last or turn == last then
        return nil
    end
    local from = course[1]
    if turn.time_s - from.time_s < BEFORE_S then
        if course.is_reset or not turn.uptime_s or turn.uptime_s < BEFORE_S then
            return nil
        end
        from = { time_s = turn.time_s - turn.uptime_s, gets = 0, hits = 0, requests = 0 }
    end
    return from, turn, last
end

--- The last restart that was seen, within NEW_S: { ago_s, items (that it had before; nil when unknown) }; else nil.
function Course:restarted()
    local ago_s = self.restart and self[#self].time_s - self.restart.time_s
    return ago_s and ago_s <= M.NEW_S and { ago_s = ago_s, items = self.restart.items } or nil
end

--- For how long a server has been up that started within NEW_S, before it was first looked at; else nil.
function Course:young_s()
    local last = self[#self]
    return not self.restart and last and last.uptime_s and last.uptime_s < M.NEW_S and last.uptime_s or nil
end

--- Whether nothing has asked the server lately, though it was asked before: { was_per_s, for_s }; else nil.
function Course:stopped()
    local from, turn, last = spans(self)
    if not (from and from.requests and last.requests and turn.requests) or last.requests > turn.requests then
        return nil
    end
    local was_per_s, for_s = (turn.requests - from.requests) / (turn.time_s - from.time_s), last.time_s - turn.time_s
    local is_long = for_s >= PAUSE_LEAST_S and was_per_s * for_s >= EXPECTED_LEAST
    return is_long and { was_per_s = was_per_s, for_s = for_s } or nil
end

-- The share of reads that hit between two samples, and its standard error; nil of too few.
local function hit_ratio(from, to)
    local gets = from.gets and to.gets and to.gets - from.gets or 0
    local hits = from.hits and to.hits and to.hits - from.hits
    if not hits or gets < READS_LEAST then
        return nil
    end
    local ratio = math.min(hits / gets, 1)
    return ratio, math.sqrt(ratio * (1 - ratio) / gets)
end

--- Whether the hit ratio of late is less than half of what it was: { was, is }; else nil.
function Course:fell()
    local from, turn, last = spans(self)
    local was = from and hit_ratio(from, turn)
    if not was or was < RATIO_LEAST then
        return nil
    end
    local is, chance = hit_ratio(turn, last)
    return is and is + ERRORS_APART * chance < was * FELL_TO_RATIO and { was = was, is = is } or nil
end

return M
