-- SPDX-License-Identifier: BSD-3-Clause
-- Bad and greedy clients: each gets the documented reply or is hung up on, and no other client suffers. abuse_cost_spec
-- has the cost of many. SLATE_TEST_SERVER chooses the server.
local patience = require "support.patience"
local socket = require "socket"
local rig = require("support.rig").new(after_each, "-c", "2400")
local wire = require "support.wire"
require "support.world"

local MIB <const> = 1048576

local start, connect = rig.start, rig.connect

-- Sends a line and returns the first line of the reply, or nil and why.
local function ask(connection, line)
    connection:send(line .. "\r\n")
    return connection:receive("*l")
end

-- The server accepts a new client and answers.
local function assert_serves()
    local connection = connect()
    assert.equal("STORED", ask(connection, "set alive 0 0 2\r\nhi"))
    assert.equal("VALUE alive 0 2", ask(connection, "get alive"))
    connection:close()
end

-- True when the server hangs up without a word.
local function hangs_up(connection)
    local bytes, problem, partial = connection:receive("*a")
    return (bytes or partial) == "" and problem ~= "timeout"
end

local function open_files_limit()
    for line in io.lines("/proc/self/limits") do
        local soft = line:match("^Max open files%s+(%d+)")
        if soft then
            return tonumber(soft)
        end
    end
    return 1024
end

describe("lines", function()
    it("without an end are hung up on, however long, and cost no memory", function()
        rig.start_process()
        assert_serves()
        local before = rig.server:resident_bytes()
        for _ = 1, 20 do
            local connection = connect()
            connection:send(("x"):rep(MIB))
            assert.is_true(hangs_up(connection))
            connection:close()
        end
        assert_serves()
        assert.is_true(rig.server:resident_bytes() - before < 8 * MIB)
    end)

    it("that are half there cost no more than a read buffer each", function()
        rig.start_process()
        assert_serves()
        local before = rig.server:resident_bytes()
        local count, connections = math.min(500, open_files_limit() - 100), {}
        for i = 1, count do
            connections[i] = connect()
            connections[i]:send("set key 0 0 5" .. (" "):rep(2000))
        end
        local watcher = connect()
        patience.wait_for("the bytes to be read", function()
            return wire.number(watcher, "bytes_read") >= count * 2000
        end)
        assert.is_true(rig.server:resident_bytes() - before < count * 24 * 1024)
        for _, connection in ipairs(connections) do
            assert.equal("STORED", ask(connection, "\r\nvalue"))
        end
    end)
end)

describe("idle connections", function()
    local count = math.min(2000, open_files_limit() - 200)

    it(("by the thousand (%d) cost little memory and slow nobody"):format(count), function()
        rig.start_process()
        assert_serves()
        local before = rig.server:resident_bytes()
        local connections = {}
        for i = 1, count do
            connections[i] = connect()
            assert.matches("^VERSION ", (ask(connections[i], "version")))
        end
        local watcher = connect()
        assert.is_true(wire.number(watcher, "curr_connections") >= count)
        local each = (rig.server:resident_bytes() - before) / count
        assert.is_true(each < 4096, ("%.0f bytes each"):format(each))
        assert_serves()
        for i = 1, count, count // 20 do
            assert.matches("^VERSION ", ask(connections[i], "version"))
        end
        for _, connection in ipairs(connections) do connection:close() end
        patience.wait_for("the server to let them go", function()
            return wire.number(watcher, "curr_connections") <= 2
        end)
    end)
end)

describe("keys", function()
    -- A server's own order of the same keys, by their hashes.
    local function order_of_keys()
        start()
        local connection = connect()
        for i = 1, 100 do
            assert.equal("STORED", ask(connection, ("set key%d 0 0 1\r\nv"):format(i)))
        end
        local keys = {}
        local line = ask(connection, "lru_crawler metadump hash")
        while line and line ~= "END" do
            keys[#keys + 1] = line:match("^key=(%S+)")
            line = connection:receive("*l")
        end
        assert.equal(100, #keys)
        rig.stop()
        return table.concat(keys, " ")
    end

    it("have other hashes in every process, so that nobody can choose those that collide", function()
        assert.not_equal(order_of_keys(), order_of_keys())
    end)
end)

-- Sends the line so many times at once, as far as the socket takes it, on a connection of its own that does not read.
local function deaf(count, line)
    local connection = connect()
    connection:settimeout(0)
    connection:send((line .. "\r\n"):rep(count))
    connection:settimeout(patience.DEADLINE_S)
    return connection
end

describe("clients that do not read", function()
    it("cannot keep a value from being replaced or deleted, and get the requested value after all", function()
        start()
        local writer = connect()
        assert.equal("STORED", ask(writer, "set k 0 0 500000\r\n" .. ("v"):rep(500000)))
        local greedy = deaf(500, "get k")
        assert.equal("VALUE k 0 500000", greedy:receive("*l"))
        assert.equal("STORED", ask(writer, "set k 0 0 3\r\nnew"))
        assert.equal("VALUE k 0 3", ask(writer, "get k"))
        assert.same({ "new", "END" }, { writer:receive("*l"), writer:receive("*l") })
        assert.equal("DELETED", ask(writer, "delete k"))
        assert.equal(("v"):rep(500000), greedy:receive(500000))
        greedy:close()
    end)

    for line, count in pairs({ ["get borrowed"] = 1000, ["stats conns"] = 200 }) do
        it(("what was asked by %s cost no more than 32 KiB each, and others are served"):format(line), function()
            rig.start_process()
            assert.equal(0, (rig.store("key", 20000, 1)))
            assert.equal("STORED", wire.ask(rig.connection, "set borrowed 0 0 20000\r\n" .. ("v"):rep(20000)))
            local before, clients = rig.server:resident_bytes(), {}
            for i = 1, 100 do clients[i] = deaf(count, line) end
            for _ = 1, 50 do -- as long as there are replies at all
                assert.equal("MN", wire.ask(rig.connection, "mn"))
                socket.sleep(0.002)
            end
            local grown = rig.server:resident_bytes() - before
            assert.is_true(grown < 100 * 32 * 1024 + 6 * MIB, ("%.1f MiB more"):format(grown / MIB))
            assert.truthy(clients[1]:receive("*l")) -- the memory and connections after all is read
        end)
    end
end)

describe("clients that do not read values which are replaced meanwhile", function()
    local ITEMS <const>, VALUE_BYTES <const>, READERS <const> = 60000, 900000, 80

    -- Stores one large value again and again; after each store a client requests the value, more often than sockets
    -- hold, and reads only the beginning.
    local function pin(writer)
        local value, stored = ("v"):rep(VALUE_BYTES), 0
        for _ = 1, READERS do
            if wire.ask(writer, ("set large 0 0 %d\r\n%s"):format(VALUE_BYTES, value)) == "STORED" then
                stored = stored + 1
                local reader = deaf(12, "get large")
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
            local writer = rig.connection
            assert.equal(0, (rig.store("key", ITEMS, 100)))
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
        assert.equal("MN", wire.ask(other, "mn"))
        local before = rig.server:resident_bytes()
        for _ = 1, 10 do
            local connection = connect()
            connection:send("get " .. ("x"):rep(4096))
            assert.equal("CLIENT_ERROR bad command line format", connection:receive("*l"))
            assert.equal("", connection:receive("*l"))
            connection:send(("x"):rep(2 * MIB) .. "\r\nmn\r\n")
            assert.equal("MN", connection:receive("*l")) -- after its end the connection goes on
        end
        assert.is_true(rig.server:resident_bytes() - before < 4 * MIB)
    end)

    it("of good keys is answered while it arrives, in bounded memory", function()
        rig.start_process()
        local other, connection = connect(), connect()
        assert.equal("STORED", wire.ask(other, "set k 0 0 1\r\nv"))
        local before = rig.server:resident_bytes()
        connection:send("get k " .. ("missing "):rep(MIB // 2))
        assert.equal("VALUE k 0 1", connection:receive("*l"))
        assert.equal("v", connection:receive("*l"))
        assert.equal("MN", wire.ask(other, "mn"))
        assert.is_true(rig.server:resident_bytes() - before < 4 * MIB)
        connection:send("k\r\n")
        for _, line in ipairs({ "VALUE k 0 1", "v", "END" }) do
            assert.equal(line, connection:receive("*l"))
        end
    end)
end)

describe("an answer that another thread makes", function()
    it("is waited for without a turn of the worker", function()
        start("-t", "1", "-m", "64")
        local writer = rig.connection
        assert.equal(0, (rig.store("key", 30000, function(i) return i % 900 end)))
        local before = wire.number(writer, "batches", "slated")
        for _ = 1, 5 do
            assert.matches("^PREDICTED ", wire.ask(writer, "slabs geometry factor 1.5 dry"))
        end
        local turns = wire.number(writer, "batches", "slated") - before
        assert.is_true(turns <= 20, ("%d turns for five answers"):format(turns))
    end)
end)
