-- SPDX-License-Identifier: BSD-3-Clause
--- What an operator looks at, computed from one or two snapshots: an overview and one row for each class.
-- Pure. Field names carry their units and are the names in JSON; an unknown value is absent.
local automove = require "slate.facts.automove"
local snapshot = require "slate.facts.snapshot"
local starving = require "slate.judge.starving"
local waste = require "slate.facts.waste"

local M = {}

-- When a class counts as remarkable. A page or two of free chunks is what a healthy class keeps.
local IDLE_PAGES <const> = 2.5
local FILLS_S <const> = 60 -- free chunks that a class takes within so long are not idle

local function ratio(part, whole)
    if part and whole and whole > 0 then
        return part / whole
    end
    return nil
end

local function sum(...)
    local total
    for _, value in pairs({ ... }) do
        total = (total or 0) + value
    end
    return total
end

--- The share of reads that found their item, from a pair of counters or rates. nil without reads.
local function hit_ratio(counts)
    if not (counts.get_hits and counts.get_misses) then
        return nil
    end
    return ratio(counts.get_hits, counts.get_hits + counts.get_misses)
end

-- What items take in memory: memcached counts values on flash among the bytes, too.
local function in_memory(general)
    local bytes, flash = general.bytes, general.extstore_bytes_used
    return bytes and flash and math.max(0, bytes - flash) or bytes
end

--- The overview of a server. `rates` (from snapshot.rates) may be nil.
function M.overview(now, rates)
    local general, settings = now.general, now.settings or {}
    local per_s = rates and rates.general or {}
    local used_bytes = in_memory(general)
    local item_loss_per_s = sum(per_s.evictions, per_s.slab_reassign_evictions_nomem,
        per_s.slab_reassign_busy_deletes)
    return {
        server = now.server, version = now.version, slated = now.slated, time_s = now.time_s,
        interval_s = rates and rates.interval_s, reset = rates and rates.reset,
        uptime_s = general.uptime, connections = general.curr_connections, items = general.curr_items,
        used_bytes = used_bytes, limit_bytes = general.limit_maxbytes,
        used_ratio = ratio(used_bytes, general.limit_maxbytes),
        free_pool_pages = general.slab_global_page_pool,
        get_per_s = per_s.cmd_get, set_per_s = per_s.cmd_set,
        hit_ratio = hit_ratio(per_s), hit_ratio_total = hit_ratio(general),
        evictions_per_s = per_s.evictions, item_loss_per_s = item_loss_per_s,
        out_of_memory_per_s = rates and rates.refused_stores_per_s, pages_moved = general.slabs_moved,
        pages_moved_per_s = per_s.slabs_moved, received_bytes_per_s = per_s.bytes_read,
        sent_bytes_per_s = per_s.bytes_written, cpu_ratio = sum(per_s.rusage_user, per_s.rusage_system),
        automove = settings.slab_automove,
    }
end

--- The connections that are open, and how many may be, whole numbers; nil for what is not told.
function M.connections(now)
    return math.tointeger(now.general.curr_connections),
        math.tointeger(now.general.max_connections) or math.tointeger((now.settings or {}).maxconns)
end

-- The share of its used chunks that no item asked for, by class; absent where pieces of long values may lie.
local function slack_by_id(now)
    local by_id = {}
    for _, row in ipairs(waste.classes(now)) do
        by_id[row.id] = ratio(row.slack_bytes, row.used_bytes)
    end
    return by_id
end

local function class_row(class, before, per_s)
    local page_chunks = class.chunks_per_page
    return {
        id = class.id, chunk_bytes = class.chunk_size, pages = class.total_pages,
        pages_delta = before and class.total_pages and before.total_pages and class.total_pages - before.total_pages,
        used_ratio = ratio(class.used_chunks, class.total_chunks),
        free_pages = ratio(sum(class.free_chunks, class.free_chunks_end), page_chunks), items = class.number,
        get_hits_per_s = per_s.get_hits, set_per_s = per_s.cmd_set, evicted_per_s = per_s.evicted,
        out_of_memory_per_s = per_s.outofmemory, age_s = class.age, flags = {},
    }
end

-- How long what a class evicts had not been used: the tail's age, or less where the policy evicts new items first.
local function victim_age_s(row, class)
    local last_s = (row.evicted_per_s or 0) > 0 and class.evicted_time
    return last_s and math.min(last_s, row.age_s or last_s) or row.age_s
end

--- The mode of automove by its name, which memcached shows as a number, and slated too where memcached has it; nil when
-- the server does not say.
function M.automove_mode(now)
    local told = (now.settings or {}).slab_automove
    local mode = told ~= nil and automove.of(told)
    return mode and mode.name or told
end

--- Whether it is known which classes starve: the server tells evictions by class, or its classes and
-- that it evicts nothing at all.
-- rows: of M.classes.
function M.knows_starving(now, rates, rows)
    if not rates or rates.reset then
        return false
    end
    local is_known = now.slated or rates.general.evictions == 0 and snapshot.tells_classes(now)
    for _, row in ipairs(rows) do
        is_known = is_known or row.evicted_per_s
    end
    return is_known and true or false
end

--- In place of "no class starves" where that is not known.
M.STARVING_UNKNOWN = "which class starves is not known: this server does not report evictions by class"

--- True where pages go to where they bring most hits (slated's utility): ages of classes are not meant to be alike
-- there, and a page moved by age would take hits away.
function M.goes_by_hits(now)
    return M.automove_mode(now) == "utility" and now.slated and true or false
end

-- In one word what a class is like: "empty" (no pages), "unknown" (no rates, or no pages told), "starving",
-- "evicting" (as a full cache does), "spare" (evicts nothing and has pages of free chunks to give) or "calm".
local function state_of(row)
    if row.pages == 0 then
        return "empty"
    elseif not (row.pages and row.evicted_per_s) then
        return "unknown"
    elseif row.starves then
        return "starving"
    elseif row.evicts_lately then
        return "evicting"
    end
    return starving.has_spare(row.free_pages or 0) and "spare" or "calm"
end

-- Whether a class takes its free chunks soon, as one does that just got pages. before: the class as it was interval_s
-- ago, or nil.
local function is_filling(class, before, interval_s)
    if not (before and interval_s and class.used_chunks and before.used_chunks) then
        return false
    end
    local taken_per_s = (class.used_chunks - before.used_chunks) / interval_s
    return (sum(class.free_chunks, class.free_chunks_end) or 0) <= taken_per_s * FILLS_S
end

--- Whether a class refuses stores for want of memory.
function M.refuses(row)
    return (row.out_of_memory_per_s or 0) > 0
end

local function add_flags(rows, is_filling_by_id)
    for _, row in ipairs(rows) do
        row.state = state_of(row)
        if M.refuses(row) then
            row.flags[#row.flags + 1] = "out_of_memory"
        end
        if row.starves then
            row.flags[#row.flags + 1] = "starving"
        end
        local is_idle = row.evicted_per_s == 0 and (row.free_pages or 0) >= IDLE_PAGES
        if is_idle and (row.pages_delta or 0) <= 0 and not is_filling_by_id[row.id] then
            row.flags[#row.flags + 1] = "idle"
        end
    end
end

--- The row of the class of this id, of M.classes; nil without one. rows: may be nil.
function M.row_of(rows, id)
    for _, row in ipairs(rows or {}) do
        if row.id == id then
            return row
        end
    end
end

--- One row for each class, by id. `before` and `rates` may be nil: rates are absent then. judge: of
-- slate.judge.starving, for those who look again and again; without one the pair of snapshots alone is judged. flags:
-- "out_of_memory" (stores fail), "starving" (see slate.judge.starving), "idle" (holds whole pages of free chunks,
-- does not fill them within a minute, and evicts nothing).
function M.classes(now, before, rates, judge)
    local earlier = before and not (rates and rates.reset) and snapshot.earlier_by_id(before, now) or {}
    local rows, slack, is_filling_by_id = {}, slack_by_id(now), {}
    for i, class in ipairs(now.classes) do
        rows[i] = class_row(class, earlier[class.id], rates and rates.classes[class.id] or {})
        rows[i].slack_ratio, rows[i].victim_age_s = slack[class.id], victim_age_s(rows[i], class)
        is_filling_by_id[class.id] = is_filling(class, earlier[class.id], rates and rates.interval_s)
    end
    if rates and not rates.reset then
        (judge or starving.judge(1)):look(rows, { time_s = now.time_s, interval_s = rates.interval_s,
            uptime_s = now.general.uptime, by_hits = M.goes_by_hits(now) })
    end
    add_flags(rows, is_filling_by_id)
    return rows
end

--- The flags of a row in words.
function M.note(row)
    local words = {}
    for _, flag in ipairs(row.flags) do
        if flag == "idle" then
            words[#words + 1] = ("idle: %d free"):format(row.free_pages // 1)
        elseif flag == "starving" then
            words[#words + 1] = "starves: items live " .. require("slate.base.units").age(row.life_s)
        else
            words[#words + 1] = (flag:gsub("_", " "))
        end
    end
    return table.concat(words, ", ")
end

return M
