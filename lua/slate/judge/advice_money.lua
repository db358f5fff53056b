-- SPDX-License-Identifier: BSD-3-Clause
--- What `slatectl advise memory --price-per-gb P --price-per-miss Q` says: the size that costs least.
local money = require "slate.judge.money"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local MIB <const> = 1 << 20
local INTERVAL_S <const> = 10 -- in which reads are counted, for a month of them

local function row_of(name, one)
    return { name, units.bytes(one.bytes), one.flash_bytes > 0 and units.bytes(one.flash_bytes) or "-",
        units.percent(one.hit_ratio, 2), money.words(one.cost_of_memory), money.words(one.cost_of_misses),
        money.words(one.cost) }
end

--- How many reads a second to reckon with: those asked for, else those of the interval. Or nil, message, code.
function M.reads_per_s(context, client, options)
    if options.reads_per_s then
        return options.reads_per_s
    end
    local _, _, rates = must(context:pair(client, options.interval or INTERVAL_S))
    return (rates and rates.general.cmd_get) or 0
end

local function as_cheap(best)
    local least, most = units.bytes(best.least_bytes), units.bytes(best.most_bytes)
    return least == most and "no other size"
        or ("%s to %s: what differs is within the curve's error"):format(least, most)
end

local function text_of(now, best, load)
    if load.reads_per_s == 0 then
        return "no reads now, so no memory is worth its price: ask while the server has its usual load, or "
            .. "give --reads-per-s"
    elseif now.bytes >= best.least_bytes and now.bytes <= best.most_bytes then
        return ("leave the memory as it is: it costs %s a month, and no other size is surely cheaper")
            :format(money.words(now.cost))
    end
    return ("%s would cost %s a month, %s less than now%s%s"):format(units.bytes(best.bytes), money.words(best.cost),
        money.words(now.cost - best.cost), best.at_end and "; the curve ends there, and more may cost less still" or "",
        ":")
end

--- The advice, as slate.judge.advice gives it. options: price_per_gb, price_per_miss, flash_price_per_gb, reads_per_s,
-- interval.
function M.advise(context, client, options, curve)
    local points, lacking = money.points(curve)
    if not points then
        return nil, lacking, "no"
    end
    local reads_per_s = must(M.reads_per_s(context, client, options))
    local load = { reads_per_s = reads_per_s, price_per_gb = options.price_per_gb,
        price_per_miss = options.price_per_miss }
    local now, best = money.cost(points, load, curve.bytes), money.cheapest(points, load, curve)
    local rows, flash = { row_of("now", now), row_of("cheapest", best) }, nil
    if options.flash_price_per_gb then
        load.flash_price_per_gb, load.memory_least_bytes = options.flash_price_per_gb, 0
        flash = money.cheapest(points, load, curve)
        rows[3] = row_of("with flash", flash)
    end
    local is_worth_it = reads_per_s > 0 and (now.bytes < best.least_bytes or now.bytes > best.most_bytes)
    local note = flash and { "flash", "a hit on it is counted as one of memory: that it waits for the device is not in "
        .. "the price" } or nil
    return {
        facts = {
            { "reads", ("%s/s, %s"):format(units.rate(reads_per_s), options.reads_per_s and "as asked" or "counted") },
            { "sampled", units.plural(curve.reads, "read") },
            { "as cheap", as_cheap(best) },
            { "cost", ("%s a month ± %s by the curve's error"):format(money.words(best.cost),
                money.words(best.cost_error)) },
            note,
        },
        table = { columns = "<|MEMORY|FLASH|HITS|MEMORY/MONTH|MISSES/MONTH|COST/MONTH",
            rows = rows },
        text = text_of(now, best, load),
        commands = is_worth_it and { "slatectl set maxbytes " .. math.ceil(best.bytes / MIB) * MIB } or {},
        bytes = curve.bytes, reads = curve.reads, reads_per_s = reads_per_s, now = now, cheapest = best, flash = flash,
        is_worth_it = is_worth_it,
    }
end

return M
