-- SPDX-License-Identifier: BSD-3-Clause
-- Clients that ask for much and read little: what they cost the server and each other. Claims are counts and
-- bytes; none is about time. SLATE_TEST_SERVER chooses the server (support/server.lua).
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local socket = require "socket"
local patience = require "support.patience"
local rig = require("support.rig").new(after_each, "-c", "2000")
local wire = require "support.wire"
require "support.world"

local MIB <const> = 1048576

local start, connect, ask = rig.start, rig.connect, wire.ask

-- Stores key1 to key<count> with values of size(i) bytes, a thousand requests at a time, and waits for all of it.
local function fill(writer, count, size)
    for first = 1, count, 1000 do
        local sets = {}
        for i = first, first + 999 do
            sets[#sets + 1] = ("set key%d 0 0 %d noreply\r\n%s\r\n"):format(i, size(i), ("v"):rep(size(i)))
        end
        writer:send(table.concat(sets))
    end
    assert.equal("MN", ask(writer, "mn"))
end

-- Sends as much as goes without waiting; returns what is left.
local function send_some(connection, bytes)
    connection:settimeout(0)
    local sent, _, last = connection:send(bytes)
    connection:settimeout(patience.DEADLINE_S)
    return bytes:sub((sent or last) + 1)
end

-- Clients that each send `count` times the line at once and do not read.
local function spam(clients, count, line)
    local spammers = {}
    for i = 1, clients do
        spammers[i] = connect()
        send_some(spammers[i], (line .. "\r\n"):rep(count))
    end
    return spammers
end

-- Reads what has come for everybody; returns how many answers have ended in all.
local function read_some(spammers, ends)
    local count = 0
    for _, connection in ipairs(spammers) do
        connection:settimeout(0)
        local bytes, _, part = connection:receive(MIB)
        connection:settimeout(patience.DEADLINE_S)
        ends[connection] = ends[connection] or { count = 0, tail = "" }
        local seen = ends[connection]
        local text = seen.tail .. (bytes or part)
        for _ in text:gmatch("END\r\n") do
            seen.count = seen.count + 1
        end
        seen.tail = text:match("END\r\n$") and "" or text:sub(-4)
        count = count + seen.count
    end
    return count
end

-- Plays the spam to its end while another client asks and is answered; returns how often that was, and how much
-- the server grew.
local function play(spammers, count)
    local other, ends, answered = connect(), {}, 0
    local before, most = rig.server:resident_bytes(), 0
    local done
    repeat
        done = read_some(spammers, ends)
        if done < #spammers * count then
            assert.equal("MN", ask(other, "mn"))
            answered = answered + 1
        end
        most = math.max(most, rig.server:resident_bytes() - before)
    until done == #spammers * count
    return answered, most
end

describe("commands by the hundred", function()
    for _, case in ipairs({
        { line = "stats", clients = 20, count = 200 },
        { line = "stats describe", clients = 20, count = 50 },
        { line = "stats conns", clients = 10, count = 20, idle = 500 },
        { line = "stats sizehist", clients = 4, count = 500, items = 5000 },
    }) do
        it(("(%s) cost little memory, and others are served between them"):format(case.line), function()
            rig.start_process()
            local writer = connect()
            for _ = 1, case.idle or 0 do
                connect()
            end
            fill(writer, case.items or 0, function(i) return i % 700 end)
            local answered, grown = play(spam(case.clients, case.count, case.line), case.count)
            assert.is_true(answered >= 1) -- their answers are more than sockets hold: they cannot end unread
            assert.is_true(grown < 12 * MIB, ("%.1f MiB more"):format(grown / MIB))
        end)
    end

    it("are answered in many turns: each runs 50 us of them, and a command counts as 1 us at least", function()
        start("-t", "1")
        local spammer = spam(1, 500, "stats settings")[1]
        local other = connect()
        assert.equal("END", ask(other, "get nothing"))
        local ends, done = {}, 0
        while done < 500 do
            done = read_some({ spammer }, ends)
        end
        assert.is_true(wire.number(other, "conn_yields") >= 500 // 50 - 1)
    end)
end)

describe("clients that do not read", function()
    -- What 100 of them cost beyond the turn's buffers.
    for _, case in ipairs({
        { what = "values that are copied", line = "get copied", count = 4096 },
        { what = "values that are borrowed", line = "get borrowed", count = 1000 },
        { what = "statistics", line = "stats describe", count = 200 },
        { what = "a list of connections", line = "stats conns", count = 200 },
        { what = "a dump", line = "lru_crawler metadump all", count = 1 },
    }) do
        it(("of %s cost no more than 32 KiB each, and others are served"):format(case.what), function()
            rig.start_process()
            local writer = connect()
            assert.equal("STORED", ask(writer, "set copied 0 0 2000\r\n" .. ("v"):rep(2000)))
            assert.equal("STORED", ask(writer, "set borrowed 0 0 20000\r\n" .. ("v"):rep(20000)))
            fill(writer, 20000, function() return 1 end)
            local before = rig.server:resident_bytes()
            local deaf = spam(100, case.count, case.line)
            for _ = 1, 50 do -- as long as they are answered at all
                assert.equal("MN", ask(writer, "mn"))
                socket.sleep(0.005)
            end
            local grown = rig.server:resident_bytes() - before
            assert.is_true(grown < 100 * 32 * 1024 + 6 * MIB, ("%.1f MiB more"):format(grown / MIB))
            deaf[1]:settimeout(patience.DEADLINE_S)
            assert.truthy(deaf[1]:receive("*l")) -- what is read after all goes on
        end)
    end
end)

describe("clients that do not read values which are replaced meanwhile", function()
    local ITEMS <const>, VALUE_BYTES <const>, READERS <const> = 60000, 900000, 80

    -- Stores one large value again and again; after each a client asks for it, more often than sockets hold, and
    -- reads no more than the beginning.
    local function pin(writer)
        local value, stored = ("v"):rep(VALUE_BYTES), 0
        for _ = 1, READERS do
            if ask(writer, ("set large 0 0 %d\r\n%s"):format(VALUE_BYTES, value)) == "STORED" then
                stored = stored + 1
                local reader = spam(1, 12, "get large")[1]
                assert.equal("VALUE large 0 " .. VALUE_BYTES, reader:receive("*l"))
            end
        end
        return stored
    end

    for _, case in ipairs({
        { store = "slab", automove = "utility" }, { store = "slab", automove = "eviction" },
        { store = "heap" }, { store = "blocks" },
    }) do
        local what = case.automove and case.store .. ", " .. case.automove or case.store
        it(("take no memory of others' items (%s), and give theirs back"):format(what), function()
            start("-m", "64", "--store", case.store, "-o", "slab_automove=" .. (case.automove or "off"))
            local writer = connect()
            fill(writer, ITEMS, function() return 100 end)
            local stored = pin(writer)
            assert.is_true(stored >= 9, "only " .. stored .. " of the large values were stored")
            assert.is_true(wire.number(writer, "curr_items") >= ITEMS)
            assert.is_true(wire.number(writer, "pinned_bytes", "slated") > 8 * MIB)
            rig.hang_up()
            patience.wait_for("the clients to be gone", function() return rig.number("pinned_bytes", "slated") == 0 end)
        end)
    end
end)

describe("a get line without an end", function()
    it("is refused at its first key that is too long, and costs no memory", function()
        rig.start_process()
        local other = connect()
        assert.equal("MN", ask(other, "mn"))
        local before = rig.server:resident_bytes()
        for _ = 1, 10 do
            local connection = connect()
            connection:send("get " .. ("x"):rep(4096))
            assert.equal("CLIENT_ERROR bad command line format", connection:receive("*l"))
            assert.equal("", connection:receive("*l"))
            connection:send(("x"):rep(2 * MIB) .. "\r\nmn\r\n")
            assert.equal("MN", connection:receive("*l")) -- behind its end the connection goes on
        end
        assert.is_true(rig.server:resident_bytes() - before < 4 * MIB)
    end)

    it("of good keys is answered as it comes, in bounded memory", function()
        rig.start_process()
        local other, connection = connect(), connect()
        assert.equal("STORED", ask(other, "set k 0 0 1\r\nv"))
        local before = rig.server:resident_bytes()
        connection:send("get k " .. ("missing "):rep(MIB // 2))
        assert.equal("VALUE k 0 1", connection:receive("*l"))
        assert.equal("v", connection:receive("*l"))
        assert.equal("MN", ask(other, "mn"))
        assert.is_true(rig.server:resident_bytes() - before < 4 * MIB)
        connection:send("k\r\n")
        assert.equal("VALUE k 0 1", connection:receive("*l"))
        assert.equal("v", connection:receive("*l"))
        assert.equal("END", connection:receive("*l"))
    end)
end)

describe("an answer that another thread makes", function()
    it("is waited for without a turn of the worker", function()
        start("-t", "1", "-m", "200")
        local writer = connect()
        fill(writer, 100000, function(i) return i % 900 end)
        local before = wire.number(writer, "batches", "slated")
        for _ = 1, 5 do
            assert.matches("^PREDICTED ", ask(writer, "slabs geometry factor 1.5 dry"))
        end
        local turns = wire.number(writer, "batches", "slated") - before
        assert.is_true(turns <= 20, ("%d turns for five answers"):format(turns))
    end)
end)
