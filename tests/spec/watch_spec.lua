-- SPDX-License-Identifier: BSD-3-Clause
-- The watch command over the wire: the same claims for slated and for memcached.
local patience = require "support.patience"
local wire = require "support.wire"

local PEER <const> = "build/peer/memcached"

local rig = require("support.rig").new(after_each)
require "support.world"
local connect, statistic = rig.connect, wire.number

local function watch(classes)
    local connection = connect()
    assert.equal("OK", wire.ask(connection, classes and "watch " .. classes or "watch"))
    return connection
end

-- The next line of a watcher without its head, descriptors and classes as letters; then the head's numbers.
local function next_event(watcher)
    local line = assert(watcher:receive("*l"))
    local seconds, micros, gid, rest = line:match("^ts=(%d+)%.(%d+) gid=(%d+) (type=.*)$")
    assert.truthy(rest, line)
    rest = rest:gsub("cfd=%d+$", "cfd=N"):gsub("cfd=%d+ ", "cfd=N "):gsub("clsid=[1-9]%d*", "clsid=C")
    return rest, tonumber(gid), tonumber(seconds) + tonumber(micros) / 1e6
end

local function assert_events(watcher, expected)
    for _, want in ipairs(expected) do assert.equal(want, (next_event(watcher))) end
end

-- Watches connections, once those of the server's start have gone.
local function watch_connections()
    local client = connect()
    patience.wait_for("the first connections to go", function() return statistic(client, "curr_connections") == 1 end)
    return watch("connevents")
end

-- Stores `count` values of 500 bytes; after the last reply all are stored.
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

-- The watched events, the requests with their replies, and the lines that must come.
local TOLD <const> = {
    ["lookups unless asked for something else"] = { nil, {
        { "set a 0 0 3\r\nabc", "STORED" }, { "get a b", "VALUE a 0 3", "abc", "END" }, { "mg a", "HD" },
        { "touch c 5", "NOT_FOUND" }, { "incr c 5", "NOT_FOUND" }, { "me c", "EN" } }, {
        "type=item_get key=a status=not_found clsid=0 cfd=N size=0",
        "type=item_get key=a status=found clsid=C cfd=N size=3",
        "type=item_get key=b status=not_found clsid=0 cfd=N size=0",
        "type=item_get key=a status=found clsid=C cfd=N size=3",
        "type=item_get key=c status=not_found clsid=0 cfd=N size=0",
        "type=item_get key=c status=not_found clsid=0 cfd=N size=0",
        "type=item_get key=c status=not_found clsid=0 cfd=N size=0" } },
    -- In one packet, so that no background thread acts in between.
    ["an expired item from a missing one"] = { nil, { { "set a 0 -1 1 noreply\r\nx\r\nget a", "END" } }, {
        "type=item_get key=a status=not_found clsid=0 cfd=N size=0",
        "type=item_get key=a status=expired clsid=0 cfd=N size=0" } },
    ["stores, what came of them and by which command"] = { "mutations", {
        { "set a 0 100 1\r\nx", "STORED" }, { "add a 0 0 2\r\nxy", "NOT_STORED" },
        { "replace a 5 0 2\r\nxy", "STORED" },
        { "append a 0 0 2\r\nzz", "STORED" }, { "prepend a 0 0 2\r\nzz", "STORED" },
        { "cas a 0 0 1 99999999\r\nx", "EXISTS" }, { "cas b 0 0 1 1\r\nx", "NOT_FOUND" }, { "ms b 1 T60\r\nx", "HD" },
        { "ms b 1 ME\r\nx", "NS" }, { "ms b 1 C99999999\r\nx", "EX" },
        { "set large 0 0 600000\r\n" .. ("x"):rep(600000), "STORED" }, { "ms YSBi 1 b\r\nx", "HD" } }, {
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
        "type=item_store key=a%20b status=stored cmd=set ttl=0 clsid=C cfd=N size=1" } },
    ["deletes that deleted, beside classes of the proxy, which have no events"] = {
        "proxyreqs proxyevents proxyuser rawcmds deletions", { { "set a 0 0 3\r\nabc", "STORED" },
        { "delete a", "DELETED" }, { "delete a", "NOT_FOUND" },
        { "ms b 2\r\nab", "HD" }, { "md b I", "HD" }, { "md b", "HD" } }, {
        "type=deleted key=a cmd=delete clsid=C size=3", "type=deleted key=b cmd=md clsid=C size=2" } },
}
local TOLD_BY_SLATED <const> = {
    ["a flushed item from a missing one"] = { nil, { { "set a 0 0 1\r\nx", "STORED" }, { "flush_all", "OK" },
        { "get a", "END" } }, { "type=item_get key=a status=not_found clsid=0 cfd=N size=0",
        "type=item_get key=a status=flushed clsid=0 cfd=N size=0" } },
    ["what was refused for its size"] = { "mutations", { { "set a 0 9 2000000\r\n" .. ("x"):rep(2000000),
        "SERVER_ERROR object too large for cache" } },
        { "type=item_store key=a status=too_large cmd=set ttl=9 clsid=0 cfd=N size=2000000" } },
    ["what a counter and an emptied item are made by"] = { "mutations deletions", { { "ma n N60 J5", "HD" },
        { "md n x T0", "HD" } }, { "type=item_store key=n status=stored cmd=add ttl=60 clsid=C cfd=N size=1",
        "type=item_store key=n status=stored cmd=set ttl=0 clsid=C cfd=N size=0",
        "type=deleted key=n cmd=md clsid=C size=0" } },
}

local function tells(binary, rows)
    for what, row in pairs(rows) do
        it("tells " .. what, function()
            rig.binary = binary
            rig.start("-o", "no_lru_maintainer,no_lru_crawler") -- which would free an item before its request
            local watcher, client = watch(row[1]), connect()
            for _, lines in ipairs(row[2]) do
                assert(client:send(lines[1] .. "\r\n"))
                for i = 2, #lines do
                    assert.equal(lines[i], (client:receive("*l")), lines[1]:sub(1, 40))
                end
            end
            assert_events(watcher, row[3])
        end)
    end
end

local function claims(binary)
    local function start(args, transport)
        rig.binary = binary
        rig.start_on(transport, table.unpack(args or {}))
    end

    tells(binary, TOLD)

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

    it("has evictions", function()
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

    it("has connections, and the reasons of their ends", function()
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

    it("has a client's address", function()
        start({}, "tcp")
        local watcher, client = watch_connections(), connect()
        local _, port = client:getsockname()
        assert_events(watcher, { ("type=conn_new rip=127.0.0.1 rport=%d transport=tcp cfd=N"):format(port) })
    end)

    it("refuses unknown words, every command but mn in the same packet, and with -W everything", function()
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
        for _ = 2, 20 do watch("sysevents") end
        assert.equal("WATCHER_TOO_MANY log watcher limit reached", wire.ask(connect(), "watch"))
        start({ "-W" })
        client = connect()
        assert.equal("CLIENT_ERROR watch commands not allowed", wire.ask(client, "watch foo"))
        assert.equal("CLIENT_ERROR watch commands not allowed", wire.ask(client, "watch"))
    end)

    it("accepts no more commands from a watcher", function()
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

    it("does not close a watcher as idle", function()
        start({ "-o", "idle_timeout=1" }, "tcp")
        local watcher, client = watch("connevents"), connect()
        local _, port = client:getsockname()
        local kicked = ("type=conn_close rip=127.0.0.1 rport=%d transport=tcp reason=idle_timeout cfd=N"):format(port)
        repeat until next_event(watcher) == kicked
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
    tells(nil, TOLD_BY_SLATED)

    local function start(args) rig.start(table.unpack(args or {})) end

    it("takes a sample of one key in so many, and refuses one that makes no sense", function()
        start()
        for words, answer in pairs({ ["sample=0"] = "ERROR", ["sample=x"] = "ERROR", ["sample="] = "ERROR",
            ["sample=1048577"] = "ERROR", ["fetchers sample=-1"] = "ERROR", ["fetchers sample=8"] = "OK" }) do
            assert.equal(answer, wire.ask(connect(), "watch " .. words), words)
        end
    end)

    it("has page moves and the crawler's results", function()
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

    it("has each change of a setting, with the old value, the new one, and the user", function()
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
