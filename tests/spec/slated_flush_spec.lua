-- SPDX-License-Identifier: BSD-3-Clause
-- flush_all on a running server: its time in every form, many in a second, and what becomes of the memory.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local patience = require "support.patience"
local rig = require("support.rig").new(after_each)
require "support.world"

local DEADLINE_S <const> = 45 -- less than after which the crawler comes by itself, which is 60
local ITEMS <const>, FLUSHES <const> = 5000, 1000

local ask = rig.ask

local function lives(key)
    local first = ask("mg " .. key)
    return first == "HD"
end

describe("flush_all", function()
    it("frees what nobody asks for again, in the background, and evicts nothing", function()
        rig.start()
        for first = 1, ITEMS, 100 do
            local lines = {}
            for i = first, first + 99 do
                lines[#lines + 1] = ("set key%d 0 0 100 noreply\r\n%s\r\n"):format(i, ("x"):rep(100))
            end
            rig.connection:send(table.concat(lines))
        end
        patience.wait_for("the items", function() return rig.number("curr_items") == ITEMS end)
        assert.equal("OK", ask("flush_all"))
        assert.equal("STORED", ask("set kept 0 0 1\r\nv"))
        patience.wait_for("the flushed ones to go", function() return rig.number("curr_items") == 1 end, DEADLINE_S)
        assert.is_true(lives("kept"))
        assert.equal(0, rig.number("evictions"))
    end)

    it("many times in a second leaves ages and delayed flushes as they are", function()
        rig.start()
        local pairs_of_both = ("flush_all noreply\r\nset k 0 0 1 noreply\r\nv\r\n"):rep(FLUSHES)
        rig.connection:send(pairs_of_both)
        assert.is_true(lives("k"))
        assert.is_true(tonumber(ask("me k"):match(" la=(%d+)")) < DEADLINE_S)
        for name, value in pairs(rig.stats("items")) do
            if name:match(":age") then
                assert.is_true(tonumber(value) < DEADLINE_S, name .. " is " .. value)
            end
        end
        assert.equal("OK", ask("flush_all 2"))
        patience.wait_for("the delayed flush", function() return not lives("k") end)
    end)

    it("takes a unix time", function()
        rig.start()
        assert.equal("STORED", ask("set k 0 0 1\r\nv"))
        assert.equal("OK", ask(("flush_all %d"):format(os.time() + 1000)))
        assert.is_true(lives("k"))
        assert.equal("OK", ask(("flush_all %d"):format(os.time() + 2)))
        patience.wait_for("the time", function() return not lives("k") end)
        patience.wait_for("a time after the start that is over", function() return rig.number("uptime") > 4 end)
        assert.equal("STORED", ask("set k 0 0 1\r\nv"))
        assert.equal("OK", ask(("flush_all %d"):format(os.time() - 2)))
        assert.is_false(lives("k"), "what was stored since is flushed too")
        assert.equal("STORED", ask("set k 0 0 1\r\nv"))
        -- as memcached, whose clock begins a minute before its start
        local start_s = os.time() - rig.number("uptime")
        assert.equal("OK", ask(("flush_all %d"):format(start_s - 30)))
        assert.is_false(lives("k"), "a time shortly before the start flushes nothing")
        assert.equal("STORED", ask("set k 0 0 1\r\nv"))
        assert.equal("OK", ask(("flush_all %d"):format(start_s - 90)))
        assert.is_true(lives("k"))
        assert.equal("OK", ask(("flush_all %d"):format(os.time() - 100000)))
        assert.is_true(lives("k"))
    end)
end)
