-- SPDX-License-Identifier: BSD-3-Clause
-- The counter of tests counts right: above all, it does not take a broken suite for a good one.

local function run(command)
  local pipe = assert(io.popen(command .. " 2>&1", "r"))
  local text = pipe:read("a")
  local ok = pipe:close()
  return ok == true, text
end

describe("scripts/run-tests", function()
  local folder

  before_each(function()
    -- Suites are named from the project's folder, and so must lie in it.
    os.execute("mkdir -p build")
    local _, name = run("mktemp -d build/suites.XXXXXX")
    folder = name:match("%S+")
  end)

  after_each(function()
    run("rm -rf " .. folder)
  end)

  local function suite(name, script)
    local path = folder .. "/" .. name
    local file = assert(io.open(path, "w"))
    file:write(script)
    file:close()
    run("chmod +x " .. path)
    return path
  end

  -- The status and the last line for a set of suites.
  local function count(suites, options)
    local command = ("scripts/run-tests -o %s/logs %s %s"):format(folder, options or "", table.concat(suites, " "))
    local ok, text = run(command)
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
    ["a process left behind"] = { "sleep 60 & echo ok 1 - a; echo 1..1", 1, 1, "left processes behind" },
    ["a suite that hangs"] = { "echo ok 1 - a; sleep 60", 1, 1, "ran longer than 3 s", "-t 3" },
  }
  for what, case in pairs(broken) do
    it("fails on " .. what, function()
      local ok, last, text = count({ suite("broken", "#!/bin/sh\n" .. case[1] .. "\n") }, case[5])
      assert.is_false(ok)
      assert.equal(("%d passed, %d failed"):format(case[2], case[3]), last)
      assert.truthy(text:find(case[4], 1, true), text)
    end)
  end

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
