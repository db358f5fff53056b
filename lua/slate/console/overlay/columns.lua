-- SPDX-License-Identifier: BSD-3-Clause
--- The choice of the class table's columns, which the table shows at once.
local cells = require "slate.console.cells"
local class_table = require "slate.console.draw.class_table"
local keys = require "slate.console.keys"

local M = { name = "columns", scope = "columns" }

local WIDTH <const> = 82
local WORDS <const> = { room = "room", always = "ALWAYS", never = "never" }
local NEXT <const> = { room = "always", always = "never" } -- then by room again, which is nil

--- cursor: the place of a column in the order.
function M.state()
    return { is_open = false, cursor = 1 }
end

function M.draw(_, ui, grid)
    local order, choice, cursor = ui.classes.order, ui.classes.choice, ui.columns.cursor
    local width, height = math.min(grid.width - 2, WIDTH), math.min(grid.height - 3, #order + 2)
    local left, rows = (grid.width - width) // 2, height - 2
    grid:box(cells.area(1, left, height, width), "columns: Space shows or hides, < and > move")
    local top = keys.top(1, cursor, rows, #order)
    for i = top, math.min(top + rows - 1, #order) do
        local column, y, x = order[i], 2 + i - top, left + 2
        local chosen = choice[column]
        grid:text(y, x, cells.STRONG, i == cursor and "▶" or " ")
        grid:text(y, x + 2, chosen == "always" and cells.STRONG or cells.DIALOG, WORDS[chosen or "room"])
        grid:text(y, x + 9, cells.STRONG, column.head)
        grid:text_fit(y, x + 17, width - 20, cells.DIALOG, column.meaning)
        if i == cursor then
            grid:select(y, left + 1, width - 2)
        end
    end
end

-- Moves the column under the cursor by one place, and the cursor with it.
local function move_column(order, columns, by)
    local at, other = columns.cursor, columns.cursor + by
    if order[other] then
        order[at], order[other] = order[other], order[at]
        columns.cursor = other
    end
end

function M.command(_, ui, command)
    local table_ui, columns = ui.classes, ui.columns
    local order, choice = table_ui.order, table_ui.choice
    local column = order[columns.cursor]
    columns.cursor = keys.step(columns.cursor, keys.move_rows(command, #order), #order)
    if command == "toggle" then
        choice[column] = NEXT[choice[column] or "room"]
    elseif command == "earlier" then
        move_column(order, columns, -1)
    elseif command == "later" then
        move_column(order, columns, 1)
    elseif command == "reset" then
        class_table.reset_columns(table_ui)
    elseif command == "cancel" then
        columns.is_open = false
    end
end

return M
