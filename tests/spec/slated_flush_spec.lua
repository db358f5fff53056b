-- SPDX-License-Identifier: BSD-3-Clause
-- flush_all on a running server: its time in every form, many in a second, and the memory afterwards.
local patience = require "support.patience"
local rig = require("support.rig").new(after_each)
local world = require "support.world"

local DEADLINE_S <const> = 45 -- less than 60, after which the crawler comes by itself
local ITEMS <const>, FLUSHES <const> = 5000, 1000

local ask = rig.ask

local function lives(key) return ask("mg " .. key) == "HD" end

describe("flush_all", function()
    it("frees unread items in the background, and evicts nothing", function()
        rig.start()
        rig.store("key", ITEMS, 100)
        assert.equal(ITEMS, rig.number("curr_items"))
        assert.equal("OK", ask("flush_all"))
        assert.equal("STORED", ask("set kept 0 0 1\r\nv"))
        patience.wait_for("the flushed ones to go", function() return rig.number("curr_items") == 1 end, DEADLINE_S)
        assert.is_true(lives("kept"))
        assert.equal(0, rig.number("evictions"))
    end)

    it("many times in a second leaves ages and delayed flushes as they are", function()
        rig.start()
        rig.connection:send(("flush_all noreply\r\nset k 0 0 1 noreply\r\nv\r\n"):rep(FLUSHES))
        assert.is_true(lives("k"))
        assert.is_true(tonumber(ask("me k"):match(" la=(%d+)")) < DEADLINE_S)
        for name, value in pairs(rig.stats("items")) do
            assert.is_true(not name:match(":age") or tonumber(value) < DEADLINE_S, name .. " is " .. value)
        end
        assert.equal("OK", ask("flush_all 2"))
        assert.is_true(lives("k"))
        world.pass(3)
        assert.is_false(lives("k"))
    end)

    it("takes a unix time", function()
        rig.start()
        assert.equal("STORED", ask("set k 0 0 1\r\nv"))
        for _, ahead_s in ipairs({ 1000, 2 }) do
            assert.equal("OK", ask(("flush_all %d"):format(os.time() + ahead_s)))
            assert.is_true(lives("k"))
        end
        world.pass(5)
        assert.is_false(lives("k"))
        -- as memcached, whose clock begins a minute before its start
        local start_s = os.time() - rig.number("uptime")
        for flushed_s, stays in pairs({ [os.time() - 2] = false, [start_s - 30] = false, [start_s - 90] = true,
            [os.time() - 100000] = true }) do
            assert.equal("STORED", ask("set k 0 0 1\r\nv"))
            assert.equal("OK", ask(("flush_all %d"):format(flushed_s)))
            assert.equal(stays, lives("k"), flushed_s)
        end
    end)
end)
