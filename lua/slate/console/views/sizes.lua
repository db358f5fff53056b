-- SPDX-License-Identifier: BSD-3-Clause
--- Sizes: the number of items of each size, over the chunk sizes, today's and those that would hold more items.
local cells = require "slate.console.cells"
local detail = require "slate.console.detail"
local figure = require "slate.console.figure"
local find = require "slate.base.find"
local geometry = require "slate.facts.geometry"
local keys = require "slate.console.keys"
local list = require "slate.console.draw.list"
local narrow = require "slate.console.draw.narrow"
local predictions = require "slate.console.predictions"
local question = require "slate.console.question"
local size_graph = require "slate.console.draw.size_graph"
local store = require "slate.facts.store"

local M = {
    name = "Sizes",
    scope = "sizes",
    open = "view_sizes",
    inquiries = { "sizehist", "stock_sizes", "geometry", "predictions" },
    shown = { "sizes.items", "sizes.choice", "class.waste", "class.size", "growth_factor", "mem_requested",
        "geometry.state", "geometry.waste" },
}

function M.state()
    return { cursor = 1, top = 1 }
end

function M.wants(_, wants)
    for _, order in ipairs(geometry.ORDERS) do
        wants.orders[#wants.orders + 1] = order
    end
end

local AXIS_WIDTH <const>, GRAPH_LEAST <const>, LIMIT_ROWS <const>, SCREEN_ROWS <const> = 7, 3, 3, 8
local CHOICES_ROWS <const>, CHOICES_ROWS_LOW <const>, WASTE_ROWS <const> = 9, 3, 2
local NOW <const> = 1 -- rows above the choices: today's sizes
local SHOWN_LEAST_PCT <const> = 0.05 -- less is shown as 0.0

-- Items by each class's mean size, for servers that report no sizes: a rough picture.
local function by_class(now)
    local histogram = { items = 0, sizes = {} }
    for _, class in ipairs(now.classes) do
        local items, chunk = class.number or 0, class.chunk_size or 0
        -- Chunked items are booked in one class and stored in several.
        if items > 0 and chunk > 0 then
            local mean = (class.mem_requested or 0) / items
            table.insert(histogram.sizes, { bytes = mean > 0 and mean <= chunk and mean or chunk, items = items })
            histogram.items = histogram.items + items
        end
    end
    return histogram
end

--- The sizes of items, their source in words, and whether they are estimated; nil while they are not known.
function M.histogram_of(frame, now)
    local live, tracked = frame.model.answers:parsed("sizehist"), frame.model.answers:parsed("stock_sizes")
    if live or tracked then
        return live or tracked, live and "EXACT, of live items" or "as the server tracks them"
    elseif now and (not now.slated or frame.is_past) then
        return by_class(now), "ESTIMATED, a bar a class", true
    end
end

-- Words on an order that is not worth it. memcached refuses none: sizes are options of its start.
local function little_words(choice, is_slated)
    local is_gain = choice.items_change * 100 >= SHOWN_LEAST_PCT
    return (is_gain and ("under +%d %%"):format(geometry.GAIN_LEAST_PCT) or "no gain")
        .. (is_slated and ": refused" or "")
end

-- A row of the table: "factor 1.08       61    4.1 %    +9.3 %  ◀ most items  25s ago". age_s: of an old prediction.
local function choice_text(choice, is_slated, age_s)
    local text = ("%-12.12s "):format(choice.order)
    if choice.words or not choice.is_known then
        return text .. (choice.words or "waiting for the server")
    end
    text = text .. ("%7s %6s %%"):format(figure.count(choice.classes), figure.percent(choice.waste_ratio))
    if choice.items_change then
        text = ("%s  %+6.1f %%  %s"):format(text, choice.items_change * 100,
            choice.is_best and "◀ most items" or choice.is_worth_it and "" or little_words(choice, is_slated))
    end
    return age_s and ("%s  %s ago"):format(text, figure.age(age_s)) or text
end

-- The age of the server's prediction of an order; nil if it is young.
local function age_of(frame, order)
    local known = frame.model.answers.predictions:of(order)
    local age_s = known and (frame.now_s - known.known_s) // 1
    return age_s and age_s >= predictions.OLD_S and age_s or nil
end

local function draw_choice(grid, y, width, choice, text)
    local style = choice.is_best and cells.GOOD or choice.is_worth_it and cells.PLAIN or cells.DIM
    grid:text_fit(y, 1, width - 1, style, text)
end

local function draw_choices(frame, at, grid, area, plan, waste_ratio)
    local is_slated = frame.model.now.slated
    grid:head(area.y, 0, area.width, narrow.fitting(area.width, "  ", { " CHUNK SIZES  CLASSES    WASTE     ITEMS",
        is_slated and "as the server predicts" or "ESTIMATED, after a restart with -f" }))
    local now = { order = "now", is_known = true, is_worth_it = true, classes = #plan.now, waste_ratio = waste_ratio }
    local rows, count = cells.area(area.y + 1, 0, area.height - 1, area.width), #plan + NOW
    local cursor = keys.step(at.cursor, 0, count)
    list.draw(grid, rows, at, cursor, count, function(y, i)
        local choice = plan[i - NOW] or now
        draw_choice(grid, y, area.width, choice, choice_text(choice, is_slated, age_of(frame, choice.order)))
        grid:text(y, 0, cells.STRONG, i == cursor and ">" or "")
    end)
    grid:text_right(area.y, area.width, cells.HEADER, narrow.more(at.top, rows.height, count))
end

local function geometry_words(frame)
    local state = frame.model.answers:parsed("geometry")
    if not state then
        return "memcached takes sizes at its start: -f -n -o slab_sizes", cells.DIM
    end
    local before, text = state.waste_before or 0, "geometry " .. tostring(state.state)
    if before > 0 then -- the table has today's waste
        text = ("%s, waste %s %% before, %s %% predicted"):format(text, figure.percent(before / 100),
            figure.percent(state.waste_predicted and state.waste_predicted / 100))
    end
    return ("%s: %s"):format(text, tostring(state.why)), cells.PLAIN
end

-- A sentence: the store has no chunk sizes; nil if it has.
local function why_no_sizes(now)
    return now and select(2, store.needs_slab(now, "chunk sizes"))
end

-- The rows of the table and of the graph. foot: those below the table.
local function heights(height, is_estimated, foot)
    local rows = height < 10 and 0 or is_estimated and WASTE_ROWS or height < 16 and CHOICES_ROWS_LOW or CHOICES_ROWS
    local graph = height - 1 - LIMIT_ROWS - rows - (rows > 0 and foot or 0)
    if graph < GRAPH_LEAST then
        return 0, height - 1 - LIMIT_ROWS
    end
    return rows, graph
end

-- Draws the bars, and today's limits and the best ones below them.
local function draw_graph(grid, area, histogram, plan)
    local axis = size_graph.axis(histogram.sizes, AXIS_WIDTH, area.width - AXIS_WIDTH)
    local y = area.y + area.height
    size_graph.draw_bars(grid, area.y, area.height, axis)
    size_graph.draw_limits(grid, y, axis, plan.now, "now", "│", cells.STRONG)
    local _, best = find.by(plan, "is_best", true)
    if best and best.sizes then
        size_graph.draw_limits(grid, y + 1, axis, best.sizes, "best", "¦", cells.DIM)
    end
    size_graph.draw_scale(grid, y + 2, axis)
end

function M.draw(frame, ui, grid, area)
    local now = frame.model.now
    local why = why_no_sizes(now)
    if why then
        grid:text_fit(area.y, 0, area.width, cells.DIM, why)
        return
    end
    local histogram, source, is_estimated = M.histogram_of(frame, now)
    if not histogram then
        detail.is_ready(frame, "sizehist", grid, area)
        return
    elseif is_estimated and histogram.items == 0 -- unless the server says that it has no items
        and not (frame.model.observer and frame.model.observer.reports_classes and now.general.curr_items == 0) then
        grid:text_fit(area.y, 0, area.width, cells.DIM,
            "sizes are not known: this server does not report the items of its classes")
        return
    end
    local plan = question.sizes(frame.model)
    if not plan then
        return -- the health lines say why judging has ended
    end
    local words, style = geometry_words(frame)
    local foot = cells.rows_of(words, area.width)
    local rows, graph = heights(area.height, is_estimated, foot)
    grid:head(area.y, 0, area.width, ("%s items by size, with header: %s"):format(figure.count(histogram.items),
        source))
    draw_graph(grid, cells.area(area.y + 1, 0, graph, area.width), histogram, plan)
    local y = area.y + 1 + graph + LIMIT_ROWS
    if rows > 0 and is_estimated then
        -- Other sizes cannot be judged: only the mean of each class is known.
        grid:text_fit(y, 0, area.width, cells.PLAIN, ("waste in chunks and pages: %s %%"):format(
            figure.percent(question.waste(frame.model).waste_ratio)))
        grid:text_fit(y + 1, 0, area.width, cells.WARN, "other sizes: their waste needs slated, or -o track_sizes")
    elseif rows > 0 then
        local taken = now.slated and histogram.taken_bytes
        draw_choices(frame, ui.sizes, grid, cells.area(y, 0, rows, area.width), plan,
            taken and taken > 0 and math.max(1 - histogram.item_bytes / taken, 0) or plan.waste_ratio)
    end
    if rows > 0 then
        grid:paragraph(cells.area(y + rows, 0, foot, area.width), style, words)
    end
end

function M.command(frame, ui, command)
    local now, at = frame.model.now, ui.sizes
    local why = why_no_sizes(now)
    local plan = not why and question.sizes(frame.model) or {}
    at.cursor = keys.step(at.cursor, keys.move_rows(command, SCREEN_ROWS), #plan + NOW)
    if command ~= "review" then
        return nil
    elseif now and now.slated and plan[at.cursor - NOW] then
        return { kind = "review", plan = { { name = "geometry", value = plan[at.cursor - NOW].order } } }
    end
    return { kind = "say", text = why or now and now.slated and "these are today's sizes: go to others first"
        or "memcached takes other chunk sizes only at its start: -f, -n, -o slab_sizes" }
end

M.click = list.click "sizes"

return M
