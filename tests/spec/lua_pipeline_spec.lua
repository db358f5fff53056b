-- SPDX-License-Identifier: BSD-3-Clause
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local client = require "slate.wire.client"
local script_transport = require "support.script_transport"
local server = require "support.server"

local function scripted(script, options)
    local transport = script_transport.new(script)
    return client.new(transport, options), transport
end

describe("pipeline", function()
    it("sends many requests at once and gives each its answer", function()
        local one, transport = scripted({ {
            "set a 0 0 1\r\n1\r\ngets a\r\ngets none\r\nincr a 1\r\ndelete none\r\nmg a v\r\n",
            "STORED\r\nVALUE a 0 1 7\r\n1\r\nEND\r\nEND\r\n2\r\nNOT_FOUND\r\nVA 1\r\n2\r\n",
        } })
        local results, errors = one:pipeline():set("a", "1"):get("a"):get("none"):incr("a"):delete("none")
            :meta("mg", "a", { "v" }):run()
        assert.same({ true, { value = "1", flags = 0, cas = "7" }, false, 2, false,
            { status = "VA", value = "2", flags = {} } }, results)
        assert.same({}, errors)
        assert.equal(1, #transport.log)
    end)

    it("gives a request that failed its own error, and the others their answers", function()
        local one = scripted({ { "incr a 1\r\ngets b\r\n", "CLIENT_ERROR no number\r\nEND\r\n" } })
        local results, errors = one:pipeline():incr("a"):get("a b"):get("b"):run()
        assert.is_nil(results[1])
        assert.equal("refused", errors[1][2])
        assert.is_nil(results[2])
        assert.equal("usage", errors[2][2])
        assert.is_false(results[3])
        assert.is_nil(errors[3])
    end)

    it("tells of every request behind a lost connection that it has no answer", function()
        local one, transport = scripted({ { "gets a\r\ngets b\r\ngets c\r\n", "END\r\nVALUE b 0 99" } })
        local results, errors = one:pipeline():get("a"):get("b"):get("c"):run()
        assert.is_false(results[1])
        assert.same({ nil, nil }, { results[2], results[3] })
        assert.same({ "timeout", "timeout" }, { errors[2][2], errors[3][2] })
        assert.is_true(transport.closed)
    end)

    it("is empty after a run, and running nothing sends nothing", function()
        local one, transport = scripted({ { "gets a\r\n", "END\r\n" } })
        local batch = one:pipeline():get("a")
        batch:run()
        assert.same({}, (batch:run()))
        assert.equal(1, #transport.log)
    end)
end)

describe("no-reply mode", function()
    it("gathers requests, asks for no replies and ends with a question that has one", function()
        local one, transport = scripted({ {
            "set a 0 0 1 noreply\r\n1\r\nincr a 1 noreply\r\ndelete b noreply\r\nversion\r\n", "VERSION 1.6.45\r\n",
        } })
        local quiet = one:quiet()
        assert.is_true(quiet:set("a", "1"))
        assert.is_true(quiet:incr("a"))
        assert.is_true(quiet:delete("b"))
        assert.equal(0, #transport.log)
        assert.is_true(quiet:finish())
    end)

    it("refuses what would be answered or what no server takes", function()
        local one, transport = scripted({})
        local quiet = one:quiet()
        assert.equal("usage", select(3, quiet:get("a")))
        assert.equal("usage", select(3, quiet:meta("mg", "a")))
        assert.equal("usage", select(3, quiet:set("a b", "1")))
        assert.same({}, transport.log)
    end)

    it("tells what the server said in spite of it", function()
        local one = scripted({ {
            "set a 0 0 1 noreply\r\n1\r\nversion\r\n", "CLIENT_ERROR bad\r\nERROR\r\nVERSION 1.6.45\r\n",
        } })
        local quiet = one:quiet()
        quiet:set("a", "1")
        local ok, message, code = quiet:finish()
        assert.is_nil(ok)
        assert.equal("refused", code)
        assert.truthy(message:find("CLIENT_ERROR bad (2 such lines)", 1, true), message)
    end)
end)

describe("a reply", function()
    -- Each is a reply to `gets a` after which nobody knows what the next byte belongs to.
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
            { "incr a 1\r\n", "-1\r\n", function(one) return one:incr("a") end },
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
            function() return one:touch("a", "soon") end,
            function() return one:incr("a", -1) end,
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

describe("any bytes at all as an answer", function()
    local PIECES <const> = {
        "\r\n", "\n", "END\r\n", "VALUE a 0 1 1\r\nx\r\n", "VALUE a 0 5", "STORED\r\n", "NOT_FOUND\r\n", "ERROR\r\n",
        "SERVER_ERROR out of memory\r\n", "VA 2 s2\r\nab\r\n", "HD\r\n", "EN\r\n", "VA \r\n", "12\r\n", "OK\r\n",
        "STAT x 1\r\n", "VERSION 1\r\n", "\0", "\255", " ", "VALUE a 0 -1 1\r\n", "RESET\r\n", "MN\r\n",
        "99999999999999999999\r\n",
    }
    local CODES <const> = { timeout = true, closed = true, protocol = true, unsupported = true, refused = true,
        busy = true, server = true }
    local CALLS <const> = {
        function(one) return one:get("a") end,
        function(one) return one:get_many({ "a", "b" }) end,
        function(one) return one:set("a", "x") end,
        function(one) return one:incr("a") end,
        function(one) return one:meta("mg", "a", { "v", "s" }) end,
        function(one) return one:stats("items") end,
        function(one) return one:identify() end,
        function(one) return one:quiet():finish() end,
        function(one)
            local results, errors = one:pipeline():get("a"):incr("a"):run()
            return results[1], errors[1] and errors[1][1], errors[1] and errors[1][2]
        end,
    }

    it("gives an answer, or nil and a message with a code, and never an error", function()
        local seed = tonumber(os.getenv("SEED")) or os.time()
        print("# SEED=" .. seed)
        math.randomseed(seed)
        for _ = 1, 3000 do
            local parts = {}
            for i = 1, math.random(0, 6) do
                parts[i] = PIECES[math.random(#PIECES)]
            end
            local transport = script_transport.new({})
            function transport:send() -- whatever is asked, the same is answered
                self.pending, self.ending = table.concat(parts), "closed"
                return true
            end
            local one = client.new(transport, { max_value_bytes = 100 })
            local result, message, code = CALLS[math.random(#CALLS)](one)
            if result == nil then
                assert.is_string(message)
                assert.is_true(CODES[code], tostring(code))
                if code == "timeout" or code == "closed" or code == "protocol" then
                    assert.is_true(transport.closed, message)
                end
            end
        end
    end)
end)

for _, kind in ipairs(server.all()) do
    for _, transport in ipairs({ "unix", "tcp" }) do
        describe(("many requests to %s over %s"):format(kind.name, transport), function()
            local one, c

            setup(function()
                one = server.start({ binary = kind.binary, transport = transport, args = { "-m", "64" } })
                c = one:connect()
            end)
            teardown(function()
                c:close()
                one:stop()
            end)

            it("come back in order, however large both sides are", function()
                -- Half a megabyte a value: neither side's buffers hold what the other sends.
                local value = ("v"):rep(500000)
                assert.is_true(c:set("big", value))
                local batch = c:pipeline()
                for _ = 1, 60 do
                    batch:get("big"):set("other", value):incr("none")
                end
                local results, errors = batch:run()
                assert.same({}, errors)
                for i = 1, 180, 3 do
                    assert.equal(value, results[i].value)
                    assert.same({ true, false }, { results[i + 1], results[i + 2] })
                end
            end)

            it("of one get do not stop each other", function()
                local value, keys = ("v"):rep(4000), {}
                local quiet = c:quiet()
                for i = 1, 3000 do
                    keys[i] = ("a-key-of-some-length-%06d"):format(i)
                    assert(quiet:set(keys[i], value))
                end
                assert.is_true(quiet:finish())
                local items = assert(c:get_many(keys))
                for _, key in ipairs(keys) do
                    assert.equal(value, items[key].value)
                end
            end)

            it("without replies are carried out by the time they are finished", function()
                local quiet = c:quiet()
                for i = 1, 5000 do
                    assert(quiet:set("n", tostring(i)))
                    assert(quiet:incr("n", 1))
                end
                assert.is_true(quiet:finish())
                assert.equal("5001", c:get("n").value)
            end)
        end)
    end
end
