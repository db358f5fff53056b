-- SPDX-License-Identifier: BSD-3-Clause
--- A client for the text and meta protocols of memcached and slated.
--
--     local client = assert(require("slate.client").connect("127.0.0.1:11211", { timeout_s = 1 }))
--     client:set("greeting", "hello", { ttl_s = 60 })
--     print(client:get("greeting").value)
--
-- A method returns its result, or nil, message, code when it could not be had. "No" is not an
-- error: a missing key gives false. Codes: "connect", "timeout", "closed", "protocol" (the
-- connection is gone and every later call says so), "unsupported", "refused", "busy", "server"
-- (the server's answer) and "usage" (nothing was sent). One client is one connection and one
-- request at a time; each call has its own deadline.
local clock = require "slate.clock"
local units = require "slate.units"

local M = {}

M.DEFAULT_TIMEOUT_S = 5
M.MAX_KEY_BYTES = 250

local Client = {}
Client.__index = Client
Client.__name = "slate.client"

--- Makes a client over a transport (see slate.transport).
-- options: timeout_s for each call; trace, a function that gets every command line sent.
function M.new(transport, options)
    options = options or {}
    return setmetatable({
        transport = transport,
        timeout_s = options.timeout_s or M.DEFAULT_TIMEOUT_S,
        trace = options.trace,
    }, Client)
end

--- Connects to "host:port", "/path/to.sock" or a table from `units.parse_server`.
function M.connect(server, options)
    local problem
    if type(server) == "string" then
        server, problem = units.parse_server(server)
        if not server then
            return nil, problem, "usage"
        end
    end
    local timeout_s = options and options.timeout_s or M.DEFAULT_TIMEOUT_S
    local stream, message, code = require("slate.transport").connect(server, clock.steady_s() + timeout_s)
    if not stream then
        return nil, message, code
    end
    return M.new(stream, options)
end

-- After a failed transfer nobody knows what the next byte belongs to, so the connection ends.
function Client:lost(message, code)
    self.transport:close()
    self.broken = { message, code }
    return nil, message, code
end

function Client:close()
    if not self.broken then
        self:lost("the client has been closed", "closed")
    end
end

function Client:send(bytes)
    if self.broken then
        return nil, table.unpack(self.broken, 1, 2)
    end
    self.deadline_s = clock.steady_s() + self.timeout_s
    local ok, message, code = self.transport:send(bytes, self.deadline_s)
    if not ok then
        return self:lost(message, code)
    end
    return true
end

function Client:line()
    local line, message, code = self.transport:receive_line(self.deadline_s)
    if not line then
        return self:lost(message, code)
    end
    return line
end

local REFUSALS <const> = {
    { "^ERROR$", "unsupported" }, { "^ERROR ", "refused" }, { "^CLIENT_ERROR", "refused" },
    { "^SERVER_ERROR", "server" }, { "^BUSY", "busy" },
}

--- Says whether a reply line is an error: nil if not, else message and code.
function M.refusal(line)
    for _, row in ipairs(REFUSALS) do
        if line:find(row[1]) then
            return "the server answered: " .. line, row[2]
        end
    end
    return nil
end

-- Sends one command with its optional data block, returns the first line of the reply as it is.
function Client:exchange(command, data)
    if self.trace then
        self.trace(command)
    end
    local ok, message, code = self:send(data and command .. "\r\n" .. data .. "\r\n" or command .. "\r\n")
    if not ok then
        return nil, message, code
    end
    return self:line()
end

--- Sends a command that has a one-line reply. Returns that line, whatever it says.
function Client:command(command)
    if command:find("[\r\n]") then
        return nil, "a command is one line", "usage"
    end
    return self:exchange(command)
end

local function check_key(key)
    if type(key) ~= "string" or #key == 0 or #key > M.MAX_KEY_BYTES or key:find("[%s%c]") then
        return nil, ("a key has 1 to %d bytes without blanks or control characters"):format(M.MAX_KEY_BYTES), "usage"
    end
    return true
end

-- Turns a one-line reply into a result: words[line] when listed, else an error.
local function outcome(words, line, message, code)
    if not line then
        return nil, message, code
    end
    local result = words[line]
    if result ~= nil then
        return result, line
    end
    local refused, refusal_code = M.refusal(line)
    return nil, refused or ("unexpected reply: " .. line), refusal_code or "protocol"
end

-- stats ---------------------------------------------------------------------------------------

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
        local refused, refusal_code = M.refusal(line)
        if refused then
            return false, refused, refusal_code
        end
        if line == "RESET" or line == "OK" then
            return { line }
        end
        lines[#lines + 1] = line
    end
end

--- Asks for several groups of statistics in one round trip, "" being the general one.
-- Returns a table from group to its raw lines, and a table from each group that the server
-- refused to { message, code }.
function Client:stats_groups(groups)
    local commands = {}
    for i, group in ipairs(groups) do
        commands[i] = group == "" and "stats" or "stats " .. group
        if commands[i]:find("[\r\n]") then
            return nil, "a group of statistics is one line", "usage"
        end
        if self.trace then
            self.trace(commands[i])
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

--- The raw lines of one group of statistics ("" or nil: the general one).
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

--- Who answers: { version =, slated = version or nil }, in one round trip.
-- slated answers `version` with the version of memcached it stands in for; only it knows `stats slated`.
function Client:identify()
    if self.trace then
        self.trace("version")
        self.trace("stats slated")
    end
    local ok, send_message, send_code = self:send("version\r\nstats slated\r\n")
    if not ok then
        return nil, send_message, send_code
    end
    local line, line_message, line_code = self:line()
    if not line then
        return nil, line_message, line_code
    end
    local version = line:match("^VERSION (.+)$")
    if not version then
        return self:lost(("not a cache server: it answered '%s' to version"):format(line:sub(1, 60)), "protocol")
    end
    local lines, message, code = read_stats(self)
    if lines == nil then
        return nil, message, code
    end
    local who = { version = version }
    for _, stat in ipairs(lines or {}) do
        who.slated = who.slated or stat:match("^STAT slated_version (.+)$")
    end
    return who
end

-- items ---------------------------------------------------------------------------------------

local function read_values(client)
    local items = {}
    while true do
        local line, message, code = client:line()
        if not line then
            return nil, message, code
        end
        if line == "END" then
            return items
        end
        local key, flags, size, cas = line:match("^VALUE (%S+) (%d+) (%d+) ?(%d*)$")
        if not key then
            local refused, refusal_code = M.refusal(line)
            if refused then
                return nil, refused, refusal_code
            end
            return client:lost("unexpected reply: " .. line, "protocol")
        end
        local data
        data, message, code = client.transport:receive_bytes(tonumber(size) + 2, client.deadline_s)
        if not data then
            return client:lost(message, code)
        elseif data:sub(-2) ~= "\r\n" then
            return client:lost("the value of " .. key .. " does not end where it should", "protocol")
        end
        -- CAS values stay text: they are opaque and may exceed a signed integer.
        items[key] = { value = data:sub(1, -3), flags = tonumber(flags), cas = cas ~= "" and cas or nil }
    end
end

--- Reads several keys with their CAS values: a table from each key found to { value, flags, cas }.
function Client:get_many(keys)
    if #keys == 0 then
        return {}
    end
    for _, key in ipairs(keys) do
        local ok, message, code = check_key(key)
        if not ok then
            return nil, message, code
        end
    end
    local command = "gets " .. table.concat(keys, " ")
    if self.trace then
        self.trace(command)
    end
    local ok, message, code = self:send(command .. "\r\n")
    if not ok then
        return nil, message, code
    end
    return read_values(self)
end

--- Reads one key: { value, flags, cas }, or false when the server has no such item.
function Client:get(key)
    local items, message, code = self:get_many({ key })
    if not items then
        return nil, message, code
    end
    return items[key] or false
end

local STORE_MODES <const> = { set = true, add = true, replace = true, append = true, prepend = true, cas = true }
local STORE_REPLIES <const> = { STORED = true, NOT_STORED = false, EXISTS = false, NOT_FOUND = false }

--- Stores a value. options: mode ("set" by default; add, replace, append, prepend, cas), flags,
-- ttl_s, cas (for mode "cas"). Returns true, or false and the server's word for why not.
function Client:set(key, value, options)
    options = options or {}
    local mode = options.mode or "set"
    local ok, message, code = check_key(key)
    if not ok then
        return nil, message, code
    elseif not STORE_MODES[mode] or mode == "cas" and not options.cas then
        return nil, "cannot store with mode " .. mode .. (mode == "cas" and " and no cas" or ""), "usage"
    end
    local command = ("%s %s %d %d %d"):format(mode, key, options.flags or 0, options.ttl_s or 0, #value)
    if mode == "cas" then
        command = command .. " " .. options.cas
    end
    return outcome(STORE_REPLIES, self:exchange(command, value))
end

local function on_key(client, format, key, ...)
    local ok, message, code = check_key(key)
    if not ok then
        return nil, message, code
    end
    return client:exchange(format:format(key, ...))
end

--- Deletes a key: true, or false when there was none.
function Client:delete(key)
    return outcome({ DELETED = true, NOT_FOUND = false }, on_key(self, "delete %s", key))
end

--- Gives a key a new time to live: true, or false when there is none.
function Client:touch(key, ttl_s)
    return outcome({ TOUCHED = true, NOT_FOUND = false }, on_key(self, "touch %s %d", key, ttl_s))
end

local function count(client, verb, key, delta)
    local line, message, code = on_key(client, verb .. " %s %d", key, delta or 1)
    local number = line and line:match("^(%d+)%s*$")
    if number then
        return math.tointeger(tonumber(number)) or tonumber(number)
    end
    return outcome({ NOT_FOUND = false }, line, message, code)
end

--- Adds to a number: its new value, or false when there is no such key.
function Client:incr(key, delta)
    return count(self, "incr", key, delta)
end

--- Subtracts from a number, not below zero: its new value, or false when there is no such key.
function Client:decr(key, delta)
    return count(self, "decr", key, delta)
end

--- Invalidates every item, now or after a delay.
function Client:flush_all(delay_s)
    return outcome({ OK = true }, self:exchange(delay_s and ("flush_all %d"):format(delay_s) or "flush_all"))
end

--- Sends a meta command ("mg", "ms", "md", "ma", "me", "mn").
-- flags: list of strings such as { "v", "t", "T30" }; data: the value for "ms" (its length is
-- added to the command). Returns { status = "HD", flags = {...}, value = } or an error;
-- statuses EN, NF, NS and EX are answers, not errors. Do not pass `q`: a hidden reply never comes.
function Client:meta(verb, key, flags, data)
    local words = { verb }
    if verb ~= "mn" then
        local ok, message, code = check_key(key)
        if not ok then
            return nil, message, code
        end
        words[2] = key
    end
    if data then
        words[#words + 1] = tostring(#data)
    end
    for _, flag in ipairs(flags or {}) do
        if flag:find("^q") or flag:find("[%s%c]") then
            return nil, "the flag '" .. flag .. "' cannot be used here", "usage"
        end
        words[#words + 1] = flag
    end
    local line, message, code = self:exchange(table.concat(words, " "), data)
    if not line then
        return nil, message, code
    end
    local refused, refusal_code = M.refusal(line)
    if refused then
        return nil, refused, refusal_code
    end
    local reply = { flags = {} }
    for word in line:gmatch("%S+") do
        if reply.status then
            reply.flags[#reply.flags + 1] = word
        else
            reply.status = word
        end
    end
    if reply.status == "VA" then
        local size = tonumber(table.remove(reply.flags, 1))
        local block
        block, message, code = self.transport:receive_bytes((size or 0) + 2, self.deadline_s)
        if not block then
            return self:lost(message, code)
        end
        reply.value = block:sub(1, -3)
    end
    return reply
end

return M
