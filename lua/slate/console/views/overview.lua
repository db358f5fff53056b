-- SPDX-License-Identifier: BSD-3-Clause
--- Overview: health in words first, then rates with their past, then memory; larger screens add graphs, the busiest
-- classes and the last events.
local cells = require "slate.console.cells"
local class_charts = require "slate.console.draw.class_charts"
local class_state = require "slate.console.draw.class_state"
local events = require "slate.console.views.events"
local figure = require "slate.console.figure"
local health = require "slate.console.health"
local imbalance = require "slate.console.draw.imbalance"
local keys = require "slate.console.keys"
local metrics = require("slate.console.metrics").OF_SERVER
local propose = require "slate.console.propose"
local question = require "slate.console.question"
local server = require "slate.console.server"
local snapshot = require "slate.facts.snapshot"
local units = require "slate.base.units"
local view_list = require "slate.console.view_list"

-- The rates of a small screen. The others are flat on most servers, and the classes take their room.
local FEW <const> = { "ops", "hit_ratio", "evictions", "gets", "sets" }
local IS_OF_FEW <const> = {}
for _, name in ipairs(FEW) do
    IS_OF_FEW[name] = true
end
local ALL <const> = { "ops", "gets", "sets", "hit_ratio", "evictions", "sent_bytes", "received_bytes", "server_cpu",
    "connections", "reply_ms", "out_of_memory", "refused_connections", "expired_unread", "lost_by_moves" }
local REFUSALS <const> = { out_of_memory = true, refused_connections = true }
local FEW_LINES <const>, MIDDLE_LINES <const> = 3, 5 -- of FEW, on a screen of 24 rows, and on one that is not tall
local SCALE_X <const>, SCALE_WIDTH <const> = 43, 8 -- the graphs' scales, after the means
local MEMORY_ROWS <const>, MARK_WIDTH <const> = 4, 8 -- "! BAD   "
local HISTORY_MOST <const> = 1000 -- samples; fewer are kept
local SCREEN_STEP <const>, CLASSES_LEAST <const> = 5, 4 -- the latter: rows of the list of classes, with its heads
local WORST_FROM <const>, WORST_WIDTH <const>, WORST_MOST <const> = 240, 100, 6 -- graphs of classes on a wide screen
local GRAPH_LEAST <const> = 5 -- rows of a graph that fills the screen with others
local GRAPH_ROWS <const>, EVENTS_MOST <const>, CLASSES_ENOUGH <const> = 7, 4, 12

local START <const> = { { "C", "connects now; slatetop tries by itself, too, each 8 s at the latest" },
    { "q", "leaves. Is it the right port? Start with slatetop HOST:PORT, tls://HOST:PORT or /PATH of a UNIX socket" },
    { "", "does no server run? slated, or memcached, starts one on port 11211" } }

local UNTRUSTED <const> = { "", "-A FILE names certificates to trust, as that of a server that signed its own; "
    .. "a certificate must also be for the host of the address" }

local M = { name = "Overview", scope = "overview", open = "view_overview", inquiries = { "moves", "memory" },
    shown = { "starving", "lost_by_moves", "slab_automove", "memory.items", "memory.limit", "memory.held",
        "memory.slack", "memory.pages", "memory.pool", "memory.free_chunks", "curr_items", "threads", "memory.hash",
        "uptime" } }

--- top: the first class shown; shown: how many rows of classes the last drawing had; charted: the class whose charts it
-- had, or nil; is_zoomed: the graphs of classes are alone on the screen.
function M.state()
    return { top = 1, shown = 0 }
end

--- The charts of the class under the cursor, where the last drawing had room for them.
function M.wants(ui, wants)
    if ui.overview.charted then
        class_charts.add_wants(wants, ui.overview.charted)
    end
end

-- The terms of a class's row, behind that of its state.
local OF_CLASS <const> = { "class.life", "class.page_share", "class.eviction_share", "class.class", "class.size",
    "class.pages", "hit_ratio", "rates" }

--- The class under the cursor first, its state before all; without classes the hit ratio.
function M.terms(ui, frame)
    local id = imbalance.under_cursor(frame.model, ui)
    local terms, current, words = class_state.terms(frame, id)
    current = id and current or #OF_CLASS - 1 -- hit_ratio
    table.move(OF_CLASS, 1, #OF_CLASS, #terms + 1, terms)
    for _, name in ipairs(ALL) do
        terms[#terms + 1] = name ~= "hit_ratio" and name or nil
    end
    return terms, current, words
end

-- Draws lines below each other, each wrapped. The heading counts those without room.
local function draw_health(lines, more, grid, area)
    grid:rule(area.y, area.x, area.width, more > 0 and ("health: %d more on a taller screen"):format(more) or "health")
    local y, y_end = area.y + 1, area.y + area.height
    for _, line in ipairs(lines) do
        local style = health.style(line.tone, cells.PLAIN)
        grid:text(y, area.x, style, ("%s %-5s"):format(health.told(line.tone).mark, health.told(line.tone).word))
        y = y + grid:paragraph(cells.area(y, area.x + MARK_WIDTH, y_end - y, area.width - MARK_WIDTH),
            line.tone == "bad" and style or cells.PLAIN, line.words)
    end
end

-- The lines to draw. While there is a fault, a small screen has no good lines, to give room to classes: the figures of
-- these lines are among the rates and the memory; but those that a key helps. The past offers no changes, so no key is
-- named there.
local function health_lines(frame, is_tall)
    local lines, drawn = health.lines(frame), {}
    local has_fault = lines[1].tone == "bad" or lines[1].tone == "warn"
    local has_keys = not (frame.is_past or frame.is_replay)
    for _, line in ipairs(lines) do
        if is_tall or not has_fault or line.tone ~= "good" or line.key then
            line.words = line.key and has_keys and ("%s: press %s"):format(line.text, line.key) or line.text
            drawn[#drawn + 1] = line
        end
    end
    return drawn
end

-- Draws what helps while a server has never answered, of which there is nothing else to show.
local function draw_start(grid, area, link_note)
    local y, y_end = area.y + 1, area.y + area.height
    grid:rule(area.y, area.x, area.width, "what helps")
    for _, line in ipairs(link_note:find("the server's certificate: ", 1, true) and { START[1], UNTRUSTED } or START) do
        grid:text(y, area.x, cells.STRONG, line[1])
        y = y + grid:paragraph(cells.area(y, area.x + MARK_WIDTH, y_end - y, area.width - MARK_WIDTH), cells.PLAIN,
            line[2])
    end
end

-- The first lines that fit in so many rows, each whole; the first one in any case. Also their rows.
local function fitting(lines, width, rows_most)
    local shown, rows = {}, 0
    for i, line in ipairs(lines) do
        local wanted = cells.rows_of(line.words, width - MARK_WIDTH)
        if i > 1 and rows + wanted > rows_most then
            break
        end
        shown[i], rows = line, rows + wanted
    end
    return shown, math.min(rows, rows_most)
end

-- Draws the past of a metric, the hit ratio from a little below its lowest value, so that changes are visible. Returns
-- the values at the bottom and the top of the graph, whether a spike is higher, and how many values are known.
local function draw_history(model, grid, area, name)
    local values, is_cut = model:series(name, area.width), false
    local low, known = name == "hit_ratio" and 1 or 0, 0
    if name ~= "hit_ratio" then
        values, is_cut = cells.without_spikes(values)
    end
    for i = 1, values.n do
        low, known = math.min(low, values[i] or low), known + (values[i] and 1 or 0)
    end
    low = name == "hit_ratio" and math.max(low - 0.02, 0) or 0
    return low, grid:graph(area, cells.GRAPH, values, low), is_cut, known
end

-- The value at the top of a graph, with a "+" when a spike is higher; of the hit ratio also the value at its bottom.
local function draw_spark(model, grid, area, name, has_scale)
    local low, high, is_cut, known = draw_history(model, grid, area, name)
    if has_scale and known > 0 then
        local ends = name == "hit_ratio" and ("%.0f-%.0f "):format(100 * low, 100 * high)
        grid:text_right(area.y, area.x - 1, cells.DIM,
            ends or ("%5s%s"):format(figure.metric(metrics[name], high), is_cut and "+" or " "))
    end
end

local function draw_rate(model, grid, area, name, has_means)
    local y, x, metric, now = area.y, area.x, metrics[name], model:metric(name)
    local is_bad = REFUSALS[name] and (now or 0) > 0
    local function value(x_end, style, of)
        grid:text_right(y, x + x_end, style, figure.metric(metric, of))
    end
    grid:text(y, x, is_bad and cells.BAD or cells.PLAIN, metric.label)
    value(24, cells.STRONG, now)
    if has_means then
        value(33, cells.PLAIN, model:mean(name, 10))
        value(41, cells.PLAIN, model:mean(name, 100))
    end
    local spark_x = x + (has_means and SCALE_X + SCALE_WIDTH or 26)
    draw_spark(model, grid, cells.area(y, spark_x, 1, x + area.width - spark_x), name, has_means)
end

-- The rates of so many lines; and those of a tall screen, but for the FEW, that were 0 in all samples, in words.
local function rates_of(model, lines)
    if lines <= MIDDLE_LINES then
        return table.move(FEW, 1, lines, 1, {})
    end
    local names, zeros = {}, {}
    for _, name in ipairs(ALL) do
        local most = not IS_OF_FEW[name] and model:metric(name)
        if most == 0 then
            local values = model:series(name, HISTORY_MOST)
            for i = 1, values.n do
                most = math.max(most, math.abs(values[i] or 0))
            end
        end
        if most == 0 then
            zeros[#zeros + 1] = metrics[name].label
        else
            names[#names + 1] = name
        end
    end
    return names, zeros[1] and "0 in all samples: " .. table.concat(zeros, ", ") or nil
end

local function draw_rates(model, grid, area, names, zeros)
    local y, x, has_means = area.y, area.x, area.width >= 60
    grid:rule(y, x, area.width, "rates")
    grid:text_right(y, x + 24, cells.HEADER, " now")
    if has_means then
        local spark_x = x + SCALE_X + SCALE_WIDTH
        local samples = 0
        local values = model:series(ALL[1], x + area.width - spark_x)
        for i = 1, values.n do
            samples = samples + (values[i] and 1 or 0)
        end
        grid:text_right(y, x + 33, cells.HEADER, " 10 s")
        grid:text_right(y, x + 41, cells.HEADER, " 100 s")
        grid:text_right(y, spark_x - 1, cells.HEADER, " top ")
        local words = units.plural(samples, "sample") .. ", newest right"
        if spark_x + 1 + #words <= x + area.width then
            grid:text(y, spark_x + 1, cells.HEADER, words)
        end
    end
    for i = 1, math.min(area.height - 1, #names) do
        local line = cells.area(y + i, x, 1, area.width)
        if not model.before and model.link == "up" and not model:metric(names[i]) then
            -- For a fifth of a second no rate is known: a column of dashes would look like a fault.
            grid:text(line.y, x, cells.DIM, metrics[names[i]].label)
            grid:text_right(line.y, x + 24, cells.DIM, i == 1 and "measuring" or "")
        else
            draw_rate(model, grid, line, names[i], has_means)
        end
    end
    if zeros then
        grid:paragraph(cells.area(y + 1 + #names, x, area.height - 1 - #names, area.width), cells.DIM, zeros)
    end
end

-- Pages and classes that have any, and the bytes of their free chunks; empty if the server does not report classes.
local function sums_of(model)
    if not (model.observer and model.observer.reports_classes) then
        return {}
    end
    local sums = { pages = 0, classes = 0, free_bytes = 0 }
    for _, class in ipairs(model.now.classes) do
        local pages = class.total_pages or 0
        if class.id > 0 and pages > 0 then
            local free = server.free_chunks(class)
            sums.pages, sums.classes = sums.pages + pages, sums.classes + 1
            sums.free_bytes = sums.free_bytes + (free and class.chunk_size and free * class.chunk_size or 0)
        end
    end
    return sums
end

local function draw_memory(model, grid, area)
    local y, x, now = area.y + 1, area.x, model.now
    grid:rule(area.y, x, area.width, "memory")
    if not now or area.height < 2 then
        return
    end
    local general, count, bytes = now.general, figure.count, units.bytes_in_words
    local limit, items = general.limit_maxbytes, snapshot.item_bytes(now)
    local slack = question.waste(model).slack_bytes
    local bar_x = grid:text(y, x, cells.PLAIN, ("items %8s "):format(bytes(items)))
    local behind = (" of %s, slack %s"):format(bytes(limit), bytes(slack))
    local bar = math.min(area.width - 42, x + area.width - bar_x - #behind)
    if bar >= 10 and (limit or 0) > 0 then
        grid:bar(y, bar_x, bar, (items or 0) / limit, (slack or 0) / limit)
        bar_x = bar_x + bar
    end
    grid:text(y, bar_x, cells.PLAIN, behind)
    local sums, lines = sums_of(model), {}
    local in_classes = sums.classes and units.plural(sums.classes, "class", "classes") or "- classes"
    lines[1] = ("pages %6s in %s, pool %s   free chunks %s   items %s"):format(count(sums.pages), in_classes,
        count(general.slab_global_page_pool), bytes(sums.free_bytes), count(general.curr_items))
    lines[2] = ("conns %6s of %s   threads %s   hash %s   up %s"):format(count(general.curr_connections),
        count(general.max_connections), count(general.threads), bytes(general.hash_bytes), figure.age(general.uptime))
    for i = 1, math.min(area.height - 2, #lines) do
        grid:text(y + i, x, cells.PLAIN, lines[i])
    end
end

-- A graph of some rows, its scale at the left, and the figure in its heading.
local function draw_graph(model, grid, area, name)
    local metric = metrics[name]
    grid:rule(area.y, area.x, area.width - 1, metric.label)
    grid:text(area.y, area.x + 4 + cells.width_of(metric.label), cells.STRONG,
        (" %s "):format(figure.metric(metric, model:metric(name))))
    local plot = cells.area(area.y + 1, area.x + 7, area.height - 1, area.width - 8)
    local low, high, is_cut, known = draw_history(model, grid, plot, name)
    if known == 0 then
        return
    end
    grid:text_right(plot.y, plot.x - 1, cells.DIM, figure.metric(metric, high))
    grid:text(plot.y, plot.x - 1, cells.DIM, is_cut and "+" or "")
    grid:text_right(plot.y + plot.height - 1, plot.x - 1, cells.DIM, figure.metric(metric, low))
end

-- Draws the panel of the class under the cursor: figures and charts.
local function draw_panel(frame, ui, grid, area)
    local id = imbalance.under_cursor(frame.model, ui)
    ui.overview.charted = id
    if id then
        local left = require("slate.console.views.class").draw_beside(frame, grid, area, id)
        class_charts.draw(frame, grid, left, id)
    end
end

-- Draws sections from the top; each takes the rows that it needs.
local function draw_sections(frame, ui, grid, area)
    local model, y, left = frame.model, area.y, area.height
    local function take(rows)
        y, left = y + rows, left - rows
        return cells.area(y - rows, 0, rows, area.width)
    end
    local is_tall = area.height >= 30
    local lines = health_lines(frame, is_tall)
    local names, zeros = rates_of(model, is_tall and #ALL or area.height >= 23 and MIDDLE_LINES or FEW_LINES)
    local rates_most = #names + (zeros and cells.rows_of(zeros, area.width) or 0)
    local health_most = is_tall and 9 or area.height >= 20 and 7 or area.height >= 11 and 4 or 3
    local memory_rows, classes = area.height >= 16 and MEMORY_ROWS or 0, #imbalance.rows(model, ui) + 2
    local others = 1 + rates_most + memory_rows + (is_tall and EVENTS_MOST + 1 or 0)
        + math.max(math.min(classes, is_tall and CLASSES_ENOUGH or classes), CLASSES_LEAST)
    health_most = math.max(health_most, area.height - others) -- no row is left empty
    local shown, rows = fitting(lines, area.width, health_most - 1)
    draw_health(shown, #lines - #shown, grid, take(1 + rows))
    if model.link == "down" and not model.now then
        if health.helps_connecting(model) then
            draw_start(grid, take(left), model.link_note)
        end
        return
    end
    local reserved = left - memory_rows >= CLASSES_LEAST + 2 and CLASSES_LEAST or 0
    draw_rates(model, grid, take(math.min(left - memory_rows - reserved, 1 + rates_most)), names, zeros)
    if memory_rows > 0 then
        draw_memory(model, grid, take(memory_rows))
    end
    local events_rows = left >= 12 and 1 + math.max(math.min(#model.events, EVENTS_MOST), 1) or 0
    if left >= GRAPH_ROWS + math.min(classes, CLASSES_ENOUGH) + events_rows and area.width >= 100 then
        local at, half = take(GRAPH_ROWS), area.width // 2
        draw_graph(model, grid, cells.area(at.y, 0, GRAPH_ROWS, half), "evictions")
        draw_graph(model, grid, cells.area(at.y, half, GRAPH_ROWS, area.width - half), "hit_ratio")
    end
    if left >= CLASSES_LEAST then
        local most = is_tall and math.max(classes, CLASSES_LEAST) or left
        imbalance.draw(frame, ui, grid, take(math.min(left - events_rows, most)))
    end
    if left >= 2 then
        local at = take(left)
        grid:rule(at.y, 0, at.width, "events")
        events.draw_list(frame, grid, cells.area(at.y + 1, 0, at.height - 1, at.width))
    end
end

function M.draw(frame, ui, grid, area)
    local model = frame.model
    ui.overview.shown, ui.overview.charted = 0, nil
    if ui.overview.is_zoomed then
        imbalance.draw_worst(model, ui, grid, area, area.height // GRAPH_LEAST)
        return
    end
    local has_worst = area.width >= WORST_FROM and area.height >= 30 -- else the class under the cursor has graphs
    local worst = has_worst and WORST_WIDTH or 0
    local panel = not has_worst and #imbalance.rows(model, ui) > 0 and class_charts.width(area) or 0
    local width = area.width - worst - panel
    draw_sections(frame, ui, grid, cells.area(area.y, area.x, area.height, width))
    local beside = cells.area(area.y, width + 1, area.height, area.width - width - 1)
    if worst > 0 then
        imbalance.draw_worst(model, ui, grid, beside, WORST_MOST)
    elseif panel > 0 then
        draw_panel(frame, ui, grid, beside)
    end
end

--- m reviews a move to the class chosen here, else to all that are in need, as the health lines say. The source that
-- another view has marked counts for nothing here.
function M.command(frame, ui, command)
    local model, by = frame.model, keys.move_rows(command, SCREEN_STEP)
    if command == "move_pages" then
        return propose.move(frame, imbalance.chosen(model, ui))
    elseif command == "zoom" then
        ui.overview.is_zoomed = not ui.overview.is_zoomed
    elseif command == "close_zoom" and ui.overview.is_zoomed then
        ui.overview.is_zoomed = false
    elseif command == "close_zoom" then
        return { kind = "command", command = "go_back" }
    elseif ui.overview.is_zoomed and (by ~= 0 or command == "open_class") then
        return { kind = "say", text = "z goes back to the list of classes, whose rows can be chosen" }
    elseif by ~= 0 then
        imbalance.move_cursor(model, ui, by)
    elseif command == "open_class" and imbalance.under_cursor(model, ui) then
        view_list.open_class(ui, imbalance.under_cursor(model, ui))
    end
end

function M.click(ui, kind, value)
    if kind == "row" then
        view_list.choose_class(ui, value)
    end
end

return M
