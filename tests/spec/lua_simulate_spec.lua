-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl simulate and the modules under it. slated_simulate_spec has the accuracy of the figures.
local server = require "support.server"
local command = require "support.command"
local dkjson = require "dkjson"
local simulate = require "slate.policy.simulate"

-- A loop of 100 keys and a few frequent ones: each policy retains other keys.
local function trace_text()
    local lines = {}
    for i = 1, 6000 do lines[i] = i % 3 == 0 and "often" .. i % 7 or "loop" .. i % 100 end
    return table.concat(lines, "\n") .. "\n"
end

describe("slate.policy.simulate", function()
    it("shares the policies among the processes", function()
        local grid = { trace = "a's", policies = { "a", "b", "c" }, sizes = "1%,2%", by_objects = true,
            words = { "--scale", "2" } }
        assert.same({
            "exec nice -n 10 bin/slated --json --simulate='a'\\''s' '--policy=a,c' '--objects=1%,2%' --scale 2",
            "exec nice -n 10 bin/slated --json --simulate='a'\\''s' '--policy=b' '--objects=1%,2%' --scale 2",
        }, simulate.commands("bin/slated", grid, 2))
        assert.equal(3, #simulate.commands("bin/slated", grid, 8))
        grid.by_objects, grid.trace = false, "-"
        local only = simulate.commands("bin/slated", grid, 8)
        assert.equal(1, #only)
        assert.truthy(only[1]:find("--simulate=- '--policy=a,b,c' '--memory=1%,2%'", 1, true))
    end)

    it("compares the misses of each size with the baselines, and marks the best", function()
        local rows = simulate.compare({
            { policy = "lru", objects = 5, requests = 100, hits = 50 },
            { policy = "x", objects = 5, requests = 100, hits = 60 },
            { policy = "lru", objects = 9, requests = 100, hits = 100 },
            { policy = "x", objects = 9, requests = 100, hits = 100 },
        }, { "lru", "y" })
        assert.is_false(rows[1].best)
        assert.is_true(rows[2].best and rows[3].best and rows[4].best)
        assert.is_true(math.abs(rows[2].against.lru + 0.2) < 1e-12)
        assert.equal(0, rows[1].against.lru)
        assert.is_nil(rows[2].against.y)
        assert.is_nil(rows[4].against.lru) -- without misses there is no share
    end)
end)

describe("slatectl simulate", function()
    local ctl

    setup(function()
        ctl = command.new()
        server.write_file(ctl.folder .. "/trace.txt", trace_text())
    end)
    teardown(function() ctl.remove() end)

    local function succeed(arguments)
        local code, out, err = ctl.run("simulate " .. arguments)
        assert.equal(0, code, arguments .. ": " .. err)
        return out, err
    end

    it("prints the sizes in order with the best policy first and marked", function()
        local out = succeed("trace.txt --objects 50%,20 --policy lru,fifo,sieve,s3fifo --processes 3")
        local lines = {}
        for line in out:gmatch("[^\n]+") do lines[#lines + 1] = line end
        assert.equal(2 + 8, #lines)
        assert.truthy(lines[1]:find("^trace%.txt: 6000 requests, %d+ keys; %* fewest misses$"), lines[1])
        assert.truthy(lines[2]:find("^OBJECTS +POLICY +HIT RATIO +MISS RATIO +MISSES TO LRU +MISSES TO S3FIFO"))
        assert.truthy(lines[3]:find("^ +20  %w+ %*"), lines[3])
        assert.truthy(lines[7]:find("^ +%d+  %w+ %*"), lines[7])
        for i = 3, 10 do
            local policy, hit, miss, to_lru = lines[i]:match("^ +%d+  (%w+)[ *]+ ([%d.]+) +([%d.]+) +(%S+)")
            assert.is_true(math.abs(tonumber(hit) + tonumber(miss) - 1) < 2e-4, lines[i])
            assert.truthy(policy ~= "lru" or to_lru == "+0.0%", lines[i])
        end
    end)

    it("plays every policy by default, and with memory takes slated's own options", function()
        local out = succeed("trace.txt --json --memory 2m,4m --with='-n 64 --value-bytes 20000'")
        local document = assert(dkjson.decode(out))
        assert.equal("slate/simulations/1", document.schema)
        assert.truthy(command.read_file("man/slate-json.7"):find(".It Li " .. document.schema .. "\n", 1, true))
        local seen = {}
        for _, row in ipairs(document.rows) do
            assert.equal("20000", row.value_bytes)
            assert.equal(6000, row.requests)
            seen[row.policy] = (seen[row.policy] or 0) + 1
        end
        assert.equal(2, seen.lru)
        assert.equal(2, seen[document.default_policy])
        assert.is_nil(seen.none)
        assert.is_true(document.rows[1].memory_bytes < document.rows[#document.rows].memory_bytes)
    end)

    it("draws the curves as a picture or as text", function()
        succeed("trace.txt --objects 10,20,50,100 --policy lru,s3fifo -o misses.svg >table")
        local svg = command.read_file(ctl.folder .. "/misses.svg")
        for _, text in ipairs({ "Miss ratio, trace.txt", "miss ratio", "objects", "s3fifo", ">50<", "</svg>" }) do
            assert.truthy(svg:find(text, 1, true), text)
        end
        succeed("trace.txt --objects 10,100 --policy lru,s3fifo -o misses.txt --width 70 >table")
        local text = command.read_file(ctl.folder .. "/misses.txt")
        assert.truthy(text:find("A [%w]+   B [%w]+\n"), text)
        succeed("trace.txt --objects 10,100 --policy lru -o misses.png >table")
        assert.equal("\137PNG", command.read_file(ctl.folder .. "/misses.png"):sub(1, 4))
    end)

    it("passes on slated's remarks", function()
        local _, err = succeed("- --objects 5 --policy lru,fifo <<'END'\na\nb c d\nEND")
        assert.equal("slatectl: lines of the trace that were skipped: 1; the first is line 2: it is neither `key` "
            .. "nor `key size`\n", err:match("^[^\n]*\n"))
    end)

    it("says that the caches begin empty while most misses are first requests of keys", function()
        local _, err = succeed("trace.txt --objects 100% --policy lru")
        assert.equal("slatectl: the caches begin empty: all of the fewest misses are first requests of keys, "
            .. "which a server that ran before may hold; --warmup 50% counts with filled caches, a longer trace has "
            .. "fewer\n", err)
        assert.equal("", (select(2, succeed("trace.txt --objects 20 --policy lru"))))
        local out
        out, err = succeed("trace.txt --objects 100% --policy lru --warmup 50%")
        assert.truthy(out:find("^trace.txt: (%d+) requests after %1 that filled the caches, "), out)
        assert.equal("", err)
    end)

    it("reports an error in one line, and leaves no chart behind", function()
        for _, case in ipairs({
            { "trace.txt --objects 5 --memory 64m", 64, "exclude each other" },
            { "trace.txt --objects 5 -o x.png", 64, "at least two sizes" },
            { "trace.txt --objects 5,6 -o x.gif", 64, ".html or .txt" },
            { "trace.txt --policy quux --objects 5", 64, "--policy wants all, or some of" },
            { "trace.txt --policy lru,lru", 64, "names lru twice" },
            { "trace.txt --policy , --objects 5", 64, "wants names" },
            { "trace.txt --objects five", 64, "--objects wants a number" },
            { "trace.txt --warmup 20k", 64, "'20k' is no number of requests, such as 20000, and no share" },
            { "trace.txt --warmup 100%", 64, "such as 50%, at most 99%" },
            { "none.txt --warmup 50%", 64, "needs a file that can be read twice, and none.txt is none" },
            { "trace.txt --objects 5 --warmup 99999999", 64, "--warmup takes all requests of trace.txt" },
            { "trace.txt --objects 5 --with=--quux", 64, "--quux is not an option" },
            { "trace.txt --objects 5 --with=--help", 70, "gave no figures" },
            { "none.txt --objects 5", 74, "No such file" },
            { "trace.txt --objects 5,6 --policy lru -o no/where.png >table", 74, "cannot write" },
            { "", 64, "TRACE" },
        }) do
            local code, out, err = ctl.run("simulate " .. case[1])
            assert.equal(case[2], code, case[1] .. ": " .. err)
            assert.equal("", out)
            assert.truthy(err:lower():find(case[3]:lower(), 1, true), err)
            assert.equal(1, select(2, err:gsub("\n", "\n")), err)
        end
        local _, listing = ctl.shell("ls")
        assert.is_nil(listing:find("x%.[pg]"))
    end)
end)
