-- SPDX-License-Identifier: BSD-3-Clause
-- The world (tests/world): what happens in it is decided by the seed alone.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local server = require "support.server"

-- What the storm prints, and its status.
local function played(words)
    return server.capture("build/world/lua tests/world/storm.lua " .. words .. "; echo status $?")
end

describe("the world", function()
    for _, switches in ipairs({ 0, 3 }) do
        it(("is the same, to the byte, where the seed is (threads make way %s)"):format(
            switches == 0 and "where they wait" or "before locks, too"), function()
            local first, other = played(("1 2 %d say"):format(switches)), played(("2 2 %d say"):format(switches))
            assert.truthy(first:find("\nstatus 0$"), first:sub(-2000))
            assert.truthy(#first > 10000)
            assert.equal(first, played(("1 2 %d say"):format(switches)))
            assert.are_not.equal(first, other)
        end)
    end

    it("contradicts itself in none of forty seeds, whatever administrators ask for at once", function()
        local said = played("1 40 3")
        assert.truthy(said:find("40 seeds from 1 on, 0 failed\nstatus 0$"), said:sub(-2000))
    end)
end)
