-- SPDX-License-Identifier: BSD-3-Clause
-- slated speaks TLS: its traffic, the clients that it refuses, and new certificates while it runs.
local client = require "slate.wire.client"
local command = require "support.command"
local certificates = require "support.certificates"
local patience = require "support.patience"
local pipeline = require "support.pipeline"
local server = require "support.server"
local socket = require "socket"
local wire = require "support.wire"

local VALUE_BYTES <const> = 900000
local UNREAD_GETS <const> = 20
local LINES <const> = 20000

local has_ssl, ssl = pcall(require, "ssl")

local function copy(from, to)
    assert(os.execute(("cp %s %s.new && mv %s.new %s"):format(from, to, to, to)))
end

local function dial(host, port)
    local connection = assert(socket.connect(host, port))
    connection:settimeout(patience.DEADLINE_S)
    return connection
end

-- A connection after its handshake, or nil and the error.
local function shake(host, port, options)
    local wrapped = assert(ssl.wrap(dial(host, port), {
        mode = "client", protocol = options.protocol or "any", verify = "none", options = "all",
        certificate = options.certificate, key = options.key,
    }))
    local ok, why = wrapped:dohandshake()
    if not ok then
        wrapped:close()
        return nil, why
    end
    return wrapped
end

-- Whether a command gets its reply. With TLS 1.3 a client learns only then that its certificate was refused.
local function is_served(host, port, options)
    local connection = shake(host, port, options or {})
    local line = connection and connection:send("version\r\n") and connection:receive("*l")
    if connection then
        connection:close()
    end
    return line ~= nil and line ~= false and line:find("^VERSION ") ~= nil
end

local function subject_of(host, port)
    local connection = assert(shake(host, port, {}))
    local name = connection:getpeercertificate():subject()[1].value
    connection:close()
    return name
end

describe("slated with TLS", function()
    if not has_ssl or not os.execute("command -v openssl >/dev/null") then
        pending("there is no LuaSec, or no openssl to make a certificate")
        return
    end
    local folder
    local started = {}

    after_each(function()
        while #started > 0 do
            table.remove(started):stop()
        end
    end)

    setup(function()
        folder = server.folder()
        certificates.make(folder, "ca")
        certificates.make(folder, "other-ca")
        certificates.make(folder, "one", "ca", 2, "IP:127.0.0.3")
        certificates.make(folder, "two", "ca")
        certificates.make(folder, "client", "ca")
        certificates.make(folder, "by-dns", "ca", 2, "DNS:other.shop,DNS:web.shop")
        certificates.make(folder, "by-uri", "ca", 2, "DNS:no.shop,URI:spiffe://shop/api")
        certificates.make(folder, "stranger", "other-ca")
        certificates.make(folder, "expired", "ca", -1)
    end)
    teardown(function() server.remove_folder(folder) end)

    local function start(words, ...)
        copy(folder .. "/one.pem", folder .. "/cert")
        copy(folder .. "/one.key", folder .. "/key")
        local list = ("ssl_chain_cert=%s/cert,ssl_key=%s/key,ssl_ca_cert=%s/ca.pem"):format(folder, folder, folder)
        local one = server.start({
            transport = "tcp", tls = { verify = false },
            args = { "-Z", "-o", words and list .. "," .. words or list, ... },
        })
        started[#started + 1] = one
        one.port = tonumber(one.address:match(":(%d+)$"))
        return one
    end

    local function connect(one)
        return assert(client.connect(one.address, { tls = { verify = false } }))
    end

    local function statistic(one, name, group)
        local connection = connect(one)
        local lines = table.concat(assert(connection:stats(group)), "\n")
        connection:close()
        local value = assert(lines:match("STAT " .. name .. " (%S+)"), "there is no " .. name)
        return math.tointeger(value) or value
    end

    -- A certificate and its key.
    local function pair(name)
        return { certificate = ("%s/%s.pem"):format(folder, name), key = ("%s/%s.key"):format(folder, name) }
    end

    it("carries commands, pipelines and large values both ways", function()
        local one = start()
        local c = connect(one)
        local value = ("0123456789"):rep(VALUE_BYTES // 10)
        local batch = pipeline(c)
        for _ = 1, 10 do
            batch:set("big", value):get("big")
        end
        local results, errors = batch:run()
        assert.same({}, errors)
        for i = 2, 20, 2 do
            assert.equal(value, results[i].value)
        end
        c:close()
    end)

    it("sends a slow reader its whole reply", function()
        local one = start()
        local c = connect(one)
        assert.is_true(c:set("big", ("x"):rep(VALUE_BYTES)))
        c:close()
        local late = assert(shake("127.0.0.1", one.port, {}))
        assert(late:send(("get big\r\n"):rep(UNREAD_GETS) .. "mn\r\n"))
        socket.sleep(0.2)
        for _ = 1, UNREAD_GETS do
            assert.equal("VALUE big 0 " .. VALUE_BYTES, late:receive("*l"))
            assert.equal(VALUE_BYTES, #assert(late:receive(VALUE_BYTES)))
            assert.equal("", late:receive("*l"))
            assert.equal("END", late:receive("*l"))
        end
        assert.equal("MN", late:receive("*l"))
        late:close()
    end)

    it("hangs up on a client without TLS, and counts it", function()
        local one = start()
        local plain = dial("127.0.0.1", one.port)
        assert(plain:send("version\r\n"))
        local answer = plain:receive("*a") or ""
        plain:close()
        assert.is_nil(answer:find("VERSION", 1, true))
        assert.equal(1, statistic(one, "ssl_handshake_errors"))
    end)

    it("hangs up on a client that does not agree on a session in time", function()
        local one = start("ssl_handshake_timeout=1")
        local mute = dial("127.0.0.1", one.port)
        assert.equal("closed", select(2, mute:receive(1)))
        mute:close()
        assert.equal(1, statistic(one, "ssl_handshake_errors"))
    end)

    it("refuses versions of TLS older than its option permits", function()
        local one = start("ssl_min_version=3")
        assert.is_false(is_served("127.0.0.1", one.port, { protocol = "tlsv1_2" }))
        assert.is_true(is_served("127.0.0.1", one.port, { protocol = "tlsv1_3" }))
        assert.equal("tlsv1.3", statistic(one, "ssl_min_version", "settings"))
        one = start()
        assert.is_true(is_served("127.0.0.1", one.port, { protocol = "tlsv1_2" }))
        assert.is_false(is_served("127.0.0.1", one.port, { protocol = "tlsv1_1" }))
    end)

    it("requires a client's certificate where the listener or the mode says so", function()
        local one = start(nil, "-l", "notls:127.0.0.2,mtls:127.0.0.3,btls:127.0.0.4,127.0.0.1")
        local ports = {}
        for line in io.lines(one.folder .. "/ports") do
            ports[#ports + 1] = tonumber(line:match("%d+$")) -- the last listener first
        end
        local known, stranger, expired = pair("client"), pair("stranger"), pair("expired")
        local plain = wire.connect("127.0.0.2:" .. ports[4])
        assert.truthy(wire.ask(plain, "version"):find("^VERSION "))
        plain:close()
        assert.is_true(is_served("127.0.0.3", ports[3], known))
        assert.is_false(is_served("127.0.0.3", ports[3], stranger))
        assert.is_false(is_served("127.0.0.3", ports[3], expired))
        assert.is_false(is_served("127.0.0.3", ports[3]))
        assert.equal(3, statistic(one, "ssl_handshake_errors"))
        patience.wait_for("a line of the log", function()
            return one:log():find("slated: warn: tcp:127%.0%.0%.1:%d+ was refused: TLS: [^\n]*certificate")
        end)
        assert.is_true(is_served("127.0.0.4", ports[2], stranger))
        assert.is_true(is_served("127.0.0.1", ports[1]))
        one = start("ssl_verify_mode=1")
        assert.is_true(is_served("127.0.0.1", one.port))
        assert.is_true(is_served("127.0.0.1", one.port, known))
        assert.is_false(is_served("127.0.0.1", one.port, stranger))
    end)

    it("shows new certificates to new clients, on a command or by itself, and keeps its connections", function()
        local one = start()
        local before = connect(one)
        for i, how in ipairs({ "refresh_certs", "SIGHUP", "by itself" }) do
            local name = i % 2 == 0 and "one" or "two"
            copy(("%s/%s.pem"):format(folder, name), folder .. "/cert")
            copy(("%s/%s.key"):format(folder, name), folder .. "/key")
            if how == "refresh_certs" then
                assert.equal("OK", before:command("refresh_certs"))
                assert.equal(name, subject_of("127.0.0.1", one.port))
            elseif how == "SIGHUP" then
                assert(os.execute("kill -HUP " .. one.pid))
            end
            patience.wait_for(how, function() return subject_of("127.0.0.1", one.port) == name end)
            assert.matches("^VERSION ", before:command("version"))
        end
        before:close()
    end)

    it("keeps its certificate when a new one makes no sense, and says why", function()
        local one = start()
        local c = connect(one)
        local cert = folder .. "/cert"
        for _, case in ipairs({
            { "echo nonsense >" .. cert, "^Error loading the certificate chain : " .. cert:gsub("%p", "%%%0") },
            { ("cp %s/two.pem %s"):format(folder, cert), "^Error loading the key : " },
            { "rm " .. cert, "^Error loading the certificate chain : .*: No such file or directory$" },
            { "mkfifo " .. cert, "^Error loading .*: it is not a regular file$" },
        }) do
            assert(os.execute(case[1]))
            local said = c:command("refresh_certs")
            assert.truthy(said:find(case[2]), said)
            assert.equal("one", subject_of("127.0.0.1", one.port))
        end
        assert(os.execute("kill -HUP " .. one.pid))
        patience.wait_for("the log", function()
            return one:log():find("the certificates stay as they are: ", 1, true)
        end)
        assert.is_true(is_served("127.0.0.1", one.port))
        c:close()
    end)

    it("gives a client whose certificate names a line of the file of users that role, without a login", function()
        server.write_file(folder .. "/users", "anna:secret\ncertificate client read\ncertificate web.shop write\n"
            .. "certificate spiffe://shop/api admin\n")
        local one = start("ssl_verify_mode=1", "-Y", folder .. "/users", "-l",
            "btls:127.0.0.2,mtls:127.0.0.3,role=read")
        local ports = {}
        for line in io.lines(one.folder .. "/ports") do
            table.insert(ports, 1, tonumber(line:match("%d+$")))
        end
        -- A client's role, or the refusal that it gets.
        local function role_of(name, listener, login)
            local connection = assert(shake("127.0.0." .. listener, ports[listener], name and pair(name) or {}))
            if login then
                assert(connection:send(("set login 0 0 %d\r\n%s\r\n"):format(#login, login)))
                assert.equal("STORED", connection:receive("*l"))
            end
            assert(connection:send("stats slated\r\n"))
            local role
            repeat
                local line = connection:receive("*l")
                role = role or line:match("^STAT role (%a+)") or line:match("^CLIENT_ERROR (.*)")
            until not line:find("^STAT ")
            connection:close()
            return role
        end
        assert.equal("read", role_of("client", 1))
        assert.equal("write", role_of("by-dns", 1))
        assert.equal("admin", role_of("by-uri", 1))
        assert.equal("unauthenticated", role_of("two", 1)) -- without such a line a login is required
        assert.equal("unauthenticated", role_of(nil, 1))
        assert.equal("admin", role_of("two", 1, "anna secret"))
        assert.equal("unauthenticated", role_of("by-uri", 2)) -- where no certificate is required
        assert.equal("read", role_of("by-uri", 3)) -- the listener's role bounds it
        local admin = connect(one)
        assert.equal("CLIENT_ERROR unauthenticated", admin:command("version"))
        admin:close()
        -- slatectl shows a certificate whose key is in the same file, too
        assert(os.execute(("cd %s && cat by-uri.pem by-uri.key >both.pem"):format(folder)))
        local ctl = command.new({ server = "tls://127.0.0.3:" .. ports[3] })
        finally(ctl.remove)
        for _, words in ipairs({ "SLATE_TLS_CERT=%s/both.pem",
            "SLATE_TLS_CERT=%s/by-uri.pem SLATE_TLS_KEY=%s/by-uri.key" }) do
            local line = ("SLATE_TLS_CA=%s/ca.pem " .. words .. " slatectl export prometheus"):gsub("%%s", folder)
            local code, said, why = ctl.shell(line)
            assert.equal(0, code, why)
            assert.truthy(said:find("\nslate_up 1\n", 1, true), said)
        end
        -- and so does an exporter that listens: its own scrape, and one of a server that the scraper names
        local function scraped(shown)
            local exporter = io.popen(("SLATE_TLS_CA=%s/ca.pem %s sh -c 'echo $$; exec scripts/slatectl -s %s export "
                .. "prometheus --listen :0 2>&1'"):format(folder, shown, ctl.server))
            local pid, at = exporter:read("l", "l")
            local answers = {}
            for i, path in ipairs({ "/metrics", "/scrape?target=" .. ctl.server }) do
                local scraper = dial("127.0.0.1", at:match(":(%d+)/metrics"))
                scraper:send(("GET %s HTTP/1.1\r\n\r\n"):format(path))
                answers[i] = scraper:receive("*a"):match("\nslate_up (%d)\n")
                scraper:close()
            end
            os.execute("kill " .. pid)
            exporter:close()
            return answers
        end
        assert.same({ "1", "1" }, scraped(("SLATE_TLS_CERT=%s/by-uri.pem SLATE_TLS_KEY=%s/by-uri.key"):format(folder,
            folder)))
        assert.same({ "0", "0" }, scraped(""))
    end)

    it("warns that names of certificates are in vain where no client is asked for one", function()
        server.write_file(folder .. "/users", "certificate client read\n")
        local function is_said(one)
            local _, said = one:stop() -- the log is complete then
            return said:find("/users names certificates, but slated requests one only", 1, true) ~= nil
        end
        assert.is_true(is_said(server.start({ args = { "-Y", folder .. "/users" } })))
        assert.is_true(is_said(start(nil, "-Y", folder .. "/users"))) -- ssl_verify_mode is 0
        assert.is_false(is_said(start("ssl_verify_mode=1", "-Y", folder .. "/users")))
        assert.is_false(is_said(start(nil, "-Y", folder .. "/users", "-l", "127.0.0.1,mtls:127.0.0.2")))
    end)

    it("takes a chain of as many certificates as may be, and the longest bundle", function()
        local bundle =
            "cd %s && { cat ca.pem; head -c $((262144 - $(wc -c <ca.pem))) /dev/zero | tr '\\0' '#'; } >bundle"
        assert(os.execute(("cat %s/two.pem >%s/long"):format(folder, folder)))
        assert(os.execute(("for i in $(seq 15); do cat %s/ca.pem; done >>%s/long"):format(folder, folder)))
        assert(os.execute(bundle:format(folder)))
        local one = start(("ssl_chain_cert=%s/long,ssl_key=%s/two.key,ssl_ca_cert=%s/bundle"):format(folder, folder,
            folder))
        local c = connect(one)
        assert.equal("OK", c:command("refresh_certs"))
        c:close()
        assert.equal("two", subject_of("127.0.0.1", one.port))
    end)

    it("takes the key out of the certificate's file when none is named, and a key in DER", function()
        assert(os.execute(("cat %s/one.pem %s/one.key >%s/both"):format(folder, folder, folder)))
        assert(os.execute(("cd %s && openssl ec -in one.key -outform DER -out one.der 2>/dev/null"):format(folder)))
        for _, words in ipairs({ "ssl_chain_cert=%s/both",
            "ssl_chain_cert=%s/one.pem,ssl_key=%s/one.der,ssl_keyformat=2" }) do
            server.start({ transport = "tcp", tls = { verify = false }, args = { "-Z", "-o",
                (words:gsub("%%s", folder)) } }):stop()
        end
    end)

    it("lets a client watch, and one that reads late loses lines and no more", function()
        local one = start()
        local watcher = assert(shake("127.0.0.1", one.port, {}))
        assert(watcher:send("watch fetchers connevents\r\n"))
        assert.equal("OK", watcher:receive("*l"))
        local c = connect(one)
        assert.truthy(watcher:receive("*l"):find("type=conn_new", 1, true))
        c:get("absent")
        assert.truthy(watcher:receive("*l"):find("type=item_get key=absent status=not_found", 1, true))
        local plain = dial("127.0.0.1", one.port)
        assert(plain:send("version\r\n"))
        plain:receive("*a")
        plain:close()
        assert.truthy(watcher:receive("*l"):find("type=conn_new", 1, true))
        assert.truthy(watcher:receive("*l"):find("type=conntlserr fd=%d+ msg=."))
        assert.truthy(watcher:receive("*l"):find("type=conn_close.* reason=error"))
        local batch = pipeline(c)
        for _ = 1, LINES do
            batch:get("absent")
        end
        batch:run()
        local line = watcher:receive("*l")
        assert.truthy(line:find("type=item_get key=absent", 1, true), line)
        watcher:close()
        c:close()
        patience.wait_for("the watcher's end", function() return statistic(one, "log_watchers") == 0 end)
    end)

    it("answers refresh_certs without TLS as memcached does", function()
        local one = server.start()
        finally(function() one:stop() end)
        local c = one:connect()
        assert.equal("Error TLS not enabled", c:command("refresh_certs"))
        c:close()
    end)
end)
