-- SPDX-License-Identifier: BSD-3-Clause
--- Stores the items of a file (slate.wire.items_file) in a server, slated or memcached, while it serves.
--
-- An item that the server has already is newer than the file and stays, by default. Items that have expired since are
-- left out. Items that the server refuses, such as a value that is too large, are counted, and the rest goes on.
local clock = require "slate.base.clock"
local items_file = require "slate.wire.items_file"
local requests = require "slate.wire.request"

local M = {}

-- The most to send before the answers are read: enough to hide the round trip, little enough for any buffer.
local BATCH_ITEMS <const>, BATCH_BYTES <const> = 128, 256 << 10
-- The protocol writes longer times to live as points in time.
local LONGEST_TTL_S <const> = 30 * 86400

-- The argument of T for an item that expires: a time to live, so that a server with another clock keeps the item as
-- long. nil if the item does not expire. nil and true if it has expired.
local function ttl_of(item, now_s)
    if not item.expires_s then
        return nil, false
    end
    local left_s = item.expires_s - math.floor(now_s)
    if left_s <= 0 then
        return nil, true
    end
    return left_s <= LONGEST_TTL_S and left_s or item.expires_s, false
end

-- The next item to store, and its argument of T; false at the end, or nil, message, code.
local function next_item(reader, tally)
    while true do
        local item, message, code = reader:next()
        if not item then
            return item, message, code
        end
        local ttl_s, is_past = ttl_of(item, clock.time_s())
        if is_past then
            tally.expired = tally.expired + 1
        elseif item.passed_bytes then
            tally.refused = tally.refused + 1
            tally.refusal = tally.refusal or ("a value of %d bytes is too large for the server (item_size_max)"):format(
                item.passed_bytes)
        else
            return item, ttl_s
        end
    end
end

-- Sends an item whose value comes in pieces. True, or nil, message, code.
local function send_pieces(client, item)
    local ok, message, code = items_file.put_pieces(item, function(piece) return client:send(piece) end)
    if not ok then
        client:close() -- the server waits for the rest of the value
        return nil, message, code
    end
    return client:send("\r\n")
end

-- Sends the next items; their answers are read together. Returns their number, or nil, message, code.
local function send_batch(client, reader, tally, mode)
    local parts, bytes, count, long = {}, 0, 0, false
    while count < BATCH_ITEMS and bytes < BATCH_BYTES and not long do
        local item, ttl_s, code = next_item(reader, tally)
        if item == nil then
            return nil, ttl_s, code
        elseif not item then
            break
        end
        count, long = count + 1, item.next_piece and item
        local line = items_file.line(item, ttl_s, mode)
        parts[#parts + 1] = long and line .. "\r\n" or ("%s\r\n%s\r\n"):format(line, item.value)
        bytes = bytes + #parts[#parts]
    end
    local ok, message, code = count == 0, nil, nil
    if not ok then
        ok, message, code = client:send(table.concat(parts))
    end
    if ok and long then
        ok, message, code = send_pieces(client, long)
    end
    return ok and count, message, code
end

local function receive(client, count, tally)
    for _ = 1, count do
        client:extend()
        local line, message, code = client:line()
        if not line then
            return nil, message, code
        end
        local status = line:match("^(%u%u)%f[%s\0]")
        if status == "HD" then
            tally.stored = tally.stored + 1
        elseif status == "NS" then
            tally.kept = tally.kept + 1
        else
            local refusal = requests.refusal(line)
            if not refusal then
                return client:lost("unexpected reply: " .. requests.printable(line:sub(1, 60)), "protocol")
            end
            tally.refused, tally.refusal = tally.refused + 1, tally.refusal or refusal
        end
    end
    return true
end

--- Stores the items of a file. reader: of slate.wire.items_file. tally: `stored`, `kept`, `expired` and `refused` are
-- counted up; `refusal` is the first one's words. options: `overwrite`: items that the server has already are replaced,
-- too. `between` is called after each batch. Returns true when the file was read to its end; or nil, message, code.
function M.store(client, reader, tally, options, between)
    local mode = options.overwrite and "" or " ME"
    local ok, message, code = client:permits("ms" .. mode)
    -- A server without meta commands would read the values as commands.
    if ok then
        ok, message, code = client:meta("mn")
    end
    if not ok then
        return nil, message, code
    end
    while true do
        local count
        count, message, code = send_batch(client, reader, tally, mode)
        if not count then
            return nil, message, code
        elseif count == 0 then
            return true
        end
        ok, message, code = receive(client, count, tally)
        if not ok then
            return nil, message, code
        end
        between()
    end
end

return M
