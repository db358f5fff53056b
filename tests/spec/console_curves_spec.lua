-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's view of curves: other amounts of memory, other policies, the value of a page.
require "support.world"
local question = require "slate.console.question"
local screens = require "screens"
local view = require "slate.console.views.curves"
local shows = screens.shows

-- A frame of a slated; answers: replies in place of those of the fixture, by inquiry.
local function answered(answers)
    local model = screens.model("slated-0.1")
    screens.take_details(model, "slated-0.1-second", 13, 12)
    for name, text in pairs(answers or {}) do
        model.answers:take(name, text, { at_s = 12, is_stats = true })
    end
    return screens.frame(model)
end

local function drawn(frame, ui, width, height)
    return screens.text(screens.grid("views.curves", frame, width or 80, height or 24, ui or { curves = view.state() }))
end

describe("the view of curves", function()
    it("looks as it was reviewed: it needs slated", function()
        assert.is_nil(screens.unlike_reviewed("Curves", "views.curves"))
    end)

    it("has the miss ratio of now, called a model, and a scale around it", function()
        shows(drawn(answered()), "LRU model of the whole cache: miss 6.4 % at 64 MiB", "  12.5 █████▇", "^now 64 MiB",
            "^128 MiB",
            "s3fifo hit 94.2 % in the last 10 s; expected (95 % band): x0.5 94.0\n", -- of 100 reads: no gain is told
            "\nmeasuring: which class starves is not judged yet\n",
            "\ntoo few reads were sampled to compare policies: 58 of ")
    end)

    it("has one level, that of the hits counted lately, in the curve, its sizes and the policies", function()
        local frame = answered()
        local now = ("hit %.1f %%"):format(100 * frame.model.observer:lately().hit_ratio)
        assert.equal("hit 94.2 %", now)
        shows(drawn(frame), "s3fifo " .. now, "s3fifo   " .. now:gsub("hit", "hit "))
        frame.model.observer.lately = function() return { reads = 900, hit_ratio = 0.5 } end -- fewer than the curve's
        shows(drawn(frame), "s3fifo hit 77.4 % over 5 turnovers", "s3fifo   hit  77.4 %", "miss 25.1 % at 64 MiB")
    end)

    it("has the policies, today's first, with unknown figures called so", function()
        local text = drawn(answered(), nil, 160, 50)
        shows(text, "s3fifo   hit  94.2 %   +0.00 ±", "in use", "tinylfu  too few reads")
        assert.truthy(text:find("s3fifo   hit", 1, true) < text:find("tinylfu  too few", 1, true))
        for sampling, said in pairs({ [0] = "lru: sampling is off", "lru: too soon" }) do
            shows(drawn(answered({ whatif = ("STAT sampling %d\r\nSTAT policy lru\r\nSTAT why too soon\r\nEND\r\n")
                :format(sampling) })), said)
        end
    end)

    it("has the value of a page, and what follows from it", function()
        shows(drawn(answered()), "hits/s BETTER", "  12    11   27.8             80.8     +2.1      -50",
            "which class starves is not judged yet: no move is advised")
    end)

    it("has the class under the cursor and its figures in words at 60x15, and counts what has no room", function()
        local frame, ui = answered(), { curves = view.state() }
        shows(drawn(frame, ui, 60, 15), "LRU model of the whole cache",
            "  12    11   27.8", "s3fifo hit 94.2 % in the last 10 s")
        view.command(frame, ui, "down")
        shows(drawn(frame, ui, 60, 15), "LRU model of class 12", "> 12    11   27.8",
            "\nclass 12 hits 80.8 %; a page more +2.1 hits/s, less -50")
        shows(drawn(frame, ui, 60, 11), "-1 PAGE     1↓")
        shows(drawn(frame, ui), "beside the present policy ──────── 8 more ↓")
    end)

    local function class_curve(frame, id, lines)
        frame.model.answers:take("class_curves", lines:gsub("[^;]+; ?", "STAT %0"):gsub("; ?", "\r\n") .. "END\r\n",
            { at_s = 12, is_stats = true, class_id = id })
        return frame
    end

    it("has the band of a hit ratio, and none of a class with too few reads", function()
        local points = "point:1048576 0.3; band:1048576 0.1; point:11534336 0.8; band:11534336 0.05; "
        shows(drawn(class_curve(answered(), 12, "bytes 11534336; reads 2100; " .. points)), " 80.0 (75.0-85.0) ")
        shows(drawn(class_curve(answered(), 12, "bytes 11534336; reads 299; " .. points)),
            "  12    11    5.2 not known: 299 sampled reads\n")
        shows(drawn(answered({ curve = "STAT bytes 67108864\r\nSTAT reads 900\r\nSTAT hit_ratio_x1 0.7\r\n"
            .. "STAT hit_ratio_x2 0.8\r\nSTAT band_x2 0.05\r\nEND\r\n" })), "(95 % band): x2 96.1 (95.2-97.1)\n")
    end)

    it("tells nothing of less than a page a class", function()
        local frame = class_curve(answered(), 5, "bytes 1048576; reads 900; point:1048576 0.3; point:4194304 0.9; ")
        local loss = drawn(frame, nil, 160, 50):match("\n +5 +1 +%S+ +30.0 +%S+ +(%S+)")
        assert.equal("-", loss) -- the class keeps its last page
        frame.model.answers:take("curve", (frame.model.answers:text("curve"):gsub("bytes 67108864", "bytes 12582912")
            :gsub("STAT reads %d+", "STAT reads 900")), { at_s = 12, is_stats = true })
        local text = drawn(frame)
        shows(text, "expected (95 % band): x2 96.0, x4 98.6")
        assert.is_nil(text:find("^8 MiB", 1, true))
    end)

    it("has the curve of the class under the cursor", function()
        local frame, ui = answered(), { classes = {}, curves = view.state() }
        assert.equal("say", view.command(frame, ui, "open_class").kind)
        view.command(frame, ui, "down")
        assert.equal(12, ui.curves.cursor)
        view.command(frame, ui, "bottom")
        shows(drawn(frame, ui), "LRU model of class 13: miss", "> 13    18")
        view.command(frame, ui, "open_class")
        assert.equal(13, ui.focus)
        view.command(frame, ui, "top")
        assert.equal(0, ui.curves.cursor)
        view.click(ui, "row", 12)
        assert.equal(12, ui.curves.cursor)
    end)

    it("reviews the move to the class that every screen advises", function()
        local frame = answered()
        local from, pages = question.donor(frame.model, 13)
        local intent = view.command(frame, { curves = { cursor = 13, top = 1 } }, "move_pages")
        assert.same({ kind = "review", plan = { { from = from, to = 13, pages = pages } } }, intent)
    end)

    for what, text in pairs({
        ["of a server that samples nothing yet"] = "STAT bytes 67108864\r\nSTAT reads 0\r\nEND\r\n",
        ["of one point"] = "STAT bytes 100\r\nSTAT reads 9\r\nSTAT point:100 0.5\r\nEND\r\n",
        ["without today's size"] = "STAT reads 9\r\nSTAT point:50 0.2\r\nSTAT point:100 0.5\r\nEND\r\n",
    }) do
        it("says that the reads are too few for a curve " .. what, function()
            shows(drawn(answered({ curve = text })), "too few sampled reads yet", "not known yet")
        end)
    end

    it("says that nothing is judged when judging has failed", function()
        local frame = answered()
        frame.model.failure = "a module is broken"
        shows(drawn(frame), "LRU model of the whole cache", "not judged: a module is broken",
            "no class has enough sampled reads yet")
    end)
end)
