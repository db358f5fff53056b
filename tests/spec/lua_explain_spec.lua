-- SPDX-License-Identifier: BSD-3-Clause
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
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

    it("is ASCII in what is said, so that any terminal and manual can show it", function()
        for _, entry in ipairs(assert(explain.entries())) do
            for _, field in ipairs { "term", "unit", "meaning", "source", "formula", "do" } do
                assert.is_nil((entry[field] or ""):find("[\128-\255]"), entry.term .. " " .. field)
            end
        end
    end)

    it("finds an entry by its term, its column's head and its name on the wire", function()
        assert.equal("hit_ratio", explain.find("HIT_RATIO")[1].term)
        assert.equal("class.agex", explain.find("xMED")[1].term)
        assert.equal("class.evicted_time", explain.find("evicted_time")[1].term)
        assert.equal("slab_automove", explain.find("automove")[1].term)
        assert.same({}, explain.find("no such thing"))
    end)

    it("gives every entry of a name that stands for several", function()
        local list = assert(explain.parse("term a\nalso x\nunit 1\nmeaning m.\nsource s\ndo d.\n\n"
            .. "term b\nalso y, x\nunit 1\nmeaning m\n  goes on.\nsource s\nformula f\ndo d."))
        assert.equal(2, #list)
        assert.same({ "y", "x" }, list[2].also)
        assert.equal("m goes on.", list[2].meaning)
        assert.equal("f", list[2].formula)
    end)

    it("suggests names that are near, and only such that can be found", function()
        assert.equal("evictions", explain.suggest("evicions")[1])
        assert.equal("hit_ratio", explain.suggest("hit_ratoi")[1])
        local names = explain.suggest("automove")
        assert.equal("automove", names[1])
        assert.equal(5, #names)
        for _, name in ipairs(names) do
            assert.is_true(#explain.find(name) > 0, name)
        end
        assert.equal(2, #explain.suggest("automove", 2))
        assert.same({}, explain.suggest("qqqqqqqqqqqq"))
    end)

    it("names the line of a text that is wrong", function()
        local none, why = explain.parse("term a\nunit 1\nmeaning m.\ndo d.\n")
        assert.is_nil(none)
        assert.equal("line 5: the entry a lacks its source", why)
        none, why = explain.parse("# fine\n\nmeaning m.\n")
        assert.is_nil(none)
        assert.equal("line 3 is not a part of an entry: meaning m.", why)
        assert.is_nil((explain.parse("term a\nunit 1\nunit 2\n")))
    end)
end)
