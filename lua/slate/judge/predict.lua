-- SPDX-License-Identifier: BSD-3-Clause
--- What a page move will bring: hits of the class that gets pages, but for those of the class that gives them. Pure.
--
-- Everything that predicts asks here, of an observer: it rests on the last ten seconds (slate.judge.recent), so that
-- two answers to one question are one. Each class's misses over its pages are those of slate.base.policy_curve's
-- page_gain: of its sampled curve where that rests on reads enough, else fitted to what the class did. `make
-- bench-moves` holds predictions against what came.
local core = require "slate.base.policy_core"
local policy_curve = require "slate.base.policy_curve"
local recent = require "slate.judge.recent"
local units = require "slate.base.units"

local M = {}

-- Nine of ten predictions by sampled curves were no further off, of 35 moves in the three loads of `make bench-moves`;
-- of those fitted to what classes did 27 of 32, on a busy machine.
local BAND_RATIO <const> = 0.75 -- of what is won and lost
local BAND_LEAST_RATIO <const>, FITTED_LEAST_RATIO <const> = 0.008, 0.025 -- of the reads
local READS_LEAST <const> = 1000 -- in the time seen; what fewer tell is chance
-- In a class's curve: of fewer the fitted one is nearer, which rests on all that the class did. So many leave a point
-- on the curve a standard error of two points.
local CURVE_READS_LEAST <const> = 500
local SHORT_S <const> = recent.SPAN_S * 0.8 -- what rests on less says so

--- The hits a second that a class wins by pages more. class: of M.seen.
function M.gain(class, pages)
    return policy_curve.page_gain(class, pages)
end

--- The hits a second that a class loses by pages less: whole free pages cost nothing.
function M.cost(class, pages)
    local free = class.free_chunks // math.max(class.chunks_per_page, 1)
    return -policy_curve.page_gain(class, -math.max(0, pages - free))
end

--- What the classes of a server did in the last ten seconds: its snapshot of now as slate.base.policy_core has it, the
-- reads a second of the server, and the seconds seen; or nil and why nothing can be told. one: of slate.judge.observer;
-- curves: sampled ones by class id, as lists of { bytes, hit_ratio } with their reads (enough unless told); may be nil.
function M.seen(one, curves)
    local before, after = one.recent:begin(), one.now
    local seconds = before and after.time_s - before.time_s or 0
    local was, now = before and before.general.cmd_get, after and after.general.cmd_get
    if not (was and now and seconds > 0) or now - was < READS_LEAST then
        return nil, ("fewer than %d reads were seen: too few for a prediction"):format(READS_LEAST)
    end
    local _, seen = core.pair(before, after)
    for id, curve in pairs(curves or {}) do
        if seen.by_id[id] and (curve.reads or CURVE_READS_LEAST) >= CURVE_READS_LEAST then
            seen.by_id[id].curve = curve
        end
    end
    return seen, (now - was) / seconds, seconds
end

-- Whether a class's curve is no guess: sampled, or of one that nobody reads. nil: the pool.
local function is_known_well(class)
    return not class or class.curve ~= nil or class.hits_per_s + class.misses_per_s == 0
end

--- What moving pages from class src to class dst (0: the pool) would bring. one, curves: as for M.seen. Returns
-- { hit_ratio_change, band (both of the hit ratio), hits_per_s, lost_per_s, seen_s }; or nil and why it cannot be told.
function M.move(one, src, dst, pages, curves)
    local seen, reads_per_s, seen_s = M.seen(one, curves)
    if not seen then
        return nil, reads_per_s
    end
    local giver, getter = seen.by_id[src], seen.by_id[dst]
    if not getter and dst ~= 0 or not giver and src ~= 0 then
        return nil, "nothing is known of one of the classes"
    end
    local is_sampled = is_known_well(giver) and is_known_well(getter)
    local won, lost = getter and M.gain(getter, pages) or 0, giver and M.cost(giver, pages) or 0
    return {
        hit_ratio_change = (won - lost) / reads_per_s, hits_per_s = won - lost, lost_per_s = lost, seen_s = seen_s,
        band = math.max(is_sampled and BAND_LEAST_RATIO or FITTED_LEAST_RATIO, BAND_RATIO * (won + lost) / reads_per_s),
    }
end

--- What a prediction promises: "gain" or "loss" where its band leaves no doubt of that, else "unsure".
function M.promise(made)
    return made.hit_ratio_change > made.band and "gain" or made.hit_ratio_change < -made.band and "loss" or "unsure"
end

local DOUBTS <const> = { gain = "", loss = ": it costs hits", unsure = ": a gain is not certain" }

-- A change in points; what rounds to nothing has no sign.
local function points(ratio)
    local text = ("%+.1f"):format(ratio * 100)
    return text == "-0.0" and "+0.0" or text
end

--- A prediction in words.
function M.words(made)
    return ("%s points of hits, +-%.1f%s%s"):format(points(made.hit_ratio_change), made.band * 100,
        DOUBTS[M.promise(made)], made.seen_s < SHORT_S and ("; of %s of traffic only"):format(units.age(made.seen_s))
            or "")
end

return M
