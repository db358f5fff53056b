-- SPDX-License-Identifier: BSD-3-Clause
--- The values of a setting to choose from, a line each with its effect: of a row of Tune, or the modes of automove.
--- Nothing is sent: the value becomes a new value of Tune, or opens its review; Tune asks for the part that is typed,
--- and for marked servers the palette.
local cells = require "slate.console.cells"
local change = require "slate.console.change"
local find = require "slate.base.find"
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
--- returns an intent or nil; is_for_marked: those of all marked servers; proposed: the value that the title proposes.
function M.open(ui, name, at, take, is_for_marked, proposed)
    ui.picker = { is_open = true, name = name, at = at, take = take, is_for_marked = is_for_marked,
        proposed = proposed }
end

function M.wants(_, wants)
    change.add_settings(wants)
end

-- The values of the setting, the index of the one under the cursor, and each value's words; a set of those in force.
-- slated reports values on request: until they come, the value under the cursor may not be among them (nil).
local function values_of(frame, ui)
    local at, values, takers, in_force = ui.picker, {}, {}, {}
    local models = at.is_for_marked and marked.models(frame, ui) or { frame.live }
    for _, model in ipairs(models) do
        local row = change.row(model, at.name, ui.classes.cursor) or {}
        for _, value in ipairs(row.name and settings_shown.values(row) or {}) do
            values[#values + 1] = not takers[value] and value or nil
            takers[value] = (takers[value] or 0) + 1
            in_force[value] = in_force[value] or value == row.now
        end
    end
    local function words_of(value)
        local refusing = #models - takers[value]
        return (refusing > 0 and ("not on %d of %d servers; "):format(refusing, #models) or "")
            .. settings_shown.value_words(at.name, value)
    end
    return values, find.place(values, at.at or values[1]), words_of, in_force
end

function M.draw(frame, ui, grid)
    local values, cursor, words_of, in_force = values_of(frame, ui)
    local width, count = math.min(grid.width, WIDTH), #values
    local words = values[cursor] and words_of(values[cursor]) or ""
    local is_cut = cells.width_of(words) > width - WORDS_X - 2 -- then they stand below the list, too
    local foot = is_cut and cells.rows_of(words, width - 4) or 0
    local rows = math.min(count, grid.height - 5 - foot)
    local y, x = math.max((grid.height - rows - foot - 2) // 2, 0), (grid.width - width) // 2
    local top = keys.top(1, cursor or 1, rows, count)
    grid:box(cells.area(y, x, rows + foot + 2, width), change.label(ui.picker.name)
        .. (ui.picker.proposed and ", proposed: " .. ui.picker.proposed or ""))
    grid:paragraph(cells.area(y + 1 + rows, x + 2, foot, width - 4), cells.STRONG, words)
    grid:text_right(y + rows + foot + 1, x + width - 2, cells.DIALOG, narrow.more(top, rows, count))
    for i = top, math.min(top + rows - 1, count) do
        local value, line = values[i], y + 1 + i - top
        grid:text(line, x + 2, cells.STRONG, in_force[value] and "●" or " ")
        grid:text_fit(line, x + VALUE_X, WORDS_X - VALUE_X - 1, cells.STRONG, value)
        grid:text_fit(line, x + WORDS_X, width - WORDS_X - 2, cells.DIALOG, words_of(value))
        if i == cursor then
            grid:text(line, x + 1, cells.STRONG, ">")
            grid:select(line, x + 1, width - 2)
        end
    end
end

function M.command(frame, ui, command)
    local picker, values, cursor = ui.picker, values_of(frame, ui)
    local by = keys.move_rows(command, #values)
    picker.at = by ~= 0 and values[keys.step(cursor or 1, by, #values)] or picker.at or values[1]
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
