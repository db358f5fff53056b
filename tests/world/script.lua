-- SPDX-License-Identifier: BSD-3-Clause
-- For world_spec: a server and four clients who ask for something at random, with page moves and switches of the
-- policy. Prints every reply, and the time at which it came. `lua script.lua SEED COMMANDS`: the requests are drawn
-- from SEED.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local server = require "support.server"
local wire = require "support.wire"
local now_us = require("slate_world").now_us

local POLICIES <const> = { "lru", "slru", "sieve", "s3fifo" }
local BYTES <const> = { 60, 400, 3000, 20000, 700000 }

math.randomseed(math.tointeger(arg[1]))
local one = server.start({ args = { "-m", "16", "-t", "2", "-o", "slab_automove=1,slab_geometry_auto" } })
local clients = {}
for i = 1, 4 do
    clients[i] = wire.connect(one.address)
end

local function draw(list)
    return list[math.random(#list)]
end

local function key()
    return "key" .. math.random(500)
end

local REQUESTS <const> = {
    function()
        local bytes = draw(BYTES)
        return ("set %s 0 %d %d\r\n%s"):format(key(), math.random(0, 5), bytes, ("v"):rep(bytes))
    end,
    function() return ("set %s 0 0 400\r\n%s"):format(key(), ("v"):rep(400)) end,
    function() return "mg " .. key() .. " s t c" end,
    function() return "delete " .. key() end,
    function() return "incr " .. key() .. " 5" end,
    function() return "touch " .. key() .. " 2" end,
    function() return ("slabs reassign %d %d"):format(math.random(1, 30), math.random(0, 30)) end,
    function() return "config set policy " .. draw(POLICIES) end,
    function() return "flush_all " .. math.random(1, 3) end,
}

local asking = {}
for _ = 1, math.tointeger(arg[2]) do
    local client = clients[math.random(4)]
    if asking[client] then
        print(now_us(), client:receive("*l"))
        asking[client] = false
    elseif math.random(20) == 1 then
        require("socket").sleep(math.random())
    else
        client:send(draw(REQUESTS)() .. "\r\n")
        asking[client] = true
    end
end
for _, client in ipairs(clients) do
    print(now_us(), not asking[client] or client:receive("*l"))
end
for _, group in ipairs({ "slabs", "items" }) do
    print(table.concat(wire.lines(clients[1], "stats " .. group), "\n"))
end
print(now_us(), one:stop())
