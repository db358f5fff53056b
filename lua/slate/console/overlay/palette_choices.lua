-- SPDX-License-Identifier: BSD-3-Clause
--- The choices that the palette offers for the typed line: the keys of the view by their names, and lines of a word
--- with an argument, "sort age" or "set slab_automove ratio"; the best fit first. Pure.
local cells = require "slate.console.cells"
local change = require "slate.console.change"
local class_columns = require "slate.console.draw.class_columns"
local class_filter = require "slate.console.draw.class_filter"
local explain = require "slate.console.overlay.explain"
local explain_facts = require "slate.facts.explain"
local figure = require "slate.console.figure"
local fleet_table = require "slate.console.draw.fleet_table"
local keys = require "slate.console.keys"
local marked = require "slate.console.marked"
local settings = require "slate.facts.settings"
local settings_shown = require "slate.facts.settings_shown"
local view_list = require "slate.console.view_list"

local M = {}

--- Words that take an argument: { name, help, command (of the key that does the same in steps) }.
M.WORDS = {
    { name = "sort", help = "by a column; again: the other way round", command = "sort_next" },
    { name = "filter", help = "show some classes: ev>0 size>=1000", command = "filter" },
    { name = "window", help = "rates over 1, 10 or 100 s", command = "window" },
    { name = "theme", help = "colours", command = "theme" },
    { name = "set", help = "change a setting: opens the review" },
    { name = "class", help = "all figures of a class", command = "open_class" },
    { name = "server", help = "open a server of the fleet", command = "open_server" },
    { name = "explain", help = "what a figure, a state or a setting means", command = "explain" },
}
-- More names, by the command of a key or the name of a setting.
local ALSO <const> = { view_hotkeys = "keys, hot, hotkeys", view_events = "log", view_tune = "settings, config",
    view_sizes = "chunk sizes, growth factor, factor",
    record = "export, csv, save",
    move_pages = "rebalance, plan", view_overview = "rebalance pages, plan of moves", view_latency = "round trips",
    maxbytes = "memory limit", policy = "eviction policy" }
local VALUE_LEAST <const> = 3 -- letters of a value that is typed without its setting
local IS_WORD, REPLACED <const> = {}, { palette = true }
for _, word in ipairs(M.WORDS) do
    IS_WORD[word.name] = true
    if word.command then
        REPLACED[word.command] = true
    end
end

-- How well a choice fits the typed words, in any order, without regard to case. While no word is typed, columns to sort
-- by and explanations stand IN_HELP further behind, but an explanation of just this name stands before words within.
local IS_NAME <const>, BEGINS <const>, IN_NAME <const>, IN_HELP <const> = 0, 1, 2, 3
local IN_OTHER <const> = 1 -- keys of other views stand so much further behind

--- The word that begins a line, and the text after it and a blank; nil: it has none.
function M.word_of(line)
    local name, blanks, argument = line:match("^(%S*)( *)(.*)$")
    if IS_WORD[name] then
        return name, blanks ~= "" and argument or nil
    end
end

-- How a choice fits; nil if it does not. A single letter must begin the name: nearly every text contains it.
local function fit_of(typed, name, help)
    typed, name, help = typed:lower(), name:lower(), help:lower()
    if name:sub(1, #typed) == typed then
        return name == typed and IS_NAME or BEGINS
    end
    local fit = IN_NAME
    for word in typed:gmatch("%S+") do
        local is_named = #word == 1 and name:sub(1, 1) == word or #word > 1 and name:find(word, 1, true)
        if not is_named and (#word == 1 or not help:find(word, 1, true)) then
            return nil
        end
        fit = is_named and fit or IN_HELP
    end
    return fit
end

-- Adds the line "BEFORE NAME AFTER" when its name or help fits. after: " " or ">" if the line goes on; behind: added to
-- the fit (optional). Returns the fit; nil: none.
local function add(choices, before, name, after, help, command, behind)
    local also, typed = (", %s,"):format(ALSO[command or name] or ""), ", " .. choices.typed:lower()
    local fit = #choices.typed > 1 and (also:find(typed .. ",", 1, true) and IS_NAME
        or also:find(typed, 1, true) and BEGINS) or fit_of(choices.typed, name, help)
    if fit then
        choices[#choices + 1] = { line = before .. name .. after, help = help, command = command,
            fit = fit + (behind or 0), place = #choices, goes_on = after ~= "" }
    end
    return fit
end

-- Adds a key. Its name is that of the key bar, the words before the colon of its help, or that of its command. other:
-- the view that has it, if the open one has not: the choice goes there, and says the key.
local function add_key(choices, row, other)
    local name, tail = row.help:match("^([^:;,]+): (.*)$")
    name = row.bar and row.bar:lower() or name or row.command:gsub("^view_", ""):gsub("_", " ")
    local help = ("%s (%s%s)"):format(not row.bar and tail or row.help, keys.names(row),
        other and " in " .. other.title or "")
    if add(choices, "", name, "", help, other and other.open or row.command, other and IN_OTHER) and other then
        choices[#choices].words = ("%s: %s"):format(keys.label(row.keys[1]), row.help)
    end
end

-- Adds the keys of a view that are not in `has`, without those that move through a list or that a word replaces.
local function add_keys_of(choices, scope, has, other)
    for _, row in ipairs(keys.rows) do
        if row.scopes[scope] and not has[row.command] and keys.move_rows(row.command, 1) == 0
            and not REPLACED[row.command] then
            has[row.command] = true -- a view may have two keys
            add_key(choices, row, other)
        end
    end
end

-- Adds the keys of the open view; of a longer word also those of the others.
local function add_keys(choices, ui)
    local has = {}
    add_keys_of(choices, view_list.current(ui).scope, has)
    for _, view in ipairs(#choices.typed > 1 and view_list.LIST or {}) do
        add_keys_of(choices, view.name, has, view)
    end
end

--- The class under the cursor of the view, for the setting class_policy; nil: none.
function M.class_of(ui)
    local _, view = view_list.current(ui)
    local id = view == "class" and ui.focus or view == "pages" and ui.pages.cursor
        or view == "curves" and ui.curves.cursor
        or (view == "overview" or view == "classes" or view == "tune") and ui.classes.cursor
    return id and id > 0 and id or nil
end

local function add_columns(choices, _, ui, is_behind_word)
    local _, view = view_list.current(ui)
    local is_fleet = view == "fleet"
    for _, column in ipairs(is_fleet and fleet_table.COLUMNS or class_columns.LIST) do
        add(choices, "sort ", is_fleet and column.head or column.name, "", column.meaning, nil,
            not is_behind_word and IN_HELP or 0)
    end
end

-- Adds the line that Enter takes as it is.
local function add_complete(choices, line, help)
    choices[#choices + 1] = { line = line, help = help, fit = IS_NAME, place = #choices }
end

-- Adds the filter, if it is complete, and columns for the last term, while its column is typed.
local function add_filter(choices, _, ui)
    local before, last = choices.typed:match("^(.-)(%S*)$")
    if choices.typed:find("%S") and class_filter.parse(choices.typed) then
        add_complete(choices, "filter " .. choices.typed, "show the classes that pass")
    elseif last == "" and before == "" and ui.classes.filter ~= "" then
        add_complete(choices, "filter ", "show all classes again")
    end
    choices.typed = last
    for _, column in ipairs(class_columns.LIST) do
        add(choices, "filter " .. before, column.name, ">", column.meaning)
    end
end

local function add_windows(choices)
    add(choices, "window ", "1", "", "the newest sample")
    add(choices, "window ", "10", "", "a mean over this many seconds")
    add(choices, "window ", "100", "", "a mean over this many seconds")
end

local function add_themes(choices)
    for _, theme in ipairs(cells.themes) do
        add(choices, "theme ", theme, "", "colours")
    end
end

local function note_of(row, is_known)
    if row.refusal then
        return ("%s: %s"):format(row.label, is_known and row.refusal or "waiting for the server")
    elseif row.form == "number" then
        return ("%s: now %s, %s"):format(row.label, row.now or "", change.range(row))
    end
    return ("%s: now %.60s"):format(row.label, row.now or "")
end

--- The change of a line behind `set`, and why it may not be sent: nil if it may, or if the review checks each server.
--- nil: the line is not complete.
function M.change_of(frame, ui, line)
    local name, value = settings.split(line)
    value = value and value:match("^(.-) *$")
    if not name or value == "" then
        return nil
    end
    local class_id = M.class_of(ui)
    if name == "class_policy" and class_id and not value:find(" ") then
        value = ("%s %d"):format(value, class_id)
    end
    local one, _, view = { name = name, value = settings_shown.named(name, value) }, view_list.current(ui)
    local is_for_marked = view == "fleet" and marked.count(ui) > 0
    return one, not is_for_marked and change.why_not(frame.model, one) or nil
end

-- Adds the values of a setting; for a number the typed text.
local function add_values(choices, row, value, help)
    local typed, before = choices.typed, ("set %s "):format(row.name)
    value = settings_shown.named(row.name, value)
    choices.typed = value
    if row.choices == "" then
        add(choices, before, value, "", help)
    end
    for choice in row.choices:gmatch("[^|]+") do
        if choice:lower():sub(1, #value) == value:lower() then
            local words = settings_shown.value_words(row.name, choice)
            words = row.name == "class_policy" and words ~= "" and row.label .. ": " .. words or words
            local first = settings_shown.typed_after(choice) -- the rest is to be typed
            add(choices, before, first and first:sub(1, -2) or choice, first and first:sub(-1) or "",
                words ~= "" and words or help)
        end
    end
    choices.typed = typed
end

-- Adds the settings, and those of their values that begin with the typed word; after `set`, a name and a blank, the
-- values of that setting. slated reports its settings only on request; an open palette requests them.
local function add_settings(choices, frame, ui, is_behind_set)
    local model = frame.model
    local is_known = model.now and not model.now.slated or model.answers:state("config") ~= "none"
    local name, value
    if is_behind_set then
        name, value = settings.split(choices.typed)
    end
    for _, row in ipairs(change.rows(model, M.class_of(ui))) do
        local help = note_of(row, is_known)
        if row.name == name then
            add_values(choices, row, value, help)
        else
            add(choices, "set ", row.name, " ", help)
        end
        if not is_behind_set and #choices.typed >= VALUE_LEAST and row.form == "choice" and not row.refusal then
            add_values(choices, row, choices.typed, help)
        end
    end
    local one, why = nil, nil
    if is_behind_set and #choices == 0 then
        one, why = M.change_of(frame, ui, choices.typed)
    end
    if one and not why then
        add_complete(choices, ("set %s %s"):format(one.name, one.value), ("%s: opens the review"):format(
            change.label(one.name)))
    end
end

-- Adds the servers; the only one is a choice just behind its word.
local function add_servers(choices, frame, _, is_behind_word)
    for _, row in ipairs((is_behind_word or #frame.servers > 1) and frame.servers or {}) do
        if row.model.server:lower():find(choices.typed:lower(), 1, true) then -- its words, on health, are not searched
            add(choices, "server ", row.model.server, "", row.words)
        end
    end
end

-- Adds the explanations with a name that fits, by the name that fits best: just this name is one of what can be done.
-- Behind the word, also those whose text fits.
local function add_topics(choices, _, _, is_behind_word)
    for _, entry in ipairs(explain_facts.entries()) do
        local best, fit, is_named
        for _, name in ipairs({ entry.term, table.unpack(entry.also) }) do
            local found = fit_of(choices.typed, name, is_behind_word and entry.meaning or "")
            local is_same = name:lower() == choices.typed:lower()
            if found and (not fit or found < fit or is_same and (not is_named or name == choices.typed)) then
                best, fit, is_named = name, found, is_same
            end
        end
        if best then
            choices[#choices + 1] = { line = "explain " .. best,
                help = explain.first_sentence(entry),
                fit = is_named and BEGINS or IN_HELP + fit, place = #choices }
        end
    end
end

-- Adds explanations whose texts have the typed words, else those with names that look like them.
local function add_nearest(choices)
    add_topics(choices, nil, nil, true)
    local names = choices[1] and {} or explain_facts.suggest(choices.typed)
    for _, name in ipairs(names) do
        choices[#choices + 1] = { line = "explain " .. name, fit = IN_HELP, place = #choices,
            help = explain.first_sentence(explain_facts.find(name)[1]) }
    end
    choices.is_near = choices[1] ~= nil
end

local function add_classes(choices, frame)
    for _, class in ipairs(frame.model.now and frame.model.now.classes or {}) do
        local id = tostring(class.id)
        if class.id > 0 and id:sub(1, #choices.typed) == choices.typed then
            add(choices, "class ", id, "", ("chunks of %s bytes"):format(figure.exact(class.chunk_size)))
        end
    end
end

-- By a word: adds its arguments that fit.
local ARGUMENTS <const> = {
    filter = add_filter, window = add_windows, theme = add_themes, class = add_classes,
    server = function(choices, frame, ui) add_servers(choices, frame, ui, true) end,
    sort = function(choices, frame, ui) add_columns(choices, frame, ui, true) end,
    set = function(choices, frame, ui) add_settings(choices, frame, ui, true) end,
    explain = function(choices, frame, ui) add_topics(choices, frame, ui, true) end,
}

--- The choices for a typed line, in the order of the screen: a list of { line (complete; with goes_on more follows),
--- help, command (nil: the line is a word with its argument) }.
function M.of(frame, ui, line)
    line = line:match("^ *(.*)$")
    local word, argument = M.word_of(line)
    local choices = { typed = argument or line }
    if argument then
        ARGUMENTS[word](choices, frame, ui)
    else
        add_keys(choices, ui)
        for _, one in ipairs(M.WORDS) do
            add(choices, "", one.name, " ", one.help)
        end
        if line ~= "" then
            for _, add_all in ipairs({ add_settings, add_columns, add_themes, add_classes, add_servers }) do
                add_all(choices, frame, ui)
            end
        end
        if #line > 1 then -- of the many names, nearly any letter begins one
            add_topics(choices)
            if #choices == 0 and not line:find("^%d+$") then -- nothing is near the id of a class
                add_nearest(choices)
            end
        end
    end
    table.sort(choices, function(a, b)
        if a.fit ~= b.fit then
            return a.fit < b.fit
        end
        return a.place < b.place
    end)
    return choices
end

return M
