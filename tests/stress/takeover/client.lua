-- SPDX-License-Identifier: BSD-3-Clause
-- A client of a server during takeovers: stores, reads back and counts, and connects again when the server hangs up.
--
--     lua5.4 client.lua PORT NUMBER END_FILE WAIT_S
--
-- Writes a line for each round, and at the end the number of hang-ups. Ends with an error, and a sentence, when a
-- connection is refused, an acknowledged store is gone, or a reply is not complete.
local socket = require "socket"

local PORT <const>, NUMBER <const>, END_FILE <const>, WAIT_S <const> = arg[1], arg[2], arg[3], tonumber(arg[4])
local KEYS <const>, BYTES_MOST <const> = 500, 3000

local wire
local hung_up = 0
io.stdout:setvbuf("line")

local function connect()
    wire = socket.tcp()
    wire:settimeout(WAIT_S)
    local connected, why = wire:connect("127.0.0.1", PORT)
    if not connected then
        error("a connection was refused: " .. why)
    end
end

-- Sends a request and returns the result of `receive` for the reply; again, on another connection, if the server hung
-- up before it answered.
local function ask(request, receive)
    while true do
        if not wire then
            connect()
        end
        local sent = wire:send(request)
        local line, why, part
        if sent then
            line, why, part = wire:receive("*l")
        end
        if line then
            return receive(line)
        end
        if why == "timeout" or (part and part ~= "") then
            error(("no whole answer: %s %s"):format(why, part))
        end
        wire:close()
        wire = nil
        hung_up = hung_up + 1
    end
end

local function bytes_of(count)
    local bytes, why = wire:receive(count)
    if not bytes then
        error("half an answer: " .. why)
    end
    return bytes
end

local function expect(request, wanted)
    ask(request, function(line)
        if line ~= wanted then
            error(("%q and not %q"):format(line, wanted))
        end
    end)
end

local function is_to_end()
    local file <close> = io.open(END_FILE)
    return file ~= nil
end

local values = {}
local round = 0
while round % 20 ~= 0 or not is_to_end() do
    round = round + 1
    local key = ("client%s:%d"):format(NUMBER, math.random(KEYS))
    local value = ("%d:%s"):format(round, ("v"):rep(math.random(BYTES_MOST)))
    expect(("set %s 0 0 %d\r\n%s\r\n"):format(key, #value, value), "STORED")
    values[key] = value
    key = next(values, values[key] and math.random(2) == 1 and key or nil) or key
    ask(("get %s\r\n"):format(key), function(line)
        local count = tonumber(line:match("^VALUE %S+ 0 (%d+)$"))
        if not count or bytes_of(count) ~= values[key] or bytes_of(7) ~= "\r\nEND\r\n" then
            error(("%q is lost: %q"):format(key, line))
        end
    end)
    print(round)
end
print(hung_up .. " hung up on")
