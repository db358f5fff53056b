-- SPDX-License-Identifier: BSD-3-Clause
--- Requests as a trace: lines of `milliseconds verb key size ttl class`, from the lines that a server's watchers get.
-- Pure.
--
--     local maker = trace.new({ sampled = function(key) … end, name = function(key) … end })
--     for each line of the log: for _, text in ipairs(maker:take(line)) do write(text) end
--     for _, text in ipairs(maker:remainder()) do write(text) end
--
-- Every command looks its key up first, and the log shows that as a read. So a read waits until it is clear that no
-- store or delete of the same key by the same connection follows; such a command follows at once.
local keydump = require "slate.wire.keydump"

local M = {}

local HELD_MS <const> = 1000 -- a read that waited so long was a command of its own
local SECONDS_MOST <const> = 1 << 40
local HELD_MOST <const> = 10000
local COUNT_MOST <const> = 1 << 53
local TTL_MOST_S <const> = 0x7fffffff -- a larger one is a wrapped number, of an item that has expired already

--- The first line of a trace. from: the source of the trace.
function M.head(one_in, from)
    return ("# slate trace 1 sample=1/%d from=%s\n"):format(one_in, from)
end

--- Makes names for keys by a hash, which reveal only the length of the key: 11 letters for 64 bits, followed by dots.
-- The length stays because an item's memory depends on it.
function M.anonymous(hash)
    local letters <const> = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
    return function(key)
        local bits, name = hash(key), {}
        for i = 1, 11 do
            local at = bits & 63
            name[i] = letters:sub(at + 1, at + 1)
            bits = bits >> 6
        end
        local text = table.concat(name)
        return text .. ("."):rep(#key - #text)
    end
end

--- A key in the form of a trace: without blanks and control characters, up to 250 bytes.
function M.plain(key)
    if key:find("[%c ]") then
        key = key:gsub("[%c %%]", function(c) return ("%%%02X"):format(c:byte()) end)
    end
    return key:sub(1, 250)
end

local Maker = {}
Maker.__index = Maker
Maker.__name = "slate.facts.trace"

--- options: sampled(key), true if a key is in the sample (nil: the server samples); name(key), the key's name in the
-- trace.
function M.new(options)
    return setmetatable({ options = options, queue = {}, first = 1, last = 0, written = 0, skipped = 0,
        open = {}, -- the waiting read of each connection,
        of_key = {}, -- and the last one of each key
    }, Maker)
end

-- Ends the wait of a read.
local function close(self, one)
    if one.is_open then
        one.is_open = false
        self.open[one.connection] = self.open[one.connection] ~= one and self.open[one.connection] or nil
        self.of_key[one.key] = self.of_key[one.key] ~= one and self.of_key[one.key] or nil
    end
end

-- The lines to write: all before the oldest read that still waits.
local function ready(self, now_ms)
    local list = {}
    while self.first <= self.last do
        local one = self.queue[self.first]
        if one.is_open and now_ms - one.ms < HELD_MS and self.last - self.first < HELD_MOST then
            break
        end
        self.queue[self.first] = nil
        self.first = self.first + 1
        close(self, one)
        if not one.is_dropped then
            list[#list + 1] = ("%d %s %s %s %s %s\n"):format(one.ms, one.verb, one.name, one.bytes or "-",
                one.ttl_s or "-", one.class or "-")
        end
    end
    self.written = self.written + #list
    return list
end

-- Settles the waiting read of the same connection: the read was a command of its own, unless this event is a store or
-- delete of its key. The log of a delete lacks the connection.
local function settle(self, connection, event)
    local held = connection and self.open[connection] or not connection and self.of_key[event.key]
    if held then
        close(self, held)
        held.is_dropped = event.verb ~= "get" and held.key == event.key
    end
end

local VERBS <const> = { item_get = "get", item_store = "set", deleted = "delete" }

local function event_of(line)
    local seconds, micros, kind, key, remainder = line:match("^ts=(%d+)%.(%d+) gid=%d+ type=(%S+) key=(%S+)(.*)")
    local verb, whole = VERBS[kind], math.tointeger(tonumber(seconds))
    local parts = math.tointeger(tonumber(micros))
    if not (verb and whole and parts) or whole > SECONDS_MOST then
        return nil
    end
    return { verb = verb, ms = whole * 1000 + parts // 1000, key = keydump.unescaped(key),
        status = remainder:match(" status=(%S+)"), connection = remainder:match(" cfd=(%S+)"),
        bytes = math.tointeger(tonumber(remainder:match(" size=(%d+)"))),
        ttl_s = math.tointeger(tonumber(remainder:match(" ttl=(%-?%d+)"))),
        class = math.tointeger(tonumber(remainder:match(" clsid=(%d+)"))) }
end

-- The request of an event, in the trace's form; nil for a store that failed.
local function request_of(event)
    if event.verb == "get" then
        local found = event.status == "found"
        return { verb = "get", bytes = found and event.bytes or nil, class = found and event.class or nil }
    elseif event.verb == "set" and event.status ~= "stored" then
        return nil
    elseif event.verb == "set" and ((event.ttl_s or 0) < 0 or (event.ttl_s or 0) > TTL_MOST_S) then
        return { verb = "delete", class = event.class }
    elseif event.verb == "set" then
        return { verb = "set", bytes = event.bytes, ttl_s = event.ttl_s or 0, class = event.class }
    end
    return { verb = "delete", class = event.class }
end

--- Takes a line of the log. Returns the lines of the trace that are ready, with their line feeds.
function Maker:take(line)
    local skipped = line:match("^skipped=(%d+)")
    if skipped then
        local count = math.tointeger(tonumber(skipped)) or COUNT_MOST
        self.skipped = math.min(self.skipped + math.min(count, COUNT_MOST), COUNT_MOST)
        return {}
    end
    local event = event_of(line)
    if not event or (self.options.sampled and not self.options.sampled(event.key)) then
        return {}
    end
    self.start_ms = self.start_ms or event.ms
    local ms = math.max(0, event.ms - self.start_ms)
    local connection = event.connection
    settle(self, connection, event)
    local request = request_of(event)
    if request then
        request.ms, request.key, request.name = ms, event.key, self.options.name(event.key)
        if event.verb == "get" and connection then
            request.is_open, request.connection = true, connection
            self.open[connection], self.of_key[event.key] = request, request
        end
        self.last = self.last + 1
        self.queue[self.last] = request
    end
    return ready(self, ms)
end

--- The lines of waiting reads, after the last line of the log.
function Maker:remainder()
    return ready(self, math.huge)
end

return M
