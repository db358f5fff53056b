-- A terminal for specs that need a real one: a program in a tmux of its own. A spec waits for texts on the screen;
-- every change of the screen wakes a waiting spec.
local real = require "support.server"
local shell = require "support.shell"

local PATIENCE_S <const> = 300

local M = {}
M.slatetop = os.getenv("SLATETOP") or "build/bin/slatetop"

M.run, M.has, M.make_folder, M.remove_folder = shell.run, shell.has, real.folder, real.remove_folder

local quote = real.quoted

local Screen = {}
Screen.__index = Screen

local count = 0

--- Opens a terminal of width x height that runs a command line; environment comes before it.
function M.open(folder, command, width, height, environment, settings)
  count = count + 1
  local self = setmetatable({ folder = folder, name = ("slatetop-spec-%s-%d"):format(folder:match("%w+$"), count) },
    Screen)
  local line = ("exec env XDG_CONFIG_HOME=/nowhere XDG_STATE_HOME=%s TERM=tmux-256color LC_ALL=C.UTF-8 %s sh -c %s")
    :format(quote(folder .. "/state-" .. count), environment or "", quote("stty -a >" .. folder .. "/before; "
      .. command .. " 2>" .. folder .. "/errors; status=$?; stty -a >" .. folder
      .. "/after; echo status=$status; exec cat"))
  -- The shell is named, because the one in the password file may only print a refusal.
  M.run(("env SHELL=/bin/sh LC_ALL=C.UTF-8 tmux -L %s -f %s new-session -d -x %d -y %d %s"):format(self.name,
    settings or "/dev/null", width or 80, height or 24, quote(line)))
  local input = ("%s/input-%d"):format(folder, count)
  self.changes = assert(io.popen(("mkfifo %s; exec tmux -L %s -C attach-session -f ignore-size,read-only <>%s"):format(
    quote(input), self.name, quote(input))))
  return self
end

function Screen:tmux(arguments)
  return (M.run(("tmux -L %s %s"):format(self.name, arguments)))
end

function Screen:text()
  return self:tmux("capture-pane -p")
end

function Screen:press(...)
  for _, key in ipairs { ... } do
    self:tmux("send-keys " .. quote(key))
  end
end

--- Waits until check(screen) returns a true value, which is returned. Called at each change of the screen, which
-- slatetop changes every second. Only a hang takes the whole time limit.
function Screen:wait_until(check)
  local deadline = os.time() + PATIENCE_S
  while true do
    local text = self:text()
    local result = check(text)
    if result then return result end
    if not self.changes:read("l") or os.time() > deadline then error("waited in vain:\n" .. text, 2) end
  end
end

--- Waits until the screen shows a plain text; returns the screen.
function Screen:wait(text)
  return self:wait_until(function(screen) return screen:find(text, 1, true) and screen end)
end

function Screen:resize(width, height)
  self:tmux(("resize-window -x %d -y %d"):format(width, height))
end

--- The process id of the console in this terminal: a child of the pane's shell, by its process name and not by its
--- command line, because the shell's command line has that name, too.
function Screen:console_pid()
  local parent = self:tmux("list-panes -F '#{pane_pid}'"):match("%d+")
  local pid = M.run("pgrep -P " .. parent .. " -x slatetop"):match("^%d+")
  return assert(pid, "no console runs in the terminal")
end

--- True when the line settings are as before the console started.
function Screen:line_is_restored()
  return M.run(("cmp %s/before %s/after"):format(self.folder, self.folder)) == ""
end

function Screen:close()
  self:tmux("kill-server")
  self.changes:read("a") -- the program ends when all its output is read
  self.changes:close()
end

return M
