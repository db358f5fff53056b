-- SPDX-License-Identifier: BSD-3-Clause
-- A takeover that comes to nothing: the next process dies, hangs, says what is not understood, or is another user's.
-- The first goes on with its items and connections, and a later takeover works.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local patience = require "support.patience"
local server = require "support.server"
local wire = require "support.wire"

local EX_UNAVAILABLE <const>, KILLED <const> = 69, 137
local OFFER <const>, SOCKETS <const>, READY <const>, STATE <const>, CONNS <const> = 3, 4, 5, 6, 7
local LARGE_BYTES <const>, UNREAD_GETS <const> = 300000, 20
local SPIN_TICKS <const> = 60 -- of the two seconds or more in which it looks twice
local KILLS <const>, KILL_LATEST_MS <const> = 8, 60
local PEER <const> = "perl tests/spec/support/handover_peer.pl "

describe("a takeover that comes to nothing", function()
    local folder, pids, binary, client, hello

    local function words(more)
        return ("%s -v -m 64 -t 2 -s %s/s -P %s/pid -o takeover_socket=%s/t %s %s"):format(
            server.quoted(binary), folder, folder, folder, server.USER, more or "")
    end

    local function log()
        return server.read_file(folder .. "/log")
    end

    local function serving()
        return math.tointeger(tonumber((server.read_file(folder .. "/pid") or ""):match("^%d+")))
    end

    local function wait_for_end(pid)
        patience.wait_for("process " .. pid .. " to end", function()
            return not server.is_running(pid)
        end)
    end

    -- Starts a command in the background; its number.
    local function background(command, to)
        local pid = math.tointeger(tonumber(server.capture(
            ("exec %s </dev/null >>%s/%s 2>&1 & echo $!"):format(command, folder, to))))
        pids[#pids + 1] = pid
        return pid
    end

    local function kill(pid)
        os.execute(("kill -9 %d 2>/dev/null"):format(pid))
        wait_for_end(pid)
    end

    local function start(environment)
        os.remove(folder .. "/pid")
        background(("env %s %s"):format(environment or "A=", words()), "log")
        patience.wait_for("slated to serve", serving)
        client = wire.connect(folder .. "/s")
        assert.equal("STORED", wire.ask(client, "set item 0 0 4\r\nkept"))
    end

    -- The one that served before still does: for who was connected, and for who comes.
    local function goes_on(pid)
        assert.equal(pid, serving())
        assert.equal("HD", wire.ask(client, "mg item"))
        local fresh = wire.connect(folder .. "/s")
        assert.equal("HD", wire.ask(fresh, "mg item"))
        fresh:close()
    end

    local function count(words_of_log)
        return select(2, log():gsub(words_of_log, ""))
    end

    local function refusals()
        return count("; this one goes on")
    end

    -- Asks again if a peer that has gone was not yet forgotten.
    local function take_over()
        local before, busy = serving(), count("warn: another process is taking over")
        assert(os.execute("kill -USR2 " .. before))
        patience.wait_for("the next process to serve", function()
            local busy_now = count("warn: another process is taking over")
            if busy_now > busy then
                busy = busy_now
                assert(os.execute("kill -USR2 " .. before))
            end
            return serving() ~= before
        end)
        pids[#pids + 1] = serving()
        wait_for_end(before)
        assert.equal("HD", wire.ask(client, "mg item"))
    end

    -- What a peer says that connects and takes these steps.
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

    -- Connections that are not handed over: one that watches, one amid a value, one that reads no reply.
    local function begin_what_stays()
        local stay = { watcher = wire.connect(folder .. "/s"), writer = wire.connect(folder .. "/s"),
            reader = wire.connect(folder .. "/s") }
        assert.equal("STORED", wire.ask(client, ("set large 0 0 %d\r\n%s"):format(LARGE_BYTES, ("v"):rep(LARGE_BYTES))))
        assert.equal("OK", wire.ask(stay.watcher, "watch mutations"))
        assert(stay.writer:send(("set value 0 0 %d\r\nbegun"):format(LARGE_BYTES)))
        assert(stay.reader:send(("get large\r\n"):rep(UNREAD_GETS)))
        patience.wait_for("the reply to be too much for the socket", function()
            local _, now = wire.stats(client, "conns")
            local states = {}
            for name, value in pairs(now) do
                states[#states + 1] = name:find(":state$") and value or ""
            end
            states = table.concat(states, " ")
            return states:find("conn_mwrite") and states:find("conn_nread") and states:find("conn_watch")
        end)
        return stay
    end

    local function go_on_with_what_stays(stay)
        assert(stay.writer:send(("x"):rep(LARGE_BYTES - #"begun") .. "\r\n"))
        assert.equal("STORED", stay.writer:receive("*l"))
        for _ = 1, UNREAD_GETS do
            assert.equal(("VALUE large 0 %d"):format(LARGE_BYTES), stay.reader:receive("*l"))
            assert.equal(("v"):rep(LARGE_BYTES), stay.reader:receive(LARGE_BYTES))
            assert.equal("", stay.reader:receive("*l"))
            assert.equal("END", stay.reader:receive("*l"))
        end
        assert.matches("key=value", stay.watcher:receive("*l"), 1, true)
        for _, one in pairs(stay) do
            one:close()
        end
    end

    -- Processor time that a process has had, in hundredths of a second.
    local function ticks(pid)
        local user, system = server.read_file(("/proc/%d/stat"):format(pid)):match(
            "%) " .. ("%S+ "):rep(11) .. "(%d+) (%d+) ")
        return tonumber(user) + tonumber(system)
    end

    -- What the next process of this build says first: asked for by a server that listens elsewhere.
    local function learn_hello()
        local peer = background(("%slisten %s/elsewhere keep:%s/hello"):format(PEER, folder, folder), "peer")
        patience.wait_for("the peer to listen", function()
            return (server.read_file(folder .. "/peer") or ""):find("listens")
        end)
        local said = server.capture(("%s -o takeover_socket=%s/elsewhere --takeover 2>&1; echo $?"):format(
            words(), folder))
        assert.matches("the server that runs has ended or hung up.*\n" .. EX_UNAVAILABLE .. "$", said)
        wait_for_end(peer)
        hello = assert(server.read_file(folder .. "/hello"))
    end

    before_each(function()
        folder, pids, binary = server.folder(), {}, server.slated()
    end)

    after_each(function()
        pids[#pids + 1] = serving()
        for _, pid in ipairs(pids) do
            if server.is_running(pid) then
                kill(pid)
            end
        end
        server.remove_folder(folder)
    end)

    it("for it is killed at some moment", function()
        local seed = os.time()
        print(("seed %d"):format(seed))
        math.randomseed(seed)
        start()
        for _ = 1, KILLS do
            local first = serving()
            local next_one = background(words("--takeover"), "log")
            require("socket").sleep(math.random(0, KILL_LATEST_MS) / 1000)
            kill(next_one)
            local late
            patience.wait_for("the first to know", function() -- it takes another peer, or has left
                local before = refusals()
                late = log():find(("process %d has taken over"):format(next_one), 1, true)
                return late or talk("") == "" and refusals() > before
            end)
            if late then
                wait_for_end(first) -- it came too late
                os.remove(folder .. "/s")
                start()
            else
                goes_on(first)
            end
        end
        take_over()
    end)

    it("for it is killed at each of its steps", function()
        binary = os.getenv("SLATE_TEST_SERVER_DEBUG") or "build-debug/bin/slated"
        if not os.execute("test -x " .. server.quoted(binary)) then
            pending("needs the debug build: make DEBUG=1")
            return
        end
        start()
        local first = serving()
        for i, point in ipairs { "next_offered", "next_built", "next_has_image", "next_takes", "next_decided",
            "file_owned", "partition_copied", "about_to_serve", "next_owns" } do
            local said = server.capture(("SLATED_CRASH_AT=%s %s --takeover >>%s/next 2>&1; echo $?"):format(
                point, words(), folder))
            assert.equal(KILLED, tonumber(said), point)
            patience.wait_for("the first to say so", function()
                return refusals() == i
            end)
            goes_on(first)
        end
        take_over()
    end)

    it("unless all was handed over before the first is killed", function()
        binary = os.getenv("SLATE_TEST_SERVER_DEBUG") or "build-debug/bin/slated"
        if not os.execute("test -x " .. server.quoted(binary)) then
            pending("needs the debug build: make DEBUG=1")
            return
        end
        for _, point in ipairs { "state_sent", "next_heard", "left" } do
            start("SLATED_CRASH_AT=" .. point)
            take_over()
            kill(serving())
            os.remove(folder .. "/s")
        end
    end)

    it("for the first is killed while it hands over: the next one ends, too", function()
        binary = os.getenv("SLATE_TEST_SERVER_DEBUG") or "build-debug/bin/slated"
        if not os.execute("test -x " .. server.quoted(binary)) then
            pending("needs the debug build: make DEBUG=1")
            return
        end
        for _, point in ipairs { "offer_made", "offered", "next_ready", "partition_copied", "image_made" } do
            start("SLATED_CRASH_AT=" .. point)
            local first = serving()
            local said = server.capture(("%s --takeover 2>&1; echo $?"):format(words()))
            assert.matches("cannot take over: .*\n" .. EX_UNAVAILABLE .. "$", said)
            wait_for_end(first)
            os.remove(folder .. "/s")
        end
    end)

    it("for it says nothing, garbage, half a message, too much, or another version's", function()
        start()
        local first = serving()
        learn_hello()
        server.write_file(folder .. "/garbage", ("\xa5"):rep(300))
        server.write_file(folder .. "/half", hello:sub(1, #hello // 2))
        server.write_file(folder .. "/long", hello .. hello)
        server.write_file(folder .. "/layout", hello:sub(1, 16) .. ("\x01"):rep(8) .. hello:sub(25))
        local cases = {
            { "send:" .. folder .. "/layout hear",
              "refused: it lays out what is handed over otherwise than the server that runs; stop that one and " ..
              "start the next, which with -e has the items" },
            { "", "" }, -- hangs up
            { "send:" .. folder .. "/garbage hear", "refused: it says nothing that is understood" },
            { "send:" .. folder .. "/half hear", "refused: it says nothing that is understood" },
            { "send:" .. folder .. "/long hear", "refused: it says nothing that is understood" },
            { message("version", { [2] = 77 }) .. " hear", "refused: it speaks another version of takeovers; stop " ..
                "the server and start the next one, which with -e has the items" },
            { message("fds", { [4] = 3 }) .. " hear", "refused: it says nothing that is understood" },
            { message("kind", { [3] = 77 }) .. " hear", "refused: it says nothing that is understood" },
            { message("early", { [3] = READY }) .. " hear", "refused: it says nothing that is understood" },
            { message("again") .. " hear hear " .. message("again") .. " hear",
              ("kind %d\nkind %d\nrefused: it says nothing that is understood"):format(OFFER, SOCKETS) },
        }
        for i, case in ipairs(cases) do
            assert.equal(case[2], talk(case[1]), "case " .. i)
            patience.wait_for("the first to say so", function()
                return refusals() == i
            end)
            goes_on(first)
        end
        local silent = background(("%sconnect %s/t hang"):format(PEER, folder), "silent")
        patience.wait_for("it to hang", function()
            return (server.read_file(folder .. "/silent") or ""):find("hangs")
        end)
        goes_on(first)
        assert.equal("refused: another process is taking over", talk("hear"))
        kill(silent)
        patience.wait_for("the first to say so", function()
            return refusals() == #cases + 1
        end)
        take_over()
    end)

    it("for it has all, and hangs up, talks nonsense or does not answer", function()
        start()
        local first = serving()
        learn_hello()
        local stay = begin_what_stays()
        local all = ("%s hear hear %s hear hear"):format(message("first"), message("ready", { [3] = READY }))
        local heard = ("kind %d\nkind %d\nkind %d\nkind %d"):format(OFFER, SOCKETS, STATE, CONNS)
        for i, case in ipairs {
            { "", "", "it has ended" },
            { " send:" .. folder .. "/first hear", "\nrefused: it says nothing that is understood",
              "it says nothing that is understood" },
            { " hear", "\nrefused: it does not answer", "it does not answer" },
        } do
            assert.equal(heard .. case[2], talk(all .. case[1]))
            patience.wait_for("the first to say so", function()
                return refusals() == i
            end)
            assert.matches(case[3] .. "; this one goes on", log(), 1, true)
            goes_on(first)
        end
        go_on_with_what_stays(stay)
        take_over()
    end)

    it("for the process that was started hangs before it asks: it is killed, and the next may be started", function()
        binary = folder .. "/slated"
        assert(os.execute(("cp %s %s"):format(server.quoted(server.slated()), binary)))
        start()
        local first = serving()
        assert(os.execute(("mv %s %s.kept"):format(binary, binary)))
        server.write_file(binary, ("#!/bin/sh\necho $$ >%s/hung\nexec sleep 600\n"):format(folder))
        assert(os.execute("chmod 755 " .. binary .. " && kill -USR2 " .. first))
        local hung = patience.wait_for("the next process to hang", function()
            return math.tointeger(tonumber((server.read_file(folder .. "/hung") or ""):match("^%d+\n")))
        end)
        pids[#pids + 1] = hung
        assert(os.execute("kill -USR2 " .. first))
        patience.wait_for("the first to say that it is busy", function()
            return log():find("another process is taking over", 1, true)
        end)
        goes_on(first)
        wait_for_end(hung)
        assert.matches(("process %d, started to take over, has neither asked for it nor ended"):format(hung), log(), 1,
            true)
        goes_on(first)
        assert(os.execute(("mv %s.kept %s"):format(binary, binary)))
        take_over()
    end)

    it("for the first has no descriptor left: the next one waits, at no cost, until there is one", function()
        if not os.execute("command -v prlimit >/dev/null") then
            pending("needs prlimit")
            return
        end
        start()
        local first = serving()
        assert(os.execute(("prlimit --pid %d --nofile=8:4096"):format(first)))
        background(words("--takeover"), "log")
        patience.wait_for("the first to say so", function()
            return log():find("a process that would take over waits: Too many open files", 1, true)
        end)
        local said = count("would take over waits")
        local before = ticks(first)
        patience.wait_for("it to look again, twice", function()
            return count("would take over waits") >= said + 2
        end)
        assert.is_true(ticks(first) - before < SPIN_TICKS)
        assert(os.execute(("prlimit --pid %d --nofile=4096:4096"):format(first)))
        patience.wait_for("the next one to serve", function()
            return serving() ~= first
        end)
        wait_for_end(first)
        assert.equal("HD", wire.ask(client, "mg item"))
    end)

    it("for it is another user's", function()
        if server.capture("id -u") ~= "0" then
            pending("needs root, to become another user")
            return
        end
        start()
        local first = serving()
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

    it("and the next but one is told who serves", function()
        start()
        for _ = 1, 3 do
            take_over()
        end
        assert.not_matches("names a process that runs", log(), 1, true)
    end)
end)
