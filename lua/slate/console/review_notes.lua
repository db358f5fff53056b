-- SPDX-License-Identifier: BSD-3-Clause
--- The notes after the fields of a review: the figures of a class, the present value of a setting, the effect of a
--- bound.
local change = require "slate.console.change"
local figure = require "slate.console.figure"
local marked = require "slate.console.marked"
local server = require "slate.console.server"
local settings_shown = require "slate.facts.settings_shown"
local snapshot = require "slate.facts.snapshot"

local M = {}

local POOL <const> = 0

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

--- The note of a field of the review (see review.lua), with its value; of a setting's value also its effect.
function M.of(frame, ui, field, value)
    return NOTES[field](frame, ui, value)
end

return M
