-- SPDX-License-Identifier: BSD-3-Clause
--- One class: its state in words, rates over three windows with their past, automove's opinion and moves, the ages of
-- its evicted items, and every stat of it that the server has.
local cells = require "slate.console.cells"
local class_charts = require "slate.console.draw.class_charts"
local class_state = require "slate.console.draw.class_state"
local class_table = require "slate.console.draw.class_table"
local detail = require "slate.console.detail"
local figure = require "slate.console.figure"
local keys = require "slate.console.keys"
local moves = require "slate.console.draw.moves"
local propose = require "slate.console.propose"
local server = require "slate.console.server"
local view_list = require "slate.console.view_list"

local M = { name = "Class", scope = "class", open = "open_class",
    shown = { "class.age", "rates", "class.pages", "class.hot", "class.warm", "class.cold", "class.hits",
        "class.sets", "class.ev", "class.unread", "class.oom", "policy", "automove.gain", "automove.loss", "moves.why",
        "sizes.items", "curve.lru_hit_ratio", "class.evicted_time", "reclaimed", "crawler_reclaimed",
        "direct_reclaims", "tailrepairs" },
    inquiries = { "class", "moves", "automove", "policies", "evictions" } }

local STAT_WIDTH <const>, MOVES_SHOWN_MOST <const>, SCREEN_STEP <const> = 39, 8, 5
local STATS_MOST <const> = 1000 -- more lines than a server has stats of a class
local RATES <const> = { { "hits", "hits/s" }, { "sets", "sets/s" }, { "evictions", "evictions/s" },
    { "unread", "unread ev/s" }, { "out_of_memory", "no memory/s" }, { "pages", "pages" } }

local WORTH <const> = { "gain", "gain_doubt", "loss", "loss_doubt", "average" }

--- The charts, where the last drawing had room for them.
function M.wants(ui, wants)
    if ui.class.is_wide then
        class_charts.add_wants(wants, ui.focus)
    end
end

function M.terms(ui, frame)
    return class_state.terms(frame, ui.focus)
end

--- top: the first line of the stats that is shown.
function M.state()
    return { top = 1 }
end

-- Drawing: each part takes lines from the top of the free part of the area.

-- The free part: next_line() returns the y of its next line, or nil.
local Column = {}
Column.__index = Column

function Column:next_line()
    if self.y < self.y_end then
        self.y = self.y + 1
        return self.y - 1
    end
end

function Column:line(style, text)
    local y = self:next_line()
    if y then
        self.grid:text_fit(y, self.x, self.width, style, text)
    end
end

function Column:text(style, text)
    self.y = self.y + self.grid:paragraph(cells.area(self.y, self.x, self.y_end - self.y, self.width), style, text)
end

function Column:rule(title)
    local y = self:next_line()
    if y then
        self.grid:rule(y, self.x, self.width, title)
    end
    return y
end

-- The eviction policy of the class, on slated: its own, or that of all; "" if it is unknown.
local function policy_words(model, id)
    local policies = model.answers:parsed("policies")
    local policy = policies and (policies.of_class[id] or policies.active)
    return policy and "; policy " .. policy or ""
end

local function draw_facts(model, column, class)
    local free = class_state.free_pages(class)
    local pages = ("%s of %s B, %s page%s free"):format(class_state.pages(class), figure.exact(class.chunk_size), free,
        free == "1" and "" or "s")
    local items = ("%s items, the oldest %s%s"):format(figure.count(class.number),
        figure.age(server.tail_age_s(class)), policy_words(model, class.id))
    if #pages + 2 + #items <= column.width then
        pages, items = pages .. "; " .. items, nil
    end
    column:line(cells.PLAIN, pages)
    if items then
        column:line(cells.PLAIN, items)
    end
    if column.y_end - column.y >= 12 then
        column:line(cells.PLAIN, class_state.segments(class))
    end
end

local function draw_rates(model, column, id)
    local grid, x, has_means = column.grid, column.x, column.width >= 60
    local spark_x, y = x + (has_means and 38 or 21), column:rule("rates")
    grid:text_right(y, x + 20, cells.HEADER, " now")
    if has_means then
        grid:text_right(y, x + 28, cells.HEADER, " 10 s")
        grid:text_right(y, x + 36, cells.HEADER, " 100 s")
    end
    for _, rate in ipairs(RATES) do
        local name, width = rate[1], x + column.width - spark_x
        y = column:next_line()
        grid:text(y, x, cells.PLAIN, rate[2])
        grid:text_right(y, x + 20, cells.STRONG, figure.count(model:class_metric(id, name)))
        if has_means then
            grid:text_right(y, x + 28, cells.PLAIN, figure.count(model:class_mean(id, name, 10)))
            grid:text_right(y, x + 36, cells.PLAIN, figure.count(model:class_mean(id, name, 100)))
        end
        grid:graph(cells.area(y, spark_x, 1, width), cells.GRAPH, model:class_series(id, name, width), 0)
    end
end

-- The value of a page more and a page less, from an automove that weighs pages.
local function draw_worth(model, column, id)
    local automove = model.answers:parsed("automove")
    if not automove then
        return
    end
    local worth, values = automove.is_weighed and automove.classes[id] or {}, {}
    for i, name in ipairs(WORTH) do
        values[i] = worth[name]
    end
    if #values == #WORTH then
        column:text(cells.PLAIN, ("automove weighs, in 1000 requests: a page more +%.1f ±%.1f, less -%.1f ±%.1f, "
            .. "mean %.1f"):format(table.unpack(values)))
    else
        column:text(cells.PLAIN, ("worth of a page: not weighed by automove %s; see the curves (6)"):format(
            automove.mode or ""))
    end
end

local function draw_moves(model, column, id, most)
    local totals, list = model.answers:parsed("moves")
    if not totals then
        return
    end
    column:rule("automove " .. (totals.mode or ""))
    column:text(cells.PLAIN, "now: " .. (totals.why or ""))
    local shown = 0
    for i = #list, 1, -1 do
        local move = list[i]
        if shown < most and (move.from == id or move.to == id) and column.y < column.y_end then
            column.y = column.y + moves.draw_move(column.grid,
                cells.area(column.y, column.x, column.y_end - column.y, column.width), move)
            shown = shown + 1
        end
    end
    if shown == 0 then
        column:line(cells.DIM, "none of the last moves was from or to this class")
    end
end

-- The idle times of evicted items as one line of bars.
local function draw_ages(model, column, id)
    local steps = (model.answers:parsed("evictions") or {})[id]
    local y = steps and column:next_line()
    if not y then
        return
    end
    local values, sum, seen, median = { n = #steps }, 0, 0, "-"
    for i, step in ipairs(steps) do
        values[i], sum = step.items, sum + step.items
    end
    for _, step in ipairs(steps) do
        if seen * 2 >= sum then
            break
        end
        seen, median = seen + step.items, step.name
    end
    local x = column.grid:text(y, 0, cells.PLAIN, "idle time at eviction  1s ")
    column.grid:graph(cells.area(y, x, 1, #steps), cells.GRAPH, values, 0)
    x = column.grid:text(y, x + #steps, cells.PLAIN, " 12d")
    column.grid:text_fit(y, x, column.width - x, cells.PLAIN, "   median " .. median:gsub("_", " ", 1))
end

-- "evicted   12345   +402"
local function draw_stat(grid, y, x, width, stat, interval_s)
    local change = stat.now and stat.before and stat.now - stat.before
    local rate = change and change ~= 0 and interval_s and (change < 0 and "-" or "+")
        .. figure.count(math.abs(change) / interval_s) or ""
    local is_long = stat.now and (stat.now >= 1e8 or stat.now < 0)
    grid:text_fit(y, x, width - 18, cells.PLAIN, stat.name)
    grid:text_right(y, x + width - 8, cells.STRONG, is_long and figure.count(math.abs(stat.now)) or stat.value)
    grid:text_right(y, x + width - 1, cells.DIM, rate)
end

-- The stats of a snapshot of the past: a recording has fewer than the server had.
local function recorded_stats(class)
    local list = {}
    for name, value in pairs(class) do
        if name ~= "id" then
            list[#list + 1] = { name = name, value = tostring(value), now = value }
        end
    end
    table.sort(list, function(a, b) return a.name < b.name end)
    return list
end

local function draw_stats(frame, ui, column, class)
    local grid, width, rows, answers = column.grid, column.width, column.y_end - column.y - 1, frame.model.answers
    if rows < 1 then
        return
    end
    local is_known = answers:is_known("class") and answers.class_id == class.id
    local is_recorded = not is_known and (frame.is_past or frame.is_replay)
    local head_y = column:rule(is_recorded and "stats of the class that are recorded"
        or "every stat: value, change a second")
    if not is_recorded and not detail.is_ready(frame, "class", grid, cells.area(column.y, 0, rows, width)) then
        return
    end
    local list = is_recorded and recorded_stats(class) or answers:class()
    local columns = math.max(1, width // STAT_WIDTH)
    local lines, stat_width = (#list + columns - 1) // columns, width // columns
    local last_top = math.max(1, lines - rows + 1)
    ui.class.top = math.min(ui.class.top, last_top)
    local interval_s = list.before_s and list.at_s > list.before_s and list.at_s - list.before_s
    for row = 0, rows - 1 do
        for i = 0, columns - 1 do
            local line = ui.class.top + row
            local stat = line <= lines and list[line + i * lines]
            if stat then
                draw_stat(grid, column.y + row, i * stat_width, stat_width, stat, interval_s)
            end
        end
    end
    if last_top > 1 then
        grid:text_right(head_y, width, cells.HEADER, ui.class.top < last_top and " more: Down " or " more: Up ")
    end
end

local function column_of(grid, area)
    local column = { grid = grid, x = area.x, y = area.y, y_end = area.y + area.height, width = area.width }
    return setmetatable(column, Column)
end

--- Draws the first parts of a class, for a view with room beside its table: state, facts and rates. Returns the area
-- below them.
function M.draw_beside(frame, grid, area, id)
    local column, class = column_of(grid, area), frame.model:class(id)
    column:rule(("class %d: %s"):format(id, class_state.words(frame.model:row(id))))
    draw_facts(frame.model, column, class)
    draw_rates(frame.model, column, id)
    return cells.area(column.y, area.x, column.y_end - column.y, area.width)
end

function M.draw(frame, ui, grid, area)
    local model, id = frame.model, ui.focus
    local class, beside = model:class(id), class_charts.width(area)
    local column = column_of(grid, cells.area(area.y, area.x, area.height, area.width - beside))
    if not class then
        column:line(cells.DIM, ("class %d: the server does not list it (Esc goes back)"):format(id))
        return
    end
    column:rule(("class %d: %s%s"):format(id, class_state.words(model:row(id)),
        ui.classes.source and ("   from: class %d ◀"):format(ui.classes.source) or ""))
    ui.class.is_wide = beside > 0
    if beside > 0 then
        class_charts.draw(frame, grid, cells.area(area.y, column.width + 1, area.height, beside - 1), id)
    end
    local text, style = class_state.hint(frame, id)
    column:text(style, text)
    draw_facts(model, column, class)
    if area.height >= 16 then
        draw_rates(model, column, id)
        draw_worth(model, column, id)
    end
    if area.height >= 20 then
        draw_moves(model, column, id, area.height >= 30 and MOVES_SHOWN_MOST or 1)
    end
    if area.height >= 24 then
        draw_ages(model, column, id)
    end
    draw_stats(frame, ui, column, class)
end

-- Shows the next class of the table, in the table's order.
local function step(frame, ui, by)
    class_table.move_cursor(frame.model, ui.classes, by)
    view_list.open_class(ui, ui.classes.cursor)
end

function M.command(frame, ui, command)
    ui.class.top = keys.step(ui.class.top, keys.move_rows(command, SCREEN_STEP), STATS_MOST)
    if command == "next_class" then
        step(frame, ui, 1)
    elseif command == "previous_class" then
        step(frame, ui, -1)
    elseif command == "move_pages" then
        return propose.move(frame, ui.focus, ui.classes.source ~= ui.focus and ui.classes.source or nil)
    elseif command == "close_class" then
        ui.class_is_open = false
    end
end

return M
