-- SPDX-License-Identifier: BSD-3-Clause
--- A server for each claim of a spec, and connections to it; they end after the claim.
--
--     local rig = require("support.rig").new(after_each, "-m", "16")
--     rig.start("-t", "2")                    -- slated with the words above and these
--     rig.ask("version")                      --> "VERSION 1.6.45"
--     rig.lines("stats slabs")                --> { "STAT …", …, "END" }
--     rig.stats("settings").num_threads       --> "2"
--     rig.number("curr_items")                --> 0
--     rig.store("k", 1000, 100)               --> 0: none of k1 to k1000 was refused
--     rig.there("k", 1000)                    --> 1000
local server = require "support.server"
local wire = require "support.wire"

local M = {}

local PACKET_BYTES <const> = 100000

--- A rig for the claims of a block or a file, given its `after_each`; the words are each server's first. Fields: server
-- (of support.server), connection (used by ask, lines, stats, names and number; opened when first needed), binary
-- (started in place of slated, until the claim ends).
function M.new(after_each, ...)
    local rig, words, opened = {}, { ... }, {}

    --- Another connection, closed after the claim.
    function rig.connect()
        local connection = wire.connect(rig.server.address)
        opened[#opened + 1] = connection
        return connection
    end

    --- Closes the connections.
    function rig.hang_up()
        for _, connection in ipairs(opened) do connection:close() end
        opened, rig.connection = {}, nil
    end

    --- Ends the server before the claim ends; a slated must have ended well.
    function rig.stop()
        rig.hang_up()
        local one = rig.server
        rig.server = nil
        if one then
            local status, said = one:stop()
            assert(rig.binary or status == 0, ("the server ended with status %s: %s"):format(status, said))
        end
    end

    --- Starts a server with these words; transport is as for support.server, or "process": not in the world.
    function rig.start_on(transport, ...)
        rig.stop()
        local args = table.move({ ... }, 1, select("#", ...), #words + 1, table.move(words, 1, #words, 1, {}))
        rig.server = server.start({ binary = rig.binary, transport = transport, args = args,
            process = transport == "process" })
    end

    function rig.start(...) rig.start_on("unix", ...) end
    function rig.start_process(...) rig.start_on("process", ...) end
    function rig.ask(line) return wire.ask(rig.connection, line) end
    function rig.lines(line) return wire.lines(rig.connection, line) end
    function rig.names(group) return (wire.stats(rig.connection, group)) end
    function rig.stats(group) return (select(2, wire.stats(rig.connection, group))) end
    function rig.number(name, group) return wire.number(rig.connection, name, group) end

    -- Sends text(i) for each i, in packets, and hands each line of the replies to `took`.
    local function send_each(first, last, text, took)
        local parts, bytes = {}, 0
        for i = first, last do
            parts[#parts + 1] = text(i)
            bytes = bytes + #parts[#parts]
            if i == last or bytes > PACKET_BYTES then
                assert(rig.connection:send(table.concat(parts) .. "mn\r\n"))
                for line in function() return assert(rig.connection:receive("*l")) end do
                    if line == "MN" then
                        break
                    end
                    took(line)
                end
                parts, bytes = {}, 0
            end
        end
    end

    --- Stores the keys PREFIX1 to PREFIX<last> (or from `first` on), with values of so many bytes, or bytes(i). Returns
    -- the number of refused ones, and one refusal.
    function rig.store(prefix, last, bytes, first)
        local refused, refusal, values = 0, nil, {}
        send_each(first or 1, last, function(i)
            local n = type(bytes) == "function" and bytes(i) or bytes
            values[n] = values[n] or ("v"):rep(n)
            return ("ms %s%d %d q\r\n%s\r\n"):format(prefix, i, n, values[n])
        end, function(line) refused, refusal = refused + 1, line end)
        return refused, refusal
    end

    --- The number of present keys among these.
    function rig.there(prefix, last, first)
        local count = 0
        send_each(first or 1, last, function(i) return ("mg %s%d q\r\n"):format(prefix, i) end,
            function() count = count + 1 end)
        return count
    end

    after_each(function()
        rig.stop()
        rig.binary = nil
    end)
    return setmetatable(rig, { __index = function(_, name)
        if name == "connection" then
            rig.connection = rig.connect()
            return rig.connection
        end
    end })
end

return M
