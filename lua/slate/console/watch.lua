-- SPDX-License-Identifier: BSD-3-Clause
--- A stream of a server's log, by `watch` on a connection of its own, into a log of slate.console.watch_log. The server
--- drops lines that are too many for the server or for slatetop.
--
-- A stream is read at most ten times a second, a piece a time: a busy server costs slatetop little, drops the other
-- lines, and reports their number.
local connection = require "slate.console.connection"
local printable = require("slate.wire.request").printable
local watch_log = require "slate.console.watch_log"

local M = {}

local PAUSE_S <const>, QUOTED_BYTES <const> = 0.1, 60

local Watch = {}
Watch.__index = Watch
Watch.__name = "slate.console.watch"

--- Watches a stream on a new connection.
function M.start(server, access, stream)
    return setmetatable({ log = watch_log.new(stream, "connecting"), connection = connection.new(server, access),
        generation = 0 }, Watch)
end

--- A stream that was not started, and why.
function M.refuse(stream, why)
    return setmetatable({ log = watch_log.new(stream, why) }, Watch)
end

-- Takes a reply: the first says whether the server has such a stream.
local function take(watch, text)
    local log = watch.log
    if log.note == "" then
        watch_log.take(log, text)
    elseif text:find("^OK") then
        log.note = ""
    else
        log.note = "the server has no such stream: " .. printable(text:match("^[^\r\n]*")):sub(1, QUOTED_BYTES)
        watch:close()
    end
end

--- Reads what has come; true when there is something new to draw.
function Watch:step(now_s)
    if not self.connection or self.next_s and now_s < self.next_s then
        return false
    end
    local log, one = self.log, self.connection
    local before, note_before = log.shown + log.lost, log.note
    self.next_s = nil
    one:step(now_s)
    if self.connection and one:is_up() and self.generation ~= one.generation then
        self.generation, log.note = one.generation, "asking"
        one:send("watch " .. log.stream, "stream", now_s, function(text) take(self, text) end)
        one:flush(now_s)
    elseif self.connection and one.client:state() == "down" and one.client:note() ~= "" then
        log.note = one.client:note()
    end
    local has_lines = log.shown + log.lost ~= before
    self.next_s = has_lines and log.shown > 0 and now_s + PAUSE_S or nil
    return has_lines or log.note ~= note_before
end

--- When to call step next; nil: when something comes.
function Watch:due_s()
    return self.connection and (self.next_s or self.connection.client:due_s())
end

--- The client to wait for; nil while nothing is read.
function Watch:polled()
    return self.connection and not self.next_s and self.connection.client or nil
end

function Watch:close()
    if self.connection then
        self.connection:close()
        self.connection = nil
    end
end

return M
