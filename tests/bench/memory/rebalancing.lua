-- SPDX-License-Identifier: BSD-3-Clause
--- The rebalancing experiment of 2012 (slate-load calcify): 100 connections set values of 100 B, then
-- 1,000 B, 10,000 B and 100,000 B, about 100 MB a phase, in 64 MB; their uploads overlap. After each phase:
-- the pages of the class that the phase used.

local compare = require("compare")
local gauges = require("memory.gauges")
local load = require("memory.load")
local sides = require("memory.sides")

local PIPELINE <const> = compare.setting("PIPELINE", 4)
local PHASE_BYTES <const> = compare.setting("PHASE_BYTES", 100000000)
local SEND_BYTES <const> = 16384
local GOAL_PAGES <const> = 60

local M = {}

function M.title()
  return ("pages of 64 in the class of the moment after each of four phases of %d MB, pipelined by %d")
    :format(PHASE_BYTES // 1000000, PIPELINE)
end

M.columns = {
  { key = "pages_1", title = "100 B" }, { key = "pages_2", title = "1 kB" },
  { key = "pages_3", title = "10 kB" }, { key = "pages_4", title = "100 kB" },
  { key = "at_the_end", title = "at the end", width = 13 },
  { key = "refused", title = "refused" }, { key = "wrong", title = "wrong" },
  { key = "moves", title = "moves" }, { key = "goal", title = "goal", width = 8 },
}

-- Modes that follow the load must give nearly all pages to the class in demand; only `off` may refuse a set.
local function verdict(mode, row)
  if mode == "off" or tonumber(mode) then
    return nil
  end
  local follows = mode == "eviction" or mode == "utility"
  local least = math.min(row.pages_1, row.pages_2, row.pages_3, row.pages_4)
  return row.refused == 0 and (not follows or least >= GOAL_PAGES) and "reached" or "missed"
end

local function measure(programs, server, mode)
  local report, message = load.run(programs, server,
    { "calcify", "--pipeline", PIPELINE, "--phase-bytes", PHASE_BYTES, "--send-bytes", SEND_BYTES })
  if not report then
    return nil, message
  end
  local row = { refused = 0, wrong = 0, moves = gauges.moves(server) }
  for i, phase in ipairs(report.phases) do
    row["pages_" .. i] = phase.pages[i]
    row.refused = row.refused + phase.errors
    row.wrong = row.wrong + phase.read_back.wrong
  end
  row.at_the_end = ("%d/%d/%d/%d"):format(table.unpack(report.phases[#report.phases].pages))
  row.goal = verdict(mode, row)
  return row
end

function M.run(programs, sheet)
  for _, side in ipairs(sides.by_mode(programs, { distribution = true })) do
    sides.measure(programs, sheet, side, {}, function(server)
      return measure(programs, server, side.mode)
    end)
  end
  sheet:note(("goal: at least %d in every phase for eviction and utility, no refused set but with off")
    :format(GOAL_PAGES))
end

return M
