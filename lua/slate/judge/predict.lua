-- SPDX-License-Identifier: BSD-3-Clause
--- What a page move will bring: hits of the class that gets pages, but for those of the class that gives them. Pure.
--
-- Everything that predicts asks here, of an observer: it rests on the last ten seconds (slate.judge.recent), so that
-- two answers to one question are one. What pages are worth to one class is told by slate.base.policy_curve.
local core = require "slate.base.policy_core"
local policy_curve = require "slate.base.policy_curve"
local recent = require "slate.judge.recent"
local units = require "slate.base.units"

local M = {}

local BAND_LEAST_RATIO <const> = 0.005 -- of the reads: as far as two windows of ten seconds are apart by chance
local READS_LEAST <const> = 1000 -- in the time seen; what fewer tell is chance
local SHORT_S <const> = recent.SPAN_S * 0.8 -- what rests on less says so

--- What the classes of a server did in the last ten seconds: its snapshot of now as slate.base.policy_core has it, the
-- reads a second of the server, and the seconds seen; or nil and why nothing can be told. one: of slate.judge.observer;
-- curves: sampled ones by class id, as slate.base.policy_curve takes them, and as 0 that of the whole cache; or nil.
function M.seen(one, curves)
    local before, after = one.recent and one.recent:begin(), one.now
    local seconds = before and after.time_s - before.time_s or 0
    local was, now = before and before.general.cmd_get, after and after.general.cmd_get
    if not (was and now and seconds > 0) or now - was < READS_LEAST then
        return nil, ("fewer than %d reads were seen: too few for a prediction"):format(READS_LEAST)
    end
    local _, seen = core.pair(before, after)
    for id, class in pairs(curves and seen.by_id or {}) do
        class.curve, class.whole_curve = curves[id], curves[0]
    end
    return seen, (now - was) / seconds, seconds
end

-- Two doubts that know nothing of each other, as one.
local function beside(one, other)
    return math.sqrt(one ^ 2 + other ^ 2)
end

--- What moving pages from class src to class dst (0: the pool) would bring. one, curves: as for M.seen. Returns
-- { hit_ratio_change, least, most (all three of the hit ratio), hits_per_s, lost_per_s, seen_s }; or nil and why it
-- cannot be told. least and most hold some nine of ten: a gain may be far more than is told, for hits may grow as the
-- pages do (slate.base.policy_curve), while it is seldom much less.
function M.move(one, src, dst, pages, curves)
    local seen, reads_per_s, seen_s = M.seen(one, curves)
    if not seen then
        return nil, reads_per_s
    end
    local giver, getter = seen.by_id[src], seen.by_id[dst]
    if not getter and dst ~= 0 or not giver and src ~= 0 then
        return nil, "nothing is known of one of the classes"
    end
    local won, won_least, won_most, lost, lost_least, lost_most = 0, 0, 0, 0, 0, 0
    if getter then
        won, won_least, won_most = policy_curve.gain(getter, pages)
    end
    if giver then
        lost, lost_least, lost_most = policy_curve.cost(giver, pages)
    end
    local change = (won - lost) / reads_per_s
    local below = math.max(BAND_LEAST_RATIO, beside(won - won_least, lost_most - lost) / reads_per_s)
    local above = math.max(BAND_LEAST_RATIO, beside(won_most - won, lost - lost_least) / reads_per_s)
    return {
        hit_ratio_change = change, hits_per_s = won - lost, lost_per_s = lost, seen_s = seen_s,
        least = change - below, most = change + above,
    }
end

--- What a prediction promises: "gain" or "loss" where the least and the most leave no doubt of that, else "unsure".
function M.promise(made)
    return made.least > 0 and "gain" or made.most < 0 and "loss" or "unsure"
end

local DOUBTS <const> = { gain = "", loss = ": it costs hits", unsure = ": perhaps no gain",
    unlikely = ": a loss is likelier than a gain" }
local UNLIKELY_RATIO <const> = -0.002 -- what is nearer to nothing may be either

-- A change in points; what rounds to nothing has no sign.
local function points(ratio)
    local text = ("%+.1f"):format(ratio * 100)
    return text == "-0.0" and "+0.0" or text
end

--- A prediction in words.
function M.words(made)
    local promise = M.promise(made)
    promise = promise == "unsure" and made.hit_ratio_change < UNLIKELY_RATIO and "unlikely" or promise
    local seen = made.seen_s < SHORT_S and ("; judged by %s of traffic"):format(units.age(made.seen_s)) or ""
    return ("%s points of hits (%s to %s)%s%s"):format(points(made.hit_ratio_change), points(made.least),
        points(made.most), DOUBTS[promise], seen)
end

return M
