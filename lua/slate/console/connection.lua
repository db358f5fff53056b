-- SPDX-License-Identifier: BSD-3-Clause
--- A connection of slate.console.link with a function for each reply. Replies come in the order of the lines.
local link = require "slate.console.link"

local M = {}

local Connection = {}
Connection.__index = Connection
Connection.__name = "slate.console.connection"

--- A connection to a server (of slate.base.units.parse_server), which begins at the first step. access: of
-- slate.console.link.
function M.new(server, access)
    return setmetatable({ client = link.connect(server, access), generation = 0, waiting = {}, first = 1, last = 0 },
        Connection)
end

--- Reads what has come: its time is read_s. A broken connection drops the functions that wait.
function Connection:read(now_s)
    local client = self.client
    if self.is_closed then
        return
    end
    client:step(now_s)
    self.read_s = link.now_s()
    if self.generation ~= client:generation() then
        self.generation, self.waiting, self.first, self.last = client:generation(), {}, 1, 0
    end
end

--- Calls the functions of the replies that were read.
function Connection:take(now_s)
    local client = self.client
    local text, is_stats = client:take(now_s)
    while text do
        local waiting = self.waiting[self.first]
        if not waiting.is_stream then
            self.waiting[self.first] = nil
            self.first = self.first + 1
        end
        waiting.take(text, is_stats)
        if self.is_closed then
            return
        end
        text, is_stats = client:take(now_s)
    end
end

--- Queues a line; take(text, is_stats) gets its reply. form: "line", "stats" or "stream" (each line is a reply). False
-- when the line cannot be sent now.
function Connection:send(line, form, now_s, take)
    if not self.client:send(line, form, now_s) then
        return false
    end
    self.last = self.last + 1
    self.waiting[self.last] = { take = take, is_stream = form == "stream" }
    return true
end

function Connection:flush(now_s)
    self.client:flush(now_s)
end

function Connection:is_up()
    return not self.is_closed and self.client:state() == "up"
end

function Connection:close()
    self.is_closed = true
    self.client:close()
end

return M
