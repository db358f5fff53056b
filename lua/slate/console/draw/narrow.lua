-- SPDX-License-Identifier: BSD-3-Clause
--- Lines for a narrow screen, which lose whole parts and no letters; and the words for rows that are not shown.
local cells = require "slate.console.cells"
local gather = require "slate.base.gather"

local M = {}

local MESSAGE_ROWS <const> = 5

--- The rows of a message above the key bar.
function M.message_rows(text, width)
    return math.min(cells.rows_of(text, width), MESSAGE_ROWS)
end

--- The first parts that fit in so many columns, joined; at least the first one.
function M.fitting(width, separator, parts)
    local text = parts[1]
    for i = 2, #parts do
        local longer = text .. separator .. parts[i]
        if cells.width_of(longer) > width then
            break
        end
        text = longer
    end
    return text
end

--- A text in so many columns: of a longer one, as a key that ends in its number, the middle is left out.
function M.middle(text, width)
    local glyphs, left, right = gather.words(text, utf8.charpattern), "", ""
    local first, last, room = 1, #glyphs, width - 1
    if cells.width_of(text) <= width then
        return text
    end
    while first <= last do
        local is_left = cells.width_of(left) < cells.width_of(right)
        local glyph = glyphs[is_left and first or last]
        room = room - cells.width_of(glyph)
        if room < 0 then
            break
        elseif is_left then
            left, first = left .. glyph, first + 1
        else
            right, last = glyph .. right, last - 1
        end
    end
    return left .. "…" .. right
end

--- How many of count rows are not shown, of which rows fit from the row top on: "3 more ↑", "12 more ↓", "3 ↑ 12 ↓
--- more"; in less room (optional, in columns) "12↓"; "" if all are shown.
function M.more(top, rows, count, room)
    local above, below = top - 1, math.max(count - top - rows + 1, 0)
    local words = above > 0 and below > 0 and ("%d ↑ %d ↓ more"):format(above, below)
        or below > 0 and ("%d more ↓"):format(below) or above > 0 and ("%d more ↑"):format(above) or ""
    return cells.width_of(words) <= (room or math.huge) and words or (words:gsub(" more", ""):gsub(" ([↑↓])", "%1"))
end

return M
