-- SPDX-License-Identifier: BSD-3-Clause
--- A figure (slate.chart.draw defines it) as text, without gnuplot: every kind, readable without colour. Pure.
local extent = require "slate.chart.extent"
local gather = require "slate.base.gather"
local gnuplot = require "slate.chart.gnuplot"
local trimmed = require("slate.base.units").trimmed

local M = {}

local LETTERS <const> = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
local COLOURS <const> = { 25, 214, 36, 166, 74, 227, 175, 24, 94, 245 } -- of 256, near chart_gnuplot's palette
local LEFT <const> = 9 -- columns for the numbers of the y axis

local Canvas = {}
Canvas.__index = Canvas

local function canvas(width, height)
    local self = setmetatable({ width = width, height = height, cells = {}, colours = {} }, Canvas)
    for row = 1, height do
        self.cells[row], self.colours[row] = {}, {}
    end
    return self
end

-- Writes a text at a place; cuts what is outside of the canvas.
function Canvas:put(column, row, text, colour)
    for i = 1, #text do
        local at = column + i - 1
        if at >= 1 and at <= self.width and self.cells[row] then
            self.cells[row][at], self.colours[row][at] = text:sub(i, i), colour
        end
    end
end

function Canvas:text(coloured)
    local lines = {}
    for row = 1, self.height do
        local parts, current = {}, nil
        for column = 1, self.width do
            local colour = coloured and self.colours[row][column] or nil
            if colour ~= current then
                parts[#parts + 1] = colour and ("\27[38;5;%dm"):format(colour) or "\27[0m"
                current = colour
            end
            parts[#parts + 1] = self.cells[row][column] or " "
        end
        lines[row] = trimmed(table.concat(parts)) .. (current and "\27[0m" or "")
    end
    return table.concat(lines, "\n") .. "\n"
end

-- The letter and colour of a series. Letters go on from panel to panel: each has one meaning in a figure.
local function sign_of(panel, i)
    local series = panel.series[i]
    if series.grey then
        return ".", nil
    end
    local letter = (panel.letters or 0) + i
    letter = (letter - 1) % #LETTERS + 1
    return LETTERS:sub(letter, letter), COLOURS[((series.colour or i) - 1) % #COLOURS + 1]
end

-- The plane of a panel: the place of its cells, and functions from values to places.

local function plane_of(top, height, left, width, x, y)
    local function scale(axis, cells)
        local low, high = axis.min or 0, axis.max
        if axis.log then
            low, high = math.log(low), math.log(high)
        end
        return function(value)
            value = axis.log and math.log(math.max(value, 1e-300)) or value
            return (value - low) / math.max(high - low, 1e-12) * (cells - 1)
        end, function(cell)
            local value = low + cell / math.max(cells - 1, 1) * (high - low)
            return axis.log and math.exp(value) or value
        end
    end
    local plane = { top = top, left = left, width = width, height = height, x = x, y = y }
    plane.column_of, plane.x_at = scale(x, width)
    plane.row_of, plane.y_at = scale(y, height)
    return plane
end

-- Draws a cell of the plane: column from the left, row from the bottom, both from 0.
local function dot(page, plane, column, row, sign, colour)
    if column >= 0 and column < plane.width and row >= 0 and row < plane.height then
        page:put(plane.left + column, plane.top + plane.height - 1 - row, sign, colour)
    end
end

local function x_ticks(x, width)
    if x.ticks then
        return x.ticks
    end
    local ticks, step = {}, gnuplot.tic_step(x.max, math.max(2, width // 12))
    for i = 0, math.floor(x.max / step + 1e-9) do
        ticks[#ticks + 1] = { i * step, gnuplot.in_thousands(i * step) }
    end
    return ticks
end

local function draw_x_axis(page, plane)
    local row, free = plane.top + plane.height, 0
    page:put(plane.left - 1, row, "+" .. ("-"):rep(plane.width))
    for _, tick in ipairs(x_ticks(plane.x, plane.width)) do
        local column = plane.left + math.floor(plane.column_of(tick[1]) + 0.5)
        local start = math.min(column - #tick[2] // 2, plane.left + plane.width - #tick[2])
        if start > free and column <= plane.left + plane.width then
            page:put(column, row, "+")
            page:put(start, row + 1, tick[2])
            free = start + #tick[2]
        end
    end
    page:put(plane.left + math.max(0, (plane.width - #plane.x.label) // 2), row + 2, plane.x.label)
end

local function draw_y_axis(page, plane)
    for row = 0, plane.height - 1 do
        page:put(plane.left - 1, plane.top + row, "|")
    end
    local step = gnuplot.tic_step(plane.y.max - (plane.y.min or 0), math.max(1, plane.height // 3))
    for i = 0, math.floor((plane.y.max - (plane.y.min or 0)) / step + 1e-9) do
        local value = (plane.y.min or 0) + i * step
        local text = gnuplot.in_thousands(value)
        page:put(plane.left - 2 - #text, plane.top + plane.height - 1 - math.floor(plane.row_of(value) + 0.5), text)
    end
end

local function draw_marks(page, plane, panel)
    local marks, free = panel.marks, plane.left + #(panel.title or panel.y.label) + 1 - LEFT
    for _, mark in ipairs(marks or {}) do
        local column = math.floor(plane.column_of(mark.x) + 0.5)
        for row = 0, plane.height - 1 do
            dot(page, plane, column, row, "!")
        end
        local start = math.min(math.max(plane.left + column, free), page.width - #mark.label + 1)
        if start >= free and start <= plane.left + column + 9 then -- a label without room is left out
            page:put(start, plane.top - 1, mark.label)
            free = start + #mark.label + 1
        end
    end
end

-- Draws a line from side to side over the plot, with its label above the right end.
local function draw_limit(page, plane, limit)
    local row = math.floor(plane.row_of(limit.value) + 0.5)
    for column = 0, plane.width - 1 do
        dot(page, plane, column, row, "-")
    end
    page:put(plane.left + plane.width - #limit.label, plane.top + plane.height - 1 - row, limit.label)
end

-- Kinds: each gets a page and the rows from `top` on, `height` of them.

local kinds = {}

local function with_axes(page, panel, top, height, y)
    local plane = plane_of(top + 1, height - 4, LEFT + 1, page.width - LEFT, panel.x, y)
    draw_x_axis(page, plane)
    draw_y_axis(page, plane)
    page:put(1, top, panel.title or panel.y.label)
    return plane
end

-- The sample that is valid at a place, or nil in a gap.
local function sample_at(panel, x)
    local low, high = 1, #panel.at
    while low < high do
        local middle = (low + high + 1) // 2
        if panel.at[middle] <= x then
            low = middle
        else
            high = middle - 1
        end
    end
    return not (panel.gaps[low + 1] and x > panel.at[low]) and low or nil
end

function kinds.stack(page, panel, top, height)
    local most = extent.highest_sum(panel)
    local plane = with_axes(page, panel, top, height, { min = 0, max = most > 0 and most or 1 })
    for column = 0, plane.width - 1 do
        local sample = sample_at(panel, plane.x_at(column))
        local from = 0
        for b, band in ipairs(sample and panel.series or {}) do
            local sign, colour = sign_of(panel, b)
            local to = from + band.values[sample]
            for row = math.floor(plane.row_of(from) + 0.5), math.ceil(plane.row_of(to) - 0.5) do
                if plane.y_at(row) >= from and plane.y_at(row) < to then
                    dot(page, plane, column, row, sign, colour)
                end
            end
            from = to
        end
    end
    if panel.limit then
        draw_limit(page, plane, panel.limit)
    end
    draw_marks(page, plane, panel)
end

function kinds.lines(page, panel, top, height)
    local plane = with_axes(page, panel, top, height, panel.y)
    draw_marks(page, plane, panel)
    for s = #panel.series, 1, -1 do
        local one = panel.series[s]
        local sign, colour = sign_of(panel, s)
        for i, point in ipairs(one.points) do
            local last = one.points[i - 1]
            local column = math.floor(plane.column_of(point[1]) + 0.5)
            local from = point[2] and last and last[2] and not panel.points
                and math.floor(plane.column_of(last[1]) + 0.5) or column
            for between = from, column do
                if point[2] then
                    local share = column > from and (between - from) / (column - from) or 1
                    local value = column > from and last[2] + (point[2] - last[2]) * share or point[2]
                    dot(page, plane, between, math.floor(plane.row_of(value) + 0.5), sign, colour)
                end
            end
        end
    end
end

function kinds.histogram(page, panel, top, height)
    local bars = panel.bars
    local x = { label = panel.x.label, log = true, ticks = panel.x.ticks, min = bars[1][1], max = bars[#bars][2] }
    local y = { min = 0, max = math.max(extent.highest_bar(panel), 1) }
    local plane = with_axes(page, { x = x, y = panel.y }, top, height, y)
    for _, bar in ipairs(bars) do
        local from, to = math.floor(plane.column_of(bar[1]) + 0.5), math.floor(plane.column_of(bar[2]) + 0.5)
        for column = from, math.max(from, to - 1) do
            for row = 0, bar[3] > 0 and math.max(0, math.floor(plane.row_of(bar[3]) + 0.5) - 1) or -1 do
                dot(page, plane, column, row, "#", COLOURS[5])
            end
        end
    end
    for _, limit in ipairs(panel.limits) do
        dot(page, plane, math.floor(plane.column_of(limit) + 0.5), plane.height - 1, "|", COLOURS[4])
    end
end

-- The meanings of the letters, as many to a line as fit.
local function legend_lines(figure, width)
    local lines, seen = {}, {}
    local function item(text)
        if #lines > 0 and #lines[#lines] + #text + 3 <= width then
            lines[#lines] = lines[#lines] .. "   " .. text
        else
            lines[#lines + 1] = text
        end
    end
    for _, panel in ipairs(figure.panels) do
        for s, one in ipairs(panel.series or {}) do
            local text = one.label and ("%s %s"):format((sign_of(panel, s)), one.label)
            if text and not seen[text] then
                seen[text] = true
                item(text)
            end
        end
        if panel.kind == "histogram" then
            item("# items   | chunk sizes")
        end
    end
    return lines
end

-- A text in lines of at most `width` characters.
local function wrapped(text, width)
    return gather.words(require("slate.base.table").wrap(text, 0, width), "[^\n]+")
end

--- Draws a figure. options: width and height in characters (80, 24), colour.
function M.draw(figure, options)
    local width = math.max(40, options.width or 80)
    local title = wrapped((figure.title:gsub("[%c\127-\255]", "?")), width)
    local letters = 0
    for _, panel in ipairs(figure.panels) do
        panel.letters = letters
        letters = letters + (panel.series and panel.series[1] and panel.series[1].label and #panel.series or 0)
    end
    local tail = legend_lines(figure, width)
    if figure.note then
        local note = wrapped(figure.note, width)
        table.move(note, 1, #note, #tail + 1, tail)
    end
    local left = (options.height or 24) - #title - #tail
    local each = math.max(9, left // #figure.panels)
    local page = canvas(width, #title + #figure.panels * each + #tail)
    for i, line in ipairs(title) do
        page:put(1, i, line)
    end
    local top = #title + 1
    for _, panel in ipairs(figure.panels) do
        kinds[panel.kind](page, panel, top, each)
        top = top + each
    end
    for i, line in ipairs(tail) do
        page:put(1, top + i - 1, line)
    end
    return page:text(options.colour)
end

return M
