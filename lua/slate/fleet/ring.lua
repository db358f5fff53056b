-- SPDX-License-Identifier: BSD-3-Clause
--- Finds the server that holds a key, among several: all clients of a fleet must share this rule.
--
--     local ring = assert(require("slate.fleet.ring").new({ "10.0.0.1:11211", "10.0.0.2:11211:3" }))
--     print(ring:server("some key").name)
--
-- Kinds of ring:
--
-- * `ketama` (the default): consistent hashing over 160 points a server, by weight. Places keys where libmemcached
--   does with MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, and twemproxy with `distribution: ketama` and the same hash.
-- * `consistent`: libmemcached's MEMCACHED_DISTRIBUTION_CONSISTENT: 100 points a server, hashed like the keys.
--   It has no weights; libmemcached leaves it for `ketama`, with the hash of keys that it had, as soon as a server
--   has a weight other than 1.
-- * `modula`: the hash modulo the number of slots: a server of weight w has w slots in a row, as in twemproxy, which
--   first sorts the servers (option `sorted`). libmemcached takes servers in the given order and ignores weights.
-- * `jump`: jump consistent hash (Lamping and Veach, 2014) of 64 bits over the same slots as `modula`. Servers can
--   be added at the end, or taken from there, with the fewest moves; it needs no memory.
--
-- There may be any number of servers. A ring never changes: make another when servers come or go.
local gather = require "slate.base.gather"
local hash = require "slate.wire.hash"
local units = require "slate.base.units"
local trimmed = require("slate.base.units").trimmed

local M = {}

local MAX_WEIGHT <const> = 10000
-- The most slots of `modula` and `jump`, and points of the other kinds, in a ring.
local MAX_POINTS <const> = 1 << 22

local KETAMA_POINTS <const>, POINTS_A_DIGEST <const>, CONSISTENT_POINTS <const> = 160, 4, 100

local Ring = {}
Ring.__index = Ring
Ring.__name = "slate.fleet.ring"

-- The text from which a server's points are computed. libmemcached and twemproxy leave the default port out.
local function ring_name_of(server)
    if server.path then
        return server.path
    end
    return server.port == units.DEFAULT_PORT and server.host or server.host .. ":" .. server.port
end

--- Reads a server of a fleet as twemproxy writes it: an address, its weight, and a name that replaces the address in
-- the computation of points: "host:port", "host:port:weight", "host:port:weight name", "/path:weight name". Returns
-- what `units.parse_server` returns, with `weight` (1) and `ring_name`; or nil, message, "usage".
function M.parse_server(text)
    local words, ring_name = text:match("^%s*(%S+)%s*(.*)$")
    ring_name = words and trimmed(ring_name)
    if not words or ring_name:find("%s") then
        return nil, ("'%s' is not a server of a fleet: write host:port:weight name"):format(text), "usage"
    end
    local address, weight = words:match("^(.*:%d+):(%d+)$")
    if not address and words:find("/", 1, true) and not words:find("://", 1, true) then
        address, weight = words:match("^(.*):(%d+)$")
    end
    local server, message = units.parse_server(address or words)
    if not server then
        return nil, message, "usage"
    end
    server.weight = math.tointeger(tonumber(weight or 1))
    server.ring_name = ring_name ~= "" and ring_name or ring_name_of(server)
    return server
end

-- Clients in C calculate shares of the ring in single precision, and round the points down.
local function single(x)
    return (string.unpack("f", string.pack("f", x)))
end

local function ketama_digests(weight, total_weight, servers)
    local share = single(single(weight) / single(total_weight))
    local digests = single(single(single(share * KETAMA_POINTS) / POINTS_A_DIGEST) * servers)
    return math.floor(single(digests + 1e-10))
end

local function total_weight_of(servers)
    return gather.sum(servers, "weight")
end

-- Points sort as one integer: the value above, and the server's index in the low bits.
local INDEX_BITS <const> = 24

local function add_ketama_points(points, server, index, total_weight, servers)
    local words = require("slate.wire.md5").words
    for digest = 0, ketama_digests(server.weight, total_weight, servers) - 1 do
        local a, b, c, d = words(("%s-%d"):format(server.ring_name, digest))
        local n = #points
        points[n + 1], points[n + 2] = a << INDEX_BITS | index, b << INDEX_BITS | index
        points[n + 3], points[n + 4] = c << INDEX_BITS | index, d << INDEX_BITS | index
    end
end

-- Sorts the points into two lists: their values, and the indexes of their servers.
local function continuum(points)
    table.sort(points)
    local values, owners = {}, {}
    for i, point in ipairs(points) do
        values[i] = point >> INDEX_BITS
        owners[i] = point & (1 << INDEX_BITS) - 1
    end
    return values, owners
end

-- The first point at or after the hash of a key; after the last point comes the first.
local function point_of(ring, key)
    local values, key_hash = ring.values, ring.hash(key) & 0xffffffff
    local low, high = 1, #values + 1
    while low < high do
        local middle = (low + high) // 2
        if values[middle] < key_hash then
            low = middle + 1
        else
            high = middle
        end
    end
    return low <= #values and low or 1
end

--- Jump consistent hash of a hash of 64 bits: 0 to buckets - 1.
function M.jump(key_hash, buckets)
    local at, next_at = -1, 0
    while next_at < buckets do
        at = next_at
        key_hash = key_hash * 2862933555777941757 + 1
        next_at = math.floor((at + 1) * ((1 << 31) / ((key_hash >> 33) + 1)))
    end
    return at
end

-- One slot for each unit of weight, with the server's index.
local function build_slots(ring)
    local slots = {}
    local order = table.move(ring.members, 1, #ring.members, 1, {})
    if ring.sorted then
        table.sort(order, function(a, b)
            if #a.ring_name ~= #b.ring_name then
                return #a.ring_name < #b.ring_name
            end
            return a.ring_name < b.ring_name
        end)
    end
    for _, server in ipairs(order) do
        for _ = 1, server.weight do
            slots[#slots + 1] = server.index
        end
    end
    ring.owners = slots
end

-- A kind: its default hash, and functions for the number of its points, to build a ring, and for the place of a key in
-- the list `owners`. Ring:servers goes through the list from that place on.
local KINDS <const> = {
    ketama = {
        hash = "md5",
        size = function(servers) return KETAMA_POINTS * #servers end,
        build = function(ring)
            local points, total_weight = {}, total_weight_of(ring.members)
            for index, server in ipairs(ring.members) do
                add_ketama_points(points, server, index, total_weight, #ring.members)
            end
            ring.values, ring.owners = continuum(points)
        end,
        place = point_of,
    },
    consistent = {
        hash = "one_at_a_time",
        size = function(servers) return CONSISTENT_POINTS * #servers end,
        build = function(ring)
            local points = {}
            for index, server in ipairs(ring.members) do
                for i = 0, CONSISTENT_POINTS - 1 do
                    local value = ring.hash(("%s-%d"):format(server.ring_name, i)) & 0xffffffff
                    points[#points + 1] = value << INDEX_BITS | index
                end
            end
            ring.values, ring.owners = continuum(points)
        end,
        place = point_of,
    },
    modula = {
        hash = "one_at_a_time",
        size = total_weight_of,
        build = build_slots,
        place = function(ring, key) return (ring.hash(key) & 0xffffffff) % #ring.owners + 1 end,
    },
    jump = {
        hash = "xxh64",
        size = total_weight_of,
        build = build_slots,
        place = function(ring, key) return M.jump(ring.hash(key), #ring.owners) + 1 end,
    },
}

local function read_members(servers)
    local members = {}
    for i, server in ipairs(servers) do
        if type(server) == "string" then
            local message
            server, message = M.parse_server(server)
            if not server then
                return nil, message
            end
        end
        local weight = server.weight or 1
        if math.type(weight) ~= "integer" or weight < 1 or weight > MAX_WEIGHT then
            return nil, ("the weight of %s is a whole number from 1 to %d"):format(server.name, MAX_WEIGHT)
        end
        members[i] = setmetatable({ weight = weight, ring_name = server.ring_name or ring_name_of(server), index = i },
            { __index = server })
    end
    if #members == 0 then
        return nil, "a ring needs a server"
    end
    return members
end

--- Makes a ring. servers: each as `parse_server` reads or returns it; their order counts for `modula` and `jump`, and
-- for nothing else. options: `kind` ("ketama"); `hash`, a name of slate.wire.hash (by kind: md5, one_at_a_time, xxh64);
-- `sorted`: order them for `modula` and `jump` by `ring_name`, shorter ones first, as twemproxy does. Cost for ketama:
-- some 0.3 ms a server. Returns the ring; or nil, message, "usage".
function M.new(servers, options)
    options = options or {}
    local kind = KINDS[options.kind or "ketama"]
    if not kind then
        return nil, ("there is no ring of kind '%s': it is ketama, consistent, modula or jump"):format(options.kind),
            "usage"
    end
    local members, message = read_members(servers)
    local hash_function
    if members then
        hash_function, message = hash.named(options.hash or kind.hash)
    end
    if message then
        return nil, message, "usage"
    elseif kind.size(members) > MAX_POINTS then
        return nil, ("the ring would have more than %d points"):format(MAX_POINTS), "usage"
    end
    local ring = setmetatable({
        members = members, hash = hash_function, place = kind.place, sorted = options.sorted,
    }, Ring)
    kind.build(ring)
    return ring
end

--- The server that holds a key, with `name` (its address), `weight`, `ring_name` and `index` in the list of servers.
-- Cost: one hash and a binary search.
function Ring:server(key)
    return self.members[self.owners[self:place(key)]]
end

--- The servers for the copies of a key, as many different ones as copies, or all when there are fewer. The first one
-- holds the key. On a ring with points the next is the one that would hold the key if the first were gone (at equal
-- weights); on the others it is the next in the list.
function Ring:servers(key, copies)
    local found, seen = {}, {}
    local at = self:place(key)
    for step = 0, #self.owners - 1 do
        if #found >= copies then
            break
        end
        local index = self.owners[(at + step - 1) % #self.owners + 1]
        if not seen[index] then
            seen[index] = true
            found[#found + 1] = self.members[index]
        end
    end
    return found
end

return M
