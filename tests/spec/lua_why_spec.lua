-- SPDX-License-Identifier: BSD-3-Clause
-- Why automove moves pages, or does not, in the words that slatetop shows.
local gather = require "slate.base.gather"
local view = require "slate.judge.view"
local attention = require "slate.judge.attention"

-- A server of so many classes, each { pages, items, age_s, evicted, free_chunks }.
local function snapshot(time_s, settings, classes, slated)
    local list = gather.values(classes, function(class, i)
        return { id = i, chunk_size = 1000, chunks_per_page = 1000, total_pages = class[1], number = class[2],
            age = class[3], evicted = class[4], free_chunks = class[5] or 0, used_chunks = class[2] }
    end)
    return { time_s = time_s, general = { pid = 1, uptime = time_s }, settings = settings, classes = list,
        slated = slated, totals = {} }
end

-- The explanation after five seconds in which the second class evicted so many items a second.
local function told(settings, evicted_per_s, classes, asked, slated)
    local one = view.observer()
    for second = 0, 5 do
        classes[2][4] = second * evicted_per_s
        one:observe(snapshot(100 + second, settings, classes, slated))
    end
    local texts = gather.values(attention.automove_reasons(one, asked or {}), function(sentence)
        return (sentence.tone or "plain") .. ": " .. sentence.text
    end)
    return table.concat(texts, "\n")
end

local function two_classes(free_chunks) return { { 20, 20000, 900, 0, free_chunks }, { 2, 2000, 10, 0 } } end

describe("why automove moves pages, or does not", function()
    it("knows memcached's rule by the ages of tails", function()
        local text = told({ slab_automove = 1 }, 100, two_classes())
        assert.truthy(text:find("A page from class 1 (15m00) to class 2 (10s) is due", 1, true), text)
        assert.truthy(text:find("youngest < 0.80 of oldest, averages over 10s", 1, true), text)
    end)

    it("takes the ratio and the window that the server has", function()
        local text = told({ slab_automove = 1 }, 100, two_classes(),
            { settings = "STAT slab_automove_ratio 0.01\r\nSTAT slab_automove_window 30\r\nEND\r\n" })
        assert.truthy(text:find("good: The ages are even enough", 1, true), text)
        assert.truthy(text:find("averages over 30s", 1, true), text)
    end)

    it("names a class with free pages first", function()
        local text = told({ slab_automove = 1 }, 100, two_classes(5000))
        assert.truthy(text:find("^plain: It should move: class 1 has 5.0 free pages"), text)
    end)

    it("names the time in which pages were seen to move, which is never zero", function()
        for over_s, words in pairs({ [0.02] = "0.1 s", [0.4] = "0.4 s", [0.96] = "1 s", [100] = "100 s" }) do
            local text = told({ slab_automove = 1 }, 100, two_classes(), { page_moves_per_s = 2,
                page_moves_over_s = over_s })
            assert.truthy(text:find("pages moved: 2.00/s over the last " .. words, 1, true), text)
        end
    end)

    it("says that nobody needs a page where nothing is evicted", function()
        assert.truthy(told({ slab_automove = 1 }, 0, two_classes()):find("^good: No class evicts"))
    end)

    it("names what is off, and that mode 2 is for short times", function()
        assert.truthy(told({ slab_automove = 0 }, 0, two_classes()):find("^plain: automove is off"))
        assert.truthy(told({ slab_automove = 2 }, 0, two_classes()):find("for minutes, not for good", 1, true))
        assert.truthy(told({ slab_reassign = false }, 0, two_classes()):find("^bad: Pages cannot move"))
        assert.truthy(told({}, 0, two_classes()):find("does not report an automove setting", 1, true))
    end)

    it("shows slated's own words, its weights, and a mode that failed", function()
        local asked = { moves = "STAT mode utility\r\nSTAT why no class gains enough\r\nSTAT failed none\r\n"
            .. "STAT state none\r\nSTAT pages_moved 7\r\nEND\r\n",
            automove = "STAT mode utility\r\nSTAT weighed 1\r\nSTAT 1:loss 0.5\r\nSTAT 1:loss_doubt 0.1\r\n"
            .. "STAT 2:gain 3.5\r\nSTAT 2:gain_doubt 0.4\r\nEND\r\n" }
        local text = told({ slab_automove = "utility" }, 0, two_classes(), asked, "0.1.0")
        assert.truthy(text:find("automove is utility: no class gains enough.", 1, true), text)
        assert.truthy(text:find("exceeds twice the loss with its doubt", 1, true), text)
        local file <close> = assert(io.open("daemon/control/automove/utility.c"))
        assert.equal("2", file:read("a"):match("\n#define HYSTERESIS (%S+)\n"), "the daemon's rule is another")
        assert.truthy(text:find("in the last window a page more would have brought class 2 most: 3.5 ± 0.4 hits", 1,
            true), text)
        assert.truthy(text:find("would have cost class 1 least: 0.5 ± 0.1 hits; Curves forecasts", 1, true), text)
        assert.is_nil(text:find("its state", 1, true), text)
        assert.is_nil(text:find("failed:", 1, true), text)
        asked.moves = asked.moves:gsub("failed none", "failed lua:mine: line 3")
        text = told({ slab_automove = "off" }, 0, two_classes(), asked, "0.1.0")
        assert.truthy(text:find("bad: automove failed: lua:mine: line 3; now it is utility", 1, true), text)
    end)

    it("waits for slated's answer, and says when none will come", function()
        assert.truthy(told({}, 0, two_classes(), {}, "0.1.0"):find("waiting for the server", 1, true))
        assert.truthy(told({}, 0, two_classes(), { is_past = true }, "0.1.0"):find("not recorded", 1, true))
        assert.truthy(attention.automove_reasons(view.observer(), {})[1].text:find("Nothing is known", 1, true))
    end)
end)
