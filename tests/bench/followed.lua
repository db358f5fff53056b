-- SPDX-License-Identifier: BSD-3-Clause
--- `make bench-followed`: what comes of advice that an operator follows. On a server under each load of laboratory.lua
--- the plan of page moves is made, as doctor, `advise pages` and slatetop's `m` name it, several times in a row.
---
---     build/bench/twins tests/bench/followed.lua [LOAD | LOAD:LOAD ...]
---
--- LOAD:LOAD: the clients change to the second load, whose classes have few pages. Each of ROUNDS=5 watches for 15 s,
--- makes all moves of the plan, and watches for 40 s, beside a twin without the moves: `came` is the difference of the
--- hit ratios. A new warning is one that neither the time before nor the twin had, on a class that gave or got pages;
--- idle pages count as one. A move back takes pages from a class that got some in an earlier round. STOCK=1 judges as
--- on a memcached, without curves. MODE="" leaves the pages to slated's default mode, MODE="-o slab_automove=ratio" to
--- another one, and prints the findings above a note in MODE_S=300 from the change of the load on. SEEDS="1".
package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
local attention = require "slate.judge.attention"
local doctor = require "slate.judge.doctor"
local geometry = require "slate.facts.geometry"
local laboratory = require "laboratory"
local moves = require "slate.facts.moves"
local relief = require "slate.judge.relief"
local sampled = require "slate.facts.sampled"
local units = require "slate.base.units"
local verdict = require "slate.judge.verdict"
local view = require "slate.judge.view"

local LOADS <const> = { "etc", "shift", "twitter", "late", "expire", "session", "growing", "news", "small", "large",
    "etc:tokens", "session:level", "users:news", "articles:through", "late:growing", "mixed:loops", "spread:session",
    "tokens:users", "calcified" }
local ROUNDS <const>, MODE_S <const> = tonumber(os.getenv("ROUNDS") or 5), tonumber(os.getenv("MODE_S") or 300)
local WATCH_S <const>, SETTLE_S <const>, TURN_S <const> = 15, 40, 30
local OF_PAGES <const> = { moves = true, held = true } -- besides those that name a class
local MODE <const>, STOCK <const> = os.getenv("MODE"), os.getenv("STOCK") == "1"

-- Adds what doctor asks a slated for; a server without sockets has no statistics of its process.
local function query(lab, one, known)
    local policies
    known.automove, known.moves = moves.read(lab.client)
    known.geometry, known.curve = geometry.read(lab.client), sampled.curve(lab.client)
    known.whatif, policies = sampled.whatif(lab.client)
    known.whatif = known.whatif and { totals = known.whatif, policies = policies }
    known.curves = sampled.curves(lab.client, relief.wanted(one))
end

-- Watches for so many seconds. Returns the findings that count, as words by name and class, and the last facts.
local function watch(lab, one, seconds)
    local found, known = {}, nil
    for _ = 1, seconds do
        lab:pass(1)
        local now = lab:take()
        now.slated = not STOCK and now.slated or nil
        one:observe(now)
        known = attention.known_of(one)
        if not STOCK then
            query(lab, one, known)
        end
        for _, finding in ipairs(doctor.findings(known)) do
            local is_about = MODE or finding.class or OF_PAGES[finding.name]
            if finding.severity ~= "note" and is_about or finding.name == "idle_pages" then
                local key = ("%s %s"):format(finding.name, finding.class or "")
                found[key] = found[key] or { class = finding.class, words = finding.what, severity = finding.severity }
            end
        end
    end
    return found, known
end

-- The findings of the time after the moves, or after none, and the hit ratio.
local function settle(lab, one)
    local was = lab:counts()
    local found, now = watch(lab, one, SETTLE_S), lab:counts()
    return { found = found, hit_ratio = (now.hits - was.hits) / math.max(1, now.gets - was.gets) }
end

-- A round: adds to the row of the load. got: the round in which each class got pages.
local function follow(lab, one, row, round, got)
    local before, known = watch(lab, one, WATCH_S)
    local plan, moved = relief.plan(one, known.curves), {}
    if #plan.advised == 0 then
        watch(lab, one, SETTLE_S)
        return
    end
    local without = lab:twin(function() return settle(lab, one) end)
    for _, move in ipairs(plan.advised) do
        row.back = row.back + (got[move.from] and 1 or 0)
        row.moves, row.pages = row.moves + 1, row.pages + move.pages
        row.texts[#row.texts + 1] = ("round %d: %s from class %d to %d%s: %s"):format(round,
            units.plural(move.pages, "page"), move.from, move.to, got[move.from] and ", BACK" or "",
            move.made and verdict.prediction_words(move.made) or move.why)
        lab:move(move)
        moved[move.from], moved[move.to] = true, true
    end
    for _, move in ipairs(plan.advised) do
        got[move.to] = round
    end
    local with = settle(lab, one)
    row.rounds = row.rounds + 1
    row.expected = row.expected + (plan.sum and plan.sum.hit_ratio_change or 0)
    row.came = row.came + with.hit_ratio - without.hit_ratio
    for key, finding in pairs(with.found) do
        if not before[key] and not without.found[key] and (not finding.class or moved[finding.class]) then
            row.new = row.new + 1
            row.texts[#row.texts + 1] = ("round %d: NEW %s"):format(round, finding.words)
        end
    end
end

local function begin(load, seed)
    local name, after = load:match("^(%w+):?(%w*)$")
    local lab = laboratory.new(name, seed, 1, MODE)
    if after ~= "" then
        lab:turn(after)
    end
    return lab, view.observer(), after ~= ""
end

local function followed(load, seed)
    local row = { rounds = 0, moves = 0, pages = 0, back = 0, expected = 0, came = 0, new = 0, texts = {} }
    local lab, one, has_turned = begin(load, seed)
    lab:pass(has_turned and TURN_S or 0)
    local got = {}
    for round = 1, ROUNDS do
        follow(lab, one, row, round, got)
    end
    row.line = ("| `%s` | %d of %d | %d | %d | %+.1f | %+.1f | %d | %d |"):format(load, row.rounds, ROUNDS, row.moves,
        row.pages, row.expected * 100, row.came * 100, row.new, row.back)
    return row
end

local function in_mode(load, seed)
    local lab, one = begin(load, seed)
    local texts = {}
    for _, finding in pairs((watch(lab, one, MODE_S))) do
        texts[#texts + 1] = finding.severity ~= "note" and finding.words or nil
    end
    table.sort(texts)
    return { line = ("| `%s` | %d |"):format(load, #texts), texts = texts }
end

print(MODE and "| load | warnings |\n|---|---|" or "| load | rounds with advice | moves | pages | expected | came "
    .. "| new warnings | moves back |\n|---|---|---|---|---|---|---|---|")
for _, load in ipairs(#arg > 0 and arg or LOADS) do
    for seed in (os.getenv("SEEDS") or "1"):gmatch("%d+") do
        local row = laboratory.apart(function()
            return (MODE and in_mode or followed)(load, math.tointeger(tonumber(seed)))
        end)
        print(row.line)
        io.stdout:flush()
        for _, text in ipairs(row.texts) do
            io.stderr:write(load, ": ", text, "\n")
        end
    end
end
