-- SPDX-License-Identifier: BSD-3-Clause
-- `make bench-findings`: how soon a recorded server's fault is found, and false alarms, for the table in BENCHMARKS.md.
--
--   build/bench/twins tests/bench/findings.lua
--
-- SEEDS="1" of the steady loads of laboratory.lua, ten minutes each. There an alarm that advises page moves is false
-- unless they bring what it promises: beside a twin without them, at least the least of the prediction within 40 s.
package.path = "lua/?.lua;tests/spec/?.lua;tests/bench/?.lua;" .. package.path
local history = require "slate.judge.history"
local laboratory = require "laboratory"
local recordings = require "support.recordings"
local relief = require "slate.judge.relief"
local verdict = require "slate.judge.verdict"
local view = require "slate.judge.view"

local STEADY <const>, STEADY_S <const>, SETTLE_S <const> = { "etc", "twitter", "spread" }, 600, 40

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
      alarms[#alarms + 1] = { what = episode.what, since_s = episode.first_s, class = episode.class }
    end
  end
  return found_s, alarms
end

local function row(name, wrong, found_s, minutes_seen, alarms)
  local false_ones = 0
  for _, alarm in ipairs(alarms) do
    false_ones = false_ones + (alarm.came_true and 0 or 1)
    io.stderr:write(name, ": ", alarm.what, alarm.came and "; its moves: " .. alarm.came or "", "\n")
  end
  print(("| %s | %s | %s | %.1f | %d |"):format(name, wrong, found_s and ("%.0f s"):format(found_s) or "-",
    minutes_seen, false_ones))
end

-- A steady load for so many seconds, in each of which do_each(the server, the second) is called.
local function play(name, seed, seconds, do_each)
  local lab = laboratory.new(name, seed)
  for i = 1, seconds do
    lab:pass(1)
    do_each(lab, i)
  end
  return lab
end

-- Whether the moves that were advised at the time of an alarm bring what was promised, and how much in words.
local function follow(name, seed, alarm)
  local one = view.observer()
  local lab = play(name, seed, alarm.since_s + 1, function(lab) one:observe(lab:take()) end)
  local plan = relief.plan(one)
  if not plan.sum then
    return { came_true = false }
  end
  local without = lab:twin(function() return { lab:hits_for(SETTLE_S) } end)[1]
  for _, move in ipairs(plan.advised) do
    lab:move(move)
  end
  local came = lab:hits_for(SETTLE_S) - without
  return { came_true = came >= math.max(0, plan.sum.least), came = ("%s promised, %+.1f came"):format(
    verdict.change_words(plan.sum), came * 100) }
end

-- The minutes of a steady load, and the alarms in them.
local function played(name, seed)
  local list = {}
  play(name, seed, STEADY_S, function(lab, i) list[i] = lab:take() end)
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
    seed = math.tointeger(tonumber(seed))
    local seen = laboratory.apart(function() return played(name, seed) end)
    for _, alarm in ipairs(seen.alarms) do
      local followed = alarm.class and laboratory.apart(function() return follow(name, seed, alarm) end) or {}
      alarm.came_true, alarm.came = followed.came_true, followed.came
    end
    row(name .. ", played", "nothing", nil, seen.minutes, seen.alarms)
  end
end
