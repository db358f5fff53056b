-- SPDX-License-Identifier: BSD-3-Clause
--- The accuracy of predicted page moves. A move is predicted (slate.judge.verdict) and made; its effect is the hits of
--- that server minus those of its twin without the move, for the same requests (laboratory.lua). Then the twin moves
--- the pages, too.
--
--     build/world/lua tests/bench/moves.lua
--
-- SEEDS="1 2 3"; MOVES=12 of each seed and load; LOADS=names; ROWS=1 prints each move. The figures are of 10 s, from
-- SETTLE_S=4 after the move on; SETTLE_S=20 shows the later effect.
package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
local compare = require "compare"
local sampled = require "slate.facts.sampled"
local laboratory = require "laboratory"
local verdict = require "slate.judge.verdict"
local view = require "slate.judge.view"

local MOVES <const>, SETTLE_S <const> = compare.setting("MOVES", 12), compare.setting("SETTLE_S", 4)
local WARM_S <const> = 60
local WINDOW_S <const>, AFTER_S <const> = 10, 30 -- seconds of a prediction and of the effect; between moves
local LOADS <const> = "etc sizes shift alike twitter spread late"
local PAGES <const> = { 1, 2, 4 } -- in turn
local STAYS <const>, MOVED <const> = 1, 2 -- the twins

-- How far the twins were apart since, in points of hits.
local function apart(was, now)
    local ratios = {}
    for i in ipairs(now) do
        ratios[i] = (now[i].hits - was[i].hits) / math.max(now[i].gets - was[i].gets, 1)
    end
    return (ratios[MOVED] - ratios[STAYS]) * 100
end

-- A donor with more pages, and a receiver that evicted since a snapshot, drawn by lot; nil without such classes.
local function draw(before, now, pages)
    local donors, receivers, evicted = {}, {}, {}
    for _, class in ipairs(before.classes) do
        evicted[class.id] = class.evicted
    end
    for _, class in ipairs(now.classes) do
        receivers[#receivers + 1] = (class.evicted or 0) > (evicted[class.id] or 0) and class.id or nil
    end
    local dst = #receivers > 0 and receivers[math.random(#receivers)]
    for _, class in ipairs(now.classes) do
        donors[#donors + 1] = class.id ~= dst and class.total_pages > pages and class.id or nil
    end
    if dst and #donors > 0 then
        return donors[math.random(#donors)], dst
    end
end

-- A move and its effect; nil for no possible move or no prediction.
local function one_move(lab, name, pages)
    local one, first, last, was = view.observer(), nil, nil, nil
    for second = 0, 2 * WINDOW_S do
        last = lab:take(MOVED)
        first = first or last
        was = second == WINDOW_S and lab:counts() or was
        one:observe(last)
        lab:pass(1)
    end
    local src, dst = draw(first, last, pages)
    local curves = src and sampled.curves(lab.clients[MOVED], { 0, src, dst })
    local made = src and verdict.predicted_move(one, src, dst, pages, curves)
    if not made then
        return nil
    end
    local plain, before = verdict.predicted_move(one, src, dst, pages), apart(was, lab:counts())
    local order = ("slabs reassign %d %d %d"):format(src, dst, pages)
    lab.clients[MOVED]:command(order)
    lab:pass(SETTLE_S)
    was = lab:counts()
    lab:pass(WINDOW_S)
    local row = { load = name, predicted = made.hit_ratio_change * 100, least = made.least * 100,
        most = made.most * 100, plain = plain.hit_ratio_change * 100, measured = apart(was, lab:counts()) - before }
    lab:pass(math.max(0, AFTER_S - SETTLE_S - WINDOW_S))
    lab.clients[STAYS]:command(order)
    if os.getenv("ROWS") then
        local words = "%-8s %3d -> %-3d x%d  without curves %+6.2f  predicted %+6.2f (%+.2f to %+.2f)  brought %+6.2f"
        print(words:format(name, src, dst, pages, row.plain, row.predicted, row.least, row.most, row.measured))
    end
    return row
end

-- Moves of a load, added to rows.
local function play(rows, name, seed)
    math.randomseed(seed)
    local lab <close> = laboratory.new(name, seed, 2)
    lab:pass(WARM_S)
    for i = 1, MOVES do
        rows[#rows + 1] = one_move(lab, name, PAGES[(i - 1) % #PAGES + 1])
    end
end

local function quantile(values, share)
    table.sort(values)
    return values[math.max(1, math.ceil(#values * share))] or 0 / 0
end

local function errors(rows, name)
    local off = {}
    for i, row in ipairs(rows) do
        off[i] = math.abs((name and row[name] or 0) - row.measured)
    end
    return quantile(off, 0.5), quantile(off, 0.9)
end

local function line(name, rows)
    local within = 0
    for _, row in ipairs(rows) do
        within = within + (row.measured >= row.least and row.measured <= row.most and 1 or 0)
    end
    local cells = { name, #rows }
    for _, by in ipairs({ "predicted", "plain", false }) do
        cells[#cells + 1], cells[#cells + 2] = errors(rows, by)
    end
    print(("%-8s %5d   %6.2f %6.2f    %6.2f %6.2f    %6.2f %6.2f    %4.0f%%"):format(cells[1], cells[2], cells[3],
        cells[4], cells[5], cells[6], cells[7], cells[8], 100 * within / math.max(#rows, 1)))
end

local all = {}
local lines = {}
for name in (os.getenv("LOADS") or LOADS):gmatch("%S+") do
    local rows = {}
    for seed in (os.getenv("SEEDS") or "1 2 3"):gmatch("%d+") do
        play(rows, name, math.tointeger(tonumber(seed)))
    end
    table.move(rows, 1, #rows, #all + 1, all)
    lines[#lines + 1] = { name, rows }
end
print(("how far off, in points of the hit ratio, %d to %d s after the move; median and 90 %%"):format(SETTLE_S,
    SETTLE_S + WINDOW_S))
print("load     moves       predicted  without curves       no change    within")
lines[#lines + 1] = { "all", all }
for _, one in ipairs(lines) do
    line(one[1], one[2])
end
