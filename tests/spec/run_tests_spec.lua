-- SPDX-License-Identifier: BSD-3-Clause
-- The counter of tests counts right: above all, it does not take a broken suite for a good one.

package.path = "tests/spec/?.lua;" .. package.path
local server = require "support.server"

local run = server.said

describe("scripts/run-tests", function()
  local folder

  local function make_folder()
    -- Suites are named from the project's folder, and so must lie in it.
    os.execute("mkdir -p build")
    local _, name = run("mktemp -d build/suites.XXXXXX")
    return name:match("%S+")
  end

  before_each(function() folder = make_folder() end)

  after_each(function()
    run("rm -rf " .. folder)
  end)

  local function suite(name, script)
    local path = folder .. "/" .. name
    server.write_file(path, script)
    run("chmod +x " .. path)
    return path
  end

  -- Runs a set of suites; what is returned waits for their end, and gives the status, the last line and all lines.
  local function begin(suites, options)
    local command = ("scripts/run-tests -o %s/logs %s %s 2>&1"):format(folder, options or "", table.concat(suites, " "))
    local pipe = assert(io.popen(command, "r"))
    return function()
      local text = pipe:read("a")
      return pipe:close() == true, text:match("([^\n]*)\n$"), text
    end
  end

  local function count(suites, options)
    return begin(suites, options)()
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
    for _, reason in ipairs({ "no such tool", "not on this machine", "for a friend", "3 skipped" }) do
      assert.truthy(text:find(reason, 1, true), text)
    end
  end)

  local broken = {
    ["a failed claim"] = { "echo ok 1 - a; echo not ok 2 - b; echo 1..2; exit 1", 1, 1, "not ok 2 - b" },
    ["a crash"] = { "echo ok 1 - a; kill -SEGV $$", 1, 1, "died of signal 11" },
    ["a plan that is not met"] = { "echo 1..3; echo ok 1 - a", 1, 1, "planned 3 claims and made 1" },
    ["a missing plan"] = { "echo ok 1 - a", 1, 1, "ended before its plan" },
    ["no claim at all"] = { "echo 1..0", 0, 1, "claims nothing" },
    ["silence"] = { ":", 0, 1, "ended before its plan" },
    ["an exit status that the claims do not explain"] = { "echo ok 1 - a; echo 1..1; exit 23", 1, 1, "exit status 23" },
    ["a failed claim with exit status 0"] = { "echo not ok 1 - a; echo 1..1", 0, 2, "in spite of failures" },
    ["a process left behind"] = { "sleep 600 & echo ok 1 - a; echo 1..1", 1, 1, "left processes behind" },
    ["a suite that hangs"] = { "echo ok 1 - a; sleep 60", 1, 1, "ran longer than 3 s", "-t 3" },
  }
  -- Some take seconds to fail: all run at the same time.
  describe("fails on", function()
    local ended, place = {}, nil
    local CARELESS <const> = "a program of ours that does not wait for its child, and on no other"

    setup(function()
      place = make_folder()
      folder = place
      for what, case in pairs(broken) do
        local name = what:gsub(" ", "-")
        ended[what] = begin({ suite(name, "#!/bin/sh\n" .. case[1] .. "\n") }, case[5])
      end
      -- What a program is called is the name of its file. Each leaves a child alone until the first was seen to.
      local script = "#!/usr/bin/perl\nfork or exit;\nsleep 600;\n"
      suite("slated", script)
      suite("another", script)
      local run_it = "#!/bin/sh\n%s/%s & pid=$!\nuntil %s; do sleep 0.1; done\n: >%s/seen\nkill $pid\nwait $pid\n"
        .. "echo ok 1 - a; echo 1..1\n"
      local is_seen = 'grep -q "^$PPID " "$TMPDIR/../zombies" 2>/dev/null' -- of the group that timeout makes
      ended[CARELESS] = begin({ suite("careless", run_it:format(place, "slated", is_seen, place)),
        suite("other", run_it:format(place, "another", "[ -e " .. place .. "/seen ]", place)) }, "-z 1")
    end)
    teardown(function()
      for _, wait in pairs(ended) do
        pcall(wait) -- those whose claim did not come to it
      end
      run("rm -rf " .. place)
    end)

    it(CARELESS, function()
      local ok, last, text = ended[CARELESS]()
      assert.is_false(ok)
      assert.equal("2 passed, 1 failed", last)
      assert.truthy(text:find("\n    slated did not wait for its child slated\n", 1, true), text)
    end)

    for what, case in pairs(broken) do
      it(what, function()
        local ok, last, text = ended[what]()
        assert.is_false(ok)
        assert.equal(("%d passed, %d failed"):format(case[2], case[3]), last)
        assert.truthy(text:find(case[4], 1, true), text)
      end)
    end
  end)

  -- A suite whose first run is one script and whose second is another.
  local function moody(name, first, second)
    return suite(name, ("#!/bin/sh\nif mkdir %s/%s.ran 2>/dev/null; then\n%s\nelse\n%s\nfi\n")
      :format(folder, name, first, second))
  end
  local FAILS_B <const> = "echo ok 1 - a; echo not ok 2 - b; echo 1..2; exit 1"
  local FAILS_A <const> = "echo not ok 1 - a; echo ok 2 - b; echo 1..2; exit 1"
  local HOLDS <const> = "echo ok 1 - a; echo ok 2 - b; echo 1..2"

  it("runs a suite that failed once more where it is asked to, and names each claim that then holds", function()
    local one, two = moody("one", FAILS_B, HOLDS), moody("two", "kill -SEGV $$", HOLDS)
    local ok, last, text = count({ one, two, suite("three", "#!/bin/sh\n" .. HOLDS) }, "-r")
    assert.is_true(ok, text)
    assert.equal("6 passed, 0 failed", last)
    local flaky = ("\nflaky: %s: b\nflaky: %s: died of signal 11 after 0 claims\n6 passed"):format(one, two)
    assert.truthy(text:find(flaky, 1, true), text)
    local _, runs = text:gsub("once more, alone:", "")
    assert.equal(2, runs)
  end)

  it("fails on a suite that fails twice, and on one that fails once where it runs once", function()
    local ok, last, text = count({ moody("one", FAILS_B, FAILS_B) }, "-r")
    assert.is_false(ok)
    assert.equal("1 passed, 1 failed", last)
    assert.is_nil(text:find("flaky:", 1, true), text)
    local two = moody("two", FAILS_B, FAILS_A)
    ok, last, text = count({ two }, "-r")
    assert.is_false(ok)
    assert.equal("1 passed, 1 failed", last)
    assert.truthy(text:find("flaky: " .. two .. ": b\n", 1, true), text)
    ok, last, text = count({ moody("three", FAILS_B, HOLDS) })
    assert.is_false(ok)
    assert.equal("1 passed, 1 failed", last)
    assert.is_nil(text:find("flaky:", 1, true), text)
  end)

  it("repeats a suite with its seed, when all others have ended", function()
    local slow = suite("slow", ("#!/bin/sh\nmkdir %s/busy; sleep 0.3; rmdir %s/busy; echo ok 1; echo 1..1\n")
      :format(folder, folder))
    local random = moody("random",
      ("until [ -e %s/busy ]; do sleep 0.01; done; echo '# SEED=77'; %s"):format(folder, FAILS_B),
      ("[ -e %s/busy ] || [ \"$SEED\" != 77 ] && exit 3; %s"):format(folder, HOLDS))
    local ok, last, text = count({ random, slow }, "-r")
    assert.is_true(ok, text)
    assert.equal("3 passed, 0 failed", last)
    local several = moody("several", "echo '# SEED=77'; echo '# SEED=42'; " .. FAILS_B,
      '[ -z "$SEED" ] || exit 3; ' .. HOLDS)
    ok, last, text = count({ several }, "-r")
    assert.is_true(ok, text)
    assert.equal("2 passed, 0 failed", last)
  end)

  it("runs no more suites at a time than it is told to, and lists the slowest and the busiest of many", function()
    local suites = {}
    for i = 1, 12 do
      suites[i] = suite("s" .. i, ("#!/bin/sh\ntouch %s/now.%d; ls %s/now.* | wc -l >>%s/at-a-time; sleep 0.1\n"
        .. "rm %s/now.%d; echo ok 1; echo 1..1\n"):format(folder, i, folder, folder, folder, i))
    end
    local ok, last, text = count(suites, "-j 2")
    assert.is_true(ok, text)
    assert.equal("12 passed, 0 failed", last)
    local most = 0
    for running in io.lines(folder .. "/at-a-time") do
      most = math.max(most, tonumber(running))
    end
    assert.is_true(most <= 2, most)
    local slowest, busiest = text:match("\nthe slowest, in seconds, and of processor time:\n(.*)"
      .. "those of most processor time, the same:\n(.*)12 suites in ")
    for list, column in pairs({ [slowest] = 1, [busiest] = 2 }) do
      local before, rows = math.huge, 0
      for took, processor, name in list:gmatch(" +([%d.]+) +([%d.]+)  (%S+)\n") do
        assert.truthy(("\n" .. text):find("\n" .. name .. " ", 1, true), name)
        local figure = tonumber(({ took, processor })[column])
        assert.is_true(figure <= before, list)
        before, rows = figure, rows + 1
      end
      assert.equal(10, rows, list)
    end
    local times, listed = io.open(folder .. "/logs/times"):read("a"), 0
    for name in times:gmatch("%d+%.%d +%d+%.%d  (%S+)\n") do
      listed = listed + (name:find(folder, 1, true) and 1 or 0)
    end
    assert.equal(12, listed, times)
    assert.truthy(text:find("\n12 suites in %d+ s, of %d+ s one after the other, of %d+ s of processor time; "
      .. "processors were idle for %d+ %%\n12 passed"), text)
  end)

  it("removes what suites leave, terminals too", function()
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

  it("ends its suites and removes what they leave when it is interrupted", function()
    local long = suite("long", ([[#!/bin/sh
mktemp >%s/file.new; mv %s/file.new %s/file
sleep 3600 & sleep 3601
]]):format(folder, folder, folder))
    local _, text = run(([[
      scripts/run-tests -o %s/logs %s &
      tests=$!
      until [ -s %s/file ]; do sleep 0.02; done
      kill -TERM $tests
      wait $tests
      echo status $?
      dirname $(cat %s/file) | xargs ls -d 2>&1
      ps -e -o stat=,args= | grep '^[^Z].*sleep 360[01]']]):format(folder, long, folder, folder))
    assert.truthy(text:find("^status 130\n[^\n]*No such file or directory\n$"), text)
  end)

  it("fails on a spec that does not load", function()
    local ok, last = count({ suite("bad_spec.lua", "this is not Lua\n") })
    assert.is_false(ok)
    assert.truthy(last:match("^0 passed, [1-9]%d* failed$"), last)
  end)

  it("fails on a suite that is not there, and on no suite", function()
    local ok, last = count({ folder .. "/absent" })
    assert.is_false(ok)
    assert.equal("0 passed, 1 failed", last)
    ok, last = count({})
    assert.is_false(ok)
    assert.equal("0 passed, 0 failed", last)
  end)
end)
