-- SPDX-License-Identifier: BSD-3-Clause
--- How large items are, with the limits of the classes drawn over that.
local time = require "slate.chart.kinds.time"

local M = {}

local BINS_A_DOUBLING <const> = 4

-- Sizes by the items of each class, all of the mean size: what a recording has.
local function from_classes(last)
    local sizes = {}
    for _, class in ipairs(last.classes) do
        if (class.number or 0) > 0 and (class.mem_requested or 0) > 0 then
            sizes[#sizes + 1] = { bytes = class.mem_requested // class.number, items = class.number }
        end
    end
    return sizes
end

local function limits_of(last)
    local limits = {}
    for _, class in ipairs(last.classes) do
        if class.chunk_size and (class.total_pages or 0) > 0 then
            limits[#limits + 1] = class.chunk_size
        end
    end
    return limits
end

--- The figure, or nil and a message. histogram: of slate.facts.sizehist, or nil: the means of the classes.
function M.figure(list, histogram)
    local last = list[#list]
    local sizes = histogram and histogram.sizes or from_classes(last)
    local bins, first, final = {}, math.huge, -math.huge
    for _, size in ipairs(sizes) do
        if size.items > 0 and size.bytes > 0 then
            local bin = math.floor(math.log(size.bytes, 2) * BINS_A_DOUBLING + 1e-9)
            bins[bin] = (bins[bin] or 0) + size.items
            first, final = math.min(first, bin), math.max(final, bin)
        end
    end
    if final < first then
        return nil, "there are no items, so there is nothing to draw"
    end
    local bars = {}
    for bin = first, final do
        bars[#bars + 1] = { 2 ^ (bin / BINS_A_DOUBLING), 2 ^ ((bin + 1) / BINS_A_DOUBLING), bins[bin] or 0 }
    end
    return {
        title = time.title("Sizes of items", list),
        note = (histogram and "from stats " .. histogram.source
            or "of each class all items at their mean size: a recording has no more")
            .. "; lines: chunk sizes of classes that have pages",
        panels = { { kind = "histogram", x = { label = "bytes of an item, header included", log = true },
            y = { label = "items" }, bars = bars, limits = limits_of(last) } },
    }
end

return M
