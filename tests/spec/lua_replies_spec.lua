-- SPDX-License-Identifier: BSD-3-Clause
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local client = require "slate.wire.client"
local script_transport = require "support.script_transport"

local function scripted(script, options)
    local transport = script_transport.new(script)
    return client.new(transport, options), transport
end

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
