-- SPDX-License-Identifier: BSD-3-Clause
--- The review of a plan: its exact commands, the server, the expected gain, the possible cost, and the limits of undo.
--- Only a capital S in this dialog sends.
--
-- ui.review: is_open; kind ("change", "undo" or "redo"); is_for_marked (the change goes to all marked servers); is_seen
-- (the last drawing showed all lines to be sent: else none may be sent); plan; title (of the change that an undo takes
-- back); terms { minutes (0: no trial), evictions_pct, hit_points }; field (the index of the one that keys change);
-- is_typing (the next digit continues the number).
local cells = require "slate.console.cells"
local change = require "slate.console.change"
local health = require "slate.console.health"
local explain = require "slate.console.overlay.explain"
local marked = require "slate.console.marked"
local notes = require "slate.console.review_notes"
local settings_shown = require "slate.facts.settings_shown"

local M = { name = "review", scope = "review" }

local BOX_WIDTH <const>, LABEL_WIDTH <const>, VALUE_BYTES <const> = 76, 12, 15
local POOL <const> = 0

--- A closed review.
function M.state()
    return { is_open = false, is_seen = false }
end

--- Opens the review of a plan with its first number ready for typing. kind: nil for a change; title: of the change that
--- an undo takes back, or a redo makes again; is_for_marked: it goes to all marked servers.
function M.open(ui, plan, kind, title, is_for_marked)
    local copy = {}
    for i, one in ipairs(plan) do
        copy[i] = { from = one.from, to = one.to, pages = one.pages, name = one.name, value = one.value }
    end
    ui.review = { is_open = true, is_seen = false, kind = kind or "change", title = title, plan = copy,
        is_for_marked = is_for_marked, terms = { minutes = 0, evictions_pct = 20, hit_points = 1 },
        field = #plan == 1 and plan[1].pages and 3 or 1 }
end

--- Adds the answers that the review reads.
function M.wants(ui, wants)
    change.add_settings(wants)
    for _, one in ipairs(ui.review.plan) do
        change.add_wants(one, wants)
    end
end

-- fields --------------------------------------------------------------------------------------

local LABELS <const> = { from = "from", to = "to", pages = "pages", value = "value", minutes = "trial",
    evictions_pct = "evict +%", hit_points = "hits -pt" }
local MOST <const> = { from = 999, to = 999, pages = 1000000, minutes = 1440, evictions_pct = 9999, hit_points = 100 }
local LEAST <const> = { pages = 1 }

-- The fields of a review, in their order. An undo has none: its values are fixed.
local function fields_of(review)
    local fields, one = {}, review.plan[1]
    if review.kind ~= "change" then
        return fields
    elseif #review.plan == 1 then
        fields = one.pages and { "from", "to", "pages" } or { "value" }
    end
    fields[#fields + 1] = "minutes"
    if review.terms.minutes > 0 then
        table.move({ "evictions_pct", "hit_points" }, 1, 2, #fields + 1, fields)
    end
    return fields
end

-- The table that holds a field.
local function holder_of(review, field)
    return review.terms[field] and review.terms or review.plan[1]
end

-- The next class with pages in the direction of step; the pool counts as a destination.
local function step_class(now, id, step, may_be_pool)
    local best
    local function consider(one)
        if (one - id) * step > 0 and (not best or (one - best) * step < 0) then
            best = one
        end
    end
    for _, class in ipairs(now and now.classes or {}) do
        if (class.total_pages or 0) > 0 and class.id ~= POOL then
            consider(class.id)
        end
    end
    if may_be_pool then
        consider(POOL)
    end
    return best or id
end

-- The next value of a setting; the policy of a class keeps its class.
local function step_value(model, one, step)
    local row = change.row(model, one.name)
    local value, behind = one.value, ""
    if one.name == "class_policy" then
        value, behind = value:match("^(%S*)(.*)$")
    end
    return row and settings_shown.step(row, value, step) .. behind or one.value
end

local function step_field(review, model, field, step)
    local holder = holder_of(review, field)
    if field == "value" then
        holder.value = step_value(model, holder, step)
    elseif field == "from" or field == "to" then
        holder[field] = step_class(model.now, holder[field], step, field == "to")
    else
        holder[field] = math.max(LEAST[field] or 0, math.min(holder[field] + step, MOST[field]))
    end
end

-- Takes a typed digit or point.
local function type_into(review, field, typed)
    local holder = holder_of(review, field)
    if field == "value" then
        local before = review.is_typing and holder.value or ""
        if #before < VALUE_BYTES and not holder.value:find(" ") then
            holder.value = before .. typed
        end
    elseif typed ~= "." then
        local wanted = (review.is_typing and holder[field] * 10 or 0) + tonumber(typed)
        holder[field] = wanted <= MOST[field] and wanted or tonumber(typed)
    end
end

--- Changes a field, or closes the review. The owner of the server handles "send", and opens the help.
function M.command(frame, ui, command, key)
    local review = ui.review
    local fields = fields_of(review)
    local is_typed = key and key:find("^[%d.]$") ~= nil
    if command == "cancel" and not is_typed then
        review.is_open = false
    end
    if #fields == 0 then
        return
    elseif is_typed then
        type_into(review, fields[review.field], key)
    elseif command == "next_field" or command == "previous_field" then
        review.field = (review.field + (command == "next_field" and 0 or -2)) % #fields + 1
    elseif command == "less" or command == "more" then
        step_field(review, frame.live, fields[review.field], command == "more" and 1 or -1)
    end
    review.is_typing = is_typed
    review.field = math.min(review.field, #fields_of(review)) -- the fields of a trial come and go
end

-- the sheet: its lines from the top -----------------------------------------------------------
--
-- A line: { label, style, text }, or { field, label, text (its note), value, is_current }. is_spare: left out, as blank
-- lines are, if the sheet is too long for the screen. needed: the part of the text that must be seen before it is sent.

local function add(sheet, label, style, text, needed)
    if text and text ~= "" then
        sheet[#sheet + 1] = { label = label, style = style, text = text, needed = needed }
    end
    return sheet[#sheet]
end

local function add_blank(sheet)
    sheet[#sheet + 1] = { is_spare = true }
end

-- Adds the fields of the change (above the commands) or of the trial (below them).
local function add_fields(sheet, frame, ui, of_trial)
    for i, field in ipairs(fields_of(ui.review)) do
        if (ui.review.terms[field] ~= nil) == of_trial then
            local value = holder_of(ui.review, field)[field]
            sheet[#sheet + 1] = { field = field, label = LABELS[field], value = value,
                is_current = i == ui.review.field, text = notes.of(frame, ui, field, value) }
        end
    end
end

local function add_lines(sheet, model, plan)
    for i, one in ipairs(plan) do
        for n, sent in ipairs(change.lines(model, one)) do
            local needed = sent.times == 1 and sent.line or ("%s × %d,"):format(sent.line, sent.times)
            add(sheet, i == 1 and n == 1 and "will send" or "", cells.STRONG,
                needed .. (sent.times == 1 and "" or " one after the other"), needed)
        end
    end
end

-- Adds how many marked servers get the change, or which one refuses. True: it may be sent.
local function add_fleet(sheet, frame, ui)
    local changed, unchanged = marked.check(frame, ui, ui.review.plan)
    local text = unchanged
    if changed then
        text = ("to %d marked server%s"):format(changed, changed == 1 and "" or "s")
        text = text .. (unchanged > 0 and ("; %d of them ha%s the value already"):format(unchanged,
            unchanged == 1 and "s" or "ve") or "")
    end
    add(sheet, changed and "" or "refused", changed and cells.DIALOG or cells.BAD, text, text)
    return changed ~= nil
end

-- Adds the commands and the server, or why they can't be sent; true when they may be sent.
local function add_plan(sheet, frame, ui)
    local review, model = ui.review, frame.live
    for _, one in ipairs(review.is_for_marked and {} or review.plan) do
        local may_repeat = review.kind ~= "change" and not one.pages
        local why = not may_repeat and change.why_not(model, one)
        if why then
            add(sheet, "refused", cells.BAD, why)
            return false
        end
    end
    add_lines(sheet, model, review.plan)
    if #review.plan > 1 then
        add(sheet, "", cells.DIALOG, ("%d changes; it stops at the first that fails"):format(#review.plan))
    end
    if review.is_for_marked then
        return add_fleet(sheet, frame, ui)
    end
    add(sheet, "", cells.DIALOG, "to " .. model.server).is_spare = true
    return true
end

-- Adds the forecasts. With several servers they are for one of them, which is named.
local function add_effects(sheet, review, model, forecasts)
    for _, sentences in ipairs(forecasts) do
        for _, sentence in ipairs(sentences) do
            if sentence.label ~= "undo" then -- add_undo adds it
                local name = review.is_for_marked and sentence.label == "expects" and model.server .. ": " or ""
                add(sheet, sentence.label, health.style(sentence.tone, cells.DIALOG), name .. sentence.text)
            end
        end
    end
    local one = #review.plan == 1 and review.kind == "change" and review.plan[1].name
    local entry = one and explain.entry(change.term(one))
    if entry then
        add(sheet, "what", cells.DIALOG, entry.meaning).is_spare = true
    end
end

local function add_undo(sheet, frame, review, forecasts)
    if review.kind == "change" then
        add(sheet, "undo", cells.DIALOG, review.is_for_marked and "open a server and press u: that takes it back there"
            or #review.plan == 1 and change.forecast_of(forecasts[1], "undo")
            or "u sets all the old values again; items that are gone stay gone")
    end
    if review.terms.minutes > 0 then
        add(sheet, "trial", cells.DIALOG,
            ("goes back after %d min, or at the bounds, or when slatetop is left; K keeps it"):format(
                review.terms.minutes))
    end
    add(sheet, "log", cells.DIALOG, frame.audit_path ~= "" and frame.audit_path or "none: --audit-log names one")
        .is_spare = true
end

-- The whole sheet, and whether the plan may be sent.
local function sheet_of(frame, ui)
    local sheet, review, model, forecasts = {}, ui.review, frame.live, {}
    for i, one in ipairs(review.plan) do
        forecasts[i] = change.forecast(model, one)
    end
    add_blank(sheet)
    add_fields(sheet, frame, ui, false)
    if review.kind ~= "change" then
        add(sheet, review.kind == "redo" and "redoes" or "undoes", cells.DIALOG, review.title)
    end
    if #review.plan == 1 or review.kind ~= "change" then
        add_blank(sheet)
    end
    local is_allowed = add_plan(sheet, frame, ui)
    add_blank(sheet)
    add_effects(sheet, review, model, forecasts)
    add_fields(sheet, frame, ui, true)
    add_undo(sheet, frame, review, forecasts)
    add_blank(sheet)
    return sheet, is_allowed
end

-- drawing -------------------------------------------------------------------------------------

local function rows_of(line, width)
    return line.text and not line.field and cells.rows_of(line.text, width - LABEL_WIDTH) or 1
end

local function draw_field(grid, y, area, line)
    grid:text(y, area.x, cells.DIALOG, ("%s %-8s"):format(line.is_current and "▶" or " ", line.label))
    local x = grid:text(y, area.x + LABEL_WIDTH - 1, cells.STRONG | (line.is_current and cells.SELECTED or 0),
        ("[%4s]"):format(line.value)) + 2
    grid:text_fit(y, x, area.x + area.width - x, cells.DIALOG, line.text)
end

-- Draws the sheet from the top, without the last row, as far as there is room. True if all that must be seen is seen.
local function draw_sheet(grid, area, sheet, is_compact)
    local y, y_end, is_seen = area.y, area.y + area.height - 1, true
    for _, line in ipairs(sheet) do
        local room, rows = y_end - y, rows_of(line, area.width)
        if not (is_compact and line.is_spare) then
            if line.needed and cells.rows_of(line.needed, area.width - LABEL_WIDTH) > room then
                is_seen = false
            end
            if room > 0 and line.field then
                draw_field(grid, y, area, line)
            elseif room > 0 and line.text then
                grid:text(y, area.x, cells.DIALOG, ("  %-9s"):format(line.label))
                grid:paragraph(cells.area(y, area.x + LABEL_WIDTH, room, area.width - LABEL_WIDTH), line.style,
                    line.text)
            end
            y = math.min(y + rows, math.max(y_end, y))
        end
    end
    return is_seen
end

local HEADINGS <const> = { redo = "Redo: review", undo = "Undo: review" }

local function heading_of(review)
    local one = review.plan[1]
    return HEADINGS[review.kind] or #review.plan > 1 and "Changes: review" or one.pages and "Move pages: review"
        or one.name == "slab_automove" and "Automove: review" or change.label(one.name)
end

local function verdict_of(frame, is_allowed, is_seen)
    if frame.locked then
        return ("Esc closes.   %s: nothing can be sent"):format(frame.locked), cells.WARN
    elseif not is_allowed then
        return "Esc cancels.   Change the fields until it can be sent", cells.WARN
    elseif not is_seen then
        return "S needs a higher window to send.   Esc cancels", cells.WARN
    end
    return "capital S sends it.   Esc cancels.   Enter never sends", cells.STRONG
end

--- Draws the review, and notes in ui.review.is_seen whether all lines to send were drawn.
function M.draw(frame, ui, grid)
    local review = ui.review
    local width, most = math.min(grid.width, BOX_WIDTH), grid.height - 3
    local sheet, is_allowed, height = {}, false, 3
    if frame.live.now then
        sheet, is_allowed = sheet_of(frame, ui)
        for _, line in ipairs(sheet) do
            height = height + rows_of(line, width - 4)
        end
    else
        height = most
    end
    local is_compact = height > most
    height = math.min(height, most)
    local box = cells.area((grid.height - height) // 2, (grid.width - width) // 2, height, width)
    grid:box(box, heading_of(review))
    if not frame.live.now then
        return
    end
    local inside = cells.area(box.y + 1, box.x + 2, height - 2, width - 4)
    review.is_seen = draw_sheet(grid, inside, sheet, is_compact)
    local verdict, style = verdict_of(frame, is_allowed, review.is_seen)
    grid:text_fit(inside.y + inside.height - 1, inside.x + 2, inside.width - 2, style, verdict)
end

return M
