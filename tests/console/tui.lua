-- Drives slatetop in time that the spec owns: the whole program on a terminal of cells (terminal.c), against servers
-- that answer from the spec's own process (servers.lua). Time passes only in wait and in functions that begin with
-- step, when no request is open; so no reply here is ever late.
local real = require "support.server"
local servers = require "servers"
local shell = require "support.shell"
local unix = require "socket.unix"

local M = {}
M.canned, M.run, M.has = servers.canned, shell.run, shell.has
M.remove_folder = real.remove_folder

local folders = {} -- the folders made

--- A temporary folder.
function M.make_folder()
  folders[#folders + 1] = real.folder()
  return folders[#folders]
end

--- A real server, whose socket is in the folder.
function M.start_server(program, folder, ...) return servers.start(program, folder .. "/cache.sock", ...) end

local START_MS <const>, PATIENCE_MS <const> = 1000000, 120000
local ANSWER_MS <const> = 1 -- the time that a reply takes
local STEP_MS <const> = 100
local HANG_S <const> = 300 -- of the system's time, which slatetop does not see

local NAMED <const> = {}
for word in ("Enter Escape Tab BTab Space BSpace Up Down Left Right Home End PPage NPage C-r C-z F1 F4 F5 F6 F7 F8")
  :gmatch("%S+") do
  NAMED[word] = true
end

local Screen = {}
Screen.__index = Screen

local screens = {} -- the open ones
local count = 0

-- Until slatetop waits again, or has ended.
local function hear(self)
  local line, problem = self.terminal:receive("*l")
  if line then
    local due, bytes = line:match("^(%d+) (%d+)$")
    self.due_ms = due == "18446744073709551615" and math.maxinteger or math.tointeger(tonumber(due))
    if bytes ~= "0" then self.shown = self.terminal:receive(tonumber(bytes)) end
  else
    assert(problem == "closed", "slatetop does not wait again")
    self.has_ended = true
    self.status = self.pipe:read("a"):match("(%d+)\n$")
    self.shown = self.shown .. "status=" .. self.status
  end
end

-- Lets slatetop go on at a time, with the keys pressed meanwhile.
local function turn(self, now_ms, keys)
  if self.has_ended then return end
  self.now_ms = now_ms
  self.terminal:send(("%d %d %d %s\n"):format(now_ms, self.width, self.height, keys or ""))
  hear(self)
end

local function settle(self)
  while servers.serve() and not self.has_ended do turn(self, self.now_ms + ANSWER_MS) end
end

-- To the next thing that is due, at most to a time.
local function pass(self, until_ms)
  turn(self, math.min(math.max(self.due_ms, self.now_ms + 1), until_ms))
  settle(self)
end

--- Opens a terminal of width x height and runs slatetop in it. environment: more variables, as a shell takes them.
function M.open(folder, arguments, width, height, environment)
  count = count + 1
  local path = ("%s/terminal-%d"):format(folder, count)
  local self = setmetatable({ width = width or 80, height = height or 24, shown = "", now_ms = START_MS,
    errors = path .. ".errors", output = path .. ".output" }, Screen)
  local listener = unix.stream()
  assert(listener:bind(path))
  assert(listener:listen())
  self.pipe = assert(io.popen(("env SLATETOP_SPEC=%s XDG_CONFIG_HOME=/nowhere XDG_STATE_HOME=%s-state LC_ALL=C.UTF-8 "
    .. "%s build/world/slatetop %s </dev/null >%s 2>%s; echo $?"):format(path, path, environment or "", arguments,
    self.output, self.errors)))
  listener:settimeout(HANG_S)
  self.terminal = assert(listener:accept())
  self.terminal:settimeout(HANG_S)
  listener:close()
  screens[self] = true
  turn(self, START_MS)
  settle(self)
  return self
end

--- Runs slatetop to its end, as with -b. Returns its output, and its exit status.
function M.batch(folder, arguments, environment)
  local self <close> = M.open(folder, arguments, nil, nil, environment)
  while not self.has_ended do pass(self, math.maxinteger) end
  return M.run(("cat %s %s"):format(self.errors, self.output)), tonumber(self.status)
end

function Screen:text() return self.shown end

--- slatetop's standard error.
function Screen:complaints() return (M.run("cat " .. self.errors)) end

--- Presses keys by the names of terminal.c; of another word each letter.
function Screen:press(...)
  for _, word in ipairs { ... } do
    for key in word:gmatch(NAMED[word] and ".+" or word:find("^click=") and ".+" or ".") do
      turn(self, self.now_ms, key == " " and "Space" or key)
      settle(self)
    end
  end
end

--- Presses many keys before slatetop reads the first.
function Screen:press_at_once(keys)
  turn(self, self.now_ms, table.concat(keys, " "))
  settle(self)
end

--- Clicks on a text.
function Screen:click(text)
  local y = 0
  for line in self.shown:gmatch("([^\n]*)\n") do
    local at = line:find(text, 1, true)
    if at then return self:press(("click=%d,%d"):format(y, utf8.len(line:sub(1, at)) - 1)) end
    y = y + 1
  end
  error("not on the screen: " .. text, 2)
end

--- Lets so much time pass.
function Screen:step(ms)
  local until_ms = self.now_ms + ms
  while self.now_ms < until_ms and not self.has_ended do pass(self, until_ms) end
end

--- Lets time pass until a text is on the screen; returns the screen.
function Screen:wait(text)
  settle(self)
  local until_ms = self.now_ms + PATIENCE_MS
  while not self.shown:find(text, 1, true) do
    if self.now_ms >= until_ms or self.has_ended then error("waited in vain for: " .. text .. "\n" .. self.shown, 2) end
    pass(self, until_ms)
  end
  return self.shown
end

--- Keys to press and texts that the screen must then have, in turns; a table is several of either. screen:go("8",
-- "connected again", { "g", "m" }, "1 marked", "q")
function Screen:go(...)
  for i, step in ipairs { ... } do
    for _, word in ipairs(type(step) == "table" and step or { step }) do
      self[i % 2 == 1 and "press" or "wait"](self, word)
    end
  end
end

function Screen:step_until_gone(text)
  settle(self)
  local until_ms = self.now_ms + PATIENCE_MS
  while self.shown:find(text, 1, true) do
    if self.now_ms >= until_ms or self.has_ended then error("it stays: " .. text .. "\n" .. self.shown, 2) end
    pass(self, until_ms)
  end
  return self.shown
end

--- Lets time pass until check() returns a true value, which this returns; describe() is the text of the failure.
function M.step_until(check, describe)
  for _ = 1, PATIENCE_MS // STEP_MS do
    local result = check()
    if result then return result end
    for screen in pairs(screens) do screen:step(STEP_MS) end
  end
  error("waited in vain\n" .. (describe and describe() or ""), 2)
end

function Screen:resize(width, height)
  self.width, self.height = width, height
  turn(self, self.now_ms)
  settle(self)
end

--- Ends slatetop, unless it has ended, and fails after a crash.
function Screen:close()
  if not screens[self] then return end
  screens[self] = nil
  self.terminal:shutdown("both") -- other programs may have its descriptor, too
  self.terminal:close()
  local status = self.status or self.pipe:read("a"):match("(%d+)\n$")
  self.pipe:close()
  assert(tonumber(status) < 128 or status == "130", "slatetop died: " .. status .. "\n" .. self:complaints())
end
Screen.__close = Screen.close

--- Ends all that was opened and started, and removes the folders: for after_each.
function M.clean()
  for screen in pairs(screens) do screen:close() end
  servers.stop_all()
  while #folders > 0 do M.remove_folder(table.remove(folders)) end
end

return M
