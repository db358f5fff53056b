-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl check, doctor, advise and the modules under them.
local fit = require "slate.judge.fit"
local gather = require "slate.base.gather"
local command = require "support.command"
local dkjson = require "dkjson"
local doctor = require "slate.judge.doctor"
local geometry = require "slate.facts.geometry"
local pipeline = require "support.pipeline"
local server = require "support.server"
local make = require("support.snapshots").make
local snapshot = require "slate.facts.snapshot"

local SEED <const> = math.tointeger(tonumber(os.getenv("SEED") or "")) or os.time()

describe("an advised policy", function()
    local function advised(...)
        local lines = { ... }
        local one = require("slate.judge.view").observer()
        for i = 0, 1 do one:observe(make(1000 + i, {}, { evictions = 100 * i })) end
        local context = { pair = function() return one.now, one.before, one.rates, nil, one end }
        return require("slate.judge.advice").policy(context, { stats = function() return lines end }, {})
    end

    it("is the one that hits most, but never none, which refuses stores", function()
        local advice = advised("STAT policy s3fifo", "STAT none:hit_ratio 0.8668", "STAT none:difference +0.0717",
            "STAT none:doubt 0.0100", "STAT none:reads 4000", "STAT sieve:hit_ratio 0.8333",
            "STAT sieve:difference +0.0381", "STAT sieve:doubt 0.0050", "STAT sieve:reads 4000",
            "STAT s3fifo:hit_ratio 0.7952", "STAT s3fifo:difference +0.0000", "STAT s3fifo:doubt 0.0000",
            "STAT s3fifo:reads 4000")
        assert.equal("sieve", advice.best)
        assert.same({ "slatectl set policy sieve" }, advice.commands)
        assert.equal("refuses stores when full", advice.table.rows[3][5]) -- so the class is last, whatever its hits
    end)
end)

describe("advice on automove", function()
    local function advised(mode, second, young_age_s, other)
        local function at(time_s, evicted)
            local now = make(time_s, {
                -- As many items as make the evicted ones live as long as the oldest ones are old.
                [3] = { total_pages = 9, used_chunks = 9, free_chunks = 0, number = 400 * second, age = 400,
                    evicted = evicted },
                [7] = { total_pages = 9, used_chunks = 9, free_chunks = 0, number = (young_age_s or 40) * second,
                    age = young_age_s or 40, evicted = other == "rests" and 0 or evicted },
            }, nil, { slab_automove = mode, slab_reassign = true })
            now.slated = "0.1.0"
            return now
        end
        local before, now = at(1, 0), at(2, second)
        return require("slate.judge.advice").automove({
            who = { slated = "0.1.0", store = "slab" },
            pair = function() return now, before, snapshot.rates(before, now) end,
        }, { stats = function() return nil, "no moves", "no" end }, {})
    end

    it("names a mode that helps where ages differ, never the present one, and by its name", function()
        for _, case in ipairs({ -- mode, s, ages of the young class and the other; commands, words, words absent
            { "lra", 100, 40, nil, "slatectl automove utility" }, { "utility", 100, 40, nil, "", "leave it on" },
            { 0, 100, 380, nil, "", "automove is off" }, { 1, 100, 380, nil, "", "ratio is on" },
            { 2, 100, 380, nil, "", "eviction is on" }, { "lra", 100, 380, nil, "", "lra is on" },
            { "utility", 100, 380, nil, "", "utility is on and is the right mode" },
            { 0, 100, 400, "rests", "", "automove is off: fewer than two classes", "equally old" },
            { 1, 100, 400, "rests", "", "ratio is on: fewer than two classes", "equally old" },
            { "lra", 0, 40, nil, "" }, -- no class evicts
        }) do
            local mode, second, age_s, other, commands, says, says_not = table.unpack(case, 1, 7)
            local advice = advised(mode, second, age_s, other)
            assert.equal(commands, table.concat(advice.commands, "; "))
            assert.truthy(not says or advice.text:find(says, 1, true), advice.text)
            assert.falsy(says_not and advice.text:find(says_not, 1, true), advice.text)
        end
    end)
end)

-- A histogram of some lumps and a tail of sizes, each exact.
local function random_histogram()
    local items, histogram = {}, { sizes = {}, exact = true, bytes = 0, items = 0 }
    for _ = 1, math.random(1, 6) do
        local bytes = math.floor(50 * math.exp(8 * math.random()))
        for _ = 1, math.random(1, 20) do
            items[bytes + math.random(0, bytes // 10)] = math.random(1, 2000)
        end
    end
    for bytes, count in pairs(items) do
        table.insert(histogram.sizes, { bytes = bytes, items = count })
    end
    table.sort(histogram.sizes, function(a, b) return a.bytes < b.bytes end)
    return histogram
end

local MEMCACHED <const> = { chunk_max_bytes = 524288, room_bytes = 48, memory_bytes = 64 << 20 }

describe("advised sizes", function()
    it("follow memcached's rules, with a ladder for later items, whatever the items", function()
        math.randomseed(SEED)
        for round = 1, 2 do
            local sizes = fit.whole_sizes(fit.least_waste_sizes(random_histogram(), MEMCACHED),
                MEMCACHED.chunk_max_bytes)
            local list = ("SEED=%d round %d: %s"):format(SEED, round, table.concat(sizes, "-"))
            assert.is_true(#sizes <= 63 and sizes[1] >= 48 and sizes[1] <= 96, list)
            for i = 1, #sizes - 1 do
                local next_size = sizes[i + 1]
                assert.is_true(sizes[i] % 8 == 0 and next_size >= sizes[i] + 16, list)
                assert.is_true(next_size <= math.ceil(sizes[i] * 1.5 / 8) * 8
                    or 1048576 // next_size + 1 == 1048576 // sizes[i], list)
            end
        end
    end)

    it("are taken by memcached as its option, and give the classes that were foretold", function()
        local binary = server.memcached()
        if not binary then
            return pending("no memcached here")
        end
        local histogram = { sizes = {}, exact = true, bytes = 0 }
        for i = 1, 400 do histogram.sizes[i] = { bytes = 70 + i * 37, items = 1000 - i } end
        local sizes = fit.least_waste_sizes(histogram, MEMCACHED)
        local said, seen = server.capture(("%s -vv -s /nowhere/socket -u root -o slab_sizes=%s 2>&1"):format(binary,
            table.concat(sizes, "-"))), {}
        for size in said:gmatch("slab class +%d+: chunk size +(%d+) ") do
            seen[#seen + 1] = math.tointeger(tonumber(size))
        end
        sizes[#sizes + 1] = 524288
        assert.same(sizes, seen)
    end)

    it("are those that slated fits to the same items, and so is the waste of others", function()
        math.randomseed(SEED)
        local one = server.start({ args = { "-m", "64", "--slab-classes=60", "-o", "no_slab_geometry_auto" } })
        local client = one:connect()
        local quiet, n = pipeline(client), 0
        for _, step in ipairs(random_histogram().sizes) do
            for _ = 1, step.bytes < 20000 and step.items // 10 or 1 do
                n = n + 1
                quiet:set("r" .. n, ("x"):rep(step.bytes))
            end
        end
        assert(quiet:finish())
        local unit, least = client:command("slabs geometry sizes 1 dry")
            :match("^BADSIZES .* by at least (%d+), from (%d+) to")
        local prediction = assert(client:command("slabs geometry auto dry"))
        local _, fitted = geometry.split_prediction(prediction)
        local dumper, counts, parts = one:connect(), {}, {}
        assert.is_nil((require("slate.wire.keydump").each(dumper, { limit = math.maxinteger }, function(key)
            counts[key.size_bytes] = (counts[key.size_bytes] or 0) + 1
        end)))
        for bytes, items in pairs(counts) do
            parts[#parts + 1] = { bytes = bytes, items = items }
        end
        table.sort(parts, function(a, b) return a.bytes < b.bytes end)
        local rules = { least_bytes = math.tointeger(least), first_bytes = 96, most_bytes = 524288,
            unit_bytes = math.tointeger(unit), step_bytes = math.tointeger(unit) }
        local sizes = fit.sizes(parts, rules, { classes_most = 60, used_classes_most = 40, pages = 64 })
        assert.same(fitted, sizes, "SEED=" .. SEED)
        local mean, most = fit.unseen_waste({ sizes = parts, exact = true }, sizes)
        assert.truthy(prediction:find(("waste %.1f %% on average and %.1f %% at most"):format(mean * 100,
            most * 100), 1, true), prediction)
        client:close()
        one:stop()
    end)
end)

describe("the doctor", function()
    local function finds(before, after, moves, change)
        local list = doctor.findings({ now = after, before = before, moves = moves, geometry = change })
        local words = gather.values(list, function(finding) return finding.severity .. ": " .. finding.what end)
        return table.concat(words, "\n"), list
    end
    -- Two snapshots a second apart, with a class's statistics before and after.
    local function pair(id, before, after, general)
        local base = { chunk_size = 96, chunks_per_page = 100, total_pages = 1, total_chunks = 100, used_chunks = 100,
            free_chunks = 0, number = 100, age = 10, evicted = 0, outofmemory = 0 }
        local function with(values)
            local class = {}
            for name, value in pairs(base) do class[name] = value end
            for name, value in pairs(values) do class[name] = value end
            return class
        end
        local calm = with({ total_pages = 30, total_chunks = 3000, free_chunks = 500, used_chunks = 2500, age = 9000 })
        local first, last = make(1, { [1] = calm, [id] = with(before) }), make(2, { [1] = calm, [id] = with(after) })
        for name, values in pairs(general or {}) do
            first.general[name], last.general[name] = values[1], values[2]
        end
        return first, last
    end

    it("names the gain of other chunk sizes, and advises no change that is under way", function()
        local _, after = pair(5, {}, { mem_requested = 5000 }, { evictions = { 10, 10 } })
        local function told(change)
            local words, list = finds(nil, after, nil, change)
            local todo = {}
            for i, finding in ipairs(list) do todo[i] = finding.todo end
            return words, table.concat(todo, "\n")
        end
        local words, todo = told({ state = "steady", auto = "no", auto_gain = 12.34 })
        assert.truthy(words:find("note: chunk sizes fitted to the present items would hold 12.3 % more of them", 1,
            true), words)
        assert.truthy(todo:find("slatectl geometry auto", 1, true), todo)
        assert.truthy(todo:find("slatectl advise sizes", 1, true), todo)
        for _, change in ipairs({ { state = "steady", auto = "no", auto_gain = 1.9 },
            { state = "steady", auto = "yes", auto_gain = 12 }, { state = "draining", auto_gain = 12 } }) do
            assert.falsy(told(change):find("chunk sizes", 1, true))
        end
        todo = select(2, told({ state = "draining", auto = "no", auto_gain = 0 }))
        assert.truthy(todo:find("a change of the chunk sizes is under way", 1, true), todo)
        assert.falsy(todo:find("advise sizes", 1, true), todo)
        todo = select(2, told({ state = "paused", auto = "no", auto_gain = 0 }))
        assert.truthy(todo:find("slatectl geometry resume", 1, true), todo)
    end)

    it("advises the window of automove only in the mode that uses it", function()
        local moves = { { from = 3, to = 5, time_s = 1, mode = "ratio" },
            { from = 5, to = 3, time_s = 2, mode = "ratio" } }
        for mode, todo in pairs({ [0] = "nothing: automove ratio moved them, and automove is off now",
            [1] = "slatectl set slab_automove_window 60",
            [2] = "slatectl automove utility", lra = "slatectl automove utility",
            utility = "slatectl moves has the reason" }) do
            local _, after = pair(7, {}, {})
            after.slated, after.settings = "0.1.0", { slab_automove = mode, slab_automove_window = 10 }
            local _, list = finds(nil, after, moves)
            assert.truthy(list[1].todo:find(todo, 1, true), list[1].todo)
            assert.equal(mode == 1, list[1].todo:find("window", 1, true) ~= nil)
        end
    end)

    it("has no finding for moves to and fro of its own mode utility, which pauses such classes", function()
        local _, after = pair(7, {}, {})
        after.slated, after.settings = "0.1.0", { slab_automove = "utility" }
        for mode, findings in pairs({ utility = 0, operator = 1 }) do
            local moves = {}
            for i = 1, 8 do -- an operator may move pages there and back some times
                moves[i] = { from = i % 2 == 1 and 3 or 5, to = i % 2 == 1 and 5 or 3, time_s = i, mode = mode }
            end
            local text, list = finds(nil, after, moves)
            assert.equal(findings, select(2, text:gsub("warning: pages moved back and forth", "")))
            assert.equal(findings, #list)
            assert.truthy(not list[1] or list[1].todo:find("a person or a program moved them, not", 1, true))
        end
    end)

    it("has a finding for moves to and fro until a minute after the last; of a mode that is off now a note", function()
        local _, after = pair(7, {}, {}, { time = { 1, 62 } })
        after.slated, after.settings = "0.1.0", { slab_automove = 0 }
        for time_s, found in pairs({ [1] = "", [2] = "note: " }) do
            local text = finds(nil, after, { { from = 3, to = 5, time_s = 0, mode = "utility" },
                { from = 5, to = 3, time_s = time_s, mode = "utility" } })
            assert.equal(found, text:match("(%a+: )pages moved back and forth") or "", text)
        end
    end)

    it("reports refused connections, reads in vain and pages that go to and fro", function()
        local before, after = pair(7, {}, {}, { listen_disabled_num = { 0, 3 }, cmd_get = { 5000, 9000 },
            get_hits = { 100, 200 }, get_misses = { 4900, 8800 } })
        local text = finds(before, after, { { from = 3, to = 5, time_s = 1 }, { from = 5, to = 3, time_s = 2 },
            { from = 3, to = 5, time_s = 3 } })
        assert.truthy(text:find("critical: the server turns connections away", 1, true), text)
        assert.truthy(text:find("note: only 2% of the reads", 1, true), text)
        assert.equal(1, select(2, text:gsub("pages moved back and forth", "")), text)
    end)
end)

for _, kind in ipairs(server.both()) do
    describe("slatectl judges " .. kind.name, function()
        local ctl = command.beside(setup, teardown, {
            binary = kind.binary, args = { "-m", "32", "-o", "slab_automove=0,track_sizes"
                .. (kind.is_slated and ",no_slab_geometry_auto" or "") }, -- no change but by a claim
        })

        it("with the exit codes and the line of a monitoring plugin", function()
            for i = 1, 20 do assert(ctl.client:set("large" .. i, ("x"):rep(50000))) end
            local code, out = ctl.run("check --interval 20ms")
            assert.equal(0, code, out)
            assert.truthy(out:find("^OK %- [^|\n]+ | 'ev'=[%d.]+;; [^\n]+\n$"), out)
            code, out = ctl.run("check --interval 20ms --warn used=1")
            assert.equal(1, code)
            assert.truthy(out:find("^WARNING %- %S+ used=[%d.]+%% | "), out)
            code, out = ctl.run("check --interval 20ms --warn used=1 --crit uptime=1000000 --json")
            assert.equal(2, code)
            assert.equal("critical", dkjson.decode(out).state)
            code, out = ctl.run("check ./nobody " .. ctl.one.address .. " --interval 20ms")
            assert.equal(2, code)
            assert.truthy(out:find("^CRITICAL %- ./nobody down: No such file or directory; 1 of 2 servers well "), out)
            code = ctl.run("check --interval 0 --warn ev=1") -- one sample has no rates
            assert.equal(3, code)
            assert.equal(64, (ctl.run("check --warn nonsense=1")))
        end)

        it("and foretells the waste that other chunk sizes then show", function()
            math.randomseed(SEED)
            assert(ctl.client:flush_all())
            local quiet = pipeline(ctl.client)
            for i = 1, 20000 do -- sizes as in caches: many small ones and a long tail
                local bytes = math.floor(math.exp(5 + 1.2 * math.sqrt(-2 * math.log(1 - math.random()))
                    * math.cos(2 * math.pi * math.random())))
                quiet:set("item-" .. i, ("x"):rep(math.max(1, math.min(bytes, 20000))))
            end
            assert(quiet:finish())
            local code, out = ctl.run("advise sizes --from metadump --json")
            assert.equal(0, code, out)
            local advice = assert(dkjson.decode(out))
            assert.is_true(advice.sizes_waste_ratio < advice.waste_ratio)
            if not kind.is_slated then
                assert.truthy(advice.commands[1]:find("^memcached %-o slab_sizes=%d"), out)
                return
            end
            code, out = ctl.run("advise sizes --json")
            assert.equal(0, code, out)
            advice = assert(dkjson.decode(out))
            local told = ctl.succeed("geometry auto --dry-run"):gsub("%s+", " ")
            assert.truthy(told:find(("waste %.1f %% of their memory instead of %.1f %%"):format(
                advice.sizes_waste_ratio * 100, advice.waste_ratio * 100), 1, true), out .. told)
            assert.equal("OK", ctl.client:command("config set slab_geometry_rate 100"))
            local shell_code, _, err = ctl.shell(advice.commands[1] .. " --force")
            assert.equal(0, shell_code, err)
            local after = dkjson.decode((select(2, ctl.run("geometry --json"))))
            assert.is_true(math.abs(after.change.waste_now - advice.sizes_waste_ratio * 100) < 1,
                ("SEED=%d: %s foretold, %s shown"):format(SEED, advice.sizes_waste_ratio * 100, after.change.waste_now))
        end)

        it("and names facts that it cannot know", function()
            for _, subject in ipairs({ "memory", "automove", "policy" }) do
                local code, out, err = ctl.run("advise " .. subject .. " --interval 20ms")
                if not kind.is_slated then
                    assert.equal(0, code, err)
                    assert.equal(subject ~= "automove", out:find("needs slated", 1, true) ~= nil, out)
                elseif code ~= 0 then
                    assert.truthy((out .. err):find("too few reads were sampled", 1, true), err)
                end
            end
        end)
    end)
end
