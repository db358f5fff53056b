-- SPDX-License-Identifier: BSD-3-Clause
--- Incidents: moments at which a server lost items, hits or traffic, found in its snapshots. Pure; no I/O.
--
-- Snapshots become steps of a course (slate.judge.course), falls of the course become incidents, and incidents become
-- words (slate.judge.incident_words). A restart and a flush show in counters: they are found in the first snapshot
-- after them, and so do connections that were turned away. A stall, and a fall of hits, of items or of traffic, are
-- found against the minute before. What a server does not report makes no incident.
--
-- Hits or requests that fall within ten seconds of a restart, a flush, a stall or a fall of items are its consequence,
-- and no incident; so are items while it is open. A later fall is an incident with a time of its own. Hits that did not
-- come are counted once. Reads beyond those of before, as of keys that are not stored, cost none.
--
-- An incident is { name, from_s, to_s (times of snapshots), is_open, is_low (hits or requests are low by it: its line
-- stands so long), is_back (they are as before, since ends_s), and as far as they are known: was, is (items, the hit
-- ratio, requests a second, or open connections), most (of these), stalled_s, hits_was, hits_is (the hit ratio before
-- it and its lowest after), requests_was, requests_is (requests a second, if they fell after it), cost_hits (hits that
-- would have come without), cut = { was, is, is_over } (the memory limit in bytes, if it fell at that time; whether it
-- was raised again); if most items fell by that: moved_pages (so many pages moved), else evicted (so many evictions);
-- misses_more (if hits fell: so many misses a second more), is_by_misses (hits a second are as before); with (of a
-- restart: the settings that differ, in words) }.
local chance = require "slate.judge.chance"
local changes = require "slate.facts.changes"
local course = require "slate.judge.course"
local gather = require "slate.base.gather"
local limits = require "slate.judge.thresholds"
local snapshot = require "slate.facts.snapshot"
local words = require "slate.judge.incident_words"

local growth <const> = snapshot.growth

local M = {}

local KEPT <const> = 256 -- incidents of one run

local Incidents = {}
Incidents.__index = Incidents
Incidents.__name = "slate.judge.incident"

--- A watch without snapshots. Its field `list` has the incidents, the first first.
function M.watch()
    return setmetatable({ list = {}, course = course.new(), begins_s = {} }, Incidents)
end

-- The figures of a snapshot that are judged over time; nil where the server does not report them. Hits mean something
-- only beside gets.
local function sample_of(now)
    local general = now.general
    return {
        time_s = now.time_s, uptime_s = general.uptime, items = general.curr_items, gets = general.cmd_get,
        hits = general.cmd_get and general.get_hits, flushes = general.cmd_flush, evictions = general.evictions,
        limit_bytes = general.limit_maxbytes, refused = snapshot.refused_connections(now),
        requests = general.cmd_get and general.cmd_set and general.cmd_get + general.cmd_set
            + (general.cmd_touch or 0) or nil,
    }
end

local function add_news(self, text)
    self.news[#self.news + 1] = text
end

-- The incidents that make hits, items or requests fall, and their order where several are open.
local CAUSE_ORDER <const> = { flush = 1, restart = 1, items_fell = 2, stall = 3 }

-- The open incident that is the cause of a fall now; nil without one. Of equals, the first. since_s (optional): of
-- those that were found since.
local function cause_of(self, since_s)
    local cause
    for _, one in ipairs(self.list) do
        local order = one.is_open and one.to_s >= (since_s or 0) and CAUSE_ORDER[one.name]
        if order and (not cause or order < CAUSE_ORDER[cause.name]) then
            cause = one
        end
    end
    return cause
end

-- True if the cost of an incident is that of requests that did not come.
local function is_of_requests(one)
    return one.name == "traffic" or one.requests_was ~= nil
end

-- The hits that a step adds to those due since an incident began: of its reads, but no more than of the reads before.
local function due_hits(one, step)
    local due = one.due or { gets = 0, seconds = 0, hits = 0, came = 0 }
    one.due, due.gets, due.seconds = due, due.gets + step.gets, due.seconds + step.seconds
    local was = due.hits
    due.hits = math.min(one.hits_was * due.gets, one.usual.hits_per_s * due.seconds)
    return due.hits - was
end

-- Notes whether hits fell as a share alone: there are more misses, and the hits a second are as before.
local function note_misses(one, step)
    local due = one.name == "hits_fell" and one.due
    if due then
        due.came = due.came + step.hits
        local misses_were = one.usual.hits_per_s * (1 / one.hits_was - 1)
        one.misses_more = math.max(one.misses_more or 0, (due.gets - due.came) / due.seconds - misses_were)
        one.is_by_misses = one.cost_hits < due.hits * limits.incident_hits_least_ratio
    end
end

-- Adds the hits that did not come in a step to the cost of an incident, less the hits charged to another incident.
-- Fewer requests are charged to their cause, and so are fewer hits.
local function count_cost(self, one, step)
    local due
    if is_of_requests(one) then
        due = one.usual and one.usual.hits_per_s and one.usual.hits_per_s * step.seconds
    elseif not CAUSE_ORDER[one.name] or one == cause_of(self) then
        due = one.hits_was and step.gets and due_hits(one, step)
    end
    if due and step.hits then
        local lost = due - step.hits - (step.charged_hits or 0)
        lost = step.charged_hits and math.max(0, lost) or lost
        one.cost_hits, step.charged_hits = one.cost_hits + lost, (step.charged_hits or 0) + lost
        step.charges = step.charges or {}
        step.charges[one] = lost
        note_misses(one, step)
    end
end

-- Charges a step to the open incidents: first the requests that missed, then those that did not come.
local function count_costs(self, step)
    for _, is_second in ipairs({ false, true }) do
        for _, one in ipairs(self.list) do
            local is_flushed = one.name == "flush" and one.to_s == step.time_s -- in the step
            if one.is_open and is_of_requests(one) == is_second and (one.to_s < step.time_s or is_flushed) then
                count_cost(self, one, step)
            end
        end
    end
end

-- Begins an incident. figures: its fields beside those that every incident has.
local function begin(self, name, from_s, to_s, usual, figures)
    local one = figures
    one.name, one.from_s, one.to_s, one.is_open, one.usual = name, from_s, to_s, true, usual
    one.hits_was = usual and usual.hit_ratio
    one.cost_hits = one.cost_hits or one.hits_was and 0
    self.list[#self.list + 1] = one
    if #self.list > KEPT then
        table.remove(self.list, 1)
    end
    self.begins_s[name] = to_s
    add_news(self, words.began(one))
    return one
end

-- Ends the open incidents that is_replaced(one) names: what is low from now on is low by another.
local function end_by_another(self, is_replaced)
    for _, one in ipairs(self.list) do
        one.is_open = one.is_open and not is_replaced(one)
        one.is_low = one.is_low and one.is_open
    end
end

local function begin_fall(self, name, from_s, usual, was, is)
    local cut = name ~= "traffic" and self.cut and from_s - self.cut.time_s <= limits.lately_s and self.cut or nil
    local figures = { was = was, is = is, cut = cut, hits_is = name == "hits_fell" and is or nil }
    if name == "items_fell" and not cut then
        local evicted = self.course:sum_since("evictions", from_s)
        if self.course:sum_since("moved_items", from_s) >= (was - is) / 2 then
            figures.moved_pages = self.course:sum_since("moved_pages", from_s)
        else
            figures.evicted = evicted >= (was - is) / 2 and evicted or nil
        end
    end
    if name == "hits_fell" then
        end_by_another(self, function(one) return one.hits_is end)
    end
    local one = begin(self, name, from_s, self.course.last.time_s, usual, figures)
    self.course:each_since(from_s, function(step) count_cost(self, one, step) end)
end

-- Notes that requests fell after an incident, which is the cause.
local function note_fewer_requests(self, cause, was, is)
    cause.requests_was, cause.requests_is = was, is
    self.begins_s.traffic = self.course.last.time_s
    add_news(self, words.fewer_requests(cause))
end

local function find_falls(self)
    for _, name in ipairs({ "items_fell", "hits_fell", "traffic" }) do
        -- As far back as a fall of this name was not found already.
        local was, is, usual, from_s = self.course:fall(name, self.begins_s[name])
        local cause = was and cause_of(self, name ~= "items_fell" and from_s - limits.lately_s or nil)
        if was and (not cause or name == "traffic" and cause.name == "items_fell") then
            begin_fall(self, name, from_s, usual, was, is)
        elseif was and name == "traffic" and not cause.requests_was then
            note_fewer_requests(self, cause, was, is)
        end
    end
end

-- A stall: a long step, by the server's own clock too, in which requests are missing. Else a program that takes the
-- snapshots was away.
local function find_stall(self, last, step)
    local usual = self.course:usual_before(1, self.begins_s.stall)
    local late_s = usual and usual.rate and step.seconds - usual.step_s or 0
    local own_s = growth(last, step, "uptime_s")
    if late_s < limits.stall_least_s or not own_s or own_s + 1 < late_s or not step.requests then
        return
    end
    -- The mean over a long step varies less than that over a short one.
    local was, is = course.fall("traffic", { rate = usual.rate,
        rate_variance = usual.rate_variance * usual.step_s / step.seconds }, step)
    local stalled_s = was and step.seconds * (1 - is / was) or 0
    if stalled_s >= limits.stall_least_s then
        self.course:mark_stall()
        -- The hits a second of the seconds before, if they were fewer than usual.
        local hits_per_s = usual.hits_per_s and math.min(usual.hits_per_s,
            self.course:hits_per_s_before_last() or math.huge)
        begin(self, "stall", last.time_s, step.time_s, usual,
            { stalled_s = stalled_s, cost_hits = hits_per_s and hits_per_s * stalled_s })
    end
end

-- Since when hits and requests are as before an incident that made them fall; nil while they are not, or too little was
-- seen since.
local function back_since(self, one)
    local since_s, requests_was = nil, one.name == "traffic" and one.was or one.requests_was
    if requests_was then
        local seen, began_s = self.course:since(one.to_s, limits.incident_back_samples)
        local requests = seen and 0
        self.course:each_since(began_s or math.huge, function(step) -- some that had waited may come all at once
            requests = requests and step.requests and requests + math.min(step.requests, requests_was * step.seconds)
        end)
        if not requests or requests / seen.seconds < requests_was * (1 + limits.fall_to_ratio) / 2 then
            return nil
        end
        since_s = began_s
    end
    if one.hits_is then
        local seen, began_s = self.course:since(one.to_s, limits.incident_back_samples, limits.incident_back_reads)
        if not (seen and seen.hits and one.hits_was - seen.hits / seen.gets < course.least_fall(one.hits_was) / 2) then
            return nil
        end
        since_s = math.max(since_s or began_s, began_s)
    end
    return since_s
end

-- True if an incident that made nothing fall so far is over. seen: the last reads since.
local function is_harmless(self, one, seen)
    return self.course.last.time_s - (one.again_s or one.to_s) >= limits.lately_s -- else the fall may still come
        and not (one.name ~= "stall" and one.hits_was and seen and seen.hits
            and one.hits_was - seen.hits / seen.gets >= course.least_fall(one.hits_was) / 2)
end

-- Takes the last step into the figures of an incident.
local function follow_figures(self, one, step, seen)
    local is_late = step.time_s - one.to_s >= limits.lately_s - course.EARLY_S -- what falls later has another cause
    if one.name ~= "stall" and CAUSE_ORDER[one.name] and step.items then
        one.moved_pages = one.moved_pages and one.moved_pages + (step.items < one.is and step.moved_pages or 0)
        one.is = math.min(one.is or step.items, step.items)
    end
    if one.hits_is and seen and seen.hits then
        one.hits_is = math.min(one.hits_is, seen.hits / seen.gets)
    elseif seen and one == cause_of(self) and not one.has_judged_hits then
        one.hits_is = select(2, course.fall("hits_fell", one.usual, seen))
        one.has_judged_hits = is_late and self.course:sum_since("gets", one.to_s) >= limits.incident_back_reads
        self.begins_s.hits_fell = one.hits_is and step.time_s or self.begins_s.hits_fell
        add_news(self, one.hits_is and words.fewer_hits(one))
    end
    if one.name == "restart" and is_late and not one.is_judged then
        one.is_judged = true
        local was, is = course.fall("traffic", one.usual, self.course:lately())
        if was then -- clients that the restart lost
            note_fewer_requests(self, one, was, is)
        end
    end
end

local function follow(self, one, step)
    local seen = self.course:since(one.to_s, 1, limits.fall_reads_least)
    follow_figures(self, one, step, seen)
    local was_low = one.hits_is ~= nil or is_of_requests(one)
    local back_s = was_low and back_since(self, one)
    local is_late = step.time_s - one.from_s > limits.incident_most_s -- the load may be another then
    one.ends_s, one.is_back = back_s or step.time_s, back_s and true or nil
    one.is_open = not (back_s or is_late or not was_low and is_harmless(self, one, seen))
    one.is_low = was_low and one.is_open
    if back_s then
        self.course:each_since(back_s, function(since) -- requests that had waited bring more hits: no gain
            one.cost_hits = one.cost_hits and one.cost_hits - math.min(0, since.charges and since.charges[one] or 0)
        end)
    end
    if was_low and not one.is_open then
        add_news(self, words.ending(one))
    end
end

local function forget(self, start)
    self.course, self.begins_s, self.start, self.cut = course.new(), {}, start, nil
    self.moved_pages, self.moved_items, self.uncounted = 0, 0, { pages = 0, items = 0 }
    for _, one in ipairs(self.list) do
        one.is_open, one.is_low = false, false
    end
end

-- What was usual since the last incident began; where that is too little, also before.
local function usual_now(self, name)
    local since_s = -math.huge
    for _, begun_s in pairs(self.begins_s) do
        since_s = math.max(since_s, begun_s)
    end
    return self.course:usual_before(0, since_s) or self.course:usual_before(0, self.begins_s[name])
end

local function find_restart(self, last, sample, now)
    local usual = usual_now(self, "restart")
    forget(self)
    local away_s = sample.time_s - last.time_s
    local down_s = usual and math.max(0, away_s - math.min(sample.uptime_s or 0, away_s) - usual.step_s)
    self.restart = begin(self, "restart", last.time_s, sample.time_s, usual, { was = last.items,
        with = changes.words_of_start(self.now.settings, now.settings),
        cost_hits = usual and usual.hits_per_s and usual.hits_per_s * down_s })
end

-- Settings that come later than the first snapshot after a restart.
local function find_settings(self, now)
    if self.restart and self.now.settings ~= now.settings then
        self.restart.with = changes.words_of_start(self.now.settings, now.settings)
        add_news(self, self.restart.with and "the server was " .. self.restart.with)
        self.restart = nil
    end
end

-- A gap between snapshots: the load may be another after it. seconds: of the next step.
local function is_gap(self, seconds)
    local last = self.course.last
    return last and seconds > limits.incident_base_s and seconds > 2 * last.seconds
end

local function find_flush(self, last, sample)
    if (growth(last, sample, "flushes") or 0) > 0 then
        end_by_another(self, function(one) return one.name == "items_fell" or one.name == "hits_fell" end)
        begin(self, "flush", last.time_s, sample.time_s, usual_now(self, "flush"),
            { was = last.items, is = sample.items })
    end
end

-- Connections that the server turned away, at its limit. It is one incident for as long as there are more.
local function find_refusals(self, last, sample, now)
    local open
    for _, one in ipairs(self.list) do
        open = one.is_open and one.name == "connections" and one or open
    end
    if (growth(last, sample, "refused") or 0) > 0 and open then
        open.again_s = sample.time_s
    elseif (growth(last, sample, "refused") or 0) > 0 then
        begin(self, "connections", last.time_s, sample.time_s, nil, { is = now.general.curr_connections,
            most = now.general.max_connections or (now.settings or {}).maxconns })
    end
end

local function went_back(from, to)
    return gather.any({ "gets", "hits", "requests", "flushes" }, function(name)
        return from[name] and to[name] and to[name] < from[name]
    end)
end

-- Adds the pages that moves took from classes since the last snapshot, and the items that these classes lost with them.
-- A server replies with its classes after its counters: of moves between the two the next snapshot has the count.
local function add_moves(self, now)
    local pages, items, earlier = 0, 0, snapshot.earlier_by_id(self.now, now)
    for _, class in ipairs(now.classes) do
        local was = earlier[class.id] or {}
        local lost = math.max(0, (was.total_pages or 0) - (class.total_pages or 0))
        pages, items = pages + lost, items + math.max(0, math.min((was.number or 0) - (class.number or 0),
            lost * (class.chunks_per_page or 0)))
    end
    local uncounted = self.uncounted
    self.uncounted = { pages = pages, items = items }
    if (growth(self.now.general, now.general, "slabs_moved") or 0) > 0 then
        self.moved_pages, self.moved_items = self.moved_pages + uncounted.pages + pages,
            self.moved_items + uncounted.items + items
        self.uncounted = { pages = 0, items = 0 }
    end
end

-- Notes that the memory limit was lowered; once it is raised, that causes nothing more.
local function find_cut(self, was, is, time_s)
    if was and is and is < was then
        self.cut = { time_s = time_s, was = was, is = is }
    elseif was and is and is > was and self.cut then
        self.cut.is_over, self.cut = true, nil
    end
end

-- Adds the step that a sample ends, and judges it.
local function add_step(self, from, sample)
    local step = { time_s = sample.time_s, seconds = sample.time_s - from.time_s, items = sample.items,
        uptime_s = sample.uptime_s, moved_pages = self.moved_pages, moved_items = self.moved_items }
    self.moved_pages, self.moved_items = 0, 0
    for _, name in ipairs({ "gets", "hits", "requests", "evictions" }) do
        step[name] = growth(from, sample, name)
    end
    step.hits = step.gets and step.hits -- hits of unknown reads are no ratio
    self.course:add(step)
    find_stall(self, from, step)
    if not step.is_stall then
        count_costs(self, step)
        find_falls(self)
        for _, one in ipairs(self.list) do
            if one.is_open and one.to_s < step.time_s then
                follow(self, one, step)
            end
        end
    end
end

--- Takes the next snapshot. Returns what was found in it, in sentences: a list, empty mostly.
function Incidents:add(now)
    local last, sample = self.last, sample_of(now)
    self.last, self.news = sample, {}
    if last and snapshot.is_restart(self.now, now) and sample.time_s > last.time_s then
        find_restart(self, last, sample, now)
        self.restart = self.now.settings == now.settings and self.restart or nil
        self.from = sample
    elseif not last or sample.time_s <= last.time_s or went_back(last, sample) then
        local is_known = not last and (sample.uptime_s or 0) >= limits.new_s -- not where counters were reset
        forget(self, is_known and { life_s = sample.uptime_s, gets = sample.gets, hits = sample.hits } or nil)
        self.from = sample
    else
        find_settings(self, now)
        find_flush(self, last, sample)
        find_refusals(self, last, sample, now)
        add_moves(self, now)
        find_cut(self, last.limit_bytes, sample.limit_bytes, sample.time_s)
        if is_gap(self, sample.time_s - last.time_s) then
            forget(self)
            self.from = sample
        elseif sample.time_s - self.from.time_s >= limits.sample_s - course.EARLY_S then
            add_step(self, self.from, sample)
            self.from = sample
        end
    end
    self.now = now
    return self.news
end

--- True if an incident is a finding: for limits.incident_shown_s, and then while hits or requests are low by it.
function Incidents:is_shown(one)
    local age_s = self.last.time_s - one.to_s
    return age_s >= 0 and (age_s <= limits.incident_shown_s or one.is_low)
end

--- The last incident of this name that is a finding; nil without one.
function Incidents:lately(name)
    for i = #self.list, 1, -1 do
        if self.list[i].name == name and self:is_shown(self.list[i]) then
            return self.list[i]
        end
    end
end

--- True if an incident that moves hits was found after a time: a mean from there on has the time before it, too.
function Incidents:came_since(time_s)
    return gather.any(self.list, function(one) return one.to_s > time_s and one.name ~= "connections" end)
end

--- { was_per_s, for_s } if the server gets no requests now, but got some before; else nil.
function Incidents:stopped()
    local last, before = self.course:last_and_before()
    local cause = cause_of(self)
    if not last or last.requests ~= 0 or cause and (cause.name == "stall" or cause.requests_was) then
        return nil
    end
    local one = self:lately("traffic")
    if one and one.is_open then
        return { was_per_s = one.was, for_s = self.last.time_s - one.from_s }
    end
    local was_per_s = before.requests and before.requests / before.seconds or 0
    return was_per_s * last.seconds >= limits.pause_requests_least
        and { was_per_s = was_per_s, for_s = last.seconds } or nil
end

--- The last fall of hits that is a finding; else { name, was, is, life_s } if the hit ratio is less than half of that
--- before: of the time seen, or while that is short, since the server's start, life_s ago; else nil.
function Incidents:fell()
    local one, last, before = self:lately("hits_fell"), self.course:last_and_before(self.start)
    if one then
        return one
    elseif not last or not (last.hits and before.hits) or cause_of(self)
        or math.min(last.gets, before.gets) < limits.fall_reads_least then
        return nil
    end
    local was, is = before.hits / before.gets, last.hits / last.gets
    local sure = is + limits.errors_apart * chance.ratio_error(is, last.gets)
    return was >= limits.fall_from_least_ratio and sure < was * limits.fall_to_ratio
        and { name = "hits_fell", was = was, is = is, life_s = before.life_s } or nil
end

return M
