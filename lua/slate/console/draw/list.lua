-- SPDX-License-Identifier: BSD-3-Clause
--- Lists with a cursor: a row a line, of which one is under the cursor.
local cells = require "slate.console.cells"
local keys = require "slate.console.keys"

local M = {}

--- Draws the rows that fit into the area, the cursor's among them, and makes each clickable. at: a view's part of ui,
-- whose top is set; cursor: the row under the cursor, 0: none; draw(y, i) draws row i; value(i): of a click on it
-- (optional; default: i).
function M.draw(grid, area, at, cursor, count, draw, value)
    at.top = keys.top(at.top, math.max(cursor, 1), math.max(area.height, 0), count)
    for i = at.top, math.min(at.top + area.height - 1, count) do
        local y = area.y + i - at.top
        draw(y, i)
        grid:hot(cells.area(y, area.x, 1, area.width), "row", value and value(i) or i)
        if i == cursor then
            grid:select(y, area.x, area.width)
        end
    end
end

--- The `click` of a view: puts the cursor of its part of ui on the row. name: of the view's module.
function M.click(name)
    return function(ui, kind, value)
        if kind == "row" then
            ui[name].cursor = value
        end
    end
end

return M
