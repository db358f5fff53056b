-- SPDX-License-Identifier: BSD-3-Clause
--- A figure (slate.chart.draw defines it) as HTML with inline SVG. Pure.
--
-- The SVG of a plot is stretched over its box, and all words are HTML beside it: so a chart is as wide as its page, and
-- its letters keep their size. The script (slate.chart.html_script) shows values under the pointer; they are JSON in
-- the plot, or words in data-tip.
local extent = require "slate.chart.extent"
local gather = require "slate.base.gather"
local gnuplot = require "slate.chart.gnuplot"
local html = require "slate.chart.html"
local units = require "slate.base.units"

local M = {}

local COLOURS <const> = #gnuplot.PALETTE
local SIDE <const> = 1000 -- the side of the square that is stretched over a plot
local escape <const> = html.escape

local function add(parts, format, ...)
    parts[#parts + 1] = format:format(...)
end

local function colour_of(series, i)
    return series.grey and 0 or ((series.colour or i) - 1) % COLOURS + 1
end

M.number = gnuplot.in_thousands

-- A number for JSON, with no more figures than the page shows.
local function short(value)
    return value and tonumber(("%.5g"):format(value)) or require("slate.base.json").null
end

-- The position of a value on an axis, from 0 to 1.
local function fraction(axis, value)
    if axis.log then
        return math.log(math.max(value, axis.min) / axis.min) / math.log(axis.max / axis.min)
    end
    local span = axis.max - axis.min
    return span > 0 and (value - axis.min) / span or 0
end

local function across(axis, value)
    return ("%.1f"):format(SIDE * fraction(axis, value))
end

local function up(axis, value)
    return ("%.1f"):format(SIDE * (1 - fraction(axis, value)))
end

-- Ticks: lists of { value, text }.

local CLOCK_STEPS_S <const> = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    86400, 172800, 604800 }
local MOST_X_TICKS <const>, MOST_Y_TICKS <const> = 9, 5

local function clock_ticks(axis)
    local list, span_s = {}, axis.max * axis.unit_s
    local step_s = CLOCK_STEPS_S[#CLOCK_STEPS_S]
    for i = #CLOCK_STEPS_S, 1, -1 do
        step_s = span_s / CLOCK_STEPS_S[i] <= MOST_X_TICKS and CLOCK_STEPS_S[i] or step_s
    end
    local form = step_s < 60 and "!%H:%M:%S" or step_s < 86400 and "!%H:%M" or "!%m-%d"
    for time_s = math.ceil(axis.start_s / step_s) * step_s, axis.start_s + span_s, step_s do
        list[#list + 1] = { (time_s - axis.start_s) / axis.unit_s, os.date(form, math.floor(time_s)) }
    end
    return list
end

local function even_ticks(axis, most)
    local list, step = {}, gnuplot.tic_step(math.max(axis.max - axis.min, 1e-9), most)
    for i = math.ceil(axis.min / step - 1e-9), math.floor(axis.max / step + 1e-9) do
        list[#list + 1] = { i * step, M.number(i * step) }
    end
    return list
end

local function add_x_ticks(parts, axis)
    for i, tick in ipairs(axis.ticks or axis.start_s and clock_ticks(axis) or even_ticks(axis, MOST_X_TICKS)) do
        local at = fraction(axis, tick[1])
        if at >= -1e-6 and at <= 1 + 1e-6 then
            add(parts, '<span class="x%s" style="left:%.2f%%">%s</span>', i % 2 == 0 and " odd" or "", 100 * at,
                escape(tick[2]))
        end
    end
end

local function add_y_ticks(parts, axis)
    for _, tick in ipairs(even_ticks(axis, MOST_Y_TICKS)) do
        add(parts, '<span class="y" style="bottom:%.2f%%">%s</span>', 100 * fraction(axis, tick[1]), escape(tick[2]))
    end
end

local function grid_of(axis)
    local lines = gather.values(even_ticks(axis, MOST_Y_TICKS), function(tick)
        return ("M0 %sH%d"):format(up(axis, tick[1]), SIDE)
    end)
    return ('<path class="grid" d="%s"/>'):format(table.concat(lines))
end

local function add_marks(parts, panel)
    for _, mark in ipairs(panel.marks or {}) do
        local at = fraction(panel.x, mark.x)
        if at >= 0 and at <= 1 then
            add(parts, '<div class="mark%s" style="left:%.2f%%"><span>%s</span></div>', at > 0.8 and " late" or "",
                100 * at, escape(mark.label))
        end
    end
    if panel.limit then
        add(parts, '<div class="limit" style="bottom:%.2f%%"><span>%s</span></div>',
            100 * fraction(panel.y, panel.limit.value), escape(panel.limit.label))
    end
end

-- Plots: a box with an SVG, ticks and values.

-- The data of a plot for the script; series: list of { label, colour, x = fractions, y = values }.
local function values_of(panel, series, about)
    local json = require "slate.base.json"
    local data = { unit = panel.y.label, series = json.array(), sum = about.sum, nearest = about.nearest }
    for i, one in ipairs(series) do
        data.series[i] = { label = one.label and html.clean(one.label), colour = one.colour, x = json.array(one.x),
            y = json.array(one.y) }
    end
    local axis = panel.x
    if axis.start_s then
        data.start_s, data.span_s = axis.start_s, axis.max * axis.unit_s
    else
        data.label, data.log, data.min, data.max = html.clean(axis.label), axis.log or false, axis.min, axis.max
        data.in_bytes = axis.in_bytes
    end
    return ('<script type="application/json" class="values">%s</script>'):format(html.json(data))
end

-- The x positions of samples. Each series repeats them in JSON, so they have few figures.
local function places_of(axis, at)
    return gather.values(at, function(x) return tonumber(("%.4f"):format(fraction(axis, x))) end)
end

local function add_legend(parts, series)
    if #series == 1 and not series[1].label then
        return
    end
    parts[#parts + 1] = '<ul class="legend">'
    for i, one in ipairs(series) do
        add(parts, '<li><i class="c%d"></i>%s</li>', colour_of(one, i), escape(one.label or ""))
    end
    parts[#parts + 1] = "</ul>\n"
end

local function plot(panel, figure, shapes, series, about)
    local parts = {}
    if panel.y.label ~= "" then
        add(parts, '<div class="unit">%s</div>\n', escape(panel.y.label))
    end
    add(parts, '<div class="plot%s"%s role="img" aria-label="%s">', #figure.panels > 1 and " low" or "",
        series and ' tabindex="0"' or "", escape(panel.title or figure.title))
    add(parts, '<svg viewBox="0 0 %d %d" preserveAspectRatio="none" aria-hidden="true">%s%s</svg>', SIDE, SIDE,
        grid_of(panel.y), table.concat(shapes, "\n"))
    add_y_ticks(parts, panel.y)
    add_x_ticks(parts, panel.x)
    add_marks(parts, panel)
    if series then
        parts[#parts + 1] = values_of(panel, series, about)
    end
    parts[#parts + 1] = "</div>\n"
    if not panel.x.start_s and panel.x.label ~= "" then
        add(parts, '<div class="unit">%s</div>\n', escape(panel.x.label))
    end
    return parts
end

local kinds = {}

-- The axis up to the next round step, so that the highest value is not at the very top.
local function with_top(axis, highest)
    if axis.max then
        return { label = axis.label, min = axis.min or 0, max = axis.max }
    end
    highest = highest > 0 and math.max(highest, 1e-3) or 1 -- with nothing but zeros the axis is readable, too
    local step = gnuplot.tic_step(highest * 1.02, MOST_Y_TICKS)
    return { label = axis.label, min = axis.min or 0,
        max = math.ceil(highest * 1.02 / step) * step }
end

-- A band is steps: forth along its top, back along its foot; a gap of the recording ends one band and begins another.
local function band_path(panel, lower, upper)
    local pieces, forth, back = {}, {}, {}
    local function close()
        if #forth > 1 then
            local reversed = {}
            for i = #back, 1, -1 do
                reversed[#reversed + 1] = back[i]
            end
            pieces[#pieces + 1] = ("M%sL%sZ"):format(table.concat(forth, "L"), table.concat(reversed, "L"))
        end
        forth, back = {}, {}
    end
    local function point(x, i)
        forth[#forth + 1] = across(panel.x, x) .. " " .. up(panel.y, upper[i])
        back[#back + 1] = across(panel.x, x) .. " " .. up(panel.y, lower[i])
    end
    for i, x in ipairs(panel.at) do
        if panel.gaps[i] then
            close()
        elseif i > 1 and (lower[i] ~= lower[i - 1] or upper[i] ~= upper[i - 1]) then
            point(x, i - 1)
        end
        if #forth == 0 or i == #panel.at or panel.gaps[i + 1] or lower[i] ~= lower[i - 1] or upper[i] ~= upper[i - 1]
        then
            point(x, i)
        end
    end
    close()
    return table.concat(pieces)
end

function kinds.stack(panel, figure)
    panel.y = with_top(panel.y, extent.highest_sum(panel))
    local shapes, series, lower = {}, {}, {}
    local places = places_of(panel.x, panel.at)
    for i = 1, #panel.at do
        lower[i] = 0
    end
    for b, band in ipairs(panel.series) do
        local upper, values = {}, {}
        for i = 1, #panel.at do
            upper[i], values[i] = lower[i] + (band.values[i] or 0), short(band.values[i] or 0)
        end
        add(shapes, '<path class="c%d" d="%s"/>', colour_of(band, b), band_path(panel, lower, upper))
        series[b] = { label = band.label, colour = colour_of(band, b), x = places, y = values }
        lower = upper
    end
    local parts = plot(panel, figure, shapes, series, { sum = true, nearest = false })
    add_legend(parts, panel.series)
    return parts
end

local function line_path(panel, points)
    local pieces, is_open = {}, false
    for _, point in ipairs(points) do
        if point[2] then
            pieces[#pieces + 1] = ("%s%s %s"):format(is_open and "L" or "M", across(panel.x, point[1]),
                up(panel.y, point[2]))
        end
        is_open = point[2] and true or false
    end
    return table.concat(pieces)
end

-- The area between the least and the most of points.
local function shade_path(panel, points)
    local forth, back = {}, {}
    for i, point in ipairs(points) do
        forth[i] = across(panel.x, point[1]) .. " " .. up(panel.y, point[4] or point[2])
        back[#points + 1 - i] = across(panel.x, point[1]) .. " " .. up(panel.y, point[3] or point[2])
    end
    return ("M%sL%sZ"):format(table.concat(forth, "L"), table.concat(back, "L"))
end

function kinds.lines(panel, figure)
    panel.y = with_top(panel.y, extent.highest_point(panel))
    local shapes, series = {}, {}
    for s, one in ipairs(panel.series) do
        local colour, at, values, dots = colour_of(one, s), {}, {}, {}
        if extent.has_band(one) then
            add(shapes, '<path class="c%d shade" d="%s"/>', colour, shade_path(panel, one.points))
        end
        add(shapes, '<path class="line%s l%d" d="%s"/>', one.wide and " bold" or "", colour,
            line_path(panel, one.points))
        for i, point in ipairs(one.points) do
            at[i], values[i] = point[1], short(point[2])
            if panel.points and point[2] then
                dots[#dots + 1] = ("M%s %sh0"):format(across(panel.x, point[1]), up(panel.y, point[2]))
            end
        end
        if panel.points then
            add(shapes, '<path class="dots l%d" d="%s"/>', colour, table.concat(dots))
        end
        series[s] = { label = one.label, colour = colour, x = places_of(panel.x, at), y = values }
    end
    local parts = plot(panel, figure, shapes, series, { nearest = panel.points or panel.x.ticks ~= nil, sum = false })
    add_legend(parts, panel.series)
    return parts
end

function kinds.histogram(panel, figure)
    local bars = panel.bars
    panel.x = { label = panel.x.label, log = true, ticks = panel.x.ticks, min = bars[1][1] / 1.1,
        max = bars[#bars][2] * 1.1 }
    panel.y = with_top(panel.y, extent.highest_bar(panel))
    local shapes, edges = {}, {}
    for _, bar in ipairs(bars) do
        local from, to = SIDE * fraction(panel.x, bar[1]), SIDE * fraction(panel.x, bar[2])
        local height = SIDE * fraction(panel.y, bar[3])
        add(shapes, '<rect class="c5" x="%.1f" y="%.1f" width="%.1f" height="%.1f" data-tip="%s"/>', from,
            SIDE - height, math.max(to - from - 2, 1), height, escape(("%s to %s: %s %s"):format(
                units.bytes_in_words(bar[1]), units.bytes_in_words(bar[2]), M.number(bar[3]), panel.y.label)))
    end
    for _, limit in ipairs(panel.limits) do
        if limit >= panel.x.min and limit <= panel.x.max then
            edges[#edges + 1] = ("M%s 0V%d"):format(across(panel.x, limit), SIDE)
        end
    end
    add(shapes, '<path class="edge" d="%s"/>', table.concat(edges))
    local parts = plot(panel, figure, shapes)
    add_legend(parts, { { label = "items", colour = 5 }, { label = "chunk sizes of the classes", colour = 4 } })
    return parts
end

--- The figure as an element. Changes the panels: their y axes get min and max.
function M.figure(figure)
    local parts = {}
    add(parts, "<figure>\n<figcaption>%s</figcaption>\n", escape(figure.title))
    add(parts, '<div class="panels%s">\n', (figure.columns or 1) > 1 and " two" or "")
    for _, panel in ipairs(figure.panels) do
        parts[#parts + 1] = '<div class="panel">'
        if panel.title then
            add(parts, "<h3>%s</h3>\n", escape(panel.title))
        end
        parts[#parts + 1] = table.concat(kinds[panel.kind](panel, figure))
        parts[#parts + 1] = "</div>\n"
    end
    parts[#parts + 1] = "</div>\n"
    if figure.note then
        add(parts, "<p>%s</p>\n", escape(figure.note))
    end
    parts[#parts + 1] = "</figure>\n"
    return table.concat(parts)
end

--- A page of one figure.
function M.page(figure)
    return html.document(figure.title, "<header><div></div>" .. html.TOGGLE .. "</header>\n" .. M.figure(figure))
end

return M
