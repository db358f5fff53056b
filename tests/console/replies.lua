-- Servers that play a version of memcached from a recorded transcript, or a hostile one, for servers.canned.
local M = {}

local function is_from(version, text)
  local function number(words)
    local major, minor, patch = words:match("^(%d+)%.(%d+)%.(%d+)")
    return major * 1000000 + minor * 1000 + patch
  end
  return number(version) >= number(text)
end

-- ---- the version's replies: a transcript in the shape of that version ----

local Replies = {}
Replies.__index = Replies

local function read_groups(fixture)
  local groups, name = {}, nil
  for line in io.lines(("tests/console/fixtures/memcached-%s-first.txt"):format(fixture)) do
    name = line:match("^### (.*)") or name
    local stat, value = line:match("^STAT (%S+) ?(.*)")
    if stat then
      groups[name] = groups[name] or {}
      table.insert(groups[name], { stat, value })
    end
  end
  return groups
end

function Replies:value(group, name, new)
  for _, line in ipairs(self.groups[group]) do
    if line[1] == name then
      line[2] = new or line[2]
      return line[2]
    end
  end
end

function Replies:drop(group, pattern)
  for i = #self.groups[group], 1, -1 do
    if self.groups[group][i][1]:find(pattern) then table.remove(self.groups[group], i) end
  end
end

-- Statistics of the nearest transcript that this version lacks, or has elsewhere.
local function grow_younger(self, from)
  self:value("stats", "version", self.version)
  if not from("1.6.34") then self:drop("stats settings", "^slab_automove_freeratio$") end
  if not from("1.5.17") and from("1.5.0") then -- mem_requested stood with the slabs
    for _, line in ipairs(self.groups["stats items"]) do
      local id = line[1]:match("^items:(%d+):mem_requested$")
      if id then table.insert(self.groups["stats slabs"], 1, { id .. ":mem_requested", line[2] }) end
    end
    self:drop("stats items", ":mem_requested$")
    self:drop("stats settings", "^ext_")
    self:drop("stats settings", "^ssl_")
  end
  if not from("1.4.25") then
    self:drop("stats settings", "^lru_")
    self:drop("stats settings", "^hash_algorithm$")
    self:drop("stats items", "crawler")
    self:drop("stats", "crawler")
    self:drop("stats", "^slab_global_page_pool$")
  elseif not from("1.5.0") then
    self:value("stats settings", "slab_reassign", "yes")
    table.insert(self.groups["stats"], { "slabs_moved", "0" }) -- present where pages can move
  end
end

-- ---- the version's commands ----

local function set(name)
  return function(self, value) return self:value("stats settings", name, value) and "OK" or "ERROR" end
end

local function reassign(self, words, from)
  local src, dst = words:match("^(%-?%d+) (%d+)$")
  if self:value("stats settings", "slab_reassign") ~= "yes" then return "CLIENT_ERROR slab reassignment disabled" end
  local there = self:value("stats slabs", dst .. ":total_pages")
  if not there and from("1.6.34") and not from("1.6.42") and tonumber(dst) <= 64 then return "CRASH" end
  local here = self:value("stats slabs", src .. ":total_pages")
  if not there or not here then return "BADCLASS" end
  if tonumber(here) < 2 then return "NOSPARE" end
  self:value("stats slabs", src .. ":total_pages", tostring(tonumber(here) - 1))
  self:value("stats slabs", dst .. ":total_pages", tostring(tonumber(there) + 1))
  self:value("stats", "slabs_moved", tostring((tonumber(self:value("stats", "slabs_moved")) or 0) + 1))
  return "OK"
end

local function window(self, value, from)
  local seconds = tonumber(value)
  if not from("1.6.34") then return "CLIENT_ERROR bad command line format" end
  if not from("1.6.45") and (seconds < 1 or seconds > 10000) then return "CRASH" end
  return set("slab_automove_window")(self, value)
end

local function tune(self, words)
  local names = { "hot_lru_pct", "warm_lru_pct", "hot_max_factor", "warm_max_factor" }
  for word in words:gmatch("%S+") do self:value("stats settings", table.remove(names, 1), word) end
  return "OK"
end

-- A pattern of a command, its function, and the first version that has it.
local COMMANDS <const> = {
  { "^version$", function(self) return "VERSION " .. self.version end },
  { "^slabs reassign (.*)$", reassign },
  { "^slabs automove ([012])$", set("slab_automove") },
  { "^slabs automove ratio (%S+)$", set("slab_automove_ratio"), "1.5.0" },
  { "^slabs automove window (%S+)$", window },
  { "^lru tune (.*)$", tune, "1.5.0" },
  { "^cache_memlimit (%d+)$", function(self, mib)
    return set("maxbytes")(self, tostring(tonumber(mib) * 1048576))
  end },
  { "^verbosity (%d)$", set("verbosity") },
  { "^stats detail (%a+)$", function(self, word)
    return set("detail_enabled")(self, word == "on" and "yes" or "no")
  end },
}

local function reply(self, command, from)
  local group = self.groups[command]
  if command == "stats" then
    self.refreshes = self.refreshes + 1
    self:value("stats", "uptime", tostring(1000 + self.refreshes))
  end
  if group then
    local lines = {}
    for i, line in ipairs(group) do lines[i] = ("STAT %s %s\r\n"):format(line[1], line[2]) end
    return table.concat(lines) .. "END\r\n"
  end
  for _, row in ipairs(COMMANDS) do
    local words = command:match(row[1])
    if words and (not row[3] or from(row[3])) then return row[2](self, words, from) .. "\r\n" end
  end
  return "ERROR\r\n"
end

-- ---- faults of a server ----

local function each_stat(text, change) return (text:gsub("STAT (%S+) ([^\r\n]*)\r\n", change)) end

-- Each gets a reply, the command and the server. It returns the bytes to send, the size of the pieces, and whether the
-- server then hangs up.
local KINDS <const> = {
  plain = function(text) return text end,
  proxy = function(text) return text end,
  fragments = function(text) return text, 211 end,
  missing = function(text, _, self)
    return each_stat(text, function()
      self.told = (self.told or 0) + 1
      return self.told % 3 == 0 and "" or nil
    end)
  end,
  words = function(text)
    return each_stat(text, function(name) return ("STAT %s %s\r\n"):format(name, "\27[2Jnever 1e999") end)
  end,
  negative = function(text)
    return each_stat(text, function(name, value)
      return ("STAT %s %s\r\n"):format(name, tonumber(value) and "-" .. value or value)
    end)
  end,
  resets = function(text, _, self)
    return self.refreshes % 2 == 1 and text or each_stat(text, function(name, value)
      return ("STAT %s %s\r\n"):format(name, name:find("^[acgs].*_") and tonumber(value) and "0" or value)
    end)
  end,
  halves = function(text, _, self)
    return self.refreshes > 1 and text:sub(1, #text // 2) or text, nil, self.refreshes > 1
  end,
  stall = function(text, _, self) return self.refreshes > 2 and "" or text end,
  silence = function() return "" end,
  login = function() return "CLIENT_ERROR unauthenticated\r\n" end,
  busy = function() return "SERVER_ERROR busy\r\n" end,
  starts = function(text, _, self) return self.refreshes > 4 and text or "SERVER_ERROR it is starting\r\n" end,
  escape = function(_, command)
    return command == "version" and "VERSION \27]0;owned\7\27[31m1.6.18\r\n"
      or "STAT version \27]0;owned\7\27[2J\r\nSTAT 1:chunk_size 96\r\nSTAT 1:total_pages 3\r\nEND\r\n"
  end,
}

--- Plays a version with a fault. `session` is for servers.canned. `commands` lists the received lines: plain, after
-- "UNKNOWN" when that version does not know them, after "CRASH" when the version crashes on them, as this player does.
function M.new(version, kind)
  local function from(text) return is_from(version, text) end
  local fixture = kind == "proxy" and "1.6.45-proxy" or from("1.6.34") and "1.6.45"
    or from("1.5.0") and "1.6.18" or "1.4.25"
  local self = setmetatable({ version = version, groups = read_groups(fixture), refreshes = 0, log = {} }, Replies)
  local twist = assert(KINDS[kind or "plain"], "there is no such kind")
  grow_younger(self, from)
  function self.session()
    return { answer = function(_, command)
      local text = reply(self, command, from)
      local is_crash, is_unknown = text == "CRASH\r\n", text == "ERROR\r\n" and not command:find("^stats slated")
      table.insert(self.log, (is_crash and "CRASH " or is_unknown and "UNKNOWN " or "") .. command .. "\n")
      if not is_crash then return twist(text, command, self) end
    end }
  end
  return self
end

function Replies:commands() return table.concat(self.log) end

return M
