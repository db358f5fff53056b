-- SPDX-License-Identifier: BSD-3-Clause
-- slated --probe: the exit status is 0 for a server that lives.
local certificates = require "support.certificates"
local patience = require "support.patience"
local server = require "support.server"
local socket = require "socket"
local wire = require "support.wire"

-- Status, and output.
local function probe(words, environment)
    local code, out, err = server.run_slated("--probe" .. words, environment)
    return code, out .. err
end

describe("slated --probe", function()
    it("succeeds if a server answers, over TCP and a UNIX socket", function()
        for _, transport in ipairs({ "unix", "tcp" }) do
            local one = server.start({ transport = transport })
            finally(function() one:stop() end)
            local code, said = probe(" " .. one.address)
            assert.equal(0, code, said)
            assert.equal(one.address .. " answers: VERSION 1.6.45\n", said)
            assert.equal(0, (probe("=" .. one.address)))
            one:stop()
            code, said = probe(" " .. one.address)
            assert.equal(1, code)
            assert.truthy(said:find("^slated: no answer from "), said)
        end
    end)

    it("takes a word with a slash for the path of a socket, also of this folder", function()
        local one = server.start({ transport = "unix" })
        finally(function() one:stop() end)
        local folder, name = one.address:match("^(.*)/([^/]+)$")
        for _, path in ipairs({ "./" .. name, "../" .. folder:match("[^/]+$") .. "/" .. name }) do
            local said = server.capture(("cd %s && %s --probe %s 2>&1"):format(server.quoted(folder),
                server.quoted(server.capture("realpath " .. server.slated())), path))
            assert.equal(path .. " answers: VERSION 1.6.45", (said:gsub("\n$", "")))
        end
        local code, said = probe(" ./none")
        assert.equal(1, code)
        assert.equal("slated: no answer from ./none: No such file or directory\n", said)
    end)

    it("takes a server for alive that wants a password, or is full", function()
        local folder = server.folder()
        server.write_file(folder .. "/users", "anna:secret\n")
        local locked = server.start({ transport = "tcp", args = { "-Y", folder .. "/users" } })
        local full = server.start({ transport = "tcp", args = { "-c", "1" } })
        finally(function()
            locked:stop()
            full:stop()
            server.remove_folder(folder)
        end)
        local code, said = probe(" " .. locked.address)
        assert.equal(0, code, said)
        assert.truthy(said:find("unauthenticated", 1, true), said)
        local only
        patience.wait_for("the connection by which the server was started to go", function()
            only = wire.connect(full.address)
            local asked, line = pcall(wire.ask, only, "version")
            return asked and line == "VERSION 1.6.45" or only:close() == nil
        end)
        code, said = probe(" " .. full.address)
        assert.equal(0, code, said)
        assert.truthy(said:find("Too many open connections", 1, true), said)
        only:close()
    end)

    it("speaks TLS with its option, and shows a certificate where the server requires one", function()
        if not certificates.available() then
            pending("there is no openssl to make a certificate")
            return
        end
        local folder = server.folder()
        for _, made in ipairs({ { "ca" }, { "one", "ca" }, { "ours", "ca" } }) do
            certificates.make(folder, made[1], made[2])
        end
        assert(os.execute(("cd %s && cat ours.pem ours.key >both.pem"):format(folder)))
        local one = server.start({ transport = "tcp", tls = { verify = false }, args = { "-Z", "-o",
            ("ssl_chain_cert=%s/one.pem,ssl_key=%s/one.key,ssl_ca_cert=%s/ca.pem"):format(folder, folder, folder),
            "-l", "mtls:127.0.0.2" } })
        finally(function()
            one:stop()
            server.remove_folder(folder)
        end)
        assert.same({ 0, 1 }, { (probe(" " .. one.address)), (probe(" " .. one.address:gsub("^tls://", ""))) })
        local port = server.read_file(one.folder .. "/ports"):match("TCP INET: (%d+)") -- the last of -l
        local at = " tls://127.0.0.2:" .. port
        for _, words in ipairs({ " --tls-cert %s/ours.pem --tls-key %s/ours.key", " --tls-cert=%s/both.pem" }) do
            local code, said = probe(at .. words:gsub("%%s", folder))
            assert.equal(0, code, said)
        end
        local code, said = probe(at, ("SLATE_TLS_CERT=%s/ours.pem SLATE_TLS_KEY=%s/ours.key "):format(folder, folder))
        assert.equal(0, code, said)
        for words, why in pairs({ [""] = "no TLS with it: .*certificate", [" --tls-cert /nowhere"] =
            "our certificate in /nowhere cannot be used: No such file", [(" --tls-cert %s/ours.pem"):format(folder)] =
            "our key in .*/ours.pem cannot be used: ", [(" --tls-cert %s/ours.pem --tls-key %s/one.key"):format(folder,
            folder)] = "our key in .*/one.key cannot be used: key values mismatch" }) do
            code, said = probe(at .. words)
            assert.equal(1, code)
            assert.truthy(said:find(why), said)
        end
    end)

    it("gives up on a server that says nothing, or something else", function()
        local listener = assert(socket.bind("127.0.0.1", 0))
        finally(function() listener:close() end)
        local _, port = listener:getsockname()
        local code, said = probe(" 127.0.0.1:" .. port)
        assert.equal(1, code)
        assert.equal(("slated: no answer from 127.0.0.1:%d: it says nothing\n"):format(port), said)
        code, said = probe(" tls://127.0.0.1:" .. port)
        assert.equal(1, code, said)
    end)

    for words, why in pairs({ [""] = "--probe wants one address", [" a b"] = "--probe wants one address",
        ["="] = "--probe wants one address", [" a --tls-cert"] = "--tls-cert FILE", [" a -x"] = "nothing else" }) do
        it(("refuses '%s'"):format(words), function()
            local code, said = probe(words)
            assert.equal(64, code)
            assert.truthy(said:find(why, 1, true), said)
        end)
    end

    it("says why an address makes no sense", function()
        for address, why in pairs({ ["127.0.0.1:0"] = "a port must be", ["a,b"] = "it is not one address",
            ["/" .. ("x"):rep(200)] = "the path of a UNIX socket is shorter" }) do
            local code, said = probe(" " .. address)
            assert.equal(1, code)
            assert.truthy(said:find(why, 1, true), said)
        end
    end)
end)
