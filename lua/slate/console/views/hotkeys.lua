-- SPDX-License-Identifier: BSD-3-Clause
--- Hot keys: the keys with the most requests and the most bytes read of the last ten seconds, from a sample, with the
-- error of each count.
local cells = require "slate.console.cells"
local detail = require "slate.console.detail"
local figure = require "slate.console.figure"
local hotkeys = require "slate.facts.hotkeys"
local keys = require "slate.console.keys"
local list = require "slate.console.draw.list"

local M = {
    name = "Keys",
    scope = "hotkeys",
    open = "view_hotkeys",
    inquiries = { "hotkeys" },
    shown = { "sample_rate", "gets", "ops" },
}

--- The view's part of ui.
function M.state()
    return { cursor = 1, top = 1 }
end

-- Columns behind the key: their heads, where they end, and their styles.
local COLUMNS <const> = {
    { head = "REQ/s", x_end = 8, style = cells.STRONG }, { head = "SHARE %", x_end = 19, style = cells.PLAIN },
    { head = "READ/s", x_end = 27, style = cells.STRONG }, { head = "SHARE %", x_end = 38, style = cells.PLAIN },
}
local NUMBER_WIDTH <const>, KEY_LEAST <const>, BAR_X <const> = 4, 16, 39
local BAR_LEAST <const>, BAR_FROM_WIDTH <const> = 12, 90 -- a narrower screen has no bar
local NOTES_FROM_HEIGHT <const>, SCREEN_ROWS <const> = 8, 15
local NAMED_MOST <const> = 10 -- so many keys are summed up in the notes

-- Where the columns behind the key begin, and how wide the bar is.
local function layout_of(width)
    local bar = width >= BAR_FROM_WIDTH and BAR_LEAST + (width - BAR_FROM_WIDTH) // 3 or 0
    return { width = width, bar = bar, x = NUMBER_WIDTH + math.max(width - BAR_X - NUMBER_WIDTH - bar, KEY_LEAST) }
end

-- Draws the text in a column, but never a part of one.
local function put(grid, y, layout, column, style, text)
    local x_end = layout.x + column.x_end
    if x_end <= layout.width then
        grid:text_right(y, x_end, style, text)
    end
end

-- A figure of a key, "requests" or "bytes": its rate, and the bounds of its share of all keys' figure. Empty if it is
-- not reported.
local function share_of(hot, key, name)
    local least, most, middle = hotkeys.bounds(key, name)
    local all = hot[name] or 0
    return least and all > 0 and { per_s = hot.seconds and middle / hot.seconds, least = least / all,
        most = math.min(most / all, 1) } or {}
end

-- "3.0-3.2"
local function bounds_text(share)
    return share.most and figure.percent(share.least) .. "-" .. figure.percent(share.most) or "-"
end

local function draw_head(grid, area, layout)
    grid:head(area.y, area.x, area.width, " NR KEY")
    for _, column in ipairs(COLUMNS) do
        put(grid, area.y, layout, column, cells.HEADER, column.head)
    end
    grid:text_fit(area.y, layout.x + BAR_X, layout.bar, cells.HEADER, "█sure ░maybe")
end

-- Draws the share as a bar: what is certain, and what may be.
local function draw_bar(grid, y, x, width, share)
    local sure, most = (share.least * width + 0.5) // 1, (share.most * width + 0.5) // 1
    grid:fill(cells.area(y, x, 1, sure), "█", cells.GRAPH)
    grid:fill(cells.area(y, x + sure, 1, most - sure), "░", cells.GRAPH)
end

local function draw_key(grid, y, layout, hot, number)
    local key = hot.keys[number]
    local requests, bytes = share_of(hot, key, "requests"), share_of(hot, key, "bytes")
    local texts = { figure.count(requests.per_s), bounds_text(requests), figure.bytes(bytes.per_s), bounds_text(bytes) }
    grid:text(y, 0, cells.DIM, ("%3d"):format(number))
    grid:text_fit(y, NUMBER_WIDTH, layout.x - NUMBER_WIDTH, cells.PLAIN, key.key)
    for i, column in ipairs(COLUMNS) do
        put(grid, y, layout, column, column.style, texts[i])
    end
    if requests.most then
        draw_bar(grid, y, layout.x + BAR_X, layout.bar, requests)
    end
end

-- Draws what the first keys have together, and the whole name of the key under the cursor.
local function draw_notes(grid, y, width, hot, cursor)
    local least, most = 0, 0
    for i = 1, math.min(#hot.keys, NAMED_MOST) do
        local share = share_of(hot, hot.keys[i], "requests")
        least, most = least + (share.least or 0), most + (share.most or 0)
    end
    grid:text_fit(y, 0, width, cells.PLAIN,
        ("%s requests of the last %s s; the first keys, ten at most, have %s to %s %% of them"):format(
            figure.count(hot.requests), figure.count(hot.seconds), figure.percent(least),
            figure.percent(math.min(most, 1))))
    grid:text_fit(y + 1, 0, width, cells.STRONG, "key: " .. hot.keys[cursor].key)
end

function M.draw(frame, ui, grid, area)
    if not detail.is_ready(frame, "hotkeys", grid, area) then
        return
    end
    local hot = frame.model.answers:parsed("hotkeys")
    local at, count, layout = ui.hotkeys, #hot.keys, layout_of(area.width)
    local notes = area.height >= NOTES_FROM_HEIGHT and 2 or 0
    local rows = area.height - 1 - notes
    draw_head(grid, area, layout)
    if count == 0 then
        grid:text_fit(area.y + 1, 0, area.width, cells.DIM,
            "no key is hot: sampling is off, or none was requested more than by chance")
        return
    end
    at.cursor = keys.step(at.cursor, 0, count)
    list.draw(grid, cells.area(area.y + 1, 0, rows, area.width), at, at.cursor, count, function(y, number)
        draw_key(grid, y, layout, hot, number)
    end)
    if notes > 0 then
        draw_notes(grid, area.y + area.height - notes, area.width, hot, at.cursor)
    end
end

function M.command(_, ui, command)
    ui.hotkeys.cursor = keys.step(ui.hotkeys.cursor, keys.move_rows(command, SCREEN_ROWS), hotkeys.MOST)
end

M.click = list.click "hotkeys"

return M
