-- SPDX-License-Identifier: BSD-3-Clause
--- A server for each claim of a spec, and connections to it; they end after the claim.
--
--     local rig = require("support.rig").new(after_each, "-m", "16")
--     rig.start("-t", "2")                    -- slated with the words above and these
--     rig.ask("version")                      --> "VERSION 1.6.45"
--     rig.lines("stats slabs")                --> { "STAT …", …, "END" }
--     rig.stats("settings").num_threads       --> "2"
--     rig.number("curr_items")                --> 0
local server = require "support.server"
local wire = require "support.wire"

local M = {}

--- A rig for the claims of a block or a file, whose `after_each` it is given; the words are each server's first.
-- Its fields: server (of support.server), connection (the one that ask, lines, stats, names and number use; opened when
-- it is first needed), binary (what to start in the place of slated, until the claim ends).
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
        for _, connection in ipairs(opened) do
            connection:close()
        end
        opened, rig.connection = {}, nil
    end

    --- Ends the server before the claim ends; one of slated must have ended well.
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
