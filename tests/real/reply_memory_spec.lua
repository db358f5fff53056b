-- SPDX-License-Identifier: BSD-3-Clause
-- read_buf_mem_limit when reached, on slated and on memcached 1.6.45: which clients are refused, in which words, and
-- the counters. One thing differs (slated(8)): memcached takes memory for each key of a get before it sends anything,
-- slated for bytes that a client does not take. So memcached refuses a long get, which slated answers, and in memcached
-- clients that do not read shut out others.
local known = require "proto.memcached"
local patience = require "support.patience"
local rig = require("support.rig").new(after_each)
local server = require "support.server"
local wire = require "support.wire"

local SENTENCE <const> = "SERVER_ERROR out of memory writing get response"
local LIMIT <const> = { "-t", "1", "-o", "read_buf_mem_limit=1" }
local VALUE_BYTES <const> = 2000
local LONG_GET <const> = 2000   -- keys: 4 MB of replies, and more than the 832 that memcached has memory for
local HALVES <const> = 300 -- clients: of 4,480 bytes each on slated, of 16 KiB on memcached

describe("a server whose connections may hold 1 MiB", function()
    local connect, hang_up, ask = rig.connect, rig.hang_up, wire.ask

    -- A number from the statistics; nil when there is no memory for the reply.
    local function stat(name)
        local connection = wire.connect(rig.server.address)
        local told, value = pcall(wire.number, connection, name)
        connection:close()
        return told and value or nil
    end

    local function start()
        rig.start(table.unpack(LIMIT))
        assert.equal("STORED", ask(connect(), ("set k 0 0 %d\r\n%s"):format(VALUE_BYTES, ("v"):rep(VALUE_BYTES))))
    end

    -- After its sentence memcached 1.6.45 sends bytes from its stack.
    local function is_sentence(line)
        return line ~= nil and line:sub(1, #SENTENCE) == SENTENCE
    end

    -- Reads the reply to a get of k; "END", the sentence, or nil when the connection ends. Values must be whole.
    local function reply(connection)
        local line, count = connection:receive("*l"), 0
        while line == ("VALUE k 0 %d"):format(VALUE_BYTES) do
            local value = connection:receive(VALUE_BYTES + 2)
            if not value then
                return nil, count
            end
            assert.equal(("v"):rep(VALUE_BYTES) .. "\r\n", value)
            line, count = connection:receive("*l"), count + 1
        end
        return line, count
    end

    local function get(connection)
        connection:send("get k\r\n")
        return (reply(connection))
    end

    for _, peer in ipairs(server.all()) do
        local stock = not peer.is_slated
        if peer.is_slated or peer.name:find(known.NEWEST, 1, true) then
            local function start_peer()
                rig.binary = stock and peer.binary or nil
                start()
            end

            it(("refuses a long get in the middle, or answers it (%s)"):format(peer.name), function()
                start_peer()
                local connection = connect()
                connection:send("get" .. (" k"):rep(LONG_GET) .. "\r\n")
                local last, count = reply(connection)
                assert.is_true(stock and is_sentence(last) or last == "END", last)
                assert.equal(stock and 0 or LONG_GET, count)
                connection:send("mn\r\n")
                repeat
                    last = connection:receive("*l")
                until not stock or last == "MN" or last == nil
                assert.equal("MN", last)
                assert.equal(stock and 1 or 0, stat("response_obj_oom"))
            end)

            it(("hangs up on who would hold too much of a request, and counts it (%s)"):format(peer.name), function()
                start_peer()
                local halves = {}
                for i = 1, HALVES do
                    halves[i] = connect()
                    halves[i]:send("get half of ")
                end
                patience.wait_for("one to be hung up on", function()
                    for _, connection in ipairs(halves) do
                        connection:settimeout(0)
                        local line, why = connection:receive("*l")
                        connection:settimeout(patience.DEADLINE_S)
                        if why == "closed" then
                            assert.is_nil(line)
                            return true
                        end
                    end
                end)
                hang_up()
                patience.wait_for("it to be counted", function() return (stat("read_buf_oom") or 0) > 0 end)
                assert.equal("END", get(connect()))
            end)
        end
    end
end)
