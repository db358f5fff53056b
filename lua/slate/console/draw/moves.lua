-- SPDX-License-Identifier: BSD-3-Clause
--- The last page moves as lines, newest first, if the server lists them; else the last events. A part of several views.
local cells = require "slate.console.cells"
local events = require "slate.console.views.events"
local facts = require "slate.facts.moves"
local figure = require "slate.console.figure"

local M = {}

local WORDS_X <const> = 10 -- of a move, after its time

--- Draws a move of slate.facts.moves, its time before its words. Returns the rows.
function M.draw_move(grid, area, move)
    grid:text(area.y, area.x, cells.PLAIN, move.time_s > 0 and figure.clock(move.time_s) or "-")
    return grid:paragraph(cells.area(area.y, area.x + WORDS_X, area.height, area.width - WORDS_X), cells.PLAIN,
        ("%s  %s page%s %s, lost %s  %s: %s"):format(facts.way(move.from, move.to), figure.count(move.pages),
            move.pages == 1 and "" or "s", move.outcome, figure.count(move.lost), move.mode, move.reason))
end

-- The pages that moved between each two classes: { from, to, pages, goes_back (some came back) }, the most pages first.
local function flows_of(moves)
    local flows, of = {}, {}
    for _, move in ipairs(moves) do
        local name = facts.way(move.from, move.to)
        if not of[name] then
            flows[#flows + 1] = { name = name, back = facts.way(move.to, move.from), pages = 0, number = #flows }
            of[name] = flows[#flows]
        end
        of[name].pages = of[name].pages + math.max(move.pages, 0)
    end
    for _, flow in ipairs(flows) do
        flow.goes_back = flow.pages > 0 and of[flow.back] and of[flow.back].pages > 0
    end
    table.sort(flows, function(a, b) return a.pages > b.pages or a.pages == b.pages and a.number < b.number end)
    return flows
end

local function draw_flows(grid, y, width, moves)
    local flows = flows_of(moves)
    local x = grid:text(y, 0, cells.DIM, flows[1] and "pages moved lately " or "no move yet")
    for _, flow in ipairs(flows) do
        local text = ("  %s %s%s"):format(flow.name, figure.count(flow.pages), flow.goes_back and " (and back)" or "")
        if x + cells.width_of(text) > width then
            return
        end
        x = grid:text(y, x, flow.goes_back and cells.WARN or cells.PLAIN, text)
    end
end

--- Draws the flows of pages, automove's reason, and the last moves.
function M.draw(frame, grid, area)
    local totals, moves = frame.model.answers:parsed("moves")
    if not totals then
        grid:rule(area.y, 0, area.width, "events")
        events.draw_list(frame, grid, cells.area(area.y + 1, 0, area.height - 1, area.width))
        return
    end
    local mode, y, y_end = totals.mode or "", area.y + 1, area.y + area.height
    grid:rule(area.y, 0, area.width, "moves, automove " .. mode)
    if y < y_end then
        draw_flows(grid, y, area.width, moves)
        y = y + 1
    end
    if y < y_end and mode ~= "off" then -- the heading says "off"
        y = y + grid:paragraph(cells.area(y, 0, y_end - y, area.width), cells.PLAIN, "now: " .. (totals.why or ""))
    end
    for i = #moves, 1, -1 do
        y = y < y_end and y + M.draw_move(grid, cells.area(y, 0, y_end - y, area.width), moves[i]) or y
    end
end

return M
