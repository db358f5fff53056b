-- SPDX-License-Identifier: BSD-3-Clause
--- The classes as a picture, a part of the overview: each one's share of the pages beside its share of the evictions,
-- and how long an item lives there. The class that evicts most is first, so that a class with one page of a hundred and
-- most of the evictions is seen at once. Evictions while a class gave pages do not count: its move evicts, too. The
-- cursor is that of the table of classes.
local cells = require "slate.console.cells"
local class_charts = require "slate.console.draw.class_charts"
local class_filter = require "slate.console.draw.class_filter"
local class_state = require "slate.console.draw.class_state"
local figure = require "slate.console.figure"
local find = require "slate.base.find"
local gather = require "slate.base.gather"
local keys = require "slate.console.keys"
local view_list = require "slate.console.view_list"

local M = {}

local WINDOW_S <const> = 10 -- evictions are means over this
local BARS_X <const> = 19 -- after mark, id, size and pages
local STATE_X <const> = 8 -- behind the life; together they are a row's tail
local WIDE <const>, MIDDLE <const>, LEAST_STATE <const> = 100, 80, 11 -- columns of the screen, and those of a word
local PERCENT_WIDTH <const> = 7
local LEAST_WIDTH <const> = 56 -- below it there is no room for two bars

--- The classes with pages that pass the filter of Classes, the one that evicts most first: { class, row (of the
-- observer), page_ratio, eviction_ratio (nil without any evictions, and if unknown) }, of all classes; and the largest
-- of these ratios.
function M.rows(model, ui)
    local list, pages, evicted_per_s, most = {}, 0, 0, 0
    for _, class in ipairs(model.now and model.now.classes or {}) do
        if class.id > 0 and (class.total_pages or 0) > 0 then
            local per_s = model:class_demand(class.id, WINDOW_S)
            list[#list + 1] = { class = class, row = model:row(class.id), evicted_per_s = per_s or 0,
                is_unknown = not per_s }
            pages, evicted_per_s = pages + class.total_pages, evicted_per_s + (per_s or 0)
        end
    end
    local terms, passing = class_filter.parse(ui.classes.filter) or {}, {}
    for _, one in ipairs(list) do
        one.page_ratio = one.class.total_pages / pages
        one.eviction_ratio = not one.is_unknown and evicted_per_s > 0 and one.evicted_per_s / evicted_per_s or nil
        most = math.max(most, one.page_ratio, one.eviction_ratio or 0)
        passing[#passing + 1] = class_filter.passes(terms, model, one.class, ui.classes.window_s) and one or nil
    end
    table.sort(passing, function(a, b)
        if a.evicted_per_s ~= b.evicted_per_s then
            return a.evicted_per_s > b.evicted_per_s
        elseif a.page_ratio ~= b.page_ratio then
            return a.page_ratio > b.page_ratio
        end
        return a.class.id < b.class.id
    end)
    return passing, most
end

-- The row of a class; nil without one.
local function row_of(rows, id)
    return find.place(gather.values(rows, function(one) return one.class.id end), id)
end

-- The row under the cursor: of the class that was chosen here, else of the class in need, else of the class chosen on
-- another view, else the first one.
local function cursor_row(model, rows, ui)
    local in_need = model:in_need()
    return row_of(rows, ui.chosen) or in_need and row_of(rows, in_need.id) or row_of(rows, ui.classes.cursor) or 1
end

--- The class under the cursor; nil without classes, and on a screen that has no room for rows.
function M.under_cursor(model, ui)
    local rows = M.rows(model, ui)
    local one = ui.overview.shown > 0 and rows[cursor_row(model, rows, ui)]
    return one and one.class.id or nil
end

--- The class that the operator chose here; else nil.
function M.chosen(model, ui)
    return ui.overview.shown > 0 and row_of(M.rows(model, ui), ui.chosen) and ui.chosen or nil
end

--- Moves the cursor by so many rows, if there are any.
function M.move_cursor(model, ui, by)
    local rows = M.rows(model, ui)
    if ui.overview.shown > 0 and #rows > 0 then
        view_list.choose_class(ui, rows[keys.step(cursor_row(model, rows, ui), by, #rows)].class.id)
    end
end

-- A ratio in per cent, and as a bar; `most` is the largest of all.
local function draw_bar(grid, y, x, width, style, ratio, most)
    grid:text(y, x, cells.PLAIN, ("%5s%s"):format(figure.percent(ratio), ratio and "%" or ""))
    local room = width - PERCENT_WIDTH - 1
    local length = ratio and ratio > 0 and math.max(1, (ratio / most * room + 0.5) // 1) or 0
    grid:text(y, x + PERCENT_WIDTH, style, ("█"):rep(length))
end

local function tail_of(area)
    return STATE_X + (area.width >= WIDE and class_state.WIDTH or area.width >= MIDDLE and class_state.SHORT_WIDTH
        or LEAST_STATE)
end

local function half_of(area)
    return (area.width - BARS_X - tail_of(area)) // 2
end

local function draw_row(grid, area, one, most)
    local y, x, half, starves = area.y, area.x, half_of(area), class_state.starves(one.row)
    local style = starves and cells.BAD or cells.PLAIN
    grid:text(y, x, style, ("%s %2d"):format(class_state.mark(one.row), one.class.id))
    grid:text_right(y, x + 11, style, figure.chunk(one.class.chunk_size))
    grid:text_right(y, x + 17, cells.PLAIN, figure.count(one.class.total_pages))
    draw_bar(grid, y, x + BARS_X, half, cells.GRAPH, one.page_ratio, most)
    draw_bar(grid, y, x + BARS_X + half, half, starves and cells.BAD or cells.WARN, one.eviction_ratio, most)
    local width = tail_of(area)
    local tail = x + area.width - width
    grid:text_right(y, tail + 6, style, figure.age(one.row and one.row.life_s))
    grid:text(y, tail + STATE_X, style, class_state.words(one.row, width - STATE_X))
end

-- The filter, or else the class under the cursor in a sentence.
local function title_of(one, filter)
    return filter ~= "" and "filter: " .. filter or one and one.eviction_ratio
        and ("class %d: %s %% of the pages, %s %% of the evictions"):format(one.class.id,
            figure.percent(one.page_ratio), figure.percent(one.eviction_ratio)) or "classes"
end

-- The rows that fit from ui.overview.top on, the one under the cursor marked.
local function draw_rows(model, ui, grid, area, rows, most)
    local cursor, shown = cursor_row(model, rows, ui), math.min(#rows, area.height)
    local top = keys.top(ui.overview.top, cursor, shown, #rows)
    ui.overview.top, ui.overview.shown = top, shown
    for i = top, top + shown - 1 do
        local line = cells.area(area.y + i - top, area.x, 1, area.width)
        draw_row(grid, line, rows[i], most)
        grid:hot(line, "row", rows[i].class.id)
        if i == cursor then
            grid:text(line.y, line.x + 1, cells.STRONG, ">")
            grid:select(line.y, line.x, line.width)
        end
    end
end

local function draw_none(model, ui, grid, area)
    grid:text_fit(area.y, area.x, area.width, cells.DIM, ui.classes.filter ~= ""
        and "no class passes the filter: / changes it" or model.now and model:no_classes() or "")
end

--- Draws the classes that evict most, below each other: their evictions and hits over time.
function M.draw_worst(model, ui, grid, area, most)
    local rows = M.rows(model, ui)
    local height, half = area.height // math.min(math.max(#rows, 1), most), area.width // 2
    if #rows == 0 then
        draw_none(model, ui, grid, area)
    end
    for i = 1, math.min(#rows, most) do
        local id, y = rows[i].class.id, area.y + (i - 1) * height
        for side, name in ipairs({ "evictions", "hits" }) do
            class_charts.draw_graph(grid, cells.area(y, area.x + (side - 1) * half, height, half),
                ("class %d, %s/s"):format(id, name), model:class_series(id, name, half - 8))
        end
    end
end

--- Draws the classes, with a heading. Writes into ui.overview: shown, how many rows are drawn, and top, the first one.
function M.draw(frame, ui, grid, area)
    local rows, most = M.rows(frame.model, ui)
    ui.overview.shown = 0
    local y, x, half, room = area.y + 1, area.x, half_of(area), area.height - 2
    local more = #rows > room and ("%d more: press 2 "):format(#rows - room) or ""
    local title = title_of(rows[cursor_row(frame.model, rows, ui)], ui.classes.filter)
    grid:rule(area.y, x, area.width, #title + #more + 4 <= area.width and title or "classes")
    if #rows == 0 and area.height > 1 then
        draw_none(frame.model, ui, grid, cells.area(y, x, 1, area.width))
    end
    if #rows == 0 or area.width < LEAST_WIDTH or area.height < 3 then
        return
    end
    grid:text(y, x, cells.HEADER, "  CL   SIZE PAGES")
    grid:text(y, x + BARS_X, cells.HEADER, half > #"SHARE OF PAGES" and "SHARE OF PAGES" or "% PAGES")
    grid:text(y, x + BARS_X + half, cells.HEADER, half >= #"OF EVICTIONS, 10 s" and "OF EVICTIONS, 10 s" or "% EVICTED")
    grid:text(y, x + area.width - tail_of(area) + 2, cells.HEADER, "LIFE  STATE")
    draw_rows(frame.model, ui, grid, cells.area(y + 1, x, room, area.width), rows, most)
    grid:text_right(area.y, x + area.width - 1, cells.HEADER, more)
end

return M
