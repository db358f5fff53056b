-- SPDX-License-Identifier: BSD-3-Clause
--- Pages of each class over time, stacked, with the free pool on top.
local order = require "slate.base.order"
local time = require "slate.chart.kinds.time"

local M = {}

M.MAX_BANDS = 10 -- readers cannot tell more apart; the smallest classes become one band

-- Every class that held a page in any snapshot: its largest page count and chunk size.
local function classes_seen(list)
    local seen, ids = {}, {}
    for _, one in ipairs(list) do
        for _, class in ipairs(one.classes) do
            if class.total_pages then
                local known = seen[class.id]
                if not known then
                    known = { id = class.id, chunk_bytes = class.chunk_size, most_pages = 0 }
                    seen[class.id] = known
                    ids[#ids + 1] = class.id
                end
                known.most_pages = math.max(known.most_pages, class.total_pages)
            end
        end
    end
    return seen, ids
end

-- Picks the classes that get a band of their own: the largest, in order of chunk size.
local function choose_bands(list)
    local seen, ids = classes_seen(list)
    local own = #ids <= M.MAX_BANDS and #ids or M.MAX_BANDS - 1
    local chosen = order.first(order.largest_first(ids, function(id) return seen[id].most_pages end,
        function(id) return id end), own)
    table.sort(chosen)
    local band_of, bands = {}, {}
    for i, id in ipairs(chosen) do
        bands[i] = { label = time.class_name(id, seen[id].chunk_bytes), values = {} }
        band_of[id] = i
    end
    if own < #ids then
        bands[own + 1] = { label = ("%d other classes"):format(#ids - own), values = {} }
    end
    return bands, function(id) return band_of[id] or own + 1 end
end

--- The figure, or nil and a message.
function M.figure(list)
    if #list < 2 then
        return nil, "a chart over time needs at least two snapshots"
    end
    local bands, band_index = choose_bands(list)
    if #bands == 0 then
        return nil, "no class with a page is on record, so there is nothing to draw"
    end
    local pool = list[#list].pages_free
        and { label = "free pool", values = {}, grey = true } or nil
    bands[#bands + 1] = pool
    local axis, at, gaps = time.axis(list)
    for i, one in ipairs(list) do
        for _, band in ipairs(bands) do
            band.values[i] = 0
        end
        for _, class in ipairs(one.classes) do
            if class.total_pages then
                local values = bands[band_index(class.id)].values
                values[i] = values[i] + class.total_pages
            end
        end
        if pool then
            pool.values[i] = one.pages_free or 0
        end
    end
    local limit = list[#list].pages_limit or 0 -- a server may hold more, because each class keeps a page
    return {
        title = time.title("Slab pages by class", list),
        panels = { { kind = "stack", x = axis, y = { label = "pages" }, at = at, gaps = gaps, series = bands,
            marks = time.marks(list, at),
            limit = limit > 0 and { value = limit, label = ("limit: %d pages"):format(limit) } or nil } },
    }
end

return M
