-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/run-tests counts right; above all, a broken suite never counts as a good one.

local server = require "support.server"

local run = server.said

describe("scripts/run-tests", function()
  local folder

  before_each(function()
    -- Suites are named from the project's folder, and so must lie in it.
    folder = select(2, run("mkdir -p build && mktemp -d build/suites.XXXXXX")):match("%S+")
  end)
  after_each(function() run("rm -rf " .. folder) end)

  local function suite(name, script)
    local path = folder .. "/" .. name
    server.write_file(path, script)
    run("chmod +x " .. path)
    return path
  end

  -- Runs a set of suites; its status, the last line and all lines.
  local function count(suites, options)
    local ok, text = run(("scripts/run-tests -o %s/logs %s %s"):format(folder, options or "",
      table.concat(suites, " ")))
    return ok, text:match("([^\n]*)\n$"), text
  end

  it("adds up the claims of several suites and lists skips with their reasons", function()
    local ok, last, text = count({
      suite("one", "#!/bin/sh\necho 1..2\necho ok 1 - a\necho ok 2 - b\n"),
      suite("two", "#!/bin/sh\necho ok 1 - c\necho 'ok 2 - # SKIP no such tool'\necho 1..2\n"),
      suite("three", "#!/bin/sh\necho '1..0 # SKIP not on this machine'\n"),
      suite("four_spec.lua", "it('holds', function() end)\nit('waits', function() pending('for a friend') end)\n"),
    })
    assert.is_true(ok, text)
    assert.equal("4 passed, 0 failed", last)
    for _, reason in ipairs({ "two: no such tool", "three: not on this machine", "2: for a friend", "3 skipped" }) do
      assert.truthy(text:find(reason, 1, true), text)
    end
  end)

  it("fails on each broken suite, and names the fault", function()
    local suites, broken = {}, {
      failed = { "echo '# SEED=77'; echo ok 1 - a; echo not ok 2 - b; echo '# why'; echo 1..2; exit 1", 1,
        "\n    # SEED=77\n    not ok 2 - b\n    # why\n" },
      crash = { "echo ok 1 - a; kill -SEGV $$", 1, "died of signal 11" },
      unmet = { "echo 1..3; echo ok 1 - a", 1, "planned 3 claims and made 1" },
      planless = { "echo ok 1 - a", 1, "planned no claims and made 1" },
      claimless = { "echo 1..0", 0, "claims nothing" },
      silent = { ":", 0, "planned no claims and made 0" },
      status = { "echo ok 1 - a; echo 1..1; exit 23", 1, "exit status 23" },
      unadmitted = { "echo not ok 1 - a; echo 1..1", 0, "not ok 1" },
      process = { "sleep 600 & echo ok 1 - a; echo 1..1", 1, "left processes behind" },
      daemon = { "setsid sleep 600 & echo ok 1 - a; echo 1..1", 1, "left processes behind" },
    }
    for name, case in pairs(broken) do
      suites[#suites + 1] = suite(name, "#!/bin/sh\n" .. case[1] .. "\n")
    end
    local ok, last, text = count(suites, "-j " .. #suites)
    assert.is_false(ok)
    assert.equal(("7 passed, %d failed"):format(#suites), last)
    for name, case in pairs(broken) do
      local told = assert(text:match("/" .. name .. " +[^\n]*\n[^/]*"), text)
      assert.truthy(told:find((" %d passed in +%%d+ s, 1 FAILED\n"):format(case[2])), told)
      assert.truthy(told:find(case[3], 1, true), told)
    end
    local bad, hardly = count({ suite("bad_spec.lua", "this is not Lua\n"), folder .. "/absent" })
    assert.is_false(bad)
    local hanging = select(3, count({ suite("hanging", "#!/bin/sh\nsleep 600\n") }, "-t 1"))
    assert.truthy(hanging:find("ran longer than 1 s\n", 1, true), hanging)
    assert.matches("^0 passed, [2-9]%d* failed$", hardly)
    assert.same({ false, "0 passed, 0 failed" }, { table.unpack({ count({}) }, 1, 2) })
  end)

  it("runs a suite once, though it fails", function()
    local ok, last = count({ suite("moody",
      ("#!/bin/sh\nif mkdir %s/ran; then echo not ok 1; exit 1; fi\necho ok 1\necho 1..1\n"):format(folder)) })
    assert.is_false(ok)
    assert.equal("0 passed, 2 failed", last)
  end)

  it("runs no more suites at a time than -j says, the longest of the last time first", function()
    local suites = {}
    for i = 1, 6 do
      suites[i] = suite("s" .. i, ([[#!/bin/sh
cd %s; echo %d >>order; touch now.%d; ls now.* | wc -l >>at-a-time; sleep 0.1; rm now.%d; echo ok 1; echo 1..1
]]):format(folder, i, i, i))
    end
    run("mkdir " .. folder .. "/logs")
    server.write_file(folder .. "/logs/times",
      ("700.5 300.0 %s\n900.0 400.1 %s\n300.0 1.0 gone\n"):format(suites[4], suites[2]))
    local ok, last, text = count({ table.unpack(suites, 2) }, "-j 1")
    assert.is_true(ok, text)
    assert.equal("5 passed, 0 failed", last)
    assert.equal("3\n5\n6\n2\n4\n", server.read_file(folder .. "/order"), "what is new comes before all")
    assert.truthy(text:find("\n0 skipped; 5 suites in %d+ s, of %d+ s one after the other, of %d+ s of processor"))
    suites[7] = suites[1] -- named twice, it runs once
    server.write_file(folder .. "/logs/times",
      (("300.0 300.0 %s\n"):rep(6) .. "300.0 1.0 gone\n"):format(table.unpack(suites)))
    assert.equal("6 passed, 0 failed", select(2, count(suites, "-j 2")))
    for running in io.lines(folder .. "/at-a-time") do
      assert.is_true(tonumber(running) <= 2, running)
    end
    local times, listed = server.read_file(folder .. "/logs/times"), {}
    for took, name in times:gmatch("(%d+%.%d) %d+%.%d (%S+)\n") do
      listed[#listed + 1] = name
      assert.is_true(name == "gone" or tonumber(took) < 300, "times are those of the last run: " .. times)
    end
    assert.equal(7, #listed, times)
    assert.equal("gone", listed[1], "what was not run keeps its time")
  end)

  it("runs suites beside others that waited the last time, as if each were half a suite", function()
    local suites, times = {}, {}
    for i = 1, 10 do -- each waits for its FIFO; the last that begins opens those of the others
      suites[i] = suite("s" .. i, ([[#!/bin/sh
cd %s; touch here.%d
if [ "$(ls here.* | wc -l)" = 10 ] && mkdir last; then rm go.%d; for go in go.*; do : >$go; done; else : <go.%d; fi
echo ok 1; echo 1..1
]]):format(folder, i, i, i))
      run(("mkfifo %s/go.%d"):format(folder, i))
      times[i] = ("9.0 0.1 %s\n"):format(suites[i])
    end
    run("mkdir " .. folder .. "/logs")
    server.write_file(folder .. "/logs/times", table.concat(times))
    local ok, last, text = count(suites, "-j 5 -t 120")
    assert.is_true(ok, text)
    assert.equal("10 passed, 0 failed", last)
  end)

  it("removes files that suites leave, terminals too", function()
    local left = suite("left", ([[#!/bin/sh
file=$(mktemp); mkdir -p "$XDG_STATE_HOME/slate" "$SLATE_LOCK_DIR/lock"
env SHELL=/bin/sh tmux -f /dev/null new-session -d 'exec sleep 3600' && tmux display -p '#{pid}' >%s/terminal
echo "$file" >%s/file
echo ok 1; echo 1..1
]]):format(folder, folder))
    local ok, _, text = count({ left })
    assert.is_true(ok, text)
    local _, kept = run(("dirname $(cat %s/file) | xargs ls -d 2>&1; "
      .. "ps -o stat=,args= $(cat %s/terminal) | grep -v ^Z"):format(folder, folder))
    assert.truthy(kept:find("^[^\n]*No such file or directory\n$"), kept)
  end)

  it("ends its suites and removes their files when interrupted", function()
    local long = suite("long", ([[#!/bin/sh
mktemp >%s/file
setsid sleep 3600 & : >%s/begun; sleep 3601
]]):format(folder, folder))
    local _, text = run(([[
      mkfifo %s/begun
      scripts/run-tests -o %s/logs %s &
      tests=$!
      : <%s/begun
      kill -TERM $tests
      wait $tests
      echo status $?
      dirname $(cat %s/file) | xargs ls -d 2>&1
      ps -e -o stat=,args= | grep '^[^Z].*sleep 360[01]']]):format(folder, folder, long, folder, folder))
    assert.truthy(text:find("^status 130\n[^\n]*No such file or directory\n$"), text)
  end)

  it("runs a spec that requires the world with the world's interpreter", function()
    local path = suite("in_spec.lua",
      ('-- require "support.%s"\nit("is", function() assert.equal("build/world/lua", arg[-1]) end)'):format("world"))
    local ok, _, text = count({ path })
    assert.equal(server.read_file("build/world/lua") ~= nil, ok, text)
  end)
end)
