-- SPDX-License-Identifier: BSD-3-Clause
--- What is wrong with a server, in words: findings from two snapshots, the worst first. Pure.
--
-- A finding is { severity = "critical" | "warning" | "note", what = a sentence, todo = what to do, a command where
-- there is one, term = a name that `slatectl explain` knows, or absent }.
local held = require "slate.held"
local starving = require "slate.starving"
local units = require "slate.units"
local view = require "slate.view"

local M = {}

local SEVERITIES <const> = { critical = 1, warning = 2, note = 3 }
-- From where on a figure is worth a word.
local FILLS_FROM_RATIO <const> = 0.5 -- of the limit, from where on waste is told before anything is evicted
local SPREAD_MOST <const>, WASTE_MOST_RATIO <const>, UNREAD_MOST_RATIO <const> = 4, 0.15, 0.5
local CONNECTIONS_MOST_RATIO <const>, HITS_LEAST_RATIO <const>, HITS_LEAST_READS <const> = 0.9, 0.5, 1000
local PING_PONG_LAST <const> = 16
local HELD_CRITICAL_RATIO <const> = 1 -- held beyond the limit: twice what was meant
local WINDOW_LONG_S <const>, WINDOW_MOST_S <const> = 60, 1800

local function share(part, whole)
    return units.percent(part / whole)
end

-- Each check gets { now, before, rates, general, per_s, settings, rows, moves, geometry } and may call
-- add(severity, what, todo, term).
local CHECKS <const> = {}

function CHECKS.out_of_memory(about, add)
    for _, row in ipairs(about.rows) do
        if (row.out_of_memory_per_s or 0) > 0 then
            add("critical", ("class %d refuses %s stores a second: it has %s and finds no memory"):format(row.id,
                units.rate(row.out_of_memory_per_s), units.plural(row.pages or 0, "page")),
                view.advice(about.rows)[1] or "give it pages: slatectl move SRC " .. row.id, "out_of_memory")
        end
    end
    if about.settings.evictions == "off" then
        add("warning", "it was started with -M: when it is full it refuses stores instead of evicting",
            "start it without -M, unless a refused store is what you want")
    end
end

-- What to do where a change of the chunk sizes is under way already; nil where none is.
local function change_under_way(about)
    local state = about.geometry and about.geometry.state
    if state == "paused" then
        return "a change of the chunk sizes is paused: slatectl geometry resume"
    end
    return state == "draining" and "a change of the chunk sizes is under way: slatectl geometry tells how it goes"
        or nil
end

-- What gives memory back that is held beyond the limit.
local function against_held(about, over)
    if over.is_by_classes then
        return change_under_way(about) or (about.now.slated
            and "have fewer classes: slatectl geometry auto; or start it with -m %d or more"
            or "start it with fewer classes (a larger -f), or with -m %d or more"):format(over.classes)
    elseif about.settings.slab_reassign == false then
        return "it was started without slab_reassign, so no page is given back: start it again"
    elseif about.now.slated then
        return "it gives pages back by itself: slatectl moves tells whether it gets on"
    end
    return "memcached gives back only what is moved to the pool: slatectl move SRC 0"
end

function CHECKS.held(about, add)
    local over = held.over(about.now, about.before)
    if not (over and over.is_much) then
        return
    end
    local severity = over.is_falling and "note" or over.over_ratio >= HELD_CRITICAL_RATIO and "critical" or "warning"
    add(severity, ("it holds %s of memory, %s more than its limit of %s%s"):format(units.bytes(over.held_bytes),
        units.percent(over.over_ratio), units.bytes(over.limit_bytes),
        over.is_by_classes and (": each of %d classes keeps a page"):format(over.classes)
            or over.is_falling and ", and gives it back" or ""), against_held(about, over), "memory.held")
end

function CHECKS.connections(about, add)
    local general = about.general
    local limit = general.max_connections or about.settings.maxconns
    if (about.per_s.listen_disabled_num or 0) > 0 or general.accepting_conns == 0
        or (about.per_s.rejected_connections or 0) > 0 then
        add("critical", ("it turns connections away: %s of %s are open"):format(general.curr_connections or "-",
            limit or "-"), "start it with a larger -c, or find who keeps connections: slatectl conns",
            "refused_connections")
    elseif limit and (general.curr_connections or 0) > limit * CONNECTIONS_MOST_RATIO then
        add("warning", ("%d of %d connections are open"):format(general.curr_connections, limit),
            "start it with a larger -c before they run out", "connections")
    elseif (general.rejected_connections or 0) + (general.listen_disabled_num or 0) > 0 then
        add("note", "it has turned connections away since its start", "slatectl conns tells who holds them",
            "refused_connections")
    end
end

function CHECKS.starving(about, add)
    local advice = {}
    for _, sentence in ipairs(view.advice(about.rows)) do
        advice[sentence:match("^class (%d+)")] = sentence:match(": (.*)$")
    end
    for _, row in ipairs(about.rows) do
        if table.concat(row.flags, " "):find("starving", 1, true) then
            local giver, free, kept_s = starving.giver_for(row, about.rows)
            add("warning", ("class %d starves: it evicts %s items a second, which live %s, while class %d %s"):format(
                row.id, units.rate(row.mean_evicted_per_s), units.age(row.life_s), giver.id,
                starving.has_spare(free) and "has " .. units.plural(free, "free page")
                    or "keeps its own " .. units.age(kept_s)),
                advice[tostring(row.id)] or "slatectl advise automove", "starving")
        end
    end
end

function CHECKS.age_spread(about, add)
    local spread = require("slate.members").age_spread(about.rows)
    if spread and spread > SPREAD_MOST and not view.goes_by_hits(about.now) then
        add("warning", ("of the classes that evict, the oldest keeps items %.0f times as long as the youngest"):format(
            spread), "slatectl advise automove", "class.age")
    end
end

function CHECKS.idle_pages(about, add)
    local pages, ids, evicting = 0, {}, false
    for _, row in ipairs(about.rows) do
        evicting = evicting or (row.evicted_per_s or 0) > 0
        if table.concat(row.flags, " "):find("idle", 1, true) then
            pages, ids[#ids + 1] = pages + row.free_pages // 1, tostring(row.id)
        end
    end
    if pages > 0 and evicting then
        add("warning", ("%s lie idle in class %s while others evict"):format(units.plural(pages // 1, "page"),
            table.concat(ids, ", ")), "slatectl advise automove", "class.free")
    end
end

-- Against pages that go to and fro: only the mode ratio looks at its window, and utility rests such classes by itself.
local function against_ping_pong(about)
    local why = "slatectl moves tells why each moved"
    local mode, window_s = view.automove_mode(about.now), about.settings.slab_automove_window
    if mode == "off" then
        return "automove is off, so that somebody moves them: slatectl undo --list; " .. why
    elseif mode == "ratio" and math.type(window_s) and window_s < WINDOW_MOST_S then
        return ("a longer window: slatectl set slab_automove_window %d; %s"):format(
            math.min(WINDOW_MOST_S, math.max(WINDOW_LONG_S, 2 * window_s // 1)), why)
    elseif mode ~= "utility" and about.now.slated then
        return "a mode that weighs what a move costs: slatectl automove utility; " .. why
    end
    return why
end

function CHECKS.moves(about, add)
    local lost = (about.general.slab_reassign_evictions_nomem or 0) + (about.general.slab_reassign_busy_deletes or 0)
    if lost > 0 then
        add("note", ("%s items were lost by page moves, which evictions do not count"):format(units.count(lost)),
            "slatectl automove tells the mode that moves them, slatectl advise automove whether another is better",
            "lost_by_moves")
    end
    local seen, pairs_seen = {}, {}
    for i = math.max(1, #about.moves - PING_PONG_LAST + 1), #about.moves do
        local move = about.moves[i]
        local back = move.to .. " " .. move.from
        if seen[back] and move.from ~= 0 and move.to ~= 0 and not pairs_seen[back] then
            pairs_seen[back], pairs_seen[move.from .. " " .. move.to] = true, true
            add("warning", ("pages go to and fro between class %s and class %s"):format(move.from, move.to),
                against_ping_pong(about), "page_moves")
        end
        seen[move.from .. " " .. move.to] = true
    end
    if about.settings.slab_automove == 2 and not about.now.slated then
        add("warning", "automove 2 moves a page at every eviction: memcached means it for moments only",
            "slatectl automove 1")
    end
end

function CHECKS.what_is_evicted(about, add)
    local general = about.general
    local evictions = general.evictions or 0
    if evictions >= HITS_LEAST_READS and (general.evicted_unfetched or 0) > evictions * UNREAD_MOST_RATIO then
        add("note", ("%s of what it evicted was never read"):format(share(general.evicted_unfetched, evictions)),
            "store less that nobody reads, or try another eviction policy: slatectl advise policy", "evicted_unread")
    end
    local expired, stored = general.expired_unfetched or 0, general.total_items or 0
    if expired >= HITS_LEAST_READS and stored > 0 and expired > stored * UNREAD_MOST_RATIO then
        add("note", ("%s of what was stored expired and was never read"):format(share(expired, stored)),
            "slatectl keys --unread tells which keys", "expired_unread")
    end
end

function CHECKS.hits(about, add)
    local overview = view.overview(about.now, about.rates)
    local ratio = overview.hit_ratio or overview.hit_ratio_total
    if ratio and ratio < HITS_LEAST_RATIO and (about.general.cmd_get or 0) >= HITS_LEAST_READS then
        add("note", ("only %s of the reads find their item"):format(units.percent(ratio)),
            (about.general.evictions or 0) > 0 and "slatectl advise memory"
            or "it evicts nothing, so memory is not why: are keys stored before they are read?", "hit_ratio")
    end
end

function CHECKS.waste(about, add)
    local waste = require "slate.waste"
    local total = waste.total(about.now, waste.classes(about.now))
    local fills = (about.general.evictions or 0) > 0 or total.page_bytes > FILLS_FROM_RATIO * (total.limit_bytes or 0)
    if total.waste_ratio and total.waste_ratio > WASTE_MOST_RATIO and fills then
        add("note", ("%s of the memory in use is wasted: the ends of chunks and pages"):format(
            units.percent(total.waste_ratio)), change_under_way(about) or "slatectl advise sizes", "class.waste")
    end
end

function CHECKS.geometry(about, add)
    local change = about.geometry
    local advice = change and change.auto ~= "yes" and require("slate.geometry").advice(change)
    if advice then
        add("note", advice, "slatectl geometry auto, or for good: slatectl set slab_geometry_auto yes",
            "geometry.auto_gain")
    end
end

function CHECKS.log(about, add)
    if (about.per_s.log_worker_dropped or 0) > 0 or (about.per_s.log_watcher_skipped or 0) > 0 then
        add("note", "events are lost to those who watch", "watch fewer kinds of events")
    end
end

-- Versions that a wrong command brings down. slatectl refuses such commands; others may send them.
function CHECKS.version(about, add)
    local minor = math.tointeger(tonumber(about.now.version and about.now.version:match("^1%.6%.(%d+)$")))
    if about.now.slated or not minor then
        return
    elseif minor >= 34 and minor <= 41 then
        add("note", ("memcached %s crashes when it is told to move a page to a class that it does not use"):format(
            about.now.version), "move pages with slatectl, which checks first, or update to 1.6.42 or later")
    elseif minor >= 34 and minor <= 44 then
        add("note", ("memcached %s crashes on an automove window below 3 or above 1800"):format(about.now.version),
            "set it with slatectl, which checks first, or update to 1.6.45 or later")
    end
end

local ORDER <const> = { "out_of_memory", "held", "connections", "starving", "age_spread", "idle_pages", "moves",
    "what_is_evicted", "hits", "waste", "geometry", "log", "version" }

--- Everything worth a word, the worst first. before and rates may be nil: what needs rates is not looked at then.
-- moves: the last moves of slated (slate.moves), oldest first; may be empty. geometry: its change of the chunk sizes
-- (slate.geometry); may be nil. judge: see slate.view.classes; may be nil.
function M.findings(now, before, rates, moves, geometry, judge)
    local about = {
        now = now, before = before, rates = rates, general = now.general, settings = now.settings or {},
        per_s = rates and rates.general or {}, rows = view.classes(now, before, rates, judge), moves = moves,
        geometry = geometry,
    }
    local list = {}
    for _, name in ipairs(ORDER) do
        CHECKS[name](about, function(severity, what, todo, term)
            list[#list + 1] = { severity = severity, what = what, todo = todo, term = term, at = #list }
        end)
    end
    table.sort(list, function(a, b)
        if a.severity ~= b.severity then
            return SEVERITIES[a.severity] < SEVERITIES[b.severity]
        end
        return a.at < b.at
    end)
    for _, finding in ipairs(list) do
        finding.at = nil
    end
    return list
end

return M
