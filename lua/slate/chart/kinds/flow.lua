-- SPDX-License-Identifier: BSD-3-Clause
--- Which class gave pages to which, as a matrix of counts.
--
-- No server says it of the past, so it is read from the page counts of neighbouring snapshots: who lost is matched with
-- who gained, the largest first. With one move between two samples that is exact; what went there and back between two
-- is not seen.
local time = require "slate.chart.kinds.time"

local M = {}

local MAX_CLASSES <const> = 12

-- Changes of page counts between two snapshots: losers and gainers, the largest first, the pool as 0.
local function changes(before, after)
    local was, losers, gainers = {}, {}, {}
    for _, class in ipairs(before.classes) do
        was[class.id] = class.total_pages
    end
    local function note(id, delta)
        if delta ~= 0 then
            table.insert(delta < 0 and losers or gainers, { id = id, pages = math.abs(delta) })
        end
    end
    for _, class in ipairs(after.classes) do
        note(class.id, (class.total_pages or 0) - (was[class.id] or 0))
        was[class.id] = nil
    end
    for id, pages in pairs(was) do
        note(id, -pages)
    end
    note(0, (after.pages_free or 0) - (before.pages_free or 0))
    local function larger(a, b)
        if a.pages ~= b.pages then
            return a.pages > b.pages
        end
        return a.id < b.id
    end
    table.sort(losers, larger)
    table.sort(gainers, larger)
    return losers, gainers
end

--- Moves of pages that a list of snapshots shows: a list of { from, to, pages }, one for each pair that has any.
function M.moves(list)
    local sums, moves = {}, {}
    for i = 2, #list do
        local losers, gainers = changes(list[i - 1], list[i])
        local l, g = 1, 1
        while losers[l] and gainers[g] do
            local pages = math.min(losers[l].pages, gainers[g].pages)
            local key = losers[l].id << 16 | gainers[g].id
            if not sums[key] then
                sums[key] = { from = losers[l].id, to = gainers[g].id, pages = 0 }
                moves[#moves + 1] = sums[key]
            end
            sums[key].pages = sums[key].pages + pages
            losers[l].pages, gainers[g].pages = losers[l].pages - pages, gainers[g].pages - pages
            l = losers[l].pages == 0 and l + 1 or l
            g = gainers[g].pages == 0 and g + 1 or g
        end
    end
    return moves
end

-- The classes that moved most, in order; others are left out and counted.
local function busiest(moves)
    local by_id, ids = {}, {}
    for _, move in ipairs(moves) do
        for _, id in ipairs({ move.from, move.to }) do
            if not by_id[id] then
                by_id[id] = 0
                ids[#ids + 1] = id
            end
            by_id[id] = by_id[id] + move.pages
        end
    end
    return time.largest(ids, MAX_CLASSES, function(id) return by_id[id] end)
end

--- The figure, or nil and a message.
function M.figure(list)
    if #list < 2 then
        return nil, "a chart of moves needs at least two snapshots"
    end
    local moves = M.moves(list)
    if #moves == 0 then
        return nil, "no page changed hands in all that time, so there is nothing to draw"
    end
    local ids, left_out = busiest(moves)
    local names, index, values, total = {}, {}, {}, 0
    for i, id in ipairs(ids) do
        names[i], index[id], values[i] = id == 0 and "pool" or tostring(id), i, {}
    end
    for _, move in ipairs(moves) do
        if index[move.from] and index[move.to] then
            values[index[move.from]][index[move.to]] = move.pages
        end
        total = total + move.pages
    end
    return {
        title = time.title("Page moves", list),
        note = ("%d pages over %.0f s, read from the page counts of %d samples%s"):format(total,
            list[#list].time_s - list[1].time_s, #list,
            left_out > 0 and ("; %d classes that moved least are left out"):format(left_out) or ""),
        panels = { { kind = "matrix", x = { label = "to class" }, y = { label = "from class" }, names = names,
            values = values, unit = "pages" } },
    }
end

return M
