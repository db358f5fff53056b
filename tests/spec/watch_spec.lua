-- SPDX-License-Identifier: BSD-3-Clause
-- The watch command over the wire: the same claims for slated and for the memcached whose protocol it speaks.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local patience = require "support.patience"
local wire = require "support.wire"

local WATCHERS_MAX <const> = 20
local PEER <const> = "build/peer/memcached"

local rig = require("support.rig").new(after_each)
require "support.world"
local connect, statistic = rig.connect, wire.number

local function watch(classes)
    local connection = connect()
    assert.equal("OK", wire.ask(connection, classes and "watch " .. classes or "watch"))
    return connection
end

-- The next line of a watcher without its head, descriptors and classes as letters; the head's numbers behind it.
local function next_event(watcher)
    local line = assert(watcher:receive("*l"))
    local seconds, micros, gid, rest = line:match("^ts=(%d+)%.(%d+) gid=(%d+) (type=.*)$")
    assert.truthy(rest, line)
    rest = rest:gsub("cfd=%d+$", "cfd=N"):gsub("cfd=%d+ ", "cfd=N "):gsub("clsid=[1-9]%d*", "clsid=C")
    return rest, tonumber(gid), tonumber(seconds) + tonumber(micros) / 1e6
end

local function assert_events(watcher, expected)
    for _, want in ipairs(expected) do
        assert.equal(want, (next_event(watcher)))
    end
end

-- Watches connections, once those by which the server was started have gone.
local function watch_connections()
    local client = connect()
    patience.wait_for("the first connections to go", function() return statistic(client, "curr_connections") == 1 end)
    return watch("connevents")
end

-- Stores `count` values of 500 bytes; the last reply tells that all are stored.
local function fill(connection, first, count)
    local value = ("x"):rep(500)
    for from = first, first + count - 1, 100 do
        local lines = {}
        for i = from, from + 99 do
            lines[#lines + 1] = ("set fill%%%d 0 1000 500 noreply\r\n%s\r\n"):format(i, value)
        end
        assert(connection:send(table.concat(lines)))
        assert.equal("MN", wire.ask(connection, "mn"))
    end
end

local function claims(binary)
    local function start(args, transport)
        rig.binary = binary
        rig.start_on(transport, table.unpack(args or {}))
    end

    it("tells lookups unless asked for something else", function()
        start()
        local watcher, client = watch(), connect()
        assert.equal("STORED", wire.ask(client, "set a 0 0 3\r\nabc"))
        assert.equal("VALUE a 0 3", wire.ask(client, "get a b"))
        assert.equal("abc", client:receive("*l"))
        assert.equal("END", client:receive("*l"))
        assert.equal("HD", wire.ask(client, "mg a"))
        assert.equal("NOT_FOUND", wire.ask(client, "touch c 5"))
        assert.equal("NOT_FOUND", wire.ask(client, "incr c 5"))
        assert.equal("EN", wire.ask(client, "me c"))
        assert_events(watcher, {
            "type=item_get key=a status=not_found clsid=0 cfd=N size=0",
            "type=item_get key=a status=found clsid=C cfd=N size=3",
            "type=item_get key=b status=not_found clsid=0 cfd=N size=0",
            "type=item_get key=a status=found clsid=C cfd=N size=3",
            "type=item_get key=c status=not_found clsid=0 cfd=N size=0",
            "type=item_get key=c status=not_found clsid=0 cfd=N size=0",
            "type=item_get key=c status=not_found clsid=0 cfd=N size=0",
        })
    end)

    it("takes beginnings of its classes", function()
        start()
        local watcher, both, client = watch("f"), watch("mutat del"), connect()
        assert.equal("ERROR", wire.ask(connect(), "watch fetchersx"))
        assert.equal("STORED", wire.ask(client, "set a 0 0 1\r\nx"))
        assert.equal("DELETED", wire.ask(client, "delete a"))
        assert_events(watcher, { "type=item_get key=a status=not_found clsid=0 cfd=N size=0" })
        assert_events(both, {
            "type=item_store key=a status=stored cmd=set ttl=0 clsid=C cfd=N size=1",
            "type=deleted key=a cmd=delete clsid=C size=1",
        })
    end)

    it("tells an expired item from a missing one", function()
        start()
        local watcher, client = watch(), connect()
        -- In one packet, so that nothing tidies up between.
        assert.equal("END", wire.ask(client, "set a 0 -1 1 noreply\r\nx\r\nget a"))
        assert_events(watcher, {
            "type=item_get key=a status=not_found clsid=0 cfd=N size=0",
            "type=item_get key=a status=expired clsid=0 cfd=N size=0",
        })
    end)

    it("tells stores, what came of them and by which command", function()
        start()
        local watcher, client = watch("mutations"), connect()
        local large = ("x"):rep(600000)
        assert.equal("STORED", wire.ask(client, "set a 0 100 1\r\nx"))
        assert.equal("NOT_STORED", wire.ask(client, "add a 0 0 2\r\nxy"))
        assert.equal("STORED", wire.ask(client, "replace a 5 0 2\r\nxy"))
        assert.equal("STORED", wire.ask(client, "append a 0 0 2\r\nzz"))
        assert.equal("STORED", wire.ask(client, "prepend a 0 0 2\r\nzz"))
        assert.equal("EXISTS", wire.ask(client, "cas a 0 0 1 99999999\r\nx"))
        assert.equal("NOT_FOUND", wire.ask(client, "cas b 0 0 1 1\r\nx"))
        assert.equal("HD", wire.ask(client, "ms b 1 T60\r\nx"))
        assert.equal("NS", wire.ask(client, "ms b 1 ME\r\nx"))
        assert.equal("EX", wire.ask(client, "ms b 1 C99999999\r\nx"))
        assert.equal("STORED", wire.ask(client, "set large 0 0 600000\r\n" .. large))
        assert_events(watcher, {
            "type=item_store key=a status=stored cmd=set ttl=100 clsid=C cfd=N size=1",
            "type=item_store key=a status=not_stored cmd=add ttl=0 clsid=C cfd=N size=2",
            "type=item_store key=a status=stored cmd=replace ttl=0 clsid=C cfd=N size=2",
            "type=item_store key=a status=stored cmd=append ttl=0 clsid=C cfd=N size=4",
            "type=item_store key=a status=stored cmd=prepend ttl=0 clsid=C cfd=N size=6",
            "type=item_store key=a status=exists cmd=cas ttl=0 clsid=C cfd=N size=1",
            "type=item_store key=b status=not_found cmd=cas ttl=0 clsid=C cfd=N size=1",
            "type=item_store key=b status=stored cmd=set ttl=60 clsid=C cfd=N size=1",
            "type=item_store key=b status=not_stored cmd=add ttl=0 clsid=C cfd=N size=1",
            "type=item_store key=b status=exists cmd=cas ttl=0 clsid=C cfd=N size=1",
            "type=item_store key=large status=stored cmd=set ttl=0 clsid=C cfd=N size=600000",
        })
    end)

    it("tells deletes that deleted", function()
        start()
        local watcher, client = watch("deletions"), connect()
        assert.equal("STORED", wire.ask(client, "set a 0 0 3\r\nabc"))
        assert.equal("DELETED", wire.ask(client, "delete a"))
        assert.equal("NOT_FOUND", wire.ask(client, "delete a"))
        assert.equal("HD", wire.ask(client, "ms b 2\r\nab"))
        assert.equal("HD", wire.ask(client, "md b I"))
        assert.equal("HD", wire.ask(client, "md b"))
        assert_events(watcher, {
            "type=deleted key=a cmd=delete clsid=C size=3",
            "type=deleted key=b cmd=md clsid=C size=2",
        })
    end)

    it("escapes keys as in a URI", function()
        start()
        local watcher, client = watch("mutations"), connect()
        assert.equal("STORED", wire.ask(client, 'set k%&=+~\1\255"/:.-_A9 0 0 1\r\nx'))
        assert.equal("HD", wire.ask(client, "ms YSBi 1 b\r\nx"))
        assert_events(watcher, {
            "type=item_store key=k%25%26%3D%2B~%01%FF%22%2F%3A.-_A9 status=stored cmd=set ttl=0 clsid=C cfd=N size=1",
            "type=item_store key=a%20b status=stored cmd=set ttl=0 clsid=C cfd=N size=1",
        })
    end)

    it("tells evictions", function()
        start({ "-m", "8", "-t", "1" })
        local watcher, client = watch("evictions"), connect()
        local stored = 0
        repeat
            fill(client, stored, 1000)
            stored = stored + 1000
            assert(stored < 100000, "nothing is evicted")
        until statistic(client, "evictions") > 0
        local event = next_event(watcher)
        assert.truthy(event:find("^type=eviction key=fill%%25%d+ fetch=no ttl=%d+ la=%d+ clsid=C size=500$"), event)
    end)

    it("tells who connects and why he leaves", function()
        start()
        local watcher = watch_connections()
        local came = "type=conn_new rip=unix rport=0 transport=local cfd=N"
        local left = "type=conn_close rip=unix rport=0 transport=local reason=%s cfd=N"
        local client = connect()
        assert.equal("MN", wire.ask(client, "mn"))
        client:send("quit\r\n")
        assert_events(watcher, { came, left:format("normal") })
        client = connect()
        assert.equal("MN", wire.ask(client, "mn"))
        client:close()
        assert_events(watcher, { came, left:format("normal") })
        client = connect()
        client:send("GET / HTTP/1.0\r\n\r\n")
        assert_events(watcher, { came, left:format("error") })
        client = watch("rawcmds")
        client:close()
        assert_events(watcher, { came, left:format("error") })
    end)

    it("tells a client's address", function()
        start({}, "tcp")
        local watcher, client = watch_connections(), connect()
        local _, port = client:getsockname()
        assert_events(watcher, { ("type=conn_new rip=127.0.0.1 rport=%d transport=tcp cfd=N"):format(port) })
    end)

    it("numbers events and tells their time", function()
        start()
        local watcher, client = watch("fetchers mutations"), connect()
        local last = 0
        for i = 1, 50 do
            assert.equal("STORED", wire.ask(client, ("set k%d 0 0 1\r\nx"):format(i)))
            for _ = 1, 2 do
                local _, gid, time_s = next_event(watcher)
                assert.truthy(gid > last)
                assert.truthy(math.abs(time_s - statistic(client, "time")) < patience.DEADLINE_S)
                last = gid
            end
        end
    end)

    it("takes the classes of the proxy, which have no events", function()
        start()
        local watcher, client = watch("proxyreqs proxyevents proxyuser rawcmds deletions"), connect()
        assert.equal("STORED", wire.ask(client, "set a 0 0 1\r\nx"))
        assert.equal("DELETED", wire.ask(client, "delete a"))
        assert_events(watcher, { "type=deleted key=a cmd=delete clsid=C size=1" })
    end)

    it("refuses what it does not know, what comes behind other commands but mn, and with -W everything", function()
        start()
        local client = connect()
        assert.equal("ERROR", wire.ask(client, "watch foo"))
        assert.equal("ERROR", wire.ask(client, "watch fetchers Mutations"))
        assert.equal("END", wire.ask(client, "get a\r\nwatch"))
        assert.equal("ERROR cannot pipeline other commands before watch", client:receive("*l"))
        assert.equal("MN", wire.ask(client, "mn"))
        assert.equal(0, statistic(client, "log_watchers"))
        assert.equal("MN", wire.ask(client, "mn\r\nwatch deletions"))
        assert.equal("OK", client:receive("*l"))
        start({ "-W" })
        client = connect()
        assert.equal("CLIENT_ERROR watch commands not allowed", wire.ask(client, "watch foo"))
        assert.equal("CLIENT_ERROR watch commands not allowed", wire.ask(client, "watch"))
    end)

    it("takes no more commands from who watches", function()
        start()
        local watcher = connect()
        assert.equal("OK", wire.ask(watcher, "watch mutations\r\nset a 0 0 1\r\nx"))
        assert(watcher:send("set b 0 0 1\r\nx\r\nwatch fetchers\r\n" .. ("junk "):rep(1000)))
        local client = connect()
        assert.equal("STORED", wire.ask(client, "set c 0 0 1\r\nx"))
        assert_events(watcher, { "type=item_store key=c status=stored cmd=set ttl=0 clsid=C cfd=N size=1" })
        assert.equal("END", wire.ask(client, "get a b"))
        local state
        for _, line in ipairs(wire.lines(client, "stats conns")) do
            state = state or line:match(":state (conn_watch)$")
        end
        assert.equal("conn_watch", state)
    end)

    it("lets 20 watch, and another when one has gone", function()
        start()
        local watchers = {}
        for i = 1, WATCHERS_MAX do
            watchers[i] = watch("sysevents")
        end
        local client = connect()
        assert.equal("WATCHER_TOO_MANY log watcher limit reached", wire.ask(client, "watch"))
        -- memcached counts a watcher when its logger's thread has it.
        patience.wait_for("all to be counted", function()
            return statistic(client, "log_watchers") == WATCHERS_MAX
        end)
        watchers[7]:close()
        patience.wait_for("a free place", function() return statistic(client, "log_watchers") == WATCHERS_MAX - 1 end)
        local watcher = watch("mutations")
        assert.equal("STORED", wire.ask(client, "set a 0 0 1\r\nx"))
        assert_events(watcher, { "type=item_store key=a status=stored cmd=set ttl=0 clsid=C cfd=N size=1" })
    end)

    it("lets who does not read lose lines, and tells him how many", function()
        start({ "-o", "watcher_logbuf_size=4" })
        local watcher, client = watch(), connect()
        local keys = {}
        for i = 1, 90 do
            keys[i] = ("unread-%d"):format(i)
        end
        local gets = "get " .. table.concat(keys, " ")
        patience.wait_for("lost lines", function()
            assert.equal("END", wire.ask(client, gets))
            return statistic(client, "log_watcher_skipped") > 0
        end)
        watcher:settimeout(0.2)
        local lines, skipped, told, begun = 0, 0, nil, nil
        patience.wait_for("the rest", function()
            local line, _, part = watcher:receive("*l", begun)
            while line do
                local lost = line:match("^skipped=(%d+)$")
                lines = lines + (lost and 0 or 1)
                skipped = skipped + (lost or 0)
                line, _, part = watcher:receive("*l")
            end
            begun = part -- of a line whose end has yet to come
            told = statistic(client, "log_worker_written")
            if lines + skipped < told then
                assert.equal("END", wire.ask(client, "get last"))
            end
            return lines + skipped == told
        end)
        assert.truthy(skipped > 0)
        assert.equal(skipped, statistic(client, "log_watcher_skipped"))
        assert.equal(lines, statistic(client, "log_watcher_sent"))
    end)

    it("serves on when watchers die", function()
        start()
        local client = connect()
        for _ = 1, 3 do
            for _ = 1, WATCHERS_MAX do
                watch("fetchers mutations connevents"):close()
                assert.equal("STORED", wire.ask(client, "set a 0 0 1\r\nx"))
            end
            patience.wait_for("the dead to go", function() return statistic(client, "log_watchers") == 0 end)
        end
        patience.wait_for("their connections to go", function() return statistic(client, "curr_connections") == 1 end)
    end)

    it("does not take who watches for idle", function()
        start({ "-o", "idle_timeout=1" }, "tcp")
        local watcher, client = watch("connevents"), connect()
        local _, port = client:getsockname()
        local kicked = ("type=conn_close rip=127.0.0.1 rport=%d transport=tcp reason=idle_timeout cfd=N"):format(port)
        repeat until next_event(watcher) == kicked
    end)

    it("counts anew after stats reset", function()
        start()
        local watcher, client = watch(), connect()
        assert.equal("END", wire.ask(client, "get a"))
        next_event(watcher)
        patience.wait_for("the counter", function() return statistic(client, "log_worker_written") == 1 end)
        assert.equal("RESET", wire.ask(client, "stats reset"))
        assert.equal(0, statistic(client, "log_worker_written"))
        assert.equal(0, statistic(client, "log_watcher_sent"))
        assert.equal(1, statistic(client, "log_watchers"))
    end)
end

local function at_hand(path)
    local file = io.open(path, "rb")
    return file ~= nil and file:close()
end

if at_hand(PEER) then
    describe("memcached's watch", function() claims(PEER) end)
end

describe("slated's watch", function()
    claims(nil)

    local function start(args)
        rig.start(table.unpack(args or {}))
    end

    it("tells a flushed item from a missing one", function()
        start({ "-o", "no_lru_maintainer,no_lru_crawler" }) -- which would free it before it is asked for
        local watcher, client = watch(), connect()
        assert.equal("STORED", wire.ask(client, "set a 0 0 1\r\nx"))
        assert.equal("OK", wire.ask(client, "flush_all"))
        assert.equal("END", wire.ask(client, "get a"))
        assert_events(watcher, {
            "type=item_get key=a status=not_found clsid=0 cfd=N size=0",
            "type=item_get key=a status=flushed clsid=0 cfd=N size=0",
        })
    end)

    it("tells what was refused for its size", function()
        start()
        local watcher, client = watch("mutations"), connect()
        local reply = wire.ask(client, "set a 0 9 2000000\r\n" .. ("x"):rep(2000000))
        assert.equal("SERVER_ERROR object too large for cache", reply)
        assert_events(watcher, { "type=item_store key=a status=too_large cmd=set ttl=9 clsid=0 cfd=N size=2000000" })
    end)

    it("tells what a counter and an emptied item are made by", function()
        start()
        local watcher, client = watch("mutations deletions"), connect()
        assert.equal("HD", wire.ask(client, "ma n N60 J5"))
        assert.equal("HD", wire.ask(client, "md n x T0"))
        assert_events(watcher, {
            "type=item_store key=n status=stored cmd=add ttl=60 clsid=C cfd=N size=1",
            "type=item_store key=n status=stored cmd=set ttl=0 clsid=C cfd=N size=0",
            "type=deleted key=n cmd=md clsid=C size=0",
        })
    end)

    it("tells pages that move and what the crawler found", function()
        start({ "-o", "no_slab_automove" })
        local watcher, client = watch("sysevents"), connect()
        local large = ("x"):rep(3000)
        fill(client, 0, 5000)
        assert.equal("STORED", wire.ask(client, "set large 0 0 3000\r\n" .. large))
        local ids = {}
        for _, line in ipairs(wire.lines(client, "stats slabs")) do
            ids[#ids + 1] = line:match("^STAT (%d+):total_pages ")
        end
        assert.equal("OK", wire.ask(client, ("slabs reassign %s %s"):format(ids[1], ids[2])))
        for _, state in ipairs({ "start", "done" }) do
            assert.equal(("type=slab_move src=%s dst=%s state=%s"):format(ids[1], ids[2], state), (next_event(watcher)))
        end
        assert.equal("OK", wire.ask(client, "lru_crawler crawl all"))
        local event = next_event(watcher)
        assert.truthy(event:find("^type=lru_crawler crawler=0 lru=all low_mark=0 next_reclaims=0 since_run=%d+ "
            .. "next_run=%d+ elapsed=%d+ examined=5001 reclaimed=0$"), event)
    end)

    it("tells what is changed, from which value to which, and by whom", function()
        start()
        local watcher, client = watch("sysevents"), connect()
        assert.equal("OK", wire.ask(client, "config set idle_timeout 90"))
        assert.equal("OK", wire.ask(client, "verbosity 1"))
        for _, want in ipairs({ "what=idle_timeout was=0 is=90", "what=verbosity was=0 is=1" }) do
            local event = next_event(watcher)
            want = "type=change " .. want .. " by=unix%3A"
            assert.equal(want, event:sub(1, #want), event)
        end
    end)

    it("shows its sizes and takes them in kilobytes", function()
        start({ "-o", "watcher_logbuf_size=32,worker_logbuf_size=16" })
        local _, settings = wire.stats(connect(), "settings")
        assert.equal("32768", settings.watcher_logbuf_size)
        assert.equal("16384", settings.worker_logbuf_size)
    end)

    it("drops what a thread cannot keep, and counts it", function()
        start({ "-o", "worker_logbuf_size=1", "-t", "1" })
        watch()
        local client = connect()
        local keys = {}
        for i = 1, 90 do
            keys[i] = ("dropped-%d"):format(i)
        end
        patience.wait_for("a dropped event", function()
            assert.equal("END", wire.ask(client, "get " .. table.concat(keys, " ")))
            return statistic(client, "log_worker_dropped") > 0
        end)
    end)

    for _, how in ipairs({ "SIGTERM", "shutdown graceful" }) do
        it("ends with " .. how .. " although somebody watches and does not read", function()
            start({ "-A", "-o", "watcher_logbuf_size=4" })
            watch("fetchers connevents")
            local client = connect()
            patience.wait_for("lost lines", function()
                assert.equal("END", wire.ask(client, "get a" .. (" a"):rep(90)))
                return statistic(client, "log_watcher_skipped") > 0
            end)
            if how == "SIGTERM" then
                rig.server:ask_to_end()
            else
                client:send("shutdown graceful\r\n")
            end
            patience.wait_for("the end", function() return not rig.server:is_running() end)
            assert.equal("", rig.server:log())
        end)
    end
end)
