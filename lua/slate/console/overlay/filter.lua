-- SPDX-License-Identifier: BSD-3-Clause
--- The filter of a view while it is typed. Keys, Events, Fleet and Tune show the rows with a text, at once; Overview
--- and Classes have terms (of slate.console.draw.class_filter) from Enter on. In a view without a filter the one of
--- Classes is typed, and Enter goes there. The filter in use is `filter` of the view's part of ui.
local class_filter = require "slate.console.draw.class_filter"
local keys = require "slate.console.keys"
local view_list = require "slate.console.view_list"

local M = { name = "filter", scope = "filter" }

local TYPED_BYTES <const> = 79
local FIRST <const> = { hotkeys = 1, tune = 1, fleet = false, events = false } -- the cursor on the first row, by view

--- of: the name of the part of ui whose filter is typed, typed; before: its filter until then; label: before the typed
--- text; why: why the text was refused ("" after the next key); goes_on: Enter goes to Classes.
function M.state()
    return { is_open = false, typed = "", why = "" }
end

--- Begins to type a filter in place of the one in use; an empty one shows all rows.
function M.open(ui, view)
    local is_of_text = FIRST[view.scope] ~= nil
    local goes_on = not is_of_text and view.scope ~= "classes" and view.scope ~= "overview"
    ui.filter = { is_open = true, of = is_of_text and view.scope or "classes", typed = "", why = "", goes_on = goes_on,
        label = goes_on and "filter of Classes" or "filter" }
    ui.filter.before = ui[ui.filter.of].filter
    M.command(nil, ui)
end

--- True if a text has the text of a filter in it, capitals or not.
function M.passes(filter, text)
    return filter == "" or text:lower():find(filter:lower(), 1, true) ~= nil
end

--- " with 'text'", for a heading; "" for no filter.
function M.words(filter)
    return filter ~= "" and (" with '%s'"):format(filter) or ""
end

-- Ends the filter of classes, unless its text is none.
local function take_terms(ui, at)
    local terms, why = class_filter.parse(at.typed)
    at.is_open, at.why = not terms, why or ""
    ui.classes.filter = terms and at.typed or ui.classes.filter
    if terms and at.goes_on then
        view_list.open(ui, view_list.index("classes"))
    end
end

--- A key while the filter is typed.
function M.command(_, ui, command, key)
    local at = ui.filter
    local part, first = ui[at.of], FIRST[at.of]
    at.why = ""
    at.typed = key and keys.typed(at.typed, TYPED_BYTES, command, key) or at.typed
    if command == "accept" and first == nil then
        take_terms(ui, at)
    elseif command == "accept" or command == "cancel" then
        at.is_open = false
    end
    if first ~= nil then
        part.filter = command == "cancel" and at.before or at.typed
        part.cursor, part.opened = first or nil, nil
    end
end

return M
