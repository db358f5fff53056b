-- SPDX-License-Identifier: BSD-3-Clause
-- The two budgets of make lint: that of lines fails one line above a bound; that of sleeps fails when a test has one
-- more than is listed, or fewer.

local server = require "support.server"

local run = server.said

describe("scripts/check-lines", function()
  local folder

  before_each(function()
    folder = server.folder()
    assert(run(("cd %s && git init -q && mkdir scripts"):format(folder)))
  end)

  after_each(function() run("rm -rf " .. folder) end)

  local function write(name, first, lines)
    server.write_file(folder .. "/scripts/" .. name, first .. "\n" .. ("x\n"):rep(lines - 1))
  end

  it("passes at a folder's bound and fails one line above it", function()
    local _, text = run("scripts/check-lines " .. folder)
    local bound = tonumber(text:match("scripts has 0 lines of at most (%d+)\n"))
    write("a.c", "", bound)
    write("texts-and-links.md", "", 7)
    assert(run(("ln -s a.c %s/scripts/g.c"):format(folder)))
    assert.is_true((run("scripts/check-lines " .. folder)))
    write("b", "#!/bin/sh", 1)
    local ok, told = run("scripts/check-lines " .. folder)
    assert.is_false(ok)
    assert.truthy(told:find(("scripts has %d lines of at most %d: too many\n"):format(bound + 1, bound), 1, true), told)
  end)
end)

describe("scripts/check-sleeps", function()
  local folder

  before_each(function()
    folder = server.folder()
    assert(run(("cd %s && git init -q && mkdir -p tests/real && : >tests/sleeps"):format(folder)))
  end)

  after_each(function() run("rm -rf " .. folder) end)

  -- A file of the checkout. This spec would be found itself if it held the words.
  local function write(name, text)
    text = text:gsub("nil, ~", "nil, nil, 1"):gsub("~", "sleep"):gsub("@", "wait")
    server.write_file(folder .. "/tests/" .. name, text .. "\n")
  end

  local function check(option) return run(("scripts/check-sleeps %s %s"):format(option or "", folder)) end

  for what, lines in pairs({
    ["C"] = { "    u~(1000);", "    nano~(&t, NULL);", "~ (1);" },
    ["Lua"] = { "socket.~(0.1)", 'require("slate.base.clock").~(0)', 'patience.@_for("it", f)', "tui.@_until(f)",
      "socket.select(nil, ~)" },
    ["shells and their lines in strings"] = { "~ 1", "while x; do ~ 0.1; done", 'run("~ %d & wait")', "(exec ~ 600)" },
  }) do
    it("finds what sleeps and what waits in " .. what, function()
      for _, line in ipairs(lines) do
        write("a.lua", "x\n" .. line)
        local ok, text = check()
        assert.is_false(ok, line)
        assert.equal("tests/a.lua sleeps or waits in 1 lines, of at most 0\n", text)
      end
    end)
  end

  it("finds nothing in words, in a sleep that the test itself provides, in tests/real and in transcripts", function()
    for _, line in ipairs({ "-- it ~s", "function clock.~(s) end", "lru_crawler ~ 100", "__wrap_u~(1)" }) do
      write("a.lua", line)
      assert.is_true((check()), line)
    end
    write("real/a.lua", "clock.~(1)")
    write("a.txt", "~ 1")
    assert.is_true((check()))
  end)

  it("fails on fewer than are listed too, and -w lowers the list and never raises a number", function()
    write("fewer.lua", "clock.~(1)")
    write("more.lua", ("clock.~(1)\n"):rep(3))
    write("sleeps", "tests/fewer.lua 2\ntests/gone.lua 1\ntests/more.lua 3")
    local ok, text = check()
    assert.is_false(ok)
    assert.truthy(text:find("tests/fewer.lua does so in fewer lines than listed", 1, true), text)
    assert.truthy(text:find("tests/gone.lua does so in fewer lines than listed", 1, true), text)
    write("more.lua", ("clock.~(1)\n"):rep(4))
    assert.is_false((check("-w")))
    assert.equal("tests/fewer.lua 1\ntests/more.lua 3\n", server.read_file(folder .. "/tests/sleeps"))
  end)
end)

describe("scripts/check-subjects", function()
  it("passes `room: what changes`, and fails a commit without a room, and one of 73 characters", function()
    local folder = server.folder()
    local function commit(subject) return (("git commit -q --allow-empty -m '%s'"):format(subject)) end
    assert(run(("cd %s && mkdir scripts && cp %s/scripts/check-subjects scripts && git init -q -b main && "
      .. "git config user.name a && git config user.email a@b && %s && git checkout -q -b work && %s"):format(folder,
      server.quoted(require("lfs").currentdir()), commit("Anything"), commit("cache, tests: a store counts once"))))
    local check = folder .. "/scripts/check-subjects"
    assert.same({ true, "" }, { run(check) })
    for _, subject in ipairs({ "A store counts once", "cache: " .. ("x"):rep(66) }) do
      assert(run(("cd %s && %s"):format(folder, commit(subject))))
      local ok, said = run(check)
      assert.is_false(ok)
      assert.equal(subject .. "\n", said)
      assert(run(("cd %s && git reset -q --hard HEAD^"):format(folder)))
    end
    run("rm -rf " .. folder)
  end)
end)
