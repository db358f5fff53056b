-- SPDX-License-Identifier: BSD-3-Clause
-- `make run` as a person meets it: without a terminal, in a terminal, with its port taken, and interrupted.
local server = require "support.server"
local socket = require "socket"

local DEADLINE_S = 500 -- only a hang takes that long

local run = server.said

-- Runs a script in a process group of its own; returns its status, its output and the remaining processes of the group:
-- those that run on, and those that ended and were never waited for.
local function run_group(script)
  local _, text = run(([[
    exec 2>&1
    timeout -k 5 %d sh -c '%s' </dev/null &
    group=$!
    wait $group
    echo "status $?"
    ps -e -o pgid=,stat=,args= | awk -v group=$group '$1 == group { print "left " $0 }'
  ]]):format(DEADLINE_S, script))
  return tonumber(text:match("status (%d+)\n")), text, text:match("\nleft ([^\n]*)")
end

describe("scripts/demo", function()
  local folder

  -- The built programs, with another program in place of slate-load.
  before_each(function()
    folder = server.folder()
    assert(run(("ln -s $PWD/build/bin/slated $PWD/build/bin/slatetop %s"):format(folder)))
  end)
  after_each(function() server.remove_folder(folder) end)

  local function write_program(name, text)
    server.write_file(folder .. "/" .. name, "#!/bin/bash\n" .. text)
    run(("chmod +x %s/%s"):format(folder, name))
  end

  -- A load of a tenth, which takes its time to end.
  local function write_load()
    write_program("slate-load", ([[
case $* in *--duration*) ;; *) exec %s/build/bin/slate-load "${@//700k/70k}" >/dev/null ;; esac
trap 'sleep 0.2; echo ended >>%s/loads; exit' TERM
echo begun >>%s/loads
while [ -e %s ]; do sleep 0.01; done
]]):format(server.capture("pwd"), folder, folder, folder))
  end

  it("prints three snapshots without a terminal, exits 0, leaves no process, and takes the next free port", function()
    local holder = socket.bind("127.0.0.1", 11211) -- whoever holds the port, this test or another program
    write_load()
    local status, text, left = run_group("scripts/demo " .. folder)
    if holder then
      holder:close()
    end
    assert.equal(0, status, text)
    assert.is_nil(left)
    assert.truthy(text:find("port 11211 is taken, so slated listens on 112", 1, true), text)
    local port = assert(text:match("slated on 127%.0%.0%.1:(%d+)"), text)
    local _, snapshots = text:gsub("127%.0%.0%.1:" .. port, "")
    assert.is_true(snapshots >= 4, "one line tells the address, and each of three snapshots does: " .. text)
    assert.is_nil((socket.connect("127.0.0.1", tonumber(port))))
  end)

  it("ends its loads when it is interrupted, waits until they have ended, and leaves no process", function()
    write_load()
    local status, text, left = run_group(([[
      scripts/demo %s &
      demo=$!
      until [ "$(grep -c begun %s/loads 2>/dev/null)" = 2 ]; do sleep 0.05; done
      kill -TERM $demo
      wait $demo
      echo "demo $?; $(grep -c ended %s/loads) loads have ended"
    ]]):format(folder, folder, folder))
    assert.equal(0, status, text)
    assert.truthy(text:find("demo 130; 2 loads have ended", 1, true), text)
    assert.is_nil(left)
  end)

  it("says why slated does not start", function()
    os.remove(folder .. "/slated")
    write_program("slated", "echo no memory here >&2; exit 1\n")
    local status, text, left = run_group("scripts/demo " .. folder)
    assert.equal(1, status, text)
    assert.truthy(text:find("slated does not start: no memory here", 1, true), text)
    assert.is_nil(left)
  end)

  it("opens the console in a terminal, and q ends it all", function()
    if not run("command -v tmux") then
      pending("tmux is not installed")
    end
    write_load()
    local tmux = "SHELL=/bin/sh tmux -f /dev/null -S " .. folder .. "/tmux "
    finally(function() run(tmux .. "kill-server") end)
    -- The remaining processes of the terminal's session are listed while its shell, which would be their parent, is
    -- still there.
    assert.is_true(run(tmux .. ([[new-session -d -x 100 -y 30 'scripts/demo %s; echo status $? >%s/ended
      ps -e -o sid=,pid=,ppid=,stat=,args= | awk -v shell=$$ "
        \$1 == shell && \$2 != shell && \$3 != shell { print \"left \" \$0 }" >>%s/ended
      mv %s/ended %s/status']]):format(folder, folder, folder, folder, folder)))
    local deadline, screen = socket.gettime() + DEADLINE_S, nil
    local function wait_for(what)
      repeat
        socket.sleep(0.1)
        screen = select(2, run(tmux .. "capture-pane -p"))
      until what() or socket.gettime() > deadline
      local _, running = run("ps -e -o pid=,ppid=,stat=,wchan=,args= | grep -F -e " .. folder .. " -e build/bin/")
      assert.is_true(what(), screen .. "\nThese run:\n" .. running)
    end
    wait_for(function() return screen:match("^ *slatetop +127%.0%.0%.1:") ~= nil end)
    run(tmux .. "send-keys q")
    local status
    wait_for(function()
      status = server.read_file(folder .. "/status") or ""
      return status ~= ""
    end)
    assert.equal("status 0\n", status)
  end)
end)
