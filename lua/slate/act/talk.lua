-- SPDX-License-Identifier: BSD-3-Clause
--- Conversations with a server for a program that must not wait: a coroutine does the work that slatectl does over a
-- blocking client; it hands out lines to send and takes replies in.
--
-- The body of a talk is a function of a client with the methods that changes need: command, stats and stats_groups. It
-- may call slate.base.clock.sleep, which in such a program yields the seconds. The owner sends `line` when there is one
-- and hands the reply to `take`; without a line it calls `go_on` at `due_s`.
local clock = require "slate.base.clock"
local request = require "slate.wire.request"

local M = {}

local Client = {}
Client.__index = Client
Client.__name = "slate.act.talk.client"

local Talk = {}
Talk.__index = Talk
Talk.__name = "slate.act.talk"

-- A reply as one text; or nil, message, code.
local function exchange(client, line, is_stats, is_rest)
    local why = client.broken or not (is_stats or is_rest) and client.withheld
    if why then
        return nil, why, "closed"
    end
    return coroutine.yield(line, is_stats)
end

--- As in slate.wire.client: the line of the answer, or nil, message, code. options: is_rest, the command completes one
-- that was sent, and goes out even where others are withheld; nil for none.
function Client:command(line, options)
    local reply, message, code = exchange(self, line, false, options and options.is_rest)
    return reply and reply:match("^[^\r\n]*"), message, code
end

--- The lines of a group of statistics, or nil, message, code.
function Client:stats(group)
    local reply, message, code = exchange(self, group == "" and "stats" or "stats " .. group, true)
    if not reply then
        return nil, message, code
    end
    local lines = {}
    for line in reply:gmatch("[^\r\n]+") do
        if line == "END" then
            break
        end
        lines[#lines + 1] = request.printable(line)
    end
    message, code = request.refusal(lines[1] or "")
    if message then
        return nil, message, code
    end
    return lines
end

--- Several groups: the lines of each, by group, and { message, code } of each refused one; or nil, message, code.
function Client:stats_groups(groups)
    local found, refused = {}, {}
    for _, group in ipairs(groups) do
        local lines, message, code = self:stats(group)
        if not lines and self.broken then
            return nil, message, code
        end
        found[group], refused[group] = lines, not lines and { message, code } or nil
    end
    return found, refused
end

--- Waits for another connection after one broke. True, and commands are withheld from now on; or nil, message, code.
function Client:reopen()
    local has_one = coroutine.yield()
    if not has_one then
        return nil, self.broken, "closed"
    end
    self.withheld, self.broken = "the connection broke: nothing more was sent", nil
    return true
end

--- A talk that has begun: its body has run up to the first line or pause. Fields: line and is_stats (what to send; the
-- answer is statistics), due_s (when to go on without a reply), is_cut (it waits for another connection), results
-- (packed, at the end) or failure.
function M.new(body)
    local one = setmetatable({ client = setmetatable({}, Client), thread = coroutine.create(body) }, Talk)
    one:go_on(one.client)
    return one
end

--- Resumes the body with the values for which it waits.
function Talk:go_on(...)
    local results = table.pack(coroutine.resume(self.thread, ...))
    self.line, self.due_s, self.is_waiting, self.is_cut = nil, nil, nil, nil
    if not results[1] then
        self.is_over, self.failure = true, tostring(results[2])
    elseif coroutine.status(self.thread) == "dead" then
        self.is_over, self.results = true, table.pack(table.unpack(results, 2, results.n))
    elseif type(results[2]) == "number" then
        self.due_s = clock.steady_s() + results[2]
    elseif results[2] == nil then
        self.is_cut = true
    else
        self.line, self.is_stats, self.is_waiting = results[2], results[3], true
    end
end

--- Goes on after a pause that is over.
function Talk:step()
    if self.due_s and clock.steady_s() >= self.due_s then
        self:go_on()
    end
end

--- The line for the owner to send now; nil when there is none.
function Talk:take_line()
    local line, is_stats = self.line, self.is_stats
    self.line = nil
    return line, is_stats
end

--- Takes the reply to the line that was sent.
function Talk:take(reply)
    if self.is_waiting then
        self:go_on(reply)
    end
end

--- Every command of the body from now on fails with the message `why`, but one that completes another; statistics are
-- still asked for.
function Talk:withhold(why)
    self.client.withheld = why
end

--- The connection is gone: every request of the body from now on fails with the message `why`, until the body waits for
-- another connection; go_on(true) tells it that there is one.
function Talk:cut(why)
    self.client.broken = why
    while not self.is_over and not self.is_cut do
        self:go_on(nil, why, "closed")
    end
end

--- As cut, and there will be no other connection.
function Talk:break_off(why)
    self.client.broken = why
    while not self.is_over do
        self:go_on(nil, why, "closed")
    end
end

return M
