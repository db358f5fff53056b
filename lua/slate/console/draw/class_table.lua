-- SPDX-License-Identifier: BSD-3-Clause
--- The table of slab classes: choice and order of its rows and columns, and its drawing. The view of classes and batch
-- mode use it. No I/O.
--
-- ui, of state(): cursor (id of the class under the cursor; nil: none yet), top (the first row shown), source (id
-- of the class marked as the source of a move), sort (a column), is_ascending, hides_idle, window_s (rates are means
-- over this), filter; order (columns from left to right), choice (by column: "always", "never"; nil: while there is
-- room, by its rank), heads (the columns last drawn).
local cells = require "slate.console.cells"
local class_state = require "slate.console.draw.class_state"
local columns = require "slate.console.draw.class_columns"
local filter = require "slate.console.draw.class_filter"
local find = require "slate.base.find"
local gather = require "slate.base.gather"
local keys = require "slate.console.keys"
local narrow = require "slate.console.draw.narrow"

local M = {}

local MARK_WIDTH <const> = 2
local LAST_MAIN_RANK <const>, LAST_TREND_RANK <const>, LAST_RANK <const> = 10, 15, 19
local TREND_LEAST <const>, TREND_LONG <const> = 8, 19
local SORTED_UPWARDS <const> = { class = true, size = true }

--- The columns in their first order, all by room.
function M.reset_columns(ui)
    ui.order, ui.choice = table.move(columns.LIST, 1, #columns.LIST, 1, {}), {}
end

function M.state()
    local ui = { top = 1, sort = columns.named("ev"), is_ascending = false, hides_idle = false, window_s = 10,
        filter = "" }
    M.reset_columns(ui)
    return ui
end

local function is_idle(model, class, window_s)
    return not gather.any({ "hits", "sets", "ev" }, function(name)
        return (columns.named(name).value(model, class, window_s) or 0) > 0
    end)
end

-- Sorts classes. Unknown values go last in either direction; texts of an own column go by letters; equal rows go by id,
-- so that they do not change places.
local function sort(rows, model, ui)
    local values, texts = {}, {}
    for _, class in ipairs(rows) do
        values[class] = ui.sort.value(model, class, ui.window_s)
        texts[class] = ui.sort.cell and ui.sort.cell(model, class) or ""
    end
    table.sort(rows, function(a, b)
        local x, y = values[a], values[b]
        if (x == nil) ~= (y == nil) then
            return y == nil
        elseif x == nil then
            x, y = texts[a], texts[b]
        end
        if x == y then
            return a.id < b.id
        end
        return (x < y) == ui.is_ascending
    end)
end

--- The classes to show (of the model's snapshot), sorted.
function M.rows(model, ui)
    local terms, rows = filter.parse(ui.filter) or {}, {}
    for _, class in ipairs(model.now and model.now.classes or {}) do
        if class.id > 0 and not (ui.hides_idle and is_idle(model, class, ui.window_s))
            and filter.passes(terms, model, class, ui.window_s) then
            rows[#rows + 1] = class
        end
    end
    sort(rows, model, ui)
    return rows
end

--- The row under the cursor: of the class that was chosen, at first of the one in need; else the first one.
function M.cursor_row(model, rows, ui)
    return find.by(rows, "id", ui.cursor or (model:in_need() or {}).id) or 1
end

--- Moves the cursor by so many rows; it stays on a row that exists.
function M.move_cursor(model, ui, by)
    local rows = M.rows(model, ui)
    if #rows > 0 then
        ui.cursor = rows[keys.step(M.cursor_row(model, rows, ui), by, #rows)].id
    end
end

--- Sorts by a column; by the one in use, the other way round.
function M.sort_by(ui, column)
    if ui.sort == column then
        ui.is_ascending = not ui.is_ascending
    else
        ui.sort, ui.is_ascending = column, SORTED_UPWARDS[column.name] or false
    end
end

--- Sorts by the next (1) or previous (-1) column of those last drawn.
function M.step_sort(ui, step)
    local at = find.place(ui.heads or {}, ui.sort) or 0
    local next_one = ui.heads and ui.heads[(at - 1 + step) % #ui.heads + 1]
    if next_one and next_one ~= ui.sort then
        M.sort_by(ui, next_one)
    end
end

-- How many trends are drawn in so many columns.
local function trends_in(columns_left)
    return columns_left >= 4 * TREND_LEAST and 2 or columns_left > TREND_LEAST and 1 or 0
end

-- Chooses columns in this order: the class id, the operator's choices, the main columns, a short trend, the state in
-- words, other columns. Space left makes the trend longer; much space makes two trends. Returns { placed = a list of
-- { column, x_end }, from the table's left edge; x_end (of the last one, and a blank), state_width (nil: no room),
-- trends = 0, 1 (evictions) or 2 (pages, too), trend_width }.
local function lay_out(model, ui, width)
    local own, shown, left = columns.own(model.rules), {}, width - MARK_WIDTH
    local function take(column)
        if not shown[column] and left >= column.width + 1 then
            shown[column], left = true, left - column.width - 1
        end
    end
    local function take_ranks(first, last)
        for rank = first, last do
            for _, list in ipairs({ columns.LIST, own }) do
                for _, column in ipairs(list) do
                    if column.rank == rank and ui.choice[column] ~= "never" then
                        take(column)
                    end
                end
            end
        end
    end
    take(columns.named("class"))
    for _, column in ipairs(ui.order) do
        if ui.choice[column] == "always" then
            take(column)
        end
    end
    take_ranks(0, LAST_MAIN_RANK)
    local reserved = left > TREND_LEAST and TREND_LEAST + 1 or 0
    left = left - reserved
    local state_width = left > class_state.SHORT_WIDTH and class_state.SHORT_WIDTH or nil
    left = state_width and left - state_width - 1 or left
    take_ranks(LAST_MAIN_RANK + 1, LAST_TREND_RANK)
    left = left + reserved
    local narrower = left - class_state.WIDTH + class_state.SHORT_WIDTH
    if state_width and trends_in(narrower) == trends_in(left) then -- the state's long form costs no trend
        state_width, left = class_state.WIDTH, narrower
    end
    local two_long = 2 * (TREND_LONG + 1)
    if left >= two_long then -- columns of the last ranks come after both trends
        left = left - two_long
        take_ranks(LAST_TREND_RANK + 1, LAST_RANK)
        left = left + two_long
    end
    local trends = trends_in(left)
    local layout = { placed = {}, x_end = MARK_WIDTH, state_width = state_width, trends = trends,
        trend_width = trends > 0 and left // trends - 1 or 0 }
    for _, list in ipairs({ ui.order, own }) do
        for _, column in ipairs(list) do
            if shown[column] then
                layout.placed[#layout.placed + 1] = { column = column, x_end = layout.x_end + column.width }
                layout.x_end = layout.x_end + column.width + 1
            end
        end
    end
    return layout
end

-- Where the state and the trends begin, from the table's left edge; nil for those without room.
local function places_of(layout)
    local x = layout.x_end + 1
    local state_x = layout.state_width and x or nil
    x = state_x and x + layout.state_width + 1 or x
    if layout.trends == 2 then
        return state_x, x, x + layout.trend_width + 1
    end
    return state_x, nil, layout.trends == 1 and x or nil
end

local function draw_heads(ui, grid, area, layout)
    grid:head(area.y, area.x, area.width, "")
    ui.heads = {}
    for i, at in ipairs(layout.placed) do
        local column, x_end, is_sort = at.column, area.x + at.x_end, at.column == ui.sort
        ui.heads[i] = column
        grid:text_right(area.y, x_end, is_sort and cells.STRONG or cells.HEADER, column.head)
        grid:hot(cells.area(area.y, x_end - column.width, 1, column.width + 1), "sort", i)
        if is_sort then
            grid:text(area.y, x_end, cells.STRONG, ui.is_ascending and "▲" or "▼")
        end
    end
    local state_x, pages_x, evictions_x = places_of(layout)
    if state_x then
        grid:text(area.y, area.x + state_x, cells.HEADER, "STATE")
    end
    if pages_x then
        grid:text_fit(area.y, area.x + pages_x, layout.trend_width, cells.HEADER, "PAGES, history")
    end
    if evictions_x then
        grid:text_fit(area.y, area.x + evictions_x, layout.trend_width, cells.HEADER,
            layout.trend_width >= TREND_LONG and "EVICTIONS/s, history" or "EV trend")
    end
end

local function draw_row(model, ui, grid, area, layout, class)
    local row, y, x = model:row(class.id), area.y, area.x
    grid:text(y, x, cells.STRONG, class.id == ui.source and "◀" or " ")
    grid:text(y, x + 1, class_state.style(row), class_state.mark(row))
    for _, at in ipairs(layout.placed) do
        local name = at.column.name
        local is_alarm = class_state.starves(row) and (name == "ev" or name == "class")
        grid:text_right(y, x + at.x_end, is_alarm and cells.BAD or cells.PLAIN,
            columns.text(at.column, model, class, ui.window_s))
    end
    local state_x, pages_x, evictions_x = places_of(layout)
    if state_x then
        grid:text(y, x + state_x, class_state.style(row), class_state.words(row, layout.state_width))
    end
    local function draw_trend(trend_x, series)
        grid:graph(cells.area(y, x + trend_x, 1, layout.trend_width), cells.GRAPH, series, 0)
    end
    if pages_x then
        draw_trend(pages_x, model:class_series(class.id, "pages", layout.trend_width))
    end
    if evictions_x then -- spikes are cut only of rates: every step of pages matters
        draw_trend(evictions_x,
            (cells.without_spikes(model:class_series(class.id, "evictions", layout.trend_width))))
    end
end

-- Sums over the rows; chunks of different sizes are not added up.
local function draw_totals(model, ui, grid, area, layout, rows)
    grid:text(area.y, area.x, cells.STRONG, "Σ" .. #rows)
    for _, at in ipairs(layout.placed) do
        local column, sum = at.column, nil
        for _, class in ipairs(column.has_total and rows or {}) do
            local value = column.value(model, class, ui.window_s)
            if value and (value >= 0 or column.form == "delta") then
                sum = (sum or 0) + value
            end
        end
        if column.has_total then
            grid:text_right(area.y, area.x + at.x_end, cells.STRONG, columns.format(column, sum))
        end
    end
end

--- Draws heads, rows and a line of totals, with the row under the cursor marked.
function M.draw(model, ui, grid, area)
    local rows, layout = M.rows(model, ui), lay_out(model, ui, area.width)
    draw_heads(ui, grid, area, layout)
    if area.height < 2 then
        return
    end
    local room = area.height - 1
    local has_totals = room >= 4 and model.now ~= nil
    local visible, cursor = has_totals and room - 1 or room, M.cursor_row(model, rows, ui)
    ui.cursor = rows[cursor] and rows[cursor].id
    ui.top = keys.top(ui.top, cursor, visible, #rows)
    for i = ui.top, math.min(ui.top + visible - 1, #rows) do
        local class, at = rows[i], cells.area(area.y + 1 + i - ui.top, area.x, 1, area.width)
        draw_row(model, ui, grid, at, layout, class)
        grid:hot(at, "row", class.id)
        if i == cursor then
            if class.id ~= ui.source then
                grid:text(at.y, at.x, cells.STRONG, ">")
            end
            grid:select(at.y, at.x, at.width)
        end
    end
    if #rows == 0 then
        grid:text_fit(area.y + 1, area.x + MARK_WIDTH, area.width - MARK_WIDTH, cells.DIM,
            (ui.filter ~= "" or ui.hides_idle) and "no class passes the filter" or model:no_classes())
    end
    if has_totals then
        local foot = cells.area(area.y + area.height - 1, area.x, 1, area.width)
        draw_totals(model, ui, grid, foot, layout, rows)
        grid:text_right(foot.y, foot.x + foot.width, cells.DIM,
            narrow.more(ui.top, visible, #rows, foot.width - layout.x_end))
    end
end

return M
