-- SPDX-License-Identifier: BSD-3-Clause
--- Plays a transcript to a server: sends the client's bytes, compares the replies.
--
--     replay.play(transcript.parse(text, name), server, replay.feeds["byte by byte"])
--
-- Raises an error that names the transcript's line at the first difference.
local socket = require "socket"
local transcript = require "support.transcript"

local M = {}

local REPLY_DEADLINE_S <const> = 300 -- only a hang takes that long
local PIECE_BYTES <const> = 1000    -- the largest piece of a long run, when other bytes go one by one
local BYTE_PAUSE_S <const> = 20e-6  -- so that the server sees the byte alone; no claim depends on this

local Connection = {}
Connection.__index = Connection

local function open_connection(server, bindings)
    local peer = assert(server:connect())
    peer:settimeout(0)
    return setmetatable({ peer = peer, matcher = transcript.matcher(bindings), closed = false }, Connection)
end

-- Takes the bytes that have arrived.
function Connection:receive()
    local bytes, problem, partial = self.peer:receive(65536)
    bytes = bytes or partial
    self.closed = problem ~= nil and problem ~= "timeout"
    return self.matcher:feed(bytes)
end

-- Writes all bytes while reading replies, so that neither side waits for the other for ever. A server may close before
-- it has read everything: the transcript's replies decide whether it should have.
function Connection:send(bytes)
    local at = 1
    while at <= #bytes and not self.closed do
        local sent, problem, last = self.peer:send(bytes, at)
        at = (sent or last or at - 1) + 1
        if problem == "timeout" then
            local readable = socket.select({ self.peer }, { self.peer }, REPLY_DEADLINE_S)
            if readable[self.peer] then
                self:receive()
            end
        elseif problem then
            return
        end
    end
end

-- Waits until everything expected has come.
function Connection:settle()
    local deadline = socket.gettime() + REPLY_DEADLINE_S
    while not self.matcher:feed("") do
        local missing = self.matcher:missing()
        assert(not self.closed, "connection closed before " .. missing)
        assert(socket.gettime() < deadline, "no reply in time: " .. missing)
        socket.select({ self.peer }, nil, 1)
        self:receive()
    end
end

function Connection:settle_closed(where)
    self:settle()
    local deadline = socket.gettime() + REPLY_DEADLINE_S
    while not self.closed do
        assert(socket.gettime() < deadline, where .. ": the server did not close the connection")
        socket.select({ self.peer }, nil, 1)
        self:receive()
    end
end

--- How the bytes between two waits go out: name -> function(connection, pieces).
M.feeds = {
    ["whole"] = function(connection, pieces)
        local bytes = {}
        for i, piece in ipairs(pieces) do bytes[i] = piece.bytes end
        connection:send(table.concat(bytes))
    end,
    ["byte by byte"] = function(connection, pieces)
        for _, piece in ipairs(pieces) do
            local step = piece.long and PIECE_BYTES or 1
            for at = 1, #piece.bytes, step do
                connection:send(piece.bytes:sub(at, at + step - 1))
                if not piece.long then
                    socket.sleep(BYTE_PAUSE_S)
                end
            end
        end
    end,
}

--- Plays a parsed transcript. server needs only `connect()`, which gives a connected stream socket.
function M.play(script, server, feed)
    local bindings, connections, outgoing = {}, {}, {}
    connections[1] = open_connection(server, bindings)
    local current = connections[1]

    local function flush()
        feed(current, outgoing)
        outgoing = {}
    end

    for _, step in ipairs(script.steps) do
        if step.kind == "send" then
            if transcript.needs_reply(step.pieces) then
                flush()
                current:settle()
            end
            for _, piece in ipairs(transcript.fill(step.pieces, bindings)) do
                outgoing[#outgoing + 1] = piece
            end
        elseif step.kind == "expect" then
            current.matcher:expect(step.pieces)
        else
            flush()
            if step.kind == "close" then
                current:settle_closed(step.where)
            else
                current:settle()
            end
            if step.kind == "connection" then
                connections[step.id] = connections[step.id] or open_connection(server, bindings)
                current = connections[step.id]
            end
        end
    end
    flush()

    -- `mn` flushes all replies that the server still had to send: none may be left over.
    for _, connection in pairs(connections) do
        if not connection.closed then
            connection:settle()
            connection.matcher:expect({ { bytes = "MN\r\n", where = script.name .. ": end" } })
            connection:send("mn\r\n")
            connection:settle()
        end
        connection.peer:close()
    end
end

return M
