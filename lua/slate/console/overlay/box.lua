-- SPDX-License-Identifier: BSD-3-Clause
--- The box of an overlay with text: at the foot of the screen, as high as its text or the screen, and scrolled.
local cells = require "slate.console.cells"
local keys = require "slate.console.keys"
local narrow = require "slate.console.draw.narrow"

local M = {}

local WIDTH <const> = 76
local BELOW <const> = 4 -- rows below and beside the text: the key bar, the operator's line and the frame

--- More rows than any text has: a page, for keys that scroll.
M.ROWS_MOST = 200

--- Scrolls ui.top by a command; drawing stops it at the last line.
function M.scroll(ui, command)
    ui.top = keys.step(ui.top, keys.move_rows(command, M.ROWS_MOST), M.ROWS_MOST)
end

--- Draws parts below each other: { mark, mark_style, style, text }, the mark before the first row of its text, which
-- begins `indent` columns further. ui.top: the first row of text shown.
function M.draw(grid, ui, title, indent, parts)
    local width, total = math.min(grid.width, WIDTH), 0
    local text_width = width - BELOW - indent
    for _, part in ipairs(parts) do
        part.rows = cells.rows_of(part.text, text_width)
        total = total + part.rows
    end
    local shown = math.min(total, grid.height - BELOW - 2)
    local y, x = grid.height - BELOW - shown, (grid.width - width) // 2
    ui.top = keys.top(ui.top, ui.top, math.max(shown, 0), total)
    grid:box(cells.area(y, x, shown + 2, width), title)
    grid:text_right(y + shown + 1, x + width - 2, cells.DIALOG, narrow.more(ui.top, math.max(shown, 0), total))
    local line = 1 - ui.top -- of the part, from the first row shown
    for _, part in ipairs(parts) do
        local skip = math.max(0, -line)
        local at, room = y + 1 + line + skip, shown - line - skip
        if part.rows > skip and room > 0 then
            grid:text(at, x + 2, part.mark_style, skip == 0 and part.mark or " ")
            grid:paragraph(cells.area(at, x + 2 + indent, room, text_width), part.style, part.text, skip)
        end
        line = line + part.rows
    end
end

return M
