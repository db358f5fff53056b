-- SPDX-License-Identifier: BSD-3-Clause
--- What predictions of other amounts of memory and of other policies are worth: the hit ratios that a server predicts
--- (slate.facts.sampled), beside those of servers that have so much memory, or run that policy, and get the same
--- requests (laboratory.lua).
--
--     build/bench/twins tests/bench/sizes.lua play LOAD SEED        plays, and prints a line of JSON for each look
--     build/bench/twins tests/bench/sizes.lua judge memory FILE ... predicts, and prints the table
--     build/bench/twins tests/bench/sizes.lua judge policy FILE ...
--
-- LOOKS=6 for each load and seed, WINDOW_S=20 apart; the first of them 40 s after the policies changed. ROWS=1 prints
-- each prediction.
package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
local cjson = require "cjson"
local compare = require "compare"
local coverage = require "coverage"
local laboratory = require "laboratory"
local sampled = require "slate.facts.sampled"

local LOOKS <const>, WINDOW_S <const> = compare.setting("LOOKS", 6), compare.setting("WINDOW_S", 20)
local SETTLE_S <const> = 40
local TIMES <const> = { 0.5, 2, 4, 8 } -- today's memory
local POLICIES <const> = { "lru", "slru", "clock2", "sieve", "tinylfu" }

-- The hit ratios of the looks, and what the server replies at each of them.
local function looks(lab)
    lab:pass(SETTLE_S)
    local list, was = {}, lab:counts()
    for i = 1, LOOKS do
        lab:pass(WINDOW_S)
        local now, replies = lab:counts(), {}
        for _, group in ipairs({ "curve", "whatif" }) do
            replies[group] = lab.client:stats(group)
        end
        list[i] = { ratio = (now.hits - was.hits) / math.max(now.gets - was.gets, 1), replies = replies }
        was = now
    end
    return list
end

local function play(name, seed)
    io.stdout:setvbuf("line")
    local others = {}
    for _, times in ipairs(TIMES) do
        others[("x%g"):format(times)] = laboratory.apart(function() return looks(laboratory.new(name, seed, times)) end)
    end
    local lab = laboratory.new(name, seed)
    for _, policy in ipairs(POLICIES) do
        others[policy] = lab:twin(function()
            assert(lab.client:command("evict policy " .. policy):find("^OK"))
            return looks(lab)
        end)
    end
    for i, look in ipairs(looks(lab)) do
        look.load, look.seed, look.came = name, seed, {}
        for what, other in pairs(others) do
            look.came[what] = other[i].ratio - look.ratio
        end
        print(cjson.encode(look))
    end
end

local judge = {}

-- The hit ratio at a multiple of the memory and its band, as slatectl gives them: the counted ratio and the gain.
function judge.memory(look, client)
    local curve, rows = sampled.curve(client), {}
    local is_young = sampled.is_young(curve or {})
    for _, times in ipairs(TIMES) do
        local gain, error_ratio = sampled.gain_at(curve or { points = {}, sizes = {} }, times)
        rows[#rows + 1] = gain and { predicted = gain, least = gain - 1.96 * error_ratio,
            most = gain + 1.96 * error_ratio, came = look.came[("x%g"):format(times)],
            words = ("x%g%s"):format(times, is_young and " young" or "") } or nil
    end
    return rows
end

-- The difference that another policy makes, and its doubt.
function judge.policy(look, client)
    local rows, _, policies = {}, sampled.whatif(client)
    for _, policy in ipairs(POLICIES) do
        for _, one in ipairs(policies or {}) do
            rows[#rows + 1] = one.policy == policy and { predicted = one.difference,
                least = one.difference - one.doubt, most = one.difference + one.doubt,
                came = look.came[policy], words = ("%-7s"):format(policy) } or nil
        end
    end
    return rows
end

if arg[1] == "play" then
    play(arg[2], math.tointeger(tonumber(arg[3])))
else
    local what = arg[2]
    print(({ memory = "predicted gains with half, twice, four and eight times the memory, less those that came",
        policy = "predicted gains of other policies, less those that came" })[what])
    coverage.print(coverage.read(table.move(arg, 3, #arg, 1, {}), function(look)
        return judge[what](look, { stats = function(_, group) return look.replies[group] end })
    end))
end
