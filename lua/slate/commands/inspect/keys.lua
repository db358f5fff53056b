-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl keys: the keys of a server, from a bounded dump: summed up by prefix, or one by one.
local clock = require "slate.base.clock"
local keydump = require "slate.wire.keydump"
local must = require("slate.base.failure").must
local order = require "slate.base.order"
local shown_key = require("slate.facts.hotkeys").shown_key
local units = require "slate.base.units"

local M = {}

local DEFAULT_LIMIT <const>, DEFAULT_TOP <const> = 100000, 20

local COLUMNS <const> = "ITEMS|BYTES|MEAN|UNREAD|EXPIRE|IDLE|PREFIX<"

function M.declare(command)
    command:option("--prefix", "Only keys that begin with this."):argname("TEXT")
    command:option("--class", "Only this slab class."):argname("CLASS"):convert(units.whole(1, 255))
    command:flag("--unread", "Only keys that were never read since they were stored.")
    command:option("--idle", "Only keys not used for this long."):argname("TIME"):convert(units.parse_duration)
    command:option("--larger", "Only items of more bytes."):argname("BYTES"):convert(units.whole(0))
    command:option("--limit", ("Read at most N keys of the dump. Default: %d"):format(DEFAULT_LIMIT)):argname("N")
        :convert(units.whole(1))
    command:option("--delimiter", "What ends a prefix. Default: ':'"):argname("TEXT")
    command:option("--top", ("Show the N prefixes with most bytes. Default: %d"):format(DEFAULT_TOP)):argname("N")
        :convert(units.whole(1))
    command:flag("--list", "Print the keys one by one, as they come and as typed.")
end

-- A function that returns true if a key matches the options. now_s is the server's time.
local function filter(parsed, now_s)
    return function(key)
        return (not parsed.prefix or keydump.unescaped(key.key):sub(1, #parsed.prefix) == parsed.prefix)
            and (not parsed.unread or not key.fetched)
            and (not parsed.idle or key.last_access_s and now_s - key.last_access_s >= parsed.idle)
            and (not parsed.larger or key.size_bytes and key.size_bytes > parsed.larger)
    end
end

local function add_to(prefixes, key, delimiter, now_s)
    local name = keydump.unescaped(key.key)
    local at = name:find(delimiter, 1, true)
    local prefix = shown_key(at and name:sub(1, at + #delimiter - 1) or "")
    local row = prefixes[prefix]
    if not row then
        row = { prefix = prefix, items = 0, bytes = 0, unread = 0, expiring = 0, oldest_idle_s = 0 }
        prefixes[prefix] = row
    end
    row.items, row.bytes = row.items + 1, row.bytes + (key.size_bytes or 0)
    row.unread = row.unread + (key.fetched and 0 or 1)
    row.expiring = row.expiring + (key.expires_s and 1 or 0)
    row.oldest_idle_s = math.max(row.oldest_idle_s, now_s - (key.last_access_s or now_s))
end

local function out_key(context, key, now_s)
    context:answer("slate/key/1", {
        server = context.server.name, time_s = now_s, key = shown_key(keydump.unescaped(key.key)),
        class = key.class, size_bytes = key.size_bytes, fetched = key.fetched,
        expires_s = key.expires_s and key.expires_s - now_s,
        idle_s = key.last_access_s and now_s - key.last_access_s,
    }, function() context:out(shown_key(keydump.unescaped(key.key)), "\n") end)
end

local function out_summary(context, prefixes, chosen, read, parsed, now_s)
    local rows, cells = {}, {}
    for _, row in pairs(prefixes) do
        rows[#rows + 1] = row
    end
    order.largest_first(rows, "bytes", "prefix")
    local shown = order.first(rows, parsed.top or DEFAULT_TOP)
    local complete = read < (parsed.limit or DEFAULT_LIMIT)
    if context.json then
        context:out_json("slate/keys/1", {
            server = context.server.name, time_s = now_s, keys_read = read, keys_chosen = chosen, complete = complete,
            prefixes = require("slate.base.json").array(shown), truncated = #rows - #shown,
        })
        return
    end
    for i, row in ipairs(shown) do
        cells[i] = { units.count(row.items), units.bytes_in_words(row.bytes),
            units.bytes_in_words(row.bytes // row.items),
            units.percent(row.unread / row.items), units.percent(row.expiring / row.items),
            units.age(row.oldest_idle_s), row.prefix == "" and "(none)" or row.prefix }
    end
    if #cells > 0 then
        context:out_table(COLUMNS, cells)
    end
    context:out(("%d of %s; %d of %s read, %s\n"):format(#shown, units.plural(#rows, "prefix", "prefixes"), chosen,
        units.plural(read, "key"), complete and "which is all of the dump" or "where --limit ended the dump"))
end

function M.run(context, parsed)
    if parsed.delimiter == "" then
        return nil, "--delimiter wants at least one character", "usage"
    end
    local client = must(context:connect())
    local now_s = must(require("slate.facts.stats").read(client)).time or math.floor(clock.time_s())
    local is_wanted, prefixes, chosen = filter(parsed, now_s), {}, 0
    local message, code, read = keydump.each(client, { limit = parsed.limit or DEFAULT_LIMIT, class = parsed.class },
        function(key)
            if is_wanted(key) then
                chosen = chosen + 1
                if parsed.list then
                    out_key(context, key, now_s)
                else
                    add_to(prefixes, key, parsed.delimiter or ":", now_s)
                end
            end
        end)
    if message then
        return nil, message, code
    elseif parsed.list then
        context:print_note(("%d of %s read"):format(chosen, units.plural(read, "key")))
    else
        out_summary(context, prefixes, chosen, read, parsed, now_s)
    end
    return 0
end

return M
