-- SPDX-License-Identifier: BSD-3-Clause
--- A byte stream to a server over TCP, TLS or a UNIX socket, every wait bounded by a deadline.
--
-- The client needs only these four methods, so a test may pass a table instead:
--
-- * `send(bytes, deadline_s)`: true, or nil, message, code
-- * `receive_line(deadline_s)`: the line without its CR LF, or nil, message, code
-- * `receive_bytes(count, deadline_s)`: exactly `count` bytes, or nil, message, code
-- * `close()`
--
-- Deadlines are moments of `clock.steady_s`. Codes: "connect", "exhausted" (this process or machine has no descriptor
-- or port left: no fault of the server), "missing", "timeout", "closed", "protocol".
local clock = require "slate.base.clock"
local together = require "slate.wire.together"

local M = {}

local READ_BYTES <const> = 16384
M.MAX_LINE_BYTES = 65536 -- no server sends a longer line; without a limit a hostile server could fill memory
--- The most bytes that a server may answer while the client is still sending to it.
M.MAX_EARLY_BYTES = 256 << 20

local Stream = {}
Stream.__index = Stream
Stream.__name = "slate.wire.transport"

local function left_s(deadline_s)
    return math.max(0, deadline_s - clock.steady_s())
end

-- The words of luasocket and LuaSec for "not now".
local WAITING <const> = { timeout = true, wantread = true, wantwrite = true }

function Stream:failed(problem)
    if WAITING[problem] then
        return nil, ("%s did not answer in time"):format(self.name), "timeout"
    elseif problem == "closed" then
        return nil, ("%s closed the connection"):format(self.name), "closed"
    end
    return nil, ("%s: %s"):format(self.name, problem), "closed"
end

-- Reads answers that came while we send. A server that cannot send its answers stops reading, so a long pipeline would
-- hang if both sides sent and neither read.
function Stream:take_early()
    while true do
        local bytes, problem, partial = self.socket:receive(READ_BYTES)
        bytes = bytes or partial
        if not bytes or #bytes == 0 then
            return WAITING[problem], problem
        end
        self.early[#self.early + 1] = bytes
        self.early_bytes = self.early_bytes + #bytes
        if self.early_bytes > M.MAX_EARLY_BYTES then
            return nil, ("more than %d bytes came before anything was to be answered"):format(M.MAX_EARLY_BYTES)
        end
    end
end

--- Sends all the bytes; bytes that arrive meanwhile are stored for the next receive.
function Stream:send(bytes, deadline_s)
    local at = 1
    self.socket:settimeout(0)
    while true do
        local last, problem, partial = self.socket:send(bytes, at)
        at = (last or partial) + 1
        if at > #bytes then
            return true
        elseif not last and not WAITING[problem] then
            return self:failed(problem)
        elseif left_s(deadline_s) == 0 then
            return self:failed("timeout")
        end
        local readable = together.select({ self.socket }, { self.socket }, left_s(deadline_s))
        if readable[1] then
            local ok
            ok, problem = self:take_early()
            if not ok then
                return self:failed(problem)
            end
        end
    end
end

-- Appends early bytes, or those that the socket holds, to the buffer; waits for the first byte only.
function Stream:fill(deadline_s)
    local bytes, problem, partial
    if #self.early > 0 then
        bytes = table.concat(self.early)
        self.early, self.early_bytes = {}, 0
    end
    self.socket:settimeout(0)
    while not bytes do
        bytes, problem, partial = self.socket:receive(READ_BYTES)
        bytes = bytes or partial
        if bytes and #bytes > 0 then
            break
        elseif not WAITING[problem] then
            return self:failed(problem)
        elseif left_s(deadline_s) == 0 then
            return self:failed("timeout")
        end
        bytes = nil
        -- Except in a renegotiation, a TLS socket needs to write only for a moment.
        together.select({ self.socket }, problem == "wantwrite" and { self.socket } or nil, left_s(deadline_s))
    end
    self.buffer = self.buffer:sub(self.at) .. bytes
    self.at = 1
    return true
end

--- Receives a line; returns the line without its CR LF.
function Stream:receive_line(deadline_s)
    local searched = self.at
    while true do
        local line_end = self.buffer:find("\n", searched, true)
        if line_end then
            local last = self.buffer:byte(line_end - 1) == 13 and line_end > self.at and line_end - 2 or line_end - 1
            local line = self.buffer:sub(self.at, last)
            self.at = line_end + 1
            return line
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

--- Receives `count` bytes. Memory grows with the bytes that arrive, not with the announced size.
function Stream:receive_bytes(count, deadline_s)
    if #self.buffer - self.at + 1 >= count then -- mostly all bytes are in the buffer
        local bytes = self.buffer:sub(self.at, self.at + count - 1)
        self.at = self.at + count
        return bytes
    end
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

--- Closes the connection.
function Stream:close()
    self.socket:close()
end

-- Connects without blocking the thread. True, or nil and a message.
local function dial(socket, host, port, deadline_s)
    socket:settimeout(0)
    local ok, problem = socket:connect(host, port)
    while not ok and (problem == "timeout" or problem == "Operation already in progress") do
        if left_s(deadline_s) == 0 then
            return nil, "no answer in time"
        end
        together.select(nil, { socket }, left_s(deadline_s))
        ok, problem = socket:connect(host, port)
    end
    return ok or problem == "already connected", problem
end

-- The C library's messages of EMFILE, ENFILE and EADDRNOTAVAIL.
local EXHAUSTED <const> = { ["Too many open files"] = true, ["Too many open files in system"] = true,
    ["Cannot assign requested address"] = true }

-- A socket that is connected; or nil and a message.
local function open_socket(server, deadline_s)
    local core = require "socket.core" -- loading this ignores SIGPIPE: a server that hangs up causes an error
    local socket, ok, problem
    if server.path then
        socket, problem = require("socket.unix").stream()
    else
        socket, problem = core.tcp()
    end
    if socket then
        ok, problem = dial(socket, server.path or server.host, server.port, deadline_s)
    end
    if socket and not ok then
        socket:close()
    end
    return ok and socket, problem
end

--- Connects to a server, as `units.parse_server` describes it. tls: options of slate.wire.tls, for a server with `tls`.
-- Returns the stream; or nil, message, "connect", "exhausted", or "missing" if LuaSec is not installed.
function M.connect(server, deadline_s, tls)
    local socket, problem = open_socket(server, deadline_s)
    if not socket then
        local is_exhausted = EXHAUSTED[problem]
        return nil, ("cannot connect to %s: %s%s"):format(server.name, problem, is_exhausted
            and ": slatectl reached a limit of this machine" or ""), is_exhausted and "exhausted" or "connect"
    end
    if server.port then
        socket:setoption("tcp-nodelay", true)
    end
    if server.tls then
        local code
        socket, problem, code = require("slate.wire.tls").wrap(socket, server.host, tls or {}, deadline_s)
        if not socket then
            return nil, ("cannot connect to %s: %s"):format(server.name, problem), code
        end
    end
    return setmetatable({
        socket = socket, name = server.name, buffer = "", at = 1, early = {}, early_bytes = 0,
    }, Stream)
end

return M
