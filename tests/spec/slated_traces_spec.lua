-- SPDX-License-Identifier: BSD-3-Clause
-- slated --simulate reads the traces that others publish and those of slatectl capture, and plays a sample scaled to
-- the whole; slate-load replays them.
local json = require "slate.base.json"
local server = require "support.server"
require "support.world"

-- The same seven requests in four forms: a b a, a store of b, a delete of a, then a and b again.
local FORMS <const> = {
    slate = "# slate trace 1 sample=1/1\n0 get a 10 - -\n1000 get b 20 - -\n2000 get a 10 - -\n3000 set b 30 0 -\n"
        .. "4000 delete a - - -\n5000 get a 10 - -\n6000 get b 30 - -\n",
    twitter = "0,a,1,10,1,get,0\n1,b,1,20,1,get,0\n2,a,1,10,1,get,0\n3,b,1,30,1,set,0\n4,a,1,0,1,delete,0\n"
        .. "5,a,1,10,1,get,0\n6,b,1,30,1,get,0\n",
    cachelib = "op_time,key,op,size\n0,a,GET,10\n1,b,GET,20\n2,a,GET,10\n3,b,SET,30\n4,a,DELETE,0\n5,a,GET,10\n"
        .. "6,b,GET,30\n",
}

describe("traces of other forms", function()
    local folder

    before_each(function() folder = server.folder() end)
    after_each(function() server.remove_folder(folder) end)

    local function write(name, text)
        server.write_file(folder .. "/" .. name, text)
        return folder .. "/" .. name
    end

    local function simulate(trace, words)
        local code, out, err = server.run_slated(("--simulate %s --json %s"):format(server.quoted(trace), words))
        assert.equal(0, code, err)
        return assert(json.decode(out:match("^[^\n]+"))), err
    end

    it("are recognised, and play alike", function()
        for name, text in pairs(FORMS) do
            for _, kind in ipairs({ "--memory 8m", "--objects 10" }) do
                local row, err = simulate(write(name, text), kind)
                assert.equal("", err)
                assert.equal(name, row.format)
                assert.same({ 5, 2, 1, 1, 2 }, { row.requests, row.hits, row.stores, row.deletes, row.items },
                    name .. " " .. kind)
                assert.is_nil(row.requests_per_s, "the trace's own times count")
            end
            assert.equal(100, simulate(folder .. "/" .. name, "--memory 8m --rate 100").requests_per_s)
        end
    end)

    it("are read as they are said to be", function()
        local trace = write("plain", "0,a,1,10,1,get,0\n")
        assert.equal("keys", simulate(trace, "--objects 3 --format keys").format)
        local code, _, err = server.run_slated("--objects 3 --format slate --simulate " .. trace)
        assert.equal(65, code)
        assert.truthy(err:find("as slate: line 1: it does not begin with `# slate trace`", 1, true), err)
        code, _, err = server.run_slated("--objects 3 --format json --simulate " .. trace)
        assert.equal(64, code)
        assert.truthy(err:find("--format wants auto, keys, slate, twitter, cachelib or oracle, not", 1, true), err)
        code, _, err = server.run_slated("--objects 3 --sample 64 --simulate " .. trace)
        assert.equal(64, code)
        assert.truthy(err:find("--sample wants one key in so many, such as 1/64, at most 1/1048576, not", 1, true), err)
        assert.equal(64, (server.run_slated("--objects 3 --sample 1/1048577 --simulate " .. trace)))
        local rare = write("rare", "# slate trace 1 sample=1/1048577\n0 get a 10 - -\n")
        code, _, err = server.run_slated("--objects 3 --simulate " .. rare)
        assert.equal(65, code)
        assert.truthy(err:find("line 1: its sample is not written as 1/64, at most 1/1048576", 1, true), err)
    end)

    it("are refused where they are too small a sample of a cache to say anything", function()
        local rare = write("rare", "# slate trace 1 sample=1/1048576\n0 get a 10 - -\n")
        for words, told in pairs({ ["--memory 8m"] = "a cache of 8m: give 4g at least",
            ["--memory 8g,4095m"] = "a cache of 4095m: give 4g at least",
            ["--objects 524287"] = "a cache of 524287 objects: give 524288 at least" }) do
            local code, _, err = server.run_slated(words .. " --policy lru --simulate " .. rare)
            assert.equal(64, code, err)
            assert.truthy(err:find("a trace of one key in 1048576 says nothing of " .. told, 1, true), err)
        end
        assert.equal(0, (server.run_slated("--objects 524288 --policy lru --simulate " .. rare)))
    end)

    it("expire items at the trace's times, and store the key's last item again", function()
        -- k lives 5 s: the read at 2 s hits; the one at 10 s misses and stores k again with its size and its 5 s; the
        -- one at 16 s misses again.
        local trace = write("ttl", "# slate trace 1\n0 set k 50 5 -\n2000 get k - - -\n10000 get k - - -\n"
            .. "12000 get k - - -\n16000 get k - - -\n20000 get u - - -\n21000 get u - - -\n")
        local row = simulate(trace, "--memory 8m")
        assert.same({ 6, 2 }, { row.requests, row.hits })
        assert.equal(1, row.items) -- u's size is nowhere told, so nothing is stored after its misses
    end)

    -- Popularity by a power law over many keys, sizes by the key.
    local function zipf(requests, keys, exponent)
        local seed = 20261125
        print("\n# SEED=" .. seed)
        math.randomseed(seed)
        local draw, list = require("drawn").zipf(keys, exponent), {}
        for n = 1, requests do list[n] = draw() end
        return list
    end

    it("are played scaled to the whole where they are a sample, by objects and by memory", function()
        local keys, whole, sample = zipf(160000, 60000, 0.7), {}, { "# slate trace 1 sample=1/8\n" }
        for n, key in ipairs(keys) do
            local bytes = 400 + key * 7919 % 1200
            whole[n] = ("key%d %d\n"):format(key, bytes)
            if key * 2654435761 % 4294967296 % 8 == 3 then
                sample[#sample + 1] = ("%d get key%d %d - -\n"):format(n // 10, key, bytes)
            end
        end
        local all, part = write("all", table.concat(whole)), write("part", table.concat(sample))
        for _, words in ipairs({ "--objects 6000 --policy lru", "--objects 6000 --policy s3fifo", "--objects 20%",
            "--memory 16m --policy lru", "--memory 16m" }) do
            local exact, guess = simulate(all, words), simulate(part, words)
            assert.equal(1 / 8, guess.sample_ratio)
            assert.is_true(math.abs(exact.hit_ratio - guess.hit_ratio) < 0.02, ("%s: %.4f, of the sample %.4f"):format(
                words, exact.hit_ratio, guess.hit_ratio))
            assert.is_true(math.abs(guess.requests / exact.requests - 1) < 0.1)
            assert.equal(exact.memory_bytes, guess.memory_bytes)
            assert.is_true(not exact.objects or math.abs(guess.objects / exact.objects - 1) < 0.05)
            assert.is_true(math.abs(guess.items / exact.items - 1) < 0.05)
        end
        local unscaled = simulate(part, "--objects 6000 --policy lru --sample 1/1")
        assert.is_true(unscaled.hit_ratio > simulate(all, "--objects 6000 --policy lru").hit_ratio + 0.05)
    end)

    it("are replayed by slate-load, a sample by as many keys as there were", function()
        local one = server.start({ args = { "-m", "64" } })
        local text = "# slate trace 1 sample=1/4\n0 get a 10 - -\n1 get a 10 - -\n2 set b 30 0 -\n3 get b 30 - -\n"
            .. "4 delete b - - -\n5 get b 30 - -\n6 get u - - -\n"
        assert.is_true(server.said(("build/bin/slate-load --server %s --replay %s --json"):format(one.address,
            write("sample", text))))
        local client = one:connect()
        local found = require("slate.facts.stats").flat(assert(client:stats("")))
        client:close()
        one:stop()
        assert.same({ 20, 8, 4, 8 }, { found.cmd_get, found.get_hits, found.delete_hits, found.curr_items })
        assert.equal(4 + 4 + 4, found.cmd_set) -- a and b after their misses, and the trace's own store
    end)
end)
