-- SPDX-License-Identifier: BSD-3-Clause
-- The world (tests/world): the seed alone decides a run, and under no seed does a server contradict itself.
local server = require "support.server"

local SEEDS <const> = os.getenv("ALL") and 40 or 10

-- Seeds that once ended in a contradiction: { seed, switches }. Each shows a mended fault.
local KEPT <const> = {}

-- The storm's output, and its status.
local function played(words)
    return server.capture("build/world/lua tests/world/storm.lua " .. words .. "; echo status $?")
end

describe("the world", function()
    it("is the same, to the byte, where the seed is", function()
        local first, other = played("3 2 3 say"), played("2 2 3 say")
        assert.truthy(first:find("\nstatus 0$"), first:sub(-2000))
        assert.truthy(#first > 10000)
        assert.equal(first, played("3 2 3 say"))
        assert.are_not.equal(first, other)
    end)

    it("shows no contradiction with any seed, whatever administrators and clients send at once", function()
        local said = played("1 " .. SEEDS)
        assert.truthy(said:find(SEEDS .. " seeds from 1 on, 0 failed\nstatus 0$"), said:sub(-2000))
    end)

    for _, kept in ipairs(KEPT) do
        it(("does not contradict itself again with seed %d"):format(kept[1]), function()
            local said = played(("%d 1 %d"):format(kept[1], kept[2]))
            assert.truthy(said:find("\nstatus 0$"), said:sub(-2000))
        end)
    end
end)
