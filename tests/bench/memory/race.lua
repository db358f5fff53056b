-- SPDX-License-Identifier: BSD-3-Clause
--- The recovery race: 64 MB are full of values of 100 B; then come random gets of 4,000 values of 10 kB, and missing
--- ones are set. How soon are these hit, and how many small items are lost?

local compare = require("compare")
local gauges = require("memory.gauges")
local load = require("memory.load")
local sides = require("memory.sides")

local LIMIT_S <const> = compare.setting("RACE_SECONDS", 12)
local FILL_ITEMS <const> = compare.setting("FILL_ITEMS", 400000)
local AFTER_S <const> = 2 -- watched after convergence, for moves that are no longer needed
local KEYS <const>, VALUE_BYTES <const> = 4000, 10000
local PAGES <const> = 64

local M = {}

function M.title()
  return ("-m 64 filled with %d values of 100 B, then gets of 4,000 x 10 kB with refill; at most %d s"):format(
    FILL_ITEMS, LIMIT_S)
end

M.columns = {
  { key = "s_50", title = "50 % s", format = "%.2f" }, { key = "s_90", title = "90 % s", format = "%.2f" },
  { key = "s_99", title = "99 % s", format = "%.2f" },
  { key = "last_pct", title = "hits at the end %", format = "%.1f" },
  { key = "held", title = "small before" }, { key = "lost", title = "small lost" },
  { key = "least_lost", title = "at least" }, { key = "moves", title = "moves" },
  { key = "moves_after", title = "moves after" }, { key = "refused", title = "refused" },
  { key = "wrong", title = "wrong" },
}

-- Loads for a while; intervals are appended to `all`, counted from its start.
local function gets(programs, server, seconds, all, row)
  local report, message = load.run(programs, server, {
    "--keys", KEYS, "--sizes", VALUE_BYTES, "--key-prefix", "large-", "--fill-on-miss",
    "--duration", seconds, "--interval", "0.05",
  })
  assert(report, message)
  local begun_s = #all > 0 and all[#all].end_s or 0
  for _, interval in ipairs(report.intervals) do
    interval.end_s = interval.end_s + begun_s
    all[#all + 1] = interval
  end
  row.refused, row.wrong = row.refused + load.refused(report), row.wrong + report.wrong
end

-- The least number of small items to lose: the pages that the working set needs at the best packing, minus the free
-- ones.
local function least_lost(server, small_class, pages_before)
  local classes, others = server:stats("slabs"), gauges.items(server)
  others[small_class] = nil
  local large_class = assert(gauges.largest(others), "no value of 10 kB was stored")
  local wanted = math.ceil(0.99 * KEYS / tonumber(classes[large_class .. ":chunks_per_page"]))
  return math.max(0, wanted - (PAGES - pages_before)) * tonumber(classes[small_class .. ":chunks_per_page"])
end

--- Fills a server, races, and returns the row of figures; or nil and a message.
function M.measure(programs, server)
  local filled, message = load.fill(programs, server, "small-", FILL_ITEMS, 100)
  if not filled then
    return nil, message
  end
  local class, held = gauges.largest(gauges.items(server))
  local pages_before = gauges.pages(server)[class]
  local row = { refused = load.refused(filled), wrong = filled.wrong, held = held }
  local moved, all = gauges.moves(server), {}
  repeat
    gets(programs, server, 1, all, row)
  until load.reached_s(all, 0.99) or all[#all].end_s >= LIMIT_S
  row.moves = gauges.moves(server) - moved
  for _, percent in ipairs({ 50, 90, 99 }) do
    row["s_" .. percent] = load.reached_s(all, percent / 100)
  end
  if row.s_99 then
    gets(programs, server, AFTER_S, all, row)
    row.moves_after = gauges.moves(server) - moved - row.moves
  end
  row.last_pct = 100 * load.hit_ratio(all, #all - 10, #all)
  row.lost = held - (gauges.items(server)[class] or 0)
  row.least_lost = least_lost(server, class, pages_before)
  return row
end

function M.run(programs, sheet)
  for _, side in ipairs(sides.by_mode(programs, { peer_modes = { 1, 2 } })) do
    sides.measure(programs, sheet, side, {}, function(server)
      return M.measure(programs, server)
    end)
  end
  sheet:note("small lost: items of the first kind that are gone; at least: what the pages of the working set cost")
  sheet:note("goal for utility: 99 % within 2 s, under half of what memcached's mode 2 loses, no move after")
end

return M
