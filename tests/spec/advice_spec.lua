-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl advise on pages and automove: it must not advise changes that could not help.
local advice = require "slate.judge.advice"
local view = require "slate.judge.view"
local snapshots = require "support.snapshots"

-- A server without curves and moves.
local CLIENT <const> = { stats = function() return nil, "no such statistics", "unsupported" end }

-- A context for a server watched for five seconds. classes: by id { pages, evicted a second }.
local function seen(classes, automove, slated)
    local one = view.observer()
    for i = 0, 5 do
        local now, evicted_all = {}, 0
        for id, class in pairs(classes) do
            now[id] = snapshots.full(class[1], i * class[2])
            evicted_all = evicted_all + i * class[2]
        end
        local told = snapshots.make(1000 + i, now, { evictions = evicted_all, cmd_get = i * 1000,
            get_hits = i * 800, get_misses = i * 200 }, { slab_automove = automove })
        told.slated = slated
        one:observe(told)
    end
    return { who = { slated = slated }, pair = function()
        return one.now, one.before, one.rates, one.judge, one
    end }
end

describe("advise pages of a slated whose classes are all well", function()
    it("names the mode utility where another one is on, and only there", function()
        local calm <const> = { [5] = { 4, 0 }, [6] = { 4, 0 } }
        local told = advice.pages(seen(calm, "off", "0.1.0"), CLIENT, {})
        assert.same({ "slatectl automove utility" }, told.commands)
        told = advice.pages(seen(calm, "utility", "0.1.0"), CLIENT, {})
        assert.same({}, told.commands)
        assert.equal("no class starves: no move is advised; automove utility moves pages to where they bring most hits",
            told.text)
        assert.equal("no class starves: no move is advised", advice.pages(seen(calm, 1), CLIENT, {}).text)
    end)
end)

describe("advise automove for classes whose items live for different times", function()
    it("advises a policy only where a class that keeps its items long has a page to give", function()
        local told = advice.automove(seen({ [5] = { 2, 500 }, [6] = { 1, 20 } }, 1), CLIENT, {})
        assert.same({}, told.commands)
        assert.equal("the evicting classes that keep items longest have one page each, which none gives away: no mode "
            .. "could even that out; leave it as it is", told.text)
        assert.is_true(told.age_spread > 10)
        told = advice.automove(seen({ [5] = { 1, 20 }, [6] = { 2, 40 }, [7] = { 1, 500 } }, 1), CLIENT, {})
        assert.same({}, told.commands)
        assert.truthy(told.text:find("keeps items 25 times as long as the youngest, but no class is in need", 1, true),
            told.text)
    end)
end)

describe("advice on chunk sizes", function()
    it("is none for a server that reports chunks larger than a page", function()
        for name, settings in pairs({ slab_chunk_max = { chunk_size = 48, slab_chunk_max = math.maxinteger },
            chunk_size = { chunk_size = math.maxinteger, slab_chunk_max = 524288 } }) do
            local context = { who = {}, snapshot = function() return { settings = settings, classes = {} } end }
            local told, why, code = require("slate.judge.advice").sizes(context, {}, {})
            assert.same({ nil, "this server does not report slab_chunk_max and chunk_size", "unsupported" },
                { told, why, code }, name)
        end
    end)
end)
