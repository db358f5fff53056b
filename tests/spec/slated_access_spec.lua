-- SPDX-License-Identifier: BSD-3-Clause
-- Who may do what: logging in with -Y, roles of users and of listeners, and addresses that strangers reach.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local patience = require "support.patience"
local server = require "support.server"
local wire = require "support.wire"
local binary = require "support.binary"
local roles = require "support.roles"
require "support.world"

local USERS <const> = [[
anna:secret
rita:pass:word:read
walt:w:write
adam:a:admin
]]

local function login_lines(user, password)
    local token = user .. " " .. password
    return ("set any 0 0 %d\r\n%s\r\n"):format(#token, token)
end

-- All that the server sends until it has answered a `mn` behind `text`, or hung up.
local function replies(connection, text)
    local got = {}
    connection:send(text)
    connection:send("mn and nothing else\r\n")
    repeat
        local line = connection:receive("*l")
        got[#got + 1] = line or "closed"
    until not line or line == "MN" or line == "CLIENT_ERROR unauthenticated"
    return table.concat(got, "|")
end

local function log_in(one, user, password)
    local connection = wire.connect(one.address)
    assert(connection:send(login_lines(user, password)))
    assert.equal("STORED", connection:receive("*l"))
    return connection
end

local function start(folder, args)
    local words = { "-Y", folder .. "/users", "-m", "64" }
    table.move(args or {}, 1, #(args or {}), #words + 1, words)
    return server.start({ transport = "tcp", args = words })
end

describe("a server with users", function()
    local one, folder

    setup(function()
        folder = server.folder()
        server.write_file(folder .. "/users", USERS)
        os.execute("chmod 600 " .. folder .. "/users")
        one = start(folder)
    end)
    teardown(function()
        one:stop()
        server.remove_folder(folder)
    end)

    -- as memcached 1.6.45 answers
    for _, case in ipairs({
        { "a right name and password", login_lines("anna", "secret") .. "get any\r\n", "STORED|END|MN" },
        { "a password with colons", login_lines("rita", "pass:word"), "STORED|MN" },
        { "noreply, which means nothing there", "set any 0 0 11 noreply\r\nanna secret\r\n", "STORED|MN" },
        { "other words of the line", "set key flags time 11 more\r\nanna secret\r\n", "STORED|MN" },
        { "a wrong password", login_lines("anna", "guess"), "CLIENT_ERROR authentication failure" },
        { "an unknown name", login_lines("nina", "secret"), "CLIENT_ERROR authentication failure" },
        { "a value without a blank", "set any 0 0 4\r\nanna\r\n", "CLIENT_ERROR bad authentication token format" },
        { "a value without its end", "set any 0 0 6\r\nan na1xx", "CLIENT_ERROR bad command line termination" },
        { "a value too long to be one", "set any 0 0 16385\r\n", "CLIENT_ERROR auth token too long" },
        { "a long value", "set any 0 0 9000\r\na " .. ("b"):rep(8998) .. "\r\n",
            "CLIENT_ERROR authentication failure" },
        { "another command", "version\r\n", "CLIENT_ERROR unauthenticated" },
        { "a set without a length", "set any 0 0\r\n", "CLIENT_ERROR unauthenticated" },
    }) do
        local what, text, want = table.unpack(case)
        it("answers " .. what .. " as memcached does", function()
            local connection = wire.connect(one.address)
            local got = replies(connection, text)
            assert.equal(want, got:sub(1, #want))
            connection:close()
        end)
    end

    for what, text in pairs({
        ["a line too short for a login"] = "mn\r\n",
        ["a line without an end"] = ("x"):rep(2100),
    }) do
        it("hangs up on " .. what, function()
            local connection = wire.connect(one.address)
            connection:send(text)
            assert.equal("closed", select(2, connection:receive("*l")))
            connection:close()
        end)
    end

    it("hangs up on a client of the binary protocol, which has no such login", function()
        local connection = wire.connect(one.address)
        assert.same({ "close" }, binary.client(connection):ask({ "0b" }))
        connection:close()
    end)

    it("goes on with a connection whose login failed", function()
        local connection = wire.connect(one.address)
        assert.equal("CLIENT_ERROR unauthenticated", wire.ask(connection, "get any"))
        connection:send(login_lines("anna", "guess") .. login_lines("anna", "secret"))
        assert.equal("CLIENT_ERROR authentication failure", connection:receive("*l"))
        assert.equal("STORED", connection:receive("*l"))
        assert.equal("END", wire.ask(connection, "get any"))
        connection:close()
    end)

    it("takes a login byte by byte", function()
        local connection = wire.connect(one.address)
        for byte in (login_lines("anna", "secret") .. "version\r\n"):gmatch(".") do
            connection:send(byte)
        end
        assert.equal("STORED", connection:receive("*l"))
        assert.truthy(connection:receive("*l"):find("^VERSION"))
        connection:close()
    end)

    it("stores nothing of a login", function()
        local connection = log_in(one, "anna", "secret")
        assert.equal("END", wire.ask(connection, "get any"))
        connection:close()
    end)

    it("counts logins and failures", function()
        local connection = log_in(one, "adam", "a")
        local _, before = wire.stats(connection)
        log_in(one, "anna", "secret"):close()
        replies(wire.connect(one.address), login_lines("anna", "guess"))
        local _, after = wire.stats(connection)
        assert.equal(2, after.auth_cmds - before.auth_cmds)
        assert.equal(1, after.auth_errors - before.auth_errors)
        connection:close()
        patience.wait_for("the log", function()
            return one:log():find("was refused: authentication failure", 1, true)
        end)
        assert.is_nil(one:log():find("guess", 1, true))
    end)

    for role, login in pairs({ read = { "rita", "pass:word" }, write = { "walt", "w" }, admin = { "adam", "a" } }) do
        it("lets a user of the role " .. role .. " do what the role holds, and nothing more", function()
            local connection = log_in(one, login[1], login[2])
            local _, before = wire.stats(connection, "slated")
            assert.equal(role, before.role)
            local refused = 0
            for _, row in ipairs(roles.COMMANDS) do
                local line, needed = row[1], row[2]
                local may = roles.may(role, needed)
                connection:send(line .. "\r\nmn\r\n")
                local first = connection:receive("*l")
                local left = line == "mn" and 2 or 1 -- of the answers to mn
                local last = first
                repeat
                    left = left - (last == "MN" and 1 or 0)
                    last = left > 0 and assert(connection:receive("*l"))
                until left == 0
                local refusal = "CLIENT_ERROR not allowed: this needs the role " .. needed
                assert.equal(not may, first == refusal, ("%s as %s: %s"):format(line:sub(1, 40), role, first))
                refused = refused + (may and 0 or 1)
            end
            local _, after = wire.stats(connection, "slated")
            if role ~= "admin" then -- who has reset the counter
                assert.equal(refused, after.role_refusals - before.role_refusals)
            end
            connection:close()
        end)
    end

    it("says nothing to a refused request that wants no reply", function()
        local connection = log_in(one, "rita", "pass:word")
        assert.equal("MN", wire.ask(connection, "set a 0 0 1 noreply\r\n1\r\nflush_all noreply\r\nmn"))
        connection:close()
    end)

    it("keeps the order of what it refuses and what it answers", function()
        local connection = log_in(one, "rita", "pass:word")
        local refusal <const> = "CLIENT_ERROR not allowed: this needs the role write"
        connection:send("mg none\r\nset a 0 0 1\r\n1\r\nget none\r\ngat 1 a b c\r\n"
            .. "set a 0 0 5000\r\n" .. ("x"):rep(5000) .. "\r\nflush_all\r\nmn\r\n")
        local got = {}
        for i = 1, 7 do
            got[i] = connection:receive("*l")
        end
        assert.same({ "EN", refusal, "END", refusal, refusal,
            "CLIENT_ERROR not allowed: this needs the role admin", "MN" }, got)
        connection:close()
    end)

    it("names the user in the audit", function()
        local connection = log_in(one, "adam", "a")
        assert.equal("OK", wire.ask(connection, "config set lru_crawler_sleep 200"))
        local _, audit = wire.stats(connection, "audit")
        local found = false
        for name, value in pairs(audit) do
            found = found or (name:find(":who$") and value:find("^adam@tcp:127%.0%.0%.1:%d+$"))
        end
        assert.truthy(found)
        connection:close()
    end)
end)

describe("the users of a server", function()
    local one, folder

    before_each(function()
        folder = server.folder()
        server.write_file(folder .. "/users", USERS)
        one = start(folder)
    end)
    after_each(function()
        one:stop()
        server.remove_folder(folder)
    end)

    it("are read again by refresh_auth, and sessions keep their role", function()
        local admin, writer = log_in(one, "adam", "a"), log_in(one, "walt", "w")
        server.write_file(folder .. "/users", "adam:new:admin\n")
        assert.equal("OK", wire.ask(admin, "refresh_auth"))
        assert.equal("STORED", wire.ask(writer, "set a 0 0 1\r\n1"))
        assert.equal("CLIENT_ERROR authentication failure",
            replies(wire.connect(one.address), login_lines("walt", "w")):match("^[^|]*"))
        log_in(one, "adam", "new"):close()
        for bad, why in pairs({ ["x\n"] = "line 1: it does not begin with user:password", [""] = "names no user" }) do
            server.write_file(folder .. "/users", bad)
            local answer = wire.ask(admin, "refresh_auth")
            assert.truthy(answer:find("^SERVER_ERROR .*" .. why), answer)
            log_in(one, "adam", "new"):close()
        end
        admin:close()
        writer:close()
    end)

    it("are read again at SIGHUP", function()
        server.write_file(folder .. "/users", "newt:n\n")
        os.execute("kill -HUP " .. one.pid)
        local connection = wire.connect(one.address)
        repeat
            connection:send(login_lines("newt", "n"))
            local answer = assert(connection:receive("*l"))
            if answer ~= "STORED" then
                require("slate.base.clock").sleep(0.01)
            end
        until answer == "STORED"
        connection:close()
    end)
end)

describe("a listener's role", function()
    -- the address of the listener on 127.0.0.2
    local function second_address(one, connection)
        local _, conns = wire.stats(connection, "conns")
        for name, value in pairs(conns) do
            if name:find(":addr$") and value:find("^tcp:127%.0%.0%.2:") then
                return (value:gsub("^tcp:", ""))
            end
        end
        error("no second listener: " .. one:log())
    end

    it("is admin on this machine, and what -l says elsewhere", function()
        local one = server.start({ transport = "tcp", args = { "-l", "127.0.0.2,role=read" } })
        finally(function() one:stop() end)
        local admin = wire.connect(one.address)
        local reader = wire.connect(second_address(one, admin))
        assert.equal("STORED", wire.ask(admin, "set a 0 0 1\r\n1"))
        assert.equal("OK", wire.ask(admin, "flush_all"))
        assert.equal("CLIENT_ERROR not allowed: this needs the role write", wire.ask(reader, "set a 0 0 1\r\n1"))
        assert.equal("CLIENT_ERROR not allowed: this needs the role admin", wire.ask(reader, "flush_all"))
        assert.equal("END", wire.ask(reader, "get a"))
        admin:close()
        reader:close()
    end)

    it("holds for the binary protocol too, whose refusals are authentication errors", function()
        local one = server.start({ transport = "tcp", args = { "-l", "127.0.0.2,role=read" } })
        finally(function() one:stop() end)
        local admin = wire.connect(one.address)
        local reader = binary.client(wire.connect(second_address(one, admin)))
        local refused = " status=20 value=Auth\\x20failure."
        local sent, want = { "00 key=k", "0b", "10 key=nonsense" }, { "00 status=01 value=Not\\x20found",
            "0b status=00 value=1.6.45", "10 status=01 value=Not\\x20found" }
        for _, words in ipairs { "01 key=k extras=0000000000000000 value=abc",
            "11 key=k extras=0000000000000000 value=abc", "02 key=k extras=0000000000000000 value=x*5000",
            "0e key=k value=abc", "04 key=k", "14 key=k",
            "05 key=k extras=" .. ("0"):rep(40), "1c key=k extras=00000000", "1e key=k extras=00000000", "08", "18",
            "10 key=reset", "10 key=detail\\x20on" } do
            sent[#sent + 1] = words
            want[#want + 1] = words:sub(1, 2) .. refused
        end
        assert.same(want, reader:ask(sent))
        assert.equal("END", wire.ask(admin, "get k"))
        local _, count = wire.stats(admin, "slated")
        assert.equal("13", count.role_refusals)
        admin:close()
        reader:close()
    end)

    it("is the most that a user has there", function()
        local folder = server.folder()
        server.write_file(folder .. "/users", USERS)
        local one = start(folder, { "-l", "127.0.0.2,role=read" })
        finally(function()
            one:stop()
            server.remove_folder(folder)
        end)
        local admin = log_in(one, "adam", "a")
        local reader = log_in({ address = second_address(one, admin) }, "adam", "a")
        assert.equal("OK", wire.ask(admin, "flush_all"))
        assert.equal("CLIENT_ERROR not allowed: this needs the role admin", wire.ask(reader, "flush_all"))
        admin:close()
        reader:close()
    end)
end)

describe("slated", function()
    local function run(words, wrapper)
        local command = ("%s %s -p -1 %s"):format(server.slated(), server.USER, words)
        local pipe = io.popen(("%s sh -c %s 2>&1; echo $?"):format(wrapper or "", server.quoted(command)))
        local text = pipe:read("a")
        pipe:close()
        return text
    end

    it("does not listen where others reach it, unless that is meant", function()
        local said = run("-l 0.0.0.0")
        assert.truthy(said:find("cannot listen on tcp:0.0.0.0:0: other machines can reach it", 1, true), said)
        assert.truthy(said:find("\n71\n$"), said)
    end)

    for what, words in pairs({ ["--public"] = "--public", ["a role"] = "ROLE", ["a password"] = "-Y" }) do
        it("listens where others reach it with " .. what, function()
            if not os.execute("unshare -rn true 2>/dev/null") then
                pending("no network of its own can be had here")
                return
            end
            local folder = server.folder()
            server.write_file(folder .. "/users", USERS)
            finally(function() server.remove_folder(folder) end)
            local extra = words == "-Y" and "-Y " .. folder .. "/users" or words == "ROLE" and "" or words
            local said = run(("-l 0.0.0.0%s -v %s -P %s/pid & sleep 0.01; while ! test -s %s/pid; do sleep 0.01; done; "
                .. "kill $(cat %s/pid); wait"):format(words == "ROLE" and ",role=read" or "", extra, folder, folder,
                folder), "unshare -rn")
            assert.truthy(said:find("listening on tcp:0.0.0.0:", 1, true), said)
        end)
    end

    it("does not start without the users that it was told to read", function()
        local folder = server.folder()
        finally(function() server.remove_folder(folder) end)
        server.write_file(folder .. "/users", "nobody\n")
        assert.truthy(run("-Y /nowhere"):find("cannot read /nowhere: .*\n1\n$"))
        assert.truthy(run("-Y " .. folder .. "/users"):find("line 1: it does not begin with user:password\n1\n$"))
    end)

    for words, why in pairs({
        ["-l 127.0.0.1,role=owner"] = "-l: a role is read, write or admin",
        ["-l role=read,127.0.0.1"] = "-l: role= stands behind an address and a comma",
        ["-l 127.0.0.1,role="] = "-l: a role is read, write or admin",
    }) do
        it("refuses " .. words, function()
            assert.truthy(run(words):find(why .. "\n64\n$"))
        end)
    end
end)
