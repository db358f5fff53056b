-- SPDX-License-Identifier: BSD-3-Clause
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local client = require "slate.wire.client"
local geometry = require "slate.facts.geometry"
local script_transport = require "support.script_transport"

local BUSY <const> = "BUSY currently processing another geometry request\r\n"

local function scripted(script)
    return client.new(script_transport.new(script))
end

describe("an order for other chunk sizes", function()
    it("is sent again while the server predicts for somebody else", function()
        local one = scripted({ { "slabs geometry auto dry\r\n", BUSY }, { "slabs geometry auto dry\r\n", BUSY },
            { "slabs geometry auto dry\r\n", "PREDICTED 6 classes would do\r\n" } })
        assert.equal("6 classes would do", geometry.order(one, "slabs geometry auto dry"))
    end)

    it("is given up at a server that stays busy, in its words", function()
        local one = scripted({ { "slabs geometry auto\r\n", BUSY, again = true } })
        local ok, message, code = geometry.order(one, "slabs geometry auto", 0.1)
        assert.is_nil(ok)
        assert.equal("busy", code)
        assert.truthy(message:find("another geometry request", 1, true), message)
    end)

    it("is not sent again when it is refused", function()
        local one = scripted({ { "slabs geometry auto\r\n", "NOGAIN it would hold fewer items\r\n" } })
        assert.equal("no", (select(3, geometry.order(one, "slabs geometry auto"))))
    end)
end)
