-- SPDX-License-Identifier: BSD-3-Clause
--- The course of a server's load: the steps between its snapshots in the last minute, what was usual in them, and
-- whether hits, items or requests fell. A fall matters to clients, and is larger than the load's own spread
-- (slate.judge.thresholds, incident_*). Pure; no I/O.
--
-- A step is { time_s (its end), seconds, and as far as they are known: gets, hits, requests, evictions (in the step),
-- moved_pages and moved_items (that classes lost by moves of pages), items, uptime_s (at its end), is_stall }.
local chance = require "slate.judge.chance"
local limits = require "slate.judge.thresholds"

local M = {}

--- A sample this much early still ends a period: samples are never exactly on time.
M.EARLY_S = 0.1

local WINDOW_STEPS <const> = 10 -- steps until enough requests for a judgement have come,
local WINDOWS <const> = 2 -- and the windows judged: from the first that has enough, a fall may begin within a step

local Course = {}
Course.__index = Course
Course.__name = "slate.judge.course"

--- A course without steps. Its field `last` is the last step.
function M.new()
    return setmetatable({ steps = {}, usual = {} }, Course)
end

--- Adds a step; those from more than a minute before are forgotten.
function Course:add(step)
    local steps = self.steps
    steps[#steps + 1] = step
    self.last, self.usual = step, {}
    while #steps > limits.incident_samples_least + WINDOW_STEPS
        and steps[1].time_s < step.time_s - limits.incident_base_s do
        table.remove(steps, 1)
    end
end

--- Marks the last step as a stall: its requests are counted already.
function Course:mark_stall()
    self.last.is_stall, self.usual = true, {}
end

-- The steps from `first` to `last` as one; a figure is nil unless each step has it.
local function together(steps, first, last)
    local whole = { seconds = 0, gets = 0, hits = 0, requests = 0, items = steps[last].items }
    for i = first, last do
        local step = steps[i]
        whole.seconds, whole.gets = whole.seconds + step.seconds, whole.gets and step.gets and whole.gets + step.gets
        whole.hits = whole.hits and step.hits and whole.hits + step.hits
        whole.requests = whole.requests and step.requests and whole.requests + step.requests
    end
    return whole
end

--- The last `count` steps, or all, as one.
function Course:lately(count)
    return together(self.steps, math.max(1, #self.steps - (count or math.huge) + 1), #self.steps)
end

--- The last steps that began since a time, as one, and when its first began: as few as have so many reads (nil: any),
-- at least `count`. nil if there are no such steps yet.
function Course:since(time_s, count, reads)
    local steps, gets = self.steps, 0
    for first = #steps, 1, -1 do
        local began_s = steps[first].time_s - steps[first].seconds
        gets = gets + (steps[first].gets or 0)
        if began_s < time_s - M.EARLY_S then
            return nil
        elseif first <= #steps - count + 1 and gets >= (reads or 0) then
            return together(steps, first, #steps), began_s
        end
    end
end

--- Calls f(step) for the steps that end after a time.
function Course:each_since(time_s, f)
    for _, step in ipairs(self.steps) do
        if step.time_s > time_s then
            f(step)
        end
    end
end

--- The sum of a figure over these steps.
function Course:sum_since(name, time_s)
    local sum = 0
    self:each_since(time_s, function(step) sum = sum + (step[name] or 0) end)
    return sum
end

-- The number of the first of the last steps, less the `skipped` last ones, that are course_lately_s long.
local function first_lately(self, skipped)
    local first, seconds = #self.steps + 1 - skipped, 0
    while first > 1 and seconds < limits.course_lately_s - M.EARLY_S do
        first = first - 1
        seconds = seconds + self.steps[first].seconds
    end
    return first
end

--- The last seconds as one step, and the time before: of the steps seen, if they are long enough, else `start`, all
-- since the server's start by its counters. nil if too little is known.
function Course:last_and_before(start)
    local first = first_lately(self, 0)
    local before = first > 1 and first <= #self.steps and together(self.steps, 1, first - 1)
    before = before and before.seconds >= limits.course_before_s and before or start
    if first <= #self.steps and before then
        return together(self.steps, first, #self.steps), before
    end
end

--- The hits a second in the seconds before the last step; nil if unknown.
function Course:hits_per_s_before_last()
    local first = first_lately(self, 1)
    local before = first < #self.steps and together(self.steps, first, #self.steps - 1)
    return before and before.hits and before.hits / before.seconds or nil
end

-- The sums of values from which their mean, variance and trend come. at_s: the time of a value, from a near one.
local function add_value(sums, value, at_s)
    sums.count, sums.sum, sums.squares = sums.count + 1, sums.sum + value, sums.squares + value * value
    sums.last_s, sums.times = at_s, sums.times + at_s
    sums.time_squares, sums.products = sums.time_squares + at_s * at_s, sums.products + at_s * value
end

-- The sum of squares about the mean.
local function squares_of(sums)
    return math.max(0, sums.squares - sums.sum ^ 2 / sums.count)
end

-- The variance by so few values may be too small by chance: times the square of the factor by which Student's quantile
-- exceeds that of the bell curve at incident_errors_apart (by an approximation). squares: about the mean, or a line.
local function variance_of(sums, squares)
    local free, bell = sums.count - 1, limits.incident_errors_apart ^ 2
    local student = free * (math.exp(bell * (free - 1.5) / (free - 1) ^ 2) - 1)
    return squares / free * student / bell
end

-- How far values that rise, as the hits of a cache that fills, exceed their mean at the end, by the line of least
-- squares, and their squares about that line. 0 and those about the mean if the line has less than half of these.
local function rise_of(sums)
    local squares, times = squares_of(sums), sums.time_squares - sums.times ^ 2 / sums.count
    local products = sums.products - sums.times * sums.sum / sums.count
    if products <= 0 or products ^ 2 <= squares * times / 2 then
        return 0, squares
    end
    return products / times * (sums.last_s - sums.times / sums.count), squares - products ^ 2 / times
end

local function no_values()
    return { count = 0, sum = 0, squares = 0, times = 0, time_squares = 0, products = 0 }
end

local function add_step(sums, step)
    sums.count, sums.seconds = sums.count + 1, sums.seconds + step.seconds
    if step.items and step.items < sums.items then
        sums.items = step.items
    end
    if step.requests then
        sums.requests = sums.requests + step.requests
        add_value(sums.rates, step.requests / step.seconds, sums.seconds)
    end
    if step.hits and (step.gets or 0) > 0 then
        sums.gets, sums.hits = sums.gets + step.gets, sums.hits + step.hits
        add_value(sums.ratios, step.hits / step.gets, sums.seconds)
    end
end

-- What was usual, by sums over steps; nil if too little was seen.
local function usual_of(sums)
    local seconds = sums.seconds
    if sums.count < limits.incident_samples_least or seconds < limits.course_before_s then
        return nil
    end
    local usual = { reads = sums.gets, step_s = seconds / sums.count,
        items = sums.items < math.huge and sums.items or nil }
    if sums.rates.count >= limits.incident_samples_least then
        usual.rate, usual.rate_variance = sums.requests / seconds, variance_of(sums.rates, squares_of(sums.rates))
    end
    if sums.ratios.count >= limits.incident_samples_least then
        local rise, squares = rise_of(sums.ratios)
        usual.hit_ratio = math.min(1, sums.hits / sums.gets + rise)
        usual.hits_per_s = usual.hit_ratio * sums.gets / seconds
        local by_chance = usual.hit_ratio * (1 - usual.hit_ratio) / (sums.gets / sums.ratios.count)
        usual.hit_variance = math.max(0, variance_of(sums.ratios, squares) - by_chance)
    end
    return usual
end

-- What was usual before the last 0, 1, … WINDOW_STEPS steps, of the steps that began after since_s.
local function usual_by_count(steps, since_s)
    local sums = { count = 0, seconds = 0, items = math.huge, gets = 0, hits = 0, requests = 0,
        rates = no_values(), ratios = no_values() }
    local by_count = {}
    for i, step in ipairs(steps) do
        if not step.is_stall and step.time_s - step.seconds >= since_s then
            add_step(sums, step)
        end
        by_count[#steps - i] = #steps - i <= WINDOW_STEPS and usual_of(sums) or nil
    end
    return by_count
end

--- What was usual before the last `count` steps, at most ten, of the steps that began after since_s, if given:
-- { hit_ratio (of hits that rise, at the end), hit_variance (beyond that by chance), reads, rate (requests a second),
-- rate_variance, hits_per_s, items (the fewest), step_s (the mean step) }; nil if too little was seen.
function Course:usual_before(count, since_s)
    since_s = since_s or -math.huge
    self.usual[since_s] = self.usual[since_s] or usual_by_count(self.steps, since_s)
    return self.usual[since_s][count]
end

--- The least fall of a hit ratio that matters to clients.
function M.least_fall(hit_ratio)
    return math.min(limits.incident_hits_least_ratio, hit_ratio * limits.fall_to_ratio)
end

-- Whether steps suffice for a judgement.
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
        local was, is = usual.hit_ratio, whole.hits / whole.gets
        -- The error by chance, and by the spread of the load.
        local error = math.sqrt(chance.ratio_error(was, usual.reads) ^ 2 * (1 + usual.reads / whole.gets)
            + usual.hit_variance)
        if was >= limits.fall_from_least_ratio and was - is > M.least_fall(was)
            and was - is > limits.incident_errors_apart * error then
            return was, is
        end
    end,
    traffic = function(usual, whole)
        local was, is = usual.rate, whole.requests / whole.seconds
        if is < was * limits.fall_to_ratio and was - is
            > limits.incident_errors_apart * math.sqrt(math.max(was / whole.seconds, usual.rate_variance)) then
            return was, is
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

--- The figure before and now if a step shows a fall of hits (`hits_fell`), requests (`traffic`) or items (`items_fell`)
-- against what was usual; else nil. usual: may be nil.
function M.fall(name, usual, step)
    if usual and SUFFICES[name](usual, step) then
        return FALLS[name](usual, step)
    end
end

--- The figure before and now if the last steps show a fall against what was usual before them (and after since_s); also
-- what was usual, and the time at which the fall began. Else nil.
function Course:fall(name, since_s)
    local judged, steps = 0, self.steps
    for count = 1, math.min(WINDOW_STEPS, #steps - 1) do
        local usual, first = self:usual_before(count, since_s), #steps - count + 1
        if not usual or judged == WINDOWS or steps[first].is_stall then
            return nil
        end
        local whole = together(steps, first, #steps)
        if SUFFICES[name](usual, whole) then
            local was, is = FALLS[name](usual, whole)
            if was then
                return was, is, usual, steps[first - 1].time_s
            end
            judged = judged + 1
        end
    end
end

return M
