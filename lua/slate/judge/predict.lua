-- SPDX-License-Identifier: BSD-3-Clause
--- What a page move will bring: hits of the class that gets pages, but for those of the class that gives them. Pure.
--
-- Each class's misses over its pages are those of slate.base.policy_core's page_gain: of its sampled curve where the
-- class has one, else fitted to what it did between two snapshots. `make bench-moves` holds predictions against what
-- came.
local core = require "slate.base.policy_core"

local M = {}

-- Nine of ten predictions by sampled curves were no further off, of 35 moves in the three loads of `make bench-moves`.
local BAND_RATIO <const> = 0.75 -- of what is won and lost
local BAND_LEAST_RATIO <const> = 0.008 -- of the reads
local READS_LEAST <const> = 1000 -- between the snapshots; what fewer tell is chance

-- Hits a second that the giver loses: whole free pages cost nothing.
local function cost(giver, pages)
    local free = giver.free_chunks // math.max(giver.chunks_per_page, 1)
    return -core.page_gain(giver, -math.max(0, pages - free))
end

--- What moving pages from class src (0: the pool) to class dst would bring, by two snapshots some seconds apart.
-- Returns { hit_ratio_change, band (both of the hit ratio), hits_per_s, lost_per_s }; or nil and why it cannot be
-- told.
function M.move(before, after, src, dst, pages)
    local seconds = after.time_s - before.time_s
    local was, now = before.general.cmd_get, after.general.cmd_get
    if not (was and now and seconds > 0) or now - was < READS_LEAST then
        return nil, "too few reads were seen for a prediction"
    end
    local _, seen = core.pair(before, after)
    local giver, getter = seen.by_id[src], seen.by_id[dst]
    if not getter or src ~= 0 and not giver then
        return nil, "nothing is known of one of the classes"
    end
    local won, lost = core.page_gain(getter, pages), giver and cost(giver, pages) or 0
    local reads_per_s = (now - was) / seconds
    return {
        hit_ratio_change = (won - lost) / reads_per_s, hits_per_s = won - lost, lost_per_s = lost,
        band = math.max(BAND_LEAST_RATIO, BAND_RATIO * (won + lost) / reads_per_s),
    }
end

return M
