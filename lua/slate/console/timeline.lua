-- SPDX-License-Identifier: BSD-3-Clause
--- The time that the screen shows: live, or a sample of the past.
--
-- The moment shown is a model like the live one, fed from the tape with the samples before it, so views need not know
-- that it is past. A step of one sample on costs one sample. While the screen is paused, `prepare` feeds another model
-- up to a sample a little before, a few samples a turn of the loop, and keeps it: a step back begins with its copy. Any
-- other step feeds a new model at once. The moment recalls what was judged of it live; the samples before are judged
-- for the figures of ten seconds alone, the last ones each, and before one in EVERY.
local metrics = require "slate.console.metrics"
local model = require "slate.console.model"

local M = {}

-- Samples before the moment: for 100 s, and for the widest graph.
M.LEAST, M.MOST = 110, 400

local JUDGED <const>, EVERY <const>, KEPT_EVERY <const> = 20, 5, 10
local ONE_MOVE_S <const> = 10 -- pages that move within so many seconds are moved by one command
local NO_STOPS <const> = { state = true, record = true } -- kinds of events
local PAUSE_MOST_S <const>, PAUSE_LEAST_S <const>, END_PAUSE_S <const> = 5, 0.001, 1

local Timeline = {}
Timeline.__index = Timeline
Timeline.__name = "slate.console.timeline"

--- A timeline that is live. Fields: is_past (the screen shows sample `index`; else the newest), wall_s (the time of day
-- of this sample), sought_s (that which was sought, after which the sample comes last; nil: none was), plays (steps by
-- itself, at the pace of the samples; due_s: the time of the next step).
function M.new()
    return setmetatable({ is_past = false, plays = false, kept = {} }, Timeline)
end

--- Goes back to live; forgets the moment.
function Timeline:go_live()
    self.is_past, self.plays, self.shown, self.ahead, self.held_index, self.kept = false, false, nil, nil, nil, {}
    self.sought_s = nil
end

-- Goes to a sample, within the tape.
local function go_to(timeline, tape, index)
    local was = timeline.index
    timeline.index = math.max(math.min(index, tape.last), tape.first)
    timeline.sought_s = timeline.index == was and timeline.sought_s or nil
    timeline.wall_s = tape:wall_s(timeline.index)
end

--- Pauses at the newest sample; does nothing while the tape is empty.
function Timeline:hold(tape)
    self.plays = false
    if not self.is_past and tape.last >= tape.first then
        self.is_past, self.held_index = true, tape.last
        go_to(self, tape, tape.last)
    end
end

--- Moves by samples; pauses first when live.
function Timeline:step(tape, samples)
    self:hold(tape)
    if self.is_past then
        go_to(self, tape, self.index + samples)
    end
end

--- Moves to a time of day.
function Timeline:seek(tape, wall_s)
    self:hold(tape)
    if self.is_past then
        go_to(self, tape, tape:find(wall_s))
        self.sought_s = math.abs(wall_s) < math.huge and wall_s or nil
    end
end

--- Moves to this many seconds after the first sample.
function Timeline:seek_from_start(tape, seconds)
    if tape.last >= tape.first then
        self:seek(tape, tape:wall_s(tape.first) + seconds)
    end
end

-- Whether an event is a stop: what an operator looks for, and not the state that ends or comes back (of
-- slate.console.alarms), nor a recording. Of changes of pages only a move by a command is one, where it begins: a
-- command moves pages for seconds, and an automove at any time. A command from here is an event of its own.
local function is_stop(events, i)
    local event, before = events[i], events[i - 1]
    local goes_on = before and (before.kind == "pages" or before.kind == "you")
        and event.wall_s - before.wall_s <= ONE_MOVE_S
    return not NO_STOPS[event.kind] and (event.kind ~= "pages" or event.is_by_command and not goes_on)
end

--- Moves to the moment of an event: to the sample that showed it, the last one within its second.
function Timeline:seek_event(tape, wall_s)
    self:seek(tape, wall_s // 1 + 0.999)
end

--- The time of day of the moment chosen; nil: it is live.
function Timeline:chosen_s()
    return self.is_past and (self.sought_s or self.wall_s) or nil
end

--- The second of the next (1) or previous (-1) stop from a second of the day, among the events of a past that `passes`
--- lets through (default: all); nil: there is none.
function M.stop(tape, events, from_s, direction, passes)
    local first_s, found_s = tape:wall_s(tape.first), nil
    for i, event in ipairs(first_s and events or {}) do
        local ahead_s = (event.wall_s // 1 - from_s) * direction
        if ahead_s > 0 and event.wall_s >= first_s // 1 and not (found_s and ahead_s > (found_s - from_s) * direction)
            and is_stop(events, i) and (not passes or passes(event)) then
            found_s = event.wall_s // 1
        end
    end
    return found_s
end

--- Plays the samples that are due. True when it moved.
function Timeline:tick(tape, now_s)
    if not self.plays or tape.last < tape.first or now_s < self.due_s then
        return false
    end
    local index = self.index
    while self.index < tape.last and now_s >= self.due_s do
        go_to(self, tape, self.index + 1)
        local next_s = tape:wall_s(self.index + 1)
        if not next_s then
            break
        end
        self.due_s = self.due_s + math.max(math.min(next_s - self.wall_s, PAUSE_MOST_S), PAUSE_LEAST_S)
    end
    if now_s >= self.due_s then
        self.due_s = now_s + END_PAUSE_S -- at the tape's end, playing waits for more samples
    end
    return self.index ~= index
end

-- The sample for which a model is to be kept, so that each of a few steps back finds one near enough; nil: none.
local function missing(timeline, tape)
    local index, last = timeline.index, timeline.index
    if timeline.plays or not timeline.shown then
        return nil
    end
    for back = index - 1, math.max(index - JUDGED, tape.first + KEPT_EVERY), -1 do
        if timeline.kept[back] then
            last = back
        elseif last - back > KEPT_EVERY then
            return last - KEPT_EVERY
        end
    end
end

--- The time of the next step, or of what there is to prepare; nil: never. tape: nil without a server.
function Timeline:next_s(tape)
    return self.plays and self.due_s or tape and missing(self, tape) and 0 or nil
end

-- A model on its way to the sample `to`: { model, index (of the newest sample it has), to, depth }. Its last JUDGED
-- samples have a history of this depth, too.
local function begin_way(tape, live, to, depth)
    return { model = model.new(live.server, { samples = depth + 1, rules = live.rules }), to = to, depth = depth,
        index = math.max(to - depth - JUDGED, tape.first) - 1 }
end

-- Feeds the next sample.
local function feed(tape, way)
    way.index = way.index + 1
    local back = way.to - way.index
    local is_unjudged = back > JUDGED and back % EVERY ~= 0
    local one, about = tape:read(way.index, is_unjudged and metrics.CLASS_FIELDS or nil)
    if one then
        about.is_unjudged, about.is_unplanned = is_unjudged, true
        way.model:take(one, about)
    end
end

-- Feeds so many samples to the model that will be kept.
local function go_ahead(timeline, tape, samples)
    local ahead = timeline.ahead
    for _ = 1, math.min(samples, ahead.to - ahead.index) do
        feed(tape, ahead)
    end
    if ahead.index == ahead.to then
        timeline.kept[ahead.to] = ahead
        timeline.kept[ahead.to + 2 * KEPT_EVERY] = nil
    end
end

-- Whether a model that will be kept is on its way to a sample near the moment.
local function comes_near(timeline)
    local ahead = timeline.ahead
    return ahead and ahead.index < ahead.to and math.abs(ahead.to - timeline.index) <= JUDGED
end

--- Feeds some samples for the next steps back, if there is something to prepare.
function Timeline:prepare(tape, live)
    local to = missing(self, tape)
    if to then
        self.ahead = comes_near(self) and self.ahead or begin_way(tape, live, to, self.shown.depth)
        go_ahead(self, tape, (self.shown.depth + JUDGED) // (KEPT_EVERY - 1) + 1) -- it is there when steps need it
    end
end

-- A copy of the nearest way before the moment.
local function nearest_copy(timeline, depth)
    for index = timeline.index - 1, timeline.index - JUDGED, -1 do
        local way = timeline.kept[index]
        if way and way.depth >= depth then
            return { model = way.model:copy(), index = way.index, depth = way.depth }
        end
    end
end

-- A way to the moment, from the nearest copy before it, or from an empty model.
local function way_to_moment(timeline, tape, live, depth)
    local way = nearest_copy(timeline, depth)
    if not way and comes_near(timeline) then -- the key came before all was prepared
        go_ahead(timeline, tape, math.huge)
        way = nearest_copy(timeline, depth)
    end
    timeline.kept = way and timeline.kept or {}
    return way or begin_way(tape, live, timeline.index, depth)
end

--- The model to show, with room for graphs of `width` samples; the live one while there is no past.
function Timeline:model(tape, live, width)
    if not self.is_past then
        return live
    end
    go_to(self, tape, self.index)
    local depth, shown = math.max(M.LEAST, math.min(width, M.MOST)), self.shown
    if not shown or shown.depth < depth or shown.index ~= self.index and shown.index + 1 ~= self.index then
        shown = way_to_moment(self, tape, live, depth)
    end
    self.shown, shown.to = shown, self.index
    while shown.index < self.index do
        feed(tape, shown)
    end
    -- Answers to inquiries are not on the tape. They are known only for the sample at which the live screen was paused.
    shown.model:lend_answers(self.index == self.held_index and live or nil)
    shown.model:recall(live)
    shown.model:set_link("up", "", self.wall_s)
    shown.model:copy_events(live, self.wall_s)
    return shown.model
end

return M
