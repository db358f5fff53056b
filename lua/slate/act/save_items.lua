-- SPDX-License-Identifier: BSD-3-Clause
--- Reads all items of a server, slated or memcached, while it serves.
--
-- The keys come first, from one walk of the crawler, into a temporary file: so the walk ends soon, and memory does not
-- grow with the cache. Then the values are read in batches, by `mg` with `u`, which does not change an item's place in
-- its queue nor its marks. Items come in the order of the server's queues, the next victims first: stored again in this
-- order they make the same queues.
--
-- A memcached's walk may miss items: its crawler walks all queues of a class at once, and items move meanwhile from a
-- queue that it has not walked yet into a queue that it has. If the walk found fewer keys than the server holds, and
-- items moved meanwhile, another walk follows; the items that the last walk may have missed are reported.
--
-- slated is walked by `mgdump`. memcached's `mgdump` writes keys of the binary protocol as they are, and such a key may
-- hold a line's end, or a line that looks like the end of the dump; its `metadump` escapes them.
--
-- An item that changes meanwhile is read as it is at its turn. An item that went is counted. A stale item is left out;
-- if the read won the right to renew the item, it gives the right back: it marks the item stale once more.
local clock = require "slate.base.clock"
local items_file = require "slate.wire.items_file"
local keydump = require "slate.wire.keydump"
local mime = require "mime"
local requests = require "slate.wire.request"

local M = {}

local BATCH <const> = 64 -- items requested at once: enough to hide the round trip
-- Without the key (`k`): memcached writes a key of the binary protocol as it is.
local READ_FLAGS <const> = { "u", "f", "t", "c", "v" }
local STALE_AGAIN <const> = "I"
local WALKS <const> = 4 -- the most; one walk in 40 missed a key, if the memcached was written to just before
local WALKS_APART_S <const> = 0.05 -- times 4, 8 and 16: a memcached tends its queues once a second, or more often
-- A cache may fill during the walk.
local MOST_TIMES <const>, MOST_MORE <const> = 4, 1000000

local ENDS <const> = { EN = true, END = true }

-- In base64 any key can be requested, whatever its bytes are.
local function wanted_by(key)
    return key:find("[%s%c]") and (mime.b64(key)) .. " b" or key
end

-- A line of mgdump is the meta get of a key, which may have control characters in it.
local function of_mgdump(line)
    local key, binary = line:match("^mg ([^ ]+)( ?b?)$")
    return key and (binary == " b" and key .. " b" or wanted_by(key))
end

-- A line of metadump has the key escaped as in a URI.
local function of_metadump(line)
    local found = keydump.parse(line)
    return found and wanted_by(keydump.unescaped(found.key))
end

-- Writes the keys of a dump to `spool`, a line each. Returns their number and that of all keys, or nil, message, code.
local function spool_keys(client, command, key_of, prefix, spool, most)
    local count, seen, problem = 0, 0, nil
    local ended, message, code = client:each_line(command, ENDS, function(line)
        local key = key_of(line)
        seen = seen + 1
        if seen > most then
            return false
        elseif key and (not prefix or key:sub(1, #prefix) == prefix and not key:find(" b$")) then
            local ok
            ok, problem = spool:write(key, "\n")
            count = count + 1
            return ok ~= nil
        end
        return true
    end)
    if seen > most then
        return nil, ("the walk over the keys did not end after %d keys, many times what the "
            .. "server holds"):format(most), "protocol"
    end
    if not problem and ended then -- the lines still in the buffer
        problem = select(2, spool:flush())
    end
    if problem then
        return nil, "cannot keep the keys: " .. problem, "file"
    end
    if not ended then
        return nil, message, code
    end
    return count, seen
end

local MGDUMP <const> = { command = "lru_crawler mgdump all", key_of = of_mgdump }
local METADUMP <const> = { command = "lru_crawler metadump all", key_of = of_metadump, may_miss = true }

-- How many items a server reports, and how often items moved from one queue to another; or nil, message, code.
local function holdings(client)
    local figures, message, code = require("slate.facts.stats").read(client)
    return figures and { items = math.type(figures.curr_items) == "integer" and figures.curr_items or 0,
        moves = (figures.moves_to_cold or 0) + (figures.moves_to_warm or 0) }, message, code
end

-- One walk: { spool, keys (how many), missing (how many keys more there may be) }; or nil, message, code. If fewer keys
-- came than the server holds, but no item moved, the others have expired.
local function walk_once(client, prefix, dump)
    local before, message, code = holdings(client)
    if not before then
        return nil, message, code
    end
    local spool <const> = io.tmpfile()
    if not spool then
        return nil, "no temporary file can be made for the keys", "file"
    end
    local keys, seen, after
    keys, seen, code = keydump.when_free(function()
        return spool_keys(client, dump.command, dump.key_of, prefix, spool, before.items * MOST_TIMES + MOST_MORE)
    end)
    if not keys then
        spool:close()
        return nil, seen, code
    end
    after, message, code = holdings(client)
    if not after then
        spool:close()
        return nil, message, code
    end
    local may_miss = dump.may_miss and after.moves ~= before.moves
    return { spool = spool, keys = keys, missing = may_miss and math.max(0, math.min(before.items, after.items) - seen)
        or 0 }
end

-- Walks up to WALKS times. Returns the walk that lacks the fewest keys; or nil, message, code.
local function walk_well(client, prefix, dump)
    local best
    for i = 1, WALKS do
        if best then
            clock.sleep(WALKS_APART_S * 2 ^ i) -- new items move at first, and then stay
        end
        local one, message, code = walk_once(client, prefix, dump)
        if best and (not one or one.missing < best.missing) then
            best.spool:close()
        elseif best then
            one.spool:close()
            one = best
        end
        if not one then
            return nil, message, code
        end
        best = one
        if best.missing == 0 then
            break
        end
    end
    return best
end

--- Walks the keys of a server into a temporary file, a line each as slated's `mgdump` has them: `KEY` or `BASE64 b`.
-- The client is closed afterwards. prefix: only keys that begin with this; those in base64 are left out then. Returns
-- the file, to read from its beginning, how many keys it has, and how many more there may be, which the walk missed; or
-- nil, message, code.
function M.walk(client, prefix, is_slated)
    local walked, message, code = walk_well(client, prefix, is_slated and MGDUMP or METADUMP)
    client:close()
    if not walked then
        return nil, message, code
    end
    walked.spool:seek("set")
    return walked.spool, walked.keys, walked.missing
end

local function next_batch(spool, tally)
    local batch, text = {}, {}
    while #batch < BATCH do
        local line = spool:read("l")
        if not line then
            break
        end
        local key, binary = line:match("^(%S+)( ?b?)$")
        local flags = table.move(READ_FLAGS, 1, #READ_FLAGS, 1, {})
        if binary == " b" then
            flags[#flags + 1] = "b"
        end
        local made = key and requests.meta("mg", key, flags)
        if made then
            batch[#batch + 1] = { key = key, is_binary = binary == " b", request = made }
            text[#text + 1] = requests.text(made)
        else -- a key for the binary protocol only: in base64 it is too long
            tally.unaskable = tally.unaskable + 1
        end
    end
    return batch, table.concat(text)
end

-- A meta reply's flags by their letter.
local function by_letter(reply)
    local flags = {}
    for _, word in ipairs(reply.flags) do
        flags[word:sub(1, 1)] = word:sub(2)
    end
    return flags
end

-- The item of a reply's line, with its value: whole, or in pieces if the value is long. Or nil, message, code.
local function item_of(client, wanted, reply, flags)
    local ttl_s = math.tointeger(tonumber(flags.t)) or -1
    local item = {
        key = wanted.key, is_binary = wanted.is_binary, flags = flags.f or "0",
        expires_s = ttl_s >= 0 and math.floor(clock.time_s()) + ttl_s or nil,
    }
    if reply.value_bytes > items_file.WHOLE_VALUE_BYTES then
        item.value_bytes = reply.value_bytes
        item.next_piece = requests.value_pieces(client, reply.value_bytes, items_file.PIECE_BYTES)
        return item
    end
    local message, code
    item.value, message, code = requests.read_value(client, reply.value_bytes)
    return item.value and item, message, code
end

--- Reads and drops the value of an item that the caller leaves out. True, or nil, message, code.
function M.drop(item)
    local piece, message, code = item.next_piece and item.next_piece() or false, nil, nil
    while piece do
        piece, message, code = item.next_piece()
    end
    return piece == false or nil, message, code
end

-- Gives back the right to renew that a read of a stale item won: marks the item anew, unless it has changed since.
local function give_back(client, won)
    for _, one in ipairs(client.read_only and {} or won) do
        local flags = { STALE_AGAIN, "C" .. one.cas }
        if one.wanted.is_binary then
            flags[#flags + 1] = "b"
        end
        local reply, message, code = client:meta("md", one.wanted.key, flags)
        if not reply then
            return nil, message, code
        end
    end
    return true
end

-- Reads the answers of a batch. True, or nil, message, code.
local function receive(client, batch, tally, on_item)
    local won = {}
    for _, wanted in ipairs(batch) do
        client:extend()
        local reply, message, code = requests.read_meta_line(client)
        if not reply then
            return nil, message, code
        end
        local flags = by_letter(reply)
        if reply.status ~= "VA" then
            tally.gone = tally.gone + 1
        else
            local item
            item, message, code = item_of(client, wanted, reply, flags)
            local ok = item ~= nil
            if item and flags.X then
                tally.stale = tally.stale + 1
                won[#won + 1] = flags.W and { wanted = wanted, cas = flags.c } or nil
                ok, message, code = M.drop(item)
            elseif item then
                ok, message, code = on_item(item)
            end
            if not ok then
                return nil, message, code
            end
        end
    end
    return give_back(client, won)
end

--- Reads the items of walked keys and hands each to `on_item`, as slate.wire.items_file writes it: `on_item` takes the
-- value before it returns true, or nil, message, code. spool: the file of `walk`. tally: `gone`, `stale` and
-- `unaskable` (keys that no request can hold) are counted up, `read` counts the keys that were requested. `between` is
-- called after each batch. Returns true, or nil, message, code.
function M.read(client, spool, tally, on_item, between)
    while true do
        local batch, text = next_batch(spool, tally)
        if #batch == 0 then
            return true
        end
        local ok, message, code = client:send(text)
        if ok then
            ok, message, code = receive(client, batch, tally, on_item)
        end
        if not ok then
            return nil, message, code
        end
        tally.read = tally.read + #batch
        between()
    end
end

return M
