-- SPDX-License-Identifier: BSD-3-Clause
--- Shared by the commands that judge a server: the queries that they need besides its snapshots, and an operator's own
--- rules among the findings.
local doctor = require "slate.judge.doctor"

local M = {}

--- Adds the server's own figures to `known` (of slate.judge.doctor); unreported ones are absent. connect: see
-- slate.facts.expired.
function M.query(client, connect, known)
    local totals, moves = require("slate.facts.moves").read(client)
    known.automove, known.moves = totals, totals and moves
    if known.now.slated then
        local sampled = require "slate.facts.sampled"
        known.geometry, known.curve = require("slate.facts.geometry").read(client), sampled.curve(client)
        local policies
        totals, policies = sampled.whatif(client)
        known.whatif = totals and { totals = totals, policies = policies }
        known.process = require("slate.facts.stats").read(client, "memory")
        known.curves = known.one and sampled.curves(client, require("slate.judge.relief").wanted(known.one))
    end
    known.expired_items = require("slate.facts.expired").count(connect, known.now)
end

--- The operator's own rules; nil without any.
function M.own_of(context)
    return require("slate.judge.rules").own(function(message) context:print_note(message) end)
end

--- The findings of the doctor, and of own rules (nil: none).
function M.findings(own, known)
    local findings = doctor.findings(known)
    local of_rules = own and own:named_findings(known) or {}
    return doctor.sort(table.move(of_rules, 1, #of_rules, #findings + 1, findings))
end

return M
