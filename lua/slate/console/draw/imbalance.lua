-- SPDX-License-Identifier: BSD-3-Clause
--- The classes as a picture, a part of the overview: each one's share of the pages beside its share of the evictions,
-- and how long an item lives there. The class that evicts most is first, so that a class with one page of a hundred and
-- most of the evictions is seen at once.
local cells = require "slate.console.cells"
local class_state = require "slate.console.draw.class_state"
local figure = require "slate.console.figure"

local M = {}

local WINDOW_S <const> = 10 -- evictions are means over this
local BARS_X <const> = 19 -- after mark, id, size and pages
local TAIL_WIDTH <const> = 19 -- of life and state
local PERCENT_WIDTH <const> = 7
local LEAST_WIDTH <const> = 56 -- below it there is no room for two bars

--- The classes with pages, the one that evicts most first: { class, row (of the observer), page_ratio, eviction_ratio
-- (nil without any evictions) }; and the largest of these ratios.
function M.rows(model)
    local list, pages, evicted_per_s, most = {}, 0, 0, 0
    for _, class in ipairs(model.now and model.now.classes or {}) do
        if class.id > 0 and (class.total_pages or 0) > 0 then
            local per_s = math.max(model:class_mean(class.id, "evictions", WINDOW_S) or 0, 0)
            list[#list + 1] = { class = class, row = model:row(class.id), evicted_per_s = per_s }
            pages, evicted_per_s = pages + class.total_pages, evicted_per_s + per_s
        end
    end
    for _, one in ipairs(list) do
        one.page_ratio = one.class.total_pages / pages
        one.eviction_ratio = evicted_per_s > 0 and one.evicted_per_s / evicted_per_s or nil
        most = math.max(most, one.page_ratio, one.eviction_ratio or 0)
    end
    table.sort(list, function(a, b)
        if a.evicted_per_s ~= b.evicted_per_s then
            return a.evicted_per_s > b.evicted_per_s
        elseif a.page_ratio ~= b.page_ratio then
            return a.page_ratio > b.page_ratio
        end
        return a.class.id < b.class.id
    end)
    return list, most
end

-- A ratio in per cent, and as a bar; `most` is the largest of all.
local function draw_bar(grid, y, x, width, style, ratio, most)
    grid:text(y, x, cells.PLAIN, ("%5s%s"):format(figure.percent(ratio), ratio and "%" or ""))
    local room = width - PERCENT_WIDTH - 1
    local length = ratio and ratio > 0 and math.max(1, (ratio / most * room + 0.5) // 1) or 0
    grid:text(y, x + PERCENT_WIDTH, style, ("█"):rep(length))
end

local function half_of(area)
    return (area.width - BARS_X - TAIL_WIDTH) // 2
end

local function draw_row(grid, area, one, most)
    local y, x, half, starves = area.y, area.x, half_of(area), class_state.starves(one.row)
    local style = starves and cells.BAD or cells.PLAIN
    grid:text(y, x, style, ("%s %2d"):format(starves and "!" or " ", one.class.id))
    grid:text_right(y, x + 11, style, figure.bytes(one.class.chunk_size))
    grid:text_right(y, x + 17, cells.PLAIN, figure.count(one.class.total_pages))
    draw_bar(grid, y, x + BARS_X, half, cells.GRAPH, one.page_ratio, most)
    draw_bar(grid, y, x + BARS_X + half, half, starves and cells.BAD or cells.WARN, one.eviction_ratio, most)
    local tail = x + area.width - TAIL_WIDTH
    grid:text_right(y, tail + 6, style, figure.age(one.row and one.row.life_s))
    grid:text(y, tail + 8, style, class_state.word(one.row))
end

-- The worst class in a sentence.
local function title_of(rows)
    for _, one in ipairs(rows) do
        if one.row and one.row.is_worst and one.eviction_ratio then
            return ("class %d: %s %% of the pages, %s %% of the evictions"):format(one.class.id,
                figure.percent(one.page_ratio), figure.percent(one.eviction_ratio))
        end
    end
    return "classes"
end

--- Draws the classes, with a heading.
function M.draw(frame, grid, area)
    local rows, most = M.rows(frame.model)
    grid:rule(area.y, area.x, area.width, title_of(rows))
    if #rows == 0 or area.width < LEAST_WIDTH or area.height < 3 then
        return
    end
    local y, x, half, room = area.y + 1, area.x, half_of(area), area.height - 2
    grid:text(y, x, cells.HEADER, "  CL   SIZE PAGES")
    grid:text(y, x + BARS_X, cells.HEADER, "SHARE OF PAGES")
    grid:text(y, x + BARS_X + half, cells.HEADER, "OF EVICTIONS, 10 s")
    grid:text(y, x + area.width - TAIL_WIDTH + 2, cells.HEADER, "LIFE  STATE")
    for i = 1, math.min(#rows, room) do
        draw_row(grid, cells.area(y + i, x, 1, area.width), rows[i], most)
    end
    if #rows > room then
        grid:text_right(area.y, x + area.width - 1, cells.HEADER, ("%d more: press 2 "):format(#rows - room))
    end
end

return M
