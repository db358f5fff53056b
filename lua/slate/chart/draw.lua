-- SPDX-License-Identifier: BSD-3-Clause
--- Charts: figures, drawn with gnuplot as a picture, without gnuplot as text.
--
-- A figure is { title, note, panels, columns }: one or more panels, below each other or in columns. A panel has a kind,
-- axes x and y { label, min, max, log, in_bytes, ticks = list of { value, text } }, and the fields of its kind:
--
--     stack      at (x of each sample), gaps, series of { label, values, grey, colour }: areas of steps, from 0 up
--     lines      series of { label, points = list of { x, y or false, least, most } }; points = true marks each; the
--                area between least and most, if some points have them, is shaded
--     histogram  bars = list of { from, to, count }, limits
--
-- marks, a list of { x, label }, are lines from top to bottom; limit = { value, label } of a stack is a line across. An
-- axis of time has start_s (the time of its 0) and unit_s. The modules of slate.chart.kinds make figures, each with
-- figure(list of snapshots) -> figure, or nil and a message.
local failure = require "slate.base.failure"
local files = require "slate.base.files"
local gnuplot = require "slate.chart.gnuplot"
local shell = require "slate.base.shell"
local units = require "slate.base.units"

local M = {}

--- The kinds of charts, as `slatectl chart KIND`.
M.KINDS = {
    { name = "pages", summary = "pages of each class over time" },
    { name = "hits", summary = "hit ratio, evictions and refused stores over time" },
    { name = "curve", summary = "misses to expect with other amounts of memory" },
    { name = "sizes", summary = "how large items are, over the limits of the classes" },
    { name = "fleet", summary = "the hit ratio of many servers" },
}

--- Feeds a script to gnuplot. Returns true; or nil, message and code: "missing" without gnuplot, "chart" if it fails.
function M.run(script, program)
    program = program or os.getenv("SLATE_GNUPLOT") or "gnuplot"
    local errors = os.tmpname()
    io.stdout:flush()
    -- If the program fails early, the shell itself reads the rest of the script, so that writing never meets a closed
    -- pipe.
    local pipe, problem = io.popen(("{ %s; status=$?; while read -r _; do :; done; exit $status; } 2>%s"):format(
        shell.word(program), shell.word(errors)), "w")
    if not pipe then
        os.remove(errors)
        return nil, "cannot start gnuplot: " .. problem, "missing"
    end
    pipe:setvbuf("full")
    pipe:write(script)
    local ok, _, status = pipe:close()
    local output = shell.read_and_remove(errors)
    if ok then
        return true
    elseif status == 126 or status == 127 then
        return nil, "pictures need gnuplot, which is not installed (Debian: apt install gnuplot-nox); "
            .. "charts as text do not", "missing"
    end
    local whole = units.trimmed(output)
    local reason = whole:match("line %d+: ([^\n]+)") or whole:match("^.*\n(.*)$") or whole
    reason = reason ~= "" and reason or "status " .. tostring(status)
    return nil, "gnuplot failed: " .. reason, "chart"
end

local ENDINGS <const> = { png = "IEND\xae\x42\x60\x82$", svg = "</svg>%s*$", html = "</html>%s*$" }

--- True if a picture ends as its format requires: gnuplot reports success on a full disk, too.
function M.is_complete(path, terminal)
    local file = io.open(path, "rb")
    if not file then
        return false
    end
    local bytes = file:seek("end")
    file:seek("set", math.max(0, bytes - 64))
    local tail = file:read("a")
    file:close()
    return tail:find(ENDINGS[terminal]) ~= nil
end

--- Writes a picture of a figure. options: terminal "png", "svg" or "html", width and height in pixels,
-- program (gnuplot). Returns true, or nil, message, code.
function M.write(figure, path, options)
    failure.wants_table(options, 'chart.write(figure, path, options) wants { terminal = "png" }')
    if options.terminal == "html" then -- gnuplot's SVG has neither values under the pointer nor a dark style
        return files.write(path, require("slate.chart.html_panels").page(figure))
    end
    local terminal = options.terminal
    local ok, message, code = M.run(gnuplot.script(figure, {
        terminal = terminal, output = path, width = options.width, height = options.height,
    }), options.program)
    if not ok then
        return nil, message, code
    elseif not M.is_complete(path, terminal) then
        return nil, ("cannot write %s: the picture came out cut short; is the disk full?"):format(path), "output"
    end
    return true
end

--- The figure as text; options: as for slate.chart.text.
function M.text(figure, options)
    return require("slate.chart.text").draw(figure, options)
end

local TERMINALS <const> = { png = "png", svg = "svg", html = "html", txt = "text" }

--- The chart format by the ending of a file's name; or nil, message, code.
function M.terminal_for(path)
    local terminal = TERMINALS[(path:match("%.(%w+)$") or ""):lower()]
    if terminal then
        return terminal
    end
    return nil, ("%s: a chart is written as .png, .svg, .html or .txt"):format(path), "usage"
end

--- Replaces a file by a figure, once the figure is drawn whole, in the format of the file's name. options: width and
-- height, as for M.write or slate.chart.text. Returns true, or nil, message, code.
function M.save(figure, path, options)
    local terminal = M.terminal_for(path)
    if terminal == "text" then
        return files.save(path, M.text(figure, options))
    end
    return files.replace(path, function(unfinished)
        local ok, message, code = files.write(unfinished, "") -- reports why a write fails, as gnuplot would not
        if not ok then
            return nil, message, code
        end
        return M.write(figure, unfinished, { terminal = terminal, width = options.width, height = options.height })
    end)
end

--- A figure of curves over a size, one for each name, in the given order.
-- series: { title, note, x_label, y_label, in_bytes (x is bytes), curves = list of { label, points }, sizes = list
-- of the sizes with a tic (all that were tried), marks }. Points are marked: values between them are unknown.
function M.curves(series)
    local least, most, highest, ticks, seen = math.huge, 0, 0, {}, {}
    local words = series.in_bytes and units.bytes_in_words or units.count
    for _, curve in ipairs(series.curves) do
        for _, point in ipairs(curve.points) do
            least, most = math.min(least, point[1]), math.max(most, point[1])
            highest = math.max(highest, point[4] or point[2])
            if not seen[point[1]] and not series.sizes then
                seen[point[1]] = true
                ticks[#ticks + 1] = { point[1], words(point[1]) }
            end
        end
    end
    for i, size in ipairs(series.sizes or {}) do
        ticks[i] = { size, words(size) }
    end
    table.sort(ticks, function(a, b) return a[1] < b[1] end)
    local far = most / math.max(least, 1e-300) >= 8 -- over a smaller range a linear axis shows more
    return {
        title = series.title, note = series.note,
        panels = { { kind = "lines", points = true, series = series.curves, marks = series.marks,
            x = { label = series.x_label, log = far, ticks = ticks, in_bytes = series.in_bytes,
                min = far and least / 1.08 or least, max = far and most * 1.08 or math.max(most, least + 1) },
            y = { label = series.y_label, min = 0, max = highest > 0 and highest * 1.05 or 1 } } },
    }
end

return M
