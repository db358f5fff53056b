-- SPDX-License-Identifier: BSD-3-Clause
--- `slabs geometry auto` on a production-like trace, live: waste, classes, items and hit ratio before and after,
-- the hit ratio second by second, and the duration.

local compare = require("compare")
local gauges = require("memory.gauges")
local load = require("memory.load")
local reshape = require("memory.reshape")
local sides = require("memory.sides")
local socket = require("socket")

local TRACES <const> = os.getenv("TRACES") or "../shared/traces"
local REQUESTS <const> = compare.setting("GEOMETRY_REQUESTS", 1000000)
local RATE <const> = compare.setting("GEOMETRY_RATE", 30000)
local BEFORE_S <const>, AFTER_S <const> = 3, compare.setting("GEOMETRY_AFTER_S", 5) -- of the measured pass
local PACE_PCT <const> = compare.setting("GEOMETRY_PACE_PCT", 2) -- of all pages, each second: slated's default
local LIMIT_S <const> = 90
local PAGE_BYTES <const> = 1 << 20
local TRACE <const> = TRACES .. "/meta_kvreg_syn.txt.gz"

local TRACE_LOAD <const> = { "--replay", TRACE, "--pipeline", 32 }
local SYNTHETIC_LOAD <const> = { "--preset", "etc", "--reads", 100, "--keys", 400000, "--conns", 4, "--pipeline", 8 }

local M = {}

function M.title()
  return ("slabs geometry auto under a production-like load, -m 64, after %d gets at full speed, at %d a second")
    :format(REQUESTS, RATE)
end

M.columns = {
  { key = "waste_pct", title = "waste %", format = "%.2f" }, { key = "classes", title = "classes" },
  { key = "items", title = "items" }, { key = "hit_pct", title = "hits %", format = "%.2f" },
  { key = "worst_pct", title = "worst second %", format = "%.2f" },
  { key = "seconds", title = "done in s", format = "%.1f" },
  { key = "refused", title = "refused" }, { key = "wrong", title = "wrong" },
}

-- The share of used chunks' memory, with the tails of their pages, that is not header, key or value; and the number of
-- classes with pages.
local function waste(server)
  local stats, chunk_bytes, classes = server:stats("slabs"), 0, 0
  for class in pairs(gauges.pages(server)) do
    local per_page, used = tonumber(stats[class .. ":chunks_per_page"]), tonumber(stats[class .. ":used_chunks"])
    chunk_bytes = chunk_bytes + used * PAGE_BYTES / per_page
    classes = classes + 1
  end
  local general = server:stats()
  return { waste_pct = 100 * (1 - tonumber(general.bytes) / chunk_bytes), classes = classes,
    items = tonumber(general.curr_items) }
end

local function words(has_trace, more)
  return compare.join(has_trace and TRACE_LOAD or SYNTHETIC_LOAD, more)
end

-- Mean and worst of the whole seconds between two moments.
local function hits_between(intervals, from_s, to_s)
  local first, last, worst = #intervals + 1, 0, nil
  for i, interval in ipairs(intervals) do
    if interval.end_s >= from_s and interval.end_s <= to_s then
      first, last = math.min(first, i), i
      local here = load.hit_ratio(intervals, i, i)
      worst = here and math.min(worst or 1, here) or worst
    end
  end
  local mean = load.hit_ratio(intervals, first, last)
  return mean and 100 * mean, worst and 100 * worst
end

local function run_live(programs, sheet, server, has_trace)
  assert(load.run(programs, server, words(has_trace, { has_trace and "--limit" or "--requests", REQUESTS })))
  local before = waste(server)
  local run = load.start(programs, server, words(has_trace, { "--rate", RATE, "--interval", 1, "--duration", LIMIT_S }))
  local begun_s = socket.gettime()
  socket.sleep(BEFORE_S)
  local asked_s = socket.gettime() - begun_s
  local seconds, message, kind = reshape.auto(server)
  socket.sleep(seconds and AFTER_S or 0)
  run:interrupt()
  local report = assert(run:finish())
  local done_s = asked_s + (seconds or 0)
  before.label, before.refused, before.wrong = "before", load.refused(report), report.wrong
  before.hit_pct, before.worst_pct = hits_between(report.intervals, 0, asked_s)
  sheet:row(before)
  if not seconds then
    sheet[kind == sides.ABSENT and "absent" or "failed"](sheet, "geometry auto", message)
    return
  end
  local during = { label = "during", seconds = seconds }
  during.hit_pct, during.worst_pct = hits_between(report.intervals, asked_s, done_s + 1)
  sheet:row(during)
  local after = waste(server)
  after.label = "after"
  after.hit_pct, after.worst_pct = hits_between(report.intervals, done_s + 1, math.huge)
  sheet:row(after)
  sheet:note(("items resident: %+.1f %%"):format(100 * (after.items / before.items - 1)))
end

function M.run(programs, sheet)
  local has_trace = compare.exists(TRACE)
  if not has_trace then
    sheet:note(("there is no %s (TRACES names the folder): the sizes of the ETC pool stand in for it"):format(TRACE))
  end
  local side = sides.slated(programs, nil)
  local server, why = sides.start(programs, side, { arguments = { "-o", "slab_geometry_rate=" .. PACE_PCT } })
  if not server then
    sheet:absent(side.label, why)
    return
  end
  run_live(programs, sheet, server, has_trace)
  sides.stop(server)
  sheet:note("goal: waste at most 8 % with at most 40 classes, items +8 %, no second more than 1 point below, "
    .. "within 60 s")
end

return M
