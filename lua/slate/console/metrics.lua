-- SPDX-License-Identifier: BSD-3-Clause
--- The figures of a server and of a class that the model of slatetop keeps: their sources, labels, units and meanings.
local snapshot = require "slate.facts.snapshot"

local M = {}

--- Figures of the server as a whole: { name (in JSON), label (on the screen), unit ("per_s", "bytes_per_s", "ratio",
-- "ms", "count"; ratios are from 0 to 1), meaning (a sentence), sources }. sources: the counters whose increase a
-- second makes the rate; counters that a server lacks are left out of the sum. count: a function of a snapshot in their
-- place. Also by name.
M.OF_SERVER = {
    { name = "ops", label = "ops/s", unit = "per_s",
        meaning = "gets, sets, touches, deletes and counter changes a second",
        sources = { "cmd_get", "cmd_set", "cmd_touch", "delete_hits", "delete_misses", "incr_hits", "incr_misses",
            "decr_hits", "decr_misses" } },
    { name = "gets", label = "gets/s", unit = "per_s", meaning = "keys requested a second", sources = { "cmd_get" } },
    { name = "sets", label = "sets/s", unit = "per_s", meaning = "store commands a second", sources = { "cmd_set" } },
    { name = "hits", label = "hits/s", unit = "per_s", meaning = "keys found a second", sources = { "get_hits" } },
    { name = "hit_ratio", label = "hit %", unit = "ratio",
        meaning = "share of the requested keys that were found, in the interval" },
    { name = "evictions", label = "evictions/s", unit = "per_s",
        meaning = "live items thrown out for memory a second", sources = { "evictions" } },
    { name = "evicted_unread", label = "evicted unread/s", unit = "per_s",
        meaning = "evicted items that were never read", sources = { "evicted_unfetched" } },
    { name = "expired_unread", label = "expired unread/s", unit = "per_s",
        meaning = "expired items that were never read", sources = { "expired_unfetched" } },
    { name = "lost_by_moves", label = "lost by moves/s", unit = "per_s",
        meaning = "live items dropped by page moves: on slated mostly evictions, too; on new memcached not known",
        sources = { "slab_reassign_evictions_nomem", "slab_reassign_busy_deletes" } },
    { name = "out_of_memory", label = "out of memory/s", unit = "per_s",
        meaning = "sets refused for want of memory", count = snapshot.refused_stores },
    { name = "refused_connections", label = "refused conns/s", unit = "per_s",
        meaning = "connections refused or made to wait at the limit", count = snapshot.refused_connections },
    { name = "received_bytes", label = "received bytes/s", unit = "bytes_per_s",
        meaning = "bytes from clients a second", sources = { "bytes_read" } },
    { name = "sent_bytes", label = "sent bytes/s", unit = "bytes_per_s", meaning = "bytes to clients a second",
        sources = { "bytes_written" } },
    { name = "server_cpu", label = "server cpu %", unit = "ratio",
        meaning = "processor time of the server; 100 is one core", sources = { "rusage_user", "rusage_system" } },
    { name = "reply_ms", label = "stats reply ms", unit = "ms",
        meaning = "time of one refresh, from request to last reply" },
    { name = "connections", label = "connections", unit = "count", meaning = "open connections" },
    { name = "page_moves", label = "page moves/s", unit = "per_s", meaning = "pages that changed class a second",
        sources = { "slabs_moved" } },
}
--- Figures of one class: rates of the counter `source`; pages is a gauge.
M.OF_CLASS = {
    { name = "hits", source = "get_hits" }, { name = "sets", source = "cmd_set" },
    { name = "evictions", source = "evicted" }, { name = "unread", source = "evicted_unfetched" },
    { name = "out_of_memory", source = "outofmemory" }, { name = "pages" },
}
for _, list in ipairs({ M.OF_SERVER, M.OF_CLASS }) do
    for column, row in ipairs(list) do
        row.column, list[row.name] = column, row
    end
end

-- Those that are rates; and the statistics of a class that graphs and means are made from.
M.CLASS_RATES, M.CLASS_FIELDS = {}, { "id", "chunk_size", "total_pages" }
for _, row in ipairs(M.OF_CLASS) do
    M.CLASS_RATES[#M.CLASS_RATES + 1], M.CLASS_FIELDS[#M.CLASS_FIELDS + 1] = row.source and row, row.source
end

return M
