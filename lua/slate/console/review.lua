-- SPDX-License-Identifier: BSD-3-Clause
--- The review of a plan: its exact commands, the server, the expected gain, the possible cost, and the limits of undo.
--- Only a capital S in this dialog sends.
--
-- ui.review: is_open; kind ("change", "undo" or "redo"); is_for_marked (the change goes to all marked servers); refusal
-- (why S sends nothing, by the last drawing, which must show the whole change and its cost; nil: S sends the plan);
-- plan; title (of the change that an undo takes back); taken (of an undo on marked servers: the changes, by model);
-- terms { minutes (0: no trial), evictions_pct, hit_points }; field (the index of the one that keys change); is_typing
-- (the next digit continues the number). Several moves of pages are a plan: each is a field, its pages.
local cells = require "slate.console.cells"
local change = require "slate.console.change"
local gather = require "slate.base.gather"
local health = require "slate.console.health"
local explain = require "slate.console.overlay.explain"
local fields = require "slate.console.review_fields"
local marked = require "slate.console.marked"
local units = require "slate.base.units"

local M = { name = "review", scope = "review" }

local BOX_WIDTH <const>, LABEL_WIDTH <const>, STEP_WIDTH <const> = 76, 12, 26
local NAMES_MOST <const> = 12
--- The refusal of a review that no drawing has shown.
M.UNSEEN = "this screen has no room for all that would be sent"

--- A closed review.
function M.state()
    return { is_open = false }
end

--- Opens the review of a plan at the last field of the change, so that the next one is the trial. kind: nil for a
--- change; title: of the change that an undo takes back, or a redo makes again; is_for_marked: it goes to all marked
--- servers.
function M.open(ui, plan, kind, title, is_for_marked)
    local copy = gather.values(plan, function(one) return gather.copy(one) end)
    ui.review = { is_open = true, refusal = M.UNSEEN, kind = kind or "change", title = title, plan = copy,
        is_for_marked = is_for_marked, terms = { minutes = 0, evictions_pct = 20, hit_points = 1 } }
    ui.review.field = fields.last_of_change(ui.review)
end

--- Adds the answers that the review reads.
function M.wants(ui, wants)
    change.add_settings(wants)
    for _, one in ipairs(ui.review.plan) do
        change.add_wants(one, wants)
    end
end

--- Changes a field, or closes the review. The owner of the server handles "send", and opens the help.
function M.command(frame, ui, command, key)
    local review = ui.review
    local list = fields.of(review)
    local is_typed = key and key:find("^[%d.]$") ~= nil
    if command == "cancel" and not is_typed then
        review.is_open = false
    end
    if #list == 0 then
        return
    elseif is_typed then
        fields.type(review, list[review.field], key)
    elseif command == "remove" then
        fields.remove(review)
    elseif command == "next_field" or command == "previous_field" then
        review.field = math.max(1, math.min(review.field + (command == "next_field" and 1 or -1), #list))
    elseif command == "less" or command == "more" then
        fields.step(frame.live, list[review.field], command == "more" and 1 or -1)
    end
    review.is_typing = is_typed
    review.field = math.min(review.field, #fields.of(review)) -- the fields of a trial come and go
end

--- True if a command does something in a review: the key bar leaves out the others.
function M.has(review, command)
    if command == "send" then
        return not review.refusal
    elseif command == "remove" then
        return fields.has_steps(review)
    end
    return command == "help" or command == "cancel" or #fields.of(review) > 0
end

-- The sheet: its lines from the top.
--
-- A line: { label, style, text }, or { label, text (its note), value, is_current, width (of the label) } of a field.
-- spare: left out if the sheet is too long for the screen, first lines with 1, as blank ones, then those with 2; those
-- with 3 only where what must be seen has no room.
-- needed: the part of the text that must be seen before the plan is sent; "" of a field: its value.

local function add(sheet, label, style, text, needed)
    if text and text ~= "" then
        sheet[#sheet + 1] = { label = label, style = style, text = text, needed = needed }
    end
    return sheet[#sheet]
end

local function add_blank(sheet)
    sheet[#sheet + 1] = { spare = 1 }
end

-- Adds the fields of the change (above the commands) or of the trial (below them).
local function add_fields(sheet, frame, ui, of_trial)
    local review = ui.review
    for i, field in ipairs(fields.of(review)) do
        if (field.of == review.terms) == of_trial and not (fields.has_steps(review) and review.plan[i]) then
            local value = field.of[field.name]
            local is_current, of_plan = i == review.field, field.of ~= review.terms
            local note, effect = fields.note(frame, ui, field)
            sheet[#sheet + 1] = { label = field.label, value = value, is_current = is_current, text = note,
                needed = (of_plan or is_current or review.terms.minutes > 0) and "" or nil }
            add(sheet, "then", cells.DIALOG, effect)
        end
    end
end

-- Adds a row for each step of a plan: what is sent, its pages, and what it brings. A memcached gets the command so many
-- times, a slated once, with the number in it.
local function add_steps(sheet, frame, review, forecast)
    local brings = gather.values(forecast, function(sentence)
        return sentence.label == "step" and sentence.text or nil
    end)
    local lines, width = {}, STEP_WIDTH
    for i, one in ipairs(review.plan) do
        lines[i] = change.lines(frame.live, one)[1].line .. (frame.live.now.slated and "" or " ×")
        width = math.max(width, cells.width_of(lines[i]) + 4)
    end
    add(sheet, "will send", cells.DIALOG,
        "from, to" .. (" "):rep(width - LABEL_WIDTH - #"from, to") .. "pages  points of hits").spare = 3
    for i, one in ipairs(review.plan) do
        sheet[#sheet + 1] = { label = lines[i], width = width, value = one.pages, is_current = i == review.field,
            needed = brings[i] or "-", text = brings[i] or "-" }
    end
end

-- The lines that a plan sends to a server: a list of { needed, rest }.
local function lines_of(model, plan)
    local list, left = {}, change.set_since(model, plan)
    for i, one in ipairs(plan) do
        for _, sent in ipairs(left[i] and {} or change.lines(model, one)) do
            list[#list + 1] = sent.times == 1 and { needed = sent.line, rest = "" }
                or { needed = ("%s × %d,"):format(sent.line, sent.times), rest = " one after the other" }
        end
    end
    return list
end

local function add_lines(sheet, lines)
    for i, line in ipairs(lines) do
        add(sheet, i == 1 and "will send" or "", cells.STRONG, line.needed .. line.rest, line.needed)
    end
end

-- Adds the lines for marked servers, once for those that get the same; or which refuse. Returns as add_plan.
local function add_fleet(sheet, frame, ui)
    local targets, unchanged, is_of_values = marked.targets(frame, ui, ui.review)
    local groups = {}
    for _, target in ipairs(targets or {}) do
        local lines, key = lines_of(target.model, target.changes), ""
        for _, line in ipairs(lines) do
            key = key .. line.needed .. "\n"
        end
        local group = groups[key] or { lines = lines, names = {} }
        groups[#groups + 1], groups[key] = not groups[key] and group or nil, group
        group.names[#group.names + 1] = target.model.server
    end
    for _, group in ipairs(groups) do
        local names = "to " .. marked.names(group.names, NAMES_MOST)
        add_lines(sheet, group.lines)
        add(sheet, "", cells.DIALOG, names, names)
    end
    if not targets then
        return unchanged, is_of_values
    elseif unchanged > 0 then
        add(sheet, "", cells.DIALOG, ("%s ha%s the value already"):format(units.plural(unchanged, "marked server"),
            unchanged == 1 and "s" or "ve"))
    end
end

-- Adds the commands and the servers. Returns why they can't be sent, and true if other values could be; nil: they can.
local function add_plan(sheet, frame, ui, forecasts)
    local review, model = ui.review, frame.live
    local why, is_of_values, code, left
    local left_count = 0
    if review.is_for_marked then
        why, is_of_values = add_fleet(sheet, frame, ui)
        if why then
            return why, is_of_values
        end
    else
        why = health.why_unreachable(frame)
        if why then
            return why, false
        elseif fields.has_steps(review) then
            add_steps(sheet, frame, review, forecasts[1])
        end
        for _, one in ipairs(review.plan) do
            why, code = change.why_not(model, one)
            if why and (review.kind == "change" or one.pages) then
                return why, code == "usage"
            end
        end
        left, why, left_count = change.set_since(model, review.plan)
        if why then
            return why, false
        end
        add_lines(sheet, fields.has_steps(review) and {} or lines_of(model, review.plan))
        for i = 1, #review.plan do
            add(sheet, "leaves", cells.WARN, left[i])
        end
    end
    if #review.plan - left_count > 1 then
        add(sheet, "", cells.DIALOG, ("%d %s; it stops at the first that fails"):format(#review.plan - left_count,
            fields.moves_only(review.plan) and "moves" or "changes")).spare = 2
    end
end

-- Adds the forecasts. With several servers they are for one of them, which is named. must_be_seen: before it is sent.
local function add_effects(sheet, review, model, forecasts, must_be_seen)
    local last
    for _, sentences in ipairs(forecasts) do
        for _, sentence in ipairs(sentences) do
            local label = sentence.label
            if label ~= "undo" and label ~= "step" then -- others add them
                local name = review.is_for_marked and label == "expects" and model.server .. ": " or ""
                local style = health.style(sentence.tone, cells.DIALOG)
                local text = name .. sentence.text
                add(sheet, label ~= last and label or "", style, text, must_be_seen and text or nil)
                last = label
            end
        end
    end
    local one = #review.plan == 1 and review.kind == "change" and review.plan[1].name
    local entry = one and explain.entry(change.term(one))
    if entry then
        add(sheet, "what", cells.DIALOG, entry.meaning).spare = 1
    end
end

local function add_undo(sheet, frame, review, forecasts)
    if review.kind == "change" then
        add(sheet, "undo", cells.DIALOG, review.is_for_marked
            and "u in Fleet takes it back on all of them, while they are marked"
            or #forecasts == 1 and change.forecast_of(forecasts[1], "undo")
            or "u sets all the old values again; items that are gone stay gone")
    end
    if review.terms.minutes > 0 then
        add(sheet, "trial", cells.DIALOG,
            ("goes back after %d min, or at the bounds, or when slatetop is left; K keeps it"):format(
                review.terms.minutes))
    end
    add(sheet, "log", cells.DIALOG, frame.audit_path ~= "" and frame.audit_path or "none: --audit-log names one")
        .spare = 1
end

-- The forecast of each change; moves of pages have one together.
local function forecasts_of(model, plan)
    if fields.moves_only(plan) then
        return { change.forecast_of_moves(model, plan) }
    end
    return gather.values(plan, function(one) return change.forecast(model, one) end)
end

-- The whole sheet, and as add_plan.
local function sheet_of(frame, ui)
    local sheet, review, model = {}, ui.review, frame.live
    local forecasts = forecasts_of(model, review.plan)
    add_blank(sheet)
    add_fields(sheet, frame, ui, false)
    if review.kind ~= "change" then
        add(sheet, review.kind == "redo" and "redoes" or "undoes", cells.DIALOG, review.title)
    end
    if #review.plan == 1 or review.kind ~= "change" then
        add_blank(sheet)
    end
    local why, is_of_values = add_plan(sheet, frame, ui, forecasts)
    add(sheet, "refused", cells.BAD, why, why)
    add_blank(sheet)
    add_effects(sheet, review, model, forecasts, why == nil)
    add_fields(sheet, frame, ui, true)
    add_undo(sheet, frame, review, forecasts)
    add_blank(sheet)
    return sheet, why, is_of_values
end

local function rows_of(line, width)
    return line.text and not line.value and cells.rows_of(line.text, width - LABEL_WIDTH) or 1
end

-- The rows of a sheet in its box.
local function height_of(sheet, width, spared)
    local rows = 3
    for _, line in ipairs(sheet) do
        rows = rows + ((line.spare or math.huge) <= spared and 0 or rows_of(line, width - 4))
    end
    return rows
end

-- True if all that must be seen is seen.
local function draw_field(grid, y, area, line)
    grid:text(y, area.x, cells.DIALOG, (line.is_current and "▶ " or "  ") .. line.label)
    local x = area.x + (line.width or LABEL_WIDTH) - 1
    x = grid:text(y, x, cells.STRONG | (line.is_current and cells.SELECTED or 0),
        ("[%4s]"):format(line.value)) + 2
    local room = area.x + area.width - x
    grid:text_fit(y, x, room, cells.DIALOG, line.text)
    return (line.needed or "") == "" or cells.width_of(line.needed) <= room
end

-- Draws the sheet from the top, without the last row, as far as there is room. Returns how many rows what must be seen
-- lacks, and whether a row is too narrow for it.
local function draw_sheet(grid, area, sheet, spared)
    local y, y_end, lacking_rows, is_narrow = area.y, area.y + area.height - 1, 0, false
    for _, line in ipairs(sheet) do
        if (line.spare or math.huge) > spared then
            local room = y_end - y
            if line.needed then
                local rows = line.value and 1 or cells.rows_of(line.needed, area.width - LABEL_WIDTH)
                lacking_rows = math.max(lacking_rows, rows - room)
            end
            if room > 0 and line.value then
                is_narrow = not draw_field(grid, y, area, line) or is_narrow
            elseif room > 0 and line.text then
                grid:text(y, area.x, cells.DIALOG, ("  %-9s"):format(line.label))
                grid:paragraph(cells.area(y, area.x + LABEL_WIDTH, room, area.width - LABEL_WIDTH), line.style,
                    line.text)
            end
            y = y + rows_of(line, area.width)
        end
    end
    return lacking_rows, is_narrow
end

local HEADINGS <const> = { redo = "Redo: review", undo = "Undo: review" }

-- The title: what is reviewed, and where it goes; of an address that is too long, the end.
local function heading_of(frame, ui, width)
    local review = ui.review
    local one, to = review.plan[1], frame.live.server
    if review.is_for_marked then
        local targets = marked.targets(frame, ui, review)
        to = units.plural(targets and #targets or marked.count(ui), "marked server")
    end
    local what = (HEADINGS[review.kind] or fields.has_steps(review) and "Plan of moves: review"
        or #review.plan > 1 and "Changes: review" or one.pages and "Move pages: review"
        or one.name == "slab_automove" and "Automove: review" or change.label(one.name)) .. ", to "
    local excess = cells.width_of(what .. to) - width
    return what .. (excess > 0 and "…" .. to:sub(excess + 2) or to)
end

-- The words for a plan that is refused: what the operator can do.
local function refused_words(review, is_of_values)
    local first = fields.of(review)[1]
    return is_of_values and first and first.of ~= review.terms and "Change the fields until it can be sent"
        or review.is_for_marked and "Nothing is sent while a marked server refuses" or "Nothing can be sent now"
end

-- Why S sends nothing (nil: it sends), and the words and the style of the last row. lacking_rows, is_narrow: of
-- draw_sheet; why, is_of_values: of add_plan.
local function verdict_of(frame, review, lacking_rows, is_narrow, why, is_of_values)
    if frame.locked then
        return frame.locked, ("Esc closes.   %s: nothing can be sent"):format(frame.locked), cells.WARN
    elseif lacking_rows > 0 or is_narrow then
        return why or M.UNSEEN, ("%s needs %s.  Esc cancels"):format(why and "The reason" or "S",
            lacking_rows > 0 and units.plural(lacking_rows, "more row") or "more columns"), cells.WARN
    elseif why then
        return why, "Esc cancels.   " .. refused_words(review, is_of_values), cells.WARN
    end
    return nil, "capital S sends it.   Esc cancels.   Enter never sends", cells.STRONG
end

--- Draws the review, and notes in ui.review.refusal why S sends nothing.
function M.draw(frame, ui, grid)
    local review = ui.review
    local width, most = math.min(grid.width, BOX_WIDTH), grid.height - 3
    local sheet, why, is_of_values = {}, nil, nil
    if frame.live.now then
        sheet, why, is_of_values = sheet_of(frame, ui)
    end
    local spared = 0 -- lines with at most this `spare` are left out
    while spared < 2 and height_of(sheet, width, spared) > most do
        spared = spared + 1
    end
    local height = frame.live.now and math.min(height_of(sheet, width, spared), most) or most
    local box = cells.area((grid.height - height) // 2, (grid.width - width) // 2, height, width)
    grid:box(box, heading_of(frame, ui, width - 6))
    if not frame.live.now then
        return
    end
    local inside = cells.area(box.y + 1, box.x + 2, height - 2, width - 4)
    local lacking_rows, is_narrow = draw_sheet(grid, inside, sheet, spared)
    if lacking_rows > 0 and spared == 2 then
        grid:box(box, heading_of(frame, ui, width - 6))
        lacking_rows, is_narrow = draw_sheet(grid, inside, sheet, 3)
    end
    local verdict, style
    review.refusal, verdict, style = verdict_of(frame, review, lacking_rows, is_narrow, why, is_of_values)
    grid:text_fit(inside.y + inside.height - 1, inside.x + 2, inside.width - 2, style, verdict)
end

return M
