-- SPDX-License-Identifier: BSD-3-Clause
-- What slated tells from sampled keys, over the wire and through slatectl.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local json = require "slate.base.json"
local patience = require "support.patience"
local server = require "support.server"
local world = require "support.world"

-- Of 32 MB up the sample has 2 MiB, and so far more keys than a curve with bands takes, also while its rate is low.
local LIMIT_MB <const>, MORE_MB <const> = 32, 40
local VALUE <const> = ("v"):rep(8000)
local KEYS <const>, ROUNDS <const> = 6000, 6 -- one and a half times what the memory holds
local PAUSE_S <const> = 0.002

describe("slated's sampled keys", function()
    -- Without new chunk sizes, which would evict items while a test counts them.
    local rig = require("support.rig").new(after_each, "-m", tostring(LIMIT_MB), "-o", "no_slab_geometry_auto")
    local stats = rig.stats

    -- Gets, and sets what was missed; every tenth request is for the same key. pause_s: after each twenty, so that the
    -- tuner gets a turn on a busy machine before the ring of samples is full.
    local function load(rounds, pause_s)
        for round = 1, rounds do
            for first = 1, KEYS, 20 do
                local gets, names, missed = {}, {}, {}
                for n = first, first + 19 do
                    names[#names + 1] = n % 10 == 0 and "hot key!" or ("key-%d"):format((n * 7 + round) % KEYS)
                    names[#names] = names[#names]:gsub(" ", "_")
                    gets[#gets + 1] = "get " .. names[#names] .. "\r\n"
                end
                assert(rig.connection:send(table.concat(gets)))
                for i = 1, #names do
                    local line = assert(rig.connection:receive("*l"))
                    if line:find("^VALUE") then
                        assert(rig.connection:receive(#VALUE + 2))
                        assert.are.equal("END", rig.connection:receive("*l"))
                    else
                        missed[#missed + 1] = ("set %s 0 0 %d noreply\r\n%s\r\n"):format(names[i], #VALUE, VALUE)
                    end
                end
                assert(rig.connection:send(table.concat(missed)))
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

    local function slatectl(arguments)
        local path = rig.server.folder .. "/errors"
        local pipe = assert(io.popen(("lua5.4 scripts/slatectl -s %s %s 2>%s"):format(rig.server.address, arguments,
            path)))
        local out = pipe:read("a")
        local _, _, code = pipe:close()
        return out, code, server.read_file(path)
    end

    it("say nothing while there are none", function()
        rig.start("-o", "sample_rate=0")
        assert.are.equal("0", stats("whatif").sampling)
        assert.are.equal("s3fifo", stats("whatif").policy) -- also before anybody has looked at samples
        assert.are.equal("0", stats("whatif").memory_bytes)
        assert.are.same({ "STAT requests 0", "STAT noted 0", "END" }, rig.lines("stats hotkeys"))
        assert.is_nil(stats("curve").hit_ratio_x2)
        for words, said in pairs({ ["curve"] = "too few reads were sampled for a curve: traffic brings more",
            ["curve --json"] = "too few reads were sampled for a curve", ["curve 5"] = "too few reads",
            ["whatif"] = "too few reads were sampled to compare policies", ["whatif --json"] = "too few reads",
            ["hotkeys"] = "no key was sampled yet", ["hotkeys --json"] = "no key was sampled yet",
            ["advise policy --json"] = "too few reads" }) do
            local out, code, errors = slatectl(words)
            assert.are.equal(1, code, words .. out)
            assert.truthy(errors:find(said, 1, true), errors)
        end
    end)

    it("make a curve, a comparison of policies and a list of hot keys", function()
        rig.start("-o", "sample_rate=1", "--policy", "s3fifo")
        load(ROUNDS)
        local curve
        wait_for(function() -- the tuner takes samples now and then
            load(1)
            curve = stats("curve")
            return curve.hit_ratio_x1
        end)
        local whatif, hot = stats("whatif"), stats("hotkeys")
        local half, today = tonumber(curve["hit_ratio_x0.5"]), tonumber(curve.hit_ratio_x1)
        local four = tonumber(curve.hit_ratio_x4)
        assert.truthy(half <= today + 0.05 and today <= four + 0.05, ("%s %s %s"):format(half, today, four))
        assert.truthy(tonumber(whatif.windows) > 0 and tonumber(whatif.keys) > 0)
        assert.truthy(tonumber(whatif.memory_bytes) <= tonumber(whatif.memory_bytes_max) * 1.05)
        assert.are.equal("s3fifo", whatif.policy)
        assert.are.equal("+0.0000", whatif["s3fifo:difference"])
        assert.are.equal("small_percent=10,ghost_percent=90,promote_hits=1,skip_percent=50", whatif["s3skip:record"])
        assert.are.equal("small_percent=10,ghost_percent=90,promote_hits=1,skip_percent=0", whatif["s3fifo:record"])
        assert.is_nil(whatif["lru:record"])
        assert.is_not_nil(tonumber(whatif["lru:hit_ratio"]))
        assert.are.equal("hot_key%21", hot["1:key"])
        local share = tonumber(hot["1:requests"]) / tonumber(hot.requests)
        assert.truthy(share > 0.02 and share < 0.4, share)
        local sizes, items = rig.lines("stats sizehist"), tonumber(stats().curr_items)
        assert.are.equal("STAT items " .. items, sizes[1])

        -- When the rate falls, what was counted weighs less: for a while it may be too little again.
        local function slatectl_until(arguments, holds)
            local out
            wait_for(function()
                load(1)
                local code, errors
                out, code, errors = slatectl(arguments)
                assert.are.equal(0, code, errors)
                return holds(out)
            end)
            return out
        end
        local function holds_17(pattern)
            return function(text) return select(2, text:gsub(pattern, "")) == 17 end
        end
        local out = slatectl_until("curve -o build/test-curve.txt", function(text)
            return text:find("HITS, S3FIFO", 1, true) and text:find("HITS, LRU MODEL", 1, true)
        end)
        for _, said in ipairs({ "HITS, S3FIFO", "x0.5", "HITS, LRU MODEL",
            "miniature caches of s3fifo" }) do
            assert.truthy(out:find(said, 1, true), out)
        end
        local file = assert(io.open("build/test-curve.txt"))
        local chart = file:read("a")
        assert.truthy(chart:find("Miss ratio", 1, true) and chart:find("LRU model", 1, true), chart)
        assert.truthy(chart:find("s3fifo, by miniatures", 1, true), chart)
        file:close()
        os.remove("build/test-curve.txt")
        assert.are.equal(64, select(2, slatectl("curve 255")))
        local compared = slatectl("whatif")
        assert.truthy(compared:find("s3fifo *", 1, true))
        assert.truthy(compared:find("s3skip +small_percent=10, ghost_percent=90, promote_hits=1, skip_percent=50\n"))
        assert.truthy((slatectl("explain s3skip")):find("Clock2Q+", 1, true))
        assert.truthy((slatectl("hotkeys 1")):find("hot_key%21", 1, true))
        assert.truthy((slatectl("hotkeys 1")):find("^AT LEAST +AT MOST +SHARE +KEY\n +%d"))
        local points = slatectl_until("curve --csv", function(text)
            return text:find(",own,%d+,0%.%d+,0%.%d+,%d[.%d]*\n") and holds_17(",lru,")(text)
        end)
        assert.are.equal("server,time_s,class,policy,memory_bytes,hit_ratio,least,most", points:match("^[^\n]+"))
        slatectl_until("curve --jsonl", holds_17('"policy":"lru"'))
        slatectl_until("curve --json", function(text) return #json.decode(text).points == 17 end)
        assert.are.equal(13, #json.decode((slatectl("whatif --json"))).policies)
        assert.are.equal(3, #json.decode((slatectl("hotkeys 3 --json"))).keys)
    end)

    it("tell predictions with their bands once they have enough, and keep with the audit what came true", function()
        rig.start("-o", "sample_rate=1", "--policy", "s3fifo") -- a change of the policy would overtake the prediction
        local before
        wait_for(function() -- the tuner has begun
            before = stats("curve")
            return before.lacks ~= "nothing is sampled"
        end)
        assert.truthy(before.lacks:find("^0 of 4 quarters of a turnover") or before.lacks == "no read was counted yet",
            before.lacks)
        assert.is_nil(before.hit_ratio_x2)
        local out = slatectl("curve")
        assert.truthy(out:find("\npredictions  none compared yet: ", 1, true), out)
        assert.truthy(out:find("\nwhat the cache's policy would hit with other memory is not known", 1, true), out)
        local curve
        wait_for(function()
            load(1, PAUSE_S)
            curve = stats("curve")
            out = curve["band_x0.5"] and slatectl("curve") -- when the rate falls, it may be too little again
            return out and out:find("TIMES  MEMORY", 1, true)
        end)
        assert.are.equal("nothing", curve.lacks)
        for _, size in ipairs({ "x0.5", "x2", "x4" }) do
            assert.is_true(tonumber(curve["band_" .. size]) > 0, size)
        end
        assert.are.equal("0", curve.predictions)
        for _, pattern in ipairs({ "\nx0%.5 +%d[%d.]*M +%d+%.%d%d%% +%d+%.%d%d to %d+%.%d%d%% ",
            "\nx1 +3[12]M +%d+%.%d%d%% +counted", "\nx4 +12[48]M ",
            "\nsampled +%d+ reads; %d+ keys, %d+%.%d%d%d%% of all\n" }) do
            assert.truthy(out:find(pattern), pattern .. "\n" .. out)
        end

        -- Something is predicted of a change only if there is enough when the tuner meets the change; it is compared
        -- 16 windows later, unless the next change overtakes it. The sample may lack reads in just that moment: then
        -- the limit goes back, and so on.
        local wanted_mb, made, changed_window = LIMIT_MB, nil, -math.huge
        wait_for(function()
            load(1, PAUSE_S) -- the tuner meets a change when the next window ends
            local window = tonumber(stats("whatif").windows)
            made = stats("curve")
            if made.predictions == "0" and made.lacks == "nothing" and window > changed_window + 20 then
                wanted_mb, changed_window = LIMIT_MB + MORE_MB - wanted_mb, window
                assert.are.equal("OK", rig.ask("cache_memlimit " .. wanted_mb))
            end
            return made.predictions ~= "0"
        end)
        local entry = stats("audit")
        local words
        for name, text in pairs(entry) do
            words = name:find(":what$") and text == "prediction" and entry[name:gsub("what$", "is")] or words
        end
        local from, to, expected, band, came, how = words:match("^maxbytes (%d+) to (%d+): ([%d.]+) expected with a "
            .. "band of ([%d.]+), [%d.]+ before, ([%d.]+) came: (%l+)$")
        assert.are.same({ tostring(LIMIT_MB + MORE_MB - wanted_mb << 20), tostring(wanted_mb << 20) }, { from, to })
        local beyond = math.abs(came - expected) - band
        if math.abs(beyond) > 0.0002 then -- they are rounded
            assert.are.equal(beyond < 0 and "within" or "beyond", how)
        end
        assert.are.equal(how == "within" and "1" or "0", made.predictions_within)
        assert.truthy((slatectl("curve")):find("\npredictions  [01] of 1 came true within the band,"))
        assert.are.equal("OK", rig.ask("config set sample_rate 0"))
        assert.are.equal("nothing is sampled", stats("curve").lacks)
        assert.are.equal("ERROR", rig.ask("stats forecast"))
    end)

    it("count how long ago evicted items were used", function()
        rig.start()
        load(1)
        load(1)
        local evictions, sum = stats("evictions"), 0
        for name, count in pairs(evictions) do
            sum = sum + (name:find(":last_s$") and 0 or tonumber(count))
        end
        assert.are.equal(tonumber(stats().evictions), sum)
    end)

    it("turn on and off while slated serves", function()
        rig.start("-o", "sample_rate=0")
        assert.are.equal("OK", rig.ask("config set sample_rate 0.5"))
        wait_for(function() return stats("whatif").sampling == "1" end)
        assert.are.equal("OK", rig.ask("config set sample_rate 0"))
        assert.are.equal("0", stats("whatif").sampling)
        local out, code, errors = slatectl("set sample_rate=0.0001")
        assert.are.equal(0, code, errors)
        assert.truthy(out:find("^sample_rate: 0%.000 %-> 0%.0001 "), out)
        out = slatectl("set sample_rate=0") -- a little is not nothing
        assert.truthy(out:find("^sample_rate: 0%.0001 %-> 0%.000 "), out)
        assert.are.equal("0", stats("whatif").sampling)
        assert.truthy(rig.ask("config set sample_rate 2"):find("^CLIENT_ERROR"))
    end)

    it("choose the policy when it is auto, which is for the whole cache", function()
        rig.start("-o", "sample_rate=1", "--policy", "auto")
        assert.are.equal("1", stats("whatif").auto)
        assert.are.equal("s3fifo", stats("slated").policy)
        assert.are.equal("OK", rig.ask("evict policy lru"))
        assert.are.equal("0", stats("whatif").auto)
        assert.are.equal("OK", rig.ask("evict policy auto"))
        assert.are.equal("lru", stats("slated").policy)
        assert.are.equal("1", stats("whatif").auto)
        assert.are.equal("CLIENT_ERROR auto is for the whole cache", rig.ask("evict policy auto 3"))
    end)

    it("choose among the records of s3fifo by default, unless its numbers are set", function()
        rig.start()
        local function follows()
            return stats("whatif").s3auto, stats("slated").policy
        end
        assert.are.same({ "1", "s3fifo" }, { follows() })
        assert.are.equal("0", stats("whatif").auto)
        assert.are.equal("OK", rig.ask("config set s3fifo_small_percent 20"))
        assert.are.same({ "0", "s3fifo" }, { follows() })
        assert.are.equal("OK", rig.ask("config set s3fifo_small_percent 10"))
        assert.are.same({ "1", "s3fifo" }, { follows() })
        assert.are.equal("OK", rig.ask("evict policy s3wide"))
        assert.are.same({ "0", "s3wide" }, { follows() })
        assert.are.equal("OK", rig.ask("evict policy s3auto"))
        assert.are.same({ "1", "s3wide" }, { follows() }) -- it goes on with what there is
        assert.are.equal("OK", rig.ask("config set s3fifo_promote_hits 2"))
        assert.are.same({ "0", "s3fifo" }, { follows() })
        assert.are.equal("CLIENT_ERROR s3auto is for the whole cache", rig.ask("evict policy s3auto 3"))
    end)

    it("tell every request of a burst, though few keys of it are noted", function()
        local GETS <const>, HOT_EVERY <const> = 9000, 5
        local gets, hot = {}, nil
        for n = 1, GETS do
            gets[n] = ("get key-%d\r\n"):format(n % HOT_EVERY == 0 and 0 or n)
        end
        rig.start("-t", "1")
        wait_for(function() return stats("whatif").sampling == "1" end)
        assert(rig.connection:send(table.concat(gets)))
        for _ = 1, GETS do
            assert.are.equal("END", rig.connection:receive("*l"))
        end
        wait_for(function()
            hot = stats("hotkeys")
            return hot["1:key"]
        end)
        assert.are.equal(GETS, tonumber(hot.requests))
        assert.truthy(tonumber(hot.noted) > 0 and tonumber(hot.noted) < GETS, hot.noted)
        assert.truthy(tonumber(hot["1:requests"]) <= GETS and tonumber(hot["1:doubt"]) > 0)
        assert.truthy((slatectl("hotkeys")):find("\nthe keys of %d+ in 9000 requests were noted\n$"))
    end)

    it("refuse what they cannot answer, and say what is allowed", function()
        rig.start()
        for line, answer in pairs({
            ["stats curve x"] = "CLIENT_ERROR class must be from 1 to ",
            ["stats curve 0"] = "CLIENT_ERROR class must be from 1 to ",
            ["stats curve 1 2"] = "CLIENT_ERROR usage: stats curve [class]",
            ["stats hotkeys 0"] = "CLIENT_ERROR usage: stats hotkeys [count], from 1 to 128",
            ["stats hotkeys 129"] = "CLIENT_ERROR usage: stats hotkeys [count], from 1 to 128",
        }) do
            local got = rig.ask(line)
            assert.are.equal(answer, got:sub(1, #answer), line)
        end
        local _, code, errors = slatectl("curve -o x.jpg")
        assert.are.equal(64, code)
        assert.truthy(errors:find("a chart is written as .png", 1, true))
    end)

    it("keep keys to themselves where dumps are refused", function()
        rig.start("-X")
        assert.are.equal("CLIENT_ERROR stats hotkeys not allowed", rig.ask("stats hotkeys"))
    end)
end)
