-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl doctor: the problems of the server, in words, the worst first, each with a remedy.
local find = require "slate.base.find"
local limits = require "slate.judge.thresholds"
local attention = require "slate.judge.attention"
local clock = require "slate.base.clock"
local doctor = require "slate.judge.doctor"
local examined = require "slate.cli.examined"
local history = require "slate.judge.history"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local POLL_S <const> = 1

function M.declare(command)
    command:option("--interval", "Time between the two samples that give the rates. Default: 1s, 3s where anything is "
        .. "evicted, and 10s where few reads hit"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--recording", "Read a recording instead, and print how long each finding "
        .. "lasted."):argname("FILE")
end

local INKS <const> = { critical = "bad", warning = "warn" }

-- when: the times of a finding in a recording; about: its cost and its change; "" without.
local function out_finding(context, finding, when, about)
    local wrap = require("slate.base.table").wrap
    local head = ("%s%s:"):format(when or "", finding.severity)
    local text = wrap(("%s %s"):format(head, finding.what))
    context:out(context:paint(INKS[finding.severity], text:sub(1, #head)), text:sub(#head + 1), "\n",
        (about or "") ~= "" and wrap(about, 4) .. "\n" or "", wrap("-> " .. finding.todo, 4), "\n")
    if finding.term then
        context:out(context:paint("dim", wrap("(slatectl explain " .. finding.term .. ")", 4)), "\n")
    end
end

local function out_text(context, findings, now, rates, not_looked_at)
    findings = doctor.gathered(findings)
    for _, finding in ipairs(findings) do
        out_finding(context, finding)
    end
    local calm = #not_looked_at > 0 and "nothing stands out in what it reports" or "nothing stands out"
    context:out(("%s%s: %s\n"):format(#findings > 0 and "\n" or "", now.server,
        #findings == 0 and calm or units.plural(#findings, "finding")))
    local words = doctor.not_looked_at_words(not_looked_at)
    if words then
        context:out(require("slate.base.table").wrap(words), "\n")
    end
    if rates and rates.reset then
        context:out("the counters were reset meanwhile: checks that need rates were left out\n")
    end
end

-- The exit code: 1 for a finding worse than a note.
local function exit_code(findings)
    for _, finding in ipairs(findings) do
        if finding.severity ~= "note" then
            return 1
        end
    end
    return 0
end

-- The begin and end of a finding in a recording: by the local clock, with the day if the recording has several, and
-- since the recording's begin.
local function when(list, episode)
    local begin_s, end_s = list[1].time_s, list[#list].time_s
    local form = os.date("%F", begin_s // 1) == os.date("%F", end_s // 1) and "%H:%M:%S" or "%F %H:%M:%S"
    local function clock_at(since_s)
        return os.date(form, (begin_s + since_s) // 1)
    end
    return ("%s to %s (%s to %s): "):format(clock_at(episode.first_s), clock_at(episode.last_s),
        units.age(episode.first_s), units.age(episode.last_s))
end

local function over_recording(context, path)
    local list = must(context:recordings({ path }))
    local own = examined.own_of(context)
    local audit = require "slate.facts.audit"
    local changes = require("slate.report.story").changes(list, audit.read(audit.path()) or {})
    local episodes = history.of(list, function(known) return examined.findings(own, known) end, changes)
    history.add_changes(episodes, changes, list[1].time_s)
    if context.json then
        context:out_json("slate/chronicle/1", { recording = path, snapshots = #list,
            findings = require("slate.base.json").array(episodes) })
        return exit_code(episodes)
    end
    for _, episode in ipairs(episodes) do
        out_finding(context, episode, when(list, episode), history.about(episode))
    end
    context:out(("%s%s: %s in %s\n"):format(#episodes > 0 and "\n" or "", path, units.plural(#episodes, "finding"),
        units.age(list[#list].time_s - list[1].time_s)))
    return exit_code(episodes)
end

-- If few reads hit, which may be chance within a second, observes on: until enough reads hit, or for as long as the
-- averages of slatetop take.
local function observe_on(context, client, one)
    local until_s = clock.steady_s() + limits.lately_s - POLL_S
    while clock.steady_s() < until_s and find.by(doctor.findings(attention.known_of(one)), "name", "hits") do
        clock.sleep(POLL_S)
        one:observe(must(context:snapshot(client)))
    end
end

-- The facts from two snapshots, and from an observer of these and of those between. Without a chosen interval, it
-- observes on if few reads hit.
local function observe(context, client, interval_s)
    local now, before, rates, _, one = must(context:pair(client, interval_s))
    if one and not interval_s then
        observe_on(context, client, one)
    end
    local known = one and attention.known_of(one) or { now = now }
    if known.now == now then -- no longer observation: rates are of the whole time
        known.before, known.rates, known.rows, known.judge = before, rates, nil, one and one.judge
    end
    return known
end

--- Exits with 0 if no finding is worse than a note, else with 1.
function M.run(context, parsed)
    if parsed.recording then
        return over_recording(context, parsed.recording)
    end
    local client = must(context:open())
    local known = observe(context, client, parsed.interval)
    local now, rates = known.now, known.rates
    examined.query(client, function() return context:connect() end, known)
    client:close()
    local findings, not_looked_at = examined.findings(examined.own_of(context), known), doctor.not_looked_at(known)
    local array = require("slate.base.json").array
    context:answer("slate/doctor/1", { server = now.server, time_s = now.time_s,
        interval_s = rates and rates.interval_s, findings = array(findings), not_looked_at = array(not_looked_at) },
        function() out_text(context, findings, now, rates, not_looked_at) end)
    return exit_code(findings)
end

return M
