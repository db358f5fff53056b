-- SPDX-License-Identifier: BSD-3-Clause
-- Policies over a trace.
local command = require "support.command"
local dkjson = require "dkjson"
local server = require "support.server"

describe("slatectl policy simulate", function()
    local ctl = command.alone(setup, teardown)

    -- Small values fill the cache; then come gets of larger ones, for which the cache has room.
    it("plays a trace to slated's cache for each policy, which moves pages by the trace's clock", function()
        local file = assert(io.open(ctl.folder .. "/t", "w"))
        for i = 1, 12000 do file:write(("s%d 900\n"):format(i)) end
        for i = 1, 12000 do file:write(("l%d 9000\n"):format(i % 500)) end
        file:close()
        server.write_file(ctl.folder .. "/mine.lua", command.read_file(ctl.root .. "/lua/slate/policies/burst.lua"))
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
            assert.equal(8 << 20, row.held_bytes) -- the trace fills the cache
            assert.is_true(row.lost <= row.evicted)
        end
        assert.same({ "automove off", rows[2], "burst window_s=1", "ratio", "mine" }, { table.unpack(rows) })
        local still, moved = rows["automove off"], rows["burst window_s=1"]
        assert.equal(0, still.pages)
        assert.is_true(moved.pages >= 3 and moved.hits > still.hits, out)
        local again
        code, again = ctl.run("policy simulate burst window_s=1 --trace t --memory 8m --rate 1000 --with='-n 64' --csv")
        assert.equal(0, code)
        assert.truthy(again:find(("burst window_s=1,%d,%d,%d,%d,%d,"):format(8 << 20, 8 << 20, moved.pages,
            moved.lost, moved.hits), 1, true), again) -- the same trace does the same again
    end)

    it("prints the memory held, which is more where each of many classes has an item", function()
        local file = assert(io.open(ctl.folder .. "/wide", "w"))
        for i = 1, 12 do file:write(("k%d %d\n"):format(i, 90 * 2 ^ i // 1)) end
        file:write("a b c\n")
        file:close()
        local code, out, err = ctl.run("policy simulate burst --trace wide --memory 8m --processes 2")
        assert.equal(0, code, err)
        assert.truthy(err:find("^slatectl: lines of the trace that were skipped: 1; [^\n]+\n"
            .. "slatectl: more than its memory was held, [^\n]+\n$"), err) -- printed by one of the processes alone
        assert.truthy(out:find("^POLICY +MEMORY +HELD +PAGES +LOST"), out)
        assert.truthy(out:find("\nburst +8 MiB +12 MiB +0 +0"), out)
    end)

    it("reports the error of a trace", function()
        server.write_file(ctl.folder .. "/recording", '{"schema":"slate/snapshot/1","time_s":1.5}\n{"of":1}\n')
        for words, case in pairs({
            ["burst --trace none"] = { 74, "No such file" },
            ["burst --trace recording"] = { 65, "this is a recording of slatectl; a recording is for `slatectl policy "
                .. "run NAME --recording FILE`, and `slatectl capture -o day.trace.gz` makes a trace\n" },
            ["burst --trace -"] = { 64, "so it must be a file" },
            ["quux --trace t"] = { 64, "no policy" },
            ["burst share=2 --trace t"] = { 64, "setting share wants a number from 0 to 1" },
            ["burst"] = { 64, "wants --trace FILE of requests, which 'slatectl capture -o day.trace.gz' makes; a "
                .. "recording is for 'slatectl policy run NAME --recording FILE'" },
            ["burst --recording t --trace t"] = { 64, "wants --trace FILE" },
            ["burst --trace t --memory 3q"] = { 64, "--memory wants a number of megabytes" },
        }) do
            local code, _, err = ctl.run("policy simulate " .. words)
            assert.equal(case[1], code, err)
            assert.truthy(err:find(case[2], 1, true), err)
        end
    end)
end)
