-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl doctor: what is wrong with the server, in words, the worst first, and what to do.
local examined = require "slate.cli.examined"
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
    local own = examined.own_of(context)
    local episodes = require("slate.judge.chronicle").over(list, function(known)
        return examined.findings(own, known)
    end)
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
    examined.ask(client, function() return context:connect() end, known)
    client:close()
    local findings = examined.findings(examined.own_of(context), known)
    if context.json then
        context:out_json("slate/doctor/1", { server = now.server, time_s = now.time_s,
            interval_s = rates and rates.interval_s, findings = require("slate.base.json").array(findings) })
    else
        out_text(context, findings, now, rates)
    end
    return exit_code(findings)
end

return M
