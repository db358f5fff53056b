-- SPDX-License-Identifier: BSD-3-Clause
--- Tune: every setting that this server can change while it runs, its value and the wanted value. Values are chosen
--- here and sent from the review.
local cells = require "slate.console.cells"
local change = require "slate.console.change"
local detail = require "slate.console.detail"
local explain = require "slate.console.overlay.explain"
local filter = require "slate.console.overlay.filter"
local gather = require "slate.base.gather"
local keys = require "slate.console.keys"
local list = require "slate.console.draw.list"
local moves = require "slate.facts.moves"
local narrow = require "slate.console.draw.narrow"
local picker = require "slate.console.overlay.picker"
local question = require "slate.console.question"
local server = require "slate.console.server"
local settings = require "slate.facts.settings"
local settings_shown = require "slate.facts.settings_shown"
local units = require "slate.base.units"
local view_list = require "slate.console.view_list"

local M = {
    name = "Tune",
    scope = "tune",
    open = "view_tune",
    shown = { "setting", "whatif.hit_ratio", "whatif.difference", "moves.failed" },
}

local LABEL_X <const>, NOW_X <const>, NEW_X <const>, SOURCE_X <const>, NOTE_X <const> = 1, 21, 35, 50, 59
local NARROW_WIDTH <const>, NARROW_NEW_X <const>, NARROW_NOW_WIDTH <const> = 72, 30, 8
local PANEL_ROWS <const>, SCREEN_ROWS <const>, TYPED_BYTES <const> = 8, 10, 159
local FOOT_FROM_HEIGHT <const>, FOOT_ROWS <const> = 8, 2 -- on a screen without a panel

--- cursor: a row; filter: a text of the rows that are shown; rows: those last drawn; wanted: new values by name, not
--- yet sent; while one is typed: edits, typed and typed_why (why `typed` was refused; "" after the next key).
function M.state()
    return { cursor = 1, top = 1, filter = "", rows = {}, wanted = {}, edits = false, typed = "", typed_why = "" }
end

--- Drops all wanted values, after they were sent, or when another server is opened.
function M.forget(ui)
    ui.tune.wanted, ui.tune.edits = {}, false
end

-- All rows, without the settings of storage on flash if there is none.
local function all_rows(frame, ui)
    local model, rows = frame.model, {}
    local is_past = frame.is_past or frame.is_replay -- then the snapshot has them
    if model.now and (model.answers:is_known("settings") or is_past and model.now.settings) then
        for _, row in ipairs(change.rows(model, ui.classes.cursor, is_past)) do
            if server.has_extstore(model.now) or not row.name:find("^ext_") then
                rows[#rows + 1] = row
            end
        end
    end
    return rows
end

-- The rows with the text of the filter. Puts the cursor on one of them.
local function rows_of(frame, ui)
    local tune, rows = ui.tune, {}
    for _, row in ipairs(all_rows(frame, ui)) do
        local text = ("%s %s %s"):format(row.label, row.name, row.now or "")
        rows[#rows + 1] = filter.passes(tune.filter, text) and row or nil
    end
    tune.cursor, tune.rows = keys.step(tune.cursor, 0, #rows), rows
    return rows
end

local function is_changed(ui, row)
    local wanted = ui.tune.wanted[row.name]
    return wanted ~= nil and wanted ~= (row.now or "")
end

local IS_LRU <const> = {}
for _, name in ipairs(settings.TUNE) do
    IS_LRU[name] = true
end

-- The change of a row to a value (default: the wanted one). class_policy is for the class under the cursor in Classes.
local function change_of(ui, row, value)
    local of_class = row.name == "class_policy" and (" %d"):format(ui.classes.cursor or 0) or ""
    return { name = row.name, value = (value or ui.tune.wanted[row.name]) .. of_class }
end

-- The one change that sets the four values of lru tune: together they cannot be in each other's way.
local function lru_change(ui, rows)
    local values = {}
    for _, row in ipairs(rows) do
        if IS_LRU[row.name] then
            values[#values + 1] = is_changed(ui, row) and ui.tune.wanted[row.name] or row.now
        end
    end
    return { name = "lru_tune", value = table.concat(values, " ") }
end

local function plan_of(ui, rows)
    local plan, lru = {}, {}
    for _, row in ipairs(rows) do
        local changes = IS_LRU[row.name] and lru or plan
        changes[#changes + 1] = is_changed(ui, row) and change_of(ui, row) or nil
    end
    if #lru > 0 then
        table.insert(plan, 1, #lru > 1 and lru_change(ui, rows) or lru[1])
    end
    return plan
end

-- The range of a row, what undo sets, or what it needs.
local function note_of(row, changed)
    return row.refusal or changed and "undo: " .. (row.name == "geometry" and "revert" or row.now or "")
        or row.form == "number" and change.range(row)
        or row.form == "text" and "auto, factor N, sizes N,N" or row.choices
end

-- The column of a row's note. A row that cannot be set has no new value: a long reason takes the room of the new value
-- and the source.
local function note_x(row, width)
    local is_behind = not row.refusal or row.source and cells.width_of(row.refusal) <= width - NOTE_X
    return is_behind and NOTE_X or NEW_X
end

local function draw_row(ui, grid, area, y, row)
    local changed, is_narrow = is_changed(ui, row), area.width < NARROW_WIDTH
    local style, new_style = row.refusal and cells.DIM or cells.PLAIN, changed and cells.STRONG or cells.DIM
    local new_x = is_narrow and NARROW_NEW_X or NEW_X
    grid:text(y, area.x, cells.STRONG, changed and "*" or "")
    grid:text_fit(y, area.x + LABEL_X, NOW_X - LABEL_X - 1, style, row.label)
    grid:text_fit(y, area.x + NOW_X, is_narrow and NARROW_NOW_WIDTH or NEW_X - NOW_X - 1, style, row.now or "-")
    grid:text_fit(y, area.x + new_x, is_narrow and area.width - new_x - 1 or SOURCE_X - NEW_X - 1, new_style,
        changed and ui.tune.wanted[row.name] or row.refusal and (is_narrow and row.refusal or "") or "·")
    if is_narrow then
        return
    end
    local x, note = note_x(row, area.width), note_of(row, changed)
    if x == NOTE_X then
        grid:text_fit(y, area.x + SOURCE_X, NOTE_X - SOURCE_X - 1, style, row.source or "")
    end
    local room = area.width - x
    if cells.width_of(note) > room then -- the panel has the complete note
        note = (note:sub(1, room - 1):match("^.*[ |]") or "") .. "…"
    end
    grid:text_fit(y, area.x + x, room, new_style, note)
end

local function draw_heads(grid, area, tune, more)
    local function head(x, text)
        grid:text(area.y, area.x + x, cells.HEADER, text)
    end
    grid:head(area.y, area.x, area.width, "")
    grid:text_fit(area.y, area.x + LABEL_X, NOW_X - LABEL_X - 1, cells.HEADER,
        tune.filter ~= "" and filter.words(tune.filter):sub(2) or "SETTING")
    head(NOW_X, "NOW")
    head(area.width < NARROW_WIDTH and NARROW_NEW_X or NEW_X, "NEW")
    if area.width >= NARROW_WIDTH then
        head(SOURCE_X, "SOURCE")
        head(NOTE_X, narrow.fitting(area.width - NOTE_X - cells.width_of(more), ", ", { "RANGE", "UNDO", "NEEDS" }))
    end
    grid:text_right(area.y, area.x + area.width, cells.HEADER, more)
end

-- Draws a text and takes its rows from `left`. One that does not fit ends after a comma or full stop.
local function put_text(grid, left, style, text)
    local shown, head = text or "", text or ""
    while cells.rows_of(shown, left.width) > left.height do
        head = head:match("^(.*[.,;:]) ")
        if not head then
            return
        end
        shown = head .. " …"
    end
    local rows = grid:paragraph(left, style, shown)
    left.y, left.height = left.y + rows, left.height - rows
end

-- Draws the parts of the row that the table had no room for.
local function put_whole_row(grid, left, row, changed)
    local parts, is_narrow, note = {}, left.width < NARROW_WIDTH, note_of(row, changed)
    if cells.width_of(row.now or "") > (is_narrow and NARROW_NOW_WIDTH or NEW_X - NOW_X - 1) then
        parts[1] = ("now %s; "):format(row.now)
    end
    if is_narrow or cells.width_of(note) > left.width - note_x(row, left.width) then
        parts[#parts + 1] = (note:find("|", 1, true) and "one of " or "") .. note:gsub("|", ", ")
    end
    put_text(grid, left, row.refusal and cells.WARN or cells.STRONG, table.concat(parts))
end

-- Draws all policies with the hit ratios of their miniature caches: "lru 91.0% -1.2±0.3". expects: a forecast that
-- stands above, or nil; it says already why no policy was compared.
local function put_policies(frame, grid, left, expects)
    if left.height <= 0 or not detail.is_ready(frame, "whatif", grid, left) then
        return
    end
    local whatif = frame.model.answers:parsed("whatif")
    local texts = { #whatif.policies == 0 and not expects and "what-if: " .. tostring(whatif.totals.why or "") or nil }
    for _, policy in ipairs(question.ask(frame.model, "slate.judge.curves", "compared")) do
        texts[#texts + 1] = policy.text
    end
    put_text(grid, left, cells.PLAIN, table.concat(texts, ",  "))
end

-- Draws the values to choose from, a line each with its effect, if all have room.
local function put_values(grid, left, row)
    local values = row.form == "choice" and settings_shown.values(row) or {}
    for i, value in ipairs(#values < left.height and values or {}) do
        grid:text(left.y + i, left.x, cells.STRONG, value == row.now and "●" or "")
        grid:text_fit(left.y + i, left.x + 2, left.width - 2, cells.PLAIN,
            ("%-10s %s"):format(value, settings_shown.value_words(row.name, value)))
    end
end

-- Draws the meaning of the row under the cursor, the new value's effect, and the server's words.
local function draw_panel(frame, ui, grid, area, row)
    local model, changed = frame.model, is_changed(ui, row)
    local left = cells.area(area.y + 1, area.x, area.height - 2, area.width)
    grid:rule(area.y, area.x, area.width, row.label)
    local expects = changed and change.forecast_of(change.forecast(model, change_of(ui, row)), "expects")
    put_text(grid, left, cells.STRONG, expects)
    put_whole_row(grid, left, row, changed)
    if row.name == "slab_automove" then
        put_text(grid, left, cells.BAD, moves.failure((model.answers:parsed("moves"))))
    end
    if (row.name == "policy" or row.name == "class_policy") and model.now.slated then
        put_policies(frame, grid, left, expects)
    else
        local entry = explain.entry(change.term(row.name)) or {}
        put_text(grid, left, cells.PLAIN, entry.meaning)
        put_text(grid, left, cells.DIM, entry["do"])
    end
    put_values(grid, left, row)
    grid:text_fit(area.y + area.height - 1, area.x, area.width, cells.DIM,
        frame.locked and frame.locked .. ": nothing can be sent"
        or "- + or Enter choose a new value; t reviews all of them, and sends nothing")
end

function M.draw(frame, ui, grid, area)
    local rows, tune = rows_of(frame, ui), ui.tune
    if #rows == 0 then
        local below = cells.area(area.y + 1, area.x, area.height - 1, area.width)
        draw_heads(grid, area, tune, "")
        if #all_rows(frame, ui) > 0 or detail.is_ready(frame, "settings", grid, below) then
            grid:text_fit(below.y, below.x, below.width, cells.DIM,
                ("no setting has '%s' in its row: / changes that"):format(tune.filter))
        end
        return
    end
    local panel = area.height >= 14 and math.max(PANEL_ROWS, area.height - 1 - #rows) or 0
    local foot = panel == 0 and area.height >= FOOT_FROM_HEIGHT and FOOT_ROWS or 0
    local room = math.max(area.height - 1 - panel - foot, 1)
    list.draw(grid, cells.area(area.y + 1, area.x, room, area.width), tune, tune.cursor, #rows, function(y, i)
        draw_row(ui, grid, area, y, rows[i])
    end)
    if panel > 0 then
        draw_panel(frame, ui, grid, cells.area(area.y + 1 + math.min(#rows, room), area.x, panel, area.width),
            rows[tune.cursor])
    elseif foot > 0 then
        put_whole_row(grid, cells.area(area.y + 1 + room, area.x, foot, area.width), rows[tune.cursor],
            is_changed(ui, rows[tune.cursor]))
    end
    local more = narrow.more(tune.top, room, #rows)
    draw_heads(grid, area, tune, more ~= "" and " " .. more or "")
end

local function say(text, ...)
    return { kind = "say", text = text:format(...) }
end

local function change_value(ui, row, command)
    local tune = ui.tune
    if row.refusal then
        return say("%s: %s", row.label, row.refusal)
    elseif command == "choose" and settings_shown.values(row)[1] then
        picker.open(ui, row.name, tune.wanted[row.name] or row.now, function(value)
            tune.wanted[row.name] = value
        end)
    elseif command == "choose" or command == "edit" then
        tune.edits, tune.typed, tune.typed_why = true, "", ""
    else
        tune.wanted[row.name] = settings_shown.step(row, tune.wanted[row.name] or row.now or "",
            command == "more" and 1 or -1)
    end
end

--- Opens Tune where a new value of a setting is typed, after the text `before`.
function M.type(frame, ui, name, before)
    local tune = ui.tune
    view_list.open(ui, view_list.index("tune"))
    tune.filter = ""
    for i, row in ipairs(rows_of(frame, ui)) do
        tune.cursor = row.name == name and i or tune.cursor
    end
    tune.edits, tune.typed, tune.typed_why = true, before, ""
    return say("type the rest of the value, then Enter; t reviews it")
end

function M.command(frame, ui, command)
    local rows, tune = rows_of(frame, ui), ui.tune
    if #rows == 0 then
        return nil
    end
    tune.cursor = keys.step(tune.cursor, keys.move_rows(command, SCREEN_ROWS), #rows)
    local row = rows[tune.cursor]
    if command == "less" or command == "more" or command == "choose" or command == "edit" then
        return change_value(ui, row, command)
    elseif command == "reset" then
        tune.wanted[row.name] = nil
    elseif command == "review" then
        local plan = plan_of(ui, all_rows(frame, ui))
        return #plan > 0 and { kind = "review", plan = plan }
            or say("no new value is chosen: Enter chooses one")
    end
end

-- Why the typed value may not be reviewed; nil if it may. The shares and factors of the LRU are checked here only for
-- their ranges; the review checks them together, when all of them are chosen.
local function why_unsound(frame, ui, row)
    local typed = ui.tune.typed
    if typed == row.now then
        return nil
    elseif not IS_LRU[row.name] then
        return change.why_not(frame.model, change_of(ui, row, typed))
    end
    local number = units.parse_decimal(typed)
    if not (number and number >= row.least and number <= row.most) then
        return ("%s takes a number: %s"):format(row.label, change.range(row))
    end
end

local function take_typed(frame, ui)
    local tune, row = ui.tune, rows_of(frame, ui)[ui.tune.cursor]
    if tune.typed ~= "" and row then
        tune.typed_why = why_unsound(frame, ui, row) or ""
        if tune.typed_why ~= "" then
            return -- typing goes on, with the reason above
        end
        tune.wanted[row.name] = settings_shown.named(row.name, tune.typed)
    end
    tune.edits = false
end

--- A key while a new value is typed.
function M.edit(frame, ui, command, key)
    local tune = ui.tune
    tune.typed_why = ""
    if command == "accept" then
        take_typed(frame, ui)
    elseif command == "cancel" then
        tune.edits = false
    else
        tune.typed = keys.typed(tune.typed, TYPED_BYTES, command, key) or tune.typed
    end
end

M.click = list.click "tune"

--- The terms of the settings last drawn, and which is under the cursor.
function M.terms(ui)
    local terms = gather.values(ui.tune.rows, function(row) return change.term(row.name) end)
    return terms, ui.tune.cursor
end

function M.wants(ui, wants)
    change.add_settings(wants)
    for _, name in ipairs({ "moves", "whatif", "geometry" }) do
        wants.inquiries[name] = true
    end
    local row = ui.tune.rows[ui.tune.cursor]
    if row and is_changed(ui, row) then
        change.add_wants(change_of(ui, row), wants)
    end
end

return M
