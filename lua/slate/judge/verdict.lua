-- SPDX-License-Identifier: BSD-3-Clause
--- What came of a change to a server: its hits and evictions of the last ten seconds against those of the ten seconds
-- before the change. Pure; no I/O. slatetop and slatectl use the same words.
--
-- First in this file: the prediction of a page move, from the counters of the last ten seconds.
local automove = require "slate.facts.automove"
local chance = require "slate.judge.chance"
local core = require "slate.base.policy_core"
local gather = require "slate.base.gather"
local limits = require "slate.judge.thresholds"
local load_shift = require "slate.judge.load_shift"
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

-- True if a server reports the misses, and the hits and stores of each class that has pages: else few would be seen.
local function reports_reads(now)
    return now.general.get_misses and not gather.any(now.classes, function(class)
        return (class.total_pages or 0) > 0 and not (class.get_hits and class.cmd_set)
    end)
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
    if not (reports_reads(before) and reports_reads(after)) then
        return nil, "this server does not report which reads find their item: no prediction is possible"
    end
    local begun, seen = core.pair(before, after)
    local is_trusted = curves and not one.has_failed_curves and not M.failed_before(curves[0] or {})
    for id, class in pairs(is_trusted and seen.by_id or {}) do
        class.curve, class.whole_curve = curves[id], curves[0]
        class.counted_pages = class.used_chunks > 0 and class.chunks_per_page > 0
            and (begun.by_id[id].used_chunks + class.used_chunks) / 2 / class.chunks_per_page or nil
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
    local center = math.min(made.hit_ratio_change, (made.least + made.most) / 2) -- losses may have the longer tail
    promise = promise == "unsure" and (center < limits.prediction_unlikely_ratio and "unlikely"
        or expects_gain == false and "none") or promise
    local seen = made.seen_s < limits.prediction_short_s
        and ("; judged by %s of traffic"):format(units.age(made.seen_s)) or ""
    return M.change_words(made) .. DOUBTS[promise] .. seen
end

local WINDOW_S <const> = limits.verdict_lasts_s + 3 * limits.lately_s

local Past = {}
Past.__index = Past
Past.__name = "slate.judge.verdict.past"

--- The counters of a server over the last minute and a half, empty at first.
function M.past()
    return setmetatable({}, Past)
end

--- Takes a snapshot. After a restart or a reset of the counters the history is invalid: make a new one.
function Past:add(now)
    local general = now.general
    local lost = general.slab_reassign_evictions_nomem or general.slab_reassign_busy_deletes
    self[#self + 1] = {
        time_s = now.time_s, gets = general.cmd_get, hits = general.get_hits, evictions = general.evictions,
        lost = lost and (general.slab_reassign_evictions_nomem or 0) + (general.slab_reassign_busy_deletes or 0),
        tells_lost = now.slated or general.slab_reassign_evictions_nomem, -- else moves evict, as stores do
        refused = snapshot.refused_stores(now), items = general.curr_items, requests = load_shift.load_of(now.classes),
        flushes = general.cmd_flush, moved = general.slabs_moved,
        only_others_move = (automove.of((now.settings or {}).slab_automove) or {}).name == "off",
    }
    while self[2] and self[2].time_s < now.time_s - WINDOW_S do
        table.remove(self, 1)
    end
end

--- The figures between two samples: for_s (the seconds between), reads, reads_per_s, hit_ratio and its standard error
-- (error), evictions_per_s, evictions_per_kread (per 1,000 reads), item_loss_per_s (evictions, and items that page
-- moves dropped) and out_of_memory_per_s (refused stores), as far as the samples have them.
function M.between(from, to)
    local gets, hits = snapshot.growth(from, to, "gets"), snapshot.growth(from, to, "hits")
    local evictions, refused = snapshot.growth(from, to, "evictions"), snapshot.growth(from, to, "refused")
    local lost, seconds = snapshot.growth(from, to, "lost"), to.time_s - from.time_s
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

-- flushes (optional): so many were counted until then.
local function first_from(past, time_s, flushes)
    for _, sample in ipairs(past) do
        if sample.time_s >= time_s and (not flushes or sample.flushes == flushes) then
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

-- By how much the hit ratio moved by itself, a second, until a sample: from the first half of the last twenty seconds,
-- or of those since the last flush, to the second; the standard error, and whether it is more than chance. 0, 0 if too
-- little was seen. before: the figures until then, with their spreads.
local function drift_of(past, turn, before)
    local first = first_from(past, turn.time_s - 2 * limits.lately_s, turn.flushes)
    local middle, half_s = last_until(past, (first.time_s + turn.time_s) / 2), (turn.time_s - first.time_s) / 2
    if math.min(middle.time_s - first.time_s, turn.time_s - middle.time_s) < limits.verdict_half_least_s then
        return 0, 0
    end
    local a, b = M.between(first, middle), M.between(middle, turn)
    if not (a.hit_ratio and b.hit_ratio) then
        return 0, 0
    end
    local per_s = (b.hit_ratio - a.hit_ratio) / half_s
    local error = math.sqrt(before.spreads.hit_ratio or 1) * chance.joint(a.error, b.error) / half_s
    return per_s, error, math.abs(per_s) > limits.errors_apart * error
end

-- From the middle of the time before a change to that of the time after it, in seconds.
local function apart_s(first, turn, start, last)
    return (start.time_s + last.time_s - first.time_s - turn.time_s) / 2
end

-- The effect of a change on the hit ratio in the seconds that predictions are for, and its standard error. Hits that
-- moved by themselves may stop or go on: half of what they would bring is not the effect, and as much is in doubt.
-- nil if too little was seen.
local function effect_of(past, before, first, turn, ended_s, per_s, per_s_error)
    local last = last_until(past, ended_s + policy_curve.JUDGED_S[2])
    local start = first_from(past, math.min(ended_s + policy_curve.JUDGED_S[1], (ended_s + last.time_s) / 2))
    local after = start.time_s < last.time_s and M.between(start, last) or {}
    local error = chance.error("hit_ratio", before, after)
    if not error then
        return nil
    end
    local half_s = apart_s(first, turn, start, last) / 2
    return after.hit_ratio - before.hit_ratio - per_s * half_s,
        math.sqrt(error ^ 2 + (per_s * half_s) ^ 2 / 3 + (per_s_error * half_s) ^ 2)
end

-- The pages that others moved since the end of a change; nil if none, or if the server moves pages by itself.
local function moved_by_others(past, ended_s, last)
    local turn = last_until(past, first_from(past, ended_s).time_s)
    local moved = turn.only_others_move and last.only_others_move and snapshot.growth(turn, last, "moved") or 0
    return moved > 0 and moved or nil
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
            local evicted = before and snapshot.growth(before, sample, "evictions")
            came = came + (evicted and math.max(0, sample.items - before.items - evicted) or 0)
            least, before = math.min(least, sample.items), sample
        end
    end
    return turn.items and turn.items > 0
        and math.min(came, turn.items - least) >= limits.verdict_filled_least_ratio * turn.items or nil
end

--- What came of a change that was made between two times, in seconds; events during the change belong to neither side.
-- Returns { before, after (each with hit_ratio and evictions_per_s as far as they are known), error (the standard error
-- of the difference of their hit ratios), rise (of the hit ratio by itself, if it goes on as before the change; below
-- 0: a fall; nil if there was none but by chance), effect and effect_error (of the change on hits, in the seconds
-- that predictions are for, and its standard error; nil if unknown), drift (of hits that may have another cause than
-- the change: 1 if they would rise because the cache was still filling, or rose while the load changed or others moved
-- pages, -1 if hits fell so; else nil), filling (true if the cache was; else nil),
-- shift (the share of the requests that went to other classes than before, if hits may have changed for that; else
-- nil), others_moved (the pages that others moved since the change, which may explain all of it; else nil), not_judged
-- ("flush": in that time, which shows at once; "traffic": fell so far that nothing can be judged; else nil), traffic
-- (then the reads a second as a share of those before), items_lost (by page moves, since the change began; nil if not
-- reported), for_s (since the change ended) }; or nil if too little was seen.
function Past:outcome(began_s, ended_s)
    local before, first, turn = self:before(began_s)
    local last = self[#self]
    if not before then
        return nil
    elseif (snapshot.growth(first, last, "flushes") or 0) > 0 then
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
    local shift = start ~= last and load_shift.shift(first, turn, start, last) or 0
    local moved = (snapshot.growth(first, turn, "moved") or 0) + (start and snapshot.growth(start, last, "moved") or 0)
    if moved > 0 then
        before.evictions_per_s, before.evictions_per_kread = nil, nil -- servers count what other moves drop
    end
    shift = shift >= math.max(limits.verdict_shift_least_ratio, change) and shift or nil
    local traffic = (before.reads_per_s or 0) > 0 and after.reads_per_s and after.reads_per_s / before.reads_per_s
    traffic = traffic and traffic < limits.verdict_traffic_least_ratio and traffic or nil
    local per_s, per_s_error, is_sure = drift_of(self, turn, before)
    local effect, effect_error = effect_of(self, before, first, turn, ended_s, per_s, per_s_error)
    local others_moved = moved_by_others(self, ended_s, last)
    local by_others = (shift or others_moved) and ((after.hit_ratio or 0) < (before.hit_ratio or 0) and -1 or 1)
    by_others = traffic and -1 or by_others
    return {
        before = before, after = after, error = chance.error("hit_ratio", before, after),
        rise = is_sure and per_s * apart_s(first, turn, start, last) or nil, effect = effect,
        effect_error = effect_error, drift = filling and 1 or by_others, filling = filling,
        shift = shift, others_moved = others_moved, not_judged = traffic and "traffic" or nil, traffic = traffic,
        items_lost = last.tells_lost and snapshot.growth(turn, last, "lost") or nil, for_s = last.time_s - ended_s,
    }
end

--- Why a rise or a fall of hits will not be the effect of a change that is made now: words; nil if it may be.
function Past:caveat()
    local last = self[#self]
    local before, first = self:before(last and last.time_s)
    if not before then
        return nil
    elseif (snapshot.growth(first, last, "flushes") or 0) > 0 then
        return "the cache was just flushed: the change will not be judged"
    elseif was_filling(self, first, last) then
        return "the cache is still filling: hits may rise without the change"
    end
    local per_s, _, is_sure = drift_of(self, last, before)
    return is_sure and ("hits %s anyway, by %.1f points in %ds, without the change"):format(
        per_s > 0 and "rise" or "fall", math.abs(per_s) * limits.lately_s * 100, limits.lately_s) or nil
end

--- The figures of M.between from a time on; {} if too little was seen.
function Past:since(time_s)
    local start, last = first_from(self, time_s), self[#self]
    if not start or start == last then
        return {}
    end
    return M.between(start, last)
end

-- Hits that moved before the change already may go on the same way (rise, of an outcome), and do not move because of
-- the change. Returns the words, and by how much hits rose.
local function hits_in_words(before, after, error, rise)
    if not (before.hit_ratio and after.hit_ratio) then
        return nil
    end
    local was, is = units.percent(before.hit_ratio, 1), units.percent(after.hit_ratio, 1)
    local change, doubt = after.hit_ratio - before.hit_ratio, limits.errors_apart * error
    if was == is or math.abs(change) <= doubt then
        return ("hits %s, as before"):format(is), 0
    end
    local goes_on = rise and rise * change > 0 and math.abs(rise) or 0
    return ("hits %s -> %s%s"):format(was, is, goes_on >= math.abs(change) - doubt
        and (change > 0 and ", but they rose before it already" or ", but they fell before it already")
        or goes_on > 0 and (", up to %.1f points of it under way before"):format(goes_on * 100) or ""), change
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
    local rise = not (outcome.filling or outcome.shift or outcome.others_moved) and outcome.rise
    if outcome.not_judged then
        return NOT_JUDGED[outcome.not_judged](outcome) .. ": not judged"
    end
    local hits, hits_change = hits_in_words(outcome.before, outcome.after, outcome.error, rise)
    local evictions, evicts_more = evictions_in_words(outcome.before, outcome.after)
    local parts = { hits }
    parts[#parts + 1] = evictions
    hits_change = hits_change or 0
    if outcome.filling and (hits_change > 0 or hits_change == 0 and evicts_more) then
        parts[#parts + 1] = "but the cache was still filling"
    elseif outcome.others_moved and (hits_change ~= 0 or evicts_more ~= nil) then
        parts[#parts + 1] = ("but others moved %s meanwhile"):format(units.plural(outcome.others_moved, "page"))
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
