-- SPDX-License-Identifier: BSD-3-Clause
--- Where a server's memory goes: into items, and into what is no item. Pure.
local M = {}

local PAGE_BYTES <const> = require("slate.chunks").PAGE_BYTES

--- One row for each class with pages: { id, chunk_bytes, pages, page_bytes (all its pages), requested_bytes (what
-- items asked for, headers included), slack_bytes (ends of used chunks), free_bytes (free chunks), tail_bytes (ends
-- of pages, too short for a chunk), waste_ratio (slack and tails by all bytes but those of free chunks) }.
-- slack_bytes is absent where it cannot be told: a long value's bytes are counted in the class of its first piece.
function M.classes(now)
    local rows = {}
    for _, class in ipairs(now.classes) do
        local size, pages = class.chunk_size, class.total_pages
        if size and (pages or 0) > 0 and class.used_chunks and class.chunks_per_page then
            local used = class.used_chunks * size
            local slack = class.mem_requested and used - class.mem_requested
            local row = {
                id = class.id, chunk_bytes = size, pages = pages, page_bytes = pages * PAGE_BYTES,
                requested_bytes = class.mem_requested, slack_bytes = slack and slack >= 0 and slack or nil,
                free_bytes = (class.free_chunks or 0) * size,
                tail_bytes = pages * math.max(0, PAGE_BYTES - class.chunks_per_page * size),
            }
            local held = row.page_bytes - row.free_bytes
            row.waste_ratio = row.slack_bytes and held > 0 and (row.slack_bytes + row.tail_bytes) / held or nil
            rows[#rows + 1] = row
        end
    end
    return rows
end

local function add(sum, value)
    return value and (sum or 0) + value or sum
end

--- The same for the whole server: { limit_bytes, page_bytes, requested_bytes, slack_bytes, free_bytes, tail_bytes,
-- pool_bytes (pages that no class has), header_bytes (within requested_bytes), index_bytes, buffer_bytes
-- (of connections; both beside the limit), waste_ratio }.
function M.total(now, rows)
    local general = now.general
    local total = { limit_bytes = general.limit_maxbytes, page_bytes = 0, free_bytes = 0, tail_bytes = 0 }
    for _, row in ipairs(rows) do
        for _, name in ipairs({ "page_bytes", "free_bytes", "tail_bytes", "requested_bytes", "slack_bytes" }) do
            total[name] = add(total[name], row[name])
        end
    end
    total.pool_bytes = now.pages_free and now.pages_free * PAGE_BYTES
    total.index_bytes, total.buffer_bytes = general.hash_bytes, general.read_buf_bytes
    total.header_bytes = general.curr_items and general.curr_items * (now.slated and 32 or 48)
    local held = total.page_bytes - total.free_bytes
    total.waste_ratio = total.slack_bytes and held > 0 and (total.slack_bytes + total.tail_bytes) / held or nil
    return total
end

return M
