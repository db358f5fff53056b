-- SPDX-License-Identifier: BSD-3-Clause
--- What a doctor looks at beside a server's memory: whether it lives and is asked, connections, hits, its version.
--- Pure. See slate.judge.doctor for what a check is given.
local faults = require "slate.facts.faults"
local moves = require "slate.facts.moves"
local outlook = require "slate.judge.outlook"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local CONNECTIONS_MOST_RATIO <const>, HITS_LEAST_RATIO <const>, HITS_LEAST_READS <const> = 0.9, 0.5, 100
local HITS_SHORT_S <const> = 8 -- a hit ratio of less time says of how much

-- The checks by their names (slate.judge.doctor has their order).
local CHECKS <const> = {}

-- What happened in the last ten seconds; for who has two snapshots and no more, between these.
local function lately_of(about)
    local rates = about.rates
    return about.lately or not rates and {} or { hit_ratio = view.overview(about.now, rates).hit_ratio,
        reads = about.per_s.cmd_get and about.per_s.cmd_get * rates.interval_s, for_s = rates.interval_s }
end

--- What does not answer its purpose any more comes first: a mode that failed, a restart, no traffic, hits that fell.
function CHECKS.automove_failed(about, add)
    local failure = moves.failure(about.automove)
    if failure then
        add("warning", failure,
            "mend the policy (slatectl policy test), then set the mode again: slatectl automove MODE")
    end
end

function CHECKS.restart(about, add)
    local restart = about.course and about.course:restarted()
    if restart then
        add("warning", ("the server restarted %s ago%s"):format(units.age(restart.ago_s), (restart.items or 0) > 0
            and " and lost " .. units.plural(restart.items, "item") or ""),
            "look in its log and in the system's log for what ended it", "uptime")
    end
end

function CHECKS.young(about, add)
    local up_s = about.course and about.course:young_s()
    local hit_ratio = lately_of(about).hit_ratio
    local is_few = not hit_ratio or hit_ratio < HITS_LEAST_RATIO
    if up_s and is_few and about.now.general.evictions == 0 then -- what evicts has filled
        add("note", ("the server started %s ago: hits are few until it has filled"):format(units.age(up_s)),
            "look again when the server has filled", "uptime")
    end
end

function CHECKS.traffic(about, add)
    local stopped = about.course and about.course:stopped()
    if stopped then
        add("warning", ("no client asks the server any more: no request in %s, %s a second before"):format(
            units.age(stopped.for_s), units.rate(stopped.was_per_s)),
            "look for clients that went away: slatectl conns", "ops")
    end
end

function CHECKS.hits_fell(about, add)
    local fell = about.course and about.course:fell()
    if fell then
        add("warning", ("hits fell to %s, from %s"):format(units.percent(fell.is), units.percent(fell.was)),
            about.in_need and "a class starves: feed it first"
                or outlook.evicts(about.lately, about.per_s) ~= false
                and "see what was stored lately: slatectl top, slatectl moves"
                or "nothing is evicted: keys were deleted, have expired, or are new", "hit_ratio")
    end
end

function CHECKS.connections(about, add)
    local open, limit = view.connections(about.now)
    local refused_per_s = about.rates and about.rates.refused_connections_per_s
    if (refused_per_s or 0) > 0 or about.general.accepting_conns == 0 then
        add("critical", ("the server turns connections away: %s of %s are open"):format(open or "-",
            limit or "-"), "start it with a larger -c, or find the clients that keep connections: slatectl conns",
            "refused_connections")
    elseif limit and open and open > limit * CONNECTIONS_MOST_RATIO then
        add("warning", ("%d of %d connections are open"):format(open, limit),
            "start it with a larger -c before they run out", "connections")
    end
end

-- What might bring hits, asked in this order: nothing evicted is nothing that memory could have kept.
local function against_few_hits(about)
    local evicts = outlook.evicts(about.lately, about.per_s)
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
    local lately = lately_of(about)
    if lately.hit_ratio and lately.hit_ratio < HITS_LEAST_RATIO and (lately.reads or 0) >= HITS_LEAST_READS then
        add("note", ("only %s of the reads find their item%s"):format(units.percent(lately.hit_ratio),
            lately.for_s < HITS_SHORT_S and (", judged by %s of traffic"):format(units.age(lately.for_s)) or ""),
            against_few_hits(about), "hit_ratio")
    end
end

function CHECKS.log(about, add)
    if (about.per_s.log_worker_dropped or 0) > 0 or (about.per_s.log_watcher_skipped or 0) > 0 then
        add("note", "programs that watch the server lose events", "watch fewer kinds of events")
    end
end

-- Versions that a command brings down. slatectl refuses such commands, or warns; others may send them.
function CHECKS.version(about, add)
    if about.now.slated then
        return
    end
    local mode = (about.now.settings or {}).slab_automove
    local running = faults.of_setting({ version = about.now.version }, "slab_automove", mode)
    if running then
        add("warning", running, "until then: slatectl automove 1")
    end
    for _, name in ipairs({ "mover_class", "automove_window" }) do
        local words, remedy = faults.of(about.now.version, name)
        if words then
            add("note", words, remedy)
            return
        end
    end
end

return CHECKS
