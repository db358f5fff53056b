-- SPDX-License-Identifier: BSD-3-Clause
--- Hot keys: the keys with the most requests or bytes read of the last ten seconds, with the error of each figure.
-- slated reports them from a sample (`stats hotkeys`); on memcached they are counted from `watch fetchers`. Pure but
-- for `read`.
local stats = require "slate.facts.stats"

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

--- Takes a line of the stream. A line that is neither a request nor a count of lost lines is left out. A store or a
-- delete looks up its key by a line like that of a get, with the size of the item that was there.
function Counter:take(line)
    local key, size = line:match("type=item_get key=(%S+) .*size=(%d+)")
    if not key then
        self.skipped = self.skipped + (tonumber(line:match("^skipped=(%d+)")) or 0)
        return
    end
    local one, bytes = self.of[key], math.tointeger(tonumber(size)) or 0
    if not one then
        if self.count >= self.most then
            self:prune()
        end
        one = { requests = 0, bytes = 0, error = self.prunings }
        self.of[key], self.count = one, self.count + 1
    end
    one.requests, one.bytes = one.requests + 1, one.bytes + bytes
    self.requests, self.bytes = self.requests + 1, self.bytes + bytes
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
        hot.keys[#hot.keys + 1] = (one.requests >= few or one.bytes > few_bytes) and { key = M.key_of(key),
            requests = scaled(most), error = scaled(one.error), doubt = math.ceil(doubt),
            bytes = scaled(most * each), bytes_error = scaled(one.error * each), bytes_doubt = math.ceil(doubt * each),
        } or nil
    end
    return hot
end

return M
