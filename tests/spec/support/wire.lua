-- SPDX-License-Identifier: BSD-3-Clause
--- Bare connections to a server, for specs that compare replies line by line.
--
--     local wire = require "support.wire"
--     local connection = wire.connect(one.address)   -- a socket's path or host:port
--     wire.ask(connection, "version")                --> "VERSION 1.6.45"
--     wire.lines(connection, "stats slabs")          --> { "STAT …", …, "END" }
--     wire.stats(connection, "settings")             --> { names in order }, { name = value }
--     wire.number(connection, "curr_items")          --> 0
local socket = require "socket"
local unix = require "socket.unix"

local M = {}

local DEADLINE_S <const> = 300 -- only a hang takes that long

local LAST <const> = { END = true, EN = true, OK = true, RESET = true, ERROR = true }

--- A new connection.
function M.connect(address)
    local host, port = address:match("^([%d.]+):(%d+)$")
    local connection = host and socket.tcp() or unix.stream()
    assert(connection:connect(host or address, host and tonumber(port)))
    connection:settimeout(DEADLINE_S)
    return connection
end

--- Sends a line; returns the first line of the reply, or nil and why.
function M.ask(connection, line)
    assert(connection:send(line .. "\r\n"))
    return connection:receive("*l")
end

--- Sends a line; returns all lines of the reply, with the last one.
function M.lines(connection, line)
    assert(connection:send(line .. "\r\n"))
    local lines = {}
    repeat
        local got = assert(connection:receive("*l"))
        lines[#lines + 1] = got
    until LAST[got] or got:find("^%u+_ERROR")
    return lines
end

--- The names of `stats GROUP` in order, and their values.
function M.stats(connection, group)
    local names, values = {}, {}
    for _, line in ipairs(M.lines(connection, group and "stats " .. group or "stats")) do
        local name, value = line:match("^STAT (%S+) (.*)$")
        if name then
            names[#names + 1] = name
            values[name] = value
        end
    end
    return names, values
end

--- One of the statistics as a number; nil when it is missing or no number.
function M.number(connection, name, group) return tonumber((select(2, M.stats(connection, group)))[name]) end

return M
