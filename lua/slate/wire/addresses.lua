-- SPDX-License-Identifier: BSD-3-Clause
--- Lists of servers as people write them: several with commas between, names of one's own, and words that stand for
-- many: names that are looked up, and files.
local names = require "slate.wire.names"
local units = require "slate.base.units"

local M = {}

local MOST_FILE_BYTES <const> = 1 << 20

local function with_port(host, port)
    return units.parse_server((host:find(":", 1, true) and "[%s]:%d" or "%s:%d"):format(host, port))
end

-- dns:NAME:PORT, a server for each address of the name.
local function expand_dns(one)
    local addresses, message = require("slate.wire.resolver").addresses(one.host)
    local servers = addresses and {}
    for i, address in ipairs(addresses or {}) do
        servers[i] = with_port(address, one.port)
    end
    return servers, message, "connect"
end

-- srv:NAME, a server for each record. They keep their names, which certificates are for, unless another name server
-- than the system's is asked, which alone may know them.
local function expand_srv(one)
    local resolver = require "slate.wire.resolver"
    local list, message = resolver.services(one.host)
    local servers = list and {}
    for i, record in ipairs(list or {}) do
        local host = record.host
        if os.getenv("SLATE_RESOLVER") then
            local addresses, problem = resolver.addresses(host)
            if not addresses then
                return nil, problem, "connect"
            end
            host = addresses[1]
            for j = #addresses, 1, -1 do
                host = addresses[j]:find(":", 1, true) and host or addresses[j] -- of IPv4 before others
            end
        end
        servers[i], message = with_port(host, record.port)
        if not servers[i] then
            return nil, ("%s names a server that is none: %s"):format(one.host, message), "connect"
        end
    end
    return servers, message, "connect"
end

-- A line of a fleet's file, without its comment: a server, perhaps with nutcracker's dash before and weight and name
-- behind.
local function server_of_line(text)
    local word = text:match("^[%s-]*(%S+)")
    return units.parse_server(word and (word:match("^(.*:%d+):%d+$") or word:match("^(/.*):%d+$")) or word)
end

-- file:PATH, a server a line.
local function expand_file(one)
    local file, problem = io.open(one.path, "r")
    local text
    if file then
        text, problem = file:read(MOST_FILE_BYTES + 1)
        file:close()
    end
    if problem then
        return nil, "cannot read " .. (file and one.path .. ": " or "") .. problem, "input"
    elseif #(text or "") > MOST_FILE_BYTES then
        return nil, ("%s has more than %d bytes: that is no list of servers"):format(one.path, MOST_FILE_BYTES), "input"
    end
    local servers, number = {}, 0
    for line in ((text or "") .. "\n"):gmatch("(.-)\n") do
        number = number + 1
        line = line:gsub("#.*", "")
        if line:find("%S") then
            local server, message = server_of_line(line)
            if not server then
                return nil, ("%s, line %d: %s"):format(one.path, number, message), "input"
            end
            servers[#servers + 1] = server
        end
    end
    if #servers == 0 then
        return nil, one.path .. " names no server", "input"
    end
    return servers
end

local EXPAND <const> = { dns = expand_dns, srv = expand_srv, file = expand_file }

-- A word that stands for a list of servers: what `expand` needs; nil when it is none; nil and a message.
local function parse_list(word)
    local kind, rest = word:match("^(%l+):(.+)$")
    if not EXPAND[kind or ""] then
        return nil
    elseif kind == "file" then
        return { is_list = kind, path = rest, name = word }
    elseif kind == "srv" then
        return rest:find("^[%w._-]+$") and { is_list = kind, host = rest, name = word } or nil,
            ("'%s' is not srv:NAME"):format(word)
    end
    local server, message = units.parse_server(rest)
    if not server then
        return nil, message
    elseif server.path or server.tls then
        return nil, ("'%s' is not dns:NAME:PORT"):format(word)
    end
    server.is_list = kind
    return server
end

-- The text with names of one's own in it replaced by what they stand for; or nil and a message.
local function without_names(text)
    local words, known = {}, nil
    for word in text:gmatch("[^,]+") do
        if names.is_name(word) and not known then
            local problem
            known, problem = names.load()
            if not known then
                return nil, problem
            end
        end
        words[#words + 1] = known and known[word] or word
    end
    return table.concat(words, ",")
end

--- Reads "a:11211,/run/b.sock,dns:caches.example.org:11211,srv:_cache._tcp.example.org,file:fleet.txt,mine". Returns
-- a list of what units.parse_server returns, where a word that stands for several is not looked up yet and has
-- `is_list`; or nil and a message.
function M.parse(text)
    local list, plain, problem = {}, without_names(text)
    if not plain then
        return nil, problem
    end
    for word in plain:gmatch("[^,]+") do
        local server, message = parse_list(word)
        if not server and not message then
            server, message = units.parse_server(word)
        end
        if not server then
            return nil, message
        end
        list[#list + 1] = server
    end
    if #list == 0 then
        return nil, "no server is named"
    end
    return list
end

--- One list of what `parse` returned, given again and again: words that stand for several have become their servers.
-- Returns it, or nil, message, code.
function M.expand(lists)
    local servers = {}
    for _, list in ipairs(lists) do
        for _, one in ipairs(list) do
            local found, message, code = { one }, nil, nil
            if one.is_list then
                found, message, code = EXPAND[one.is_list](one)
            end
            if not found then
                return nil, message, code
            end
            table.move(found, 1, #found, #servers + 1, servers)
        end
    end
    return servers
end

--- Reads where to listen: HOST, HOST:PORT or :PORT, which is one of loopback. Returns { host, port }, or nil and a
-- message.
function M.parse_listen(text, default_port)
    local host, port = text:match("^(.-):(%d*)$")
    host, port = host or text, math.tointeger(tonumber(port == "" and default_port or port or default_port))
    host = host:gsub("^%[(.*)%]$", "%1")
    if not port or port > 65535 or host:find("[%s/]") then
        return nil, ("'%s' is not HOST, HOST:PORT or :PORT"):format(text)
    end
    return { host = host == "" and "127.0.0.1" or host, port = port }
end

return M
