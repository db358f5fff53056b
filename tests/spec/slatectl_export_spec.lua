-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl export.
local command = require "support.command"
local server = require "support.server"
local socket = require "socket"

-- A strict reader of the text format: a table from metric to { kind, samples }, or raises.
local function parse(text)
    assert(text:sub(-1) == "\n", "the last line must end")
    local families, current = {}, nil
    for line in text:gmatch("([^\n]*)\n") do
        local help, rest = line:match("^# HELP ([%a_:][%w_:]*) (.+)$")
        local typed, kind = line:match("^# TYPE ([%a_:][%w_:]*) (%l+)$")
        if help then
            assert(not families[help], help .. " comes twice")
            assert(#rest > 0 and not current, line)
            current = { metric = help, samples = 0, seen = {} }
            families[help] = current
        elseif typed then
            assert(current and current.metric == typed and not current.kind, line)
            assert(kind == "counter" or kind == "gauge", line)
            assert((kind == "counter") == (typed:find("_total$") ~= nil), line)
            current.kind = kind
        else
            local metric, labels, value = line:match("^([%a_:][%w_:]*)(%b{}) (%S+)$")
            if not metric then
                metric, value = line:match("^([%a_:][%w_:]*) (%S+)$")
                labels = ""
            end
            local family = assert(families[metric], line)
            assert(family.kind and tonumber(value) and not value:find("^0x"), line)
            assert(labels == "" or labels:gsub('[%a_][%w_]*="[^"\n]*",?', "") == "{}", line)
            assert(not family.seen[labels], line .. " comes twice")
            family.seen[labels], family.samples = true, family.samples + 1
            current = nil
        end
    end
    return families
end

for _, kind in ipairs(server.both()) do
    describe("slatectl on " .. kind.name, function()
        local ctl = command.beside(setup, teardown, { binary = kind.binary, args = { "-m", "32" } })
        local once = kind.is_slated and it or function() end -- for claims that hold for every server

        setup(function()
            for i, bytes in ipairs({ 10, 1000, 5000 }) do
                ctl.client:set("key" .. i, ("x"):rep(bytes))
            end
        end)

        it("exports a page that a strict reader of Prometheus' format accepts, counters as counters", function()
            local code, out, err = ctl.run("export prometheus")
            assert.equal(0, code, err)
            local families = parse(out)
            assert.equal("counter", families.slate_cmd_set_total.kind)
            assert.equal("gauge", families.slate_uptime_seconds.kind)
            assert.equal(3, families.slate_class_total_pages and families.slate_class_total_pages.samples
                or families.slate_class_pages.samples)
            assert.equal("gauge", families.slate_class_chunk_size_bytes.kind)
            assert.equal("counter", families.slate_time_in_listen_disabled_seconds_total.kind)
            local _, none = ctl.run("export prometheus --classes none")
            assert.is_nil(none:find("slate_class_", 1, true))
            local _, few = ctl.run("export prometheus --classes 1")
            assert.equal(1, parse(few).slate_class_cmd_set_total.samples)
        end)

        -- Runs `asks` beside an exporter, with its port; rest() lets the exporter go on.
        local function with_exporter(asks, address, options)
            ctl.server = address or ctl.one.address
            ctl.beside((options or "") .. " export prometheus --listen :0", function(rest)
                local port
                repeat
                    port = command.read_file(ctl.folder .. "/.err"):match("serving http://127.0.0.1:(%d+)/metrics")
                until port or not rest()
                asks(tonumber(port), rest)
                return "over"
            end)
            ctl.server = ctl.one.address
        end

        local function send(port, request)
            local peer = assert(socket.connect("127.0.0.1", port))
            peer:settimeout(0)
            peer:send(request)
            return peer
        end

        local function answer_of(peer, rest)
            local text = ""
            repeat
                local bytes, problem, part = peer:receive(65536)
                text = text .. (bytes or part)
            until problem and problem ~= "timeout" or not rest() -- a request with too many bytes ends in a reset
            peer:close()
            return text
        end

        local function ask(port, request, rest) return answer_of(send(port, request), rest) end

        -- Connections that the exporter opens to servers that never answer, and the servers' addresses.
        local function mute_servers(count)
            local mutes, names = {}, {}
            for i = 1, count do
                mutes[i] = assert(socket.bind("127.0.0.1", 0))
                mutes[i]:settimeout(0)
                names[i] = "127.0.0.1:" .. select(2, mutes[i]:getsockname())
            end
            return names, function(rest)
                local asked = {}
                for i, mute in ipairs(mutes) do
                    repeat asked[i] = mute:accept() until asked[i] or not rest()
                    mute:close()
                end
                return asked
            end
        end

        once("serves the same to whoever asks, and little to whoever asks wrongly", function()
            with_exporter(function(port, rest)
                local text = ask(port, "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n", rest)
                assert.truthy(text:find("^HTTP/1.1 200 OK\r\n"), text)
                local body = text:match("\r\n\r\n(.*)$")
                assert.equal(#body, tonumber(text:match("Content%-Length: (%d+)")))
                assert.equal(1, parse(body).slate_up.samples)
                for request, status in pairs({ ["GET / HTTP/1.1\r\n\r\n"] = 404,
                    ["POST /metrics HTTP/1.1\r\n\r\n"] = 405, ["nonsense\r\n\r\n"] = 400,
                    ["GET /metrics HTTP/1.1\r\nX: " .. ("x"):rep(20000)] = 431,
                    ["GET /metrics HTTP/1.1\n\n"] = 200 }) do
                    assert.equal(status, tonumber(ask(port, request, rest):match("^HTTP/1.1 (%d+)")), request:sub(1, 9))
                end
            end)
        end)

        it("also has the names and labels of memcached_exporter", function()
            local text = ctl.succeed("export prometheus")
            local families = parse(text)
            for name, wanted in pairs({ memcached_up = "gauge", memcached_version = "gauge",
                memcached_commands_total = "counter", memcached_items_evicted_total = "counter",
                memcached_current_bytes = "gauge", memcached_limit_bytes = "gauge", memcached_current_items = "gauge",
                memcached_max_connections = "gauge", memcached_process_user_cpu_seconds_total = "counter",
                memcached_slab_current_pages = "gauge", memcached_slab_chunk_size_bytes = "gauge",
                memcached_slab_items_evicted_total = "counter", memcached_slab_commands_total = "counter",
                memcached_slab_lru_hits_total = "counter", memcached_lru_crawler_starts_total = "counter",
                memcached_malloced_bytes = "gauge" }) do
                assert.equal(wanted, families[name] and families[name].kind, name)
            end
            assert.truthy(text:find('\nmemcached_commands_total{command="set",status="hit"} 3\n', 1, true), text)
            assert.equal(3, families.memcached_slab_chunk_size_bytes.samples)
            assert.truthy(text:find('\nmemcached_slab_current_items{slab="%d+"} 1\n'))
        end)

        it("exports OpenMetrics with the required end and no family twice", function()
            local seen, last, name = {}, nil, nil
            for line in ctl.succeed("export openmetrics"):gmatch("([^\n]*)\n") do
                assert.not_equal("# EOF", last)
                local typed, what = line:match("^# TYPE (%S+) (%l+)$")
                if typed then
                    assert.is_nil(seen[typed], typed .. " comes twice")
                    seen[typed], name = what, typed
                elseif line:sub(1, 1) ~= "#" then
                    local metric = line:match("^[%w_]+")
                    assert.equal(seen[name] == "counter" and name .. "_total" or name, metric)
                end
                last = line
            end
            assert.equal("# EOF", last)
            assert.equal("counter", seen.memcached_commands)
        end)

        it("answers for several servers, each by its name, and for one that a scraper names", function()
            local other = server.start({ binary = kind.binary, args = { "-m", "32" }, transport = "tcp" })
            finally(function() other:stop() end)
            local code, out, err = ctl.run(("-s %s,%s export prometheus"):format(ctl.one.address, other.address))
            assert.equal(0, code, err)
            assert.equal(2, parse(out).memcached_up.samples)
            assert.truthy(out:find(('\nmemcached_up{server="%s"} 1\n'):format(other.address), 1, true), out)
            code, out, err = ctl.run(("-s %s,./nobody export prometheus"):format(ctl.one.address))
            assert.equal(1, code)
            assert.truthy(out:find('\nmemcached_up{server="./nobody"} 0\n', 1, true), out)
            assert.truthy(err:find("nobody", 1, true), err)
            with_exporter(function(port, rest)
                local text = ask(port, ("GET /scrape?target=%s HTTP/1.1\r\n\r\n"):format(
                    other.address:gsub(":", "%%3A")), rest)
                assert.truthy(text:find("\nmemcached_up 1\n", 1, true), text)
                assert.truthy(text:find("\nmemcached_current_items 0\n", 1, true), text)
                text = ask(port, ("GET /scrape?target=%s HTTP/1.1\r\n\r\n"):format(ctl.one.address), rest)
                assert.truthy(text:find("\nmemcached_current_items 3\n", 1, true), text)
                for target, status in pairs({ [""] = 400, ["/etc/passwd"] = 400, ["a%20b"] = 400,
                    ["a:99999999999999999999"] = 400 }) do
                    text = ask(port, ("GET /scrape?target=%s HTTP/1.1\r\n\r\n"):format(target), rest)
                    assert.equal(status, tonumber(text:match("^HTTP/1.1 (%d+)")), target)
                end
                text = ask(port, "GET /scrape?target=127.0.0.1:1 HTTP/1.1\r\n\r\n", rest)
                assert.truthy(text:find("\nmemcached_up 0\n", 1, true), text)
                text = ask(port, "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n",
                    rest)
                assert.truthy(text:find("Content-Type: application/openmetrics-text; version=1.0.0", 1, true), text)
                assert.truthy(text:find("\n# EOF\n$"), text)
            end)
        end)

        once("asks all of its servers at once, so that mute ones cost one time-out together", function()
            local names, accept = mute_servers(3)
            table.insert(names, 1, ctl.one.address)
            with_exporter(function(port, rest)
                local waiting = send(port, "GET /metrics HTTP/1.1\r\n\r\n")
                local asked = accept(rest)
                local other = ask(port, ("GET /scrape?target=%s HTTP/1.1\r\n\r\n"):format(ctl.one.address), rest)
                assert.truthy(other:find("\nslate_up 1\n", 1, true), other)
                for i = 1, 3 do asked[i]:close() end
                local text, at = answer_of(waiting, rest), 0
                for i, name in ipairs(names) do -- in the order of the command line
                    local line = ('\nslate_up{server="%s"} %d\n'):format(name, i == 1 and 1 or 0)
                    at = assert(text:find(line, at, true), text)
                end
            end, table.concat(names, ","), "--timeout 60s")
        end)

        it("reports from scrape to scrape the classes that starve, and slated's predictions", function()
            with_exporter(function(port, rest)
                local text
                repeat -- scrapes that were answered late give no rates
                    text = ask(port, "GET /metrics HTTP/1.1\r\n\r\n", rest)
                until text:find('\nslate_class_starving{class="%d+"} 0\n')
                for _, metric in ipairs({ "slate_moves_pages_moved_total", "slate_policy",
                    "slate_memory_resident_bytes" }) do
                    assert.equal(kind.is_slated, text:find("\n" .. metric .. "[ {]") ~= nil, metric)
                end
            end)
        end)
    end)
end

describe("slatectl's web server", function()
    it("serves one page while requests for another wait, and while silent connections take all places", function()
        local httpd, together = require "slate.cli.httpd", require "slate.wire.together"
        local listening, port = assert(httpd.listen("127.0.0.1", 0))
        local released, refused, peers, statuses = false, 0, {}, {}
        local function connect(request)
            peers[#peers + 1] = assert(socket.connect("127.0.0.1", port))
            peers[#peers]:send(request)
            peers[#peers]:settimeout(0)
            together.select(nil, nil, 0) -- the server's turn: the queue of connections is short
            return peers[#peers]
        end
        local function status_of(peer)
            together.select({ peer }, nil, 60)
            return (peer:receive("*l") or ""):match(" (%d+) ")
        end
        local _, why = pcall(together.run, {
            function()
                httpd.run(listening, function(request)
                    while request.path == "/mute" and not released do
                        together.select(nil, nil, 0.01)
                    end
                    return 200, "text/plain", "well\n"
                end, error)
            end,
            function()
                local mute = {}
                for i = 1, 120 do mute[i] = connect("GET /mute HTTP/1.1\r\n\r\n") end
                for _ = 1, 250 do connect("") end
                statuses.other = status_of(connect("GET / HTTP/1.1\r\n\r\n"))
                released = true
                for _, peer in ipairs(mute) do
                    local status = status_of(peer)
                    statuses[status], refused = true, refused + (status == "503" and 1 or 0)
                end
                error("over", 0) -- the line ends the server, too
            end,
        })
        listening:close()
        assert.equal("over", why)
        for _, peer in ipairs(peers) do peer:close() end
        assert.same({ other = "200", ["200"] = true, ["503"] = true }, statuses)
        assert.equal(40, refused) -- of 120 requests, because 80 for one page are served at once
    end)
end)

describe("slatectl's families of metrics", function()
    it("have each series once, though a server's statistic has the name of another", function()
        local families = require("slate.cli.families").new()
        families:add("slate_up", "gauge", "1: the server answered", nil, 1)
        families:add("slate_up", "gauge", "the server's own", nil, 7)
        families:add("slate_up", "gauge", "of a class", { { "class", 1 } }, 2)
        assert.equal("# HELP slate_up 1: the server answered\n# TYPE slate_up gauge\nslate_up 1\n"
            .. 'slate_up{class="1"} 2\n', families:text("prometheus"))
    end)
end)
