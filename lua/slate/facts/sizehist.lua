-- SPDX-License-Identifier: BSD-3-Clause
--- The sizes of a server's items: a histogram from `stats sizehist` (slated), `stats sizes` (memcached, if it tracks
-- sizes), or a bounded dump of keys.
--
-- A histogram is { source = "sizehist" | "sizes" | "metadump", why = a remark on its accuracy, items, bytes (at most),
-- item_bytes (the exact bytes of items, if the source has them), exact (true: sizes are no steps), sizes = list of
-- { bytes = the largest size of its items, header included, above_bytes (all are larger), items }, smallest first }.
local chunks = require "slate.facts.chunks"

local M = {}

M.SOURCES = { "sizehist", "sizes", "metadump" }
M.MOST_KEYS = 100000

-- No server reports larger items, or more of them. Up to these, sums stay whole numbers.
local MOST_BYTES <const>, MOST_ITEMS <const> = 1 << 31, 1 << 40

-- width(bytes): the width of the step whose upper end is `bytes`.
local function finish(histogram, width)
    table.sort(histogram.sizes, function(a, b) return a.bytes < b.bytes end)
    histogram.items, histogram.bytes = 0, 0
    for _, size in ipairs(histogram.sizes) do
        size.above_bytes = size.bytes - width(size.bytes)
        histogram.items = histogram.items + size.items
        histogram.bytes = histogram.bytes + size.items * size.bytes
    end
    return histogram
end

--- Parses lines of `STAT <bytes> <items>`; other lines are put into a table by name. Pure.
function M.parse(lines)
    local stats = require "slate.facts.stats"
    local sizes, totals = {}, {}
    for _, line in ipairs(lines) do
        local name, text = stats.split(line)
        local bytes = name and math.tointeger(tonumber(name))
        local items = math.tointeger(tonumber(text))
        if bytes and items and bytes <= MOST_BYTES and items <= MOST_ITEMS then
            sizes[#sizes + 1] = { bytes = bytes, items = items }
        elseif name then
            totals[name] = stats.typed(name, text)
        end
    end
    return sizes, totals
end

-- Steps of slated: eight for each doubling, and none narrower than 8 bytes.
local function eighth_of_doubling(bytes)
    local doubling = 64
    while doubling * 2 < bytes do
        doubling = doubling * 2
    end
    return math.max(8, doubling // 8)
end

--- The histogram of the lines of `stats sizehist`. Pure.
function M.of_sizehist(lines)
    local sizes, totals = M.parse(lines)
    local exact, pages = totals.item_bytes, tonumber(totals.sampled_pages) or 1
    local histogram = finish({ source = "sizehist", sizes = sizes, why = pages <= 1
        and "every item" or ("the items of one page in %.0f"):format(pages) }, eighth_of_doubling)
    histogram.item_bytes, histogram.taken_bytes = exact, totals.taken_bytes
    return histogram
end

--- The histogram of the lines of `stats sizes`; nil if the server does not track sizes. now: a snapshot with exact
-- bytes of items, if the server reports these; may be nil. Pure.
function M.of_sizes(lines, now)
    local sizes, totals = M.parse(lines)
    if totals.sizes_status == "disabled" then
        return nil
    end
    local histogram = finish({ source = "sizes", sizes = sizes, why = "every item, in steps of 32 bytes" }, function()
        return 32
    end)
    local waste = require "slate.facts.waste"
    local needed = now and waste.total(now, waste.classes(now)).requested_bytes
    histogram.item_bytes = needed and needed <= histogram.bytes and needed or nil
    return histogram
end

local UNREPORTED <const> = "not known: this server reports no sizes"

local function from_sizehist(client)
    local lines, message, code = client:stats("sizehist")
    if not lines then
        return nil, code == "unsupported" and "stats sizehist needs slated" or message, code
    elseif #lines == 0 then
        return nil, UNREPORTED, "unsupported"
    end
    return M.of_sizehist(lines)
end

local function from_sizes(client, now)
    local lines, message, code = client:stats("sizes")
    if not lines then
        return nil, code == "unsupported" and UNREPORTED .. "; to sample its keys give --from metadump" or message, code
    elseif #lines == 0 and not (now and now.general.curr_items == 0
        and require("slate.facts.snapshot").reports_classes(now)) then
        return nil, UNREPORTED, "unsupported"
    end
    local histogram = M.of_sizes(lines, now)
    if not histogram then
        return nil, "this server does not keep track of sizes: start it with -o track_sizes, "
            .. "or sample its keys with --from metadump", "unsupported"
    end
    return histogram
end

local function from_metadump(client)
    local counts, seen, item_bytes = {}, 0, 0
    local message, code = require("slate.wire.keydump").each(client, { limit = M.MOST_KEYS }, function(key)
        if key.size_bytes then
            local bytes = chunks.aligned(key.size_bytes)
            counts[bytes] = (counts[bytes] or 0) + 1
            seen, item_bytes = seen + 1, item_bytes + key.size_bytes
        end
    end)
    if message then
        return nil, message, code
    end
    local sizes = {}
    for bytes, items in pairs(counts) do
        sizes[#sizes + 1] = { bytes = bytes, items = items }
    end
    local why = seen < M.MOST_KEYS and "every key that the dump listed"
        or ("the first %d keys of a dump"):format(seen)
    return finish({ source = "metadump", sizes = sizes, item_bytes = item_bytes, exact = true, why = why }, function()
        return chunks.ALIGN_BYTES
    end)
end

local READERS <const> = { sizehist = from_sizehist, sizes = from_sizes, metadump = from_metadump }

--- Queries a server for its histogram. source: one of SOURCES, or nil for the best that answers without a dump. now: a
-- snapshot of the server, may be nil. Returns the histogram, or nil, message, code. A dump closes the client.
function M.read(client, source, now)
    if source then
        return READERS[source](client, now)
    end
    local histogram, message, code = from_sizehist(client)
    if not histogram and code == "unsupported" then
        histogram, message, code = from_sizes(client, now)
    end
    return histogram, message, code
end

return M
