-- SPDX-License-Identifier: BSD-3-Clause
-- slated by UDP: frames, replies of several datagrams, dropped and refused datagrams.
local patience = require "support.patience"
local server = require "support.server"
local socket = require "socket"
local wire = require "support.wire"

local DATAGRAM_BYTES <const> = 1400

local function frame(id, count)
    return (">I2I2I2I2"):pack(id, 0, count or 1, 0)
end

-- The reply with this id, of as many datagrams as its header says; also their number.
local function receive(client, id)
    local parts, count = {}, nil
    repeat
        local datagram = assert(client:receive())
        assert(#datagram <= DATAGRAM_BYTES)
        local got, sequence, all, zero, at = (">I2I2I2I2"):unpack(datagram)
        assert(zero == 0)
        if got == id then
            count = count or all
            assert(count == all and sequence < all and not parts[sequence + 1])
            parts[sequence + 1] = datagram:sub(at)
        end
    until count and #parts == count
    return table.concat(parts), count
end

describe("slated by UDP", function()
    local one, port, client, id

    local function start(args)
        local words = { "-U", "-1" }
        table.move(args or {}, 1, #(args or {}), #words + 1, words)
        one = server.start({ transport = "tcp", args = words })
        port = tonumber(server.read_file(one.folder .. "/ports"):match("UDP INET: (%d+)"))
    end

    local function open()
        local made = socket.udp()
        made:settimeout(patience.DEADLINE_S)
        assert(made:setpeername("127.0.0.1", port))
        return made
    end

    local function ask(text)
        id = (id or 0xfff0) + 1 & 0xffff
        assert(client:send(frame(id) .. text))
        return receive(client, id)
    end

    before_each(function() start() client = open() end)
    after_each(function()
        client:close()
        one:stop()
    end)

    it("stores, reads and removes", function()
        assert.equal("STORED\r\n", (ask("set a 5 0 3\r\nabc\r\n")))
        assert.equal("VALUE a 5 3\r\nabc\r\nEND\r\n", (ask("get a\r\n")))
        assert.equal("HD\r\n", (ask("ms b 2\r\nxy\r\n")))
        assert.equal("VA 2 t-1\r\nxy\r\n", (ask("mg b v t\r\n")))
        assert.equal("DELETED\r\n", (ask("delete a\r\n")))
        assert.equal("END\r\n", (ask("get a b2\r\n")))
        client:send(frame(1) .. "set q 0 0 1 noreply\r\n1\r\n")
        assert.equal("VALUE q 0 1\r\n1\r\nEND\r\n", (ask("get q\r\n")))
        client:send(frame(1) .. "set a 0 0 3\r\nab") -- no byte of this is saved for the next datagram
        assert.equal("ERROR\r\n", (ask("nonsense\r\n")))
    end)

    it("answers all requests of a datagram with one reply", function()
        assert.equal("STORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n2\r\nMN\r\n",
            (ask("set a 0 0 1\r\n1\r\nget a\r\nincr a 1\r\nmn\r\n")))
    end)

    it("answers in as many datagrams as the reply needs", function()
        local value = ("0123456789"):rep(3000) -- a socket holds the reply even if its buffer is small
        local tcp = one:connect()
        assert.is_true(tcp:set("big", value))
        tcp:close()
        for _ = 1, 3 do
            local reply, count = ask("get big\r\n")
            assert.equal(("VALUE big 0 %d\r\n%s\r\nEND\r\n"):format(#value, value), reply)
            assert.equal(math.ceil(#reply / (DATAGRAM_BYTES - 8)), count)
        end
    end)

    it("gives a client that sends in batches each reply, long or short, under its id", function()
        local sizes, want = { 1, 1, 1, 5, 2, 3000, 1392, 1392, 0, 1384, 1384, 2768, 40, 40, 39, 40 }, {}
        local tcp = one:connect()
        for i, size in ipairs(sizes) do
            local value = string.char(96 + i):rep(size)
            assert.is_true(tcp:set("k" .. i, value))
            want[i] = ("VALUE k%d 0 %d\r\n%s\r\nEND\r\n"):format(i, size, value)
        end
        tcp:close()
        for _ = 1, 5 do
            local got, missing = {}, #sizes
            for i in ipairs(sizes) do
                client:send(frame(i) .. ("get k%d\r\n"):format(i))
            end
            while missing > 0 do
                local datagram = assert(client:receive())
                local asked, sequence, count, _, at = (">I2I2I2I2"):unpack(datagram)
                assert.equal(got[asked] and #got[asked] or 0, sequence) -- over loopback in order
                got[asked] = got[asked] or {}
                table.insert(got[asked], datagram:sub(at))
                missing = missing - (#got[asked] == count and 1 or 0)
            end
            for i in ipairs(sizes) do
                assert.equal(want[i], table.concat(got[i]))
            end
        end
    end)

    it("gives long answers of commands whole", function()
        local reply, count = ask("stats settings\r\nstats\r\nstats describe\r\nmn\r\n")
        assert.matches("^STAT maxbytes ", reply)
        assert.equal(3, select(2, reply:gsub("END\r\n", "")))
        assert.truthy(reply:find("MN\r\n$") and count > 1)
    end)

    it("changes the server, by orders that are answered when they have been carried out", function()
        assert.equal("OK\r\nOK\r\nMN\r\n", (ask("verbosity 1\r\nconfig set verbosity 0\r\nmn\r\n")))
        assert.equal("STORED\r\nOK\r\nEND\r\n", (ask("set gone 0 0 1\r\n1\r\nflush_all\r\nget gone\r\n")))
    end)

    it("speaks the binary protocol too", function()
        local noop = "\x80\x0a" .. ("\0"):rep(10) .. "abcd" .. ("\0"):rep(8)
        assert.equal("\x81\x0a" .. ("\0"):rep(10) .. "abcd" .. ("\0"):rep(8), (ask(noop)))
    end)

    it("drops datagrams that are no request or incomplete", function()
        for _, datagram in ipairs({ "", "x", frame(7), frame(7, 2) .. "version\r\n", frame(7) .. "version",
            frame(7) .. "set a 0 0 10\r\n12345", frame(7) .. "set a 0 0 900000\r\n" .. ("x"):rep(5000),
            frame(7) .. "quit\r\n", frame(7) .. "set " .. ("k"):rep(3000) }) do
            client:send(datagram)
        end
        assert.equal("END\r\n", (ask("get a\r\n")))
        local tcp = wire.connect(one.address)
        local _, facts = wire.stats(tcp, "slated")
        assert.equal("0", facts.draft_bytes)
        tcp:close()
    end)

    it("ends an exchange between two servers", function()
        local noop = "\x80\x0a" .. ("\0"):rep(22)
        assert.equal("STORED\r\n", (ask("set a 0 0 8\r\nmn\r\nmn\r\n\r\n")))
        for _, request in ipairs({ "nonsense\r\n", "get\r\n", "watch\r\n", "get a\r\n", "mg a v\r\n", "mn\r\n", noop,
            "\x80\x77" .. ("\0"):rep(22), "stats\r\n", "version\r\n", "lru_crawler mgdump all\r\n",
            "mn\r\nnonsense\r\n" }) do
            local reply, hops, next_id = (ask(request)), 0
            repeat
                assert.truthy(hops < 4, request)
                hops = hops + 1
                client:send(frame(1) .. reply)
                client:send(frame(2) .. "mn\r\n")
                local datagram = assert(client:receive()) -- the second's, where the first gets no reply
                next_id, reply = (">I2"):unpack(datagram), datagram:sub(9)
                if next_id == 1 then
                    assert.equal("MN\r\n", (receive(client, 2)))
                end
            until next_id == 2
        end
        local tcp = wire.connect(one.address)
        local _, facts = wire.stats(tcp, "slated")
        assert.truthy(tonumber(facts.udp_dropped) > 0)
        tcp:close()
    end)

    it("dumps, but lets nobody watch", function()
        assert.equal("STORED\r\n", (ask("set a 0 0 1\r\n1\r\n")))
        assert.truthy((ask("lru_crawler metadump all\r\n")):find("^OK\r\nkey=a .*END\r\n$"))
        assert.equal("CLIENT_ERROR not over UDP\r\n", (ask("watch fetchers\r\n")))
    end)

    it("serves many clients at once, each its own reply", function()
        local clients = {}
        for i = 1, 40 do
            clients[i] = open()
            clients[i]:send(frame(i) .. ("set key%d 0 0 4\r\n%04d\r\nget key%d\r\n"):format(i, i, i))
        end
        for i, each in ipairs(clients) do
            assert.equal(("STORED\r\nVALUE key%d 0 4\r\n%04d\r\nEND\r\n"):format(i, i), (receive(each, i)))
            each:close()
        end
    end)

    it("counts datagrams, and shows its sockets", function()
        local tcp = wire.connect(one.address)
        local _, before = wire.stats(tcp, "slated")
        ask("version\r\n")
        client:send("x")
        patience.wait_for("two datagrams", function()
            local _, after = wire.stats(tcp, "slated")
            return after.udp_datagrams - before.udp_datagrams == 2
        end)
        local _, conns = wire.stats(tcp, "conns")
        local sockets = 0
        for name, value in pairs(conns) do
            sockets = sockets + (name:find(":addr$") and value == "udp:127.0.0.1:" .. port and 1 or 0)
        end
        local _, settings = wire.stats(tcp, "settings")
        assert.equal(tonumber(settings.num_threads_per_udp), sockets)
        tcp:close()
    end)

    it("leaves a port alone that another server has", function()
        local said = server.capture(("%s %s -l 127.0.0.1 -p -1 -U %d 2>&1; echo $?"):format(server.slated(),
            server.USER, port))
        assert.truthy(said:find("cannot listen on 127.0.0.1 port %d+ by UDP: Address already in use\n71$"), said)
    end)
end)

describe("slated by UDP to another machine", function()
    -- A network of its own, in which an address outside loopback stands for another machine. Returns the output of
    -- `script`, which has `ask`, and the server's log.
    local function elsewhere(option, script)
        local folder = server.folder()
        local file = assert(io.open(folder .. "/client.lua", "w"))
        file:write([[
            local socket = require "socket"
            local udp = socket.udp()
            assert(udp:setpeername("10.9.8.7", tonumber(arg[1])))
            function ask(text, wait_s)
                udp:settimeout(wait_s or 60)
                udp:send("\0\1\0\0\0\1\0\0" .. text)
                local datagram = udp:receive()
                print(datagram and #datagram, datagram and datagram:sub(9):match("^[^\r]*"))
            end
            ]] .. script)
        file:close()
        local said = server.capture(([[unshare -rn sh -c '
            ip link set lo up && ip addr add 10.9.8.7/32 dev lo || exit 9
            MEMCACHED_PORT_FILENAME=%s/ports %s %s -l 10.9.8.7 --public -p -1 -U -1 %s -P %s/pid & server=$!
            until [ -s %s/pid ] || ! kill -0 $server; do sleep 0.01; done
            lua5.4 %s/client.lua $(sed -n "s/UDP INET: //p" %s/ports) $server
            kill $server; wait $server' 2>&1]]):format(folder, server.slated(), server.USER, option, folder, folder,
            folder, folder))
        server.remove_folder(folder)
        local log = {}
        said = (said .. "\n"):gsub("slated: [^\n]*\n", function(line) table.insert(log, line) return "" end)
        return said, table.concat(log)
    end

    local it = os.execute("unshare -rn ip link set lo up >/dev/null 2>&1") and it or function(claim)
        it(claim, function() pending("no network of its own can be had here") end)
    end

    it("replies no longer than the request, unless that is padded", function()
        local said, log = elsewhere("", [[
            ask("get none\r\n")
            ask("set a 0 0 100\r\n" .. ("x"):rep(100) .. "\r\n")
            ask("get a\r\n", 0.5)
            ask("get a" .. (" "):rep(40) .. "\r\n")
            ask("get a" .. (" "):rep(200) .. "\r\n")
            ask("stats\r\n", 0.5)
            ask("stats" .. (" "):rep(1000) .. "\r\n")]])
        assert.equal("13\tEND\n16\tSTORED\nnil\tnil\n45\tSERVER_ERROR reply too long for UDP\n130\tVALUE a 0 100\n"
            .. "nil\tnil\n45\tSERVER_ERROR reply too long for UDP\n", said)
        assert.equal("slated: warn: a reply by UDP to another machine was longer than udp_reply_factor allows\n", log)
    end)

    it("loses no reply because another one has nowhere to go", function()
        assert.equal("15\tERROR\n", (elsewhere("-t 1", [[
            assert(os.execute("ip addr add 10.9.8.9/32 dev lo && kill -STOP " .. arg[2]))
            local gone = socket.udp()
            assert(gone:setsockname("10.9.8.9", 0) and gone:setpeername("10.9.8.7", tonumber(arg[1])))
            assert(gone:send("\0\1\0\0\0\1\0\0nonsense\r\n"))
            gone:close()
            assert(udp:send("\0\1\0\0\0\1\0\0nonsense\r\n"))
            assert(os.execute("ip addr del 10.9.8.9/32 dev lo && kill -CONT " .. arg[2]))
            ask("") -- no request: the reply that comes is the other one's]])))
    end)

    it("replies over a path that is narrower than a datagram", function()
        assert.equal("1400\tVALUE a 0 3000\n1651\n", (elsewhere("-o udp_reply_factor=0", [[
            assert(os.execute("ip link set lo mtu 1300"))
            ask("set a 0 0 3000 noreply\r\n" .. ("x"):rep(3000) .. "\r\nget a\r\nmn\r\n")
            print(#udp:receive() + #udp:receive())]])))
    end)

    it("replies as much as udp_reply_factor permits", function()
        local script <const> = 'ask("set a 0 0 100\\r\\n" .. ("x"):rep(100) .. "\\r\\n") ask("get a\\r\\n", 0.5)'
        for factor, reply in pairs({ [2] = "45\tSERVER_ERROR reply too long for UDP", [4] = "130\tVALUE a 0 100" }) do
            assert.equal("16\tSTORED\n" .. reply .. "\n", (elsewhere("-o udp_reply_factor=" .. factor, script)))
        end
    end)
end)

describe("slated", function()
    for words, why in pairs({ ["-U 11211 -Y /dev/null"] = "-U does not go with -Y",
        ["-U x"] = "-U wants a whole number" }) do
        it("refuses " .. words, function()
            local said = server.capture(("%s %s %s 2>&1; echo $?"):format(server.slated(), server.USER, words))
            assert.truthy(said:find(why, 1, true) and said:find("\n64$"), said)
        end)
    end
end)
