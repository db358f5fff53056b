-- SPDX-License-Identifier: BSD-3-Clause
--- What came of a move of pages (of slate.act.move), by the page counts and counters of the server before and after it:
-- the server's OK says only that a move is scheduled.
local automove = require "slate.facts.automove"
local snapshot = require "slate.facts.snapshot"
local units = require "slate.base.units"

local M = {}

--- The increase of a counter of the server; nil if unknown. before, after: `general` of two snapshots.
function M.growth(before, after, name)
    local was, is = before[name], after[name]
    return math.type(was) and math.type(is) and is - was or nil
end

-- slated counts the items that its moves evict; nil if not reported, or if counters began anew.
local function evicted_by_moves(lines_before, lines_after)
    local figures = require("slate.facts.stats").figures
    local evicted = M.growth(figures(lines_before or {}), figures(lines_after or {}), "evicted")
    return evicted and evicted >= 0 and evicted or nil
end

local function note_losses(result, plan, after)
    local before = plan.before
    local function rise(name)
        return M.growth(before.general, after.general, name)
    end
    result.items_rescued, result.busy_items = rise("slab_reassign_rescues"), rise("slab_reassign_busy_items")
    local dropped = math.max(0, rise("slab_reassign_evictions_nomem") or 0)
        + math.max(0, rise("slab_reassign_busy_deletes") or 0)
    if plan.slated then
        local evicted = evicted_by_moves(plan.moves_before, plan.moves_after)
        result.items_lost = evicted and evicted + dropped
        return
    end
    -- memcached evicts from the source to make room for rescued items, and counts these with the evictions by stores:
    -- the sum is a bound, and the number of lost items is unknown.
    local class, class_after = snapshot.by_id(before)[plan.src], snapshot.by_id(after)[plan.src]
    local first, last = class and class.evicted, class_after and class_after.evicted
    result.items_evicted_at_most = first and last and last >= first and last - first + dropped or nil
end

-- Why pages that moved are not where they were sent: names only causes that were seen.
local function why_not_there(plan, after, counted)
    local stored = M.growth(plan.before.general, after.general, "total_items")
        or M.growth(plan.before.general, after.general, "cmd_set")
    local seen = {}
    if plan.automove == 0 then
        seen[1] = "automove is off"
    elseif plan.automove ~= nil then
        seen[1] = ("automove is %s and may have moved pages back"):format(automove.name_of(plan.automove))
    end
    if stored == 0 then
        seen[#seen + 1] = "nothing was stored meanwhile"
    elseif stored and stored > 0 then
        seen[#seen + 1] = units.plural(stored, "item") .. " stored meanwhile may have taken pages"
    end
    return ("the server counted %s, but the page counts do not show %s%s"):format(units.plural(counted, "page move"),
        plan.pages == 1 and "it" or "them all", #seen > 0 and " (" .. table.concat(seen, "; ") .. ")" or "")
end

-- The reason why slated's last move of this kind gave up, or where it is stuck; nil if not reported.
local function reason_of_slated(plan)
    local record = require "slate.facts.moves"
    local _, before = record.parse(plan.moves_before or {})
    local totals, moves = record.parse(plan.moves_after or {})
    local last_number = before[#before] and before[#before].number or -1
    for i = #moves, 1, -1 do
        local one = moves[i]
        if one.number > last_number and one.from == plan.src and one.to == plan.dst and one.outcome ~= "moved" then
            return one.outcome
        end
    end
    return totals.running == 1 and totals.last_busy ~= "none" and totals.last_busy or nil
end

-- Pages that changed hands, by the page counts. The larger of the two sides counts: meanwhile a class may get or give
-- other pages by itself.
local function note_pages(result, plan, after)
    local src, dst = snapshot.pages_of(after, plan.src), snapshot.pages_of(after, plan.dst)
    result.src_pages_before, result.src_pages_after = plan.src_pages, plan.src_pages and src
    result.dst_pages_before, result.dst_pages_after = plan.dst_pages, dst or 0
    local given = result.src_pages_after and plan.src_pages - result.src_pages_after or 0
    local gained = result.dst_pages_after - plan.dst_pages
    result.pages_moved = math.max(0, math.min(plan.pages, math.max(given, gained)))
end

--- Finds the outcome of a move by comparing page counts and counters with those of the plan. Fills `result`; state
-- becomes "moved", "partly" or "not moved".
function M.verify(result, plan, after)
    note_pages(result, plan, after)
    note_losses(result, plan, after)
    result.slabs_moved = M.growth(plan.before.general, after.general, "slabs_moved")
    result.state = result.pages_moved == plan.pages and "moved" or result.pages_moved > 0 and "partly" or "not moved"
    local reason = plan.slated and result.state ~= "moved" and reason_of_slated(plan)
    if reason then
        result.why = result.why and ("%s: %s"):format(result.why, reason) or reason
    elseif result.state ~= "moved" and not result.why then
        local counted = result.slabs_moved or 0
        result.why = counted >= plan.pages
            and why_not_there(plan, after, counted)
            or ("the server gave the move up (%s)"):format(units.plural(result.busy_items or 0, "busy item"))
    end
    return result
end

--- The outcome in words.
function M.words(plan, result)
    local route = ("from %s to %s"):format(units.place(plan.src), units.place(plan.dst))
    if result.state == "accepted" then
        return ("the server accepted %d of %s %s%s; add --wait to see that they moved"):format(result.pages_accepted,
            units.plural(plan.pages, "page move"), route, result.why and ", then: " .. result.why or "")
    end
    local parts = { ("moved %d of %s %s in %.2f s"):format(result.pages_moved, units.plural(plan.pages, "page"), route,
        result.elapsed_s) }
    if result.src_pages_after then
        parts[#parts + 1] = ("%s has %s (was %d)"):format(units.place(plan.src),
            units.plural(result.src_pages_after, "page"), result.src_pages_before)
    end
    parts[#parts + 1] = ("%s has %s (was %d)"):format(units.place(plan.dst),
        units.plural(result.dst_pages_after, "page"), result.dst_pages_before)
    if result.items_rescued then
        parts[#parts + 1] = units.plural(result.items_rescued, "item") .. " moved over"
    end
    if result.items_lost then
        parts[#parts + 1] = units.plural(result.items_lost, "item") .. " lost"
    elseif result.items_evicted_at_most then
        local most = result.items_evicted_at_most
        parts[#parts + 1] = most == 0 and "no item evicted" or ("at most %s evicted for them"):format(
            most == result.items_rescued and "as many older ones" or units.plural(most, "older item"))
    end
    if result.busy_retries > 0 then
        parts[#parts + 1] = units.plural(result.busy_retries, "busy retry", "busy retries")
    end
    if result.why then
        parts[#parts + 1] = result.why
    end
    return table.concat(parts, "; ")
end

return M
