-- SPDX-License-Identifier: BSD-3-Clause
--- Access traces that are drawn, so that a comparison needs no file from elsewhere: each a shape that was published,
-- `key size` a line. A seed decides a trace, to the byte.

local M = {}

local REQUESTS <const> = 250000
local SCALE <const> = 3 -- 64 MB are then a tenth to a half of the values' bytes

local random, log, floor = math.random, math.log, math.floor

local function normal()
  return math.sqrt(-2 * log(1 - random())) * math.cos(2 * math.pi * random())
end

--- A function that draws 1 to count, the nth as often as n to the minus exponent.
function M.zipf(count, exponent)
  local sums, sum = {}, 0
  for i = 1, count do
    sum = sum + i ^ -exponent
    sums[i] = sum
  end
  return function()
    local at, low, high = random() * sum, 1, count
    while low < high do
      local middle = (low + high) // 2
      if sums[middle] < at then
        low = middle + 1
      else
        high = middle
      end
    end
    return low
  end
end

local zipf = M.zipf

-- Draws sizes of a log-normal distribution, from least to most bytes.
local function lognormal(median, sigma, least, most)
  return function()
    return floor(math.min(most, math.max(least, median * math.exp(sigma * normal()))))
  end
end

-- The values of the ETC pool: generalized Pareto. Atikoglu and others, SIGMETRICS 2012.
local function etc_bytes()
  return math.min(200000, 100 + floor(1 + 214.476 * ((1 - random()) ^ -0.348238 - 1) / 0.348238))
end

-- Bytes of web pages: Pareto.
local function page_bytes()
  return math.min(400000, floor(400 * (1 - random()) ^ (-1 / 1.2)))
end

-- Each makes, for so many requests, a function that draws the key of request i (from 0), and one that draws a key's
-- size. Keys beyond a million are those that a shape makes on its way.
local NEW <const> = 1000000
local SHAPES <const> = {
  { -- Zipf 1.0
    name = "etc",
    make = function()
      return zipf(500000, 1.0), etc_bytes
    end,
  },
  { -- three in ten of the keys made lately, beside Zipf 0.9
    name = "drift",
    make = function()
      local old = zipf(300000, 0.9)
      return function(i)
        return random() < 0.3 and NEW + floor(i * 0.12) + floor(3000 * random() ^ 2) or old()
      end, lognormal(540, 1.0, 16, 60000)
    end,
  },
  { -- two in five are never seen again, beside Zipf 0.8
    name = "once",
    make = function()
      local old = zipf(150000, 0.8)
      return function(i) return random() < 0.4 and NEW + i or old() end, lognormal(735, 1.1, 50, 300000)
    end,
  },
  { -- scans over 20,000 keys, beside Zipf 0.9
    name = "scan",
    make = function()
      local old, from = zipf(200000, 0.9), 0
      return function(i)
        local at = i % 60000 - 30000
        if at == 0 then
          from = NEW + random(0, 4) * 20000
        end
        return at >= 0 and at < 20000 and from + at or old()
      end, lognormal(665, 0.8, 50, 100000)
    end,
  },
  { -- log-normal reuse distances
    name = "distances",
    make = function()
      local seen, new = {}, 0
      return function(i)
        local back = floor(math.exp(9.5 + 2.2 * normal()))
        if random() < 0.12 or back >= i then
          new = new + 1
          seen[i] = new
        else
          seen[i] = seen[i - 1 - back]
        end
        return seen[i]
      end, lognormal(900, 1.0, 50, 100000)
    end,
  },
  { -- four in five go to a fifth of the keys, and the fifth moves
    name = "moving",
    make = function(requests)
      return function(i)
        local from = i * 4 // requests * 25000
        return random() < 0.8 and (from + random(0, 39999)) % 200000 or random(0, 199999)
      end, lognormal(490, 1.0, 30, 60000)
    end,
  },
  { -- new keys are read two to six times at once, beside Zipf 0.9
    name = "burst",
    make = function()
      local old, new, left = zipf(150000, 0.9), NEW, 0
      return function()
        if left == 0 and random() < 0.2 then
          new, left = new + 1, random(2, 6)
        end
        if left > 0 then
          left = left - 1
          return new
        end
        return old()
      end, lognormal(600, 0.9, 50, 50000)
    end,
  },
  { -- Zipf 0.64, a third is seen once; Breslau and others, INFOCOM 1999
    name = "web",
    make = function()
      local old = zipf(120000, 0.64)
      return function(i) return random() < 0.33 and NEW + i or old() end, page_bytes
    end,
  },
  { -- each is read for a while, and no more
    name = "sessions",
    make = function(requests)
      local reads, newest = {}, NEW -- by request: the keys that are due
      return function(i)
        local due = reads[i]
        reads[i] = nil
        local key = due and table.remove(due) or nil
        if not key then
          newest = newest + 1
          key = newest
        elseif #due > 0 then -- the others a request later
          local later = reads[i + 1] or {}
          reads[i + 1] = table.move(due, 1, #due, #later + 1, later)
        end
        local after = i + 1 + floor(-log(1 - random()) * 40000)
        if random() < 0.8 and after < requests then
          reads[after] = reads[after] or {}
          table.insert(reads[after], key)
        end
        return key
      end, lognormal(1000, 0.8, 100, 60000)
    end,
  },
  { -- keys near a point that wanders, normally distributed
    name = "wander",
    make = function(requests)
      local centre = 100000
      return function(i)
        centre = centre + (i % 10 == 0 and normal() * 100 or 0) + 60000 / requests
        return floor(centre + 12000 * normal())
      end, lognormal(665, 1.2, 30, 200000)
    end,
  },
}

--- The lines of a trace, one after the other, without their ends.
function M.lines(name, seed, requests)
  for number, shape in ipairs(SHAPES) do
    if shape.name == name then
      return coroutine.wrap(function()
        math.randomseed(seed, number)
        local key, bytes = shape.make(requests)
        local sizes = {}
        for i = 0, requests - 1 do
          local k = key(i)
          sizes[k] = sizes[k] or bytes()
          coroutine.yield(("k%d %d"):format(k, sizes[k]))
        end
      end)
    end
  end
  error("there is no shape " .. tostring(name))
end

--- Rows in the form of traces.rows, each with `draw`, which writes its trace to its path in the folder.
-- @param requests of each; 250,000 unless given
function M.rows(folder, seed, requests)
  local rows = {}
  for i, shape in ipairs(SHAPES) do
    local path = ("%s/%s-%d.txt"):format(folder, shape.name, seed)
    rows[i] = { name = shape.name, path = path, values = "100", scale = SCALE, draw = function()
      local file = assert(io.open(path, "w"))
      for line in M.lines(shape.name, seed, requests or REQUESTS) do
        file:write(line, "\n")
      end
      assert(file:close())
    end }
  end
  return rows
end

return M
