-- SPDX-License-Identifier: BSD-3-Clause
--- One server, seen in one snapshot after the other: its classes, and what the judges that remember make of them. Pure;
--- no I/O. slatetop runs an observer for each server that it watches, slatectl one for as long as a command looks.
local automove = require "slate.facts.automove"
local course = require "slate.judge.course"
local held = require "slate.judge.held"
local recent = require "slate.judge.recent"
local snapshot = require "slate.facts.snapshot"
local starving = require "slate.judge.starving"
local verdict = require "slate.judge.verdict"
local view = require "slate.judge.view"

local M = {}

--- Hit ratios, and whether anything is evicted, are judged over so many seconds, as slatetop shows them.
M.LATELY_S = 10

local Observer = {}
Observer.__index = Observer
Observer.__name = "slate.judge.observer"

--- An observer that has seen nothing yet. Its fields after a look: now, before and rates (nil at first), rows (of
-- slate.judge.view.classes), tells_classes (of slate.facts.snapshot), knows_starving (of slate.judge.view), youngest_s
-- (of slate.judge.starving), over (of slate.judge.held.over; may be nil), judge (of slate.judge.starving), past (of
-- slate.judge.verdict), course (of slate.judge.course), recent (of slate.judge.recent), automove (who moves pages, in
-- words; "" when the server does not say) and relieved (notes of slate.judge.relief).
function M.new()
    return setmetatable({ judge = starving.judge(), past = verdict.past(),
        course = course.new(), recent = recent.new(), relieved = {} }, Observer)
end

--- Takes the next snapshot of the server in. A restart or a reset of the counters ends what is remembered, and so does
-- a clock that was set back, for times before it would lie ahead.
function Observer:look(now)
    local before = self.now
    local rates = before and snapshot.rates(before, now) or nil
    local is_set_back = before and now.time_s < before.time_s
    if is_set_back then
        self.course = course.new()
    end
    if is_set_back or rates and rates.reset then
        self.judge, self.past, self.recent = starving.judge(), verdict.past(), recent.new()
        self.relieved = {}
    end
    self.past:add(now)
    self.course:add(now)
    self.recent:add(now)
    self.now, self.before, self.rates = now, before, rates
    self.rows = view.classes(now, before, rates, self.judge)
    self.tells_classes = snapshot.tells_classes(now)
    self.knows_starving = view.knows_starving(now, rates, self.rows)
    self.youngest_s = starving.youngest_s(self.rows)
    self.over = held.over(now, before)
    self.automove = automove.told((now.settings or {}).slab_automove)
end

--- The best giver for the class of this id (see slate.judge.starving.giver_for): its id, its free pages, for how long
-- it would keep its items, in seconds, and how many pages to move; nil where none can give.
function Observer:giver_for(id)
    local row = view.row_of(self.rows, id)
    if row then
        local giver, free_pages, keeps_s, pages = starving.giver_for(row, self.rows)
        return giver and giver.id, free_pages, keeps_s, pages
    end
end

--- What happened in the last ten seconds, as far as it was seen (of slate.judge.verdict's Past:since); nil before the
-- first look.
function Observer:lately()
    return self.now and self.past:since(self.now.time_s - M.LATELY_S)
end

--- What came of a change that was made between two times, in seconds: the outcome (of slate.judge.verdict) and its
-- words; nil when too little is known. items_lost: what the change itself is known to have cost; nil where it is not.
function Observer:outcome(began_s, ended_s, items_lost)
    local outcome = self.past:outcome(began_s, ended_s)
    if outcome and items_lost then -- slated counts what its mover evicts with all evictions
        outcome.items_lost = math.max(outcome.items_lost or 0, items_lost)
    end
    local words = outcome and verdict.words(outcome) or ""
    if words ~= "" then
        return outcome, words
    end
end

return M
