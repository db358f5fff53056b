-- SPDX-License-Identifier: BSD-3-Clause
--- A stationary mix of sizes at 22 % of its working set: the effect of moves when nothing changes. A first pass
-- warms the cache, a second is measured.

local compare = require("compare")
local gauges = require("memory.gauges")
local load = require("memory.load")
local sides = require("memory.sides")

local TRACES <const> = os.getenv("TRACES") or "../shared/traces"
local REQUESTS <const> = compare.setting("MIX_REQUESTS", 2000000) -- all of the trace
local TRACE <const> = TRACES .. "/meta_kvreg_syn.txt.gz"
local TRACE_SCALE <const> = 4 -- its values add up to 72 MB; with 4 times as many keys, 64 MB are 22 %
local SYNTHETIC_KEYS <const> = 800000 -- the same share for the sizes of the ETC pool, 360 B on average
local REQUESTS_A_WINDOW <const> = 4096 -- a window of utility, or a second, whichever is shorter
local GOAL_POINTS <const> = 2.5

local M = {}

function M.title()
  return ("-m 64, a production-like mix at 22 %% of its working set, two passes of %d gets"):format(REQUESTS)
end

M.columns = {
  { key = "hit_pct", title = "hits %", format = "%.2f" },
  { key = "points", title = "against off", format = "%+.2f" },
  { key = "first_pct", title = "first pass %", format = "%.2f" },
  { key = "seconds", title = "s a pass", format = "%.1f" },
  { key = "warm_moves", title = "moves: first pass" }, { key = "moves", title = "second" },
  { key = "to_and_fro", title = "to and fro" }, { key = "per_10", title = "in 10 windows", format = "%.2f" },
  { key = "refused", title = "refused" }, { key = "wrong", title = "wrong" },
}

local function words(has_trace)
  if has_trace then
    return { "--replay", TRACE, "--scale", TRACE_SCALE, "--limit", REQUESTS, "--pipeline", 32,
      "--verify", "sample:16" }
  end
  return { "--preset", "etc", "--reads", 100, "--keys", SYNTHETIC_KEYS, "--requests", REQUESTS, "--conns", 4,
    "--pipeline", 8 }
end

local function measure(programs, server, has_trace)
  local row = {}
  local first = assert(load.run(programs, server, words(has_trace)))
  local pages, moved = gauges.pages(server), gauges.moves(server)
  local report = assert(load.run(programs, server, words(has_trace)))
  row.warm_moves = moved
  row.moves = gauges.moves(server) - moved
  row.to_and_fro = row.moves - gauges.net_moves(pages, gauges.pages(server))
  row.per_10 = row.moves * 10 / math.max(report.seconds, report.requests / REQUESTS_A_WINDOW)
  row.hit_pct, row.first_pct = 100 * report.hits / report.gets, 100 * first.hits / first.gets
  row.seconds = report.seconds
  row.refused, row.wrong = load.refused(first) + load.refused(report), first.wrong + report.wrong
  return row
end

function M.run(programs, sheet)
  local has_trace = compare.exists(TRACE)
  if not has_trace then
    sheet:note(("there is no %s (TRACES names the folder): the sizes of the ETC pool stand in for it"):format(TRACE))
  end
  local off_pct
  for _, side in ipairs(sides.by_mode(programs, {})) do
    sides.measure(programs, sheet, side, {}, function(server)
      local row = measure(programs, server, has_trace)
      if side.mode == "off" then
        off_pct = row.hit_pct
      end
      row.points = off_pct and row.hit_pct - off_pct
      return row
    end)
  end
  sheet:note(("goal: utility %.1f points above off; in the second pass at most 1 move in 10 windows, none to and fro")
    :format(GOAL_POINTS))
end

return M
