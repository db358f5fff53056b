-- SPDX-License-Identifier: BSD-3-Clause
--- The sizes of items, with the limits of the classes.
local time = require "slate.chart.kinds.time"
local units = require "slate.base.units"

local M = {}

local BINS_A_DOUBLING <const> = 4

-- Sizes from the items of each class, all of its mean size: a recording has no others. And whether all are known.
local function from_classes(last)
    local sizes, are_known = {}, true
    for _, class in ipairs(last.classes) do
        if (class.number or 0) > 0 and class.mem_requested then
            sizes[#sizes + 1] = { bytes = class.mem_requested // class.number, items = class.number }
        end
        are_known = are_known and ((class.number or class.used_chunks or 0) == 0 or class.mem_requested ~= nil)
    end
    return sizes, are_known
end

local function limits_of(last)
    local limits = {}
    for _, class in ipairs(last.classes) do
        if class.chunk_size and (class.total_pages or 0) > 0 then
            limits[#limits + 1] = class.chunk_size
        end
    end
    table.sort(limits) -- ids of classes that were fitted later do not follow the order of sizes
    return limits
end

-- The least and the largest size that has items.
local function reach_of(sizes)
    local least, most = math.huge, 0
    for _, size in ipairs(sizes) do
        if size.items > 0 and size.bytes > 0 then
            least, most = math.min(least, size.bytes), math.max(most, size.bytes)
        end
    end
    return least, most
end

-- The edges of bins, from the class below the least size to the class of the largest. No bin is in two classes; if
-- single sizes of items are known, a class has several bins.
local function edges_of(limits, least, most, parts_a_doubling)
    local edges, low = {}, nil
    for _, limit in ipairs(limits) do
        if limit >= least and not edges[1] then
            edges[1] = low or least / 2
        end
        if edges[1] and edges[#edges] < most then
            local from = edges[#edges]
            local parts = math.max(1, math.floor(math.log(limit / from, 2) * parts_a_doubling + 0.5))
            for part = 1, parts do
                edges[#edges + 1] = part == parts and limit or from * (limit / from) ^ (part / parts)
            end
        end
        low = limit
    end
    edges[1] = edges[1] or least / 2
    if edges[#edges] < most then -- larger than any chunk: the value fills several chunks
        edges[#edges + 1] = most
    end
    return edges
end

local function bars_of(sizes, edges)
    local bars = {}
    for i = 2, #edges do
        bars[i - 1] = { edges[i - 1], edges[i], 0 }
    end
    for _, size in ipairs(sizes) do
        local bin = 1
        while bars[bin + 1] and size.bytes > bars[bin][2] do
            bin = bin + 1
        end
        bars[bin][3] = bars[bin][3] + (size.bytes > 0 and size.items or 0)
    end
    return bars
end

-- Powers of four, and of two where these are few.
local function ticks_of(bars)
    local least, most, list = bars[1][1], bars[#bars][2], {}
    for power = math.ceil(math.log(least, 2)), math.floor(math.log(most, 2)), most / least > 64 and 2 or 1 do
        list[#list + 1] = { 2.0 ^ power, units.bytes_in_words(2.0 ^ power) }
    end
    return list
end

--- The figure, or nil and a message. histogram: of slate.facts.sizehist, or nil to use the mean size of each class.
function M.figure(list, histogram)
    local last = list[#list]
    local sizes, are_known = from_classes(last)
    sizes = histogram and histogram.sizes or sizes
    local limits, least, most = limits_of(last), reach_of(sizes)
    if most == 0 then
        return nil, (histogram or are_known) and "there are no items, so there is nothing to draw"
            or "the sizes of the items are not known: the server did not report mem_requested"
    end
    local bars = bars_of(sizes, edges_of(limits, least, most, histogram and BINS_A_DOUBLING or 0))
    return {
        title = time.title("Sizes of items", list),
        note = (histogram and "from stats " .. histogram.source
            or "of each class all items at their mean size: a recording has no more")
            .. "; lines: chunk sizes of classes that have pages",
        panels = { { kind = "histogram", x = { label = "size of an item, header included", log = true,
            ticks = ticks_of(bars) }, y = { label = "items" }, limits = limits, bars = bars } },
    }
end

return M
