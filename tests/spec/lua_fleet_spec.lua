-- SPDX-License-Identifier: BSD-3-Clause
-- Where keys lie in a fleet: behind the real nutcracker, and by slatectl.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local client = require "slate.wire.client"
local command = require "support.command"
local fleet = require "slate.fleet.local_fleet"
local ring = require "slate.fleet.ring"
local server = require "support.server"

local has_proxy <const> = fleet.proxy_program() ~= nil
local SLATED <const> = command.root() .. "/build/bin/slated"

-- A fleet in a folder of its own, ended by `down`.
local function start(count, options)
    local outer = server.folder()
    options.program, options.memory_mb = options.program or SLATED, 16
    local processes, message = fleet.up(outer .. "/fleet", count, options)
    if not processes then
        server.remove_folder(outer)
        error(message)
    end
    local self = { folder = outer .. "/fleet", processes = processes }
    self.servers = assert(fleet.servers(self.folder))
    function self.down()
        assert(fleet.down(self.folder))
        server.remove_folder(outer)
    end
    function self.kill(number)
        os.execute("kill -9 " .. processes[number].pid)
        while server.is_running(processes[number].pid) do
            require("slate.base.clock").sleep(0.01)
        end
    end
    return self
end

local function keys_named(prefix, count)
    local keys = {}
    for i = 1, count do
        keys[i] = prefix .. i
    end
    return keys
end

local function store(address, keys)
    local through = assert(client.connect(address))
    local batch = through:pipeline()
    for _, key in ipairs(keys) do
        batch:set(key, "value of " .. key)
    end
    local results, errors = batch:run()
    through:close()
    assert.same({}, errors)
    assert.equal(#keys, #results)
end

-- How many of the keys each server holds, and how many of these the ring would not put there.
local function misplaced(one, keys)
    local wrong, held = 0, 0
    for index, member in ipairs(one.members) do
        local c = assert(client.connect(member.host .. ":" .. member.port))
        local items = assert(c:get_many(keys))
        c:close()
        for key in pairs(items) do
            held = held + 1
            wrong = wrong + (one:server(key).index == index and 0 or 1)
        end
    end
    return wrong, held
end

describe("nutcracker", function()
    if not has_proxy then
        pending("nutcracker is not installed")
        return
    end

    it("puts 10,000 keys on 5 servers with weights where the ring says", function()
        local one = start(5, { weights = { 1, 2, 3, 7, 10 } })
        finally(one.down)
        local keys = keys_named("key-", 10000)
        store(one.processes[6].address, keys)
        local wrong, held = misplaced(assert(ring.new(one.servers)), keys)
        assert.equal(10000, held)
        assert.equal(0, wrong)
    end)

    for _, case in ipairs({
        { "ketama", "hsieh" }, { "modula", "hsieh" }, { "ketama", "fnv1a_64", { 3, 1, 2 } },
        { "modula", "one_at_a_time", { 1, 2, 4 } }, { "modula", "crc32a" }, { "modula", "crc32", nil, "crc" },
    }) do
        local distribution, hash, weights, our_name = table.unpack(case, 1, 4)
        it(("agrees on %s with %s%s"):format(distribution, hash, weights and " and weights" or ""), function()
            -- nutcracker sorts its servers by their names, shorter names first.
            local one = start(3, { weights = weights, hash = hash, distribution = distribution,
                names = { "zz", "bbb", "aaa" } })
            finally(one.down)
            local keys = keys_named("some key's name ", 700)
            for i, key in ipairs(keys) do
                keys[i] = key:gsub(" ", ".") .. ("x"):rep(i % 23)
            end
            store(one.processes[4].address, keys)
            local wrong, held = misplaced(assert(ring.new(one.servers,
                { kind = distribution, hash = our_name or hash, sorted = true })), keys)
            assert.equal(700, held)
            assert.equal(0, wrong)
        end)
    end
end)

describe("slatectl fleet", function()
    local ctl

    before_each(function() ctl = command.new() end)
    after_each(function()
        ctl.run("fleet down --folder $PWD/f")
        ctl.remove()
    end)

    it("starts servers, shows where keys lie, and ends them", function()
        if not has_proxy then
            pending("nutcracker is not installed")
            return
        end
        local option = " --folder '" .. ctl.folder .. "/a fleet'" -- as it must be shown, for a shell to take it
        finally(function() ctl.run("fleet down" .. option) end)
        local code, text, said = ctl.run("fleet up 2 --weights 1,3 --memory 8" .. option)
        assert.equal(0, code, said)
        local end_of_it = "slatectl fleet down" .. option
        assert.truthy(text:find(end_of_it .. "\n", 1, true), text)
        assert.truthy(text:find("slatectl fleet where KEY" .. option .. "\n", 1, true), text)
        local proxy = text:match("\nnutcracker +(%S+)")
        local c = assert(client.connect(proxy))
        assert.is_true(c:set("greeting", "hello"))
        c:close()
        local _, line = ctl.run("fleet where greeting" .. option)
        local holder = line:match("greeting +(%S+)")
        local direct = assert(client.connect(holder))
        assert.equal("hello", direct:get("greeting").value)
        direct:close()
        local reason
        code, _, reason = ctl.run("fleet up 2" .. option)
        assert.equal(75, code)
        assert.truthy(reason:find(end_of_it .. " ends it", 1, true), reason)
        code, text = ctl.shell(end_of_it)
        assert.equal(0, code)
        assert.equal("3 processes ended\n", text)
        assert.is_nil((client.connect(holder, { timeout_s = 1 })))
        assert.equal(false, os.execute("test -e '" .. ctl.folder .. "/a fleet'") == true)
        assert.equal(74, (ctl.run("fleet down" .. option)))
    end)

    it("starts what else speaks the protocol, and no proxy where none is wanted", function()
        if not server.memcached() then
            pending("there is no memcached")
            return
        end
        local program = server.memcached():find("^/") and server.memcached() or ctl.root .. "/" .. server.memcached()
        local code, text, said = ctl.run("fleet up 2 --no-proxy --program " .. program .. " --folder $PWD/f --json")
        assert.equal(0, code, said)
        local document = require("cjson").decode(text)
        assert.equal(2, #document.processes)
        local c = assert(client.connect(document.processes[1].address))
        assert.is_nil(c:identify().slated)
        c:close()
    end)

    it("leaves nothing behind when a server does not start", function()
        local code, _, said = ctl.run("fleet up 2 --no-proxy --program /bin/false --folder $PWD/f")
        assert.equal(70, code)
        assert.truthy(said:find("/bin/false did not start", 1, true), said)
        assert.equal(false, os.execute("test -e " .. ctl.folder .. "/f") == true)
    end)

    it("is not what stands in a folder of somebody else's, nor behind a link", function()
        local folder = ctl.folder
        assert(os.execute(("mkdir -m 700 %s/real && ln -s real %s/f"):format(folder, folder)))
        server.write_file(folder .. "/real/fleet", "1 server-1 127.0.0.1:1 1\n")
        server.write_file(folder .. "/real/servers", "127.0.0.1:1:1\n")
        for _, words in ipairs({ "fleet down", "fleet where key" }) do
            local code, _, said = ctl.run(words .. " --folder $PWD/f")
            assert.equal(74, code, said)
            assert.truthy(said:find("it is not a folder of your own", 1, true), said)
            code, _, said = ctl.run(words .. " --folder $PWD/none")
            assert.equal(74, code)
            assert.truthy(said:find("there is no fleet in [^\n:]*/none\n"), said)
        end
        assert.equal("1 server-1 127.0.0.1:1 1\n", server.read_file(folder .. "/real/fleet"))
        if not os.execute("chown 65534 " .. folder .. "/real 2>/dev/null") then
            return -- only root can give a folder away
        end
        finally(function() os.execute("chown 0 " .. folder .. "/real") end)
        assert.equal(74, (ctl.run("fleet down --folder $PWD/real")))
    end)

    it("does not end a process that is not the fleet's", function()
        assert.equal(0, (ctl.run("fleet up 1 --no-proxy --folder $PWD/f")))
        local file = assert(io.open(ctl.folder .. "/f/fleet", "a"))
        local stranger = server.start()
        finally(function() stranger:stop() end)
        file:write(stranger.pid, " stranger 127.0.0.1:1 1\n")
        file:close()
        assert.equal("1 process ended\n", select(2, ctl.run("fleet down --folder $PWD/f")))
        assert.is_true(server.is_running(stranger.pid))
    end)

    it("reads the servers of another fleet from a file in nutcracker's words", function()
        local file = assert(io.open(ctl.folder .. "/servers", "w"))
        file:write("# ours\n   - 10.0.0.1:11211:1\n   - 10.0.0.2:11211:1 two # the second\n\n")
        file:close()
        local _, text = ctl.run("fleet where --servers servers --copies 2 --json a b")
        local document = require("cjson").decode(text)
        assert.equal("slate/fleet-where/1", document.schema)
        assert.equal(2, #document.keys[1].servers)
        local expected = ring.new({ "10.0.0.1:11211", "10.0.0.2:11211:1 two" }):server("b").name
        assert.equal(expected, document.keys[2].servers[1])
        assert.equal(74, (ctl.run("fleet where --servers nowhere a")))
        assert.equal(74, (ctl.run("fleet where --folder $PWD/none a")))
    end)

    it("is as slate-fleets(7) says: every example runs, in its order", function()
        if not has_proxy then
            pending("nutcracker is not installed")
            return
        end
        local one = server.start({ transport = "tcp", args = { "-m", "16" } })
        local by_name = one.address:gsub("127.0.0.1", "localhost")
        server.write_file(ctl.folder .. "/fleet", one.address .. "\n")
        server.write_file(ctl.folder .. "/fleet.txt", ("%s:1\n%s:1\n"):format(one.address, by_name))
        -- The page's servers are this one, by two names; what would run on ends soon.
        local in_place_of = { ["10.0.0.1"] = one.address, ["10.0.0.2"] = by_name, ["10.0.0.4"] = by_name,
            [" 10.0.0.3"] = "", ["/etc/slate/fleet"] = "fleet",
            ["--guard hit-2"] = "--for 200ms --interval 50ms --guard hit-2", ["--listen"] = "--listen :0",
            ["pilot free-pages"] = "pilot free-pages --for 200ms --interval 50ms" }
        local count = 0
        for line in command.read_file("man/slate-fleets.7"):gmatch("%.Dl (slatectl [^\n]+)") do
            for _, words in ipairs({ "10.0.0.1", "10.0.0.2", " 10.0.0.3", "10.0.0.4",
                "/etc/slate/fleet", "--guard hit-2", "pilot free-pages" }) do
                line = line:gsub(words:gsub("%p", "%%%0"), in_place_of[words])
            end
            line = line:gsub("%-%-listen$", in_place_of["--listen"])
            local code, _, said = ctl.shell("XDG_RUNTIME_DIR=$PWD " .. line)
            assert.equal(0, code, line .. ": " .. said)
            count = count + 1
        end
        one:stop()
        assert.equal(9, count)
    end)

    it("says what is wrong with its arguments", function()
        for arguments, part in pairs({
            ["up 0"] = "1 to 64", ["up 65"] = "1 to 64", ["up 2 --weights 1"] = "1 weight for 2 servers",
            ["up 2 --weights 1,x"] = "'x'", ["up 1 --folder f"] = "absolute", ["where a --hash sha1"] = "fleet",
        }) do
            local folder = arguments:find("folder", 1, true) and "" or " --folder $PWD/f"
            local code, _, said = ctl.run("fleet " .. arguments .. folder)
            assert.truthy(code == 64 or code == 74, arguments)
            assert.truthy(said:find(part, 1, true), said)
        end
    end)
end)
