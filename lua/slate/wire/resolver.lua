-- SPDX-License-Identifier: BSD-3-Clause
--- Looking names up by luasocket: what slate.wire.dns asks goes out here. With SLATE_RESOLVER=HOST:PORT (such as
-- Consul's 127.0.0.1:8600) that name server is asked for everything. Waits pass the turn to other tasks.
local clock = require "slate.base.clock"
local dns = require "slate.wire.dns"
local together = require "slate.wire.together"

local M = {}

local WAIT_S <const>, DATAGRAM_BYTES <const> = 2, 4096

-- Answers to another question are passed over until time is up.
local function by_udp(host, port, message)
    local socket = require("socket.core").udp()
    socket:settimeout(0)
    local answer
    if socket:setpeername(host, port) and socket:send(message) then
        local until_s = clock.steady_s() + WAIT_S
        repeat
            together.select({ socket }, nil, math.max(0, until_s - clock.steady_s()))
            local bytes, problem = socket:receive(DATAGRAM_BYTES)
            answer = bytes and bytes:sub(1, 2) == message:sub(1, 2) and bytes or nil
        until answer or not bytes and problem ~= "timeout" or clock.steady_s() >= until_s
    end
    socket:close()
    return answer
end

local function by_tcp(host, port, message)
    local transport = require "slate.wire.transport"
    local deadline_s = clock.steady_s() + WAIT_S
    local stream = transport.connect({ host = host, port = port, name = host }, deadline_s)
    if not stream then
        return nil
    end
    local sent = stream:send((">s2"):pack(message), deadline_s)
    local length = sent and stream:receive_bytes(2, deadline_s)
    local answer = length and stream:receive_bytes((">I2"):unpack(length), deadline_s)
    stream:close()
    return answer
end

local ENOENT <const>, ENOTDIR <const> = 2, 20

-- Up to so many bytes of a file; or nil, a message and whether the file is not there at all.
local function read_file(path, most_bytes)
    local text, problem, number = require("slate.base.input").read(path, most_bytes)
    if not text then
        problem = problem:gsub("^.*: ", "") -- without the path
        return nil, problem, number == ENOENT or number == ENOTDIR
    end
    return text
end

local function random(bytes)
    local file = io.open("/dev/urandom", "rb")
    local text = file and file:read(bytes)
    if file then
        file:close()
    end
    return text
end

local function system_addresses(host)
    local list, problem = require("socket.core").dns.getaddrinfo(host)
    local addresses = {}
    for i, one in ipairs(list or {}) do
        addresses[i] = one.addr
    end
    return list and addresses, problem
end

--- What slate.wire.dns and slate.wire.lists want of a program.
M.WAYS = { environment = os.getenv, read_file = read_file, random = random, udp = by_udp, tcp = by_tcp,
    system_addresses = system_addresses }

--- The addresses of a host: see slate.wire.dns.
function M.addresses(host)
    return dns.addresses(host, M.WAYS)
end

--- The servers behind a name of SRV records: see slate.wire.dns.
function M.services(name)
    return dns.services(name, M.WAYS)
end

return M
