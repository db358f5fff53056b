-- SPDX-License-Identifier: BSD-3-Clause
-- The log of a server's watchers as a trace, and the hash that hides its keys.
local siphash = require "slate.base.siphash"
local trace = require "slate.facts.trace"

describe("slate.base.siphash", function()
    it("is SipHash-2-4, by the vectors of its authors", function()
        local key, text = "", ""
        for i = 0, 15 do key = key .. string.char(i) end
        local hash = siphash.by(key)
        local known = { [0] = 0x726fdb47dd0e0e31, [1] = 0x74f839c593dc67fd, [7] = 0xab0200f58b01d137,
            [8] = 0x93f5f5799a932462, [15] = 0xa129ca6149be45e5 }
        for length = 0, 15 do
            if known[length] then
                assert.equal(known[length], hash(text))
            end
            text = text .. string.char(length)
        end
    end)
end)

describe("slate.facts.trace", function()
    local function maker(options)
        options = options or {}
        options.name = options.name or trace.plain
        return trace.new(options)
    end

    local function play(one, lines)
        local list = {}
        for _, line in ipairs(lines) do table.move(one:take(line), 1, 100, #list + 1, list) end
        table.move(one:remainder(), 1, 100, #list + 1, list)
        return list
    end

    local function get(at, key, fd, size)
        return ("ts=100.%d gid=1 type=item_get key=%s status=%s clsid=%d cfd=%d size=%d"):format(at, key,
            size and "found" or "not_found", size and 5 or 0, fd, size or 0)
    end
    local function set(at, key, fd, size, ttl, status)
        return ("ts=100.%d gid=1 type=item_store key=%s status=%s cmd=set ttl=%d clsid=5 cfd=%d size=%d"):format(at,
            key, status or "stored", ttl or 0, fd, size)
    end
    local function delete(at, key)
        return ("ts=100.%d gid=1 type=deleted key=%s cmd=delete clsid=5 size=9"):format(at, key)
    end

    it("counts lost events in whole numbers, however large the server's number", function()
        local one = maker()
        for _, count in ipairs({ "3", "99999999999999999999", "9223372036854775807", "9223372036854775807" }) do
            one:take("skipped=" .. count)
            assert.equal("integer", math.type(one.skipped))
            assert.is_true(one.skipped >= 3)
        end
    end)

    it("has reads, stores and deletes, each once", function()
        local told = { "0 get a 10 - 5\n", "1 get b - - -\n", "2 set b 20 60 5\n", "3 delete a - - 5\n" }
        assert.same(told, play(maker(), {
            get(0, "a", 1, 10), get(1000, "b", 1), get(2000, "b", 1), set(2001, "b", 1, 20, 60),
            get(3000, "a", 1, 10), delete(3001, "a") }))
    end)

    it("takes the look of a store for no read, whatever others do meanwhile", function()
        assert.same({ "0 get k 5 - 5\n", "0 set k 5 0 5\n", "0 get x - - -\n" }, play(maker(), {
            get(0, "k", 1), get(1, "k", 2, 5), set(2, "k", 1, 5), get(3, "x", 1) }))
    end)

    it("leaves out failed stores, and writes an item stored as expired as a delete", function()
        assert.same({ "0 delete j - - 5\n" }, play(maker(), {
            get(0, "k", 1, 5), set(1, "k", 1, 9, 0, "not_stored"), get(2, "j", 1), set(3, "j", 1, 5, 4294967295) }) )
    end)

    it("keeps the order of time, and holds nothing for long", function()
        local one, written = maker(), {}
        for i = 0, 2999 do -- one connection that reads once and is silent, and one that goes on
            local line = i == 0 and get(0, "first", 1) or ("ts=%d.%d gid=1 type=item_get key=k%d status=not_found "
                .. "clsid=0 cfd=2 size=0"):format(100 + i // 1000, i % 1000 * 1000, i)
            table.move(one:take(line), 1, 10000, #written + 1, written)
        end
        assert.is_true(#written > 1500 and #written <= 3000)
        table.move(one:remainder(), 1, 10000, #written + 1, written)
        assert.equal(3000, #written)
        local last = -1
        for _, text in ipairs(written) do
            local ms = tonumber(text:match("^%d+"))
            assert.is_true(ms >= last)
            last = ms
        end
    end)

    it("counts the events that the log says were skipped, and passes over other lines", function()
        local one = maker()
        assert.same({}, play(one, { "skipped=17", "OK", "", "ts=1.2 gid=3 type=conn_new rip=1 cfd=1", "skipped=3" }))
        assert.equal(20, one.skipped)
    end)

    it("chooses the sample itself where the server does not", function()
        local list = play(maker({ sampled = function(key) return key == "a" end }), {
            get(0, "a", 1, 1), get(1, "b", 1, 1), get(2, "a", 1, 1) })
        assert.equal(2, #list)
    end)

    it("gives keys names of the same length that reveal nothing", function()
        local name, again = trace.anonymous(siphash.by(("k"):rep(16))), trace.anonymous(siphash.by(("l"):rep(16)))
        local seen = {}
        for length = 1, 250 do
            local key = ("x"):rep(length)
            assert.equal(math.max(11, length), #name(key))
            assert.equal(name(key), name(key))
            assert.are_not.equal(name(key), again(key))
            assert.is_nil(seen[name(key)])
            assert.is_nil(name(key):find("[%s%c]"))
            seen[name(key)] = true
        end
    end)

    it("writes keys that a trace could not have in another way", function()
        assert.equal("a%20b%00%25", trace.plain("a b\0%"))
        assert.equal("a%b", trace.plain("a%b"))
        assert.equal(250, #trace.plain((" "):rep(250)))
        assert.same({ "0 get a%20b - - -\n" }, play(maker(), { get(0, "a%20b", 1) }))
    end)
end)
