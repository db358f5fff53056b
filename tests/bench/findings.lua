-- SPDX-License-Identifier: BSD-3-Clause
-- `make bench-findings`: how soon a recorded server's fault is found, and false alarms, for the table in BENCHMARKS.md.
--
--   build/bench/twins tests/bench/findings.lua
--
-- SEEDS="1" of the steady loads of laboratory.lua, ten minutes each.
package.path = "lua/?.lua;tests/spec/?.lua;tests/bench/?.lua;" .. package.path
local history = require "slate.judge.history"
local laboratory = require "laboratory"
local recordings = require "support.recordings"

local STEADY <const>, STEADY_S <const> = { "etc", "twitter", "spread" }, 600

local function minutes(list)
  return (list[#list].time_s - list[1].time_s) / 60
end

-- The seconds from the beginning of `finds` to the finding (nil: never), and other findings above a note.
local function judge(list, case)
  local found_s, alarms = nil, {}
  for _, episode in ipairs(history.of(list, nil, {})) do
    if case.finds and episode.name == case.finds.name then
      found_s = math.min(found_s or math.huge, (episode.found_s or episode.first_s) - case.finds.since_s)
    elseif episode.severity ~= "note" and not (case.also or {})[episode.name] then
      alarms[#alarms + 1] = episode.what
    end
  end
  return found_s, alarms
end

local function row(name, wrong, found_s, minutes_seen, alarms)
  print(("| %s | %s | %s | %.1f | %d |"):format(name, wrong, found_s and ("%.0f s"):format(found_s) or "-",
    minutes_seen, #alarms))
  for _, what in ipairs(alarms) do
    io.stderr:write(name, ": ", what, "\n")
  end
end

-- The minutes of a steady load, and the false alarms in them.
local function played(name, seed)
  local lab, list = laboratory.new(name, seed), {}
  for i = 1, STEADY_S do
    lab:pass(1)
    list[i] = lab:take()
  end
  local _, alarms = judge(list, {})
  return { minutes = minutes(list), alarms = alarms }
end

print("| recording | to be found | found after | minutes | false alarms |\n|---|---|---|---|---|")
for _, case in ipairs(recordings.CASES) do
  local list = recordings.load(case.name)
  local found_s, alarms = judge(list, case)
  row(case.name, case.finds and case.finds.name or "nothing", found_s, minutes(list), alarms)
end
for _, name in ipairs(STEADY) do
  for seed in (os.getenv("SEEDS") or "1"):gmatch("%d+") do
    local seen = laboratory.apart(function() return played(name, math.tointeger(tonumber(seed))) end)
    row(name .. ", played", "nothing", nil, seen.minutes, seen.alarms)
  end
end
