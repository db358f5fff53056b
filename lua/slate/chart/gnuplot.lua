-- SPDX-License-Identifier: BSD-3-Clause
--- A figure (slate.chart.draw defines it) as a script for gnuplot. Pure: the same figure gives the same text.
local extent = require "slate.chart.extent"
local gather = require "slate.base.gather"

local M = {}

local GREY <const>, INK <const> = "#c8c8c8", "#202020"
-- Ten colours that colour-blind people can tell apart side by side (after Okabe and Ito, with tints).
M.PALETTE = {
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#f0e442", "#cc79a7", "#004466", "#8c510a", "#8a8a8a",
}
local LETTER_PIXELS <const>, TIC_PIXELS <const> = 8.5, 45
local PLOT_SHARE <const> = 0.68 -- the least share of a panel's width for the plot; labels get the remainder

--- A gnuplot string of one line: in single quotes, doubled inside, so that gnuplot interprets nothing in it.
function M.quoted(text)
    return "'" .. text:gsub("%c", " "):gsub("'", "''") .. "'"
end
local quoted <const> = M.quoted

local function number(n)
    return math.type(n) == "integer" and tostring(n) or ("%.6g"):format(n)
end

local SCALES <const> = { "", "K", "M", "G", "T" }

-- A number with at most four figures, in thousands from 10,000 on.
local function in_thousands(value)
    local step = 1
    while math.abs(value) >= 10000 and step < #SCALES do
        value, step = value / 1000, step + 1
    end
    return ("%.4g"):format(value) .. SCALES[step]
end
M.in_thousands = in_thousands

local function add(lines, format, ...)
    lines[#lines + 1] = format:format(...)
end

local function add_block(lines, name, rows)
    add(lines, "$%s << SLATE_END", name)
    table.move(rows, 1, #rows, #lines + 1, lines)
    lines[#lines + 1] = "SLATE_END"
end

--- A step of 1, 2 or 5 times a power of ten that gives at most `most` tics.
function M.tic_step(span, most)
    local step = 10 ^ math.floor(math.log(span / most, 10))
    for _, factor in ipairs({ 1, 2, 5, 10 }) do
        if span / (step * factor) <= most + 1e-9 then
            return step * factor
        end
    end
end

local function colour_of(series, i)
    return series.grey and GREY or M.PALETTE[((series.colour or i) - 1) % #M.PALETTE + 1]
end

local function add_x_axis(lines, axis, pixels)
    add(lines, "set xlabel %s", quoted(axis.label))
    add(lines, axis.log and "set logscale x %d" or "unset logscale", axis.ticks and 2 or 10)
    add(lines, "set xrange [%s:%s]", axis.min and number(axis.min) or "*", axis.max and number(axis.max) or "*")
    if axis.ticks then
        local parts = gather.values(axis.ticks, function(tick)
            return ("%s %s"):format(quoted(tick[2]), number(tick[1]))
        end)
        add(lines, "set xtics (%s) nomirror out", table.concat(parts, ", "))
    elseif axis.max and not axis.log then
        add(lines, "set xtics 0,%s nomirror out", number(M.tic_step(axis.max, math.max(2, pixels // 110))))
    else
        add(lines, "set xtics autofreq nomirror out")
    end
end

-- highest: the highest value drawn; pixels: of the panel's height, which limits the number of tics.
local function add_y_axis(lines, axis, highest, pixels)
    local tics, step = {}, M.tic_step(math.max((axis.max or highest) - (axis.min or 0), 1e-6),
        math.max(2, math.min(8, pixels // TIC_PIXELS)))
    for i = math.ceil((axis.min or 0) / step), math.floor(math.max(axis.max or highest * 1.5, 1e-6) / step + 1e-9) do
        tics[#tics + 1] = ("%s %s"):format(quoted(in_thousands(i * step)), number(i * step))
    end
    add(lines, "set ylabel %s", quoted(axis.label))
    add(lines, "set yrange [%s:%s]", number(axis.min or 0), axis.max and number(axis.max) or "*")
    add(lines, "set ytics (%s) nomirror out", table.concat(tics, ", "))
    add(lines, "set grid ytics back linetype 1 linecolor '#e4e4e4' linewidth 1")
end

-- The position of a value on an axis, from 0 to 1; the axis of a chart with marks has min and max.
local function fraction(axis, x)
    local least = axis.min or 0
    if axis.log then
        return math.log(x / least) / math.log(axis.max / least)
    end
    return (x - least) / (axis.max - least)
end

-- Draws lines from top to bottom. A label takes the first of two heights where the label before it leaves room; without
-- room, the line has no label.
local function add_marks(lines, panel, pixels)
    local heights <const>, free = { 0.6, 1.6 }, { -math.huge, -math.huge }
    for _, mark in ipairs(panel.marks or {}) do
        local from = fraction(panel.x, mark.x) * pixels
        local row = free[1] <= from and 1 or free[2] <= from and 2
        add(lines, "set arrow from first %s, graph 0 to first %s, graph 1 nohead front linecolor '%s' dashtype 2",
            number(mark.x), number(mark.x), INK)
        if row then
            add(lines, "set label %s at first %s, graph 1 offset 0,%g left front textcolor '%s'", quoted(mark.label),
                number(mark.x), heights[row], INK)
            free[row] = from + (#mark.label + 1) * LETTER_PIXELS
        end
    end
end

local function longest_label(series)
    local longest = 0
    for _, one in ipairs(series or {}) do
        longest = math.max(longest, #(one.label or ""))
    end
    return longest
end

-- Draws a line from side to side; the axis always reaches it.
local function add_limit(lines, limit)
    local value = number(limit.value)
    add(lines, "set arrow from graph 0, first %s to graph 1, first %s nohead front linecolor '%s' dashtype 3 "
        .. "linewidth 2", value, value, INK)
    add(lines, "set style textbox opaque noborder margins 0.5,0.5")
    add(lines, "set label %s at graph 0.99, first %s right offset 0,0.8 front boxed textcolor '%s'",
        quoted(limit.label), value, INK)
    add(lines, "set yrange [0:%s<*]", number(limit.value * 1.08))
end

-- Kinds: each adds blocks and returns the parts of the plot command.

local kinds = {}

-- A band as a polygon of steps: counts jump, so a slope between samples would be wrong.
local function band_rows(panel, lower, upper)
    local rows = {}
    for i, x in ipairs(panel.at) do
        if panel.gaps[i] then
            rows[#rows + 1] = ""
        elseif i > 1 and (lower[i] ~= lower[i - 1] or upper[i] ~= upper[i - 1]) then
            rows[#rows + 1] = ("%s %s %s"):format(number(x), number(lower[i - 1]), number(upper[i - 1]))
        end
        rows[#rows + 1] = ("%s %s %s"):format(number(x), number(lower[i]), number(upper[i]))
    end
    return rows
end

function kinds.stack(lines, panel, name, pixels)
    local parts, lower = {}, {}
    for i = 1, #panel.at do
        lower[i] = 0
    end
    add_y_axis(lines, panel.y, extent.highest_sum(panel), pixels)
    if panel.limit then
        add_limit(lines, panel.limit)
    end
    for b, band in ipairs(panel.series) do
        local upper = gather.values(band.values, function(value, i) return lower[i] + value end)
        add_block(lines, name .. b, band_rows(panel, lower, upper))
        parts[b] = ("$%s%d using 1:2:3 with filledcurves linecolor rgb '%s' title %s"):format(name, b,
            colour_of(band, b), quoted(band.label))
        lower = upper
    end
    return parts
end

function kinds.lines(lines, panel, name, pixels)
    local parts = {}
    add_y_axis(lines, panel.y, extent.highest_point(panel), pixels)
    for s, one in ipairs(panel.series) do
        local rows = gather.values(one.points, function(point)
            return point[2] and ("%s %s %s %s"):format(number(point[1]), number(point[2]),
                number(point[3] or point[2]), number(point[4] or point[2])) or ""
        end)
        add_block(lines, name .. s, rows)
        if extent.has_band(one) then
            parts[#parts + 1] = ("$%s%d using 1:3:4 with filledcurves fillstyle transparent solid 0.2 "
                .. "linecolor rgb '%s' notitle"):format(name, s, colour_of(one, s))
        end
        local style = panel.points and ("linespoints pointtype %d pointsize 1.1"):format((s - 1) % 7 * 2 + 4) or "lines"
        parts[#parts + 1] = ("$%s%d using 1:2 with %s linewidth %g dashtype %d linecolor rgb '%s' %s"):format(name, s,
            style, one.wide and 4 or 2, (s - 1) // #M.PALETTE + 1, colour_of(one, s),
            one.label and "title " .. quoted(one.label) or "notitle")
    end
    return parts
end

function kinds.histogram(lines, panel, name, pixels)
    local rows, highest = {}, extent.highest_bar(panel)
    add_y_axis(lines, panel.y, highest, pixels)
    for i, bar in ipairs(panel.bars) do
        rows[i] = ("%s %s %s"):format(number(bar[1]), number(bar[2]), number(bar[3]))
    end
    add(lines, "set yrange [0:%s]", number(highest * 1.05))
    add(lines, "set xrange [%s:%s]", number(panel.bars[1][1] / 1.2), number(panel.bars[#panel.bars][2] * 1.2))
    for _, limit in ipairs(panel.limits) do
        if limit >= panel.bars[1][1] / 1.2 and limit <= panel.bars[#panel.bars][2] * 1.2 then
            add(lines,
                "set arrow from first %s, graph 0 to first %s, graph 1 nohead front linecolor '%s' linewidth 0.7",
                number(limit), number(limit), M.PALETTE[4])
        end
    end
    add_block(lines, name, rows)
    return { ("$%s using (sqrt($1*$2)):($3/2):1:2:(0):3 with boxxyerror fillstyle solid 1 border rgb '#ffffff' "
        .. "linecolor rgb '%s' title %s"):format(name, M.PALETTE[5], quoted("items")),
        ("NaN with lines linecolor rgb '%s' title %s"):format(M.PALETTE[4], quoted("chunk sizes")) }
end

local TERMINALS <const> = {
    png = "pngcairo noenhanced size %d,%d font 'sans,11' background '#ffffff'",
    svg = "svg noenhanced size %d,%d font 'sans,13' background '#ffffff'",
}

--- Width and height in pixels that suit a figure.
function M.size(figure)
    local height = 600
    if #figure.panels == 2 then
        height = 720
    elseif #figure.panels > 2 then
        height = 90 + 210 * math.ceil(#figure.panels / (figure.columns or 1))
    end
    return 1100, height
end

-- The place of each panel, from 0 to 1: x, y, width, height; the first on top.
local function places(figure, top, bottom)
    local columns, list, sum = figure.columns or 1, {}, 0
    local rows = math.ceil(#figure.panels / columns)
    for row = 1, rows do
        sum = sum + (figure.panels[(row - 1) * columns + 1].weight or 1)
    end
    local y = 1 - top
    for row = 1, rows do
        local height = (1 - top - bottom) * (figure.panels[(row - 1) * columns + 1].weight or 1) / sum
        y = y - height
        for column = 1, columns do
            list[#list + 1] = { (column - 1) / columns, y, 1 / columns, height }
        end
    end
    return list
end

-- labels: the length of the figure's longest, so that the axes of panels above each other align.
local function add_panel(lines, panel, i, place, width, height, labels)
    add(lines, "reset")
    add(lines, "set encoding utf8\nset border 3\nset style fill solid 1.0 noborder")
    add(lines, "set origin %g,%g\nset size %g,%g", table.unpack(place))
    add(lines, "set lmargin 13")
    if panel.kind == "histogram" then
        add(lines, "set rmargin 18\nset key outside right top vertical Left reverse samplen 1.5")
    elseif labels > 0 then
        add(lines, "set rmargin %d\nset key outside right top vertical Left reverse %s samplen 1.5", labels + 8,
            panel.kind == "stack" and "invert" or "")
    else
        add(lines, "set rmargin 4\nunset key")
    end
    if panel.title then
        add(lines, "set title %s offset 0,-0.6", quoted(panel.title))
    elseif panel.marks and #panel.marks > 0 then
        add(lines, "set tmargin 3")
    end
    add_x_axis(lines, panel.x, width * place[3])
    add_marks(lines, panel, width * place[3] * PLOT_SHARE)
    local parts = kinds[panel.kind](lines, panel, ("panel%d_"):format(i), height)
    lines[#lines + 1] = "plot " .. table.concat(parts, ", \\\n     ")
end

--- Writes the script. options: terminal "png" or "svg", output (a path), width and height in pixels.
function M.script(figure, options)
    local width, height = M.size(figure)
    width, height = options.width or width, options.height or height
    local lines = { "set encoding utf8", "set terminal " .. TERMINALS[options.terminal]:format(width, height),
        "set output " .. quoted(options.output) }
    local top, bottom = 34 / height, figure.note and 26 / height or 6 / height
    add(lines, "set multiplot")
    add(lines, "set label 1 %s at screen 0.5, screen %g center font ',13'", quoted(figure.title), 1 - 18 / height)
    if figure.note then
        add(lines, "set label 2 %s at screen 0.01, screen %g left font ',9' textcolor '#505050'", quoted(figure.note),
            13 / height)
    end
    -- A multiplot draws labels only with a plot: this plot has nothing but the labels.
    add(lines, "unset border\nunset tics\nunset key\nset xrange [0:1]\nset yrange [0:1]\nplot NaN notitle")
    local where, labels = places(figure, top, bottom), 0
    for _, panel in ipairs(figure.panels) do
        labels = math.max(labels, longest_label(panel.series))
    end
    for i, panel in ipairs(figure.panels) do
        add_panel(lines, panel, i, where[i], width, where[i][4] * height, labels)
    end
    add(lines, "unset multiplot\nset output")
    return table.concat(lines, "\n") .. "\n"
end

return M
