-- SPDX-License-Identifier: BSD-3-Clause
-- A server's options hold after a takeover: users' rights, the guards of its sockets, the messages to the service
-- manager, the pidfile, and the address of its metrics. Under load no client is refused.
local certificates = require "support.certificates"
local patience = require "support.patience"
local server = require "support.server"
local socket = require "socket"
local takeover = require "support.takeover"
local unix = require "socket.unix"
local wire = require "support.wire"

local USERS <const> = { "anna:secret", "rita:r:read", "adam:a:admin" }
local TAKEOVERS <const>, ITEMS <const> = 3, 2000
local DATAGRAM <const> = "\0\1\0\0\0\1\0\0"

describe("after a takeover", function()
    local place, folder

    local function start(more, environment)
        return place:start(more, environment)
    end

    local function port_of(what)
        return tonumber(place:read("ports"):match(what .. " INET: (%d+)"))
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
        place = takeover.place { tcp = true, words = "-m 64" }
        folder = place.folder
    end)

    after_each(function()
        place:finish()
    end)

    it("users and roles are those of the options now", function()
        write_users(USERS)
        start(("-Y %s/users -l 127.0.0.1 -p -1"):format(folder))
        local port = port_of("TCP")
        local anna = tcp(port)
        assert.equal("STORED", log_in(anna, "anna", "secret"))
        assert.equal("STORED", wire.ask(anna, "set item 0 0 1\r\na"))
        write_users({ USERS[1], "adam:a:read" })
        place:take_over()
        local stranger, rita, adam = tcp(port), tcp(port), tcp(port)
        assert.equal("CLIENT_ERROR unauthenticated", wire.ask(stranger, "mg item"))
        assert.matches("^CLIENT_ERROR", log_in(rita, "rita", "r"))
        assert.equal("STORED", log_in(adam, "adam", "a"))
        assert.equal("HD", wire.ask(adam, "mg item"))
        local before = place:serving()
        place:run(("-Y %s/users -l 127.0.0.1:%d,role=read --takeover"):format(folder, port))
        place:wait_for_next(before)
        anna = tcp(port)
        assert.equal("STORED", log_in(anna, "anna", "secret"))
        assert.matches("CLIENT_ERROR", wire.ask(anna, "delete item"))
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
            place:take_over()
            local line, why = client:receive("*l")
            assert.same({ false, "closed" }, { line or false, why })
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
            return patience.wait_for("the answer to a datagram", function() -- datagrams may be lost
                udp:send(DATAGRAM .. text .. "\r\n")
                local got = udp:receive()
                return got and got:sub(9)
            end)
        end
        assert.equal("STORED\r\n", ask("set item 0 0 1\r\na"))
        place:take_over()
        assert.equal("HD\r\n", ask("mg item"))
        place:take_over()
        assert.equal("HD\r\n", ask("mg item"))
        udp:close()
    end)

    it("the UNIX socket has the permissions of the options now, and is removed at the end", function()
        local function mode()
            return server.capture(("stat -c %%a %s/s 2>&1"):format(folder))
        end
        start(("-s %s/s -a 0660"):format(folder))
        assert.equal("660", mode())
        place:take_over()
        assert.equal("660", mode())
        local before = place:serving()
        place:run(("-s %s/s -a 0600 --takeover"):format(folder))
        place:wait_for_next(before)
        assert.equal("600", mode())
        assert.equal("MN", wire.ask(place:connect(), "mn"))
        local last = place:serving()
        assert(os.execute("kill " .. last))
        place:wait_for_end(last)
        assert.matches("No such file", mode())
        assert.is_nil(place:serving())
        assert.matches("No such file", server.capture(("stat %s/t 2>&1"):format(folder)))
    end)

    it("the service manager knows which process is the main one, by word of the one that was", function()
        local manager = unix.dgram()
        assert(manager:bind(folder .. "/notify"))
        manager:settimeout(patience.DEADLINE_S)
        start(("-s %s/s"):format(folder), ("NOTIFY_SOCKET=%s/notify"):format(folder))
        assert.equal("READY=1", manager:receive())
        for _ = 1, 3 do
            place:take_over()
            local said = { manager:receive(), manager:receive() }
            table.sort(said)
            assert.same({ "MAINPID=" .. place:serving(), "READY=1" }, said)
        end
        assert(os.execute("kill " .. place:serving()))
        assert.equal("STOPPING=1", manager:receive())
        manager:close()
    end)

    it("a server in the background has its next one there, too", function()
        start(("-d -s %s/s"):format(folder))
        local client = place:connect()
        assert.equal("STORED", wire.ask(client, "set item 0 0 1\r\na"))
        for _ = 1, 2 do
            place:take_over()
            assert.equal("HD", wire.ask(place:connect(), "mg item"))
        end
    end)

    it("a server that has dropped its privileges can be taken over from, but starts nobody", function()
        start(("-s %s/s -o drop_privileges"):format(folder))
        local client, first = place:connect(), place:serving()
        assert.equal("STORED", wire.ask(client, "set item 0 0 1\r\na"))
        assert(os.execute("kill -USR2 " .. first))
        patience.wait_for("it to say so", function()
            return place:log():find("cannot start the next process", 1, true)
        end)
        assert.equal("HD", wire.ask(client, "mg item"))
        place:run(("-s %s/s -o drop_privileges --takeover"):format(folder))
        place:wait_for_next(first)
        client = place:connect()
        assert.equal("HD", wire.ask(client, "mg item"))
        assert.equal("STORED", wire.ask(client, "set item 0 0 1\r\nb"))
    end)

    it("metrics are served at the same port; no scrape is refused on the way", function()
        local free = assert(socket.bind("127.0.0.1", 0))
        local _, port = free:getsockname()
        free:close()
        start(("-s %s/s -o metrics=127.0.0.1:%s"):format(folder, port))
        local client = place:connect()
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
            local before, waiting = place:serving(), {}
            assert(os.execute("kill -USR2 " .. before))
            patience.wait_for("the next process to serve", function()
                waiting[#waiting + 1] = assert(socket.connect("127.0.0.1", port)) -- sends nothing
                return place:serving() ~= before
            end)
            for _, peer in ipairs(waiting) do
                peer:close()
            end
            place:wait_for_next(before)
            assert.matches("\nmemcached_current_items 1\n", scrape(), 1, true)
        end
    end)

    it("no client was refused under load, and no acknowledged item is lost", function()
        local said = server.capture(("TAKEOVERS=%d ITEMS=%d FOLDER=%s tests/stress/takeover/run 2>&1; echo $?"):format(
            TAKEOVERS, ITEMS, folder))
        assert.matches(("%d takeovers of %d items: clients waited [%%d.]+ ms %%(median%%), .*\n0$"):format(TAKEOVERS,
            ITEMS), said)
    end)
end)
