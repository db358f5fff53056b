-- SPDX-License-Identifier: BSD-3-Clause
--- What is wrong with a server, in words: findings, the worst first. Pure.
--
-- A finding is { name = of the check, severity = "critical" | "warning" | "note", what = a sentence, todo = what to do,
-- with a command if there is one, short = the finding in at most 17 columns, and perhaps term = a name that `slatectl
-- explain` knows, class = an id, hits_lost_per_s = hits that the remedy would bring }.
--
-- The checks of the server stand here, those of its memory and storage in slate.judge.checks.
local faults = require "slate.facts.faults"
local copy = require("slate.base.gather").copy
local incident_words = require "slate.judge.incident_words"
local limits = require "slate.judge.thresholds"
local moves = require "slate.facts.moves"
local recent = require "slate.judge.recent"
local relief = require "slate.judge.relief"
local proxy = require "slate.facts.proxy"
local snapshot = require "slate.facts.snapshot"
local units = require "slate.base.units"
local verdict = require "slate.judge.verdict"
local view = require "slate.judge.view"

local M = {}

-- The checks by their names. The findings come in the order of ORDER.
local CHECKS <const> = {}

-- The figures of the last ten seconds; if only two snapshots are known, those between the two.
local function lately_of(about)
    local rates, per_s = about.rates, about.general_rates.cmd_get_per_s
    return about.lately or not rates and {} or { hit_ratio = view.overview(about.now, rates).hit_ratio,
        reads = per_s and per_s * rates.interval_s, for_s = rates.interval_s }
end

--- First, a server that no longer does its work: a mode that failed, a restart, no traffic, hits that fell.
function CHECKS.automove_failed(about, add)
    local failure = moves.failure(about.automove)
    if failure then
        add("warning", failure,
            "mend the policy (slatectl policy test), then set the mode again: slatectl automove MODE")
    end
end

-- What happened to the server lately.
local function lately_happened(about, name)
    return about.one.incidents and about.one.incidents:lately(name)
end

-- True if items were evicted because slated changes its chunk sizes by itself.
local function is_by_own_sizes(about, one)
    local change = about.geometry
    return one.evicted and change and change.auto == "yes"
        and (change.state == "draining" or (change.items_dropped or 0) >= one.evicted / 2)
end

-- Adds an incident (of slate.judge.incident) that was found ago_s ago.
local function add_incident(add, one, ago_s, severity, todo, term)
    add(severity, incident_words.line(one, ago_s), todo or incident_words.todo(one), term or nil, nil, nil,
        incident_words.short(one, ago_s))
end

for name, term in pairs({ restart = "uptime", flush = false, stall = false, items_fell = false, traffic = "ops" }) do
    CHECKS[name] = function(about, add)
        local one = lately_happened(about, name)
        local is_own = one and is_by_own_sizes(about, one)
        if one then
            -- A restart is seen when the server is reached again: its own clock knows when it was.
            local ago_s = name == "restart" and about.general.uptime or about.now.time_s - one.to_s
            add_incident(add, one, ago_s,
                (is_own or one.moved_pages and not one.hits_is) and "note" or "warning", is_own
                and "nothing: slated fits its chunk sizes to the items by itself (slab_geometry_auto); slatectl "
                .. "geometry shows it", term)
        end
    end
end

-- Seconds before its start from which a server counts `oldest`; memcached counts to the second before the flush.
local SLATED_EARLIER_S <const>, MEMCACHED_EARLIER_S <const> = 2, 59

-- A flush that was not seen, as by a command that begins after it: the setting `oldest` has its time.
local flush_seen = CHECKS.flush
function CHECKS.flush(about, add)
    local at_s, up_s = about.settings.oldest, about.general.uptime
    local is_known = at_s and up_s and (about.general.cmd_flush or 0) > 0 -- else it is of an earlier start (-e)
    local ago_s = is_known and up_s + (about.now.slated and SLATED_EARLIER_S or MEMCACHED_EARLIER_S) - at_s
    if ago_s and ago_s >= 0 and ago_s <= limits.incident_shown_s and not lately_happened(about, "flush") then
        add_incident(add, { name = "flush" }, ago_s, "warning")
    end
    flush_seen(about, add)
end

-- True if the reads of a server had more hits before the last seconds: those of one that fills have ever more.
local function had_more(about, hit_ratio)
    local whole = view.overview(about.now).hit_ratio_total or 0
    return about.one.incidents and about.one.incidents:fell() or whole - hit_ratio > limits.incident_hits_least_ratio
end

-- A start that was not seen. In its first seconds a cache fills, whatever its load shows; one that evicts has filled.
function CHECKS.young(about, add)
    local up_s, hit_ratio = about.general.uptime, lately_of(about).hit_ratio
    if not up_s or about.general.evictions ~= 0 or lately_happened(about, "restart") then
        return
    elseif up_s < limits.course_before_s then
        add("note", ("the server started %s ago: the cache fills"):format(units.age(up_s)),
            "look again when the server has filled", "uptime")
    elseif up_s < limits.new_s and hit_ratio and hit_ratio < limits.hits_least_ratio
        and not had_more(about, hit_ratio) then
        add("note", ("the server started %s ago: hits are few until it has filled"):format(units.age(up_s)),
            "look again when the server has filled", "uptime")
    end
end

-- A pause that goes on is told with its length, in place of the fall.
local traffic_fell = CHECKS.traffic
function CHECKS.traffic(about, add)
    local stopped = about.one.incidents and about.one.incidents:stopped()
    if not stopped then
        return traffic_fell(about, add)
    end
    add("warning", ("clients send no requests any more: none in %s, %s a second before"):format(
        units.age(stopped.for_s), units.rate(stopped.was_per_s)), incident_words.todo({ name = "traffic" }), "ops",
        nil, nil, "no requests")
end

function CHECKS.hits_fell(about, add)
    local one = about.one.incidents and about.one.incidents:fell()
    if one then
        add_incident(add, one, one.to_s and about.now.time_s - one.to_s, "warning",
            (one.cut or one.is_by_misses) and incident_words.todo(one)
                or about.in_need and "a class starves: feed it first"
                or relief.evicts(about.one) ~= false
                and "see what was stored lately: slatectl top, slatectl moves"
                or "nothing is evicted: keys were deleted, have expired, or are new", "hit_ratio")
    end
end

function CHECKS.connections(about, add)
    local open, limit = view.connections(about.now)
    local refused_per_s = about.rates and about.rates.refused_connections_per_s
    if (refused_per_s or 0) > 0 or about.general.accepting_conns == 0 then
        add("critical", ("the server turns connections away: %s of %s are open"):format(open or "-",
            limit or "-"), incident_words.todo({ name = "connections" }), "refused_connections")
        return
    end
    local one = lately_happened(about, "connections")
    if one then
        add_incident(add, one, about.now.time_s - one.to_s, "warning", nil, "refused_connections")
    end
    if limit and open and open > limit * limits.connections_most_ratio then
        add("warning", ("%d of %d connections are open"):format(open, limit),
            "start it with a larger -c before they run out", "connections")
    end
end

-- What might bring hits. The order matters: if nothing was evicted, more memory would not have kept more.
local function against_few_hits(about)
    local evicts = relief.evicts(about.one)
    if evicts == nil then
        return "whether anything is evicted is not reported: are keys stored before they are read?"
    elseif not evicts then
        return "nothing is evicted, so memory is not the reason: are keys stored before they are read?"
    elseif about.in_need then
        return "a class starves: feed it first"
    elseif about.curve then
        return "what more memory would bring: slatectl curve; what another policy would: slatectl whatif"
    end
    return "what more memory would bring: slatectl simulate TRACE"
end

function CHECKS.hits(about, add)
    local lately, incidents = lately_of(about), about.one.incidents
    if (lately.hit_ratio or 1) < limits.hits_least_ratio and (lately.reads or 0) >= limits.hits_reads_least
        and not (incidents and incidents:came_since(about.now.time_s - lately.for_s)) then
        add("note", ("only %s of the reads find their item%s"):format(units.percent(lately.hit_ratio),
            lately.for_s < limits.hits_short_s and (", judged by %s of traffic"):format(units.age(lately.for_s)) or ""),
            against_few_hits(about), "hit_ratio")
    end
end

function CHECKS.log(about, add)
    local rates = about.general_rates
    if (rates.log_worker_dropped_per_s or 0) > 0 or (rates.log_watcher_skipped_per_s or 0) > 0 then
        add("note", "programs that watch the server lose events", "watch fewer kinds of events")
    end
end

-- Versions that crash on a command. slatectl refuses such commands, or warns; other clients may send them.
function CHECKS.version(about, add)
    if about.now.slated then
        return
    end
    local mode = (about.now.settings or {}).slab_automove
    local running = faults.of_setting({ version = about.now.version }, "slab_automove", mode)
    if running then
        add("warning", running, "until then: slatectl automove ratio")
    end
    for _, name in ipairs({ "mover_class", "automove_window" }) do
        local words, remedy = faults.of(about.now.version, name)
        if words then
            add("note", words, remedy)
            return
        end
    end
end

local SEVERITIES <const> = { critical = 3, warning = 2, note = 1 }

-- The checks in the order of their findings of one severity: first stores that fail or items kept out, then losses,
-- then possible improvements. The second field has the short words of a finding that brings none.
local ORDER <const> = { { "automove_failed", "automove failed" }, { "restart" }, { "flush" }, { "stall" },
    { "traffic" }, { "items_fell" }, { "hits_fell" }, { "out_of_memory", "out of memory" },
    { "held", "above its limit" }, { "process", "memory pressure" }, { "connections", "connections full" },
    { "storage_reads", "flash reads fail" }, { "storage_queue", "flash is slow" }, { "starving", "starves" },
    { "hits", "few hits" }, { "no_relief", "short lives" }, { "measuring", "measuring" },
    { "idle_pages", "idle pages" }, { "storage_pages", "flash is full" }, { "storage_idle", "flash unused" },
    { "moves", "page moves" }, { "expired", "expired items" }, { "memory", "memory is short" },
    { "policy", "a better policy" }, { "waste", "wastes memory" }, { "geometry", "better sizes" },
    { "storage_holes", "holes on flash" }, { "storage_unread", "flash drops items" }, { "young", "filling" },
    { "log", "log loses events" }, { "version", "faulty version" } }

for name, check in pairs(require "slate.judge.checks") do
    CHECKS[name] = check
end

--- The arguments of checks. known: { now = the snapshot }, and as far as they are known:
--
-- one: an observer of slate.judge.view that has seen `now`; before: an earlier snapshot; judge: of
-- slate.judge.starving, after the snapshots between; rows: of slate.judge.view.classes; curves: sampled ones of the
-- classes of slate.judge.relief.wanted; moves: slated's last moves, oldest first, and
-- automove: their totals (slate.facts.moves); geometry: slated's change of the chunk sizes (slate.facts.geometry);
-- curve and whatif = { totals, policies } (slate.facts.sampled); process (`memory` of slate.facts.stats); expired_items
-- (slate.facts.expired); lately: the last ten seconds (of slate.judge.verdict's Past:since).
--
-- Adds rates, general_rates (of the server as a whole), general, settings, rows, plan (of slate.judge.page_plan),
-- in_need (the first class that starves; nil without one) and starves (true if there is one).
function M.about(known)
    if known.plan then
        return known -- made already
    end
    local about = copy(known)
    about.rates = known.rates or known.before and snapshot.rates(known.before, known.now) or nil
    about.general, about.settings, about.moves = known.now.general, known.now.settings or {}, known.moves or {}
    about.general_rates = about.rates and about.rates.general or {}
    about.one = known.one
    if known.one and known.curve then
        known.one.has_failed_curves = verdict.failed_before(known.curve) ~= nil
    end
    about.plan = known.one and relief.plan(known.one, known.curves) -- its judgement goes into the rows
    about.rows = known.rows or view.classes(known.now, known.before, about.rates, known.judge)
    if not about.one then -- only two snapshots are known
        about.one = { now = about.now, rows = about.rows, rates = about.rates, recent = recent.new() }
        if about.before then
            about.one.recent:add(about.before)
        end
    end
    about.plan = about.plan or relief.plan(about.one, about.curves)
    about.in_need = relief.in_need(about.one, about.curves)
    about.starves = about.in_need ~= nil
    return about
end

--- Sorts findings in place, the worst first; findings of one severity keep their order.
function M.sort(findings)
    local at = {}
    for i, finding in ipairs(findings) do
        at[finding] = i
    end
    return require("slate.base.order").largest_first(findings, function(one) return SEVERITIES[one.severity] end,
        function(one) return at[one] end)
end

-- Copies the list. Of the findings called `name` the first stays; one further finding names the others' classes.
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
            short = list[at].short,
            todo = is_advised and "slatectl advise pages" or "slatectl classes lists them" })
    end
    return list
end

--- The findings for a screen, which has few lines. If several classes starve, only the first and worst is reported in
-- full; the next finding (is_further) names the others.
function M.gathered(findings)
    return gather(gather(findings, "starving", true), "no_relief", false)
end

-- False if the server does not report evictions by class; true before it is known what it reports.
local function is_starving_known(about)
    return not (about.rates and about.rates.is_known) or view.knows_starving(about.now, about.rates, about.rows)
end

--- The findings about single classes as sentences: classes that refuse stores, starve or evict early. Also a sentence
-- where it is not known which class starves. known: as for M.findings.
function M.class_sentences(known)
    local about, list = M.about(known), {}
    for _, finding in ipairs(M.gathered(M.findings(about))) do
        list[#list + 1] = (finding.class or finding.is_further) and ("%s; %s"):format(finding.what, finding.todo) or nil
    end
    list[#list + 1] = not is_starving_known(about) and view.STARVING_UNKNOWN or nil
    return list
end

-- What the doctor examines, and whether a server reports the statistics for that. about: of M.about.
local EXAMINED <const> = {
    { "hits", function(about) return about.general.get_hits and about.general.cmd_get end },
    { "evictions", function(about) return about.general.evictions end },
    { "which class starves", is_starving_known },
    { "refused stores", function(about) return about.now.slated or snapshot.refused_stores(about.now) end },
    { "open connections", function(about)
        local open, limit = view.connections(about.now)
        return open and limit
    end },
    { "refused connections", function(about) return snapshot.refused_connections(about.now) end },
    { "memory in use", function(about) return about.general.bytes and about.general.limit_maxbytes end },
    { "pages of classes", function(about)
        return (not about.rows[1] or about.rows[1].pages) and snapshot.reports_classes(about.now)
    end },
}

--- What no check examined because the server does not report it: a list of words; empty if it reports all. known: as
-- for M.findings. Empty for a proxy, which has no figures of a cache.
function M.not_looked_at(known)
    local about, names = M.about(known), {}
    for _, row in ipairs(proxy.is_one(known.now) and {} or EXAMINED) do
        names[#names + 1] = not row[2](about) and row[1] or nil
    end
    return names
end

--- The names of not_looked_at as a sentence; nil without any.
function M.not_looked_at_words(names)
    return #names > 0 and ("not checked: %s, which this server does not report"):format(table.concat(names, ", "))
        or nil
end

--- All findings, the worst first. known: see M.about; checks skip what is absent.
function M.findings(known)
    require("slate.base.failure").wants_table(known.now, "doctor.findings(known) wants { now = snapshot, before = "
        .. "snapshot }")
    local about, list = M.about(known), {}
    for _, row in ipairs(ORDER) do
        CHECKS[row[1]](about, function(severity, what, todo, term, class, hits_lost_per_s, short)
            list[#list + 1] = { name = row[1], severity = severity, what = what, todo = todo, term = term,
                class = class, hits_lost_per_s = hits_lost_per_s, short = short or row[2] }
        end)
    end
    return M.sort(list)
end

return M
