-- SPDX-License-Identifier: BSD-3-Clause
--- The accuracy of predicted page moves. Twins of a server (laboratory.lua) each make another move; the effect is the
--- hits of a twin minus those of the twin without a move, for the same requests. Then the server itself makes one of
--- the moves, and after a while others are drawn.
---
---     build/bench/twins tests/bench/moves.lua play LOAD SEED    plays, and prints a line of JSON for each move
---     build/bench/twins tests/bench/moves.lua judge FILE ...    predicts the moves in such files, and prints the table
---
--- A line has all that a prediction rests on: another way to predict is judged without playing again. The figures are
--- of 10 s, from SETTLE_S=4 after the move on; SETTLE_S=20 shows the later effect. ROUNDS=6 for each load and seed, of
--- MOVES=6 each. ROWS=1 prints each move.
package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
local cjson = require "cjson"
local compare = require "compare"
local coverage = require "coverage"
local laboratory = require "laboratory"
local sampled = require "slate.facts.sampled"
local verdict = require "slate.judge.verdict"
local view = require "slate.judge.view"

local ROUNDS <const>, MOVES <const> = compare.setting("ROUNDS", 6), compare.setting("MOVES", 6)
local SETTLE_S <const> = compare.setting("SETTLE_S", 4)
local WINDOW_S <const>, AFTER_S <const> = 10, 20 -- of a prediction and of the effect; between rounds
local PAGES <const> = { 1, 2, 4, 8 } -- drawn by lot

-- The hits over the gets between two counts, in all (id 0) and in two classes.
local function hit_ratios(was, now, src, dst)
    local ratios = {}
    for i, id in ipairs({ 0, src, dst }) do
        local key = tostring(id)
        local hits = id == 0 and now.hits - was.hits or (now.by_class[key] or 0) - (was.by_class[key] or 0)
        ratios[i] = hits / math.max(now.gets - was.gets, 1)
    end
    return ratios
end

-- A donor that has more pages, and a receiver that evicts; nil without such classes.
local function draw(seen)
    local donors, receivers, pages = {}, {}, PAGES[math.random(#PAGES)]
    for _, class in ipairs(seen.classes) do
        receivers[#receivers + 1] = class.evicted_per_s > 0 and class.id or nil
    end
    local dst = #receivers > 0 and receivers[math.random(#receivers)]
    for _, class in ipairs(seen.classes) do
        donors[#donors + 1] = class.id ~= dst and class.total_pages > pages and class.id or nil
    end
    if dst and #donors > 0 then
        return { src = donors[math.random(#donors)], dst = dst, pages = pages }
    end
end

-- Different moves, with what their predictions rest on.
local function drawn_moves(lab, one)
    local seen, reads_per_s, seen_s = verdict.figures_seen(one)
    local moves, known, replies = {}, {}, {}
    local function reply_to(group)
        replies[group] = replies[group] or lab.client:stats(group) or {}
        return replies[group]
    end
    for _ = 1, seen and 4 * MOVES or 0 do
        local move = draw(seen)
        local key = move and ("%d %d %d"):format(move.src, move.dst, move.pages)
        if move and not known[key] and #moves < MOVES then
            known[key] = true
            move.reads_per_s, move.seen_s, move.replies = reads_per_s, seen_s, {}
            for _, group in ipairs({ "curve", "curve " .. move.src, "curve " .. move.dst }) do
                move.replies[group] = reply_to(group)
            end
            move.donor, move.receiver = seen.by_id[move.src], seen.by_id[move.dst]
            moves[#moves + 1] = move
        end
    end
    return moves
end

-- What a twin counts after an order, or after none.
local function twin_with(lab, order)
    return lab:twin(function()
        if order then
            lab.client:command(order)
        end
        lab:pass(SETTLE_S)
        local was = lab:counts()
        lab:pass(WINDOW_S)
        return { was, lab:counts() }
    end)
end

local function play_round(lab, name, seed)
    local one = view.observer()
    for second = 0, WINDOW_S do
        one:observe(lab:take())
        lab:pass(second < WINDOW_S and 1 or 0)
    end
    local moves, stays, order = drawn_moves(lab, one), twin_with(lab), nil
    for _, move in ipairs(moves) do
        order = ("slabs reassign %d %d %d"):format(move.src, move.dst, move.pages)
        local moved = twin_with(lab, order)
        local with = hit_ratios(moved[1], moved[2], move.src, move.dst)
        local without = hit_ratios(stays[1], stays[2], move.src, move.dst)
        move.load, move.seed, move.came = name, seed, {}
        for i in ipairs(with) do
            move.came[i] = with[i] - without[i]
        end
        print(cjson.encode(move))
    end
    if order then
        lab.client:command(order)
    end
    lab:pass(AFTER_S)
end

local function play(name, seed)
    math.randomseed(seed)
    io.stdout:setvbuf("line")
    local lab = laboratory.new(name, seed)
    for _ = 1, ROUNDS do
        play_round(lab, name, seed)
    end
end

-- The prediction of a line, for coverage.
local function judged(move)
    move.src, move.dst = math.tointeger(move.src), math.tointeger(move.dst) -- JSON has one kind of numbers
    local curves = sampled.curves({ stats = function(_, group) return move.replies[group] end },
        { 0, move.src, move.dst })
    move.donor.curve, move.receiver.curve = curves[move.src], curves[move.dst]
    move.donor.whole_curve, move.receiver.whole_curve = curves[0], curves[0]
    local made = verdict.move_predicted(move.donor, move.receiver, move.pages, move.reads_per_s, move.seen_s)
    return { { predicted = made.hit_ratio_change, least = made.least, most = made.most,
        came = move.came[1], words = ("%3d -> %-3d x%d"):format(move.src, move.dst, move.pages) } }
end

if arg[1] == "play" then
    play(arg[2], math.tointeger(tonumber(arg[3])))
else
    print(("predicted moves less those that came, %d to %d s after the move"):format(SETTLE_S, SETTLE_S + WINDOW_S))
    coverage.print(coverage.read(table.move(arg, 2, #arg, 1, {}), judged))
end
