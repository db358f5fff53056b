-- SPDX-License-Identifier: BSD-3-Clause
local client = require "slate.wire.client"
local script_transport = require "support.script_transport"
local server = require "support.server"

local function scripted(script, options)
    local transport = script_transport.new(script)
    return client.new(transport, options), transport
end

describe("client", function()
    it("gives an item, or false where there is none", function()
        local one = scripted({
            { "gets a\r\n", "VALUE a 5 3 18446744073709551615\r\nx\r\n\r\nEND\r\n" }, { "gets b\r\n", "END\r\n" },
        })
        assert.same({ value = "x\r\n", flags = 5, cas = "18446744073709551615" }, one:get("a"))
        assert.is_false(one:get("b"))
    end)

    it("distinguishes a no from an error", function()
        local one = scripted({
            { "add k 0 0 1\r\nv\r\n", "NOT_STORED\r\n" },
            { "set k 0 0 1\r\nv\r\n", "SERVER_ERROR object too large for cache\r\n" },
            { "delete k\r\n", "NOT_FOUND\r\n" },
            { "bogus\r\n", "ERROR\r\n" },
        })
        local stored, word = one:set("k", "v", { mode = "add" })
        assert.is_false(stored)
        assert.equal("NOT_STORED", word)
        local ok, message, code = one:set("k", "v")
        assert.is_nil(ok)
        assert.equal("server", code)
        assert.truthy(message:find("object too large", 1, true))
        assert.is_false(one:delete("k"))
        assert.equal("ERROR", one:command("bogus"))
    end)

    it("sends nothing for a key that no server takes", function()
        local one, transport = scripted({})
        for _, key in ipairs({ "", "a b", "a\r\nflush_all", ("k"):rep(251), "\0" }) do
            local item, _, code = one:get(key)
            assert.is_nil(item)
            assert.equal("usage", code)
            assert.equal("usage", select(3, one:set(key, "v")))
            assert.equal("usage", select(3, one:meta("mg", key)))
        end
        assert.equal("usage", select(3, one:command("version\r\nflush_all")))
        assert.equal("usage", select(3, one:stats("x\r\nflush_all")))
        assert.same({}, transport.log)
    end)

    it("ends the connection after a time-out, and says so ever after", function()
        local one, transport = scripted({ { "version\r\n", nil } })
        local line, message, code = one:command("version")
        assert.is_nil(line)
        assert.equal("timeout", code)
        assert.is_true(transport.closed)
        assert.same({ nil, message, "timeout" }, { one:command("version") })
        assert.equal(1, #transport.log)
    end)

    it("sends many groups at once and names the refused ones", function()
        local one, transport = scripted({ {
            "stats\r\nstats slabs\r\nstats nonsense\r\nstats items\r\n",
            "STAT pid 1\r\nEND\r\nEND\r\nERROR\r\nSTAT items:1:age 2\r\nEND\r\n",
        } })
        local found, refused = one:stats_groups({ "", "slabs", "nonsense", "items" })
        assert.same({ [""] = { "STAT pid 1" }, slabs = {}, items = { "STAT items:1:age 2" } }, found)
        assert.equal("unsupported", refused.nonsense[2])
        assert.equal(1, #transport.log)
    end)

    it("knows slated from memcached", function()
        local stock = scripted({ { "version\r\nstats slated\r\n", "VERSION 1.6.18\r\nERROR\r\n" } })
        assert.same({ version = "1.6.18" }, stock:identify())
        local ours = scripted({ {
            "version\r\nstats slated\r\n", "VERSION 1.6.45\r\nSTAT slated_version 0.1.0\r\nSTAT store heap\r\nEND\r\n",
        } })
        assert.same({ version = "1.6.45", slated = "0.1.0", store = "heap" }, ours:identify())
    end)

    it("says that a server is no cache server", function()
        local one, transport = scripted({ { "version\r\nstats slated\r\n", "HTTP/1.1 400 Bad Request\r\n" } })
        local who, message, code = one:identify()
        assert.is_nil(who)
        assert.equal("protocol", code)
        assert.truthy(message:find("HTTP/1.1 400", 1, true))
        assert.is_true(transport.closed)
    end)

    it("names the requirement of a server that refuses", function()
        for said, expected in pairs({
            ["CLIENT_ERROR unauthenticated"] = { "the server wants a login", "refused" },
            ["ERROR Too many open connections"] = { "as many connections as it may", "busy" },
        }) do
            local one, transport = scripted({ { "version\r\nstats slated\r\n", said .. "\r\n" } })
            local who, message, code = one:identify()
            assert.is_nil(who)
            assert.truthy(message:find(expected[1], 1, true), message)
            assert.equal(expected[2], code)
            assert.is_true(transport.closed)
        end
    end)

    it("refuses meta flags that would hide the reply", function()
        local one, transport = scripted({})
        assert.equal("usage", select(3, one:meta("mg", "k", { "q" })))
        assert.equal("usage", select(3, one:meta("mg", "k", { "v\r\nflush_all" })))
        assert.same({}, transport.log)
    end)

    it("says in words that it cannot connect", function()
        local folder = server.folder()
        local one, message, code = client.connect(folder .. "/nobody", { timeout_s = 1 })
        server.remove_folder(folder)
        assert.is_nil(one)
        assert.equal("connect", code)
        assert.truthy(message:find("^cannot connect to .*/nobody: "), message)
        assert.equal("usage", select(3, client.connect("a b")))
    end)
end)

describe("a reply", function()
    -- After each of these replies to `gets a` the meaning of the next byte is unknown.
    local BROKEN <const> = {
        ["an item that was not asked for"] = "VALUE b 0 1 1\r\nx\r\nEND\r\n",
        ["an item that comes twice"] = "VALUE a 0 1 1\r\nx\r\nVALUE a 0 1 1\r\nx\r\nEND\r\n",
        ["a value longer than it was said to be"] = "VALUE a 0 1 1\r\nxy\r\nEND\r\n",
        ["a value that is announced as too long"] = "VALUE a 0 1001 1\r\n",
        ["a value whose length is no number of this world"] = "VALUE a 0 99999999999999999999 1\r\n",
        ["a line that is no answer"] = "HELLO\r\n",
    }
    for what, reply in pairs(BROKEN) do
        it("with " .. what .. " closes the connection, and every later call says so", function()
            local one, transport = scripted({ { "gets a\r\n", reply } }, { max_value_bytes = 1000 })
            local item, message, code = one:get("a")
            assert.is_nil(item)
            assert.equal("protocol", code)
            assert.is_true(transport.closed)
            assert.same({ nil, message, "protocol" }, { one:get("a") })
            assert.equal(1, #transport.log)
        end)
    end

    it("that is no answer to a store or a meta command closes the connection", function()
        local calls = {
            { "set a 0 0 1\r\nx\r\n", "VALUE\r\n", function(one) return one:set("a", "x") end },
            { "mg a v\r\n", "VA x\r\n", function(one) return one:meta("mg", "a", { "v" }) end },
            { "mg a v\r\n", "VA 1\r\nxyz", function(one) return one:meta("mg", "a", { "v" }) end },
            { "mg a\r\n", "hello\r\n", function(one) return one:meta("mg", "a") end },
        }
        for _, row in ipairs(calls) do
            local one, transport = scripted({ { row[1], row[2] } })
            assert.equal("protocol", select(3, row[3](one)), row[2])
            assert.is_true(transport.closed)
        end
    end)

    it("to stats ends at a limit", function()
        local one = scripted({ { "stats\r\n", ("STAT a 1\r\n"):rep(30) } })
        local limit = client.MAX_STATS_LINES
        client.MAX_STATS_LINES = 20
        local lines, _, code = one:stats()
        client.MAX_STATS_LINES = limit
        assert.is_nil(lines)
        assert.equal("protocol", code)
    end)
end)

describe("a request", function()
    it("with a number that is none is not sent", function()
        local one, transport = scripted({})
        for _, call in ipairs({
            function() return one:set("a", "x", { ttl_s = 1.5 }) end,
            function() return one:set("a", "x", { flags = -1 }) end,
            function() return one:set("a", "x", { mode = "cas", cas = "1\r\nflush_all" }) end,
            function() return one:set("a", 5) end,
            function() return one:flush_all("now") end,
            function() return one:meta("flush_all", "a") end,
        }) do
            assert.equal("usage", select(3, call()))
        end
        assert.same({}, transport.log)
    end)

    it("may have a time-out of its own", function()
        local deadlines = {}
        local transport = script_transport.new({ { "gets a\r\n", "END\r\n" }, { "gets a\r\n", "END\r\n" } })
        local receive = transport.receive_line
        function transport:receive_line(deadline_s)
            deadlines[#deadlines + 1] = deadline_s
            return receive(self, deadline_s)
        end
        local one = client.new(transport, { timeout_s = 1000 })
        local now_s = require("slate.base.clock").steady_s()
        one:get("a")
        one:get("a", { timeout_s = 1 })
        assert.truthy(deadlines[1] - now_s > 900)
        assert.truthy(deadlines[2] - now_s < 900)
    end)
end)

for _, kind in ipairs(server.both()) do
    describe("client against " .. kind.name, function()
        local one, c

        setup(function()
            one = server.start({ binary = kind.binary, transport = not kind.is_slated and "tcp" or nil,
                args = { "-m", "16" } })
            c = one:connect()
        end)
        teardown(function()
            c:close()
            one:stop()
        end)

        it("stores, reads, compares and deletes", function()
            assert.is_true(c:set("a", "1", { flags = 7 }))
            assert.is_false(c:set("a", "2", { mode = "add" }))
            assert.is_true(c:set("a", "0", { mode = "append" }))
            local item = c:get("a")
            assert.same({ "10", 7 }, { item.value, item.flags })
            assert.is_true(c:set("a", "new", { mode = "cas", cas = item.cas }))
            assert.same({ false, "EXISTS" }, { c:set("a", "newer", { mode = "cas", cas = item.cas }) })
            assert.is_true(c:delete("a"))
            assert.is_false(c:delete("a"))
            assert.is_false(c:get("a"))
            assert.is_true(c:flush_all())
        end)

        it("speaks the meta protocol, and goes on after an error reply", function()
            assert.equal("HD", c:meta("ms", "m", { "T60" }, "hello").status)
            assert.same({ status = "VA", value = "hello", flags = { "s5" } }, c:meta("mg", "m", { "v", "s" }))
            assert.equal("EN", c:meta("mg", "none", { "v" }).status)
            assert.equal("NF", c:meta("md", "none").status)
            assert.equal("MN", c:meta("mn").status)
            assert.equal("usage", (select(3, c:delete("a b"))))
            assert.equal("refused", (select(3, c:meta("ma", "m"))))
            assert.equal("hello", c:get("m").value)
        end)

        it("names the server, and notices that the server has gone", function()
            local who = c:identify()
            assert.truthy(who.version:find("^%d+%.%d+"))
            assert.equal(kind.is_slated, who.slated ~= nil)
            one:stop()
            local line, message, code = c:command("version")
            assert.is_nil(line)
            assert.equal("closed", code)
            assert.is_string(message)
        end)
    end)
end
