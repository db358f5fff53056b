-- SPDX-License-Identifier: BSD-3-Clause
--- The time that the screen shows: live, or a sample of the past.
--
-- The moment shown is a model like the live one, fed from the tape with the samples before it, so views need not know
-- that it is past. A step of one sample on costs one sample; any other step feeds a new model. A step back keeps copies
-- of that model on its way, and so the next ones begin at the nearest copy. Only the last samples are judged one by
-- one, for judging costs most: before, one in EVERY. Page moves are planned for the copies and for the moment alone.
local model = require "slate.console.model"

local M = {}

-- Samples before the moment: for 100 s, and for the widest graph.
M.LEAST, M.MOST = 110, 400

local JUDGED <const>, EVERY <const>, KEPT_EVERY <const> = 20, 5, 4
local ONE_MOVE_S <const> = 10 -- pages that move within so many seconds are moved by one command
local PAUSE_MOST_S <const>, PAUSE_LEAST_S <const>, END_PAUSE_S <const> = 5, 0.001, 1

local Timeline = {}
Timeline.__index = Timeline
Timeline.__name = "slate.console.timeline"

--- A timeline that is live. judges_all: every sample is judged, for a caller that need not be quick. Fields: is_past
-- (the screen shows sample `index`; else the newest), wall_s (the time of day of this sample), plays (steps by itself,
-- at the pace of the samples; due_s: the time of the next step).
function M.new(judges_all)
    return setmetatable({ is_past = false, plays = false, judges_all = judges_all, kept = {} }, Timeline)
end

--- Goes back to live; forgets the moment.
function Timeline:go_live()
    self.is_past, self.plays, self.moment, self.held_index, self.kept = false, false, nil, nil, {}
end

-- Goes to a sample, within the tape.
local function go_to(timeline, tape, index)
    timeline.index = math.max(math.min(index, tape.last), tape.first)
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
    end
end

--- Moves to this many seconds after the first sample.
function Timeline:seek_from_start(tape, seconds)
    if tape.last >= tape.first then
        self:seek(tape, tape:wall_s(tape.first) + seconds)
    end
end

--- The past: { from_s, to_s }, the times of day of its first and its last sample. The tape is not empty.
function Timeline.span(_, tape)
    return { from_s = tape:wall_s(tape.first), to_s = tape:wall_s(tape.last) }
end

-- Whether an event is a stop. Of changes of pages only a move by a command is one, where it begins: a command moves
-- pages for seconds, and an automove at any time. A command from here is an event of its own.
local function is_stop(events, i)
    local event, before = events[i], events[i - 1]
    local goes_on = before and (before.kind == "pages" or before.kind == "you")
        and event.wall_s - before.wall_s <= ONE_MOVE_S
    return event.kind ~= "pages" or event.is_by_command and not goes_on
end

--- Moves to the next (1) or previous (-1) stop among the events of the past; false when there is none.
function Timeline:to_event(tape, live, direction)
    self:hold(tape)
    local here_s, first_s, found_s = (self.wall_s or 0) // 1, tape:wall_s(tape.first) // 1, nil
    for i, event in ipairs(live.events) do
        local ahead_s = (event.wall_s // 1 - here_s) * direction
        if ahead_s > 0 and event.wall_s >= first_s and is_stop(live.events, i)
            and (not found_s or ahead_s <= (found_s - here_s) * direction) then
            found_s = event.wall_s // 1
        end
    end
    if not found_s or not self.is_past then
        return false
    end
    -- An event belongs to the sample that showed it: the last one within its second.
    self:seek(tape, found_s + 0.999)
    return true
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

--- The time of the next step; nil: never.
function Timeline:next_s()
    return self.plays and self.due_s or nil
end

local function feed(timeline, tape, index)
    local back, is_quick = timeline.index - index, not timeline.judges_all
    local is_unjudged = is_quick and back > JUDGED and back % EVERY ~= 0
    local one, about = tape:read(index, is_unjudged and model.CLASS_FIELDS or nil)
    if one then
        local is_kept = timeline.keeps and back < JUDGED and index % KEPT_EVERY == 0
        about.is_unjudged, about.is_unplanned = is_unjudged, is_quick and back > 0 and not is_kept
        timeline.moment:take(one, about)
        timeline.moment_index = index
        timeline.kept[index] = is_kept and timeline.moment:copy() or nil
    end
end

-- Makes the model from which the moment can be fed soonest; returns the last sample that it has.
local function begin_moment(timeline, tape, live, depth)
    local kept, from = timeline.kept, nil
    for index in pairs(kept) do
        if math.abs(timeline.index - index) > JUDGED + KEPT_EVERY then
            kept[index] = nil
        elseif timeline.depth >= depth and index <= timeline.index and index > (from or 0) then
            from = index
        end
    end
    if from then
        timeline.moment, timeline.moment_index = kept[from]:copy(), from
        return from
    end
    timeline.keeps = not timeline.judges_all and timeline.moment_index == timeline.index + 1
    timeline.moment, timeline.depth = model.new(live.server, { samples = depth + 1, rules = live.rules }), depth
    timeline.kept = {}
    return math.max(timeline.index - depth - JUDGED, tape.first) - 1 -- so that copies are as deep
end

--- The model to show, with room for graphs of `width` samples; the live one while there is no past.
function Timeline:model(tape, live, width)
    if not self.is_past then
        return live
    end
    go_to(self, tape, self.index)
    local depth = math.max(M.LEAST, math.min(width, M.MOST))
    local is_deep = self.moment and self.depth >= depth
    local from = is_deep and self.moment_index or -1
    if from ~= self.index and from + 1 ~= self.index then
        from = begin_moment(self, tape, live, depth)
    end
    for index = from + 1, self.index do
        feed(self, tape, index)
    end
    -- Answers to inquiries are not on the tape. They are known only for the sample at which the live screen was paused.
    self.moment:lend_answers(self.index == self.held_index and live or nil)
    self.moment:set_link("up", "", self.wall_s)
    self.moment:copy_events(live, self.wall_s)
    return self.moment
end

return M
