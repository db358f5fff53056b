-- SPDX-License-Identifier: BSD-3-Clause
local explain = require "slate.facts.explain"

describe("explain", function()
    it("has entries that are whole, each name of an entry once", function()
        local entries = assert(explain.entries())
        assert.is_true(#entries > 80)
        local seen = {}
        for _, entry in ipairs(entries) do
            assert.is_nil(seen[entry.term], entry.term .. " is there twice")
            seen[entry.term] = true
            for _, field in ipairs { "unit", "meaning", "source", "do" } do
                assert.is_true(#entry[field] > 0, entry.term .. " " .. field)
                assert.is_nil(entry[field]:find("%s%s"), entry.term .. ": blanks in " .. field)
            end
            assert.truthy(entry.meaning:match("[.:]$"), entry.term .. ": the meaning is a sentence")
            assert.truthy(entry["do"]:match("[.?]$"), entry.term .. ": what to do is a sentence")
        end
        assert.same(#entries, #explain.list())
    end)

    it("is ASCII in its texts, so that any terminal and manual can show it", function()
        for _, entry in ipairs(assert(explain.entries())) do
            for _, field in ipairs { "term", "unit", "meaning", "source", "formula", "do" } do
                assert.is_nil((entry[field] or ""):find("[\128-\255]"), entry.term .. " " .. field)
            end
        end
    end)

    it("finds an entry by its term, its column's head and its name on the wire", function()
        assert.equal("hit_ratio", explain.find("HIT_RATIO")[1].term)
        assert.equal("class.agex", explain.find("AGE/MED")[1].term)
        assert.equal("class.evicted_time", explain.find("evicted_time")[1].term)
        assert.equal("slab_automove", explain.find("automove")[1].term)
        assert.same({}, explain.find("no such thing"))
    end)

    it("suggests names that are near, and only such that can be found", function()
        assert.equal("evictions", explain.suggest("evicions")[1])
        assert.equal("hit_ratio", explain.suggest("hit_ratoi")[1])
        local names = explain.suggest("automove")
        assert.equal("automove", names[1])
        assert.equal(5, #names)
        for _, name in ipairs(names) do assert.is_true(#explain.find(name) > 0, name) end
        assert.same({}, explain.suggest("qqqqqqqqqqqq"))
    end)
end)
