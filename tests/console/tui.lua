-- Drives the real slatetop in a tmux of its own, and servers for it to look at. Everything lives in one temporary
-- folder and on UNIX sockets; close() and stop() end every process that was started, by its id.
local system = require "system"
local unix = require "socket.unix"

local M = {}
M.slatetop = os.getenv("SLATETOP") or "build/bin/slatetop"

local function quote(text)
  return "'" .. tostring(text):gsub("'", "'\\''") .. "'"
end

local function run(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local output = pipe:read("a")
  local _, _, code = pipe:close()
  return output, code
end
M.run = run

local function first_line(command)
  return (run(command):match("[^\n]*"))
end

--- True when a program can be found.
function M.has(program)
  local _, code = run("command -v " .. quote(program))
  return code == 0
end

--- A folder for sockets and files; remove_folder takes it away again.
function M.make_folder()
  return (first_line("mktemp -d -t slatetop-spec-XXXXXX"))
end

function M.remove_folder(folder)
  assert(folder:match("^/.*/slatetop%-spec%-%w+$"), "not a folder of ours")
  run("rm -rf " .. folder)
end

local PATIENCE_S <const> = 60 -- only a hang takes that long
local POLL_S <const>, POLL_MOST_S <const> = 0.01, 0.5
local REST <const> = 3 -- times as long as a check took: the console needs the processor, too

--- Calls check() until it returns something true; fails with describe() in the message.
function M.wait_until(check, describe)
  local deadline = system.monotime() + PATIENCE_S
  repeat
    local began_s = system.monotime()
    local result = check()
    if result then return result end
    system.sleep(math.min(POLL_MOST_S, math.max(POLL_S, REST * (system.monotime() - began_s))))
  until system.monotime() > deadline
  error("waited in vain\n" .. (describe and describe() or ""), 2)
end

local Server = {}
Server.__index = Server

--- Starts a cache server on a UNIX socket of its own. arguments: more options.
-- login: user and password, with a blank between, of a server with -Y.
function M.start_server(program, folder, arguments, login)
  local self = { socket = folder .. "/cache.sock", program = program, arguments = arguments or "",
    login = login and ("set login 0 0 %d\r\n%s\r\n"):format(#login, login) or "" }
  setmetatable(self, Server):start()
  return self
end

function Server:start()
  os.remove(self.socket)
  local user = first_line("id -u") == "0" and "-u root" or ""
  self.pid = first_line(("%s -s %s %s -m 64 -t 2 %s </dev/null >/dev/null 2>&1 & echo $!"):format(
    self.program, self.socket, user, self.arguments))
  local answers, message = pcall(M.wait_until, function() return self:ask("version\r\n"):match("^VERSION") end)
  if not answers then
    self:stop()
    error(self.program .. " does not answer: " .. message, 2)
  end
end

--- Does somebody take connections there?
function M.answers(socket)
  local connection = unix.stream()
  local connected = connection:connect(socket)
  connection:close()
  return connected ~= nil
end

--- Sends raw bytes, then quit, and returns everything that comes back; "" when there is no server.
function Server:ask(text)
  local connection = unix.stream()
  connection:settimeout(PATIENCE_S)
  if not connection:connect(self.socket) then return "" end
  connection:send(self.login .. text .. "quit\r\n")
  local whole, _, part = connection:receive("*a")
  connection:close()
  local answer = whole or part or ""
  return self.login ~= "" and answer:gsub("^STORED\r\n", "") or answer
end

--- Fills the cache: count values of size bytes under prefix.
function Server:fill(prefix, count, size)
  local value = ("x"):rep(size)
  local lines = {}
  for i = 1, count do
    lines[#lines + 1] = ("set %s%d 0 0 %d noreply\r\n%s\r\n"):format(prefix, i, size, value)
  end
  self:ask(table.concat(lines) .. "version\r\n")
end

--- Pages of each class, as the server tells them now.
function Server:pages()
  local pages = {}
  for class, count in self:ask("stats slabs\r\n"):gmatch("STAT (%d+):total_pages (%d+)") do
    pages[tonumber(class)] = tonumber(count)
  end
  return pages
end

function Server:setting(name)
  return self:ask("stats settings\r\n"):match("STAT " .. name .. " ([^\r\n]*)")
end

function Server:signal(name)
  run(("kill -%s %s"):format(name, self.pid))
end

function Server:stop()
  if self.pid then
    self:signal("CONT")
    self:signal("KILL")
    self.pid = nil
    os.remove(self.socket)
  end
end

local Screen = {}
Screen.__index = Screen

local count = 0

--- Opens a terminal of width x height that runs a command line; environment comes before it.
function M.open(folder, command, width, height, environment)
  count = count + 1
  local self = { name = ("slatetop-spec-%s-%d"):format(folder:match("%w+$"), count), folder = folder }
  setmetatable(self, Screen)
  local shell = ("exec env XDG_CONFIG_HOME=/nowhere XDG_STATE_HOME=%s TERM=tmux-256color LC_ALL=C.UTF-8 %s sh -c %s")
    :format(quote(folder .. "/state-" .. count), environment or "", quote("stty -a >" .. folder .. "/before; "
      .. command .. " 2>" .. folder .. "/errors; status=$?; stty -a >" .. folder
      .. "/after; echo status=$status; exec cat"))
  -- The shell is named, for that of the password file may be one that only says no.
  run(("env SHELL=/bin/sh LC_ALL=C.UTF-8 tmux -L %s -f /dev/null new-session -d -x %d -y %d %s"):format(self.name,
    width or 80, height or 24, quote(shell)))
  return self
end

function Screen:tmux(arguments)
  return (run(("tmux -L %s %s"):format(self.name, arguments)))
end

function Screen:text()
  return self:tmux("capture-pane -p")
end

function Screen:press(...)
  for _, key in ipairs { ... } do
    self:tmux("send-keys " .. quote(key))
  end
end

--- Waits until the screen shows a plain text; returns the screen.
function Screen:wait(text)
  return M.wait_until(function()
    local screen = self:text()
    return screen:find(text, 1, true) and screen
  end, function() return "for: " .. text .. "\n" .. self:text() end)
end

function Screen:wait_gone(text)
  return M.wait_until(function()
    local screen = self:text()
    return not screen:find(text, 1, true) and screen
  end, function() return "for the end of: " .. text .. "\n" .. self:text() end)
end

function Screen:resize(width, height)
  self:tmux(("resize-window -x %d -y %d"):format(width, height))
end

--- The process id of the console in this terminal: a child of the pane's shell, by its name and not by its command
--- line, for that of a shell tells the name too.
function Screen:console_pid()
  local shell = self:tmux("list-panes -F '#{pane_pid}'"):match("%d+")
  local pid = first_line("pgrep -P " .. shell .. " -x slatetop")
  assert(pid:match("^%d+$"), "no console runs in the terminal")
  return pid
end

--- Everything that goes to the terminal from now on is written to a file; returns its path.
function Screen:record()
  local path = self.folder .. "/raw"
  assert(io.open(path, "w")):close() -- the shell behind the pipe comes to it when it comes to it
  self:tmux("pipe-pane -O " .. quote("cat >> " .. path))
  return path
end

--- True when the line settings are what they were before the console started.
function Screen:line_is_restored()
  return run(("cmp %s/before %s/after"):format(self.folder, self.folder)) == ""
end

function Screen:close()
  self:tmux("kill-server")
end

return M
