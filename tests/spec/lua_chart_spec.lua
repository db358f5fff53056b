-- SPDX-License-Identifier: BSD-3-Clause
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local chart = require "slate.chart"
local make = require("support.snapshots").make
local server = require "support.server"

local function recording(count, pages_at, settings_at)
    local list = {}
    for i = 1, count do
        list[i] = make(1000 + i, pages_at(i), { slab_global_page_pool = 3 }, settings_at and settings_at(i))
    end
    return list
end

local function two_classes(i)
    return { [3] = { chunk_size = 152, total_pages = i }, [7] = { chunk_size = 384, total_pages = 20 - i } }
end

local function read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("a")
    file:close()
    return text
end

describe("pages series", function()
    it("has a band for each class in order of size, and the free pool on top", function()
        local series = assert(chart.pages_series(recording(4, two_classes)))
        assert.equal("class 3 (152 B)", series.bands[1].label)
        assert.equal("class 7 (384 B)", series.bands[2].label)
        assert.equal("free pool", series.bands[3].label)
        assert.same({ 1, 2, 3, 4 }, series.bands[1].values)
        assert.same({ 3, 3, 3, 3 }, series.bands[3].values)
    end)

    it("draws at most ten bands of classes, the smallest as one", function()
        local series = assert(chart.pages_series(recording(3, function()
            local classes = {}
            for id = 1, 30 do
                classes[id] = { chunk_size = id * 8, total_pages = id == 2 and 99 or id }
            end
            return classes
        end)))
        assert.equal(chart.MAX_BANDS + 1, #series.bands)
        assert.equal("class 2 (16 B)", series.bands[1].label)
        assert.equal("21 other classes", series.bands[chart.MAX_BANDS].label)
        local total = 0
        for _, band in ipairs(series.bands) do
            total = total + band.values[1]
        end
        assert.equal(30 * 31 // 2 - 2 + 99 + 3, total)
    end)

    it("has no free pool where the server reports none", function()
        local series = assert(chart.pages_series({ make(1, two_classes(1)), make(2, two_classes(2)) }))
        assert.equal(2, #series.bands)
    end)

    it("counts no pages for a class that is not there yet", function()
        local series = assert(chart.pages_series({ make(1, {}), make(2, two_classes(2)) }))
        assert.same({ 0, 2 }, series.bands[1].values)
    end)

    it("marks where automove changed", function()
        local series = assert(chart.pages_series(recording(6, two_classes, function(i)
            return i == 1 and { slab_automove = 1 } or i == 4 and { slab_automove = 2 } or nil
        end)))
        assert.same({ { time_s = 1004, label = "automove 2" } }, series.marks)
    end)

    it("says when there is nothing to draw", function()
        local series, message = chart.pages_series({ make(1, {}) })
        assert.is_nil(series)
        assert.truthy(message:find("at least two snapshots", 1, true))
        series, message = chart.pages_series({ make(1, {}), make(2, {}) })
        assert.is_nil(series)
        assert.truthy(message:find("no class held a page", 1, true))
    end)
end)

describe("pages script", function()
    it("is the same text for the same series", function()
        local series = chart.pages_series(recording(4, two_classes))
        for _, terminal in ipairs({ "png", "svg", "dumb" }) do
            assert.equal(chart.pages_script(series, { terminal = terminal }),
                chart.pages_script(chart.pages_series(recording(4, two_classes)), { terminal = terminal }))
        end
    end)

    it("stacks the bands without a hole between them", function()
        local script = chart.pages_script(chart.pages_series(recording(2, two_classes)), { terminal = "svg" })
        assert.truthy(script:find("$band1 << SLATE_END\n0 0 1\n1 0 1\n1 0 2\nSLATE_END", 1, true), script)
        assert.truthy(script:find("$band2 << SLATE_END\n0 1 20\n1 1 20\n1 2 20\nSLATE_END", 1, true), script)
        assert.truthy(script:find("$band3 << SLATE_END\n0 20 23\n1 20 23\nSLATE_END", 1, true), script)
    end)

    it("leaves a gap where the recording has one", function()
        local list = recording(6, function() return { [1] = { chunk_size = 96, total_pages = 2 } } end)
        list[6].time_s = 2000
        local script = chart.pages_script(chart.pages_series(list), { terminal = "png" })
        assert.truthy(script:find("\n4 0 2\n\n", 1, true) or script:find("0 2\n\n", 1, true), script)
    end)

    it("lets no name from outside become gnuplot's language", function()
        local list = recording(2, two_classes)
        list[2].server = "it's\nset output '/tmp/x'\n"
        list[2].version = "`id`"
        local script = chart.pages_script(chart.pages_series(list), { terminal = "png", output = "a'b.png" })
        assert.truthy(script:find("it''s set output ''/tmp/x'' , memcached `id`'", 1, true), script)
        assert.truthy(script:find("set output 'a''b.png'\n", 1, true))
        local _, outputs = script:gsub("\nset output ", "")
        assert.equal(1, outputs)
    end)
end)

describe("chart runner", function()
    local folder

    before_each(function() folder = server.folder() end)
    after_each(function() server.remove_folder(folder) end)

    local function draw(terminal, path)
        local series = chart.pages_series(recording(30, two_classes, function(i)
            return i == 9 and { slab_automove = 0 } or i == 20 and { slab_automove = 1 } or nil
        end))
        return chart.run(chart.pages_script(series, { terminal = terminal, output = path }))
    end

    it("makes a PNG of the stated size", function()
        assert(draw("png", folder .. "/a.png"))
        local png = read(folder .. "/a.png")
        assert.equal("\137PNG\r\n\26\n", png:sub(1, 8))
        local width, height = string.unpack(">I4I4", png, 17)
        assert.same({ 1100, 600 }, { width, height })
    end)

    it("makes an SVG that names the classes, the axes and the server", function()
        assert(draw("svg", folder .. "/a.svg"))
        local svg = read(folder .. "/a.svg")
        for _, text in ipairs({ "class 3 (152 B)", "class 7 (384 B)", "free pool", "pages", "automove 1",
            "seconds since 1970-01-01 00:16:41 UTC", "Slab pages by class, here, memcached 1.6.45" }) do
            assert.truthy(svg:find(text, 1, true), text)
        end
    end)

    it("tells a whole picture from one cut short anywhere", function()
        for _, terminal in ipairs({ "png", "svg" }) do
            local path = folder .. "/whole." .. terminal
            assert(draw(terminal, path))
            assert.is_true(chart.is_whole(path, terminal))
            local bytes = read(path)
            for _, kept in ipairs({ 0, 1, #bytes // 2, #bytes - 4 }) do
                local file = assert(io.open(path, "wb"))
                file:write(bytes:sub(1, kept))
                file:close()
                assert.is_false(chart.is_whole(path, terminal), terminal .. " of " .. kept .. " bytes")
            end
        end
        assert.is_false(chart.is_whole(folder .. "/nowhere.png", "png"))
    end)

    it("makes text that reads without colour", function()
        local text = assert(chart.pages_text(chart.pages_series(recording(30, two_classes)), {}))
        assert.is_nil(text:find("[\27\f]"))
        local widest = 0
        for line in text:gmatch("[^\n]+") do
            widest = math.max(widest, #line)
        end
        assert.is_true(widest <= 80)
        for _, part in ipairs({ "AAAA", "BBBB", "....", "A class 3 (152 B)", "B class 7 (384 B)", ". free pool",
            "Slab pages by class, here" }) do
            assert.truthy(text:find(part, 1, true), part .. "\n" .. text)
        end
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
        assert.equal("png", chart.terminal_for("a.b.PNG"))
        assert.equal("svg", chart.terminal_for("/x/a.svg"))
        assert.equal("dumb", chart.terminal_for("a.txt"))
        assert.is_nil(chart.terminal_for("a.gif"))
        assert.is_nil(chart.terminal_for("png"))
    end)
end)
