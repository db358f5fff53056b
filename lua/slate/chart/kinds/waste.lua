-- SPDX-License-Identifier: BSD-3-Clause
--- What the pages of each class hold: items, ends of chunks, free chunks, ends of pages. Of the last snapshot.
local time = require "slate.chart.kinds.time"
local waste = require "slate.facts.waste"

local M = {}

local MAX_CLASSES <const> = 24
local MIB <const> = 1 << 20

--- The figure, or nil and a message.
function M.figure(list)
    local rows, left_out = time.largest(waste.classes(list[#list]), MAX_CLASSES, function(row)
        return row.page_bytes
    end)
    if #rows == 0 then
        return nil, "no class is on record whose pages and chunks are told"
    end
    local names, right = {}, {}
    local series = {
        { label = "items", values = {} }, { label = "ends of chunks", values = {}, colour = 2 },
        { label = "free chunks", values = {}, grey = true }, { label = "ends of pages", values = {}, colour = 4 },
    }
    for i, row in ipairs(rows) do
        local slack = row.slack_bytes or 0
        names[i] = time.class_name(row.id, row.chunk_bytes)
        right[i] = row.waste_ratio and ("%.0f %%"):format(100 * row.waste_ratio) or "?"
        series[1].values[i] = (row.page_bytes - row.free_bytes - row.tail_bytes - slack) / MIB
        series[2].values[i], series[3].values[i], series[4].values[i] =
            slack / MIB, row.free_bytes / MIB, row.tail_bytes / MIB
    end
    local total = waste.total(list[#list], waste.classes(list[#list]))
    return {
        title = time.title("Memory by class", list),
        note = ("at the right: waste, the ends of chunks and pages by all but free chunks%s%s"):format(
            total.waste_ratio and ("; in all %.1f %%"):format(100 * total.waste_ratio) or "",
            left_out > 0 and ("; %d smaller classes are left out"):format(left_out) or ""),
        panels = { { kind = "bars", x = { label = "MiB" }, y = { label = "" }, names = names, right = right,
            series = series } },
    }
end

return M
