-- SPDX-License-Identifier: BSD-3-Clause
--- The names and labels of memcached_exporter, so that dashboards and rules made for it go on. Pure.
--
-- What ends in _total is a counter, all else a gauge. memcached_exporter also calls a few others counters, and how many
-- backends a proxy has a gauge, which its own checker does not allow; queries see no difference.
local M = {}

-- Pairs of a statistic and its metric, as a list of { statistic, metric, kind }.
local function rows_of(text)
    local rows = {}
    for name, metric in text:gmatch("(%S+)%s+(%S+)") do
        rows[#rows + 1] = { name, metric, metric:find("_total$") and "counter" or "gauge" }
    end
    return rows
end

-- A statistic and the metric behind memcached_.
local GENERAL <const> = rows_of [[
    uptime uptime_seconds                          time time_seconds
    rusage_user process_user_cpu_seconds_total     rusage_system process_system_cpu_seconds_total
    bytes_read read_bytes_total                    bytes_written written_bytes_total
    curr_connections current_connections           total_connections connections_total
    rejected_connections connections_rejected_total conn_yields connections_yielded_total
    listen_disabled_num connections_listener_disabled_total
    accepting_conns accepting_connections          bytes current_bytes
    limit_maxbytes limit_bytes                     curr_items current_items
    total_items items_total                        evictions items_evicted_total
    reclaimed items_reclaimed_total                store_too_large item_too_large_total
    store_no_memory item_no_memory_total           direct_reclaims direct_reclaims_total
    lru_crawler_starts lru_crawler_starts_total
    crawler_reclaimed lru_crawler_reclaimed_total  crawler_items_checked lru_crawler_items_checked_total
    moves_to_cold lru_crawler_moves_to_cold_total  moves_to_warm lru_crawler_moves_to_warm_total
    moves_within_lru lru_crawler_moves_within_lru_total
    extstore_compact_lost extstore_compact_lost_total
    extstore_compact_rescues extstore_compact_rescued_total
    extstore_compact_skipped extstore_compact_skipped_total
    extstore_page_allocs extstore_pages_allocated_total
    extstore_page_evictions extstore_pages_evicted_total
    extstore_page_reclaims extstore_pages_reclaimed_total
    extstore_pages_free extstore_pages_free        extstore_pages_used extstore_pages_used
    extstore_objects_evicted extstore_objects_evicted_total
    extstore_objects_read extstore_objects_read_total
    extstore_objects_written extstore_objects_written_total
    extstore_objects_used extstore_objects_used    extstore_bytes_evicted extstore_bytes_evicted_total
    extstore_bytes_written extstore_bytes_written_total extstore_bytes_read extstore_bytes_read_total
    extstore_bytes_used extstore_bytes_used        extstore_bytes_fragmented extstore_bytes_fragmented
    extstore_limit_maxbytes extstore_bytes_limit   extstore_io_queue extstore_io_queue_depth
    proxy_conn_requests proxy_conn_requests_total  proxy_conn_errors proxy_conn_errors_total
    proxy_conn_oom proxy_conn_oom_total            proxy_req_active proxy_req_active
    proxy_config_reloads proxy_config_reloads_total proxy_config_reload_fails proxy_config_reload_fails_total
    proxy_config_cron_runs proxy_config_cron_runs_total proxy_config_cron_fails proxy_config_cron_fails_total
    proxy_backend_total proxy_backend_total        proxy_backend_marked_bad proxy_backend_marked_bad_total
    proxy_backend_failed proxy_backend_failed      proxy_request_failed_depth proxy_request_failed_depth_total
    round_robin_fallback round_robin_fallback_total unexpected_napi_ids unexpected_napi_ids_total
]]

-- Of all classes together, from `stats slabs`.
local TOTALS <const> = rows_of "total_malloced malloced_bytes"

local SETTINGS <const> = rows_of [[
    maxconns max_connections                       lru_crawler lru_crawler_enabled
    lru_crawler_sleep lru_crawler_sleep            lru_crawler_tocrawl lru_crawler_to_crawl
    lru_maintainer_thread lru_crawler_maintainer_thread
    hot_lru_pct lru_crawler_hot_percent            warm_lru_pct lru_crawler_warm_percent
    hot_max_factor lru_crawler_hot_max_factor      warm_max_factor lru_crawler_warm_max_factor
]]

-- Of a class; the metric behind memcached_slab_.
local CLASS <const> = rows_of [[
    number current_items                           age items_age_seconds
    crawler_reclaimed items_crawler_reclaimed_total evicted items_evicted_total
    evicted_nonzero items_evicted_nonzero_total    evicted_time items_evicted_time_seconds
    evicted_unfetched items_evicted_unfetched_total expired_unfetched items_expired_unfetched_total
    outofmemory items_outofmemory_total            reclaimed items_reclaimed_total
    tailrepairs items_tailrepairs_total            moves_to_cold items_moves_to_cold
    moves_to_warm items_moves_to_warm              moves_within_lru items_moves_within_lru
    number_hot hot_items                           number_warm warm_items
    number_cold cold_items                         number_temp temporary_items
    age_hot hot_age_seconds                        age_warm warm_age_seconds
    chunk_size chunk_size_bytes                    chunks_per_page chunks_per_page
    total_pages current_pages                      total_chunks current_chunks
    used_chunks chunks_used                        free_chunks chunks_free
    free_chunks_end chunks_free_end                mem_requested mem_requested_bytes
]]

local QUEUES <const> = { { "hits_to_hot", "hot" }, { "hits_to_warm", "warm" }, { "hits_to_cold", "cold" },
    { "hits_to_temp", "temporary" } }
local COMMANDS <const> = { "get", "delete", "incr", "decr", "cas", "touch" }

local function value_of(value)
    if type(value) == "boolean" then
        return value and 1 or 0
    end
    return value
end

local function add_rows(families, prefix, rows, values, labels, help_of)
    for _, row in ipairs(rows) do
        local value = value_of(values[row[1]])
        if value ~= nil then
            families:add(prefix .. row[2], row[3], help_of(row[1]), labels, value)
        end
    end
end

-- Requests by command and status. A cas counts as a set too, there and here.
local function add_commands(families, metric, values, labels)
    local help = "requests by command and what came of them"
    local function add(command, status, value)
        if not value then
            return
        end
        local list = table.move(labels, 1, #labels, 1, {})
        list[#list + 1], list[#list + 2] = { "command", command }, { "status", status }
        families:add(metric, "counter", help, list, value)
    end
    for _, command in ipairs(COMMANDS) do
        add(command, "hit", values[command .. "_hits"])
        add(command, "miss", values[command .. "_misses"])
    end
    add("cas", "badval", values.cas_badval)
    add("flush", "hit", values.cmd_flush)
    local cas = (values.cas_misses or 0) + (values.cas_hits or 0) + (values.cas_badval or 0) -- absent: no such command
    add("set", "hit", values.cmd_set and math.max(values.cmd_set - cas, 0))
end

--- Adds a snapshot's, of these classes. help_of(name) tells what a statistic means.
function M.add(families, now, classes, help_of)
    families:add("memcached_up", "gauge", "1: the server answered", nil, 1)
    families:add("memcached_version", "gauge", "which version it is, in the label",
        { { "version", now.version or "" } }, 1)
    add_rows(families, "memcached_", GENERAL, now.general, nil, help_of)
    add_rows(families, "memcached_", TOTALS, now.totals or {}, nil, help_of)
    add_rows(families, "memcached_", SETTINGS, now.settings or {}, nil, help_of)
    add_commands(families, "memcached_commands_total", now.general, {})
    for _, class in ipairs(classes) do
        local labels = { { "slab", class.id } }
        add_rows(families, "memcached_slab_", CLASS, class, labels, help_of)
        add_commands(families, "memcached_slab_commands_total", class, labels)
        for _, queue in ipairs(QUEUES) do
            families:add("memcached_slab_lru_hits_total", "counter", "hits by the queue that held the item",
                { labels[1], { "lru", queue[2] } }, class[queue[1]])
        end
    end
end

return M
