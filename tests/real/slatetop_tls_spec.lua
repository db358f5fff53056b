-- slatetop behind TLS, against Debian's memcached with -Z; certificates are made here and thrown away.
local certificates = require "support.certificates"
local real = require "support.server"
local tui = require "tmux"

local can_run = tui.has("tmux") and real.memcached() and certificates.available()
local describe = can_run and describe or pending

describe("slatetop and TLS", function()
  local folder, server, port, screen

  -- memcached behind TLS.
  local function start(more)
    server = real.start({ binary = real.memcached(), transport = "tcp", args = { "-Z", "-o",
      ("ssl_chain_cert=%s/server.pem,ssl_key=%s/server.key%s"):format(folder, folder, more or "") },
      tls = { verify = false, cert_file = folder .. "/ours.pem", key_file = folder .. "/ours.key" } })
    port = math.tointeger(tonumber(server.address:match("%d+$")))
  end

  setup(function()
    folder = tui.make_folder()
    certificates.make(folder, "ca")
    certificates.make(folder, "server", "ca", nil, "DNS:localhost")
    certificates.make(folder, "ours", "ca", nil, "DNS:operator")
  end)

  teardown(function()
    tui.remove_folder(folder)
  end)

  after_each(function()
    if screen then screen:close() end
    screen = nil
    if server then server:stop() end
    server = nil
  end)

  it("watches a server and changes it, and follows its log", function()
    start()
    screen = tui.open(folder, ("%s --audit-log %s/log --tls-ca %s/ca.pem tls://localhost:%d"):format(tui.slatetop,
      folder, folder, port))
    screen:wait("live 1s")
    screen:wait("tls://localhost:" .. port)
    screen:press("t")
    screen:wait("pages stay where they are")
    screen:press("g", "Enter")
    screen:wait("slabs automove 0")
    screen:press("S")
    screen:wait("→ off")
    screen:press("u")
    screen:wait("Undo: review")
    screen:press("S")
    screen:wait("off → ")
    screen:press("8", "w")
    screen:wait("evictions")
    screen:press("q")
    screen:wait("status=0")
    local record = tui.run(("cat %s/log"):format(folder))
    assert.truthy(record:find('"server":"tls://localhost:' .. port .. '"', 1, true), record)
  end)

  it("trusts only the given authority, for the name that was dialled", function()
    start()
    local function batch(words, environment)
      return tui.run(("%s %s -b %s"):format(environment or "", tui.slatetop, words))
    end
    local output, code = batch(("--tls localhost:%d"):format(port), ("SLATE_TLS_CA=%s/ca.pem"):format(folder))
    assert.equal(0, code, output)
    assert.truthy(output:find("memcached 1.", 1, true), output)
    output, code = batch(("tls://localhost:%d"):format(port))
    assert.equal(69, code)
    assert.truthy(output:find("no TLS with tls://localhost:" .. port .. ": the server's certificate:", 1, true), output)
    output, code = batch(("--tls-ca %s/ca.pem tls://127.0.0.1:%d"):format(folder, port))
    assert.equal(69, code)
    assert.truthy(output:find("IP address mismatch", 1, true), output)
    output, code = batch(("--tls-ca %s/nowhere.pem tls://localhost:%d"):format(folder, port))
    assert.equal(64, code)
    local missing = "cannot use the certificates in " .. folder .. "/nowhere.pem: No such file"
    assert.truthy(output:find(missing, 1, true), output)
    output, code = batch(("--tls-ca %s/ca.pem --tls %s/x.sock"):format(folder, folder))
    assert.equal(64, code)
    assert.truthy(output:find("TLS needs a host", 1, true), output)
  end)

  it("connects to TLS servers that only a list names, and names a file that it cannot use", function()
    start()
    real.write_file(folder .. "/list", ("tls://localhost:%d\n"):format(port))
    local function batch(authority)
      return tui.run(("%s -b -n 2 -d 0.1 --tls-ca %s/%s file:%s/list"):format(tui.slatetop, folder, authority, folder))
    end
    local output, code = batch("ca.pem")
    assert.equal(0, code, output)
    assert.truthy(output:find("tls://localhost:" .. port, 1, true), output)
    output, code = batch("nowhere.pem")
    assert.equal(69, code)
    local missing = "cannot use the certificates in " .. folder .. "/nowhere.pem: No such file"
    assert.truthy(output:find(missing, 1, true), output)
  end)

  it("shows its own certificate where the server wants one", function()
    start((",ssl_ca_cert=%s/ca.pem,ssl_verify_mode=2"):format(folder))
    local words = ("-b -n 2 -d 0.1 --tls-ca %s/ca.pem tls://localhost:%d"):format(folder, port)
    local output, code = tui.run(("%s --tls-cert %s/ours.pem --tls-key %s/ours.key %s"):format(tui.slatetop, folder,
      folder, words))
    assert.equal(0, code, output)
    output, code = tui.run(tui.slatetop .. " " .. words)
    assert.equal(69, code, output)
  end)

end)
