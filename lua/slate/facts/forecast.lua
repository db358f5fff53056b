-- SPDX-License-Identifier: BSD-3-Clause
--- `stats forecast` of slated as tables: the hit ratio to expect with other amounts of memory, each with its band, and
-- what came of earlier forecasts.
local foresight = require "slate.facts.foresight"
local stats = require "slate.facts.stats"

local M = {}

local TEXT <const> = { enough = true, lacks = true, was = true, is = true, state = true }
local NEEDED <const> = { "time", "was", "is", "before", "expected", "band", "state" }
local UNIX_S_MOST <const> = 1e11 -- thousands of years from now

-- { times, hit_ratio, low, high } of each size that is told whole, in ascending order.
local function sizes_of(values)
    local sizes = {}
    for name, ratio in pairs(values) do
        local times = tonumber((name:match("^x([%d.]+):hit_ratio$")))
        local prefix = times and name:match("^x[%d.]+")
        local low, high = prefix and values[prefix .. ":low"], prefix and values[prefix .. ":high"]
        if low and high then
            sizes[#sizes + 1] = { times = times, hit_ratio = ratio, low = low, high = high }
        end
    end
    table.sort(sizes, function(a, b) return a.times < b.times end)
    return sizes
end

-- The row of a change; nil where its figures cannot be.
local function change_of(row)
    local is_size = row.was:find("^%d+$") ~= nil
    local was, is = is_size and math.tointeger(tonumber(row.was)), is_size and math.tointeger(tonumber(row.is))
    if row.time < 0 or row.time > UNIX_S_MOST or is_size and not (was and is) then
        return nil
    end
    local came = row.state == "came" and row.reached or nil
    return { number = row.number, time_s = row.time, what = is_size and "maxbytes" or "policy", was = was or row.was,
        is = is or row.is, before = row.before, expected = row.expected, band = row.band, state = row.state,
        reached = came, is_within = came and math.abs(came - row.expected) <= row.band }
end

--- Parses the lines of `stats forecast`: { is_enough, lacks (a text; nil: nothing), reads, made, came, within, sizes =
-- { { times, hit_ratio, low, high }, … } in ascending order, none before enough was sampled, changes = { { number,
-- time_s, what = "maxbytes" | "policy", was, is (bytes, or names), before, expected, band (half of it), state = "waits"
-- | "came" | "overtaken", reached and is_within (of those that came) }, … }, the oldest first }.
function M.parse(lines)
    local values, rows = stats.numbered(lines, "number", TEXT, NEEDED)
    local changes = {}
    for _, row in ipairs(rows) do
        changes[#changes + 1] = change_of(row)
    end
    return { is_enough = values.enough == "yes", lacks = values.lacks ~= "nothing" and values.lacks or nil,
        reads = values.reads, made = values.made, came = values.came, within = values.within,
        sizes = values.enough == "yes" and sizes_of(values) or {}, changes = changes }
end

--- Asks a server for its forecasts: as of `parse`, with bytes (the memory of now, that of the pages of all classes) and
-- totals (of slate.facts.foresight.whatif: the policy, the keys and the rate of the sample). Or nil, message, code:
-- "unsupported" where the server samples no keys.
function M.read(client)
    local lines, message, code = stats.ask_slated(client, "forecast", "a forecast needs slated, which samples keys")
    if not lines then
        return nil, message, code
    end
    local told = M.parse(lines)
    if not (told.reads and told.made and told.came and told.within) or told.is_enough and #told.sizes == 0 then
        return nil, "the server's forecasts cannot be read", "protocol"
    end
    local totals, curve
    totals, message, code = foresight.whatif(client)
    if not totals then
        return nil, message, code
    end
    curve, message, code = foresight.curve(client)
    if not curve then
        return nil, message, code
    end
    told.totals, told.bytes = totals, curve.bytes
    return told
end

return M
