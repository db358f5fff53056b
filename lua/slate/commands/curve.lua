-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl curve [CLASS]: which hit ratio to expect with other amounts of memory.
local units = require "slate.units"

local M = {}

local SIZE_COLUMNS <const> = { { title = "TIMES", left = true }, { title = "MEMORY" }, { title = "HITS" } }

function M.declare(command)
    command:argument("class", "A slab class. Default: the whole cache"):args("?"):argname("CLASS")
        :convert(function(text) return units.parse_whole(text, 1, 255) end)
    command:option("-o --output", "Draw the curve into FILE.png, .svg, .html, .sixel or .txt."):argname("FILE")
end

local function share(ratio)
    return units.percent(ratio, 2)
end

local function out_text(context, curve)
    local tables = require "slate.table"
    context:out(tables.pairs({
        { "memory", units.bytes(curve.bytes or 0) }, { "sampled", units.plural(curve.reads or 0, "read") },
    }))
    if #curve.points == 0 then
        context:out("too few reads were sampled for a curve\n")
        return
    end
    local rows = {}
    for i, size in ipairs(curve.sizes) do
        rows[i] = { ("x%g"):format(size[1]), units.bytes(math.floor(size[1] * curve.bytes)), share(size[2]) }
    end
    if #rows > 0 then
        context:out("\n", tables.render(SIZE_COLUMNS, rows))
    end
    rows = {}
    for i, point in ipairs(curve.points) do
        rows[i] = { units.bytes(point[1]), share(point[2]) }
    end
    context:out("\n", tables.render({ { title = "MEMORY" }, { title = "HITS, LRU" } }, rows))
end

local function draw(curve, class, path)
    local misses, sizes = {}, {}
    for i, point in ipairs(curve.points) do
        misses[i] = { point[1], 1 - point[2] }
    end
    for i, size in ipairs(curve.sizes) do
        sizes[i] = { math.floor(size[1] * curve.bytes), 1 - size[2] }
    end
    local labelled = {} -- every fourth, or they would cover each other
    for i = 1, #curve.points, 4 do
        labelled[curve.points[i][1]] = true
    end
    local series = {
        title = class and ("Miss ratio of class %d"):format(class) or "Miss ratio",
        y_label = "miss ratio", x_label = "memory",
        tic = function(bytes) return labelled[bytes] and units.bytes(bytes) or "" end,
        curves = { { label = "LRU", points = misses } },
    }
    if #sizes > 0 then
        series.curves[2] = { label = "policy", points = sizes }
    end
    local chart = require "slate.chart"
    return require("slate.picture").save(path, chart.curves(series), { terminal = chart.terminal_for(path) })
end

function M.run(context, parsed)
    if parsed.output then
        local known, problem = require("slate.chart").terminal_for(parsed.output)
        if not known then
            return nil, problem, "usage"
        end
    end
    local client, message, code = context:connect()
    if not client then
        return nil, message, code
    end
    local curve
    curve, message, code = require("slate.foresight").curve(client, parsed.class)
    if not curve then
        return nil, message, code
    end
    client:close()
    if context.json then
        local array = require("slate.json").array
        curve.points, curve.sizes = array(curve.points), array(curve.sizes)
        curve.server, curve.time_s, curve.class = context.server.name, require("slate.clock").time_s(), parsed.class
        context:out_json("slate/curve/1", curve)
    else
        out_text(context, curve)
    end
    if parsed.output then
        if #curve.points == 0 then
            return nil, "too few reads were sampled for a chart", "no"
        end
        local drawn
        drawn, message, code = draw(curve, parsed.class, parsed.output)
        if not drawn then
            return nil, message, code
        end
    end
    return 0
end

return M
