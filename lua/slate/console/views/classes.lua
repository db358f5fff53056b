-- SPDX-License-Identifier: BSD-3-Clause
--- Classes: one row a slab class, sorted and filtered, with the pages to move under the cursor; tall screens show the
-- class under the cursor in detail below.
local cells = require "slate.console.cells"
local class_state = require "slate.console.draw.class_state"
local class_table = require "slate.console.draw.class_table"
local columns = require "slate.console.draw.class_columns"
local figure = require "slate.console.figure"
local keys = require "slate.console.keys"
local propose = require "slate.console.propose"
local view_list = require "slate.console.view_list"

local M = { name = "Classes", scope = "classes", open = "view_classes", shown = { "rates" },
    state = class_table.state }

local WIDE_FROM <const> = 160 -- columns, from which on the class under the cursor stands beside the table
local DETAIL_ROWS <const>, DETAIL_MOST <const>, SCREEN_STEP <const> = 13, 24, 15
local LONGEST_WINDOW_S <const> = 100
local GRAPHS <const> = { { "evictions", "evictions/s" }, { "hits", "hits/s" }, { "pages", "pages" } }

-- "3 classes by EV/s ▼   rates over 10 s (a)   filter: ev>0"
local function status_words(model, ui)
    local words = { ("%d classes by %s %s"):format(#class_table.rows(model, ui), ui.sort.head,
        ui.is_ascending and "▲" or "▼"), ("rates over %d s (a)"):format(ui.window_s) }
    words[#words + 1] = ui.hides_idle and "idle hidden (z)" or nil
    words[#words + 1] = ui.filter ~= "" and "filter: " .. ui.filter or nil
    words[#words + 1] = ui.source and ("from: class %d ◀"):format(ui.source) or nil
    return table.concat(words, "   ")
end

local function draw_graph(grid, area, title, values)
    grid:rule(area.y, area.x, area.width - 1, title)
    local plot = cells.area(area.y + 1, area.x + 7, area.height - 1, area.width - 8)
    local top = grid:graph(plot, cells.GRAPH, values, 0)
    grid:text_right(plot.y, plot.x - 1, cells.DIM, figure.count(top))
    grid:text_right(plot.y + plot.height - 1, plot.x - 1, cells.DIM, "0")
end

-- The class under the cursor: figures, then its evictions, hits and pages over time.
local function draw_detail(model, id, grid, area)
    local one, row = model:class(id), model:row(id)
    grid:rule(area.y, area.x, area.width, ("class %d: %s"):format(id, class_state.words(row)))
    grid:text(area.y + 1, area.x, cells.PLAIN, ("%s of %s bytes; whole pages free: %s"):format(class_state.pages(one),
        figure.exact(one.chunk_size), class_state.free_pages(one)))
    grid:text(area.y + 2, area.x, cells.PLAIN, class_state.segments(one))
    grid:text(area.y + 3, area.x, cells.PLAIN, ("since the counters began: %s evicted, %s of them unread; "
        .. "%s expired unread; %s refused for want of memory"):format(figure.count(one.evicted),
        figure.count(one.evicted_unfetched), figure.count(one.expired_unfetched), figure.count(one.outofmemory)))
    local third, y, height = area.width // 3, area.y + 4, area.height - 4
    for i, graph in ipairs(GRAPHS) do
        local x = area.x + (i - 1) * third
        local width = i < 3 and third or area.x + area.width - x
        draw_graph(grid, cells.area(y, x, height, width), graph[2], model:class_series(id, graph[1], width - 8))
    end
end

-- The class under the cursor beside the table: what the view of a class has first, its graphs over each other, and its
-- curve if the server samples one.
local function draw_beside(frame, grid, area, id)
    local left = require("slate.console.views.class").draw_beside(frame, grid, area, id)
    local curve = frame.model.answers:parsed("curve")
    local count = #GRAPHS + (curve and 1 or 0)
    local height = left.height // count
    for i, graph in ipairs(GRAPHS) do
        draw_graph(grid, cells.area(left.y + (i - 1) * height, left.x, height, left.width), graph[2],
            frame.model:class_series(id, graph[1], left.width - 8))
    end
    if curve then
        require("slate.console.views.curves").draw_curve(grid, cells.area(left.y + #GRAPHS * height, left.x,
            left.height - #GRAPHS * height, left.width), curve, frame.model.answers:class_curve(id), id)
    end
end

--- The curve of the class under the cursor, where the last drawing had room for it.
function M.wants(ui, wants)
    if ui.classes.is_wide then
        wants.inquiries.curve, wants.inquiries.class_curves = true, true
        wants.curves_first[1] = ui.classes.cursor
    end
end

function M.draw(frame, ui, grid, area)
    local model, foot, detail, beside = frame.model, area.height >= 8 and 2 or 1, 0, 0
    ui.classes.is_wide = area.width >= WIDE_FROM and area.height >= 24
    if ui.classes.is_wide then
        beside = area.width * 2 // 5
    elseif area.height >= 34 and area.width >= 100 then
        local spare = area.height - foot - #class_table.rows(model, ui.classes) - 3
        detail = math.max(DETAIL_ROWS, math.min(spare, DETAIL_MOST))
    end
    local height = area.height - foot - detail
    class_table.draw(model, ui.classes, grid, cells.area(area.y, area.x, height, area.width - beside))
    local id = ui.classes.cursor
    if beside > 0 and id then
        draw_beside(frame, grid, cells.area(area.y, area.x + area.width - beside + 1, height, beside - 1), id)
    end
    if detail > 0 and id then
        draw_detail(model, id, grid, cells.area(area.y + height, area.x, detail, area.width))
    end
    local y = area.y + area.height - foot
    if foot == 2 then
        grid:text_fit(y, 0, area.width, cells.DIM, status_words(model, ui.classes))
    end
    if id then
        local text, style = class_state.hint(frame, id)
        grid:text_fit(y + foot - 1, 0, area.width, style, text)
    end
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
    filter = function(_, ui) class_table.edit_filter(ui.classes) end,
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
