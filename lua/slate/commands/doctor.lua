-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl doctor: what is wrong with the server, in words, the worst first, and what to do.
local units = require "slate.units"

local M = {}

function M.declare(command)
    command:option("--interval", "Time between the two samples that give the rates. Default: 1s"):argname("TIME")
        :convert(units.parse_duration)
end

local function out_text(context, findings, now, rates)
    local wrap = require("slate.table").wrap
    for _, finding in ipairs(findings) do
        context:out(wrap(("%s: %s"):format(finding.severity, finding.what)), "\n", wrap("-> " .. finding.todo, 4), "\n")
        if finding.term then
            context:out(wrap("(slatectl explain " .. finding.term .. ")", 4), "\n")
        end
    end
    context:out(("%s%s: %s\n"):format(#findings > 0 and "\n" or "", now.server, #findings == 0
        and "nothing stands out" or units.plural(#findings, "finding")))
    if rates and rates.reset then
        context:out("counters were reset meanwhile: what needs rates was not looked at\n")
    end
end

--- Exits with 0 when nothing worse than a note was found, else with 1.
function M.run(context, parsed)
    local client, message, code = context:open()
    if not client then
        return nil, message, code
    end
    local now, before, rates, judge = context:pair(client, parsed.interval or 1)
    if not now then
        return nil, before, rates
    end
    local _, moves = require("slate.moves").read(client)
    local change = now.slated and require("slate.geometry").read(client) or nil
    client:close()
    local findings = require("slate.doctor").findings(now, before, rates, type(moves) == "table" and moves or {},
        change, judge)
    if context.json then
        context:out_json("slate/doctor/1", { server = now.server, time_s = now.time_s,
            interval_s = rates and rates.interval_s, findings = require("slate.json").array(findings) })
    else
        out_text(context, findings, now, rates)
    end
    return findings[1] and findings[1].severity ~= "note" and 1 or 0
end

return M
