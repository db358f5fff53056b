-- SPDX-License-Identifier: BSD-3-Clause
--- Screens of a terminal, as tmux captures them with colours, as pictures: SVG of one screen, or of many that follow
--- each other.
--
-- Letters are text, so that they are crisp at any size; blocks and lines are shapes, so that they meet whatever font
-- the reader has. In a film only rows that change are drawn anew.
local M = {}

local CELL_X <const>, CELL_Y <const>, MARGIN <const>, FONT <const> = 8.4, 18, 10, 14
local BASE <const> = 13.5 -- of letters, from the top of a row
local GROUND <const>, INK <const> = "#14171b", "#d5dae0"
local SIXTEEN <const> = { [0] = "#2a2f36", "#ff6b60", "#7fd68a", "#f2c14e", "#5aa7f0", "#d38aea", "#5fd0d0", "#d5dae0",
    "#7b8490", "#ff8f86", "#a2e8aa", "#ffd97a", "#86c2ff", "#e5aef5", "#8ce5e5", "#ffffff" }

-- One of the 256 colours.
local function colour_256(n)
    if n < 16 then
        return SIXTEEN[n]
    elseif n >= 232 then
        local grey = 8 + 10 * (n - 232)
        return ("#%02x%02x%02x"):format(grey, grey, grey)
    end
    local function part(value) return value == 0 and 0 or 55 + 40 * value end
    n = n - 16
    return ("#%02x%02x%02x"):format(part(n // 36), part(n // 6 % 6), part(n % 6))
end

-- The attributes after a sequence of SGR numbers.
local function apply(style, numbers)
    local i = 1
    while i <= #numbers do
        local n = numbers[i]
        if n == 0 then
            style = {}
        elseif n == 1 or n == 2 or n == 4 or n == 7 then
            style[({ "bold", "faint", nil, "under", nil, nil, "reverse" })[n]] = true
        elseif n == 22 then
            style.bold, style.faint = nil, nil
        elseif n == 24 then
            style.under = nil
        elseif n == 27 then
            style.reverse = nil
        elseif n == 39 or n == 49 then
            style[n == 39 and "ink" or "ground"] = nil
        elseif n == 38 or n == 48 then
            local colour = numbers[i + 1] == 5 and colour_256(numbers[i + 2])
                or ("#%02x%02x%02x"):format(numbers[i + 2], numbers[i + 3], numbers[i + 4])
            style[n == 38 and "ink" or "ground"] = colour
            i = i + (numbers[i + 1] == 5 and 2 or 4)
        elseif n >= 30 and n <= 37 or n >= 90 and n <= 97 then
            style.ink = SIXTEEN[n >= 90 and n - 82 or n - 30]
        elseif n >= 40 and n <= 47 or n >= 100 and n <= 107 then
            style.ground = SIXTEEN[n >= 100 and n - 92 or n - 40]
        end
        i = i + 1
    end
    return style
end

--- The cells of a captured screen: a list of rows, each a list of { character, style }. Styles are shared: leave them.
function M.cells(text)
    local rows, style = {}, {}
    for line in text:gmatch("([^\n]*)\n?") do
        local row, at = {}, 1
        while at <= #line do
            local numbers, after = line:match("^\27%[([%d;]*)m()", at)
            if numbers then
                local list, copy = {}, {}
                for number in (numbers == "" and "0" or numbers):gmatch("%d+") do
                    list[#list + 1] = tonumber(number)
                end
                for name, value in pairs(style) do
                    copy[name] = value
                end
                style, at = apply(copy, list), after
            else
                local character = line:match("^[%z\1-\127\194-\244][\128-\191]*", at) or "?"
                row[#row + 1] = { character, style }
                at = at + #character
            end
        end
        rows[#rows + 1] = row
    end
    return rows
end

-- The eight heights of a bar, shades, and lines that boxes are made of.
local BARS <const>, SHADES <const>, LINES <const> = {}, { ["░"] = 0.3, ["▒"] = 0.55, ["▓"] = 0.8 }, {
    ["─"] = "M%g %gh8.4", ["│"] = "M%g %gm4.2 -9v18", ["┌"] = "M%g %gm4.2 9v-9h4.2", ["┐"] = "M%g %gh4.2v9",
    ["└"] = "M%g %gm4.2 -9v9h4.2", ["┘"] = "M%g %gh4.2v-9", ["├"] = "M%g %gm4.2 -9v18m0 -9h4.2",
    ["┤"] = "M%g %gh4.2m0 -9v18",
}
for i = 1, 8 do
    BARS[utf8.char(0x2580 + i)] = i / 8
end

local ENTITIES <const> = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }

local function look_of(style)
    local ink, ground = style.ink or INK, style.ground
    if style.reverse then
        ink, ground = ground or GROUND, style.ink or INK
    end
    return ink, ground
end

-- A style as a key, so that cells that look alike are drawn together.
local function key_of(style)
    local ink, ground = look_of(style)
    return table.concat({ ink, ground or "", style.bold and "b" or "", style.faint and "f" or "",
        style.under and "u" or "" }, " ")
end

local function number(value)
    return (("%.1f"):format(value):gsub("%.0$", ""))
end

-- A text of one look, drawn without its outer blanks; two blanks or more part it, for letters of another font than ours
-- would drift.
local function add_letters(parts, text, column, style)
    local ink = look_of(style)
    local at, length = 1, utf8.len(text)
    local letters = {}
    for _, code in utf8.codes(text) do
        letters[#letters + 1] = utf8.char(code)
    end
    while at <= length do
        while letters[at] == " " do
            at = at + 1
        end
        local stop = at
        while stop <= length and not (letters[stop] == " " and (letters[stop + 1] or " ") == " ") do
            stop = stop + 1
        end
        if stop > at then
            local word = table.concat(letters, "", at, stop - 1):gsub("[&<>]", ENTITIES)
            parts[#parts + 1] = ('<text x="%s" y="%g"%s%s%s%s textLength="%s">%s</text>'):format(
                number((column + at - 1) * CELL_X), BASE, ink ~= INK and (' fill="%s"'):format(ink) or "",
                style.bold and ' font-weight="700"' or "", style.faint and ' opacity=".65"' or "",
                style.under and ' text-decoration="underline"' or "", number((stop - at) * CELL_X), word)
        end
        at = stop
    end
end

local function add_bars(parts, characters, column, ink)
    local i = 1
    while i <= #characters do
        local last, one = i, characters[i]
        while characters[last + 1] == one do
            last = last + 1
        end
        local x, width = number((column + i - 1) * CELL_X), number((last - i + 1) * CELL_X)
        if BARS[one] then
            local height = CELL_Y * BARS[one]
            parts[#parts + 1] = ('<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>'):format(x,
                number(CELL_Y - height), width, number(height), ink)
        elseif SHADES[one] then
            parts[#parts + 1] = ('<rect x="%s" width="%s" height="%d" fill="%s" opacity="%g"/>'):format(x, width,
                CELL_Y, ink, SHADES[one])
        elseif one == "─" then
            parts[#parts + 1] = ('<path d="M%s 9h%s" stroke="%s"/>'):format(x, width, ink)
        else
            for k = i, last do
                local line = LINES[one]:format((column + k - 1) * CELL_X, 9)
                parts[#parts + 1] = ('<path d="%s" stroke="%s" fill="none"/>'):format(line, ink)
            end
        end
        i = last + 1
    end
end

local function is_shape(character)
    return BARS[character] or SHADES[character] or LINES[character]
end

-- A row as SVG, from its own top left corner.
function M.row(row)
    local parts, i = {}, 1
    while i <= #row do
        local style, key, shape = row[i][2], key_of(row[i][2]), is_shape(row[i][1]) ~= nil
        local characters, first = {}, i
        while row[i] and key_of(row[i][2]) == key and (is_shape(row[i][1]) ~= nil) == shape do
            characters[#characters + 1] = row[i][1]
            i = i + 1
        end
        local ink, ground = look_of(style)
        if ground then
            table.insert(parts, 1, ('<rect x="%s" width="%s" height="%d" fill="%s"/>'):format(
                number((first - 1) * CELL_X), number(#characters * CELL_X), CELL_Y, ground))
        end
        if shape then
            add_bars(parts, characters, first - 1, ink)
        else
            add_letters(parts, table.concat(characters), first - 1, style)
        end
    end
    return table.concat(parts)
end

local function head(columns, rows)
    local width, height = columns * CELL_X + 2 * MARGIN, rows * CELL_Y + 2 * MARGIN
    return ([[<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" fill="none"
font-family="ui-monospace,'DejaVu Sans Mono','Liberation Mono',Menlo,Consolas,monospace" font-size="%d">
<rect width="100%%" height="100%%" rx="8" fill="%s"/>
<g transform="translate(%d %d)" fill="%s" stroke-width="1">
]]):format(number(width), number(height), number(width), number(height), FONT, GROUND, MARGIN, MARGIN, INK)
end

local function placed(y, body)
    return ('<g transform="translate(0 %d)">%s</g>\n'):format((y - 1) * CELL_Y, body)
end

--- A picture of one captured screen of so many columns and rows.
function M.picture(text, columns, rows)
    local parts = { head(columns, rows) }
    for y, row in ipairs(M.cells(text)) do
        local body = M.row(row)
        parts[#parts + 1] = body ~= "" and placed(y, body) or nil
    end
    return table.concat(parts) .. "</g>\n</svg>\n"
end

-- The begin of a group of rows that are to be seen from and to these seconds of a film; nil: in all of the film.
local function shown(from_s, to_s, whole_s)
    if from_s == 0 and to_s >= whole_s then
        return nil
    end
    local values, times = "inline;none", ("0;%.4g"):format(to_s / whole_s)
    if to_s >= whole_s then
        values, times = "none;inline", ("0;%.4g"):format(from_s / whole_s)
    elseif from_s > 0 then
        values, times = "none;inline;none", ("0;%.4g;%.4g"):format(from_s / whole_s, to_s / whole_s)
    end
    return ('<g%s><animate attributeName="display" values="%s" keyTimes="%s" calcMode="discrete" dur="%gs" '
        .. 'repeatCount="indefinite"/>\n'):format(from_s > 0 and ' display="none"' or "", values, times, whole_s)
end

--- A film. frames: list of { text, at_s }, the first at 0; it lasts whole_s and begins anew. What knows no animation
--- shows its first frame.
function M.film(frames, columns, rows, whole_s)
    local groups, places, open = {}, {}, {} -- rows that come and go together are a group
    local function close(y, to_s)
        if open[y] and open[y].body ~= "" then
            local begin = shown(open[y].from_s, to_s, whole_s) or "<g>"
            places[begin] = places[begin] or #groups + 1
            groups[places[begin]] = (groups[places[begin]] or begin) .. placed(y, open[y].body)
        end
        open[y] = nil
    end
    for _, frame in ipairs(frames) do
        local cells = M.cells(frame.text)
        for y = 1, rows do
            local body = cells[y] and M.row(cells[y]) or ""
            if not open[y] or open[y].body ~= body then
                close(y, frame.at_s)
                open[y] = { body = body, from_s = frame.at_s }
            end
        end
    end
    for y = 1, rows do
        close(y, whole_s)
    end
    return head(columns, rows) .. table.concat(groups, "</g>\n") .. "</g>\n</g>\n</svg>\n"
end

return M
