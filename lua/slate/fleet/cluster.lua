-- SPDX-License-Identifier: BSD-3-Clause
--- One cache out of several servers: each key goes to the server that the ring says.
--
--     local cluster = assert(require("slate.fleet.cluster").new({ "10.0.0.1:11211", "10.0.0.2:11211:3" }))
--     cluster:set("greeting", "hello")
--     local items, failures = cluster:get_many(keys)   -- all servers are asked at once
--
-- Servers are connected to when first needed. One that cannot be connected to, does not answer in time or breaks
-- the protocol is *down* for `retry_s`: its keys fail at once with its message, and then it is tried again. A
-- connection that was closed is made again by the next call. With `eject`, the keys of a server that is down belong to
-- the others meanwhile, as with twemproxy's auto_eject_hosts; without, a key is on its server or nowhere, so that no
-- client ever reads an old value from a server that was thought dead.
--
-- With `copies` above 1, stores, deletions and counts go to that many servers; a read asks the first, and the next
-- when that one fails or has no such item. The answer is that of the first server that gave one; copies that failed
-- are not mended.
-- @module slate.fleet.cluster
local clock = require "slate.base.clock"
local requests = require "slate.wire.request"
local ring = require "slate.fleet.ring"

local M = {}

M.DEFAULT_RETRY_S = 2

local Cluster = {}
Cluster.__index = Cluster
Cluster.__name = "slate.fleet.cluster"

--- Makes a cluster. Nothing is connected yet.
-- @tparam {string|table,...} servers as for `slate.fleet.ring.new`; none may be given twice
-- @tparam[opt] table options `kind` and `hash` of the ring, `copies` (1), `eject`, `retry_s` (2), and those of
-- `slate.wire.client.connect`
-- @treturn[1] Cluster
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string "usage"
function M.new(servers, options)
    options = options or {}
    local whole, message, code = ring.new(servers, options)
    if not whole then
        return nil, message, code
    end
    local seen = {}
    for _, member in ipairs(whole.members) do
        if seen[member.name] then
            return nil, member.name .. " is given twice", "usage"
        end
        seen[member.name] = true
    end
    return setmetatable({
        options = options, whole = whole, ring = whole, members = whole.members,
        clients = {}, down = {}, -- by the server's name; down: { until_s, message, code }
    }, Cluster)
end

-- The ring of now: with `eject`, only those that are not down.
function Cluster:ring_now()
    if not self.options.eject or not next(self.down) then
        return self.whole
    end
    local now_s, live, names = clock.steady_s(), {}, {}
    for _, member in ipairs(self.members) do
        local down = self.down[member.name]
        if not down or down.until_s <= now_s then
            live[#live + 1], names[#names + 1] = member, member.name
        end
    end
    if #live == 0 or #live == #self.members then
        return self.whole
    end
    local signature = table.concat(names, " ")
    if self.ring_signature ~= signature then
        self.ring, self.ring_signature = assert(ring.new(live, self.options)), signature
    end
    return self.ring
end

function Cluster:mark_down(member, message, code)
    self.clients[member.name] = nil
    self.down[member.name] = {
        until_s = clock.steady_s() + (self.options.retry_s or M.DEFAULT_RETRY_S), message = message, code = code,
    }
end

-- A client of a server, connected; or nil, message, code while it is down.
function Cluster:reach(member)
    local down = self.down[member.name]
    if down and clock.steady_s() < down.until_s then
        return nil, ("%s is down: %s"):format(member.name, down.message), down.code
    end
    local client = self.clients[member.name]
    if client then
        return client
    end
    local message, code
    client, message, code = require("slate.wire.client").connect(member, self.options)
    if not client then
        self:mark_down(member, message, code)
        return nil, message, code
    end
    self.clients[member.name], self.down[member.name] = client, nil
    return client
end

-- After a call: a connection that broke is forgotten, and its server is down unless it merely closed it.
function Cluster:settle(member)
    local client = self.clients[member.name]
    if client and client.broken then
        local message, code = table.unpack(client.broken, 1, 2)
        if code == "closed" then
            self.clients[member.name] = nil
        else
            self:mark_down(member, message, code)
        end
    end
end

-- Runs a request on one server.
function Cluster:run_on(member, request)
    local client, message, code = self:reach(member)
    if not client then
        return nil, message, code
    end
    local answer = table.pack(client:run(request))
    self:settle(member)
    return table.unpack(answer, 1, answer.n)
end

-- The servers for the copies of a key.
function Cluster:servers(key)
    return self:ring_now():servers(key, self.options.copies or 1)
end

-- To every server that holds a copy; the answer of the first that gave one.
local function write(self, key, request, message, code)
    if not request then
        return nil, message, code
    end
    local answer
    for _, member in ipairs(self:servers(key)) do
        local got = table.pack(self:run_on(member, request))
        if not answer or answer[1] == nil then
            answer = got
        end
    end
    return table.unpack(answer, 1, answer.n)
end

--- The server that holds a key at this moment.
-- @tparam string key
-- @treturn table see `slate.fleet.ring`
function Cluster:server(key)
    return self:ring_now():server(key)
end

--- Reads one key.
-- @tparam string key
-- @tparam[opt] table options `timeout_s`
-- @treturn table { value, flags, cas }, or false when no copy has it, or nil, message, code when none could be asked
function Cluster:get(key, options)
    local request, message, code = requests.get(key, options)
    if not request then
        return nil, message, code
    end
    local result
    for _, member in ipairs(self:servers(key)) do
        local item, problem, problem_code = self:run_on(member, request)
        if item then
            return item
        elseif item == false then
            result = false
        else
            message, code = problem, problem_code
        end
    end
    if result == nil then
        return nil, message, code
    end
    return result
end

--- Stores a value: see `slate.wire.client`.
-- @tparam string key
-- @tparam string value
-- @tparam[opt] table options
-- @treturn boolean true, or false and the server's word for why not, or nil, message, code
function Cluster:set(key, value, options)
    return write(self, key, requests.set(key, value, options))
end

--- Deletes a key.
-- @tparam string key
-- @tparam[opt] table options `timeout_s`
-- @treturn boolean true, or false when there was none, or nil, message, code
function Cluster:delete(key, options)
    return write(self, key, requests.delete(key, options))
end

--- Gives a key a new time to live.
-- @tparam string key
-- @tparam integer ttl_s
-- @tparam[opt] table options `timeout_s`
-- @treturn boolean true, or false when there is none, or nil, message, code
function Cluster:touch(key, ttl_s, options)
    return write(self, key, requests.touch(key, ttl_s, options))
end

--- Adds to a number.
-- @tparam string key
-- @tparam[opt=1] integer delta
-- @tparam[opt] table options `timeout_s`
-- @treturn integer its new value, or false when there is no such key, or nil, message, code
function Cluster:incr(key, delta, options)
    return write(self, key, requests.incr(key, delta, options))
end

--- Subtracts from a number, not below zero.
-- @tparam string key
-- @tparam[opt=1] integer delta
-- @tparam[opt] table options `timeout_s`
-- @treturn integer its new value, or false when there is no such key, or nil, message, code
function Cluster:decr(key, delta, options)
    return write(self, key, requests.decr(key, delta, options))
end

-- Asks several servers at once: sends each its request, then reads each answer.
-- asked: list of { member =, request = }; gets result, message, code for each.
function Cluster:ask(asked)
    for _, one in ipairs(asked) do
        one.client, one.message, one.code = self:reach(one.member)
        if one.client then
            local ok
            ok, one.message, one.code = one.client:begin(one.request)
            one.client = ok and one.client or nil
        end
    end
    for _, one in ipairs(asked) do
        if one.client then
            one.result, one.message, one.code = one.request.read(one.client)
        end
        self:settle(one.member)
    end
end

-- Keys by the server that holds their copy number `copy`.
local function group(self, keys, copy)
    local groups, by_name, placed = {}, {}, self:ring_now()
    for _, key in ipairs(keys) do
        local text = tostring(key) -- what is no key at all is refused later, with words
        local member = copy == 1 and placed:server(text) or placed:servers(text, copy)[copy]
        if member and not by_name[member.name] then
            by_name[member.name] = { member = member, keys = {} }
            groups[#groups + 1] = by_name[member.name]
        end
        if member then
            table.insert(by_name[member.name].keys, key)
        end
    end
    return groups
end

--- Reads several keys; all servers are asked at once. With copies, the keys of a server that fails are asked of the
-- next one.
-- @tparam {string,...} keys
-- @tparam[opt] table options `timeout_s`
-- @treturn[1] table from each key found to { value, flags, cas }
-- @treturn[1] table from the name of each server that could not be asked to { message, code }
-- @treturn[2] nil when a key is none
-- @treturn[2] string message
-- @treturn[2] string "usage"
function Cluster:get_many(keys, options)
    local items, failures, left = {}, {}, keys
    for copy = 1, self.options.copies or 1 do
        local groups = group(self, left, copy)
        for _, one in ipairs(groups) do
            local message, code
            one.request, message, code = requests.get_many(one.keys, options)
            if not one.request then
                return nil, message, code
            end
        end
        self:ask(groups)
        left = {}
        for _, one in ipairs(groups) do
            if one.result then
                for key, item in pairs(one.result) do
                    items[key] = item
                end
            else
                failures[one.member.name] = { one.message, one.code }
                table.move(one.keys, 1, #one.keys, #left + 1, left)
            end
        end
    end
    return items, failures
end

--- Invalidates every item of every server.
-- @tparam[opt] table options `timeout_s`
-- @treturn boolean true, or nil, message, code of the first that failed; the others have done it
function Cluster:flush_all(options)
    local asked = {}
    for i, member in ipairs(self.members) do
        asked[i] = { member = member, request = requests.flush_all(nil, options) }
    end
    self:ask(asked)
    for _, one in ipairs(asked) do
        if one.result == nil then
            return nil, one.message, one.code
        end
    end
    return true
end

--- A pipeline over all servers, for the non-blocking mode: `get`, `set`, `delete`, `touch`, `incr`, `decr`, then `run`,
-- as in slate.wire.pipeline. All servers work at once; a request goes to the first copy only.
-- @treturn table
function Cluster:pipeline()
    return require("slate.fleet.cluster_pipeline").new(self)
end

--- The no-reply mode over all servers: `set`, `delete`, `touch`, `incr`, `decr`, then `finish`, as in
-- slate.wire.pipeline. A request goes to the first copy only.
-- @treturn table
function Cluster:quiet()
    return require("slate.fleet.cluster_pipeline").quiet(self)
end

--- Closes all connections. The cluster can be used again: it connects anew.
function Cluster:close()
    for name, client in pairs(self.clients) do
        client:close()
        self.clients[name] = nil
    end
end

return M
