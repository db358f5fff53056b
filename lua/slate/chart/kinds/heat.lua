-- SPDX-License-Identifier: BSD-3-Clause
--- How full the chunks of each class are over time.
local time = require "slate.chart.kinds.time"

local M = {}

local MAX_CLASSES <const> = 40

--- The figure, or nil and a message.
function M.figure(list)
    if #list < 2 then
        return nil, "a chart over time needs at least two snapshots"
    end
    local rows, ids = {}, {}
    for i, one in ipairs(list) do
        for _, class in ipairs(one.classes) do
            if (class.total_chunks or 0) > 0 and class.used_chunks then
                local row = rows[class.id]
                if not row then
                    row = { chunk_bytes = class.chunk_size, values = {}, most_pages = 0 }
                    rows[class.id] = row
                    ids[#ids + 1] = class.id
                end
                row.values[i] = class.used_chunks / class.total_chunks
                row.most_pages = math.max(row.most_pages, class.total_pages or 0)
            end
        end
    end
    if #ids == 0 then
        return nil, "no class with a page is on record, so there is nothing to draw"
    end
    local left_out
    ids, left_out = time.largest(ids, MAX_CLASSES, function(id) return rows[id].most_pages end)
    local names, values = {}, {}
    for i, id in ipairs(ids) do
        names[i], values[i] = time.class_name(id, rows[id].chunk_bytes), rows[id].values
    end
    local axis, at, gaps = time.axis(list)
    return {
        title = time.title("Occupancy of chunks", list),
        note = left_out > 0 and ("%d classes with fewer pages are left out"):format(left_out) or nil,
        panels = { { kind = "heat", x = axis, y = { label = "" }, at = at, gaps = gaps, names = names, values = values,
            unit = "used by all chunks" } },
    }
end

return M
