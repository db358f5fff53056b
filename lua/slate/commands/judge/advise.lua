-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl advise pages|sizes|memory|automove|policy: the change to make, from the server's present figures.
local must = require("slate.base.failure").must

local M = {}

local SUBJECTS <const> = {}
local ABOUT <const> = {
    { "pages", "which class should get pages, from which, and the expected gain" },
    { "sizes", "chunk sizes that waste least" }, { "memory", "how much memory is worth having" },
    { "automove", "which mode, or policy, should move pages" },
    { "policy", "which eviction policy would hit most" },
}
for i, about in ipairs(ABOUT) do
    SUBJECTS[i] = about[1]
end

function M.declare(command)
    local units = require "slate.base.units"
    local words = {}
    for i, about in ipairs(ABOUT) do
        words[i] = table.concat(about, ": ")
    end
    command:argument("subject", table.concat(words, "; ") .. ". Without one: this list."):args("?")
        :choices(SUBJECTS):argname("SUBJECT")
    command:option("--from", "Where the sizes come from: sizehist, sizes or metadump; see sizes.")
        :choices(require("slate.facts.sizehist").SOURCES):argname("SOURCE")
    command:option("--classes", "Use N classes, besides the one of the largest chunk."):argname("N")
        :convert(units.whole(2, 254))
    command:option("--hits", "With memory: the hit ratio to reach, in per cent."):argname("PERCENT")
        :convert(function(text)
            local percent = tonumber(text)
            if percent and percent > 0 and percent <= 100 then
                return percent
            end
            return nil, ("'%s' is not a share in per cent"):format(text)
        end)
    local price = require("slate.judge.money").parse_price
    command:option("--price-per-gb", "With memory: price of a GiB a month; names the size of least cost.")
        :argname("PRICE"):convert(price)
    command:option("--price-per-miss", "With the price of memory: price of one miss, such as 2e-6.")
        :argname("PRICE"):convert(price)
    command:option("--reads-per-s", "With both prices: reads a second to reckon with. Default: those of the interval")
        :argname("N"):convert(require("slate.judge.money").parse_rate)
    command:option("--interval", "How long to measure rates. Default: 1s, and 3s where anything is "
        .. "evicted; with pages and prices 10s")
        :argname("TIME"):convert(units.parse_duration)
end

-- The problem of the given prices; nil if there is none.
local function wrong_prices(parsed)
    local given = parsed.price_per_gb or parsed.price_per_miss or parsed.reads_per_s
    if given and parsed.subject ~= "memory" then
        return "prices are for advise memory"
    elseif given and not (parsed.price_per_gb and parsed.price_per_miss) then
        return "a size that costs least needs both --price-per-gb and --price-per-miss"
    elseif given and parsed.hits then
        return "--hits and the prices exclude each other: the least memory has either a hit ratio or a price"
    end
end

local function list_subjects(context)
    if context.json then
        context:out_json("slate/advice/1", { subjects = require("slate.base.json").array(SUBJECTS) })
        return 0
    end
    context:out("slatectl advise SUBJECT:\n", context:pairs(ABOUT, true))
    return 0
end

function M.run(context, parsed)
    if not parsed.subject then
        return list_subjects(context)
    end
    local wrong = wrong_prices(parsed)
    if wrong then
        return nil, wrong, "usage"
    end
    local client = must(context:open())
    local advice = must(require("slate.judge.advice")[parsed.subject](context, client, parsed))
    client:close()
    advice.server, advice.subject = context.server.name, parsed.subject
    advice.time_s = require("slate.base.clock").time_s()
    local code = advice.reads_needed and 1 or 0
    if context.json then
        require("slate.base.json").array(advice.commands)
        advice.facts, advice.table = nil, nil -- the other fields have the figures
        context:out_json("slate/advice/1", advice)
        return code
    end
    local tables = require "slate.base.table"
    context:out(context:pairs(advice.facts))
    if advice.table then
        context:out(#advice.facts > 0 and "\n" or "", context:table(advice.table.columns, advice.table.rows))
    end
    context:out((#advice.facts > 0 or advice.table) and "\n" or "", tables.wrap(advice.text), "\n")
    for _, command in ipairs(advice.commands) do
        context:out("  ", command, "\n")
    end
    return code
end

return M
