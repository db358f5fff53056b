-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl curve [CLASS]: the expected hit ratio with other amounts of memory, and its error.
local gather = require "slate.base.gather"
local json = require "slate.base.json"
local must = require("slate.base.failure").must
local relief = require "slate.judge.relief"
local sampled = require "slate.facts.sampled"
local stats = require "slate.facts.stats"
local units = require "slate.base.units"

local M = {}

local POINTS_STEP <const> = 4 -- tables show each fourth of slated's 17 points, to fit a screen; JSON has all

-- Explains below the tables why three hit ratios of one server need not agree.
local NOTE <const> = [[
The server counts its hits lately itself, and those of x1 over about five turnovers of the cache. Of the other rows of
that table, less memory comes from miniature caches of %s; more memory comes from the curves of the classes and from the
misses that more memory can save. 19 of 20 are meant to come true within the band. The LRU model comes from the memory
of the keys used between two reads of a sampled key, and from its expiry. Compare rows within a table.
]]

-- The way to a curve for the operator of a memcached.
local INSTEAD <const> = "; slatectl chart curve --live estimates one from what any server counts. For more, write its "
    .. "requests into a file, slatectl capture -o day.trace.gz, and play them to caches of other sizes: slatectl "
    .. "simulate day.trace.gz --memory 512m,1g,2g"

function M.declare(command)
    command:argument("class", "A slab class. Default: the whole cache"):args("?"):argname("CLASS")
        :convert(units.whole(1, 255))
    command:option("-o --output", "Draw the curve into FILE.png, .svg, .html or .txt."):argname("FILE")
end

local function share(ratio)
    return units.percent(ratio, 2)
end

-- How many predictions came true after a change of the memory or the policy.
local function earlier(curve)
    if curve.predictions == 0 then
        return "none compared yet: that takes a change of the memory or the policy, and four turnovers"
    end
    return ("%s of %s earlier ones came true within the band (19 of 20 expected)"):format(
        units.count(curve.predictions_within or 0), units.count(curve.predictions))
end

local function facts_of(curve)
    local limit = curve.bytes_limit
    local facts = {
        { "memory", units.bytes_in_words(curve.used_bytes)
            .. (limit and limit ~= curve.used_bytes and " of " .. units.bytes_in_words(limit) or "") },
        { "sampled", units.plural(curve.reads, "read") .. (curve.keys and curve.rate
            and ("; %s, %s of all"):format(units.plural(curve.keys, "key"), units.percent(curve.rate, 3)) or "") },
    }
    if curve.measured_hit_ratio then
        facts[#facts + 1] = { "hits lately", share(curve.measured_hit_ratio) .. ", counted" }
    end
    local first = sampled.first_reads_words(curve)
    if first then
        facts[#facts + 1] = { "first reads", first }
    end
    if curve.predictions then
        facts[#facts + 1] = { "predictions", earlier(curve) }
    end
    return facts
end

local function band_of(point)
    return point[3] and ("%.2f to %.2f%%"):format(100 * point[3], 100 * point[4]) or "-"
end

-- The memory of a size. Today's is what the classes hold, where that is more than the limit.
local function bytes_of(curve, size)
    return size[1] == 1 and math.max(curve.bytes, curve.used_bytes) or math.floor(size[1] * curve.bytes)
end

-- The hit ratios of the running policy; today's is counted, and has no band.
local function size_rows(curve)
    local rows, now = {}, nil
    for _, size in ipairs(curve.sizes) do
        now = size[1] == 1 and size[2] or now
    end
    for i, size in ipairs(curve.sizes) do
        local is_known = size[2] ~= json.null
        rows[i] = { ("x%g"):format(size[1]), units.bytes_in_words(bytes_of(curve, size)),
            is_known and share(size[2]) or "-", size[1] == 1 and "counted" or is_known and band_of(size) or "-",
            size[1] == 1 and "" or is_known and now and ("%+.2f"):format(100 * (size[2] - now)) or "-" }
    end
    return rows
end

local function out_text(context, curve)
    context:out(context:pairs(facts_of(curve)))
    local is_said = curve.without_gain == sampled.first_reads_words(curve)
    for _, sentence in ipairs({ not is_said and curve.without_gain or "", curve.out_of_reach or "" }) do
        context:out(sentence, sentence ~= "" and "\n" or "")
    end
    if curve.lacks then
        context:out(("the hit ratio of the cache's policy with other memory is not known yet: %s\n"):format(
            curve.lacks))
    end
    if #curve.points == 0 then
        return
    end
    if #curve.sizes > 0 then
        context:out("\n", context:table(("TIMES<|MEMORY|HITS, %s|95%% BAND<|POINTS"):format(curve.policy:upper()),
            size_rows(curve)))
    end
    local rows = {}
    for i = 1, #curve.points, POINTS_STEP do
        local point = curve.points[i]
        rows[#rows + 1] = { units.bytes_in_words(point[1]), share(point[2]), band_of(point) }
    end
    context:out("\n", context:table("MEMORY|HITS, LRU MODEL|95% BAND<", rows))
    if #curve.sizes > 0 then
        context:out("\n", NOTE:format(curve.policy))
    end
end

-- The sizes from an eighth to eight times today's, each twice the last.
local function doublings(bytes)
    local sizes = {}
    for doubling = -3, 3 do
        sizes[#sizes + 1] = math.floor(bytes * 2 ^ doubling)
    end
    return sizes
end

-- Points of hit ratios as points of miss ratios, with their bands. bytes_at: the memory of a point.
local function misses_of(points, bytes_at)
    return gather.values(points, function(point)
        return point[2] ~= json.null
            and { bytes_at(point), 1 - point[2], point[4] and 1 - point[4], point[3] and 1 - point[3] } or nil
    end)
end

local function draw(context, curve, class, path)
    local series = {
        title = ("Miss ratio by memory, %s%s"):format(context.server.name,
            class and (", class %d"):format(class) or ""),
        note = ("measured on %s that were sampled; shaded: the bands of 95 %%"):format(
            units.plural(curve.reads, "read")),
        y_label = "miss ratio", x_label = class and "memory of the class" or "memory", in_bytes = true,
        sizes = doublings(curve.bytes), marks = { { x = bytes_of(curve, { 1 }), label = "now" } },
        curves = { { label = "LRU model", points = misses_of(curve.points, function(point) return point[1] end) } },
    }
    if #curve.sizes > 0 then
        series.curves[2] = { label = ("%s, expected"):format(curve.policy),
            points = misses_of(curve.sizes, function(size) return bytes_of(curve, size) end) }
    end
    local chart = require "slate.chart.draw"
    return chart.save(chart.curves(series), path, {})
end

function M.run(context, parsed)
    if parsed.output then
        must(require("slate.chart.draw").terminal_for(parsed.output))
    end
    local client = must(context:connect())
    local curve, message, code = sampled.curve(client, parsed.class)
    if not curve then
        return nil, code == "unsupported" and message .. INSTEAD or message, code
    end
    if not parsed.class then
        local general = must(stats.read(client))
        curve.bytes_limit, curve.full = general.limit_maxbytes, not relief.unfilled(general, curve)
        curve.without_gain = relief.without_gain(curve,
            { general = general, evicts = (general.evictions or 0) > 0 or nil })
        local _, classes = stats.numbered(client:stats("slabs") or {}, "id", {}, {})
        local least_bytes = relief.least_bytes(classes)
        curve.out_of_reach = curve.points[1] and relief.below_least(classes, curve.points[1][1])
        sampled.leave_out_below(curve, least_bytes)
        for i, size in ipairs(curve.without_gain and curve.sizes or {}) do -- hit ratios that advice would not tell
            curve.sizes[i] = size[1] > 1 and { size[1], json.null, json.null, json.null } or size
        end
    end
    client:close()
    if context.json then
        curve.points, curve.sizes = json.array(curve.points), json.array(curve.sizes)
        curve.server, curve.class = context.server.name, parsed.class
        for _, size in ipairs(curve.sizes) do
            curve[("band_x%g"):format(size[1])] = nil -- sizes have these bands
        end
        curve.time_s = require("slate.base.clock").time_s()
        context:out_json("slate/curve/1", curve)
    else
        out_text(context, curve)
    end
    if #curve.points == 0 and not curve.out_of_reach then
        return nil, sampled.too_few("for a curve"), "no"
    elseif parsed.output then
        must(draw(context, curve, parsed.class, parsed.output))
    end
    return 0
end

return M
