-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl curve [CLASS]: which hit ratio to expect with other amounts of memory.
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local POINTS_STEP <const> = 2 -- of slated's 17 points, so that both tables fit a screen; JSON and charts have all

-- Three hit ratios of one server that need not agree: below the tables it is said why.
local NOTE <const> = [[
The server counts its hits lately itself. The row x1 is what %s reached over about five turnovers of the cache; the
other rows of that table come from miniature caches. The LRU model is reckoned from how long ago sampled keys were
read, as if the policy were LRU. Compare rows within a table, not across the two.
]]

function M.declare(command)
    command:argument("class", "A slab class. Default: the whole cache"):args("?"):argname("CLASS")
        :convert(units.whole(1, 255))
    command:option("-o --output", "Draw the curve into FILE.png, .svg, .html, .sixel or .txt."):argname("FILE")
end

local function share(ratio)
    return units.percent(ratio, 2)
end

local function out_text(context, curve)
    local facts = { { "memory", units.bytes(curve.bytes or 0) }, { "sampled", units.plural(curve.reads or 0, "read") } }
    if curve.measured_hit_ratio then
        facts[3] = { "hits lately", share(curve.measured_hit_ratio) .. ", counted" }
    end
    context:out(context:pairs(facts))
    if #curve.points == 0 then
        context:out(require("slate.facts.foresight").too_few("for a curve"), "\n")
        return
    end
    local rows = {}
    for i, size in ipairs(curve.sizes) do
        rows[i] = { ("x%g"):format(size[1]), units.bytes(math.floor(size[1] * curve.bytes)), share(size[2]) }
    end
    if #rows > 0 then
        context:out("\n", context:table({ { title = "TIMES", left = true }, { title = "MEMORY" },
            { title = "HITS, " .. curve.policy:upper() } }, rows))
    end
    rows = {}
    for i = 1, #curve.points, POINTS_STEP do
        local point = curve.points[i]
        rows[#rows + 1] = { units.bytes(point[1]), share(point[2]) }
    end
    context:out("\n", context:table("MEMORY|HITS, LRU MODEL", rows))
    if #curve.sizes > 0 then
        context:out("\n", NOTE:format(curve.policy))
    end
end

-- The sizes from an eighth to eight times today's, doubled each time.
local function doublings(bytes)
    local sizes = {}
    for doubling = -3, 3 do
        sizes[#sizes + 1] = math.floor(bytes * 2 ^ doubling)
    end
    return sizes
end

local function draw(context, curve, class, path)
    local misses, sizes = {}, {}
    for i, point in ipairs(curve.points) do
        misses[i] = { point[1], 1 - point[2] }
    end
    for i, size in ipairs(curve.sizes) do
        sizes[i] = { math.floor(size[1] * curve.bytes), 1 - size[2] }
    end
    local series = {
        title = ("Miss ratio by memory, %s%s"):format(context.server.name,
            class and (", class %d"):format(class) or ""),
        note = ("measured on %s that were sampled; the fewer, the rougher"):format(
            units.plural(curve.reads or 0, "read")),
        y_label = "miss ratio", x_label = class and "memory of the class" or "memory", tic = units.bytes,
        sizes = doublings(curve.bytes), marks = { { x = curve.bytes, label = "now" } },
        curves = { { label = "LRU model", points = misses } },
    }
    if #sizes > 0 then
        series.curves[2] = { label = ("%s, by miniatures"):format(curve.policy), points = sizes }
    end
    local chart = require "slate.chart.draw"
    return require("slate.chart.picture").save(path, chart.curves(series), { terminal = chart.terminal_for(path) })
end

function M.run(context, parsed)
    if parsed.output then
        local known, problem = require("slate.chart.draw").terminal_for(parsed.output)
        if not known then
            return nil, problem, "usage"
        end
    end
    local client = must(context:connect())
    local curve, message, code = require("slate.facts.foresight").curve(client, parsed.class)
    if not curve then
        return nil, code == "unsupported" and message .. "; slatectl chart curve --live estimates one from what any "
            .. "server counts" or message, code
    end
    client:close()
    if context.json then
        local array = require("slate.base.json").array
        curve.points, curve.sizes = array(curve.points), array(curve.sizes)
        curve.server, curve.class = context.server.name, parsed.class
        curve.time_s = require("slate.base.clock").time_s()
        context:out_json("slate/curve/1", curve)
    else
        out_text(context, curve)
    end
    if parsed.output then
        if #curve.points == 0 then
            return nil, require("slate.facts.foresight").too_few("for a chart"), "no"
        end
        must(draw(context, curve, parsed.class, parsed.output))
    end
    return 0
end

return M
