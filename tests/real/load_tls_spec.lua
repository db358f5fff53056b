-- SPDX-License-Identifier: BSD-3-Clause
-- slate-load by TLS: its traffic, its count of handshakes, and the servers that it refuses.
local cjson = require "cjson"
local certificates = require "support.certificates"
local command = require "support.command"
local server = require "support.server"

local LOAD <const> = "build/bin/slate-load"
local has_ssl = pcall(require, "ssl")

describe("slate-load by TLS", function()
    if not certificates.available() or not has_ssl then
        pending("there is no LuaSec, or no openssl to make a certificate")
        return
    end
    local folder, one, runner

    setup(function()
        folder = server.folder()
        certificates.make(folder, "ca")
        certificates.make(folder, "other-ca")
        certificates.make(folder, "localhost", "ca")
        certificates.make(folder, "client", "ca")
        one = server.start({ transport = "tcp", tls = { verify = false }, args = { "-Z", "-t", "2", "-o",
            ("ssl_chain_cert=%s/localhost.pem,ssl_key=%s/localhost.key"):format(folder, folder) } })
        runner = command.new()
    end)
    teardown(function()
        runner.remove()
        one:stop()
        server.remove_folder(folder)
    end)

    -- slate-load's exit code, report (a table, or nil) and messages.
    local function load(words)
        local code, out, err = runner.shell(("%s/%s --json %s"):format(runner.root, LOAD, words))
        return code, out ~= "" and cjson.decode(out) or nil, err
    end

    local function run(words)
        local code, report, err = load(("--server %s %s"):format(one.address, words))
        assert.equal(0, code, err)
        local phase = report.phases[#report.phases]
        assert.same({ 0, 0 }, { phase.errors, phase.wrong })
        return phase, report.phases[1]
    end

    local function port()
        return one.address:match("%d+$")
    end

    for _, shape in ipairs({
        "--threads 3 --conns 7 --pipeline 4", "--pipeline 5 --mget 7 --protocol meta",
        "--sizes 60000 --keys 50 --requests 200 --pipeline 3",
        "--sizes u0,9000 --keys 50 --reads 50 --send-bytes 700 --requests 200",
    }) do
        it(("gets all values back, and right (%s)"):format(shape), function()
            local phase, insert = run("--insert --keys 500 --requests 1500 " .. shape)
            assert.equal(phase.gets, phase.hits)
            assert.equal(phase.gets, phase.verified)
            -- A run may end before the last handshakes are done.
            assert.is_true(phase.handshakes > 0 and phase.handshakes <= phase.connections)
            assert.is_true(insert.handshakes > 0 and insert.handshakes <= insert.connections)
            assert.equal(phase.handshakes, phase.handshake_latency_ns.count)
        end)
    end

    it("makes a handshake for each connection that is opened anew", function()
        local phase = run("--conns 5 --calls 1 --reconnect --requests 100 --linger 0")
        assert.is_true(phase.handshakes >= 100 and phase.handshakes <= phase.connections)
        assert.is_true(phase.connections - phase.handshakes <= 5)
        assert.equal(0, phase.resumed)
    end)

    it("resumes earlier sessions with --tls-resume", function()
        local phase = run("--conns 5 --calls 1 --reconnect --requests 100 --tls-resume")
        assert.is_true(phase.resumed >= 90, phase.resumed .. " of " .. phase.handshakes)
    end)

    it("looks at the server's certificate when told to", function()
        local trusted = ("--tls --tls-ca %s/ca.pem --requests 10 --server "):format(folder)
        local code, _, err = load(trusted .. "localhost:" .. port())
        assert.equal(0, code, err)
        code, _, err = load(trusted .. "127.0.0.1:" .. port())
        assert.equal(69, code)
        assert.matches("^slate%-load: cannot agree on TLS with 127.0.0.1:%d+: IP address mismatch\n$", err)
        code, _, err = load(("--tls --tls-ca %s/other-ca.pem --server localhost:%s"):format(folder, port()))
        assert.equal(69, code)
        assert.matches("^slate%-load: cannot agree on TLS with localhost:%d+: [^\n]*certificate[^\n]*\n$", err)
        assert.equal(69, (load("--tls --tls-verify --server localhost:" .. port())))
    end)

    it("shows a certificate of its own where the server wants one", function()
        local strict = server.start({ transport = "tcp", tls = { verify = false, cert_file = folder .. "/client.pem",
            key_file = folder .. "/client.key" }, args = { "-Z", "-o", ("ssl_chain_cert=%s/localhost.pem,"
            .. "ssl_key=%s/localhost.key,ssl_ca_cert=%s/ca.pem,ssl_verify_mode=2"):format(folder, folder, folder) } })
        finally(function() strict:stop() end)
        local code, _, err = load("--requests 10 --server " .. strict.address)
        assert.equal(69, code)
        -- By TLS 1.3 the server's alert follows our first bytes, and the end of its connection may overtake the alert.
        assert.is_true(err:find("certificate required", 1, true) ~= nil
            or err:find("^slate%-load: no reply to 'version' from [^\n]*: Connection reset by peer\n$") ~= nil, err)
        code, _, err = load(("--requests 10 --server %s --tls-cert %s/client.pem --tls-key %s/client.key"):format(
            strict.address, folder, folder))
        assert.equal(0, code, err)
    end)

    it("reports in one sentence the error of a file or of the other side", function()
        for words, why in pairs({
            ["--tls --tls-ca /nowhere"] = "cannot read the certificates in /nowhere: No such file or directory",
            ["--tls --tls-cert /nowhere"] = "cannot read the certificate in /nowhere: No such file or directory",
        }) do
            local code, _, err = load(words)
            assert.equal(64, code)
            assert.equal("slate-load: " .. why .. "\n", err)
        end
        local code, _, err = load("--timeout 300 --server 127.0.0.1:" .. port())
        assert.equal(69, code)
        assert.matches("^slate%-load: no reply to 'version' from [^\n]*\n$", err)
        local plain = server.start({ transport = "tcp" })
        finally(function() plain:stop() end)
        code, _, err = load("--timeout 300 --server tls://" .. plain.address)
        assert.equal(69, code)
        assert.matches("^slate%-load: cannot agree on TLS with [^\n]*\n$", err)
    end)

    it("gets the trusted authorities from slatectl bench", function()
        local shape = ("slatectl -s tls://localhost:%s bench --requests 10"):format(port())
        assert.equal(0, (runner.shell(("SLATE_TLS_CA=%s/ca.pem %s"):format(folder, shape))))
        assert.equal(69, (runner.shell(("SLATE_TLS_CA=%s/other-ca.pem %s"):format(folder, shape))))
    end)
end)
