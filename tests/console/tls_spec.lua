-- slatetop behind TLS, against Debian's memcached with -Z; certificates are made here and thrown away.
package.path = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") .. "/?.lua;" .. package.path
local tui = require "tui"
local socket = require "socket"

local can_run = tui.has("tmux") and tui.has("memcached") and tui.has("openssl")
local describe = can_run and describe or pending

describe("slatetop and TLS", function()
  local folder, port, pid, screen

  -- A certificate for a name, signed by our own authority.
  local function make_certificate(name, subject)
    local command = [[cd FOLDER && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout NAME.key \
      -subj /CN=NAME -out NAME.csr 2>&1 && printf 'subjectAltName=SUBJECT' >NAME.ext && openssl x509 -req \
      -in NAME.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile NAME.ext -out NAME.pem]]
    local output, code = tui.run((command:gsub("%u%u%u%u+", { FOLDER = folder, NAME = name, SUBJECT = subject })))
    assert(code == 0, output)
  end

  local function free_port()
    local listener = assert(socket.bind("127.0.0.1", 0))
    local _, number = listener:getsockname()
    listener:close()
    return number
  end

  local function answers(number)
    local connection = socket.connect("127.0.0.1", number)
    if connection then connection:close() end
    return connection ~= nil
  end

  -- memcached behind TLS; another may take the port between our look and its start, so it is tried again.
  local function start(more)
    for _ = 1, 5 do
      port = free_port()
      local user = tui.run("id -u"):match("^0") and "-u root" or ""
      pid = tui.run(("memcached -Z -o ssl_chain_cert=%s/server.pem,ssl_key=%s/server.key%s -l 127.0.0.1 -p %d %s -m 64 "
        .. "</dev/null >/dev/null 2>&1 & echo $!"):format(folder, folder, more or "", port, user)):match("%d+")
      if pcall(tui.wait_until, function() return answers(port) end) then return end
      tui.run("kill -KILL " .. pid)
    end
    error("memcached does not start behind TLS")
  end

  setup(function()
    folder = tui.make_folder()
    local output, code = tui.run(([[openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
      -keyout %s/ca.key -out %s/ca.pem -subj "/CN=a test's authority"]]):format(folder, folder))
    assert(code == 0, output)
    make_certificate("server", "DNS:localhost")
    make_certificate("ours", "DNS:operator")
  end)

  teardown(function()
    tui.remove_folder(folder)
  end)

  after_each(function()
    if screen then screen:close() end
    screen = nil
    if pid then tui.run("kill -KILL " .. pid) end
    pid = nil
  end)

  it("watches a server and changes it, and follows its log", function()
    start()
    screen = tui.open(folder, ("%s --audit-log %s/log --tls-ca %s/ca.pem tls://localhost:%d"):format(tui.slatetop,
      folder, folder, port))
    screen:wait("live 1s")
    screen:wait("tls://localhost:" .. port)
    screen:press("t")
    screen:wait("slabs automove 0")
    screen:press("S")
    screen:wait("→ 0")
    screen:press("u")
    screen:wait("Undo: review")
    screen:press("S")
    screen:wait("0 → ")
    screen:press("8", "w")
    screen:wait("evictions")
    screen:press("q")
    screen:wait("status=0")
    local record = tui.run(("cat %s/log"):format(folder))
    assert.truthy(record:find('"server":"tls://localhost:' .. port .. '"', 1, true), record)
  end)

  it("trusts only whom it was told to, by the name that was dialled", function()
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

  it("connects to TLS servers that only a list names, and says which file it cannot use", function()
    start()
    assert(tui.run(("echo tls://localhost:%d >%s/list"):format(port, folder)))
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

  it("answers keys while a server that does not speak TLS keeps it waiting", function()
    local listener = assert(socket.bind("127.0.0.1", 0))
    local _, number = listener:getsockname()
    screen = tui.open(folder, ("%s tls://127.0.0.1:%d"):format(tui.slatetop, number))
    screen:wait("connecting to tls://127.0.0.1")
    screen:press("2")
    screen:wait("[2 Classes]")
    listener:close()
  end)
end)
