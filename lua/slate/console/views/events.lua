-- SPDX-License-Identifier: BSD-3-Clause
--- Events: page moves, settings, restarts and changes by slatetop, newest first, of one server, or from Fleet of all;
-- below them, the stream of the server's log that is watched.
local cells = require "slate.console.cells"
local figure = require "slate.console.figure"
local keys = require "slate.console.keys"
local watch_log = require "slate.console.watch_log"

local M = {
    name = "Events",
    scope = "events",
    open = "view_events",
    shown = { "event", "incident", "fleet.server", "page_moves", "starving", "slab_automove", "ping_pong",
        "memory.limit", "lost_by_moves" },
}

function M.state()
    return { top = 1 }
end

local KIND_X <const>, TEXT_X <const>, SCREEN_ROWS <const>, WATCH_FROM_HEIGHT <const> = 9, 18, 15, 6
local HOST_MOST <const>, ALL_MOST <const> = 21, 256
local STYLES <const> = { alarm = cells.BAD, you = cells.STRONG }

--- True if the view shows the events of all servers.
function M.is_of_fleet(frame, ui)
    return ui.from == "fleet" and #frame.servers > 1
end

-- How many events each of the servers has, up to the moment shown, and how many the view shows of all.
local function counts_of(frame)
    local counts, sum = {}, 0
    for i, row in ipairs(frame.servers) do
        local events = row.model.events
        local count = #events
        while frame.is_past and count > 0 and events[count].wall_s > frame.moment_s do
            count = count - 1
        end
        counts[i], sum = count, sum + count
    end
    return counts, math.min(sum, ALL_MOST) -- a redraw looks at every server for each event
end

-- The newest events of all servers, and the names of their servers.
local function of_all(frame, most)
    local events, names, left = {}, {}, counts_of(frame)
    for n = 1, most do
        local newest
        for i, row in ipairs(frame.servers) do
            local event = left[i] > 0 and row.model.events[left[i]]
            if event and not (events[n] and events[n].wall_s >= event.wall_s) then
                events[n], newest = event, i
            end
        end
        if not newest then
            break
        end
        names[n], left[newest] = frame.servers[newest].name, left[newest] - 1
    end
    return events, names
end

-- Draws an event; name: of its server, in so many columns; nil: there is only one.
local function draw_event(event, name, width, grid, y, area)
    local style, x = STYLES[event.kind] or cells.PLAIN, area.x + TEXT_X
    grid:text(y, area.x, cells.DIM, figure.clock(event.wall_s))
    grid:text(y, area.x + KIND_X, style, ("%-8s"):format(event.kind))
    if name then
        require("slate.console.draw.fleet_table").draw_host(name, grid, y, x, width)
        x = x + width + 1
    end
    grid:text_fit(y, x, area.x + area.width - x, style, event.text)
end

-- Draws the events of all servers, newest first, from the top-th on.
local function draw_all(frame, grid, area, top)
    local events, names = of_all(frame, top + area.height - 2)
    local width = #"SERVER"
    for _, row in ipairs(frame.servers) do
        width = math.min(math.max(width, cells.width_of(row.name)), HOST_MOST)
    end
    grid:head(area.y, area.x, area.width, ("TIME     WHO      %-" .. width .. "s WHAT"):format("SERVER"))
    for i = top, #events do
        draw_event(events[i], names[i], width, grid, area.y + 1 + i - top, area)
    end
end

--- Draws events of the server, newest first, from the top-th on: a part of several views.
function M.draw_list(frame, grid, area, top)
    local events = frame.model.events
    if #events == 0 then
        grid:text_fit(area.y, area.x, area.width, cells.DIM, "nothing has happened since slatetop started")
    end
    for i = 0, math.min(area.height, #events - top + 1) - 1 do
        draw_event(events[#events - (top - 1) - i], nil, nil, grid, area.y + i, area)
    end
end

-- How many events the view shows.
local function count_of(frame, ui)
    return M.is_of_fleet(frame, ui) and select(2, counts_of(frame)) or #frame.model.events
end

-- The text of a line of the stream, without its type if the stream has only one: the end says more.
local function shown_text(watch, text)
    return watch.stream ~= "connevents" and text:match("^type=%S* (.*)") or text
end

-- Draws the stream: of how many lines, how many of them the server dropped, and the newest ones.
local function draw_watch(watch, grid, area)
    grid:rule(area.y, area.x, area.width, ("watch %s: %s lines, %s %% lost"):format(watch.stream,
        figure.count(watch.shown), figure.percent(watch_log.lost_ratio(watch))))
    local inside = cells.area(area.y + 1, area.x, area.height - 1, area.width)
    if watch.note ~= "" then
        grid:paragraph(inside, cells.WARN, watch.note)
        return
    elseif #watch.lines == 0 then
        grid:text(inside.y, inside.x, cells.DIM, "no event has come yet")
    end
    for i = 0, math.min(inside.height, #watch.lines) - 1 do
        local line = watch.lines[#watch.lines - i]
        grid:text(inside.y + i, inside.x, cells.DIM, line.at_s and figure.clock(line.at_s) or "-")
        grid:text_fit(inside.y + i, inside.x + KIND_X, inside.width - KIND_X, cells.PLAIN,
            shown_text(watch, line.text))
    end
end

function M.draw(frame, ui, grid, area)
    local height = area.height
    if frame.watch and height >= WATCH_FROM_HEIGHT then
        local watched = height * 2 // 3
        height = height - watched
        draw_watch(frame.watch, grid, cells.area(area.y + height, area.x, watched, area.width))
    end
    ui.events.top = keys.top(ui.events.top, ui.events.top, height - 1, count_of(frame, ui))
    if M.is_of_fleet(frame, ui) then
        draw_all(frame, grid, cells.area(area.y, area.x, height, area.width), ui.events.top)
        return
    end
    grid:head(area.y, area.x, area.width, "TIME     WHO      WHAT")
    M.draw_list(frame, grid, cells.area(area.y + 1, area.x, height - 1, area.width), ui.events.top)
end

function M.command(frame, ui, command)
    ui.events.top = keys.step(ui.events.top, keys.move_rows(command, SCREEN_ROWS), count_of(frame, ui))
end

return M
