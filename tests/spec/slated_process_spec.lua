-- SPDX-License-Identifier: BSD-3-Clause
-- slated as a process: signals, the background, the pidfile, sockets, ports and the connection limit.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local patience = require "support.patience"
local socket = require "socket"
local server = require "support.server"
local unix = require "socket.unix"
local wire = require "support.wire"

local GRACE_S <const> = 5 -- that a server which ends gracefully gives clients who still read
local LEAVING <const>, UNREAD_REQUESTS <const> = 40, 40000

-- Does a server take connections there and, told to quit, hang up? A socket has its name before it listens.
local function answers(path)
    local connection = unix.stream()
    local problem
    if connection:connect(path) then
        connection:settimeout(patience.DEADLINE_S)
        connection:send("quit\r\n")
        problem = select(2, connection:receive("*l"))
    end
    connection:close()
    return problem == "closed"
end

-- Is there anything by that name, also a socket?
local function exists(path)
    return os.execute("test -e " .. server.quoted(path)) == true
end

describe("slated", function()
    local folder, pid, shell

    -- Starts slated with these words under a shell that reports its exit status; waits until it serves.
    local function start(words, environment)
        folder = folder or server.folder()
        local command = ("exec 2>%s/log; %s %s %s -s %s/s %s </dev/null >&2 & echo $!; wait $!; echo $?"):format(folder,
            environment or "", server.quoted(server.slated()), words or "", folder, server.USER)
        shell = assert(io.popen(command, "r"))
        pid = assert(math.tointeger(tonumber(shell:read("l"))))
        patience.wait_for("slated to serve", function()
            return answers(folder .. "/s") or not server.is_running(pid)
        end)
    end

    -- The exit status, once it has ended.
    local function status()
        local code = tonumber(shell:read("l"))
        shell:close()
        shell, pid = nil, nil
        return code
    end

    local function signal(name)
        assert(os.execute(("kill -%s %d"):format(name, pid)))
    end

    local function connect()
        return wire.connect(folder .. "/s")
    end

    after_each(function()
        if pid and server.is_running(pid) then
            os.execute("kill -9 " .. pid)
        end
        if shell then
            shell:close()
        end
        if folder then
            server.remove_folder(folder)
        end
        folder, pid, shell = nil, nil, nil
    end)

    for _, name in ipairs({ "TERM", "INT", "USR1" }) do
        it("ends cleanly on SIG" .. name .. ", with a client connected, and removes its socket", function()
            start()
            local client = connect()
            assert.equal("VERSION 1.6.45", wire.ask(client, "version"))
            signal(name)
            assert.equal(0, status())
            assert.is_false(exists(folder .. "/s"))
            assert.equal("closed", select(2, client:receive("*l")))
            client:close()
        end)
    end

    it("does not wait on SIGUSR1 for clients that are gone and left requests unread", function()
        start("-t 1")
        local clients = {}
        for i = 1, LEAVING do
            clients[i] = connect()
            clients[i]:settimeout(0)
        end
        for _, client in ipairs(clients) do
            client:send(("mn\r\n"):rep(UNREAD_REQUESTS)) -- as many as the socket takes
        end
        local begun_s = socket.gettime()
        signal("USR1")
        for _, client in ipairs(clients) do
            client:close()
        end
        assert.equal(0, status())
        assert.is_true(socket.gettime() - begun_s < GRACE_S, "it spent its grace on nobody")
    end)

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

    it("shows its command line as it was given", function()
        start("-o slab_automove=0,no_lru_crawler,hot_lru_pct=10")
        local file <close> = assert(io.open(("/proc/%d/cmdline"):format(pid)))
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

    it("tells the service manager when it serves and when it stops, and stays its process with -d", function()
        folder = server.folder()
        local manager = unix.dgram()
        assert(manager:bind(folder .. "/notify"))
        manager:settimeout(patience.DEADLINE_S)
        finally(function() manager:close() end)
        start("-d", ("NOTIFY_SOCKET=%s/notify"):format(folder))
        assert.equal("READY=1", manager:receive())
        assert.equal("VERSION 1.6.45", wire.ask(connect(), "version"))
        signal("TERM")
        assert.equal("STOPPING=1", manager:receive())
        assert.equal(0, status())
    end)

    it("serves without the service manager that it was told of", function()
        start("-v", "NOTIFY_SOCKET=/nowhere/socket")
        assert.equal("VERSION 1.6.45", wire.ask(connect(), "version"))
        patience.wait_for("the log", function()
            return server.read_file(folder .. "/log"):find("cannot tell the service manager READY=1: ", 1, true)
        end)
    end)

    it("begins lines with their priority where the journal reads them", function()
        folder = server.folder()
        io.open(folder .. "/log", "w"):close()
        local stream = server.capture(("stat -c %%d:%%i %s/log"):format(folder))
        start("-v", "JOURNAL_STREAM=" .. stream)
        signal("TERM")
        assert.equal(0, status())
        local log = server.read_file(folder .. "/log")
        assert.truthy(log:find("^<6>slated: info: "), log)
        for line in log:gmatch("[^\n]+") do
            assert.truthy(line:find("^<[3467]>slated: "), line)
        end
        start("-v", "JOURNAL_STREAM=1:1")
        signal("TERM")
        assert.equal(0, status())
        log = server.read_file(folder .. "/log")
        assert.truthy(log:find("^slated: info: "), log)
        assert.is_nil(log:find("<", 1, true))
    end)

    it("writes its pidfile whole, says so when it names a running process, and removes it", function()
        folder = server.folder()
        server.write_file(folder .. "/pid", "1\n")
        start("-P " .. folder .. "/pid")
        patience.wait_for("the pidfile", function() return server.read_file(folder .. "/pid") == pid .. "\n" end)
        patience.wait_for("the warning", function()
            return server.read_file(folder .. "/log"):find("names a process that runs: 1", 1, true)
        end)
        signal("TERM")
        assert.equal(0, status())
        assert.is_false(exists(folder .. "/pid"))
        assert.is_false(exists(folder .. "/pid.tmp"))
    end)

    it("leaves a pidfile alone that another process has written meanwhile", function()
        folder = server.folder()
        start("-P " .. folder .. "/pid")
        patience.wait_for("the pidfile", function() return exists(folder .. "/pid") end)
        server.write_file(folder .. "/pid", "1\n")
        signal("TERM")
        assert.equal(0, status())
        assert.equal("1\n", server.read_file(folder .. "/pid"))
    end)

    it("serves without a pidfile and a file of ports that cannot be written, and warns", function()
        folder = server.folder()
        local command = "MEMCACHED_PORT_FILENAME=absent/ports %s -p -1 -l 127.0.0.1 -v -P absent/pid %s </dev/null "
            .. "2>%s/log & echo $!; wait $!; echo $?"
        shell = assert(io.popen(command:format(server.quoted(server.slated()), server.USER, folder)))
        pid = assert(math.tointeger(tonumber(shell:read("l"))))
        local log
        patience.wait_for("slated to serve", function()
            log = server.read_file(folder .. "/log") or ""
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
        folder = server.folder()
        assert(os.execute("echo 1 >" .. folder .. "/pid"))
        local _, _, code = os.execute(("%s -d -P %s/pid -s %s/s %s </dev/null >%s/log 2>&1"):format(
            server.quoted(server.slated()), folder, folder, server.USER, folder))
        assert.equal(0, code)
        pid = math.tointeger(tonumber(server.read_file(folder .. "/pid")))
        assert.truthy(server.read_file(folder .. "/log"):find("names a process that runs: 1", 1, true))
        -- No waiting: the command has returned, so it serves.
        local client = connect()
        assert.equal("VERSION 1.6.45", wire.ask(client, "version"))
        client:close()
        assert.equal("1", server.capture(("ps -o pid=,sid= -p %d | awk '{ print $1 == $2 }'"):format(pid)))
        assert.equal("/", server.capture(("readlink /proc/%d/cwd"):format(pid)))
        assert.equal("/dev/null", server.capture(("readlink /proc/%d/fd/2"):format(pid)))
        local ended = pid
        signal("TERM")
        patience.wait_for("the end", function() return not server.is_running(ended) end)
        assert.is_false(exists(folder .. "/pid"))
    end)

    it("keeps only the system calls of its filter with -o drop_privileges, in every thread", function()
        folder = server.folder()
        assert(os.execute(("%s -o drop_privileges -t 3 -d -P %s/pid -s %s/s %s </dev/null >%s/log 2>&1"):format(
            server.quoted(server.slated()), folder, folder, server.USER, folder)))
        pid = math.tointeger(tonumber(server.read_file(folder .. "/pid")))
        local client = connect()
        assert.equal("yes", select(2, wire.stats(client, "settings")).drop_privileges)
        assert.equal("Seccomp:\t2", server.capture(("grep -h ^Seccomp: /proc/%d/task/*/status | sort -u"):format(pid)))
        client:close()
        local ended = pid
        signal("TERM")
        patience.wait_for("the end", function() return not server.is_running(ended) end)
    end)

    it("says with -d too why it cannot start, and returns that status", function()
        folder = server.folder()
        local _, _, code = os.execute(("%s -d -s %s/absent/s %s </dev/null >%s/log 2>&1"):format(
            server.quoted(server.slated()), folder, server.USER, folder))
        assert.equal(71, code)
        assert.truthy(server.read_file(folder .. "/log"):find(folder .. "/absent/s", 1, true))
    end)

    it("writes the ports it got to MEMCACHED_PORT_FILENAME", function()
        folder = server.folder()
        local one = server.start({ transport = "tcp" })
        local host, port = one.address:match("^(.+):(%d+)$")
        assert.equal("127.0.0.1", host)
        assert.truthy(tonumber(port) > 0)
        local client = wire.connect(one.address)
        assert.equal("VERSION 1.6.45", wire.ask(client, "version"))
        client:close()
        one:stop()
    end)

    it("refuses an address that is taken, with one line and status 71", function()
        local one = server.start({ transport = "tcp" })
        folder = server.folder()
        local _, _, code = os.execute(("timeout 60 %s -l %s %s </dev/null >%s/log 2>&1"):format(
            server.quoted(server.slated()), one.address, server.USER, folder))
        one:stop()
        assert.equal(71, code)
        local log = server.read_file(folder .. "/log")
        assert.equal(1, select(2, log:gsub("\n", "\n")), log)
        assert.truthy(server.read_file(folder .. "/log"):find("127.0.0.1", 1, true))
    end)

    local function stat(client, name)
        local _, values = wire.stats(client)
        return tonumber(values[name])
    end

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

    -- The first line a server says to a new connection; one that is turned away may be closed before it could ask.
    local function greeting(one)
        one:send("version\r\n")
        return (one:receive("*l"))
    end

    it("turns connections away at the limit, saying so, and takes them again below it", function()
        start("-c 12 -t 1")
        local clients = fill(connect())
        -- The limit is within one of what is open now, listeners counted or not.
        local refused
        for _ = 1, 3 do
            local one = connect()
            local line = greeting(one)
            if line ~= "VERSION 1.6.45" then
                refused = line
                one:close()
                break
            end
            clients[#clients + 1] = one
        end
        assert.equal("ERROR Too many open connections", refused)
        assert.truthy(stat(clients[1], "rejected_connections") >= 1)
        table.remove(clients):close()
        patience.wait_for("a place", function()
            local one = connect()
            local line = greeting(one)
            clients[#clients + 1] = one
            return line == "VERSION 1.6.45"
        end)
        for _, one in ipairs(clients) do
            one:close()
        end
    end)

    it("takes another limit while it serves, and closes nobody for it", function()
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
        folder = server.folder()
        local command = "ulimit -n 300; exec %s -p -1 -c 50 -t 1 -v -u nobody </dev/null >%s/log 2>&1 & echo $!"
        pid = assert(math.tointeger(tonumber(server.capture(command:format(server.quoted(server.slated()), folder)))))
        local address = patience.wait_for("slated to listen", function()
            return server.read_file(folder .. "/log"):match("listening on tcp:(%S+)")
        end)
        local client = wire.connect(address)
        local said = wire.ask(client, "config set maxconns 5000")
        assert.truthy(said:find("^CLIENT_ERROR cannot open %d+ files at once"), said)
        assert.equal(50, stat(client, "max_connections"))
        assert.equal("OK", wire.ask(client, "config set maxconns 60"))
        client:close()
    end)

    it("serves fewer connections, and says so, where the process may open a file for each but none beside", function()
        folder = server.folder()
        os.execute("chmod 711 " .. folder)
        local as_nobody = server.USER == "" and "" or "setpriv --reuid 65534 --regid 65534 --clear-groups"
        local command = "ulimit -n 200; exec %s %s -p -1 -c %d -t 1 -v </dev/null >%s/log 2>&1 & echo $!"
        local function launch(connections)
            pid = assert(math.tointeger(tonumber(server.capture(command:format(as_nobody,
                server.quoted(server.slated()), connections, folder)))))
        end
        launch(201)
        patience.wait_for("its end", function() return not server.is_running(pid) end)
        assert.truthy(server.read_file(folder .. "/log"):find("cannot open %d+ files at once"))
        launch(200)
        local address = patience.wait_for("slated to listen", function()
            return server.read_file(folder .. "/log"):match("listening on tcp:(%S+)")
        end)
        local client = wire.connect(address)
        local most = stat(client, "max_connections")
        assert.truthy(most > 100 and most < 200)
        assert.truthy(server.read_file(folder .. "/log"):find(("at most %d connections, not 200: "):format(most)))
        client:close()
    end)

    it("lets connections wait at the limit with no_maxconns_fast", function()
        start("-c 12 -t 1 -o no_maxconns_fast")
        local clients = fill(connect())
        local waiting = {}
        for i = 1, 4 do
            waiting[i] = connect()
            waiting[i]:send("version\r\n")
        end
        patience.wait_for("the limit", function() return stat(clients[1], "accepting_conns") == 0 end)
        assert.truthy(stat(clients[1], "listen_disabled_num") >= 1)
        local last = connect()
        last:send("version\r\n")
        for _ = 1, 4 do
            table.remove(clients):close()
        end
        assert.equal("VERSION 1.6.45", last:receive("*l"))
        -- told only where connections are turned away, as in memcached
        assert.is_nil(stat(last, "rejected_connections"))
        last:close()
        for _, one in ipairs(clients) do
            one:close()
        end
        for _, one in ipairs(waiting) do
            one:close()
        end
    end)
end)
