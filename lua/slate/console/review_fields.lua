-- SPDX-License-Identifier: BSD-3-Clause
--- The fields of a review (see review.lua): which ones, how keys change them, and the note behind each.
local change = require "slate.console.change"
local figure = require "slate.console.figure"
local gather = require "slate.base.gather"
local marked = require "slate.console.marked"
local server = require "slate.console.server"
local settings_shown = require "slate.facts.settings_shown"
local snapshot = require "slate.facts.snapshot"

local M = {}

local POOL <const>, VALUE_BYTES <const> = 0, 15
local LABELS <const> = { from = "from", to = "to", pages = "pages", value = "value", minutes = "trial",
    evictions_pct = "evict +%", hit_points = "hits -pt" }
local MOST <const> = { from = 999, to = 999, pages = 1000000, minutes = 1440, evictions_pct = 9999, hit_points = 100 }
local LEAST <const> = { pages = 1 }

--- True if all steps of a plan move pages.
function M.moves_only(plan)
    return not gather.any(plan, function(one) return not one.pages end)
end

--- True if each step of the plan is a field.
function M.has_steps(review)
    return review.kind == "change" and #review.plan > 1 and M.moves_only(review.plan)
end

--- The fields of a review, in their order: { name, label, of (the table that holds it) }. An undo has none: its values
-- are fixed.
function M.of(review)
    local fields = {}
    local function add_names(of, ...)
        for _, name in ipairs({ ... }) do
            fields[#fields + 1] = { name = name, label = LABELS[name], of = of }
        end
    end
    if review.kind ~= "change" then
        return fields
    elseif M.has_steps(review) then
        for _, one in ipairs(review.plan) do
            add_names(one, "pages")
        end
    elseif #review.plan == 1 and review.plan[1].pages then
        add_names(review.plan[1], "from", "to", "pages")
    elseif #review.plan == 1 then
        add_names(review.plan[1], "value")
    end
    add_names(review.terms, "minutes")
    if review.terms.minutes > 0 then
        add_names(review.terms, "evictions_pct", "hit_points")
    end
    return fields
end

--- The place of the last field of the change itself, behind which are those of the trial; 1 without any.
function M.last_of_change(review)
    local last = 1
    for i, field in ipairs(M.of(review)) do
        last = field.of ~= review.terms and i or last
    end
    return last
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

--- Changes a field by a step, 1 or -1.
function M.step(model, field, step)
    local name, of = field.name, field.of
    if name == "value" then
        of.value = step_value(model, of, step)
    elseif name == "from" or name == "to" then
        of[name] = step_class(model.now, of[name], step, name == "to")
    else
        of[name] = math.max(LEAST[name] or 0, math.min(of[name] + step, MOST[name]))
    end
end

--- Takes a typed digit or point.
function M.type(review, field, typed)
    local name, of = field.name, field.of
    if name == "value" then
        local before = review.is_typing and of.value or ""
        if #before < VALUE_BYTES and not of.value:find(" ") then
            of.value = before .. typed
        end
    elseif typed ~= "." then
        local wanted = (review.is_typing and of[name] * 10 or 0) + tonumber(typed)
        of[name] = wanted <= MOST[name] and wanted or tonumber(typed)
    end
end

--- Takes the step under the cursor out of the plan; the last one stays. The cursor is on the step behind it then.
function M.remove(review)
    if M.has_steps(review) and review.plan[review.field] then
        table.remove(review.plan, review.field)
        local last = M.last_of_change(review)
        review.field = M.has_steps(review) and math.min(review.field, last) or last
    end
end

local function of_class(frame, _, id)
    if id == POOL then
        return "the global pool: free for any class"
    end
    local class = snapshot.by_id(frame.live.now)[id]
    if not class then
        return "no such class"
    end
    local free_pages = server.free_pages(class)
    return ("%s B chunks, %s page%s, %s free, oldest item %s"):format(figure.exact(class.chunk_size),
        figure.count(class.total_pages), class.total_pages == 1 and "" or "s",
        figure.count(free_pages and free_pages // 1), figure.age(server.tail_age_s(class)))
end

local function of_value(frame, ui, value)
    local name, now = ui.review.plan[1].name
    if ui.review.is_for_marked then
        now = marked.now(frame, ui, name)
    else
        local class_id = name == "class_policy" and tonumber(value:match(" (%d+)$")) or nil
        now = (change.row(frame.live, name, class_id) or {}).now
    end
    return "now " .. (now or "-"), settings_shown.value_words(name, value)
end

local function always(text)
    return function() return text end
end

-- By a field: a function of frame, ui and the field's value.
local NOTES <const> = {
    from = of_class, to = of_class, value = of_value,
    pages = always("type a number, or + and -"),
    minutes = function(_, _, minutes)
        return minutes == 0 and "min; 0: it stays. 10 tries it for 10 minutes"
            or "min, then it goes back unless kept with K"
    end,
    evictions_pct = always("back at more lost items, unless hits rise; 0: never"),
    hit_points = always("goes back when the hit ratio falls by more; 0: never"),
}

--- The note of a field with its value; of a setting's value also its effect.
function M.note(frame, ui, field)
    return NOTES[field.name](frame, ui, field.of[field.name])
end

return M
