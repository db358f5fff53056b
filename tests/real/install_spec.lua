-- SPDX-License-Identifier: BSD-3-Clause
-- `make install` puts a working Slate somewhere, and `make uninstall` takes away exactly that.

local server = require "support.server"

local run = server.said

-- A folder for each claim.
local root
before_each(function() root = server.folder() end)
after_each(function() server.remove_folder(root) end)

-- make's output; the outer make's flags must not affect this one.
local function make(words)
  return run("env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make " .. words)
end

describe("make install", function()
  -- Commands that make runs once all is built.
  local function script(action, environment)
    local ok, text = run(("env %s scripts/install %s build"):format(environment, action))
    assert.is_true(ok, text)
  end

  -- The programs run in that folder.
  local function assert_run(bin)
    for _, command in ipairs({ "slated' -V", "slatetop' --version", "slatectl' --help", "slate-load' --version" }) do
      local ok, text = run(("cd / && '%s/%s"):format(bin, command))
      assert.is_true(ok, command .. ": " .. text)
    end
  end

  local function files()
    local _, text = run(("cd %s && find . -type f | sort"):format(root))
    return text
  end

  it("installs programs that run from there, and is undone by make uninstall, which touches nothing else", function()
    local slate = root .. "/share/lua/5.4/slate"
    run(("mkdir -p %s/bin %s && echo mine | tee %s/bin/other %s/mine.lua"):format(root, slate, root, slate))
    local before = files()
    assert(make("-s install PREFIX=" .. root))
    assert_run(root .. "/bin")
    local terms = ('package.path = "%s/share/lua/5.4/?.lua" print(#require("slate.facts.explain").list() > 80)')
        :format(root)
    assert.same({ true, "true\n" }, { run(("cd / && lua5.4 -e '%s'"):format(terms)) })
    assert(make("-s uninstall PREFIX=" .. root))
    assert.equal(before, files())
  end)

  it("puts everything under DESTDIR, whose name may hold blanks, and names PREFIX alone inside", function()
    script("install", ("DESTDIR='%s/a b' PREFIX=/opt/slate"):format(root))
    assert.truthy(files():find("./a b/opt/slate/bin/slated", 1, true))
    assert.same({ false, "" }, { run(("grep -rlI %s '%s/a b'"):format(root, root)) })
    local _, version = run("sed -n 's/^VERSION := //p' Makefile")
    assert.same({ true, "slatectl " .. version },
      { run(("cd / && '%s/a b/opt/slate/bin/slatectl' version"):format(root)) })
    local _, unit = run(("grep ^ExecStart= '%s/a b/opt/slate/lib/systemd/system/slated.service'"):format(root))
    assert.equal("ExecStart=/opt/slate/bin/slated --config /opt/slate/etc/slated.conf\n", unit)
    script("uninstall", ("DESTDIR='%s/a b' PREFIX=/opt/slate"):format(root))
    assert.equal("", files())
  end)

  it("puts a slatectl there that has its own library, moved or called by a link, and Lua's if copied alone", function()
    script("install", ("DESTDIR='%s/stage' PREFIX=/usr"):format(root))
    local usr = root .. "/a b"
    run(("mv %s/stage/usr '%s'; ln -s '%s/bin/slatectl' %s/link; cd '%s'; ln -s bin sbin; cp bin/slatectl ../copy")
      :format(root, usr, usr, root, usr))
    run(("echo 'return { main = function(_, own) print(own.bin_dir) return 0 end }' >'%s/%s'")
      :format(usr, "share/lua/5.4/slate/cli/main.lua"))
    local function says(line)
      local ok, text = run(("cd '%s/bin' && %s"):format(usr, line))
      assert.is_true(ok, text)
      return (text:gsub("\n", ""))
    end
    assert.equal(usr .. "/bin/.", says(("'%s/bin/slatectl'"):format(usr)))
    assert.equal(usr .. "/sbin/.", says(("'%s/sbin/slatectl'"):format(usr)))
    assert.equal("./.", says("./slatectl"))
    assert.equal("./.", says("lua5.4 slatectl"))
    assert.equal(usr .. "/bin/.", says(root .. "/link"))
    assert.equal(usr .. "/bin", says(("PATH='%s/bin':$PATH LUA_PATH='%s/share/lua/5.4/?.lua' %s/copy")
      :format(usr, usr, root)))
    local ok, text = run(("cd / && LUA_PATH=/none/?.lua %s/copy"):format(root))
    assert.is_false(ok)
    assert.equal(1, text:find("slatectl: cannot load its library: module 'slate.cli.main' not found", 1, true), text)
  end)

  it("lives below a PREFIX whose name holds blanks", function()
    local prefix = root .. "/a b"
    script("install", ("PREFIX='%s'"):format(prefix))
    assert_run(prefix .. "/bin")
    local function starts(unit)
      local _, text = run(("grep ^ExecStart= '%s/%s'"):format(prefix, unit))
      return text
    end
    assert.equal(('ExecStart="%s/bin/slated" --config "%s/etc/slated.conf"\n'):format(prefix, prefix),
      starts("lib/systemd/system/slated.service"))
    script("uninstall", ("PREFIX='%s'"):format(prefix))
    assert.equal("", files())
  end)

  it("installs a configuration that slated takes, and keeps one that is there", function()
    script("install", "PREFIX=" .. root)
    local command = ("%s/bin/slated --check-config --config %s/etc/slated.conf"):format(root, root)
    local taken, said = run(command)
    assert.same({ true, "slated: these options are good\n" }, { taken, said:match("^[^\n]*\n") })
    run(("echo 'threads = 2' >%s/etc/slated.conf"):format(root))
    script("install", "PREFIX=" .. root)
    script("uninstall", "PREFIX=" .. root)
    assert.equal("./etc/slated.conf\n", files())
    assert.same({ true, "threads = 2\n" }, { run(("cat %s/etc/slated.conf"):format(root)) })
  end)

  it("fails when a file cannot be put there", function()
    run(("mkdir -p %s/share && echo >%s/share/lua"):format(root, root)) -- a file where a folder is to be
    local ok, text = run(("env PREFIX=%s scripts/install install build"):format(root))
    assert.is_false(ok, text)
    assert.truthy(text:find(root .. "/share/lua", 1, true), text)
  end)

end)

describe("a clone that was built", function()
  it("runs where it was moved to, with its own library", function()
    run(("mkdir -p '%s/a b/build' && cp -r build/bin '%s/a b/build/' && cp -r lua man scripts Makefile '%s/a b/'")
      :format(root, root, root))
    run(("echo 'return { main = function() print(\"mine\") return 0 end }' >'%s/a b/lua/slate/cli/main.lua'")
      :format(root))
    assert.same({ true, "mine\n" }, { run(("cd / && '%s/a b/build/bin/slatectl' version"):format(root)) })
    assert.same({ true, "mine\n" }, { run(("cd '%s/a b' && build/bin/slatectl version"):format(root)) })
    run(("ln -s '%s/a b/build/bin/slatectl' %s/link"):format(root, root))
    assert.same({ true, "mine\n" }, { run(("cd / && %s/link version"):format(root)) })
  end)

  it("finds the other programs beside slatectl", function()
    local ok, text = run("cd / && " .. os.getenv("PWD") .. "/build/bin/slatectl bench --help")
    assert.is_true(ok, text)
  end)

  it("is packed with and without git, and both archives hold the same files", function()
    local function names(archive)
      local _, text = run(("tar -tzf %s | grep -v '/$' | sort"):format(archive))
      return text
    end
    local in_git = run("git rev-parse HEAD")
    if not in_git then
      pending("this folder is no git's")
      return
    end
    run(("rm -rf %s/whole && git clone -q -n . %s/whole"):format(root, root))
    assert.is_true(run(("cp -r Makefile scripts %s/whole/ && cd %s/whole && scripts/dist 1"):format(root, root)))
    local first = names(root .. "/whole/build/slate-1.tar.gz")
    assert.truthy(first:find("slate-1/daemon/main.c", 1, true))
    run(("cd %s && tar -xzf whole/build/slate-1.tar.gz && mkdir slate-1/build-debug"):format(root))
    run(("touch %s/slate-1/build-debug/x"):format(root))
    local ok, text = run(("cd %s/slate-1 && scripts/dist 1 && make -s -n build/bin/slatectl"):format(root))
    assert.is_true(ok, text)
    assert.equal(first, names(root .. "/slate-1/build/slate-1.tar.gz"))
  end)
end)

describe("make", function()
  it("passes on CPPFLAGS, CFLAGS and LDFLAGS, and uses pkg-config", function()
    local _, text = make("-n -W console/main.c build/bin/slatetop CPPFLAGS=-DMINE=1 CFLAGS=-O1 LDFLAGS=-Wl,-z,now "
      .. "PKG_CONFIG='echo -lmine'")
    assert.truthy(text:find("%-DMINE=1 .*%-O1 .*%-c %-o build/console/main.o"), text)
    assert.truthy(text:find("%-O1 %-Wl,%-z,now %-pthread +%-o build/bin/slatetop"), text)
    assert.is_nil(text:find("-O2", 1, true))
    assert.truthy(text:find("-lmine --libs ncursesw tinfo", 1, true), text)
  end)

  it("does without pkg-config, and links the shared jemalloc where there is no static one", function()
    local _, text = make("-n -W console/main.c -W daemon/main.c build/bin/slatetop build/bin/slated PKG_CONFIG=none "
      .. "JEMALLOC=")
    assert.truthy(text:find("-I/usr/include/lua5.4 -Iconsole", 1, true), text)
    assert.truthy(text:find("-ljemalloc", 1, true), text)
    assert.is_nil(text:find("jemalloc.o", 1, true), text)
  end)

  it("names missing packages and their installation before a compiler fails", function()
    local ok, text = make(("B=%s/build CC=%s/none"):format(root, root))
    assert.is_false(ok)
    assert.is_nil(text:find("none:", 1, true), text)
    assert.truthy(text:find("scripts/bootstrap run installs them", 1, true), text)
  end)
end)
