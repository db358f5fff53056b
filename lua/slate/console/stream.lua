-- SPDX-License-Identifier: BSD-3-Clause
--- A stream of a server's log, by `watch` on a connection of its own: each line goes to a function. The server drops
--- lines that are too many for the server or for slatetop.
--
-- Fields: note (why no line comes; "" while lines come), has_failed (the server refuses, or the connection is down).
local connection = require "slate.console.connection"
local printable = require("slate.wire.request").printable

local M = {}

local QUOTED_BYTES <const> = 60

local Stream = {}
Stream.__index = Stream
Stream.__name = "slate.console.stream"

--- Opens a stream on a new connection. take(text) gets each line.
function M.open(server, access, name, take)
    return setmetatable({ name = name, note = "connecting", has_failed = false, take = take, generation = 0,
        connection = connection.new(server, access) }, Stream)
end

--- A stream that is not opened, and why.
function M.refuse(why)
    return setmetatable({ note = why, has_failed = true }, Stream)
end

-- Takes a reply: the first says whether the server may be watched.
local function take_reply(stream, text)
    if stream.note == "" then
        stream.take(text)
    elseif text:find("^OK") then
        stream.note = ""
    else
        stream.note, stream.has_failed = "the server refuses to be watched: "
            .. printable(text:match("^[^\r\n]*")):sub(1, QUOTED_BYTES), true
        stream:close()
    end
end

--- Reads what has come. A connection that is lost is made again.
function Stream:step(now_s)
    local one = self.connection
    if one then
        one:read(now_s)
        one:take(now_s)
    end
    if not self.connection then
        return
    elseif one:is_up() and self.generation ~= one.generation then
        self.generation, self.note, self.has_failed = one.generation, "asking", false
        one:send("watch " .. self.name, "stream", now_s, function(text) take_reply(self, text) end)
        one:flush(now_s)
    elseif one.client:state() == "down" and one.client:note() ~= "" then
        self.note, self.has_failed = one.client:note(), true
    end
end

--- When to call step next; nil: when something comes.
function Stream:due_s()
    return self.connection and self.connection.client:due_s() or nil
end

--- The client to wait for; nil: the stream is closed.
function Stream:polled()
    return self.connection and self.connection.client or nil
end

function Stream:close()
    if self.connection then
        self.connection:close()
        self.connection = nil
    end
end

return M
