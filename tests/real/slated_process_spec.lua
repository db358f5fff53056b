-- SPDX-License-Identifier: BSD-3-Clause
-- slated as a process: signals, the background, the pidfile, sockets, ports and the connection limit.
local patience = require "support.patience"
local restart = require "support.restart"
local server = require "support.server"
local unix = require "socket.unix"
local wire = require "support.wire"


-- Is there anything by that name, also a socket?
local function exists(path)
    return os.execute("test -e " .. server.quoted(path)) == true
end

describe("slated", function()
    local slated
    before_each(function() slated = restart.place() end)
    after_each(function() slated:finish() end)

    local function start(...) slated:start(...) end
    local function connect() return slated:connect() end
    local function status() return slated:status() end

    local function signal(name)
        assert(os.execute(("kill -%s %d"):format(name, slated.pid)))
    end

    for _, name in ipairs({ "TERM", "INT", "USR1" }) do
        it("ends cleanly on SIG" .. name .. ", with a client connected, and removes its socket", function()
            start()
            local client = connect()
            assert.equal("VERSION 1.6.45", wire.ask(client, "version"))
            signal(name)
            assert.equal(0, status())
            assert.is_false(exists(slated.folder .. "/s"))
            assert.equal("closed", select(2, client:receive("*l")))
            client:close()
        end)
    end

    it("serves on through SIGHUP and SIGPIPE", function()
        start()
        signal("HUP")
        signal("PIPE")
        local client = connect()
        assert.equal("VERSION 1.6.45", wire.ask(client, "version"))
        client:close()
        signal("TERM")
        assert.equal(0, status())
    end)

    it("shows its command line unchanged", function()
        start("-o slab_automove=0,no_lru_crawler,hot_lru_pct=10")
        local file <close> = assert(io.open(("/proc/%d/cmdline"):format(slated.pid)))
        local words = file:read("a"):gsub("%z", " ")
        assert.truthy(words:find(" -o slab_automove=0,no_lru_crawler,hot_lru_pct=10 -s ", 1, true), words)
    end)

    it("ends on the shutdown command only when started with -A", function()
        start()
        local client = connect()
        assert.equal("SERVER_ERROR: shutdown not enabled", wire.ask(client, "shutdown"))
        client:close()
        signal("TERM")
        assert.equal(0, status())
        start("-A")
        client = connect()
        assert.equal("CLIENT_ERROR invalid shutdown mode", wire.ask(client, "shutdown later"))
        assert.is_nil(wire.ask(client, "shutdown graceful"))
        assert.equal(0, status())
        client:close()
    end)

    it("reports to the service manager when it serves and when it stops, and stays its process with -d", function()
        local manager = unix.dgram()
        assert(manager:bind(slated.folder .. "/notify"))
        manager:settimeout(patience.DEADLINE_S)
        finally(function() manager:close() end)
        start("-d", ("NOTIFY_SOCKET=%s/notify"):format(slated.folder))
        assert.equal("READY=1", manager:receive())
        assert.equal("VERSION 1.6.45", wire.ask(connect(), "version"))
        signal("TERM")
        assert.equal("STOPPING=1", manager:receive())
        assert.equal(0, status())
    end)

    it("serves without the service manager that its environment names", function()
        start("-v", "NOTIFY_SOCKET=/nowhere/socket")
        assert.equal("VERSION 1.6.45", wire.ask(connect(), "version"))
        patience.wait_for("the log", function()
            return slated:log():find("cannot report READY=1 to the service manager: ", 1, true)
        end)
    end)

    it("begins lines with their priority where the journal reads them", function()
        io.open(slated.folder .. "/log", "w"):close()
        local stream = server.capture(("stat -c %%d:%%i %s/log"):format(slated.folder))
        start("-v", "JOURNAL_STREAM=" .. stream)
        signal("TERM")
        assert.equal(0, status())
        local log = slated:log()
        assert.truthy(log:find("^<6>slated: info: "), log)
        for line in log:gmatch("[^\n]+") do
            assert.truthy(line:find("^<[3467]>slated: "), line)
        end
        os.remove(slated.folder .. "/log")
        start("-v", "JOURNAL_STREAM=1:1")
        signal("TERM")
        assert.equal(0, status())
        log = slated:log()
        assert.truthy(log:find("^slated: info: "), log)
        assert.is_nil(log:find("<", 1, true))
    end)

    it("writes a complete pidfile, warns when the old one names a running process, and removes its own", function()
        server.write_file(slated.folder .. "/pid", "1\n")
        start("-P " .. slated.folder .. "/pid")
        patience.wait_for("the pidfile", function()
            return server.read_file(slated.folder .. "/pid") == slated.pid .. "\n"
        end)
        patience.wait_for("the warning", function()
            return slated:log():find("names a process that runs: 1", 1, true)
        end)
        signal("TERM")
        assert.equal(0, status())
        assert.is_false(exists(slated.folder .. "/pid"))
        assert.is_false(exists(slated.folder .. "/pid.tmp"))
    end)

    it("leaves a pidfile alone that another process has written meanwhile", function()
        start("-P " .. slated.folder .. "/pid")
        patience.wait_for("the pidfile", function() return exists(slated.folder .. "/pid") end)
        server.write_file(slated.folder .. "/pid", "1\n")
        signal("TERM")
        assert.equal(0, status())
        assert.equal("1\n", server.read_file(slated.folder .. "/pid"))
    end)

    it("serves without a pidfile and a file of ports that cannot be written, and warns", function()
        local command = "MEMCACHED_PORT_FILENAME=absent/ports %s -p -1 -l 127.0.0.1 -v -P absent/pid %s </dev/null "
            .. "2>%s/log & echo $!; wait $!; echo $?"
        slated.shell = assert(io.popen(command:format(server.quoted(server.slated()), server.USER, slated.folder)))
        slated.pid = assert(math.tointeger(tonumber(slated.shell:read("l"))))
        local log
        patience.wait_for("slated to serve", function()
            log = slated:log() or ""
            return log:find(" serves: memory=", 1, true)
        end)
        local client = wire.connect(log:match("listening on tcp:(%S+)"))
        assert.equal("VERSION 1.6.45", wire.ask(client, "version"))
        client:close()
        assert.truthy(log:find("warn: cannot write the ports to absent/ports: No such file", 1, true), log)
        assert.truthy(log:find("warn: cannot write the pidfile absent/pid: No such file", 1, true), log)
        signal("TERM")
        assert.equal(0, status())
    end)

    it("goes into the background with -d once it serves, and once its warnings are written", function()
        assert(os.execute("echo 1 >" .. slated.folder .. "/pid"))
        local _, _, code = os.execute(("%s -d -P %s/pid -s %s/s %s </dev/null >%s/log 2>&1"):format(
            server.quoted(server.slated()), slated.folder, slated.folder, server.USER, slated.folder))
        assert.equal(0, code)
        slated.pid = math.tointeger(tonumber(server.read_file(slated.folder .. "/pid")))
        assert.truthy(slated:log():find("names a process that runs: 1", 1, true))
        -- No waiting: the command has returned, so the server serves.
        local client = connect()
        assert.equal("VERSION 1.6.45", wire.ask(client, "version"))
        client:close()
        assert.equal("1", server.capture(("ps -o pid=,sid= -p %d | awk '{ print $1 == $2 }'"):format(slated.pid)))
        assert.equal("/", server.capture(("readlink /proc/%d/cwd"):format(slated.pid)))
        assert.equal("/dev/null", server.capture(("readlink /proc/%d/fd/2"):format(slated.pid)))
        local ended = slated.pid
        signal("TERM")
        patience.wait_for("the end", function() return not server.is_running(ended) end)
        assert.is_false(exists(slated.folder .. "/pid"))
    end)

    it("keeps only the system calls of its filter with -o drop_privileges, in every thread", function()
        assert(os.execute(("%s -o drop_privileges -t 3 -d -P %s/pid -s %s/s %s </dev/null >%s/log 2>&1"):format(
            server.quoted(server.slated()), slated.folder, slated.folder, server.USER, slated.folder)))
        slated.pid = math.tointeger(tonumber(server.read_file(slated.folder .. "/pid")))
        local client = connect()
        assert.equal("yes", select(2, wire.stats(client, "settings")).drop_privileges)
        assert.equal("Seccomp:\t2", server.capture(("grep -h ^Seccomp: /proc/%d/task/*/status | sort -u"):format(
            slated.pid)))
        client:close()
        local ended = slated.pid
        signal("TERM")
        patience.wait_for("the end", function() return not server.is_running(ended) end)
    end)

    it("prints with -d, too, why it cannot start, and returns that status", function()
        local _, _, code = os.execute(("%s -d -s %s/absent/s %s </dev/null >%s/log 2>&1"):format(
            server.quoted(server.slated()), slated.folder, server.USER, slated.folder))
        assert.equal(71, code)
        assert.truthy(slated:log():find(slated.folder .. "/absent/s", 1, true))
    end)

    local stat = wire.number

    -- Adds as many clients as fit.
    local function add_clients(clients)
        local most = stat(clients[1], "max_connections")
        while stat(clients[1], "curr_connections") < most - 1 and #clients < most do
            local one = connect()
            one:settimeout(patience.DEADLINE_S)
            assert.equal("VERSION 1.6.45", wire.ask(one, "version"))
            clients[#clients + 1] = one
        end
        return clients
    end

    -- As many clients as fit, one of them the first of the list.
    local function fill(client)
        patience.wait_for("the first connections to go", function() return stat(client, "curr_connections") == 1 end)
        return add_clients({ client })
    end

    -- A server's first line to a new connection; a refused one may be closed before it could send a request.
    local function greeting(one)
        one:send("version\r\n")
        return (one:receive("*l"))
    end

    it("accepts another limit while it serves, and closes no connection for that", function()
        start("-c 12 -t 1")
        local clients = fill(connect())
        assert.equal("OK", wire.ask(clients[1], "config set maxconns 20"))
        assert.equal(20, stat(clients[1], "max_connections"))
        add_clients(clients)
        assert.truthy(stat(clients[1], "curr_connections") >= 19)
        assert.equal("OK", wire.ask(clients[1], "config set maxconns 5"))
        assert.equal("ERROR Too many open connections", greeting(connect()))
        for _, one in ipairs(clients) do
            assert.equal("VERSION 1.6.45", wire.ask(one, "version"))
        end
        assert.truthy(wire.ask(clients[1], "config undo"):find("^OK maxconns"))
        assert.equal(20, stat(clients[1], "max_connections"))
        for _, one in ipairs(clients) do
            one:close()
        end
    end)

    it("begins and ceases to close idle connections while it serves", function()
        start("-t 1")
        local busy, idle = connect(), connect()
        assert.equal("OK", wire.ask(busy, "config set idle_timeout 1"))
        patience.wait_for("an idle connection to be closed", function()
            return stat(busy, "idle_kicks") == 1
        end)
        assert.is_nil((idle:receive("*l")))
        assert.equal("OK", wire.ask(busy, "config set idle_timeout 0"))
        assert.is_nil(stat(busy, "idle_kicks"))
        busy:close()
    end)

    it("refuses a limit for which the process may not open enough files", function()
        if server.USER == "" or not os.execute("id nobody >/dev/null 2>&1") then
            pending("needs root, and the user nobody")
            return
        end
        local command = "ulimit -n 300; exec %s -p -1 -c 50 -t 1 -v -u nobody </dev/null >%s/log 2>&1 & echo $!"
        slated.pid = assert(math.tointeger(tonumber(server.capture(command:format(server.quoted(server.slated()),
            slated.folder)))))
        local address = patience.wait_for("slated to listen", function()
            return slated:log():match("listening on tcp:(%S+)")
        end)
        local client = wire.connect(address)
        local said = wire.ask(client, "config set maxconns 5000")
        assert.truthy(said:find("^CLIENT_ERROR cannot open %d+ files at once"), said)
        assert.equal(50, stat(client, "max_connections"))
        assert.equal("OK", wire.ask(client, "config set maxconns 60"))
        client:close()
    end)

    it("serves fewer connections, and says so, where the process may open a file for each but none beside", function()
        os.execute("chmod 711 " .. slated.folder)
        local as_nobody = server.USER == "" and "" or "setpriv --reuid 65534 --regid 65534 --clear-groups"
        local command = "ulimit -n 200; exec %s %s -p -1 -c %d -t 1 -v </dev/null >%s/log 2>&1 & echo $!"
        local function launch(connections)
            slated.pid = assert(math.tointeger(tonumber(server.capture(command:format(as_nobody,
                server.quoted(server.slated()), connections, slated.folder)))))
        end
        launch(201)
        patience.wait_for("its end", function() return not server.is_running(slated.pid) end)
        assert.truthy(slated:log():find("cannot open %d+ files at once"))
        launch(200)
        local address = patience.wait_for("slated to listen", function()
            return slated:log():match("listening on tcp:(%S+)")
        end)
        local client = wire.connect(address)
        local most = stat(client, "max_connections")
        assert.truthy(most > 100 and most < 200)
        assert.truthy(slated:log():find(("at most %d connections, not 200: "):format(most)))
        client:close()
    end)
end)
