-- SPDX-License-Identifier: BSD-3-Clause
--- The only table of keys: bindings, key bar, help and the list of the man page come from it. A key is a string: one
--- character ("m", "G", "?"), or a name: up down left right page_up page_down home end enter backspace backtab escape
--- tab space pointer, f1 to f12, ctrl-l. Capital letters execute; Enter never sends a write.
local gather = require "slate.base.gather"

local M = {}

-- A set of the words of a text.
local function words(text)
    local set = {}
    for word in text:gmatch("%S+") do
        set[word] = true
    end
    return set
end

-- The scopes of "views" without some of them.
local VIEWS <const> = "overview classes events fleet diff tune class pages sizes curves hotkeys latency"
local function views_without(scope)
    local set = words(VIEWS)
    set[scope] = nil
    return set
end

local GROUPS <const> = {
    views = words(VIEWS),
    lists = words(VIEWS .. " help picker"),
    lines = words(VIEWS .. " help columns picker"),
}

local OF_TIME <const> = views_without("fleet") -- which is live only

--- The rows in the order of the key bar and of the help: { command, scopes, keys, bar, help, past }. scopes: a set;
--- keys: a list; bar: the label in the key bar, or nil; past: the label there while the past is shown, where "" is that
--- of the next row, and false is none (default: bar). The scope "past" lies over that of the view then.
M.rows = {}
local by_scope, by_command = {}, {}

local function row(command, scopes, keys, bar, help, past)
    scopes = type(scopes) == "table" and scopes or GROUPS[scopes] or words(scopes)
    local list = {}
    for key in keys:gmatch("%S+") do
        list[#list + 1] = key
        for scope in pairs(scopes) do
            by_scope[scope] = by_scope[scope] or {}
            by_scope[scope][key] = by_scope[scope][key] or command
        end
    end
    by_command[command] = by_command[command] or list[1]
    M.rows[#M.rows + 1] = { command = command, scopes = scopes, keys = list, bar = bar, help = help,
        past = past }
end

row("help", "views", "f1 h", "Help", "this list of keys")
row("palette", "views", ":", nil, "a command, setting, class, server or term by its name")
row("explain", "views", "?", "Explain", "what a figure means, its source, what to do")
row("why", "views", "x", "Why", "why automove moves pages, or does not")
row("view_overview", "views", "1", nil, "overview: health, rates, memory")
row("view_classes", "views", "2", nil, "classes: one row a slab class")
row("view_classes", views_without("classes"), "c", nil, "classes, from any other view")
row("view_pages", "views", "3", nil, "pages: a cell a page, to see and move them")
row("view_tune", "views", "4", nil, "tune: every setting that can change live")
row("view_sizes", "views", "5", nil, "sizes: items by size against class limits")
row("view_curves", "views", "6", nil, "curves: what other memory or policies would do")
row("view_fleet", "views", "7", nil, "fleet: one row a server, worst first")
row("view_events", "views", "8", nil, "events of the server; after Fleet, of all servers")
row("count_keys", "hotkeys", "9", nil, "watch who asks; on memcached, count all reads")
row("view_hotkeys", views_without("hotkeys"), "9", nil, "hot keys: those with most requests")
row("view_diff", "views", "d", nil, "diff: what changed since the moment that D marked")
row("view_latency", "views", "l", nil, "latency: round trips, measured from here")
row("mark_moment", "views", "D", nil, "mark the moment on the screen, for the diff")
row("next_view", "views", "tab", nil, "next view")
row("previous_view", "views", "backtab", nil, "previous view")
row("up", "lines", "up k", nil, "up a row")
row("down", "lines", "down j", nil, "down a row")
row("page_up", "lists", "page_up ctrl-b", nil, "up a screen")
row("page_down", "lists", "page_down ctrl-f", nil, "down a screen")
row("top", "lists", "home g", nil, "first row")
row("bottom", "lists", "end G", nil, "last row")
row("open_server", "fleet", "enter", "Open", "open the server under the cursor")
row("open_event", "events", "enter", "Go", "to the moment of the event under the cursor")
row("mark_server", "fleet", "m", "Mark", "mark or unmark: t, u and :set go to marked servers", false)
row("open_key", "hotkeys", "enter", "Key", "class, size, expiry of the key at the cursor", false)
row("close_key", "hotkeys", "escape backspace", nil, "close the item of a key")
row("copy_key", "hotkeys", "y", "Copy", "copy the name of the key, if the terminal takes OSC 52")
row("filter", "hotkeys", "f4 \\ /", "Filter", "show the keys with a text in their names")
row("filter", "overview classes", "f4 \\ /", "Filter", "show some classes: ev>0 size>=1000, or a number")
row("filter", "pages sizes curves class diff latency", "f4 \\ /", nil, "filter Classes, and go there")
row("open_class", "overview classes pages curves", "enter", "Class", "all figures of the class under the cursor")
row("open_class", "classes", "z", nil, "zoom the panel of the class, as Enter; z: back")
row("zoom", "overview", "z", nil, "zoom the graphs of the worst classes; z: back")
row("close_zoom", "overview", "escape backspace", nil, "back from zoomed graphs, or to where Enter came from")
row("close_class", "class", "escape backspace z", "Back", "back to where it was opened")
row("next_class", "class", "n", "Next", "the next class")
row("previous_class", "class", "N", nil, "the class before it")
row("mark_source", "classes pages", "f", "From", "mark this class as the source; again to unmark", false)
row("more_pages", "pages", "+ =", nil, "mark one page more of the source")
row("fewer_pages", "pages", "-", nil, "mark one page less")
row("cell_mode", "pages", "o", "Cells", "cells show how full or how old a page is")
row("move_pages", "overview", "f5 m", "Move", "review moves to all classes in need, or the one chosen", false)
row("move_pages", "classes pages class curves", "f5 m", "Move",
    "move pages here: opens the review, sends nothing", false)
row("review", "sizes", "f5 m enter", "Change", "change to these sizes: opens the review, sends nothing", false)
row("sort_next", "hotkeys", "f6 s >", "Sort", "sort by requests, or by bytes")
row("sort_next", "classes fleet", "f6 s >", "Sort", "sort by the next column")
row("sort_previous", "classes fleet", "<", nil, "sort by the previous column")
row("sort_reverse", "classes fleet", "r I", nil, "turn the order round")
row("review", "tune", "f7 t", "Review", "review all new values: opens the review, sends nothing", false)
row("more", "tune", "+ =", "More", "the next value, in the column NEW only", false)
row("less", "tune", "-", "Less", "the value before, in the column NEW only", false)
row("choose", "tune", "enter", "Choose", "choose the new value from a list, or type it", false)
row("edit", "tune", "e", nil, "type the new value")
row("reset", "tune", "r", nil, "forget the new value of this row")
row("automove", views_without("tune"), "f7 t", "Automove", "automove modes, to choose one and review it", false)
row("undo", "views", "f8 u", "Undo", "undo the last change: opens the review first", false)
row("filter", "events fleet tune", "f4 \\ /", "Filter", "show the rows with a text")
row("redo", "views", "ctrl-r", nil, "redo the change undone last: opens the review")
row("accept_trial", "views", "K", nil, "keep the change on trial: it does not go back")
row("columns", "classes", "c", nil, "choose the columns and their order")
row("window", "classes", "a", nil, "rates over 1, 10 or 100 s")
row("idle_rows", "classes", "i", nil, "hide or show classes without traffic")
row("record", "views", "f9 R", nil, "record to a file, or stop recording")
row("pause", OF_TIME, "space", "Pause", "pause and go on; sampling never stops", "Go on")
row("time_back", OF_TIME, "left", nil, "back in time by a sample", "")
row("time_on", OF_TIME, "right", nil, "on in time by a sample", "Step")
row("minute_back", OF_TIME, "[", nil, "back by a minute", "")
row("minute_on", OF_TIME, "]", nil, "on by a minute", "Minute")
row("event_before", OF_TIME, "{", nil, "to the event before", "")
row("event_after", OF_TIME, "}", nil, "to the event after", "Event")
row("first_sample", "past", "home", nil, "to the oldest moment", "")
row("last_sample", "past", "end", nil, "to the newest moment", "Ends")
row("live", "views", ".", nil, "to now, or to the end of the recording", "Now")
row("streams", "events", "w", "Watch", "watch the next stream of the server, or none", false)
row("theme", "views", "T", nil, "the next theme of colours")
row("mouse", "views", "M", nil, "use the mouse, or leave it to the terminal")
row("reconnect", "views", "C", nil, "connect now; in Fleet to each that is down")
row("redraw", "views", "ctrl-l", nil, "draw the whole screen again")
row("suspend", "views", "ctrl-z", nil, "back to the shell; fg returns")
row("quit", "views", "f10 q ctrl-c", "Quit", "leave; pages not yet requested are not moved")

row("send", "review", "S", "Send", "send what the review shows; Enter never sends")
row("next_field", "review", "down tab j enter", "Next field", "next field")
row("previous_field", "review", "up backtab k", nil, "previous field")
row("less", "review", "left - h", "Less", "smaller value; or type digits")
row("more", "review", "right + l", "More", "larger value; or type digits")
row("remove", "review", "r", "Remove", "take the step out of the plan")
row("help", "review", "f1 ?", "Keys", "the keys of a review")
row("cancel", "review", "escape q ctrl-c", "Cancel", "close the review, send nothing")

row("accept", "palette", "enter", "Run", "run the command typed, or else the choice marked")
row("complete", "palette", "tab", "Complete", "type the choice that is marked")
row("up", "palette", "up", nil, "the choice above")
row("down", "palette", "down", nil, "the choice below")
row("cancel", "palette", "escape ctrl-c", "Cancel", "run nothing")
row("back", "palette", "backspace", nil, "take back a character of the command")

row("accept", "filter", "enter", "Use", "use the filter, or what is searched for")
row("cancel", "filter", "escape ctrl-c", "Cancel", "keep the old one")
row("back", "filter", "backspace", nil, "take back a character")

row("accept", "value", "enter", "Take", "take the new value; nothing is sent")
row("cancel", "value", "escape ctrl-c", "Cancel", "keep the old one")
row("back", "value", "backspace", nil, "take back a character of the value")

row("accept", "picker", "enter", "Take", "take the value; nothing is sent")
row("cancel", "picker", "escape q ctrl-c", "Cancel", "take nothing")

row("toggle", "columns", "space", "Show", "always, never, or while there is room")
row("earlier", "columns", "< left", "Left", "move the column to the left")
row("later", "columns", "> right", "Right", "move the column to the right")
row("reset", "columns", "r", "Reset", "columns as they were at the start")
row("cancel", "columns", "escape q c enter", "Done", "close the list of columns")

row("next_field", "explain", "right tab l n", "Next", "the next figure")
row("previous_field", "explain", "left backtab h N", "Previous", "the figure before")
row("up", "explain", "up k", nil, "scroll up")
row("down", "explain", "down j", nil, "scroll down")
row("cancel", "explain", "escape q ? enter", "Close", "close the explanation")

row("up", "why", "up k", nil, "scroll the reasons up")
row("down", "why", "down j", nil, "scroll the reasons down")
row("cancel", "why", "escape q x enter", "Close", "close the reasons")

row("filter", "help", "/", "Search", "show only the keys whose line holds a text")
row("cancel", "help", "escape q h ? f1", "Close", "close the help")

--- The command of a key in a scope; nil: the key means nothing there.
function M.command(key, scope)
    return by_scope[scope] and by_scope[scope][key]
end

--- The rows of the key bar in a scope. In the past those of time come first; there, and while nothing can be sent
--- (is_locked), none that changes a server is in it.
function M.bar(scope, is_past, is_locked)
    local of_time, others = {}, {}
    for _, one in ipairs(M.rows) do
        local is_here = one.scopes[scope] or is_past and one.scopes.past
        if is_here and is_past and one.past then
            of_time[#of_time + 1] = one
        elseif is_here and one.bar and not ((is_past or is_locked) and one.past == false) then
            others[#others + 1] = one
        end
    end
    return table.move(others, 1, #others, #of_time + 1, of_time)
end

--- The first key of a command; nil: it has none.
function M.of_command(command)
    return by_command[command]
end

--- How many rows down (negative: up) a command moves the cursor of a list; 0: it does not move it.
function M.move_rows(command, screen_rows)
    return command == "up" and -1 or command == "down" and 1
        or command == "page_up" and -screen_rows or command == "page_down" and screen_rows
        or command == "top" and -math.maxinteger // 2 or command == "bottom" and math.maxinteger // 2 or 0
end

--- The row `rows` rows from row `at` of a list, at most up to its ends. Rows count from 1; an empty list (last 0) stays
--- at row 1.
function M.step(at, rows, last)
    return math.max(1, math.min(at + rows, last))
end

--- The first row to show (from 1) of a list of count, of which rows fit: top, or the nearest row from which the
--- cursor's row is shown and no row of the screen stays empty. A list without a cursor passes top as cursor.
function M.top(top, cursor, rows, count)
    top = cursor < top and cursor or math.max(top, cursor - rows + 1)
    return math.max(1, math.min(top, count - rows + 1))
end

--- The typed line after a command or key: without its last character (command "back"), or with a printable key that
--- leaves it within most_bytes. nil: the key does not edit the line.
function M.typed(line, most_bytes, command, key)
    if command == "back" then
        return line:sub(1, -2)
    end
    key = key == "space" and " " or key
    return key:find("^[ -~]$") and #line < most_bytes and line .. key or nil
end

local LABELS <const> = {
    up = "Up", down = "Down", left = "Left", right = "Right", page_up = "PgUp", page_down = "PgDn", home = "Home",
    ["end"] = "End", enter = "Enter", backspace = "Bksp", backtab = "S-Tab", escape = "Esc", tab = "Tab",
    space = "Space",
}

--- "F5", "^L", "Esc", "m".
function M.label(key)
    local control = key:match("^ctrl%-(.)$")
    return LABELS[key] or control and "^" .. control:upper() or key:match("^f%d+$") and key:upper()
        or key:match("^[!-~]$") or "?"
end

--- The keys of a row: "F5 m".
function M.names(of)
    local labels = gather.values(of.keys, M.label)
    return table.concat(labels, " ")
end

--- The key that the key bar shows: the first F-key, or else the first key.
function M.bar_key(of)
    for _, key in ipairs(of.keys) do
        if key:find("^f%d") then
            return key
        end
    end
    return of.keys[1]
end

return M
