-- SPDX-License-Identifier: BSD-3-Clause
--- A filter of classes: terms with blanks between them, all of which a class must pass. A term is a column, one of
-- < <= = >= > and a number ("ev>0"), or a class id alone. Pure.
local columns = require "slate.console.draw.class_columns"
local units = require "slate.base.units"

local M = {}

local WORD_SHOWN_BYTES <const> = 30

local COMPARISONS <const> = {
    ["<"] = function(a, b) return a < b end, ["<="] = function(a, b) return a <= b end,
    ["="] = function(a, b) return a == b end, [">="] = function(a, b) return a >= b end,
    [">"] = function(a, b) return a > b end,
}

local function term_of(word)
    local name, comparison, number = word:match("^([^<>=]*)([<>=]+)([^<>=]*)$")
    local term = { column = columns.named(name or "class"), holds = COMPARISONS[comparison or "="],
        bound = units.parse_decimal(number or word) }
    return term.column and term.holds and term.bound and math.abs(term.bound) < math.huge and term or nil
end

--- The terms of a filter, none for an empty text; or nil and the mistake.
function M.parse(text)
    local terms = {}
    for word in text:gmatch("%S+") do
        local term = term_of(word)
        if not term then
            return nil, ("filter: '%s' is not understood; try ev>0, size>=1000 or a class number"):format(
                word:sub(1, WORD_SHOWN_BYTES))
        end
        terms[#terms + 1] = term
    end
    return terms
end

--- True if a class passes all terms. An unknown value passes none.
function M.passes(terms, model, class, window_s)
    for _, term in ipairs(terms) do
        local value = columns.shown_value(term.column, model, class, window_s)
        if not (value and term.holds(value, term.bound)) then
            return false
        end
    end
    return true
end

return M
