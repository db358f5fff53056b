-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl doctor: what is wrong with the server, in words, the worst first, and what to do.
local doctor = require "slate.judge.doctor"
local units = require "slate.base.units"

local M = {}

function M.declare(command)
    command:option("--interval", "Time between the two samples that give the rates. Default: 1s"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--recording", "Look through a recording instead: what was found from when to when."):argname("FILE")
end

local function out_finding(context, finding, when)
    local wrap = require("slate.base.table").wrap
    context:out(wrap(("%s%s: %s"):format(when or "", finding.severity, finding.what)), "\n",
        wrap("-> " .. finding.todo, 4), "\n")
    if finding.term then
        context:out(wrap("(slatectl explain " .. finding.term .. ")", 4), "\n")
    end
end

local function out_text(context, findings, now, rates)
    for _, finding in ipairs(findings) do
        out_finding(context, finding)
    end
    context:out(("%s%s: %s\n"):format(#findings > 0 and "\n" or "", now.server, #findings == 0
        and "nothing stands out" or units.plural(#findings, "finding")))
    if rates and rates.reset then
        context:out("counters were reset meanwhile: what needs rates was not looked at\n")
    end
end

-- What a server itself tells, beside its snapshots; what it does not is absent. connect: see slate.facts.expired.
local function ask(client, connect, known)
    local totals, moves = require("slate.facts.moves").read(client)
    known.automove, known.moves = totals, totals and moves
    if known.now.slated then
        local foresight = require "slate.facts.foresight"
        known.geometry, known.curve = require("slate.facts.geometry").read(client), foresight.curve(client)
        local policies
        totals, policies = foresight.whatif(client)
        known.whatif = totals and { totals = totals, policies = policies }
        known.process = require("slate.facts.memory").read(client)
    end
    known.expired_items = require("slate.facts.expired").count(connect, known.now)
end

-- The operator's own rules; nil without any.
local function own_of(context)
    return require("slate.judge.rules").own(function(message) context:say(message) end)
end

-- What the doctor finds, and own rules.
local function with_own(own, known)
    local findings = doctor.findings(known)
    for _, finding in ipairs(own and own:findings(known) or {}) do
        findings[#findings + 1] = finding
    end
    return doctor.sort(findings)
end

-- The worst that was found, as an exit code.
local function exit_code(findings)
    for _, finding in ipairs(findings) do
        if finding.severity ~= "note" then
            return 1
        end
    end
    return 0
end

local function over_recording(context, path)
    local list, skipped, code = require("slate.facts.record").load(path)
    if not list then
        return nil, skipped, code
    end
    local own = own_of(context)
    local episodes = require("slate.judge.chronicle").over(list, function(known) return with_own(own, known) end)
    if context.json then
        context:out_json("slate/chronicle/1", { recording = path, snapshots = #list,
            findings = require("slate.base.json").array(episodes) })
        return exit_code(episodes)
    end
    for _, episode in ipairs(episodes) do
        out_finding(context, episode, ("%s to %s: "):format(units.age(episode.first_s), units.age(episode.last_s)))
    end
    context:out(("%s%s: %s in %s\n"):format(#episodes > 0 and "\n" or "", path, units.plural(#episodes, "finding"),
        units.age(list[#list].time_s - list[1].time_s)))
    return exit_code(episodes)
end

--- Exits with 0 when nothing worse than a note was found, else with 1.
function M.run(context, parsed)
    if parsed.recording then
        return over_recording(context, parsed.recording)
    end
    local client, message, code = context:open()
    if not client then
        return nil, message, code
    end
    local now, before, rates, judge, course = context:pair(client, parsed.interval or 1)
    if not now then
        return nil, before, rates
    end
    local known = { now = now, before = before, rates = rates, judge = judge, course = course }
    ask(client, function() return context:connect() end, known)
    client:close()
    local findings = with_own(own_of(context), known)
    if context.json then
        context:out_json("slate/doctor/1", { server = now.server, time_s = now.time_s,
            interval_s = rates and rates.interval_s, findings = require("slate.base.json").array(findings) })
    else
        out_text(context, findings, now, rates)
    end
    return exit_code(findings)
end

return M
