-- SPDX-License-Identifier: BSD-3-Clause
--- Hot keys of a server that reports none: every read is counted for ten seconds by `watch fetchers`, on a connection
--- of its own, by the counter of slate.facts.hotkeys.
--
-- Fields: note (why nothing is counted, "" while or after it is), counter, until_s (the end of the ten seconds; nil
-- before the server agreed), hot (the result, as of slate.facts.hotkeys.parse, with `lost`; nil until it is there).
local connection = require "slate.console.connection"
local hotkeys = require "slate.facts.hotkeys"
local printable = require("slate.wire.request").printable

local M = {}

local QUOTED_BYTES <const> = 60

local Count = {}
Count.__index = Count
Count.__name = "slate.console.key_count"

--- Begins to count. model: of the server, whose snapshots have the lines that the server's log dropped.
function M.start(server, access, model)
    return setmetatable({ note = "connecting", counter = hotkeys.counter(), model = model, generation = 0,
        connection = connection.new(server, access) }, Count)
end

--- A count that is not begun, and why.
function M.refuse(why)
    return setmetatable({ note = why }, Count)
end

local function dropped(count)
    return count.model.now and count.model.now.general.log_worker_dropped
end

-- Ends early.
local function give_up(count, why)
    count.note = why
    count:close()
end

-- Takes a line: the first says whether the server may be watched.
local function take(count, text)
    if count.until_s then
        count.counter:take(text)
    elseif text:find("^OK") then
        count.note, count.before = "", dropped(count)
        count.started_s, count.until_s = count.now_s, count.now_s + hotkeys.WATCH_S
    else
        give_up(count, "the server refuses to be watched: "
            .. printable(text:match("^[^\r\n]*")):sub(1, QUOTED_BYTES))
    end
end

-- The result, once a snapshot from after the end has the lines that were dropped.
local function finish(count)
    if not count.ended_s or count.hot or (count.model.at_s or 0) < count.ended_s then
        return false
    end
    local after = dropped(count)
    count.hot = count.counter:result(count.ended_s - count.started_s,
        count.before and after and math.max(0, after - count.before))
    return true
end

--- Reads what has come; true when there is something new to draw.
function Count:step(now_s)
    local one, note = self.connection, self.note
    if not one then
        return finish(self)
    end
    self.now_s = now_s
    one:step(now_s)
    if not self.connection then
        return true
    elseif one:is_up() and self.generation ~= one.generation then
        self.generation = one.generation
        one:send("watch fetchers", "stream", now_s, function(text) take(self, text) end)
        one:flush(now_s)
    elseif one.client:state() == "down" and one.client:note() ~= "" then
        give_up(self, one.client:note())
    end
    if self.connection and self.until_s and now_s >= self.until_s then
        self.ended_s = now_s
        self:close()
    end
    return self.note ~= note or self.ended_s ~= nil
end

--- When to call step next; nil: when something comes.
function Count:due_s()
    local due_s = self.connection and self.connection.client:due_s()
    return self.connection and self.until_s and math.min(self.until_s, due_s or math.huge) or due_s or nil
end

--- The client to wait for, or nil.
function Count:polled()
    return self.connection and self.connection.client or nil
end

function Count:close()
    if self.connection then
        self.connection:close()
        self.connection = nil
    end
end

return M
