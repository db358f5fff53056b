-- SPDX-License-Identifier: BSD-3-Clause
--- Addresses of servers and of lists of servers, as slatectl reads them (slate.wire.lists), and as a console can watch
--- them: tls:// may stand before a list, too. Pure.
local lists = require "slate.wire.lists"

local M = {}

--- Servers that a console watches at most.
M.MOST_SERVERS = 128

local ADDRESS_BYTES <const>, SOCKET_PATH_BYTES <const> = 255, 107
local DEFAULT <const> = "127.0.0.1"

--- Makes a server or a list speak TLS. Returns it; or nil and a message for the path of a socket.
function M.with_tls(server)
    if server.path and not server.is_list then
        return nil, ("TLS needs a host, and '%s' is the path of a socket"):format(server.path)
    elseif not server.tls then
        server.tls, server.name = true, "tls://" .. server.name
        server.tls_name = server.host -- the name that the certificate must have
    end
    return server
end

--- Reads a word: a server as of slate.base.units.parse_server; or a list of servers, which has `is_list`, and `word`,
--- its text for slate.wire.lists.parse. "": the usual server. Or nil and a message.
function M.parse(text)
    if text:find("^tls://") then
        local server, message = M.parse(text:sub(7))
        return server and M.with_tls(server), message
    elseif #text > ADDRESS_BYTES then
        return nil, ("'%.40s...' is longer than %d bytes"):format(text, ADDRESS_BYTES)
    end
    local server, message = lists.word(text == "" and DEFAULT or text)
    if server and server.is_list then
        server.word, server.name = text, server.is_list == "dns" and "dns:" .. server.name or server.name
    elseif server and server.path and #server.path > SOCKET_PATH_BYTES then
        return nil, ("socket path is longer than %d bytes"):format(SOCKET_PATH_BYTES)
    end
    return server, message
end

return M
