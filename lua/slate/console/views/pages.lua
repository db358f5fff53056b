-- SPDX-License-Identifier: BSD-3-Clause
--- Pages: a cell a page, a row a class. Shows unused memory, and moves pages: f marks a class as the source, + and -
-- choose how many of its emptiest pages, m on another class opens the review.
local automove = require "slate.facts.automove"
local cells = require "slate.console.cells"
local change = require "slate.console.change"
local class_charts = require "slate.console.draw.class_charts"
local class_state = require "slate.console.draw.class_state"
local figure = require "slate.console.figure"
local find = require "slate.base.find"
local imbalance = require "slate.console.draw.imbalance"
local keys = require "slate.console.keys"
local moves = require "slate.console.draw.moves"
local narrow = require "slate.console.draw.narrow"
local PAGE_BYTES <const> = require("slate.facts.chunks").PAGE_BYTES
local page_map = require "slate.console.draw.page_map"
local page_summary = require "slate.console.page_summary"
local propose = require "slate.console.propose"
local question = require "slate.console.question"
local units = require "slate.base.units"
local view_list = require "slate.console.view_list"

local M = {
    name = "Pages",
    scope = "pages",
    open = "view_pages",
    inquiries = { "pages", "moves", "curve", "class_curves" },
    shown = { "pages.map", "class.pages", "class.free", "memory.pool", "moves.why", "moves.rescues", "lost_by_moves",
        "starving", "ping_pong" },
}

--- cursor: id of a class, or of the pool; nil: the worst class. class: the class chosen on any view at the last
-- drawing; when another is chosen, the cursor goes there. marked: how many pages of the source class to move.
-- mode: the place in page_map.MODES of what cells show. is_wide: the last drawing had charts beside the map.
function M.state()
    return { cursor = nil, top = 1, marked = 0, mode = 1 }
end

function M.wants(ui, wants)
    for _, id in ipairs({ ui.classes.source or page_map.POOL, ui.pages.cursor or page_map.POOL }) do
        wants.curves_first[#wants.curves_first + 1] = id ~= page_map.POOL and id or nil
    end
    if ui.pages.is_wide then -- the charts beside the map have the sizes
        wants.inquiries.sizehist = true
    end
end

--- The class under the cursor, or the pool.
function M.terms(ui, frame)
    if ui.pages.cursor == page_map.POOL then
        return { "memory.pool" }
    end
    return class_state.terms(frame, ui.pages.cursor)
end

local PANEL_LEAST <const>, PANEL_FROM_HEIGHT <const>, SELECTION_FROM_HEIGHT <const>, WORST_MOST <const> = 3, 14, 8, 6
local MODE_FROM_WIDTH <const>, SCREEN_ROWS <const> = 100, 10
local MODE_WORDS <const> = { fill = "how full", age = "age in its class", use = "time unused" }
local AGE_LEGEND <const> = { "s seconds", "m minutes", "h hours", "d days", "◆marked" }
local LEGENDS <const> = { fill = { "█full", "▓90%", "▒50%", "░10%", "·less", "◆marked", "↯moving" }, age = AGE_LEGEND,
    use = AGE_LEGEND }

-- The list of all pages; nil if the server lists none, or before all have come.
local function listed(frame)
    local all = frame.model.answers:pages()
    return all and all.is_complete and all or nil
end

-- Puts the cursor on a row, at first on the worst class. Returns the row's place.
local function place_cursor(frame, ui, rows)
    local at = ui.pages
    if at.class ~= ui.classes.cursor then
        at.class, at.cursor = ui.classes.cursor, ui.classes.cursor
    end
    local place = find.by(rows, "id", at.cursor or (frame.model.worst or {}).id) or 1
    at.cursor = rows[place].id
    return place
end

-- The operator puts the cursor on a class, which is chosen on the other views, too, or on the pool.
local function choose(ui, id)
    ui.pages.cursor = id
    if id ~= page_map.POOL then
        view_list.choose_class(ui, id)
        ui.pages.class = id
    end
end

-- The move to the class under the cursor that m would review: from the marked class, or from the best donor if the
-- class evicts; nil if there is none.
local function move_of(frame, ui)
    local to, source = ui.pages.cursor, ui.classes.source
    if source then
        return source ~= to and { from = source, to = to, pages = math.max(ui.pages.marked, 1) } or nil
    end
    local row = frame.model:row(to)
    local from, pages = question.donor(frame.model, to)
    return from and row and (row.mean_evicted_per_s or 0) > 0 and { from = from, to = to, pages = pages } or nil
end

local function draw_head(frame, at, grid, y, width, scale)
    local now, mode = frame.model.now, page_map.MODES[at.mode]
    local source = listed(frame) and "EXACT" or now.slated and not frame.is_past and not frame.is_replay and "READING"
        or "ESTIMATED"
    local text = ("%s: a cell is %s page%s"):format(source, figure.count(scale), scale > 1 and "s" or "")
    if width >= MODE_FROM_WIDTH then
        text = text .. ", by " .. MODE_WORDS[mode]
    end
    grid:head(y, 0, width, narrow.fitting(width, " ", { text .. " ", table.unpack(LEGENDS[mode]) }))
end

-- "11 pages: 0 empty, 0 more under 10 %, 0 more under half; aged 4s to 12s"
local function pages_words(summary, width)
    local empty, nearly, half = page_summary.below(summary, 0), page_summary.below(summary, 9),
        page_summary.below(summary, 49)
    local text = ("%s: %d empty, %d more under 10 %%, %d more under half"):format(units.plural(summary.pages, "page"),
        empty, nearly - empty, half - nearly)
    return narrow.fitting(width, "; ", { text, summary.is_exact and ("aged %s to %s"):format(
        figure.age(summary.youngest_s), figure.age(summary.oldest_s)) or nil })
end

-- "m: 3 pages from class 4: +3.1 points of hits (+1.9 to +7.0)", as in the review.
local function move_words(frame, move)
    return ("m: %s from class %d: %s"):format(units.plural(move.pages, "page"), move.from,
        change.forecast_of(change.forecast_of_moves(frame.model, { move }), "expects") or "")
end

-- How to give back pages over the limit, which memcached keeps; nil: there are none.
local function over_words(frame)
    local now, over = frame.model.now, frame.model.observer and frame.model.observer.over
    return over and over.is_much and not over.is_by_classes and not now.slated
        and not automove.is_ruled_out(now)
        and ("%s over the limit: f on a class, m on the pool frees them"):format(
            units.plural(over.over_bytes // PAGE_BYTES, "page")) or nil
end

-- What m would do with the class under the cursor, or which key comes first; and its style.
local function move_or_key(frame, ui)
    local at, source = ui.pages, ui.classes.source
    local move = at.cursor ~= page_map.POOL and move_of(frame, ui)
    if move then
        return move_words(frame, move), cells.STRONG
    elseif not source then
        return at.cursor == page_map.POOL
            and "f on a class, then m here: the pool gets its pages; any over the limit go back"
            or "f marks this class as the source; Enter shows the class", cells.DIM
    end
    local summary = page_summary.of(frame.model, source)
    return ("◆ %d of class %d marked (+ -): %s%s items in them; m on the receiver"):format(at.marked, source,
        summary.is_exact and "" or "at least ", figure.count(page_summary.cost(summary, at.marked))), cells.STRONG
end

local function next_words(frame, ui)
    local words, style = move_or_key(frame, ui)
    local over = not (frame.is_past or frame.is_replay) and not ui.classes.source and over_words(frame)
    return over and ("%s; %s"):format(words, over) or words, style
end

-- Draws the row under the cursor in words, and the move that m would review.
local function draw_selection(frame, ui, grid, area)
    local id, y, y_end = ui.pages.cursor, area.y + 1, area.y + area.height
    if id == page_map.POOL then
        grid:rule(area.y, 0, area.width, "the pool: pages that any class may take")
    else
        local summary = page_summary.of(frame.model, id)
        grid:rule(area.y, 0, area.width, ("class %d%s: %s"):format(id, summary.is_exact and "" or ", estimated",
            class_state.words(frame.model:row(id))))
        if y < y_end then
            grid:text_fit(y, 0, area.width, cells.PLAIN, pages_words(summary, area.width))
            y = y + 1
        end
    end
    local words, style = next_words(frame, ui)
    grid:paragraph(cells.area(y, 0, y_end - y, area.width), style, words)
end

-- The rows of the selection and of the panel below it, which takes what the map leaves, and a few on a screen of any
-- size. rows, width: of the map; next_rows: of the selection's last words.
local function heights(area, rows, width, next_rows)
    local selection = area.height >= PANEL_FROM_HEIGHT and 2 + next_rows
        or area.height >= SELECTION_FROM_HEIGHT and 2 or 0
    local room = area.height - 1 - selection
    local least = room >= PANEL_FROM_HEIGHT and PANEL_LEAST or 0
    return selection, math.max(room - (page_map.lines(rows, width, 1)), least)
end

-- Why there is no map: a sentence; nil if there is one.
local function why_no_map(frame, rows)
    local now = frame.model.now
    if now and now.store == "heap" then -- a heap's pages are parts of one heap; blocks has pages of blocks
        return "pages of classes need --store=slab; this server has heap"
    elseif #rows == 0 then
        return frame.model:no_classes()
    end
end

-- Draws the class under the cursor; beside the pool, the classes that evict most.
local function draw_beside(frame, ui, grid, area)
    local id = ui.pages.cursor
    if id == page_map.POOL then
        imbalance.draw_worst(frame.model, ui, grid, area, WORST_MOST)
        return
    end
    class_charts.draw(frame, grid, require("slate.console.views.class").draw_beside(frame, grid, area, id), id)
end

function M.draw(frame, ui, grid, area)
    local rows, at, beside = page_map.rows(frame.model.now), ui.pages, class_charts.width(area)
    local why = why_no_map(frame, rows)
    if why then
        grid:text_fit(area.y, 0, area.width, cells.DIM, why)
        return
    end
    local cursor = place_cursor(frame, ui, rows)
    at.is_wide = beside > 0
    if at.is_wide then
        draw_beside(frame, ui, grid, cells.area(area.y, area.width - beside + 1, area.height, beside - 1))
        area = cells.area(area.y, area.x, area.height, area.width - beside)
    end
    local width = area.width - page_map.LABEL_WIDTH
    local selection, panel = heights(area, rows, width, cells.rows_of((next_words(frame, ui)), area.width))
    local height = area.height - 1 - selection - panel
    local scale = page_map.scale(rows, width, height)
    draw_head(frame, at, grid, area.y, area.width, scale)
    at.top = page_map.draw(grid, cells.area(area.y + 1, 0, height, area.width), rows, cursor, at.top, {
        scale = scale, mode = page_map.MODES[at.mode], source = ui.classes.source, marked = at.marked,
        row = function(id) return frame.model:row(id) end,
        summary = function(id) return page_summary.of(frame.model, id) end,
    })
    local y = area.y + 1 + height
    if selection > 0 then
        draw_selection(frame, ui, grid, cells.area(y, 0, selection, area.width))
    end
    if panel > 0 then
        moves.draw(frame, grid, cells.area(y + selection, 0, panel, area.width))
    end
end

local function say(text, ...)
    return { kind = "say", text = text:format(...) }
end

local COMMANDS <const> = {}

function COMMANDS.mark_source(frame, ui)
    local at = ui.pages
    if at.cursor == page_map.POOL then
        return say "pages of the pool are free for any class: there is nothing to move"
    elseif ui.classes.source == at.cursor then
        ui.classes.source, at.marked = nil, 0
        return say "no page is marked"
    end
    local summary = page_summary.of(frame.model, at.cursor)
    local empty = page_summary.below(summary, 0)
    ui.classes.source, at.marked = at.cursor, empty > 0 and empty < summary.pages and empty or 1
    return say("%s of class %d marked: + and - for more or fewer, then m on the receiver",
        units.plural(at.marked, "page"), at.cursor)
end

-- Marks more or fewer pages of the source; it keeps its last one.
local function mark(step)
    return function(frame, ui)
        local source = ui.classes.source
        if not source then
            return say "mark a class with f first"
        end
        local pages = (frame.model:class(source) or {}).total_pages or 0
        ui.pages.marked = math.max(math.min(ui.pages.marked + step, pages - 1), 1)
    end
end
COMMANDS.more_pages, COMMANDS.fewer_pages = mark(1), mark(-1)

function COMMANDS.move_pages(frame, ui)
    local to, source = ui.pages.cursor, ui.classes.source
    if source == to then
        return say "go to the class that needs the pages and press m there"
    elseif to == page_map.POOL and not source then
        return say "mark a class with f first: its pages can go to the pool"
    end
    local intent = propose.move(frame, to, source)
    if intent.kind == "review" and source and ui.pages.marked > 0 then
        intent.plan[1].pages = ui.pages.marked
    end
    return intent
end

function COMMANDS.cell_mode(frame, ui)
    local all = listed(frame)
    if not all then
        return say "ages of pages need slated: this map is an estimate of how full they are"
    end
    local modes = all.notes_use and #page_map.MODES or #page_map.MODES - 1 -- only automove lra notes the use of pages
    ui.pages.mode = ui.pages.mode % modes + 1
end

function COMMANDS.open_class(_, ui)
    if ui.pages.cursor ~= page_map.POOL then
        view_list.open_class(ui, ui.pages.cursor)
    end
end

function M.command(frame, ui, command)
    local rows = page_map.rows(frame.model.now)
    if #rows == 0 then
        return nil
    end
    local by = keys.move_rows(command, SCREEN_ROWS)
    local place = keys.step(place_cursor(frame, ui, rows), by, #rows)
    if by ~= 0 then
        choose(ui, rows[place].id)
    end
    return COMMANDS[command] and COMMANDS[command](frame, ui)
end

function M.click(ui, kind, value)
    if kind == "row" then
        choose(ui, value)
    end
end

return M
