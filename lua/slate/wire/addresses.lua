-- SPDX-License-Identifier: BSD-3-Clause
--- Lists of servers as people write them: several with commas between, names of one's own, and words that stand for
-- many: names that are looked up, and files.
local lists = require "slate.wire.lists"
local names = require "slate.wire.names"

local M = {}

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

--- Reads "a:11211,/run/b.sock,dns:caches.example.org:11211,file:fleet.txt,mine". Returns
-- a list of what units.parse_server returns, where a word that stands for several is not looked up yet and has
-- `is_list`; or nil and a message.
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

--- One list of the servers of lists that `parse` returned: words that stand for several have become their servers.
-- Returns it, or nil, message, code.
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
