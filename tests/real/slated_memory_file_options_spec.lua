-- SPDX-License-Identifier: BSD-3-Clause
-- A memory file and a start with other options than those it was made with: all items are there, in chunks of the new
-- options, or the file is refused with a sentence that says how to go on. Settings made at run time, times, CAS values
-- and flushes go on, too.
local patience = require "support.patience"
local restart = require "support.restart"
local server = require "support.server"
local wire = require "support.wire"

local WORDS <const> = "-m 32 -o slab_geometry_rate=100,no_slab_geometry_auto"
-- few sizes, so that each old and new class has its page
local SIZES <const>, SMALL <const>, LARGE <const>, LARGE_BYTES <const> = { 50, 200, 700, 1500, 3000 }, 200, 3, 300000
local MIB <const> = 1 << 20

local function key_value(i)
    local bytes = i > SMALL and LARGE_BYTES + i or SIZES[i % #SIZES + 1]
    return "key" .. i, (i .. "."):rep(bytes // #(i .. ".") + 1):sub(1, bytes)
end

local function fill(client)
    for i = 1, SMALL + LARGE do
        local key, value = key_value(i)
        assert.equal("STORED", wire.ask(client, ("set %s %d 0 %d\r\n%s"):format(key, i, #value, value)))
    end
end

local function assert_all_there(client, after)
    for i = 1, SMALL + LARGE do
        local key, value = key_value(i)
        assert.equal(("VA %d f%d"):format(#value, i), wire.ask(client, ("mg %s v f"):format(key)), after)
        assert.is_true(client:receive(#value + 2) == value .. "\r\n", after .. ": " .. key)
    end
end

-- The chunk sizes of the classes that take items, in order; and whether no other class is being emptied.
local function sizes_of(client)
    local sizes = {}
    local _, geometry = wire.stats(client, "geometry")
    for name, bytes in pairs(geometry) do
        local id = name:match("^(%d+):chunk_size$")
        if id and geometry[id .. ":class_state"] == "active" then
            sizes[#sizes + 1] = tonumber(bytes)
        end
    end
    table.sort(sizes)
    return table.concat(sizes, " "), geometry.state == "steady"
end

describe("slated -e with other options", function()
    local one, other

    after_each(function()
        if one then
            one:finish()
        end
        if other then
            other:stop()
        end
        one, other = nil, nil
    end)

    it("has all items after each kill -9, whatever options follow each other", function()
        one = restart.begin(WORDS)
        fill(one:connect())
        for _, words in ipairs {
            "-f 1.08", "-f 2", "-n 200", "-o slab_sizes=104-504-2000-20000", "-m 128", "-m 16", "-I 2m", "-I 512k",
            "-C", "--policy=lru", "--policy=sieve", "-t 1", "-t 7", "--partitions=64", "--index=chained",
            "--index=hopscotch", "--index=cuckoo", "-o no_slab_reassign",
            "-f 1.5 -m 64 -t 3 --policy=fifo --index=cuckoo --partitions=8", "",
        } do
            local client = one:again("KILL", WORDS .. " " .. words)
            assert_all_there(client, words)
            assert.equal("STORED", wire.ask(client, "set new 0 0 1\r\nn"))
        end
        assert.equal(0, select(2, one:log():gsub("error:", "")))
    end)

    for _, words in ipairs { "-f 1.5", "-o slab_sizes=104-504-2000-20000" } do
        it("has the chunk sizes of " .. words .. " in the end, as a new server does", function()
            one = restart.begin(WORDS)
            fill(one:connect())
            local before = sizes_of(one:connect())
            local args = {}
            for word in (WORDS .. " " .. words):gmatch("%S+") do
                args[#args + 1] = word
            end
            other = server.start { args = args }
            local wanted = sizes_of(wire.connect(other.address))
            assert.not_equal(before, wanted)
            local client = one:again("TERM", WORDS .. " " .. words)
            patience.wait_for("the chunk sizes of the options", function()
                local sizes, steady = sizes_of(client)
                return steady and sizes == wanted
            end)
            assert_all_there(client, words)
        end)
    end

    it("lets the oldest items go where the new limit is lower than their sum", function()
        -- A kill amid a change of the chunk sizes leaves the items in two classes, each with an order of its own.
        one = restart.begin("-m 64 --policy=lru -t 1 -o no_slab_geometry_auto")
        local client = one:connect()
        local value = ("v"):rep(1000)
        for first = 1, 30000, 1000 do
            local sets = {}
            for i = first, first + 999 do
                sets[#sets + 1] = ("ms key%d %d q\r\n%s\r\n"):format(i, #value, value)
            end
            assert(client:send(table.concat(sets)))
        end
        assert.equal("MN", wire.ask(client, "mn"))
        client = one:again("KILL", "-m 8 --policy=lru -t 1 -o no_slab_geometry_auto")
        patience.wait_for("no more pages than the limit has", function()
            local _, slabs = wire.stats(client, "slabs")
            return tonumber(slabs.total_malloced) <= 8 * MIB
        end)
        local function among(first, last)
            local gets, count = {}, 0
            for i = first, last do
                gets[#gets + 1] = ("mg key%d q\r\n"):format(i)
            end
            assert(client:send(table.concat(gets) .. "mn\r\n"))
            while client:receive("*l") == "HD" do
                count = count + 1
            end
            return count
        end
        assert.is_true(among(1, 30000) > 2000, among(1, 30000))
        assert.is_true(among(15001, 30000) > among(1, 15000), among(1, 15000))
    end)

    it("goes on with times to live, a flush that is to come, and CAS values", function()
        one = restart.begin(WORDS)
        local client = one:connect()
        assert.equal("STORED", wire.ask(client, "set short 0 3 1\r\ns"))
        assert.equal("STORED", wire.ask(client, "set long 0 1000000 1\r\nl"))
        assert.equal("STORED", wire.ask(client, ("set at 0 %d 1\r\na"):format(os.time() + 2000000)))
        assert.equal("STORED", wire.ask(client, "set ever 0 0 1\r\ne"))
        local cas = tonumber(wire.ask(client, "mg ever c"):match("c(%d+)"))
        local began_s = os.time()
        for _, signal in ipairs { "KILL", "TERM", "USR1" } do
            client = one:again(signal, WORDS)
            local long, at = wire.ask(client, "mg long t"):match("t(%d+)"), wire.ask(client, "mg at t"):match("t(%d+)")
            assert.is_true(tonumber(long) <= 1000000 and tonumber(long) > 900000, long)
            assert.is_true(tonumber(at) <= 2000000 and tonumber(at) > 1900000, at)
            assert.equal("HD t-1", wire.ask(client, "mg ever t"))
            assert.equal(("HD c%d"):format(cas), wire.ask(client, "mg ever c"))
            assert.equal("STORED", wire.ask(client, "set ever 0 0 1\r\ne"))
            local now = tonumber(wire.ask(client, "mg ever c"):match("c(%d+)"))
            assert.is_true(now > cas)
            assert.equal("EXISTS", wire.ask(client, ("cas ever 0 0 1 %d\r\nx"):format(cas)))
            cas = now
        end
        patience.wait_for("the time of the short one", function()
            return wire.ask(client, "mg short") == "EN"
        end)
        local flush_s = 4 + os.time() - began_s -- longer than one start takes
        assert.equal("OK", wire.ask(client, "flush_all " .. flush_s))
        client = one:again("KILL", WORDS)
        assert.equal("STORED", wire.ask(client, "set before 0 0 1\r\nb"))
        local is_to_come = wire.ask(client, "mg ever") == "HD"
        patience.wait_for("the flush", function()
            return wire.ask(client, "mg ever") == "EN"
        end, flush_s + patience.DEADLINE_S)
        assert.equal("EN", is_to_come and wire.ask(client, "mg before") or "EN")
        assert.equal("STORED", wire.ask(client, "set after 0 0 1\r\na"))
        client = one:again("KILL", WORDS)
        assert.equal("EN", wire.ask(client, "mg ever"))
        assert.equal("HD", wire.ask(client, "mg after"))
    end)
end)
