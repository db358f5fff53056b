-- SPDX-License-Identifier: BSD-3-Clause
-- The memory benchmarks run: each with bounds so small that its figures mean nothing. The claims: they come to their
-- end, no value is wrong, and a feature that a server lacks is a row without figures.
local cjson = require("cjson")
local compare = require("compare")
local server = require("support.server")

local TINY <const> = table.concat({
  "PEERS=none", "MODES=eviction,no-such-mode", "TRACES=tests/no-traces-here", "FILL_ITEMS=2000",
  "PHASE_BYTES=1000000", "ROUNDS=2000", "KEYS=1000", "RACE_SECONDS=1", "PHASE_REQUESTS=600", "RATE=5000",
  "MIX_REQUESTS=2000", "LATENCY_KEYS=2000", "LATENCY_PAIRS=2", "LATENCY_WINDOW_MS=100", "UPLOADS=20",
  "GEOMETRY_REQUESTS=5000", "GEOMETRY_PACE_PCT=100", "GEOMETRY_AFTER_S=1",
}, " ")
-- Experiments that play one mode after the other; and, with ALL=1, the ones that take most of the time.
local ALL <const> = os.getenv("ALL") ~= nil
local BY_MODE <const> = ALL and { "rebalancing", "race", "shift", "stationary", "uploads" }
  or { "stationary", "uploads" }

-- Runs experiments; the status, the rows of each by label, and all output, for a claim that fails.
local function run(names, more)
  local ok, said = server.said(("%s %s timeout 500 tests/bench/memory/run build/bin --json %s"):format(TINY, more or "",
    names))
  local rows = {}
  for line in said:gmatch("{[^\n]*}\n") do
    local row = cjson.decode(line)
    rows[row.experiment] = rows[row.experiment] or {}
    rows[row.experiment][row.label or ""] = row
  end
  return ok, rows, said
end

describe("tests/bench/memory", function()
  it("refuses an experiment that there is not", function()
    assert.is_false((run("no-such-experiment")))
  end)

  it("measures mode by mode, and prints a row for a missing one", function()
    local ok, rows, said = run(table.concat(BY_MODE, " "))
    assert.is_true(ok, said)
    for _, name in ipairs(BY_MODE) do
      local row, missing = rows[name]["slated eviction"], rows[name]["slated no-such-mode"]
      assert.same({ nil, 0 }, { row.failed, row.wrong }, said)
      assert.is_number(row.moves)
      assert.is_string(missing.absent)
      assert.is_nil(missing.moves)
    end
  end)

  local all = ALL and it or function(claim) it(claim, function() pending("ALL=1 plays them") end) end

  all("measures strategies, latency and a change of geometry", function()
    local ok, rows, said = run("strategies latency geometry")
    assert.is_true(ok, said)
    local slab, latency, before = rows.strategies["slated slab"], rows.latency, rows.geometry.before
    assert.is_true(slab.wrong == 0 and slab.items > 0 and slab.payload_mb > 0 and slab.payload_mb < slab.held_mb)
    for _, other in pairs(rows.strategies) do
      assert.is_nil(other.failed)
    end
    for label, figure in pairs({ quiet = "p99_us", moves = "p99_us", geometry = "p99_ratio" }) do
      assert.is_true(latency["slated, " .. label][figure] > 0)
    end
    assert.is_number(latency["slated, moves"].pages_per_s)
    assert.is_nil(latency["slated, moves"].verdict, "two pairs decide nothing")
    assert.is_true(before.wrong == 0 and before.waste_pct > 0 and before.waste_pct < 100 and before.classes > 1
      and before.items > 0)
  end)

  all("lets a policy drive stock memcached from outside, and finds automove as it was", function()
    local ok, rows, said = run("outside", "PEERS=distribution POLICIES=burst,no-such-policy")
    assert.is_false(ok, said) -- one of the two policies failed
    local driven, absent = 0, 0
    for label, row in pairs(rows.outside) do
      driven = driven + (label:find(", burst$") and 1 or 0)
      absent = absent + (label:find(", no%-such%-policy$") and row.failed and 1 or 0)
      assert.is_true(row.failed ~= nil or row.wrong == nil or row.wrong == 0 and row.automove == "1", said)
    end
    assert.same({ 1, 1 }, { driven, absent }, said)
  end)

  it("says between which of some ratios their median lies, by the binomial distribution's table", function()
    for n, range in pairs({ [5] = {}, [6] = { 1, 6 }, [10] = { 2, 9 }, [20] = { 6, 15 }, [100] = { 40, 61 } }) do
      local sorted = {}
      for i = 1, n do
        sorted[i] = i
      end
      assert.same(range, { compare.median_range(sorted) })
    end
  end)

  it("leaves no server behind when it fails", function()
    for _, ending in ipairs({ [[require("compare").fail("on purpose")]], [[error("oh")]] }) do
      local ok, said = server.said(([[timeout 300 lua5.4 -e 'package.path = "tests/bench/?.lua;" .. package.path
        print("pid", assert(require("server").start("build/bin/slated")).pid) %s']]):format(ending))
      assert.is_false(ok)
      assert.is_nil(io.open(("/proc/%d/stat"):format(said:match("pid\t(%d+)"))))
    end
  end)
end)
