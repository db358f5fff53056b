-- SPDX-License-Identifier: BSD-3-Clause
--- The figures that an operator reads, computed from one or two snapshots: an overview and one row for each class.
-- Pure. Field names carry their units and are the names in JSON; an unknown value is absent.
--
-- Built on these: an observer, which takes the snapshots of one server.
local automove = require "slate.facts.automove"
local find = require "slate.base.find"
local gather = require "slate.base.gather"
local incident = require "slate.judge.incident"
local limits = require "slate.judge.thresholds"
local page_plan = require "slate.judge.page_plan"
local snapshot = require "slate.facts.snapshot"
local recent = require "slate.judge.recent"
local starving = require "slate.judge.starving"
local told = require "slate.judge.told"
local units = require "slate.base.units"
local verdict = require "slate.judge.verdict"
local waste = require "slate.facts.waste"

local ratio <const> = units.ratio

local M = {}

local function sum(...)
    local total
    for _, value in pairs({ ... }) do
        total = (total or 0) + value
    end
    return total
end

--- The share of reads that found their item, from a pair of counters or rates. nil without reads.
local function hit_ratio(hits, misses)
    return hits and misses and ratio(hits, hits + misses) or nil
end

--- The overview of a server. `rates` (from snapshot.rates) may be nil.
function M.overview(now, rates)
    local general, settings, general_rates = now.general, now.settings or {}, rates and rates.general or {}
    local used_bytes = snapshot.item_bytes(now)
    local item_loss_per_s = sum(general_rates.evictions_per_s, general_rates.slab_reassign_evictions_nomem_per_s,
        general_rates.slab_reassign_busy_deletes_per_s)
    return {
        server = now.server, version = now.version, slated = now.slated, time_s = now.time_s,
        interval_s = rates and rates.interval_s, reset = rates and rates.reset,
        uptime_s = general.uptime, connections = general.curr_connections, items = general.curr_items,
        used_bytes = used_bytes, limit_bytes = general.limit_maxbytes,
        used_ratio = ratio(used_bytes, general.limit_maxbytes),
        free_pool_pages = general.slab_global_page_pool,
        get_per_s = general_rates.cmd_get_per_s, set_per_s = general_rates.cmd_set_per_s,
        hit_ratio = hit_ratio(general_rates.get_hits_per_s, general_rates.get_misses_per_s),
        hit_ratio_total = hit_ratio(general.get_hits, general.get_misses),
        evictions_per_s = general_rates.evictions_per_s, item_loss_per_s = item_loss_per_s,
        out_of_memory_per_s = rates and rates.refused_stores_per_s, pages_moved = general.slabs_moved,
        pages_moved_per_s = general_rates.slabs_moved_per_s, received_bytes_per_s = general_rates.bytes_read_per_s,
        sent_bytes_per_s = general_rates.bytes_written_per_s,
        cpu_ratio = sum(general_rates.rusage_user_per_s, general_rates.rusage_system_per_s),
        automove = settings.slab_automove,
    }
end

--- The connections that are open, and the most that may be open, whole numbers; nil for what is not reported.
function M.connections(now)
    return math.tointeger(now.general.curr_connections),
        math.tointeger(now.general.max_connections) or math.tointeger((now.settings or {}).maxconns)
end

local function class_row(class, before, rates, is_slated)
    local page_chunks = class.chunks_per_page
    return {
        id = class.id, chunk_bytes = class.chunk_size, pages = class.total_pages,
        pages_delta = before and class.total_pages and before.total_pages and class.total_pages - before.total_pages,
        used_ratio = ratio(class.used_chunks, class.total_chunks),
        free_pages = ratio(sum(class.free_chunks, class.free_chunks_end), page_chunks), items = class.number,
        get_hits_per_s = rates.get_hits_per_s, set_per_s = rates.cmd_set_per_s, evicted_per_s = rates.evicted_per_s,
        -- memcached does not count by class the expired items that a read finds, and its crawler comes rarely
        left_per_s = is_slated and sum(rates.evicted_per_s, rates.reclaimed_per_s, rates.crawler_reclaimed_per_s,
            rates.delete_hits_per_s) or nil,
        out_of_memory_per_s = rates.outofmemory_per_s, age_s = class.age,
    }
end

--- The mode of automove by its name: memcached reports a number, and so does slated for the modes of memcached; nil if
-- the server does not report it.
function M.automove_mode(now)
    local reported = (now.settings or {}).slab_automove
    local mode = reported ~= nil and automove.of(reported)
    return mode and mode.name or reported
end

--- True if it is known which classes starve: the server reports evictions by class, or it reports its classes and that
-- it evicts nothing at all. rows: of M.classes.
function M.knows_starving(now, rates, rows)
    if not (rates and rates.is_known) then
        return false
    end
    return now.slated ~= nil or rates.general.evictions_per_s == 0 and snapshot.reports_classes(now)
        or gather.any(rows, function(row) return row.evicted_per_s end)
end

--- The words in place of "no class starves" where that is not known.
M.STARVING_UNKNOWN = "which class starves is not known: this server does not report evictions by class"

-- The state of a class whose items live short lives, and to which no move is advised.
local function short_state(row)
    return row.expects_gain and "gain_unsure" or "no_gain"
end

-- The state of a class in one word: "empty" (no pages, or no item in them: memcached lists no evictions of such a
-- class), "unknown" (no rates, or pages not reported), "starving", "gain_unsure" (its items live short lives; a gain by
-- pages is expected, but not certain), "no_gain" (no gain is expected, or no move possible), "measuring" (pages moved:
-- not judged yet), "evicting" (as a full cache does), "spare" (evicts nothing and has pages of free chunks to give,
-- which it does not fill) or "calm".
local function state_of(row)
    if row.pages == 0 or row.used_ratio == 0 then
        return "empty"
    elseif not (row.pages and row.evicted_per_s) then
        return "unknown"
    elseif row.starves then
        return "starving"
    elseif row.lives_short then
        return short_state(row)
    elseif row.is_measuring then
        return "measuring"
    elseif row.evicts_lately then
        return "evicting"
    end
    return starving.has_spare(row.free_pages or 0) and not row.is_filling and "spare" or "calm"
end

-- The pages of chunks that a class has filled since `before`; nil if unknown.
local function filled_pages(class, before)
    return before and class.used_chunks and before.used_chunks
        and ratio(class.used_chunks - before.used_chunks, class.chunks_per_page)
end

-- Writes the state and the flags of rows, after their judgement.
local function add_flags(rows)
    for _, row in ipairs(rows) do
        row.state, row.flags = state_of(row), {}
        if starving.refuses(row) then
            row.flags[#row.flags + 1] = "out_of_memory"
        end
        if row.starves then
            row.flags[#row.flags + 1] = "starving"
        elseif row.lives_short then
            row.flags[#row.flags + 1] = short_state(row)
        end
        local evicts_none = row.evicted_per_s == 0 or row.used_ratio == 0
        if evicts_none and (row.free_pages or 0) >= limits.idle_pages and not row.is_filling then
            row.flags[#row.flags + 1] = "idle"
        end
    end
end

--- True if a class holds whole pages of free chunks that no store fills ("idle" of its flags).
function M.is_idle(row)
    return row.flags[#row.flags] == "idle" -- it is the last one
end

--- The whole pages of all idle classes, and the ids of these classes as texts.
function M.idle_pages(rows)
    local pages, ids = 0, {}
    for _, row in ipairs(rows) do
        if M.is_idle(row) then
            pages, ids[#ids + 1] = pages + row.free_pages // 1, tostring(row.id)
        end
    end
    return pages // 1, ids
end

--- The row of the class `id`; nil without one. rows: the result of M.classes, or nil.
function M.row_of(rows, id)
    local _, row = find.by(rows or {}, "id", id)
    return row
end

--- One row for each class, by id. `before` and `rates` may be nil: rates are absent then. judge: of
-- slate.judge.starving, for callers with a series of snapshots; without one this pair of snapshots alone is judged.
-- flags: "out_of_memory" (stores fail), "starving" (see slate.judge.starving), "gain_unsure" and "no_gain" (of
-- the state), "idle" (holds whole pages of free chunks, does not fill them within a minute, and
-- evicts nothing). Also returns the rows of slate.facts.waste.
function M.classes(now, before, rates, judge)
    local earlier = before and not (rates and rates.reset) and snapshot.earlier_by_id(before, now) or {}
    local rates_by_id = rates and snapshot.by_id(rates) or {}
    local wasted = waste.classes(now)
    local rows, wasted_by_id, filled = {}, gather.map(wasted, "id"), {}
    for i, class in ipairs(now.classes) do
        rows[i] = class_row(class, earlier[class.id], rates_by_id[class.id] or {}, now.slated ~= nil)
        local of_class = wasted_by_id[class.id] or {} -- absent where pieces of long values may lie
        rows[i].slack_ratio = ratio(of_class.slack_bytes, of_class.used_bytes)
        -- The idle time of evicted items: less than the tail's age if the policy evicts new items first.
        local last_s = (rows[i].evicted_per_s or 0) > 0 and class.evicted_time
        rows[i].victim_age_s = last_s and math.min(last_s, rows[i].age_s or last_s) or rows[i].age_s
        filled[class.id] = filled_pages(class, earlier[class.id])
    end
    if rates and not rates.reset then
        -- Under slated's utility, classes are not meant to have equal ages: a page moved by age would take hits away.
        (judge or starving.judge(1)):observe(rows, { time_s = now.time_s, interval_s = rates.interval_s,
            uptime_s = now.general.uptime, filled_pages = filled,
            by_hits = M.automove_mode(now) == "utility" and now.slated ~= nil })
    end
    add_flags(rows)
    return rows, wasted
end

-- The flags of a class whose items live short lives, in words.
local SHORT_LIVES <const> = {
    starving = function() return "starves" end,
    gain_unsure = function(row)
        return "gain not certain, " .. verdict.points_words({ hit_ratio_change = row.predicted_change,
            least = row.predicted_least, most = row.predicted_most }):gsub(" ", " points ", 1)
    end,
    no_gain = function(row) return row.predicted_change and "pages bring no hits" or "no move is advised" end,
}

--- The flags of a row in words.
function M.note(row)
    local words = {}
    for _, flag in ipairs(row.flags) do
        if flag == "idle" then
            words[#words + 1] = ("idle: %d free"):format(row.free_pages // 1)
        elseif SHORT_LIVES[flag] then
            words[#words + 1] = ("%s: items live %s"):format(SHORT_LIVES[flag](row),
                units.age(row.life_s))
        else
            words[#words + 1] = (flag:gsub("_", " "))
        end
    end
    return table.concat(words, ", ")
end

-- One server, in successive snapshots: its classes, and the findings of judges with a memory. Pure; no I/O. slatetop
-- has an observer for each server that it shows, slatectl has one for the time of a command.

local Observer = {}
Observer.__index = Observer
Observer.__name = "slate.judge.view.observer"

--- An observer without snapshots. Its fields after observe(): now, before and rates (nil at first), rows (of
-- `classes`), waste (of slate.facts.waste.total), reports_classes (of slate.facts.snapshot), knows_starving, youngest_s
-- (of slate.judge.starving), over (of slate.judge.starving.held_over; may be nil), judge (of slate.judge.starving),
-- past (of slate.judge.verdict), recent (of slate.judge.recent), incidents (of slate.judge.incident) and news (its
-- sentences on the last snapshot), automove (the mode in words; "" if the server does not report it, or cannot move
-- pages); curves (for slate.judge.page_plan) and judged_moves (of slate.facts.audit) are nil until a caller sets them.
function M.observer()
    return setmetatable({ judge = starving.judge(), past = verdict.past(),
        incidents = incident.watch(), recent = recent.new() }, Observer)
end

--- Takes the next snapshot of the server. A restart or a reset of the counters clears the history, and so does a clock
-- that was set back: earlier samples would lie in the future. is_unplanned: makes no plan of page moves, which costs
-- most; the rows lack what comes of it.
function Observer:observe(now, is_unplanned)
    local before = self.now
    local rates = before and snapshot.rates(before, now) or nil
    local is_set_back = before and now.time_s < before.time_s
    if is_set_back or rates and rates.reset then
        self.judge, self.past, self.recent = starving.judge(), verdict.past(), recent.new()
        self.page_plan, self.curves = nil, nil
        self.anew = rates and { time_s = now.time_s, name = snapshot.is_restart(before, now) and "restart" or "reset" }
    end
    self.past:add(now)
    self.recent:add(now)
    self.news = self.incidents:add(now)
    self.now, self.before, self.rates = now, before, rates
    local wasted
    self.rows, wasted = M.classes(now, before, rates, self.judge)
    self.waste = waste.total(now, wasted)
    if not is_unplanned then
        self:plan()
    end
    self.reports_classes = snapshot.reports_classes(now)
    if not rates or rates.is_known then
        self.knows_starving = M.knows_starving(now, rates, self.rows)
    end
    self.youngest_s = starving.youngest_s(self.rows)
    self.over = starving.held_over(now, before)
    local mode = (now.settings or {}).slab_automove
    self.automove = automove.is_ruled_out(now) and "" or automove.reported((automove.of(mode) or {}).name or mode)
end

--- The plan of page moves (of slate.judge.page_plan) by these curves, or by the last ones; the states of the rows
-- follow it.
function Observer:plan(curves)
    self.curves = curves or self.curves
    local plan = page_plan.of(self, self.curves)
    add_flags(self.rows or {})
    return plan
end

--- Takes what was told of the last snapshot (of slate.judge.told) in place of a plan. curves: of the answers; by these
-- the plan is not made anew.
function Observer:recall(what, moves, curves)
    self.curves = curves
    told.recall(self, what, moves)
    add_flags(self.rows)
end

--- The figures of the last ten seconds, as far as they were seen (of slate.judge.verdict's Past:since); nil before the
-- first snapshot.
function Observer:lately()
    return self.now and self.past:since(self.now.time_s - limits.lately_s)
end

--- What came of a change that was made between two times, in seconds: the outcome (of slate.judge.verdict) and its
-- words; nil if too little is known. items_lost: the items that the change is known to have cost, or nil.
function Observer:outcome(began_s, ended_s, items_lost)
    local outcome = self.past:outcome(began_s, ended_s)
    if self.anew and self.anew.time_s > began_s then
        outcome = { not_judged = self.anew.name, before = {}, after = {}, for_s = self.now.time_s - ended_s }
    elseif outcome and items_lost then -- slated counts its mover's evictions with all evictions
        outcome.items_lost = math.max(outcome.items_lost or 0, items_lost)
    end
    local words = outcome and verdict.verdict_words(outcome) or ""
    if words ~= "" then
        return outcome, words
    end
end

return M
