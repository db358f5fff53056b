-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/bootstrap on machines that lack something. A machine is a folder of commands that stand for its own.

local COMMON = "sh awk cat mktemp rm sort head sed grep env sleep"

local server = require "support.server"

local function run(command)
  local pipe = assert(io.popen(command .. " 2>&1", "r"))
  local text = pipe:read("a")
  local ok, _, code = pipe:close()
  return ok == true and 0 or code, text
end

describe("scripts/bootstrap", function()
  local machine

  local function command(name, script)
    server.write_file(machine .. "/" .. name, "#!/bin/sh\n" .. script .. "\n")
    run(("chmod +x %s/%s"):format(machine, name))
  end

  before_each(function()
    machine = server.folder()
    run(("for tool in %s; do ln -s $(command -v $tool) %s/; done"):format(COMMON, machine))
    command("id", "echo 0")
  end)

  after_each(function() server.remove_folder(machine) end)

  local function bootstrap(words)
    return run(("env -i PATH=%s scripts/bootstrap %s </dev/null"):format(machine, words))
  end

  -- dpkg-query that knows every package as installed, but for those named.
  local function packages_but(missing)
    command("dpkg-query", ([[shift 2
for name; do
    case " %s " in *" $name "*) ;; *) echo "$name installed" ;; esac
done]]):format(missing))
  end

  -- An apt-get that records its arguments.
  local function apt(script)
    command("apt-get", ('echo "$@" >>%s/asked\n%s'):format(machine, script))
  end

  local function asked()
    return server.read_file(machine .. "/asked") or ""
  end

  it("is silent and asks nothing of apt where nothing is missing", function()
    packages_but("")
    apt("exit 1")
    local status, text = bootstrap("ci bench")
    assert.equal(0, status)
    assert.equal("", text)
    assert.equal("", asked())
  end)

  it("names missing packages with the reason, and installs just those", function()
    for missing, group in pairs({ ["zlib1g-dev tmux"] = "test", ruby = "clients" }) do -- which Debian's dalli lacks
      os.remove(machine .. "/asked")
      packages_but(missing)
      apt("exit 0")
      local status, text = bootstrap(group)
      assert.equal(0, status)
      assert.truthy(group ~= "test" or text:match("zlib1g%-dev +slate%-load reads"), text)
      assert.truthy(group ~= "test" or text:match("tmux +a terminal"), text)
      assert.equal("update\ninstall -y --no-install-recommends " .. missing .. "\n", asked())
    end
  end)

  it("shows apt's progress", function()
    packages_but("tmux")
    apt(("echo Get:1 http://mirror tmux; echo Unpacking tmux; until grep -q unpacked %s/said; do sleep 0.1; done")
      :format(machine))
    assert.equal(0, (bootstrap("test >" .. machine .. "/said")))
    local _, text = run("cat " .. machine .. "/said")
    assert.truthy(text:match("\nbootstrap: %d files downloaded, %d packages unpacked, 0 set up\n"), text)
  end)

  it("knows that a package left with only its configuration is missing", function()
    command("dpkg-query", [[shift 2
for name; do
    case $name in gcc) echo gcc config-files ;; *) echo $name installed ;; esac
done]])
    apt("exit 0")
    local _, text = bootstrap("--dry-run run")
    assert.truthy(text:match("gcc +the C compiler"), text)
    assert.falsy(text:find("lua5.4", 1, true))
    assert.equal("", asked())
  end)

  it("names the packages and stops where there is no apt", function()
    local status, text = bootstrap("run")
    assert.equal(1, status)
    assert.truthy(text:find("there is no apt here", 1, true), text)
    assert.truthy(text:match("libevent%-dev +slated's event loop"), text)
  end)

  it("prints the command for root where it is not root and has no sudo", function()
    packages_but("gcc")
    apt("exit 0")
    command("id", "echo 1000")
    local status, text = bootstrap("run")
    assert.equal(1, status)
    assert.truthy(text:find("apt-get update && apt-get install -y --no-install-recommends gcc", 1, true), text)
    assert.equal("", asked())
  end)

  it("uses sudo where it is not root", function()
    packages_but("gcc")
    apt("exit 0")
    command("id", "echo 1000")
    command("sudo", ([[[ "$1" = -n ] && shift
[ "$1" != true ] || exit 0
echo sudo >>%s/asked
"$@"]]):format(machine))
    assert.equal(0, (bootstrap("run")))
    assert.equal("sudo\nupdate\nsudo\ninstall -y --no-install-recommends gcc\n", asked())
  end)

  it("passes on apt's message where there is no network, and stops", function()
    packages_but("gcc")
    apt('echo "E: Unable to fetch some archives" >&2; exit 100')
    local status, text = bootstrap("run")
    assert.equal(1, status)
    assert.truthy(text:find("Is there a network", 1, true), text)
    assert.truthy(text:find("Unable to fetch some archives", 1, true), text)
  end)

  it("refuses an unknown group, and no group", function()
    assert.equal(1, (bootstrap("everything")))
    assert.equal(1, (bootstrap("")))
  end)
end)
