-- SPDX-License-Identifier: BSD-3-Clause
-- What a server was told by its options holds after a takeover: who may do what, how its sockets are guarded, what the
-- service manager and the pidfile say, and who scrapes its metrics.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local certificates = require "support.certificates"
local patience = require "support.patience"
local server = require "support.server"
local socket = require "socket"
local wire = require "support.wire"

local USERS <const> = { "anna:secret", "rita:r:read", "adam:a:admin" }
local TAKEOVERS <const>, ITEMS <const> = 5, 5000
local LARGE_BYTES <const>, CLIENTS <const>, UNREAD_GETS <const> = 300000, 4, 20
local DATAGRAM <const> = "\0\1\0\0\0\1\0\0"

describe("after a takeover", function()
    local folder, pids

    local function serving()
        return math.tointeger(tonumber((server.read_file(folder .. "/pid") or ""):match("^%d+")))
    end

    local function log()
        return server.read_file(folder .. "/log")
    end

    local function words(more)
        return ("env MEMCACHED_PORT_FILENAME=%s/ports %s -v -m 64 -t 2 -P %s/pid -o takeover_socket=%s/t %s %s"):format(
            folder, server.quoted(server.slated()), folder, folder, server.USER, more)
    end

    local function run(more, environment)
        os.execute(("%s %s </dev/null >>%s/log 2>&1 &"):format(environment or "", words(more), folder))
    end

    local function wait_until_next_serves(before)
        patience.wait_for("the next process to serve", function()
            return serving() ~= before
        end)
        pids[#pids + 1] = serving()
        patience.wait_for("the one before to end", function()
            return not server.is_running(before)
        end)
    end

    local function start(more, environment)
        run(more, environment)
        pids[#pids + 1] = patience.wait_for("slated to serve", serving)
        return pids[#pids]
    end

    local function take_over()
        local before = serving()
        assert(os.execute("kill -USR2 " .. before))
        wait_until_next_serves(before)
    end

    local function port_of(what)
        return tonumber(server.read_file(folder .. "/ports"):match(what .. " INET: (%d+)"))
    end

    local function tcp(port)
        return wire.connect("127.0.0.1:" .. port)
    end

    local function write_users(list)
        server.write_file(folder .. "/users", table.concat(list, "\n") .. "\n")
        assert(os.execute(("chmod 600 %s/users"):format(folder)))
    end

    local function log_in(connection, user, password)
        local token = user .. " " .. password
        return wire.ask(connection, ("set any 0 0 %d\r\n%s"):format(#token, token))
    end

    before_each(function()
        folder, pids = server.folder(), {}
    end)

    after_each(function()
        pids[#pids + 1] = serving()
        for _, pid in ipairs(pids) do
            if server.is_running(pid) then
                os.execute(("kill -9 %d 2>/dev/null"):format(pid))
            end
        end
        server.remove_folder(folder)
    end)

    it("users have their roles, who is none any more is hung up on, and strangers log in", function()
        write_users(USERS)
        start(("-Y %s/users -l 127.0.0.1 -p -1"):format(folder))
        local port = port_of("TCP")
        local anna, rita, adam, stranger = tcp(port), tcp(port), tcp(port), tcp(port)
        assert.equal("STORED", log_in(anna, "anna", "secret"))
        assert.equal("STORED", log_in(rita, "rita", "r"))
        assert.equal("STORED", log_in(adam, "adam", "a"))
        assert.equal("STORED", wire.ask(anna, "set item 0 0 1\r\na"))
        local refused = wire.ask(rita, "delete item")
        assert.matches("CLIENT_ERROR", refused)
        take_over()
        assert.equal("STORED", wire.ask(anna, "set item 0 0 1\r\nb"))
        assert.equal(refused, wire.ask(rita, "delete item"))
        assert.equal("HD", wire.ask(rita, "mg item"))
        assert.equal("OK", wire.ask(adam, "verbosity 1"))
        assert.equal("CLIENT_ERROR unauthenticated", wire.ask(stranger, "mg item"))
        assert.equal("CLIENT_ERROR unauthenticated", wire.ask(tcp(port), "mg item"))
        write_users({ USERS[1], "adam:a:read" })
        take_over()
        assert.equal("HD", wire.ask(anna, "mg item"))
        assert.is_nil(wire.ask(rita, "mg item"))
        assert.equal("HD", wire.ask(adam, "mg item"))
        assert.equal(refused, wire.ask(adam, "delete item"))
    end)

    it("a listener's role is that of the options now", function()
        local listen = "-l 127.0.0.1:%d,role=%s"
        start("-l 127.0.0.1 -p -1")
        local port = port_of("TCP")
        local client = tcp(port)
        assert.equal("STORED", wire.ask(client, "set item 0 0 1\r\na"))
        local before = serving()
        run(listen:format(port, "read") .. " --takeover")
        wait_until_next_serves(before)
        assert.equal("HD", wire.ask(client, "mg item"))
        assert.matches("CLIENT_ERROR", wire.ask(client, "delete item"))
        assert.matches("CLIENT_ERROR", wire.ask(tcp(port), "delete item"))
    end)

    it("a listener with TLS agrees on it as before", function()
        local has_ssl, ssl = pcall(require, "ssl")
        if not has_ssl or not certificates.available() then
            pending("there is no LuaSec, or no openssl to make a certificate")
            return
        end
        certificates.make(folder, "one")
        start(("-Z -o ssl_chain_cert=%s/one.pem,ssl_key=%s/one.key -l 127.0.0.1 -p -1"):format(folder, folder))
        local port = port_of("TCP")
        local function shake()
            local connection = assert(ssl.wrap(tcp(port), { mode = "client", protocol = "any", verify = "none" }))
            assert(connection:dohandshake())
            return connection
        end
        local client = shake()
        assert.equal("STORED", wire.ask(client, "set item 0 0 1\r\na"))
        for _ = 1, 2 do
            take_over()
            assert.is_nil(wire.ask(client, "mg item")) -- its keys were the first one's
            client = shake()
            assert.equal("HD", wire.ask(client, "mg item"))
        end
    end)

    it("datagrams are answered on the same port", function()
        start("-l 127.0.0.1 -p -1 -U -1")
        local port = port_of("UDP")
        local udp = socket.udp()
        assert(udp:setpeername("127.0.0.1", port))
        udp:settimeout(1)
        local function ask(text)
            return patience.wait_for("the answer to a datagram", function() -- which may be lost
                udp:send(DATAGRAM .. text .. "\r\n")
                local got = udp:receive()
                return got and got:sub(9)
            end)
        end
        assert.equal("STORED\r\n", ask("set item 0 0 1\r\na"))
        take_over()
        assert.equal("HD\r\n", ask("mg item"))
        take_over()
        assert.equal("HD\r\n", ask("mg item"))
        udp:close()
    end)

    it("the UNIX socket has the permissions of the options now, and is removed at the end", function()
        local function mode()
            return server.capture(("stat -c %%a %s/s 2>&1"):format(folder))
        end
        start(("-s %s/s -a 0660"):format(folder))
        local client = wire.connect(folder .. "/s")
        assert.equal("660", mode())
        take_over()
        assert.equal("660", mode())
        local before = serving()
        run(("-s %s/s -a 0600 --takeover"):format(folder))
        wait_until_next_serves(before)
        assert.equal("600", mode())
        assert.equal("MN", wire.ask(client, "mn"))
        local last = serving()
        assert(os.execute("kill " .. last))
        patience.wait_for("it to end", function()
            return not server.is_running(last)
        end)
        assert.matches("No such file", mode())
        assert.is_nil(serving())
        assert.matches("No such file", server.capture(("stat %s/t 2>&1"):format(folder)))
    end)

    it("the service manager knows which process is the main one, by word of the one that was", function()
        local unix = require "socket.unix"
        local manager = unix.dgram()
        assert(manager:bind(folder .. "/notify"))
        manager:settimeout(patience.DEADLINE_S)
        start(("-s %s/s"):format(folder), ("NOTIFY_SOCKET=%s/notify"):format(folder))
        assert.equal("READY=1", manager:receive())
        for _ = 1, 3 do
            take_over()
            local said = { manager:receive(), manager:receive() }
            table.sort(said)
            assert.same({ "MAINPID=" .. serving(), "READY=1" }, said)
        end
        assert(os.execute("kill " .. serving()))
        assert.equal("STOPPING=1", manager:receive())
        manager:close()
    end)

    it("a server in the background has its next one there, too", function()
        start(("-d -s %s/s"):format(folder))
        local client = wire.connect(folder .. "/s")
        assert.equal("STORED", wire.ask(client, "set item 0 0 1\r\na"))
        for _ = 1, 2 do
            take_over()
            assert.equal("HD", wire.ask(client, "mg item"))
        end
    end)

    it("a server that has dropped its privileges can be taken over from, but starts nobody", function()
        start(("-s %s/s -o drop_privileges"):format(folder))
        local client, first = wire.connect(folder .. "/s"), serving()
        assert.equal("STORED", wire.ask(client, "set item 0 0 1\r\na"))
        assert(os.execute("kill -USR2 " .. first))
        patience.wait_for("it to say so", function()
            return log():find("cannot start the next process", 1, true)
        end)
        assert.equal("HD", wire.ask(client, "mg item"))
        run(("-s %s/s -o drop_privileges --takeover"):format(folder))
        wait_until_next_serves(first)
        assert.equal("HD", wire.ask(client, "mg item"))
        assert.equal("STORED", wire.ask(wire.connect(folder .. "/s"), "set item 0 0 1\r\nb"))
    end)

    it("metrics are told at the same port; no scrape is refused on the way", function()
        local free = assert(socket.bind("127.0.0.1", 0))
        local _, port = free:getsockname()
        free:close()
        start(("-s %s/s -o metrics=127.0.0.1:%s"):format(folder, port))
        local client = wire.connect(folder .. "/s")
        assert.equal("STORED", wire.ask(client, "set item 0 0 1\r\na"))
        local function scrape()
            local peer = assert(socket.connect("127.0.0.1", port))
            peer:settimeout(patience.DEADLINE_S)
            assert(peer:send("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n"))
            local text, _, part = peer:receive("*a")
            peer:close()
            return text or part
        end
        for _ = 1, TAKEOVERS do
            assert.matches("\nmemcached_current_items 1\n", scrape(), 1, true)
            local before, waiting = serving(), {}
            assert(os.execute("kill -USR2 " .. before))
            patience.wait_for("the next process to serve", function()
                waiting[#waiting + 1] = assert(socket.connect("127.0.0.1", port)) -- and says nothing
                return serving() ~= before
            end)
            for _, peer in ipairs(waiting) do
                peer:close()
            end
            wait_until_next_serves(before)
            assert.matches("\nmemcached_current_items 1\n", scrape(), 1, true)
            assert.equal("HD", wire.ask(client, "mg item"))
        end
    end)

    it("no client of a server under load has noticed it, and none was refused", function()
        local said = server.capture(("TAKEOVERS=%d ITEMS=%d FOLDER=%s tests/stress/takeover/run 2>&1; echo $?"):format(
            TAKEOVERS, ITEMS, folder))
        assert.matches(("%d takeovers of %d items: clients waited "):format(TAKEOVERS, ITEMS) ..
            "[%d.]+ ms %(median%), [%d.]+ ms at most\n0$", said)
    end)

    it("what clients held that did not go along is free", function()
        start(("-s %s/s"):format(folder))
        local client = wire.connect(folder .. "/s")
        local set_large = ("set large 0 0 %d\r\n%s"):format(LARGE_BYTES, ("v"):rep(LARGE_BYTES))
        assert.equal("STORED", wire.ask(client, set_large))
        local function count_states(wanted)
            local n = 0
            local _, now = wire.stats(client, "conns")
            for name, value in pairs(now) do
                n = n + (name:find(":state$") and value == wanted and 1 or 0)
            end
            return n
        end
        for _ = 1, TAKEOVERS do
            local stay = {}
            for i = 1, CLIENTS do -- half of a value each, and a value each that is replaced while it is sent
                stay[i] = wire.connect(folder .. "/s")
                assert(stay[i]:send(("set coming%d 0 0 %d\r\nbegun"):format(i, LARGE_BYTES)))
                stay[CLIENTS + i] = wire.connect(folder .. "/s")
                assert(stay[CLIENTS + i]:send(("get large\r\n"):rep(UNREAD_GETS)))
            end
            patience.wait_for("values to come and to be sent", function()
                return count_states("conn_nread") == CLIENTS and count_states("conn_mwrite") == CLIENTS
            end)
            assert.equal("STORED", wire.ask(client, set_large))
            take_over()
            for _, one in ipairs(stay) do
                one:close()
            end
        end
        assert.equal("DELETED", wire.ask(client, "delete large"))
        local used = 0
        local _, slabs = wire.stats(client, "slabs")
        for name, value in pairs(slabs) do
            used = used + (name:find(":used_chunks$") and tonumber(value) or 0)
        end
        assert.equal(0, used)
        local _, memory = wire.stats(client, "slated")
        assert.equal("0", memory.pinned_bytes)
    end)
end)
