-- SPDX-License-Identifier: BSD-3-Clause
-- Twins of a server (tests/bench/laboratory.lua), by which benches measure the effect of one change.
local server = require "support.server"

local SCRIPT <const> = [[
package.path = "tests/bench/?.lua;" .. package.path
local lab = require("laboratory").new("shift", 1)
local function hits_of_3_s(order)
    if order then
        assert(lab.client:command(order) == "OK")
    end
    local was = lab:counts()
    lab:pass(3)
    return lab:counts().hits - was.hits
end
local old, needy
for _, class in ipairs(lab:take().classes) do
    old = (not old or class.total_pages > old.total_pages) and class or old
    needy = (not needy or class.evicted > needy.evicted) and class or needy
end
local order = ("slabs reassign %d %d 8"):format(old.id, needy.id)
for _, words in ipairs({ false, order, false }) do
    print(lab:twin(function() return hits_of_3_s(words) end))
end
print(hits_of_3_s())
]]

-- Half of the pages are used, and nothing is evicted. The chunks change while the curve counts.
local EXPIRING <const> = [[
package.path = "lua/?.lua;" .. package.path
local twins, sampled = require "twins", require "slate.facts.sampled"
local LIMIT_MB <const>, SETTLE_S <const>, COUNTED_S <const> = 32, 60, 20
twins.open(("-m %d -t 1 -o slab_automove=off"):format(LIMIT_MB), SEED)
twins.stream { prefix = "s", sizes = "100", law = "uniform", keys = 60000, rate = 1200, reads = 90, ttl_s = 15,
    growth = 1 }
twins.stream { prefix = "b", sizes = "3000", law = "zipf:0.8", keys = 6000, rate = 800, reads = 90, ttl_s = 15,
    growth = 1 }
local function counts()
    local text = twins.ask("stats\r\n")
    return tonumber(text:match("STAT get_hits (%d+)")), tonumber(text:match("STAT cmd_get (%d+)"))
end
local function counted()
    local hits, gets = counts()
    twins.pass(COUNTED_S)
    local hits_then, gets_then = counts()
    return (hits_then - hits) / (gets_then - gets)
end
local function of_twin(limit_mb)
    return tonumber(twins.fork(function()
        assert(twins.ask(("cache_memlimit %d\r\n"):format(limit_mb)):find("^OK"))
        twins.pass(COUNTED_S)
        return tostring(counted())
    end))
end
twins.pass(SETTLE_S)
local now, lines = counted(), {}
for line in twins.ask("stats curve\r\n"):gmatch("[^\r\n]+") do lines[#lines + 1] = line end
local curve = sampled.parse_curve(lines)
local function say(what, told, band, came)
    print(("%s: told %.4f came %.4f band %.4f"):format(what, told, came, band))
end
say("today", curve.lru_hit_ratio, curve.lru_band, now)
for _, limit_mb in ipairs({ 16, 8 }) do
    local gain, error_ratio = sampled.gain_at(curve, limit_mb / LIMIT_MB)
    say(limit_mb .. "M", gain, 1.96 * error_ratio, of_twin(limit_mb) - now)
end
]]

local function output_of_twins(words, environment)
    return select(2, server.said(("%s build/bench/twins %s"):format(environment or "", words)))
end

local function output_of(script)
    local path = os.tmpname()
    server.write_file(path, script)
    local text = output_of_twins(path)
    os.remove(path)
    return text
end

describe("twins of tests/bench/laboratory.lua", function()
    it("have equal hits without a change, and one has more once it gets pages that it needs", function()
        local text = output_of(SCRIPT)
        local one, moved, other, itself = text:match("^(%d+)%.?0?\n(%d+)%.?0?\n(%d+)%.?0?\n(%d+)\n$")
        assert.is_truthy(one, text)
        assert.same({ one, one }, { other, itself }, text)
        assert.is_true(tonumber(moved) > 1.01 * tonumber(one), text)
    end)

    -- One sample's band is of 95 %. The mean of four samples is within half of it, unless the curve leans to a side.
    it("have the hits that a curve tells of their memory, in a cache that is not full, whose items expire", function()
        local SEEDS <const> = 4
        local off, band = {}, {}
        for seed = 1, SEEDS do
            local text = output_of((EXPIRING:gsub("SEED", tostring(seed))))
            for what, told, came, one in text:gmatch("(%w+): told (%S+) came (%S+) band (%S+)") do
                off[what], band[what] = (off[what] or 0) + told - came, (band[what] or 0) + one
            end
            assert.matches("^today: .*\n16M: .*\n8M: told %-0%.0[^\n]*\n$", text)
        end
        for what in pairs(off) do
            assert.is_true(math.abs(off[what]) <= band[what] / 2, ("%s: off by %.4f of %.4f"):format(what,
                off[what] / SEEDS, band[what] / SEEDS))
        end
    end)
end)

describe("advice of page moves that is followed (tests/bench/followed.lua)", function()
    it("brings hits, makes no new warning and is not taken back by later advice", function()
        local text = output_of_twins("tests/bench/followed.lua session:level", "ROUNDS=3")
        local moves, came = text:match("| `session:level` | %d of 3 | (%d+) | %d+ | [^|]* | ([^|]*) | 0 | 0 |")
        assert.is_truthy(moves, text)
        assert.is_true(tonumber(moves) >= 5 and tonumber(came) > 5, text)
    end)

    it("is none of doctor's on the default mode, which moves pages and fits chunk sizes by itself", function()
        local text = output_of_twins("tests/bench/followed.lua small", "MODE= MODE_S=180")
        assert.matches("| `small` | 0 |", text, 1, true)
    end)
end)
