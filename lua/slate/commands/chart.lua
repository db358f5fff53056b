-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl chart pages FILE | --live: stacked pages by class over time.
local chart = require "slate.chart"
local units = require "slate.units"

local M = {}

local LIVE_DURATION_S <const> = 60

local function pixels(text)
    return units.parse_whole(text, 20, 10000)
end

function M.declare(command)
    command:argument("what", "What to draw: pages."):choices({ "pages" }):argname("pages")
    command:argument("file", "A recording."):args("?"):argname("FILE")
    command:flag("--live", "Sample the server instead of reading a recording.")
    command:option("-o --output", "Write FILE.png, FILE.svg or FILE.txt instead of drawing on the terminal.")
        :argname("FILE")
    command:option("--interval", "With --live, time between samples. Default: 1s"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--duration", "With --live, how long to sample. Default: 60s"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--width", "In pixels, or characters."):argname("N"):convert(pixels)
    command:option("--height", "In pixels, or characters."):argname("N"):convert(pixels)
    command:option("--keep-script", "Also write the gnuplot script to this file."):argname("FILE")
end

local function write_file(path, text)
    local file, problem = io.open(path, "w")
    if not file then
        return nil, "cannot write " .. problem, "output"
    end
    local ok, why = file:write(text)
    local closed, why_closed = file:close()
    if not (ok and closed) then
        return nil, ("cannot write %s: %s"):format(path, why or why_closed), "output"
    end
    return true
end

-- Writes beside the wanted file, which is replaced only by a finished chart. `write` gets the path.
local function replace_file(path, write)
    local unfinished = path .. ".unfinished"
    local ok, message, code = write(unfinished)
    if ok then
        local renamed, why = os.rename(unfinished, path)
        if renamed then
            return true
        end
        ok, message, code = nil, ("cannot write %s: %s"):format(path, why), "output"
    end
    os.remove(unfinished)
    return ok, message, code
end

local function draw_picture(series, parsed, options)
    return replace_file(parsed.output, function(unfinished)
        local ok, message, code = write_file(unfinished, "") -- says why not, where gnuplot would not
        if not ok then
            return nil, message, code
        end
        options.output = unfinished
        ok, message, code = chart.run(chart.pages_script(series, options))
        if ok and not chart.is_whole(unfinished, options.terminal) then
            return nil, ("cannot write %s: the picture came out cut short; is the disk full?"):format(parsed.output),
                "output"
        end
        return ok, message, code
    end)
end

local function draw(context, series, parsed, options)
    if parsed.keep_script then
        local script = chart.pages_script(series, setmetatable({ output = parsed.output }, { __index = options }))
        local ok, message, code = write_file(parsed.keep_script, script)
        if not ok then
            return nil, message, code
        end
    end
    if options.terminal ~= "dumb" then
        return draw_picture(series, parsed, options)
    end
    local text, message, code = chart.pages_text(series, options)
    if not text then
        return nil, message, code
    elseif parsed.output then
        return replace_file(parsed.output, function(unfinished) return write_file(unfinished, text) end)
    end
    context:out(text)
    context:flush()
    return true
end

local function drawing_options(context, parsed)
    local terminal = "dumb"
    if parsed.output then
        local known, problem = chart.terminal_for(parsed.output)
        if not known then
            return nil, problem, "usage"
        end
        terminal = known
    end
    local options = { terminal = terminal, width = parsed.width, height = parsed.height }
    if terminal == "dumb" and not parsed.output and context:is_terminal(1) then
        local columns, rows = context:terminal_size()
        options.width = options.width or columns
        options.height = options.height or rows and rows - 2
        options.colour = os.getenv("NO_COLOR") == nil
    end
    return options
end

local function load(context, path)
    local list, skipped, code = require("slate.record").load(path)
    if not list then
        return nil, skipped, code
    elseif skipped > 0 then
        context:say(("%s: %d damaged line%s skipped"):format(path, skipped, skipped == 1 and "" or "s"))
    end
    return list
end

-- Samples the server; on a terminal the chart is drawn anew with each sample.
local function sample(context, parsed, on_sample)
    local clock = require "slate.clock"
    local client, message, code = context:open()
    if not client then
        return nil, message, code
    end
    local until_s = clock.steady_s() + (parsed.duration or LIVE_DURATION_S)
    local interval_s = math.max(parsed.interval or 1, 0.01)
    local list = {}
    while true do
        local one
        one, message, code = context:snapshot(client)
        if not one then
            return nil, message, code
        end
        list[#list + 1] = one
        if #list > 1 and clock.steady_s() + interval_s > until_s then
            client:close()
            return list
        end
        on_sample(list)
        clock.sleep(interval_s)
    end
end

local function live(context, parsed, options)
    local repaint = not parsed.output and not context.json and context:is_terminal(1)
    return sample(context, parsed, function(list)
        local series = repaint and chart.pages_series(list)
        if series then
            context:out("\27[H\27[2J")
            draw(context, series, {}, options)
        end
    end)
end

local function out_json(context, series)
    local json = require "slate.json"
    local bands = json.array()
    for i, band in ipairs(series.bands) do
        bands[i] = { label = band.label, pages = json.array(band.values) }
    end
    context:out_json("slate/chart-pages/1", {
        title = series.title, times_s = json.array(series.times_s), bands = bands, marks = json.array(series.marks),
    })
end

function M.run(context, parsed)
    if (parsed.file ~= nil) == (parsed.live == true) then
        return nil, "name a recording, or --live", "usage"
    end
    local options, message, code = drawing_options(context, parsed)
    if not options then
        return nil, message, code
    end
    local list
    if parsed.live then
        list, message, code = live(context, parsed, options)
    else
        list, message, code = load(context, parsed.file)
    end
    if not list then
        return nil, message, code
    end
    local series
    series, message = chart.pages_series(list)
    if not series then
        return nil, message, "no"
    end
    if context.json then
        out_json(context, series)
        if not parsed.output then
            return 0
        end
    end
    local ok
    ok, message, code = draw(context, series, parsed, options)
    if not ok then
        return nil, message, code
    end
    return 0
end

return M
