-- SPDX-License-Identifier: BSD-3-Clause
--- The misses with other amounts of memory as of the last sample: an estimate for any server, from its counters.
--
-- Servers count misses for the whole; each class gets a share by its stores.
-- Each class's curve is fitted by slate.base.policy_curve (miss_curve), from one point: today's. So it ends at half and
-- at twice the memory. The curve of the whole supposes that all classes grow and shrink by the same factor. `slatectl
-- curve -o` draws slated's measurements instead.
local core = require "slate.base.policy_core"
local gather = require "slate.base.gather"
local order = require "slate.base.order"
local policy_curve = require "slate.base.policy_curve"
local time = require "slate.chart.kinds.time"

local M = {}

local MAX_CLASSES <const> = 5
local STEPS_A_DOUBLING <const> = 8
local FACTORS <const> = { 0.5, 0.75, 1, 1.5, 2 } -- with a tick
local ALIKE <const> = 0.01 -- lines at most so far apart lie on each other

-- The memory of each class, as a text: its pages and its chunk size.
local function layout_of(one)
    local parts = gather.values(one.classes, function(class)
        return ("%d %s %s"):format(class.id, class.total_pages, class.chunk_size)
    end)
    return table.concat(parts, ", ")
end

-- The first sample of the moment: of the later half, and since the last change of any class's memory.
local function begin_of(list)
    local at, layout = #list - 1, layout_of(list[#list])
    while at > (#list + 1) // 2 and layout_of(list[at - 1]) == layout and layout_of(list[at]) == layout do
        at = at - 1
    end
    return list[at], layout_of(list[at]) == layout
end

-- Whether the class's counts allow a curve: it misses; the items that it would hold for the age of its oldest are not
-- more than it does, whatever its curve; and it stored no more in that age than it holds. Else items leave before the
-- oldest does, as they expire or as the policy keeps some longer, and their age tells nothing of other memory.
local function has_curve(requests, missed, items, age)
    local fall = missed > 0 and missed < requests and math.log(requests / missed)
    return fall and age * requests / items > fall / (1 - missed / requests) and age * missed < items
end

-- The classes with requests between two samples, those with the most stores first.
local function classes_of(begin, last)
    local classes, first = {}, require("slate.facts.snapshot").by_id(begin)
    local seconds = math.max(last.time_s - begin.time_s, 1e-3)
    local each = core.misses_a_store(begin, last)
    for _, class in ipairs(last.classes) do
        local was = first[class.id]
        local hits = was and time.growth(was, class, "get_hits")
        local stores = was and time.growth(was, class, "cmd_set")
        local missed = stores and stores * each
        if hits and stores and hits + missed > 0 and (class.number or 0) > 0 then
            local age = math.max(class.age or 0, class.age_hot or 0, class.age_warm or 0) / seconds
            local is_drawn = has_curve(hits + missed, missed, class.number, age)
            classes[#classes + 1] = {
                id = class.id, label = time.class_name(class.id, class.chunk_size), requests = hits + missed,
                stores = stores, items = class.number, is_drawn = is_drawn,
                misses = is_drawn and policy_curve.miss_curve(hits + missed, missed, class.number, age)
                    or function() return missed end,
            }
        end
    end
    return order.largest_first(classes, "stores", "label")
end

local function points_of(classes)
    local points, requests = {}, gather.sum(classes, "requests")
    for step = -STEPS_A_DOUBLING, STEPS_A_DOUBLING do
        local factor = 2 ^ (step / STEPS_A_DOUBLING)
        local misses = gather.sum(classes, function(class) return class.misses(class.items * factor) end)
        points[#points + 1] = { factor, misses / requests }
    end
    return points
end

-- The series that the points lie on; nil if they lie on none.
local function alike(list, points)
    for _, one in ipairs(list) do
        local apart = 0
        for i, point in ipairs(points) do
            apart = math.max(apart, math.abs(point[2] - one.points[i][2]))
        end
        if apart <= ALIKE then
            return one
        end
    end
end

-- The whole's line, unless classes without a curve have most of the misses, and those of the first classes with one; a
-- line that lies on another one is drawn once. Also the number of classes without a curve.
local function series_of(classes)
    local list, drawn, without, missed, missed_without = {}, 0, 0, 0, 0
    for _, class in ipairs(classes) do
        local misses = class.misses(class.items)
        missed, missed_without = missed + misses, missed_without + (class.is_drawn and 0 or misses)
    end
    if missed_without < missed / 2 then
        list[1] = { label = "all classes", points = points_of(classes), wide = true }
    end
    for _, class in ipairs(classes) do
        without = without + (class.is_drawn and 0 or 1)
        if class.is_drawn and drawn < MAX_CLASSES then
            local points = points_of({ class })
            local same = alike(list, points)
            drawn = drawn + 1
            if same then
                same.label = ("%s, %s%d"):format(same.label, same.shared and "" or "also class ", class.id)
                same.shared = true
            else
                list[#list + 1] = { label = class.label, points = points }
            end
        end
    end
    return list, without
end

--- The figure, or nil and a message.
function M.figure(list)
    local last, begin, is_still, classes = list[#list], nil, nil, {}
    if #list > 1 then
        begin, is_still = begin_of(list)
        classes = classes_of(begin, last)
    end
    if #classes == 0 then
        return nil, "a curve needs two snapshots with reads between them"
    end
    local series, without = series_of(classes)
    if #series == 0 then
        return nil, "no curve fits the hits, misses and ages of this recording: slatectl curve draws what a slated "
            .. "measured, and slatectl simulate plays a trace of any server's requests"
    end
    local units, ticks = require "slate.base.units", {}
    for i, factor in ipairs(FACTORS) do
        ticks[i] = { factor, ("x%g"):format(factor) }
    end
    return {
        title = time.title("Miss ratio by memory at the last sample (an estimate)", list),
        note = ("estimated from ages, hits and misses (shared out as stores are) in the last %s%s; a sudden fall "
            .. "is not seen%s"):format(units.age(last.time_s - begin.time_s),
            is_still and "" or ", in which pages moved", without > 0
            and ("; %s no curve: the line of all takes them as unchanged"):format(units.plural(without, "class has",
            "classes have")) or ""),
        panels = { { kind = "lines", x = { label = "memory of the class, times what it has", log = true, ticks = ticks,
            min = FACTORS[1] / 1.02, max = FACTORS[#FACTORS] * 1.02 }, y = { label = "miss ratio", min = 0, max = 1 },
            series = series, marks = { { x = 1, label = "now" } } } },
    }
end

return M
