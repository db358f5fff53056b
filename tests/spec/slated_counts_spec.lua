-- SPDX-License-Identifier: BSD-3-Clause
-- Figures counted as memcached does that no transcript can hold, because they depend on the machine: each claim for
-- slated and, where one is built, for memcached 1.6.45.
local patience = require "support.patience"
local server = require "support.server"
require "support.world"

local PEER <const> = "build/peer/memcached"
local SHORT_LIVED <const> = 400

local function claims(binary)
    local rig = require("support.rig").new(after_each)
    local stat = rig.number

    local function start(...)
        rig.binary = binary
        rig.start(...)
    end

    local function store(key, bytes)
        assert.equal("STORED", rig.ask(("set %s 0 0 %d\r\n%s"):format(key, bytes, ("v"):rep(bytes))))
    end

    if binary == PEER and server.memcached() ~= PEER then
        it("counts so", function() pending("memcached 1.6.45 is not built (tests/bench/peer builds it)") end)
        return
    end

    -- The live item comes last: in memcached one at the end of a queue protects those behind it.
    local function store_and_read_half(ttl_s)
        for i = 1, SHORT_LIVED do
            assert.equal("STORED", rig.ask(("set k%d 0 %d 1\r\nv"):format(i, ttl_s)))
            if i % 2 == 0 then
                rig.lines("get k" .. i)
            end
        end
    end

    it("frees expired items within seconds, and counts them as reclaimed", function()
        start("-o", "no_lru_crawler")
        store_and_read_half(2)
        store("lasting", 1)
        patience.wait_for("what expired to be freed", function() return stat("curr_items") == 1 end)
        assert.equal(SHORT_LIVED - stat("get_expired"), stat("reclaimed"))
        -- on a machine that pauses, a get may come too late
        assert.equal(SHORT_LIVED - stat("get_hits") - stat("get_expired"), stat("expired_unfetched"))
        assert.equal(0, stat("evictions"))
        assert.equal("VALUE lasting 0 1", rig.lines("get lasting")[1])
    end)

    it("frees flushed items within seconds, and counts them as reclaimed", function()
        start("-o", "no_lru_crawler")
        store_and_read_half(0)
        local stored_s = stat("uptime")
        -- in memcached a flush leaves items that were stored in the flush's own second
        patience.wait_for("another second", function() return stat("uptime") > stored_s + 1 end)
        assert.equal("OK", rig.ask("flush_all"))
        patience.wait_for("what was flushed to be freed", function() return stat("curr_items") == 0 end)
        assert.equal(SHORT_LIVED, stat("reclaimed"))
        assert.equal(SHORT_LIVED // 2, stat("expired_unfetched"))
        assert.equal(0, stat("bytes"))
    end)

    it("has given out no memory at the start, then whole pages", function()
        start()
        assert.equal(0, stat("total_malloced", "slabs"))
        store("k", 1)
        local slabs = rig.stats("slabs")
        assert.same({ "1", "1048576" }, { slabs.active_slabs, slabs.total_malloced })
    end)
end

describe("slated", function() claims(nil) end)
describe("memcached 1.6.45", function() claims(PEER) end)
