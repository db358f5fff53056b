-- SPDX-License-Identifier: BSD-3-Clause
--- The recovery race on stock memcached whose pages a policy in Lua moves from outside: `slatectl policy run --apply`,
--- beside memcached's own default in the same time.

local bench_server = require("server")
local compare = require("compare")
local gauges = require("memory.gauges")
local race = require("memory.race")
local sides = require("memory.sides")

local POLICIES <const> = os.getenv("POLICIES") or "burst"
local INTERVAL <const> = os.getenv("POLICY_INTERVAL") or "250ms"

local M = {}

function M.title()
  return race.title() .. ("; policies every %s"):format(INTERVAL)
end

M.columns = compare.join(race.columns,
  { { key = "pages", title = "pages at the end" }, { key = "automove", title = "automove then" } })

-- Starts slatectl on the server. Returns a function that ends slatectl and waits for its end.
local function start_policy(programs, server, name)
  local log = os.tmpname()
  local core = programs.client_core and ("taskset -c %d "):format(programs.client_core) or ""
  local pipe = assert(io.popen(("echo $$; exec %s%s -s %s policy run %s --apply --interval %s >%s 2>&1"):format(core,
    bench_server.quote(programs.slatectl), bench_server.quote(server.address), bench_server.quote(name), INTERVAL,
    bench_server.quote(log)), "r"))
  local pid = math.tointeger(tonumber(pipe:read("l")))
  return function()
    os.execute(("kill -INT %d 2>/dev/null"):format(pid))
    pipe:read("a") -- its guard has the pipe, too: all reads end when the guard ends
    pipe:close()
    local file = assert(io.open(log))
    local said = file:read("a")
    file:close()
    os.remove(log)
    return said
  end
end

local function measure(programs, server, policy)
  local stop = policy and start_policy(programs, server, policy)
  local row, message = race.measure(programs, server)
  local said = stop and stop()
  if not row then
    return nil, message
  elseif said and not said:find("interrupted: " .. policy .. " made", 1, true) then
    return nil, "slatectl: " .. (said:match("slatectl: ([^\n]*)\n?$") or said)
  end
  row.automove = server:stats("settings").slab_automove
  row.pages = select(2, gauges.largest(gauges.pages(server)))
  return row
end

function M.run(programs, sheet)
  for _, peer in ipairs(programs.peers) do
    local own = { program = peer.program, version = peer.version, mode = "1", label = peer.name .. ", 1" }
    sides.measure(programs, sheet, own, {}, function(server)
      return measure(programs, server)
    end)
    for policy in POLICIES:gmatch("[^%s,]+") do
      local driven = { program = peer.program, version = peer.version, mode = "1",
        label = ("%s, %s"):format(peer.name, policy) }
      sides.measure(programs, sheet, driven, {}, function(server)
        return measure(programs, server, policy)
      end)
    end
  end
  if #programs.peers == 0 then
    sheet:note("no memcached to drive")
  end
  sheet:note("goal for burst: 99 % within 8 s, at most 44 pages moved, none after, automove as it was found (1)")
end

return M
