-- SPDX-License-Identifier: BSD-3-Clause
--- Which classes starve, and who could give them pages. Pure.
--
-- The rule is that of slatetop, which has it in C (console/health.c and action_suggest_source of console/action.c):
-- both say the same of the same two samples, and slate-terms(7) says it in words (starving). Rows are of slate.view.
local M = {}

local SPARE_PAGES <const> = 2 -- a page of free chunks is what a class keeps that is well
local AGE_RATIO <const> = 2 -- a tail so many times as old is one that could give
local SETTLED_S <const> = 60 -- in a cache that has just filled up, ages say nothing yet

--- The age of a class's oldest item that eviction could take; nil where it has none.
function M.tail_age_s(row)
    return row.items ~= 0 and row.age_s or nil
end

--- Whether the server has evicted for so long that ages mean something. before and rates may be nil.
function M.has_settled(now, before, rates)
    local evicting_s = now.general.evictions == 0 and 0
        or before and before.general.evictions == 0 and rates and rates.interval_s or math.huge
    return math.min(evicting_s, now.general.uptime or math.huge) >= SETTLED_S
end

-- What a class could give for nothing, in whole pages: never its last one.
local function whole_free_pages(row)
    return math.min((row.free_pages or 0) // 1, row.pages - 1)
end

-- The age of its tail when a page is gone: a class of two pages loses half of it.
local function age_left_s(row, whole)
    return (M.tail_age_s(row) or 0) * (whole >= 1 and 1 or 1 - 1 / row.pages)
end

local function may_give(row, to)
    local evicts = row.evicted_per_s or 0
    local evicts_more = evicts > 0 and not (to.evicted_per_s and evicts < to.evicted_per_s)
    return row.id ~= to.id and (row.pages or 0) >= 2 and not evicts_more and (row.pages_delta or 0) <= 0
end

--- Whether so many free pages are more than a class keeps that is well.
function M.has_spare(free_pages)
    return free_pages >= SPARE_PAGES
end

--- The best giver for a class: whole free pages first, then the oldest tail. Never a class that evicts as much as the
-- taker, nor one that has just got pages: it needed them. Returns its row and the whole pages it can give for nothing;
-- or nil.
function M.giver_for(to, rows)
    local best, best_free, best_age_s
    for _, row in ipairs(rows) do
        if may_give(row, to) then
            local whole = whole_free_pages(row)
            local age_s = age_left_s(row, whole)
            if not best or whole > best_free or whole == best_free and age_s > best_age_s then
                best, best_free, best_age_s = row, whole, age_s
            end
        end
    end
    return best, best_free
end

--- Whether a class evicts while another, no younger one has two free pages, or, where ages count, keeps its items at
-- least twice as long. ages_count: has_settled, and not under automove utility, which goes by hits.
function M.starves(row, rows, ages_count)
    if not ((row.pages or 0) > 0 and (row.evicted_per_s or 0) > 0) or (row.free_pages or 0) >= 1 then
        return false -- or it was given pages and is filling them
    end
    local giver, free = M.giver_for(row, rows)
    if not giver then
        return false
    end
    local own_s, giver_s = M.tail_age_s(row), M.tail_age_s(giver)
    local is_younger = own_s and giver_s and giver_s < own_s -- about to fill its free pages itself
    return M.has_spare(free) and not is_younger
        or ages_count and giver_s ~= nil and giver_s >= AGE_RATIO * math.max(own_s or 0, 1)
end

return M
