-- SPDX-License-Identifier: BSD-3-Clause
--- Events: page moves, settings, restarts and changes by slatetop, newest first, of one server, or from Fleet of all;
-- below them, the stream of the server's log that is watched.
local cells = require "slate.console.cells"
local figure = require "slate.console.figure"
local filter = require "slate.console.overlay.filter"
local find = require "slate.base.find"
local keys = require "slate.console.keys"
local list = require "slate.console.draw.list"
local narrow = require "slate.console.draw.narrow"
local watch_log = require "slate.console.watch_log"

local M = {
    name = "Events",
    scope = "events",
    open = "view_events",
    shown = { "event", "incident", "fleet.server", "page_moves", "starving", "slab_automove", "ping_pong",
        "memory.limit", "lost_by_moves" },
}

--- event: under the cursor; nil: the newest one. filter: a text of the rows that are shown. clicked: the place of the
-- one that was clicked since the last drawing.
function M.state()
    return { top = 1, filter = "" }
end

local KIND_X <const>, TEXT_X <const>, SCREEN_ROWS <const>, WATCH_FROM_HEIGHT <const> = 9, 18, 15, 6
local HOST_MOST <const>, ALL_MOST <const>, LIST_LEAST <const> = 21, 256, 3
local STYLES <const> = { alarm = cells.BAD, you = cells.STRONG }

--- True if the view shows the events of all servers.
function M.is_of_fleet(frame, ui)
    return ui.from == "fleet" and #frame.servers > 1
end

--- True if the filter lets an event through. name: of its server, "" when there is only one.
function M.passes(ui, event, name)
    return filter.passes(ui.events.filter, ("%s %s %s %s"):format(figure.clock(event.wall_s), event.kind, name,
        event.text))
end

-- The newest events of all servers up to the moment shown, and the row of the server of each.
local function of_all(frame, ui)
    local events, rows, left = {}, {}, {}
    local function go_on(i, at) -- to the next event that is shown
        local row = frame.servers[i]
        local event = row.model.events[at]
        while event and (frame.is_past and event.wall_s > frame.moment_s or not M.passes(ui, event, row.name)) do
            at = at - 1
            event = row.model.events[at]
        end
        left[i] = at
    end
    for i, row in ipairs(frame.servers) do
        go_on(i, #row.model.events)
    end
    while #events < ALL_MOST do -- a redraw looks at every server for each event
        local one, newest
        for i, row in ipairs(frame.servers) do
            local event = row.model.events[left[i]]
            if event and not (one and one.wall_s >= event.wall_s) then
                one, newest = event, i
            end
        end
        if not one then
            break
        end
        events[#events + 1], rows[#rows + 1] = one, frame.servers[newest]
        go_on(newest, left[newest] - 1)
    end
    return events, rows
end

-- The events that the view shows, the newest first, and of several servers the row of each event's server.
local function events_of(frame, ui)
    if M.is_of_fleet(frame, ui) then
        return of_all(frame, ui)
    end
    local shown, events = {}, frame.model.events
    for i = #events, 1, -1 do
        shown[#shown + 1] = M.passes(ui, events[i], "") and events[i] or nil
    end
    return shown, {}
end

-- Puts the cursor on the event in a place. On the newest one it stays there when newer ones come.
local function choose(at, events, place)
    at.event, at.clicked = place > 1 and events[place] or nil, nil
end

-- The place of the cursor's event.
local function place_of(events, at)
    if at.clicked then
        choose(at, events, at.clicked)
    end
    return find.place(events, at.event) or 1
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

--- Draws events of the server, newest first: a part of several views. frame: only its model.
function M.draw_list(frame, grid, area)
    local events = frame.model.events
    if #events == 0 then
        grid:text_fit(area.y, area.x, area.width, cells.DIM,
            frame.is_past and #frame.live.events > 0 and "nothing had happened until this moment: } goes on"
            or frame.is_replay and "nothing happens in this recording" or "nothing has happened since slatetop started")
    end
    for i = 0, math.min(area.height, #events) - 1 do
        draw_event(events[#events - i], nil, nil, grid, area.y + i, area)
    end
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
            -- Without its type if the stream has only one: the end says more.
            watch.stream ~= "connevents" and line.text:match("^type=%S* (.*)") or line.text)
    end
end

function M.draw(frame, ui, grid, area)
    local height = area.height
    if frame.watch and height >= WATCH_FROM_HEIGHT then
        local watched = height * 2 // 3
        height = height - watched
        draw_watch(frame.watch, grid, cells.area(area.y + height, area.x, watched, area.width))
    end
    local events, rows = events_of(frame, ui)
    local width = #"SERVER"
    for _, row in ipairs(rows) do
        width = math.min(math.max(width, cells.width_of(row.name)), HOST_MOST)
    end
    grid:head(area.y, area.x, area.width, "TIME     WHO      " .. (rows[1] and ("%-" .. width .. "s "):format("SERVER")
        or "") .. "WHAT" .. filter.words(ui.events.filter))
    local place = place_of(events, ui.events)
    local whole, foot = events[place] and events[place].text or "", 0
    if cells.width_of(whole) > area.width - TEXT_X - (rows[1] and width + 1 or 0) then -- its row cuts it
        foot = math.min(cells.rows_of(whole, area.width), height - LIST_LEAST)
        grid:paragraph(cells.area(area.y + height - foot, area.x, foot, area.width), cells.STRONG, whole)
    end
    local list_area = cells.area(area.y + 1, area.x, height - 1 - foot, area.width)
    list.draw(grid, list_area, ui.events, place, #events, function(y, i)
        draw_event(events[i], rows[i] and rows[i].name, width, grid, y, list_area)
    end)
    grid:text_right(area.y, area.x + area.width, cells.HEADER, narrow.more(ui.events.top, list_area.height, #events))
    if #events == 0 and ui.events.filter ~= "" then
        grid:text_fit(list_area.y, list_area.x, list_area.width, cells.DIM,
            ("no event has '%s' in its row: / changes that"):format(ui.events.filter))
    elseif #events == 0 then
        M.draw_list(frame, grid, list_area)
    end
end

function M.command(frame, ui, command)
    local events, rows = events_of(frame, ui)
    local place = place_of(events, ui.events)
    if command == "open_event" and events[place] then
        return { kind = "open_moment", server = rows[place] and rows[place].server, wall_s = events[place].wall_s }
    end
    choose(ui.events, events, keys.step(place, keys.move_rows(command, SCREEN_ROWS), #events))
end

function M.click(ui, kind, value)
    ui.events.clicked = kind == "row" and value or nil
end

return M
