-- SPDX-License-Identifier: BSD-3-Clause
--- Pages that nobody misses, and the share of them for each class in need. Pure.
--
-- A page at no price goes to the class to which it brings most hits, until all classes have what they fill. So a plan
-- uses all idle pages at once. `self` is the state of a plan of slate.judge.page_plan, with: one (of
-- slate.judge.view), seen (the figures of the classes; nil if unknown), given (pages that donors give already, by id)
-- and never_evicts.
local gather = require "slate.base.gather"
local limits = require "slate.judge.thresholds"
local policy_curve = require "slate.base.policy_curve"
local starving = require "slate.judge.starving"

local M = {}

local PAGE_BYTES <const> = 1 << 20
local STEPS <const> = 32 -- idle pages are shared out in so many parts

--- The pages that are filled by the items that a class evicts and refuses now, in half of the time after which free
-- pages are idle, since a class evicts less as it fills.
function M.filled_pages(row)
    local items_per_s = (row.mean_evicted_per_s or 0) + (row.out_of_memory_per_s or 0)
    return items_per_s * limits.idle_fills_s / 2 * (row.chunk_bytes or PAGE_BYTES) / PAGE_BYTES
end

-- The figures of a class; nil if unknown.
local function class_of(self, row)
    return self.seen and self.seen.by_id[row.id]
end

--- The idle pages of a class that it has not given yet: its free ones, if they are more than a healthy class keeps; or
-- half of the pages of a class that nobody reads and that evicts nothing.
function M.pages(self, row)
    if starving.is_in_need(row) or not starving.may_give(row) then
        return 0
    end
    local free, class = starving.free_pages(row), class_of(self, row)
    local is_unread = class and class.get_hits_per_s == 0 and row.evicts_lately == false and not self.never_evicts
    local pages = starving.has_spare(free) and free or is_unread and row.pages // 2 or 0
    return math.tointeger(math.max(0, pages - (self.given[row.id] or 0)))
end

-- The number of pages that a class should get next, at least `step` if it can fill them, and the worth of each: hits a
-- second; where none are expected soon, less than 0, the least where pages are filled last.
local function next_part(self, row, share, step)
    local class, room = class_of(self, row), math.max(1, M.filled_pages(row) // 1) - share
    local had, best, worth, pages = class and policy_curve.gain(class, share) or 0, 0, nil, step
    while pages <= room do
        local hits = class and (policy_curve.gain(class, share + pages) - had) / pages or 0
        if not worth or hits > worth then
            best, worth = pages, hits
        end
        pages = 2 * pages
    end
    return best, worth and worth > 0 and worth or -(share + best) / M.filled_pages(row)
end

-- Whether earlier shares are about as good as new ones, and there are pages for them.
local function still_hold(earlier, shares, idle)
    for id, pages in pairs(shares) do
        local was = earlier[id] or 0
        if was > limits.clearly_ratio * pages or pages > limits.clearly_ratio * was then
            return false
        end
        idle = idle - was
    end
    return idle >= 0
end

--- The share of the idle pages for each class in need, by its id. rows: of these classes; earlier: the shares of an
-- earlier plan, which stay while they are about as good; or nil.
function M.shares(self, rows, earlier)
    local idle = gather.sum(self.one.rows, function(row) return M.pages(self, row) end)
    local shares, parts, left, step = {}, {}, idle, math.max(1, idle // STEPS)
    for _, row in ipairs(left > 0 and rows or {}) do
        local pages, worth = next_part(self, row, 0, step)
        parts[#parts + 1] = pages > 0 and { row = row, pages = pages, worth = worth } or nil
    end
    while left > 0 and #parts > 0 do
        local at = 1
        for i, part in ipairs(parts) do
            at = part.worth > parts[at].worth and i or at
        end
        local part = parts[at]
        local id, pages = part.row.id, math.min(part.pages, left)
        shares[id], left = (shares[id] or 0) + pages, left - pages
        part.pages, part.worth = next_part(self, part.row, shares[id], step)
        if part.pages == 0 then
            table.remove(parts, at)
        end
    end
    return earlier and still_hold(earlier, shares, idle) and earlier or shares
end

return M
