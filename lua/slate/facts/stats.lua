-- SPDX-License-Identifier: BSD-3-Clause
--- Statistics: the lines of `stats`, `stats items`, `stats slabs` and `stats settings` as typed tables.
--
-- Names are the server's. Every version of memcached has its own set and its own places for them, so this module
-- requires no name: an unreported value is nil, never zero.
local gather = require "slate.base.gather"

local M = {}

-- Values that look like numbers and are not.
local TEXT <const> = {
    version = true, libevent = true, umask = true, slated_version = true, inter = true, domain_socket = true,
    stat_key_prefix = true, slab_reassign_last_busy_status = true, ssl_min_version = true, memory_file = true,
}
local WORDS <const> = { yes = true, no = false }
local NOTHING <const> = { ["NULL"] = true, ["(null)"] = true }

--- The groups of `stats` besides the general one; and those that only slated has.
M.GROUPS = { "items", "slabs", "settings", "sizes", "conns" }
M.SLATED_GROUPS = {
    "slated", "policies", "pages", "moves", "geometry", "curve", "whatif", "hotkeys", "automove", "audit", "sizehist",
    "evictions", "memory", "describe",
}

--- The counters: they only grow until a restart or `stats reset`, so they have rates.
-- All other numbers are states of the moment. General ones first, then those of a class.
M.COUNTERS = {}
for name in ([[
    total_connections rejected_connections response_obj_oom read_buf_oom cmd_get cmd_set cmd_flush cmd_touch cmd_meta
    get_hits get_misses get_expired get_flushed delete_misses delete_hits incr_misses incr_hits decr_misses decr_hits
    cas_misses cas_hits cas_badval touch_hits touch_misses store_too_large store_no_memory auth_cmds auth_errors
    idle_kicks bytes_read bytes_written listen_disabled_num time_in_listen_disabled_us conn_yields
    slab_reassign_rescues slab_reassign_chunk_rescues slab_reassign_evictions_nomem slab_reassign_inline_reclaim
    slab_reassign_busy_items slab_reassign_busy_deletes slab_reassign_busy_nomem slabs_moved lru_crawler_starts
    lru_maintainer_juggles malloc_fails log_worker_dropped log_worker_written log_watcher_skipped log_watcher_sent
    total_items expired_unfetched evicted_unfetched evicted_active evictions reclaimed crawler_reclaimed
    crawler_items_checked lrutail_reflocked moves_to_cold moves_to_warm moves_within_lru direct_reclaims
    lru_bumps_dropped round_robin_fallback unexpected_napi_ids rusage_user rusage_system
    get_extstore get_aborted_extstore get_oom_extstore recache_from_extstore miss_from_extstore badcrc_from_extstore
    extstore_compact_lost extstore_compact_rescues extstore_compact_resc_cold extstore_compact_resc_old
    extstore_compact_skipped extstore_page_allocs extstore_page_evictions extstore_page_reclaims
    extstore_objects_evicted extstore_objects_read extstore_objects_written extstore_bytes_evicted
    extstore_bytes_written extstore_bytes_read
    proxy_conn_requests proxy_conn_errors proxy_conn_oom proxy_config_reload_fails proxy_backend_failed
    proxy_backend_marked_bad proxy_request_failed_depth
    evicted evicted_nonzero outofmemory tailrepairs hits_to_hot hits_to_warm hits_to_cold hits_to_temp
]]):gmatch("%S+") do
    M.COUNTERS[name] = true
end

-- No server counts to this number; arithmetic and formats do not hold it.
local BEYOND <const> = 1e24

--- One value with its type: integer, float, boolean (yes/no), string; nil for the server's "NULL".
-- Numbers above 2^63 become floats, impossible ones are nil.
function M.typed(name, text)
    if NOTHING[text] then
        return nil
    elseif TEXT[name] then
        return text
    elseif WORDS[text] ~= nil then
        return WORDS[text]
    elseif text:find("^-?%d+$") or text:find("^-?%d+%.%d+$") then
        local number = tonumber(text)
        return number > -BEYOND and number < BEYOND and number or nil
    end
    return text
end

--- Queries a server for a group that only slated has. Returns its lines; or nil, message, code, of "unsupported" with
-- the message `needs`. A slated answers each with a line at least; some servers answer any group with none.
function M.query_slated(client, group, needs)
    local lines, message, code = client:stats(group)
    if lines and #lines == 0 then
        return nil, needs, "unsupported"
    end
    return lines, code == "unsupported" and needs or message, code
end

--- Splits a raw line: "STAT pid 7" -> "pid", "7". nil for anything else; an empty value is "".
function M.split(line)
    return line:match("^STAT (%S+) ?(.*)$")
end

--- A reply as one text, of which each line ends: a list of lines, or such a text already.
function M.text_of(reply)
    return type(reply) == "string" and reply or table.concat(reply or {}, "\n") .. "\n"
end

--- A reply's text as a screen may show it: unprintable bytes are "?".
function M.printable(text)
    return (text:gsub("[^\x20-\x7e\r\n]", "?"))
end

local function number_of(name, text)
    local value = M.typed(name, text)
    return math.type(value) and value or nil
end

--- The number of a text that is a decimal number, with a sign or not; nil for any other text.
function M.number(text)
    local number = text:find("^[+-]?%d*%.?%d*[eE]?[+-]?%d*$") and tonumber(text)
    return number and number > -BEYOND and number < BEYOND and number or nil
end

local function has_all(row, fields)
    return not gather.any(fields, function(field) return row[field] == nil end)
end

--- Groups with rows of their own, "STAT 7:state moved" beside "STAT mode off": a table from name to value, and a list
-- of rows in the server's order, each with its number under `key`. is_text: names whose values are always text; values
-- of other names are absent if they are no numbers. needed: rows without one of these fields are left out.
function M.numbered(lines, key, is_text, needed)
    local values, rows, at = {}, {}, {}
    for _, line in ipairs(lines) do
        local name, text = M.split(line)
        local number, field = (name or ""):match("^(%d+):(.+)$")
        local id = math.tointeger(tonumber(number))
        if id then
            if not at[id] then
                at[id] = { [key] = id }
                rows[#rows + 1] = at[id]
            end
            at[id][field] = is_text[field] and text or number_of(field, text)
        elseif name then
            values[name] = is_text[name] and text or number_of(name, text)
        end
    end
    local whole = gather.values(rows, function(row) return has_all(row, needed) and row or nil end)
    return values, whole
end

--- Plain groups (general, settings, slated): a table from name to typed value. reply: lines; or one text, of which
-- screens show the values.
function M.flat(reply)
    local values, shown = {}, type(reply) == "string" and M.printable(reply) or M.text_of(reply)
    for name, text in shown:gmatch("STAT (%S+) ?([^\r\n]*)") do
        values[name] = M.typed(name, text)
    end
    return values
end

-- Counts, sizes and limits are below 2^63. A server writes -1 for an unknown value, and 2^64 - 1 for a counter that
-- went below zero.
local COUNT_BEYOND <const> = 2.0 ^ 63

local function is_count(value)
    return math.type(value) ~= nil and value >= 0 and value < COUNT_BEYOND
end

--- Plain groups in which all values are counts, sizes and limits, or texts of known names. Other values, and negative
-- numbers, are absent, as if the server had not reported them.
function M.figures(lines)
    local figures = M.flat(lines)
    for name, value in next, figures do
        figures[name] = (is_count(value) or TEXT[name] and type(value) == "string") and value or nil
    end
    return figures
end

--- The figures of a group of statistics; or nil, message, code. Without a group: those of the server as a whole. memory
-- ("unsupported": it is no slated, or an older one): the uses of the process's memory, and the bytes left of its limit.
function M.read(client, group)
    local lines, message, code = client:stats(group or "")
    return lines and M.figures(lines), message, code
end

local IN_PARTS <const> = { rusage_user = true, rusage_system = true } -- counters of seconds

--- True if `figures` can give this value for a name: no server reports a negative one, nor a part of a count.
function M.is_figure(name, value)
    return is_count(value) and (not M.COUNTERS[name] or IN_PARTS[name] or math.tointeger(value) ~= nil)
        or TEXT[name] == true and type(value) == "string"
end

-- Settings that are used in calculations.
local SETTING_NUMBERS <const> = {}
for name in ([[
    maxbytes maxconns item_size_max growth_factor chunk_size slab_chunk_max slab_automove_ratio slab_automove_window
    slab_automove_freeratio ext_item_size ext_max_frag ext_compact_under
]]):gmatch("%S+") do
    SETTING_NUMBERS[name] = true
end

--- `stats settings`. A setting that should be a number and is none is absent, and so is a negative number.
function M.settings(lines)
    local values = {}
    for name, value in pairs(M.flat(lines)) do
        if is_count(value) or not math.type(value) and not SETTING_NUMBERS[name] then
            values[name] = value
        end
    end
    return values
end

--- True if `settings` can give this value for a name.
function M.is_setting(name, value)
    return is_count(value) or not SETTING_NUMBERS[name] and (type(value) == "string" or type(value) == "boolean")
end

-- No counter of a class reaches this number, nor does the product of two counters that are multiplied.
local CLASS_BEYOND <const> = 1 << 53

local NEVER_ZERO <const> = { chunk_size = true, chunks_per_page = true }

--- The value of a class's figure, which must be a whole number, not negative; nil if it is none.
function M.class_figure(name, value)
    local whole = math.type(value) and math.tointeger(value)
    local is_one = whole and whole >= 0 and whole < CLASS_BEYOND
    return is_one and not (NEVER_ZERO[name] and whole <= 0) and whole or nil
end

local CLASS_MOST <const> = 255

-- The record of a class; of no class, if no server has one of this id.
local function class_of(classes, id)
    id = math.tointeger(tonumber(id))
    if not id or id > CLASS_MOST then
        return {}
    end
    classes[id] = classes[id] or { id = id }
    return classes[id]
end

-- Adds the statistics of a reply's classes. pattern: finds an id, a name, a value of digits alone, and where the next
-- line begins; lines with other values, as -1 for an unknown one, are left out. Returns where the last line ended.
local function add_classes(classes, text, pattern)
    local last_id, class, rest_at
    local tonumber <const> = tonumber
    for id, name, digits, at in text:gmatch(pattern) do
        class = id == last_id and class or class_of(classes, id)
        last_id, rest_at = id, at
        local figure = tonumber(digits)
        if figure >= CLASS_BEYOND or NEVER_ZERO[name] then
            figure = M.class_figure(name, figure)
        end
        class[name] = figure
    end
    return rest_at
end

--- Merges `stats slabs` and `stats items`, each as lines or one text, into one record for each class.
-- Some names were in either group (mem_requested moved in 1.5.17): the record has one place for them.
-- A class without pages is missing in the first group, a class without items in the second.
-- Returns the classes as a list sorted by id, and a table of the values that belong to no class, which are behind them.
function M.classes(slabs, items)
    local classes, totals, list = {}, {}, {}
    slabs = M.text_of(slabs)
    local totals_at = add_classes(classes, slabs, "STAT (%d+):(%S+) (%d+)\r?\n()")
    add_classes(classes, M.text_of(items), "STAT items:(%d+):(%S+) (%d+)\r?\n")
    for name, text in slabs:gmatch("STAT (%a%S*) ?([^\r\n]*)", totals_at) do
        local number = number_of(name, text)
        totals[name] = is_count(number) and number or nil
    end
    for _, class in pairs(classes) do
        list[#list + 1] = class
    end
    table.sort(list, function(a, b) return a.id < b.id end)
    return list, totals
end

return M
