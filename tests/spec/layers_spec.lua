-- SPDX-License-Identifier: BSD-3-Clause
-- The layer check passes on the present tree, and fails on each kind of breach.

local lfs = require("lfs")

local LAYERS = "base  # below all\nmem base\ncache base mem # on top\n"

local server = require "support.server"

local run = server.said

describe("scripts/check-layers", function()
  local folder

  local function write(path, text)
    local room = path:match("^(.*)/")
    if room then
      lfs.mkdir(folder .. "/" .. room)
    end
    server.write_file(folder .. "/" .. path, text)
  end

  before_each(function()
    folder = server.folder()
    write("LAYERS", LAYERS)
    write("base/lock.h", "#include <stdint.h>\n")
    write("mem/slab.c", '#include "mem/slab.h"\n#include "base/lock.h"\n')
    write("main.c", '#include "cache/cache.h"\n#include "base/lock.h"\n')
  end)

  after_each(function() run("rm -rf " .. folder) end)

  local function check() return run("scripts/check-layers " .. folder) end

  it("passes on this project", function()
    local ok, text = run("scripts/check-layers")
    assert.is_true(ok, text)
  end)

  it("fails on a room that a file in Lua may not require", function()
    write("mem/slab.lua", 'local clock = require "slate.base.clock"\n')
    assert.is_true((check()))
    write("mem/slab.lua", 'local view = require("slate.cache.view").rows\n')
    local ok, text = check()
    assert.is_false(ok)
    assert.truthy(text:find("mem/slab.lua: mem may not see cache (cache/view)", 1, true), text)
    write("mem/slab.lua", "")
    write("other/x.lua", "")
    assert.is_false((check()))
  end)

  it("fails on modules in Lua that require each other, also within a function", function()
    write("mem/slab.lua", 'local page = require "slate.mem.page"\n')
    write("mem/page.lua", 'local function slab() return require("slate.mem.slab") end\n')
    local ok, text = check()
    assert.is_false(ok)
    assert.truthy(text:find("modules require each other: ", 1, true) and text:find("mem.page", 1, true), text)
  end)

  it("passes where the files of a folder within see only those above, whatever they include of others", function()
    write("cache/LAYERS", "link\nread link\n")
    write("cache/cache.h", '#include "base/lock.h"\n')
    write("cache/link.h", '#include "cache/cache.h"\n#include "mem/slab.h"\n')
    write("cache/read.c", '#include "cache/read.h"\n#include "cache/link.h"\n')
    local ok, text = run(("scripts/check-layers %s %s/cache"):format(folder, folder))
    assert.is_true(ok, text)
    write("cache/link.c", '#include "cache/read.h"\n')
    ok, text = run(("scripts/check-layers %s %s/cache"):format(folder, folder))
    assert.is_false(ok)
    assert.matches("link may not see read", text, 1, true)
  end)

  local breaches = {
    ["an include of a room that is not allowed"] = { "base/lock.c", '#include "mem/slab.h"\n', "base may not see mem" },
    ["the same with spaces about it"] = { "base/spin.c", ' #  include  "mem/slab.h"\n', "base may not see mem" },
    ["a relative include"] = { "base/lock.c", '#include "../mem/slab.h"\n', "relative path" },
    ["an include that names no room"] = { "mem/item.c", '#include "slab.h"\n', "in no room" },
    ["a room that LAYERS does not name"] = { "net/conn.c", "int conn;\n", "room net is not in" },
    ["a file in no room"] = { "stray.c", "int stray;\n", "room stray is not in" },
    ["a graph that runs upwards"] = { "LAYERS", "base mem\nmem base\n", "does not stand above" },
  }
  it("passes the whole tree, and fails on each breach", function()
    assert.same({ true, "" }, { check() })
    for what, breach in pairs(breaches) do
      local before = server.read_file(folder .. "/" .. breach[1])
      write(breach[1], breach[2])
      local ok, text = check()
      assert.is_false(ok, what)
      assert.truthy(text:find(breach[3], 1, true), text)
      os.remove(folder .. "/" .. breach[1])
      if before then
        write(breach[1], before)
      end
    end
  end)
end)
