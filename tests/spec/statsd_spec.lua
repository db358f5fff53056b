-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl export statsd: metrics as lines of StatsD, in datagrams.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local families = require "slate.cli.families"
local server = require "support.server"
local socket = require "socket"
local statsd = require "slate.cli.statsd"

describe("lines of StatsD", function()
    local function round(counter, gauge)
        local into = families.new()
        into:add("gets_total", "counter", "gets", { { "server", 'a|b "x",\\y:1' }, { "slab", 5 } }, counter)
        into:add("used", "gauge", "used", nil, gauge)
        return into
    end

    it("tell gauges, and by how much counters grew, with labels as tags", function()
        local lines, seen = statsd.lines(round(100, 0.25))
        assert.same({ "used:0.25|g" }, lines)
        lines, seen = statsd.lines(round(107, 0.5), seen)
        assert.same({ 'gets_total:7|c|#server:a_b "x"_\\y_1,slab:5', "used:0.5|g" }, lines)
        lines, seen = statsd.lines(round(107, -3), seen)
        assert.same({ "used:0|g", "used:-3|g" }, lines)
        assert.same({ 'gets_total:4|c|#server:a_b "x"_\\y_1,slab:5', "used:1|g" }, (statsd.lines(round(4, 1), seen)))
    end)

    it("go into datagrams of bounded size, in their order", function()
        local lines = {}
        for i = 1, 200 do
            lines[i] = ("name_%d:%s|g"):format(i, ("1"):rep(i % 40))
        end
        local datagrams = statsd.datagrams(lines)
        assert.is_true(#datagrams > 1)
        for _, datagram in ipairs(datagrams) do
            assert.is_true(#datagram <= statsd.DATAGRAM_BYTES)
        end
        assert.equal(table.concat(lines, "\n"), table.concat(datagrams, "\n"))
        assert.same({}, statsd.datagrams({}))
    end)
end)

describe("slatectl export statsd", function()
    it("sends rounds of metrics to where it is told", function()
        local one = server.start({ args = { "-m", "16" } })
        local ctl = command.new({ server = one.address })
        local sink = assert(socket.udp())
        assert(sink:setsockname("127.0.0.1", 0))
        sink:settimeout(60)
        local _, port = sink:getsockname()
        local client = one:connect()
        ctl.shell(("slatectl export statsd --to 127.0.0.1:%s --interval 100ms --classes none >told 2>said & "
            .. "echo $! >pid"):format(port))
        local pid = tonumber(server.read_file(ctl.folder .. "/pid"))
        local has = {}
        for _ = 1, 5000 do
            client:get("none")
            for line in assert(sink:receive()):gmatch("[^\n]+") do
                assert.truthy(line:find("^[%w_]+:[%d.e+-]+|[gc]$") or line:find("^[%w_]+:[%d.e+-]+|[gc]|#[^|]+$"),
                    line)
                has[line:match("^[^:]+") .. line:match("|%l")] = true
            end
            if has["slate_get_misses_total|c"] and has["slate_up|g"] then
                break
            end
        end
        os.execute("kill " .. pid)
        for _ = 1, 6000 do
            if not server.is_running(pid) then
                break
            end
            socket.sleep(0.01)
        end
        client:close()
        sink:close()
        local code, _, err = ctl.run("export statsd --to a/b")
        assert.equal(64, code, err)
        assert.equal(0, (ctl.run("export statsd --to 127.0.0.1:1 --interval 50ms --for 150ms")))
        ctl.remove()
        one:stop()
        assert.is_true(has["slate_get_misses_total|c"] and has["slate_up|g"])
    end)
end)
