-- SPDX-License-Identifier: BSD-3-Clause
--- Classes: one row a slab class, sorted and filtered, with the pages to move under the cursor; tall screens show the
-- class under the cursor in detail below.
local cells = require "slate.console.cells"
local class_charts = require "slate.console.draw.class_charts"
local class_state = require "slate.console.draw.class_state"
local class_table = require "slate.console.draw.class_table"
local columns = require "slate.console.draw.class_columns"
local figure = require "slate.console.figure"
local keys = require "slate.console.keys"
local narrow = require "slate.console.draw.narrow"
local propose = require "slate.console.propose"
local view_list = require "slate.console.view_list"

local M = { name = "Classes", scope = "classes", open = "view_classes",
    shown = { "rates", "sizes.items", "curve.lru_hit_ratio" },
    state = class_table.state }

local DETAIL_ROWS <const>, DETAIL_MOST <const>, SCREEN_STEP <const> = 13, 24, 15
local LONGEST_WINDOW_S <const> = 100

-- "3 classes by EV/s ▼   rates over 10 s (a)   filter: ev>0"
local function status_words(model, ui, width)
    local words = { ("%d classes by %s %s"):format(#class_table.rows(model, ui), ui.sort.head,
        ui.is_ascending and "▲" or "▼"), ("rates over %d s (a)"):format(ui.window_s) }
    words[#words + 1] = ui.hides_idle and "idle hidden (i)" or nil
    words[#words + 1] = ui.filter ~= "" and "filter: " .. ui.filter or nil
    words[#words + 1] = ui.source and ("from: class %d ◀"):format(ui.source) or nil
    return narrow.fitting(width, "   ", words)
end

-- The class under the cursor: figures, then its evictions, hits and pages over time.
local function draw_detail(model, id, grid, area)
    local one, row = model:class(id), model:row(id)
    grid:rule(area.y, area.x, area.width, ("class %d: %s"):format(id, class_state.words(row)))
    grid:text(area.y + 1, area.x, cells.PLAIN, ("%s of %s bytes; whole pages free: %s"):format(class_state.pages(one),
        figure.exact(one.chunk_size), class_state.free_pages(one)))
    grid:text(area.y + 2, area.x, cells.PLAIN, class_state.segments(one))
    grid:text(area.y + 3, area.x, cells.PLAIN, ("so far: %s evicted, %s of them unread; "
        .. "%s expired unread; %s refused for want of memory"):format(figure.count(one.evicted),
        figure.count(one.evicted_unfetched), figure.count(one.expired_unfetched), figure.count(one.outofmemory)))
    local third, y, height = area.width // 3, area.y + 4, area.height - 4
    class_charts.draw_past(model, grid, id, function(i)
        local x = area.x + (i - 1) * third
        return cells.area(y, x, height, i < 3 and third or area.x + area.width - x)
    end)
end

--- The charts of the class under the cursor, where the last drawing had room for them.
function M.wants(ui, wants)
    if ui.classes.is_wide then
        class_charts.add_wants(wants, ui.classes.cursor)
    end
end

-- What is said of the class under the cursor, and its style.
local function hint_of(frame, ui)
    local rows = class_table.rows(frame.model, ui.classes)
    local id = rows[1] and rows[class_table.cursor_row(frame.model, rows, ui.classes)].id
    if id then
        return class_state.hint(frame, id)
    end
    return "", cells.PLAIN
end

function M.draw(frame, ui, grid, area)
    local model, detail, beside = frame.model, 0, class_charts.width(area)
    local hint, style = hint_of(frame, ui)
    local foot = math.max(cells.rows_of(hint, area.width), 1)
    foot = area.height < 8 and 1 or foot + 1 -- the hint, and above it how the rows are chosen
    ui.classes.is_wide = beside > 0
    if beside == 0 and area.height >= 34 and area.width >= 100 then
        local spare = area.height - foot - #class_table.rows(model, ui.classes) - 3
        detail = math.max(DETAIL_ROWS, math.min(spare, DETAIL_MOST))
    end
    local height = area.height - foot - detail
    class_table.draw(model, ui.classes, grid, cells.area(area.y, area.x, height, area.width - beside))
    local id = model:class(ui.classes.cursor) and ui.classes.cursor
    if beside > 0 and id then
        local left = require("slate.console.views.class").draw_beside(frame, grid,
            cells.area(area.y, area.x + area.width - beside + 1, height, beside - 1), id)
        class_charts.draw(frame, grid, left, id)
    end
    if detail > 0 and id then
        draw_detail(model, id, grid, cells.area(area.y + height, area.x, detail, area.width))
    end
    local y = area.y + area.height - foot
    if foot > 1 then
        grid:text_fit(y, 0, area.width, cells.DIM, status_words(model, ui.classes, area.width))
    end
    local hint_rows = math.max(foot - 1, 1)
    grid:paragraph(cells.area(y + foot - hint_rows, 0, hint_rows, area.width), style, hint)
end

local function say(...)
    return { kind = "say", text = string.format(...) }
end

local function mark_source(table_ui)
    local id = table_ui.cursor
    if not id then
        return say("there is no class to mark")
    elseif table_ui.source == id then
        table_ui.source = nil
        return say("no source is marked")
    end
    table_ui.source = id
    return say("class %d is the source: go to the class that needs the pages and press m", id)
end

local COMMANDS <const> = {
    mark_source = function(_, ui) return mark_source(ui.classes) end,
    move_pages = function(frame, ui) return propose.move(frame, ui.classes.cursor, ui.classes.source) end,
    sort_next = function(_, ui) class_table.step_sort(ui.classes, 1) end,
    sort_previous = function(_, ui) class_table.step_sort(ui.classes, -1) end,
    sort_reverse = function(_, ui) ui.classes.is_ascending = not ui.classes.is_ascending end,
    window = function(_, ui)
        local window_s = ui.classes.window_s
        ui.classes.window_s = window_s < LONGEST_WINDOW_S and window_s * 10 or 1
    end,
    idle_rows = function(_, ui) ui.classes.hides_idle = not ui.classes.hides_idle end,
    open_class = function(_, ui)
        if ui.classes.cursor then
            view_list.open_class(ui, ui.classes.cursor)
        end
    end,
    columns = function(_, ui) ui.columns.is_open = true end,
}

function M.command(frame, ui, command)
    -- A key may come before the first drawing has placed the cursor.
    class_table.move_cursor(frame.model, ui.classes, keys.move_rows(command, SCREEN_STEP))
    local run = COMMANDS[command]
    return run and run(frame, ui)
end

--- The state of the class under the cursor, then the column of the order, then every column.
function M.terms(ui, frame)
    local terms, current, words = class_state.terms(frame, ui.classes.cursor)
    terms[#terms + 1] = ui.classes.sort.name and "class." .. ui.classes.sort.name or nil
    for _, column in ipairs(columns.LIST) do
        terms[#terms + 1] = column ~= ui.classes.sort and "class." .. column.name or nil
    end
    return terms, current, words
end

--- A second click on the same head turns the order round.
function M.click(ui, kind, value)
    if kind == "row" then
        ui.classes.cursor = value
    elseif ui.classes.heads and ui.classes.heads[value] then
        class_table.sort_by(ui.classes, ui.classes.heads[value])
    end
end

return M
