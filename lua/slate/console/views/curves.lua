-- SPDX-License-Identifier: BSD-3-Clause
--- Curves: the miss ratio with other amounts of memory, the value of a page for each class, and the hit ratio of other
-- eviction policies. All from sampled keys.
local cells = require "slate.console.cells"
local class_state = require "slate.console.draw.class_state"
local detail = require "slate.console.detail"
local figure = require "slate.console.figure"
local find = require "slate.base.find"
local gather = require "slate.base.gather"
local keys = require "slate.console.keys"
local largest_first = require("slate.base.order").largest_first
local list = require "slate.console.draw.list"
local narrow = require "slate.console.draw.narrow"
local propose = require "slate.console.propose"
local question = require "slate.console.question"
local PAGE_BYTES <const> = require("slate.facts.chunks").PAGE_BYTES
local sampled = require "slate.facts.sampled"
local units = require "slate.base.units"
local view_list = require "slate.console.view_list"

local M = {
    name = "Curves",
    scope = "curves",
    open = "view_curves",
    inquiries = { "curve", "class_curves", "whatif" },
    shown = { "curve.lru_hit_ratio", "curve.hit_ratio_x1", "whatif.hit_ratio", "whatif.difference", "class.class",
        "class.pages", "curve.read_share", "curve.class_hit_ratio", "curve.page_worth", "curve.better_policy",
        "hit_ratio", "policy", "sample_rate" },
}

--- cursor: id of a class, 0: the cache as a whole; top: the first row of the classes that is shown.
function M.state()
    return { cursor = 0, top = 1 }
end

--- The class under the cursor; first of all the curve, if it is that of the whole cache.
function M.terms(ui, frame)
    return class_state.terms(frame, ui.curves.cursor)
end

local AXIS_WIDTH <const>, SCREEN_ROWS <const>, READS_FROM_WIDTH <const> = 7, 10, 80
local WORTH_WIDTH <const>, POLICY_LEAST <const>, POLICY_MOST <const> = 78, 52, 63 -- no policy's text is wider
local SIZES <const> = { [0.5] = true, [2] = true, [4] = true } -- those in words
local TONES <const> = { good = cells.GOOD, note = cells.DIM, warn = cells.WARN, bad = cells.BAD }
local POLICY_X <const>, POLICY_WIDTH <const>, WORDS_MOST <const> = 62, 15, 2
local HEAD <const> = "  CL PAGES READS%       HIT% (band)  +1 PAGE  -1 PAGE" -- and what else has room
local LOW_ROWS <const>, GRAPH_LEAST <const> = 5, 4 -- of a low screen: below the graph, and the graph

-- Draws sizes of memory below their columns: today's, and its doubles and halves as far as there is room.
local function draw_axis(grid, y, x, width, curve)
    local first, last = curve.points[1][1], curve.points[#curve.points][1]
    local column_a_unit = (width - 1) / math.log(last / first)
    local now, free_from = (math.log(curve.bytes / first) * column_a_unit + 0.5) // 1, x
    for power = -3, 3 do
        local text = (power == 0 and "^now " or "^") .. units.bytes_in_words(curve.bytes * 2.0 ^ power)
        local at = x + now + (power * math.log(2) * column_a_unit + 0.5) // 1
        if at >= free_from and at + #text <= x + width then
            free_from = grid:text(y, at, power == 0 and cells.STRONG or cells.DIM, text) + 1
        end
    end
end

local function draw_graph(grid, area, curve)
    local width, misses = area.width - AXIS_WIDTH, {}
    local first, last = curve.points[1][1], curve.points[#curve.points][1]
    for i = 1, width do
        misses[i] = 1 - sampled.between(curve.points, first * (last / first) ^ ((i - 1) / math.max(width - 1, 1)))
    end
    -- A flat curve is drawn from a little below its lowest point, or its shape would drown.
    local most, least = misses[1] or 0, misses[width] or 0
    local low = least > most / 2 and math.max(least - (most - least) / 5 - 0.005, 0) or 0
    local plot = cells.area(area.y, area.x + AXIS_WIDTH, area.height - 1, width)
    local high = grid:graph(plot, cells.GRAPH, misses, low)
    grid:text_right(plot.y, plot.x - 1, cells.DIM, figure.percent(high))
    grid:text_right(plot.y + plot.height - 1, plot.x - 1, cells.DIM, figure.percent(low))
    draw_axis(grid, area.y + area.height - 1, plot.x, width, curve)
end

local function can_draw(curve)
    local first, last = curve.points[1], curve.points[#curve.points]
    return first and first[1] > 0 and last[1] > first[1] and (curve.bytes or 0) > 0
end

--- Draws the curve of a class, its own; without one that of the whole cache.
function M.draw_curve(grid, area, whole, own, id)
    local curve = own and can_draw(own) and own or whole
    if not can_draw(curve) then
        grid:rule(area.y, area.x, area.width, "miss % by memory")
        grid:paragraph(cells.area(area.y + 1, area.x, area.height - 1, area.width), cells.WARN,
            "too few sampled reads yet: a curve needs a busy cache and some time")
        return
    end
    grid:rule(area.y, area.x, area.width, ("LRU model of %s: miss %s %% at %s"):format(
        curve == own and ("class %d"):format(id) or "the whole cache",
        figure.percent(curve.lru_hit_ratio and 1 - curve.lru_hit_ratio), units.bytes_in_words(curve.bytes)))
    if area.width >= READS_FROM_WIDTH then
        grid:text_right(area.y, area.x + area.width, cells.HEADER, (" %s sampled reads "):format(
            figure.count(curve.reads)))
    end
    draw_graph(grid, cells.area(area.y + 1, area.x, area.height - 1, area.width), curve)
end

-- "76.7 (74.1-79.3)": a hit ratio, and the least and the most of its band, if they are known.
local function ratio_words(ratio, least, most)
    return figure.percent(ratio) .. (least and (" (%s-%s)"):format(figure.percent(least), figure.percent(most)) or "")
end

-- The hit ratios of the cache itself, and those to expect with other memory, with their bands. They are no points of
-- the curve, which is the LRU's. has_gain: more memory has a gain to tell.
local function size_words(curve, policy, has_gain)
    local hit, expected = nil, {}
    for _, size in ipairs(curve.sizes) do
        hit = size[1] == 1 and size[2] or hit
        expected[#expected + 1] = SIZES[size[1]] and (has_gain or size[1] < 1)
            and ("x%g %s"):format(size[1], ratio_words(table.unpack(size, 2, 4))) or nil
    end
    return hit and ("%s hit %s %% %s%s%s"):format(policy or "its policy", figure.percent(hit),
        curve.measured_hit_ratio and "in the last 10 s" or "over 5 turnovers",
        expected[1] and "; expected (95 % band): " or "", table.concat(expected, ", "))
        or "what its policy would hit with other memory: not known yet" .. (curve.lacks and "; " .. curve.lacks or "")
end

-- Draws whether more memory or another policy would help, a line each: the answers of slatectl doctor and advise.
-- Returns the rows.
local function draw_answers(frame, grid, y, width)
    local sentences = question.ask(frame.model, "slate.judge.curves", "sentences")
    local used = 0
    for _, sentence in ipairs(sentences) do
        used = used + grid:paragraph(cells.area(y + used, 0, grid.height - y - used, width),
            TONES[sentence.tone] or cells.PLAIN, sentence.text)
    end
    return used
end

-- Policies in the order of the table: the one in use, then the others, the best first.
local function in_order(policies, in_use)
    return largest_first(table.move(policies, 1, #policies, 1, {}), function(guess)
        return guess.policy == in_use and math.huge or guess.difference
    end, "policy")
end

-- Draws a policy with its rating; of too few reads there are no figures.
local function draw_policy(grid, y, area, guess, rating, is_today)
    local style = is_today and cells.STRONG or TONES[rating.tone] or cells.PLAIN
    local text = style == cells.WARN and ("%-8s %s"):format(guess.policy, rating.text)
        or ("%-8s hit %5s %%  %+6.2f %s"):format(guess.policy, figure.percent(guess.hit_ratio), guess.difference * 100,
            rating.text)
    grid:text_fit(y, area.x, area.width, style, text)
end

local function draw_policies(frame, grid, area)
    grid:rule(area.y, area.x, area.width, "other policies: miniature caches beside the present policy")
    local inside = cells.area(area.y + 1, area.x, area.height - 1, area.width)
    if inside.height < 1 or not detail.is_ready(frame, "whatif", grid, inside) then
        return
    end
    local whatif = frame.model.answers:parsed("whatif")
    if #whatif.policies == 0 then
        grid:text_fit(inside.y, inside.x, inside.width, cells.DIM, ("%s: %s"):format(whatif.totals.policy or "",
            whatif.totals.sampling == 1 and whatif.totals.why or "sampling is off"))
        return
    end
    local ratings = {}
    for _, rating in ipairs(question.ask(frame.model, "slate.judge.curves", "ratings")) do
        ratings[rating.label or ""] = rating
    end
    local more = narrow.more(1, inside.height, #whatif.policies)
    grid:text_right(area.y, area.x + area.width - 1, cells.HEADER, more ~= "" and " " .. more .. " " or "")
    local _, policies = question.at_level(frame.model)
    for i, guess in ipairs(in_order(policies or whatif.policies, whatif.totals.policy)) do
        if i <= inside.height then
            draw_policy(grid, inside.y + i - 1, inside, guess, ratings[guess.policy] or { text = "" },
                guess.policy == whatif.totals.policy)
        end
    end
end

-- "+2.1", "-50", " 0"
local function signed(rate, sign)
    return rate and (rate > 0 and sign or " ") .. figure.count(math.max(rate, 0)) or "-"
end

-- The least (field 3) or the most (field 4) of a curve's points at so many bytes; nil: not known.
local function bound_at(curve, field, bytes)
    local bounds = gather.values(curve.points, function(point) return point[field] and { point[1], point[field] } end)
    return bounds[1] and sampled.between(bounds, bytes)
end

-- Draws what a page more or less is worth to a class. A class keeps its last page.
local function draw_worth(model, grid, y, area, worth)
    local curve, bytes = model.answers:class_curve(worth.id), worth.pages * PAGE_BYTES
    local x = grid:text(y, area.x + 1, cells.PLAIN, ("%3d %5s %6s "):format(worth.id, figure.count(worth.pages),
        figure.percent(worth.read_share)))
    if question.few_reads(model, curve) then
        grid:text_fit(y, x, POLICY_X - x, cells.DIM, ("not known: %s sampled reads"):format(figure.count(curve.reads)))
        return
    end
    grid:text(y, x, cells.PLAIN, ("%16s %8s %8s"):format(
        ratio_words(worth.hit_ratio, bound_at(curve, 3, bytes), bound_at(curve, 4, bytes)), signed(worth.gain, "+"),
        worth.pages > 1 and signed(worth.loss, "-") or "-"))
    local room = area.width - POLICY_X
    if room >= POLICY_WIDTH and worth.policy then
        grid:text_fit(y, area.x + POLICY_X, room, cells.GOOD, ("%s %+.1f pt"):format(worth.policy,
            worth.policy_gain * 100))
    end
end

-- The place of the class under the cursor in the list; 0: the cache as a whole, or a class that is not listed.
local function place_of(worths, id)
    return find.by(worths, "id", id) or 0
end

-- The move that every screen and slatectl advise, or why there is none; and its style.
local function advice_words(frame)
    local advice = question.ask(frame.model, "slate.judge.relief", "relief_sentence")[1]
    return advice and advice.text or "", advice and advice.tone == "note" and cells.DIM or cells.STRONG
end

-- Draws the classes, and below them a text in at most WORDS_MOST rows.
local function draw_classes(frame, at, grid, area, words, style)
    local worths = question.worth(frame.model)
    if #worths == 0 then
        words, style = "no class has enough sampled reads yet", cells.DIM
        area = cells.area(area.y, area.x, math.min(area.height, 1 + cells.rows_of(words, area.width)), area.width)
    end
    local foot_most = math.max(area.height - (worths[1] and 2 or 1), 0)
    local foot = math.min(cells.rows_of(words, area.width), WORDS_MOST, foot_most)
    local rows, cursor, has_policy = area.height - 1 - foot, place_of(worths, at.cursor), area.width >= POLICY_X
        + POLICY_WIDTH
    list.draw(grid, cells.area(area.y + 1, area.x, rows, area.width), at, cursor, #worths, function(y, i)
        draw_worth(frame.model, grid, y, area, worths[i])
        grid:text(y, area.x, cells.STRONG, i == cursor and ">" or "")
    end, function(i) return worths[i].id end)
    local more = narrow.more(at.top, rows, #worths, area.width - #HEAD - 1)
    grid:head(area.y, area.x, area.width, narrow.fitting(area.width - cells.width_of(more) - 1, " ", { HEAD, "hits/s",
        has_policy and "BETTER" or nil }))
    grid:text_right(area.y, area.x + area.width, cells.HEADER, more)
    grid:paragraph(cells.area(area.y + area.height - foot, area.x, foot, area.width), style, words)
end

-- Draws the policies and the classes: beside each other, or below each other on a narrow screen.
local function draw_tables(frame, at, grid, area)
    local beside = math.min(area.width - WORTH_WIDTH, POLICY_MOST)
    if beside >= POLICY_LEAST then
        draw_policies(frame, grid, cells.area(area.y, area.width - beside, area.height, beside))
        draw_classes(frame, at, grid, cells.area(area.y, 0, area.height, area.width - beside - 1), advice_words(frame))
    else
        local upper = area.height // 2
        draw_policies(frame, grid, cells.area(area.y, 0, upper, area.width))
        draw_classes(frame, at, grid, cells.area(area.y + upper, 0, area.height - upper, area.width),
            advice_words(frame))
    end
end

-- The class under the cursor in a line, for a low screen; without one what the cache hits.
local function low_words(frame, id, curve, whatif)
    local worths = question.worth(frame.model)
    local worth = worths[place_of(worths, id)]
    local own = worth and frame.model.answers:class_curve(id)
    if not worth then
        return size_words(curve, whatif and whatif.totals.policy, false)
    elseif question.few_reads(frame.model, own) then
        return ("class %d: not known yet, %s sampled reads"):format(id, figure.count(own.reads))
    end
    return ("class %d hits %s %%; a page more %s hits/s, less %s%s"):format(id, figure.percent(worth.hit_ratio),
        signed(worth.gain, "+"), worth.pages > 1 and signed(worth.loss, "-") or "-",
        worth.policy and ("; %s %+.1f pt"):format(worth.policy, worth.policy_gain * 100) or "")
end

-- The curve of the whole cache without the sizes that the server cannot have: each class keeps a page.
local function within_reach(curve, model)
    local copy = setmetatable({ points = table.move(curve.points, 1, #curve.points, 1, {}),
        sizes = table.move(curve.sizes, 1, #curve.sizes, 1, {}) }, { __index = curve })
    sampled.leave_out_below(copy, question.least_bytes(model))
    return copy
end

function M.draw(frame, ui, grid, area)
    if not detail.is_ready(frame, "curve", grid, area) then
        return
    end
    local answers = frame.model.answers
    local whatif = answers:parsed("whatif")
    local level, _, without_gain = question.at_level(frame.model)
    local curve = within_reach(level or answers:parsed("curve"), frame.model)
    local graph = area.height >= 40 and area.height // 2 or area.height >= 16 and 8
        or math.max(area.height - LOW_ROWS, GRAPH_LEAST)
    graph = math.min(graph, area.height)
    M.draw_curve(grid, cells.area(area.y, 0, graph, area.width), curve, answers:class_curve(ui.curves.cursor),
        ui.curves.cursor)
    local y, rows = area.y + graph, area.height - graph
    if rows >= 8 then
        local words = size_words(curve, whatif and whatif.totals.policy, not without_gain)
        local used = grid:paragraph(cells.area(y, 0, rows, area.width), cells.PLAIN, words)
        used = used + draw_answers(frame, grid, y + used, area.width)
        draw_tables(frame, ui.curves, grid, cells.area(y + used, 0, rows - used, area.width))
    elseif rows >= 3 then -- a low screen has the classes at the cursor, and the figures of the cursor's in words
        draw_classes(frame, ui.curves, grid, cells.area(y, 0, rows, area.width),
            low_words(frame, ui.curves.cursor, curve, whatif), cells.STRONG)
    end
end

function M.command(frame, ui, command)
    local at = ui.curves
    local worths = question.worth(frame.model)
    local place = math.max(0, math.min(place_of(worths, at.cursor) + keys.move_rows(command, SCREEN_ROWS), #worths))
    at.cursor = place > 0 and worths[place].id or 0
    if command == "open_class" then
        if at.cursor == 0 then
            return { kind = "say", text = "Down chooses a class; Enter then shows it" }
        end
        view_list.open_class(ui, at.cursor)
    elseif command == "move_pages" then
        return propose.move(frame, at.cursor > 0 and at.cursor or nil)
    end
end

M.click = list.click "curves"

return M
