-- SPDX-License-Identifier: BSD-3-Clause
--- Memory that a server holds in pages, against its limit. Pure.
--
-- A class with items keeps a page, whatever the limit is; and a limit that was lowered is met in time, or never.
-- slate-terms(7) says the rule in words (memory.held).
local M = {}

local PAGE_BYTES <const> = 1 << 20

-- From where on it is worth a word: a page or two over the limit is what a class costs that has just come into use.
local MOST_BYTES <const> = 4 * PAGE_BYTES

--- So much of the limit beyond it, and more than 4 MiB, is worth a word.
M.MOST_RATIO = 0.1

-- Bytes over the limit; nil when the server does not tell.
local function over_bytes(one)
    local held, limit = one.totals and one.totals.total_malloced, one.general.limit_maxbytes
    return held and limit and limit > 0 and math.max(0, held - limit) or nil
end

--- What is held beyond the limit, the less of two samples (before may be nil), so that a moment does not count.
-- Returns { held_bytes, limit_bytes, over_bytes, over_ratio (of the limit), is_falling, classes (that have pages),
-- is_by_classes (a page for each of these is more than the limit), is_much }; or nil when the server does not tell.
function M.over(now, before)
    local over, was = over_bytes(now), before and over_bytes(before)
    if not over then
        return nil
    end
    local limit, classes = now.general.limit_maxbytes, 0
    for _, class in ipairs(now.classes) do
        classes = classes + ((class.total_pages or 0) > 0 and 1 or 0)
    end
    local least = math.min(over, was or over)
    return {
        held_bytes = now.totals.total_malloced, limit_bytes = limit, over_bytes = least, over_ratio = least / limit,
        is_falling = was ~= nil and over < was, classes = classes, is_by_classes = classes * PAGE_BYTES > limit,
        is_much = least > MOST_BYTES and least > limit * M.MOST_RATIO,
    }
end

return M
