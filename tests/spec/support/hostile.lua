-- SPDX-License-Identifier: BSD-3-Clause
--- A server that misbehaves, for specs: `lua5.4 hostile.lua SOCKET BEHAVIOUR`.
-- Serves connections one after the other until it is killed. With `gather N` it waits until N are there, hangs up on
-- all of them and ends.
local unix = require "socket.unix"

local path, behaviour = arg[1], arg[2]
local listener = unix.stream()
-- Under its name only once it listens: who waits for the name may connect at once.
assert(listener:bind(path .. ".new"))
assert(listener:listen())
assert(os.rename(path .. ".new", path))

local BEHAVIOURS <const> = {
    silence = function(peer) peer:receive("*a") end,
    hangup = function() end,
    http = function(peer)
        peer:receive("*l")
        peer:send("HTTP/1.1 400 Bad Request\r\n\r\n")
    end,
    endless_line = function(peer)
        while peer:send(("x"):rep(65536)) do end -- until the other side has had enough
    end,
    -- An honest start, then half a reply.
    torn = function(peer)
        peer:receive("*l")
        peer:send("VERSION 1.6.45\r\nERROR\r\nSTAT pid 1\r\nSTAT upti")
    end,
    escape = function(peer)
        for line in function() return peer:receive("*l") end do
            peer:send(line == "version" and "VERSION \27]0;owned\7\27[31m1.6.18\r\n"
                or "STAT version \27]0;owned\7\27[2J\r\nSTAT 1:chunk_size 96\r\nSTAT 1:total_pages 3\r\nEND\r\n")
        end
    end,
    unreadable = function(peer)
        peer:receive("*l")
        peer:send("\27]0;owned\7\r\n")
    end,
}

if behaviour == "gather" then
    local peers = {}
    for i = 1, tonumber(arg[3]) do
        peers[i] = assert(listener:accept())
    end
    for _, peer in ipairs(peers) do
        peer:close()
    end
    os.exit(true)
end

while true do
    local peer = assert(listener:accept())
    BEHAVIOURS[behaviour](peer)
    peer:close()
end
