-- SPDX-License-Identifier: BSD-3-Clause
--- Incidents: moments at which a server lost items, hits or traffic, found in its snapshots. Pure; no I/O.
--
-- A restart and a flush show in counters: they are found in the first snapshot after them. A stall, and a fall of hits,
-- of items or of traffic, are found against the minute before: by a fall that matters to clients, of more than the
-- load's own spread there (slate.judge.thresholds, incident_*). What a server does not report makes no incident.
--
-- A fall of hits, items or requests while a restart, a flush or a stall is open is its consequence, and no incident:
-- hits that did not come are counted once.
--
-- An incident is { name, from_s, to_s (times of snapshots), is_open, and as far as they are known: was, is (items, the
-- hit ratio, or requests a second), stalled_s, hits_was, hits_is (the hit ratio before it and its lowest after),
-- requests_was, requests_is (requests a second, if they fell after it), cost_hits (hits that would have come without),
-- cut = { was, is } (the memory limit in bytes, if it fell at that time), evicted (items that fell by so many
-- evictions, most of the fall) }.
local limits = require "slate.judge.thresholds"
local snapshot = require "slate.facts.snapshot"
local units = require "slate.base.units"

local M = {}

local EARLY_S <const> = 0.1 -- a sample this much early still ends a step: samples are never exactly on time
local WINDOW_STEPS <const> = 10 -- steps until enough requests for a judgement have come,
local WINDOWS <const> = 2 -- and the windows judged: from the first that has enough, a fall may begin within a step
local KEPT <const> = 256 -- incidents of one run

local Incidents = {}
Incidents.__index = Incidents
Incidents.__name = "slate.judge.incident"

--- A watch without snapshots. Its field `list` has the incidents, the first first.
function M.watch()
    return setmetatable({ list = {}, steps = {}, begins_s = {}, known = {} }, Incidents)
end

--- The figures of a snapshot that are judged over time; nil where the server does not report them.
function M.sample_of(now)
    local general = now.general
    return {
        time_s = now.time_s, pid = general.pid, uptime_s = general.uptime, items = general.curr_items,
        gets = general.cmd_get, hits = general.get_hits, flushes = general.cmd_flush, evictions = general.evictions,
        limit_bytes = general.limit_maxbytes,
        requests = general.cmd_get and general.cmd_set and general.cmd_get + general.cmd_set
            + (general.cmd_touch or 0) or nil,
    }
end

local function growth(from, to, name)
    return from[name] and to[name] and to[name] >= from[name] and to[name] - from[name] or nil
end

-- The minute before ------------------------------------------------------------------------------------------

-- The variance of so many values, by their sum and the sum of their squares.
local function variance(count, sum, squares)
    return math.max(0, squares - sum ^ 2 / count) / (count - 1)
end

-- The steps from `first` to `last` as one: seconds, gets, hits, requests and items at the end; a figure is nil unless
-- each step has it.
local function together(steps, first, last)
    local seconds, gets, hits, requests = 0, 0, 0, 0
    for i = first, last do
        local step = steps[i]
        seconds, gets = seconds + step.seconds, gets and step.gets and gets + step.gets
        hits = hits and step.hits and hits + step.hits
        requests = requests and step.requests and requests + step.requests
    end
    return { seconds = seconds, gets = gets, hits = hits, requests = requests, items = steps[last].items }
end

-- What was usual, by sums over steps: { hit_ratio, hit_variance, reads, rate, rate_variance, hits_per_s, items (the
-- fewest), step_s (the mean step) }; nil if too little was seen.
local function usual_of(sums)
    local count, seconds, rates, ratios = sums.count, sums.seconds, sums.rates, sums.ratios
    if count < limits.incident_samples_least or seconds < limits.course_before_s then
        return nil
    end
    local usual = { reads = sums.gets, step_s = seconds / count, items = sums.items < math.huge and sums.items or nil }
    if rates >= limits.incident_samples_least then
        usual.rate = sums.requests / seconds
        usual.rate_variance = variance(rates, sums.rate_sum, sums.rate_squares)
    end
    if ratios >= limits.incident_samples_least then
        usual.hit_ratio, usual.hits_per_s = sums.hits / sums.gets, sums.hits / seconds
        usual.hit_variance = variance(ratios, sums.ratio_sum, sums.ratio_squares)
    end
    return usual
end

local function add_sums(sums, step)
    sums.count, sums.seconds = sums.count + 1, sums.seconds + step.seconds
    if step.items and step.items < sums.items then
        sums.items = step.items
    end
    if step.requests then
        local rate = step.requests / step.seconds
        sums.requests, sums.rates = sums.requests + step.requests, sums.rates + 1
        sums.rate_sum, sums.rate_squares = sums.rate_sum + rate, sums.rate_squares + rate * rate
    end
    if step.hits and (step.gets or 0) > 0 then
        local ratio = step.hits / step.gets
        sums.gets, sums.hits, sums.ratios = sums.gets + step.gets, sums.hits + step.hits, sums.ratios + 1
        sums.ratio_sum, sums.ratio_squares = sums.ratio_sum + ratio, sums.ratio_squares + ratio * ratio
    end
end

-- What was usual before the last 0, 1, … WINDOW_STEPS steps, of the steps that began after since_s.
local function usual_by_count(steps, since_s)
    local sums, by_count = { count = 0, seconds = 0, items = math.huge, gets = 0, hits = 0, ratios = 0, ratio_sum = 0,
        ratio_squares = 0, requests = 0, rates = 0, rate_sum = 0, rate_squares = 0 }, {}
    for i, step in ipairs(steps) do
        if not step.is_stall and step.time_s - step.seconds >= since_s then
            add_sums(sums, step)
        end
        by_count[#steps - i] = #steps - i <= WINDOW_STEPS and usual_of(sums) or nil
    end
    return by_count
end

-- What was usual before the last `count` steps, as far back as an incident of this name was not found already.
local function usual_before(self, count, name)
    local since_s = self.begins_s[name] or -math.huge -- most names have the same
    self.known[since_s] = self.known[since_s] or usual_by_count(self.steps, since_s)
    return self.known[since_s][count]
end

-- The last seconds, and the time before: of the steps seen, else all since the server's start, by its counters. Both as
-- `together` has them; nil if too little is known. A command sees a server for seconds only.
local function last_and_before(self)
    local first, seconds = #self.steps + 1, 0
    while first > 1 and seconds < limits.course_lately_s - EARLY_S do
        first = first - 1
        seconds = seconds + self.steps[first].seconds
    end
    local before = first > 1 and first <= #self.steps and together(self.steps, 1, first - 1)
    before = before and before.seconds >= limits.course_before_s and before or self.start
    if first <= #self.steps and before then
        return together(self.steps, first, #self.steps), before
    end
end

-- Falls --------------------------------------------------------------------------------------------------------

local function hits_threshold(was)
    return math.min(limits.incident_hits_least_ratio, was * limits.fall_to_ratio)
end

-- The error of the hit ratio of so many reads: by chance, or by the spread of the load if that is more.
local function hits_error(usual, reads)
    local ratio = (usual.hit_ratio * usual.reads + 1) / (usual.reads + 2) -- of 100 % of some reads no more is known
    local chance = ratio * (1 - ratio)
    return math.sqrt(math.max(chance / reads, usual.hit_variance) + chance / usual.reads)
end

-- Whether the last steps suffice for a judgement.
local SUFFICES <const> = {
    hits_fell = function(usual, whole)
        return usual.hit_ratio and whole.hits and whole.gets >= limits.fall_reads_least
    end,
    traffic = function(usual, whole)
        return usual.rate and whole.requests and usual.rate * whole.seconds >= limits.fall_reads_least
    end,
    items_fell = function(usual, whole) return usual.items and whole.items end,
}

-- Each falls(usual, whole), of steps that suffice: the figure before and now if it fell; else nil.
local FALLS <const> = {
    hits_fell = function(usual, whole)
        local fall = usual.hit_ratio - whole.hits / whole.gets
        if usual.hit_ratio >= limits.fall_from_least_ratio and fall > hits_threshold(usual.hit_ratio)
            and fall > limits.incident_errors_apart * hits_error(usual, whole.gets) then
            return usual.hit_ratio, whole.hits / whole.gets
        end
    end,
    traffic = function(usual, whole)
        local is = whole.requests / whole.seconds
        local apart = limits.incident_errors_apart * math.sqrt(math.max(usual.rate / whole.seconds,
            usual.rate_variance))
        if is < usual.rate * limits.fall_to_ratio and usual.rate - is > apart then
            return usual.rate, is
        end
    end,
    items_fell = function(usual, whole)
        local was, is = usual.items, whole.items
        if was - is > was * limits.incident_items_least_ratio
            and was - is > limits.incident_errors_apart * math.sqrt(was) then
            return was, is
        end
    end,
}

-- The figure before and now if the last steps, which suffice, show a fall; else nil.
local function fall_of(name, usual, whole)
    if usual and SUFFICES[name](usual, whole) then
        return FALLS[name](usual, whole)
    end
end

-- The figure before and now if it fell in the last steps, what was usual, and the time of the beginning.
local function fell(self, name)
    local judged = 0
    for count = 1, math.min(WINDOW_STEPS, #self.steps - 1) do
        local usual = usual_before(self, count, name)
        local first = #self.steps - count + 1
        local whole = usual and together(self.steps, first, #self.steps)
        if not usual or judged == WINDOWS or self.steps[first].is_stall then -- a stall's requests are counted
            return nil
        elseif SUFFICES[name](usual, whole) then
            local was, is = FALLS[name](usual, whole)
            if was then
                return was, is, usual, self.steps[#self.steps - count].time_s
            end
            judged = judged + 1
        end
    end
end

-- The incidents that make hits, items or requests fall, and their order where several are open.
local CAUSES <const> = { flush = "flush_all", restart = "the restart", items_fell = "items fell", stall = "the stall" }
local CAUSE_ORDER <const> = { flush = 1, restart = 1, items_fell = 2, stall = 3 }

-- The open incident that is the cause of a fall now; nil without one. Of equals, the first.
local function cause_of(self)
    local cause
    for _, one in ipairs(self.list) do
        if one.is_open and CAUSES[one.name] and (not cause or CAUSE_ORDER[one.name] < CAUSE_ORDER[cause.name]) then
            cause = one
        end
    end
    return cause
end

local function begin(self, name, from_s, to_s, usual)
    local one = { name = name, from_s = from_s, to_s = to_s, is_open = true, usual = usual,
        hits_was = usual and usual.hit_ratio, cost_hits = usual and usual.hit_ratio and 0 }
    self.list[#self.list + 1] = one
    if #self.list > KEPT then
        table.remove(self.list, 1)
    end
    self.begins_s[name] = to_s
    return one
end

-- The evictions of the steps since from_s, if they are most of a fall of so many items; else nil.
local function evicted_since(self, from_s, fallen)
    local evicted = 0
    for _, step in ipairs(self.steps) do
        evicted = evicted + (step.time_s > from_s and step.evictions or 0)
    end
    return evicted >= fallen / 2 and evicted or nil
end

local function begin_fall(self, news, name, from_s, usual, was, is)
    local one = begin(self, name, from_s, self.steps[#self.steps].time_s, usual)
    one.was, one.is = was, is
    one.cut = name ~= "traffic" and self.cut and from_s - self.cut.time_s <= limits.lately_s and self.cut or nil
    one.evicted = name == "items_fell" and not one.cut and evicted_since(self, from_s, was - is) or nil
    one.hits_is = name == "hits_fell" and is or nil
    news[#news + 1] = M.title(one)
end

-- Notes that requests fell after an incident, which is the cause.
local function note_fewer_requests(self, cause, was, is, news)
    cause.requests_was, cause.requests_is = was, is
    self.begins_s.traffic = self.steps[#self.steps].time_s
    news[#news + 1] = ("requests fell from %s to %s a second, after %s"):format(units.rate(was), units.rate(is),
        CAUSES[cause.name])
end

local function find_falls(self, news)
    for _, name in ipairs({ "items_fell", "hits_fell", "traffic" }) do
        local was, is, usual, from_s = fell(self, name)
        local cause = was and cause_of(self)
        if was and (not cause or name == "traffic" and cause.name == "items_fell") then
            begin_fall(self, news, name, from_s, usual, was, is)
        elseif was and name == "traffic" and not cause.requests_was then
            note_fewer_requests(self, cause, was, is, news)
        end
    end
end

-- Clients that a restart lost: the first seconds after it against what was usual before it.
local function find_lost_clients(self, restart, news)
    local was, is = fall_of("traffic", restart.usual, together(self.steps, 1, #self.steps))
    if was then
        note_fewer_requests(self, restart, was, is, news)
    end
end

-- The hits a second that a stall cost: those of the seconds before it, if they were fewer than usual.
local function hits_before_stall(self, usual)
    local hits, seconds = 0, 0
    for i = #self.steps - 1, 1, -1 do
        local step = self.steps[i]
        if seconds >= limits.course_lately_s - EARLY_S or not step.hits then
            break
        end
        hits, seconds = hits + step.hits, seconds + step.seconds
    end
    return usual.hits_per_s and (seconds > 0 and math.min(usual.hits_per_s, hits / seconds) or usual.hits_per_s)
end

-- A stall: a long step, by the server's own clock too, in which requests are missing. Else a program that takes the
-- snapshots was away.
local function find_stall(self, last, step, news)
    local usual = usual_before(self, 1, "stall")
    local late_s = usual and usual.rate and step.seconds - usual.step_s or 0
    local own_s = growth(last, step, "uptime_s")
    if late_s < limits.stall_least_s or not own_s or own_s + 1 < late_s or not step.requests then
        return
    end
    -- The mean over a long step varies less than that over a short one.
    local variance_of_step = usual.rate_variance * usual.step_s / step.seconds
    local was, is = fall_of("traffic", setmetatable({ rate_variance = variance_of_step }, { __index = usual }), step)
    local stalled_s = was and step.seconds * (1 - is / was) or 0
    if stalled_s >= limits.stall_least_s then
        local one = begin(self, "stall", last.time_s, step.time_s, usual)
        one.stalled_s, step.is_stall, self.known = stalled_s, true, {}
        local hits_per_s = hits_before_stall(self, usual)
        one.cost_hits = hits_per_s and hits_per_s * stalled_s
        news[#news + 1] = M.title(one)
    end
end

-- The course of open incidents --------------------------------------------------------------------------------------

local function is_recovered(self, one)
    local seen, last = together(self.steps, math.max(1, #self.steps - 2), #self.steps), self.steps[#self.steps]
    if last.time_s - one.to_s < limits.lately_s and not one.is_low then -- the fall may still come
        return false
    end
    local requests_was = one.name == "traffic" and one.was or one.requests_was
    if requests_was and not (seen.requests
        and seen.requests / seen.seconds >= requests_was * (1 + limits.fall_to_ratio) / 2) then
        return false
    end
    return one.name == "traffic" or one.name == "stall" and not one.hits_is or not one.hits_was
        or seen.hits and seen.gets >= limits.fall_reads_least
        and one.hits_was - seen.hits / seen.gets < hits_threshold(one.hits_was) / 2
end

-- Adds the hits that did not come in a step to the cost of an incident, but those that another is charged with already.
-- Fewer requests are charged to their cause; fewer hits of them, too.
local function count_cost(self, one, step)
    local due
    if one.name == "traffic" or one.requests_was then
        due = one.usual and one.usual.hits_per_s and one.usual.hits_per_s * step.seconds
    elseif not CAUSES[one.name] or one == cause_of(self) then
        due = one.hits_was and step.gets and one.hits_was * step.gets
    end
    if due and step.hits then
        local lost = due - step.hits - (step.charged_hits or 0)
        lost = step.charged_hits and math.max(0, lost) or lost
        one.cost_hits, step.charged_hits = one.cost_hits + lost, (step.charged_hits or 0) + lost
    end
end

local function follow(self, one, step, news)
    count_cost(self, one, step)
    if one.name ~= "stall" and CAUSES[one.name] and step.items then
        one.is = math.min(one.is or step.items, step.items)
    end
    if one.hits_is and step.hits and step.gets >= limits.fall_reads_least then
        one.hits_is = math.min(one.hits_is, step.hits / step.gets)
    elseif one.usual and one == cause_of(self) then
        one.hits_is = select(2, fall_of("hits_fell", one.usual, step))
        news[#news + 1] = one.hits_is and ("hits fell from %s to %s, after %s"):format(units.percent(one.hits_was),
            units.percent(one.hits_is), CAUSES[one.name]) or nil
    end
    if one.name == "restart" and not one.is_judged and step.time_s - one.to_s >= limits.lately_s - EARLY_S then
        one.is_judged = true
        find_lost_clients(self, one, news)
    end
    one.is_low, one.ends_s = (one.hits_is or one.requests_was) ~= nil or one.name == "traffic", step.time_s
    local is_back = is_recovered(self, one)
    one.is_open = not is_back and step.time_s - one.from_s <= limits.incident_most_s -- the load may be another then
    if is_back and one.is_low then
        news[#news + 1] = ("%s after %s%s"):format(one.hits_is and "hits are back" or "requests come again",
            units.age(one.ends_s - one.from_s), M.cost_words(one.cost_hits, ": "))
    end
end

-- Snapshots -----------------------------------------------------------------------------------------------------------

local function forget(self, start)
    self.steps, self.begins_s, self.known, self.start, self.cut = {}, {}, {}, start, nil
    for _, one in ipairs(self.list) do
        one.is_open = false
    end
end

local function find_restart(self, last, sample, news)
    local usual = usual_before(self, 0, "restart")
    forget(self)
    local one = begin(self, "restart", last.time_s, sample.time_s, usual)
    one.was = last.items
    if one.cost_hits then -- until the server was up again
        local up_s = math.min(sample.uptime_s or 0, sample.time_s - last.time_s)
        one.cost_hits = usual.hits_per_s * math.max(0, sample.time_s - last.time_s - up_s - usual.step_s)
    end
    news[#news + 1] = M.title(one)
end

-- A gap between snapshots: the load may be another after it. seconds: of the next step.
local function is_gap(self, seconds)
    local last = self.steps[#self.steps]
    return last and seconds > limits.incident_base_s and seconds > 2 * last.seconds
end

local function find_flush(self, last, sample, news)
    if (growth(last, sample, "flushes") or 0) > 0 then
        local one = begin(self, "flush", last.time_s, sample.time_s, usual_before(self, 0, "flush"))
        one.was, one.is = last.items, sample.items
        news[#news + 1] = M.title(one)
    end
end

local function went_back(from, to)
    for _, name in ipairs({ "gets", "hits", "requests", "flushes" }) do
        if from[name] and to[name] and to[name] < from[name] then
            return true
        end
    end
    return false
end

-- Adds the step that a sample ends, and judges it.
local function add_step(self, from, sample, news)
    local step = { time_s = sample.time_s, seconds = sample.time_s - from.time_s, items = sample.items,
        uptime_s = sample.uptime_s }
    for _, name in ipairs({ "gets", "hits", "requests", "evictions" }) do
        step[name] = growth(from, sample, name)
    end
    self.steps[#self.steps + 1], self.known = step, {}
    while #self.steps > limits.incident_samples_least + WINDOW_STEPS
        and self.steps[1].time_s < sample.time_s - limits.incident_base_s do
        table.remove(self.steps, 1)
    end
    find_stall(self, from, step, news)
    if not step.is_stall then
        find_falls(self, news)
        for _, one in ipairs(self.list) do
            if one.is_open and one.to_s < step.time_s then
                follow(self, one, step, news)
            end
        end
    end
end

--- Takes the next snapshot. Returns what was found in it, in sentences: a list, empty mostly.
function Incidents:add(now)
    local last, sample, news = self.last, M.sample_of(now), {}
    self.last = sample
    if last and snapshot.is_restart(self.now, now) and sample.time_s > last.time_s then
        find_restart(self, last, sample, news)
        self.from = sample
    elseif not last or sample.time_s <= last.time_s or went_back(last, sample) then
        local is_known = not last and (sample.uptime_s or 0) >= limits.course_before_s -- not where counters were reset
        forget(self, is_known and { seconds = sample.uptime_s, gets = sample.gets, hits = sample.hits,
            requests = sample.requests } or nil)
        self.from = sample
    else
        find_flush(self, last, sample, news)
        if (sample.limit_bytes or math.huge) < (last.limit_bytes or 0) then
            self.cut = { time_s = sample.time_s, was = last.limit_bytes, is = sample.limit_bytes }
        end
        if is_gap(self, sample.time_s - last.time_s) then
            forget(self)
            self.from = sample
        elseif sample.time_s - self.from.time_s >= limits.sample_s - EARLY_S then
            add_step(self, self.from, sample, news)
            self.from = sample
        end
    end
    self.now = now
    return news
end

--- The last incident of this name that is open, or was found lately: within limits.incident_shown_s, a restart within
-- limits.new_s. nil without one.
function Incidents:lately(name)
    for i = #self.list, 1, -1 do
        local one = self.list[i]
        local age_s = self.last.time_s - one.to_s
        if one.name == name then
            local shown_s = name == "restart" and limits.new_s or limits.incident_shown_s
            return age_s >= 0 and age_s <= (one.is_open and limits.course_length_s or shown_s) and one or nil
        end
    end
end

--- { was_per_s, for_s } if the server gets no requests now, but got some before; else nil.
function Incidents:stopped()
    local last, before = last_and_before(self)
    local cause = cause_of(self)
    if not last or last.requests ~= 0 or cause and (cause.name == "stall" or cause.requests_was) then
        return nil
    end
    local one = self:lately("traffic")
    if one and one.is_open then
        return { was_per_s = one.was, for_s = self.last.time_s - one.from_s }
    end
    local was_per_s = before.requests and before.requests / before.seconds or 0
    local is_long = last.seconds >= limits.pause_least_s
        and was_per_s * last.seconds >= limits.pause_requests_least
    return is_long and { was_per_s = was_per_s, for_s = last.seconds } or nil
end

--- { was, is } if the hit ratio is low by a fall that goes on, or less than half of that before; else nil.
function Incidents:fell()
    local one, last, before = self:lately("hits_fell"), last_and_before(self)
    if one and one.is_open then
        return one
    elseif not last or not (last.hits and before.hits) or cause_of(self)
        or math.min(last.gets, before.gets) < limits.fall_reads_least then
        return nil
    end
    local was, is = before.hits / before.gets, last.hits / last.gets
    local error = math.sqrt(is * (1 - is) / last.gets)
    return was >= limits.fall_from_least_ratio
        and is + limits.errors_apart * error < was * limits.fall_to_ratio and { was = was, is = is } or nil
end

-- Words ---------------------------------------------------------------------------------------------------------------

-- The cut of memory that made hits or items fall, after ": "; "" without one.
local function by_cut(one)
    return one.cut and (": the memory limit was lowered from %s to %s"):format(units.bytes_in_words(one.cut.was),
        units.bytes_in_words(one.cut.is)) or ""
end

local TITLES <const> = {
    restart = function(one)
        return "the server restarted" .. ((one.was or 0) > 0 and " and lost " .. units.plural(one.was, "item") or "")
    end,
    flush = function(one)
        return ("a client sent flush_all%s"):format(one.was and (": %s items were in the cache")
            :format(units.count(one.was)) or "")
    end,
    stall = function(one) return ("the server answered no request for %s"):format(units.age(one.stalled_s)) end,
    hits_fell = function(one)
        return ("hits fell from %s to %s%s"):format(units.percent(one.was), units.percent(one.is), by_cut(one))
    end,
    items_fell = function(one)
        return ("items fell from %s to %s%s"):format(units.count(one.was), units.count(one.is),
            one.evicted and ": the server evicted them" or by_cut(one))
    end,
    traffic = function(one)
        return one.is == 0 and ("clients sent no requests any more, %s a second before"):format(units.rate(one.was))
            or ("requests fell from %s to %s a second"):format(units.rate(one.was), units.rate(one.is))
    end,
}

local TODOS <const> = {
    restart = "find the reason in its log or in the system's log",
    flush = "find the client: slated lists it (slatectl stats audit); memcached does not. -F forbids flush_all",
    stall = "look at the machine at that time: swapping, a paused container or virtual machine, a full processor",
    hits_fell = "see what changed at that time: slatectl audit, deployments, the keys of clients",
    items_fell = "items were deleted, or expired at one time: spread the times to live",
    evicted = "less memory, or other chunk sizes: slatectl settings, slatectl geometry",
    traffic = "look for clients that went away: slatectl conns",
}

--- What happened, in a sentence without its effect.
function M.title(one)
    return TITLES[one.name](one)
end

--- Lost hits in words, after `before`; "" if none are known.
function M.cost_words(cost_hits, before)
    return cost_hits and cost_hits >= 1 and ("%s%s hits lost"):format(before or "", units.count(cost_hits // 1)) or ""
end

--- What happened, and its effects on hits and requests.
function M.words(one)
    local effects = { M.title(one) }
    if one.name ~= "hits_fell" and one.hits_is then
        effects[2] = ("hits fell from %s to %s"):format(units.percent(one.hits_was), units.percent(one.hits_is))
    end
    if one.requests_was then
        effects[#effects + 1] = ("requests fell from %s to %s a second"):format(units.rate(one.requests_was),
            units.rate(one.requests_is))
    end
    return table.concat(effects, "; ")
end

local MIB <const> = 1 << 20

--- What to do about it.
function M.todo(one)
    return one.cut and ("take the memory back if its hits are missed: slatectl set maxbytes=%d"):format(
        math.ceil(one.cut.was / MIB)) or one.evicted and TODOS.evicted or TODOS[one.name]
end

return M
