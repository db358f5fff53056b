-- SPDX-License-Identifier: BSD-3-Clause
-- `make install` puts a working Slate somewhere, and `make uninstall` takes away exactly that.

local function run(command)
  local pipe = assert(io.popen(command .. " 2>&1", "r"))
  local text = pipe:read("a")
  local ok = pipe:close()
  return ok == true, text
end

describe("make install", function()
  local root

  before_each(function()
    local _, name = run("mktemp -d")
    root = name:match("%S+")
  end)

  after_each(function()
    run("rm -rf " .. root)
  end)

  -- The outer make's flags are no concern of this one.
  local function make(words)
    local ok, text = run("env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s " .. words)
    assert.is_true(ok, text)
  end

  local function files()
    local _, text = run(("cd %s && find . -type f | sort"):format(root))
    return text
  end

  it("installs programs that run from there", function()
    make("install PREFIX=" .. root)
    for _, command in ipairs({ "slated -V", "slatetop --version", "slatectl --help", "slate-load --version" }) do
      local ok, text = run(("cd / && %s/bin/%s"):format(root, command))
      assert.is_true(ok, command .. ": " .. text)
    end
    local terms = ('package.path = "%s/share/lua/5.4/?.lua" print(#require("slate.facts.explain").list() > 80)')
        :format(root)
    assert.same({ true, "true\n" }, { run(("cd / && lua5.4 -e '%s'"):format(terms)) })
  end)

  it("puts everything under DESTDIR and names PREFIX alone inside", function()
    make("install DESTDIR=" .. root .. " PREFIX=/opt/slate")
    assert.truthy(files():find("./opt/slate/bin/slated", 1, true))
    local _, text = run("grep -rl " .. root .. " " .. root .. "/opt/slate/bin/slatectl")
    assert.equal("", text)
    assert.is_true(run("grep -q /opt/slate/share/lua/5.4 " .. root .. "/opt/slate/bin/slatectl"))
  end)

  it("is undone by make uninstall, which touches nothing else", function()
    local slate = root .. "/share/lua/5.4/slate"
    run(("mkdir -p %s/bin %s && echo mine | tee %s/bin/other %s/mine.lua"):format(root, slate, root, slate))
    local before = files()
    make("install PREFIX=" .. root)
    assert.are_not.equal(before, files())
    make("uninstall PREFIX=" .. root)
    assert.equal(before, files())
  end)
end)

describe("make without what Slate is built with", function()
  it("says what is missing and how to get it before a compiler fails", function()
    local _, folder = run("mktemp -d")
    folder = folder:match("%S+")
    finally(function() run("rm -rf " .. folder) end)
    local ok, text = run(("env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make B=%s/build CC=%s/none"):format(folder, folder))
    assert.is_false(ok)
    assert.is_nil(text:find("none:", 1, true), text)
    assert.truthy(text:find("scripts/bootstrap run installs them", 1, true), text)
  end)
end)
