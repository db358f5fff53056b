-- SPDX-License-Identifier: BSD-3-Clause
-- config undo and stats config: changes of a running slated, and their undoing.
local patience = require "support.patience"
local server = require "support.server"
require "support.world"

local NOTHING <const> = "^NOTHING to undo: "

describe("config undo", function()
    local rig = require("support.rig").new(after_each, "-m", "16")

    local function settings()
        return table.concat(rig.lines("stats settings"), "\n")
            .. table.concat(rig.lines("config get"), "\n")
    end

    it("takes back every kind of change, so that stats settings is as before to the letter", function()
        rig.start()
        for _, line in ipairs({
            "config set slab_automove ratio", "slabs automove 2", "slabs automove ratio 0.555",
            "slabs automove window 77", "slabs automove freeratio 0.1234", "lru tune 11 33 0.111 7.77", "lru mode flat",
            "lru temp_ttl 30", "cache_memlimit 32", "verbosity 1", "lru_crawler disable", "lru_crawler sleep 7",
            "lru_crawler tocrawl 5", "stats detail on", "config set sample_rate 0.3",
            "config set s3fifo_promote_hits 3", "config set s3fifo_skip_percent 50", "config set policy sieve",
            "config set slab_geometry_rate 50", "config set slab_geometry_auto no",
            "config set temporary_ttl -1",
        }) do
            local before = settings()
            assert.equal("OK", rig.ask(line), line)
            assert.are_not.equal(before, settings(), line)
            assert.matches("^OK .* again$", rig.ask("config undo"), line)
            assert.equal(before, settings(), line)
        end
        assert.matches(NOTHING, rig.ask("config undo"))
    end)

    it("goes back one change at a time, skips changes without effect, and names the restored settings", function()
        rig.start()
        local before = settings()
        assert.equal("OK", rig.ask("config set hot_lru_pct 30"))
        assert.equal("OK", rig.ask("config set hot_lru_pct 30"))
        assert.equal("OK", rig.ask("flush_all"))
        assert.equal("OK", rig.ask("lru tune 10 20 0.5 3"))
        assert.equal("OK hot_lru_pct is 30 again, warm_lru_pct is 40 again, hot_max_factor is 0.20 again, "
            .. "warm_max_factor is 2.00 again", rig.ask("config undo"))
        assert.equal("OK hot_lru_pct is 20 again", rig.ask("config undo"))
        assert.matches(NOTHING, rig.ask("config undo"))
        assert.equal(before:gsub("oldest %d+", ""), settings():gsub("oldest %d+", ""))
    end)

    it("gives classes their own policies back, also those that a policy for the whole ended", function()
        rig.start()
        local function policies() return table.concat(rig.lines("stats policies"), "\n") end
        local states = {}
        for _, change in ipairs({ "sieve 5", "lru 7", "s3fifo", "lru", "sieve 5", "sieve", "lru 7", "s3auto" }) do
            states[#states + 1] = policies()
            assert.equal("OK", rig.ask("evict policy " .. change))
        end
        for at = #states, 1, -1 do
            assert.matches("^OK ", rig.ask("config undo"))
            assert.equal(states[at], policies())
        end
        assert.matches(NOTHING, rig.ask("config undo"))
    end)

    it("leaves the policy of a class whose number has other chunks since, and says so", function()
        rig.start("-o", "slab_geometry_rate=100,no_slab_geometry_auto")
        assert.equal("OK", rig.ask("evict policy sieve 5"))
        assert.equal("OK", rig.ask("evict policy lru 39")) -- the last class stays
        assert.equal("OK", rig.ask("slabs geometry sizes 200,1000 force"))
        patience.wait_for("three classes", function()
            local now = rig.stats("geometry")
            return now.state == "steady" and now.classes == "3"
        end)
        assert.equal("OK policy of class 39 is the whole's again", rig.ask("config undo"))
        assert.equal("OK policies of 0 classes are what they were, but not of 1, whose chunk sizes have changed",
            rig.ask("config undo"))
    end)

    it("lets classes follow s3auto again, whatever s3auto had chosen", function()
        rig.start()
        for _, policy in ipairs({ "s3wide", "s3auto", "lru" }) do -- s3auto begins with s3wide
            assert.equal("OK", rig.ask("evict policy " .. policy))
        end
        assert.matches("^OK .*policy is s3auto again$", rig.ask("config undo"))
        assert.is_nil(table.concat(rig.lines("stats policies"), "\n"):find("class:", 1, true))
    end)

    it("keeps the last 32 changes", function()
        rig.start()
        for value = 3, 42 do
            assert.equal("OK", rig.ask("slabs automove window " .. value))
        end
        for _ = 1, 32 do assert.matches("^OK ", rig.ask("config undo")) end
        assert.matches(NOTHING, rig.ask("config undo"))
        assert.truthy(settings():find("STAT slab_automove_window 10\n", 1, true))
    end)

    it("keeps the change and says why when the old value is not possible any more", function()
        local folder = server.folder()
        local path = folder .. "/gone.lua"
        server.write_file(path, 'return { name = "gone", new = function() return {} end, '
            .. 'decide = function() return {}, "nothing" end }')
        rig.start("--policy-dir", folder)
        assert.equal("OK", rig.ask("slabs automove lua:gone"))
        assert.equal("OK", rig.ask("slabs automove 1"))
        assert(os.remove(path))
        local before = settings()
        for _ = 1, 2 do
            assert.matches("^CLIENT_ERROR cannot undo: there is no policy gone in ", rig.ask("config undo"))
            assert.equal(before, settings())
        end
        server.remove_folder(folder)
    end)

    it("is not alone there: so is the end of classes' own policies where the whole's stays as it was", function()
        rig.start()
        for _, change in ipairs({ "sieve 5", "lru 7", "s3auto" }) do
            assert.equal("OK", rig.ask("evict policy " .. change))
        end
        local values = rig.stats("audit")
        assert.same({ "policy of classes", "5=sieve,7=lru", "s3fifo" },
            { values["3:what"], values["3:was"], values["3:is"] })
    end)

    it("has its counterpart in stats config: value, limits and where a value comes from", function()
        rig.start("-o", "slab_automove_window=30")
        assert.equal("OK", rig.ask("config set hot_lru_pct 30"))
        local values = rig.stats("config")
        assert.same({ "30", "20", "runtime", "whole", "percent", "1", "80" }, {
            values["hot_lru_pct:value"], values["hot_lru_pct:default"], values["hot_lru_pct:source"],
            values["hot_lru_pct:type"], values["hot_lru_pct:unit"],
            values["hot_lru_pct:min"], values["hot_lru_pct:max"],
        })
        assert.equal("start", values["slab_automove_window:source"])
        assert.equal("default", values["warm_lru_pct:source"])
        assert.matches("^off|ratio|.*utility", values["slab_automove:choices"])
        assert.matches("s3fifo", values["policy:choices"])
        assert.is_nil(values["num_threads:value"])
        -- config set accepts each of them, and config get shows the same value.
        local count = 0
        for name, value in pairs(values) do
            local setting = name:match("^(.*):value$")
            if setting then
                count = count + 1
                assert.equal(("CONFIG %s %s runtime"):format(setting, value),
                    rig.lines("config get " .. setting)[1])
                assert.equal("OK", rig.ask(("config set %s %s"):format(setting, value)), setting)
            end
        end
        assert.is_true(count > 15)
    end)
end)
