-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/bootstrap on machines that lack something. A machine is a folder of commands that stand for its own.

local COMMON = { "sh", "awk", "cat", "mktemp", "rm", "sort", "head", "sed", "grep", "env", "sleep" }

local function run(command)
  local pipe = assert(io.popen(command .. " 2>&1", "r"))
  local text = pipe:read("a")
  local ok, _, code = pipe:close()
  return ok == true and 0 or code, text
end

describe("scripts/bootstrap", function()
  local machine

  local function command(name, script)
    local file = assert(io.open(machine .. "/" .. name, "w"))
    file:write("#!/bin/sh\n", script, "\n")
    file:close()
    run(("chmod +x %s/%s"):format(machine, name))
  end

  before_each(function()
    local _, name = run("mktemp -d")
    machine = name:match("%S+")
    for _, tool in ipairs(COMMON) do
      local _, path = run("command -v " .. tool)
      run(("ln -s %s %s/%s"):format(path:match("%S+"), machine, tool))
    end
    command("id", "echo 0")
  end)

  after_each(function()
    run("rm -rf " .. machine)
  end)

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

  -- apt-get that writes down what it is asked to do.
  local function apt(script)
    command("apt-get", ('echo "$@" >>%s/asked\n%s'):format(machine, script))
  end

  local function asked()
    local file = io.open(machine .. "/asked")
    local text = file and file:read("a") or ""
    if file then
      file:close()
    end
    return text
  end

  it("is silent and asks nothing of apt where nothing is missing", function()
    packages_but("")
    apt("exit 1")
    local status, text = bootstrap("ci bench")
    assert.equal(0, status)
    assert.equal("", text)
    assert.equal("", asked())
  end)

  it("says what is missing and why, and installs just that", function()
    packages_but("zlib1g-dev tmux")
    apt("exit 0")
    local status, text = bootstrap("test")
    assert.equal(0, status)
    assert.truthy(text:match("zlib1g%-dev +slate%-load reads"), text)
    assert.truthy(text:match("tmux +a terminal"), text)
    assert.equal("update\ninstall -y --no-install-recommends zlib1g-dev tmux\n", asked())
  end)

  -- Debian's package of dalli does not ask for it.
  it("installs Ruby for Ruby's client", function()
    packages_but("ruby")
    apt("exit 0")
    assert.equal(0, (bootstrap("clients")))
    assert.equal("update\ninstall -y --no-install-recommends ruby\n", asked())
  end)

  it("says how far apt is while it works", function()
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

  it("says what to run as root where it is not root and has no sudo", function()
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

  it("passes on what apt said where there is no network, and stops", function()
    packages_but("gcc")
    apt('echo "E: Unable to fetch some archives" >&2; exit 100')
    local status, text = bootstrap("run")
    assert.equal(1, status)
    assert.truthy(text:find("Is there a network", 1, true), text)
    assert.truthy(text:find("Unable to fetch some archives", 1, true), text)
  end)

  it("refuses a group it does not know, and no group", function()
    assert.equal(1, (bootstrap("everything")))
    assert.equal(1, (bootstrap("")))
  end)
end)
