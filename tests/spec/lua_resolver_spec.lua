-- SPDX-License-Identifier: BSD-3-Clause
-- Where servers are looked up: SRV records and addresses of a name server on loopback, and files of servers.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local addresses = require "slate.wire.addresses"
local command = require "support.command"
local dkjson = require "dkjson"
local dns = require "slate.wire.dns"
local server = require "support.server"

describe("an answer of a name server", function()
    local QUESTION <const> = "\1a\4test\0\0\33\0\1"

    local function message(flags, records, count)
        return (">I2I2I2I2I2I2"):pack(7, flags, 1, count or 1, 0, 0) .. QUESTION .. records
    end

    local function record(data, type_of)
        return "\xC0\x0C" .. (">I2I2I4s2"):pack(type_of or 33, 1, 60, data)
    end

    it("is read, with names that point back, and other types passed over", function()
        local list, cut = dns.read(message(0x8180, record("\xC0\x0C", 5)
            .. record((">I2I2I2"):pack(1, 2, 11211) .. "\1b\xC0\x0E"), 2), 7, QUESTION, "SRV")
        assert.same({ { priority = 1, weight = 2, port = 11211, host = "b.test" } }, list)
        assert.is_false(cut)
        list, cut = dns.read(message(0x8380, "", 0), 7, QUESTION, "SRV")
        assert.same({}, list)
        assert.is_true(cut)
    end)

    it("is refused when it is another's, or damaged anywhere", function()
        local good = message(0x8180, record((">I2I2I2"):pack(1, 2, 11211) .. "\1b\xC0\x0E"))
        assert.truthy(dns.read(good, 7, QUESTION, "SRV"))
        assert.is_nil((dns.read(good, 8, QUESTION, "SRV")))
        assert.is_nil((dns.read(good, 7, "\1b\4test\0\0\33\0\1", "SRV")))
        for length = 0, #good - 1 do
            assert.is_nil((dns.read(good:sub(1, length), 7, QUESTION, "SRV")), length)
        end
        assert.is_nil((dns.read(message(0x0180, ""), 7, QUESTION, "SRV")))
        local head = (">I2I2I2"):pack(1, 1, 1)
        for _, data in ipairs({ "", "\0\1", head .. "\xC0\xFF", head .. "\x41a",
            head .. "\xC0" .. string.char(12 + #QUESTION + 12 + 6) }) do
            local list, problem = dns.read(message(0x8180, record(data)), 7, QUESTION, "SRV")
            assert.is_nil(list)
            assert.equal("the answer is damaged", problem)
        end
    end)

    it("never breaks the reader, whatever its bytes are", function()
        local seed = tonumber(os.getenv("SEED")) or os.time()
        print("# SEED=" .. seed)
        math.randomseed(seed)
        local good = message(0x8180, record((">I2I2I2"):pack(1, 2, 11211) .. "\1b\xC0\x0E"))
        for _ = 1, 5000 do
            local bytes = { good:byte(1, -1) }
            for _ = 1, math.random(1, 4) do
                bytes[math.random(#bytes)] = math.random(0, 255)
            end
            dns.read(string.char(table.unpack(bytes)), 7, QUESTION, "SRV")
        end
    end)
end)

describe("servers by name", function()
    local one, ctl, pid, at

    setup(function()
        ctl = command.new()
        one = server.start({ transport = "tcp", args = { "-m", "16" } })
        pid = tonumber(server.capture(("exec lua5.4 %s/tests/spec/support/nameserver.lua %s/port %s </dev/null "
            .. ">/dev/null 2>%s/said & echo $!"):format(server.quoted(ctl.root), ctl.folder, one.address:match("%d+$"),
            ctl.folder)))
        for _ = 1, 6000 do
            at = server.read_file(ctl.folder .. "/port")
            if at or not server.is_running(pid) then
                break
            end
            require("slate.base.clock").sleep(0.01)
        end
        at = "127.0.0.1:" .. assert(at, server.read_file(ctl.folder .. "/said"))
    end)
    teardown(function()
        os.execute("kill " .. pid)
        one:stop()
        ctl.remove()
    end)

    local function shell(line)
        return ctl.shell(("export SLATE_RESOLVER=%s\n%s"):format(at, line))
    end

    local function servers_of(line)
        local code, out, err = shell("slatectl " .. line .. " fleet --interval 0 --json")
        local names = {}
        for i, row in ipairs(code <= 1 and dkjson.decode(out).servers or {}) do
            names[i] = row.server
        end
        table.sort(names)
        return code <= 1 and table.concat(names, " ") or err
    end

    it("are those of its SRV records, and what is asked there answers", function()
        local port = one.address:match("%d+$")
        assert.equal(("127.0.0.1:%s 127.0.0.1:%s 127.0.0.2:%s"):format(port, port, port),
            servers_of("-s srv:_cache._tcp.test"))
        local code, out = shell("slatectl -s srv:_one._tcp.test settings maxbytes --json")
        assert.equal(0, code)
        assert.equal(one.address, dkjson.decode(out).server)
    end)

    it("come in the order of priority and weight, and by TCP where a datagram is too small", function()
        local script = "local r = require 'slate.wire.resolver' for _, s in ipairs(assert(r.services(arg[1]))) do "
            .. "print(s.host, s.priority) end"
        server.write_file(ctl.folder .. "/services.lua", script)
        local run = ("LUA_PATH='%s/lua/?.lua;;' lua5.4 services.lua "):format(ctl.root)
        local code, out, err = shell(run .. "_cache._tcp.test")
        assert.equal(0, code, err)
        assert.equal("a.test\t10\nb.test\t10\nc.test\t20\n", out)
        code, out, err = shell(run .. "_many._tcp.test")
        assert.equal(0, code, err)
        assert.equal(40, select(2, out:gsub("host%-with%-a%-long%-name%-%d+%.example%.test", "")))
    end)

    it("are all addresses of a dns: name, of both families", function()
        assert.equal("127.0.0.1:1 127.0.0.3:1 [0:0:0:0:0:0:0:1]:1", servers_of("-s dns:c.test:1"))
    end)

    it("are those that slatetop watches, too", function()
        local port, slatetop = one.address:match("%d+$"), server.quoted(ctl.root .. "/build/bin/slatetop")
        local code, out, err = shell(slatetop .. " -b -n 1 -j -s srv:_one._tcp.test")
        assert.equal(0, code, err)
        assert.equal("127.0.0.1:" .. port, dkjson.decode(out).server)
        code, out, err = shell(slatetop .. " -b -n 1 -j -s srv:_cache._tcp.test")
        local names = {}
        for line in out:gmatch("[^\n]+") do
            names[#names + 1] = dkjson.decode(line).server
        end
        table.sort(names)
        assert.equal(("127.0.0.1:%s"):format(port), names[1], err)
        assert.truthy(code == 0 or code == 69, code) -- the server does not listen at the other address
        for name, wanted in pairs({ ["srv:none.test"] = "cannot look up none.test: there is no such name",
            ["srv:_ends._tcp.test"] = "cannot look up _ends._tcp.test: the answer is damaged",
            ["file:./nowhere"] = "cannot read ./nowhere: No such file or directory" }) do
            local status, _, words = shell(slatetop .. " -b -n 1 -s " .. name)
            assert.equal(69, status, words)
            assert.equal("slatetop: " .. wanted .. "\n", words)
        end
    end)

    it("are refused in one line when they cannot be looked up", function()
        for name, wanted in pairs({ ["srv:none.test"] = "cannot look up none.test: there is no such name",
            ["srv:a.test"] = "cannot look up a.test: it has no SRV records",
            ["srv:refused.test"] = "cannot look up refused.test: the name server refused (status 5)",
            ["srv:_loop._tcp.test"] = "cannot look up _loop._tcp.test: the answer is damaged",
            ["srv:_ends._tcp.test"] = "cannot look up _ends._tcp.test: the answer is damaged",
            ["srv:_odd._tcp.test"] = "cannot look up a b.test: there is no such name",
            ["dns:none.test:1"] = "cannot look up none.test: there is no such name" }) do
            local code, _, err = shell("slatectl top -s " .. name)
            assert.equal(69, code, err)
            assert.equal("slatectl: " .. wanted .. "\n", err)
        end
        assert.equal(64, (shell("slatectl top -s 'srv:a b'")))
        local code, _, err = ctl.shell("SLATE_RESOLVER=127.0.0.1:1 slatectl -s srv:a.test top")
        assert.equal(69, code)
        assert.equal("slatectl: cannot look up a.test: no name server answers\n", err)
    end)
end)

describe("servers of a file", function()
    local folder

    setup(function() folder = server.folder() end)
    teardown(function() server.remove_folder(folder) end)

    local function expand(text)
        server.write_file(folder .. "/fleet", text)
        local list, message, code = addresses.expand({ assert(addresses.parse("first:1,file:" .. folder .. "/fleet")) })
        local names = {}
        for i, one in ipairs(list or {}) do
            names[i] = one.name
        end
        return list and table.concat(names, " "), message and message:gsub("^.*/fleet", "fleet"), code
    end

    it("are a line each, as slatectl and nutcracker write them", function()
        assert.equal("first:1 10.0.0.1:11211 10.0.0.2:11212 [::1]:3 tls://a:4 /run/b.sock",
            expand("# the east\n10.0.0.1\n\n - 10.0.0.2:11212:1 east-2 # the other\n[::1]:3\ntls://a:4\n/run/b.sock:2"))
    end)

    it("are refused with file and line", function()
        assert.same({ nil, "fleet, line 2: 'b:99999' names port 99999: ports go from 1 to 65535", "input" },
            { expand("a:1\nb:99999\n") })
        assert.same({ nil, "fleet names no server", "input" }, { expand("# none\n") })
        assert.same({ nil, "fleet has more than 1048576 bytes: that is no list of servers", "input" },
            { expand(("a\n"):rep(1 << 20)) })
        assert.same({ nil, "fleet, line 1: '/tmp/?[2J' is not a server: a path has no control characters", "input" },
            { expand("/tmp/\27[2J\n") })
        local _, message, code = addresses.expand({ assert(addresses.parse("file:" .. folder)) })
        assert.equal("input", code)
        assert.truthy(message:find("^cannot read "), message)
        _, message = addresses.expand({ assert(addresses.parse("file:./nowhere")) })
        assert.equal("cannot read ./nowhere: No such file or directory", message)
    end)

    it("that hold what a terminal obeys are told without it", function()
        local ctl = command.new()
        finally(ctl.remove)
        server.write_file(ctl.folder .. "/fleet", "ho\27]0;x\7st\127\xc2\x9b1m:1\n")
        local code, out, err = ctl.run("-s file:fleet classes")
        assert.equal(74, code)
        assert.equal("", out)
        assert.equal("slatectl: fleet, line 1: 'ho?]0;x?st??1m:1' is not a server: write host:port, [v6address]:port "
            .. "or /path/to.sock\n", err)
        local recording = '{"schema":"slate/snapshot/1","time_s":%d,"server":"\\u001b]0;x\\u0007","general":{},'
            .. '"classes":[]}\n'
        server.write_file(ctl.folder .. "/day", recording:format(1) .. recording:format(2))
        for words, want in pairs({ ["file:fleet"] = "'ho?]0;x?st???1m:1' is not", ["--replay day"] = "?]0;x?" }) do
            local _, told, said = ctl.shell(ctl.root .. "/build/bin/slatetop -b -n 1 " .. words)
            assert.falsy((told .. said):find("[%z\1-\9\11-\31\127]"), told .. said)
            assert.truthy((told .. said):find(want, 1, true), told .. said)
        end
    end)
end)
