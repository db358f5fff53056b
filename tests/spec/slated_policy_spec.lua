-- SPDX-License-Identifier: BSD-3-Clause
-- Eviction policies of slated, changed while it serves.
require "support.world"

local NAMES <const> = {
    "slru", "lru", "bag", "fifo", "clock", "clock2", "clock3", "sieve", "s3fifo", "s3skip", "s3wide", "s3loop",
    "tinylfu", "none",
}
local VALUE <const> = ("v"):rep(900)

describe("slated's eviction policy", function()
    local rig = require("support.rig").new(after_each)

    local function active()
        local stats = rig.stats("policies")
        local found = {}
        for _, name in ipairs(NAMES) do
            if stats[name .. ":active"] == "yes" then
                found[#found + 1] = name
            end
        end
        return table.concat(found, " "), stats
    end

    -- Stores keys from..to; returns how many were refused.
    local function fill(from, to) return (rig.store("key-", to, #VALUE, from)) end

    local function items() return rig.number("curr_items") end

    it("can be any of those that stats policies lists, each with its source and cost", function()
        rig.start()
        for _, name in ipairs(NAMES) do
            assert.equal("OK", rig.ask("evict policy " .. name))
            local now, stats = active()
            assert.equal(name, now)
            assert.truthy(#stats[name .. ":source"] > 5 and #stats[name .. ":cost"] > 5)
            assert.truthy(tonumber(stats[name .. ":bytes_per_item"]) >= 16)
        end
    end)

    it("is shown and set by config, by the option and by memcached's old names alike", function()
        rig.start("--policy", "s3fifo")
        assert.equal("CONFIG policy s3fifo runtime", rig.lines("config get policy")[1])
        local settings = rig.stats("settings")
        assert.equal("yes", settings.lru_segmented)
        assert.equal("OK", rig.ask("lru mode flat"))
        assert.equal("lru", (active()))
        assert.equal("OK", rig.ask("config set policy sieve"))
        assert.equal("sieve", (active()))
        assert.equal("OK", rig.ask("lru mode segmented"))
        assert.equal("slru", (active()))
    end)

    it("s3fifo has settings of its own, which change at run time and lose no item", function()
        rig.start("-m", "8", "-o", "s3fifo_promote_hits=2,s3fifo_small_percent=5,no_slab_geometry_auto")
        local function told(name) return rig.stats("slated")[name] end
        assert.equal("2", told("s3fifo_promote_hits"))
        assert.equal("5", told("s3fifo_small_percent"))
        assert.equal("90", told("s3fifo_ghost_percent"))
        assert.equal("0", told("s3fifo_skip_percent"))
        assert.equal(0, fill(1, 12000))
        local before = items()
        for name, limits in pairs({ s3fifo_small_percent = { 1, 90 }, s3fifo_ghost_percent = { 10, 100 },
            s3fifo_promote_hits = { 1, 3 }, s3fifo_skip_percent = { 0, 90 } }) do
            local least, most = table.unpack(limits)
            for _, value in ipairs(limits) do
                assert.equal("OK", rig.ask(("config set %s %d"):format(name, value)))
                assert.equal(tostring(value), told(name))
                assert.equal(("CONFIG %s %d runtime"):format(name, value),
                    rig.lines("config get " .. name)[1])
                assert.equal(before, items())
            end
            for _, bad in ipairs({ tostring(least - 1), tostring(most + 1) }) do
                assert.truthy(rig.ask(("config set %s %s"):format(name, bad)):find("^CLIENT_ERROR "))
            end
            assert.equal(tostring(most), told(name))
        end
        assert.equal(0, fill(12001, 24000))
        assert.truthy(math.abs(items() - before) < before / 20)
        assert.truthy(rig.ask("config undo"):find("^OK s3fifo_"))
    end)

    it("that follows the load is every class's, too, also when already set", function()
        rig.start()
        assert.equal("OK", rig.ask("evict policy s3auto"))
        for _, command in ipairs({ "evict policy s3auto", "evict policy lru", "config set policy s3auto" }) do
            assert.equal("OK", rig.ask("evict policy fifo 3"))
            assert.equal("OK", rig.ask(command))
            assert.is_nil(select(2, active())["class:3:policy"], command)
        end
    end)

    it("refuses an unknown policy and changes nothing", function()
        rig.start()
        assert.truthy(rig.ask("evict policy best"):find("^CLIENT_ERROR policy wants one of slru|lru|"))
        assert.matches('|none|s3auto, not "auto"$', rig.ask("evict policy auto"))
        assert.truthy(rig.ask("evict policy best 1"):find("^CLIENT_ERROR no such policy"))
        assert.truthy(rig.ask("evict policy lru 200"):find("^CLIENT_ERROR class must be from 1 to %d+$"))
        assert.truthy(rig.ask("evict policy lru x"):find("^CLIENT_ERROR class must be"))
        for _, bad in ipairs({ "evict", "evict policy", "evict lru", "evict policy lru 1 2" }) do
            assert.equal("CLIENT_ERROR usage: evict policy name [class]", rig.ask(bad))
        end
        assert.equal("s3fifo", (active()))
    end)

    for next_one, limit_m in pairs({ s3fifo = "8", s3auto = "16" }) do -- s3auto does not go on from none
        it("none refuses stores when memory is full and keeps every item, until it is " .. next_one, function()
            rig.start("-m", limit_m, "--policy", "none")
            local refused = fill(1, 24000)
            assert.truthy(refused > 2000)
            assert.equal(0, rig.number("evictions"))
            assert.equal(24000 - refused, items())
            assert.equal("OK", rig.ask("evict policy " .. next_one))
            assert.equal(0, fill(24001, 25000))
        end)
    end
end)
