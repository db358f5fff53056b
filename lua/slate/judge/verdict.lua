-- SPDX-License-Identifier: BSD-3-Clause
--- What came of a change to a server: its hits and evictions of the last ten seconds against those of the ten seconds
-- before the change. Pure; no I/O. slatetop and slatectl use the same words.
--
-- First in this file: the prediction of a page move, from the counters of the last ten seconds.
local chance = require "slate.judge.chance"
local core = require "slate.base.policy_core"
local limits = require "slate.judge.thresholds"
local policy_curve = require "slate.base.policy_curve"
local snapshot = require "slate.facts.snapshot"
local units = require "slate.base.units"

local M = {}

-- The gain of a page move: the hits of the class that gets pages, less those of the class that gives them. Pure.
--
-- All predictions come from here, by one observer and its last ten seconds, so that two answers to one question agree.
-- The worth of pages to one class is in slate.base.policy_curve.

local PREDICTIONS_TRUE <const> = 0.95 -- the share of predictions that should come true within their bands

-- The probability that at most k of n predictions come true, if each does with this probability.
local function probability_of_most(k, n, each)
    local sum, term = 0, (1 - each) ^ n
    for i = 0, k do
        sum = sum + term
        term = term * (n - i) / (i + 1) * each / (1 - each)
    end
    return sum
end

-- A sentence: so few predictions of a kind came true that no advice rests on new ones; nil if as many came true as
-- should, but for chance.
local function failed(made, came_true, kind)
    if made == 0 or probability_of_most(came_true, made, PREDICTIONS_TRUE) >= 1 - PREDICTIONS_TRUE then
        return nil
    end
    return ("%d of %d earlier predictions of %s came true (19 of 20 should): nothing is advised by new ones"):format(
        came_true, made, kind)
end

--- The sentence on predictions of memory and policies, which a slated counts since its start. curve: of
-- slate.facts.sampled, of the whole cache.
function M.failed_before(curve)
    return failed(curve.predictions or 0, curve.predictions_within or 0, "this server")
end

--- The sentence on predictions of page moves since the server's start. one: of slate.judge.view.
function M.failed_moves(one)
    local started_s, made, came_true = one.now and snapshot.started_s(one.now.general), 0, 0
    for _, found in ipairs(one.judged_moves or {}) do
        if not started_s or found.time_s >= started_s then
            made, came_true = made + 1, came_true + (found.is_within and 1 or 0)
        end
    end
    return failed(made, came_true, "moves on this server")
end

--- The figures of a server's classes in the last ten seconds: its snapshot of now as slate.base.policy_core has it, the
-- reads a second of the server, and the seconds seen; or nil and a message. one: of slate.judge.view; curves: sampled
-- ones by class id (for slate.base.policy_curve), and as 0 that of the whole cache; or nil. They are not used after
-- failed predictions of the server (its record is in curves[0], else one.has_failed_curves has the answer).
function M.figures_seen(one, curves)
    local before, after = one.recent and one.recent:begin(), one.now
    local seconds = before and after.time_s - before.time_s or 0
    local was, now = before and before.general.cmd_get, after and after.general.cmd_get
    if not (was and now and seconds > 0) or now - was < limits.prediction_reads_least then
        return nil, ("fewer than %d reads were seen: too few for a prediction"):format(limits.prediction_reads_least)
    end
    local _, seen = core.pair(before, after)
    local is_trusted = curves and not one.has_failed_curves and not M.failed_before(curves[0] or {})
    for id, class in pairs(is_trusted and seen.by_id or {}) do
        class.curve, class.whole_curve = curves[id], curves[0]
    end
    return seen, (now - was) / seconds, seconds
end

--- The predicted effect of moving pages from class src to class dst (0: the pool). one, curves: as for M.figures_seen.
-- given, got: pages that src gives to others and dst gets from others besides; nil for none. Returns {
-- hit_ratio_change, least, most (all three of the hit ratio), hits_per_s, lost_per_s, seen_s }; or nil and why there is
-- none. 19 of 20 changes lie from least to most (slate.base.policy_curve), less what chance makes of the hits of two
-- periods.
function M.predicted_move(one, src, dst, pages, curves, given, got)
    local seen, reads_per_s, seen_s = M.figures_seen(one, curves)
    if not seen then
        return nil, reads_per_s
    end
    local donor, receiver = seen.by_id[src], seen.by_id[dst]
    if not receiver and dst ~= 0 or not donor and src ~= 0 then
        return nil, "nothing is known of one of the classes"
    end
    return M.move_predicted(donor, receiver, pages, reads_per_s, seen_s, given, got)
end

-- What pages bring or cost besides those that move already: a figure, its least and its most.
local function further(figures_of, class, already, pages)
    local before, before_least, before_most = figures_of(class, already)
    local all, least, most = figures_of(class, already + pages)
    return all - before, least - before_least, most - before_most
end

--- The same by the figures of the classes (nil: the pool).
function M.move_predicted(donor, receiver, pages, reads_per_s, seen_s, given, got)
    local won, won_least, won_most, lost, lost_least, lost_most = 0, 0, 0, 0, 0, 0
    if receiver then
        won, won_least, won_most = further(policy_curve.gain, receiver, got or 0, pages)
    end
    if donor then
        lost, lost_least, lost_most = further(policy_curve.cost, donor, given or 0, pages)
    end
    local change = (won - lost) / reads_per_s
    local least, joint = limits.prediction_band_least_ratio, chance.joint
    local below = math.max(least, joint(won - won_least, lost_most - lost) / reads_per_s)
    local above = math.max(least, joint(won_most - won, lost - lost_least) / reads_per_s)
    return {
        hit_ratio_change = change, hits_per_s = won - lost, lost_per_s = lost, seen_s = seen_s,
        least = change - below, most = change + above,
    }
end

--- The sum of predictions for moves that are made together: one load makes all of their errors, so their leasts and
-- mosts add up.
function M.sum(list)
    local sum = { hit_ratio_change = 0, least = 0, most = 0, hits_per_s = 0, lost_per_s = 0 }
    for _, made in ipairs(list) do
        for name in pairs(sum) do
            sum[name] = sum[name] + made[name]
        end
    end
    sum.seen_s = list[1].seen_s
    return sum
end

-- As words have it: in tenths of a point.
local function tenths(ratio)
    return (ratio * 1000 + 0.5) // 1
end

--- The promise of a prediction: "gain" or "loss" if the least and the most leave no doubt, else "unsure". A gain is
-- also one that should bring hits and costs none, as from a class whose items nobody reads: its least is 0.
function M.promise(made)
    local is_free = tenths(made.least) >= 0 and tenths(made.hit_ratio_change) > 0
    return (made.least > 0 or is_free) and "gain" or made.most < 0 and "loss" or "unsure"
end

local DOUBTS <const> = { gain = "", loss = ": it costs hits", unsure = ": gain not certain",
    none = ": no gain expected", unlikely = ": a loss is likelier than a gain" }

-- A change in points; one that rounds to 0 has no minus sign.
local function points(ratio)
    local text = ("%+.1f"):format(ratio * 100)
    return text == "-0.0" and "+0.0" or text
end

--- A predicted change and its bounds in points: "+2.1 (+0.9 to +3.0)".
function M.points_words(made)
    return ("%s (%s to %s)"):format(points(made.hit_ratio_change), points(made.least), points(made.most))
end

--- A predicted change and its bounds in words.
function M.change_words(made)
    return (M.points_words(made):gsub(" ", " points of hits ", 1))
end

--- A prediction in words. expects_gain: as of a move of slate.judge.page_plan; nil by default.
function M.prediction_words(made, expects_gain)
    local promise = M.promise(made)
    promise = promise == "unsure" and (made.hit_ratio_change < limits.prediction_unlikely_ratio and "unlikely"
        or expects_gain == false and "none") or promise
    local seen = made.seen_s < limits.prediction_short_s
        and ("; judged by %s of traffic"):format(units.age(made.seen_s)) or ""
    return M.change_words(made) .. DOUBTS[promise] .. seen
end

local WINDOW_S <const> = limits.verdict_lasts_s + 2 * limits.lately_s

local Past = {}
Past.__index = Past
Past.__name = "slate.judge.verdict.past"

--- The counters of a server over the last minute and a half, empty at first.
function M.past()
    return setmetatable({}, Past)
end

-- The requests for each class by its chunk size, or its id where that is not reported: a get that misses mostly ends in
-- a set, so pages, which turn misses into hits, do not change the sum. As text, "size count stores size …": a table for
-- each sample would take six times the memory. An infinite count is skipped when the text is read.
local function requests_of(classes)
    local parts = {}
    for _, class in pairs(classes or {}) do
        parts[#parts + 1] = ("%.0f %.0f %.0f"):format(class.chunk_size or class.id,
            (class.get_hits or 0) + (class.cmd_set or 0), class.cmd_set or 0)
    end
    return table.concat(parts, " ")
end

--- Takes a snapshot. After a restart or a reset of the counters the history is invalid: make a new one.
function Past:add(now)
    local general = now.general
    local lost = general.slab_reassign_evictions_nomem or general.slab_reassign_busy_deletes
    self[#self + 1] = {
        time_s = now.time_s, gets = general.cmd_get, hits = general.get_hits, evictions = general.evictions,
        lost = lost and (general.slab_reassign_evictions_nomem or 0) + (general.slab_reassign_busy_deletes or 0),
        refused = snapshot.refused_stores(now), items = general.curr_items, requests = requests_of(now.classes),
        flushes = general.cmd_flush, moved = now.slated and general.slabs_moved,
    }
    while self[2] and self[2].time_s < now.time_s - WINDOW_S do
        table.remove(self, 1)
    end
end

local function increase(from, to, name)
    return from[name] and to[name] and to[name] >= from[name] and to[name] - from[name] or nil
end

--- The figures between two samples: for_s (the seconds between), reads, reads_per_s, hit_ratio and its standard error
-- (error), evictions_per_s, evictions_per_kread (per 1,000 reads), item_loss_per_s (evictions, and items that page
-- moves dropped) and out_of_memory_per_s (refused stores), as far as the samples have them.
function M.between(from, to)
    local gets, hits = increase(from, to, "gets"), increase(from, to, "hits")
    local evictions, refused = increase(from, to, "evictions"), increase(from, to, "refused")
    local lost, seconds = increase(from, to, "lost"), to.time_s - from.time_s
    local ratio = gets and hits and gets > 0 and math.min(hits / gets, 1) or nil
    return {
        for_s = seconds, reads = gets, reads_per_s = gets and gets / seconds,
        hit_ratio = ratio, error = ratio and chance.ratio_error(ratio, gets),
        evictions_per_s = evictions and evictions / seconds,
        evictions_per_kread = evictions and gets and gets > 0 and 1000 * evictions / gets or nil,
        item_loss_per_s = evictions and (evictions + (lost or 0)) / seconds,
        out_of_memory_per_s = refused and refused / seconds,
    }
end

-- The last sample at or before a time, the first at or after one; nil without any.
local function last_until(past, time_s)
    local found
    for _, sample in ipairs(past) do
        found = sample.time_s <= time_s and sample or found
    end
    return found
end

local function first_from(past, time_s)
    for _, sample in ipairs(past) do
        if sample.time_s >= time_s then
            return sample
        end
    end
end

--- The figures of the ten seconds before a time, or of what was seen of them, two samples at least, with their spreads
-- (of slate.judge.chance) and the number of flushes until then; then the first sample and the last. nil if too little
-- was seen.
function Past:before(time_s)
    local at, steps = #self, {}
    while at > 1 and self[at].time_s > time_s do
        at = at - 1
    end
    local from = at - 1
    while from > 1 and self[from - 1].time_s >= time_s - limits.lately_s do
        from = from - 1
    end
    if from < 1 or self[at].time_s > time_s or self[at].time_s <= self[from].time_s then
        return nil
    end
    for i = from + 1, at do
        steps[#steps + 1] = M.between(self[i - 1], self[i])
    end
    local whole = M.between(self[from], self[at])
    whole.spreads, whole.flushes = chance.spreads(whole, steps), self[at].flushes
    return whole, self[from], self[at]
end

-- Whether the hit ratio rose (1) or fell (-1) by itself between two samples, from the first half to the second; nil if
-- it stood still or too little was seen.
local function drift_of(past, first, turn)
    local middle = last_until(past, (first.time_s + turn.time_s) / 2)
    if math.min(middle.time_s - first.time_s, turn.time_s - middle.time_s) < limits.verdict_half_least_s then
        return nil
    end
    local a, b = M.between(first, middle), M.between(middle, turn)
    if not (a.hit_ratio and b.hit_ratio) then
        return nil
    end
    local change = b.hit_ratio - a.hit_ratio
    local is_sure = math.abs(change) > limits.errors_apart * chance.joint(a.error, b.error)
    return is_sure and (change > 0 and 1 or -1) or nil
end

-- True if the cache was still filling between two samples: new items went to free memory, not to the place of others.
-- The fewest items in that time are the base, so that a flush begins a new filling.
local function was_filling(past, first, turn)
    local before, least, came = nil, math.huge, 0
    for _, sample in ipairs(past) do
        if sample.time_s >= first.time_s and sample.time_s <= turn.time_s then
            if not sample.items then
                return nil
            end
            local evicted = before and increase(before, sample, "evictions")
            came = came + (evicted and math.max(0, sample.items - before.items - evicted) or 0)
            least, before = math.min(least, sample.items), sample
        end
    end
    return turn.items and turn.items > 0
        and math.min(came, turn.items - least) >= limits.verdict_filled_least_ratio * turn.items or nil
end

-- What came between two samples by chunk size: the requests, their sum, and the stores among them.
local function requests_between(from, to)
    local requests_before, stores_before, requests, stores, sum = {}, {}, {}, {}, 0
    for size, count, stored in from.requests:gmatch("(%d+) (%d+) (%d+)") do
        requests_before[size], stores_before[size] = count, stored
    end
    for size, count, stored in to.requests:gmatch("(%d+) (%d+) (%d+)") do
        requests[size] = math.max(0, count - (requests_before[size] or 0))
        stores[size] = math.max(0, stored - (stores_before[size] or 0))
        sum = sum + requests[size]
    end
    return requests, sum, stores
end

-- The sizes of both lists, ascending, and whether each list has them all.
local function sizes_of_both(one, other)
    local sizes, is_same = {}, true
    for size in pairs(one) do
        sizes[#sizes + 1], is_same = size, is_same and other[size] ~= nil
    end
    for size in pairs(other) do
        sizes[#sizes + 1], is_same = not one[size] and size or nil, is_same and one[size] ~= nil
    end
    table.sort(sizes, function(a, b) return tonumber(a) < tonumber(b) end)
    return sizes, is_same
end

-- The share of the requests that went to items of other sizes after a change than before (the total variation distance
-- of the two mixes); 0 if that may be chance, or there were no requests. Where chunk sizes came or went, classes are
-- compared together up to each size that took stores before and after: no item changed sides there.
local function load_shift(first, turn, start, last)
    local was, were, was_stored = requests_between(first, turn)
    local is, are, is_stored = requests_between(start, last)
    if were == 0 or are == 0 then
        return 0
    end
    local sizes, is_same = sizes_of_both(was, is)
    local apart, by_chance, a, b = 0, 0, 0, 0
    for i, size in ipairs(sizes) do
        a, b = a + (was[size] or 0) / were, b + (is[size] or 0) / are
        if is_same or i == #sizes or (was_stored[size] or 0) > 0 and (is_stored[size] or 0) > 0 then
            apart = apart + math.abs(b - a) / 2
            by_chance = by_chance + math.sqrt((a + b) / 2 * (1 / were + 1 / are)) / 2
            a, b = 0, 0
        end
    end
    return apart > limits.errors_apart * by_chance and apart or 0
end

--- What came of a change that was made between two times, in seconds; events during the change belong to neither side.
-- Returns { before, after (each with hit_ratio and evictions_per_s as far as they are known), error (the standard error
-- of the difference of their hit ratios), drift (of hits that may have another cause than the change: 1 if hits rose
-- before it already, would rise because the cache was still filling, or rose while the load changed, -1 if hits fell
-- so; else nil), filling (true if the cache was; else nil),
-- shift (the share of the requests that went to other classes than before, if hits may have changed for that; else
-- nil), not_judged ("flush": in that time, which shows at once; "traffic": fell so far that nothing can be judged;
-- else nil), traffic (then the reads a second as a share of those before), items_lost (by page moves, since the change
-- began; nil if not reported), for_s (since the change ended) }; or nil if too little was seen.
function Past:outcome(began_s, ended_s)
    local before, first, turn = self:before(began_s)
    local last = self[#self]
    if not before then
        return nil
    elseif (increase(first, last, "flushes") or 0) > 0 then
        return { not_judged = "flush", before = before, after = {}, for_s = last.time_s - ended_s }
    elseif last.time_s - ended_s < limits.verdict_least_s then
        return nil
    end
    local start = first_from(self, math.max(ended_s, last.time_s - limits.lately_s))
    local filling = was_filling(self, first, turn)
    local after = start ~= last and M.between(start, last) or {}
    -- Requests may go to other classes than before, where hits are more or fewer. That may explain a change of the hit
    -- ratio up to the share of these requests.
    local change = before.hit_ratio and after.hit_ratio and math.abs(after.hit_ratio - before.hit_ratio) or 0
    local shift = start ~= last and load_shift(first, turn, start, last) or 0
    if (increase(first, turn, "moved") or 0) + (start and increase(start, last, "moved") or 0) > 0 then
        before.evictions_per_s, before.evictions_per_kread = nil, nil -- slated counts what other moves lost
    end
    shift = shift >= math.max(limits.verdict_shift_least_ratio, change) and shift or nil
    local traffic = (before.reads_per_s or 0) > 0 and after.reads_per_s and after.reads_per_s / before.reads_per_s
    traffic = traffic and traffic < limits.verdict_traffic_least_ratio and traffic or nil
    local by_load = shift and ((after.hit_ratio or 0) < (before.hit_ratio or 0) and -1 or 1)
    by_load = traffic and -1 or by_load
    return {
        before = before, after = after, error = chance.error("hit_ratio", before, after),
        drift = filling and 1 or by_load or drift_of(self, first, turn), filling = filling,
        shift = shift, not_judged = traffic and "traffic" or nil, traffic = traffic,
        items_lost = increase(turn, last, "lost"), for_s = last.time_s - ended_s,
    }
end

--- Why a rise or a fall of hits will not be the effect of a change that is made now: words; nil if it may be.
function Past:caveat()
    local last = self[#self]
    local first = last and first_from(self, last.time_s - limits.lately_s)
    if not last or first == last then
        return nil
    elseif (increase(first, last, "flushes") or 0) > 0 then
        return "the cache was just flushed: the change will not be judged"
    elseif was_filling(self, first, last) then
        return "the cache is still filling: a rise of hits will not count as the effect of the change"
    end
    local drift = drift_of(self, first, last)
    return drift and ("hits %s before the change already: if they go on so, that will not count as its effect")
        :format(drift > 0 and "rise" or "fall") or nil
end

--- The figures of M.between from a time on; {} if too little was seen.
function Past:since(time_s)
    local start, last = first_from(self, time_s), self[#self]
    if not start or start == last then
        return {}
    end
    return M.between(start, last)
end

-- Hits that moved before the change already, and go on the same way, do not move because of the change. Returns the
-- words, and by how much hits rose.
local function hits_in_words(before, after, error, drift)
    if not (before.hit_ratio and after.hit_ratio) then
        return nil
    end
    local was, is = units.percent(before.hit_ratio, 1), units.percent(after.hit_ratio, 1)
    if was == is or math.abs(after.hit_ratio - before.hit_ratio) <= limits.errors_apart * error then
        return ("hits %s, as before"):format(is), 0
    end
    local change = after.hit_ratio - before.hit_ratio
    local goes_on = drift and drift * change > 0
    return ("hits %s -> %s%s"):format(was, is, goes_on and (drift > 0 and ", but they rose before it already"
        or ", but they fell before it already") or ""), change
end

-- The words, and whether evictions grew: per 1,000 reads, since less traffic evicts less; without reads, a second.
local function evictions_in_words(before, after)
    local was, is, unit = before.evictions_per_kread, after.evictions_per_kread, " per 1,000 gets"
    if not (was and is) then
        was, is, unit = before.evictions_per_s, after.evictions_per_s, "/s"
    end
    if not (was and is) or was == 0 and is == 0 then
        return nil
    elseif was > 0 and is > 0 then
        local change = is / was - 1
        if math.abs(change) < limits.verdict_evictions_apart_ratio then
            return "evictions as before"
        elseif change < 1 then
            return ("evictions%s %+.0f%%"):format(unit == "/s" and unit or "/get", change * 100), change > 0
        end
    end
    return ("evictions %s -> %s%s"):format(units.rate(was), units.rate(is), unit), is > was
end

-- Why nothing can be said about a change.
local NOT_JUDGED <const> = {
    restart = function() return "the server restarted meanwhile" end,
    reset = function() return "the counters were reset meanwhile" end,
    flush = function() return "the cache was flushed meanwhile" end,
    traffic = function(outcome) return "traffic fell by " .. units.percent(1 - outcome.traffic, 0) end,
}

--- An outcome in words, without the change: "hits 71.2% -> 77.2%, evictions/get -51%, 9 items lost"; "" when nothing is
-- known. Where it is not judged, only the reason. A cache that was filling hits more, and evicts more, whatever the
-- change was.
function M.verdict_words(outcome)
    local drift = not outcome.filling and not outcome.shift and outcome.drift
    if outcome.not_judged then
        return NOT_JUDGED[outcome.not_judged](outcome) .. ": not judged"
    end
    local hits, hits_change = hits_in_words(outcome.before, outcome.after, outcome.error, drift)
    local evictions, evicts_more = evictions_in_words(outcome.before, outcome.after)
    local parts = { hits }
    parts[#parts + 1] = evictions
    hits_change = hits_change or 0
    if outcome.filling and (hits_change > 0 or hits_change == 0 and evicts_more) then
        parts[#parts + 1] = "but the cache was still filling"
    elseif outcome.shift and (hits_change ~= 0 or evicts_more ~= nil) then
        parts[#parts + 1] = ("but the load changed: %s of it went to other classes")
            :format(units.percent(outcome.shift, 0))
    end
    if (outcome.items_lost or 0) > 0 then
        parts[#parts + 1] = units.plural(outcome.items_lost, "item") .. " lost by moves"
    end
    return table.concat(parts, ", ")
end

return M
