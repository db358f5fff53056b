-- SPDX-License-Identifier: BSD-3-Clause
-- slated -o metrics=ADDRESS: its own figures over HTTP, the same as slatectl's exporter.
local command = require "support.command"
local server = require "support.server"
local socket = require "socket"

local TRIES <const> = 5

local function free_port()
    local one = assert(socket.bind("127.0.0.1", 0))
    local _, port = one:getsockname()
    one:close()
    return math.tointeger(tonumber(port))
end

-- A server and the port of its metrics, which was free a moment ago; if another program took the port, another is
-- tried.
local function start(options)
    for try = 1, TRIES do
        local port = free_port()
        local args = { "-o", "metrics=127.0.0.1:" .. port }
        table.move(options or {}, 1, #(options or {}), #args + 1, args)
        local ok, one = pcall(server.start, { args = args })
        if ok then
            return one, port
        end
        assert(try < TRIES, one)
    end
end

local function ask(port, request)
    local peer = assert(socket.connect("127.0.0.1", port))
    peer:settimeout(60)
    peer:send(request)
    local text, _, part = peer:receive("*a")
    peer:close()
    text = text or part
    return tonumber(text:match("^HTTP/1.1 (%d+) ")), text:match("\r\n\r\n(.*)$"), text
end

local function get(port, headers)
    local status, body, whole = ask(port, "GET /metrics?x=1 HTTP/1.1\r\nHost: here\r\n" .. (headers or "") .. "\r\n")
    assert.equal(200, status)
    assert.equal(#body, tonumber(whole:match("Content%-Length: (%d+)")))
    return body, whole
end

-- By name a metric's type on a page, and the set of its series without their values.
local function parse(text)
    local types, series = {}, {}
    for line in text:gmatch("([^\n]+)\n") do
        local name, kind = line:match("^# TYPE (%S+) (%S+)$")
        local labelled = line:match("^([^# ][^ {]*{.*}) %S+$") or line:match("^([^# ][^ {]*) %S+$")
        if name then
            assert.is_nil(types[name], name .. " comes twice")
            assert.truthy(text:find("# HELP " .. name .. " %S"), name)
            types[name] = kind
        elseif labelled then
            assert.is_nil(series[labelled], labelled .. " comes twice")
            assert.truthy(types[labelled:match("^[%w_]+")], labelled)
            series[labelled] = true
        else
            assert.truthy(line:find("^# HELP "), line)
        end
    end
    return types, series
end

-- A server's own page; and the part of the exporter's page common to both: with a single scrape no class is judged.
local function both_pages(one, port)
    local page = get(port)
    local ctl = command.new({ server = one.address })
    local exported = ctl.succeed("export prometheus")
    ctl.remove()
    return page, exported
end

describe("slated -o metrics", function()
    local one, port

    setup(function() one, port = start() end)
    teardown(function() one:stop() end)

    it("has the figures of slatectl's exporter, and promtool has no remark", function()
        local client = one:connect()
        for i = 1, 3 do client:set("key" .. i, ("x"):rep(1000)) end
        client:close()
        local page, exported = both_pages(one, port)
        assert.same({ parse(exported) }, { parse(page) })
        assert.truthy(page:find("\nmemcached_current_items 3\n", 1, true), page)
        assert.truthy(page:find('\nmemcached_commands_total{command="set",status="hit"} 3\n', 1, true))
        assert.truthy(page:find('\nslate_policy{policy="s3fifo"} 1\n', 1, true))
        if os.execute("command -v promtool >/dev/null") then
            local folder = server.folder()
            finally(function() server.remove_folder(folder) end)
            for _, text in ipairs({ page, exported }) do
                server.write_file(folder .. "/page", text)
                assert.equal("", server.capture("promtool check metrics <" .. folder .. "/page 2>&1"))
            end
        end
    end)

    it("serves OpenMetrics to a client that accepts that", function()
        local page, whole = get(port, "accept: application/openmetrics-text;version=1.0.0\r\n")
        assert.truthy(whole:find("Content-Type: application/openmetrics-text; version=1.0.0", 1, true))
        assert.truthy(page:find("\n# EOF\n$"))
        assert.truthy(page:find("\n# TYPE memcached_commands counter\n", 1, true))
    end)

    it("answers a wrong request briefly, and goes on", function()
        for request, status in pairs({
            ["GET / HTTP/1.1\r\n\r\n"] = 404, ["POST /metrics HTTP/1.1\r\n\r\n"] = 405, ["nonsense\r\n\r\n"] = 400,
            ["GET metrics HTTP/1.1\r\n\r\n"] = 400, ["GET /metrics HTTP/2\r\n\r\n"] = 400,
            ["GET /metrics HTTP/1.1\n\n"] = 200, ["GET /metrics\0 HTTP/1.1\r\n\r\n"] = 400,
            ["GET /" .. ("x"):rep(1000) .. " HTTP/1.1\r\n\r\n"] = 404,
            ["GET /metrics HTTP/1.1\r\nX: " .. ("x"):rep(20000)] = 431, ["GET /metr"] = 408,
        }) do
            assert.equal(status, (ask(port, request)), request:sub(1, 40))
        end
        local status, body = ask(port, "HEAD /metrics HTTP/1.1\r\n\r\n")
        assert.same({ 200, "" }, { status, body })
        assert.truthy(get(port):find("^# HELP slate_up"))
    end)

    it("lets no client wait for others that send nothing, or a request in parts", function()
        local slow, silent = assert(socket.connect("127.0.0.1", port)), {}
        for i = 1, 30 do -- with waits each would take five seconds: longer than the scrape's time-out here
            silent[i] = assert(socket.connect("127.0.0.1", port))
            assert(silent[i]:send(i % 2 == 0 and "GET /metrics HTTP/1.1\r\nHost: h" or ""))
        end
        for byte in ("GET /metrics HTTP/1.1\r\n"):gmatch(".") do assert(slow:send(byte)) end
        assert.truthy(get(port):find("^# HELP slate_up"))
        slow:settimeout(60)
        assert(slow:send("\r\n"))
        assert.equal("HTTP/1.1 200 OK", slow:receive("*l"))
        slow:close()
        for i = #silent + 1, 100 do -- more than there are places: the oldest ones go
            silent[i] = assert(socket.connect("127.0.0.1", port))
        end
        assert.truthy(get(port):find("^# HELP slate_up"))
        silent[1]:settimeout(60)
        assert.is_nil((silent[1]:receive("*l")))
        for _, peer in ipairs(silent) do peer:close() end
    end)

    it("counts no scrape as a connection or a command", function()
        local client = one:connect()
        local function figures()
            local lines = table.concat(client:stats(""), "\n") .. "\n"
            return { lines:match("curr_connections (%d+)"), lines:match("total_connections (%d+)"),
                lines:match("cmd_meta (%d+)"), lines:match("cmd_get (%d+)") }
        end
        local before = figures()
        get(port)
        assert.same(before, figures())
        client:close()
    end)

    it("serves while a scraper holds its connection, and ends in the midst of one", function()
        local other, at = start({ "-o", "drop_privileges" })
        local held, client = assert(socket.connect("127.0.0.1", at)), other:connect()
        assert(client:set("key", "value"))
        client:close()
        assert.equal(0, (other:stop()))
        held:close()
    end)

    for _, options in ipairs({ { "--store=heap" }, { "-o", "like_memcached,sample_rate=0" },
        { "--store=blocks", "-o", "drop_privileges" } }) do
        it("tells figures with " .. table.concat(options, " "), function()
            local other, at = start(options)
            finally(function() other:stop() end)
            assert.truthy(get(at):find("\nmemcached_up 1\n", 1, true))
        end)
    end
end)

describe("slated's metrics", function()
    local slated = server.slated()

    local function refused(address, pattern)
        local folder = server.folder()
        local _, _, code = os.execute(("timeout 300 %s %s -s %s/s -o metrics=%s >%s/out 2>&1"):format(
            server.quoted(slated), server.USER, folder, address, folder))
        local said = server.read_file(folder .. "/out")
        server.remove_folder(folder)
        assert.equal(71, code, said)
        assert.truthy(said:find(pattern, 1, true), said)
        assert.equal(1, select(2, said:gsub("error: ", "")), said)
    end

    it("are off by default", function()
        local one = server.start({})
        local threads = server.capture(("cat /proc/%d/task/*/comm"):format(one.pid))
        one:stop()
        assert.is_nil(threads:find("slated-metrics", 1, true))
    end)

    it("are refused in one sentence where they cannot be had", function()
        refused("127.0.0.1:none", "a port must be a number")
        refused("127.0.0.1:0", "a port must be a number")
        refused("0.0.0.0:9150", "other machines can reach it")
        local held = assert(socket.bind("127.0.0.1", 0))
        local _, port = held:getsockname()
        refused("127.0.0.1:" .. port, "in use")
        held:close()
    end)
end)
