-- SPDX-License-Identifier: BSD-3-Clause
--- Tables for people: columns as wide as their widest cell, numbers to the right.
local gather = require "slate.base.gather"
local trimmed = require("slate.base.units").trimmed

local M = {}

-- Text from a server or a file name may hold escape sequences; a terminal must not obey them.
local function printable(text)
    return (text:gsub("%c", "?"))
end

--- A message of one or more lines for a terminal; it may quote a file or the answer of a server.
function M.for_terminal(text)
    return (text:gsub("[^\n\t\32-\126\128-\255]", "?"):gsub("\xc2[\x80-\x9f]", "?"))
end

local function width(text)
    return utf8.len(text) or #text
end

local function padded(text, columns, to_left)
    local fill = (" "):rep(columns - width(text))
    return to_left and text .. fill or fill .. text
end

-- "CLASS|PAGES|NOTE<" as a list of columns: "<" marks the title of a text column.
local function columns_of(text)
    local columns = {}
    for title, mark in (text .. "|"):gmatch("([^|<]*)(<?)|") do
        columns[#columns + 1] = { title = title, left = mark == "<" }
    end
    return columns
end

--- Renders rows as lines.
-- columns: list of { title =, left = true for text columns }, or the same as a text, "CLASS|PAGES|NOTE<"; rows: list of
-- lists of cells (strings or numbers; nil shows as "-"). Returns one string that ends with a newline; trailing blanks
-- are cut.
function M.render(columns, rows)
    local widths, cells = {}, {}
    columns = type(columns) == "string" and columns_of(columns) or columns
    for c, column in ipairs(columns) do
        widths[c] = width(column.title)
    end
    for r, row in ipairs(rows) do
        cells[r] = {}
        for c = 1, #columns do
            local text = row[c] == nil and "-" or printable(tostring(row[c]))
            cells[r][c] = text
            widths[c] = math.max(widths[c], width(text))
        end
    end
    local lines = {}
    local function add(texts)
        local line = gather.values(columns, function(column, c) return padded(texts[c], widths[c], column.left) end)
        lines[#lines + 1] = trimmed(table.concat(line, "  "))
    end
    local titles = gather.values(columns, "title")
    add(titles)
    for _, row in ipairs(cells) do
        add(row)
    end
    return table.concat(lines, "\n") .. "\n"
end

local TEXT_COLUMNS <const> = 79

--- Breaks a text into lines of at most so many columns (79), each behind `indent` blanks (0); no newline at the end.
function M.wrap(text, indent, columns)
    local margin, lines, line = (" "):rep(indent or 0), {}, nil
    for word in printable(text):gmatch("%S+") do
        if line and #margin + width(line) + 1 + width(word) > (columns or TEXT_COLUMNS) then
            lines[#lines + 1] = margin .. line
            line = nil
        end
        line = line and line .. " " .. word or word
    end
    lines[#lines + 1] = line and margin .. line
    return table.concat(lines, "\n")
end

--- Renders name and value pairs, one to a line, values aligned. is_prose: long values are broken into lines. paint: a
-- function that colours a name; may be nil.
function M.pairs(list, is_prose, paint)
    local widest, lines = 0, {}
    for _, pair in ipairs(list) do
        widest = math.max(widest, width(pair[1]))
    end
    for i, pair in ipairs(list) do
        local name, value = printable(pair[1]), tostring(pair[2])
        local fill = (" "):rep(widest - width(name) + 2)
        lines[i] = trimmed((paint and paint(name) or name) .. fill
            .. (is_prose and M.wrap(value, widest + 2):sub(widest + 3) or printable(value)))
    end
    return #lines > 0 and table.concat(lines, "\n") .. "\n" or ""
end

return M
