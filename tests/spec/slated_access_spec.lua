-- SPDX-License-Identifier: BSD-3-Clause
-- Rights: logging in with -Y, roles of users and of listeners, each command, verb and opcode with each role. A new
-- command without a claim in support/roles.lua fails here.
local binary = require "support.binary"
local patience = require "support.patience"
local roles = require "support.roles"
local server = require "support.server"
local wire = require "support.wire"
require "support.world"

local USERS <const> = "anna:secret\nrita:pass:word:read\nwalt:w:write\nadam:a:admin\n"
local REFUSED <const> = " status=20 value=Auth\\x20failure."
local QUITS <const> = { ["07"] = true, ["17"] = true } -- their sender is hung up on

local function login_lines(user, password)
    local token = user .. " " .. password
    return ("set any 0 0 %d\r\n%s\r\n"):format(#token, token)
end

-- All bytes of the server up to its reply to a `mn` after `text`, or up to its hang-up. is_alone: there is no `mn`.
local function replies(one, text, is_alone)
    local connection, got = wire.connect(one.address), {}
    connection:send(text)
    if not is_alone then
        connection:send("mn and nothing else\r\n")
    end
    repeat
        local line = connection:receive("*l")
        got[#got + 1] = line or "closed"
    until not line or line == "MN" or line == "CLIENT_ERROR unauthenticated"
    connection:close()
    return table.concat(got, "|")
end

local function log_in(address, user, password)
    local connection = wire.connect(address)
    assert(connection:send(login_lines(user, password)))
    assert.equal("STORED", connection:receive("*l"))
    return connection
end

-- A server with these words and a file of users, from a block's setup to its teardown: { one, folder, write(users) }.
local function with_users(options, words)
    local it = {}
    function it.write(text)
        server.write_file(it.folder .. "/users", text)
        os.execute("chmod 600 " .. it.folder .. "/users")
    end
    setup(function()
        it.folder = server.folder()
        it.write(USERS)
        options.args = table.move(words or {}, 1, #(words or {}), 3, { "-Y", it.folder .. "/users" })
        it.one = server.start(options)
    end)
    teardown(function()
        it.one:stop()
        server.remove_folder(it.folder)
    end)
    return it
end

-- The addresses of a server's further listeners by the last number of their host.
local function listeners(connection)
    local found, _, conns = {}, wire.stats(connection, "conns")
    for name, value in pairs(conns) do
        local host, port = value:match("^tcp:127%.0%.0%.(%d):(%d+)$")
        if host and name:find(":addr$") then
            found[host] = ("127.0.0.%s:%s"):format(host, port)
        end
    end
    return found
end

describe("a server with users", function()
    local its = with_users({})

    it("answers logins as memcached 1.6.45 does", function()
        for _, case in ipairs({
            { "a right name and password", login_lines("anna", "secret") .. "get any\r\n", "STORED|END|MN" },
            { "a password with colons", login_lines("rita", "pass:word"), "STORED|MN" },
            { "noreply, which means nothing there", "set any 0 0 11 noreply\r\nanna secret\r\n", "STORED|MN" },
            { "other words of the line", "set key flags time 11 more\r\nanna secret\r\n", "STORED|MN" },
            { "a wrong password", login_lines("anna", "guess"), "CLIENT_ERROR authentication failure" },
            { "an unknown name", login_lines("nina", "secret"), "CLIENT_ERROR authentication failure" },
            { "no blank", "set any 0 0 4\r\nanna\r\n", "CLIENT_ERROR bad authentication token format" },
            { "no end", "set any 0 0 6\r\nan na1xx", "CLIENT_ERROR bad command line termination" },
            { "a value too long to be one", "set any 0 0 16385\r\n", "CLIENT_ERROR auth token too long" },
            { "a long value", "set any 0 0 9000\r\na " .. ("b"):rep(8998) .. "\r\n",
                "CLIENT_ERROR authentication failure" },
            { "another command", "version\r\n", "CLIENT_ERROR unauthenticated" },
            { "a set without a length", "set any 0 0\r\n", "CLIENT_ERROR unauthenticated" },
            { "a line too short for a login", "mn\r\n", "closed" },
            { "a line without an end", ("x"):rep(2100), "closed" },
            { "a login after one that failed", login_lines("anna", "guess") .. login_lines("anna", "secret"),
                "CLIENT_ERROR authentication failure|STORED|MN" },
        }) do
            assert.equal(case[3], replies(its.one, case[2], case[3] == "closed"):sub(1, #case[3]), case[1])
        end
    end)

    it("accepts a login byte by byte, and stores no part of it", function()
        local connection = wire.connect(its.one.address)
        for byte in (login_lines("anna", "secret") .. "get any\r\n"):gmatch(".") do
            connection:send(byte)
        end
        assert.same({ "STORED", "END" }, { connection:receive("*l"), connection:receive("*l") })
        connection:close()
    end)

    it("may be used by nobody else: each command and opcode is refused, and nothing is done", function()
        local refusals <const> = { ["CLIENT_ERROR unauthenticated"] = true, ["CLIENT_ERROR auth token too long"] = true,
            ["CLIENT_ERROR authentication failure"] = true, ["CLIENT_ERROR bad authentication token format"] = true,
            ["CLIENT_ERROR bad command line termination"] = true }
        local admin = log_in(its.one.address, "adam", "a")
        local _, before = wire.stats(admin)
        for _, row in ipairs(roles.COMMANDS) do
            local connection = wire.connect(its.one.address)
            connection:send(row[1] .. "\r\n")
            local line = connection:receive("*l")
            assert.is_true(line == nil or refusals[line] == true, ("%s: %s"):format(row[1]:sub(1, 40), line))
            connection:close()
        end
        for _, row in ipairs(roles.PACKETS) do
            local client = binary.client(wire.connect(its.one.address))
            assert.same({ "close" }, client:ask({ row[1] }))
            client:close()
        end
        local _, after = wire.stats(admin)
        for _, name in ipairs({ "curr_items", "cmd_set", "cmd_flush", "cmd_get" }) do
            assert.equal(before[name], after[name], name)
        end
        admin:close()
    end)

    it("counts logins and failures, and logs no password", function()
        local connection = log_in(its.one.address, "adam", "a")
        local _, before = wire.stats(connection)
        log_in(its.one.address, "anna", "secret"):close()
        replies(its.one, login_lines("anna", "guess"))
        local _, after = wire.stats(connection)
        assert.same({ 2, 1 }, { after.auth_cmds - before.auth_cmds, after.auth_errors - before.auth_errors })
        connection:close()
        patience.wait_for("the log", function()
            return its.one:log():find("was refused: authentication failure", 1, true)
        end)
        assert.is_nil(its.one:log():find("guess", 1, true))
    end)

    for role, login in pairs({ read = { "rita", "pass:word" }, write = { "walt", "w" }, admin = { "adam", "a" } }) do
        it("lets a user of the role " .. role .. " do what the role holds, and nothing more", function()
            local connection, refused = log_in(its.one.address, login[1], login[2]), 0
            local _, before = wire.stats(connection, "slated")
            assert.equal(role, before.role)
            for _, row in ipairs(roles.COMMANDS) do
                local line, needed = row[1], row[2]
                local may = roles.may(role, needed)
                connection:send(line .. "\r\nmn\r\n")
                local first = connection:receive("*l")
                local left, last = line == "mn" and 2 or 1, first -- replies to mn
                repeat
                    left = left - (last == "MN" and 1 or 0)
                    last = left > 0 and assert(connection:receive("*l"))
                until left == 0
                assert.equal(not may, first == "CLIENT_ERROR not allowed: this needs the role " .. needed,
                    ("%s as %s: %s"):format(line:sub(1, 40), role, first))
                refused = refused + (may and 0 or 1)
            end
            local _, after = wire.stats(connection, "slated")
            if role ~= "admin" then -- the user that has reset the counter
                assert.equal(refused, after.role_refusals - before.role_refusals)
            end
            connection:close()
        end)
    end

    it("keeps refusals and replies in order, and is silent for requests without a reply", function()
        local connection = log_in(its.one.address, "rita", "pass:word")
        local refusal <const> = "CLIENT_ERROR not allowed: this needs the role write"
        connection:send("set a 0 0 1 noreply\r\n1\r\nflush_all noreply\r\nmg none\r\nset a 0 0 1\r\n1\r\nget none\r\n"
            .. "gat 1 a b c\r\nset a 0 0 5000\r\n" .. ("x"):rep(5000) .. "\r\nflush_all\r\nmn\r\n")
        for _, want in ipairs({ "EN", refusal, "END", refusal, refusal,
            "CLIENT_ERROR not allowed: this needs the role admin", "MN" }) do
            assert.equal(want, connection:receive("*l"))
        end
        connection:close()
    end)

    it("names the user in the audit, and reads users again at refresh_auth, while sessions keep their role", function()
        local admin, writer = log_in(its.one.address, "adam", "a"), log_in(its.one.address, "walt", "w")
        assert.equal("OK", wire.ask(admin, "config set lru_crawler_sleep 200"))
        assert.truthy(table.concat(wire.lines(admin, "stats audit"), "\n"):find(":who adam@unix:", 1, true))
        its.write("adam:new:admin\n")
        assert.equal("OK", wire.ask(admin, "refresh_auth"))
        assert.equal("STORED", wire.ask(writer, "set a 0 0 1\r\n1"))
        assert.equal("CLIENT_ERROR authentication failure", replies(its.one, login_lines("walt", "w")):match("^[^|]*"))
        for bad, why in pairs({ ["x\n"] = "line 1: it does not begin with user:password", [""] = "names no user" }) do
            its.write(bad)
            assert.matches("^SERVER_ERROR .*" .. why, wire.ask(admin, "refresh_auth"))
            log_in(its.one.address, "adam", "new"):close()
        end
        admin:close()
        writer:close()
    end)
end)

describe("the users of a process", function()
    local its = with_users({ transport = "tcp" }, { "-l", "127.0.0.2,role=read" })

    it("have no more than the role of a listener, and are read again at SIGHUP", function()
        local admin = log_in(its.one.address, "adam", "a")
        local reader = log_in(listeners(admin)["2"], "adam", "a")
        assert.equal("OK", wire.ask(admin, "flush_all"))
        assert.equal("CLIENT_ERROR not allowed: this needs the role admin", wire.ask(reader, "flush_all"))
        its.write("newt:n\n")
        os.execute("kill -HUP " .. its.one.pid)
        patience.wait_for("the users", function() return replies(its.one, login_lines("newt", "n")):find("^STORED") end)
        admin:close()
        reader:close()
    end)
end)

describe("a claim about the role", function()
    local tried = {}
    for _, row in ipairs(roles.COMMANDS) do
        tried[row[1]:match("^[%l_]+")] = true
        tried[row[1]:match("^[%l_]+ [%l_]+") or ""] = true
    end
    for _, row in ipairs(roles.PACKETS) do tried[row[1]:sub(1, 2)] = true end

    it("exists for every command, second word that changes it, verb and opcode", function()
        local commands, opcodes, verbs = 0, 0, roles.verbs()
        for name, words in pairs(roles.table_of_commands()) do
            assert.truthy(tried[name], "no role of " .. name .. " is tried")
            for _, word in ipairs(words) do
                assert.truthy(tried[name .. " " .. word], ("no role of %s %s is tried"):format(name, word))
            end
            commands = commands + 1
        end
        for _, verb in ipairs(verbs) do
            assert.truthy(tried[verb], "no role of " .. verb .. " is tried")
        end
        for opcode, name in pairs(roles.opcodes()) do
            assert.truthy(tried[opcode] or QUITS[opcode], "no role of " .. name .. " is tried")
            opcodes = opcodes + 1
        end
        assert.is_true(commands >= 14 and #verbs >= 14 and opcodes >= 34)
    end)
end)

describe("a listener's role", function()
    local one, admin, addresses

    setup(function()
        one = server.start({ transport = "tcp", args = { "-l", "127.0.0.2,role=read", "-l", "127.0.0.3,role=write" } })
        admin = wire.connect(one.address)
        local others = listeners(admin)
        addresses = { admin = one.address, read = others["2"], write = others["3"] }
    end)
    teardown(function()
        admin:close()
        one:stop()
    end)

    it("is admin on this machine, and as -l says elsewhere", function()
        local reader = wire.connect(addresses.read)
        assert.equal("STORED", wire.ask(admin, "set a 0 0 1\r\n1"))
        assert.equal("CLIENT_ERROR not allowed: this needs the role write", wire.ask(reader, "set a 0 0 1\r\n1"))
        assert.equal("OK", wire.ask(admin, "flush_all"))
        assert.equal("CLIENT_ERROR not allowed: this needs the role admin", wire.ask(reader, "flush_all"))
        -- The right to recache a stale item is the right to store it.
        wire.ask(admin, "ms stale 1\r\n1")
        assert.equal("HD", wire.ask(admin, "md stale I"))
        assert.equal("HD s1 Z X", wire.ask(reader, "mg stale s"))
        assert.equal("HD s1 X W", wire.ask(admin, "mg stale s"))
        reader:close()
    end)

    for _, role in ipairs({ "read", "write", "admin" }) do
        it("lets " .. role .. " do what it holds with each opcode, and nothing more", function()
            local refused, known = 0, roles.opcodes()
            local _, before = wire.stats(admin, "slated")
            local client = binary.client(wire.connect(addresses[role]))
            for _, row in ipairs(roles.PACKETS) do
                local packet, needed = row[1], row[2]
                local said = client:ask({ packet })
                local is_refused = said[1] == packet:sub(1, 2) .. REFUSED
                assert.equal(not roles.may(role, needed), is_refused, ("%s as %s: %s"):format(packet, role, said[1]))
                assert.not_equal("close", said[#said], packet)
                refused = refused + (is_refused and 1 or 0)
            end
            local _, after = wire.stats(admin, "slated")
            if role ~= "admin" then -- the user that has reset the counter
                assert.equal(refused, after.role_refusals - before.role_refusals)
            end
            for number = 0, 255 do
                local opcode = ("%02x"):format(number)
                if not known[opcode] then
                    assert.same({ opcode .. " status=81 value=Unknown\\x20command" }, client:ask({ opcode }))
                end
            end
            client:close()
            for opcode in pairs(QUITS) do
                client = binary.client(wire.connect(addresses[role]))
                local said = client:ask({ opcode })
                assert.equal("close", said[#said])
                client:close()
            end
        end)
    end
end)

describe("slated on an address of other machines", function()
    for what, words in pairs({ ["--public"] = " --public", ["a role"] = ",role=read",
        ["a password"] = " -Y %s/users" }) do
        it("listens with " .. what, function()
            if not os.execute("unshare -rn true 2>/dev/null") then
                pending("no network of its own can be had here")
                return
            end
            local folder = server.folder()
            finally(function() server.remove_folder(folder) end)
            server.write_file(folder .. "/users", USERS)
            server.write_file(folder .. "/script", ("%s %s -p -1 -l 0.0.0.0%s -v -P %s/pid & sleep 0.01; "
                .. "while ! test -s %s/pid; do sleep 0.01; done; kill $(cat %s/pid); wait"):format(server.slated(),
                server.USER, words:format(folder), folder, folder, folder))
            local _, said = server.said(("unshare -rn sh %s/script"):format(folder))
            assert.truthy(said:find("listening on tcp:0.0.0.0:", 1, true), said)
        end)
    end
end)
