-- SPDX-License-Identifier: BSD-3-Clause
--- A stream of a server's log (of slate.console.stream) that goes into a log of slate.console.watch_log.
--
-- A stream is read at most ten times a second, a piece a time: a busy server costs slatetop little, drops the other
-- lines, and reports their number.
local stream = require "slate.console.stream"
local watch_log = require "slate.console.watch_log"

local M = {}

local PAUSE_S <const> = 0.1

local Watch = {}
Watch.__index = Watch
Watch.__name = "slate.console.watch"

--- Watches a stream on a new connection.
function M.start(server, access, name)
    local log = watch_log.new(name, "connecting")
    return setmetatable({ log = log,
        stream = stream.open(server, access, name, function(text) watch_log.take(log, text) end) }, Watch)
end

--- A stream that was not started, and why.
function M.refuse(name, why)
    return setmetatable({ log = watch_log.new(name, why), stream = stream.refuse(why) }, Watch)
end

--- Reads what has come; true when there is something new to draw.
function Watch:step(now_s)
    if self.next_s and now_s < self.next_s then
        return false
    end
    local log = self.log
    local before, note_before = log.shown + log.lost, log.note
    self.stream:step(now_s)
    log.note = self.stream.note
    local has_lines = log.shown + log.lost ~= before
    self.next_s = has_lines and log.shown > 0 and now_s + PAUSE_S or nil
    return has_lines or log.note ~= note_before
end

--- When to call step next; nil: when something comes.
function Watch:due_s()
    return self.next_s or self.stream:due_s()
end

--- The client to wait for; nil while nothing is read.
function Watch:polled()
    return not self.next_s and self.stream:polled() or nil
end

function Watch:close()
    self.stream:close()
end

return M
