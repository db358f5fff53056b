-- SPDX-License-Identifier: BSD-3-Clause
--- Items by size as a graph over chunk sizes: bars, marks at the limits of classes, and a scale. Sizes are in bins,
-- eight to each doubling, as slated counts them; a column shows one bin, or several.
local cells = require "slate.console.cells"
local figure = require "slate.console.figure"
local units = require "slate.base.units"

local M = {}

local FIRST_BYTES <const>, BINS_A_DOUBLING <const>, BIN_LAST <const> = 8, 8, 215 -- up to 1 GiB
local MARGIN_BINS <const>, COLUMNS_A_BIN <const> = 3, 8
local SCALE_FIRST_BYTES <const>, SCALE_END_BYTES <const> = 16, 1e9
local MARKS_MOST <const> = 9 -- in one column, as a digit

-- The bin of a size, from 0.
local function bin_of(bytes)
    local doubling, bin = FIRST_BYTES, 0
    while bytes > 2 * doubling and bin < BIN_LAST do
        doubling, bin = 2 * doubling, bin + BINS_A_DOUBLING
    end
    return math.min(bin + math.max(math.ceil((bytes / doubling - 1) * BINS_A_DOUBLING) - 1, 0), BIN_LAST)
end

-- The largest size of a bin.
local function bin_end(bin)
    local doubling = FIRST_BYTES * 2.0 ^ (bin // BINS_A_DOUBLING)
    return doubling + doubling / BINS_A_DOUBLING * (bin % BINS_A_DOUBLING + 1)
end

--- The columns of a graph, from x on at most `room`: bins with items, and a few beside them. sizes: { bytes, items }.
function M.axis(sizes, x, room)
    local items, first, last = {}, nil, 0
    for _, size in ipairs(sizes) do
        if size.bytes > 0 and size.items > 0 then
            local bin = bin_of(size.bytes)
            items[bin] = (items[bin] or 0) + size.items
            first, last = math.min(first or bin, bin), math.max(last, bin)
        end
    end
    first = math.max((first or 0) - MARGIN_BINS, 0)
    local bins = math.min(last + MARGIN_BINS, BIN_LAST) - first + 1
    return { items = items, first = first, bins = bins, x = x,
        width = math.max(math.min(room, bins * COLUMNS_A_BIN), 0) }
end

-- The column of a size, from 0; nil: it is not shown.
local function column_of(axis, bytes)
    local bin = bin_of(bytes)
    if bin < axis.first or bin >= axis.first + axis.bins then
        return nil
    end
    local begin = bin > 0 and bin_end(bin - 1) or 0
    local share = math.min((bytes - begin) / (bin_end(bin) - begin), 0.999)
    return (bin - axis.first + share) * axis.width // axis.bins
end

--- Draws a bar a column.
function M.draw_bars(grid, y, height, axis)
    local values = { n = axis.width }
    for i = 0, axis.width - 1 do
        local from, to = i * axis.bins // axis.width, (i + 1) * axis.bins // axis.width
        local sum = 0
        for bin = from, math.max(to - 1, from) do
            sum = sum + (axis.items[axis.first + bin] or 0)
        end
        values[i + 1] = sum
    end
    local high = grid:graph(cells.area(y, axis.x, height, axis.width), cells.GRAPH, values, 0)
    grid:text_right(y, axis.x - 1, cells.DIM, figure.count(high))
    grid:text_right(y + height - 1, axis.x - 1, cells.DIM, "0")
end

--- Draws a mark at each of a list of sizes; a digit for several in one column.
function M.draw_limits(grid, y, axis, sizes, label, glyph, style)
    local marks = {}
    for _, bytes in ipairs(sizes) do
        local column = column_of(axis, bytes)
        if column then
            marks[column] = (marks[column] or 0) + 1
        end
    end
    grid:text_right(y, axis.x - 1, style, label)
    for column, count in pairs(marks) do
        grid:text(y, axis.x + column, style, count == 1 and glyph or count > MARKS_MOST and "+" or ("%d"):format(count))
    end
end

--- Draws powers of two, each ending at its column, as far as there is room.
function M.draw_scale(grid, y, axis)
    local bytes, free_from = SCALE_FIRST_BYTES, 0
    while bytes < SCALE_END_BYTES do
        local text, column = units.bytes_in_words(bytes), column_of(axis, bytes)
        if column and column - #text + 1 >= free_from then
            grid:text(y, axis.x + column - #text + 1, cells.DIM, text)
            free_from = column + 2
        end
        bytes = bytes * 2
    end
end

return M
