-- SPDX-License-Identifier: BSD-3-Clause
--- The list of keys, from the key table: those of the current view first, then those of the dialogs; two columns on a
--- wide screen, and during a search only the lines with the searched text.
local cells = require "slate.console.cells"
local explain = require "slate.console.overlay.explain"
local explain_facts = require "slate.facts.explain"
local keys = require "slate.console.keys"
local narrow = require "slate.console.draw.narrow"
local view_list = require "slate.console.view_list"

local M = { name = "help", scope = "help" }

local COLUMN_WIDTH <const>, NAMES_WIDTH <const>, SEARCHED_BYTES <const>, SCREEN_ROWS <const> = 78, 18, 39, 15

-- The other places with keys of their own, below those of a view.
local DIALOGS <const> = { { "review", "in a review" },
    { "palette", "while typing a command" }, { "filter", "while typing a filter" },
    { "columns", "in the list of columns" }, { "explain", "in an explanation" },
    { "value", "while typing a value" },
    { "picker", "in a list of values" }, { "why", "in the reasons" }, { "past", "in the past" },
    { "help", "in this list" } }

--- is_searched: the searched text is being typed, in place of searched_before; searched: only lines with this text are
-- shown; top: the first line.
function M.state()
    return { is_open = false, is_searched = false, searched = "", top = 1 }
end

function M.open(ui)
    ui.help = M.state()
    ui.help.is_open = true
end

-- Adds the heading and the rows of a scope that hold the searched text; none: no heading.
local function gather(lines, scope, heading, searched)
    local is_first = true
    for _, row in ipairs(keys.rows) do
        if row.scopes[scope] and (keys.names(row) .. "\n" .. row.help):lower():find(searched:lower(), 1, true) then
            lines[#lines + 1] = is_first and heading or nil
            lines[#lines + 1], is_first = row, false
        end
    end
end

-- Adds the figures whose names hold the searched text.
local function gather_figures(lines, searched)
    local heading = lines[1] and "figures, which :explain tells of" or "figures: Enter explains the first"
    for _, entry in ipairs(#searched > 1 and explain_facts.entries() or {}) do
        local shown = entry.term:find(searched:lower(), 1, true) and entry.term
        for i = #entry.also, 1, -1 do
            shown = entry.also[i]:lower():find(searched:lower(), 1, true) and entry.also[i] or shown
        end
        if shown then
            lines[#lines + 1], heading = heading, nil
            lines[#lines + 1] = { name = shown, entry = entry, help = explain.first_sentence(entry) }
        end
    end
end

local function lines_of(ui)
    local lines, searched = {}, ui.help.searched
    if view_list.is_open(ui, "review") then
        gather(lines, "review", "in a review", searched)
        return lines
    end
    gather(lines, view_list.current(ui).scope, "in this view", searched)
    for _, dialog in ipairs(DIALOGS) do
        gather(lines, dialog[1], dialog[2], searched)
    end
    gather_figures(lines, searched)
    return lines
end

local function draw_line(grid, y, x, width, line)
    if type(line) == "string" then
        grid:text_fit(y, x, width, cells.HEADER, line)
        return
    end
    grid:text_fit(y, x + 1, NAMES_WIDTH, cells.STRONG, line.name)
    grid:text_fit(y, x + NAMES_WIDTH + 2, width - NAMES_WIDTH - 2, cells.DIALOG, line.help)
end

-- The lines with the words that have no room in so many columns below them, from a blank on.
local function wrapped(lines, width)
    local list = {}
    for _, line in ipairs(lines) do
        local name = type(line) == "table" and (line.name or keys.names(line)) or nil
        local rest = name and line.help
        while rest and cells.width_of(rest) > width do
            local head, tail = rest:sub(1, width + 1):match("^(.*) (.-)$")
            if not head then
                break
            end
            list[#list + 1] = { name = name, help = head }
            name, rest = "", tail .. rest:sub(width + 2)
        end
        list[#list + 1] = name and { name = name, help = rest } or line
    end
    return list
end

function M.draw(_, ui, grid)
    local lines, at = lines_of(ui), ui.help
    local columns = grid.width >= 2 * COLUMN_WIDTH + 2 and 2 or 1
    local width = math.min(columns * COLUMN_WIDTH + 4, grid.width - 2)
    lines = wrapped(lines, (width - 2) // columns - 4 - NAMES_WIDTH)
    local height = #lines == 0 and 3 or math.min(-(-#lines // columns) + 2, grid.height - 3)
    local x, rows, column_width = (grid.width - width) // 2, height - 2, (width - 2) // columns
    grid:box(cells.area(1, x, height, width), width < 60 and "keys: / searches, Esc closes"
        or "keys: Up and Down scroll, / searches, Esc closes")
    at.top = keys.top(at.top, at.top, rows * columns, #lines)
    grid:text_right(height, x + width - 2, cells.DIALOG, narrow.more(at.top, rows * columns, #lines))
    for i = 0, math.min(rows * columns, #lines) - 1 do
        draw_line(grid, 2 + i % rows, x + 2 + i // rows * column_width, column_width - 2, lines[at.top + i])
    end
    if #lines == 0 then
        grid:text_fit(2, x + 2, width - 4, cells.DIALOG, ("no key of this view does '%s'"):format(at.searched))
    end
end

-- A key while the searched text is typed. Enter with figures alone explains the first.
local function search(frame, ui, command, key)
    local at, first = ui.help, lines_of(ui)[2]
    if command == "accept" or command == "cancel" then
        at.is_searched = false
        at.searched = command == "cancel" and at.searched_before or at.searched
    else
        at.searched = keys.typed(at.searched, SEARCHED_BYTES, command, key) or at.searched
    end
    at.top = 1
    if command == "accept" and first and first.entry then
        at.is_open = false
        explain.open(ui, view_list.current(ui), frame, { first.entry })
    end
end

--- Drawing stops scrolling at the last line.
function M.command(frame, ui, command, key)
    local at = ui.help
    if at.is_searched then
        return search(frame, ui, command, key)
    end
    if not command then
        return { kind = "say", text = ("%s waits until this list is closed: Esc closes it"):format(keys.label(key)) }
    end
    at.top = keys.step(at.top, keys.move_rows(command, SCREEN_ROWS), math.maxinteger // 2)
    at.is_searched, at.is_open = command == "filter", command ~= "cancel"
    if at.is_searched then
        at.searched, at.searched_before = "", at.searched
    end
end

return M
