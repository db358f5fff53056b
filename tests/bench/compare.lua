-- SPDX-License-Identifier: BSD-3-Clause
-- Shared by the comparisons of slated with memcached: the programs, the load, numbers and reports.

local cjson = require("cjson")
local bench_server = require("server")

local M = {}

--- The processors of a server under measurement and of its client.
M.SERVER_CORE, M.CLIENT_CORE = 1, 0

--- Ends the program, and the servers that it started, with one line on stderr and a failure status.
function M.fail(message)
  io.stderr:write("bench: ", message, "\n")
  os.exit(1, true)
end

--- Ends the program with a skip where this machine lacks a tool, with the reason.
function M.skip(message)
  print("skipped: " .. message)
  os.exit(0, true)
end

local function exists(path)
  local file = io.open(path, "rb")
  if file then
    file:close()
  end
  return file ~= nil
end
M.exists = exists

--- A whole number from the environment.
function M.setting(name, default)
  local text = os.getenv(name)
  if not text or text == "" then
    return default
  end
  local number = math.tointeger(tonumber(text))
  if not number or number < 1 then
    M.fail(("%s takes a whole number from 1, not '%s'"):format(name, text))
  end
  return number
end

--- Each memcached to compare with: built from Debian's source package where that is available, and the distribution's
--- own if its version differs. Versions go into every report, since they differ by a factor.
-- @param of "none" or "distribution", to leave others out
function M.peers(of)
  local found = {}
  local built = "build/peer/memcached"
  local theirs = bench_server.capture({ "sh", "-c", "command -v memcached || true" }):match("%S+") or ""
  local paths = of == "none" and {} or of == "distribution" and { theirs } or os.execute("tests/bench/peer")
    and { built, theirs } or { theirs }
  for _, path in ipairs(paths) do
    local version = path ~= "" and exists(path) and bench_server.capture({ path, "-V" }):match("memcached (%S+)")
    local name = "memcached " .. (version or "")
    if version and not (found[1] and found[1].name == name) then
      local whose = path == built and "" or " (the distribution's)"
      found[#found + 1] = { program = path, name = name, version = name .. whose }
    end
  end
  return found
end

--- slated and the load generator.
-- @param folder holds both
-- @return { name, program, version }; the load generator's path
function M.slated(folder)
  local slated, load = folder .. "/slated", folder .. "/slate-load"
  for _, program in ipairs({ slated, load }) do
    if not exists(program) then
      M.fail(program .. " is missing; build it with make")
    end
  end
  local version = (bench_server.capture({ slated, "-V" }) or ""):match("^%S+ %S+") or "slated of unknown version"
  return { name = "slated", program = slated, version = version }, load
end

--- The two sides of a comparison and the load generator.
-- @param folder holds slated and slate-load
-- @return list of { name, program, version }; the load generator's path
function M.sides(folder)
  local slated, load = M.slated(folder)
  local peer = M.peers()[1]
  if not peer then
    M.skip("there is no memcached to compare with: neither its source package nor the distribution's binary")
  end
  peer.name = "memcached"
  return { slated, peer }, load
end

--- Starts both sides on the same terms.
-- @return list of servers in the order of the sides; they end with stop_all
function M.start_all(sides, options)
  local servers = {}
  for i, side in ipairs(sides) do
    local server, message = bench_server.start(side.program, options)
    if not server then
      M.stop_all(servers)
      M.fail(message)
    end
    servers[i] = server
  end
  return servers
end

function M.stop_all(servers)
  for _, server in ipairs(servers) do
    server:stop()
  end
end

--- Runs the load generator on a server.
-- @param load its path
-- @param words its arguments
-- @param core the processor it is pinned to, or nil
-- @return its report on the last phase as a table, or nil and a message; a wrong value makes it nil too
function M.run_load(load, server, words, core)
  local command = core and { "taskset", "-c", core, load } or { load }
  for _, word in ipairs({ "--server", server.address, "--json" }) do
    command[#command + 1] = word
  end
  for _, word in ipairs(words) do
    command[#command + 1] = word
  end
  local text, message = bench_server.capture(command)
  if not text then
    return nil, message
  end
  local ok, report = pcall(cjson.decode, text)
  if not ok then
    return nil, ("the load generator's report is no JSON: %s"):format(text:sub(1, 200))
  end
  local phase = report.phases[#report.phases]
  if phase.wrong > 0 or phase.failure then
    return nil, ("%s: %s"):format(server.program, phase.failure or phase.wrong .. " values came back wrong")
  end
  return phase
end

function M.median(numbers)
  local sorted = table.move(numbers, 1, #numbers, 1, {})
  table.sort(sorted)
  local middle = #sorted // 2
  if #sorted % 2 == 1 then
    return sorted[middle + 1]
  end
  return (sorted[middle] + sorted[middle + 1]) / 2
end

--- The interval of the median with 95 % among these sorted numbers, by ranks at which a fair coin seldom shows fewer
-- heads. Nil for too few numbers.
function M.median_range(sorted)
  local n = #sorted
  local chance, tail, from = 0.5 ^ n, 0.5 ^ n, 0
  while tail <= 0.025 do
    from = from + 1
    chance = chance * (n - from + 1) / from
    tail = tail + chance
  end
  if from > 0 then
    return sorted[from], sorted[n + 1 - from]
  end
end

--- Words of several lists, one after the other.
function M.join(...)
  local all = {}
  for _, words in ipairs({ ... }) do
    table.move(words, 1, #words, #all + 1, all)
  end
  return all
end

--- One run of slate-load: the server's CPU time an operation in us, operations a second, and the share of its core that
--- it used. The time is that of the whole process, the kernel's part included.
-- @param words slate-load's, with its duration
-- @param options `what`, the operations that are counted (requests); `address`, if not the server's own
function M.cost(load, server, words, options)
  options = options or {}
  local at = { address = options.address or server.address, program = server.program }
  local before_s = server:cpu_s()
  local report = assert(M.run_load(load, at, words, M.CLIENT_CORE))
  local cpu_s = server:cpu_s() - before_s
  -- Errors and misses are cheaper than the operations to be measured.
  assert(report.errors == 0 and report.misses == 0, ("%s answered %d errors and missed %d keys"):format(server.program,
    report.errors, report.misses))
  local count = report[options.what or "requests"]
  return { cpu_us = cpu_s * 1e6 / count, per_s = count / report.seconds, busy_pct = cpu_s / report.seconds * 100 }
end

--- Measures each server in turn, so often, so that a disturbance of the machine meets all.
-- @param measure is called with a server and its number, and returns figures by name
-- @return for each server the median of each figure, and `runs`, all of them
function M.in_turn(servers, times, measure)
  local all = {}
  for _ = 1, times do
    for i, server in ipairs(servers) do
      all[i] = all[i] or { runs = {} }
      table.insert(all[i].runs, measure(server, i))
    end
  end
  for _, one in ipairs(all) do
    for field in pairs(one.runs[1]) do
      local figures = {}
      for i, run in ipairs(one.runs) do
        figures[i] = run[field]
      end
      one[field] = M.median(figures)
    end
  end
  return all
end

--- Starts both sides, calls play, and writes the report that play fills.
-- @param play is called with the servers, slate-load's path and the report
function M.versus(name, folder, options, play)
  local sides, load = M.sides(folder)
  options.core = M.SERVER_CORE
  local servers = M.start_all(sides, options)
  local report = { slated = sides[1].version, memcached = sides[2].version }
  local ok, message = pcall(play, servers, load, report)
  M.stop_all(servers)
  if not ok then
    M.fail(message)
  end
  M.write_report(name, report)
end

--- Writes a report to build/bench/NAME.json and says so.
function M.write_report(name, report)
  os.execute("mkdir -p build/bench")
  local path = ("build/bench/%s.json"):format(name)
  local file = assert(io.open(path, "w"))
  file:write(cjson.encode(report), "\n")
  file:close()
  print("written to " .. path)
end

return M
