-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl fleet endpoint --listen ADDRESS: tells clients which servers make up the cache, as hosted caches do.
local addresses = require "slate.wire.addresses"

local M = {}

local PORT <const> = 11211 -- where clients look for an endpoint

function M.declare(command)
    command:argument("members", "The servers; those of -s and SLATE_SERVER when there are none."):args("*")
        :argname("SERVER"):convert(function(text) return addresses.parse(text) end)
    command:option("--listen", ("Answer on this address: HOST, HOST:PORT or :PORT, which is one of loopback; 0 is any "
        .. "free port. Default: 127.0.0.1:%d"):format(PORT)):argname("ADDRESS")
        :convert(function(text) return addresses.parse_listen(text, PORT) end)
    command:flag("--once", "Print the answer once, and end.")
end

function M.run(context, parsed)
    local endpoint = require "slate.cli.endpoint"
    local lists = #parsed.members > 0 and parsed.members or context.lists
    local fleet = endpoint.fleet(function() return addresses.expand(lists) end,
        function(message) context:say(message) end, require("slate.base.clock").time_s)
    local text, message = fleet:configuration()
    if not text then
        return nil, "there is nothing to tell: " .. message, "input"
    elseif parsed.once then
        context:out(text)
        return 0
    end
    local httpd = require "slate.cli.httpd"
    local at = parsed.listen or addresses.parse_listen("", PORT)
    local socket, port = httpd.listen(at.host, at.port)
    if not socket then
        return nil, port, "connect"
    end
    context:say(("answering 'config get cluster' on %s"):format((at.host:find(":", 1, true) and "[%s]:%d" or "%s:%d")
        :format(at.host, port)))
    endpoint.run(socket, fleet)
    return 0
end

return M
