-- SPDX-License-Identifier: BSD-3-Clause
-- Stock clients of memcached work on slated unchanged: libmemcached's own check and tools, pymemcache, by TLS too,
-- pylibmc, and those of Ruby, PHP, JavaScript, Java and Go. slated_sasl_spec has the clients that log in.
-- Their results on slated are compared with those on a memcached in the same run.

local bench_server = require("server")
local support = require("support.server")

local SLATED = os.getenv("SLATE_TEST_SERVER") or "build/bin/slated"
-- These require an error for words after delete's key. memcached 1.6.45, whose replies slated has, ignores such words.
local LEFT_BEHIND = { ["ascii delete"] = true, ["ascii delete noreply"] = true }
local OPTIONS = { arguments = { "-m", "64", "-t", "2" } }

local sh = support.said

local function found(tool)
  return support.capture("command -v " .. tool):match("%S+")
end

describe("slated under stock clients", function()
  local slated

  setup(function()
    slated = assert(bench_server.start(SLATED, OPTIONS))
  end)

  teardown(function() slated:stop() end)

  -- The names of memccapable's checks of a protocol (ascii, binary) that pass on a server, and of all that it ran. A
  -- failed check prints its name, padded to 40 columns, without the mark behind it.
  local function capabilities(server, protocol)
    local command = ("memccapable -h 127.0.0.1 -p %d -%s -t 10 2>/dev/null"):format(server.port, protocol:sub(1, 1))
    local pipe = assert(io.popen(command, "r"))
    local passed, all = {}, {}
    for line in pipe:lines() do
      for name, mark in (line .. "  "):gmatch("(" .. protocol .. " %l[%l ]-)%s%s+(%[?%l*)") do
        passed[name] = mark == "[pass"
        all[#all + 1] = name
      end
    end
    pipe:close()
    return passed, all
  end

  for protocol, name in pairs({ ascii = "text", binary = "binary" }) do
    it(("passes every %s check of memccapable that memcached passes"):format(name), function()
      local program = support.memcached()
      if not found("memccapable") or not program then
        pending("memccapable is not installed, or there is no memcached to compare with")
        return
      end
      local peer = assert(bench_server.start(program, OPTIONS))
      local theirs, all = capabilities(peer, protocol)
      peer:stop()
      local ours, lost = capabilities(slated, protocol), {}
      assert.is_true(#all >= 20, "memccapable ran " .. #all .. " checks on memcached")
      for _, check in ipairs(all) do
        lost[#lost + 1] = theirs[check] and not ours[check] and not LEFT_BEHIND[check] and check or nil
      end
      assert.same({}, lost)
    end)
  end

  local function serves_tools(options)
    for _, tool in ipairs({ "memccp", "memccat", "memcexist", "memctouch", "memcrm", "memcstat" }) do
      if not found(tool) then
        pending(tool .. " is not installed")
      end
    end
    local at = options .. " --servers=127.0.0.1:" .. slated.port
    local folder = support.folder()
    finally(function() support.remove_folder(folder) end)
    for name, bytes in pairs({ small = 20, large = 700000 }) do
      support.write_file(folder .. "/" .. name, ("x"):rep(bytes - 1) .. "\n")
    end
    for _, name in ipairs({ "small", "large" }) do
      local path = folder .. "/" .. name
      assert.is_true(sh(("memccp %s %s"):format(at, path)))
      assert.is_true(sh(("memcexist %s %s"):format(at, name)))
      assert.is_true(sh(("memccat %s --file=%s.back %s"):format(at, path, name)))
      assert.is_true(sh(("cmp %s %s.back"):format(path, path)))
      assert.is_true(sh(("memctouch %s --expire=100 %s"):format(at, name)))
      assert.is_true(sh(("memcrm %s %s"):format(at, name)))
      assert.is_false((sh(("memcexist %s %s"):format(at, name))))
    end
    local ok, text = sh(("memcstat %s"):format(at))
    assert.is_true(ok, text)
    assert.truthy(text:find("pid: " .. slated.pid, 1, true), text)
  end

  for _, options in ipairs({ "", "--binary" }) do
    it("serves libmemcached's tools " .. options, function() serves_tools(options) end)
  end

  -- Runs one of our scripts for a Python client against slated and against a memcached.
  local function serves_python(module, script, options, words, port_name)
    local python = "/usr/bin/python3" -- the one that Debian's packages are for
    if not sh(python .. " -c 'import " .. module .. "'") then
      pending("python3-" .. module .. " is not installed")
      return
    end
    local programs = { SLATED }
    programs[2] = support.memcached()
    for _, program in ipairs(programs) do
      local server = assert(bench_server.start(program, options))
      local ok, text = sh(("%s tests/clients/%s 127.0.0.1 %d %s"):format(python, script, server[port_name], words))
      server:stop()
      assert.is_true(ok, program .. ": " .. text)
    end
  end

  it("serves pymemcache's operations as memcached does", function()
    serves_python("pymemcache", "pymemcache_basic.py", OPTIONS, "", "port")
  end)

  it("serves pymemcache's operations by TLS as memcached does", function()
    local folder = support.folder()
    finally(function() support.remove_folder(folder) end)
    local key, certificate = folder .. "/key.pem", folder .. "/certificate.pem"
    assert(sh(("openssl req -x509 -days 2 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost "
      .. "-addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s"):format(key, certificate)))
    local arguments = { "-m", "64", "-t", "2", "-Z", "-o", "ssl_key=" .. key .. ",ssl_chain_cert=" .. certificate }
    serves_python("pymemcache", "pymemcache_basic.py", { arguments = arguments, tls = true }, certificate, "tls_port")
  end)

  it("serves pylibmc's operations in the binary protocol as memcached does", function()
    serves_python("pylibmc", "pylibmc_basic.py", OPTIONS, "", "port")
  end)

  -- The number of checks that a client made on a server; each of them must hold.
  local function checks(program, command)
    local server = assert(bench_server.start(program, OPTIONS))
    local ok, text = sh(command:gsub("PORT", server.port))
    server:stop()
    assert.is_true(ok, program .. ": " .. text)
    return assert(tonumber(text:match("(%d+) checks")), text)
  end

  for _, client in ipairs(require("clients.list").PLAIN) do
    it(("serves %s as memcached does"):format(client.name), function()
      local lacking = client.lacks()
      if lacking then
        pending(lacking)
        return
      end
      local ours = checks(SLATED, client.command("127.0.0.1", "PORT"))
      assert.truthy(ours >= client.least, "only " .. ours .. " checks")
      local program = support.memcached()
      if program then
        assert.equal(checks(program, client.command("127.0.0.1", "PORT")), ours)
      end
    end)
  end
end)
