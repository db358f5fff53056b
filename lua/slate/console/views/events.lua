-- SPDX-License-Identifier: BSD-3-Clause
--- Events: page moves, settings, restarts and changes by slatetop, newest first; below them, the stream of the server's
-- log that is watched.
local cells = require "slate.console.cells"
local figure = require "slate.console.figure"
local keys = require "slate.console.keys"

local M = {
    name = "Events",
    scope = "events",
    open = "view_events",
    shown = { "page_moves", "starving", "slab_automove", "ping_pong", "memory.limit", "lost_by_moves" },
}

function M.state()
    return { top = 1 }
end

local KIND_X <const>, TEXT_X <const>, SCREEN_ROWS <const>, WATCH_FROM_HEIGHT <const> = 9, 18, 15, 6
local STYLES <const> = { alarm = cells.BAD, you = cells.STRONG }

--- Draws events, newest first, from the top-th on: a part of several views.
function M.draw_list(frame, grid, area, top)
    local events = frame.model.events
    if #events == 0 then
        grid:text_fit(area.y, area.x, area.width, cells.DIM, "nothing has happened since slatetop started")
    end
    for i = 0, math.min(area.height, #events - top + 1) - 1 do
        local event, y = events[#events - (top - 1) - i], area.y + i
        local style = STYLES[event.kind] or cells.PLAIN
        grid:text(y, area.x, cells.DIM, figure.clock(event.wall_s))
        grid:text(y, area.x + KIND_X, style, ("%-8s"):format(event.kind))
        grid:text_fit(y, area.x + TEXT_X, area.width - TEXT_X, style, event.text)
    end
end

-- The text of a line of the stream, without its type if the stream has only one: the end says more.
local function shown_text(watch, text)
    return watch.stream ~= "connevents" and text:match("^type=%S* (.*)") or text
end

-- Draws the stream: of how many lines, how many of them the server dropped, and the newest ones.
local function draw_watch(watch, grid, area)
    grid:rule(area.y, area.x, area.width, ("watch %s: %s lines, %s %% lost"):format(watch.stream,
        figure.count(watch.shown), figure.percent(watch.lost > 0 and watch.lost / (watch.lost + watch.shown) or 0)))
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
    grid:head(area.y, area.x, area.width, "TIME     WHO      WHAT")
    local list = cells.area(area.y + 1, area.x, height - 1, area.width)
    ui.events.top = keys.top(ui.events.top, ui.events.top, list.height, #frame.model.events)
    M.draw_list(frame, grid, list, ui.events.top)
end

function M.command(frame, ui, command)
    ui.events.top = keys.step(ui.events.top, keys.move_rows(command, SCREEN_ROWS), #frame.model.events)
end

return M
