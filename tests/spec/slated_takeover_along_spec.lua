-- SPDX-License-Identifier: BSD-3-Clause
-- What a server was told by its options holds after a takeover: who may do what, how its sockets are guarded, what the
-- service manager and the pidfile say, and who scrapes its metrics.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local binary = require "support.binary"
local certificates = require "support.certificates"
local patience = require "support.patience"
local server = require "support.server"
local socket = require "socket"
local takeover = require "support.takeover"
local unix = require "socket.unix"
local wire = require "support.wire"

local USERS <const> = { "anna:secret", "rita:r:read", "adam:a:admin" }
local TAKEOVERS <const>, ITEMS <const> = 5, 5000
local LARGE_BYTES <const>, CLIENTS <const>, UNREAD_GETS <const> = 300000, 4, 20
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
        place:take_over()
        assert.equal("STORED", wire.ask(anna, "set item 0 0 1\r\nb"))
        assert.equal(refused, wire.ask(rita, "delete item"))
        assert.equal("HD", wire.ask(rita, "mg item"))
        assert.equal("OK", wire.ask(adam, "verbosity 1"))
        assert.equal("CLIENT_ERROR unauthenticated", wire.ask(stranger, "mg item"))
        assert.equal("CLIENT_ERROR unauthenticated", wire.ask(tcp(port), "mg item"))
        write_users({ USERS[1], "adam:a:read" })
        place:take_over()
        assert.equal("HD", wire.ask(anna, "mg item"))
        assert.is_nil(wire.ask(rita, "mg item"))
        assert.equal("HD", wire.ask(adam, "mg item"))
        assert.equal(refused, wire.ask(adam, "delete item"))
    end)

    it("who has logged in by SASL still is, and who has not is refused", function()
        local authority = unix.stream() -- in the place of saslauthd
        assert(authority:bind(folder .. "/authority") and authority:listen(4))
        authority:settimeout(patience.DEADLINE_S)
        server.write_file(folder .. "/memcached.conf", ("pwcheck_method: saslauthd\nsaslauthd_path: %s/authority\n" ..
            "mech_list: plain\n"):format(folder))
        start("-S -l 127.0.0.1 -p -1", ("SASL_CONF_PATH=%s"):format(folder))
        local function client()
            local connection = tcp(port_of("TCP"))
            local packets = binary.client(connection)
            return function(words)
                assert(connection:send(binary.packet(words)))
                return function()
                    local reply = packets:receive()
                    return reply and packets:tell(reply) or "closed"
                end
            end
        end
        local anna, stranger = client(), client()
        local answer = anna("21 key=PLAIN value=\\x00anna\\x00secret")
        local question = assert(authority:accept())
        question:settimeout(patience.DEADLINE_S)
        for _ = 1, 4 do
            local bytes = (">I2"):unpack(assert(question:receive(2)))
            assert(bytes == 0 or question:receive(bytes))
        end
        assert(question:send((">s2"):pack("OK")))
        question:close()
        assert.matches("^21 status=00", answer())
        assert.matches("^01 status=00", anna("01 key=item extras=0000000000000000 value=a")())
        for _ = 1, 2 do
            place:take_over()
            assert.matches("^00 status=00.* value=a$", anna("00 key=item")())
        end
        assert.matches("status=20", stranger("00 key=item")())
        authority:close()
    end)

    it("a listener's role is that of the options now", function()
        local listen = "-l 127.0.0.1:%d,role=%s"
        start("-l 127.0.0.1 -p -1")
        local port = port_of("TCP")
        local client = tcp(port)
        assert.equal("STORED", wire.ask(client, "set item 0 0 1\r\na"))
        local before = place:serving()
        place:run(listen:format(port, "read") .. " --takeover")
        place:wait_for_next(before)
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
            place:take_over()
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
        local client = place:connect()
        assert.equal("660", mode())
        place:take_over()
        assert.equal("660", mode())
        local before = place:serving()
        place:run(("-s %s/s -a 0600 --takeover"):format(folder))
        place:wait_for_next(before)
        assert.equal("600", mode())
        assert.equal("MN", wire.ask(client, "mn"))
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
            assert.equal("HD", wire.ask(client, "mg item"))
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
        assert.equal("HD", wire.ask(client, "mg item"))
        assert.equal("STORED", wire.ask(place:connect(), "set item 0 0 1\r\nb"))
    end)

    it("metrics are told at the same port; no scrape is refused on the way", function()
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
                waiting[#waiting + 1] = assert(socket.connect("127.0.0.1", port)) -- and says nothing
                return place:serving() ~= before
            end)
            for _, peer in ipairs(waiting) do
                peer:close()
            end
            place:wait_for_next(before)
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
        local client = place:connect()
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
                stay[i] = place:connect()
                assert(stay[i]:send(("set coming%d 0 0 %d\r\nbegun"):format(i, LARGE_BYTES)))
                stay[CLIENTS + i] = place:connect()
                assert(stay[CLIENTS + i]:send(("get large\r\n"):rep(UNREAD_GETS)))
            end
            patience.wait_for("values to come and to be sent", function()
                return count_states("conn_nread") == CLIENTS and count_states("conn_mwrite") == CLIENTS
            end)
            assert.equal("STORED", wire.ask(client, set_large))
            place:take_over()
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
