-- SPDX-License-Identifier: BSD-3-Clause
--- The state of a class in words, and its marks and styles. row: the observer's row of the class, or nil; class: its
-- statistics.
local cells = require "slate.console.cells"
local figure = require "slate.console.figure"
local model = require "slate.console.model"
local question = require "slate.console.question"
local server = require "slate.console.server"
local units = require "slate.base.units"

local M = {}

local MARKS <const> = { starving = "!", spare = "+" }
local STYLES <const> = { starving = cells.BAD, gain_unsure = cells.WARN, no_gain = cells.WARN, spare = cells.GOOD }

--- The columns of the screen for the words of a state, and for their short form.
M.WIDTH, M.SHORT_WIDTH = 22, 15

function M.word(row)
    return model.STATE_WORDS[row and row.state or "unknown"]
end

-- The pages of a class without items; nil for a class with items, or without pages.
local function empty_pages(row)
    return row and row.state == "empty" and row.pages > 0 and row.pages or nil
end

--- The word, and the pages of a class without items: "empty, 9 spare pages". In fewer columns than that takes (width,
-- default: no limit) "empty, 9 spare", and in still fewer "9 spare".
function M.words(row, width)
    local pages = empty_pages(row)
    if not pages then
        return M.word(row)
    end
    local short = ("%d spare"):format(pages)
    local whole = ("%s, %s"):format(M.word(row), units.plural(pages, "spare page"))
    local middle = ("%s, %s"):format(M.word(row), short)
    return #whole <= (width or #whole) and whole or #middle <= width and middle or short
end

function M.mark(row)
    return row and MARKS[empty_pages(row) and "spare" or row.state] or " "
end

function M.style(row)
    return row and STYLES[empty_pages(row) and "spare" or row.state] or cells.PLAIN
end

function M.starves(row)
    return row ~= nil and row.state == "starving"
end

--- What `terms` of a view returns with a class under the cursor: the class's own state first. Nothing is said of a
-- class that is not known.
function M.terms(frame, id)
    local row = frame.model:row(id)
    if not row then
        return {}, 1
    end
    return { M.starves(row) and "starving" or "state." .. row.state, "class.state" }, 1, (M.hint(frame, id))
end

--- The meaning of the class's row and the key that helps, in a sentence, and its style.
function M.hint(frame, id)
    if frame.model.link == "down" then -- old figures show no fault that one could mend now
        return "the server is down: these are its last figures", cells.PLAIN
    end
    local said = question.ask(frame.model, "slate.judge.attention", "hint",
        { class_id = id, is_past = frame.is_past or frame.is_replay })[1]
    return said and said.text or "", said and said.tone == "bad" and cells.BAD or cells.PLAIN
end

--- "3 pages of 885 chunks"
function M.pages(class)
    return ("%s page%s of %s chunks"):format(figure.count(class.total_pages), class.total_pages == 1 and "" or "s",
        figure.count(class.chunks_per_page))
end

--- The whole pages that its free chunks would fill.
function M.free_pages(class)
    local pages = server.free_pages(class)
    return figure.count(pages and pages // 1)
end

function M.segments(class)
    return ("items by segment: hot %s   warm %s   cold %s   temp %s"):format(figure.count(class.number_hot),
        figure.count(class.number_warm), figure.count(class.number_cold), figure.count(class.number_temp))
end

return M
