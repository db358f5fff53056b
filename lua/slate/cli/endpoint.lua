-- SPDX-License-Identifier: BSD-3-Clause
--- A configuration endpoint, as hosted caches have it: clients ask it which servers make up the cache.
--
-- `config get cluster` is answered with the number of the configuration, which only grows, and a line of
-- host|address|port for each server; so is the older `get AmazonElastiCache:cluster`. A client keeps its connection and
-- asks again when it likes.
local clock = require "slate.base.clock"
local together = require "slate.wire.together"

local M = {}

local MOST_PEERS <const>, MOST_LINE_BYTES <const> = 400, 2048
local IDLE_S <const>, SEND_S <const> = 300, 5
local AGAIN_S <const> = 1 -- names and files are looked at again after this, and only when somebody asks
-- The first version of which clients know that it answers `config get cluster`.
local VERSION <const> = "1.4.14"

local Fleet = {}
Fleet.__index = Fleet

--- What is told. expand: a function that returns the servers as they are now, or nil and a message; say: what to do
-- with such a message, told once; time_s: the clock on the wall.
function M.fleet(expand, say, time_s)
    return setmetatable({ expand = expand, say = say, time_s = time_s, number = 0 }, Fleet)
end

-- The nodes as clients read them; or nil and a message.
local function nodes_of(servers)
    local nodes, seen = {}, {}
    for _, server in ipairs(servers) do
        if server.path then
            return nil, ("%s cannot be told to clients: a node is a host and a port"):format(server.name)
        elseif not seen[server.name] then
            local addresses = require("slate.wire.resolver").addresses(server.host)
            seen[server.name] = true
            nodes[#nodes + 1] = ("%s|%s|%d"):format(server.host, addresses and addresses[1] or "", server.port)
        end
    end
    return table.concat(nodes, " ")
end

--- The configuration: its number, a newline, the nodes, a newline. Nil and a message while there never was one. One
-- that cannot be had any more stays what it was. A number is the time of the change, so that it grows over restarts.
function Fleet:configuration()
    local now_s = clock.steady_s()
    if self.asked_s and now_s < self.asked_s + AGAIN_S then
        return self.text, self.problem
    end
    self.asked_s = now_s
    local servers, problem = self.expand()
    local nodes
    if servers then
        nodes, problem = nodes_of(servers)
    end
    if nodes and nodes ~= self.nodes then
        self.number = math.max(self.number + 1, math.floor(self.time_s()))
        self.nodes, self.text = nodes, ("%d\n%s\n"):format(self.number, nodes)
    end
    if problem and problem ~= self.problem and self.text then
        self.say(problem .. "; the cluster stays that of before")
    end
    self.problem = problem
    return self.text, problem
end

--- The answer to a line; nil: hang up.
function Fleet:answer(line)
    local words = line:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
    local head = words == "config get cluster" and "CONFIG cluster 0 %d\r\n"
        or words == "get AmazonElastiCache:cluster" and "VALUE AmazonElastiCache:cluster 0 %d\r\n"
    if head then
        local text = self:configuration()
        return text and head:format(#text) .. text .. "\r\nEND\r\n" or "SERVER_ERROR the servers are not known\r\n"
    elseif words:find("^config get ") or words:find("^get ") then
        return "END\r\n"
    elseif words == "version" then
        return "VERSION " .. VERSION .. "\r\n"
    elseif words == "stats" then -- where some clients look for the version
        return "STAT version " .. VERSION .. "\r\nEND\r\n"
    end
    return words ~= "quit" and "ERROR\r\n" or nil
end

local function send(peer, text)
    local at, until_s = 1, clock.steady_s() + SEND_S
    while at <= #text do
        local last, problem, partial = peer:send(text, at)
        at = (last or partial) + 1
        if not last and problem ~= "timeout" or clock.steady_s() > until_s then
            return false
        elseif at <= #text then
            together.select(nil, { peer }, until_s - clock.steady_s())
        end
    end
    return true
end

-- Answers the lines of a connection until it ends, is silent for too long, or sends what is none.
local function serve(fleet, peer)
    local text, heard_s = "", clock.steady_s()
    while clock.steady_s() < heard_s + IDLE_S and #text <= MOST_LINE_BYTES do
        local bytes, problem, partial = peer:receive(MOST_LINE_BYTES)
        bytes = bytes or partial or ""
        text = text .. bytes
        local lines, rest = text:match("^(.*\n)(.*)$")
        for line in (lines or ""):gmatch("(.-)\r?\n") do
            local answer = fleet:answer(line)
            if not answer or not send(peer, answer) then
                return
            end
        end
        text = rest or text
        if bytes ~= "" then
            heard_s = clock.steady_s()
        elseif problem ~= "timeout" then
            return
        end
        together.select({ peer }, nil, math.max(0, heard_s + IDLE_S - clock.steady_s()))
    end
end

--- Serves a listening socket until it is interrupted. For a connection beyond 400 the oldest one is closed.
function M.run(socket, fleet)
    together.serve(socket, MOST_PEERS, function(peer) serve(fleet, peer) end)
end

return M
