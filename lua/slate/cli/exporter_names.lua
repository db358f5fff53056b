-- SPDX-License-Identifier: BSD-3-Clause
--- The names and labels of memcached_exporter, so that its dashboards and rules keep working. Pure.
--
-- Names that end in _total are counters, all others gauges. memcached_exporter also calls a few others counters, and
-- the number of a proxy's backends a gauge, which its own checker rejects; queries see no difference.
local M = {}

-- The rows of a table as a list of { statistic, metric, kind, labels }. slated's own page has the same tables: the
-- Makefile reads the text between [[ and ]].
local function rows_of(text)
    local rows = {}
    for name, metric, labels in text:gmatch("(%S+)%s+([%w_]+)({?%S*)") do
        local row = { name, metric, metric:find("_total$") and "counter" or "gauge", {} }
        for label, value in labels:gmatch('(%w+)="(%w+)"') do
            row[4][#row[4] + 1] = { label, value }
        end
        rows[#rows + 1] = row
    end
    return rows
end

-- A statistic, and its metric without "memcached_".
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
    get_hits commands_total{command="get",status="hit"}
    get_misses commands_total{command="get",status="miss"}
    delete_hits commands_total{command="delete",status="hit"}
    delete_misses commands_total{command="delete",status="miss"}
    incr_hits commands_total{command="incr",status="hit"}
    incr_misses commands_total{command="incr",status="miss"}
    decr_hits commands_total{command="decr",status="hit"}
    decr_misses commands_total{command="decr",status="miss"}
    cas_hits commands_total{command="cas",status="hit"}
    cas_misses commands_total{command="cas",status="miss"}
    touch_hits commands_total{command="touch",status="hit"}
    touch_misses commands_total{command="touch",status="miss"}
    cas_badval commands_total{command="cas",status="badval"}
    cmd_flush commands_total{command="flush",status="hit"}
    cmd_set commands_total{command="set",status="hit"}
]]

-- Statistics of all classes together, from `stats slabs`.
local TOTALS <const> = rows_of [[
    total_malloced malloced_bytes
]]

local SETTINGS <const> = rows_of [[
    maxconns max_connections                       lru_crawler lru_crawler_enabled
    lru_crawler_sleep lru_crawler_sleep            lru_crawler_tocrawl lru_crawler_to_crawl
    lru_maintainer_thread lru_crawler_maintainer_thread
    hot_lru_pct lru_crawler_hot_percent            warm_lru_pct lru_crawler_warm_percent
    hot_max_factor lru_crawler_hot_max_factor      warm_max_factor lru_crawler_warm_max_factor
]]

-- Statistics of a class, each with its metric without "memcached_slab_".
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
    get_hits commands_total{command="get",status="hit"}
    delete_hits commands_total{command="delete",status="hit"}
    incr_hits commands_total{command="incr",status="hit"}
    decr_hits commands_total{command="decr",status="hit"}
    cas_hits commands_total{command="cas",status="hit"}
    touch_hits commands_total{command="touch",status="hit"}
    cas_badval commands_total{command="cas",status="badval"}
    cmd_set commands_total{command="set",status="hit"}
    hits_to_hot lru_hits_total{lru="hot"}          hits_to_warm lru_hits_total{lru="warm"}
    hits_to_cold lru_hits_total{lru="cold"}        hits_to_temp lru_hits_total{lru="temporary"}
]]

-- Takes cas out of sets: memcached and slated count a cas as a set, too.
local function value_of(values, name)
    local value = values[name]
    if name == "cmd_set" and value then
        return math.max(value - (values.cas_misses or 0) - (values.cas_hits or 0) - (values.cas_badval or 0), 0)
    elseif type(value) == "boolean" then
        return value and 1 or 0
    end
    return value
end

local function add_rows(families, prefix, rows, values, labels, help_of)
    for _, row in ipairs(rows) do
        local value, own = value_of(values, row[1]), row[4]
        if value ~= nil and #own == 0 then
            families:add(prefix .. row[2], row[3], help_of(row[1]), labels, value)
        elseif value ~= nil then
            families:add(prefix .. row[2], row[3], "requests, by the labels",
                table.move(own, 1, #own, #labels + 1, table.move(labels, 1, #labels, 1, {})), value)
        end
    end
end

--- Adds the metrics of a snapshot, for these classes. help_of(name): the meaning of a statistic.
function M.add(families, now, classes, help_of)
    families:add("memcached_up", "gauge", "1: the server answered", nil, 1)
    families:add("memcached_version", "gauge", "which version it is, in the label",
        { { "version", now.version or "" } }, 1)
    add_rows(families, "memcached_", GENERAL, now.general, {}, help_of)
    add_rows(families, "memcached_", TOTALS, now.totals or {}, {}, help_of)
    add_rows(families, "memcached_", SETTINGS, now.settings or {}, {}, help_of)
    for _, class in ipairs(classes) do
        add_rows(families, "memcached_slab_", CLASS, class, { { "slab", class.id } }, help_of)
    end
end

return M
