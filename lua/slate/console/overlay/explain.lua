-- SPDX-License-Identifier: BSD-3-Clause
--- The meaning of the figures that a view shows, one after the other: the entries of man/explain.txt.
local box = require "slate.console.overlay.box"
local cells = require "slate.console.cells"
local entries = require "slate.facts.explain"

local M = { name = "explain", scope = "explain" }

local LABEL_WIDTH <const> = 9
-- An entry's fields in their order on the screen, and their labels there.
local PARTS <const> = { { "meaning", "what" }, { "do", "do" }, { "source", "source" }, { "formula", "formula" },
    { "unit", "unit" }, { "also", "also" } }

function M.state()
    return { is_open = false, terms = {}, current = 1, top = 1 }
end

--- The terms that a view shows, in reading order; the index of the one under the cursor; and what is said of the row
--- there, or nil.
function M.terms_of(view, ui, frame)
    local terms, current, words = {}, nil, nil
    if view.terms then
        terms, current, words = view.terms(ui, frame)
    end
    local is_there = {}
    for _, list in ipairs({ terms, view.shown }) do
        for _, term in ipairs(list) do
            terms[#terms + 1] = list ~= terms and not is_there[term] and term or nil
            is_there[term] = true
        end
    end
    return terms, current or 1, words
end

--- Opens the overlay at the figure under the cursor, or at the first of some entries (optional), which come first.
function M.open(ui, view, frame, first)
    local terms, current, words = M.terms_of(view, ui, frame)
    for i, entry in ipairs(first or {}) do
        table.insert(terms, i, entry.term)
        current, words = 1, nil
    end
    ui.explain = { is_open = true, terms = terms, current = current, top = 1, words = words }
end

local function step(explain, by)
    explain.current, explain.top, explain.words = (explain.current - 1 + by) % #explain.terms + 1, 1, nil
end

function M.command(_, ui, command)
    local explain = ui.explain
    box.scroll(explain, command)
    if command == "next_field" then
        step(explain, 1)
    elseif command == "previous_field" then
        step(explain, -1)
    elseif command == "cancel" then
        explain.is_open = false
    end
end

--- The entry of a term; nil if there is none: other names of an entry are not searched, as views know terms.
function M.entry(term)
    for _, entry in ipairs(entries.find(term) or {}) do
        if entry.term == term then
            return entry
        end
    end
end

function M.draw(_, ui, grid)
    local explain = ui.explain
    local term, parts = explain.terms[explain.current], {}
    local entry = M.entry(term) or {} -- a test checks that every term has one
    if explain.words then
        parts[1] = { mark = "here", mark_style = cells.HEADER, style = cells.STRONG, text = explain.words }
    end
    for _, part in ipairs(PARTS) do
        local text = entry[part[1]] or ""
        text = type(text) == "table" and table.concat(text, ", ") or text
        parts[#parts + 1] = { mark = part[2], mark_style = cells.HEADER, style = cells.DIALOG, text = text }
    end
    box.draw(grid, explain, ("%s (%d of %d, Right: next)"):format(term, explain.current, #explain.terms), LABEL_WIDTH,
        parts)
end

return M
