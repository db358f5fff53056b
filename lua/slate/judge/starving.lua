-- SPDX-License-Identifier: BSD-3-Clause
--- Which classes starve, and which class could give them pages. Pure; no I/O. slatectl and slatetop both run this.
--
-- By Little's law the items of a class live for items ÷ (items that leave a second), whatever its eviction policy.
-- slated counts all that leave: evicted, expired and deleted ones. Of memcached only evictions are known; there the age
-- of the oldest item bounds what a class is said to keep. A class starves when its items live short lives while another
-- class would keep its own for several times as long after it has given a page. The rule is for a judge that has seen
-- several samples: one busy moment is no starving.
--
-- Rows are of slate.judge.view.classes, with rates: id, pages, pages_delta, free_pages, items, age_s, evicted_per_s.
--
-- Also: the memory that a server holds beyond its limit.
local chance = require "slate.judge.chance"
local chunks = require "slate.facts.chunks"
local find = require "slate.base.find"
local gather = require "slate.base.gather"
local limits = require "slate.judge.thresholds"

local M = {}

-- Memory that a server holds in pages, against its limit. Pure.
--
-- A class with items keeps a page, whatever the limit is. A server meets a lowered limit in time, or never.
-- slate-terms(7) states the rule in words (memory.held).

-- Bytes over the limit; nil if the server does not report them.
local function over_bytes(one)
    local held, limit = one.totals and one.totals.total_malloced, one.general.limit_maxbytes
    return held and limit and limit > 0 and math.max(0, held - limit) or nil
end

--- Memory beyond the limit, the less of two samples (before may be nil), so that one moment does not count. Returns {
-- held_bytes, limit_bytes, over_bytes, over_ratio (of the limit), is_falling, classes (that have pages), is_by_classes
-- (a page for each is more than the limit), is_much }; or nil if the server does not report it.
function M.held_over(now, before)
    local over, was = over_bytes(now), before and over_bytes(before)
    if not over then
        return nil
    end
    local limit = now.general.limit_maxbytes
    local classes = gather.count(now.classes, function(class) return (class.total_pages or 0) > 0 end)
    local least = math.min(over, was or over)
    return {
        held_bytes = now.totals.total_malloced, limit_bytes = limit, over_bytes = least, over_ratio = least / limit,
        is_falling = was ~= nil and over < was, classes = classes, is_by_classes = classes * chunks.PAGE_BYTES > limit,
        is_much = least > limits.held_most_bytes and least > limit * limits.held_most_ratio,
    }
end

--- How to sample a server for interval_s, so that commands judge by the same period as slatetop: the number of samples,
-- and the seconds from one to the next. interval_s: nil for as long as a judgement takes.
function M.samples_in(interval_s)
    if not interval_s then
        return limits.starving_samples, limits.sample_s
    end
    local samples = math.max(limits.starving_samples, math.floor(interval_s / limits.sample_s))
    return samples, interval_s / samples
end

--- True if a command without an interval needs more samples than one: the server evicts. Without evictions no class
-- starves. one: of slate.judge.view.
function M.has_to_observe(one)
    return one.rates ~= nil and (one.rates.general.evictions_per_s or 0) > 0
end

local Judge = {}
Judge.__index = Judge
Judge.__name = "slate.judge.starving.judge"

--- A judge without a past. samples: in how many consecutive samples a class must have evicted before it starves; 3 by
-- default; 1 if there is only one pair of snapshots.
function M.judge(samples)
    return setmetatable({ samples = samples or limits.starving_samples, classes = {} }, Judge)
end

--- True if a class gave pages since the sample before.
function M.has_given(row)
    return (row.pages_delta or 0) < 0
end

--- The evictions a second of a class, as far as they show that it needs memory: a page that moves out of a full class
-- evicts as many items as it holds, so nil where the class gave pages, and where evictions are not reported.
function M.demand_per_s(row)
    return not M.has_given(row) and row.evicted_per_s or nil
end

--- The age of a class's oldest item that eviction could take; nil if there is none.
function M.tail_age_s(row)
    return row.items ~= 0 and row.age_s or nil
end

--- How long a class keeps its items: by all that leave; else by its evictions, but not longer than its oldest item;
-- else by its oldest item; nil if nothing is known.
function M.lived_s(row)
    local tail_s = M.tail_age_s(row)
    return row.stays_s or row.life_s and math.min(row.life_s, tail_s or math.huge) or tail_s
end

--- The age of the youngest tail of the classes that evict, else of all; nil if none has items. rows: of view.classes.
function M.youngest_s(rows)
    local of_all, of_evicting
    for _, row in ipairs(rows) do
        local age_s = M.tail_age_s(row)
        if age_s then
            of_all = math.min(age_s, of_all or age_s)
            of_evicting = row.evicts_lately and math.min(age_s, of_evicting or age_s) or of_evicting
        end
    end
    return of_evicting or of_all
end

--- The longest life of evicted items over the shortest, among classes: 1 is fair; nil if fewer than two classes evict.
-- Then the same with the longest life among classes of two pages or more, which could give one: page moves can even out
-- that much. rows: of view.classes, with rates.
function M.spread(rows)
    local least, most, most_of_donors, count = math.huge, 0, 0, 0
    for _, row in ipairs(rows) do
        local lived_s = (M.demand_per_s(row) or 0) > 0 and M.lived_s(row)
        if lived_s then
            least, most, count = math.min(least, lived_s), math.max(most, lived_s), count + 1
            most_of_donors = (row.pages or 0) >= 2 and math.max(most_of_donors, lived_s) or most_of_donors
        end
    end
    if count < 2 then
        return nil
    end
    return math.max(1, most) / math.max(1, least), math.max(1, most_of_donors) / math.max(1, least)
end

--- True if these free pages are more than a healthy class keeps.
function M.has_spare(free_pages)
    return free_pages >= limits.spare_pages
end

--- True if a class may give a page: it has two, got none lately, and does not fill its free chunks just now.
function M.may_give(row)
    return (row.pages or 0) >= 2 and not row.is_growing and not row.is_filling and (row.pages_delta or 0) <= 0
end

--- The whole pages of a class that cost it no items, never its last one.
function M.free_pages(row)
    return math.min((row.free_pages or 0) // 1, row.pages - 1)
end

--- How long a class would keep its items with a page less, by the lives of its evicted items and by its oldest one.
function M.lifetime_s(row)
    return (M.lived_s(row) or 0) * (1 - 1 / row.pages)
end

--- True if a class is the better donor of two: by its free pages, then by the lives of its items.
function M.is_richer(row, other)
    local free, others = M.free_pages(row), M.free_pages(other)
    return free > others or free == others and M.lifetime_s(row) > M.lifetime_s(other)
end

-- The least of how long a class would keep its items with a page less, at 95 %. A life is as much too long as the count
-- of items that left is too small; one by age rests on no count.
local function lifetime_least_s(row)
    return M.lifetime_s(row) / chance.count_doubt(row.life_count)
end

local function lives_longer(row, other)
    return lifetime_least_s(row) > lifetime_least_s(other)
end

-- True if a class may give a page once it has filled its free chunks, or is seen not to.
local function may_give_later(row)
    return (row.pages or 0) >= 2 and row.is_filling
end

-- The two best donors of all: a second one, as no class gives to itself. may_give: M.may_give by default.
local function best_donors(rows, is_better, may_give)
    local best, second
    for _, row in ipairs(rows) do
        if (may_give or M.may_give)(row) then
            if not best or is_better(row, best) then
                best, second = row, best
            elseif not second or is_better(row, second) then
                second = row
            end
        end
    end
    return { best, second }
end

-- The best donor for a class, of the two best ones; nil without one.
local function donor_of(to, donors)
    local donor = donors[1] and donors[1].id == to.id and donors[2] or donors[1]
    return donor and donor.id ~= to.id and donor or nil
end

-- Stores a sample: for each class the last few, newest first.
local function remember(judge, rows, about)
    local classes, interval_s = {}, about.interval_s
    for _, row in ipairs(rows) do
        local was = judge.classes[row.id]
        if was and was.chunk_bytes ~= row.chunk_bytes then
            was = nil -- the id has gone to another class
        end
        local one = { chunk_bytes = row.chunk_bytes, starves = was and was.starves, well_s = was and was.well_s or 0,
            evicted_at_s = was and was.evicted_at_s, pause_s = was and was.pause_s or 0,
            judged_pages = was and was.judged_pages or row.pages, waits = was and was.waits,
            grew_at_s = (row.pages_delta or 0) > 0 and about.time_s or was and was.grew_at_s }
        local gave = M.has_given(row)
        one[1] = { evicted_per_s = M.demand_per_s(row) or 0, interval_s = gave and 0 or interval_s,
            left_per_s = row.left_per_s or 0, over_s = interval_s, grew = (row.pages_delta or 0) > 0, gave = gave,
            filled_pages = (about.filled_pages or {})[row.id] or 0 }
        if was then
            table.move(was, 1, #was, 2, one)
            while #one > judge.samples and #one * interval_s > limits.lately_s do
                one[#one] = nil
            end
        end
        if (row.evicted_per_s or 0) > 0 then
            one.pause_s = one.evicted_at_s and (one.pause_s + about.time_s - one.evicted_at_s) / 2 or 0
            one.evicted_at_s = about.time_s
        end
        classes[row.id] = one
    end
    judge.classes = classes
end

-- Over the last samples: evictions a second, and items a second that left; whether each of enough samples had
-- evictions; whether the class got pages; whether it kept its pages in enough samples; the seconds. A class that evicts
-- now and then is seen for up to ten seconds, unless its pages moved, until its life is known to within a factor.
local function mean_of(judge, state)
    local evicted, left, over_s, is_steady, has_grown = 0, 0, 0, #state >= judge.samples, false
    local is_settled = is_steady
    for i, sample in ipairs(state) do
        local has_moved = sample.grew or sample.gave
        local _, doubt = chance.count_doubt(math.max(evicted, left))
        if i > judge.samples and (has_moved or not is_settled or doubt < limits.clearly_ratio) then
            break
        elseif i <= judge.samples then
            is_steady, has_grown = is_steady and sample.evicted_per_s > 0, has_grown or sample.grew
            is_settled = is_settled and not has_moved
        end
        evicted, over_s = evicted + sample.evicted_per_s * sample.interval_s, over_s + sample.interval_s
        left = left + sample.left_per_s * sample.interval_s
    end
    return evicted / math.max(over_s, 1e-3), left / math.max(over_s, 1e-3), is_steady, has_grown, is_settled, over_s
end

-- True if a class evicted in the last ten seconds, or evicts now and then: pauses longer than three usual ones come
-- once in twenty by chance. So long a pause shows for a minute at most.
local function evicts_lately(state, time_s)
    local usual_s = math.min(chance.NONE_SEEN * state.pause_s, limits.evicts_most_s)
    return state.evicted_at_s ~= nil and time_s - state.evicted_at_s < math.max(limits.lately_s, usual_s)
end

-- True if a donor keeps its items at least `times` times as long as this class, and apart_s longer; and surely
-- surely_times as long, if both lives are as wrong as their counts allow. A donor of free pages loses nothing, unless
-- its items are younger: then it is about to fill them.
local function is_better_off(row, donor, by_hits, times, apart_s, surely_times)
    local age_s, own_s, lifetime_s = M.tail_age_s(donor), M.lived_s(row), M.lifetime_s(donor)
    if M.has_spare(M.free_pages(donor)) and not (age_s and age_s < own_s) then
        return true
    end
    local _, doubt = chance.count_doubt(row.life_count)
    return not by_hits and lifetime_s >= times * row.life_s and lifetime_s >= row.life_s + apart_s
        and lifetime_least_s(donor) >= (surely_times or 0) * doubt * row.life_s
end

-- Whether a class has free pages and will fill them within a minute, at the rate of the stored samples; or it got pages
-- within these, which show no rate yet, or within a minute, and will fill them within two: then also whether so many
-- are free that it is not known yet if it needs them.
local function is_filling(state, row, time_s)
    local free, filled, over_s = row.free_pages or 0, 0, 0
    local has_spare = (row.pages or 0) >= 2 and M.has_spare(M.free_pages(row))
    if free < 1 or row.is_growing then
        return free >= 1, has_spare
    end
    for i = 1, math.min(#state, limits.starving_samples) do
        filled, over_s = filled + state[i].filled_pages, over_s + state[i].over_s
    end
    local in_a_minute = filled / math.max(over_s, 1e-3) * limits.idle_fills_s
    local is_new = state.grew_at_s ~= nil and time_s - state.grew_at_s < limits.idle_fills_s
        and free <= in_a_minute * limits.clearly_ratio
    return is_new or free <= in_a_minute, is_new and has_spare and free > in_a_minute
end

-- True if samples, or the new pages of a class, have not shown yet how long its items live. By Little's law a class
-- with half the pages keeps items half as long: smaller changes than that leave the last judgement as it is.
local function is_unsettled(judge, state, row)
    local was, is = state.judged_pages or 0, row.pages or 0
    return #state < judge.samples or not state.is_settled
        and (is * limits.clearly_ratio < was or is > was * limits.clearly_ratio)
end

-- The first donor of which the same is true: the richest one, or the one that surely keeps its items longest; else nil.
local function any_better_off(row, donors, ...)
    for _, best in ipairs(donors) do
        local donor = donor_of(row, best)
        if donor and is_better_off(row, donor, ...) then
            return donor
        end
    end
end

-- Starving begins where it would not end at once: chance alone must not end it.
local function begins(row, donors, by_hits)
    return any_better_off(row, donors, by_hits, limits.starving_begins_ratio, limits.starving_apart_s,
        limits.starving_ends_below_ratio)
end

--- True if a class that could give a page keeps its items so much longer than this one that lives alone would make this
-- one starve.
function M.lives_apart(row, rows)
    return row.life_s ~= nil and begins(row, { best_donors(rows, lives_longer) }, false) ~= nil
end

-- True if a class evicted in each of enough samples, and not just a few of all.
local function evicts_steadily(state, row, all_per_s)
    return state.is_steady and row.mean_evicted_per_s >= limits.starving_evictions_least_ratio * all_per_s
end

local function judge_class(state, row, donors, about, all_per_s)
    if not donor_of(row, donors[1]) or not row.life_s or (row.free_pages or 0) >= 1 then
        state.starves, state.well_s = false, 0 -- no class can help, or this class got pages and is filling them
        return
    end
    local by_hits = about.by_hits
    if state.starves then
        local is_well = not any_better_off(row, donors, by_hits, limits.starving_ends_below_ratio, 0)
        state.well_s = is_well and state.well_s + about.interval_s or 0
        state.starves = state.well_s < limits.starving_ends_after_s
            and any_better_off(row, donors, by_hits, limits.starving_ends_at_once_ratio, 0) ~= nil
    elseif evicts_steadily(state, row, all_per_s) then
        state.starves = begins(row, donors, by_hits) ~= nil
        state.well_s = 0
    end
end

-- The class that fills free pages, and without which this one does not starve: nobody knows yet how long it will keep
-- its items; nil without one. Its free pages are no sign, for it fills them; only the age of its items is one. had_to:
-- whether this class starved, or waited, in the sample before.
local function awaited(state, row, filling, about, all_per_s, had_to)
    if state.starves or not row.life_s or (row.free_pages or 0) >= 1 then
        return nil
    end
    local times = had_to and limits.starving_ends_below_ratio or limits.starving_begins_ratio
    local donor = had_to and any_better_off(row, filling, about.by_hits, times, 0)
        or not had_to and evicts_steadily(state, row, all_per_s) and begins(row, filling, about.by_hits)
    return donor and M.lived_s(donor) >= times * row.life_s and donor or nil
end

local FIELDS <const> = { "stays_s", "life_s", "life_count", "mean_evicted_per_s", "evicts_lately", "is_growing",
    "is_filling", "untried_s", "waits_for", "is_measuring", "starves", "lives_short", "is_worst", "advised",
    "predicted_change", "predicted_least", "predicted_most", "expects_gain" }

--- Takes the next sample of a server, and writes the judgement into its rows: mean_evicted_per_s over the judge's
-- samples, stays_s (how long items stay, at most the server's uptime or the age of the oldest item; nil if not all are
-- known that leave, or none leaves), life_s (the same for a class that evicts, by its evictions if need be; nil if it
-- evicts nothing), evicts_lately (anything within ten seconds, also while the class gave pages away), is_growing,
-- is_filling (it uses its free chunks within a minute, or got them within one and uses them within two), untried_s (it
-- got pages and has free ones: after so many seconds at most it is known whether it needs these; else absent),
-- waits_for (the id of a class that is filling: the class starves unless that one needs all of its pages; or absent),
-- is_measuring (evicts, and pages moved since it was judged, a class has untried ones, it waits for one, or too few
-- samples are known; true or absent) and starves (true or false; absent, as evicts_lately and mean_evicted_per_s, if
-- evictions are not reported). slate.judge.page_plan then takes starves back where no move is advised. about: time_s
-- and interval_s of the sample; uptime_s of the server, if known; filled_pages: by class id, the pages of chunks that
-- it has filled since the sample before; by_hits: pages go to where they bring most hits (automove utility), so lives
-- need not be alike and only free pages count. Rows of a sample that the judge has seen get the same values again.
-- Cost: O(classes).
function Judge:observe(rows, about)
    if self.time_s == about.time_s then
        for _, row in ipairs(rows) do
            for _, name in ipairs(FIELDS) do
                row[name] = self.classes[row.id] and self.classes[row.id].last_row[name]
            end
        end
        return
    end
    remember(self, rows, about)
    self.time_s = about.time_s
    local all_per_s = 0
    for _, row in ipairs(rows) do
        local per_s, left_per_s, over_s
        local state = self.classes[row.id]
        per_s, left_per_s, state.is_steady, row.is_growing, state.is_settled, over_s = mean_of(self, state)
        -- No item has lived longer than the server, except items from before its start (-e).
        local longest_s = about.uptime_s and math.max(about.uptime_s, M.tail_age_s(row) or 0) or math.huge
        row.stays_s = left_per_s > 0 and math.min((row.items or 0) / left_per_s, longest_s) or nil
        row.life_s = per_s > 0 and (row.stays_s or math.min((row.items or 0) / per_s, longest_s)) or nil
        row.life_count = row.stays_s and left_per_s * over_s or row.life_s and per_s * over_s or nil
        row.mean_evicted_per_s, all_per_s = per_s, all_per_s + per_s
        row.evicts_lately = evicts_lately(state, about.time_s)
        local is_untried
        row.is_filling, is_untried = is_filling(state, row, about.time_s)
        row.untried_s = is_untried and state.grew_at_s + limits.idle_fills_s - about.time_s or nil
    end
    local donors = { best_donors(rows, M.is_richer), best_donors(rows, lives_longer) }
    local filling = { best_donors(rows, M.is_richer, may_give_later), best_donors(rows, lives_longer, may_give_later) }
    local untried = M.untried(rows) -- pages with items would move while perhaps nobody needs the free ones
    for _, row in ipairs(rows) do
        local state = self.classes[row.id]
        local had_to = state.starves or state.waits
        judge_class(state, row, donors, about, all_per_s)
        row.starves = state.starves and (row.pages or 0) > 0 and not untried
        row.waits_for = (state.starves and untried or awaited(state, row, filling, about, all_per_s, had_to) or {}).id
        state.waits = row.waits_for ~= nil
        row.is_measuring = not row.starves and row.evicts_lately
            and (untried ~= nil or state.waits or is_unsettled(self, state, row)) or nil
        state.judged_pages = state.is_settled and row.pages or state.judged_pages
        if not row.evicted_per_s then -- evictions are not reported
            row.starves, row.evicts_lately, row.mean_evicted_per_s, row.is_measuring = nil, nil, nil, nil
            row.waits_for = nil
        end
        state.last_row = row
    end
end

--- True if which class starves is not judged yet: pages moved, or too few samples are known. rows: may be nil.
function M.is_measuring(rows)
    return gather.any(rows or {}, function(row) return row.is_measuring end)
end

--- The row of the class that got free pages so lately that it is not known whether it needs them; nil without one.
-- Meanwhile no class starves, as these pages would cost it no items. rows: may be nil.
function M.untried(rows)
    local found
    for _, row in ipairs(rows or {}) do
        found = row.untried_s and (not found or row.untried_s > found.untried_s) and row or found
    end
    return found
end

--- The first row of a class that is measured until another one has filled its free pages, and the row of that one; nil
-- without one. rows: may be nil.
function M.waiting(rows)
    local waiting = M.in_order(rows, M.is_waiting)[1]
    if waiting then
        return waiting, select(2, find.by(rows, "id", waiting.waits_for))
    end
end

--- True if a class is measured until another one has filled its free pages.
function M.is_waiting(row)
    return row.is_measuring == true and row.waits_for ~= nil
end

--- True if a class refuses stores for want of memory.
function M.refuses(row)
    return (row.out_of_memory_per_s or 0) > 0
end

--- True if a class starves by the lives of its items, whether pages would help it or not.
function M.is_short(row)
    return row.starves or row.lives_short or false
end

--- True if a class refuses stores, or starves by the lives of its items.
function M.is_in_need(row)
    return M.is_short(row) or M.refuses(row)
end

-- True if the class of row a is reported before that of row b: the worst first, then by evictions.
local function goes_before(a, b)
    if a.is_worst ~= b.is_worst then
        return a.is_worst == true
    end
    local x, y = a.mean_evicted_per_s or 0, b.mean_evicted_per_s or 0
    return x > y or x == y and a.id < b.id
end

--- The rows of the classes that starve, or for which is_reported is true, in the order of every report. rows: may be
-- nil.
function M.in_order(rows, is_reported)
    local sorted = gather.values(rows or {}, function(row)
        return (not is_reported and row.starves or is_reported and is_reported(row)) and row or nil
    end)
    table.sort(sorted, goes_before)
    return sorted
end

return M
