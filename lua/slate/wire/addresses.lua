-- SPDX-License-Identifier: BSD-3-Clause
--- Lists of servers as people write them: several with commas between, and names that stand for many addresses.
local units = require "slate.base.units"

local M = {}

--- Reads "a:11211,/run/b.sock,dns:caches.example.org:11211". Returns a list of what units.parse_server returns, where
-- a name behind dns: is not looked up yet and has `is_list`; or nil and a message.
function M.parse(text)
    local list = {}
    for word in text:gmatch("[^,]+") do
        local name = word:match("^dns:(.+)$")
        local server, message = units.parse_server(name or word)
        if not server then
            return nil, message
        elseif name and (server.path or server.tls) then
            return nil, ("'%s' is not dns:NAME:PORT"):format(word)
        end
        server.is_list = name ~= nil or nil
        list[#list + 1] = server
    end
    if #list == 0 then
        return nil, "no server is named"
    end
    return list
end

-- The addresses of a name, each once, in the order of their texts; or nil and a message.
local function addresses_of(host)
    local found, problem = require("socket.core").dns.getaddrinfo(host)
    if not found then
        return nil, ("cannot look up %s: %s"):format(host, problem)
    end
    local seen, list = {}, {}
    for _, one in ipairs(found) do
        if not seen[one.addr] then
            seen[one.addr] = true
            list[#list + 1] = one.addr
        end
    end
    table.sort(list)
    return list
end

--- One list of what `parse` returned, given again and again: names with `is_list` have become their addresses.
-- Returns it, or nil, message, "connect".
function M.expand(lists)
    local all, servers = {}, {}
    for _, list in ipairs(lists) do
        table.move(list, 1, #list, #all + 1, all)
    end
    for _, server in ipairs(all) do
        if not server.is_list then
            servers[#servers + 1] = server
        else
            local addresses, message = addresses_of(server.host)
            if not addresses then
                return nil, message, "connect"
            end
            for _, address in ipairs(addresses) do
                servers[#servers + 1] = units.parse_server((address:find(":", 1, true) and "[%s]:%d" or "%s:%d")
                    :format(address, server.port))
            end
        end
    end
    return servers
end

return M
