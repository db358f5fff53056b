-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl top: the server at a glance, once or repeatedly.
local attention = require "slate.judge.attention"
local automove = require "slate.facts.automove"
local doctor = require "slate.judge.doctor"
local must = require("slate.base.failure").must
local order = require "slate.base.order"
local relief = require "slate.judge.relief"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local M = {}

local ROWS_WITHOUT_TERMINAL <const> = 10
local HEAD_LINES <const> = 6 -- lines above and below the class rows, without advice

function M.declare(command)
    command:option("-w --watch", "Repeat every so often until Ctrl-C. Default: 2s"):args("?"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--count", "With --watch, stop after N rounds."):argname("N"):convert(units.whole(1))
    command:option("--interval", "Without --watch, the time between the two samples that give the rates. "
        .. "Default: 1s, and 3s where anything is evicted"):argname("TIME"):convert(units.parse_duration)
end

local function known(format, ...)
    for i = 1, select("#", ...) do
        if (select(i, ...)) == nil then
            return nil
        end
    end
    return format:format(...)
end

local function line(...)
    local parts = {}
    for i = 1, select("#", ...) do
        parts[#parts + 1] = (select(i, ...))
    end
    return table.concat(parts, "   ") .. "\n"
end

-- The lines above the table. Unknown figures are left out.
local function heading(o)
    local kind = o.slated and "slated " .. o.slated or "memcached " .. (o.version or "?")
    return line(o.server, kind, known("up %s", o.uptime_s and units.age(o.uptime_s)),
            known("automove %s", o.automove ~= nil and automove.name_of(o.automove) or nil),
            o.reset and "counters were reset: no rates" or known("rates over %.2f s", o.interval_s))
        .. line("hits " .. units.percent(o.hit_ratio or o.hit_ratio_total, 2)
                .. (not o.hit_ratio and o.hit_ratio_total and " since start" or ""),
            "gets/s " .. units.rate(o.get_per_s), "sets/s " .. units.rate(o.set_per_s),
            "evictions/s " .. units.rate(o.evictions_per_s), "pages moved " .. units.count(o.pages_moved))
        .. line(("memory %s of %s (%s)"):format(units.bytes_in_words(o.used_bytes), units.bytes_in_words(o.limit_bytes),
                units.percent(o.used_ratio)),
            "items " .. units.count(o.items), "conns " .. units.count(o.connections),
            known("CPU %s", o.cpu_ratio and units.percent(o.cpu_ratio)),
            known("pool %s", o.free_pool_pages and units.plural(o.free_pool_pages, "page")))
end

-- Sorts classes by weight: those that refuse stores first, then those that evict, then busy ones.
local function by_weight(rows)
    return order.largest_first(rows, function(row)
        return (row.out_of_memory_per_s or 0) * 1e6 + (row.evicted_per_s or 0) * 1e3
            + (row.set_per_s or 0) + (row.get_hits_per_s or 0)
    end, "id")
end

local function text_of(context, now, rates, rows, most_rows, advice)
    rows = by_weight(rows)
    local shown = order.first(rows, most_rows)
    local text = heading(view.overview(now, rates)) .. "\n"
        .. require("slate.commands.inspect.classes").text(context, now, shown)
    if #shown < #rows then
        text = text .. units.plural(#rows - #shown, "more class", "more classes") .. ": slatectl classes\n"
    end
    for _, sentence in ipairs(advice) do
        text = text .. sentence .. "\n"
    end
    return text
end

local function out_json(context, now, rates, rows, advice)
    local fields = view.overview(now, rates)
    fields.advice = require("slate.base.json").array(advice)
    fields.classes = require("slate.commands.inspect.classes").as_json(rows)
    context:out_json("slate/top/1", fields)
end

-- Repaints in place: from the top, clears each line's end, and then the lines that an earlier, longer text left below.
local function repaint(context, text)
    context:out("\27[H", (text:gsub("\n", "\27[K\n")), "\27[J")
    context:flush()
end

-- Prints one state. rows: of slate.judge.view.classes; advice: of advice_of.
local function show(context, now, rates, rows, advice, in_place)
    if context.json then
        return out_json(context, now, rates, rows, advice)
    elseif in_place then
        local _, lines = context:terminal_size()
        return repaint(context, text_of(context, now, rates, rows, math.max(1, (lines or 24) - HEAD_LINES - 3),
            advice))
    end
    context:out(text_of(context, now, rates, rows, ROWS_WITHOUT_TERMINAL, advice))
    context:flush()
end

-- What slatectl doctor says of classes in need. one: of slate.judge.view; nil for a server with a single sample.
local function advice_of(client, one)
    local facts = one and attention.known_of(one)
    if facts and one.now.slated then
        facts.curves = require("slate.facts.sampled").curves(client, relief.wanted(one))
    end
    return facts and doctor.class_sentences(facts) or {}
end

local function watch(context, client, interval_s, count)
    local in_place = not context.json and context:is_terminal(1)
    local first = must(context:snapshot(client))
    local observer = require("slate.judge.view").observer()
    observer:observe(first)
    if in_place then
        context:out("\27[2J")
    end
    for round = 1, count or math.huge do
        require("slate.base.clock").sleep(interval_s)
        local now = must(context:snapshot(client))
        if round > 1 and not in_place and not context.json then
            context:out("\n")
        end
        observer:observe(now)
        show(context, now, observer.rates, observer.rows, advice_of(client, observer), in_place)
    end
    return 0
end

function M.run(context, parsed)
    local client = must(context:open())
    if parsed.watch then
        return watch(context, client, parsed.watch[1] or 2, parsed.count)
    end
    local now, before, rates, judge, one = must(context:pair(client, parsed.interval))
    local advice = advice_of(client, one) -- its plan goes into the rows
    show(context, now, rates, view.classes(now, before, rates, judge), advice)
    return 0
end

return M
