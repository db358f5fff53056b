-- SPDX-License-Identifier: BSD-3-Clause
--- A client for the text and meta protocols of memcached and slated.
--
--     local client = assert(require("slate.wire.client").connect("127.0.0.1:11211", { timeout_s = 1 }))
--     client:set("greeting", "hello", { ttl_s = 60 })
--     print(client:get("greeting").value)
--
-- A method returns its result, or nil, message, code if it failed. "No" is not an error: a missing key gives false.
-- Codes: "connect", "missing" (no TLS on this machine), "timeout", "closed" and "protocol" (the connection is gone and
-- later calls return the same error), "unsupported", "refused", "busy", "server" (the server's answer) and "usage"
-- (nothing was sent). One client is one connection and one request at a time; each call has its own deadline,
-- `timeout_s` in its options or that of the client.
local clock = require "slate.base.clock"
local failure = require "slate.base.failure"
local requests = require "slate.wire.request"
local units = require "slate.base.units"

local M = {}

M.DEFAULT_TIMEOUT_S = 5
M.MAX_VALUE_BYTES = 1 << 30 -- memcached's own limit for -I
M.MAX_STATS_LINES = 1 << 20

local Client = {}
Client.__index = Client
Client.__name = "slate.wire.client"

--- Classifies a reply line as an error or not: see `slate.wire.request.refusal`.
M.refusal = requests.refusal

--- Makes a client over a transport (of slate.wire.transport), which belongs to the client from then on. options:
-- `timeout_s` for each call (5), `max_value_bytes` of a reply (1 GiB), `trace`, a function that gets every command line
-- sent, `trace_reply`, one that gets every line answered, `read_only`: refuses commands that could change the server.
function M.new(transport, options)
    options = options or {}
    return setmetatable({
        transport = transport,
        timeout_s = options.timeout_s or M.DEFAULT_TIMEOUT_S,
        max_value_bytes = options.max_value_bytes or M.MAX_VALUE_BYTES,
        trace = options.trace,
        trace_reply = options.trace_reply,
        read_only = options.read_only,
    }, Client)
end

--- Connects, and logs in if options has a password. server: "host:port", "tls://host:port", "/path/to.sock", or a
-- result of `units.parse_server`. options: those of `new`, `tls` (see slate.wire.tls), `user` and `password` for a
-- server with an --auth-file.
function M.connect(server, options)
    local problem
    if type(server) == "string" then
        server, problem = units.parse_server(server)
        if not server then
            return nil, problem, "usage"
        end
    end
    failure.wants_table(server, 'client.connect(server, options) wants an address, such as "127.0.0.1:11211"')
    local timeout_s = options and options.timeout_s or M.DEFAULT_TIMEOUT_S
    local stream, message, code = require("slate.wire.transport").connect(server, clock.steady_s() + timeout_s,
        options and options.tls)
    if not stream then
        return nil, message, code
    end
    local client = M.new(stream, options)
    if options and options.user then
        local ok
        ok, message, code = client:authenticate(options.user, options.password or "")
        if not ok then
            client:close()
            return nil, message, code
        end
    end
    return client
end

-- Closes the connection after a failed transfer: the meaning of its next byte is unknown.
function Client:lost(message, code)
    self.transport:close()
    self.broken = { message, code }
    return nil, message, code
end

--- Closes the connection. May be called twice.
function Client:close()
    if not self.broken then
        self:lost("the client has been closed", "closed")
    end
end
Client.__close = Client.close

--- Goes on over the connection of another client, which may not be used any more.
function Client:take_over(other)
    self:close()
    self.transport, self.broken = other.transport, nil
end

-- Sends bytes, and starts the time-out of their answer.
function Client:send(bytes, timeout_s)
    if self.broken then
        return nil, table.unpack(self.broken, 1, 2)
    end
    self.deadline_s = clock.steady_s() + (timeout_s or self.timeout_s)
    local ok, message, code = self.transport:send(bytes, self.deadline_s)
    if not ok then
        return self:lost(message, code)
    end
    return true
end

--- Restarts the time-out for the next part of an answer in several parts.
function Client:extend()
    self.deadline_s = clock.steady_s() + self.timeout_s
end

function Client:line()
    if self.broken then
        return nil, table.unpack(self.broken, 1, 2)
    end
    local line, message, code = self.transport:receive_line(self.deadline_s)
    if not line then
        return self:lost(message, code)
    end
    if self.trace_reply then
        self.trace_reply(line)
    end
    return line
end

function Client:bytes(count)
    local bytes, message, code = self.transport:receive_bytes(count, self.deadline_s)
    if not bytes then
        return self:lost(message, code)
    end
    return bytes
end

--- True if a command line may be sent; or nil, message, "refused": a read-only client refuses a command that could
-- change the server.
function Client:permits(line)
    if self.read_only and not require("slate.wire.guard").is_read(line) then
        return nil, ("'%s' may change the server and was not sent: --read-only was given"):format(line), "refused"
    end
    return true
end

-- Checks and traces a command line; every line passes here right before it is sent. True, or nil, message, code.
function Client:admit(line)
    local ok, message, code = self:permits(line)
    if ok and self.trace then
        self.trace(line)
    end
    return ok, message, code
end

--- Sends a request of slate.wire.request without reading its answer: call `request.read(client)` before the next
-- request. So several servers can work at once.
function Client:begin(request)
    local ok, message, code = self:admit(request.line)
    if not ok then
        return nil, message, code
    end
    return self:send(requests.text(request), request.timeout_s)
end

--- Sends a request of slate.wire.request and reads its answer. `client:get(key)` is `client:run(requests.get(key))`:
-- where the builder failed, request is nil, and its message and code are returned.
function Client:run(request, message, code)
    if not request then
        return nil, message, code
    end
    local ok
    ok, message, code = self:begin(request)
    if not ok then
        return nil, message, code
    end
    return request.read(self)
end

--- Sends a command of one line that has a one-line reply: returns that line, even if it is an error. options:
-- `timeout_s`.
function Client:command(command, options)
    if command:find("[\r\n]") then
        return nil, "a command is one line", "usage"
    end
    return self:run({ line = command, read = self.line, timeout_s = options and options.timeout_s })
end

--- Sends a command with a reply of many lines and calls `on_line` for each, until a line is a key of `ends`, the
-- function returns false, or the reply is an error. Returns the line that ended the reply. A caller that stops early
-- must close the client.
function Client:each_line(command, ends, on_line)
    local line, message, code = self:command(command)
    local refused, refusal_code = M.refusal(line or "")
    if refused then
        return nil, refused, refusal_code
    end
    while line do
        if ends[line] or on_line(line) == false then
            return line
        end
        self:extend()
        line, message, code = self:line()
    end
    return nil, message, code
end

--- Logs in to a server that was started with an --auth-file. `connect` does so by itself.
function Client:authenticate(user, password)
    if (user .. password):find("[%s%c]") or user == "" then
        return nil, "user and password hold no blanks or control characters", "usage"
    end
    -- memcached takes user and password in a `set` of any key, which must be the connection's first command.
    local read_only = self.read_only
    self.read_only = false
    local stored, message, code = self:run(requests.set("auth", user .. " " .. password))
    self.read_only = read_only
    if stored == nil and code == "refused" then
        return nil, "the server refuses the user or the password", code
    end
    return stored, message, code
end

-- Reads one reply to `stats`: lines up to END, or a reply of one line.
local function read_stats(client)
    local lines = {}
    while true do
        local line, message, code = client:line()
        if not line then
            return nil, message, code
        end
        if line == "END" then
            return lines
        end
        if not line:find("^STAT ") then -- most lines are STAT lines
            local refused, refusal_code = M.refusal(line)
            if refused then
                -- Proxies refuse an unknown group with "bad stats command", which is no lack of rights
                return false, refused, line:find("^CLIENT_ERROR bad ") and "unsupported" or refusal_code
            elseif line == "RESET" or line == "OK" then
                return { line }
            end
        end
        lines[#lines + 1] = requests.printable(line) -- screens show statistics, and all of them are words and numbers
        if #lines > M.MAX_STATS_LINES then
            return client:lost(("statistics of more than %d lines"):format(M.MAX_STATS_LINES), "protocol")
        end
    end
end

--- Requests several groups of statistics in one round trip; "" is the general group. Returns a table from group to its
-- raw lines, and one from each group that the server refused to { message, code }.
function Client:stats_groups(groups)
    local commands = {}
    for i, group in ipairs(groups) do
        commands[i] = group == "" and "stats" or "stats " .. group
        if commands[i]:find("[\r\n]") then
            return nil, "a group of statistics is one line", "usage"
        end
        local ok, message, code = self:admit(commands[i])
        if not ok then
            return nil, message, code
        end
    end
    local ok, send_message, send_code = self:send(table.concat(commands, "\r\n") .. "\r\n")
    if not ok then
        return nil, send_message, send_code
    end
    local found, refused = {}, {}
    for _, group in ipairs(groups) do
        local lines, message, code = read_stats(self)
        if lines == nil then
            return nil, message, code
        elseif lines then
            found[group] = lines
        else
            refused[group] = { message, code }
        end
    end
    return found, refused
end

--- The raw lines of one group of statistics, by default the general one.
function Client:stats(group)
    group = group or ""
    local found, refused, code = self:stats_groups({ group })
    if not found then
        return nil, refused, code
    elseif not found[group] then
        return nil, table.unpack(refused[group], 1, 2)
    end
    return found[group]
end

-- A hint why a server may close the connection at the first line of text.
local function silence(client, message)
    local name = client.transport.name or "it"
    local encrypted = name:find("^tls://") ~= nil
    return ("%s before it answered: does it want %s, or does it speak the binary protocol alone (-S, -B binary)?")
        :format(message, encrypted and "a certificate of ours (SLATE_TLS_CERT)" or "tls:// before its address")
end

-- The meaning of a refusal in answer to `version`.
local function refusal_of(line)
    if line:find("^CLIENT_ERROR unauthenticated") then
        return "the server wants a login: SLATE_AUTH_FILE names a file whose first line is user:password", "refused"
    elseif line:find("^ERROR Too many open connections") then
        return "the server has as many connections as it may", "busy"
    end
    return nil
end

--- Identifies the server, in one round trip: { version, slated (its version) or nil, store }. slated answers `version`
-- with the version of the memcached that it replaces; only slated knows `stats slated`.
function Client:identify()
    self:admit("version")
    self:admit("stats slated")
    local ok, send_message, send_code = self:send("version\r\nstats slated\r\n")
    if not ok then
        return nil, send_message, send_code
    end
    local line, line_message, line_code = self:line()
    if not line then
        if line_code == "closed" then
            return self:lost(silence(self, line_message), line_code)
        end
        return nil, line_message, line_code
    end
    local version = line:match("^VERSION (.+)$")
    local refusal, refusal_code = refusal_of(line)
    if refusal then
        return self:lost(refusal, refusal_code)
    elseif not version then
        return self:lost(("not a cache server: it answered '%s' to version"):format(requests.printable(
            line:sub(1, 60))), "protocol")
    end
    local lines, message, code = read_stats(self)
    if lines == nil then
        return nil, message, code
    end
    local who = { version = requests.printable(version) }
    for _, stat in ipairs(lines or {}) do
        who.slated = who.slated or stat:match("^STAT slated_version (.+)$")
        who.store = who.store or stat:match("^STAT store (.+)$")
    end
    return who
end

-- The operations of slate.wire.request, sent and answered at once: `client:get(key, options)` is
-- `client:run(requests.get(key, options))`. slate.wire.request documents their arguments and results.
for name, build in pairs(requests.OPERATIONS) do
    Client[name] = function(self, ...)
        return self:run(build(...))
    end
end

return M
