-- SPDX-License-Identifier: BSD-3-Clause
-- The check of the modules that programs have built in passes on the tree as it is, and fails on each kind of breach.

local lfs = require("lfs")

local MAKEFILE = [[
POLICY_LUA  := base/core
BRAIN_LUA   := base/core \
               judge/page
BRAIN_GIVEN := base/places
BRAIN_UNCALLED := base/clock
]]

package.path = "tests/spec/?.lua;" .. package.path
local server = require "support.server"

local run = server.said

describe("scripts/check-modules", function()
  local folder

  local function write(path, text)
    for at in path:gmatch("()/") do
      lfs.mkdir(folder .. "/" .. path:sub(1, at - 1))
    end
    server.write_file(folder .. "/" .. path, text)
  end

  before_each(function()
    folder = server.folder()
    write("Makefile", MAKEFILE)
    write("daemon/tune/policies/box.c", 'lua_getfield(L, 1, "slate.base.core");\n')
    write("console/brain/brain.c", 'push(L, "slate.judge.page"); strcmp(name, "slate.base.places");\n')
    write("lua/slate/base/core.lua", "return {}\n")
    write("lua/slate/judge/page.lua", 'local core = require "slate.base.core"\nlocal function now()\n'
      .. '  return require("slate.base.clock").time_s()\nend\n')
  end)

  after_each(function()
    run("rm -rf " .. folder)
  end)

  it("passes on this project", function()
    assert.same({ true, "" }, { run("scripts/check-modules") })
  end)

  it("passes where every module that is required is listed, given, or uncalled", function()
    assert.same({ true, "" }, { run("scripts/check-modules " .. folder) })
  end)

  local page = 'local core = require "slate.base.core"\n'
  local breaches = {
    ["a module that a listed one loads"] = { "lua/slate/judge/page.lua",
      page .. 'local waste = require("slate.facts.waste").total\n',
      "BRAIN_LUA: judge/page requires facts/waste, which is not in the list" },
    ["a module that a function requires"] = { "lua/slate/judge/page.lua",
      page .. 'local function f()\n  return require "slate.facts.moves"\nend\n', "judge/page requires facts/moves" },
    ["the second of two in a line"] = { "lua/slate/judge/page.lua",
      page .. 'local a, b = require "slate.base.core", require "slate.facts.moves"\n',
      "judge/page requires facts/moves" },
    ["a module that is loaded, and said to be uncalled"] = { "lua/slate/judge/page.lua",
      page .. 'local clock = require "slate.base.clock"\n', "judge/page requires base/clock" },
    ["a module that C names"] = { "console/views/why.c", '{.module = "slate.judge.why"}\n',
      "BRAIN_LUA: console/views/why.c requires judge/why" },
    ["a listed module that nothing requires"] = { "console/brain/brain.c", "",
      "BRAIN_LUA: judge/page is in the list, and nothing requires it" },
    ["an uncalled module that nothing requires"] = { "lua/slate/judge/page.lua",
      page, "base/clock is in BRAIN_UNCALLED, and nothing requires it" },
    ["a list that is not there"] = { "Makefile", "POLICY_LUA := base/core\n", "BRAIN_LUA lists no module" },
  }
  for what, breach in pairs(breaches) do
    it("fails on " .. what, function()
      write(breach[1], breach[2])
      local ok, text = run("scripts/check-modules " .. folder)
      assert.is_false(ok)
      assert.truthy(text:find(breach[3], 1, true), text)
    end)
  end

  it("takes no notice of what a comment says", function()
    write("lua/slate/base/core.lua", '--     local moves = require "slate.facts.moves"\nreturn {}\n')
    assert.same({ true, "" }, { run("scripts/check-modules " .. folder) })
  end)
end)
