-- SPDX-License-Identifier: BSD-3-Clause
-- Charts: the data of each; each can be drawn on every terminal, and text needs no gnuplot.
local chart = require "slate.chart.draw"
local gnuplot = require "slate.chart.gnuplot"
local make = require("support.snapshots").make
local pages = require "slate.chart.kinds.pages"
local server = require "support.server"

local function recording(count, pages_at, settings_at)
    local list = {}
    for i = 1, count do
        list[i] = make(1000 + i, pages_at(i), { slab_global_page_pool = 3 }, settings_at and settings_at(i))
        list[i].pages_free = 3
    end
    return list
end

local function two_classes(i)
    return { [3] = { chunk_size = 152, total_pages = i }, [7] = { chunk_size = 384, total_pages = 20 - i } }
end

-- A recording with data for every chart: class 3 gives pages to class 7, which evicts.
local function whole_recording(count, name)
    local list = {}
    for i = 1, count do
        local function class(size, held, more)
            local chunks = held * (1048576 // size)
            local fields = { chunk_size = size, chunks_per_page = 1048576 // size, total_pages = held,
                total_chunks = chunks, used_chunks = chunks // 2, free_chunks = chunks - chunks // 2,
                number = chunks // 2, mem_requested = chunks // 2 * size * 9 // 10, age = 400, get_hits = i * 900,
                cmd_set = i * 100, evicted = 0, evicted_time = 0 }
            for key, value in pairs(more or {}) do fields[key] = value end
            return fields
        end
        list[i] = make(1000 + i, {
            [3] = class(152, 20 - i // 4),
            [7] = class(384, 4 + i // 4, { evicted = i * 50, evicted_time = 30 + i }),
        }, { get_hits = i * 1800, get_misses = i * 200, evictions = i * 50, store_no_memory = 0 },
            i == 1 and { slab_automove = 1 } or i == 9 and { slab_automove = 0 } or nil)
        list[i].pages_free, list[i].server = 2, name or "here"
    end
    return list
end

local function figure_of(kind, list) return assert(require("slate.chart.kinds." .. kind).figure(list)) end

describe("the chart pages", function()
    it("has a band for each class in order of size, and the free pool on top", function()
        local bands = figure_of("pages", recording(4, two_classes)).panels[1].series
        assert.equal("class 3 (152 B)", bands[1].label)
        assert.equal("class 7 (384 B)", bands[2].label)
        assert.equal("free pool", bands[3].label)
        assert.same({ 1, 2, 3, 4 }, bands[1].values)
        assert.same({ 3, 3, 3, 3 }, bands[3].values)
    end)

    it("draws at most ten bands of classes, the smallest as one", function()
        local bands = figure_of("pages", recording(3, function()
            local classes = {}
            for id = 1, 30 do
                classes[id] = { chunk_size = id * 8, total_pages = id == 2 and 99 or id }
            end
            return classes
        end)).panels[1].series
        assert.equal(pages.MAX_BANDS + 1, #bands)
        assert.equal("class 2 (16 B)", bands[1].label)
        assert.equal("21 other classes", bands[pages.MAX_BANDS].label)
        local total = 0
        for _, band in ipairs(bands) do total = total + band.values[1] end
        assert.equal(30 * 31 // 2 - 2 + 99 + 3, total)
    end)

    it("has no free pool where the server reports none, and no pages of a class that is not there yet", function()
        local bands = figure_of("pages", { make(1, {}), make(2, two_classes(2)) }).panels[1].series
        assert.equal(2, #bands)
        assert.same({ 0, 2 }, bands[1].values)
    end)

    it("says when there is nothing to draw", function()
        local figure, message = pages.figure({ make(1, {}) })
        assert.is_nil(figure)
        assert.truthy(message:find("at least two snapshots", 1, true))
        figure, message = pages.figure({ make(1, {}), make(2, {}) })
        assert.is_nil(figure)
        assert.truthy(message:find("no class with a page is on record", 1, true))
    end)
end)

describe("the chart", function()
    local list = whole_recording(20)

    it("hits has the ratio of each interval, from 0 to 100, and losses a second", function()
        local panels = figure_of("hits", list).panels
        assert.same({ 0.0, 90.0 }, panels[1].series[1].points[1])
        assert.same({ 0, 100 }, { panels[1].y.min, panels[1].y.max })
        assert.equal(50.0, panels[2].series[1].values[1])
        assert.equal(0.0, panels[2].series[2].values[1])
    end)

    it("hits draws nothing for seconds without gets, or with a restart", function()
        local short = whole_recording(4)
        short[3].general.get_hits, short[3].general.get_misses = 1, 0
        local points = figure_of("hits", short).panels[1].series[1].points
        assert.same({ 90.0, false, 90.0 }, { points[1][2], points[3][2], math.floor(points[5][2] + 0.9) // 10 * 10.0 })
    end)

    it("curve falls with memory, from half of it to twice, through the ratio of now", function()
        local points = figure_of("curve", list).panels[1].series[1].points
        assert.same({ 0.5, 1, 2 }, { points[1][1], points[9][1], points[17][1] })
        assert.is_nil(points[18])
        assert.near(0.1, points[9][2], 0.001)
        assert.is_true(points[1][2] > points[9][2] and points[17][2] < points[9][2])
    end)

    -- Ten seconds: missed of the thousand requests in each go to class 7, with so many pages.
    local function moments(missed_at, pages_at, more)
        local moment, hits, sets = {}, 0, 0
        for i = 1, 10 do
            hits, sets = hits + 1000 - missed_at(i), sets + missed_at(i)
            local classes = { [7] = { chunk_size = 384, total_pages = pages_at(i), number = 2000, age = 6,
                get_hits = hits, cmd_set = sets } }
            for id, class in pairs(more and more(hits, sets) or {}) do classes[id] = class end
            moment[i] = make(1000 + i, classes, { get_hits = hits, get_misses = sets * (more and 2 or 1) })
        end
        return figure_of("curve", moment)
    end

    it("curve is that of the last sample, since pages last moved", function()
        local figure = moments(function(i) return i <= 7 and 600 or 200 end, function(i) return i < 7 and 1 or 5 end)
        assert.near(0.2, figure.panels[1].series[1].points[9][2], 0.001)
        assert.truthy(figure.note:find("in the last 3s;", 1, true), figure.note)
        figure = moments(function(i) return i < 10 and 600 or 200 end, function(i) return i end)
        assert.near(0.2, figure.panels[1].series[1].points[9][2], 0.001)
        assert.truthy(figure.note:find("in the last 1s, in which pages moved;", 1, true), figure.note)
    end)

    it("curve draws one line where two lie on each other, and none of a class whose age fits no curve", function()
        local function still() return 5 end
        local function one(age)
            return function(hits, sets)
                return { [9] = { chunk_size = 600, total_pages = 5, number = 2000, age = age, get_hits = hits,
                    cmd_set = sets } }
            end
        end
        local figure = moments(function() return 200 end, still, one(6))
        assert.equal(1, #figure.panels[1].series)
        assert.equal("all classes, also class 7, 9", figure.panels[1].series[1].label)
        figure = moments(function() return 200 end, still, one(1))
        assert.same({ "all classes", "class 7 (384 B)" }, { figure.panels[1].series[1].label,
            figure.panels[1].series[2].label })
        assert.truthy(figure.note:find("; 1 class has no curve: the line of all takes them", 1, true), figure.note)
    end)

    it("curve is none where the classes that have most of the misses fit none", function()
        for what, age in pairs({ ["the oldest is too young"] = 1, ["items leave before the oldest"] = 11 }) do
            local moments_of = {}
            for i = 1, 10 do
                moments_of[i] = make(1000 + i, { [7] = { chunk_size = 384, total_pages = 5, number = 2000, age = age,
                    get_hits = i * 800, cmd_set = i * 200 } }, { get_hits = i * 800, get_misses = i * 200 })
            end
            local figure, message = require("slate.chart.kinds.curve").figure(moments_of)
            assert.is_nil(figure, what)
            assert.truthy(message:find("^no curve fits"), message)
        end
    end)

    it("lines are shaded between the least and the most of their points", function()
        local figure = chart.curves({ title = "t", x_label = "x", y_label = "y", curves = {
            { label = "a", points = { { 1, 0.5, 0.4, 0.625 }, { 2, 0.25 } } },
            { label = "b", points = { { 1, 0.1 } } } } })
        local script = gnuplot.script(figure, { terminal = "svg", output = "x" })
        assert.truthy(script:find("1 0.5 0.4 0.625\n2 0.25 0.25 0.25\n", 1, true), script)
        assert.equal(1, select(2, script:gsub("using 1:3:4 with filledcurves", "")))
        assert.equal(0.625 * 1.05, figure.panels[1].y.max)
        assert.equal(1, select(2, require("slate.chart.html_panels").page(figure):gsub(' shade" d="M', "")))
    end)

    it("bytes on an axis have their unit, and other sizes have none", function()
        local series = { title = "t", x_label = "memory", y_label = "y", in_bytes = true,
            curves = { { points = { { 1 << 26, 0.5 }, { 1 << 30, 0.25 } } } } }
        assert.same({ { 1 << 26, "64 MiB" }, { 1 << 30, "1 GiB" } }, chart.curves(series).panels[1].x.ticks)
        series.in_bytes = false
        assert.equal("67.1M", chart.curves(series).panels[1].x.ticks[1][2])
        local sizes = require("slate.chart.kinds.sizes").figure(list, { source = "sizehist",
            sizes = { { bytes = 96, items = 10 }, { bytes = 5000, items = 1 } } })
        local html = require("slate.chart.html_panels").page(sizes)
        for _, words in ipairs({ ">256 B<", ">4 KiB<", " B to [%d.]+ B: 10 items" }) do
            assert.truthy(html:find(words), words)
        end
        assert.truthy(require("slate.chart.text").draw(sizes, { width = 80, height = 24 }):find("256 B", 1, true))
    end)

    it("sizes counts every item once, from a histogram where there is one", function()
        local sizes, sum = require "slate.chart.kinds.sizes", 0
        local figure = sizes.figure(list, { source = "sizehist", sizes = { { bytes = 96, items = 10 },
            { bytes = 100, items = 5 }, { bytes = 5000, items = 1 } } })
        for _, bar in ipairs(figure.panels[1].bars) do sum = sum + bar[3] end
        assert.equal(16, sum)
        assert.same({ 152, 384 }, figure.panels[1].limits)
        assert.truthy(sizes.figure(list).note:find("mean size", 1, true))
    end)

    it("sizes says that they are not known where the server did not report them", function()
        local function why(class)
            return select(2, require("slate.chart.kinds.sizes").figure({ { time_s = 1, classes = { class } } }))
        end
        assert.matches("^the sizes of the items are not known", why({ id = 1, number = 5, used_chunks = 5 }))
        assert.matches("^there are no items", why({ id = 1, used_chunks = 0 }))
        assert.matches("^there are no items", why({ id = 1, number = 0, mem_requested = 0 }))
    end)

    it("sizes goes by the sizes of the classes, not by their ids", function()
        local fitted = whole_recording(1, "fitted:1")
        local classes = fitted[1].classes
        classes[1], classes[#classes] = classes[#classes], classes[1]
        local before
        local figure = require("slate.chart.kinds.sizes").figure(fitted, { source = "sizehist",
            sizes = { { bytes = 96, items = 10 }, { bytes = 5000, items = 1 } } })
        for _, bar in ipairs(figure.panels[1].bars) do
            assert.is_true(bar[1] < bar[2] and bar[1] == (before or bar[1]))
            before = bar[2]
        end
    end)

    it("fleet has a panel for each server, the worst first", function()
        local both = whole_recording(5, "good:1")
        for _, one in ipairs(whole_recording(5, "bad:1")) do
            one.general.get_misses = one.general.get_misses * 10
            both[#both + 1] = one
        end
        table.sort(both, function(a, b) return a.time_s < b.time_s end)
        local panels = figure_of("fleet", both).panels
        assert.equal("bad:1: 47.4 % of gets hit", panels[1].title)
        assert.equal("Hit ratio of one server", figure_of("fleet", whole_recording(5)).title)
        assert.equal("good:1: 90.0 % of gets hit", panels[2].title)
    end)
end)

describe("a script", function()
    local function script(list, terminal, output)
        return gnuplot.script(figure_of("pages", list), { terminal = terminal, output = output or "a" })
    end

    it("puts no label of a mark over another", function()
        local list = recording(100, two_classes, function(i)
            return (i == 1 or i == 2 or i == 3 or i == 4 or i == 99) and { slab_automove = i } or nil
        end)
        local text = script(list, "png")
        local lines, labels = select(2, text:gsub("set arrow", "")), {}
        for mode, height in text:gmatch("set label 'automove (%w+)' at first [%d.]+, graph 1 offset 0,([%d.]+)") do
            labels[#labels + 1] = mode .. " at " .. height
        end
        assert.equal(4, lines)
        assert.same({ "eviction at 0.6", "3 at 1.6", "99 at 0.6" }, labels)
    end)

    it("lets no name from outside become gnuplot's language", function()
        local list = recording(2, two_classes)
        list[2].server = "it's\nset output '/tmp/x'\n"
        list[2].version = "`id`"
        local text = script(list, "png", "a'b.png")
        assert.truthy(text:find("it''s set output ''/tmp/x'' , memcached `id`'", 1, true), text)
        assert.truthy(text:find("set output 'a''b.png'\n", 1, true))
        local _, outputs = text:gsub("\nset output '", "")
        assert.equal(1, outputs)
    end)
end)

describe("drawing", function()
    local folder

    before_each(function() folder = server.folder() end)
    after_each(function() server.remove_folder(folder) end)

    -- One gnuplot draws them all, because its start takes longer than a picture.
    local gallery
    local STARTS <const> = { png = "^\137PNG\r\n\26\n", svg = "^<%?xml" }

    setup(function()
        gallery = server.folder()
        local scripts = {}
        for _, kind in ipairs(chart.KINDS) do
            for terminal in pairs(STARTS) do
                scripts[#scripts + 1] = gnuplot.script(figure_of(kind.name, whole_recording(20)), {
                    terminal = terminal, output = ("%s/%s.%s"):format(gallery, kind.name, terminal),
                })
            end
        end
        assert(chart.run(table.concat(scripts, "\nreset session\n")))
    end)
    teardown(function() server.remove_folder(gallery) end)

    for _, kind in ipairs(chart.KINDS) do
        it(("makes a picture of %s on every terminal"):format(kind.name), function()
            local figure = figure_of(kind.name, whole_recording(20))
            for terminal, start in pairs(STARTS) do
                local path = ("%s/%s.%s"):format(gallery, kind.name, terminal)
                assert.truthy(server.read_file(path):find(start), terminal)
                assert.is_true(chart.is_complete(path, terminal), path)
            end
            local svg = server.read_file(("%s/%s.svg"):format(gallery, kind.name))
            assert.truthy(svg:find(">" .. figure.title:gsub("%p", "%%%0") .. "<") or svg:find(figure.title, 1, true))
            for _, panel in ipairs(figure.panels) do
                assert.truthy(svg:find(panel.x.label, 1, true), panel.x.label)
                assert.truthy(svg:find(panel.y.label, 1, true), panel.y.label)
            end
        end)

        it(("makes text of %s that reads without colour, needs no gnuplot, and fits"):format(kind.name), function()
            local figure = figure_of(kind.name, whole_recording(20))
            local text = chart.text(figure, { width = 80, height = 24 })
            assert.is_nil(text:find("[^\n\32-\126]"), text)
            for line in text:gmatch("[^\n]+") do assert.is_true(#line <= 80, line) end
            assert.truthy(text:find(figure.title, 1, true))
            assert.truthy(text:find(figure.panels[1].x.label, 1, true), text)
            local coloured = chart.text(figure, { width = 80, height = 24, colour = true })
            assert.equal(text, (coloured:gsub("\27%[[%d;]*m", "")))
            assert.is_string(chart.text(figure, { width = 20, height = 5 })) -- larger than the least drawing
        end)
    end

    it("gives lines that are all zero an axis that begins with whole numbers", function()
        local figure = figure_of("hits", whole_recording(20))
        figure.panels[1].y = { label = "items a second" }
        for _, series in ipairs(figure.panels[1].series) do
            for _, point in ipairs(series.points) do point[2] = 0 end
        end
        assert(chart.write(figure, folder .. "/zero.html", { terminal = "html" }))
        local page = server.read_file(folder .. "/zero.html")
        assert.truthy(page:find(">1.5<", 1, true))
        assert.is_nil(page:find(">0.0015<", 1, true))
    end)

    it("has the requested sizes", function()
        assert(chart.write(figure_of("pages", whole_recording(20)), folder .. "/a.png",
            { terminal = "png", width = 640, height = 320 }))
        local width, height = string.unpack(">I4I4", server.read_file(folder .. "/a.png"), 17)
        assert.same({ 640, 320 }, { width, height })
    end)

    it("tells a complete picture from one cut short anywhere", function()
        for _, terminal in ipairs({ "png", "svg", "html" }) do
            local path = folder .. "/whole." .. terminal
            assert(chart.write(figure_of("pages", whole_recording(20)), path, { terminal = terminal }))
            local bytes = server.read_file(path)
            for _, kept in ipairs({ 0, 1, #bytes // 2, #bytes - 4 }) do
                server.write_file(path, bytes:sub(1, kept))
                assert.is_false(chart.is_complete(path, terminal), terminal .. " of " .. kept .. " bytes")
            end
        end
        assert.is_false(chart.is_complete(folder .. "/nowhere.png", "png"))
    end)

    it("says that gnuplot is missing, and how to get it", function()
        local ok, message, code = chart.run("plot x\n", folder .. "/no-such-gnuplot")
        assert.is_nil(ok)
        assert.equal("missing", code)
        assert.truthy(message:find("apt install gnuplot-nox", 1, true))
    end)

    it("survives a gnuplot that stops long before the script ends", function()
        local ok, message, code = chart.run("set nonsense 1\n" .. ("# padding\n"):rep(100000))
        assert.is_nil(ok)
        assert.equal("chart", code)
        assert.truthy(message:find("gnuplot failed: unrecognized option", 1, true), message)
    end)

    it("knows the format by the file's name", function()
        for name, terminal in pairs({ ["a.b.PNG"] = "png", ["/x/a.svg"] = "svg", ["a.txt"] = "text",
            ["a.html"] = "html" }) do
            assert.equal(terminal, chart.terminal_for(name))
        end
        assert.is_nil(chart.terminal_for("a.gif"))
        assert.is_nil(chart.terminal_for("png"))
    end)
end)
