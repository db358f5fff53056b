-- SPDX-License-Identifier: BSD-3-Clause
-- A server under measurement: started on a free port of 127.0.0.1, watched through /proc, stopped by its pid.

local socket = require("socket")

local M = {}

local START_DEADLINE_S = 60 -- only a fault takes that long, here and below
local STOP_DEADLINE_S = 60
local PORT_ATTEMPTS = 5

local Server = {}
Server.__index = Server
Server.__name = "bench.Server"

local function quote(word)
  return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end
M.quote = quote

local function read_all(path)
  local file = io.open(path, "rb")
  local text = file and file:read("a") or ""
  if file then
    file:close()
  end
  return text
end

--- Runs a command and returns its stdout.
-- @return the text, or nil and a message that names the command
function M.capture(words)
  local quoted = {}
  for i, word in ipairs(words) do
    quoted[i] = quote(word)
  end
  local pipe = assert(io.popen(table.concat(quoted, " "), "r"))
  local text = pipe:read("a")
  local ok, how, code = pipe:close()
  if not ok then
    return nil, ("%s: %s %d"):format(table.concat(words, " "), how, code), text
  end
  return text
end

--- A port of 127.0.0.1 without a listener at this moment.
local function free_port()
  local listener = assert(socket.bind("127.0.0.1", 0))
  local _, port = listener:getsockname()
  listener:close()
  return math.tointeger(tonumber(port))
end

-- One line of a reply, or a whole reply up to END, on a connection of its own.
function Server:ask(command)
  local connection = socket.tcp()
  connection:settimeout(20)
  local lines = {}
  if connection:connect("127.0.0.1", self.port) and connection:send(command .. "\r\n") then
    repeat
      local line = connection:receive("*l")
      lines[#lines + 1] = line
    until not line or not line:match("^STAT ") and not line:match("^VALUE ")
  end
  connection:close()
  return lines
end

--- General statistics as a table of texts; empty when the server does not answer.
function Server:stats(argument)
  local stats = {}
  for _, line in ipairs(self:ask("stats" .. (argument and " " .. argument or ""))) do
    local name, value = line:match("^STAT (%S+) (.*)$")
    if name then
      stats[name] = value
    end
  end
  return stats
end

--- True while the process runs.
function Server:alive()
  local stat = read_all(("/proc/%d/stat"):format(self.pid))
  return stat ~= "" and not stat:find(") Z", 1, true)
end

--- CPU time of all threads of a process, the kernel's part included, in seconds.
function M.cpu_s(pid)
  local total_ns = 0
  local threads = io.popen(("cat /proc/%d/task/*/schedstat 2>/dev/null"):format(pid))
  for line in threads:lines() do
    total_ns = total_ns + tonumber(line:match("^%d+"))
  end
  threads:close()
  if total_ns > 0 then
    return total_ns / 1e9
  end
  -- A kernel without scheduler statistics: clock ticks, a hundredth of a second each.
  local user, system = read_all(("/proc/%d/stat"):format(pid)):match("%) " .. ("%S+ "):rep(11) .. "(%d+) (%d+)")
  return (tonumber(user) + tonumber(system)) / 100
end

--- The same of this server.
function Server:cpu_s()
  return M.cpu_s(self.pid)
end

--- Ends the process and waits for its end; a process that does not end by itself is killed. @return its exit status,
--- and its stderr
function Server:stop()
  if not self.shell then
    return nil
  end
  os.execute(("kill %d 2>/dev/null"):format(self.pid))
  local deadline = socket.gettime() + STOP_DEADLINE_S
  while self:alive() and socket.gettime() < deadline do
    socket.sleep(0.005)
  end
  if self:alive() then
    os.execute(("kill -9 %d"):format(self.pid))
  end
  local status = tonumber(self.shell:read("l"))
  self.shell:close()
  self.shell = nil
  local said = read_all(self.log)
  os.remove(self.log)
  return status, said
end

-- A program that fails leaves no server behind, if it closes its Lua state.
Server.__gc = Server.stop

-- The shell stays to report the exit status, so that no zombie is left.
local function start_on(port, program, options)
  local tls_port = options.tls and free_port()
  local listen = options.tls and ("notls:127.0.0.1:%d,127.0.0.1:%d"):format(port, tls_port) or "127.0.0.1"
  local words = { quote(program), "-l", listen, "-p", port, "-u", M.capture({ "id", "-un" }):match("%S+") }
  if options.udp then
    table.move({ "-U", port }, 1, 2, #words + 1, words)
  end
  for _, option in ipairs(options.arguments or {}) do
    words[#words + 1] = quote(option)
  end
  local log = os.tmpname()
  local prefix = options.core and ("taskset -c %d "):format(options.core) or ""
  local shell = assert(io.popen(("exec 2>%s; %s%s </dev/null >&2 & echo $!; wait $!; echo $?"):format(
    quote(log), prefix, table.concat(words, " ")), "r"))
  -- Only now: finalizers run in the reverse order, and the shell's waits for the server's end.
  local self = setmetatable({ port = port, tls_port = tls_port,
    address = "127.0.0.1:" .. port, log = log, program = program,
    shell = shell }, Server)
  self.pid = math.tointeger(tonumber(self.shell:read("l")))
  local deadline = socket.gettime() + START_DEADLINE_S
  repeat
    -- Another process may have taken the port: only our own answers with our pid.
    if tonumber(self:stats().pid) == self.pid then
      return self
    end
    socket.sleep(0.01)
  until socket.gettime() > deadline or not self:alive()
  local _, said = self:stop()
  return nil, ("%s did not start: %s"):format(program, said)
end

--- Starts a server.
-- @param program its path
-- @param options `arguments`, a list of words; `core`, its processor; `udp`, true: the port is
-- UDP's, too; `tls`, true: with -Z in the
-- arguments, plain text on `port` and TLS on `tls_port`
-- @return the server, or nil and a message with the program's output
function M.start(program, options)
  local server, message
  for _ = 1, PORT_ATTEMPTS do
    server, message = start_on(free_port(), program, options or {})
    if server then
      return server
    end
  end
  return nil, message
end

return M
