-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl forecast: the hit ratio to expect with other amounts of memory, and how earlier forecasts came true.
local must = require("slate.base.failure").must
local outlook = require "slate.judge.outlook"
local units = require "slate.base.units"

local M = {}

local SIZES <const> = "TIMES<|MEMORY|HITS|80% BAND<|POINTS"
local CHANGES <const> = "TIME<|CHANGE<|BEFORE|EXPECTED|±|REACHED|<"

-- What an operator of a memcached can do instead.
local INSTEAD <const> = ": this server samples none. Write its requests into a file, slatectl capture -o day.trace.gz, "
    .. "and play them to caches of other sizes: slatectl simulate day.trace.gz --memory 512m,1g,2g"

-- What the last column says where nothing was compared.
local STATES <const> = {
    waits = "waits: the cache has not settled since the change",
    overtaken = "overtaken: another change came before the cache had settled, so nothing was compared",
}

function M.declare(command)
    command:epilog(("Of earlier forecasts the last column says whether the hit ratio that came is within the band. %s; "
        .. "%s."):format(STATES.waits, STATES.overtaken))
end

local function points(ratio)
    return ("%.2f"):format(100 * ratio)
end

local function size_rows(told)
    local rows, now = {}, nil
    for _, size in ipairs(told.sizes) do
        now = size.times == 1 and size.hit_ratio or now
    end
    for i, size in ipairs(told.sizes) do
        local is_now = size.times == 1
        rows[i] = {
            ("x%g"):format(size.times), units.bytes(told.bytes and math.floor(size.times * told.bytes)),
            units.percent(size.hit_ratio, 2),
            is_now and "counted" or ("%s to %s%%"):format(points(size.low), points(size.high)),
            is_now and "" or now and ("%+.2f"):format(100 * (size.hit_ratio - now)) or "-",
        }
    end
    return rows
end

local function cache_word(what, value)
    return what == "maxbytes" and units.bytes(value) or value
end

local function change_rows(told)
    local rows = {}
    for i, one in ipairs(told.changes) do
        rows[i] = {
            os.date("%Y-%m-%d %H:%M:%S", math.floor(one.time_s)),
            cache_word(one.what, one.was) .. " to " .. cache_word(one.what, one.is), units.percent(one.before, 2),
            units.percent(one.expected, 2), points(one.band), units.percent(one.reached, 2),
            one.reached and (one.is_within and "within" or "beyond") or one.state,
        }
    end
    return rows
end

-- What the words mean that stand in the last column of these changes.
local function states_in_words(changes)
    local seen, words = {}, {}
    for _, one in ipairs(changes) do
        if STATES[one.state] and not seen[one.state] then
            seen[one.state], words[#words + 1] = true, STATES[one.state] .. "\n"
        end
    end
    return table.concat(words)
end

local function earlier(told)
    if told.came == 0 then
        return told.made == 0 and "none yet: one is kept when the memory or the policy changes"
            or ("%s made, none could be compared yet"):format(units.count(told.made))
    end
    return ("%s of %s came true within the band, where four of five are meant to"):format(units.count(told.within),
        units.count(told.came))
end

-- Why there are no figures.
local function lacking(told)
    if told.totals.sampling == 0 then
        return "no forecast: " .. (told.totals.why or told.lacks or "nothing is sampled")
    end
    local lacks = told.lacks or "nothing was counted yet"
    return (lacks:find("^%d") and "not enough yet: " or "no forecast yet: ") .. lacks
end

local function sample_of(told)
    local totals = told.totals
    if totals.sampling == 0 then
        return "none"
    end
    return ("%s, %s of all, and %s; old ones count less"):format(units.plural(totals.keys or 0, "key"),
        units.percent(totals.rate or 0, 3), units.plural(told.reads, "read"))
end

local function out_text(context, told)
    local limit = told.general.limit_maxbytes
    context:out(context:pairs({
        { "memory", units.bytes(told.bytes) .. (limit and limit ~= told.bytes and " of " .. units.bytes(limit) or "") },
        { "policy", require("slate.facts.foresight").policy_in_words(told.totals) },
        { "sample", sample_of(told) },
        { "forecasts", earlier(told) },
    }), "\n")
    if told.is_enough then
        context:out(context:table(SIZES, size_rows(told)))
    else
        context:out(lacking(told), "\n")
    end
    if told.unfilled then
        context:out(told.unfilled, "\n")
    end
    if #told.changes > 0 then
        context:out("\nearlier forecasts\n", context:table(CHANGES, change_rows(told)),
            states_in_words(told.changes))
    end
end

local function document(context, told)
    local array, sizes = require("slate.base.json").array, {}
    for i, size in ipairs(told.sizes) do
        sizes[i] = { times = size.times, memory_bytes = told.bytes and math.floor(size.times * told.bytes),
            hit_ratio = size.hit_ratio, low = size.low, high = size.high }
    end
    return {
        server = context.server.name, time_s = require("slate.base.clock").time_s(), enough = told.is_enough,
        lacks = told.lacks, policy = told.totals.policy, bytes = told.bytes,
        bytes_limit = told.general.limit_maxbytes, full = not told.unfilled, keys = told.totals.keys,
        rate = told.totals.rate, reads = told.reads, made = told.made, came = told.came, within = told.within,
        sizes = array(sizes), changes = array(told.changes),
    }
end

function M.run(context)
    local client = must(context:connect())
    local told, message, code = require("slate.facts.forecast").read(client)
    if told then
        told.general = must(context:snapshot(client)).general
        told.unfilled = outlook.unfilled(told.general, told.bytes)
    end
    client:close()
    if not told then
        return nil, code == "unsupported" and message .. INSTEAD or message, code
    elseif context.json then
        context:out_json("slate/forecast/1", document(context, told))
    else
        out_text(context, told)
    end
    return 0
end

return M
