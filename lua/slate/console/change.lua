-- SPDX-License-Identifier: BSD-3-Clause
--- One change (of slate.act.shown) before it is sent: the rows of settings, whether the server takes the change, its
--- exact lines, and its forecast. Functions of a model.
local find = require "slate.base.find"
local geometry = require "slate.facts.geometry"
local question = require "slate.console.question"
local server = require "slate.console.server"
local settings = require "slate.facts.settings"
local settings_shown = require "slate.facts.settings_shown"
local shown = require "slate.act.shown"

local M = {}

local ENDLESS <const> = 1e9

--- The settings of the server (of slate.facts.settings_shown.list); none before its first snapshot. class_id: the class
--- of the row class_policy; nil: none. is_past: the snapshot is a recorded one, which lacks some settings of a slated.
function M.rows(model, class_id, is_past)
    local now, who = model.now, model.now and server.who(model.now)
    if who and who.slated then
        who.is_past = is_past
    end
    return now and settings_shown.list(who, model.answers:replies(now), class_id or 0) or {}
end

--- The row of a name; nil if there is none.
function M.row(model, name, class_id)
    local _, row = find.by(M.rows(model, class_id), "name", name)
    return row
end

--- "automove mode": the label of a setting; its name if it has no row.
function M.label(name)
    return (settings.row(name) or {}).label or name
end

--- "1 to 80": the range of a number; "8 or more" where no server comes near the end.
function M.range(row)
    return row.most < ENDLESS and ("%.7g to %.10g"):format(row.least, row.most) or ("%.7g or more"):format(row.least)
end

--- The setting's term in man/explain.txt.
function M.term(name)
    return (settings.row(name) or {}).term or name
end

-- Why the server is known to refuse other chunk sizes; nil if it is not.
local function why_refused(model, change)
    local one = change.name == "geometry" and model.answers.predictions:of(change.value)
    if not one or one.would_be_made then
        return nil
    end
    return "the server would refuse it: " .. (one.items_pct and ("it brings less than %d %% more items; "
        .. ":set chunk sizes %s force changes them even so"):format(geometry.GAIN_LEAST_PCT, change.value) or one.words)
end

--- Why a change may not be sent to the server now: a sentence, and a code of slate.act.shown; nil if it may.
function M.why_not(model, change)
    local now = model.now
    if not now then
        return "nothing is known about the server yet", "no"
    elseif not model.observer then
        return question.why_unjudged(model), "no"
    end
    local why, code = shown.why_not(model.observer, server.who(now), model.answers:replies(now), change)
    if why then
        return why, code
    end
    return why_refused(model, change), "usage"
end

--- What an undo leaves to other clients: by index in its changes, why it would overwrite another's value, of
--- slate.act.shown; and the first of these sentences if it leaves all of them.
function M.set_since(model, changes)
    local whys, count, first = {}, 0, nil
    for i, one in ipairs(model.now and changes or {}) do
        whys[i] = shown.why_set_since(model.answers:replies(model.now), one)
        count, first = count + (whys[i] and 1 or 0), first or whys[i]
    end
    return whys, count == #changes and first or nil, count
end

--- The lines that the change sends: a list of { line, times }.
function M.lines(model, change)
    local now = model.now
    return now and shown.lines(server.who(now), model.answers:replies(now), change) or {}
end

-- True for orders of chunk sizes that the server can predict. Pausing and going on need no figures.
local function is_predicted(order)
    return order:find("^factor ") or order:find("^sizes ") or order:find("^auto") or order == "revert"
end

-- The server's prediction of other chunk sizes; nil for other changes.
local function outlook(model, change)
    if change.name ~= "geometry" or not is_predicted(change.value) then
        return nil
    end
    local one = model.answers.predictions:of(change.value)
    return one and one.words or "waiting for the server's prediction"
end

--- Sentences on the change, of slate.judge.prediction.change, those that apply.
function M.forecast(model, change)
    return question.ask(model, "slate.judge.prediction", "change",
        { change = change, outlook = outlook(model, change) })
end

--- Sentences on moves that are sent together.
function M.forecast_of_moves(model, moves)
    return question.ask(model, "slate.judge.prediction", "change", { changes = moves })
end

--- The forecast with this label, as text; nil if there is none.
function M.forecast_of(sentences, label)
    local _, sentence = find.by(sentences, "label", label)
    return sentence and sentence.text
end

local function add(wants, ...)
    for _, name in ipairs({ ... }) do
        wants.inquiries[name] = true
    end
end

--- Adds the inquiries by which the server's settings are known.
function M.add_settings(wants)
    add(wants, "settings", "config", "policies")
end

--- Adds what the forecast of a change needs.
function M.add_wants(change, wants)
    if change.pages then
        add(wants, "class_curves", "curve")
        for _, id in ipairs({ change.from, change.to }) do
            wants.curves_first[#wants.curves_first + 1] = not find.place(wants.curves_first, id) and id or nil
        end
        return
    end
    add(wants, "whatif", "curve", "geometry")
    local class_id = change.name == "class_policy" and math.tointeger(tonumber(change.value:match(" (%d+)$")))
    if class_id then
        add(wants, "class_curves")
        wants.curves_first[#wants.curves_first + 1] = class_id
    end
    if change.name == "geometry" and is_predicted(change.value) then
        add(wants, "predictions")
        wants.orders[#wants.orders + 1] = change.value
    end
end

return M
