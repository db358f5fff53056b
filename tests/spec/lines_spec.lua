-- SPDX-License-Identifier: BSD-3-Clause
-- The budget of lines passes on the tree as it is, counts what a person has to read, and fails one line above a bound.

package.path = "tests/spec/?.lua;" .. package.path
local server = require "support.server"

local run = server.said

describe("scripts/check-lines", function()
  local folder

  before_each(function()
    folder = server.folder()
    assert(run(("cd %s && git init -q && mkdir scripts"):format(folder)))
  end)

  after_each(function()
    run("rm -rf " .. folder)
  end)

  local function write(name, first, lines)
    local file = assert(io.open(folder .. "/scripts/" .. name, "w"))
    file:write(first, "\n", ("x\n"):rep(lines - 1))
    file:close()
  end

  it("passes on this project, and tells the lines and the bound of each folder", function()
    local ok, text = run("scripts/check-lines")
    assert.is_true(ok, text)
    for _, name in ipairs({ "daemon", "console", "lua", "scripts", "tests" }) do
      assert.truthy(text:find(name .. " has %d+ lines of at most %d+\n"), name)
    end
  end)

  it("passes at a folder's bound and fails one line above it", function()
    local _, text = run("scripts/check-lines " .. folder)
    local bound = tonumber(text:match("scripts has 0 lines of at most (%d+)\n"))
    write("a.c", "", bound)
    assert.is_true((run("scripts/check-lines " .. folder)))
    write("b", "#!/bin/sh", 1)
    local ok, told = run("scripts/check-lines " .. folder)
    assert.is_false(ok)
    assert.truthy(told:find(("scripts has %d lines of at most %d: too many\n"):format(bound + 1, bound), 1, true), told)
  end)

  it("counts C, Lua and shell, and neither links nor texts", function()
    write("a.c", "", 1)
    write("b.h", "", 10)
    write("c.lua", "", 100)
    write("d", "#!/usr/bin/env lua5.4", 1000)
    write("e.md", "", 7)
    write("f", "a text", 7)
    assert(run(("ln -s a.c %s/scripts/g.c"):format(folder)))
    local _, text = run("scripts/check-lines " .. folder)
    assert.truthy(text:find("scripts has 1111 lines", 1, true), text)
  end)
end)
