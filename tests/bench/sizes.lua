-- SPDX-License-Identifier: BSD-3-Clause
--- What predictions of other amounts of memory are worth: the hit ratios that a server predicts (slate.facts.sampled),
--- beside those of servers that have so much memory and the same requests (laboratory.lua).
--
--     build/world/lua tests/bench/sizes.lua
--
-- SEEDS="1 2 3"; LOOKS=4 of each seed and load, WINDOW_S=30 apart, after WARM_S=120; LOADS=names; ROWS=1 prints each.
package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
local compare = require "compare"
local laboratory = require "laboratory"
local sampled = require "slate.facts.sampled"

local LOOKS <const>, WINDOW_S <const> = compare.setting("LOOKS", 4), compare.setting("WINDOW_S", 30)
local WARM_S <const> = compare.setting("WARM_S", 120)
local LOADS <const> = "etc sizes alike twitter spread expire session mixed"
local TIMES <const> = { 1, 0.5, 2, 4, 8 } -- the first server predicts

-- The hit ratio at a multiple of the memory and its band, as slatectl gives them: the counted ratio and the gain.
local function predicted(curve, counted, times)
    local gain, error_ratio = sampled.gain_at(curve, times)
    return gain and counted + gain, gain and 1.96 * error_ratio
end

local function ratios(was, now)
    local list = {}
    for i in ipairs(now) do
        list[i] = (now[i].hits - was[i].hits) / math.max(now[i].gets - was[i].gets, 1)
    end
    return list
end

local function play(rows, name, seed)
    local lab <close> = laboratory.new(name, seed, #TIMES, TIMES)
    lab:pass(WARM_S)
    for _ = 1, LOOKS do
        local was = lab:counts()
        lab:pass(WINDOW_S)
        local came, curve = ratios(was, lab:counts()), sampled.curve(lab.clients[1])
        local _, is_young = sampled.first_reads(curve or {})
        for i = 2, #TIMES do
            local ratio, band = predicted(curve or { points = {}, sizes = {} }, came[1], TIMES[i])
            local row = { load = name, times = TIMES[i], came = came[i], now = came[1], ratio = ratio, band = band,
                is_young = is_young }
            rows[#rows + 1] = row
            if os.getenv("ROWS") then
                print(("%-8s %d x%-3g now %.4f predicted %s came %.4f%s"):format(name, seed, row.times, row.now,
                    ratio and ("%.4f +- %.4f"):format(ratio, band) or "nothing", row.came, is_young and " young" or ""))
            end
        end
    end
end

local function median(values)
    table.sort(values)
    return values[(#values + 1) // 2] or 0 / 0
end

local function line(name, rows)
    local off, signed, within, made, young = {}, 0, 0, 0, 0
    for _, row in ipairs(rows) do
        if row.ratio then
            local error_ratio = row.ratio - row.came
            made, signed = made + 1, signed + error_ratio
            off[made] = math.abs(error_ratio)
            within = within + (off[made] <= row.band and 1 or 0)
        end
        young = young + (row.is_young and 1 or 0)
    end
    local worst = math.max(0, table.unpack(off))
    print(("%-8s %5d %5d %5d   %6.2f %6.2f %+6.2f   %4.0f%%"):format(name, #rows, made, young, 100 * median(off),
        100 * worst, 100 * signed / math.max(made, 1), 100 * within / math.max(made, 1)))
end

local all, lines = {}, {}
for name in (os.getenv("LOADS") or LOADS):gmatch("%S+") do
    local rows = {}
    for seed in (os.getenv("SEEDS") or "1 2 3"):gmatch("%d+") do
        play(rows, name, math.tointeger(tonumber(seed)))
    end
    table.move(rows, 1, #rows, #all + 1, all)
    lines[#lines + 1] = { name, rows }
end
print("predicted hit ratios with half, twice, four and eight times the memory, less those that came, in points")
print("load      rows  made young   median  worst   mean   within")
lines[#lines + 1] = { "all", all }
for _, one in ipairs(lines) do
    line(one[1], one[2])
end
