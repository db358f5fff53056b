-- SPDX-License-Identifier: BSD-3-Clause
--- The highest values of the panels of slate.chart.draw, for the drawing modules. Pure.
local gather = require "slate.base.gather"

local M = {}

--- The highest sum of the series of a stack, or its `limit` if that is higher.
function M.highest_sum(panel)
    local most = panel.limit and panel.limit.value or 0
    for i = 1, #panel.at do
        local sum = 0
        for _, one in ipairs(panel.series) do
            sum = sum + (one.values[i] or 0)
        end
        most = math.max(most, sum)
    end
    return most
end

--- The highest point of lines.
function M.highest_point(panel)
    local highest = 0
    for _, one in ipairs(panel.series) do
        for _, point in ipairs(one.points) do
            highest = math.max(highest, point[4] or point[2] or 0)
        end
    end
    return highest
end

--- Whether a series of lines has points with a least and a most.
function M.has_band(series)
    return gather.any(series.points, function(point) return point[3] end)
end

--- The highest bar of a histogram.
function M.highest_bar(panel)
    local highest = 0
    for _, bar in ipairs(panel.bars) do
        highest = math.max(highest, bar[3])
    end
    return highest
end

return M
