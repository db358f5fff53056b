-- SPDX-License-Identifier: BSD-3-Clause
--- Hot keys: the keys with the most requests and the most bytes read of the last ten seconds, from a sample, with the
-- error of each count. Of a memcached they are counted, stores and deletes among the reads: bytes read are at most so
-- many.
local cells = require "slate.console.cells"
local detail = require "slate.console.detail"
local figure = require "slate.console.figure"
local filter = require "slate.console.overlay.filter"
local gather = require "slate.base.gather"
local hotkeys = require "slate.facts.hotkeys"
local item_facts = require "slate.facts.item"
local keys = require "slate.console.keys"
local list = require "slate.console.draw.list"
local narrow = require "slate.console.draw.narrow"
local units = require "slate.base.units"

local M = {
    name = "Keys",
    scope = "hotkeys",
    open = "view_hotkeys",
    inquiries = { "hotkeys" }, -- and "item" of the opened key
    shown = { "hotkeys.key", "hotkeys.requests", "hotkeys.share", "hotkeys.read_bytes", "sample_rate", "gets", "ops" },
}

--- The view's part of ui. by: the figure that sorts; filter: a part of the names that are shown; shown: the keys as
-- last drawn; opened: the key whose item is shown, since opened_s; watches: requests are
-- watched, so that slatetop makes none for the item.
function M.state()
    return { cursor = 1, top = 1, by = "requests", filter = "", shown = {} }
end

-- Columns behind the key: their heads, where they end, and their styles.
local COLUMNS <const> = {
    { head = "REQ/s", x_end = 8, style = cells.STRONG, by = "requests" },
    { head = "SHARE %", x_end = 19, style = cells.PLAIN },
    { head = "READ/s", x_end = 27, style = cells.STRONG, by = "bytes" },
    { head = "SHARE %", x_end = 38, style = cells.PLAIN },
}
local NUMBER_WIDTH <const>, KEY_LEAST <const>, BAR_X <const> = 4, 16, 39
local BAR_LEAST <const>, BAR_FROM_WIDTH <const> = 12, 90 -- a narrower screen has no bar
local NOTES_FROM_HEIGHT <const>, LIST_LEAST <const>, SCREEN_ROWS <const> = 8, 4, 15
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

-- "3.0 to 3.2", or "3.0" if both are the same.
local function bounds_words(least, most, between)
    least, most = figure.percent(least), figure.percent(most)
    return least == most and least or least .. between .. most
end

-- "3.0-3.2"
local function bounds_text(share)
    return share.most and bounds_words(share.least, share.most, "-") or "-"
end

-- rows: those of the list, once drawn.
local function draw_head(grid, area, layout, at, is_counted, rows)
    local words = " NR KEY" .. filter.words(at.filter)
    local more = narrow.more(at.top, rows, #at.shown, layout.x - cells.width_of(words) - 2)
    more = more ~= "" and more .. " " or ""
    grid:head(area.y, area.x, area.width, "")
    grid:text_fit(area.y, 0, layout.x - cells.width_of(more) - 1, cells.HEADER, words)
    grid:text_right(area.y, layout.x, cells.HEADER, more)
    for i, column in ipairs(COLUMNS) do
        local is_sort = column.by == at.by
        put(grid, area.y, layout, column, is_sort and cells.STRONG or cells.HEADER,
            is_counted and column.by == "bytes" and "≤" .. column.head or column.head)
        if column.by then
            grid:hot(cells.area(area.y, layout.x + column.x_end - #column.head, 1, #column.head + 1), "sort", i)
        end
        if is_sort and layout.x + column.x_end < layout.width then
            grid:text(area.y, layout.x + column.x_end, cells.STRONG, "▼")
        end
    end
    grid:text_fit(area.y, layout.x + BAR_X, layout.bar, cells.HEADER, "█sure ░maybe")
end

-- Draws the share as a bar: what is certain, and what may be.
local function draw_bar(grid, y, x, width, share)
    local sure, most = (share.least * width + 0.5) // 1, (share.most * width + 0.5) // 1
    grid:fill(cells.area(y, x, 1, sure), "█", cells.GRAPH)
    grid:fill(cells.area(y, x + sure, 1, most - sure), "░", cells.GRAPH)
end

local function draw_key(grid, y, layout, hot, key, number)
    local requests, bytes = share_of(hot, key, "requests"), share_of(hot, key, "bytes")
    local texts = { figure.count(requests.per_s), bounds_text(requests), figure.bytes(bytes.per_s), bounds_text(bytes) }
    grid:text(y, 0, cells.DIM, ("%3d"):format(number))
    grid:text(y, NUMBER_WIDTH, cells.PLAIN,
        narrow.middle(grid:escaped(hotkeys.shown_key(key.key)), layout.x - NUMBER_WIDTH))
    for i, column in ipairs(COLUMNS) do
        put(grid, y, layout, column, column.style, texts[i])
    end
    if requests.most then
        draw_bar(grid, y, layout.x + BAR_X, layout.bar, requests)
    end
end

-- The requests that the shares are of, and those that a count did not see.
local function sample_words(hot)
    local requests, seconds = figure.count(hot.requests), figure.count(hot.seconds)
    if not hot.is_counted then
        return hot.seconds and ("%s requests of the last %s s"):format(requests, seconds) or requests .. " requests"
    end
    return ("%s requests, gets and stores, in %s s, %s"):format(requests, seconds, hot.lost == 0 and "all counted"
        or hot.lost and figure.count(hot.lost) .. " of them lost and taken to be like the others"
        or "counted; this server does not tell of lost ones")
end

-- How the count stands, in a sentence, and its style.
local function count_words(frame, count)
    if not count then
        return "memcached reports no hot keys. 9 counts every request for ten seconds, gets and stores alike, by watch "
            .. "fetchers on a connection of its own. Meanwhile memcached may take 1.1 to 1.4 times the processor time "
            .. "for a get; requests that its log drops are told.", cells.PLAIN
    elseif count.note ~= "" then
        return count.note .. (count:is_under_way() and "" or "; 9 counts again"), cells.WARN
    end
    return ("counting: %s requests so far, %d s left"):format(figure.count(count.counter.requests),
        math.max(0, math.ceil(count.until_s - frame.now_s))), cells.PLAIN
end

-- Who asks for the opened key, or how to learn that.
local function who_words(frame, key)
    local count = frame.key_count
    if not count then
        return "not known: 9 watches all requests for ten seconds, which takes the server about 1 µs for each"
    elseif count.note ~= "" then
        return "not known: " .. count_words(frame, count)
    elseif not count.ended_s then
        return ("watching, %d s left"):format(math.max(0, math.ceil(count.until_s - frame.now_s)))
    end
    local words = hotkeys.who_words(count:who(key))
    return words ~= "" and words or "nobody was seen to ask in ten seconds; 9 watches again"
end

-- The item of the opened key in words, or why it is not known.
local function item_words(frame, at)
    local answers = frame.model.answers
    local state, refusal = answers:state("item")
    if not M.wire_key(at.opened) then
        return "its name has bytes that me does not take"
    elseif state == "none" or answers:at_s("item") < at.opened_s then
        return "waiting for the server"
    elseif state == "refused" then
        return refusal:find("^EN") and "no item has this key now: its readers miss"
            or "the server does not know me: it needs memcached 1.6 or slated"
    end
    local words = gather.words(answers:text("item"))
    table.remove(words, 1)
    local item = item_facts.parse(words)
    return ("class %s, %s with header and key, %s, last used %s, cas %s; who asks: %s"):format(
        item.class or "-", units.bytes_in_words(item.size_bytes),
        item.expires_in_s and "expires in " .. figure.age(item.expires_in_s) or "never expires",
        item_facts.last_used(item), item.cas or "-", who_words(frame, at.opened))
end

-- The whole name of the key under the cursor, or the opened key and its item.
local function key_words(frame, grid, at)
    local name = grid:escaped(hotkeys.shown_key(at.opened or at.shown[at.cursor].key))
    return at.opened and name .. ": " .. item_words(frame, at) or "key: " .. name
end

-- What the first keys have together.
local function first_words(hot)
    local least, most, count = 0, 0, math.min(#hot.keys, NAMED_MOST)
    for i = 1, count do
        local share = share_of(hot, hot.keys[i], "requests")
        least, most = least + (share.least or 0), most + (share.most or 0)
    end
    return ("%s; the first %s %s %% of them"):format(sample_words(hot),
        count == 1 and "key has" or count .. " keys have", bounds_words(least, math.min(most, 1), " to "))
end

-- The keys in the order and with the names that the operator chose.
local function shown_keys(hot, at)
    if hot.sorted_by ~= at.by then
        hotkeys.sort(hot.keys, at.by, #hot.keys)
        hot.sorted_by = at.by
    end
    local shown = {}
    for _, one in ipairs(hot.keys) do
        if filter.passes(at.filter, one.key) then
            shown[#shown + 1] = one
        end
    end
    return shown
end

-- The hot keys; or draws why there are none.
local function hot_of(frame, grid, area)
    local now, count = frame.model.now, frame.key_count
    if not now or now.slated or frame.is_replay then
        return detail.is_ready(frame, "hotkeys", grid, area) and frame.model.answers:parsed("hotkeys") or nil
    elseif count and count.hot then
        count.hot.is_counted = true
        return count.hot
    end
    local words, style = count_words(frame, count)
    grid:paragraph(area, style, words)
end

function M.draw(frame, ui, grid, area)
    local hot, at = hot_of(frame, grid, area), ui.hotkeys
    at.shown = hot and shown_keys(hot, at) or {}
    at.watches = frame.key_count ~= nil and not frame.key_count.hot and frame.key_count:is_under_way()
    if not hot then
        return
    end
    local count, layout = #at.shown, layout_of(area.width)
    if count == 0 then
        draw_head(grid, area, layout, at, hot.is_counted, 0)
        grid:text_fit(area.y + 1, 0, area.width, cells.DIM, at.filter ~= ""
            and ("no hot key has '%s' in its name: / changes that"):format(at.filter)
            or hot.is_counted and "no key is hot: none was requested more than by chance; 9 counts again"
            or "no key is hot: sampling is off, or none was requested more than by chance")
        return
    end
    at.cursor = keys.step(at.cursor, 0, count)
    local first, words = first_words(hot), key_words(frame, grid, at)
    local first_rows = at.opened and 0 or cells.rows_of(first, area.width)
    local most = at.opened and area.height - LIST_LEAST or area.height // 2
    local notes = area.height >= NOTES_FROM_HEIGHT
        and math.min(first_rows + cells.rows_of(words, area.width), most) or 0
    list.draw(grid, cells.area(area.y + 1, 0, area.height - 1 - notes, area.width), at, at.cursor, count,
        function(y, number) draw_key(grid, y, layout, hot, at.shown[number], number) end)
    draw_head(grid, area, layout, at, hot.is_counted, area.height - 1 - notes)
    local y = area.y + area.height - notes
    grid:paragraph(cells.area(y, 0, math.min(first_rows, notes), area.width), cells.PLAIN, first)
    grid:paragraph(cells.area(y + first_rows, 0, notes - first_rows, area.width), cells.STRONG, words)
end

--- The key as a command takes it; nil: it has bytes that a command of text cannot have.
function M.wire_key(key)
    return not key:find("[%c ]") and key or nil
end

--- The item of the opened key.
function M.wants(ui, wants)
    local at = ui.hotkeys
    wants.item_key = at.opened and not at.watches and M.wire_key(at.opened) or nil
    wants.inquiries.item = wants.item_key and true
end

function M.command(frame, ui, command)
    local at, rows = ui.hotkeys, keys.move_rows(command, SCREEN_ROWS)
    if command == "sort_next" then
        at.by = at.by == "requests" and "bytes" or "requests"
        return { kind = "say", text = "by " .. at.by }
    elseif command == "open_key" and at.shown[at.cursor] then
        at.opened, at.opened_s = at.shown[at.cursor].key, frame.now_s
    elseif command == "copy_key" and at.shown[at.cursor] then
        return { kind = "copy", text = hotkeys.shown_key(at.shown[at.cursor].key) }
    elseif command == "close_key" or rows ~= 0 then
        at.opened = nil
    end
    at.cursor = keys.step(at.cursor, rows, math.max(#at.shown, 1))
end

function M.click(ui, kind, value)
    if kind == "row" then
        ui.hotkeys.cursor = value
    elseif kind == "sort" then
        ui.hotkeys.by = COLUMNS[value].by
    end
end

return M
