-- SPDX-License-Identifier: BSD-3-Clause
--- Lists of servers as people write them, with commas: addresses, the operator's own names, and words for many servers:
-- names to look up, and files.
local lists = require "slate.wire.lists"
local names = require "slate.wire.names"

local M = {}

-- The text with the operator's own names replaced by their addresses; or nil and a message.
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

--- Reads "a:11211,/run/b.sock,dns:caches.example.org:11211,file:fleet.txt,mine". Returns a list of servers, as from
-- units.parse_server; a word for many servers is not looked up yet, and has `is_list`; or nil and a message.
function M.parse(text)
    local list, plain, problem = {}, without_names(text)
    if not plain then
        return nil, problem
    end
    for word in plain:gmatch("[^,]+") do
        local server, message = lists.word(word)
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

--- Joins lists from `parse` into one list of servers; words for many servers become their servers. Returns the list, or
-- nil, message, code.
function M.expand(given)
    local servers = {}
    for _, list in ipairs(given) do
        for _, one in ipairs(list) do
            local found, message, code = { one }, nil, nil
            if one.is_list then
                found, message, code = lists.servers(one, require("slate.wire.resolver").WAYS)
            end
            if not found then
                return nil, message, code
            end
            table.move(found, 1, #found, #servers + 1, servers)
        end
    end
    return servers
end

--- Reads an address to listen on: HOST, HOST:PORT or :PORT, on loopback. Returns { host, port }, or nil and a message.
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
