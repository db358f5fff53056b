-- SPDX-License-Identifier: BSD-3-Clause
--- Settings as slatetop shows them: the rows of its Tune view, the steps between values, and checks before a value is
-- sent. Pure. slate.facts.settings has the table of settings.
local gather = require "slate.base.gather"
local geometry = require "slate.facts.geometry"
local settings = require "slate.facts.settings"
local settings_change = require "slate.facts.settings_change"

local M = {}

-- Settings that `stats settings` does not show, or not completely.
local SHOWN_ELSEWHERE <const> = { policy = true, class_policy = true, geometry = true, slab_geometry_rate = true,
    sample_rate = true }

--- Why the value `shown`, in the form that slatetop shows, may not be sent; nil if it may. replies: as for `list`.
function M.check_shown(who, replies, name, shown)
    local row = settings.row(name)
    if not row then
        return ("there is no setting %s"):format(name), "unsupported"
    end
    local values, traits = settings.values(replies)
    local is, why, code = settings_change.check(row, settings.text(row, shown), who, values, traits, row.label)
    if not is then
        return row.unit and why:gsub("a number of bytes", "a number of MiB") or why, code -- a number is shown in MiB
    elseif not SHOWN_ELSEWHERE[name] and settings.same(name, is, settings.value(values, name, is)) then
        return ("%s is %s already: choose another value"):format(row.label, shown), "usage"
    end
end

-- memcached has the sizes of its growth factor for ever.
local function geometry_now(who, replies, values)
    local stats = {}
    settings.each_stat(replies.geometry, function(name, text) stats[name] = text end)
    if not tonumber(stats.classes) then
        return not who.slated and values.growth_factor or nil
    end
    return ("%s sizes%s"):format(stats.classes, stats.state == "steady" and "" or ", " .. (stats.state or ""))
end

-- The present value of a row, as shown; nil if the server does not report it.
local function now_of(row, who, replies, values, class_id)
    local name = row.name
    if name == "geometry" then
        return geometry_now(who, replies, values)
    elseif name == "class_policy" then
        return (settings.value(values, name, "- " .. class_id) or ""):match("^%S+")
    elseif name == "policy" then
        return (values.policy or ""):match("^%S+")
    end
    return values[name] and settings.shown(row, values[name])
end

--- The rows of the Tune view: { name, label, form = "number" | "choice" | "text", now, source, choices, least, most,
-- step, refusal }, values as shown; unknown ones are absent. replies: settings, config, policies and geometry;
-- class_id: the class of class_policy, 0 for none.
function M.list(who, replies, class_id)
    local values, traits = settings.values(replies)
    local list = {}
    for i, row in ipairs(settings.ROWS) do
        local now = now_of(row, who, replies, values, class_id)
        local least, most, choices = settings_change.limits(row, traits)
        local of_class, unit = row.name == "class_policy", row.unit or 1
        list[i] = {
            name = row.name, now = now, source = who.slated and traits[row.name .. ":source"] or nil,
            choices = settings.shown_choices(row, choices),
            label = of_class and class_id > 0 and ("policy of class %d"):format(class_id) or row.label,
            form = row.step and "number" or row.name == "geometry" and "text" or "choice",
            least = least and least / unit, most = most and most / unit, step = row.step and row.step / unit,
            refusal = settings_change.refusal(row, who, values, now)
                or of_class and class_id == 0 and "choose it in Classes" or nil,
        }
    end
    return list
end

local AUTO <const> = "auto"
local FORMS <const> = "auto|factor N|sizes N,N|pause|resume|revert"

--- The effect of a value of a setting, in words; "" if there is no text.
function M.value_words(name, shown)
    local about = (settings.row(name) or {}).about or {}
    local mode = name == "slab_automove" and require("slate.facts.automove").of(shown)
    return mode and mode.words or about[shown] or about[shown:match("^%S*")] or ""
end

local function with_unit(shown, unit)
    return unit and tonumber(shown) and shown .. " " .. unit or shown
end

--- A label and a value as shown, in words: "memory limit", "56 MiB".
function M.label_and_value(label, shown)
    local name, unit = settings.without_unit(label)
    return name, with_unit(shown, unit)
end

--- A change of a setting in words, by its label and its values as shown: "automove window 30 s → 60 s"; and the label
-- in them.
function M.changed(label, was, is)
    local name, unit = settings.without_unit(label)
    return ("%s %s → %s"):format(name, with_unit(was, unit), with_unit(is, unit)), name
end

--- The values to choose from, a list; a part that must be typed is "NAME" or "N". Empty for a number. one: of `list`.
function M.values(one)
    return gather.words(one.form == "text" and FORMS or one.choices, "[^|]+")
end

--- A typed value by the name that the screen shows: "ratio" for "1".
function M.named(name, typed)
    local shown = (settings.row(name) or {}).shown
    return shown and shown[typed] or typed
end

--- What a chosen value has before the part that must be typed: "lua:", "factor "; nil if nothing must be.
function M.typed_after(value)
    return value:match("^(.-)N[AME,N]*$")
end

local function factor_of(order)
    return tonumber(order:match("^factor (%S+)$"))
end

-- The next order of chunk sizes: the next larger or smaller factor of geometry.ORDERS, with auto behind the last one.
local function next_order(shown, by)
    local orders, factor = geometry.ORDERS, factor_of(shown)
    if by > 0 and not factor and shown ~= AUTO then
        return AUTO
    end
    for i = by > 0 and 1 or #orders, by > 0 and #orders or 1, by do
        local one = factor_of(orders[i])
        if one and (not factor or (one - factor) * by > 0) then
            return orders[i]
        end
    end
    return AUTO
end

local function next_choice(choices, shown, by)
    local list, at = {}, nil
    for choice in choices:gmatch("[^|]+") do
        if not choice:find("NAME", 1, true) then -- lua:NAME must be typed
            list[#list + 1] = choice
            at = choice == shown and #list or at
        end
    end
    if #list == 0 then
        return shown
    end
    return list[at and (at - 1 + by) % #list + 1 or by > 0 and 1 or #list]
end

--- The shown value one step up or down, within the limits, or the next or previous choice. one: of `list`.
function M.step(one, shown, by)
    if one.form == "text" then
        return next_order(shown, by)
    elseif one.form ~= "number" then
        return next_choice(one.choices, shown, by)
    end
    local next_one = math.min(math.max((tonumber(shown) or one.least) + by * one.step, one.least), one.most)
    return (one.step >= 1 and "%.0f" or one.step >= 0.01 and "%.2f" or "%.3f"):format(next_one)
end

return M
