-- SPDX-License-Identifier: BSD-3-Clause
--- What a page move will bring: hits of the class that gets pages, but for those of the class that gives them. Pure.
--
-- Everything that predicts asks here, of an observer: it rests on the last ten seconds (slate.judge.recent), so that
-- two answers to one question are one.
--
-- Hits grow with the logarithm of the pages: by so large a share of the class's reads, its slope, for each unit of the
-- natural logarithm. Where keys are about as popular as Zipf's law has them, with an exponent of 0.8 to 1, the slope is
-- about a tenth whatever the class and its size; where few keys take nearly all reads it is less, and where all are
-- alike it is the hit ratio. So what is expected of a class lies halfway between a tenth and the slope of the whole
-- cache's curve, and the class's own curve counts the more, the more reads it rests on. `make bench-moves` holds
-- predictions against what came on a server, `make bench-moves-reckoned` against what moves alone brought; the
-- constants are from there.
local core = require "slate.base.policy_core"
local policy_curve = require "slate.base.policy_curve"
local foresight = require "slate.facts.foresight"
local recent = require "slate.judge.recent"
local units = require "slate.base.units"

local M = {}

local PAGE_BYTES <const> = 1 << 20
local SLOPE <const>, SLOPE_ERROR <const> = policy_curve.SLOPE, 0.04 -- of classes of many kinds, and its standard error
local WHOLE_WEIGHT <const> = 0.5 -- of the whole cache's slope in what is expected of a class, where it is known
local APART_RATIO <const>, APART <const> = 0.4, 0.02 -- how far classes are from that: so large a part of it, and more
local LRU_SHARE <const>, LRU_ERROR <const> = 0.7, 0.06 -- other policies keep other items than a curve's, the LRU
local CLUSTERED <const> = 2 -- so many times the error of as many single reads: a sampled key has several
local CURVE_SPAN <const> = 2 -- a curve's slope is that to so many times the pages, or to a part: of less it is chance
local SOON_S <const> = 12 -- of a gain half is told of where it takes the class so long to fill the pages
local BAND_ERRORS <const> = 1.6 -- nine of ten predictions are no further off than so many standard errors
local BAND_LEAST_RATIO <const> = 0.005 -- of the reads: as far as two windows of ten seconds are apart by chance
local READS_LEAST <const> = 1000 -- in the time seen; what fewer tell is chance
local SHORT_S <const> = recent.SPAN_S * 0.8 -- what rests on less says so

-- The slope of a curve between two amounts of memory, and the standard error that so few reads have.
local function slope_between(curve, bytes, far_bytes)
    local share = math.abs(foresight.between(curve, far_bytes) - foresight.between(curve, bytes))
    local reads, span = curve.reads or math.huge, math.abs(math.log(far_bytes / bytes))
    return share / span, CLUSTERED * math.sqrt(math.max(share, 1 / reads) * (1 - share) / reads) / span
end

-- The slope to expect of a class of which no more is known, and its standard error. whole: the curve of the
-- whole cache, or nil.
local function expected_slope(whole, is_more)
    if not (whole and #whole >= 2 and whole.bytes) then
        return SLOPE, SLOPE_ERROR
    end
    local slope = slope_between(whole, whole.bytes, is_more and whole.bytes * CURVE_SPAN or whole.bytes / CURVE_SPAN)
    slope = SLOPE + WHOLE_WEIGHT * (slope - SLOPE)
    return slope, APART_RATIO * slope + APART
end

-- A class's slope from the pages that it has on to others, and the standard error of that.
local function slope_of(class, held, pages)
    local expected, apart = expected_slope(class.whole_curve, pages > held)
    local curve = class.curve
    if not (curve and #curve >= 2) then
        return expected, apart
    end
    local far = pages > held and math.max(pages, held * CURVE_SPAN) or math.min(pages, held / CURVE_SPAN)
    local slope, chance = slope_between(curve, held * PAGE_BYTES, far * PAGE_BYTES)
    local weight = apart ^ 2 / (apart ^ 2 + LRU_ERROR ^ 2 + chance ^ 2)
    return expected + weight * (LRU_SHARE * slope - expected), apart * math.sqrt(1 - weight)
end

-- How many hits a second more, or less, pages in the place of those held mean, and the standard error.
local function hits_between(class, held, pages)
    local slope, doubt = slope_of(class, held, pages)
    local reads = (class.hits_per_s + class.misses_per_s) * math.abs(math.log(pages / held))
    return reads * slope, reads * doubt
end

--- The hits a second that a class wins by pages more, and the standard error. class: of M.seen. Where it fills them
-- slowly, what they bring soon is less.
function M.gain(class, pages)
    local held = math.max(class.total_pages, 1)
    if class.evicted_per_s == 0 or pages <= 0 then
        return 0, 0 -- it does not fill the pages that it has
    end
    local won, doubt = hits_between(class, held, held + pages)
    local fill_s = pages * class.chunks_per_page / math.max(class.stores_per_s, 1e-9)
    local soon = SOON_S / (SOON_S + fill_s)
    return math.min(won, class.misses_per_s) * soon, doubt * soon
end

--- The hits a second that a class loses by pages less, and the standard error: whole free pages cost nothing.
function M.cost(class, pages)
    local free = class.free_chunks // math.max(class.chunks_per_page, 1)
    local held, missing = class.total_pages - free, pages - free
    if missing <= 0 then
        return 0, 0
    elseif missing >= held then
        return class.hits_per_s, 0
    end
    local lost, doubt = hits_between(class, held, held - missing)
    return math.min(lost, class.hits_per_s), doubt
end

--- What the classes of a server did in the last ten seconds: its snapshot of now as slate.base.policy_core has it, the
-- reads a second of the server, and the seconds seen; or nil and why nothing can be told. one: of slate.judge.observer;
-- curves: sampled ones by class id, as lists of { bytes, hit_ratio } with their reads (any number unless told), and as
-- 0 that of the whole cache, with its bytes of now; may be nil.
function M.seen(one, curves)
    local before, after = one.recent:begin(), one.now
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
    local won, won_doubt, lost, lost_doubt = 0, 0, 0, 0
    if getter then
        won, won_doubt = M.gain(getter, pages)
    end
    if giver then
        lost, lost_doubt = M.cost(giver, pages)
    end
    local doubt = math.sqrt(won_doubt ^ 2 + lost_doubt ^ 2)
    return {
        hit_ratio_change = (won - lost) / reads_per_s, hits_per_s = won - lost, lost_per_s = lost, seen_s = seen_s,
        band = math.max(BAND_LEAST_RATIO, BAND_ERRORS * doubt / reads_per_s),
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
        DOUBTS[M.promise(made)], made.seen_s < SHORT_S and ("; seen for %s of traffic"):format(units.age(made.seen_s))
            or "")
end

return M
