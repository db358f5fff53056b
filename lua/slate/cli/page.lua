-- SPDX-License-Identifier: BSD-3-Clause
--- The page of metrics that slated serves itself: the same as slatectl's exporter, made from what its own commands
-- answer. slated runs it in a Lua of its own, without io and os. Pure, but that a page remembers the last ones, so that
-- it can tell which classes starve.
local families = require "slate.cli.families"
local foresight = require "slate.facts.foresight"
local moves = require "slate.facts.moves"
local observer = require "slate.judge.observer"
local prometheus = require "slate.cli.prometheus"
local snapshot = require "slate.facts.snapshot"
local stats = require "slate.facts.stats"

local M = {}

local seen = observer.new()

-- The lines before END; none of an answer that is an error.
local function lines_of(text)
    local lines = {}
    for line, ending in (text or ""):gmatch("([^\r\n]+)(\r?\n?)") do
        if ending == "\r\n" and line == "END" then
            return lines
        end
        lines[#lines + 1] = ending == "\r\n" and line or nil
    end
    return {}
end

--- The page, as "prometheus" or "openmetrics". answers: by group of `stats` ("", "slabs", "items", "settings", "moves",
-- "memory", "curve", "whatif", "describe", "slated") what the server answered. time_s: now.
function M.text(format, time_s, answers)
    local groups = {}
    for group, text in pairs(answers) do
        groups[group] = lines_of(text)
    end
    local about = stats.flat(groups.slated or {})
    local now = snapshot.build(groups, { time_s = time_s, server = "self", slated = about.slated_version })
    seen:look(now)
    local totals, policies = foresight.parse_whatif(groups.whatif or {})
    local into = families.new()
    prometheus.add(into, now, { rows = seen.rows, descriptions = prometheus.descriptions(groups.describe),
        moves = moves.parse(groups.moves or {}), process = stats.figures(groups.memory or {}), policy = totals.policy,
        policies = policies, curve = foresight.parse_curve(groups.curve or {}) })
    return into:text(format)
end

return M
