-- SPDX-License-Identifier: BSD-3-Clause
--- The charts of one class below each other: its evictions, hits and pages over time, the sizes of items around its
--- own, and its curve. The panel of Classes and the view of a class have them on wide screens.
local cells = require "slate.console.cells"
local figure = require "slate.console.figure"
local size_graph = require "slate.console.draw.size_graph"

local M = {}

local WIDE_FROM <const>, TALL_FROM <const>, LEAST_ROWS <const> = 160, 24, 4
local AXIS_WIDTH <const>, SOURCE_FROM_WIDTH <const> = 7, 75
local GRAPHS <const> = { { "evictions", "evictions/s" }, { "hits", "hits/s" }, { "pages", "pages" } }

--- The columns of an area that the charts take at its right; 0: it has no room for them.
function M.width(area)
    return area.width >= WIDE_FROM and area.height >= TALL_FROM and area.width * 2 // 5 or 0
end

--- What the charts of a class need of the server.
function M.add_wants(wants, id)
    wants.inquiries.curve, wants.inquiries.class_curves, wants.inquiries.sizehist = true, true, true
    wants.curves_first[1] = id
end

--- Draws values over time, from zero, below a title.
function M.draw_graph(grid, area, title, values)
    grid:rule(area.y, area.x, area.width - 1, title)
    local plot = cells.area(area.y + 1, area.x + AXIS_WIDTH, area.height - 1, area.width - AXIS_WIDTH - 1)
    local top = grid:graph(plot, cells.GRAPH, values, 0)
    grid:text_right(plot.y, plot.x - 1, cells.DIM, figure.count(top))
    grid:text_right(plot.y + plot.height - 1, plot.x - 1, cells.DIM, "0")
end

--- Draws the past of a class: three graphs, in the areas that area_of(i) returns.
function M.draw_past(model, grid, id, area_of)
    for i, graph in ipairs(GRAPHS) do
        local area = area_of(i)
        M.draw_graph(grid, area, graph[2], model:class_series(id, graph[1], area.width - AXIS_WIDTH - 1))
    end
end

-- The size above which an item goes to the class: the next smaller chunk size, or 0.
local function size_below(now, chunk_bytes)
    local below = 0
    for _, class in ipairs(now.classes) do
        local bytes = class.id > 0 and class.chunk_size or 0
        below = bytes < chunk_bytes and math.max(below, bytes) or below
    end
    return below
end

-- Draws the items by size, up to twice as small and large, with marks at the least and the greatest size of the class.
local function draw_sizes(frame, grid, area, id)
    local now, class, row = frame.model.now, frame.model:class(id), frame.model:row(id)
    local most = class.chunk_size or 0
    local least, items = size_below(now, most) + 1, class.number or 0
    local mean = class.mem_requested and items > 0 and class.mem_requested / items
    grid:rule(area.y, area.x, area.width - 1, ("sizes: %s to %s B%s%s"):format(figure.exact(least), figure.exact(most),
        mean and (", mean %s B"):format(figure.exact(mean)) or "",
        row and row.slack_ratio and (", waste %s %%"):format(figure.percent(row.slack_ratio)) or ""))
    local histogram, source, is_estimated = require("slate.console.views.sizes").histogram_of(frame, now)
    if not histogram then
        grid:text_fit(area.y + 1, area.x, area.width, cells.DIM, "waiting for the server")
        return
    elseif area.width >= SOURCE_FROM_WIDTH or is_estimated then
        grid:text_right(area.y, area.x + area.width - 1, cells.HEADER, (" %s "):format(source:match("^[^,]*")))
    end
    local near, y = {}, area.y + area.height - 2
    for _, size in ipairs(histogram.sizes) do
        near[#near + 1] = size.bytes >= least / 2 and size.bytes <= most * 2 and size or nil
    end
    local axis = size_graph.axis(near, area.x + AXIS_WIDTH, area.width - AXIS_WIDTH - 1)
    size_graph.draw_bars(grid, area.y + 1, area.height - 3, axis)
    size_graph.draw_limits(grid, y, axis, { least, most }, "class", "│", cells.STRONG)
    size_graph.draw_scale(grid, y + 1, axis)
end

--- Draws the charts that have room.
function M.draw(frame, grid, area, id)
    local curve = frame.model.answers:parsed("curve")
    local count = math.min(#GRAPHS + (curve and 2 or 1), area.height // LEAST_ROWS)
    local height = area.height // math.max(count, 1)
    local function area_of(i)
        local y = area.y + (i - 1) * height
        return cells.area(y, area.x, i < count and height or area.y + area.height - y, area.width)
    end
    if count < #GRAPHS then
        return
    end
    M.draw_past(frame.model, grid, id, area_of)
    if count > #GRAPHS then
        draw_sizes(frame, grid, area_of(#GRAPHS + 1), id)
    end
    if count > #GRAPHS + 1 then
        require("slate.console.views.curves").draw_curve(grid, area_of(count), curve,
            frame.model.answers:class_curve(id), id)
    end
end

return M
