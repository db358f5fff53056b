-- SPDX-License-Identifier: BSD-3-Clause
--- The misses with other amounts of memory: an estimate for any server, from its counters.
--
-- Servers count misses for the whole; each class gets a share by its stores.
-- Each class's curve is fitted by slate.base.policy_curve (miss_curve). The curve of the whole supposes that all
-- classes grow and shrink by the same factor. `slatectl curve -o` draws slated's measurements instead.
local core = require "slate.base.policy_core"
local order = require "slate.base.order"
local policy_curve = require "slate.base.policy_curve"
local time = require "slate.chart.kinds.time"

local M = {}

local MAX_CLASSES <const> = 5
local STEPS_A_DOUBLING <const>, DOUBLINGS <const> = 8, 3

-- The classes with requests in the later half of the samples, those with the most misses first. In the earlier half,
-- sizes and pages may have been different.
local function classes_of(list)
    local half, last, classes, first = list[(#list + 1) // 2], list[#list], {}, {}
    local seconds = math.max(last.time_s - half.time_s, 1e-3)
    local each = core.misses_a_store(half, last)
    for _, class in ipairs(half.classes) do
        first[class.id] = class
    end
    for _, class in ipairs(last.classes) do
        local was = first[class.id]
        local hits = was and time.growth(was, class, "get_hits")
        local stores = was and time.growth(was, class, "cmd_set")
        local missed = stores and stores * each
        if hits and stores and hits + missed > 0 and (class.number or 0) > 0 then
            local age = math.max(class.age or 0, class.age_hot or 0, class.age_warm or 0) / seconds
            classes[#classes + 1] = {
                label = time.class_name(class.id, class.chunk_size), requests = hits + missed, stores = stores,
                items = class.number, misses = policy_curve.miss_curve(hits + missed, missed, class.number, age),
            }
        end
    end
    return order.largest_first(classes, "stores", "label")
end

local function points_of(classes)
    local points, requests = {}, 0
    for _, class in ipairs(classes) do
        requests = requests + class.requests
    end
    for step = -DOUBLINGS * STEPS_A_DOUBLING, DOUBLINGS * STEPS_A_DOUBLING do
        local factor, misses = 2 ^ (step / STEPS_A_DOUBLING), 0
        for _, class in ipairs(classes) do
            misses = misses + class.misses(class.items * factor)
        end
        points[#points + 1] = { factor, misses / requests }
    end
    return points
end

--- The figure, or nil and a message.
function M.figure(list)
    local classes = #list > 1 and classes_of(list) or {}
    if #classes == 0 then
        return nil, "a curve needs two snapshots with reads between them"
    end
    local series = { { label = "all classes", points = points_of(classes), wide = true } }
    local idle = 0 -- classes without stores, which have no curve
    for i, class in ipairs(classes) do
        idle = idle + (class.stores == 0 and 1 or 0)
        if class.stores > 0 and i <= MAX_CLASSES then
            series[i + 1] = { label = class.label, points = points_of({ class }) }
        end
    end
    local ticks = {}
    for doubling = -DOUBLINGS, DOUBLINGS do
        ticks[#ticks + 1] = { 2 ^ doubling, ("x%g"):format(2 ^ doubling) }
    end
    return {
        title = time.title("Miss ratio by memory (an estimate)", list),
        note = "estimated from hits, misses (shared out as stores are) and ages in the later half of the samples; sees "
            .. "no cliffs" .. (idle > 0 and ("; %s without stores left out"):format(
            require("slate.base.units").plural(idle, "class", "classes")) or ""),
        panels = { { kind = "lines", x = { label = "memory of the class, times what it has", log = true, ticks = ticks,
            min = 2 ^ -DOUBLINGS / 1.02, max = 2 ^ DOUBLINGS * 1.02 }, y = { label = "miss ratio", min = 0, max = 1 },
            series = series, marks = { { x = 1, label = "now" } } } },
    }
end

return M
