-- SPDX-License-Identifier: BSD-3-Clause
--- The map of the pages view: a row a class in the order of their chunk sizes, and the pool below them; cells of a row
-- stand for pages.
local cells = require "slate.console.cells"
local class_state = require "slate.console.draw.class_state"
local figure = require "slate.console.figure"
local narrow = require "slate.console.draw.narrow"
local page_summary = require "slate.console.page_summary"

local M = {}

M.LABEL_WIDTH = 21
--- The pool's number among class ids, as in a plan.
M.POOL = 0
--- What the cells show: "fill" (how full a page is), "age" (in its class) or "use" (time since it was used).
M.MODES = { "fill", "age", "use" }

local FILL_MOST <const> = 100

-- A number of pages that can be; else 0.
local function pages_of(value)
    return value and value > 0 and value <= page_summary.PAGES_MOST and math.tointeger(value) or 0
end

--- The rows: { id, pages, bytes (the chunk size) } for each class with pages, and for the pool if the server reports
-- one. now: a snapshot or nil.
function M.rows(now)
    local rows = {}
    for _, class in ipairs(now and now.classes or {}) do
        if class.id > 0 and (class.total_pages or 0) > 0 then
            rows[#rows + 1] = { id = class.id, pages = pages_of(class.total_pages), bytes = class.chunk_size }
        end
    end
    table.sort(rows, function(a, b)
        local x, y = a.bytes or 0, b.bytes or 0
        return x < y or x == y and a.id < b.id
    end)
    local pool = now and now.general.slab_global_page_pool
    rows[#rows + 1] = pool and { id = M.POOL, pages = pages_of(pool) } or nil
    return rows
end

-- The lines that `pages` take, with `scale` pages a cell and `width` cells a line.
local function lines_of(pages, width, scale)
    return math.max((((pages + scale - 1) // scale) + width - 1) // width, 1)
end

--- The lines of all rows together, and of the longest one.
function M.lines(rows, width, scale)
    local sum, longest = 0, 0
    for _, row in ipairs(rows) do
        local lines = lines_of(row.pages, width, scale)
        sum, longest = sum + lines, math.max(longest, lines)
    end
    return sum, longest
end

--- The fewest pages a cell with which every row fits; with more rows than lines the map scrolls.
function M.scale(rows, width, height)
    local scale = 1
    while true do
        local lines, longest = M.lines(rows, width, scale)
        if lines <= height or longest <= 1 then
            return scale
        end
        scale = scale * 2
    end
end

-- Deals the pages of a class, those of the highest step first: deal(n) returns the sum of the steps of the next n.
-- steps: how many pages are of a step.
local function dealer(steps, highest)
    local at, left = highest + 1, 0
    return function(pages)
        local sum = 0
        while pages > 0 and (left > 0 or at > 0) do
            if left == 0 then
                at, left = at - 1, steps[at - 1] or 0
            else
                local taken = math.min(left, pages)
                sum, left, pages = sum + taken * at, left - taken, pages - taken
            end
        end
        return sum
    end
end

-- The glyph and style of a cell whose pages are so full, in per cent.
local function fill_cell(percent)
    local glyph = percent >= 99.5 and "█" or percent >= 90 and "▓" or percent >= 50 and "▒" or percent >= 10 and "░"
        or "·"
    return glyph, percent < 10 and cells.GOOD or cells.GRAPH
end

-- A dealer of a class's pages, and the function that makes a cell of the mean of their steps.
local function ways_of(summary, mode)
    if mode == "fill" then
        return dealer(summary.by_fill, FILL_MOST), fill_cell
    end
    return dealer(mode == "age" and summary.by_age or summary.by_use, #page_summary.AGES),
        function(step) return page_summary.AGES[math.max((step + 0.5) // 1, 1)].letter, cells.GRAPH end
end

-- Calls draw(glyph, style) for each cell of a class: from the fullest, or oldest, pages to the emptiest; pages marked
-- to move come behind them, and pages under drain last.
local function each_cell(summary, mode, scale, marked, draw)
    local deal, cell_of = ways_of(summary, mode)
    local staying = summary.pages - summary.draining
    for dealt = 0, summary.pages - 1, scale do
        local pages = math.min(summary.pages - dealt, scale)
        local settled = math.max(math.min(pages, staying - dealt), 0)
        if settled == 0 then
            draw("↯", cells.WARN)
        elseif dealt + settled > staying - marked then
            deal(settled)
            draw("◆", cells.STRONG)
        else
            draw(cell_of(deal(settled) / settled))
        end
    end
end

-- A function that draws the next cell of an area, line by line, and nothing beyond its end.
local function filler(grid, area)
    local i = 0
    return function(glyph, style)
        if i < area.width * area.height then
            grid:text(area.y + i // area.width, area.x + i % area.width, style, glyph)
        end
        i = i + 1
    end
end

-- judged: the observer's row of the class.
local function draw_label(grid, y, row, judged, mark)
    grid:text(y, 0, cells.STRONG, mark)
    if row.id == M.POOL then
        grid:text(y, 1, cells.PLAIN, (" pool         %5s"):format(figure.count(row.pages)))
        return
    end
    grid:text(y, 1, class_state.starves(judged) and cells.BAD or cells.PLAIN, ("%s%3d %6s%s %5s"):format(
        class_state.mark(judged), row.id, figure.chunk(row.bytes), (row.bytes or 0) < 1e6 and " B" or "B ",
        figure.count(row.pages)))
end

-- The first row to show: the top one, or the nearest below it from which the cursor's row is completely shown.
local function top_of(rows, top, cursor, width, scale, height)
    top = math.min(top <= #rows and top or 1, cursor)
    local lines = 0
    for i = top, cursor do
        lines = lines + lines_of(rows[i].pages, width, scale)
    end
    while lines > height and top < cursor do
        lines = lines - lines_of(rows[top].pages, width, scale)
        top = top + 1
    end
    return top
end

-- Draws a row in an area of its lines. what: of M.draw.
local function draw_row(grid, area, row, what, is_current)
    local is_source = what.source == row.id
    local draw = filler(grid, cells.area(area.y, M.LABEL_WIDTH, area.height, area.width - M.LABEL_WIDTH))
    draw_label(grid, area.y, row, what.row(row.id), is_source and "◀" or is_current and ">" or " ")
    grid:hot(area, "row", row.id)
    if row.id ~= M.POOL then
        each_cell(what.summary(row.id), what.mode, what.scale, is_source and what.marked or 0, draw)
    else
        for _ = 1, row.pages, what.scale do
            draw("o", cells.GOOD)
        end
    end
    for line = 0, is_current and area.height - 1 or -1 do
        grid:select(area.y + line, 0, area.width)
    end
end

--- Draws the rows from the top one on, of which the row `cursor` is always one. what: scale, mode, source and marked
-- (pages of the class `source`), and the functions row(id) (the observer's) and summary(id). Returns the top row.
function M.draw(grid, area, rows, cursor, top, what)
    local width, y, y_end = area.width - M.LABEL_WIDTH, area.y, area.y + area.height
    top = top_of(rows, top, cursor, width, what.scale, area.height)
    local last = top - 1
    while last < #rows and y < y_end do
        last = last + 1
        local lines = math.min(lines_of(rows[last].pages, width, what.scale), y_end - y)
        draw_row(grid, cells.area(y, 0, lines, area.width), rows[last], what, last == cursor)
        y = y + lines
    end
    if last < #rows then
        grid:text_right(y_end - 1, area.width, cells.STRONG, " " .. narrow.more(1, last, #rows))
    end
    if top > 1 then
        grid:text_right(area.y, area.width, cells.STRONG, " " .. narrow.more(top, #rows, #rows))
    end
    return top
end

return M
