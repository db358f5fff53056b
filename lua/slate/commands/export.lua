-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl export prometheus: the statistics in Prometheus' text format, once, or to whoever scrapes.
local prometheus = require "slate.cli.prometheus"
local units = require "slate.base.units"

local M = {}

local PATH <const>, KIND <const> = "/metrics", "text/plain; version=0.0.4; charset=utf-8"
local LOOPBACK <const> = "127.0.0.1"

function M.declare(command)
    command:argument("format", "prometheus."):choices({ "prometheus" }):argname("FORMAT")
    command:option("--listen", "Serve /metrics on this address; a port alone, such as :9150, is one of loopback; 0 "
        .. "is any free port."):argname("[HOST]:PORT"):convert(function(text)
            local host, port = text:match("^(.-):(%d+)$")
            port = math.tointeger(tonumber(port))
            if not port or port > 65535 then
                return nil, ("'%s' is not HOST:PORT or :PORT"):format(text)
            end
            host = host:gsub("^%[(.*)%]$", "%1")
            return { host = host == "" and LOOPBACK or host, port = port }
        end)
    command:option("--classes", "Which classes: all, none, or N, those with most pages. Default: all"):argname("WHICH")
        :convert(function(text)
            if text == "all" or text == "none" then
                return text
            end
            return units.parse_whole(text, 1, 255)
        end)
end

-- The text of one scrape over a connection of its own; or nil, message, code.
local function scrape(context, parsed)
    local client, message, code = context:open()
    if not client then
        return nil, message, code
    end
    local now
    now, message, code = context:snapshot(client)
    if not now then
        return nil, message, code
    end
    local lines = context.who.slated and client:stats("describe")
    local automove = context.who.slated and require("slate.facts.moves").read(client) or nil
    local process = context.who.slated and require("slate.facts.memory").read(client) or nil
    client:close()
    local most = parsed.classes
    if most == "none" then
        most = 0
    elseif most == "all" then
        most = nil
    end
    return prometheus.text(now, { descriptions = prometheus.descriptions(lines or nil), automove = automove,
        process = process, classes = most })
end

function M.run(context, parsed)
    if context.json then
        return nil, "export writes the format that it is named after: it takes no --json, --jsonl or --csv", "usage"
    elseif not parsed.listen then
        local text, message, code = scrape(context, parsed)
        if not text then
            return nil, message, code
        end
        context:out(text)
        return 0
    end
    local httpd = require "slate.cli.httpd"
    local socket, port = httpd.listen(parsed.listen.host, parsed.listen.port)
    if not socket then
        return nil, port, "connect"
    end
    context:say(("serving http://%s:%d%s"):format(parsed.listen.host:find(":", 1, true)
        and "[" .. parsed.listen.host .. "]" or parsed.listen.host, port, PATH))
    httpd.run(socket, PATH, KIND, function()
        local text, message = scrape(context, parsed)
        if not text then
            context:say(message)
        end
        return text or prometheus.DOWN
    end)
    return 0
end

return M
