-- SPDX-License-Identifier: BSD-3-Clause
-- The access traces that tests/bench/hit-ratio draws: the trace of a seed for each shape.

local drawn = require("drawn")

local REQUESTS <const> = 400

local function lines(name, seed)
  local list = {}
  for line in drawn.lines(name, seed, REQUESTS) do list[#list + 1] = line end
  return list
end

-- Keys in the order of the requests; the number of keys with one request; sizes by key.
local function told(name, seed)
  local keys, times, sizes, once = {}, {}, {}, 0
  for _, line in ipairs(lines(name, seed)) do
    local key, bytes = line:match("^k(%-?%d+) (%d+)$")
    assert.truthy(key, ("%s: %s"):format(name, line))
    assert.truthy((sizes[key] or bytes) == bytes, ("%s: %s has two sizes"):format(name, key))
    keys[#keys + 1], sizes[key], times[key] = key, bytes, (times[key] or 0) + 1
  end
  for _, n in pairs(times) do once = once + (n == 1 and 1 or 0) end
  return keys, once, sizes
end

describe("tests/bench/drawn", function()
  it("draws every shape as `key size` lines, a key always of one size, the same with the same seed", function()
    for _, row in ipairs(drawn.rows("build/bench", 7)) do
      local first = lines(row.name, 7)
      assert.equal(REQUESTS, #told(row.name, 7))
      assert.same(first, lines(row.name, 7))
      assert.not_same(first, lines(row.name, 8))
    end
  end)

  it("draws each shape as described: keys without a second request, scans, and bursts", function()
    local _, once = told("once", 7)
    assert.truthy(once > REQUESTS * 0.4, once)
    local keys, repeats = told("burst", 7), 0
    for i = 2, #keys do
      repeats = repeats + (keys[i] == keys[i - 1] and tonumber(keys[i]) > 1000000 and 1 or 0)
    end
    assert.truthy(repeats > REQUESTS * 0.25, repeats)
  end)
end)
