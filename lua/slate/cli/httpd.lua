-- SPDX-License-Identifier: BSD-3-Clause
--- A web server for a few pages of text: one request a connection, each bounded in bytes and time. Connections are
-- tasks (slate.wire.together): a slow one, or one that requests a slow page, delays no other.
local clock = require "slate.base.clock"
local together = require "slate.wire.together"

local M = {}

M.MAX_REQUEST_BYTES = 8192
local REQUEST_S <const>, POLL_S <const>, BACKLOG <const> = 5, 0.2, 128
local MOST_PEERS <const> = 200 -- each may also hold a connection to a target: select knows descriptors below 1024
local MOST_OF_A_PAGE <const> = 80 -- at once: requests for a silent target's page leave room for other pages
local MOST_DRAINED_BYTES <const> = 1 << 16

local REASONS <const> = { [200] = "OK", [400] = "Bad Request", [404] = "Not Found", [405] = "Method Not Allowed",
    [408] = "Request Timeout", [431] = "Request Header Fields Too Large",
    [500] = "Internal Server Error", [503] = "Service Unavailable" }

--- Listens. Returns the socket and its port, or nil and a message.
function M.listen(host, port)
    local core = require "socket.core"
    local socket = host:find(":", 1, true) and core.tcp6() or core.tcp()
    socket:setoption("reuseaddr", true)
    local ok, problem = socket:bind(host, port)
    if ok then
        ok, problem = socket:listen(BACKLOG)
    end
    if not ok then
        socket:close()
        return nil, ("cannot listen on %s:%d: %s"):format(host, port, problem)
    end
    local _, bound = socket:getsockname()
    return socket, math.tointeger(tonumber(bound))
end

-- Reads a request up to its empty line: its text, or nil and the status of the answer.
local function read_request(peer)
    local until_s, text = clock.steady_s() + REQUEST_S, ""
    while not text:find("\r?\n\r?\n") do
        local left_s = until_s - clock.steady_s()
        if #text > M.MAX_REQUEST_BYTES then
            return nil, 431
        elseif left_s <= 0 then
            return nil, 408
        end
        together.select({ peer }, nil, math.min(left_s, POLL_S))
        local bytes, problem, partial = peer:receive(1024)
        text = text .. (bytes or partial or "")
        if problem == "closed" then
            return nil
        end
    end
    return text
end

local function answer(peer, status, kind, body, only_head)
    local until_s = clock.steady_s() + REQUEST_S
    local text, at = ("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"):format(
        status, REASONS[status], kind, #body, only_head and "" or body), 1
    while at <= #text and clock.steady_s() < until_s do
        local last, problem, partial = peer:send(text, at)
        at = (last or partial) + 1
        if not last and problem ~= "timeout" then
            return
        elseif at <= #text then
            together.select(nil, { peer }, until_s - clock.steady_s())
        end
    end
end

-- Reads further bytes of a peer: unread ones would reset the connection before the peer has read the answer.
local function drain(peer)
    peer:shutdown("send")
    local until_s, left_bytes = clock.steady_s() + POLL_S, MOST_DRAINED_BYTES
    while left_bytes > 0 and clock.steady_s() < until_s do
        together.select({ peer }, nil, math.max(0, until_s - clock.steady_s()))
        local bytes, problem, partial = peer:receive(4096)
        left_bytes = left_bytes - #(bytes or partial or "")
        if problem == "closed" then
            return
        end
    end
end

-- Decodes the %XX and + in a part of an address.
local function decoded(text)
    return (text:gsub("+", " "):gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

local function query_of(text)
    local values = {}
    for pair in text:gmatch("[^&]+") do
        local name, value = pair:match("^([^=]+)=(.*)$")
        if name then
            values[decoded(name)] = decoded(value)
        end
    end
    return values
end

-- A request in the form for handlers: path, query (values by name) and accept, the kinds of answers preferred.
local function parsed(text, target)
    local path, query = target:match("^([^?]*)%??(.*)$")
    local accept = text:match("\n[Aa][Cc][Cc][Ee][Pp][Tt]:%s*([^\r\n]*)")
    return { path = path, query = query_of(query), accept = accept or "" }
end

-- Returns a handler's answer: status, kind and body. An error in the handler goes to print_note, and must not end the
-- other connections. under_way counts the requests for each page.
local function handled(handler, request, print_note, under_way)
    local count = under_way[request.path] or 0
    if count >= MOST_OF_A_PAGE then
        return 503, "text/plain", ("%d requests for this page are under way\n"):format(count)
    end
    under_way[request.path] = count + 1
    local ok, status, kind, body = xpcall(handler, function(raised)
        return type(raised) == "table" and raised.message or tostring(raised)
    end, request)
    count = under_way[request.path] - 1
    under_way[request.path] = count > 0 and count or nil
    if ok then
        return status, kind, body
    end
    print_note(("error in the answer to %s: %s"):format(request.path, status))
    return 500, "text/plain", REASONS[500] .. "\n"
end

local function serve(peer, note_request, handler, print_note, under_way)
    local request, status = read_request(peer)
    note_request()
    if not request then
        if status then
            answer(peer, status, "text/plain", REASONS[status] .. "\n")
            drain(peer)
        end
        return
    end
    local method, target = request:match("^(%u+) (%S+) HTTP/1%.%d\r?\n")
    if not method then
        answer(peer, 400, "text/plain", "only HTTP/1 is served\n")
    elseif method ~= "GET" and method ~= "HEAD" then
        answer(peer, 405, "text/plain", "only GET is served\n")
    else
        local kind, body
        status, kind, body = handled(handler, parsed(request, target), print_note, under_way)
        answer(peer, status, kind, body, method == "HEAD")
    end
end

--- Answers requests until interrupted: handler({ path =, query =, accept = }) returns a status of those above, a kind
-- and a body. An error in the handler is answered with 500, and goes to print_note(message). Serves 200 connections at
-- once, 80 for one page: further requests for that page are answered with 503.
function M.run(socket, handler, print_note)
    local under_way = {}
    together.serve(socket, MOST_PEERS, function(peer, note_request)
        serve(peer, note_request, handler, print_note, under_way)
    end)
end

return M
