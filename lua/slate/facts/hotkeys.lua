-- SPDX-License-Identifier: BSD-3-Clause
--- Hot keys: the keys with the most requests or bytes read of the last ten seconds, with the error of each figure.
-- slated reports them from a sample (`stats hotkeys`); on memcached they are counted from `watch fetchers`. Pure but
-- for `read`.
local order = require "slate.base.order"
local stats = require "slate.facts.stats"
local units = require "slate.base.units"

local M = {}

--- How long keys are counted on a server that reports none.
M.WATCH_S = 10
--- The keys that a server reports at most.
M.MOST = 128

local FIGURES <const> = { "requests", "error", "doubt", "bytes", "bytes_error", "bytes_doubt" }

local function percent_escaped(bytes)
    return (bytes:gsub(".", function(byte) return ("%%%02X"):format(byte:byte()) end))
end

--- The bytes of a key that a server escaped as in a URI.
function M.key_of(escaped)
    return (escaped:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

--- A key as it was typed. Control characters, marks that change the direction of writing, and bytes that are not UTF-8
-- become %XX.
function M.shown_key(key)
    local _, bad = utf8.len(key)
    while bad do
        key = key:sub(1, bad - 1) .. percent_escaped(key:sub(bad, bad)) .. key:sub(bad + 1)
        _, bad = utf8.len(key)
    end
    return (key:gsub("%c", percent_escaped):gsub("\xc2[\x80-\x9f]", percent_escaped)
        :gsub("\xe2\x80[\x8e\x8f\xaa-\xae]", percent_escaped):gsub("\xe2\x81[\xa6-\xa9]", percent_escaped))
end

--- The answer to `stats hotkeys`: { requests, bytes, noted, seconds, keys }, of all keys; keys: a list of { key
-- (its bytes), requests, error, doubt, bytes, bytes_error, bytes_doubt }, without rows that lack requests or error.
function M.parse(lines)
    local totals, rows = stats.numbered(lines, "number", { key = true }, { "key", "requests", "error" })
    table.sort(rows, function(a, b) return a.number < b.number end)
    local hot = { requests = math.tointeger(totals.requests) or 0, noted = math.tointeger(totals.noted),
        bytes = math.tointeger(totals.bytes), seconds = tonumber(totals.seconds), keys = {} }
    for _, row in ipairs(rows) do
        local one = { key = M.key_of(row.key) }
        for _, name in ipairs(FIGURES) do
            one[name] = math.tointeger(row[name])
        end
        hot.keys[#hot.keys + 1] = one.requests and one.error and one or nil
    end
    return hot
end

--- The least and the most of a figure of a key ("requests" or "bytes", default: requests), and a value between them; 95
-- of 100 are within. A counter may have belonged to another key before (error), and only some requests are noted
-- (doubt). nil if the server does not report it.
function M.bounds(one, figure)
    local prefix = figure == "bytes" and "bytes_" or ""
    local count, wrong, doubt = one[figure or "requests"], one[prefix .. "error"] or 0, one[prefix .. "doubt"] or 0
    if not count then
        return nil
    end
    return math.max(count - wrong - doubt, 0), count + doubt, count - wrong / 2
end

--- Sorts keys by a figure, as `bounds` has it between the least and the most, and keeps `count` of them.
function M.sort(keys, figure, count)
    local of = {}
    for _, one in ipairs(keys) do
        of[one] = select(3, M.bounds(one, figure)) or -1
    end
    table.sort(keys, function(a, b)
        if of[a] ~= of[b] then
            return of[a] > of[b]
        end
        return a.key < b.key
    end)
    for i = #keys, count + 1, -1 do
        keys[i] = nil
    end
end

--- Queries a slated.
function M.read(client)
    local lines, message, code = stats.query_slated(client, "hotkeys " .. M.MOST,
        "the server reports no hot keys")
    if not lines then
        return nil, message, code == "refused" and require("slate.facts.runtime").blame(message) or code
    end
    return M.parse(lines)
end

-- Counts keys of `watch fetchers` by lossy counting: at the limit, keys that were counted at most once since the limit
-- before are dropped. So a count may be too low by the number of times that this happened before (error). Source: Manku
-- and Motwani, "Approximate Frequency Counts over Data Streams", VLDB 2002.
local KEYS_MOST <const> = 100000
local HOSTS_SHOWN <const>, PORTS_SHOWN <const> = 5, 3

-- Of each key: requests, bytes, error, and by the number of a connection its requests.
local Counter = {}
Counter.__index = Counter

--- A counter of the lines of `watch fetchers`.
function M.counter()
    return setmetatable({ requests = 0, bytes = 0, skipped = 0, prunings = 0, count = 0,
        most = KEYS_MOST, of = {} }, Counter)
end

function Counter:prune()
    self.prunings = self.prunings + 1
    for key, one in pairs(self.of) do
        if one.requests + one.error <= self.prunings then
            self.of[key], self.count = nil, self.count - 1
        end
    end
    self.most = math.max(KEYS_MOST, 2 * self.count)
end

--- Takes a line of the stream; memcached before 1.6 does not say which connection asked. A line that is neither a
-- request nor a count of lost lines is left out. A store or a delete looks up its key by a line like that of a get,
-- with the size of the item that was there.
function Counter:take(line)
    local key, size = line:match("type=item_get key=(%S+) .*size=(%d+)")
    if not key then
        self.skipped = self.skipped + (tonumber(line:match("^skipped=(%d+)")) or 0)
        return
    end
    key = key:find("%", 1, true) and M.key_of(key) or key
    local one, bytes, connection = self.of[key], math.tointeger(tonumber(size)) or 0, line:match(" cfd=(%d+)")
    if not one then
        if self.count >= self.most then
            self:prune()
        end
        one = { requests = 0, bytes = 0, error = self.prunings }
        self.of[key], self.count = one, self.count + 1
    end
    one.requests, one.bytes = one.requests + 1, one.bytes + bytes
    connection = math.tointeger(tonumber(connection))
    if connection then
        one[connection] = (one[connection] or 0) + 1
    end
    self.requests, self.bytes = self.requests + 1, self.bytes + bytes
end

--- The addresses of connections by their numbers, from the text of `stats conns`.
function M.addresses(text)
    local of = {}
    for number, address in text:gmatch("STAT (%d+):addr ([^\r\n]+)") do
        of[math.tointeger(tonumber(number))] = address
    end
    return of
end

--- Who asked for a key: a list of { host (nil: connections without a known address), share (of the requests for the key
--- that were seen), connections (their number), ports (a list of { port, share }) }, the largest share first; empty
--- when nobody was seen to ask. before, after: the addresses when the count began and when it ended. Numbers of closed
--- connections are used again, so an address counts only if both have it.
function Counter:who(key, before, after)
    local one, hosts, list = self.of[key] or {}, {}, {}
    for number, requests in pairs(one) do
        if math.type(number) == "integer" then
            local address, host, port = after[number], nil, nil
            if address and address == before[number] then
                host, port = address:match("^%l+%d?:(.*):(%d+)$") -- as "tcp:127.0.0.1:47536"
                host = host or address -- of a UNIX socket
            end
            local at = hosts[host or ""]
            if not at then
                at = { host = host, requests = 0, connections = 0, ports = {} }
                hosts[host or ""], list[#list + 1] = at, at
            end
            at.requests, at.connections = at.requests + requests, at.connections + 1
            port = math.tointeger(tonumber(port))
            at.ports[#at.ports + 1] = port and { port = port, share = requests / one.requests }
        end
    end
    for _, at in ipairs(list) do
        at.share = at.requests / one.requests
        order.largest_first(at.ports, "share", "port")
    end
    return order.largest_first(list, "share", function(at) return at.host or "" end)
end

-- "port 4001", "ports 4001 75.0 %, 4002 25.0 %", "12 connections", or why no address is known.
local function connections_words(at)
    local count = units.plural(at.connections, "connection")
    if not at.host then
        return count .. ", not open all the time, or without a known address"
    end
    local words = {}
    for i, one in ipairs(at.ports) do
        words[i] = at.ports[2] and ("%s %s %%"):format(one.port, units.share(one.share)) or one.port
    end
    return words[1] and not words[PORTS_SHOWN + 1] and (words[2] and "ports " or "port ") .. table.concat(words, ", ")
        or count
end

--- What `who` returns, in words: "10.0.0.2 80.0 % (port 4001), 10.0.0.3 20.0 % (12 connections)".
function M.who_words(list)
    local words, more = {}, #list - HOSTS_SHOWN
    for i = 1, math.min(#list, HOSTS_SHOWN) do
        words[i] = ("%s %s %% (%s)"):format(list[i].host or "others", units.share(list[i].share),
            connections_words(list[i]))
    end
    return table.concat(words, ", ") .. (more > 0 and (" and %s"):format(units.plural(more, "host")) or "")
end

-- The least count of a key that is more than chance makes: if all keys were requested alike, 19 times of 20 none of
-- them would have it. mean: requests a key (a Poisson distribution).
local function count_beyond_chance(mean, keys)
    local count, chance, beyond = 0, math.exp(-mean), 1
    while beyond * keys > 0.05 and chance > 0 do
        beyond, count = beyond - chance, count + 1
        chance = chance * mean / count
    end
    return count
end

-- Two standard errors of a count of `part` among `all` lines, when only one line in `scale` was seen.
local function doubt_of(part, all, scale)
    return 2 * scale * math.sqrt(part * (1 - part / all) * (1 - 1 / scale))
end

--- The result, in the form of `parse`, with `lost` lines (nil: the server does not count them). dropped: lines that the
-- server's log dropped. Counts are for all reads: lost lines are taken to be like the seen ones, which adds to doubt.
-- Keys are left out that have no more requests than chance makes, and no more bytes than so many requests of the mean
-- size.
function Counter:result(seconds, dropped)
    local lost = dropped and dropped + self.skipped
    local scale = self.requests > 0 and 1 + (lost or self.skipped) / self.requests or 1
    local function scaled(n) return math.floor(n * scale + 0.5) end
    local hot = { requests = scaled(self.requests), noted = self.requests, bytes = scaled(self.bytes),
        seconds = seconds, lost = lost, keys = {} }
    local few = count_beyond_chance(self.requests / math.max(self.count, 1), self.count)
    local few_bytes = few * self.bytes / math.max(self.requests, 1)
    for key, one in pairs(self.of) do
        local doubt, each = doubt_of(one.requests, self.requests, scale), one.bytes / one.requests
        local most = one.requests + one.error
        hot.keys[#hot.keys + 1] = (one.requests >= few or one.bytes > few_bytes) and { key = key,
            requests = scaled(most), error = scaled(one.error), doubt = math.ceil(doubt),
            bytes = scaled(most * each), bytes_error = scaled(one.error * each), bytes_doubt = math.ceil(doubt * each),
        } or nil
    end
    return hot
end

return M
