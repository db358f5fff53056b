-- SPDX-License-Identifier: BSD-3-Clause
--- Files of items: the content of a cache, to warm another cache.
--
-- A file has lines of text around the bytes of values; each item is the meta set that stores it:
--
--     # slate-items 1 {"server":"127.0.0.1:11211","time_s":1795575824}
--     ms greeting 5 F0 T1795575924
--     hello
--     ms Zm9v 3 b F7
--     bar
--     # end 2 items 8 bytes xxh64 3d6f28e0c3a3f0b1
--
-- T is the moment at which the item expires, in seconds since 1970; an item without T does not expire. `b`: the key is
-- in base64. Lines end with CR LF. The last line shows that the file is complete, and has the checksum of all bytes
-- before it (slate.wire.block_sum); a file without a checksum is read, too.
--
-- An item's value is a string. A long value is `value_bytes` and `next_piece`, a function that returns the next piece,
-- false after the last, or nil, message, code: no long value is ever in memory as a whole.
local block_sum = require "slate.wire.block_sum"
local json = require "slate.base.json"

local M = {}

--- The longest key or line of a file.
M.MAX_LINE_BYTES = 2048
--- The longest value: memcached's own limit for -I.
M.MAX_VALUE_BYTES = 1 << 30
--- A longer value comes in pieces.
M.WHOLE_VALUE_BYTES = 1 << 18
--- The bytes of a piece; the last piece may have fewer.
M.PIECE_BYTES = 1 << 16

local HEAD <const> = "# slate%-items (%d+) (%b{})$"
local VERSION <const> = 1
local BLOCK_BYTES <const> = 1 << 16
local KEY_BYTES <const> = require("slate.wire.request").MAX_KEY_BYTES
local BASE64_BYTES <const> = (KEY_BYTES + 2) // 3 * 4

local Writer = {}
Writer.__index = Writer
Writer.__name = "slate.wire.items_file.writer"

--- Begins a file. out: `write`, as of slate.base.packed. about: the fields of the first line: `server`, `time_s`.
-- Returns the writer, with `items` and `value_bytes` written so far; or nil, message, code.
function M.writer(out, about)
    local self = setmetatable({ out = out, items = 0, value_bytes = 0, sum = block_sum.new() }, Writer)
    local ok, message, code = self:put(("# slate-items %d %s\r\n"):format(VERSION,
        json.encode(about, { "server", "time_s" })))
    if not ok then
        return nil, message, code
    end
    return self
end

function Writer:put(text)
    self.sum:add(text)
    return self.out:write(text)
end

--- Writes an item. item: `key` (as on the wire), `is_binary` (the key is in base64), `flags` (a string of digits),
-- `expires_s` (a moment, or nil), and its value: see the head of this file. Returns true, or nil, message, code.
function Writer:append(item)
    local line = M.line(item, item.expires_s)
    self.items, self.value_bytes = self.items + 1, self.value_bytes + (item.value_bytes or #item.value)
    if item.value then
        return self:put(table.concat({ line, item.value, "" }, "\r\n"))
    end
    local ok, message, code = self:put(line .. "\r\n")
    if ok then
        ok, message, code = M.put_pieces(item, function(piece) return self:put(piece) end)
    end
    if not ok then
        return nil, message, code
    end
    return self:put("\r\n")
end

--- Writes the last line. Returns true, or nil, message, code.
function Writer:finish()
    return self.out:write(("# end %d items %d bytes xxh64 %s\r\n"):format(self.items, self.value_bytes,
        self.sum:text()))
end

--- Passes each piece of a value to `put`, which returns true, or nil, message, code. Returns true, or what the value or
-- `put` returned.
function M.put_pieces(item, put)
    local piece, message, code = item.next_piece()
    while piece do
        local ok
        ok, message, code = put(piece)
        if not ok then
            return nil, message, code
        end
        piece, message, code = item.next_piece()
    end
    return piece == false or nil, message, code
end

--- The meta set of an item, without its value. ttl: the number after T; nil: no T. more: flags to append.
function M.line(item, ttl, more)
    return ("ms %s %d%s F%s%s%s"):format(item.key, item.value_bytes or #item.value, item.is_binary and " b" or "",
        item.flags, ttl and " T" .. ttl or "", more or "")
end

local Reader = {}
Reader.__index = Reader
Reader.__name = "slate.wire.items_file.reader"

function Reader:bad(problem)
    return nil, ("%s, byte %d: %s"):format(self.name, self.passed + self.at, problem), "input"
end

-- Reads more of the file into the buffer. False at the end of the file.
function Reader:fill()
    local bytes = self.handle:read(BLOCK_BYTES)
    if not bytes then
        return false
    end
    self.passed = self.passed + self.at - 1
    self.buffer, self.at = self.buffer:sub(self.at) .. bytes, 1
    return true
end

function Reader:line()
    while true do
        local ends = self.buffer:find("\n", self.at, true)
        if ends and ends - self.at <= M.MAX_LINE_BYTES then
            local line = self.buffer:sub(self.at, ends - 1):gsub("\r$", "")
            return line, ends + 1
        elseif ends or #self.buffer - self.at >= M.MAX_LINE_BYTES then
            return self:bad(("a line of more than %d bytes"):format(M.MAX_LINE_BYTES))
        elseif not self:fill() then
            return self:bad("the file ends before its last line: it is not whole")
        end
    end
end

-- Moves on to next_at, and adds the bytes before it to the checksum.
function Reader:pass(next_at)
    self.sum:add(self.buffer:sub(self.at, next_at - 1))
    self.at = next_at
end

-- The next bytes of a value, 1 to `most`. Memory grows with the bytes read, not with the announced size.
function Reader:take(most)
    if self.at > #self.buffer and not self:fill() then
        return self:bad("the file ends within a value: it is not whole")
    end
    local part = self.buffer:sub(self.at, self.at + most - 1)
    self:pass(self.at + #part)
    return part
end

-- The next `count` bytes, which are few.
function Reader:block(count)
    local parts, missing = {}, count
    while missing > 0 do
        local part, message, code = self:take(missing)
        if not part then
            return nil, message, code
        end
        parts[#parts + 1] = part
        missing = missing - #part
    end
    return table.concat(parts)
end

-- Reads the line end after a value. True, or nil, message, "input".
function Reader:value_end()
    local data, message, code = self:block(2)
    if not data then
        return nil, message, code
    elseif data ~= "\r\n" then
        return self:bad("a value does not end where its line says")
    end
    return true
end

-- The next piece of an item's value, for its `next_piece`.
function Reader:piece()
    if self.value_left == 0 then
        return false
    end
    local part, message, code = self:take(math.min(self.value_left, M.PIECE_BYTES))
    if not part then
        return nil, message, code
    end
    self.value_left = self.value_left - #part
    if self.value_left == 0 then
        local ok
        ok, message, code = self:value_end()
        if not ok then
            return nil, message, code
        end
    end
    return part
end

-- Skips the unread rest of the last item's value. True, or nil, message, "input".
function Reader:skip()
    while true do
        local part, message, code = self:piece()
        if not part then
            return part == false or nil, message, code
        end
    end
end

--- Begins to read a file. name: for messages. most_bytes: larger values are skipped, without memory for them. Returns
-- the reader, whose `about` has the fields of the first line; or nil, message, "input".
function M.reader(handle, name, most_bytes)
    local self = setmetatable({ handle = handle, name = name, buffer = "", at = 1, passed = 0, items = 0,
        value_bytes = 0, value_left = 0, sum = block_sum.new(), most_bytes = most_bytes or M.MAX_VALUE_BYTES }, Reader)
    local line, next_at = self:line()
    local version, about = (line or ""):match(HEAD)
    local decoded = json.decode(about or "")
    if not version or type(decoded) ~= "table" then
        return nil, name .. " is not a file of items, as 'slatectl save' writes them", "input"
    elseif math.tointeger(tonumber(version)) ~= VERSION then
        return nil, ("%s is a file of items of version %s; this slatectl reads version %d"):format(
            name, version, VERSION), "input"
    end
    self:pass(next_at)
    self.about = decoded
    return self
end

local function parse(line)
    local key, bytes, text = line:match("^ms (%S+) (%d+)(.*)$")
    local binary, flags, expires = (text or ""):match("^( ?b?) F(%d+)(.*)$")
    if not flags or #key > (binary == "" and KEY_BYTES or BASE64_BYTES) or key:find("%c") then
        return nil
    end
    local expires_s = expires ~= "" and (expires or ""):match("^ T(%d+)$") or nil
    if binary == " " or #flags > 20 or expires ~= "" and not expires_s or #(expires_s or "") > 12
        or #bytes > 10 or tonumber(bytes) > M.MAX_VALUE_BYTES then
        return nil
    end
    return { key = key, is_binary = binary ~= "", flags = flags, expires_s = math.tointeger(tonumber(expires_s)) },
        math.tointeger(tonumber(bytes))
end

-- Compares the last line with the items read. False, which ends the items, or nil, message, "input".
function Reader:check_end(items, bytes, sum)
    if tonumber(items) ~= self.items or tonumber(bytes) ~= self.value_bytes then
        return self:bad(("the last line counts %s items, %d were found"):format(items, self.items))
    elseif sum and sum ~= self.sum:text() then
        return self:bad("its checksum differs: the file was changed since it was saved")
    end
    return false
end

--- The next item, as `append` takes it; if its value was skipped, `value` is nil and `passed_bytes` its size. The
-- caller need not read a value that comes in pieces. Returns false at the end of a complete file; or nil, message,
-- "input".
function Reader:next()
    local passed, message, code = self:skip()
    if not passed then
        return nil, message, code
    end
    local line, next_at
    line, next_at, code = self:line()
    if not line then
        return nil, next_at, code
    end
    local items, bytes, sum = line:match("^# end (%d+) items (%d+) bytes(.*)$")
    local digits = sum and sum:match("^ xxh64 (%x+)$")
    if items and (sum == "" or digits) then
        return self:check_end(items, bytes, digits)
    end
    local item, value_bytes = parse(line)
    if not item then
        return self:bad("not an item: " .. require("slate.wire.request").printable(line:sub(1, 60)))
    end
    self:pass(next_at)
    self.items, self.value_bytes = self.items + 1, self.value_bytes + value_bytes
    if value_bytes <= math.min(self.most_bytes, M.WHOLE_VALUE_BYTES) then
        item.value, message, code = self:block(value_bytes)
        if not item.value then
            return nil, message, code
        end
        passed, message, code = self:value_end()
        return passed and item, message, code
    end
    self.value_left = value_bytes
    if value_bytes > self.most_bytes then
        item.passed_bytes = value_bytes
    else
        item.value_bytes, item.next_piece = value_bytes, function() return self:piece() end
    end
    return item
end

return M
