-- SPDX-License-Identifier: BSD-3-Clause
-- The modes of automove under the loads of tests/bench/policies, in reckoned time: figures that a change of a mode, the
-- mover or the samples must not lose. The figures are the same on every machine.

local GOAL_PAGES <const> = 60 -- of 64 pages, for the class in demand
local GOAL_RACE_PCT <const> = 99
local GOAL_FLICKER_PCT <const> = 72
local GOAL_WORST_POINTS <const> = 1 -- points of hits that a second may lose while chunk sizes change

-- The exit status, the rows by load and mode, and all that was said.
local function run(words)
  local line = ("TRACES=tests/no-traces-here build/bench/policies %s 2>&1"):format(words)
  local pipe = assert(io.popen(line, "r"))
  local rows, said = {}, {}
  for row in pipe:lines() do
    said[#said + 1] = row
    local load, mode, figure, _, _, _, _, _, _, refused, last =
      row:match("^(%S+)%s+(%S+)" .. ("%s+([%d.]+)"):rep(8) .. "(.*)$")
    if load then
      local changes, worst = last:match("^%s+([%d.]+)%s+(%-?[%d.]+)$")
      rows[load .. " " .. mode] = { figure = tonumber(figure), refused = tonumber(refused),
        changes = tonumber(changes), worst = tonumber(worst) }
    end
  end
  local _, _, status = pipe:close()
  return status, rows, table.concat(said, "\n")
end

describe("tests/bench/policies", function()
  it("gives the class of the moment nearly all pages, and a new working set its memory", function()
    local status, rows, said = run("--seeds 1 --modes utility calcify race")
    assert.equal(0, status, said)
    assert.is_true(rows["calcify utility"].figure >= GOAL_PAGES, said)
    assert.equal(0, rows["calcify utility"].refused, said)
    local _, again, eviction = run("--seeds 1 --modes eviction,utility race")
    assert.is_true(again["race eviction"].figure >= GOAL_RACE_PCT, eviction)
    assert.is_true(again["race utility"].figure >= GOAL_RACE_PCT, eviction)
    assert.same(rows["race utility"], again["race utility"], "it says the same each time")
  end)

  it("follows working sets whose sizes shift, also with chunk sizes that were fitted to the first", function()
    local status, rows, said = run("--seeds 1 --modes utility --fit yes flicker")
    assert.equal(0, status, said)
    assert.is_true(rows["flicker utility"].figure >= GOAL_FLICKER_PCT, said)
    assert.is_true(rows["flicker utility+fit"].figure >= rows["flicker utility"].figure, said)
    assert.is_true(rows["flicker utility+fit"].changes >= 1, said)
    assert.is_true(rows["flicker utility+fit"].worst >= -GOAL_WORST_POINTS, said)
    assert.same(rows, (select(2, run("--seeds 1 --modes utility --fit yes flicker"))), "it says the same each time")
  end)

  it("says which trace is not there, and refuses a load or a mode that there is not", function()
    local status, rows, said = run("--seeds 1 --modes off kvreg")
    assert.equal(0, status)
    assert.is_nil(next(rows))
    assert.truthy(said:find("no trace for kvreg", 1, true))
    assert.equal(64, (run("no-such-load")))
    assert.equal(64, (run("--modes no-such-mode race")))
  end)
end)
