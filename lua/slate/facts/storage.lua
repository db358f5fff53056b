-- SPDX-License-Identifier: BSD-3-Clause
--- memcached's storage on flash (extstore): its figures in a snapshot and in `stats extstore`. Pure.
--
-- memcached writes large items that were not read for a while to pages of a file; a header stays in memory. It frees
-- whole pages: empty ones, those whose items compaction has written elsewhere, or by eviction.
local ratio <const> = require("slate.base.units").ratio

local M = {}

--- The settings, by their names in `stats settings`, in memcached's order; the command's names lack "ext_".
M.SETTINGS = { "ext_item_size", "ext_item_age", "ext_low_ttl", "ext_recache_rate", "ext_max_frag", "ext_drop_unread",
    "ext_compact_under", "ext_drop_under", "ext_max_sleep" }

-- The kinds of pages, by their number in `stats extstore`.
local BUCKETS <const> = { [0] = "default", "compact", "chunked", "lowttl", "coldcompact", "old" }

local RATES <const> = {
    written_objects_per_s = "extstore_objects_written", read_objects_per_s = "extstore_objects_read",
    evicted_objects_per_s = "extstore_objects_evicted", written_bytes_per_s = "extstore_bytes_written",
    read_bytes_per_s = "extstore_bytes_read", evicted_bytes_per_s = "extstore_bytes_evicted",
    allocated_pages_per_s = "extstore_page_allocs", evicted_pages_per_s = "extstore_page_evictions",
    reclaimed_pages_per_s = "extstore_page_reclaims", rescued_objects_per_s = "extstore_compact_rescues",
    lost_objects_per_s = "extstore_compact_lost", skipped_objects_per_s = "extstore_compact_skipped",
    get_per_s = "get_extstore", get_aborted_per_s = "get_aborted_extstore", get_oom_per_s = "get_oom_extstore",
    recached_per_s = "recache_from_extstore", missed_per_s = "miss_from_extstore",
    bad_crc_per_s = "badcrc_from_extstore",
}

--- Why a server has no storage on flash, in a sentence; nil if it has some.
function M.absent(now)
    if now.general.extstore_limit_maxbytes then
        return nil
    elseif now.slated then
        return "slated has no storage on flash: all items are in memory"
    elseif (now.settings or {}).ext_item_size ~= nil then
        return "this memcached was started without storage on flash: -o ext_path=FILE:SIZE gives it some"
    end
    return "this memcached has no storage on flash: that needs 1.6 or later, built with extstore"
end

--- The storage of a snapshot; rates (of slate.facts.snapshot) may be nil. Returns { limit_bytes, page_bytes, pages,
-- pages_free, pages_used, objects, objects_ratio (of all items), used_bytes, fragmented_bytes, fragmented_ratio (of the
-- pages in use), io_queue, memory_pressure_ratio, and RATES }; unreported figures are absent. nil without storage.
function M.of(now, rates)
    local general, general_rates = now.general, rates and rates.general or {}
    local limit = general.extstore_limit_maxbytes
    if not limit then
        return nil
    end
    local used, free = general.extstore_pages_used, general.extstore_pages_free
    local pages = used and free and used + free
    local page_bytes = ratio(limit, pages)
    local pressure = general.extstore_memory_pressure
    local storage = {
        limit_bytes = limit, page_bytes = page_bytes and math.floor(page_bytes), pages = pages, pages_free = free,
        pages_used = used, objects = general.extstore_objects_used,
        objects_ratio = ratio(general.extstore_objects_used, general.curr_items),
        used_bytes = general.extstore_bytes_used, fragmented_bytes = general.extstore_bytes_fragmented,
        fragmented_ratio = page_bytes and ratio(general.extstore_bytes_fragmented, used * page_bytes),
        io_queue = general.extstore_io_queue, memory_pressure_ratio = pressure and pressure / 100,
    }
    for name, counter in pairs(RATES) do
        storage[name] = general_rates[counter .. "_per_s"]
    end
    return storage
end

--- The settings of a snapshot: { name, value } in the order of SETTINGS, if the server shows them.
function M.settings(now)
    local list = {}
    for _, name in ipairs(M.SETTINGS) do
        local value = (now.settings or {})[name]
        if value ~= nil then
            list[#list + 1] = { name = name, value = value }
        end
    end
    return list
end

--- The classes of a snapshot: { id, chunk_bytes, items, requested_bytes, age_s, is_written }. memcached writes items of
-- classes with chunks of ext_item_size or more to flash; the headers of written items are in smaller classes.
function M.classes(now)
    local least, rows = (now.settings or {}).ext_item_size, {}
    for i, class in ipairs(now.classes) do
        rows[i] = { id = class.id, chunk_bytes = class.chunk_size, items = class.number,
            requested_bytes = class.mem_requested, age_s = class.age }
        if least and class.chunk_size then
            rows[i].is_written = class.chunk_size >= least
        end
    end
    return rows
end

--- The pages by kind, from the lines of `stats extstore`: { name, pages, pages_free, used_bytes, fill_ratio (of those
-- in use), sparse_pages (in use, and less full than max_frag, so that compaction may take them) }, without kinds that
-- have no pages. page_bytes and max_frag may be nil.
function M.buckets(lines, page_bytes, max_frag)
    local stats, pages, list = require "slate.facts.stats", {}, {}
    for _, line in ipairs(lines) do
        local name, text = stats.split(line)
        local id, field = (name or ""):match("^(%d+):([%l_]+)$")
        if id then
            pages[id] = pages[id] or {}
            pages[id][field] = math.tointeger(tonumber(text))
        end
    end
    for number = 0, #BUCKETS do
        list[number + 1] = { name = BUCKETS[number], pages = 0, pages_free = 0, used_bytes = 0, sparse_pages = 0 }
    end
    for _, page in pairs(pages) do
        local is_free = page.version == 0
        local bucket = list[((is_free and page.free_bucket or page.bucket) or -1) + 1]
        if bucket then
            bucket.pages = bucket.pages + 1
            bucket.pages_free = bucket.pages_free + (is_free and 1 or 0)
            bucket.used_bytes = bucket.used_bytes + (is_free and 0 or page.bytes or 0)
            local is_sparse = not is_free and page_bytes and max_frag and (page.bytes or 0) < page_bytes * max_frag
            bucket.sparse_pages = bucket.sparse_pages + (is_sparse and 1 or 0)
        end
    end
    for i = #list, 1, -1 do
        local bucket = list[i]
        bucket.fill_ratio = page_bytes and ratio(bucket.used_bytes, (bucket.pages - bucket.pages_free) * page_bytes)
        if bucket.pages == 0 then
            table.remove(list, i)
        end
    end
    return list
end

return M
