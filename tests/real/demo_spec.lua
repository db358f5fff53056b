-- SPDX-License-Identifier: BSD-3-Clause
-- `make run` as a person meets it: without a terminal, in a terminal, with its port taken, and interrupted.

local socket = require("socket")

local DEADLINE_S = 200 -- only a hang takes that long

local function run(command)
  local pipe = assert(io.popen(command, "r"))
  local text = pipe:read("a")
  local ok = pipe:close()
  return ok == true, text
end

local function built()
  for _, program in ipairs({ "slated", "slatetop", "slate-load" }) do
    local file = io.open("build/bin/" .. program, "rb")
    if not file then
      return false
    end
    file:close()
  end
  return true
end

-- Runs a script in a process group of its own; returns its status, its output and what is left of the group: processes
-- that run on, and those that ended and were never waited for.
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
  before_each(function()
    assert.is_true(built(), "build/bin is incomplete")
  end)

  it("prints three snapshots without a terminal, exits 0 and leaves no process", function()
    local status, text, left = run_group("scripts/demo build/bin")
    assert.equal(0, status, text)
    assert.is_nil(left)
    local port = text:match("slated on 127%.0%.0%.1:(%d+)")
    assert.truthy(port, text)
    local _, snapshots = text:gsub("127%.0%.0%.1:" .. port, "")
    assert.is_true(snapshots >= 4, "one line tells the address, and each of three snapshots does: " .. text)
    assert.is_nil((socket.connect("127.0.0.1", tonumber(port))))
  end)

  it("takes the next free port and says so where the first is taken", function()
    -- Whoever has the port, this test or another program: it is taken.
    local holder = socket.bind("127.0.0.1", 11211)
    local status, text = run_group("scripts/demo build/bin")
    if holder then
      holder:close()
    end
    assert.equal(0, status, text)
    assert.truthy(text:find("port 11211 is taken, so slated listens on 112", 1, true), text)
  end)

  it("leaves no process when it is interrupted", function()
    local _, folder = run("mktemp -d")
    folder = folder:match("%S+")
    finally(function() run("rm -rf " .. folder) end)
    local status, text, left = run_group(([[
      scripts/demo build/bin >%s/said &
      demo=$!
      until grep -q "slated on" %s/said; do sleep 0.05; done
      kill -TERM $demo
      wait $demo
      echo "demo $?"
    ]]):format(folder, folder))
    assert.equal(0, status, text)
    assert.truthy(text:find("demo 130", 1, true), text)
    assert.is_nil(left)
  end)

  it("ends its loads and waits until they have ended, also when they take their time", function()
    local _, folder = run("mktemp -d")
    folder = folder:match("%S+")
    finally(function() run("rm -rf " .. folder) end)
    run(("ln -s $PWD/build/bin/slated $PWD/build/bin/slatetop %s"):format(folder))
    local load = assert(io.open(folder .. "/slate-load", "w"))
    load:write(([[#!/bin/sh
case $* in *--duration*) ;; *) exit 0 ;; esac # it fills the server and ends
trap 'sleep 0.5; echo ended >>%s/loads; exit' TERM
echo begun >>%s/loads
while [ -e %s ]; do sleep 0.01; done
]]):format(folder, folder, folder))
    load:close()
    run(("chmod +x %s/slate-load"):format(folder))
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
    local _, folder = run("mktemp -d")
    folder = folder:match("%S+")
    finally(function() run("rm -rf " .. folder) end)
    local program = folder .. "/slated"
    run(("printf '#!/bin/sh\\necho no memory here >&2; exit 1\\n' >%s; chmod +x %s"):format(program, program))
    local status, text, left = run_group("scripts/demo " .. folder)
    assert.equal(1, status, text)
    assert.truthy(text:find("slated does not start: no memory here", 1, true), text)
    assert.is_nil(left)
  end)

  it("opens the console in a terminal, and q ends it all", function()
    if not run("command -v tmux") then
      pending("tmux is not installed")
    end
    local _, folder = run("mktemp -d")
    folder = folder:match("%S+")
    local tmux = "SHELL=/bin/sh tmux -f /dev/null -S " .. folder .. "/tmux "
    finally(function()
      run(tmux .. "kill-server 2>/dev/null")
      run("rm -rf " .. folder)
    end)
    -- What is left of the terminal's session is listed while its shell, which would be their parent, is still there.
    assert.is_true(run(tmux .. ([[new-session -d -x 100 -y 30 'scripts/demo build/bin; echo status $? >%s/ended
      ps -e -o sid=,pid=,ppid=,stat=,args= | awk -v shell=$$ "
        \$1 == shell && \$2 != shell && \$3 != shell { print \"left \" \$0 }" >>%s/ended
      mv %s/ended %s/status']]):format(folder, folder, folder, folder)))
    local deadline, screen = socket.gettime() + DEADLINE_S, nil
    local function wait_for(what)
      repeat
        socket.sleep(0.1)
        _, screen = run(tmux .. "capture-pane -p 2>/dev/null")
      until what() or socket.gettime() > deadline
      local _, running = run("ps -e -o pid=,ppid=,stat=,wchan=,args= | grep -F -e " .. folder .. " -e build/bin/")
      assert.is_true(what(), screen .. "\nThese run:\n" .. running)
    end
    wait_for(function() return screen:match("^ *slatetop +127%.0%.0%.1:") ~= nil end)
    run(tmux .. "send-keys q")
    local status
    wait_for(function()
      local file = io.open(folder .. "/status")
      status = file and file:read("a") or ""
      if file then
        file:close()
      end
      return status ~= ""
    end)
    assert.equal("status 0\n", status)
  end)
end)
