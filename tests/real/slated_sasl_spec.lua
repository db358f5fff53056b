-- SPDX-License-Identifier: BSD-3-Clause
-- Logging in by SASL (-S): the rights of a client of the binary protocol before a login, the ways and steps of a login,
-- and an authority that takes its time. The authority is ours, in place of saslauthd. Claims about a client alone hold
-- for a memcached with SASL, too:
--   SLATE_TEST_SERVER=path/to/memcached busted --lua=/usr/bin/lua5.4 tests/real/slated_sasl_spec.lua
local socket = require "socket"
local unix = require "socket.unix"
local binary = require "support.binary"
local patience = require "support.patience"
local proto_server = require "support.proto_server"
local support = require "support.server"

local DEADLINE_S <const> = 300 -- only a hang takes that long
local IS_SLATED <const> = proto_server.is_slated()
local PLAIN <const> = "21 key=PLAIN value="
local AUTHENTICATED <const> = "21 status=00 value=Authenticated"
local REFUSED <const> = "21 status=20 value=Auth\\x20failure."

-- --- the authority: logins to accept, over the socket of saslauthd ---

local Authority = {}
Authority.__index = Authority

local function authority(folder)
    local path = folder .. "/authority"
    local listener = assert(unix.stream())
    assert(listener:bind(path))
    assert(listener:listen(64))
    listener:settimeout(DEADLINE_S)
    return setmetatable({ socket = listener, path = path }, Authority)
end

-- A request to the authority: its name and password, and the connection that waits for the answer.
function Authority:question()
    local connection = assert(self.socket:accept())
    connection:settimeout(DEADLINE_S)
    local fields = {}
    for i = 1, 4 do
        local n = (">I2"):unpack(assert(connection:receive(2)))
        fields[i] = n > 0 and assert(connection:receive(n)) or ""
    end
    return { user = fields[1], password = fields[2], connection = connection }
end

function Authority.answer(question)
    local words = question.password == "secret" and "OK" or "NO"
    question.connection:send((">s2"):pack(words))
    question.connection:close()
end

function Authority:close()
    self.socket:close()
end

-- --- a server and its clients ---

local one, judge, folder

-- An authority and the settings that name it; returns the server's environment.
local function prepare(settings)
    folder = support.folder()
    judge = authority(folder)
    support.write_file(folder .. "/memcached.conf",
        ("pwcheck_method: saslauthd\nsaslauthd_path: %s\n%s"):format(judge.path, settings))
    return { "SASL_CONF_PATH=" .. folder }
end

local function start(settings, ...)
    one = assert(proto_server.start({ "-S", ... }, false, prepare(settings)))
end

local function stop()
    one:stop()
    judge:close()
    support.remove_folder(folder)
end

local Client = {}
Client.__index = Client

local function connect()
    local connection = assert(one:connect())
    connection:settimeout(DEADLINE_S)
    return setmetatable({ connection = connection, binary = binary.client(connection) }, Client)
end

function Client:send(words)
    assert(self.connection:send(binary.packet(words)))
end

function Client:receive()
    local reply = self.binary:receive()
    return reply and self.binary:tell(reply) or "closed"
end

function Client:ask(words)
    self:send(words)
    return self:receive()
end

-- A login whose last step queries the authority.
function Client:log_in(words)
    self:send(words)
    Authority.answer(judge:question())
    return self:receive()
end

function Client:close()
    self.connection:close()
end

-- A client that is logged in.
local function member(user)
    local client = connect()
    assert.equal(AUTHENTICATED, client:log_in(PLAIN .. "\\x00" .. (user or "anna") .. "\\x00secret"))
    return client
end

describe("a server with SASL", function()
    setup(function() start("mech_list: plain login cram-md5\n") end)
    teardown(stop)

    -- Each step: { packet sent, reply, whether it queries the authority }; "=" before the reply: a pattern.
    local function plays(steps)
        local client = connect()
        for _, step in ipairs(steps) do
            local said = step[3] and client:log_in(step[1]) or client:ask(step[1])
            assert.truthy(step[2]:find("^=") and said:find(step[2]:sub(2)) or said == step[2], step[1] .. ": " .. said)
        end
        return client
    end

    local right <const> = { PLAIN .. "\\x00anna\\x00secret", AUTHENTICATED, true }

    for claim, steps in pairs({
        ["tells anybody its ways to log in and its version"] = { { "20", "=PLAIN" }, { "20", "=LOGIN" },
            { "20", "=CRAM%-MD5" }, { "0b", "=^0b status=00 value=1%." } },
        ["lets a client in that gives name and password with its way"] = { right,
            { "01 key=mine extras=0000000000000000 value=v", "01 status=00 cas=1" }, { "00 key=mine", "=value=v" } },
        ["lets a client in that gives them in a second step"] = { { "21 key=PLAIN", "21 status=21" },
            { "22 key=PLAIN value=\\x00anna\\x00secret", "22 status=00 value=Authenticated", true } },
        ["lets a client in that answers challenges"] = { { "21 key=LOGIN", "=^21 status=21 value=Username:" },
            { "22 key=LOGIN value=anna", "=^22 status=21 value=Password:" },
            { "22 key=LOGIN value=secret", "22 status=00 value=Authenticated", true } },
        ["refuses a wrong password, and lets the same connection try again"] = {
            { PLAIN .. "\\x00anna\\x00guess", REFUSED, true }, right },
        ["refuses a wrong answer to a challenge"] = { { "21 key=CRAM-MD5", "=^21 status=21 value=<" },
            { "22 key=CRAM-MD5 value=anna\\x200123", "22 status=20 value=Auth\\x20failure." } },
        ["refuses a way that it does not have"] = { { "21 key=NONE value=x", REFUSED } },
        ["refuses a step of a login that was not begun"] = {
            { "22 key=PLAIN value=\\x00anna\\x00secret", "22 status=20 value=Auth\\x20failure." } },
        ["calls a way's name of more than 32 bytes invalid, and goes on"] = {
            { "21 key=W*33 value=x", "21 status=04 value=Invalid\\x20arguments" }, right },
        ["takes back a login where a later attempt fails"] = { right, { "0a", "0a status=00" },
            { PLAIN .. "\\x00anna\\x00guess", REFUSED }, { "0a", "0a status=20 value=Auth\\x20failure." } },
        ["takes 16 KiB of a step, refuses more, and goes on"] = IS_SLATED and { { PLAIN .. "x*16379", REFUSED },
            { PLAIN .. "x*16380", "21 status=82 value=Out\\x20of\\x20memory" },
            { PLAIN .. "x*70000", "21 status=82 value=Out\\x20of\\x20memory" }, right } or nil,
    }) do
        it(claim, function() plays(steps):close() end)
    end

    it("refuses all else before the login, and hangs up", function()
        for _, words in ipairs { "00 key=k", "09 key=k", "01 key=k extras=0000000000000000 body_bytes=900000", "10",
            "08", "0a", "30" } do
            local client = plays({ { words, words:sub(1, 2) .. " status=20 value=Auth\\x20failure." } })
            assert.equal("closed", client:receive())
            client:close()
        end
        local connection = assert(one:connect()) -- the text protocol
        connection:settimeout(DEADLINE_S)
        connection:send(("get a\r\n"):rep(4)) -- memcached waits for as many bytes as a head has
        assert.equal("closed", select(2, connection:receive("*l")))
        connection:close()
    end)

    it("accepts a login byte by byte, and answers later requests after it", function()
        local client = connect()
        for byte in (binary.packet(right[1]) .. binary.packet("0a")):gmatch(".") do
            client.connection:send(byte)
        end
        Authority.answer(judge:question())
        assert.equal(AUTHENTICATED, client:receive())
        assert.equal("0a status=00", client:receive())
        client:close()
    end)

    it("counts logins and those that it refused; names the user in the audit, and no password in the log", function()
        local client, other = member(), connect()
        local before = client.binary:stats()
        other:log_in(PLAIN .. "\\x00anna\\x00guess-of-mine")
        other:log_in(right[1])
        local after = client.binary:stats()
        assert.same({ 2, 1 }, { after.auth_cmds - before.auth_cmds, after.auth_errors - before.auth_errors })
        other:close()
        if IS_SLATED then
            assert.equal("10 status=00", client:ask("10 key=detail\\x20on"))
            local found = false
            for name, value in pairs(client.binary:stats("audit")) do
                found = found or (name:find(":who$") and value:find("^anna@"))
            end
            assert.truthy(found)
            patience.wait_for("the log", function()
                return one:log():find("was refused: authentication failure", 1, true)
            end)
            assert.is_nil(one:log():find("guess-of-mine", 1, true))
        end
        client:close()
    end)
end)

describe("stock clients", function()
    setup(function()
        local environment = prepare("mech_list: plain\n")
        one = support.start({ transport = "tcp", args = { "-S" }, environment = environment,
            binary = proto_server.program() })
    end)
    teardown(stop)

    -- A refused client may have tried again before it ended.
    local function forget_questions()
        judge.socket:settimeout(0)
        for connection in function() return judge.socket:accept() end do
            connection:close()
        end
        judge.socket:settimeout(DEADLINE_S)
    end

    -- A command's output, whether its first login counts, and whether it ended well.
    local function run(command)
        local said = folder .. "/said"
        local pipe = assert(io.popen(("%s >%s 2>&1; echo $?"):format(command, said), "r"))
        Authority.answer(judge:question())
        local status = pipe:read("l")
        pipe:close()
        forget_questions()
        return support.read_file(said), status == "0"
    end

    local function tool(name, password, word)
        return run(("%s --servers=%s --binary --username=anna --password=%s %s"):format(name, one.address, password,
            word))
    end

    it("of libmemcached log in with a right password, and store and read", function()
        if not os.execute("command -v memccp >/dev/null") then
            pending("memccp is not installed")
            return
        end
        support.write_file(folder .. "/kept", "a file of mine")
        assert.is_true(select(2, tool("memccp", "secret", folder .. "/kept")))
        assert.equal("a file of mine\n", (tool("memccat", "secret", "kept")))
        local said, well = tool("memccat", "guess", "kept")
        assert.is_false(well)
        assert.truthy(said:find("AUTHENTICATION FAILURE", 1, true), said)
    end)

    local python <const> = "/usr/bin/python3" -- the one that Debian's packages are for
    local pylibmc = { name = "Python, pylibmc,", least = 0,
        lacks = function()
            return not os.execute(python .. " -c 'import pylibmc' 2>/dev/null") and "python3-pylibmc is not installed"
        end,
        command = function(...) return table.concat({ python, "tests/clients/pylibmc_basic.py", ... }, " ") end }
    for _, client in ipairs({ pylibmc, table.unpack(require("clients.list").WITH_LOGIN) }) do
        it(("of %s log in with a right password, and do all that they do"):format(client.name), function()
            local lacking = client.lacks()
            if lacking then
                pending(lacking)
                return
            end
            local host, port = one.address:match("^(.+):(%d+)$")
            local said, well = run(client.command(host, port, "anna", "secret"))
            assert.is_true(well, said)
            assert.truthy(client.least == 0 or tonumber(said:match("(%d+) checks")) >= client.least, said)
            said, well = run(client.command(host, port, "anna", "guess"))
            assert.is_false(well, said)
        end)
    end
end)

if not IS_SLATED then
    return
end

describe("users of MEMCACHED_SASL_PWDB", function()
    local users

    setup(function()
        local environment = prepare("")
        support.write_file(folder .. "/memcached.conf", "mech_list: plain\nauxprop_plugin: none\n")
        users = folder .. "/users"
        support.write_file(users, ("x"):rep(300) .. "anna:toolong\nanna:secret:more\nberta:b\r\ncarl:c")
        environment[#environment + 1] = "MEMCACHED_SASL_PWDB=" .. users
        one = assert(proto_server.start({ "-S" }, false, environment))
    end)
    teardown(stop)

    local function log_in(user, password)
        local client = connect()
        local said = client:ask(PLAIN .. "\\x00" .. user .. "\\x00" .. password)
        client:close()
        return said
    end

    it("log in with their passwords, and with no other", function()
        for _, login in ipairs { { "anna", "secret" }, { "berta", "b" }, { "carl", "c" } } do
            assert.equal(AUTHENTICATED, log_in(table.unpack(login)))
        end
        for _, login in ipairs { { "anna", "secre" }, { "anna", "more" }, { "anna", "toolong" }, { "ann", "a" },
            { "berta", "secret" }, { "dora", "d" } } do
            assert.equal(REFUSED, log_in(table.unpack(login)), login[1] .. " " .. login[2])
        end
    end)

    it("are read at every login", function()
        support.write_file(users, "dora:d\n")
        assert.equal(AUTHENTICATED, log_in("dora", "d"))
        assert.equal(REFUSED, log_in("anna", "secret"))
        os.remove(users)
        assert.equal(REFUSED, log_in("dora", "d"))
    end)
end)

describe("logins whose authority does not answer", function()
    before_each(function() start("mech_list: plain\n", "-t", "1") end)
    after_each(stop)

    it("keep nobody else waiting", function()
        local client, slow = member(), {}
        for i = 1, 40 do
            slow[i] = connect()
            slow[i]:send(PLAIN .. "\\x00slow\\x00secret")
        end
        local question = judge:question() -- the first of them waits for the authority's answer
        for _ = 1, 20 do
            assert.equal("0a status=00", client:ask("0a"))
        end
        Authority.answer(question)
        for _ = 2, 40 do
            Authority.answer(judge:question())
        end
        for i = 1, 40 do
            assert.equal(AUTHENTICATED, slow[i]:receive())
            slow[i]:close()
        end
        client:close()
    end)

    it("end with their clients", function()
        local client = member()
        local function connections() return tonumber(client.binary:stats().curr_connections) end
        local before = connections()
        for _ = 1, 10 do
            local gone = connect()
            gone:send(PLAIN .. "\\x00gone\\x00secret")
            local question = judge:question()
            gone:close()
            Authority.answer(question)
            patience.wait_for("the connection's end", function() return connections() == before end)
        end
        assert.equal("0a status=00", client:ask("0a"))
        client:close()
    end)

    it("are not sent to the authority once their clients have hung up", function()
        local client, crowd, questions = member(), {}, {}
        local function connections() return tonumber(client.binary:stats().curr_connections) end
        local before = connections()
        for i = 1, 20 do
            crowd[i] = connect()
            crowd[i]:send(PLAIN .. "\\x00crowd\\x00secret")
        end
        for i = 1, 4 do -- as many as threads
            questions[i] = judge:question()
        end
        for i = 1, 20 do
            crowd[i]:close()
        end
        patience.wait_for("the connections' end", function() return connections() == before end)
        for i = 1, 4 do
            Authority.answer(questions[i])
        end
        member("late"):close() -- its query is the next
        client:close()
    end)

    it("do not keep the server from ending", function()
        local slow = connect()
        slow:send(PLAIN .. "\\x00slow\\x00secret")
        local question = judge:question()
        slow:send(PLAIN .. "\\x00slow\\x00secret")
        one:stop()
        assert.equal("closed", slow:receive())
        question.connection:close()
        slow:close()
    end)
end)

describe("logins of a crowd", function()
    setup(function()
        local environment = prepare("mech_list: plain\n")
        one = support.start({ transport = "tcp", args = { "-S" }, environment = environment })
    end)
    teardown(stop)

    local function ask_from(host, user)
        local connection = socket.tcp()
        assert(connection:bind(host, 0))
        assert(connection:connect("127.0.0.1", tonumber(one.address:match(":(%d+)$"))))
        connection:settimeout(DEADLINE_S)
        local packet = binary.packet(PLAIN .. "\\x00" .. user .. "\\x00secret")
        assert(connection:send(packet))
        return connection, #packet
    end

    it("from one address keep those from others waiting for some steps only", function()
        local looker = binary.client(ask_from("127.0.0.1", "looker"))
        Authority.answer(judge:question())
        assert.equal("Authenticated", looker:receive().value)
        local connections, questions, bytes = {}, {}, tonumber(looker:stats().bytes_read)
        for i = 1, 60 do
            local connection, sent = ask_from("127.0.0.1", "crowd")
            connections[i], bytes = connection, bytes + sent
        end
        for i = 1, 4 do -- as many as threads
            questions[i] = judge:question()
        end
        for i = 2, 9 do -- all of them share the crowd's lane in one of 16^8 runs
            local connection, sent = ask_from("127.0.0." .. i, "other")
            connections[#connections + 1], bytes = connection, bytes + sent
        end
        patience.wait_for("all to be asked", function()
            bytes = bytes + 24 -- the head of this request
            return tonumber(looker:stats().bytes_read) >= bytes
        end)
        local before = 0
        for _, question in ipairs(questions) do
            Authority.answer(question)
        end
        repeat
            local question = judge:question()
            Authority.answer(question)
            before = before + 1
        until question.user == "other"
        assert.is_true(before <= 8, before .. " of the crowd came first")
        for _ = before + 5, #connections do
            Authority.answer(judge:question())
        end
        for _, connection in ipairs(connections) do
            assert.equal("Authenticated", binary.client(connection):receive().value)
            connection:close()
        end
        looker:close()
    end)
end)

describe("a server with SASL and a file of users", function()
    local users_folder

    setup(function()
        users_folder = support.folder()
        local path = users_folder .. "/users"
        support.write_file(path, "anna:in-the-file:read\nadam:in-the-file:admin\n")
        os.execute("chmod 600 " .. path)
        start("", "-Y", path)
    end)
    teardown(function()
        stop()
        support.remove_folder(users_folder)
    end)

    it("takes logins by either, and the role of the file for both", function()
        local text = assert(one:connect())
        text:settimeout(DEADLINE_S)
        text:send("set any 0 0 16\r\nanna in-the-file\r\nset a 0 0 1\r\n1\r\n")
        assert.equal("STORED", text:receive("*l"))
        assert.truthy(text:receive("*l"):find("not allowed", 1, true))
        text:close()
        local reader, admin, other = member("anna"), member("adam"), member("otto")
        assert.truthy(reader:ask("04 key=k"):find("^04 status=20"))
        assert.equal("00 status=01 value=Not\\x20found", reader:ask("00 key=k"))
        assert.equal("08 status=00", admin:ask("08"))
        assert.equal("08 status=00", other:ask("08")) -- the listener's: this machine's is admin
        for _, client in ipairs { reader, admin, other } do
            client:close()
        end
    end)

    it("does not offer to let anybody in without a name, where its settings list no ways", function()
        local client = connect()
        local ways = client:ask("20")
        assert.truthy(ways:find("PLAIN", 1, true), ways)
        assert.is_nil(ways:find("ANONYMOUS", 1, true), ways)
        assert.equal(REFUSED, client:ask("21 key=ANONYMOUS value=me"))
        client:close()
    end)
end)
