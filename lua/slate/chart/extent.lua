-- SPDX-License-Identifier: BSD-3-Clause
--- How far the values of a panel (slate.chart.draw) go, for whoever draws it. Pure.
local M = {}

--- What the series of a stack or of bars add up to at a place, and at the place where that is most; `limit` counts.
function M.sums(panel, count)
    local sums, most = {}, panel.limit and panel.limit.value or 0
    for i = 1, count do
        sums[i] = 0
        for _, one in ipairs(panel.series) do
            sums[i] = sums[i] + (one.values[i] or 0)
        end
        most = math.max(most, sums[i])
    end
    return sums, most
end

--- The highest point of lines.
function M.highest_point(panel)
    local highest = 0
    for _, one in ipairs(panel.series) do
        for _, point in ipairs(one.points) do
            highest = math.max(highest, point[2] or 0)
        end
    end
    return highest
end

--- The highest bar of a histogram.
function M.highest_bar(panel)
    local highest = 0
    for _, bar in ipairs(panel.bars) do
        highest = math.max(highest, bar[3])
    end
    return highest
end

--- Where the first range begins, and where the last one ends.
function M.of_ranges(panel)
    local least, most = math.huge, 0
    for _, range in ipairs(panel.ranges) do
        least, most = math.min(least, range[1]), math.max(most, range[3])
    end
    return least, most
end

--- The largest cell of a matrix.
function M.of_matrix(panel)
    local most = 0
    for i = 1, #panel.names do
        for j = 1, #panel.names do
            most = math.max(most, panel.values[i][j] or 0)
        end
    end
    return most
end

return M
