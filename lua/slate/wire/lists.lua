-- SPDX-License-Identifier: BSD-3-Clause
--- Words for many servers: dns:NAME:PORT and file:PATH. The caller's `ways` look up names and read files:
--
--     addresses(host)               the texts of the addresses that the system finds; or nil and a message
--     read_file(path, most_bytes)   the text of a file, at most most_bytes of it; or nil and a message
local units = require "slate.base.units"

local M = {}

local MOST_FILE_BYTES <const> = 1 << 20

-- A server for each address of the name, in the order of their texts.
local function servers_of_name(one, ways)
    local addresses, problem = ways.addresses(one.host)
    if not addresses or #addresses == 0 then
        return nil, ("cannot look up %s: %s"):format(one.host, problem or "it has no address"), "connect"
    end
    table.sort(addresses)
    local servers = {}
    for i, address in ipairs(addresses) do
        if address ~= addresses[i - 1] then
            servers[#servers + 1] = units.parse_server((address:find(":", 1, true) and "[%s]:%d" or "%s:%d"):format(
                address, one.port))
        end
    end
    return servers
end

-- The server of a line of a fleet's file, without its comment. nutcracker's dash may be before it, its weight and name
-- after it.
local function server_of_line(text)
    local word = text:match("^[%s-]*(%S+)")
    local is_path = word and word:find("/", 1, true) and not word:find("://", 1, true)
    return units.parse_server(word and (word:match(is_path and "^(.*):%d+$" or "^(.*:%d+):%d+$") or word))
end

-- The servers of a file, one a line.
local function servers_of_file(one, ways)
    local text, problem = ways.read_file(one.path, MOST_FILE_BYTES + 1)
    if not text then
        return nil, ("cannot read %s: %s"):format(one.path, problem), "input"
    elseif #text > MOST_FILE_BYTES then
        return nil, ("%s has more than %d bytes: that is no list of servers"):format(one.path, MOST_FILE_BYTES), "input"
    end
    local servers, number = {}, 0
    text = text:gsub("^\xef\xbb\xbf", "") -- a mark of UTF-8 that some editors write, and that no message would show
    for line in (text .. "\n"):gmatch("(.-)\n") do
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

local KINDS <const> = { dns = servers_of_name, file = servers_of_file }

--- Reads a word for a list of servers, as `servers` takes it: { is_list = its kind, name, host and port or path }; nil
-- if it is no such word; nil and a message if it is a wrong one.
function M.parse(word)
    local kind, value = word:match("^(%l+):(.+)$")
    if not KINDS[kind or ""] then
        return nil
    elseif kind == "file" then
        return { is_list = kind, path = value, name = word }
    end
    local server, message = units.parse_server(value)
    if not server then
        return nil, message
    elseif server.path or server.tls or value:find("^:") then
        return nil, ("'%s' is not dns:NAME:PORT"):format(word)
    end
    server.is_list = kind
    return server
end

--- Reads one word: a server, as of units.parse_server, or a list of servers, as of `parse`; or nil and a message.
function M.word(text)
    local one, message = M.parse(text)
    if one or message then
        return one, message
    end
    return units.parse_server(text)
end

--- The servers that the list `one` has now, each as from units.parse_server; or nil, message, code.
function M.servers(one, ways)
    return KINDS[one.is_list](one, ways)
end

return M
