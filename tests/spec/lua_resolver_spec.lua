-- SPDX-License-Identifier: BSD-3-Clause
-- The resolver of servers: all addresses of a name, and files of servers.
local addresses = require "slate.wire.addresses"
local command = require "support.command"
local dkjson = require "dkjson"
local lists = require "slate.wire.lists"
local server = require "support.server"
local tui = require "tui"

describe("servers by name", function()
    local NO_NAME <const> = ("a"):rep(64) .. ".test" -- longer than a label may be: no name server gets a query

    local function expand(word, found, problem)
        local servers, message, code = lists.servers(lists.parse(word), { addresses = function(host)
            assert.equal("c.test", host)
            return found, problem
        end })
        local names = {}
        for i, one in ipairs(servers or {}) do names[i] = one.name end
        return servers and table.concat(names, " "), message, code
    end

    it("are all addresses of a dns: name, each once, of both families", function()
        assert.equal("127.0.0.1:1 127.0.0.3:1 [::1]:1",
            (expand("dns:c.test:1", { "::1", "127.0.0.3", "127.0.0.1", "127.0.0.3" })))
        assert.same({ nil, "cannot look up c.test: it has no address", "connect" }, { expand("dns:c.test:1", {}) })
        assert.same({ nil, "cannot look up c.test: try again", "connect" }, { expand("dns:c.test", nil, "try again") })
    end)

    it("are looked up by the system, of slatectl and slatetop alike", function()
        local one, ctl = server.start({ transport = "tcp", args = { "-m", "16" } }), command.new()
        finally(function()
            one:stop()
            ctl.remove()
        end)
        local word, slatetop = one.address:gsub("127.0.0.1", "dns:localhost"), ctl.root .. "/build/bin/slatetop"
        local _, out = ctl.run("-s " .. word .. " fleet --interval 0 --json") -- not each address has a server
        local found = {}
        for _, row in ipairs(dkjson.decode(out).servers) do
            found[row.server] = row.version ~= nil
        end
        assert.is_true(found[one.address], out)
        _, out = ctl.shell(slatetop .. " -b -n 1 -j -s " .. word)
        assert.truthy(out:find('"server":"' .. one.address .. '"', 1, true), out)
        local code, _, err = ctl.run("-s dns:" .. NO_NAME .. ":1 top")
        assert.equal(69, code, err)
        assert.truthy(err:find(("^slatectl: cannot look up %s: [^\n]+\n$"):format(NO_NAME)), err)
        for name, said in pairs({ ["dns:" .. NO_NAME .. ":1"] = "cannot look up " .. NO_NAME .. ": ",
            ["file:./nowhere"] = "cannot read ./nowhere: No such file or directory" }) do
            out, code = tui.batch(ctl.folder, "-b -n 1 -s " .. name)
            assert.equal(69, code)
            assert.truthy(out:find("slatetop: " .. said, 1, true), out)
        end
        ctl.refuses(64, "-s srv:_cache._tcp.test top", "'srv:_cache._tcp.test' is not a server")
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
        for i, one in ipairs(list or {}) do names[i] = one.name end
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

    it("that hold escape sequences are printed without them", function()
        local ctl = command.new()
        finally(ctl.remove)
        server.write_file(ctl.folder .. "/fleet", "ho\27]0;x\7st\127\xc2\x9b1m:1\n")
        local code, out, err = ctl.run("-s file:fleet classes")
        assert.equal(74, code)
        assert.equal("", out)
        assert.equal("slatectl: fleet, line 1: 'ho?]0;x?st??1m:1' is not a server: write host:port, [v6address]:port, "
            .. "/path/to.sock, tls://host:port, dns:name:port or file:path\n", err)
        local recording = '{"schema":"slate/snapshot/1","time_s":%d,"server":"\\u001b]0;x\\u0007","general":{},'
            .. '"classes":[]}\n'
        server.write_file(ctl.folder .. "/day", recording:format(1) .. recording:format(2))
        for words, want in pairs({ ["file:" .. ctl.folder .. "/fleet"] = "'ho?]0;x?st??1m:1' is not",
            ["--replay " .. ctl.folder .. "/day"] = "?]0;x?" }) do
            local told = tui.batch(ctl.folder, "-b -n 1 " .. words)
            assert.falsy(told:find("[%z\1-\9\11-\31\127]"), told)
            assert.truthy(told:find(want, 1, true), told)
        end
    end)
end)
