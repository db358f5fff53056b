-- SPDX-License-Identifier: BSD-3-Clause
--- What is wrong with a server, in words: findings, the worst first. Pure.
--
-- A finding is { name = of the check, severity = "critical" | "warning" | "note", what = a sentence, todo = what to do,
-- a command where there is one; and where there are any, term = a name that `slatectl explain` knows, class = an id }.
local proxy = require "slate.facts.proxy"
local recent = require "slate.judge.recent"
local relief = require "slate.judge.relief"
local snapshot = require "slate.facts.snapshot"
local view = require "slate.judge.view"

local M = {}

local SEVERITIES <const> = { critical = 1, warning = 2, note = 3 }

-- In this order findings of one severity are told: first what keeps items out, then what is lost, then what could be
-- better.
local ORDER <const> = { "automove_failed", "restart", "traffic", "hits_fell", "out_of_memory", "held", "process",
    "connections", "storage_reads", "storage_queue", "starving", "no_relief", "idle_pages", "storage_pages",
    "storage_idle", "moves", "expired", "hits", "memory", "policy", "waste", "geometry", "storage_holes",
    "storage_unread", "young", "log", "version" }

local CHECKS <const> = {}
for _, checks in ipairs({ require "slate.judge.checks_server", require "slate.judge.checks_memory",
    (require "slate.judge.checks_storage") }) do
    for name, check in pairs(checks) do
        CHECKS[name] = check
    end
end

-- In the place of an observer, for who has two snapshots and no more.
local function pair_of(about)
    local past = recent.new()
    if about.before then
        past:add(about.before)
    end
    return { now = about.now, rows = about.rows, recent = past, relieved = {} }
end

--- What checks are given. known: { now = the snapshot }, and what of the following is known:
--
-- one: of slate.judge.observer, that has seen it; before: an earlier snapshot; judge: of slate.judge.starving, that has
-- seen those between; rows: of slate.judge.view.classes; curves: sampled ones of the classes of
-- slate.judge.relief.wanted; course: of slate.judge.course; moves: the last moves of slated, oldest first, and
-- automove: its totals (slate.facts.moves); geometry: its change of the chunk sizes (slate.facts.geometry); curve and
-- whatif = { totals, policies } (slate.facts.foresight); process (slate.facts.memory); expired_items
-- (slate.facts.expired); lately: what happened in the last ten seconds (of slate.judge.verdict's Past:since).
--
-- Adds rates, per_s (of the server as a whole), general, settings, rows, starves (does any class?), in_need (the
-- first one that a move of pages is advised for; nil without one) and takers (of slate.judge.relief.taken_before).
function M.about(known)
    local about = {}
    for name, value in pairs(known) do
        about[name] = value
    end
    about.rates = known.rates or known.before and snapshot.rates(known.before, known.now) or nil
    about.general, about.settings, about.moves = known.now.general, known.now.settings or {}, known.moves or {}
    about.per_s = about.rates and about.rates.general or {}
    about.rows = known.rows or view.classes(known.now, known.before, about.rates, known.judge)
    about.starves = false
    for _, row in ipairs(about.rows) do
        about.starves = about.starves or row.starves == true
    end
    about.one, about.takers = known.one or pair_of(about), {}
    about.in_need = about.starves and relief.in_need(about.one, about.curves) or nil
    return about
end

--- Sorts findings in place, the worst first; those of one severity stay as they are.
function M.sort(findings)
    local at = {}
    for i, finding in ipairs(findings) do
        at[finding] = i
    end
    table.sort(findings, function(a, b)
        if a.severity ~= b.severity then
            return SEVERITIES[a.severity] < SEVERITIES[b.severity]
        end
        return at[a] < at[b]
    end)
    return findings
end

-- The same list, with one finding for all of a check but the first.
local function gather(findings, name, is_advised)
    local list, ids, at = {}, {}, nil
    for _, finding in ipairs(findings) do
        if finding.name ~= name then
            list[#list + 1] = finding
        elseif not at then
            list[#list + 1], at = finding, #list + 1
        else
            ids[#ids + 1] = ("%d"):format(finding.class)
        end
    end
    local what = relief.further(ids, is_advised)
    if what then
        table.insert(list, at + 1, { name = name, severity = list[at].severity, what = what, is_further = true,
            todo = (is_advised and "look again after that move; " or "") .. "slatectl classes lists them" })
    end
    return list
end

--- For a screen, which has few lines: of several classes that starve the first, which is the worst, is told in full; a
-- finding behind it (is_further) names the others.
function M.gathered(findings)
    return gather(gather(findings, "starving", true), "no_relief", false)
end

-- What is looked at, and whether a server tells what that takes. about: of M.about.
local LOOKED_AT <const> = {
    { "hits", function(about)
        return about.general.get_hits and (about.general.get_misses or about.general.cmd_get)
    end },
    { "evictions", function(about) return about.general.evictions end },
    { "which class starves", function(about)
        return not about.rates or about.rates.reset or view.knows_starving(about.now, about.rates, about.rows)
    end },
    { "refused stores", function(about) return about.now.slated or snapshot.refused_stores(about.now) end },
    { "open connections", function(about)
        local open, limit = view.connections(about.now)
        return open and limit
    end },
    { "refused connections", function(about) return snapshot.refused_connections(about.now) end },
    { "memory in use", function(about) return about.general.bytes and about.general.limit_maxbytes end },
    { "pages of classes", function(about)
        return (not about.rows[1] or about.rows[1].pages) and snapshot.tells_classes(about.now)
    end },
}

--- What the server does not report and was not looked at, in words; empty where all is told. known: as for M.findings.
-- A proxy's figures of a cache are not missed.
function M.not_looked_at(known)
    local about, names = M.about(known), {}
    for _, row in ipairs(proxy.is_one(known.now) and {} or LOOKED_AT) do
        names[#names + 1] = not row[2](about) and row[1] or nil
    end
    return names
end

--- The names of not_looked_at as a sentence; nil without any.
function M.not_looked_at_words(names)
    return #names > 0 and ("not looked at: %s, which this server does not report"):format(table.concat(names, ", "))
        or nil
end

--- Everything worth a word, the worst first. known: see M.about; what is not known is not looked at.
function M.findings(known)
    local about, list = M.about(known), {}
    for _, name in ipairs(ORDER) do
        CHECKS[name](about, function(severity, what, todo, term, class)
            list[#list + 1] = { name = name, severity = severity, what = what, todo = todo, term = term, class = class }
        end)
    end
    return M.sort(list)
end

return M
