-- SPDX-License-Identifier: BSD-3-Clause
-- slated's figures from sampled keys, over the wire and through slatectl.
local command = require "support.command"
local json = require "slate.base.json"
local patience = require "support.patience"
local world = require "support.world"

-- From 32 MB up the sample has 2 MiB, and so far more keys than a curve with bands needs, also while its rate is low.
local LIMIT_MB <const> = 32
local VALUE <const> = ("v"):rep(16000)
local KEYS <const>, ROUNDS <const> = 3000, 3 -- one and a half times the memory
local PAUSE_S <const> = 0.05 -- after fifty requests: the tuner takes the samples before their ring is full

describe("slated's sampled keys", function()
    -- Without new chunk sizes, which would evict items while a test counts them.
    local rig = require("support.rig").new(after_each, "-m", tostring(LIMIT_MB), "-o", "no_slab_geometry_auto")
    local stats = rig.stats
    local ctl = command.alone(before_each, after_each)

    local function slatectl(arguments)
        ctl.server = rig.server.address
        return ctl.run(arguments)
    end

    -- Reads, and stores missing keys; every tenth request is for the same key. pause_s: after each packet, so that the
    -- tuner gets a turn.
    local function load(rounds, pause_s)
        for round = 1, rounds do
            for first = 1, KEYS, 50 do
                local asked, stored = {}, {}
                for n = first, first + 49 do
                    local key = n % 10 == 0 and "hot:key!" or ("key-%d"):format((n * 7 + round) % KEYS)
                    asked[#asked + 1] = ("mg %s s\r\n"):format(key)
                    stored[#stored + 1] = key
                end
                assert(rig.connection:send(table.concat(asked)))
                for i = 1, #asked do
                    stored[i] = rig.connection:receive("*l") == "EN"
                        and ("ms %s %d q\r\n%s\r\n"):format(stored[i], #VALUE, VALUE) or ""
                end
                assert(rig.connection:send(table.concat(stored)))
                world.pass(pause_s or 0)
            end
        end
    end

    local function wait_for(condition)
        if not pcall(patience.wait_for, "it", condition) then
            error(("waited in vain: %s\n%s"):format(table.concat(rig.lines("stats curve"), "\n"),
                table.concat(rig.lines("stats whatif"), "\n")))
        end
    end

    it("say nothing while there are none", function()
        rig.start("-o", "sample_rate=0")
        local whatif = stats("whatif")
        assert.same({ "0", "s3fifo", "0" }, { whatif.sampling, whatif.policy, whatif.memory_bytes })
        assert.same({ "STAT requests 0", "STAT noted 0", "STAT bytes 0", "STAT seconds 0.000", "END" },
            rig.lines("stats hotkeys"))
        assert.is_nil(stats("curve").hit_ratio_x2)
        for words, said in pairs({ ["curve"] = "too few reads were sampled for a curve: traffic brings more",
            ["curve --json"] = "too few reads were sampled for a curve", ["curve 5"] = "too few reads",
            ["whatif"] = "too few reads were sampled to compare policies", ["whatif --json"] = "too few reads",
            ["hotkeys"] = "no key is hot: none was requested", ["hotkeys --json"] = "no key is hot: none was",
            ["advise policy --json"] = "too few reads" }) do
            local code, out, errors = slatectl(words)
            assert.equal(1, code, words .. out)
            assert.truthy(errors:find(said, 1, true), errors)
        end
    end)

    it("make a curve, a comparison of policies and a list of hot keys", function()
        rig.start("-o", "sample_rate=1", "--policy", "s3fifo")
        load(ROUNDS, PAUSE_S)
        local curve
        wait_for(function() -- the tuner takes samples now and then
            load(1, PAUSE_S)
            curve = stats("curve")
            return curve.hit_ratio_x1
        end)
        local whatif, hot = stats("whatif"), stats("hotkeys")
        local half, today = tonumber(curve["hit_ratio_x0.5"]), tonumber(curve.hit_ratio_x1)
        local four = tonumber(curve.hit_ratio_x4)
        assert.truthy(half <= today + 0.05 and today <= four + 0.05, ("%s %s %s"):format(half, today, four))
        assert.truthy(tonumber(whatif.windows) > 0 and tonumber(whatif.keys) > 0)
        assert.truthy(tonumber(whatif.memory_bytes) <= tonumber(whatif.memory_bytes_max) * 1.05)
        local numbers <const> = "small_percent=10,ghost_percent=90,promote_hits=1,skip_percent=%d,readmit_percent=100"
        assert.same({ "s3fifo", "+0.0000", numbers:format(50), numbers:format(0) }, { whatif.policy,
            whatif["s3fifo:difference"], whatif["s3skip:record"], whatif["s3fifo:record"] })
        assert.is_nil(whatif["lru:record"])
        assert.is_not_nil(tonumber(whatif["lru:hit_ratio"]))
        assert.equal("hot:key!", hot["1:key"])
        local share = tonumber(hot["1:requests"]) / tonumber(hot.requests)
        assert.truthy(share > 0.02 and share < 0.4, share)
        assert.equal("STAT items " .. stats().curr_items, rig.lines("stats sizehist")[1])

        -- When the rate falls, earlier counts weigh less: for a while there may be too few again.
        local function slatectl_until(arguments, ...)
            local patterns, out = { ... }, nil
            wait_for(function()
                load(1, PAUSE_S)
                local code, errors
                code, out, errors = slatectl(arguments)
                assert.equal(0, code, errors)
                for _, pattern in ipairs(patterns) do
                    if not out:find(pattern) then
                        return false
                    end
                end
                return true
            end)
            return out
        end
        slatectl_until("curve -o chart.txt", "HITS, S3FIFO", "HITS, LRU MODEL", "x0%.5", "miniature caches of s3fifo")
        local chart = command.read_file(ctl.folder .. "/chart.txt")
        for _, words in ipairs({ "Miss ratio", "LRU model", "s3fifo, expected" }) do
            assert.truthy(chart:find(words, 1, true), chart)
        end
        assert.matches("^server,time_s,class,policy,memory_bytes,hit_ratio,least,most\n", slatectl_until("curve --csv",
            ",own,%d+,0%.%d+,0%.%d+,%d[.%d]*\n", ",lru,"))
        assert.equal(64, (slatectl("curve 255")))
        local _, compared = slatectl("whatif")
        assert.truthy(compared:find("s3fifo *", 1, true))
        assert.truthy(compared:find("s3skip +" .. numbers:format(50):gsub(",", ", ") .. "\n"))
        assert.matches("^ *REQ/S +LEAST +MOST +SHARE +READ/S +LEAST +MOST +SHARE +KEY\n +%d.*hot:key!",
            select(2, slatectl("hotkeys 1")))
        assert.equal(14, #json.decode(select(2, slatectl("whatif --json"))).policies)
        assert.equal("hot:key!", json.decode(select(2, slatectl("hotkeys 3 --json --by bytes"))).keys[1].key)
    end)

    it("count how long ago evicted items were used", function()
        rig.start("-m", "8")
        rig.store("key", 2000, #VALUE)
        local sum = 0
        for name, count in pairs(stats("evictions")) do
            sum = sum + (name:find(":last_s$") and 0 or tonumber(count))
        end
        assert.is_true(sum > 1000)
        assert.equal(rig.number("evictions"), sum)
    end)

    it("turn on and off while slated serves", function()
        rig.start("-o", "sample_rate=0")
        assert.equal("OK", rig.ask("config set sample_rate 0.5"))
        wait_for(function() return stats("whatif").sampling == "1" end)
        assert.equal("OK", rig.ask("config set sample_rate 0"))
        assert.equal("0", stats("whatif").sampling)
        for _, step in ipairs({ { "0.0001", "^sample_rate: 0%.000 %-> 0%.0001 " },
            { "0", "^sample_rate: 0%.0001 %-> 0%.000 " } }) do -- a small rate is not zero
            assert.matches(step[2], (select(2, slatectl("set sample_rate=" .. step[1]))))
        end
        assert.matches("^CLIENT_ERROR", rig.ask("config set sample_rate 2"))
    end)

    it("choose among the records of s3fifo by default, unless its numbers are set", function()
        rig.start()
        for _, step in ipairs({ { "config set s3fifo_small_percent 10", "1", "s3fifo" },
            { "config set s3fifo_small_percent 20", "0", "s3fifo" },
            { "config set s3fifo_small_percent 10", "1", "s3fifo" }, { "evict policy s3wide", "0", "s3wide" },
            { "evict policy s3auto", "1", "s3wide" }, -- sampling goes on with the memory at hand
            { "config set s3fifo_promote_hits 2", "0", "s3fifo" } }) do
            assert.equal("OK", rig.ask(step[1]))
            assert.same({ step[2], step[3] }, { stats("whatif").s3auto, stats("slated").policy }, step[1])
        end
        assert.equal("CLIENT_ERROR s3auto is for the whole cache", rig.ask("evict policy s3auto 3"))
    end)

    it("count every request of a burst, though few of its keys are noted", function()
        local GETS <const>, HOT_EVERY <const> = 9000, 2
        local gets, hot = {}, nil
        for n = 1, GETS do gets[n] = ("get key-%d\r\n"):format(n % HOT_EVERY == 0 and 0 or n) end
        rig.start("-t", "1")
        wait_for(function() return stats("whatif").sampling == "1" end)
        assert(rig.connection:send(table.concat(gets)))
        for _ = 1, GETS do assert(rig.connection:receive("*l") == "END") end
        wait_for(function()
            hot = stats("hotkeys")
            return hot["1:key"] and tonumber(hot.requests) == GETS -- the burst may last for more than one look
        end)
        assert.equal(GETS, tonumber(hot.requests))
        assert.truthy(tonumber(hot.noted) > 0 and tonumber(hot.noted) < GETS, hot.noted)
        assert.truthy(tonumber(hot["1:requests"]) <= GETS and tonumber(hot["1:doubt"]) > 0)
        assert.matches("\nsample: %d+ of 9000 requests of the last %d+%.%d s\n$", select(2, slatectl("hotkeys")))
    end)

    it("have each place in a burst alike, also between requests that come one by one", function()
        local NAMES <const>, EACH <const>, BURSTS <const>, SINGLES <const> = 16, 8, 100, 50
        local gets = {}
        for n = 0, NAMES * EACH - 1 do gets[#gets + 1] = ("get key-%d\r\n"):format(n // EACH) end
        local burst = table.concat(gets)
        rig.start("-t", "1")
        wait_for(function() return stats("whatif").sampling == "1" end)
        for n = 1, BURSTS * (SINGLES + 1) do
            local is_burst = n % (SINGLES + 1) == 0
            assert(rig.connection:send(is_burst and burst or ("get single-%d\r\n"):format(n)))
            for _ = 1, is_burst and #gets or 1 do assert(rig.connection:receive("*l") == "END") end
            world.pass(0.1 / (SINGLES + 1))
        end
        local hot = stats("hotkeys")
        assert.truthy(tonumber(hot["1:requests"]) < 3 / NAMES * tonumber(hot.requests), hot["1:requests"])
    end)

    it("find the key with most bytes among a few reads a second, by most of these reads", function()
        rig.start("-t", "1")
        assert.equal("STORED", rig.ask(("set big 0 0 %d\r\n%s"):format(4 * #VALUE, VALUE:rep(4))))
        wait_for(function() return stats("whatif").sampling == "1" end)
        for second = 1, 16 do -- slated begins with one read in sixteen
            for n = 1, 100 do
                assert.equal("END", rig.ask(("get small-%d"):format(second * 100 + n)))
                world.pass(1 / 100)
            end
            assert(rig.connection:send("get big\r\n"))
            repeat until rig.connection:receive("*l") == "END"
        end
        local hot = stats("hotkeys")
        assert.truthy(tonumber(hot.noted) > tonumber(hot.requests) / 2, hot.noted .. " of " .. hot.requests)
        assert.equal("big", hot["1:key"])
    end)

    it("refuse requests that they cannot answer, and hide keys where dumps are refused", function()
        rig.start("-X")
        for line, answer in pairs({ ["stats curve x"] = "CLIENT_ERROR class must be from 1 to ",
            ["stats curve 0"] = "CLIENT_ERROR class must be from 1 to ",
            ["stats curve 1 2"] = "CLIENT_ERROR usage: stats curve [class]",
            ["stats hotkeys"] = "CLIENT_ERROR stats hotkeys not allowed" }) do
            assert.equal(answer, rig.ask(line):sub(1, #answer), line)
        end
        rig.start()
        for _, count in ipairs({ 0, 129 }) do
            assert.equal("CLIENT_ERROR usage: stats hotkeys [count], from 1 to 128", rig.ask("stats hotkeys " .. count))
        end
        local code, _, errors = slatectl("curve -o x.jpg")
        assert.equal(64, code)
        assert.truthy(errors:find("a chart is written as .png", 1, true))
    end)
end)
