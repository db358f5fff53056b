-- SPDX-License-Identifier: BSD-3-Clause
--- Fleet: one row a server, worst first, including dead ones; below them the pool as a whole, and the oddities of the
-- server under the cursor.
local cells = require "slate.console.cells"
local events = require "slate.console.views.events"
local figure = require "slate.console.figure"
local filter = require "slate.console.overlay.filter"
local fleet_table = require "slate.console.draw.fleet_table"
local keys = require "slate.console.keys"
local marked = require "slate.console.marked"
local narrow = require "slate.console.draw.narrow"
local units = require "slate.base.units"

local M = {
    name = "Fleet",
    scope = "fleet",
    open = "view_fleet",
    shown = { "fleet.odd", "fleet.server", "fleet.version", "uptime", "memory.limit", "fleet.fill", "gets",
        "hit_ratio", "evictions", "fleet.age", "connections", "reply_ms", "rates", "fleet.proxy" },
}

local EVENTS_LEAST <const> = 5 -- rows that the servers leave, from which on events of one stand there
local POOL_ROWS <const>, SAID_ROWS_MOST <const>, SCREEN_ROWS <const>, FOOT_FROM_HEIGHT <const> = 4, 3, 15, 12

--- The view's part of ui: of slate.console.draw.fleet_table, and filter (a text of the rows that are shown).
function M.state()
    return { top = 1, marked = {}, filter = "" }
end

-- The rows with the text of the filter, sorted, and in words how many of all have it; "" without a filter. If none has
-- it, all are shown: keys act on the row under the cursor.
local function shown_rows(rows, fleet)
    local shown, words = {}, ""
    for _, row in ipairs(rows) do
        shown[#shown + 1] = filter.passes(fleet.filter, ("%s %s %s"):format(row.name, row.version, row.state)) and row
            or nil
    end
    if #shown == 0 and #rows > 0 then
        words = ("no server has '%s' in its row, so all are shown"):format(fleet.filter)
    elseif fleet.filter ~= "" then
        words = ("%d of %s with '%s': / changes that"):format(#shown, units.plural(#rows, "server"), fleet.filter)
    end
    return fleet_table.sorted(#shown > 0 and shown or rows, fleet), words
end

--- The index in the fleet of the server under the cursor; nil: there is none.
function M.selected(rows, ui)
    local sorted = shown_rows(rows, ui.fleet)
    return #sorted > 0 and sorted[fleet_table.row_at(sorted, ui.fleet)].server or nil
end

-- "12 servers, 11 up: 551k gets/s, hits 92.3%, 7.1k evictions/s, 88.0G memory"
local function draw_pool(rows, note, grid, y, width)
    local sums, up, found, requested = {}, 0, 0, 0
    for _, row in ipairs(rows) do
        if row.is_up then
            up = up + 1
            for _, field in ipairs({ "gets_per_s", "evictions_per_s", "limit_bytes" }) do
                local value = row[field]
                sums[field] = value and value >= 0 and (sums[field] or 0) + value or sums[field]
            end
            local gets, hit_ratio = row.gets_per_s or 0, row.hit_ratio or -1
            if gets > 0 and hit_ratio >= 0 then
                requested, found = requested + gets, found + gets * hit_ratio
            end
        end
    end
    local words = ("%s, %d up%s: %s gets/s"):format(units.plural(#rows, "server"), up, note,
        figure.count(sums.gets_per_s))
    grid:text_fit(y, 0, width, up < #rows and cells.WARN or cells.PLAIN, narrow.fitting(width, ", ", { words,
        ("hits %s%%"):format(figure.percent(requested > 0 and found / requested or nil)),
        figure.count(sums.evictions_per_s) .. " evictions/s", units.bytes_in_words(sums.limit_bytes) .. " memory" }))
end

-- The words of the server under the cursor, and how it differs from the others, with their style.
local function selected_words(row)
    local style = (row.is_odd or not row.is_up) and cells.BAD or cells.PLAIN
    if not (row.is_up and row.is_odd) then
        return ("%s: %s%s"):format(row.name, row.words, row.model.link == "down" and "; C connects now" or ""), style
    end
    local column = fleet_table.column_of(row.odd)
    return ("%s is far from the pool: %s %s, %.1f deviations from the median; %s"):format(row.name, column.head,
        column.text(row), row.far, row.words), style
end

--- The state of the server under the cursor.
function M.terms(ui, frame)
    local rows = shown_rows(frame.servers, ui.fleet)
    local row = rows[fleet_table.row_at(rows, ui.fleet)]
    return { "fleet.state" }, 1, row and (selected_words(row))
end

-- The last line: what is wrong with a list of servers, or a hint on keys.
local function draw_hint(frame, ui, grid, y, width)
    local count = marked.count(ui)
    local hint = count == 0 and "keys act on the row under the cursor; Enter opens it; m marks it, steps down"
        or ("◆ %d marked: t, u and :set go to %s; m unmarks"):format(count, count == 1 and "it" or "them")
    local has_note = frame.fleet_note ~= "" and count == 0
    grid:text_fit(y, 0, width, has_note and cells.WARN or cells.DIM, has_note and frame.fleet_note or hint)
end

function M.draw(frame, ui, grid, area)
    local rows, filtered = shown_rows(frame.servers, ui.fleet)
    local note = frame.fleet_note ~= "" and frame.fleet_note or filtered
    if #rows == 0 then
        grid:text_fit(area.y, 0, area.width, cells.WARN, frame.is_replay and "a recording has one server, and no fleet"
            or note ~= "" and note or "looking up the list of servers")
        return
    end
    local text, style = selected_words(rows[fleet_table.row_at(rows, ui.fleet)])
    local has_foot = area.height >= FOOT_FROM_HEIGHT
    local said = math.min(cells.rows_of(text, area.width), SAID_ROWS_MOST)
    local foot = has_foot and POOL_ROWS - 1 + said or 1
    local room = area.height - foot - 1 - #rows
    local spare = room >= EVENTS_LEAST and room - 1 or 0
    local y = area.y + area.height - foot
    fleet_table.draw(rows, ui.fleet, frame.now_s, grid, cells.area(area.y, area.x, y - area.y - spare, area.width))
    if spare > 0 then
        local row = rows[fleet_table.row_at(rows, ui.fleet)]
        grid:rule(y - spare, area.x, area.width, "events of " .. row.name)
        events.draw_list(row, grid, cells.area(y - spare + 1, area.x, spare - 1, area.width))
    end
    if not has_foot and marked.count(ui) > 0 then
        draw_hint(frame, ui, grid, y, area.width)
        return
    elseif not has_foot then
        draw_pool(frame.servers, note ~= "" and "; " .. note or "", grid, y, area.width)
        return
    end
    local sorted = fleet_table.sort_column(ui.fleet)
    grid:rule(y, area.x, area.width, filtered ~= "" and filtered
        or sorted.field == "state" and not ui.fleet.is_ascending and "pool: worst first" or "pool")
    draw_pool(frame.servers, "", grid, y + 1, area.width)
    grid:paragraph(cells.area(y + 2, 0, SAID_ROWS_MOST, area.width), style, text)
    draw_hint(frame, ui, grid, y + 2 + said, area.width)
end

-- Moves the cursor by rows; a step of 0 settles it on the row shown.
local function move_cursor(frame, ui, step)
    local rows = shown_rows(frame.servers, ui)
    if #rows > 0 then
        ui.cursor = rows[keys.step(fleet_table.row_at(rows, ui), step, #rows)].server
    end
end

local function sort_by(ui, number)
    ui.sort, ui.is_ascending = number, fleet_table.COLUMNS[number].is_up or false
end

function M.command(frame, ui, command)
    local fleet, columns = ui.fleet, #fleet_table.COLUMNS
    local sorted = fleet_table.sort_column(fleet).index
    move_cursor(frame, fleet, keys.move_rows(command, SCREEN_ROWS))
    if command == "sort_next" then
        sort_by(fleet, sorted % columns + 1)
    elseif command == "sort_previous" then
        sort_by(fleet, (sorted - 2) % columns + 1)
    elseif command == "sort_reverse" then
        fleet.is_ascending = not fleet.is_ascending
    elseif command == "mark_server" and fleet.cursor then
        fleet.marked[fleet.cursor] = not fleet.marked[fleet.cursor] or nil
        move_cursor(frame, fleet, 1)
    elseif command == "open_server" and fleet.cursor then
        return { kind = "open_server", server = fleet.cursor }
    end
end

function M.click(ui, kind, value)
    local fleet = ui.fleet
    if kind == "row" then
        fleet.cursor = value
    elseif kind == "sort" and fleet_table.sort_column(fleet).index == value then
        fleet.is_ascending = not fleet.is_ascending
    elseif kind == "sort" then
        sort_by(fleet, value)
    end
end

return M
