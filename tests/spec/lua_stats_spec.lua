-- SPDX-License-Identifier: BSD-3-Clause
local stats = require "slate.facts.stats"

local function lines(text)
    local list = {}
    for line in text:gmatch("[^\n]+") do list[#list + 1] = line end
    return list
end

describe("stats", function()
    it("gives each value its type", function()
        assert.equal(7, stats.typed("pid", "7"))
        assert.equal("integer", math.type(stats.typed("pid", "7")))
        assert.equal(0.8, stats.typed("slab_automove_ratio", "0.80"))
        assert.equal(-1, stats.typed("x", "-1"))
        assert.is_true(stats.typed("slab_reassign", "yes"))
        assert.is_false(stats.typed("cas_enabled", "no"))
        assert.equal("murmur3", stats.typed("hash_algorithm", "murmur3"))
        assert.equal(":", stats.typed("stat_key_prefix", ":"))
    end)

    it("keeps text that looks like a number as text", function()
        assert.equal("1.6", stats.typed("version", "1.6"))
        assert.equal("700", stats.typed("umask", "700"))
    end)

    it("takes the server's NULL for absent", function()
        assert.is_nil(stats.typed("domain_socket", "NULL"))
        assert.is_nil(stats.typed("ssl_key", "(null)"))
    end)

    it("survives numbers beyond 63 bits", function()
        assert.equal("float", math.type(stats.typed("bytes_read", "18446744073709551615")))
    end)

    it("takes numbers that no server can mean for absent", function()
        assert.is_nil(stats.typed("bytes", ("9"):rep(400)))
        assert.is_nil(stats.typed("bytes", "-" .. ("9"):rep(400)))
    end)

    it("accepts a figure that is a number or a known text", function()
        assert.same({ version = "1.6", get_hits = 3 }, stats.figures(lines("STAT version 1.6\nSTAT get_hits 3\n"
            .. "STAT get_misses nan\nSTAT cmd_get inf\nSTAT bytes yes\nSTAT uptime ")))
    end)

    it("takes settings that should be numbers and are none for absent", function()
        assert.same({ slab_automove = "off", growth_factor = 1.25, inter = "x", slab_reassign = true }, stats.settings(
            lines("STAT growth_factor 1.25\nSTAT slab_automove off\nSTAT inter x\nSTAT slab_reassign yes\n"
            .. "STAT chunk_size yes\nSTAT maxbytes abc\nSTAT slab_automove_window ")))
    end)

    it("reads lines with an empty value and skips lines that are no STAT line", function()
        assert.same({ a = "", b = 2 }, stats.flat({ "STAT a ", "STAT b 2", "PREFIX c", "garbage", "" }))
    end)

    it("merges slabs and items into one record for each class", function()
        local classes, totals = stats.classes(
            lines("STAT 1:chunk_size 96\nSTAT 1:total_pages 2\nSTAT 12:total_pages 1\nSTAT active_slabs 2"),
            lines("STAT items:1:number 10\nSTAT items:1:age 5"))
        assert.same({
            { id = 1, chunk_size = 96, total_pages = 2, number = 10, age = 5 },
            { id = 12, total_pages = 1 },
        }, classes)
        assert.same({ active_slabs = 2 }, totals)
    end)

    it("finds mem_requested in either place", function()
        local old = stats.classes(lines("STAT 1:mem_requested 63"), lines("STAT items:1:number 1"))
        local new = stats.classes(lines("STAT 1:chunk_size 96"), lines("STAT items:1:mem_requested 63"))
        assert.equal(63, old[1].mem_requested)
        assert.equal(63, new[1].mem_requested)
    end)

    it("leaves out figures that a server does not report: absent is nil, never zero", function()
        local classes = stats.classes(lines("STAT 3:chunk_size 152"), {})
        assert.is_nil(classes[1].number)
        assert.is_nil(classes[1].age)
        assert.is_nil(stats.flat({}).evictions)
    end)

    it("leaves out figures of classes that are no counts", function()
        local slabs = "STAT 3:chunk_size 0\r\nSTAT 3:total_pages 1.5\r\nSTAT 3:used_chunks -1\r\nSTAT 3:get_hits 7x\r\n"
            .. "STAT 3:cmd_set 18446744073709551615\r\nSTAT 3:free_chunks\r\nSTAT 3:total_chunks 9\r\n"
        assert.same({ { id = 3, total_chunks = 9 } }, (stats.classes(slabs, {})))
    end)

    it("lists a class that has items but is missing from slabs", function()
        local classes = stats.classes({}, lines("STAT items:9:evicted 4"))
        assert.same({ { id = 9, evicted = 4 } }, classes)
    end)

    it("sorts classes by number, not by text", function()
        local classes = stats.classes(lines("STAT 10:a 1\nSTAT 9:a 1\nSTAT 2:a 1"))
        assert.same({ 2, 9, 10 }, { classes[1].id, classes[2].id, classes[3].id })
    end)
end)

describe("words of a server", function()
    it("hold no controls of a terminal", function()
        local printable = require("slate.wire.request").printable
        assert.equal("a?[31mb?c", printable("a\27[31mb\7c"))
        assert.equal("caf\xc3\xa9", printable("caf\xc3\xa9"))
        assert.equal("?31m ?x ?y", printable("\xc2\x9b31m \xe2\x80\xaex \xe2\x81\xa6y"))
        assert.equal("??m", printable("\x9b\xffm"))
    end)
end)
