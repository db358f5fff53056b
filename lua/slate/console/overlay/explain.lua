-- SPDX-License-Identifier: BSD-3-Clause
--- The meaning of the figures that a view shows, one after the other: the entries of man/explain.txt.
local box = require "slate.console.overlay.box"
local cells = require "slate.console.cells"
local entries = require "slate.facts.explain"
local find = require "slate.base.find"

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
    local _, entry = find.by(entries.find(term) or {}, "term", term)
    return entry
end

--- The first sentence of what an entry means.
function M.first_sentence(entry)
    return entry.meaning:match("^.-%.%f[%s\0]") or entry.meaning
end

-- The first of some names that stands in a text, not as a part of a longer word; nil if none does.
local function first_in(text, names)
    for _, name in ipairs(names) do
        local from, to = text:find(name, 1, true)
        if from and not text:find("^[%w_]", from - 1) and not text:find("^[%w_/]", to + 1) then
            return name
        end
    end
end

-- The name of an entry in the title: the first one in a head of the screen, or in its other rows; else its first name,
-- or its term.
local function title_of(entry, grid)
    local heads, rows = {}, {}
    for y = 0, grid.height - 1 do
        local text, styles = grid:row(y)
        rows[#rows + 1] = " " .. text .. " "
        heads[#heads + 1] = styles:byte() == cells.HEADER and rows[#rows] or nil
    end
    return first_in(table.concat(heads), entry.also) or first_in(table.concat(rows), entry.also) or entry.also[1]
        or entry.term
end

-- The other names of an entry, without the one in the title.
local function other_names(entry, title)
    local names = { entry.term ~= title and entry.term or nil }
    for _, name in ipairs(entry.also) do
        names[#names + 1] = name ~= title and name or nil
    end
    return table.concat(names, ", ")
end

function M.draw(_, ui, grid)
    local explain = ui.explain
    local entry, parts = assert(M.entry(explain.terms[explain.current])), {} -- a test checks that every term has one
    local title = title_of(entry, grid)
    if explain.words then
        parts[1] = { mark = "here", mark_style = cells.HEADER, style = cells.STRONG, text = explain.words }
    end
    for _, part in ipairs(PARTS) do
        local text = part[1] == "also" and other_names(entry, title) or entry[part[1]] or ""
        parts[#parts + 1] = { mark = part[2], mark_style = cells.HEADER, style = cells.DIALOG, text = text }
    end
    box.draw(grid, explain, ("%s (%d of %d, Right: next)"):format(title, explain.current, #explain.terms), LABEL_WIDTH,
        parts)
end

return M
