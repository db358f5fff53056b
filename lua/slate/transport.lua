-- SPDX-License-Identifier: BSD-3-Clause
--- A byte stream to a server over TCP or a UNIX socket, every wait bounded by a deadline.
--
-- The client talks to anything with these four methods, so a test may hand it a table instead:
--   send(bytes, deadline_s)            true, or nil, message, code
--   receive_line(deadline_s)           the line without its CR LF, or nil, message, code
--   receive_bytes(count, deadline_s)   exactly that many bytes, or nil, message, code
--   close()
-- Deadlines are moments of `clock.steady_s`. Codes: "connect", "timeout", "closed", "protocol".
local clock = require "slate.clock"

local M = {}

local READ_BYTES <const> = 16384
M.MAX_LINE_BYTES = 65536 -- no server sends such a line; without a limit a hostile one could fill memory

local Stream = {}
Stream.__index = Stream
Stream.__name = "slate.transport"

local function left_s(deadline_s)
    return math.max(0, deadline_s - clock.steady_s())
end

function Stream:failed(problem)
    if problem == "timeout" then
        return nil, ("%s did not answer in time"):format(self.name), "timeout"
    elseif problem == "closed" then
        return nil, ("%s closed the connection"):format(self.name), "closed"
    end
    return nil, ("%s: %s"):format(self.name, problem), "closed"
end

function Stream:send(bytes, deadline_s)
    local at = 1
    while at <= #bytes do
        self.socket:settimeout(left_s(deadline_s))
        local last, problem, partial = self.socket:send(bytes, at)
        if not last and (problem ~= "timeout" or left_s(deadline_s) == 0) then
            return self:failed(problem)
        end
        at = (last or partial) + 1
    end
    return true
end

-- Appends what the socket holds to the buffer; waits for the first byte only.
function Stream:fill(deadline_s)
    while true do
        local bytes, problem, partial = self.socket:receive(READ_BYTES)
        bytes = bytes or partial
        if bytes and #bytes > 0 then
            self.buffer = self.buffer:sub(self.at) .. bytes
            self.at = 1
            return true
        elseif problem ~= "timeout" then
            return self:failed(problem)
        elseif left_s(deadline_s) == 0 then
            return self:failed("timeout")
        end
        self.select({ self.socket }, nil, left_s(deadline_s))
    end
end

function Stream:receive_line(deadline_s)
    self.socket:settimeout(0)
    local searched = self.at
    while true do
        local line_end = self.buffer:find("\n", searched, true)
        if line_end then
            local line = self.buffer:sub(self.at, line_end - 1)
            self.at = line_end + 1
            return (line:gsub("\r$", ""))
        end
        local pending = #self.buffer - self.at + 1
        if pending > M.MAX_LINE_BYTES then
            return nil, ("%s sent a line of more than %d bytes: this is not a cache server"):format(
                self.name, M.MAX_LINE_BYTES), "protocol"
        end
        local ok, message, code = self:fill(deadline_s)
        if not ok then
            return nil, message, code
        end
        searched = pending + 1
    end
end

function Stream:receive_bytes(count, deadline_s)
    self.socket:settimeout(0)
    local parts, missing = {}, count
    while true do
        local part = self.buffer:sub(self.at, self.at + missing - 1)
        self.at = self.at + #part
        parts[#parts + 1] = part
        missing = missing - #part
        if missing == 0 then
            return table.concat(parts)
        end
        local ok, message, code = self:fill(deadline_s)
        if not ok then
            return nil, message, code
        end
    end
end

function Stream:close()
    self.socket:close()
end

local function open_socket(server)
    if server.path then
        local unix = require "socket.unix"
        return unix.stream(), server.path
    end
    local core = require "socket.core"
    return core.tcp(), server.host, server.port
end

--- Connects to a server as `units.parse_server` describes it, until the deadline.
-- Returns the stream, or nil, message, "connect".
function M.connect(server, deadline_s)
    local socket, host, port = open_socket(server)
    socket:settimeout(left_s(deadline_s))
    local ok, problem = socket:connect(host, port)
    if not ok then
        socket:close()
        if problem == "timeout" then
            problem = "no answer in time"
        end
        return nil, ("cannot connect to %s: %s"):format(server.name, problem), "connect"
    end
    if server.port then
        socket:setoption("tcp-nodelay", true)
    end
    return setmetatable({
        socket = socket, name = server.name, buffer = "", at = 1, select = require("socket.core").select,
    }, Stream)
end

return M
