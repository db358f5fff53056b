-- SPDX-License-Identifier: BSD-3-Clause
--- The report on one server as plain tables: figures, findings, changes, classes. Pure.
--
-- slate.judge makes the findings, from all snapshots: a finding may begin before the report's span. The other parts
-- are sums over the span and figures at its ends.
local changes_facts = require "slate.facts.changes"
local doctor = require "slate.judge.doctor"
local gather = require "slate.base.gather"
local history = require "slate.judge.history"
local snapshot = require "slate.facts.snapshot"
local time = require "slate.chart.kinds.time"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local M = {}

local SAME_CHANGE_S <const> = 5 -- a change on record and a change in snapshots are the same within this time
local ENDS <const> = 5 -- the report compares the first and the last fifth of the span

-- The growth of a counter from snapshot to snapshot, without restarts and resets; nil if no server reported it.
local function growth(list, name, from, to)
    local sum
    for i = from + 1, to do
        local more
        if name == "refused" then
            more = time.refused(list[i - 1], list[i])
        else
            more = time.growth(list[i - 1].general, list[i].general, name)
        end
        sum = more and (sum or 0) + more or sum
    end
    return sum
end

local function part_of(list, from, to)
    local hits, misses = growth(list, "get_hits", from, to), growth(list, "get_misses", from, to)
    local seconds = list[to].time_s - list[from].time_s
    local function rate(name)
        local more = growth(list, name, from, to)
        return more and seconds > 0 and more / seconds or nil
    end
    return {
        hit_ratio = hits and misses and hits + misses > 0 and hits / (hits + misses) or nil,
        gets_per_s = rate("cmd_get"), sets_per_s = rate("cmd_set"), evictions_per_s = rate("evictions"),
        refused_per_s = rate("refused"),
    }
end

-- The figures of a whole span, of its first fifth and of its last fifth.
local function figures_of(list)
    local fifth = math.max(1, (#list - 1) // ENDS)
    local last = list[#list].general
    return {
        whole = part_of(list, 1, #list), first = part_of(list, 1, math.min(1 + fifth, #list)),
        last = part_of(list, math.max(1, #list - fifth), #list), items = last.curr_items, used_bytes = last.bytes,
        limit_bytes = last.limit_maxbytes, connections = last.curr_connections, uptime_s = last.uptime,
    }
end

-- The growth of a counter by class. is_demand: without the time in which the class gave pages, whose moves evict, too.
local function class_growth(list, name, is_demand)
    local sums, before = {}, {}
    for _, one in ipairs(list) do
        local now = {}
        for _, class in ipairs(one.classes) do
            local was = before[class.id]
            local gave = is_demand and was and (class.total_pages or 0) < (was.total_pages or 0)
            if was and was.chunk_size == class.chunk_size and not gave then
                local more = time.growth(was, class, name)
                sums[class.id] = more and (sums[class.id] or 0) + more or sums[class.id]
            end
            now[class.id] = class
        end
        before = now
    end
    return sums
end

-- One row for each class of the last snapshot that has or had pages. rows: of slate.judge.view at that moment.
local function classes_of(list, rows)
    local evicted, hits = class_growth(list, "evicted"), class_growth(list, "get_hits")
    local wanted = class_growth(list, "evicted", true)
    local was, total_pages, total_evicted = {}, 0, 0
    for _, class in ipairs(list[1].classes) do
        was[class.id] = class.total_pages
    end
    for _, row in ipairs(rows) do
        total_pages, total_evicted = total_pages + (row.pages or 0), total_evicted + (wanted[row.id] or 0)
    end
    local seconds, classes = list[#list].time_s - list[1].time_s, {}
    for _, row in ipairs(rows) do
        if (row.pages or 0) > 0 or (was[row.id] or 0) > 0 then
            classes[#classes + 1] = {
                id = row.id, chunk_bytes = row.chunk_bytes, pages = row.pages, pages_before = was[row.id] or 0,
                page_share = total_pages > 0 and (row.pages or 0) / total_pages or nil,
                eviction_share = total_evicted > 0 and wanted[row.id] and wanted[row.id] / total_evicted or nil,
                evicted_per_s = seconds > 0 and evicted[row.id] and evicted[row.id] / seconds or nil,
                hits_per_s = seconds > 0 and hits[row.id] and hits[row.id] / seconds or nil,
                items = row.items, life_s = row.life_s, state = row.state, note = view.note(row),
            }
        end
    end
    return classes
end

-- Adds the changes that a slated recorded itself; returns a set of their names. The outcome of its own prediction is no
-- change.
local function add_recorded(changes, one)
    local names = {}
    for _, change in ipairs(one.changes or {}) do
        local words = change.was and changes_facts.changed_words(change.what, change.was, change.is)
            or change.what .. " " .. change.is
        names[change.what] = true
        changes[#changes + 1] = change.what ~= "prediction" and { name = change.what,
            time_s = one.time_s - changes_facts.ago_s(change, one),
            who = changes_facts.author_of(change.who), what = words } or nil
    end
    return names
end

-- Changes between two neighbouring snapshots: those that the server recorded, and settings that differ. In the first
-- settings after a restart these are those of the command line: one change, which nobody made.
local function changes_seen(list)
    local changes, restart_s = {}, nil
    for i = 2, #list do
        local recorded = add_recorded(changes, list[i])
        local before, after = list[i - 1].settings or {}, list[i].settings or {}
        local names = gather.values(changes_facts.names(before, after), function(name)
            return not recorded[name] and name or nil
        end)
        restart_s = snapshot.is_restart(list[i - 1], list[i]) and list[i].time_s or restart_s
        if #names > 0 and restart_s then
            changes[#changes + 1] = { time_s = restart_s, name = "start", seen = true, is_of_start = true,
                what = changes_facts.words_of_start(before, after) }
        else
            for _, name in ipairs(names) do
                changes[#changes + 1] = { time_s = list[i].time_s, name = name, seen = true,
                    what = changes_facts.changed_words(name, before[name], after[name]) }
            end
        end
        restart_s = before == after and restart_s or nil -- a snapshot without settings holds those before
    end
    return changes
end

local function words_of(entry)
    if entry.what == "geometry" then
        return entry.is
    elseif entry.what == "set" then
        return changes_facts.changed_words(entry.name, entry.was, entry.is)
    end
    return ("%s moved from %s to %s"):format(units.plural(entry.pages, "page"), units.place(entry.src),
        units.place(entry.dst))
end

--- The changes in a span: the entries of the record of changes (slate.facts.audit) for this server, and what changed
-- between snapshots without an entry. In order of time: { time_s, what, who, outcome, id, undoes, seen }.
function M.changes(list, entries)
    local server, from_s, to_s = list[#list].server, list[1].time_s, list[#list].time_s
    local changes = {}
    for _, entry in ipairs(entries) do
        if entry.server == server and entry.time_s >= from_s - SAME_CHANGE_S and entry.time_s <= to_s then
            changes[#changes + 1] = { time_s = entry.time_s, what = words_of(entry), who = entry.who, id = entry.id,
                outcome = entry.outcome, undoes = entry.undoes, name = entry.name }
        end
    end
    for _, one in ipairs(changes_seen(list)) do
        local known = false
        for i = 1, #changes do
            known = known or changes[i].name and one.name:find(changes[i].name, 1, true)
                and math.abs(changes[i].time_s - one.time_s) <= SAME_CHANGE_S
        end
        if not known then
            changes[#changes + 1] = one
        end
    end
    return require("slate.base.order").largest_first(changes, function(one) return -one.time_s end, "what")
end

-- The findings in the span, the costliest first, with their times since 1970; and the rows of the classes at its end.
local function findings_of(list, span, options)
    local rows
    local episodes, problem = history.of(list, function(known)
        if known.now.time_s <= span[#span].time_s then
            rows = known.rows
        end
        gather.copy(known.now == list[#list] and options.live or {}, known)
        return (options.findings or doctor.findings)(known)
    end, M.changes(list, options.entries or {}))
    if not episodes then
        return nil, problem
    end
    local found, from_s, to_s = {}, span[1].time_s - list[1].time_s, span[#span].time_s - list[1].time_s
    for _, one in ipairs(episodes) do
        if one.first_s <= to_s and one.last_s >= from_s then
            one.from_s, one.to_s = list[1].time_s + one.first_s, list[1].time_s + one.last_s
            one.lasts = one.last_s >= to_s
            found[#found + 1] = one
        end
    end
    return found, rows
end

-- The worst finding, in one sentence.
local function verdict_of(found)
    local counts = {}
    for _, one in ipairs(found) do
        counts[one.severity] = (counts[one.severity] or 0) + 1
    end
    if not found[1] or found[1].severity == "note" then
        return { severity = "good", text = "Nothing is wrong" .. (counts.note and (": %s below"):format(
            units.plural(counts.note, "note")) or "") .. "." }
    end
    local text = found[1].what:gsub("^%l", string.upper):gsub("%.$", "")
    local more = #found - 1
    return { severity = found[1].severity, text = text .. (more > 0 and (". %s below."):format(
        units.plural(more, "more finding")) or ".") }
end

--- The story of one server. list: all its snapshots, in order of time; options: from_s, to_s (the span; nil: all),
-- entries (of the record of changes), live (facts of a live server besides its last snapshot, for slate.judge.doctor),
-- findings (in place of slate.judge.doctor.findings). Returns { server, kind, span = snapshots, from_s, to_s, figures,
-- findings, verdict, changes, classes, settings, automove }; or nil and a message.
function M.of(list, options)
    local from_s, to_s = options.from_s or list[1].time_s, options.to_s or list[#list].time_s
    local span = gather.values(list, function(one)
        return one.time_s >= from_s and one.time_s <= to_s and one or nil
    end)
    local last = span[#span]
    if not last then
        return nil, ("%s has no snapshot between these times: the recording goes from %s to %s UTC"):format(
            list[1].server or "the recording", os.date("!%Y-%m-%d %H:%M:%S", list[1].time_s // 1),
            os.date("!%Y-%m-%d %H:%M:%S", list[#list].time_s // 1))
    end
    local found, rows = findings_of(list, span, options)
    if not found then
        return nil, rows
    end
    return {
        server = last.server or "unknown server", span = span, from_s = span[1].time_s, to_s = last.time_s,
        kind = last.slated and "slated " .. last.slated or "memcached " .. (last.version or "of unknown version"),
        figures = figures_of(span), findings = found, verdict = verdict_of(found),
        changes = M.changes(span, options.entries or {}), classes = classes_of(span, rows or {}),
        settings = last.settings or {}, automove = view.automove_mode(last),
    }
end

return M
