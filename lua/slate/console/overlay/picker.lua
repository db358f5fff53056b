-- SPDX-License-Identifier: BSD-3-Clause
--- The values of a setting to choose from, a line each with its effect: of a row of Tune, or the modes of automove.
--- Nothing is sent: the value becomes a new value of Tune, or opens its review; Tune asks for the part that is typed,
--- and for marked servers the palette.
local cells = require "slate.console.cells"
local change = require "slate.console.change"
local keys = require "slate.console.keys"
local marked = require "slate.console.marked"
local narrow = require "slate.console.draw.narrow"
local settings_shown = require "slate.facts.settings_shown"
local view_list = require "slate.console.view_list"

local M = { name = "picker", scope = "picker" }

local WIDTH <const>, VALUE_X <const>, WORDS_X <const> = 80, 4, 15

function M.state()
    return { is_open = false }
end

--- Opens the values of a setting. at: the one under the cursor; take: a function of the value that is taken, which
--- returns an intent or nil.
function M.open(ui, name, at, take)
    ui.picker = { is_open = true, name = name, at = at, take = take }
end

function M.wants(_, wants)
    change.add_settings(wants)
end

-- The row of the setting, its values, and the index of the one under the cursor. slated reports values on request.
local function values_of(frame, ui)
    local row = change.row(frame.live, ui.picker.name, ui.classes.cursor)
    local values, cursor = row and settings_shown.values(row) or {}, 1
    for i, value in ipairs(values) do
        cursor = value == ui.picker.at and i or cursor
    end
    return row, values, cursor
end

function M.draw(frame, ui, grid)
    local row, values, cursor = values_of(frame, ui)
    local width, count = math.min(grid.width, WIDTH), #values
    local words = values[cursor] and settings_shown.value_words(row.name, values[cursor]) or ""
    local is_cut = cells.width_of(words) > width - WORDS_X - 2 -- then they stand below the list, too
    local foot = is_cut and cells.rows_of(words, width - 4) or 0
    local rows = math.min(count, grid.height - 5 - foot)
    local y, x = math.max((grid.height - rows - foot - 2) // 2, 0), (grid.width - width) // 2
    local top = keys.top(1, cursor, rows, count)
    grid:box(cells.area(y, x, rows + foot + 2, width), change.label(ui.picker.name))
    grid:paragraph(cells.area(y + 1 + rows, x + 2, foot, width - 4), cells.STRONG, words)
    grid:text_right(y + rows + foot + 1, x + width - 2, cells.DIALOG, narrow.more(top, rows, count))
    for i = top, math.min(top + rows - 1, count) do
        local value, line = values[i], y + 1 + i - top
        grid:text(line, x + 2, cells.STRONG, value == row.now and "●" or " ")
        grid:text_fit(line, x + VALUE_X, WORDS_X - VALUE_X - 1, cells.STRONG, value)
        grid:text_fit(line, x + WORDS_X, width - WORDS_X - 2, cells.DIALOG,
            settings_shown.value_words(row.name, value))
        if i == cursor then
            grid:text(line, x + 1, cells.STRONG, ">")
            grid:select(line, x + 1, width - 2)
        end
    end
end

function M.command(frame, ui, command)
    local picker, _, values, cursor = ui.picker, values_of(frame, ui)
    picker.at = values[keys.step(cursor, keys.move_rows(command, #values), #values)]
    picker.is_open = command ~= "cancel" and command ~= "accept"
    if command ~= "accept" or not picker.at then
        return nil
    end
    local before = settings_shown.typed_after(picker.at)
    if before and select(2, view_list.current(ui)) == "fleet" and marked.count(ui) > 0 then -- Tune is of one server
        view_list.module("palette").open(ui)
        ui.palette.typed = ("set %s %s"):format(picker.name, before)
        return nil
    end
    return before and view_list.module("tune").type(frame, ui, picker.name, before) or picker.take(picker.at)
end

return M
