-- SPDX-License-Identifier: BSD-3-Clause
--- The uses of a server's memory: for items, and for other things. Pure.
local gather = require "slate.base.gather"

local M = {}

local PAGE_BYTES <const> = require("slate.facts.chunks").PAGE_BYTES
local CHUNKS_OF_PAGE_MOST_BYTES <const>, PAGES_MOST <const> = 1 << 31, 1 << 31 -- no server reports more

-- Long values are chained. All bytes of a value count in one class: that of its first piece, or one without items. The
-- other pieces fill chunks of classes that the server does not name. Pieces go to large chunks first, so in large
-- classes the unused ends of chunks cannot be told from pieces.
local function leave_chains_open(rows)
    local spilled = gather.sum(rows, function(row) return math.max(0, (row.requested_bytes or 0) - row.used_bytes) end)
    local by_size = table.move(rows, 1, #rows, 1, {})
    if spilled > 0 then
        table.sort(by_size, function(a, b) return a.chunk_bytes > b.chunk_bytes end)
    end
    for _, row in ipairs(by_size) do
        local slack = row.requested_bytes and row.used_bytes - row.requested_bytes
        if slack and slack >= 0 and spilled > 0 then
            spilled = spilled - slack
        elseif slack and slack >= 0 then
            row.slack_bytes = slack
            local held = row.page_bytes - row.free_bytes
            row.waste_ratio = held > 0 and (slack + row.tail_bytes) / held or nil
        end
    end
end

-- True if a server reports the pages and chunks of a class, in possible numbers.
local function is_reported(class)
    local size, of_page, pages = class.chunk_size or 0, class.chunks_per_page or 0, class.total_pages
    return size > 0 and of_page > 0 and size * 1.0 * of_page <= CHUNKS_OF_PAGE_MOST_BYTES and pages
        and pages <= PAGES_MOST and class.used_chunks ~= nil
end

-- The row of one class with pages; the number of its chunks follows from its pages. A server answers the statistics at
-- several moments, so it may report more chunks in use than there are: then all are in use.
local function row_of(class)
    local size, pages = class.chunk_size, class.total_pages
    local tail_bytes = pages * math.max(0, PAGE_BYTES - class.chunks_per_page * size)
    local chunk_bytes = pages * PAGE_BYTES - tail_bytes
    local used_bytes = math.min(math.min(class.used_chunks, pages * class.chunks_per_page) * size, chunk_bytes)
    return { id = class.id, chunk_bytes = size, pages = pages, page_bytes = pages * PAGE_BYTES,
        used_bytes = used_bytes, requested_bytes = class.mem_requested, free_bytes = chunk_bytes - used_bytes,
        tail_bytes = tail_bytes }
end

--- One row for each class with reported pages and chunks, by id: { id, chunk_bytes, pages, page_bytes (all its pages),
-- used_bytes (its used chunks), requested_bytes (of items, headers included), slack_bytes (ends of used chunks),
-- free_bytes (free chunks), tail_bytes (ends of pages, too short for a chunk), waste_ratio (slack and tails by all
-- bytes but those of free chunks) }. page_bytes = used_bytes + free_bytes + tail_bytes, whatever the server counts.
-- slack_bytes and waste_ratio are unknown, so absent, in classes that may have pieces of long values.
function M.classes(now)
    local rows = {}
    for _, class in ipairs(now.classes) do
        if class.total_pages ~= 0 and is_reported(class) then
            rows[#rows + 1] = row_of(class)
        end
    end
    leave_chains_open(rows)
    return rows
end

--- The number of classes that may have pages, but no row in M.classes: their pages are not reported, or impossible.
function M.unreported(now, rows)
    return gather.count(now.classes, function(class) return class.total_pages ~= 0 end) - #rows
end

--- The same for the whole server: { limit_bytes, page_bytes, used_bytes, requested_bytes, slack_bytes (used chunks
-- minus requested_bytes, here known with long values, too), free_bytes, tail_bytes, pool_bytes (pages that no class
-- has), header_bytes (within requested_bytes), index_bytes, buffer_bytes (of connections; both beside the limit),
-- waste_ratio }. page_bytes = requested_bytes + slack_bytes + free_bytes + tail_bytes, none below 0: an upload may be
-- counted before its chunks, and its bytes beyond these are left out. Sums of classes are absent unless all classes are
-- reported.
function M.total(now, rows)
    local general = now.general
    local total = { limit_bytes = general.limit_maxbytes, index_bytes = general.hash_bytes,
        buffer_bytes = general.read_buf_bytes, pool_bytes = now.pages_free and now.pages_free * PAGE_BYTES }
    if M.unreported(now, rows) > 0 then
        return total
    end
    total.page_bytes, total.free_bytes, total.tail_bytes = 0, 0, 0
    for _, row in ipairs(rows) do
        for _, name in ipairs({ "page_bytes", "used_bytes", "free_bytes", "tail_bytes", "requested_bytes" }) do
            total[name] = row[name] and (total[name] or 0) + row[name] or total[name]
        end
    end
    if total.requested_bytes then
        total.requested_bytes = math.min(total.requested_bytes, total.used_bytes)
        total.slack_bytes = total.used_bytes - total.requested_bytes
    end
    total.header_bytes = general.curr_items
        and math.min(general.curr_items * (now.slated and 32 or 48), total.requested_bytes or math.huge)
    local held = total.page_bytes - total.free_bytes
    total.waste_ratio = total.slack_bytes and held > 0 and (total.slack_bytes + total.tail_bytes) / held or nil
    return total
end

return M
