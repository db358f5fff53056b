-- SPDX-License-Identifier: BSD-3-Clause
--- The table of servers: the text of each figure, the order of the rows, and how they are drawn. Rows are of
-- slate.console.fleet_rows. The table's part of ui is { cursor (index in the fleet; nil: the first row), top, marked (a
-- set of such indices), sort (number of a column; nil: that of STATE, worst first), is_ascending }.
local cells = require "slate.console.cells"
local figure = require "slate.console.figure"
local find = require "slate.base.find"
local health = require "slate.console.health"
local keys = require "slate.console.keys"
local narrow = require "slate.console.draw.narrow"

local M = {}

local HOST_LEAST <const>, HOST_ENOUGH <const>, HOST_MOST <const>, FAR_MOST <const> = 12, 21, 34, 999
local MARKS_WIDTH <const>, STATE_LEAST <const>, WORDS_LEAST <const> = 3, 17, 24
M.TREND = 12 -- samples of a trend
local TRENDS_WIDTH <const> = 2 * (M.TREND + 1)

local ODD_WORDS <const> = { hit_ratio = "hit", age_s = "age", evictions_per_s = "evict" }

local function odd_text(row)
    if not row.far or row.far < 1 then
        return row.far and "·" or "-"
    end
    return ("%s%.0f %s"):format(row.is_odd and "!" or "", math.min(row.far, FAR_MOST), ODD_WORDS[row.odd] or "age")
end

--- The columns: head, name in the man page, width (0: the space left), rank (columns leave a narrow table from the
--- highest rank down), field of the row, text(row), meaning; is_up: sorted with the smallest value first.
M.COLUMNS = {
    { "SERVER", "server", 0, 0, "name", function(row) return row.name end, "the address of the server", is_up = true },
    { "VERSION", "version", 9, 9, "version", function(row) return row.version:sub(1, 9) end,
        "version of memcached, behind a p as a proxy, or slated's own behind an s" },
    { "UP", "up", 6, 10, "uptime_s", figure.age, "time since the server started", is_up = true },
    { "MEM", "mem", 6, 8, "limit_bytes", figure.bytes, "memory that items may take" },
    { "FILL%", "fill", 5, 6, "fill_ratio", figure.percent, "share of that memory that items take" },
    { "GET/s", "gets", 6, 3, "gets_per_s", figure.count, "keys requested a second, over 10 s" },
    { "HIT%", "hit", 5, 1, "hit_ratio", figure.percent, "share of them that were found", is_up = true },
    { "EV/s", "ev", 6, 2, "evictions_per_s", figure.count, "live items thrown out for memory a second, over 10 s" },
    { "AGE", "age", 6, 4, "age_s", figure.age, "youngest LRU tail of the classes that evict, else of all",
        is_up = true },
    { "ODD", "odd", 9, 5, "far", odd_text,
        "distance from the pool's median in robust deviations, and the column that it is about" },
    { "CONN", "conn", 6, 11, "connections", figure.count, "open connections" },
    { "MS", "ms", 5, 7, "reply_ms", figure.count, "time of one refresh in ms" },
    { "STATE", "state", STATE_LEAST, 0, "state", function(row) return row.state end,
        "ok, or its worst line of health; sorted by it, the worst server is first: down, BAD, WARN, note, ok" },
}
for i, column in ipairs(M.COLUMNS) do
    column.index = i
    column.head, column.name, column.width, column.rank, column.field, column.text, column.meaning =
        table.unpack(column, 1, 7)
    local form = column.text
    if form ~= odd_text and i > 2 and i < #M.COLUMNS then
        column.text = function(row) return form(row[column.field]) end
    end
end
local HOST <const>, STATE <const> = M.COLUMNS[1], M.COLUMNS[#M.COLUMNS]

--- The column of a field of rows.
function M.column_of(field)
    local _, column = find.by(M.COLUMNS, "field", field)
    return column
end

-- The figure to a power of two: rows whose figures vary a little keep their places.
local function magnitude_of(value)
    return math.floor(math.log(1 + math.max(value or 0, 0), 2))
end

-- Whether row a comes before row b; nil: they are equal. Of equal tones, outliers come first.
local function by_worst(a, b)
    local x, y = health.told(a.tone).rank, health.told(b.tone).rank
    if a.is_up ~= b.is_up then
        return b.is_up
    elseif x ~= y then
        return x < y
    elseif a.is_odd ~= b.is_odd then
        return a.is_odd
    end
    local field = a.is_odd and "far" or "evictions_per_s"
    local left, right = magnitude_of(a[field]), magnitude_of(b[field])
    if left ~= right then
        return left > right
    end
end

local function by_column(column, is_ascending)
    return function(a, b)
        local left, right = a[column.field], b[column.field]
        if left == right then
            return nil
        elseif left == nil or right == nil then -- unknown is last in either order
            return right == nil
        end
        return (left < right) == is_ascending
    end
end

--- The column by which rows are sorted.
function M.sort_column(ui)
    return M.COLUMNS[ui.sort] or STATE
end

--- A copy of the rows by the chosen column; by STATE, the worst is first (down, then by health, then by evictions).
function M.sorted(rows, ui)
    local list = table.move(rows, 1, #rows, 1, {})
    local column, is_ascending = M.sort_column(ui), ui.is_ascending or false
    local is_before = column ~= STATE and by_column(column, is_ascending) or by_worst
    table.sort(list, function(a, b)
        local first = is_before(a, b)
        if first == nil then
            return a.server < b.server
        end
        return first ~= (column == STATE and is_ascending)
    end)
    return list
end

--- The place of the row under the cursor in sorted rows.
function M.row_at(rows, ui)
    return find.by(rows, "server", ui.cursor) or 1
end

-- The columns that fit between the host and the state, each with its right end; the state gets the width that is left.
local function layout_of(rows, area)
    local shown, used, longest = {}, MARKS_WIDTH, HOST_LEAST
    for i, column in ipairs(M.COLUMNS) do
        shown[i] = column ~= HOST and column ~= STATE and column or nil
        used = used + column.width + 1
    end
    for _, row in ipairs(rows) do
        longest = math.max(longest, cells.width_of(row.name))
    end
    while area.width - used < math.min(longest, HOST_ENOUGH) do
        local last
        for _, column in pairs(shown) do
            last = (not last or column.rank > last.rank) and column or last
        end
        if not last then
            break
        end
        shown[last.index], used = nil, used - last.width - 1
    end
    local layout = { host = math.max(math.min(area.width - used, longest, HOST_MOST), HOST_LEAST), ends = {} }
    local x = area.x + MARKS_WIDTH + layout.host
    for i = 2, #M.COLUMNS do
        if shown[i] then
            x = x + shown[i].width + 1
            layout.ends[#layout.ends + 1] = { column = shown[i], x = x }
        end
    end
    layout.x, layout.has_trends = x, area.x + area.width - x > TRENDS_WIDTH + STATE_LEAST + 1
    layout.state_x = x + (layout.has_trends and TRENDS_WIDTH or 0) + 2
    return layout
end

local function draw_heads(ui, layout, grid, area)
    local sorted = M.sort_column(ui)
    local function style_of(column)
        return sorted == column and cells.STRONG or cells.HEADER
    end
    local function draw_arrow(column, x)
        if sorted == column then
            grid:text(area.y, x, cells.STRONG, ui.is_ascending and "▲" or "▼")
        end
    end
    grid:head(area.y, area.x, area.width, "")
    draw_arrow(HOST, grid:text(area.y, area.x + MARKS_WIDTH, style_of(HOST), HOST.head))
    grid:hot(cells.area(area.y, area.x, 1, layout.host + MARKS_WIDTH), "sort", HOST.index)
    for _, one in ipairs(layout.ends) do
        local column = one.column
        grid:text_right(area.y, one.x, style_of(column), column.head)
        draw_arrow(column, one.x)
        grid:hot(cells.area(area.y, one.x - column.width, 1, column.width), "sort", column.index)
    end
    draw_arrow(STATE, grid:text(area.y, layout.state_x, style_of(STATE), STATE.head))
    grid:hot(cells.area(area.y, layout.state_x, 1, area.x + area.width - layout.state_x), "sort", STATE.index)
    if layout.has_trends then
        grid:text_fit(area.y, layout.x + 1, M.TREND, cells.HEADER, "HIT%, trend")
        grid:text_fit(area.y, layout.x + M.TREND + 2, M.TREND, cells.HEADER, "EV/s, trend")
    end
end

--- Draws a host. Of a long path the end says most; of another long name the beginning and the port.
function M.draw_host(name, grid, y, x, width)
    local excess = cells.width_of(name) - width
    local port = name:sub(1, 1) ~= "/" and name:match(":%d+$") or ""
    if excess <= 0 or excess + #port + 1 >= #name then
        grid:text_fit(y, x, width, cells.STRONG, name)
        return
    end
    local kept = port ~= "" and name:sub(1, #name - #port - excess - 1) or ""
    grid:text(y, x, cells.STRONG, kept .. "…" .. (port ~= "" and port or name:sub(excess + 2)))
end

local function tone_of(row)
    return row.is_up and row.tone or "bad"
end

-- Draws the state, from a column on; where there is room, behind it the worst line of health.
local function draw_state(row, now_s, grid, y, x, x_end)
    local style = row.state == "ok" and cells.PLAIN or health.style(tone_of(row), cells.PLAIN)
    local wait_s = row.model.link == "down" and math.max(row.retry_s - now_s, 0) or 0
    local text = row.state .. (wait_s > 0 and (", next try in %d s"):format(math.ceil(wait_s)) or "")
    grid:text_fit(y, x, x_end - x, style, text)
    x = x + cells.width_of(text) + 2
    if row.is_up and row.words ~= row.state and x_end - x >= WORDS_LEAST then
        grid:text_fit(y, x, x_end - x, cells.DIM, row.words)
    end
end

local function draw_row(row, is_marked, is_current, layout, now_s, grid, y, area)
    local x_end, tone = area.x + area.width, tone_of(row)
    if tone ~= "good" then
        grid:text(y, area.x, health.style(tone, cells.PLAIN), health.told(tone).mark)
    end
    grid:text(y, area.x + 1, cells.STRONG, (is_current and ">" or " ") .. (is_marked and "◆" or " "))
    M.draw_host(row.name, grid, y, area.x + MARKS_WIDTH, layout.host)
    if not row.is_up then -- it has no figures: the words take the row
        draw_state(row, now_s, grid, y, area.x + MARKS_WIDTH + layout.host + 1, x_end)
        return
    end
    for _, one in ipairs(layout.ends) do
        local field = one.column.field
        local is_odd = row.is_odd and (field == row.odd or field == "far")
        grid:text_right(y, one.x, is_odd and cells.BAD or cells.PLAIN, one.column.text(row))
    end
    local x = layout.x
    if layout.has_trends then
        grid:graph(cells.area(y, x + 1, 1, M.TREND), cells.GRAPH, row.hits, 0)
        grid:graph(cells.area(y, x + M.TREND + 2, 1, M.TREND), cells.GRAPH, row.evictions, 0)
    end
    draw_state(row, now_s, grid, y, layout.state_x, x_end)
end

--- Draws heads and sorted rows; if there is room, also the trends of hits and evictions, and words. Marks the row under
--- the cursor and scrolls to it.
function M.draw(rows, ui, now_s, grid, area)
    local layout = layout_of(rows, area)
    draw_heads(ui, layout, grid, area)
    local height, at = math.max(area.height - 1, 0), M.row_at(rows, ui)
    ui.top = keys.top(ui.top, at, height, #rows)
    grid:text_right(area.y, area.x + area.width, cells.HEADER, narrow.more(ui.top, height, #rows))
    for i = ui.top, math.min(ui.top + height - 1, #rows) do
        local row, y = rows[i], area.y + 1 + i - ui.top
        draw_row(row, ui.marked[row.server], i == at, layout, now_s, grid, y, area)
        grid:hot(cells.area(y, area.x, 1, area.width), "row", row.server)
        if i == at then
            grid:select(y, area.x, area.width)
        end
    end
end

return M
