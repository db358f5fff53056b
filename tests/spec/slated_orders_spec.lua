-- SPDX-License-Identifier: BSD-3-Clause
-- Orders (`config set`) beside all tasks of the control thread, in the world's time, which counts a microsecond for
-- each reading of the clock, and waits of all threads.
local server = require "support.server"
local wire = require "support.wire"
local world = require "support.world"
local socket = require "socket"

local WORK <const> = { "slabs geometry auto dry", "slabs geometry factor 1.1 force", "slabs geometry revert force",
    "slabs reassign -1 0 20", "lru_crawler crawl all", "evict policy s3fifo", "evict policy slru" }
local ROUNDS <const>, MOST_US <const> = 200, 5000

-- Values of many sizes, more than the memory holds.
local function fill(connection)
    for i = 1, 1500 do
        local bytes = 50 * (1 + i * 37 % 800)
        assert(connection:send(("set k%d 0 0 %d noreply\r\n%s\r\n"):format(i, bytes, ("v"):rep(bytes))))
    end
    assert.equal("VERSION", (wire.ask(connection, "version"):match("^%u+")))
end

describe("an order", function()
    it("is answered within 5 ms beside moves, fits of sizes, samples and walks", function()
        assert.truthy(world.is_there)
        local one = server.start({ args = { "-m", "24", "-t", "2", "-o",
            "sample_rate=1,slab_automove=utility,slab_geometry_rate=100" } })
        local asker, workers, busy = wire.connect(one.address), {}, {}
        fill(asker)
        local longest_us = 0
        for round = 1, ROUNDS do
            for i, line in ipairs(WORK) do -- each goes on beside the others: its next command is sent after the reply
                workers[i] = workers[i] or wire.connect(one.address)
                if not busy[i] or workers[i]:receive("*l") then
                    workers[i]:settimeout(0)
                    busy[i] = assert(workers[i]:send(line .. "\r\n"))
                end
            end
            assert(asker:send(("get k%d\r\nset n 0 0 5000 noreply\r\n%s\r\n"):format(round, ("n"):rep(5000))))
            repeat until asker:receive("*l") == "END"
            local begun_s = socket.gettime()
            assert.equal("OK", wire.ask(asker, "config set idle_timeout " .. 1000 + round))
            longest_us = math.max(longest_us, (socket.gettime() - begun_s) * 1e6)
        end
        one:stop()
        assert.truthy(longest_us <= MOST_US, ("%.0f us"):format(longest_us))
    end)
end)
