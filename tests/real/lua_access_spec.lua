-- SPDX-License-Identifier: BSD-3-Clause
-- TLS and passwords, with the distribution's memcached, which knows both.
local client = require "slate.wire.client"
local command = require "support.command"
local server = require "support.server"
local tls = require "slate.wire.tls"

local MEMCACHED <const> = "/usr/bin/memcached"

local function can(option)
    return os.execute(("%s -h 2>/dev/null | grep -q -e %s"):format(MEMCACHED, option)) == true
end

describe("a password", function()
    local one, folder

    if not can("--auth-file") then
        pending("there is no memcached with --auth-file")
        return
    end

    setup(function()
        folder = server.folder()
        server.write_file(folder .. "/users", "anna:secret\n")
        os.execute("chmod 644 " .. folder .. "/users; chmod 755 " .. folder)
        one = server.start({ binary = MEMCACHED, transport = "tcp", args = { "-Y", folder .. "/users" } })
    end)
    teardown(function()
        one:stop()
        server.remove_folder(folder)
    end)

    it("opens a server that is closed without", function()
        local c = one:connect({ user = "anna", password = "secret" })
        assert.is_true(c:set("a", "1"))
        assert.equal("1", c:get("a").value)
        c:close()
        local stranger = one:connect()
        assert.equal("refused", select(3, stranger:get("a")))
        stranger:close()
    end)

    it("that is wrong is refused in words", function()
        local c, message, code = client.connect(one.address, { user = "anna", password = "guess" })
        assert.is_nil(c)
        assert.equal("refused", code)
        assert.equal("the server refuses the user or the password", message)
    end)

    it("cannot smuggle a command", function()
        local c, _, code = client.connect(one.address, { user = "anna", password = "x\r\nflush_all" })
        assert.is_nil(c)
        assert.equal("usage", code)
    end)

    it("reaches slatectl in a file", function()
        local runner = command.new({ server = one.address })
        finally(runner.remove)
        local code, _, said = runner.run("stats")
        assert.equal(77, code, said)
        assert.equal(0, (runner.shell(("SLATE_AUTH_FILE=%s/users slatectl stats"):format(folder))))
        code, _, said = runner.shell("SLATE_AUTH_FILE=/nowhere slatectl stats")
        assert.equal(74, code)
        assert.truthy(said:find("SLATE_AUTH_FILE: /nowhere", 1, true), said)
        server.write_file(runner.folder .. "/empty", "\n")
        code, _, said = runner.shell("SLATE_AUTH_FILE=empty slatectl stats")
        assert.equal(74, code)
        assert.truthy(said:find("does not begin with user:password", 1, true), said)
    end)
end)

describe("a role", function()
    it("comes with the password, and slatectl names commands beyond it", function()
        local folder = server.folder()
        server.write_file(folder .. "/reader", "rita:pass:word:read\n")
        server.write_file(folder .. "/admin", "adam:read\n")
        server.write_file(folder .. "/users", "rita:pass:word:read\nadam:read\n")
        local one = server.start({ args = { "-Y", folder .. "/users" } })
        local runner = command.new({ server = one.address })
        finally(function()
            runner.remove()
            one:stop()
            server.remove_folder(folder)
        end)
        local as_reader = ("SLATE_AUTH_FILE=%s/reader slatectl "):format(folder)
        assert.equal(0, (runner.shell(as_reader .. "classes")))
        local code, _, said = runner.shell(as_reader .. "set lru_crawler_sleep 200")
        assert.equal(77, code, said)
        assert.truthy(said:find("not allowed: this needs the role admin", 1, true), said)
        assert.equal(0, (runner.shell(("SLATE_AUTH_FILE=%s/admin slatectl set lru_crawler_sleep 200"):format(folder))))
    end)
end)

describe("TLS", function()
    it("counts a certificate only for its own names", function()
        assert.is_true(tls.is_for({ "cache.example.org" }, "Cache.example.org"))
        assert.is_true(tls.is_for({ "x", "*.example.org" }, "cache.example.org"))
        assert.is_false(tls.is_for({ "*.example.org" }, "example.org"))
        assert.is_false(tls.is_for({ "*.example.org" }, "a.b.example.org"))
        assert.is_false(tls.is_for({ "example.org" }, "evil-example.org"))
        assert.is_false(tls.is_for({}, "example.org"))
        assert.is_true(tls.is_for({ "127.0.0.1" }, "127.0.0.1"))
    end)

    it("is reported missing where LuaSec is", function()
        local loaded, preloaded = package.loaded.ssl, package.preload.ssl
        package.loaded.ssl, package.preload.ssl = nil, function() error("not here") end
        local listener = assert(require("socket").bind("127.0.0.1", 0))
        local _, port = listener:getsockname()
        local c, message, code = client.connect("tls://127.0.0.1:" .. port, { timeout_s = 60 })
        package.loaded.ssl, package.preload.ssl = loaded, preloaded
        listener:close()
        assert.is_nil(c)
        assert.equal("missing", code)
        assert.truthy(message:find("apt install lua-sec", 1, true), message)
    end)

    if not can("--enable-ssl") or not pcall(require, "ssl") or not os.execute("command -v openssl >/dev/null") then
        pending("there is no memcached with TLS, no LuaSec, or no openssl to make a certificate")
        return
    end

    local folder, one

    setup(function()
        folder = server.folder()
        assert(os.execute(("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=cache.test "
            .. "-addext subjectAltName=DNS:cache.test,IP:127.0.0.1 -keyout %s/key -out %s/cert 2>/dev/null"):format(
            folder, folder)))
        one = server.start({
            binary = MEMCACHED, transport = "tcp", tls = { ca_file = folder .. "/cert" },
            args = { "-Z", "-o", ("ssl_chain_cert=%s/cert,ssl_key=%s/key"):format(folder, folder) },
        })
    end)
    teardown(function()
        one:stop()
        server.remove_folder(folder)
    end)

    it("refuses a certificate without a trusted issuer, unless told not to verify", function()
        local c, message, code = client.connect(one.address)
        assert.is_nil(c)
        assert.equal("connect", code)
        assert.truthy(message:find("^cannot connect to tls://127.0.0.1:%d+: TLS: .*certificate"), message)
        c = one:connect({ tls = { verify = false } })
        assert.truthy(c:identify())
        c:close()
    end)

    it("refuses a certificate of another host", function()
        local other = { ca_file = folder .. "/cert", server_name = "other.test" }
        local c, message = client.connect(one.address, { tls = other })
        assert.is_nil(c)
        assert.truthy(message:find("not for other.test", 1, true), message)
        c = one:connect({ tls = { ca_file = folder .. "/cert", server_name = "cache.test" } })
        assert.truthy(c:identify())
        c:close()
    end)

    it("gives up on a server that does not answer the greeting", function()
        local listener = assert(require("socket").bind("127.0.0.1", 0))
        local _, port = listener:getsockname()
        local c, message, code = client.connect("tls://127.0.0.1:" .. port, { timeout_s = 0.2 })
        listener:close()
        assert.is_nil(c)
        assert.equal("connect", code)
        assert.truthy(message:find("no answer in time", 1, true), message)
    end)

    it("gives up on a server that speaks something else, and on a key file that is none", function()
        local plain = server.start({ binary = MEMCACHED, transport = "tcp" })
        finally(function() plain:stop() end)
        assert.equal("connect", select(3, client.connect("tls://" .. plain.address, { timeout_s = 60 })))
        local c, message = client.connect(one.address, { tls = { key_file = "/nowhere", cert_file = "/nowhere" } })
        assert.is_nil(c)
        assert.truthy(message:find("TLS: ", 1, true), message)
    end)

    it("reaches slatectl by the server's address and the environment", function()
        local runner = command.new({ server = one.address })
        finally(runner.remove)
        assert.equal(69, (runner.run("stats")))
        assert.equal(0, (runner.shell(("SLATE_TLS_CA=%s/cert slatectl stats"):format(folder))))
    end)
end)
