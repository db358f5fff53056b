-- SPDX-License-Identifier: BSD-3-Clause
--- Packets of memcached's binary protocol: made from words, sent, received, and returned as words.
--
-- A packet to send, as words: an opcode in two hexadecimal digits, then any of key=TEXT, extras=HEX, value=TEXT, cas=N
-- (or cas=last: the last one that was received), magic=HEX and body_bytes=N, which otherwise follow. TEXT has \xHH for
-- a byte, and c*N for a run of one. A received packet has the same words, with status=HEX; its CAS is the number of
-- different ones that the connection has seen, because servers count differently.
local M = {}

local HEAD <const> = ">BBI2BBI2I4I4I8"
local HEAD_BYTES <const> = 24
local REQUEST <const>, REPLY <const>, NOOP <const> = 0x80, 0x81, 0x0a
local OPAQUE <const>, LAST_OPAQUE <const> = 0x01020304, 0xdeadbeef
local RUN <const> = 16 -- a longer run of one byte becomes c*N

local function unescape(text)
    local parts = {}
    for part in text:gmatch("[^+]+") do
        local byte, times = part:match("^(.)%*(%d+)$")
        parts[#parts + 1] = byte and byte:rep(math.tointeger(tonumber(times))) or
            part:gsub("\\x(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
    end
    return table.concat(parts)
end

local function escape(bytes)
    local first, last = bytes:sub(1, 1), bytes:sub(-1)
    if #bytes > RUN and bytes == first:rep(#bytes) then
        return ("%s*%d"):format(first, #bytes)
    end
    local run = 0
    while bytes:byte(run + 1) == first:byte() and run < #bytes do run = run + 1 end
    if run >= 100 and #bytes - run >= 100 and bytes:sub(run + 1) == last:rep(#bytes - run) then
        return ("%s*%d+%s*%d"):format(first, run, last, #bytes - run)
    end
    return (bytes:gsub("[^!-~]", function(byte) return ("\\x%02x"):format(byte:byte()) end)
        :gsub("[*+]", function(byte) return ("\\x%02x"):format(byte:byte()) end))
end

local function from_hex(text)
    return (text:gsub("%x%x", function(hex) return string.char(tonumber(hex, 16)) end))
end

local function to_hex(bytes)
    return (bytes:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

local function packet(opcode, fields, opaque)
    local key, extras, value = fields.key or "", fields.extras or "", fields.value or ""
    local body_bytes = fields.body_bytes or #key + #extras + #value
    return HEAD:pack(fields.magic or REQUEST, opcode, #key, #extras, 0, 0, body_bytes, opaque, fields.cas or 0) ..
        extras .. key .. value
end

--- The claims of a file: { claim =, steps = { { sent =, want = } } }. `#` begins one, `>` is a packet to send, `<` a
-- reply, `=` means that all replies have come.
function M.claims(path)
    local list, claim, step = {}, nil, nil
    for line in io.lines(path) do
        local what, words = line:match("^([#><=]) ?(.*)$")
        if what == "#" then
            claim = { claim = words, steps = {} }
            list[#list + 1] = claim
            step = nil
        elseif what == "=" then
            step = nil
        elseif what then
            if not step then
                step = { sent = {}, want = {} }
                claim.steps[#claim.steps + 1] = step
            end
            local part = what == ">" and step.sent or step.want
            part[#part + 1] = words
        end
    end
    table.remove(list, 1) -- the head of the file
    return list
end

--- The bytes of a packet given as words. `last_cas`: the number for cas=last.
function M.packet(words, last_cas)
    local fields = {}
    for name, text in words:gmatch("([%a_]+)=(%S+)") do
        if name == "cas" then
            fields.cas = text == "last" and last_cas or math.tointeger(tonumber(text))
        elseif name == "magic" then
            fields.magic = tonumber(text, 16)
        elseif name == "body_bytes" then
            fields.body_bytes = math.tointeger(tonumber(text))
        else
            fields[name] = name == "extras" and from_hex(text) or unescape(text)
        end
    end
    return packet(tonumber(words:match("^%x%x"), 16), fields, OPAQUE)
end

local Client = {}
Client.__index = Client

--- A client over a connected socket.
function M.client(connection)
    return setmetatable({ connection = connection, last_cas = 0, cas_count = 0, cas_numbers = {} }, Client)
end

function Client:close() self.connection:close() end

-- The next packet's fields, or nil when the server has closed.
function Client:receive()
    local head = self.connection:receive(HEAD_BYTES)
    if not head then
        return nil
    end
    local magic, opcode, key_bytes, extras_bytes, _, status, body_bytes, opaque, cas = HEAD:unpack(head)
    local body = body_bytes > 0 and self.connection:receive(body_bytes) or ""
    assert(magic == REPLY and #body == body_bytes, "no reply of the binary protocol")
    return { opcode = opcode, status = status, opaque = opaque, cas = cas, extras = body:sub(1, extras_bytes),
        key = body:sub(extras_bytes + 1, extras_bytes + key_bytes), value = body:sub(extras_bytes + key_bytes + 1) }
end

--- The server's version; nil for none.
function Client:version()
    local reply = self.connection:send(packet(0x0b, {}, OPAQUE)) and self:receive()
    return reply and reply.value or nil
end

function Client:tell(reply)
    local words = { ("%02x status=%02x"):format(reply.opcode, reply.status) }
    if reply.cas ~= 0 then
        if not self.cas_numbers[reply.cas] then
            self.cas_count = self.cas_count + 1
            self.cas_numbers[reply.cas] = self.cas_count
        end
        self.last_cas = reply.cas
        words[#words + 1] = ("cas=%d"):format(self.cas_numbers[reply.cas])
    end
    for _, name in ipairs { "extras", "key", "value" } do
        if reply[name] ~= "" then
            words[#words + 1] = ("%s=%s"):format(name, name == "extras" and to_hex(reply.extras) or escape(reply[name]))
        end
    end
    assert(reply.opaque == OPAQUE, "the opaque is not the request's")
    return table.concat(words, " ")
end

--- Sends packets in words, then a noop; returns the replies in words up to the noop's, or to "close". `feed`: a
-- function that divides the bytes; nil: all at once.
function Client:ask(sent, feed)
    local bytes = {}
    for _, words in ipairs(sent) do bytes[#bytes + 1] = M.packet(words, self.last_cas) end
    bytes[#bytes + 1] = packet(NOOP, {}, LAST_OPAQUE)
    for _, piece in ipairs(feed and feed(table.concat(bytes)) or { table.concat(bytes) }) do
        if not self.connection:send(piece) then
            break -- closed: earlier replies can still be read
        end
    end
    local said = {}
    for reply in function() return self:receive() end do
        if reply.opaque == LAST_OPAQUE then
            return said
        end
        said[#said + 1] = self:tell(reply)
    end
    said[#said + 1] = "close"
    return said
end

--- The statistics of a `stat` with this key: by name, and the names in order. nil: refused.
function Client:stats(key)
    assert(self.connection:send(packet(0x10, { key = key }, OPAQUE)))
    local values, names = {}, {}
    for reply in function() return self:receive() end do
        if reply.status ~= 0 then
            return nil
        elseif reply.key == "" then
            return values, names
        end
        values[reply.key] = reply.value
        names[#names + 1] = reply.key
    end
end

return M
