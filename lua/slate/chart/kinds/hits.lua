-- SPDX-License-Identifier: BSD-3-Clause
--- The hit ratio over time, and below it the losses: two panels with one axis of time, never two scales in one.
local time = require "slate.chart.kinds.time"

local M = {}

-- The figures of each interval between two snapshots: hits of gets in percent, evictions and refused stores a second.
local function intervals(list)
    local hits, evicted, refused = {}, {}, {}
    for i = 2, #list do
        local before, after = list[i - 1], list[i]
        local seconds = math.max(after.time_s - before.time_s, 1e-3)
        local found, missed = time.growth(before.general, after.general, "get_hits"),
            time.growth(before.general, after.general, "get_misses")
        hits[i - 1] = found and missed and found + missed > 0 and 100 * found / (found + missed) or false
        local lost, turned_away = time.growth(before.general, after.general, "evictions"), time.refused(before, after)
        evicted[i - 1] = lost and lost / seconds or false
        refused[i - 1] = turned_away and turned_away / seconds or false
    end
    return hits, evicted, refused
end

--- The points of the hit ratio over a list of snapshots, each { x, percent or false }, and true if any has a ratio.
function M.ratio_points(list, at, gaps)
    local hits, points, any = intervals(list), {}, false
    for i = 1, #list - 1 do
        local value = not gaps[i + 1] and hits[i]
        any = any or value
        points[#points + 1] = { at[i], value }
        points[#points + 1] = { at[i + 1], value }
    end
    return points, any
end

--- The figure, or nil and a message.
function M.figure(list)
    if #list < 2 then
        return nil, "a chart over time needs at least two snapshots"
    end
    local axis, at, gaps = time.axis(list)
    local points, any = M.ratio_points(list, at, gaps)
    if not any then
        return nil, "no key was read in all that time, so there is no hit ratio to draw"
    end
    local _, evicted, refused = intervals(list)
    local losses = {}
    for i, one in ipairs({ { label = "evicted", values = evicted, colour = 4 },
        { label = "refused", values = refused, colour = 8 } }) do
        local is_reported = false
        for j, value in ipairs(one.values) do
            is_reported, one.values[j] = is_reported or value ~= false, value or 0
        end
        one.values[#list] = one.values[#list - 1]
        one.label = is_reported and one.label or one.label .. ": not reported"
        losses[i] = one
    end
    return {
        title = time.title("Hits and losses", list),
        panels = {
            { kind = "lines", x = axis, y = { label = "hits of gets, %", min = 0, max = 100 }, weight = 3,
                series = { { label = "hit ratio", points = points } }, marks = time.marks(list, at) },
            { kind = "stack", x = axis, y = { label = "items a second" }, at = at, gaps = gaps, weight = 2,
                series = losses },
        },
    }
end

return M
