-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl fleet endpoint: which servers make up the cache, told to clients as the endpoint of a hosted cache tells it.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local server = require "support.server"
local socket = require "socket"

describe("slatectl fleet endpoint", function()
    local ctl, pid, port

    local function write_fleet(text)
        server.write_file(ctl.folder .. "/fleet.new", text)
        os.rename(ctl.folder .. "/fleet.new", ctl.folder .. "/fleet")
    end

    local function said()
        return server.read_file(ctl.folder .. "/said") or ""
    end

    setup(function()
        ctl = command.new()
        write_fleet("127.0.0.1:11211\n127.0.0.2:11311\n")
        ctl.shell("slatectl -s file:fleet fleet endpoint --listen :0 >told 2>said & echo $! >pid")
        pid = tonumber(server.read_file(ctl.folder .. "/pid"))
        for _ = 1, 6000 do
            port = said():match("on 127%.0%.0%.1:(%d+)\n")
            if port or not server.is_running(pid) then
                break
            end
            socket.sleep(0.01)
        end
        assert(port, said())
    end)
    teardown(function()
        os.execute("kill " .. pid)
        ctl.remove()
    end)

    local function connect()
        local peer = assert(socket.connect("127.0.0.1", tonumber(port)))
        peer:settimeout(60)
        return peer
    end

    -- What comes for `config get cluster`: the number and the nodes, of an answer that is as long as it says.
    local function configuration(peer, line, head)
        assert(peer:send((line or "config get cluster") .. "\r\n"))
        local length = assert(peer:receive()):match("^" .. (head or "CONFIG cluster 0") .. " (%d+)$")
        local text = assert(peer:receive(tonumber(length)))
        assert.equal("", peer:receive())
        assert.equal("END", peer:receive())
        local number, nodes = text:match("^(%d+)\n([^\n]+)\n$")
        return tonumber(number), nodes
    end

    it("answers many clients at once, the old way and the new", function()
        local one, other = connect(), connect()
        local number, nodes = configuration(one)
        assert.equal("127.0.0.1|127.0.0.1|11211 127.0.0.2|127.0.0.2|11311", nodes)
        assert.is_true(number > 1700000000)
        assert.same({ number, nodes }, { configuration(other, "get AmazonElastiCache:cluster",
            "VALUE AmazonElastiCache:cluster 0") })
        assert.same({ number, nodes }, { configuration(one) })
        for line, wanted in pairs({ version = "VERSION 1.4.14", nonsense = "ERROR", ["get a"] = "END",
            ["config get other"] = "END" }) do
            one:send(line .. "\r\n")
            assert.equal(wanted, one:receive())
        end
        one:send("version\nversion\r\nquit\r\n")
        assert.equal("VERSION 1.4.14", one:receive())
        assert.equal("VERSION 1.4.14", one:receive())
        assert.equal("closed", select(2, one:receive()))
        assert.equal(nodes, select(2, configuration(other)))
        other:close()
    end)

    it("follows the file with a number that grows, and stays what it was while that cannot be read", function()
        local peer = connect()
        local number = configuration(peer)
        write_fleet("10.0.0.9:1\n")
        local later, nodes
        for _ = 1, 600 do -- it is looked at again after a second
            later, nodes = configuration(peer)
            if later ~= number then
                break
            end
            socket.sleep(0.1)
        end
        assert.is_true(later > number)
        assert.equal("10.0.0.9|10.0.0.9|1", nodes)
        for _, text in ipairs({ "what is this\n:", "/run/a.sock\n" }) do
            write_fleet(text)
            local before = said()
            for _ = 1, 600 do
                assert.same({ later, nodes }, { configuration(peer) })
                if said() ~= before then
                    break
                end
                socket.sleep(0.1)
            end
            assert.truthy(said():find("; the cluster stays that of before\n$"), said())
        end
        peer:close()
    end)

    it("hangs up on who sends what is no line, and serves the others", function()
        local hostile, peer = connect(), connect()
        hostile:send(("x"):rep(5000))
        assert.is_nil((hostile:receive()))
        hostile:close()
        assert.truthy(configuration(peer))
        peer:close()
    end)

    it("prints what it would tell with --once, and says why there is nothing to tell", function()
        assert.truthy(ctl.succeed("fleet endpoint --once 127.0.0.1:5"):find("^%d+\n127%.0%.0%.1|127%.0%.0%.1|5\n$"))
        local code, _, err = ctl.run("fleet endpoint --once /run/x.sock")
        assert.equal(74, code)
        assert.equal("slatectl: there is nothing to tell: /run/x.sock cannot be told to clients: a node is a host and "
            .. "a port\n", err)
        assert.equal(64, (ctl.run("fleet endpoint --listen a/b")))
    end)
end)
