-- SPDX-License-Identifier: BSD-3-Clause
-- Values that arrive in pieces, or stop arriving: the memory that they may hold, and which ones give way.
local patience = require "support.patience"
local rig = require("support.rig").new(after_each, "-c", "2048")
local world = require "support.world"

local ITEMS <const> = 20000
local FIRST <const> = 2048 -- bytes of a value that must have arrived before it takes memory
local FEW <const> = 20000 -- bytes; less than the eighth of a value that must come within a second

local start, connect, figure = rig.start, rig.connect, rig.number

local function ask(connection, bytes)
    assert(connection:send(bytes))
    return connection:receive("*l")
end

local function count_state(state)
    local count = 0
    for _, line in ipairs(rig.lines("stats conns")) do
        count = count + (line:match("^STAT %d+:state (%S+)$") == state and 1 or 0)
    end
    return count
end

local function fill() rig.store("key", ITEMS, 2000) end

-- So many clients that send the head of a value and `bytes` of its data.
local function half_sent(count, value_bytes, bytes)
    local clients = {}
    for i = 1, count do
        clients[i] = connect()
        assert(clients[i]:send(("set big%d 0 0 %d\r\n%s"):format(i, value_bytes, ("x"):rep(bytes))))
    end
    return clients
end

-- Until so many wait: those that hold memory and send no more give way.
local function until_waiting(count, value_bytes, bytes)
    patience.wait_for("clients that wait", function()
        half_sent(8, value_bytes, bytes)
        return figure("uploads_waiting", "slated") >= count
    end)
end

local function large_set(i) return ("set honest%d 0 0 900000\r\n%s\r\n"):format(i, ("h"):rep(900000)) end

-- A value sent at once, by a client of its own.
local function store_whole(i) assert.equal("STORED", ask(connect(), large_set(i))) end

-- Stores a large value while other clients send some bytes now and then.
local function store_beside_trickle(i, others, bytes_each)
    local client, bytes, sent = connect(), large_set(i), 0
    client:settimeout(0)
    assert.equal("STORED", patience.wait_for("the reply", function()
        for _, other in ipairs(others) do other:send(("x"):rep(bytes_each or 1)) end
        while sent < #bytes do
            local last, problem, partial = client:send(bytes, sent + 1)
            sent = last or partial
            if problem then
                break
            end
        end
        return (client:receive("*l"))
    end))
end

-- Sends so many bytes of each, as far as the server takes them.
local function feed(clients, bytes)
    for _, client in ipairs(clients) do client:send(("x"):rep(bytes)) end
end

local function close(clients)
    for _, client in ipairs(clients) do client:close() end
end

describe("values that are still coming", function()
    it("that trickle do not keep others from storing", function()
        start("-m", "32")
        local clients = half_sent(30, 1000000, FIRST)
        patience.wait_for("clients that hold memory", function() return figure("draft_bytes", "slated") > 0 end)
        for i = 1, 3 do store_beside_trickle(i, clients) end
        assert.equal("STORED", ask(connect(), "set small 0 0 2\r\nhi\r\n"))
    end)

    -- Clients whose large values have all memory that they may; each has sent as many bytes as the server takes.
    local function holders(count)
        local clients = half_sent(count, 1000000, FIRST)
        for _, client in ipairs(clients) do client:settimeout(0) end
        patience.wait_for("clients that hold memory", function()
            feed(clients, 20000)
            return figure("draft_bytes", "slated") >= 2 << 20
        end)
        return clients
    end

    it("that have come free nothing when the server itself did not go on", function()
        start("-m", "32", "-t", "1")
        local client, bytes = connect(), large_set(1)
        assert(client:send(bytes:sub(1, 300000)))
        half_sent(30, 1000000, FIRST)
        patience.wait_for("clients that wait", function() return figure("uploads_waiting", "slated") > 0 end)
        rig.server:hold(true)
        assert(client:send(bytes:sub(300001, 300001 + FEW))) -- less than an eighth
        world.pass(1.2) -- more than the second within which an eighth must come
        rig.server:hold(false)
        assert.equal("MN", ask(connect(), "mn\r\n")) -- the worker has read and processed the received bytes
        assert(client:send(bytes, 300001 + FEW + 1))
        assert.equal("STORED", client:receive("*l"))
    end)

    it("that wait are closed when their clients hang up, and one that has arrived waits for none of them", function()
        start("-m", "32", "-t", "1")
        local held = holders(8)
        local before = figure("curr_connections")
        local gone = half_sent(100, 1000000, FIRST)
        patience.wait_for("clients that wait", function()
            feed(held, 1000)
            return figure("uploads_waiting", "slated") > 90
        end)
        local whole = connect()
        assert(whole:send("set whole 0 0 50000\r\n" .. ("w"):rep(50000) .. "\r\n"))
        whole:shutdown("send")
        assert.equal("STORED", whole:receive("*l"))
        close(gone)
        patience.wait_for("those that are gone", function()
            feed(held, 1000)
            return figure("curr_connections") <= before + 1
        end)
        assert.equal(0, figure("uploads_timed_out", "slated"))
        assert.equal(1, figure("cmd_set"), "they are noticed before those that hold memory have come to their end")
    end)

    it("that are large do not keep small ones from storing, arrived whole or not", function()
        start("-m", "32", "-t", "1")
        local held = holders(8)
        patience.wait_for("clients that wait", function()
            feed(held, 1000)
            return figure("uploads_waiting", "slated") > 0
        end)
        for _, bytes in ipairs({ 50000, 250000 }) do
            assert.equal("STORED", ask(connect(), ("set k 0 0 %d\r\n%s\r\n"):format(bytes, ("v"):rep(bytes))))
        end
        assert.equal(0, figure("uploads_timed_out", "slated"), "before those that hold memory have come to their end")
    end)

    it("that are large and slow do not give way to small ones, which have memory of their own", function()
        start("-m", "32", "-t", "1")
        local large = half_sent(1, 1000000, FIRST)[1]
        patience.wait_for("its memory", function() return figure("draft_bytes", "slated") > 0 end)
        half_sent(20, 240000, 120000)
        patience.wait_for("small ones to be late", function() return figure("uploads_timed_out", "slated") >= 4 end)
        assert.equal("STORED", ask(large, ("x"):rep(1000000 - FIRST) .. "\r\n"))
    end)

    it("that wait for too long are refused while others hold the memory, and their clients go on", function()
        start("-m", "32", "-I", "8m", "--value-timeout=1", "-t", "1")
        local held = half_sent(1, 8000000, FIRST)
        held[1]:settimeout(0)
        patience.wait_for("a client that holds the memory", function()
            feed(held, 100000)
            return figure("draft_bytes", "slated") >= 2 << 20 -- a value counts for half of the bound at most
        end)
        local waiting = half_sent(20, 1000000, FIRST)
        patience.wait_for("those that wait to be refused", function()
            feed(held, 10000) -- a megabyte a second, or less
            return figure("uploads_timed_out", "slated") >= #waiting
        end)
        assert.is_true(figure("draft_bytes", "slated") >= 2 << 20, "the one that holds memory was late, too")
        for _, client in ipairs(waiting) do
            assert.equal("SERVER_ERROR out of memory storing object", client:receive("*l"))
        end
        assert.equal("MN", ask(waiting[1], ("w"):rep(1000000 - FIRST) .. "\r\nmn\r\n"))
    end)

    it("do not wait when all their bytes are at hand", function()
        start("-m", "32")
        half_sent(30, 1000000, FIRST)
        half_sent(270, 7000, FIRST)
        patience.wait_for("all to have come", function() return count_state("conn_nread") == 300 end)
        local waited, client = figure("uploads_waited", "slated"), connect()
        for _, bytes in ipairs({ 7000, 3000, FIRST + 1, FIRST, 100 }) do
            assert.equal("STORED", ask(client, ("set k%d 0 0 %d\r\n%s\r\n"):format(bytes, bytes, ("k"):rep(bytes))))
        end
        assert.equal(waited, figure("uploads_waited", "slated"))
    end)

    it("do not wait behind hundreds that stopped", function()
        start("-m", "32", "-t", "2")
        for i = 1, 2 do
            until_waiting(300, 1000000, 20000)
            store_whole(i)
            assert.is_true(figure("uploads_waiting", "slated") > 0, "of those that came first some still wait")
        end
        assert.is_true(figure("uploads_waited", "slated") > 0)
    end)

    it("are refused as for want of memory when their bytes stop, and the client goes on", function()
        start("-m", "32", "--value-timeout=1")
        local cases = {
            { "set a 0 0 5000", "a", "EN" }, { "add b 0 0 5000", "b", "EN" }, { "append c 0 0 5000", "c", "HD" },
            { "ms d 5000", "d", "EN" }, { "ms e 5000 MR", "e", "EN" }, { "set f 0 0 5000 noreply", "f", "EN" },
        }
        local clients = {}
        for i, case in ipairs(cases) do
            clients[i] = connect()
            if case[2] ~= "b" then
                assert.equal("STORED", ask(clients[i], ("set %s 0 0 3\r\nold\r\n"):format(case[2])))
            end
            assert(clients[i]:send(case[1] .. "\r\n" .. ("n"):rep(3000)))
        end
        patience.wait_for("all to be late", function() return figure("uploads_timed_out", "slated") == #cases end)
        assert.equal(0, figure("draft_bytes", "slated"))
        for i, case in ipairs(cases) do
            if not case[1]:find("noreply", 1, true) then
                assert.equal("SERVER_ERROR out of memory storing object", clients[i]:receive("*l"), case[1])
            end
            assert.equal(case[3], ask(clients[i], ("n"):rep(2000) .. ("\r\nmg %s\r\n"):format(case[2])), case[1])
        end
    end)

    it("take no memory when their condition does not hold", function()
        start("-m", "32", "-o", "slab_automove=0") -- otherwise pages would go on to move for the stored one
        fill()
        local client, big = connect(), ("b"):rep(900000)
        assert.equal("STORED", ask(client, ("set there 0 0 500000\r\n%s\r\n"):format(("t"):rep(500000))))
        local cases = {
            { "replace missing 0 0 900000", "NOT_STORED" },
            { "append missing 0 0 900000", "NOT_STORED" },
            { "cas missing 0 0 900000 1", "NOT_FOUND" },
            { "cas there 0 0 900000 18446744073709551615", "EXISTS" },
            { "add there 0 0 900000", "NOT_STORED" },
            { "append there 0 0 900000", "NOT_STORED" }, -- together they are larger than an item may be
            { "ms missing 900000 MR", "NS" },
            { "ms there 900000 ME", "NS" },
            { "ms there 900000 C18446744073709551615", "EX" },
        }
        local evictions, sets = figure("evictions"), figure("cmd_set")
        for _, case in ipairs(cases) do
            assert.equal(case[2], ask(client, ("%s\r\n%s\r\n"):format(case[1], big)), case[1])
            assert.equal("CLIENT_ERROR bad data chunk", ask(client, ("%s\r\n%sxx"):format(case[1], big)), case[1])
            assert.equal(0, figure("draft_bytes", "slated"), case[1])
        end
        assert.equal(evictions, figure("evictions"))
        assert.is_true(figure("cmd_set") >= sets + #cases - 1, "they are sets all the same")
        assert.equal("VALUE there 0 500000", ask(client, "get there\r\n"))
    end)

    it("that trickle a byte at a time are not late", function()
        start("-m", "32", "--value-timeout=1")
        local client = connect()
        assert(client:send("set k 0 0 3000\r\n" .. ("n"):rep(2996)))
        for _ = 1, 4 do
            world.pass(0.4)
            assert(client:send("n"))
        end
        assert.equal("STORED", ask(client, "\r\n"))
        assert.equal(0, figure("uploads_timed_out", "slated"))
    end)

    it("leave their pages to everyone at once when the clients go", function()
        start("-m", "32", "-o", "slab_automove=0") -- otherwise pages would go to the class that evicts
        fill()
        -- As many as may hold memory at once, and none that waits: for that one, others would give way.
        local clients = half_sent(13, 240000, 120000)
        patience.wait_for("the bytes", function() return figure("draft_bytes", "slated") >= 13 * 240000 end)
        local pages = figure("pages_out", "slated")
        close(clients)
        patience.wait_for("their pages, of which the class keeps one", function()
            return figure("pages_out", "slated") <= pages - 3
        end)
        assert.equal(0, (rig.store("m", 100, 100000)))
        local left = rig.there("m", 100)
        assert.is_true(left >= 20, left .. " of 100 are left") -- three pages hold 24 values; its own page 8
    end)
end)
