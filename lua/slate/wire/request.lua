-- SPDX-License-Identifier: BSD-3-Clause
--- The request of each operation on items, and how its answer is read. Pure: no socket, no client.
--
-- slate.wire.client sends requests. A request is a table `{ line =, data =, read =, timeout_s = }`: the command line,
-- the data block after it if any, a function that reads the answer from a client, and the time-out if it differs from
-- the client's. A builder returns nil, message, "usage" for a request that every server would refuse.
--
-- Every builder takes `options` last; all builders know `timeout_s`.
local M = {}

M.MAX_KEY_BYTES = 250

local REFUSALS <const> = {
    { "^ERROR$", "unsupported" }, { "^ERROR ", "refused" }, { "^CLIENT_ERROR", "refused" },
    { "^SERVER_ERROR", "server" }, { "^BUSY", "busy" }, { "^%-ERR", "protocol" }, -- the last is of a Redis-like server
}

--- A server's words, for a message or a table: a terminal must not obey escape sequences in them.
function M.printable(text)
    if not text:find("[^ -~]") then
        return text
    end
    local plain = text:gsub("%c", "?")
    if not utf8.len(plain) then
        return (plain:gsub("[\x80-\xff]", "?"))
    end
    -- Controls beyond ASCII, and marks that change the direction of writing.
    return (plain:gsub("\xc2[\x80-\x9f]", "?"):gsub("\xe2\x80[\x8e\x8f\xaa-\xae]", "?")
        :gsub("\xe2\x81[\xa6-\xa9]", "?"))
end

--- The message and the code of a reply line that is an error: "unsupported", "refused", "server", "busy" or "protocol";
-- nil of any other line.
function M.refusal(line)
    for _, row in ipairs(REFUSALS) do
        if line:find(row[1]) then
            return "the server answered: " .. M.printable(line), row[2]
        end
    end
    return nil
end

--- The bytes of a request.
function M.text(request)
    local line = request.line .. "\r\n"
    return request.data and line .. request.data .. "\r\n" or line
end

local function check_key(key)
    if type(key) ~= "string" or #key == 0 or #key > M.MAX_KEY_BYTES or key:find("[%s%c]") then
        return nil, ("a key has 1 to %d bytes without blanks or control characters"):format(M.MAX_KEY_BYTES), "usage"
    end
    return true
end

-- Checks a number that goes into a command line.
local function check_number(name, value, least)
    local number = math.tointeger(value)
    if not number or number < least then
        return nil, ("%s is a whole number%s"):format(name, least >= 0 and " from " .. least or ""), "usage"
    end
    return true
end

local function request(line, read, options, fields)
    local made = fields or {}
    made.line, made.read, made.timeout_s = line, read, options and options.timeout_s
    return made
end

-- The error of a line that is no answer: the server's, or else we have lost our place in the stream, which ends the
-- connection.
local function unexpected(client, line)
    local refused, refusal_code = M.refusal(line)
    if refused then
        return nil, refused, refusal_code
    end
    return client:lost("unexpected reply: " .. M.printable(line:sub(1, 60)), "protocol")
end

-- A reader of a one-line reply: words[line] if listed, and the word; else an error.
local function outcome(words)
    return function(client)
        local line, message, code = client:line()
        if not line then
            return nil, message, code
        end
        local result = words[line]
        if result == nil then
            return unexpected(client, line)
        end
        return result, line
    end
end

-- The announced size of a data block.
local function block_bytes(client, size, what)
    size = math.tointeger(tonumber(size))
    if not size or size > client.max_value_bytes then
        return client:lost(("%s is announced as longer than %d bytes"):format(what, client.max_value_bytes), "protocol")
    end
    return size
end

local function misplaced(client, what)
    return client:lost(what .. " does not end where it should", "protocol")
end

-- Reads a data block of `size` bytes and its line end.
local function read_block(client, size, what)
    local bytes, message, code = block_bytes(client, size, what)
    if not bytes then
        return nil, message, code
    end
    local data
    data, message, code = client:bytes(bytes + 2)
    if data and data:sub(-2) ~= "\r\n" then
        return misplaced(client, what)
    end
    return data and data:sub(1, -3), message, code
end

-- Reads the line end of a block.
local function block_end(client, what)
    local data, message, code = client:bytes(2)
    if data and data ~= "\r\n" then
        return misplaced(client, what)
    end
    return data and true, message, code
end

-- The items of a get, up to END. Only requested keys may come: so a reply is bounded.
local function read_values(client, requested)
    local items = {}
    while true do
        local line, message, code = client:line()
        if not line then
            return nil, message, code
        elseif line == "END" then
            return items
        end
        local key, flags, size, cas = line:match("^VALUE (%S+) (%d+) (%d+) ?(%d*)$")
        if not key then
            return unexpected(client, line)
        elseif not requested[key] or requested[key] == 0 then
            return client:lost("the server sent a value that was not requested", "protocol")
        end
        requested[key] = requested[key] - 1
        local data
        data, message, code = read_block(client, size, "the value of " .. key)
        if not data then
            return nil, message, code
        end
        -- CAS values stay text: they are opaque and may exceed a signed integer.
        items[key] = { value = data, flags = tonumber(flags), cas = cas ~= "" and cas or nil }
    end
end

--- Gets one or more keys with their CAS values. Answer: a table from each key found to { value, flags, cas }.
function M.get_many(keys, options)
    if #keys == 0 then
        return nil, "a get needs a key", "usage"
    end
    local requested = {}
    for _, key in ipairs(keys) do
        local ok, message, code = check_key(key)
        if not ok then
            return nil, message, code
        end
        requested[key] = (requested[key] or 0) + 1
    end
    return request("gets " .. table.concat(keys, " "), function(client)
        return read_values(client, requested)
    end, options)
end

--- Gets one key. Answer: { value, flags, cas }, or false when the server has no such item.
function M.get(key, options)
    local made, message, code = M.get_many({ key }, options)
    if not made then
        return nil, message, code
    end
    local read = made.read
    made.read = function(client)
        local items, read_message, read_code = read(client)
        if not items then
            return nil, read_message, read_code
        end
        return items[key] or false
    end
    return made
end

local STORE_MODES <const> = { set = true, add = true, replace = true, append = true, prepend = true, cas = true }
local read_stored <const> = outcome({ STORED = true, NOT_STORED = false, EXISTS = false, NOT_FOUND = false })

--- Stores a value. Answer: true, or false and the server's word for the reason. options: `mode` ("set" by default; add,
-- replace, append, prepend, cas), `flags`, `ttl_s`, and `cas` for mode "cas".
function M.set(key, value, options)
    options = options or {}
    local mode, flags, ttl_s = options.mode or "set", options.flags or 0, options.ttl_s or 0
    local ok, message, code = check_key(key)
    if ok then
        ok, message, code = check_number("flags", flags, 0)
    end
    if ok then
        ok, message, code = check_number("ttl_s", ttl_s, math.mininteger)
    end
    if not ok then
        return nil, message, code
    elseif type(value) ~= "string" then
        return nil, "a value is a string", "usage"
    elseif not STORE_MODES[mode] then
        return nil, "cannot store with mode " .. tostring(mode), "usage"
    elseif mode == "cas" and not tostring(options.cas):find("^%d+$") then
        return nil, "mode cas needs the item's cas, a number", "usage"
    end
    local line = ("%s %s %d %d %d"):format(mode, key, flags, ttl_s, #value)
    if mode == "cas" then
        line = line .. " " .. options.cas
    end
    return request(line, read_stored, options, { data = value })
end

local read_deleted <const> = outcome({ DELETED = true, NOT_FOUND = false })
local read_ok <const> = outcome({ OK = true })

--- Deletes a key. Answer: true, or false if there was none.
function M.delete(key, options)
    local ok, message, code = check_key(key)
    return ok and request("delete " .. key, read_deleted, options), message, code
end

--- Invalidates every item, now or after a delay. Answer: true.
function M.flush_all(delay_s, options)
    local ok, message, code = check_number("delay_s", delay_s or 0, 0)
    local line = delay_s and ("flush_all %s"):format(delay_s) or "flush_all"
    return ok and request(line, read_ok, options), message, code
end

--- Reads the answer to a meta command except for the value, whose size is in `value_bytes`: { status = "HD", flags =
-- {...} }; or nil, message, code.
function M.read_meta_line(client)
    local line, message, code = client:line()
    if not line then
        return nil, message, code
    end
    local reply = { flags = {} }
    for word in line:gmatch("%S+") do
        if reply.status then
            reply.flags[#reply.flags + 1] = word
        else
            reply.status = word
        end
    end
    if not reply.status or not reply.status:find("^%u%u$") then
        return unexpected(client, line)
    end
    if reply.status == "VA" then
        reply.value_bytes, message, code = block_bytes(client, table.remove(reply.flags, 1), "a value")
        if not reply.value_bytes then
            return nil, message, code
        end
    end
    return reply
end

--- Reads a value of an announced size; or nil, message, code.
function M.read_value(client, value_bytes)
    return read_block(client, value_bytes, "a value")
end

--- Reads a value of an announced size: a function that returns the next piece, false after the last, or nil, message,
-- code.
function M.value_pieces(client, value_bytes, piece_bytes)
    local left = value_bytes
    return function()
        if not left then
            return false
        elseif left == 0 then
            left = nil
            local ok, message, code = block_end(client, "a value")
            return not ok and nil, message, code
        end
        client:extend()
        local piece, message, code = client:bytes(math.min(left, piece_bytes))
        left = piece and left - #piece
        return piece, message, code
    end
end

-- Reads the answer to a meta command.
local function read_meta(client)
    local reply, message, code = M.read_meta_line(client)
    if reply and reply.value_bytes then
        reply.value, message, code = M.read_value(client, reply.value_bytes)
        reply.value_bytes = nil
        if not reply.value then
            return nil, message, code
        end
    end
    return reply, message, code
end

--- A meta command: verb "mg", "ms", "md", "ma", "me" or "mn" (without a key), flags such as { "v", "t", "T30" }, and
-- for "ms" the value, whose length is added to the command. Answer: { status = "HD", flags = {...}, value = }; statuses
-- EN, NF, NS and EX are answers, not errors. `q` is refused: a hidden reply never comes.
function M.meta(verb, key, flags, data, options)
    if not verb:find("^m%l$") then
        return nil, ("'%s' is not a meta command"):format(verb), "usage"
    end
    local words = { verb }
    if verb ~= "mn" then
        local ok, message, code = check_key(key)
        if not ok then
            return nil, message, code
        end
        words[2] = key
    end
    if data then
        words[#words + 1] = tostring(#data)
    end
    for _, flag in ipairs(flags or {}) do
        if flag:find("^q") or flag:find("[%s%c]") then
            return nil, "the flag '" .. flag .. "' cannot be used here", "usage"
        end
        words[#words + 1] = flag
    end
    return request(table.concat(words, " "), read_meta, options, { data = data })
end

--- The operations, by name, that clients offer.
M.OPERATIONS = {
    get = M.get, get_many = M.get_many, set = M.set, delete = M.delete, flush_all = M.flush_all, meta = M.meta,
}

return M
