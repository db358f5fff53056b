-- SPDX-License-Identifier: BSD-3-Clause
--- The palette: keys, settings, classes and servers by their names, with completion. The operator types a word, and
--- after some words an argument: "classes", "sort age", "set slab_automove ratio"; or parts of words to search for. The
--- palette sends nothing: a change of the server opens a review.
local cells = require "slate.console.cells"
local change = require "slate.console.change"
local choices = require "slate.console.overlay.palette_choices"
local class_columns = require "slate.console.draw.class_columns"
local class_filter = require "slate.console.draw.class_filter"
local class_table = require "slate.console.draw.class_table"
local explain = require "slate.console.overlay.explain"
local explain_facts = require "slate.facts.explain"
local find = require "slate.base.find"
local fleet_table = require "slate.console.draw.fleet_table"
local keys = require "slate.console.keys"
local narrow = require "slate.console.draw.narrow"
local units = require "slate.base.units"
local view_list = require "slate.console.view_list"

local M = { name = "palette", scope = "palette" }

local SHOWN_MOST <const>, HELP_X_MOST <const>, LINE_BYTES <const> = 10, 34, 119

--- typed: the line; why: why it was refused ("" after the next key); choice: the index of the marked one.
function M.state()
    return { is_open = false, typed = "", why = "", choice = 1 }
end

function M.open(ui)
    ui.palette = M.state()
    ui.palette.is_open = true
end

function M.wants(_, wants)
    change.add_settings(wants)
end

local function title_of(count, shown, is_near)
    return count == 0 and "nothing matches" or is_near and "nothing has this name; near it is"
        or count > shown and ("%d of %d choices, Down shows more"):format(shown, count)
        or ("%d choice%s"):format(count, count == 1 and "" or "s")
end

function M.draw(frame, ui, grid)
    local palette, list = ui.palette, choices.of(frame, ui, ui.palette.typed)
    local why_rows = palette.why ~= "" and narrow.message_rows(palette.why, grid.width) or 0
    local shown = math.min(#list, grid.height - 5 - math.max(why_rows, 1), SHOWN_MOST)
    local y = grid.height - 3 - why_rows - shown
    palette.choice = keys.step(palette.choice, 0, #list)
    local top, help_x = keys.top(1, palette.choice, shown, #list), 0
    for i = top, top + shown - 1 do
        help_x = math.min(math.max(help_x, cells.width_of(list[i].line) + 3), HELP_X_MOST)
    end
    grid:fill(cells.area(y, 0, shown + 2 + why_rows, grid.width), " ", cells.PLAIN)
    grid:rule(y, 0, grid.width, title_of(#list, shown, list.is_near))
    for i = top, top + shown - 1 do
        y = y + 1
        grid:text_fit(y, 1, help_x - 2, cells.STRONG, list[i].line)
        grid:text_fit(y, help_x, grid.width - help_x, cells.PLAIN, list[i].help)
        if i == palette.choice then
            grid:select(y, 0, grid.width)
        end
    end
end

local NONE <const> = { kind = "none" }
local CLASSES <const> = { kind = "command", command = "view_classes" }

local function say(text, ...)
    return { kind = "say", text = text:format(...) }
end

local function is_in_fleet(ui)
    local _, view = view_list.current(ui)
    return view == "fleet"
end

-- By a word: the intent of a line with this argument.
local RUN <const> = {}

function RUN.sort(_, ui, name)
    if is_in_fleet(ui) then
        for _, column in ipairs(fleet_table.COLUMNS) do
            if column.head:lower() == name:lower() then
                view_list.module("fleet").click(ui, "sort", column.index)
                return NONE
            end
        end
    elseif class_columns.named(name:lower()) then
        class_table.sort_by(ui.classes, class_columns.named(name:lower()))
        return CLASSES
    end
    return say("there is no column '%.40s'", name)
end

function RUN.filter(_, ui, text)
    local terms, why = class_filter.parse(text)
    if not terms then
        return say("%s", why)
    end
    ui.classes.filter = text
    return view_list.current(ui).scope == "overview" and NONE or CLASSES
end

function RUN.window(_, ui, seconds)
    local window_s = units.parse_whole(seconds)
    if window_s ~= 1 and window_s ~= 10 and window_s ~= 100 then
        return say("rates are over 1, 10 or 100 s, not '%.40s'", seconds)
    end
    ui.classes.window_s = window_s
    return CLASSES
end

function RUN.theme(_, _, name)
    local place = find.place(cells.themes, name)
    return place and { kind = "theme", theme = place } or say("there is no theme '%.40s'", name)
end

function RUN.set(frame, ui, argument)
    local one, why = choices.change_of(frame, ui, argument)
    if not one then
        return say("set takes a setting and its new value: set automove mode ratio")
    end
    return why and say("%s", why) or { kind = "review", plan = { one } }
end

function RUN.class(frame, ui, number)
    for _, class in ipairs(frame.model.now and frame.model.now.classes or {}) do
        if class.id > 0 and class.id == tonumber(number) then
            view_list.open_class(ui, class.id)
            return NONE
        end
    end
    return say("there is no class '%.20s'", number)
end

function RUN.server(frame, _, name)
    for _, row in ipairs(frame.servers) do
        if row.model.server == name then
            return { kind = "open_server", server = row.server }
        end
    end
    return say("no server '%.80s' is watched", name)
end

function RUN.explain(frame, ui, name)
    local found = explain_facts.find(name)
    if name ~= "" and #found == 0 then
        return say("nothing explains '%.40s'", name)
    end
    explain.open(ui, view_list.current(ui), frame, found)
    return NONE
end

-- The intent of a complete line.
local function run(frame, ui, typed, list)
    local word, argument = choices.word_of(typed)
    if word and not argument and word ~= "filter" and word ~= "explain" then
        return say("%s takes one word more", typed)
    elseif word then
        return RUN[word](frame, ui, argument or "")
    end
    for _, choice in ipairs(list) do
        if choice.command and choice.line:lower() == typed:lower() then
            return { kind = "command", command = choice.command, words = choice.words }
        end
    end
    return say("there is no command '%.40s' here: Tab completes", typed)
end

-- Takes the marked choice if Down or Up marked it, or the typed line is not complete; else the typed line.
local function take_line(frame, ui)
    local palette = ui.palette
    local list = choices.of(frame, ui, palette.typed)
    local choice = list[palette.choice]
    local typed = palette.typed:match("^ *(set .*)$") or palette.typed:match("^ *(.-) *$") -- a name may go on
    local is_other = choice ~= nil and choice.line ~= palette.typed
    local intent = not (is_other and palette.choice > 1) and run(frame, ui, typed, list) or say("")
    if intent.kind == "say" and is_other then
        palette.typed, palette.choice = choice.line, 1
        if choice.goes_on then
            return nil
        end
        intent = run(frame, ui, choice.line, list)
    end
    if intent.kind == "say" then -- typing goes on, with the reason above
        palette.why = intent.text
        return nil
    end
    palette.is_open = false
    return intent ~= NONE and intent or nil
end

--- A key while the palette is open. Returns the intent of a taken line.
function M.command(frame, ui, command, key)
    local palette = ui.palette
    palette.why = ""
    if command == "accept" then
        return take_line(frame, ui)
    elseif command == "cancel" or command == "back" and palette.typed == "" then
        palette.is_open = false
    elseif command == "complete" then
        local choice = choices.of(frame, ui, palette.typed)[palette.choice]
        if choice then
            palette.typed, palette.choice = choice.line, 1
        end
    elseif command == "up" or command == "down" then -- drawing stops at the last choice
        palette.choice = math.max(1, palette.choice + keys.move_rows(command, 1))
    else
        local typed = keys.typed(palette.typed, LINE_BYTES, command, key)
        if typed then
            palette.typed, palette.choice = typed, 1
        end
    end
end

return M
