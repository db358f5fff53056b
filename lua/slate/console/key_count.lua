-- SPDX-License-Identifier: BSD-3-Clause
--- Hot keys of a server that reports none, and who asks for a key: every request is counted for ten seconds by `watch
--- fetchers` (of slate.console.stream), by the counter of slate.facts.hotkeys. `stats conns` names the connections,
--- before and after.
--
-- Fields: note (why nothing is counted, "" while or after it is), counter, until_s (the end of the ten seconds; nil
-- before the server agreed), ended_s (nil: not yet), hot (the result, as of slate.facts.hotkeys.parse,
-- with `lost`; nil until it is there).
local hotkeys = require "slate.facts.hotkeys"
local stream = require "slate.console.stream"

local M = {}

local Count = {}
Count.__index = Count
Count.__name = "slate.console.key_count"

--- Begins to count. model: of the server, whose snapshots have the lines that the server's log dropped. ask_conns: a
--- function that sends `stats conns` and hands the reply's text to the function that it gets.
function M.start(server, access, model, ask_conns)
    local counter = hotkeys.counter()
    return setmetatable({ note = "connecting", counter = counter, model = model, ask_conns = ask_conns,
        conns = { {}, {} },
        stream = stream.open(server, access, "fetchers", function(text) counter:take(text) end) }, Count)
end

--- A count that is not begun, and why.
function M.refuse(why)
    return setmetatable({ note = why, stream = stream.refuse(why) }, Count)
end

--- True while requests are counted, or about to be.
function Count:is_under_way()
    return self:polled() ~= nil
end

-- Has the connections named, at the beginning (1) or at the end (2).
local function name_conns(count, at, now_s)
    count.ask_conns(now_s, function(text) count.conns[at] = hotkeys.addresses(text) end)
end

local function dropped(count)
    return count.model.now and count.model.now.general.log_worker_dropped
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
    local one, note = self.stream, self.note
    if not self:is_under_way() then
        return finish(self)
    end
    one:step(now_s)
    self.note = one.note
    if one.has_failed then
        one:close()
    elseif one.note == "" and not self.until_s then
        self.before, self.started_s, self.until_s = dropped(self), now_s, now_s + hotkeys.WATCH_S
        name_conns(self, 1, now_s)
    elseif self.until_s and now_s >= self.until_s then
        self.ended_s = now_s
        name_conns(self, 2, now_s)
        one:close()
    end
    return self.note ~= note or self.ended_s ~= nil
end

--- Who asked for a key, of slate.facts.hotkeys.
function Count:who(key)
    return self.counter:who(key, self.conns[1], self.conns[2])
end

--- When to call step next; nil: when something comes.
function Count:due_s()
    local due_s = self.stream:due_s()
    return self:is_under_way() and self.until_s and math.min(self.until_s, due_s or math.huge) or due_s
end

--- The client to wait for, or nil.
function Count:polled()
    return self.stream:polled()
end

function Count:close()
    self.stream:close()
end

return M
