-- SPDX-License-Identifier: BSD-3-Clause
--- The past as a line above the key bar: the time of day at both ends, the moment shown, a mark where an incident was,
--- and a small one where a class began to starve. It stands where messages do, and a message covers it until
--- the next key.
local cells = require "slate.console.cells"

local M = {}

local DAY_S <const> = 86400

local drawn -- the line as last drawn: { x, width, from_s, span_s }

--- Draws the line. frame: with `past`.
function M.draw(frame, grid)
    local y, from_s, to_s = grid.height - 2, frame.past.from_s, frame.past.to_s
    local form = to_s - from_s < DAY_S and "%H:%M:%S" or "%m-%d %H:%M"
    local begins, ends = os.date(form, from_s // 1), os.date(form, to_s // 1)
    drawn = { x = #begins + 1, width = grid.width - #begins - #ends - 2, from_s = from_s, span_s = to_s - from_s }
    local function put(glyph, style, wall_s)
        local share = (wall_s - from_s) / math.max(to_s - from_s, 1)
        grid:text(y, drawn.x + math.floor(share * (drawn.width - 1) + 0.5), style, glyph)
    end
    grid:text(y, 0, cells.DIM, begins)
    grid:text_right(y, grid.width, cells.DIM, ends)
    grid:text(y, drawn.x, cells.DIM, ("─"):rep(drawn.width))
    local incidents = {}
    for _, event in ipairs(frame.live.events) do
        local is_there = event.wall_s >= from_s and event.wall_s <= to_s
        if is_there and (event.is_incident or event.kind == "server") then
            incidents[#incidents + 1] = event
        elseif is_there and event.kind == "alarm" then
            put("·", cells.WARN, event.wall_s)
        end
    end
    for _, event in ipairs(incidents) do
        put("▼", cells.BAD, event.wall_s)
    end
    put("●", cells.STRONG, frame.moment_s)
    grid:hot(cells.area(y, drawn.x, 1, drawn.width), "time", 0)
end

--- The time of day at a column of the line as last drawn.
function M.wall_s(x)
    return drawn.from_s + (x - drawn.x) / math.max(drawn.width - 1, 1) * drawn.span_s
end

return M
