-- SPDX-License-Identifier: BSD-3-Clause
-- Policies over recordings as if their moves had been made; and the scripts that lie beside slatectl.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local dkjson = require "dkjson"
local make = require("support.snapshots").make
local recordings = require "support.recordings"
local policy = require "slate.policy.file"
local rehearse = require "slate.policy.rehearse"

-- Class 3 is not asked for anything; class 7 has a quarter of the pages that its keys need, all asked for alike.
local function recording(count)
    local list = {}
    for i = 0, count do
        list[i + 1] = make(1000 + i, {
            [3] = { chunk_size = 1024, chunks_per_page = 1024, total_pages = 20, total_chunks = 20480, free_chunks = 0,
                used_chunks = 20480, number = 20480, age = 500, evicted = 0, outofmemory = 0, get_hits = 0,
                cmd_set = 0 },
            [7] = { chunk_size = 1024, chunks_per_page = 1024, total_pages = 4, total_chunks = 4096, free_chunks = 0,
                used_chunks = 4096, number = 4096, age = 0, evicted = i * 7500, outofmemory = 0, get_hits = i * 2500,
                cmd_set = i * 7500 },
        }, { limit_maxbytes = 24 << 20, slab_global_page_pool = 0 })
        list[i + 1].pages_free = 0
    end
    return list
end

describe("a rehearsal", function()
    local list = recording(30)

    local function play(name, words)
        return assert(rehearse.play(list, assert(assert(policy.open(name)):start(words or {}))))
    end

    it("without moves is what was recorded", function()
        local recorded, still = rehearse.recorded(list), assert(rehearse.play(list))
        assert.equal(0.25, recorded.hit_ratio)
        assert.equal(30 * 10000, recorded.requests)
        for _, name in ipairs({ "hits", "requests", "hit_ratio", "evicted" }) do
            assert.near(recorded[name], still[name], 1e-9, name)
        end
        assert.equal(0, still.moves)
    end)

    it("has the hits and misses that were recorded, of every recording that no page moved in", function()
        for _, name in ipairs({ "calcified", "scan", "etc-off", "falls", "twoclass", "uniform", "usr-stock" }) do
            local snapshots = recordings.load(name)
            local first, last = snapshots[1].general, snapshots[#snapshots].general
            local hits, misses = last.get_hits - first.get_hits, last.get_misses - first.get_misses
            for of, row in pairs({ recorded = rehearse.recorded(snapshots), still = rehearse.play(snapshots) }) do
                assert.near(hits / (hits + misses), row.hit_ratio, 0.002, name .. " " .. of)
            end
        end
    end)

    it("draws its curve through the misses that were recorded", function()
        for _, name in ipairs({ "etc-off", "calcified", "twitter-off" }) do
            local snapshots = recordings.load(name)
            local half, last = snapshots[#snapshots // 2].general, snapshots[#snapshots].general
            local missed = (last.get_misses - half.get_misses) / (last.cmd_get - half.cmd_get)
            for _, point in ipairs(require("slate.chart.kinds.curve").figure(snapshots).panels[1].series[1].points) do
                if point[1] == 1 then
                    assert.near(missed, point[2], 0.01, name)
                end
            end
        end
    end)

    it("has more hits where pages go to who needs them, and as many moves as it takes", function()
        local one, none = play("burst"), play("free-pages")
        assert.equal(0.25, none.hit_ratio)
        assert.equal(0, none.pages)
        assert.is_true(one.hit_ratio > 0.6, one.hit_ratio)
        assert.is_true(one.pages >= 11 and one.pages <= 14, one.pages) -- 16 pages hold all keys; 4 were there
        assert.is_true(one.evicted < none.evicted / 2)
    end)

    it("stays within what there is, whatever the policy does", function()
        for name in io.popen("ls lua/slate/policies"):lines() do
            local short = name:match("^(.*)%.lua$")
            local result = short and play(short)
            assert.is_true(not short or result.hit_ratio >= 0.249 and result.hit_ratio <= 1, short)
            assert.is_true(not short or result.requests == 300000, short)
        end
    end)
end)

describe("slatectl policy simulate", function()
    local ctl

    setup(function()
        ctl = command.new()
        local writer = assert(require("slate.facts.record").create(ctl.folder .. "/r.jsonl"))
        for _, one in ipairs(recording(10)) do
            assert(writer:append(one))
        end
        writer:close()
    end)
    teardown(function() ctl.remove() end)

    it("compares policies with their settings, what was recorded, and no moves", function()
        local code, out, err = ctl.run("policy simulate burst pages_max=2 utility --recording r.jsonl --json")
        assert.equal(0, code, err)
        local rows, names = assert(dkjson.decode(out)).rows, {}
        for i, row in ipairs(rows) do
            names[i] = row.name
        end
        assert.same({ "as recorded", "without moves", "burst pages_max=2", "utility" }, names)
        assert.is_true(rows[3].hit_ratio > rows[2].hit_ratio)
        code, out, err = ctl.run("policy simulate --recording r.jsonl")
        assert.equal(0, code, err)
        for name in io.popen("ls lua/slate/policies"):lines() do
            local short = name:match("^(.*)%.lua$")
            assert.truthy(not short or out:find("\n" .. short, 1, true), short)
        end
    end)

    -- Small values fill the cache; then larger ones are asked for, of which all would fit.
    it("plays a trace to slated's cache for each policy, which moves pages by the trace's clock", function()
        local file = assert(io.open(ctl.folder .. "/t", "w"))
        for i = 1, 12000 do
            file:write(("s%d 900\n"):format(i))
        end
        for i = 1, 12000 do
            file:write(("l%d 9000\n"):format(i % 500))
        end
        file:close()
        ctl.run("policy new ./mine")
        local code, out, err = ctl.run("policy simulate burst window_s=1 ratio ./mine.lua --trace t --memory 8m "
            .. "--rate 1000 --with='-n 64' --json")
        assert.equal(0, code, err)
        local document, rows = assert(dkjson.decode(out)), {}
        assert.equal("t", document.trace)
        for i, row in ipairs(document.rows) do
            rows[i] = row.name
            rows[row.name] = row
            assert.equal(24000, row.requests)
            assert.equal(8 << 20, row.memory_bytes)
            assert.equal(8 << 20, row.held_bytes) -- the trace fills it
            assert.is_true(row.lost <= row.evicted)
        end
        assert.same({ "automove off", rows[2], "burst window_s=1", "ratio", "mine" }, { table.unpack(rows) })
        local still, moved = rows["automove off"], rows["burst window_s=1"]
        assert.equal(0, still.pages)
        assert.is_true(moved.pages >= 3 and moved.hits > still.hits, out)
        local again
        code, again = ctl.run("policy simulate burst window_s=1 --trace t --memory 8m --rate 1000 --with='-n 64' --csv")
        assert.equal(0, code)
        assert.truthy(again:find(("burst window_s=1,%d,%d,,,%d,%d,%d,"):format(8 << 20, 8 << 20, moved.pages,
            moved.lost, moved.hits), 1, true), again) -- the same trace does the same again
    end)

    it("tells what of the memory was held, which is more where each of many classes has an item", function()
        local file = assert(io.open(ctl.folder .. "/wide", "w"))
        for i = 1, 12 do
            file:write(("k%d %d\n"):format(i, 90 * 2 ^ i // 1))
        end
        file:close()
        local code, out, err = ctl.run("policy simulate burst --trace wide --memory 8m")
        assert.equal(0, code, err)
        assert.truthy(out:find("^POLICY +MEMORY +HELD +PAGES +LOST"), out)
        assert.truthy(out:find("\nburst +8M +12M +0 +0"), out)
    end)

    it("says of a trace what is wrong with it", function()
        for words, case in pairs({
            ["burst --trace none"] = { 74, "No such file" },
            ["burst --trace -"] = { 64, "so it must be a file" },
            ["quux --trace r.jsonl"] = { 74, "no policy" },
            ["burst share=2 --trace r.jsonl"] = { 64, "setting share wants a number from 0 to 1" },
            ["burst --trace r.jsonl --memory 3q"] = { 64, "--memory wants a number of megabytes" },
        }) do
            local code, _, err = ctl.run("policy simulate " .. words)
            assert.equal(case[1], code, err)
            assert.truthy(err:find(case[2], 1, true), err)
        end
    end)

    it("says what is missing", function()
        local code, _, err = ctl.run("policy simulate burst")
        assert.equal(64, code)
        assert.truthy(err:find("wants --recording FILE", 1, true), err)
        code, _, err = ctl.run("policy simulate burst --recording r.jsonl --trace t")
        assert.equal(64, code)
        assert.truthy(err:find("or --trace FILE", 1, true), err)
        code, _, err = ctl.run("policy simulate burst share=2 --recording r.jsonl")
        assert.equal(64, code)
        assert.truthy(err:find("setting share wants a number from 0 to 1", 1, true), err)
    end)

    it("has a script that draws every chart there is, and one that runs a policy", function()
        local code, out, err = ctl.shell(("%s/scripts/charts r.jsonl drawn txt"):format(ctl.root))
        assert.equal(0, code, err)
        assert.truthy(out:find("drawn/pages.txt", 1, true) and out:find("drawn/waste.txt", 1, true), out)
        assert.truthy(command.read_file(ctl.folder .. "/drawn/pages.txt"):find("class 7", 1, true))
        assert.truthy(err:find("nothing to draw", 1, true), err) -- no page moved
        code, out = ctl.shell(("%s/scripts/charts"):format(ctl.root))
        assert.equal(64, code)
        assert.truthy(out:find("scripts/charts RECORDING FOLDER", 1, true), out)
        code, out, err = ctl.shell(("%s/scripts/rebalance ./no.sock burst pages_max=2 -- --once"):format(ctl.root))
        assert.equal(69, code, out)
        assert.truthy(err:find("cannot connect to ./no.sock", 1, true), err)
        code, out = ctl.shell(("%s/scripts/rebalance"):format(ctl.root))
        assert.equal(64, code)
        assert.truthy(out:find("scripts/rebalance SERVER", 1, true), out)
    end)
end)
