-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl on many servers: all are queried at once, one that is down is a row, and lists of servers are read.
local addresses = require "slate.wire.addresses"
local gather = require "slate.base.gather"
local command = require "support.command"
local dkjson = require "dkjson"
local server = require "support.server"
local together = require "slate.wire.together"
local unix = require "socket.unix"
require "support.world"

describe("tasks", function()
    it("go on while others wait, and all that they return comes back in order", function()
        local clock, order = require "slate.base.clock", {}
        local function task(name, ...)
            local naps = { ... }
            return function()
                for _, seconds in ipairs(naps) do
                    clock.sleep(seconds)
                    order[#order + 1] = name
                end
                return name, #naps
            end
        end
        assert.same({ { "a", 1, n = 2 }, { "b", 2, n = 2 }, { "c", 0, n = 2 } },
            together.run({ task("a", 0.2), task("b", 0.01, 0.01), task("c") }))
        assert.same({ "b", "b", "a" }, order)
        assert.is_false(together.is_task())
        assert.same({}, together.run({}))
    end)

    it("have 300 of their own at most at any time, all of them together: select knows few descriptors", function()
        local alive, most = 0, 0
        local function one()
            alive = alive + 1
            most = math.max(most, alive)
            require("slate.base.clock").sleep(0)
            alive = alive - 1
            return true
        end
        local functions, parents = {}, {}
        for i = 1, 200 do functions[i] = one end
        for i = 1, 4 do parents[i] = function() return #together.run(functions) end end
        assert.same({ { 200, n = 1 }, { 200, n = 1 }, { 200, n = 1 }, { 200, n = 1 } }, together.run(parents))
        assert.same({ 300, 0 }, { most, alive })
    end)

    it("that accept connections rest while there is no descriptor for one", function()
        local socket, clock = require "socket.core", require "slate.base.clock"
        local listening = assert(socket.tcp4())
        assert(listening:bind("127.0.0.1", 0) and listening:listen(1))
        local _, port = listening:getsockname()
        local client = assert(socket.tcp4())
        assert(client:connect("127.0.0.1", port))
        local tries, until_s = 0, clock.steady_s() + 0.5
        local ok, raised = pcall(together.serve, {
            getfd = function() return listening:getfd() end,
            dirty = function() return false end,
            settimeout = function() end,
            accept = function()
                tries = tries + 1
                if clock.steady_s() > until_s then
                    error({ message = "over" })
                end
                return nil, "Too many open files"
            end,
        }, 10, error)
        assert.same({ false, { message = "over" } }, { ok, raised })
        client:close()
        listening:close()
        assert.truthy(tries >= 1 and tries <= 5)
    end)

    it("raise an error raised in one of them", function()
        local ok, raised = pcall(together.run, { function() end, function() error({ message = "oh" }) end })
        assert.is_false(ok)
        assert.same({ message = "oh" }, raised)
    end)
end)

describe("a list of servers", function()
    it("has commas between them, and names that are looked up", function()
        local list = assert(addresses.parse("a:1,/run/b.sock,[::1]:2,tls://c"))
        local names = gather.values(assert(addresses.expand({ list, assert(addresses.parse("d")) })), "name")
        assert.same({ "a:1", "/run/b.sock", "[::1]:2", "tls://c:11211", "d:11211" }, names)
        local looked_up = assert(addresses.expand({ assert(addresses.parse("dns:127.0.0.1:99")) }))
        assert.same({ "127.0.0.1:99" }, { looked_up[1].name, looked_up[2] })
    end)

    it("is refused when one of them is none", function()
        for _, text in ipairs({ "", ",", "a b", "a,b:99999", "dns:/run/x", "dns:tls://a", "dns:" }) do
            assert.is_nil((addresses.parse(text)), text)
        end
        local _, message, code = addresses.expand({ assert(addresses.parse("dns:name.invalid:1")) })
        assert.equal("connect", code)
        assert.truthy(message:find("^cannot look up name.invalid: "), message)
    end)
end)

describe("slatectl on several servers", function()
    local servers, ctl, list = {}, nil, nil

    setup(function()
        ctl = command.new()
        for i = 1, 2 do
            servers[i] = server.start({ args = { "-m", "16", "-o", "slab_automove=0" } })
            local client = servers[i]:connect()
            assert(client:set("key", ("x"):rep(100 * i)))
            client:close()
        end
        list = servers[1].address .. "," .. servers[2].address
    end)
    teardown(function()
        for _, one in ipairs(servers) do one:stop() end
        ctl.remove()
    end)

    it("queries more servers than it may open files, in waves", function()
        local folder = server.folder()
        finally(function() server.remove_folder(folder) end)
        local names = {}
        for i = 1, 60 do
            names[i] = ("%s/%d"):format(folder, i)
            assert(os.execute(("ln -s %s %s"):format(servers[1].address, names[i])))
        end
        server.write_file(folder .. "/list", table.concat(names, "\n") .. "\n")
        for _, limit in ipairs({ 48, 33 }) do
            local code, out, err = ctl.shell(("ulimit -n %d && slatectl fleet file:%s/list --interval 0"):format(limit,
                folder))
            assert(code == 0 and out:find("60 servers, 0 down", 1, true), out .. err)
            code, out, err = ctl.shell(("ulimit -n %d && slatectl check file:%s/list --interval 0"):format(limit,
                folder))
            assert(code == 0 and out:find("OK - 60 of 60 servers well", 1, true), out .. err)
        end
    end)

    it("calls no server down that it could not query for want of its own files or ports", function()
        local core, own = require "socket.core", require("support.canned").new({}, {})
        local tcp = core.tcp
        finally(function() core.tcp = tcp end)
        for _, problem in ipairs({ "Too many open files", "Too many open files in system",
            "Cannot assign requested address" }) do
            core.tcp = function()
                return { settimeout = function() end, connect = function() return nil, problem end,
                    close = function() end }
            end
            for line, wanted in pairs({ fleet = 75, check = 3, ["check --json"] = 75, top = 75,
                ["export prometheus"] = 1 }) do
                local words = { "-s", "127.0.0.1:1,127.0.0.1:2" }
                for word in line:gmatch("%S+") do words[#words + 1] = word end
                local code, out, err = own:slatectl(words, { HOME = ctl.folder })
                assert.equal(wanted, code, line .. ": " .. out .. err)
                assert.truthy((out .. err):find(problem, 1, true), out .. err)
                assert.is_nil((out .. err):lower():find("down", 1, true) or out:find("_up", 1, true), out .. err)
            end
        end
    end)

    it("shows each behind its name, and in one document each", function()
        local code, out, err = ctl.run("waste -s " .. list)
        assert.equal(0, code, err)
        assert.equal(1, (out:find("==> " .. servers[1].address .. " <==\n", 1, true)))
        assert.truthy(out:find("\n\n==> " .. servers[2].address .. " <==\nCLASS", 1, true), out)
        code, out = ctl.run(("classes --interval 0 --json -s %s -s %s"):format(servers[1].address, servers[2].address))
        assert.equal(0, code)
        local documents = {}
        for line in out:gmatch("[^\n]+") do
            documents[#documents + 1] = assert(dkjson.decode(line)).server
        end
        assert.same({ servers[1].address, servers[2].address }, documents)
        code, out = ctl.shell(("SLATE_SERVER=%s slatectl items --csv"):format(list))
        assert.equal(0, code)
        assert.equal(1, select(2, out:gsub("server,time_s", "")))
        assert.equal(3, select(2, out:gsub("\n", "")))
    end)

    it("says which is down, and ends with the worst status", function()
        local code, out, err = ctl.run("settings maxbytes -s ./none," .. list)
        assert.equal(69, code)
        assert.equal("slatectl: cannot connect to ./none: No such file or directory\n", err)
        assert.equal(2, select(2, out:gsub("maxbytes", "")))
    end)

    it("does not repeat, write files or change anything on several", function()
        for _, arguments in ipairs({ "top -w", "curve -o x.png", "set hot_lru_pct=20", "move 1 2", "watch" }) do
            local code, _, err = ctl.run(arguments .. " -s " .. list)
            assert.equal(64, code, err)
            assert.truthy(err:find("^slatectl: [^\n]+\n$"), err)
        end
    end)

    it("queries all at once, so that servers that are down cost one time-out together", function()
        local listener = unix.stream()
        assert(listener:bind(ctl.folder .. "/h") and listener:listen())
        listener:settimeout(0)
        local code, out = ctl.beside("fleet" .. (" ./h"):rep(8) .. " --json --timeout 20s --interval 0", function(rest)
            local peers = {}
            while #peers < 8 and rest() do peers[#peers + 1] = listener:accept() end
            for _, peer in ipairs(peers) do -- when all are there
                peer:close()
            end
        end)
        listener:close()
        assert.equal(1, code)
        local rows = assert(dkjson.decode(out)).servers
        assert.equal(8, #rows)
        for _, row in ipairs(rows) do
            assert.truthy(row.why:find("closed the connection", 1, true), row.why)
        end
    end)
end)
