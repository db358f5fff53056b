-- SPDX-License-Identifier: BSD-3-Clause
--- Runs slate-load, several at once if need be, and reads its figures.

local cjson = require("cjson")
local bench_server = require("server")
local compare = require("compare")
local socket = require("socket")

local INTERVAL_LIMIT_S <const> = 60 -- only a fault takes that long
local LOOK_S <const> = 0.002 -- between looks for an interval's line

local M = {}

local Run = {}
Run.__index = Run
Run.__name = "bench.Run"

local seed = 0 -- every run draws anew, and the next session draws the same

--- Starts a load and returns at once; `finish` waits for its report. Words of `programs.client_first` come before
-- its own command.
function M.start(programs, server, words)
  seed = seed + 1
  local command = compare.join(programs.client_core and { "taskset", "-c", programs.client_core } or {},
    programs.client_first or {}, { programs.load },
    words, { "--server", server.address, "--seed", seed, "--json" })
  for i, word in ipairs(command) do
    command[i] = bench_server.quote(word)
  end
  local log = os.tmpname()
  local line = ("echo $$; exec 2>%s; exec %s"):format(bench_server.quote(log), table.concat(command, " "))
  local pipe = assert(io.popen(line, "r"))
  local pid = math.tointeger(tonumber(pipe:read("l")))
  return setmetatable({ pipe = pipe, pid = pid, log = log, server = server }, Run)
end

-- The next line that the load has ended; nil when there is none yet.
local function next_line(run)
  run.progress = run.progress or assert(io.open(run.log, "r"))
  local at = run.progress:seek()
  local line = run.progress:read("L")
  if line and line:sub(-1) == "\n" then
    return line
  end
  run.progress:seek("set", at)
  return nil
end

--- Waits for the end of the next interval, of a load that has --interval.
-- @return p50 and p99 of its reads in us, hits a get; or nil and a message when none ends
function Run:interval()
  local give_up_s = socket.gettime() + INTERVAL_LIMIT_S
  repeat
    local line = next_line(self)
    local p50, p99 = (line or ""):match("reads p50 (%S+) p99 (%S+) us")
    if p50 then
      return tonumber(p50), tonumber(p99), tonumber(line:match("hit ratio (%S+)"))
    elseif not line then
      socket.sleep(LOOK_S)
    end
  until socket.gettime() > give_up_s
  return nil, "slate-load: no interval ended"
end

--- Waits for the end of the interval that is under way, so that `interval` is about one that begins now.
function Run:await_interval()
  while next_line(self) do
  end
  assert(self:interval())
end

--- Ends a load early; `finish` has its report up to now.
function Run:interrupt()
  os.execute(("kill -INT %d 2>/dev/null"):format(self.pid))
end

local function said_last(path)
  local last = "no word"
  for line in io.lines(path) do
    last = line:match("^slate%-load: (.*)") or last
  end
  os.remove(path)
  return last
end

--- The report of a load that has ended: all of `calcify`, otherwise its last phase. Errors and wrong values are figures
-- of the report. nil and a message when the load broke off.
function Run:finish()
  local text = self.pipe:read("a")
  self.pipe:close()
  if self.progress then
    self.progress:close()
  end
  local said = said_last(self.log)
  local ok, report = pcall(cjson.decode, text)
  if not ok then
    return nil, "slate-load: " .. said
  elseif report.experiment then
    return report
  end
  local phase = report.phases[#report.phases]
  if not phase or phase.failure then
    return nil, "slate-load: " .. (phase and phase.failure or said)
  end
  return phase
end

--- A load from start to end.
function M.run(programs, server, words)
  return M.start(programs, server, words):finish()
end

--- Sets refused for lack of memory. A value larger than any item may be does not count.
function M.refused(phase)
  local too_large = 0
  for _, sample in ipairs(phase.errors_samples) do
    if sample.text:find("too large", 1, true) then
      too_large = too_large + sample.times
    end
  end
  return phase.errors - too_large
end

--- Stores `keys` values of `sizes` bytes under `prefix`, once each, pipelined.
function M.fill(programs, server, prefix, keys, sizes)
  return M.run(programs, server, {
    "--insert", "--requests", 0, "--keys", keys, "--sizes", sizes, "--key-prefix", prefix, "--conns", 4,
  })
end

--- The reports of loads that ran at the same time as if they had been one. Intervals are joined by number: the
-- loads started together and have the same --interval.
function M.merge(phases)
  local sum = { gets = 0, hits = 0, refused = 0, wrong = 0, intervals = {} }
  for _, phase in ipairs(phases) do
    sum.gets, sum.hits = sum.gets + phase.gets, sum.hits + phase.hits
    sum.refused, sum.wrong = sum.refused + M.refused(phase), sum.wrong + phase.wrong
    for i, interval in ipairs(phase.intervals or {}) do
      local joined = sum.intervals[i] or { end_s = 0, hits = 0, misses = 0 }
      joined.end_s = math.max(joined.end_s, interval.end_s)
      joined.hits, joined.misses = joined.hits + interval.hits, joined.misses + interval.misses
      sum.intervals[i] = joined
    end
  end
  return sum
end

--- Hits a get, from intervals `first` to `last`; nil without gets.
function M.hit_ratio(intervals, first, last)
  local hits, gets = 0, 0
  for i = math.max(first, 1), math.min(last, #intervals) do
    hits = hits + intervals[i].hits
    gets = gets + intervals[i].hits + intervals[i].misses
  end
  return gets > 0 and hits / gets or nil
end

--- Seconds until three intervals in a row, taken together, have hit `ratio` of their gets; nil when never.
function M.reached_s(intervals, ratio)
  for i = 1, #intervals do
    local here = M.hit_ratio(intervals, i - 1, i + 1)
    if here and here >= ratio then
      return intervals[i].end_s
    end
  end
  return nil
end

return M
