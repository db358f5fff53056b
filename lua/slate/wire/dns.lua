-- SPDX-License-Identifier: BSD-3-Clause
--- Names looked up: SRV records and addresses, by asking name servers. How a message gets there is the caller's:
-- so slatectl and slatetop look up alike.
--
-- A question goes out as one datagram to each name server in turn, twice at most; an answer that is cut off is asked
-- for again by TCP. The name is taken as it stands: there is no search list. Messages: RFC 1035; SRV: RFC 2782.
--
-- What the caller gives, its `ways`:
--
--     environment(name)             a variable of the environment, or nil
--     read_file(path, most_bytes)   the text of a file, so many bytes of it at most; or nil and a message
--     random(bytes)                 so many random bytes, or nil
--     udp(host, port, message)      an answer with the message's first two bytes; nil when none came in time
--     tcp(host, port, message)      the same by TCP, without the two bytes of length
--     system_addresses(host)        the texts of the addresses that the system finds; or nil and a message
local M = {}

local ROUNDS <const>, MOST_SERVERS <const>, MOST_CONF_BYTES <const> = 2, 3, 65536
local PORT <const>, MOST_JUMPS <const>, MOST_NAME_BYTES <const> = 53, 16, 255
local CLASS_IN <const>, RECURSE <const>, IS_ANSWER <const>, IS_CUT <const> = 1, 0x0100, 0x8000, 0x0200
local TYPES <const> = { A = 1, AAAA = 28, SRV = 33 }
local NO_SUCH_NAME <const> = 3

local function encode_name(name)
    local labels = {}
    for label in name:gsub("%.$", ""):gmatch("[^.]+") do
        if #label > 63 then
            return nil
        end
        labels[#labels + 1] = ("s1"):pack(label)
    end
    local bytes = table.concat(labels) .. "\0"
    return #labels > 0 and #bytes <= MOST_NAME_BYTES and bytes or nil
end

-- The name at a place of a message, and the place behind it; nil when it is none.
local function read_name(message, at)
    local labels, behind, jumps, total = {}, nil, 0, 0
    while true do
        local length = message:byte(at)
        if not length then
            return nil
        elseif length == 0 then
            return table.concat(labels, "."), behind or at + 1
        elseif length >= 0xC0 then
            local low = message:byte(at + 1)
            if not low or jumps == MOST_JUMPS then
                return nil
            end
            behind, jumps = behind or at + 2, jumps + 1
            at = ((length & 0x3F) << 8 | low) + 1
        else
            total = total + 1 + length
            if length > 63 or at + length > #message or total > MOST_NAME_BYTES then
                return nil
            end
            labels[#labels + 1] = message:sub(at + 1, at + length)
            at = at + 1 + length
        end
    end
end

local function read_ipv6(data)
    local groups = {}
    for i = 1, 8 do
        groups[i] = ("%x"):format((">I2"):unpack(data, 2 * i - 1))
    end
    return table.concat(groups, ":")
end

-- What the data of a record say, by type; nil when they are damaged.
local READ <const> = {
    [TYPES.A] = function(message, at, length)
        return length == 4 and ("%d.%d.%d.%d"):format(message:byte(at, at + 3)) or nil
    end,
    [TYPES.AAAA] = function(message, at, length)
        return length == 16 and read_ipv6(message:sub(at, at + 15)) or nil
    end,
    [TYPES.SRV] = function(message, at, length)
        local target = length >= 7 and read_name(message, at + 6)
        if not target then
            return nil
        end
        local priority, weight, port = (">I2I2I2"):unpack(message, at)
        return { priority = priority, weight = weight, port = port, host = target }
    end,
}

--- The records of a type in an answer to a question. Returns a list, and whether it was cut off; or nil and a message,
-- with `try_next` where another name server may know better. Pure.
function M.read(message, id, question, kind)
    if #message < 12 + #question then
        return nil, "the answer is no message", true
    end
    local got_id, flags, questions, answers = (">I2I2I2I2"):unpack(message)
    local echoed = message:sub(13, 12 + #question)
    if got_id ~= id or flags & IS_ANSWER == 0 or questions ~= 1 or echoed:lower() ~= question:lower() then
        return nil, "the answer is to another question", true
    end
    local status = flags & 0xF
    if status == NO_SUCH_NAME then
        return nil, "there is no such name"
    elseif status ~= 0 then
        return nil, ("the name server refused (status %d)"):format(status), true
    elseif flags & IS_CUT ~= 0 then
        return {}, true
    end
    local at, list = 13 + #question, {}
    for _ = 1, answers do
        local _, behind = read_name(message, at)
        if not behind or behind + 9 > #message then
            return nil, "the answer is damaged", true
        end
        local type_of, class, _, length = (">I2I2I4I2"):unpack(message, behind)
        at = behind + 10
        if at + length - 1 > #message then
            return nil, "the answer is damaged", true
        elseif type_of == TYPES[kind] and class == CLASS_IN then
            local record = READ[type_of](message, at, length)
            if not record then
                return nil, "the answer is damaged", true
            end
            list[#list + 1] = record
        end
        at = at + length
    end
    return list, false
end

-- A server of "host:port", "[v6]:port" or an address alone.
local function name_server(text)
    local host, port = text:match("^%[(.-)%]:?(%d*)$")
    if not host then
        host, port = text:match("^([^:]+):?(%d*)$")
    end
    return host and { host = host, port = tonumber(port) or PORT } or { host = text, port = PORT }
end

-- The name servers: SLATE_RESOLVER's, else the system's.
local function name_servers(ways)
    local list = {}
    for word in (ways.environment("SLATE_RESOLVER") or ""):gmatch("[^,]+") do
        list[#list + 1] = name_server(word)
    end
    local text = #list == 0 and ways.read_file("/etc/resolv.conf", MOST_CONF_BYTES)
    for line in (text or ""):gmatch("[^\n]+") do
        local address = line:match("^%s*nameserver%s+(%S+)")
        if address and #list < MOST_SERVERS then
            list[#list + 1] = { host = address, port = PORT }
        end
    end
    return #list > 0 and list or { { host = "127.0.0.1", port = PORT } }
end

local function random_id(ways)
    local bytes = ways.random(2)
    return bytes and #bytes == 2 and (">I2"):unpack(bytes) or math.random(0, 0xFFFF)
end

--- Asks name servers for the records of a name: kind is A, AAAA or SRV. Returns a list (of addresses, or of { priority,
-- weight, port, host }), or nil and a message.
function M.ask(name, kind, ways)
    local encoded = encode_name(name)
    if not encoded then
        return nil, "that is no name"
    end
    local problem = "no name server answers"
    local question = encoded .. (">I2I2"):pack(TYPES[kind], CLASS_IN)
    for _ = 1, ROUNDS do
        for _, at in ipairs(name_servers(ways)) do
            local id = random_id(ways)
            local message = (">I2I2I2I2I2I2"):pack(id, RECURSE, 1, 0, 0, 0) .. question
            local answer = ways.udp(at.host, at.port, message)
            local list, cut, try_next
            if answer then
                list, cut, try_next = M.read(answer, id, question, kind)
            end
            if list and cut then
                answer = ways.tcp(at.host, at.port, message)
                list, cut, try_next = M.read(answer or "", id, question, kind)
            end
            if list then
                return list
            elseif answer and not try_next then
                return nil, cut
            end
            problem = answer and cut or problem
        end
    end
    return nil, problem
end

--- The addresses of a host, each once, in the order of their texts; or nil and a message.
function M.addresses(host, ways)
    local found, problem = {}, nil
    if ways.environment("SLATE_RESOLVER") and not host:find("^[%d.]+$") and not host:find(":", 1, true) then
        for _, kind in ipairs({ "A", "AAAA" }) do
            local list, message = M.ask(host, kind, ways)
            problem = not list and message or problem
            table.move(list or {}, 1, #(list or {}), #found + 1, found)
        end
    else
        found, problem = ways.system_addresses(host)
    end
    local seen, addresses = {}, {}
    for _, address in ipairs(found or {}) do
        if not seen[address] then
            seen[address] = true
            addresses[#addresses + 1] = address
        end
    end
    if #addresses == 0 then
        return nil, ("cannot look up %s: %s"):format(host, problem or "it has no address")
    end
    table.sort(addresses)
    return addresses
end

--- The servers behind a name of SRV records: a list of { host, port }, by priority, weight and name; or nil and a
-- message. Where a priority says which to try first, a cache is made up of all of them.
function M.services(name, ways)
    local list, problem = M.ask(name, "SRV", ways)
    if not list or #list == 0 then
        return nil, ("cannot look up %s: %s"):format(name, problem or "it has no SRV records")
    end
    table.sort(list, function(a, b)
        if a.priority ~= b.priority then
            return a.priority < b.priority
        elseif a.weight ~= b.weight then
            return a.weight > b.weight
        elseif a.host ~= b.host then
            return a.host < b.host
        end
        return a.port < b.port
    end)
    return list
end

return M
