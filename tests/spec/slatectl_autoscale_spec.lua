-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl advise memory with prices, and slatectl autoscale, on servers that run.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local dkjson = require "dkjson"
local patience = require "support.patience"
local server = require "support.server"

local slated = assert(server.slated(), "there is no slated to run: run make first")
local MIB <const> = 1 << 20

describe("prices of memory", function()
    local one, ctl, pid

    -- A load that goes on until it is ended, much larger than the cache.
    setup(function()
        one = server.start({ binary = slated, args = { "-m", "64", "-o", "sample_rate=0.2,slab_automove=0" } })
        ctl = command.new({ server = one.address })
        pid = server.capture(("%s/build/bin/slate-load --server %s --keys 60000 --sizes u500,3000 --dist zipf:0.8 "
            .. "--fill-on-miss --duration 600 --rate 20000 --pipeline 8 --conns 4 >/dev/null 2>&1 & echo $!"):format(
            ctl.root, one.address))
        local client = one:connect()
        patience.wait_for("a curve of enough reads", function()
            local curve = require("slate.facts.foresight").curve(client)
            return curve and #curve.points > 1 and #curve.sizes > 1 and (curve.reads or 0) > 5000
        end, 300)
        client:close()
    end)
    teardown(function()
        os.execute("kill " .. pid)
        one:stop()
        ctl.remove()
    end)

    local function document(arguments)
        return (assert(dkjson.decode((ctl.succeed(arguments .. " --json")))))
    end

    local function limit()
        local client = one:connect()
        local found = require("slate.facts.stats").flat(assert(client:stats(""))).limit_maxbytes
        client:close()
        return found
    end

    it("name the size that costs least, with its band, and flash behind it", function()
        local dear = document("advise memory --price-per-gb 5000 --price-per-miss 1e-9 --interval 500ms")
        local cheap = document("advise memory --price-per-gb 0.0001 --price-per-miss 1e-4 --interval 500ms")
        for _, told in ipairs({ dear, cheap }) do
            assert.is_true(told.reads_per_s > 0 and told.reads > 500)
            assert.is_true(told.cheapest.cost <= told.now.cost + 1e-9)
            assert.is_true(told.cheapest.least_bytes <= told.cheapest.most_bytes)
            assert.near(told.cheapest.cost, told.cheapest.cost_of_memory + told.cheapest.cost_of_misses,
                1e-6 * told.cheapest.cost)
        end
        assert.is_true(dear.cheapest.bytes < cheap.cheapest.bytes)
        assert.is_true(dear.is_worth_it)
        assert.truthy(dear.commands[1]:find("^slatectl set maxbytes %d+$"))
        local flash = document("advise memory --price-per-gb 50 --price-per-miss 1e-6 --flash-price-per-gb 0.5 "
            .. "--reads-per-s 100000").flash
        assert.is_true(flash.flash_bytes > 0 and flash.cost > 0)
        local text = ctl.succeed("advise memory --price-per-gb 50 --price-per-miss 1e-6 --flash-price-per-gb 0.5 "
            .. "--reads-per-s 100000")
        for _, words in ipairs({ "as cheap", "±", "cheapest", "with flash", "COST/MONTH", "100K/s, as asked" }) do
            assert.truthy(text:find(words, 1, true), words .. "\n" .. text)
        end
    end)

    it("are refused where they make no sense", function()
        for arguments, words in pairs({
            ["advise memory --price-per-gb 5"] = "needs both --price-per-gb and --price-per-miss",
            ["advise memory --price-per-gb 5 --price-per-miss x"] = "'x' is not a price",
            ["advise memory --price-per-gb 1e308 --price-per-miss 1e308"] = "'1e308' is not a price",
            ["advise memory --price-per-gb 5 --price-per-miss 1 --reads-per-s x"] = "not a number of reads a second",
            ["advise pages --price-per-gb 5 --price-per-miss 1"] = "prices are for advise memory",
            ["advise memory --hits 5 --price-per-gb 5 --price-per-miss 1"] = "exclude each other",
            ["autoscale --least 64m --most 128m --price-per-gb 5"] = "autoscale needs --price-per-miss",
            ["autoscale --least 4m --most 128m"] = "'4m' is not a size",
            ["autoscale --least 1g --most 128m --price-per-gb 5 --price-per-miss 1"] = "--least is more than --most",
        }) do
            local code, _, err = ctl.run(arguments)
            assert.equal(64, code, err)
            assert.truthy(err:find(words, 1, true), err)
        end
    end)

    it("are followed in a dry run without a change", function()
        local before = limit()
        local out, err = ctl.succeed("autoscale --least 64m --most 256m --price-per-gb 0.0001 --price-per-miss 1e-3 "
            .. "--interval 1s --count 3")
        assert.truthy(err:find("a dry run: nothing is sent", 1, true), err)
        assert.truthy(out:find("limit 64M -> 80M: ", 1, true), out)
        assert.equal(before, limit())
    end)

    it("are followed step by step between the bounds, on record, and taken back by undo", function()
        assert.equal(64 * MIB, limit())
        local arguments = "autoscale --least 64m --most 100.7m --price-per-gb 0.0001 --price-per-miss 1e-3 --apply "
            .. "--step 25 --cool-down 0s --interval 1s --count 4 --json"
        local steps, reached = 0, 0
        for line in ctl.succeed(arguments):gmatch("[^\n]+") do
            local decision = assert(dkjson.decode(line))
            assert.equal("slate/autoscale/1", decision.schema)
            assert.is_true(decision.action == "stay" or decision.action == "step", line)
            assert.equal(decision.action ~= "step", decision.dry_run)
            steps = steps + (decision.action == "step" and 1 or 0)
            reached = decision.to or reached
        end
        assert.is_true(steps >= 1 and steps <= 2, steps) -- 64, 80, 100: while somebody reads
        assert.is_true(reached > 64 * MIB and reached <= 100 * MIB)
        assert.equal(reached, limit())
        local record = server.read_file(ctl.folder .. "/audit.log")
        assert.truthy(record:find('"maxbytes"', 1, true))
        ctl.succeed("undo")
        assert.equal(64 * MIB, limit())
    end)

    it("need a slated", function()
        local stock = server.memcached()
        if not stock then
            pending("there is no memcached here")
            return
        end
        local other = server.start({ binary = stock, args = { "-m", "64" } })
        local code, _, err = ctl.run("-s " .. other.address .. " autoscale --least 64m --most 128m --price-per-gb 5 "
            .. "--price-per-miss 1e-6 --count 1")
        other:stop()
        assert.equal(3, code, err)
        assert.truthy(err:find("needs slated", 1, true), err)
    end)
end)

describe("prices of memory on a server that nobody reads", function()
    it("wait for a sample", function()
        local one = server.start({ binary = slated, args = { "-m", "64" } })
        local ctl = command.new({ server = one.address })
        local code, _, err = ctl.run("advise memory --price-per-gb 5 --price-per-miss 1e-6 --interval 10ms")
        one:stop()
        ctl.remove()
        assert.equal(1, code, err)
        assert.truthy(err:find("too few reads were sampled", 1, true), err)
    end)
end)
