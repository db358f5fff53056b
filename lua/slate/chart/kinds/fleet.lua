-- SPDX-License-Identifier: BSD-3-Clause
--- The hit ratio of many servers: a small panel for each, with the same scale, the worst first.
local gather = require "slate.base.gather"
local hits = require "slate.chart.kinds.hits"
local order = require "slate.base.order"
local time = require "slate.chart.kinds.time"

local M = {}

local MAX_SERVERS <const> = 12

local function by_server(list)
    local groups, names = {}, {}
    for _, one in ipairs(list) do
        local name = one.server or "unknown server"
        if not groups[name] then
            groups[name] = {}
            names[#names + 1] = name
        end
        table.insert(groups[name], one)
    end
    return groups, names
end

local function mean_ratio(group)
    local first, last = group[1].general, group[#group].general
    local found, missed = time.growth(first, last, "get_hits"), time.growth(first, last, "get_misses")
    return found and missed and found + missed > 0 and found / (found + missed) or nil
end

--- The figure, or nil and a message. list: snapshots of all servers, in order of time.
function M.figure(list)
    local groups, names = by_server(list)
    local rows = {}
    local axis, at, _ = time.axis(list)
    local position = {}
    for i, one in ipairs(list) do
        position[one] = at[i]
    end
    for _, name in ipairs(names) do
        local own = gather.values(groups[name], function(one) return position[one] end)
        if #own > 1 then
            local _, _, gaps = time.axis(groups[name])
            rows[#rows + 1] = { name = name, ratio = mean_ratio(groups[name]),
                points = hits.ratio_points(groups[name], own, gaps) }
        end
    end
    if #rows == 0 then
        return nil, "a chart over time needs at least two snapshots of a server"
    end
    order.largest_first(rows, function(row) return -(row.ratio or -1) end, "name") -- the worst first
    local panels = {}
    for i = 1, math.min(#rows, MAX_SERVERS) do
        panels[i] = { kind = "lines", title = ("%s: %s"):format(rows[i].name, rows[i].ratio
            and ("%.1f %% of gets hit"):format(100 * rows[i].ratio) or "no reads"), x = axis,
            y = { label = "%", min = 0, max = 100 }, series = { { points = rows[i].points } }, marks = {} }
    end
    return {
        title = #rows == 1 and "Hit ratio of one server" or ("Hit ratio of %d servers, the worst first"):format(#rows),
        panels = panels,
        columns = #panels > 4 and 2 or 1,
        note = #rows > MAX_SERVERS and ("%d better servers are left out"):format(#rows - MAX_SERVERS) or nil,
    }
end

return M
