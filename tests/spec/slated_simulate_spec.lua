-- SPDX-License-Identifier: BSD-3-Clause
-- slated --simulate: its policies against an independent reference, its figures against a server's, its output and its
-- failures.
local drawn = require "drawn"
local json = require "slate.base.json"
local reference = require "support.reference"
local server = require "support.server"
require "support.world"

local slated = assert(server.slated(), "there is no slated to run: run make first")
local TOLERANCE <const> = 0.01 -- relative to the misses
local SEED <const> = 20231023

local folder

local function write(name, text)
    local path = folder .. "/" .. name
    server.write_file(path, text)
    return path
end

-- Runs slated with these words. Returns its exit code, output and errors.
local function run(words, input) return server.run_slated(words .. (input and " <" .. input or "")) end

local function simulate(trace, words)
    local code, out, err = run(("--simulate %s --json %s"):format(server.quoted(trace), words))
    assert.equal(0, code, err)
    local rows = {}
    for line in out:gmatch("[^\n]+") do
        rows[#rows + 1] = assert(json.decode(line))
        rows[rows[#rows].policy] = rows[#rows]
    end
    return rows
end

-- Zipf-like popularity over `keys` keys, with a scan of keys seen once now and then.
local function zipf_with_scans(requests, keys, exponent)
    math.randomseed(SEED)
    local draw, list, fresh = drawn.zipf(keys, exponent), {}, 0
    while #list < requests do
        if #list % 5000 == 4000 then
            for _ = 1, 500 do
                fresh = fresh + 1
                list[#list + 1] = "scan" .. fresh
            end
        end
        list[#list + 1] = "key" .. draw()
    end
    return list
end

local function distinct(keys)
    local seen, count = {}, 0
    for _, key in ipairs(keys) do
        count = count + (seen[key] and 0 or 1)
        seen[key] = true
    end
    return count
end

local PAPER <const> = "s3fifo_promote_hits=2" -- as published for S3-FIFO, and as the references have it

-- Every policy of the reference at 1 and 10 % of the keys: slated's figure is within the tolerance.
local function assert_like_reference(trace, keys)
    local count = distinct(keys)
    for _, share in ipairs({ 1, 10 }) do
        local size = math.max(1, math.floor(count * share / 100 + 0.5))
        local names = table.concat(reference.POLICIES, ",")
        local rows = simulate(trace, ("--objects %d%% --policy %s -o %s"):format(share, names, PAPER))
        assert.equal(#reference.POLICIES, #rows)
        for _, policy in ipairs(reference.POLICIES) do
            local row, misses = rows[policy], reference.misses(policy, size, keys)
            assert.equal(size, row.objects)
            assert.equal(count, row.keys)
            assert.equal(#keys, row.requests)
            local off = (row.requests - row.hits) / misses - 1
            assert.is_true(math.abs(off) <= TOLERANCE, ("%s, %s at %d %%: %.2f %% more misses than the reference")
                :format(trace, policy, share, off * 100))
        end
    end
end

before_each(function() folder = server.folder() end)
after_each(function() server.remove_folder(folder) end)

describe("slated --simulate with objects of equal size", function()
    it("misses as often as the reference simulation, within a hundredth, policy by policy", function()
        local keys = zipf_with_scans(25000, 5000, 0.9)
        print(("\n# SEED=%d"):format(SEED))
        assert_like_reference(write("zipf.txt", table.concat(keys, "\n") .. "\n"), keys)
    end)
end)

describe("slated --simulate with memory", function()
    -- Some pages of three sizes, so that classes compete and evict.
    local function mixed_trace()
        local lines = {}
        for i, key in ipairs(zipf_with_scans(12000, 8000, 0.8)) do
            lines[i] = key .. " " .. ({ 200, 700, 2000 })[tonumber(key:match("%d+")) % 3 + 1]
        end
        return write("mixed.txt", table.concat(lines, "\n") .. "\n"), lines
    end

    -- The same by hand over a connection: get; on a miss, set.
    local function replay(one, lines)
        local client, hits = one:connect(), 0
        for _, line in ipairs(lines) do
            local key, bytes = line:match("^(%S+) (%d+)$")
            if client:get(key) then
                hits = hits + 1
            else
                assert(client:set(key, ("x"):rep(tonumber(bytes))))
            end
        end
        client:close()
        return hits
    end

    it("has the hits that a server has on the same requests", function()
        local _, all = mixed_trace()
        local lines = table.move(all, 1, 6000, 1, {})
        local trace = write("short.txt", table.concat(lines, "\n") .. "\n")
        for _, policy in ipairs({ "fifo", "sieve", "s3fifo" }) do
            local one = server.start({ args = { "-m", "4", "-t", "1", "--policy", policy, "-o", "slab_automove=off" } })
            local ok, hits = pcall(replay, one, lines)
            one:stop()
            assert.is_true(ok, hits)
            local rows = simulate(trace, "--memory 4m --policy " .. policy)
            assert.is_true(rows[1].evictions > 0 and hits > 0)
            -- A server has its own clock and seed of hashes, on which partitions and ghosts depend.
            assert.is_true(math.abs(rows[1].hits - hits) <= hits * TOLERANCE, ("%s: %d hits, and %d on a server")
                :format(policy, rows[1].hits, hits))
        end
    end)

    it("counts from a warm-up on: its counts and those of the first requests are those of all", function()
        local all, lines = mixed_trace()
        local first = write("first.txt", table.concat(lines, "\n", 1, 6000) .. "\n")
        for _, words in ipairs({ "--memory 4m --policy lru,s3fifo", "--objects 500 --policy lru,s3fifo" }) do
            local of_all, of_first = simulate(all, words), simulate(first, words)
            for _, warmup in ipairs({ "6000", "50%" }) do
                for i, row in ipairs(simulate(all, words .. " --warmup " .. warmup)) do
                    assert.equal(6000, row.warmup_requests)
                    for _, name in ipairs({ "requests", "hits", "evictions", "refused" }) do
                        assert.equal(of_all[i][name] - of_first[i][name], row[name], name)
                    end
                    assert.is_true(row.hits > 0 and row.evictions > 0)
                    assert.equal(of_all[i].items, row.items)
                end
            end
        end
    end)

    it("plays a grid of policies and limits, from a file or a pipe alike, and again alike", function()
        local trace = mixed_trace()
        local words = "--memory 4m,8m --policy lru,s3fifo -f 1.5 -n 64 -o slab_chunk_max=256k"
        local rows = simulate(trace, words)
        assert.equal(4, #rows)
        for i, want in ipairs({ { "lru", 4 }, { "s3fifo", 4 }, { "lru", 8 }, { "s3fifo", 8 } }) do
            assert.equal(want[1], rows[i].policy)
            assert.equal(want[2] << 20, rows[i].memory_bytes)
        end
        assert.is_true(rows[3].hits > rows[1].hits)
        local code, out = run("--simulate - --json " .. words, trace)
        assert.equal(0, code)
        local i = 0
        for line in out:gmatch("[^\n]+") do
            i = i + 1
            assert.equal(rows[i].hits, json.decode(line).hits)
            assert.equal(rows[i].evictions, json.decode(line).evictions)
        end
        assert.equal(4, i)
    end)

    it("prints the memory held where there are more classes with items than pages", function()
        local lines = {}
        for i = 1, 30 do lines[i] = ("k%d %d"):format(i, math.floor(60 * 1.3 ^ i)) end
        local trace = write("classes.txt", table.concat(lines, "\n") .. "\n")
        local code, out, err = run("--simulate " .. trace .. " --memory 4m,128m --policy lru,fifo")
        assert.equal(0, code)
        local over = "every class with items keeps a page: lru had (%d+)m of 4m; fewer classes %(%-f%) need less\n$"
        local held = tonumber(err:match(over))
        assert.is_true(held > 4, err)
        assert.equal(1, select(2, err:gsub("\n", "")))
        assert.truthy(out:find(("lru +4m +%dm +30 "):format(held)), out)
        local rows = simulate(trace, "--memory 4m,128m --policy lru,fifo")
        for _, row in ipairs(rows) do assert.equal(held << 20, row.held_bytes) end
        assert.equal("", select(3, run("--simulate " .. trace .. " --memory 128m")))
    end)

    it("has the same hits with every kind of index, which decides nothing", function()
        local trace = mixed_trace()
        local all = simulate(trace, "--memory 4m")
        for _, kind in ipairs(server.choices(slated, "index")) do
            assert.equal(all[1].hits, simulate(trace, "--memory 4m --index " .. kind)[1].hits)
        end
    end)

    it("follows the miniatures with s3auto, alike each time", function()
        local trace = mixed_trace()
        local one = simulate(trace, "--memory 8m --policy s3auto,s3fifo -o sample_rate=1")
        assert.equal(one.s3auto.policy_changes == 0, one.s3auto.hits == one.s3fifo.hits)
        assert.is_string(one.s3auto.policy_now)
        assert.is_nil(one.s3fifo.policy_changes)
        assert.equal(one.s3auto.hits, simulate(trace, "--memory 8m --policy s3auto -o sample_rate=1").s3auto.hits)
    end)

    it("draws sizes by the key where the trace has none", function()
        local keys = zipf_with_scans(20000, 15000, 0.6)
        local trace = write("keys.txt", table.concat(keys, "\n") .. "\n")
        local function hits(words) return simulate(trace, "--memory 4m " .. words)[1].hits end
        assert.equal(hits(""), hits("--value-bytes l300,1"))
        local narrow = hits("--value-bytes l300,0.1")
        assert.not_equal(narrow, hits(""))
        assert.is_true(narrow > hits("--value-bytes 2000"))
        assert.is_true(narrow > hits("--value-bytes l300,0.1 --scale 4"))
    end)
end)

describe("slated --simulate", function()
    it("prints a table, or the same as an object a line", function()
        local trace = write("few.txt", "a 1\nb 2\na 1\nc 3\na 1\n")
        local code, out, err = run("--simulate " .. trace .. " --objects 2 --policy lru,fifo")
        assert.equal(0, code)
        assert.equal("", err)
        local lines = {}
        for line in out:gmatch("[^\n]+") do lines[#lines + 1] = line end
        assert.equal("# " .. trace .. ": 5 requests; 10000 requests a second; objects of equal size", lines[1])
        assert.truthy(lines[2]:find("^policy +objects +requests +hits +hit ratio +miss ratio +items +evictions "))
        assert.truthy(lines[3]:find("^lru +2 +5 +2 +0%.4000 +0%.6000 +2 +1 +0 "), lines[3])
        assert.truthy(lines[4]:find("^fifo +2 +5 +1 +0%.2000 +0%.8000 +2 +2 +0 "), lines[4])
        assert.equal(4, #lines)
        local row = simulate(trace, "--objects 2 --policy fifo").fifo
        row.seconds = nil
        assert.same({ schema = "slate/simulation/1", trace = trace, policy = "fifo", objects = 2, requests = 5,
            hits = 1,
            hit_ratio = 0.2, miss_ratio = 0.8, items = 2, evictions = 2, refused = 0, requests_per_s = 10000,
            format = "keys", sample_ratio = 1, bad_lines = 0, warmup_requests = 0 }, row)
    end)

    it("writes any file name as JSON", function()
        local trace = write('od"d\\ \t name', "a\n")
        assert.equal(trace, simulate(trace, "--objects 1")[1].trace)
    end)

    it("skips lines that are no requests, and says how many and why", function()
        local trace = write("bad.txt", "a 1\nb c d\na 1\nx y\n")
        local code, out, err = run("--simulate " .. trace .. " --objects 100% --policy lru")
        assert.equal(0, code)
        assert.truthy(out:find("2 requests, 1 keys, 2 lines skipped", 1, true), out)
        assert.equal("slated: lines of the trace that were skipped: 2; the first is line 2: it is neither `key` nor "
            .. "`key size`\n", err)
    end)

    local function assert_fails(words, status, pattern, input)
        local code, out, err = run(words, input)
        assert.equal(status, code, words .. ": " .. err)
        assert.equal("", out)
        assert.truthy(err:find(pattern, 1, true), err)
        assert.equal(1, select(2, err:gsub("\n", "\n")), "not one line: " .. err)
    end

    it("reports an error by its exit status and one sentence", function()
        local good, bad = write("good.txt", "a\n"), write("bad.txt", "\n\n<a b>\n<c d>\n")
        local cut = folder .. "/cut.gz"
        assert(os.execute(("seq 100000 | gzip >%s && truncate -s 9000 %s"):format(cut, cut)))
        assert_fails("--simulate", 64, "--simulate needs a value")
        assert_fails("--simulate " .. good .. " --policy quux", 64, "--policy wants all, or some of slru")
        assert_fails("--simulate " .. good .. " -t 0", 64, "-t wants a whole number from 1 to 128")
        assert_fails("--simulate " .. good .. " --objects 2000000000,2000000000 --policy all", 64, "would take")
        for _, trace in ipairs({ "-", folder .. "/none" }) do
            assert_fails("--simulate " .. trace .. " --objects 10%", 64, "needs a file that can be read twice, and "
                .. trace .. " is none", good)
        end
        assert_fails("--simulate " .. folder .. "/none", 66, "No such file")
        assert_fails("--simulate " .. folder, 66, "it is a folder")
        assert_fails("--simulate " .. bad, 65, "no line of the trace is a request; line 3: it is neither")
        assert_fails("--simulate " .. write("rec.jsonl", '{"schema":"slate/snapshot/1","time_s":1}\n{"of":1}\n'), 65,
            "this is a recording of slatectl; a recording is for `slatectl policy run NAME --recording FILE`")
        assert_fails("--simulate /dev/null", 65, "holds no request")
        assert_fails("--simulate " .. cut .. " --objects 5", 65, "cut short")
        local _, _, code = os.execute(("%s --simulate %s --objects 1 >/dev/full 2>%s/err"):format(server.quoted(slated),
            server.quoted(good), folder))
        assert.equal(74, code)
        assert.truthy(server.read_file(folder .. "/err"):find("cannot write the result", 1, true))
    end)
end)
