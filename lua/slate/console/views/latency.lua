-- SPDX-License-Identifier: BSD-3-Clause
--- Latency: the time of round trips to the server, measured by slatetop: a probe, `version`, ten times a second while
-- this view is open, and every refresh.
local cells = require "slate.console.cells"
local keys = require "slate.console.keys"
local latency = require "slate.console.latency"
local narrow = require "slate.console.draw.narrow"

local M = {
    name = "Latency",
    scope = "latency",
    open = "view_latency",
    shown = { "latency", "reply_ms" },
}

local LABEL_WIDTH <const>, COUNT_WIDTH <const>, SCALE_WIDTH <const> = 18, 8, 8
local BAR_X <const> = LABEL_WIDTH + COUNT_WIDTH + 2
local REFRESHES_MOST <const>, SCREEN_ROWS <const> = 1000, 5
local FOOT <const> = "the clock runs from slatetop's send to the reply: network, server, this machine"

--- The view's part of ui. top: the first of the rows of spans that is shown.
function M.state()
    return { top = 1 }
end

function M.wants(_, wants)
    wants.probes = true
end

-- "50us", "2.5ms", "1s".
local function time_text(us)
    if us < 1000 then
        return ("%.0fus"):format(us)
    end
    return us < 1e6 and ("%.3gms"):format(us / 1e3) or ("%.3gs"):format(us / 1e6)
end

local function quantiles_text(summary, width)
    return narrow.fitting(width, ", ", { "half within " .. time_text(summary.p50_us),
        "90 % within " .. time_text(summary.p90_us), "99 % within " .. time_text(summary.p99_us),
        "longest " .. time_text(summary.most_us) })
end

-- "20us to 50us"
local function bucket_text(i)
    local low, high = latency.LIMITS_US[i - 1], latency.LIMITS_US[i]
    if not high then
        return "over " .. time_text(low)
    end
    return ("%s to %s"):format(low and time_text(low) or "0", time_text(high))
end

-- Draws a row a bucket, from the first to the last that is not empty, as far as they fit; returns the rows, and the
-- words for the others.
local function draw_buckets(summary, at, grid, area)
    local first, last, most, rows = #summary.buckets, 1, 1, 0
    for i, count in ipairs(summary.buckets) do
        first, last = count > 0 and math.min(first, i) or first, count > 0 and i or last
        most = math.max(most, count)
    end
    at.top = keys.top(at.top, at.top, area.height, last - first + 1)
    local top = first + at.top - 1
    for i = top, math.min(last, top + area.height - 1) do
        local y, count = area.y + rows, summary.buckets[i]
        local length = (count / most * (area.width - BAR_X - 1) + 0.5) // 1
        grid:text_right(y, area.x + LABEL_WIDTH, cells.PLAIN, bucket_text(i))
        grid:text(y, area.x + LABEL_WIDTH, cells.STRONG, ("%" .. COUNT_WIDTH .. "d"):format(count))
        grid:fill(cells.area(y, area.x + BAR_X, 1, count > 0 and math.max(length, 1) or 0), "█", cells.GRAPH)
        rows = rows + 1
    end
    return rows, narrow.more(at.top, area.height, last - first + 1)
end

-- The reason why no time is shown.
local function why_none(frame)
    return frame.is_replay and "not recorded: a recording has no round trips"
        or frame.model.link == "up" and "measuring" or "no connection: nothing is measured"
end

-- Draws the probes of this server; returns the rows.
local function draw_probes(frame, at, grid, area)
    local summary = frame.probes and frame.probes:summary() or { count = 0 }
    grid:rule(area.y, area.x, area.width, "round trips of one short command, version"
        .. (summary.count > 0 and (": the last %d"):format(summary.count) or ""))
    if summary.count == 0 or frame.is_past or frame.is_replay then
        grid:text_fit(area.y + 1, area.x, area.width, cells.WARN, frame.is_past and not frame.is_replay
            and "measured only now: . returns to live" or why_none(frame))
        return 2
    end
    local rows, more = draw_buckets(summary, at, grid, cells.area(area.y + 2, area.x, area.height - 2, area.width))
    local width = area.width - (more ~= "" and cells.width_of(more) + 1 or 0)
    grid:text_fit(area.y + 1, area.x, width, cells.STRONG, quantiles_text(summary, width))
    grid:text_right(area.y + 1, area.x + area.width, cells.HEADER, more)
    return 2 + rows
end

-- The times of the last refreshes, which take longer than probes: each is some 50 KB of statistics.
local function refreshes_us(frame, most)
    local times = frame.model:series("reply_ms", math.max(most, 0))
    for i = 1, times.n do
        times[i] = times[i] and times[i] * 1000
    end
    return times
end

-- Draws the times of refreshes that fit.
local function draw_graph(frame, grid, area)
    local values, has_cut = cells.without_spikes(refreshes_us(frame, area.width))
    local high = grid:graph(area, cells.GRAPH, values, 0)
    grid:text_right(area.y, area.x - 1, cells.DIM, time_text(high))
    grid:text(area.y, area.x - 1, cells.DIM, has_cut and "+" or "") -- a spike is higher
    grid:text_right(area.y + area.height - 1, area.x - 1, cells.DIM, "0")
end

local function draw_refreshes(frame, grid, area)
    local summary = latency.of(refreshes_us(frame, REFRESHES_MOST))
    grid:rule(area.y, area.x, area.width, ("whole refreshes, each in one round trip: the last %d"):format(
        summary.count))
    if summary.count == 0 then
        grid:text_fit(area.y + 1, area.x, area.width, cells.DIM, why_none(frame))
        return
    end
    grid:text_fit(area.y + 1, area.x, area.width, cells.STRONG, quantiles_text(summary, area.width))
    if area.height >= 4 then
        draw_graph(frame, grid, cells.area(area.y + 2, area.x + SCALE_WIDTH, area.height - 2,
            area.width - SCALE_WIDTH))
    end
end

function M.draw(frame, ui, grid, area)
    local refreshes = area.height >= 34 and 10 or area.height >= 18 and 4 or 2
    local foot = cells.rows_of(FOOT, area.width)
    local used = draw_probes(frame, ui.latency, grid,
        cells.area(area.y, area.x, area.height - refreshes - foot, area.width))
    draw_refreshes(frame, grid, cells.area(area.y + used, area.x, refreshes, area.width))
    grid:paragraph(cells.area(area.y + area.height - foot, area.x, foot, area.width), cells.DIM, FOOT)
end

function M.command(_, ui, command)
    ui.latency.top = keys.step(ui.latency.top, keys.move_rows(command, SCREEN_ROWS), math.huge)
end

return M
