-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl chart KIND FILE... | --live: a recording or the live server as a picture, or as text.
local chart = require "slate.chart.draw"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local LIVE_DURATION_S <const> = 60

local pixels <const> = units.whole(20, 10000)

function M.declare(command)
    local names, lines = {}, {}
    for i, kind in ipairs(chart.KINDS) do
        names[i], lines[i] = kind.name, ("%s: %s"):format(kind.name, kind.summary)
    end
    command:argument("kind", "What to draw. " .. table.concat(lines, "; ") .. "."):choices(names):argname("KIND")
    command:argument("files", "Recordings; several for a fleet."):args("*"):argname("FILE")
    command:flag("--live", "Sample the server instead of reading a recording; for a fleet all servers of -s.")
    command:option("-o --output", "Write FILE.png, .svg, .html or .txt instead of drawing on the terminal.")
        :argname("FILE")
    command:option("--interval", "With --live, time between samples. Default: 1s"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--for", "With --live, how long to sample. Default: 60s"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--width", "The width, in pixels or characters."):argname("N"):convert(pixels)
    command:option("--height", "The height, in pixels or characters."):argname("N"):convert(pixels)
end

local function figure_of(what, list, histogram)
    return require("slate.chart.kinds." .. what).figure(list, histogram)
end

local function draw_text(context, figure, options)
    context:out(chart.text(figure, options))
    context:flush()
end

local function drawing_options(context, parsed)
    local options = { width = parsed.width, height = parsed.height }
    if parsed.output then
        must(chart.terminal_for(parsed.output))
    elseif context:is_terminal(1) then
        local columns, rows = context:terminal_size()
        options.width = options.width or columns
        options.height = options.height or rows and rows - 2
        options.colour = context:has_colour()
    end
    return options
end

-- Connects to all servers. Returns a list of { client, slated, name }, or nil, message, code.
local function connect(context)
    local peers = {}
    for i, server in ipairs(context.servers) do
        local client, who = must(context:meet(server))
        peers[i] = { client = client, slated = who.slated, name = server.name }
    end
    return peers
end

-- Samples the servers; a terminal shows the chart again with each sample.
-- Returns the snapshots and, for a chart of sizes, the histogram.
local function sample(context, parsed, on_sample)
    local clock = require "slate.base.clock"
    local peers = connect(context)
    local until_s = clock.steady_s() + (parsed["for"] or LIVE_DURATION_S)
    local interval_s = math.max(parsed.interval or 1, 0.01)
    local list, histogram = {}, nil
    if parsed.kind == "sizes" then -- one sample is enough
        until_s = 0
    end
    while true do
        for _, peer in ipairs(peers) do
            local one = must(require("slate.facts.snapshot").take(peer.client, {
                server = peer.name, slated = peer.slated, settings = true,
            }))
            list[#list + 1] = one
        end
        if until_s == 0 or #list > #peers and clock.steady_s() + interval_s > until_s then
            break
        end
        on_sample(list)
        clock.sleep(interval_s)
    end
    if parsed.kind == "sizes" then
        histogram = require("slate.facts.sizehist").read(peers[1].client) -- nil: then the mean size of each class
    end
    for _, peer in ipairs(peers) do
        peer.client:close()
    end
    return list, histogram
end

local function live(context, parsed, options)
    local repaint = not parsed.output and not context.json and context:is_terminal(1)
    return sample(context, parsed, function(list)
        local figure = repaint and figure_of(parsed.kind, list)
        if figure then
            context:out("\27[H\27[2J")
            draw_text(context, figure, options)
        end
    end)
end

local PANEL_LISTS <const> = { "at", "series", "bars", "limits", "marks" }

local function out_json(context, what, figure)
    local json = require "slate.base.json"
    local panels = json.array()
    for i, panel in ipairs(figure.panels) do
        local one = { kind = panel.kind, title = panel.title, x_label = panel.x.label, y_label = panel.y.label }
        for _, name in ipairs(PANEL_LISTS) do
            one[name] = panel[name] and json.array(panel[name])
        end
        for _, series in ipairs(panel.series or {}) do
            series.colour, series.grey, series.wide = nil, nil, nil
        end
        panels[i] = one
    end
    context:out_json("slate/chart/1", { chart = what, title = figure.title, note = figure.note, panels = panels })
end

function M.run(context, parsed)
    if (#parsed.files > 0) == (parsed.live == true) then
        return nil, "name a recording, or --live", "usage"
    elseif #context.servers > 1 and parsed.kind ~= "fleet" then
        return nil, "only a chart of a fleet takes several servers", "usage"
    end
    local options = drawing_options(context, parsed)
    local list, histogram
    if parsed.live then
        list, histogram = live(context, parsed, options)
    else
        list = must(context:recordings(parsed.files))
    end
    local figure, message = figure_of(parsed.kind, list, histogram)
    if not figure then
        return nil, message, "no"
    end
    if parsed.output then
        must(chart.save(figure, parsed.output, options))
    elseif not context.json then
        draw_text(context, figure, options)
    end
    if context.json then
        out_json(context, parsed.kind, figure)
    end
    return 0
end

return M
