-- SPDX-License-Identifier: BSD-3-Clause
-- The memory benchmarks run: each with bounds so small that its figures mean nothing. What is claimed here is
-- that they come to their end, that no value is wrong, and that what a server lacks is told and not measured.

package.path = "tests/bench/?.lua;" .. package.path
local cjson = require("cjson")
local compare = require("compare")

local TINY <const> = table.concat({
  "PEERS=none", "MODES=off,eviction,no-such-mode", "TRACES=tests/no-traces-here", "FILL_ITEMS=2000",
  "PHASE_BYTES=1000000", "ROUNDS=2000", "KEYS=1000", "RACE_SECONDS=1", "PHASE_REQUESTS=600", "RATE=5000",
  "MIX_REQUESTS=2000", "LATENCY_KEYS=2000", "LATENCY_PAIRS=2", "LATENCY_WINDOW_MS=300", "UPLOADS=20",
  "GEOMETRY_REQUESTS=5000", "GEOMETRY_PACE_PCT=100", "GEOMETRY_AFTER_S=2",
}, " ")

-- Runs experiments; the status, the rows of each by label, and all that was said, for a claim that fails.
local function run(names, more)
  local log = os.tmpname()
  local pipe = assert(io.popen(
    ("%s %s timeout 200 tests/bench/memory/run build/bin --json %s 2>%s"):format(TINY, more or "", names, log), "r"))
  local rows = {}
  for line in pipe:lines() do
    local row = cjson.decode(line)
    rows[row.experiment] = rows[row.experiment] or {}
    if row.label then
      rows[row.experiment][row.label] = row
    end
  end
  local _, _, status = pipe:close()
  local file = assert(io.open(log))
  local said = file:read("a") .. cjson.encode(rows)
  file:close()
  os.remove(log)
  return status, rows, said
end

describe("tests/bench/memory", function()
  it("refuses an experiment that there is not", function()
    local status = run("no-such-experiment")
    assert.equal(64, status)
  end)

  for _, name in ipairs({ "rebalancing", "race", "shift", "stationary", "uploads" }) do
    it(("measures %s by mode, and says what is not there"):format(name), function()
      local status, rows, said = run(name)
      assert.equal(0, status, said)
      for _, mode in ipairs({ "off", "eviction" }) do
        local row = rows[name]["slated " .. mode]
        assert.is_nil(row.failed)
        assert.equal(0, row.wrong)
        assert.is_number(row.moves)
      end
      local missing = rows[name]["slated no-such-mode"]
      assert.is_string(missing.absent)
      assert.is_nil(missing.moves)
    end)
  end

  it("lets a policy drive stock memcached from outside, and finds automove as it was", function()
    local status, rows, said = run("outside", "PEERS=distribution POLICIES=burst,no-such-policy")
    assert.equal(1, status, said) -- one of the two policies failed
    local driven, absent = 0, 0
    for label, row in pairs(rows.outside) do
      driven = driven + (label:find(", burst$") and 1 or 0)
      absent = absent + (label:find(", no%-such%-policy$") and row.failed and 1 or 0)
      if not row.failed then
        assert.equal(0, row.wrong)
        assert.equal("1", row.automove)
      end
    end
    assert.same({ 1, 1 }, { driven, absent }, said)
  end)

  it("measures the strategies: held memory is more than its payload", function()
    local status, rows, said = run("strategies")
    assert.equal(0, status, said)
    local row = rows.strategies["slated slab"]
    assert.equal(0, row.wrong)
    assert.is_true(row.items > 0 and row.payload_mb > 0 and row.payload_mb < row.held_mb)
    for _, other in pairs(rows.strategies) do
      assert.is_nil(other.failed)
    end
  end)

  it("measures latency in quiet and while pages move", function()
    local status, rows, said = run("latency")
    assert.equal(0, status, said)
    assert.is_true(rows.latency["slated, quiet"].p99_us > 0)
    assert.is_true(rows.latency["slated, moves"].p99_us > 0)
    assert.is_number(rows.latency["slated, moves"].pages_per_s)
    assert.is_true(rows.latency["slated, geometry"].p99_ratio > 0)
    assert.is_nil(rows.latency["slated, moves"].verdict, "two pairs decide nothing")
  end)

  it("says between which of some ratios their median lies, by the binomial distribution's table", function()
    local function range(n)
      local sorted = {}
      for i = 1, n do
        sorted[i] = i
      end
      return { compare.median_range(sorted) }
    end
    assert.same({}, range(5))
    assert.same({ 1, 6 }, range(6))
    assert.same({ 2, 9 }, range(10))
    assert.same({ 6, 15 }, range(20))
    assert.same({ 40, 61 }, range(100))
  end)

  it("measures a change of geometry from before it", function()
    local status, rows, said = run("geometry")
    assert.equal(0, status, said)
    local before = rows.geometry.before
    assert.equal(0, before.wrong)
    assert.is_true(before.waste_pct > 0 and before.waste_pct < 100 and before.classes > 1 and before.items > 0)
  end)
end)

describe("a benchmark that fails", function()
  local endings <const> = {
    ["of itself"] = [[require("compare").fail("on purpose")]],
    ["by an error"] = [[error("oh")]],
  }
  for how, ending in pairs(endings) do
    it("leaves no server behind: " .. how, function()
      local script = ([[package.path = "tests/bench/?.lua;" .. package.path
        print(assert(require("server").start("build/bin/slated")).pid) %s]]):format(ending)
      local pipe = assert(io.popen(("timeout 60 lua5.4 -e '%s' 2>/dev/null"):format(script), "r"))
      local pid = pipe:read("n")
      local _, _, status = pipe:close()
      assert.equal(1, status)
      assert.is_number(pid)
      assert.is_nil(io.open(("/proc/%d/stat"):format(pid)))
    end)
  end
end)
