-- SPDX-License-Identifier: BSD-3-Clause
--- The data about one server: the last two snapshots, rates between them, history, events, the state of the link, and
--- the judgement. Only the model computes rates, from two snapshots and the steady time between them.
local answers = require "slate.console.answers"
local change_events = require "slate.console.change_events"
local history = require "slate.console.history"
local judged = require "slate.console.judged"
local metrics = require "slate.console.metrics"
local snapshot = require "slate.facts.snapshot"

local M = {}

--- The rate of a counter that went back; no other rate is negative.
M.RESET = -1
--- Samples of the history: for the widest graph, and for 100 s. The tape has the hour.
M.SAMPLES = 416

local SAMPLES_MOST <const>, LONGEST_WINDOW_S <const> = 1024, 100 -- the first: 100 s of the shortest interval
local EVENTS_MOST <const>, NEWS_MOST <const> = 256, 4

--- The words of a class's state (of slate.judge.view) on the screen.
M.STATE_WORDS = { unknown = "unknown", empty = "empty", calm = "calm", spare = "spare pages", evicting = "evicting",
    measuring = "measuring", gain_unsure = "gain unsure", no_gain = "no gain", starving = "STARVING" }

local Model = {}
Model.__index = Model
Model.__name = "slate.console.model"

--- A model without snapshots. server: its name on the screen; options (optional): interval_s, samples (in place of
-- SAMPLES), rules (the operator's, of slate.judge.rules). Its field `judged` has what was judged of each snapshot.
function M.new(server, options)
    options = options or {}
    local is_quick = (options.interval_s or 1) * M.SAMPLES < LONGEST_WINDOW_S + (options.interval_s or 1)
    return setmetatable({ server = server, rules = options.rules, link = "connecting", link_note = "", events = {},
        events_total = 0, frequent_events = 0, answers = answers.new(), metrics = {}, class_metrics = {}, rows = {},
        cached = {}, chunk_bytes = {}, judged = judged.new(), columns = #metrics.OF_SERVER, class_columns = {},
        values = {}, history = history.new(options.samples or is_quick and SAMPLES_MOST or M.SAMPLES) }, Model)
end

--- Makes the answers those of another model, which goes on to take them; nil: its own again.
function Model:lend_answers(from)
    self.own_answers = self.own_answers or self.answers
    self.answers = from and from.answers or self.own_answers
end

-- A copy of a table and of all tables in it; those that `known` has become what it has.
local function copy_of(value, known)
    if type(value) ~= "table" then
        return value
    elseif not known[value] then
        local copy = setmetatable({}, getmetatable(value))
        known[value] = copy
        for key, one in next, value do
            copy[key] = copy_of(one, known)
        end
    end
    return known[value]
end

--- A model of its own in the same state, without events. Both have the same answers, and the same snapshots.
function Model:copy()
    local shared = { [self.events] = {} }
    for _, name in ipairs({ "now", "before", "classes", "classes_before", "answers", "own_answers", "rules" }) do
        local one = self[name]
        shared[one or shared] = one
    end
    local copy = copy_of(self, shared)
    copy.events_total, copy.frequent_events = 0, 0
    return copy
end

-- The increase of a counter: nil when either side is unknown, RESET when it fell.
local function rise(before, now)
    return before and now and (now >= before and now - before or M.RESET) or nil
end

local function summed_rise(before, now, sources)
    local sum
    for _, source in ipairs(sources) do
        local change = rise(before[source], now[source])
        if change and change < 0 then
            return M.RESET
        end
        sum = change and (sum or 0) + change or sum
    end
    return sum
end

local function rate(change, span_s)
    return change and (change < 0 and M.RESET or change / span_s)
end

-- Items that moves evict a second on slated, which counts them in `stats moves` alone: between its last two answers.
local function evicted_by_moves_per_s(model)
    local at_s, totals = model.answers:at_s("moves"), model.answers:parsed("moves")
    local evicted, last = totals and totals.evicted, model.evicted_by_moves or {}
    if evicted and at_s > (last.at_s or -math.huge) then
        last = { at_s = at_s, evicted = evicted, per_s = rate(rise(last.evicted, evicted), at_s - (last.at_s or 0)) }
        model.evicted_by_moves = last
    end
    return evicted and last.per_s
end

local function compute_rates(model, span_s)
    local all, before, now = model.metrics, model.before, model.now
    for _, row in ipairs(metrics.OF_SERVER) do
        local change = row.sources and summed_rise(before.general, now.general, row.sources)
            or row.count and rise(row.count(before), row.count(now))
        all[row.name] = rate(change or nil, span_s)
    end
    if model.now.slated then
        local evicted, deleted = evicted_by_moves_per_s(model), math.max(all.lost_by_moves or 0, 0)
        all.lost_by_moves = evicted and (evicted < 0 and M.RESET or evicted + deleted)
    elseif not now.general.slab_reassign_evictions_nomem then
        all.lost_by_moves = nil -- this memcached counts them among its evictions only
    end
    local gets, hits = all.gets or 0, all.hits or -1
    all.hit_ratio = gets > 0 and hits >= 0 and math.min(hits / gets, 1) or nil
    for id, class in pairs(model.classes) do
        local before_it, rates = model.classes_before[id] or {}, {}
        for _, row in ipairs(metrics.CLASS_RATES) do
            local was, is = before_it[row.source], class[row.source]
            rates[row.name] = was and is and (is >= was and (is - was) / span_s or M.RESET) or nil
        end
        model.class_metrics[id] = rates
    end
end

-- Sets all rates to one value.
local function forget_rates(model, value)
    for _, row in ipairs(metrics.OF_SERVER) do
        model.metrics[row.name] = value
    end
    for id in pairs(model.classes) do
        local rates = {}
        for _, row in ipairs(metrics.OF_CLASS) do
            rates[row.name] = value
        end
        model.class_metrics[id] = rates
    end
end

-- slated changes the chunk sizes of a live cache: an id may get another class, at once or after a time without any. The
-- past of the id's earlier class is dropped.
local function forget_other_classes(model)
    for id, class in pairs(model.classes) do
        local was = model.chunk_bytes[id]
        model.chunk_bytes[id] = class.chunk_size or was
        if was and class.chunk_size and was ~= class.chunk_size then
            for column = 1, #metrics.OF_CLASS do
                model.history:clear(model.class_columns[id] + column)
            end
            model.class_metrics[id] = {}
            model.answers:forget_class(id)
        end
    end
end

-- The columns of a class in the history.
local function columns_of(model, id)
    if not model.class_columns[id] then
        model.class_columns[id] = model.columns
        model.columns = model.columns + #metrics.OF_CLASS
    end
    return model.class_columns[id]
end

-- A value as the history has it: a gap after a reset.
local function measured(value)
    return value and value >= 0 and value or nil
end

local function record_sample(model)
    local values = model.values
    for id in pairs(model.classes) do
        columns_of(model, id)
    end
    for column = 1, model.columns do
        values[column] = nil
    end
    for column, row in ipairs(metrics.OF_SERVER) do
        values[column] = measured(model.metrics[row.name])
    end
    for id in pairs(model.classes) do
        local first, rates = model.class_columns[id], model.class_metrics[id]
        for column, row in ipairs(metrics.OF_CLASS) do
            values[first + column] = measured(rates[row.name])
        end
    end
    model.history:add(model.at_s, values, model.columns)
end

-- Automove can move a page a second, and a class at the bound starves several times a minute, which would push out
-- within minutes the incidents and the operator's changes: so events of these kinds have at most half of the room.
local FREQUENT <const> = { pages = true, state = true }

local function drop_event(model)
    local at = 1
    while model.frequent_events > EVENTS_MOST // 2 and not FREQUENT[model.events[at].kind] do
        at = at + 1
    end
    local dropped = table.remove(model.events, at)
    model.frequent_events = model.frequent_events - (FREQUENT[dropped.kind] and 1 or 0)
end

-- is_late: the event stands before those that came after it.
local function add_event(model, event, is_late)
    if #model.events == EVENTS_MOST then
        drop_event(model)
    end
    local events, at = model.events, #model.events + 1
    while is_late and at > 1 and events[at - 1].wall_s > event.wall_s do
        at = at - 1
    end
    table.insert(events, at, event)
    model.events_total = model.events_total + 1
    model.frequent_events = model.frequent_events + (FREQUENT[event.kind] and 1 or 0)
end

--- Appends an event, and returns it. is_incident: of slate.judge.incident.
function Model:note(kind, wall_s, text, is_incident)
    local event = { wall_s = wall_s, kind = kind, text = text, is_incident = is_incident }
    add_event(self, event)
    return event
end

--- Adds an event that the server's record has, ago_s after it: at its place in time.
function Model:note_late(kind, wall_s, text, ago_s)
    add_event(self, { wall_s = wall_s - ago_s, kind = kind, text = text }, ago_s > 0)
end

--- Makes the events those of another model, up to a time of day.
function Model:copy_events(from, until_s)
    self.events, self.events_total, self.frequent_events = {}, 0, 0
    for _, event in ipairs(from.events) do
        if event.wall_s <= until_s then
            add_event(self, event)
        end
    end
end

--- Sets the state of the link; a note says why it is down. Writes an event when a working link breaks or comes back.
function Model:set_link(state, note, wall_s)
    if state == "down" and self.link == "up" then
        self:note("server", wall_s, "connection lost: " .. note)
    elseif state == "up" and self.link ~= "up" and self.was_up then
        self:note("server", wall_s, "connected again")
    end
    self.was_up = self.was_up or state == "up"
    self.link, self.link_note = state, note
end

-- Judges, by a function of the observer, and takes the rows. After a module has failed, the next sample is judged by a
-- new observer: the sample may have been at fault. True if it works.
local function judge_by(model, how, ...)
    local ok, problem = pcall(how, model.observer, ...)
    model.rows, model.worst, model.failure = {}, nil, not ok and tostring(problem) or nil
    if not ok then
        model.observer = nil
    end
    for _, row in ipairs(ok and model.observer.rows or {}) do
        model.rows[row.id] = row
        model.worst = row.is_worst and row or model.worst
    end
    return ok
end

-- Judges the snapshot.
local function judge(model, wall_s, is_unplanned)
    model.observer = model.observer or require("slate.judge.view").observer()
    model.observer.curves = model.answers:curves() or model.observer.curves -- else the plan would be made twice
    if not judge_by(model, model.observer.observe, model.now, is_unplanned) then
        return
    end
    if not is_unplanned then
        model.judged:add(model.at_s, model.observer)
    end
    for i = 1, math.min(#model.observer.news, NEWS_MOST) do
        model:note("alarm", wall_s, model.observer.news[i], true)
    end
end

--- Judges the last snapshot as another model did when it was live; anew if that one did not judge it.
function Model:recall(live)
    local curves, told, moves = self.answers:curves(), live.judged:at(self.at_s)
    if self.observer and told then
        judge_by(self, self.observer.recall, told, moves, curves)
    elseif self.observer then
        judge_by(self, self.observer.plan, curves)
    end
end

--- Makes the plan of page moves anew when curves came after the snapshot, so that each drawing has one judgement: call
-- this before.
function Model:follow_curves()
    local curves = self.observer and self.observer.now and self.answers:curves()
    if curves and curves ~= self.observer.curves and judge_by(self, self.observer.plan, curves) then
        self.judged:add(self.at_s, self.observer)
    end
end

-- Figures that need no second sample.
local function read_gauges(model)
    model.metrics.reply_ms, model.metrics.connections = model.reply_ms, model.now.general.curr_connections
    for id, class in pairs(model.classes) do
        model.class_metrics[id] = model.class_metrics[id] or {}
        model.class_metrics[id].pages = class.total_pages
    end
end

-- The rates since the snapshot before.
local function take_rates(model, span_s, wall_s)
    if span_s <= 0 then
        forget_rates(model)
    elseif snapshot.is_restart(model.before, model.now) then
        forget_rates(model, M.RESET)
        model.history:begin_life()
    else
        if model.is_timed then
            compute_rates(model, span_s)
        else
            forget_rates(model)
        end
        if model.metrics.ops == M.RESET then
            model:note("server", wall_s, 'the counters went back: someone sent "stats reset"')
        end
        if model.is_base then
            change_events.note(model, wall_s)
        end
    end
end

-- Judges whether the time since the snapshot before is known well enough for rates (is_timed), and whether the next
-- rates are since this snapshot (is_base): not if the time of the one before is known better.
local function judge_time(model, before, now)
    model.is_timed = not before or snapshot.is_restart(before, now) or snapshot.is_timed(before, now)
    model.is_base = model.is_timed or (now.time_error_s or 0) < (before.time_error_s or 0)
end

--- Takes a complete snapshot, which belongs to the model from now on. One whose reply came too late to know its time
-- makes no rates and is not judged; the next rates are since one whose time is known. about: at_s (of the steady
-- clock; must not go backwards: it becomes the snapshot's time_s), reply_ms, wall_s (the time of day). A restart or a
-- reset of the counters makes the rates of that one sample RESET and writes an event. is_unjudged: for graphs only;
-- then classes need CLASS_FIELDS alone. is_unplanned: of slate.judge.view's observer.
function Model:take(now, about)
    if self.is_base ~= false then
        self.before, self.at_before_s, self.classes_before = self.now, self.at_s, self.classes or {}
    end
    self.reply_ms, self.wall_s, now.time_s = about.reply_ms, about.wall_s, about.at_s
    self.now, self.at_s, self.classes, self.class_metrics = now, about.at_s, snapshot.by_id(now), {}
    judge_time(self, self.before, now)
    take_rates(self, self.before and self.at_s - self.at_before_s or 0, about.wall_s)
    forget_other_classes(self)
    read_gauges(self)
    if self.is_timed and not about.is_unjudged then
        judge(self, about.wall_s, about.is_unplanned)
    end
    change_events.note_flush(self, about.wall_s)
    record_sample(self)
end

--- Forgets the judgement, and the snapshots but the last: no other follows. Events stay.
function Model:end_judgement()
    self.observer, self.rows, self.worst, self.before, self.classes_before = nil, {}, nil, nil, nil
end

--- The statistics of a class in `now`; nil if the server does not list it.
function Model:class(id)
    return self.classes and self.classes[id]
end

--- The judgement on a class: a row of slate.judge.view's `rows`; nil if the server does not list it, and before any.
function Model:row(id)
    return self.rows[id]
end

--- The row of the class to which pages are advised first; nil: none.
function Model:in_need()
    return self.worst and self.worst.advised and self.worst or nil
end

--- The text in place of a table without rows.
function Model:no_classes()
    return not self.now and "nothing is known about the server yet"
        or self.observer and self.observer.reports_classes and "no class has pages yet"
        or "this server does not report its classes"
end

--- The age of the newest snapshot; nil before the first.
function Model:age_s(now_s)
    return self.now and math.max(now_s - self.at_s, 0)
end

--- The newest rate or gauge: nil when unknown, RESET when a counter went back.
function Model:metric(name)
    return self.metrics[name]
end

function Model:class_metric(id, name)
    return (self.class_metrics[id] or {})[name]
end

-- The column of a class's metric; nil if the class was never there.
local function class_column(model, id, name)
    local first = model.class_columns[id]
    return first and first + metrics.OF_CLASS[name].column
end

--- The mean over the samples of the last window_s; nil when there are none.
function Model:mean(name, window_s)
    if name == "hit_ratio" then -- a mean of ratios would give all seconds the same weight
        local gets, hits = self:mean("gets", window_s), self:mean("hits", window_s)
        return gets and hits and gets > 0 and math.min(hits / gets, 1) or nil
    end
    return self.history:mean(metrics.OF_SERVER[name].column, window_s)
end

function Model:class_mean(id, name, window_s)
    local column = class_column(self, id, name)
    return column and self.history:mean(column, window_s)
end

--- The same of a class's evictions, without the samples about which it gave pages: moves of full pages evict, too.
function Model:class_demand(id, window_s)
    local evictions, pages = class_column(self, id, "evictions"), class_column(self, id, "pages")
    return evictions and self.history:mean(evictions, window_s, pages)
end

--- The time that such a mean covers: window_s, or less if the history is shorter.
function Model:covered_s(window_s)
    return self.history:covered_s(window_s)
end

--- The change of a class's page count over the last window_s, or since the first sample when that is younger. A class
-- that the server did not list had no pages.
function Model:page_change(id, window_s)
    local column = class_column(self, id, "pages")
    return column and self.history:change(column, window_s)
end

--- The newest samples, `most` of them at most, the oldest first: a list with n, nil where unknown.
function Model:series(name, most)
    return self.history:series(metrics.OF_SERVER[name].column, most)
end

function Model:class_series(id, name, most)
    local column = class_column(self, id, name)
    return column and self.history:series(column, most) or { n = 0 }
end

return M
