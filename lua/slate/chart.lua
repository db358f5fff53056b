-- SPDX-License-Identifier: BSD-3-Clause
--- Charts through gnuplot. Everything up to the script is pure; `run` feeds it to gnuplot by one pipe.
local M = {}

M.MAX_BANDS = 10 -- more cannot be told apart; the smallest are drawn as one
local MAX_MARKS <const> = 8
local GAP_FACTOR <const> = 5 -- a pause of so many usual intervals is drawn as a gap
local GREY <const> = "#c8c8c8"
-- Ten colours that colour-blind people can tell apart side by side (after Okabe and Ito, with tints).
local PALETTE <const> = {
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#f0e442", "#cc79a7", "#004466", "#8c510a", "#66c2a5",
}
local LETTERS <const> = "ABCDEFGHIJ"

-- series --------------------------------------------------------------------------------------

-- Every class that ever held a page: its largest page count and chunk size.
local function classes_seen(list)
    local seen, ids = {}, {}
    for _, one in ipairs(list) do
        for _, class in ipairs(one.classes) do
            if class.total_pages then
                local known = seen[class.id]
                if not known then
                    known = { id = class.id, chunk_bytes = class.chunk_size, most_pages = 0 }
                    seen[class.id] = known
                    ids[#ids + 1] = class.id
                end
                known.most_pages = math.max(known.most_pages, class.total_pages)
            end
        end
    end
    return seen, ids
end

-- Picks the classes that get a band of their own: the largest, in order of chunk size.
local function choose_bands(list)
    local seen, ids = classes_seen(list)
    table.sort(ids, function(a, b)
        if seen[a].most_pages ~= seen[b].most_pages then
            return seen[a].most_pages > seen[b].most_pages
        end
        return a < b
    end)
    local own = #ids <= M.MAX_BANDS and #ids or M.MAX_BANDS - 1
    local chosen = table.move(ids, 1, own, 1, {})
    table.sort(chosen)
    local band_of, bands = {}, {}
    for i, id in ipairs(chosen) do
        local size = seen[id].chunk_bytes
        bands[i] = { label = ("class %d (%s B)"):format(id, size and ("%d"):format(size) or "?"), values = {} }
        band_of[id] = i
    end
    if own < #ids then
        bands[own + 1] = { label = ("%d other classes"):format(#ids - own), values = {} }
    end
    return bands, function(id) return band_of[id] or own + 1 end
end

local function usual_interval_s(list)
    local gaps = {}
    for i = 2, #list do
        gaps[#gaps + 1] = list[i].time_s - list[i - 1].time_s
    end
    table.sort(gaps)
    return gaps[(#gaps + 1) // 2] or 0
end

local function automove_marks(list)
    local marks, last = {}, nil
    for _, one in ipairs(list) do
        local mode = one.settings and one.settings.slab_automove
        if mode ~= nil then
            if last ~= nil and mode ~= last and #marks < MAX_MARKS then
                marks[#marks + 1] = { time_s = one.time_s, label = "automove " .. tostring(mode) }
            end
            last = mode
        end
    end
    return marks
end

--- Turns snapshots (in order of time) into the stacked bands of the pages chart. Pure.
-- Returns { times_s, bands = { { label, values, grey } }, gaps = { [i] = true before sample i },
-- marks, title, start }, or nil and a message.
function M.pages_series(list)
    if #list < 2 then
        return nil, "a chart over time needs at least two snapshots"
    end
    local bands, band_index = choose_bands(list)
    if #bands == 0 then
        return nil, "no class held a page all that time, so there is nothing to draw"
    end
    local pool = list[#list].general.slab_global_page_pool
        and { label = "free pool", values = {}, grey = true } or nil
    bands[#bands + 1] = pool
    local series = { times_s = {}, bands = bands, gaps = {}, marks = automove_marks(list) }
    local gap_s = GAP_FACTOR * usual_interval_s(list)
    for i, one in ipairs(list) do
        series.times_s[i] = one.time_s
        series.gaps[i] = i > 1 and one.time_s - list[i - 1].time_s > gap_s or nil
        for _, band in ipairs(bands) do
            band.values[i] = 0
        end
        for _, class in ipairs(one.classes) do
            if class.total_pages then
                local values = bands[band_index(class.id)].values
                values[i] = values[i] + class.total_pages
            end
        end
        if pool then
            pool.values[i] = one.general.slab_global_page_pool or 0
        end
    end
    local last = list[#list]
    series.title = ("Slab pages by class, %s, %s %s"):format(last.server or "unknown server",
        last.slated and "slated" or "memcached", last.slated or last.version or "of unknown version")
    series.start = os.date("!%Y-%m-%d %H:%M:%S UTC", list[1].time_s // 1)
    return series
end

-- script --------------------------------------------------------------------------------------

-- A gnuplot string: single quotes doubled, nothing in it is interpreted, one line.
local function quoted(text)
    return "'" .. text:gsub("%c", " "):gsub("'", "''") .. "'"
end

local function number(n)
    return math.type(n) == "integer" and tostring(n) or ("%.6g"):format(n)
end

-- A step of 1, 2 or 5 times a power of ten that gives at most `most` tics.
local function tic_step(span, most)
    local step = 10 ^ math.floor(math.log(span / most, 10))
    for _, factor in ipairs({ 1, 2, 5, 10 }) do
        if span / (step * factor) <= most then
            return step * factor
        end
    end
end

local function time_unit(span_s)
    if span_s <= 180 then
        return 1, "seconds"
    elseif span_s <= 3 * 3600 then
        return 60, "minutes"
    elseif span_s <= 72 * 3600 then
        return 3600, "hours"
    end
    return 86400, "days"
end

-- The lower and upper edge of each band, summed from the bottom up.
local function edges(series)
    local lower, stacked = {}, {}
    for i = 1, #series.times_s do
        lower[i] = 0
    end
    for b, band in ipairs(series.bands) do
        local upper = {}
        for i, value in ipairs(band.values) do
            upper[i] = lower[i] + value
        end
        stacked[b] = { lower = lower, upper = upper }
        lower = upper
    end
    return stacked, lower
end

local function largest(values)
    local most = 0
    for _, value in ipairs(values) do
        most = math.max(most, value)
    end
    return most
end

-- One band as a polygon of steps: page counts jump, so a slope between samples would be a lie.
local function area_block(edge, series, x_of)
    local lines = {}
    for i = 1, #series.times_s do
        local x = number(x_of(series.times_s[i]))
        if series.gaps[i] then
            lines[#lines + 1] = ""
        elseif i > 1 and (edge.lower[i] ~= edge.lower[i - 1] or edge.upper[i] ~= edge.upper[i - 1]) then
            lines[#lines + 1] = ("%s %d %d"):format(x, edge.lower[i - 1], edge.upper[i - 1])
        end
        lines[#lines + 1] = ("%s %d %d"):format(x, edge.lower[i], edge.upper[i])
    end
    return lines
end

-- The same bands for a terminal: every character cell of the plot gets the letter of its band, so
-- that the chart reads without colour. Returns a list of lines for each band.
local function cell_blocks(stacked, series, plane)
    local blocks, sample = {}, 1
    for b = 1, #stacked do
        blocks[b] = { "-1 -1" } -- out of sight; a band without a point would lose its place in the key
    end
    for column = 0, plane.columns - 1 do
        local x = column * plane.x_most / (plane.columns - 1)
        while sample < #series.times_s and plane.x_of(series.times_s[sample + 1]) <= x do
            sample = sample + 1
        end
        for row = 0, series.gaps[sample + 1] and -1 or plane.rows - 1 do
            local y = row * plane.y_most / (plane.rows - 1)
            for b, edge in ipairs(stacked) do
                if y >= edge.lower[sample] and y < edge.upper[sample] then
                    blocks[b][#blocks[b] + 1] = ("%s %s"):format(number(x), number(y))
                    break
                end
            end
        end
    end
    return blocks
end

local function add_block(lines, name, rows)
    lines[#lines + 1] = ("$%s << SLATE_END"):format(name)
    table.move(rows, 1, #rows, #lines + 1, lines)
    lines[#lines + 1] = "SLATE_END"
end

local TERMINALS <const> = {
    png = "pngcairo noenhanced size %d,%d font 'sans,11' background '#ffffff'",
    svg = "svg noenhanced size %d,%d font 'sans,13' background '#ffffff'",
    dumb = "dumb noenhanced size %d,%d ",
}

local function terminal_line(options)
    local line = "set terminal " .. TERMINALS[options.terminal]:format(options.width, options.height)
    return options.terminal == "dumb" and line .. (options.colour and "ansi256" or "mono") or line
end

local function longest_label(series)
    local longest = 0
    for _, band in ipairs(series.bands) do
        longest = math.max(longest, #band.label)
    end
    return longest
end

-- In a terminal the margins are ours, so that the plot's cells are known exactly.
local TEXT_MARGINS <const> = { left = 9, top = 3, bottom = 3 }
local TEXT_MARK_COLUMNS <const> = 14 -- what a mark's label takes

local function add_text_frame(lines, series, options)
    local right = longest_label(series) + 6
    lines[#lines + 1] = ("set label %s at screen 0, screen 1 offset 1,-1 left"):format(quoted(series.title))
    lines[#lines + 1] = ("set lmargin %d\nset rmargin %d\nset tmargin %d\nset bmargin %d"):format(
        TEXT_MARGINS.left, right, TEXT_MARGINS.top, TEXT_MARGINS.bottom)
    return math.max(2, options.width - TEXT_MARGINS.left - right),
        math.max(2, options.height - TEXT_MARGINS.top - TEXT_MARGINS.bottom)
end

local function add_picture_frame(lines, series)
    local marked = #series.marks > 0 -- their labels stand between the title and the plot
    table.move({
        "set tmargin " .. (marked and 5 or 3),
        "set title " .. quoted(series.title) .. (marked and " offset 0,1.6" or ""), "set border 3", "set tics out",
        "set grid ytics front linetype 1 linecolor '#ffffff' linewidth 0.5", "set style fill solid 1.0 noborder",
    }, 1, 6, #lines + 1, lines)
end

-- Everything but the bands. Returns the columns and rows of the plot when they are characters.
local function add_frame(lines, series, options, plane)
    local is_text = options.terminal == "dumb"
    local most_tics = math.max(2, options.width // (is_text and 16 or 90))
    local function add(format, ...)
        lines[#lines + 1] = format:format(...)
    end
    add("set encoding utf8")
    lines[#lines + 1] = terminal_line(options)
    if options.output then
        add("set output %s", quoted(options.output))
    end
    add("set xlabel %s", quoted(plane.unit .. " since " .. series.start))
    add("set ylabel %s", quoted("pages"))
    add("set xrange [0:%s]", number(plane.x_most))
    add("set yrange [0:%s]", number(plane.y_most))
    add("set xtics 0,%s nomirror", number(tic_step(plane.x_most, most_tics)))
    add("set ytics 0,%s nomirror", number(math.max(1, tic_step(plane.y_most, is_text and options.height // 4 or 8))))
    add("set key outside right top vertical Left reverse invert samplen 1.5")
    if is_text then
        return add_text_frame(lines, series, options)
    end
    add_picture_frame(lines, series)
end

-- Where the mode of automove changed: a line from top to bottom. Labels alternate between two
-- heights, so that neighbours do not run into each other.
local function add_marks(lines, series, options, plane)
    local free_x = 0
    for i, mark in ipairs(series.marks) do
        local x = plane.x_of(mark.time_s)
        local is_text = options.terminal == "dumb"
        lines[#lines + 1] = ("set arrow from first %s, graph 0 to first %s, graph %s nohead front%s"):format(number(x),
            number(x), is_text and "0.95" or "1", is_text and "" or " linecolor '#202020' dashtype 2")
        -- In a terminal there is one line for labels: one that has no room is left out.
        if not is_text or x >= free_x then
            lines[#lines + 1] = ("set label %s at first %s, graph 1 offset 0,%g left front"):format(
                quoted(mark.label), number(x), is_text and 1 or i % 2 == 1 and 0.6 or 1.6)
            free_x = is_text and x + TEXT_MARK_COLUMNS * plane.x_most / plane.columns
        end
    end
end

local function add_plot(lines, series, blocks, options)
    local parts, colour = {}, 0
    for b, band in ipairs(series.bands) do
        if not band.grey then
            colour = colour + 1
        end
        local shade = band.grey and GREY or PALETTE[(colour - 1) % #PALETTE + 1]
        add_block(lines, "band" .. b, blocks[b])
        if options.terminal == "dumb" then
            local letter = band.grey and "." or LETTERS:sub(colour, colour)
            parts[b] = ("$band%d using 1:2 with points pointtype '%s'%s title %s"):format(b, letter,
                options.colour and (" linecolor rgb '%s'"):format(shade) or "", quoted(band.label))
        else
            parts[b] = ("$band%d using 1:2:3 with filledcurves linecolor rgb '%s' title %s"):format(b, shade,
                quoted(band.label))
        end
    end
    lines[#lines + 1] = "plot " .. table.concat(parts, ", \\\n     ")
end

local SIZES <const> = { png = { 1100, 600 }, svg = { 1100, 600 }, dumb = { 80, 24 } }

--- Writes the gnuplot script of a pages chart. Pure: the same series gives the same text.
-- options: terminal "png", "svg" or "dumb" (text), output (a path; without it gnuplot writes to
-- its standard output), width and height (pixels, or characters for dumb), colour (for dumb).
function M.pages_script(series, options)
    local size = SIZES[options.terminal]
    options = {
        terminal = options.terminal, output = options.output, colour = options.colour,
        width = options.width or size[1], height = options.height or size[2],
    }
    local start_s, last_s = series.times_s[1], series.times_s[#series.times_s]
    local unit_s, unit_name = time_unit(last_s - start_s)
    local function x_of(time_s)
        return (time_s - start_s) / unit_s
    end
    local stacked, top = edges(series)
    local plane = {
        x_of = x_of, unit = unit_name, x_most = math.max(x_of(last_s), 1e-3), y_most = math.max(largest(top), 1),
    }
    local lines, blocks = {}, {}
    plane.columns, plane.rows = add_frame(lines, series, options, plane)
    add_marks(lines, series, options, plane)
    if options.terminal == "dumb" then
        blocks = cell_blocks(stacked, series, plane)
    else
        for b, edge in ipairs(stacked) do
            blocks[b] = area_block(edge, series, x_of)
        end
    end
    add_plot(lines, series, blocks, options)
    return table.concat(lines, "\n") .. "\n"
end

-- runner --------------------------------------------------------------------------------------

local function shell_quoted(text)
    return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function read_and_remove(path)
    local file = io.open(path, "r")
    local text = file and file:read("a") or ""
    if file then
        file:close()
    end
    os.remove(path)
    return text
end

--- Feeds a script to gnuplot. What it draws goes where the script says, or to our standard output.
-- Returns true, or nil, message and code: "missing" without gnuplot, "chart" when it fails.
function M.run(script, program)
    program = program or "gnuplot"
    local errors = os.tmpname()
    io.stdout:flush()
    -- After an early failure the shell itself drains the rest of the script, so that writing never
    -- meets a closed pipe.
    local pipe, problem = io.popen(("{ %s; status=$?; while read -r _; do :; done; exit $status; } 2>%s"):format(
        shell_quoted(program), shell_quoted(errors)), "w")
    if not pipe then
        os.remove(errors)
        return nil, "cannot start gnuplot: " .. problem, "missing"
    end
    pipe:setvbuf("full")
    pipe:write(script)
    local ok, _, status = pipe:close()
    local said = read_and_remove(errors)
    if ok then
        return true
    elseif status == 126 or status == 127 then
        return nil, "charts need gnuplot, which is not installed (Debian: apt install gnuplot-nox)", "missing"
    end
    local reason = said:match("line %d+: ([^\n]+)") or said:match("([^\n]*%S[^\n]*)%s*$")
        or "status " .. tostring(status)
    return nil, "gnuplot failed: " .. reason, "chart"
end

local ENDINGS <const> = { png = "IEND\xae\x42\x60\x82$", svg = "</svg>%s*$" }

--- Does a picture end as its format says? gnuplot reports success on a full disk too.
function M.is_whole(path, terminal)
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

local TEXT_END <const> = "SLATE_TEXT_END"

--- Draws a pages chart as text. options as for `pages_script`, without terminal and output.
-- Returns the text, or nil, message, code.
function M.pages_text(series, options)
    local path = os.tmpname()
    local script = M.pages_script(series, {
        terminal = "dumb", output = path, width = options.width, height = options.height, colour = options.colour,
    })
    -- The mark is the last that is written: without it the file is cut short.
    script = script .. ("set output\nset print %s append\nprint '%s'\n"):format(quoted(path), TEXT_END)
    local ok, message, code = M.run(script, options.program)
    local text = read_and_remove(path)
    if not ok then
        return nil, message, code
    end
    local whole = text:match("^(.*)" .. TEXT_END .. "\n$")
    if not whole then
        return nil, ("cannot draw: %s came out cut short; is the disk full?"):format(path), "output"
    end
    return (whole:gsub("\f", ""):gsub("[ \t]+\n", "\n")) -- gnuplot begins each page with a form feed
end

--- The chart format that a file name asks for, or nil and a message.
function M.terminal_for(path)
    local extension = (path:match("%.(%w+)$") or ""):lower()
    if extension == "png" or extension == "svg" then
        return extension
    elseif extension == "txt" then
        return "dumb"
    end
    return nil, ("%s: a chart is written as .png, .svg or .txt"):format(path)
end

return M
