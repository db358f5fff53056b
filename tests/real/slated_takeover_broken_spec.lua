-- SPDX-License-Identifier: BSD-3-Clause
-- A takeover that fails: the next process dies, hangs, sends an unknown message, or is another user's. The first goes
-- on with its items, and a later takeover works. Clients of the first notice nothing, unless the first had stopped for
-- the next one already.
local patience = require "support.patience"
local server = require "support.server"
local socket = require "socket"
local takeover = require "support.takeover"
local wire = require "support.wire"

local EX_UNAVAILABLE <const>, EX_OSERR <const>, KILLED <const> = 69, 71, 137
local OFFER <const>, SOCKETS <const>, READY <const>, GO <const> = 3, 4, 5, 6
local SPIN_TICKS <const> = 60 -- ticks in the two seconds or more in which it checks twice
local KILLS <const>, KILL_LATEST_MS <const> = 4, 60
local PEER <const> = "perl tests/spec/support/handover_peer.pl "

describe("a takeover that comes to nothing", function()
    local place, folder, client, hello

    local function start(environment, more)
        place:start(more, environment)
        client = place:connect()
        assert.equal("STORED", wire.ask(client, "set item 0 0 4\r\nkept"))
    end

    -- The first server still serves: new clients, and old ones unless it had stopped.
    local function goes_on(pid, had_stopped)
        assert.equal(pid, place:serving())
        if had_stopped then
            assert.is_nil((client:receive("*l")))
            client = place:connect()
        end
        assert.equal("HD", wire.ask(client, "mg item"))
        local fresh = place:connect()
        assert.equal("HD", wire.ask(fresh, "mg item"))
        fresh:close()
    end

    local function take_over()
        place:take_over()
        client = place:connect()
        assert.equal("HD", wire.ask(client, "mg item"))
    end

    -- The output of a peer that connects and takes these steps.
    local function talk(steps)
        return server.capture(("%sconnect %s/t %s 2>&1"):format(PEER, folder, steps))
    end

    -- A message like that of a next process, of another kind, version and so on: "send:FILE".
    local function message(name, change)
        local head = { ("<I4I4I4I4"):unpack(hello) }
        for at, value in pairs(change or {}) do
            head[at] = value
        end
        local path = folder .. "/" .. name
        server.write_file(path, ("<I4I4I4I4"):pack(table.unpack(head, 1, 4)) .. hello:sub(17))
        return "send:" .. path
    end

    -- Processor time that a process has had, in hundredths of a second.
    local function ticks(pid)
        local user, system = server.read_file(("/proc/%d/stat"):format(pid)):match(
            "%) " .. ("%S+ "):rep(11) .. "(%d+) (%d+) ")
        return tonumber(user) + tonumber(system)
    end

    -- The first message of a next process of this build, sent to a server that listens elsewhere.
    local function learn_hello()
        local peer = place:background(("%slisten %s/elsewhere keep:%s/hello"):format(PEER, folder, folder), "peer")
        patience.wait_for("the peer to listen", function()
            return (server.read_file(folder .. "/peer") or ""):find("listens")
        end)
        local said = server.capture(("%s -o takeover_socket=%s/elsewhere --takeover 2>&1; echo $?"):format(
            place:words(), folder))
        assert.matches("the server that runs has ended or hung up.*\n" .. EX_UNAVAILABLE .. "$", said)
        place:wait_for_end(peer)
        hello = assert(server.read_file(folder .. "/hello"))
    end

    -- A claim about a debug build, which dies at the named point.
    local function in_debug(claim, body)
        it(claim, function()
            place.binary = os.getenv("SLATE_TEST_SERVER_DEBUG") or "build-debug/bin/slated"
            if not os.execute("test -x " .. server.quoted(place.binary)) then
                pending("needs the debug build: make DEBUG=1")
                return
            end
            body()
        end)
    end

    -- Waits until the first has logged the failure of so many next processes.
    local function wait_for_refusals(count)
        patience.wait_for("the first to say so", function() return place:refusals() == count end)
    end

    -- A number of milliseconds drawn anew in each run.
    local function sleep_at_random()
        socket.sleep(math.random(0, KILL_LATEST_MS) / 1000)
    end

    setup(function()
        local seed = os.time()
        print(("seed %d"):format(seed))
        math.randomseed(seed)
    end)

    before_each(function()
        place = takeover.place { words = "-m 64" }
        folder = place.folder
    end)

    after_each(function()
        place:finish()
    end)

    it("because it is killed at some moment", function()
        start()
        for _ = 1, KILLS do
            local first = place:serving()
            local next_one = place:run("--takeover")
            sleep_at_random()
            place:kill(next_one)
            local late
            patience.wait_for("the first to know", function() -- the server takes another peer, or has left
                local before = place:refusals()
                late = place:log():find(("process %d has taken over"):format(next_one), 1, true)
                return late or talk("") == "" and place:refusals() > before
            end)
            if late then
                place:wait_for_end(first) -- the peer came too late
                os.remove(folder .. "/s")
                start()
            else
                client = place:connect()
                goes_on(first)
            end
        end
        take_over()
    end)

    in_debug("for it is killed at each of its steps", function()
        start()
        local first = place:serving()
        for i, point in ipairs { "next_offered", "next_built", "next_goes_on", "file_opened", "cas_noted",
            "cas_half_counted", "page_recalled", "pool_filled", "page_looked_at", "item_adopted", "about_to_serve",
            "next_serves" } do
            local said = server.capture(("SLATED_CRASH_AT=%s %s --takeover >>%s/next 2>&1; echo $?"):format(
                point, place:words(), folder))
            assert.equal(KILLED, tonumber(said), point)
            wait_for_refusals(i)
            goes_on(first, i > 2)
            assert.equal("STORED", wire.ask(client, "set item 0 0 4\r\nkept"))
        end
        take_over()
    end)

    it("because its port is taken, as it learns late: it leaves the file before the first serves again", function()
        local taken = assert(socket.bind("127.0.0.1", 0))
        local metrics = ("-o metrics=127.0.0.1:%d"):format(select(2, taken:getsockname()))
        start(nil, ("-e %s/memory"):format(folder))
        local first = place:serving()
        for i = 1, 2 do
            local said, status = place:refused(("-e %s/memory %s"):format(folder, metrics))
            assert.equal(EX_OSERR, status, said)
            wait_for_refusals(i)
            goes_on(first, true)
        end
        taken:close()
        take_over()
    end)

    it("because its options are wrong, when SIGUSR2 starts it: the first logs that", function()
        server.write_file(folder .. "/options", "-m 64\n")
        start(nil, ("--config %s/options"):format(folder))
        local first = place:serving()
        server.write_file(folder .. "/options", "-m 64\nno_such_option\n")
        assert(os.execute("kill -USR2 " .. first))
        patience.wait_for("the first to tell", function()
            return place:log():find("started to take over, has ended; this one goes on", 1, true)
        end)
        goes_on(first)
    end)

    -- The first was killed: the next one has its items and sockets.
    local function assert_next_goes_on(first, next_one, cas)
        place:wait_for_end(first)
        local fresh = place:connect() -- not refused, before either process serves
        assert.equal(("HD c%d"):format(cas), wire.ask(fresh, "mg item c"))
        assert.equal(next_one, place:serving())
        assert.is_nil((client:receive("*l")))
        assert.equal("STORED", wire.ask(fresh, "set item 0 0 4\r\nkept"))
        assert.is_true(tonumber(wire.ask(fresh, "mg item c"):match("c(%d+)")) > cas)
        client = fresh
    end

    for words, where in pairs { [""] = "in memory", ["-e %s/memory"] = "in a file" } do
        in_debug("unless something was handed over: the next one goes on with the items, " .. where, function()
            local e = words:format(folder)
            for _, point in ipairs { "offered", "next_ready", "left", "next_goes" } do
                start("SLATED_CRASH_AT=" .. point, e)
                local first, cas = place:serving(), tonumber(wire.ask(client, "mg item c"):match("c(%d+)"))
                local next_one = place:run(e .. " --takeover")
                assert_next_goes_on(first, next_one, cas)
                take_over()
                place:kill(place:serving())
                os.remove(folder .. "/s")
            end
            if e ~= "" then
                place:start(e)
                assert.equal("HD", wire.ask(place:connect(), "mg item"))
            end
        end)
    end

    in_debug("for the first is killed before it has handed anything over: the next one ends, too", function()
        start("SLATED_CRASH_AT=offer_made")
        local first = place:serving()
        local said, status = place:refused()
        assert.matches("cannot take over: the server that runs has ended or hung up", said, 1, true)
        assert.equal(EX_UNAVAILABLE, status)
        place:wait_for_end(first)
    end)

    in_debug("for both are killed: the items are in the file", function()
        local e = ("-e %s/memory"):format(folder)
        for _, point in ipairs { "next_goes_on", "file_opened", "cas_noted", "page_recalled", "about_to_serve" } do
            start("SLATED_CRASH_AT=next_ready", e)
            local first = place:serving()
            local said = server.capture(("SLATED_CRASH_AT=%s %s --takeover >>%s/next 2>&1; echo $?"):format(point,
                place:words(e), folder))
            assert.equal(KILLED, tonumber(said), point)
            place:wait_for_end(first)
            os.remove(folder .. "/s")
            place:start(e)
            assert.equal("HD", wire.ask(place:connect(), "mg item"), point)
            place:kill(place:serving())
            os.remove(folder .. "/s")
        end
    end)

    it("for the first is killed at some moment: the next one serves all, or was handed nothing and ends", function()
        for _ = 1, KILLS do
            start()
            local first = place:serving()
            local next_one = place:run("--takeover")
            sleep_at_random()
            place:kill(first)
            patience.wait_for("the next one to serve or to end", function()
                return place:serving() == next_one or not server.is_running(next_one)
            end)
            if server.is_running(next_one) then
                assert.equal("HD", wire.ask(place:connect(), "mg item"))
                place:kill(next_one)
            else
                assert.matches("cannot take over: ", place:log(), 1, true)
            end
            os.remove(folder .. "/s")
            os.remove(folder .. "/log")
        end
    end)

    it("because it sends nothing, garbage, half a message, too much, or another version's", function()
        start()
        local first = place:serving()
        learn_hello()
        server.write_file(folder .. "/garbage", ("\xa5"):rep(300))
        server.write_file(folder .. "/half", hello:sub(1, #hello // 2))
        server.write_file(folder .. "/long", hello .. hello)
        local cases = {
            { "", "" }, -- hangs up
            { "send:" .. folder .. "/garbage hear", "refused: it sent an unknown message" },
            { "send:" .. folder .. "/half hear", "refused: it sent an unknown message" },
            { "send:" .. folder .. "/long hear", "refused: it sent an unknown message" },
            { message("version", { [2] = 77 }) .. " hear", "refused: it speaks another version of takeovers; stop " ..
                "the server and start the next one, which with -e has the items" },
            { message("fds", { [4] = 3 }) .. " hear", "refused: it sent an unknown message" },
            { message("kind", { [3] = 77 }) .. " hear", "refused: it sent an unknown message" },
            { message("early", { [3] = READY }) .. " hear", "refused: it sent an unknown message" },
            { message("again") .. " hear hear " .. message("again") .. " hear",
              ("kind %d\nkind %d\nrefused: it sent an unknown message"):format(OFFER, SOCKETS) },
        }
        for i, case in ipairs(cases) do
            assert.equal(case[2], talk(case[1]), "case " .. i)
            wait_for_refusals(i)
            goes_on(first)
        end
        local silent = place:background(("%sconnect %s/t hang"):format(PEER, folder), "silent")
        patience.wait_for("it to hang", function()
            return (server.read_file(folder .. "/silent") or ""):find("hangs")
        end)
        goes_on(first)
        assert.equal("refused: another process is taking over", talk("hear"))
        place:kill(silent)
        wait_for_refusals(#cases + 1)
        take_over()
    end)

    it("because at its turn it hangs up, sends nonsense or does not answer", function()
        start()
        local first = place:serving()
        learn_hello()
        local all = ("%s hear hear %s hear"):format(message("first"), message("ready", { [3] = READY }))
        local heard = ("kind %d\nkind %d\nkind %d"):format(OFFER, SOCKETS, GO)
        for i, case in ipairs {
            { "", heard, "it has ended" },
            { " send:" .. folder .. "/first hear", "Killed", "it is killed" },
            { " hear", "Killed", "does not serve within 5 s: it is killed" },
        } do
            assert.matches(case[2], talk(all .. case[1]), 1, true)
            wait_for_refusals(i)
            assert.matches(case[3], place:log(), 1, true)
            goes_on(first, true)
        end
        take_over()
    end)

    it("because the started process hangs before it asks: it is killed, and the next may be started", function()
        place.binary = folder .. "/slated"
        assert(os.execute(("cp %s %s"):format(server.quoted(server.slated()), place.binary)))
        start()
        local first = place:serving()
        assert(os.execute(("mv %s %s.kept"):format(place.binary, place.binary)))
        server.write_file(place.binary, ("#!/bin/sh\necho $$ >%s/hung\nexec sleep 600\n"):format(folder))
        assert(os.execute("chmod 755 " .. place.binary .. " && kill -USR2 " .. first))
        local hung = patience.wait_for("the next process to hang", function()
            return math.tointeger(tonumber((server.read_file(folder .. "/hung") or ""):match("^%d+\n")))
        end)
        place.pids[#place.pids + 1] = hung
        assert(os.execute("kill -USR2 " .. first))
        patience.wait_for("the first to say that it is busy", function()
            return place:log():find("another process is taking over", 1, true)
        end)
        goes_on(first)
        place:wait_for_end(hung)
        patience.wait_for("the first to say why it killed the other", function()
            return place:log():find(("process %d, started to take over, has neither connected nor ended"):format(hung),
                1, true)
        end)
        goes_on(first)
        assert(os.execute(("mv %s.kept %s"):format(place.binary, place.binary)))
        take_over()
    end)

    it("for the first has no descriptor left: the next one waits, at no cost, until there is one", function()
        if not os.execute("command -v prlimit >/dev/null") then
            pending("needs prlimit")
            return
        end
        start()
        local first = place:serving()
        assert(os.execute(("prlimit --pid %d --nofile=8:4096"):format(first)))
        place:run("--takeover")
        patience.wait_for("the first to say so", function()
            return place:log():find("a process that would take over waits: Too many open files", 1, true)
        end)
        local said = place:count("would take over waits")
        local before = ticks(first)
        patience.wait_for("it to look again, twice", function()
            return place:count("would take over waits") >= said + 2
        end)
        assert.is_true(ticks(first) - before < SPIN_TICKS)
        assert(os.execute(("prlimit --pid %d --nofile=4096:4096"):format(first)))
        patience.wait_for("the next one to serve", function()
            return place:serving() ~= first
        end)
        place:wait_for_end(first)
        assert.equal("HD", wire.ask(place:connect(), "mg item"))
    end)

    it("because it is another user's", function()
        if server.capture("id -u") ~= "0" then
            pending("needs root, to become another user")
            return
        end
        start()
        local first = place:serving()
        assert.matches("connect: Permission denied", talk("nobody hear"), 1, true)
        assert(os.execute(("chmod 711 %s && chmod 666 %s/t"):format(folder, folder)))
        local said = talk("nobody hear")
        if said:find("connect: Permission denied", 1, true) then
            pending("another user cannot enter the folder that this one's is in")
            return
        end
        assert.equal("refused: it is another user's", said)
        goes_on(first)
        take_over()
    end)
end)
