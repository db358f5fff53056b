-- SPDX-License-Identifier: BSD-3-Clause
--- What an observer (of slate.judge.view) told of a snapshot: the part of its judgement that rests on more than the
--- last seconds, or on answers of the server that no recording has. It is kept beside the snapshot, so that a moment of
--- the past is told as it was when it was live. Pure.
--
-- Told is { rows (the flags of the rows, a byte each), incidents (copies of those that are findings), stopped and fell
-- (of slate.judge.incident), why and failed (of the moves of slate.judge.page_plan) }, and the moves as a text: they
-- are other ones with each snapshot. Each is nil where nothing was to tell.
local gather = require "slate.base.gather"
local incident = require "slate.judge.incident"
local page_plan = require "slate.judge.page_plan"
local starving = require "slate.judge.starving"
local verdict = require "slate.judge.verdict"

local M = {}

local FLAGS <const> = { "starves", "evicts_lately", "is_measuring" }
local MOVE <const>, FREE_PAGES <const> = "<BBBI2ffff", "<I2I2" -- an hour has thousands: as exact as words need
local ADVISED <const>, REFUSES <const>, EXPECTS <const>, FURTHER <const> = 1, 2, 4, 8
local PREDICTED <const>, FAILED <const>, FREE <const>, LARGE <const> = 16, 32, 64, 128
local NAN <const> = 0 / 0

-- The flags of rows; nil without any. A class starves by its lives, whether a move is advised or not.
local function flags_of(rows)
    local bytes, any = {}, 0
    for i, row in ipairs(rows) do
        local byte = starving.is_short(row) and 1 or 0
        for bit = 2, #FLAGS do
            byte = byte | (row[FLAGS[bit]] and 1 << bit - 1 or 0)
        end
        bytes[i], any = string.char(byte), any | byte
    end
    return any > 0 and table.concat(bytes) or nil
end

local function set_flags(rows, bytes)
    for i, row in ipairs(rows) do
        local byte = bytes and bytes:byte(i) or 0
        if row.starves ~= nil then -- evictions are reported
            row.lives_short = nil
            for bit, name in ipairs(FLAGS) do
                row[name] = byte & 1 << bit - 1 ~= 0
            end
        end
    end
end

-- A copy of an incident without what only its watch needs; the copy of before if nothing has changed.
local function copy_of(one, before)
    local copy = gather.copy(one)
    copy.usual, copy.cut = nil, one.cut and gather.copy(one.cut)
    if not one.is_back then -- then no word is on its end
        copy.ends_s, copy.cost_hits = nil, nil
    end
    for _, was in ipairs(before or {}) do
        if not one.cut and gather.is_same(was, copy) then
            return was
        end
    end
    return copy
end

-- Copies of the incidents that are findings; nil without any. The list of before if nothing has changed.
local function shown_incidents(watch, before)
    local list = gather.values(watch.list, function(one)
        return watch:is_shown(one) and copy_of(one, before) or nil
    end)
    return #list > 0 and (before and gather.is_same(list, before) and before or list) or nil
end

-- A watch that tells the same, and finds nothing by itself.
local function watch_of(told, time_s)
    local watch = incident.watch()
    watch.list, watch.last = told.incidents or {}, { time_s = time_s }
    function watch.stopped() return told.stopped end
    function watch.fell(self) return told.fell or self:lately "hits_fell" end
    function watch.add() return {} end
    return watch
end

-- further: FURTHER or LARGE, or 0.
local function packed(move, further)
    local made, free = move.made or {}, move.held_free_pages > 0
    local flags = (move.is_advised and ADVISED or 0) | (move.refuses and REFUSES or 0)
        | (move.expects_gain and EXPECTS or 0) | further | (move.made and PREDICTED or 0)
        | (move.failed and FAILED or 0) | (free and FREE or 0)
    return MOVE:pack(flags, move.from, move.to, move.pages, move.lifetime_s or NAN, made.hit_ratio_change or 0,
        made.least or 0, made.most or 0) .. (free and FREE_PAGES:pack(move.free_pages, move.held_free_pages) or "")
end

local function unpacked(text, at, told)
    local move, made = { further = {}, free_pages = 0, held_free_pages = 0 }, { lost_per_s = 0 }
    local flags
    flags, move.from, move.to, move.pages, move.lifetime_s, made.hit_ratio_change, made.least, made.most, at =
        MOVE:unpack(text, at)
    local function has(flag) return flags & flag ~= 0 end
    if has(FREE) then
        move.free_pages, move.held_free_pages, at = FREE_PAGES:unpack(text, at)
    end
    move.is_advised, move.refuses, move.expects_gain = has(ADVISED), has(REFUSES), has(EXPECTS)
    move.made, move.why = has(PREDICTED) and made or nil, not has(PREDICTED) and told.why or nil
    move.failed = has(FAILED) and told.failed or nil
    move.lifetime_s = move.lifetime_s == move.lifetime_s and move.lifetime_s or nil
    return move, has, at
end

-- The moves of a plan as a text; nil without any. Writes the words of theirs.
local function moves_of(plan, told)
    local parts = {}
    for _, move in ipairs(plan) do
        parts[#parts + 1] = packed(move, plan.is_large and LARGE or 0)
        for _, further in ipairs(move.further) do
            parts[#parts + 1] = packed(further, FURTHER)
        end
        told.why, told.failed = told.why or move.why, told.failed or move.failed
    end
    return #parts > 0 and table.concat(parts) or nil
end

-- The plan for the observer's rows. Its predictions rest on the same ten seconds as they did.
local function plan_of(one, told, moves)
    local plan, by_id, at = { now = one.now, curves = one.curves }, gather.map(one.rows, "id"), 1
    local seen, reads_per_s, seen_s = verdict.figures_seen(one)
    while moves and at <= #moves do
        local move, has
        move, has, at = unpacked(moves, at, told)
        move.row = by_id[move.to]
        if move.made then
            move.made.hits_per_s, move.made.seen_s = seen and move.made.hit_ratio_change * reads_per_s or 0, seen_s or 0
        end
        if has(FURTHER) then
            table.insert(plan[#plan].further, move)
        else
            plan[#plan + 1], plan.is_large = move, has(LARGE)
        end
    end
    return plan
end

--- What an observer tells of its last snapshot, and the moves. before: what it told of the one before it, or nil; the
-- same table comes back if nothing has changed.
function M.of(one, before)
    before = before or {}
    local told = { rows = flags_of(one.rows), incidents = shown_incidents(one.incidents, before.incidents),
        stopped = one.incidents:stopped(), fell = one.incidents:fell() }
    local moves = moves_of(one.page_plan or {}, told)
    told.fell = told.fell and not told.fell.to_s and told.fell or nil -- else it is among the incidents
    return gather.is_same(told, before) and before or told, moves
end

--- Makes an observer, which has taken the same snapshot without a plan, tell this of it. moves: true: they were
-- dropped, so they are planned anew.
function M.recall(one, told, moves)
    set_flags(one.rows, told.rows)
    one.incidents, one.page_plan = watch_of(told, one.now.time_s), nil
    if moves == true then
        page_plan.of(one, one.curves)
    else
        one.page_plan = plan_of(one, told, moves)
        page_plan.complete(one, one.page_plan)
    end
end

return M
