-- A server that plays another version of memcached from a recorded transcript, or a hostile one.
--
--   lua5.4 tests/console/replayer.lua SOCKET LOG VERSION [KIND]
--
-- It answers on a UNIX socket, keeps the settings and pages that it is told to change, and appends every command to
-- LOG: as it came, behind "UNKNOWN" when that version does not know it, behind "CRASH" (and it dies) when that version
-- would.
-- KIND: what is wrong with its answers; see `hostile`. proxy: nothing is, but it is a proxy.
local socket = require "socket"
local unix = require "socket.unix"

local path, log_path, version, kind = arg[1], arg[2], arg[3], arg[4] or "plain"
local major, minor, patch = version:match("^(%d+)%.(%d+)%.(%d+)")
local number = tonumber(major) * 1000000 + tonumber(minor) * 1000 + tonumber(patch)
local function from(text)
  local a, b, c = text:match("^(%d+)%.(%d+)%.(%d+)")
  return number >= a * 1000000 + b * 1000 + c
end

-- ---- what it says: a transcript in the shape of that version ----

local fixture = kind == "proxy" and "1.6.45-proxy" or from("1.6.34") and "1.6.45"
  or from("1.5.0") and "1.6.18" or "1.4.25"
local groups = {}
do
  local name
  for line in io.lines(("tests/unit/console/fixtures/memcached-%s-first.txt"):format(fixture)) do
    name = line:match("^### (.*)") or name
    local stat, value = line:match("^STAT (%S+) ?(.*)")
    if stat then
      groups[name] = groups[name] or {}
      table.insert(groups[name], { stat, value })
    end
  end
end

local function value_of(group, name, new)
  for _, line in ipairs(groups[group]) do
    if line[1] == name then
      line[2] = new or line[2]
      return line[2]
    end
  end
end

local function drop(group, pattern)
  for i = #groups[group], 1, -1 do
    if groups[group][i][1]:find(pattern) then table.remove(groups[group], i) end
  end
end

value_of("stats", "version", version)
if not from("1.6.34") then drop("stats settings", "^slab_automove_freeratio$") end
if not from("1.5.17") and from("1.5.0") then -- mem_requested was told with the slabs
  for _, line in ipairs(groups["stats items"]) do
    local id = line[1]:match("^items:(%d+):mem_requested$")
    if id then table.insert(groups["stats slabs"], 1, { id .. ":mem_requested", line[2] }) end
  end
  drop("stats items", ":mem_requested$")
  drop("stats settings", "^ext_")
  drop("stats settings", "^ssl_")
end
if not from("1.4.25") then
  drop("stats settings", "^lru_")
  drop("stats settings", "^hash_algorithm$")
  drop("stats items", "crawler")
  drop("stats", "crawler")
  drop("stats", "^slab_global_page_pool$")
elseif not from("1.5.0") then
  value_of("stats settings", "slab_reassign", "yes")
  table.insert(groups["stats"], { "slabs_moved", "0" }) -- which is told where pages can move
end

-- ---- what it does ----

local log = assert(io.open(log_path, "a"))
log:setvbuf("line")

local function set(name)
  return function(value) return value_of("stats settings", name, value) and "OK" or "ERROR" end
end

local function reassign(words)
  local src, dst = words:match("^(%-?%d+) (%d+)$")
  if value_of("stats settings", "slab_reassign") ~= "yes" then return "CLIENT_ERROR slab reassignment disabled" end
  local there = value_of("stats slabs", dst .. ":total_pages")
  if not there and from("1.6.34") and not from("1.6.42") and tonumber(dst) <= 64 then return "CRASH" end
  local here = value_of("stats slabs", src .. ":total_pages")
  if not there or not here then return "BADCLASS" end
  if tonumber(here) < 2 then return "NOSPARE" end
  value_of("stats slabs", src .. ":total_pages", tostring(tonumber(here) - 1))
  value_of("stats slabs", dst .. ":total_pages", tostring(tonumber(there) + 1))
  value_of("stats", "slabs_moved", tostring((tonumber(value_of("stats", "slabs_moved")) or 0) + 1))
  return "OK"
end

local function window(value)
  local seconds = tonumber(value)
  if not from("1.6.34") then return "CLIENT_ERROR bad command line format" end
  if not from("1.6.45") and (seconds < 1 or seconds > 10000) then return "CRASH" end
  return set("slab_automove_window")(value)
end

local function tune(words)
  if not from("1.5.0") then return "ERROR" end
  local names = { "hot_lru_pct", "warm_lru_pct", "hot_max_factor", "warm_max_factor" }
  for word in words:gmatch("%S+") do value_of("stats settings", table.remove(names, 1), word) end
  return "OK"
end

local COMMANDS = {
  { "^version$", function() return "VERSION " .. version end },
  { "^slabs reassign (.*)$", reassign },
  { "^slabs automove ([012])$", set("slab_automove") },
  { "^slabs automove ratio (%S+)$", from("1.5.0") and set("slab_automove_ratio") or nil },
  { "^slabs automove window (%S+)$", window },
  { "^lru tune (.*)$", tune },
  { "^cache_memlimit (%d+)$", function(mib) return set("maxbytes")(tostring(tonumber(mib) * 1048576)) end },
  { "^verbosity (%d)$", set("verbosity") },
  { "^stats detail (%a+)$", function(word) return set("detail_enabled")(word == "on" and "yes" or "no") end },
}

local refreshes = 0
local function reply(command)
  local group = groups[command]
  if command == "stats" then
    refreshes = refreshes + 1
    value_of("stats", "uptime", tostring(1000 + refreshes))
  end
  if group then
    local lines = {}
    for i, line in ipairs(group) do lines[i] = ("STAT %s %s\r\n"):format(line[1], line[2]) end
    return table.concat(lines) .. "END\r\n"
  end
  for _, row in ipairs(COMMANDS) do
    local words = command:match(row[1])
    if words and row[2] then return row[2](words) .. "\r\n" end
  end
  return "ERROR\r\n"
end

-- ---- what may be wrong with it ----

local function each_stat(text, change)
  return (text:gsub("STAT (%S+) ([^\r\n]*)\r\n", change))
end

local turn = 0
local hostile = {
  plain = function(text) return text end,
  proxy = function(text) return text end,
  fragments = function(text) return text, 1 end,
  missing = function(text)
    return each_stat(text, function() turn = turn + 1 return turn % 3 == 0 and "" or nil end)
  end,
  renamed = function(text) return (text:gsub("STAT (%S+)", "STAT new_%1")) end,
  words = function(text)
    return each_stat(text, function(name) return ("STAT %s %s\r\n"):format(name, "\27[2Jnever 1e999") end)
  end,
  negative = function(text)
    return each_stat(text, function(name, value)
      return ("STAT %s %s\r\n"):format(name, tonumber(value) and "-" .. value or value)
    end)
  end,
  resets = function(text)
    return refreshes % 2 == 1 and text or each_stat(text, function(name, value)
      return ("STAT %s %s\r\n"):format(name, name:find("^[acgs].*_") and tonumber(value) and "0" or value)
    end)
  end,
  empty = function(text) return text:find("^STAT") and "END\r\n" or text end,
  garbage = function() return ("\0\27]0;x\7STAT \xff" .. ("x"):rep(1000)):rep(200) .. "\r\n" end,
  endless = function() return ("STAT a 1\r\n"):rep(200000) end,
  halves = function(text) return refreshes > 1 and text:sub(1, #text // 2) or text, nil, refreshes > 1 end,
  stall = function(text) return refreshes > 2 and "" or text end,
  refuses = function(text, command) return command:find("^stats") and text or "SERVER_ERROR not today\r\n" end,
  hangs_up = function(text, command) return command:find("^stats") and text or "", nil, not command:find("^stats") end,
  mute = function(text, command) return command:find("^stats") and text or "" end,
}
local twist = assert(hostile[kind], "there is no kind " .. kind)

local function serve(client, command)
  local text = reply(command)
  local is_crash, is_unknown = text == "CRASH\r\n", text == "ERROR\r\n" and not command:find("^stats slated")
  log:write(is_crash and "CRASH " or is_unknown and "UNKNOWN " or "", command, "\n")
  if is_crash then os.exit(1) end
  local out, piece, closes = twist(text, command)
  client:settimeout(5)
  for at = 1, #out, piece or #out + 1 do
    if not client:send(out:sub(at, at + (piece or #out) - 1)) then return false end
  end
  client:settimeout(0)
  return not closes
end

local listener = unix.stream()
os.remove(path)
assert(listener:bind(path))
assert(listener:listen())
local clients = { listener }
while true do
  local ready = socket.select(clients, nil, 60)
  if #ready == 0 then os.exit(0) end -- nobody has asked for a minute: the test is gone
  for _, one in ipairs(ready) do
    if one == listener then
      local client = listener:accept()
      client:settimeout(0)
      clients[#clients + 1] = client
    else
      local goes_on, line, problem
      repeat
        line, problem = one:receive("*l")
        goes_on = line and serve(one, (line:gsub("\r$", ""))) or not line and problem == "timeout"
      until not line or not goes_on
      if not goes_on then
        one:close()
        for i, client in ipairs(clients) do
          if client == one then table.remove(clients, i) break end
        end
      end
    end
  end
end
