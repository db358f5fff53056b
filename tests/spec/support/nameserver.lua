-- SPDX-License-Identifier: BSD-3-Clause
--- A name server on loopback, for specs: `lua5.4 nameserver.lua FILE PORT`. It answers by UDP and TCP on a port of its
-- own, which it writes into FILE, about the names below; PORT is that of the services. It runs until it is killed.
local socket = require "socket"

local SERVICE_PORT <const> = tonumber(arg[2])
local A <const>, AAAA <const>, SRV <const> = 1, 28, 33
local QUESTION_AT <const> = "\xC0\x0C" -- the name of the question, where it stands

local function name_bytes(name)
    return (name:gsub("([^.]+)%.?", function(label) return ("s1"):pack(label) end)) .. "\0"
end

local function service(priority, weight, host, port)
    return (">I2I2I2"):pack(priority, weight, port) .. name_bytes(host)
end

local MANY <const> = {}
for i = 1, 40 do
    MANY[i] = service(1, 1, ("host-with-a-long-name-%d.example.test"):format(i), 11211)
end

-- By name and type: the data of records; a number is a status.
local KNOWN <const> = {
    ["_cache._tcp.test"] = { [SRV] = { service(20, 0, "c.test", SERVICE_PORT), service(10, 5, "b.test", SERVICE_PORT),
        service(10, 7, "a.test", SERVICE_PORT) } },
    ["_one._tcp.test"] = { [SRV] = { service(1, 1, "a.test", SERVICE_PORT) } },
    ["_many._tcp.test"] = { [SRV] = MANY },
    ["_odd._tcp.test"] = { [SRV] = { service(1, 1, "a b.test", 1) } },
    ["_loop._tcp.test"] = { [SRV] = { (">I2I2I2"):pack(1, 1, 1) .. "\xC0\x0C" .. "\0" } },
    ["_ends._tcp.test"] = { [SRV] = { "\0\1" } },
    ["a.test"] = { [A] = { "\127\0\0\1" } },
    ["b.test"] = { [A] = { "\127\0\0\2" } },
    ["c.test"] = { [A] = { "\127\0\0\3", "\127\0\0\1" }, [AAAA] = { ("\0"):rep(15) .. "\1" } },
    ["refused.test"] = 5,
}
-- Its pointer leads to itself.
KNOWN["_loop._tcp.test"][SRV][1] = (">I2I2I2"):pack(1, 1, 1) .. "\xC0" .. string.char(12 + 21 + 12 + 6)

local function question_of(message)
    local labels, at = {}, 13
    while message:byte(at) ~= 0 do
        local label = (">s1"):unpack(message, at)
        labels[#labels + 1], at = label:lower(), at + 1 + #label
    end
    return table.concat(labels, "."), (">I2"):unpack(message, at + 1), message:sub(13, at + 4)
end

local function answer(message, most_bytes)
    local name, kind, question = question_of(message)
    local known = KNOWN[name]
    local status = type(known) == "number" and known or not known and 3 or 0
    local parts = {}
    for i, data in ipairs(type(known) == "table" and known[kind] or {}) do
        parts[i] = QUESTION_AT .. (">I2I2I4s2"):pack(kind, 1, 60, data)
    end
    local body = table.concat(parts)
    local is_cut = #body > most_bytes
    return message:sub(1, 2) .. (">I2I2I2I2I2"):pack(0x8180 | status | (is_cut and 0x0200 or 0), 1,
        is_cut and 0 or #parts, 0, 0) .. question .. (is_cut and "" or body)
end

local listener = assert(socket.bind("127.0.0.1", 0))
local _, port = listener:getsockname()
local datagrams = assert(socket.udp())
assert(datagrams:setsockname("127.0.0.1", tonumber(port)))
local file = assert(io.open(arg[1] .. ".new", "w"))
file:write(port)
file:close()
assert(os.rename(arg[1] .. ".new", arg[1]))

while true do
    local ready = socket.select({ listener, datagrams })
    if ready[datagrams] then
        local message, host, from = datagrams:receivefrom()
        -- What another one would send who guesses comes first: it must be passed over.
        datagrams:sendto("\0\0" .. answer(message, 400):sub(3), host, from)
        datagrams:sendto(answer(message, 400), host, from)
    end
    if ready[listener] then
        local peer = listener:accept()
        peer:settimeout(5)
        local length = peer:receive(2)
        local message = length and peer:receive(((">I2"):unpack(length)))
        if message then
            peer:send((">s2"):pack(answer(message, 1 << 16)))
        end
        peer:close()
    end
end
