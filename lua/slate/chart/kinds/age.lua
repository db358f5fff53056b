-- SPDX-License-Identifier: BSD-3-Clause
--- How old items are when they are evicted, class by class: the middle eight tenths of the samples, and the median.
local time = require "slate.chart.kinds.time"
local units = require "slate.base.units"

local M = {}

local MAX_CLASSES <const> = 24

-- Ages of the items evicted last, of every interval in which a class evicted.
local function ages_of(list)
    local ages, before = {}, {}
    for _, one in ipairs(list) do
        for _, class in ipairs(one.classes) do
            local was = before[class.id]
            if was and (time.growth(was, class, "evicted") or 0) > 0 and class.evicted_time then
                ages[class.id] = ages[class.id] or { id = class.id, chunk_bytes = class.chunk_size, evicted = 0 }
                table.insert(ages[class.id], class.evicted_time)
                ages[class.id].evicted = ages[class.id].evicted + class.evicted - was.evicted
            end
            before[class.id] = class
        end
    end
    return ages
end

local function quantile(sorted, share)
    return sorted[math.max(1, math.ceil(#sorted * share))]
end

--- The figure, or nil and a message.
function M.figure(list)
    local rows = {}
    for _, ages in pairs(ages_of(list)) do
        table.sort(ages)
        rows[#rows + 1] = ages
    end
    if #rows == 0 then
        return nil, "no class evicted anything in all that time, so there is no age to draw"
    end
    local left_out
    rows, left_out = time.largest(rows, MAX_CLASSES, function(ages) return ages.evicted end)
    local names, ranges, least, most = {}, {}, math.huge, 0
    for i, ages in ipairs(rows) do
        names[i] = time.class_name(ages.id, ages.chunk_bytes)
        local middle = math.max(1, quantile(ages, 0.5))
        ranges[i] = { math.max(1, quantile(ages, 0.1)), middle, math.max(1, quantile(ages, 0.9)) }
        least, most = math.min(least, middle), math.max(most, middle)
    end
    return {
        title = time.title("Age at eviction", list),
        note = ("bars: the middle 80 %% of the samples; o: the median; the oldest median is %.1f times the youngest%s")
            :format(most / least, left_out > 0 and ("; %s with fewer evictions left out"):format(
                units.plural(left_out, "class", "classes")) or ""),
        panels = { { kind = "ranges", x = { label = "seconds since the last use, at least 1", log = true },
            y = { label = "" }, names = names, ranges = ranges } },
    }
end

return M
