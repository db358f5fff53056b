-- SPDX-License-Identifier: BSD-3-Clause
-- The faults that memcached fixed in 2026, tried on slated; and warnings before a memcached with a fault gets a request
-- that triggers the fault. tests/memcached-faults.md is the list.
local command = require "support.command"
local faults = require "slate.facts.faults"
local pipeline = require "support.pipeline"
local view = require "slate.judge.view"
local prediction = require "slate.judge.prediction"
local patience = require "support.patience"
local server = require "support.server"
local wire = require "support.wire"
require "support.world"

describe("requests that crashed a memcached leave slated up:", function()
    local one, client

    setup(function()
        one = server.start({ args = { "-m", "16", "-o", "slab_automove=0" } })
        client = one:connect({ timeout_s = 60 })
    end)
    teardown(function()
        client:close()
        one:stop()
    end)
    after_each(function() assert.truthy(client:command("version"):find("^VERSION ")) end)

    it("pages to and from classes that nobody has", function()
        for _, id in ipairs({ "64", "65", "200", "255", "256", "-2", "4294967297", "99999999999999999999", "x" }) do
            for _, line in ipairs({ "slabs reassign 1 " .. id, "slabs reassign " .. id .. " 1" }) do
                local said = client:command(line)
                assert.truthy(said:find("^BADCLASS") or said:find("^CLIENT_ERROR") or said:find("^NOSPARE"),
                    line .. ": " .. said)
            end
        end
    end)

    it("a window of automove that is none", function()
        for _, window in ipairs({ "0", "1", "2", "-1", "1801", "4294967296", "99999999999999999999", "x" }) do
            client:command("slabs automove window " .. window)
            local seen = tonumber(assert(require("slate.facts.runtime").read(client)).slab_automove_window)
            assert.is_true(seen >= 3 and seen <= 1800, window .. " gave " .. seen)
        end
    end)

    it("a dump of keys for a client that reads nothing, and hangs up in the midst", function()
        local batch = pipeline(client)
        for i = 1, 8000 do
            batch:set(("key-of-a-good-length-so-that-no-buffer-holds-all-%d"):format(i), "x")
        end
        batch:run()
        for _ = 1, 3 do
            local idle = wire.connect(one.address)
            idle:send("lru_crawler metadump all\r\nlru_crawler metadump all\r\n")
            assert(idle:receive(10))
            local other = one:connect({ timeout_s = 60 })
            local lines = 0
            assert.is_nil((require("slate.wire.keydump").each(other, { limit = 1000000 },
                function() lines = lines + 1 end)))
            assert.is_true(lines > 0)
            idle:close()
        end
    end)

    it("stores with wrong flags, and none of them retains memory", function()
        local bad = { "ms k 100 Fx", "ms k 100 F-1", "ms k 100 F4294967296", "ms k 100 T99999999999999999999",
            "ms k 100 Cx", "ms k 100 MX", "ms k 100 S-1", "ms k x", "ms k 99999999999", "ma k Nx", "ma k D-1",
            "ma k D18446744073709551616", "mg k Nx", "mg k E18446744073709551616", "set k 4294967296 0 1",
            "set k -1 0 1", "set k 0 x 1", "cas k 0 0 1 x", "incr k -1", "incr k 18446744073709551616", "touch k x" }
        for _, line in ipairs(bad) do
            local peer = wire.connect(one.address)
            -- After the request comes the end of a value that it may announce, and a command that always has a reply.
            peer:send(line .. "\r\n" .. ("x"):rep(100) .. "\r\nquit\r\n")
            local said = peer:receive()
            assert.truthy(said == nil or said:find("^CLIENT_ERROR") or said:find("^SERVER_ERROR") or said == "EN"
                or said == "NOT_FOUND" or said == "NF", line .. ": " .. tostring(said))
            peer:close()
        end
        local peer = wire.connect(one.address)
        local body = ("x"):rep(100000)
        for _ = 1, 300 do -- values of 100 KB that would be twice the memory
            assert(peer:send("ms k 100000 F4294967296\r\n" .. body .. "\r\n"))
            local said = peer:receive()
            assert.truthy(said and said:find("^CLIENT_ERROR"), said)
        end
        peer:close()
        assert.is_true(client:set("after", body))
        assert.is_true(#assert(client:get("after")).value == #body)
    end)

    it("pages at every eviction, while values come in all sizes", function()
        local mover = server.start({ args = { "-m", "16", "-I", "512k", "-f", "1.15", "-o", "slab_automove=2" } })
        finally(function() mover:stop() end)
        local busy = mover:connect({ timeout_s = 60 })
        for i = 1, 12000 do -- values of a kilobyte have the pages, then larger ones want them
            assert.is_true(busy:set("small" .. i, ("x"):rep(1000 + i % 500)))
        end
        local i = 0
        local function has_moved() -- the tuner of a busy machine may sleep through the first thousands
            for _ = 1, 2000 do
                i = i + 1
                assert.is_true(busy:set("k" .. i % 700, ("x"):rep((i * 7919) % 180000)))
            end
            for _, line in ipairs(assert(busy:stats(""))) do
                if tonumber(line:match("^STAT slabs_moved (%d+)") or 0) > 0 then
                    return true
                end
            end
        end
        patience.wait_for("a page to move", has_moved, 2 * patience.DEADLINE_S)
        assert.truthy(busy:command("version"))
        busy:close()
    end)

    local function with_users(users, body)
        local folder = server.folder()
        server.write_file(folder .. "/users", users)
        os.execute("chmod 600 " .. folder .. "/users")
        local guarded = server.start({ args = { "-Y", folder .. "/users" } })
        finally(function()
            guarded:stop()
            server.remove_folder(folder)
        end)
        body(guarded)
    end

    it("a file of users with empty lines lets nobody in without a name and a password", function()
        with_users("\n\nshop:secret\n\n", function(guarded)
            for _, login in ipairs({ "", " ", ":", "\0", "shop", "shop ", " secret" }) do
                local peer = wire.connect(guarded.address)
                peer:send(("set login 0 0 %d\r\n%s\r\n"):format(#login, login))
                assert.truthy(peer:receive():find("^CLIENT_ERROR"), login)
                peer:close()
            end
        end)
    end)

    it("logins that announce a huge value, and malformed login lines", function()
        local lines = { "set", "set ", "set x", "set x 0", "set x 0 0", "set x 0 0 ", "set x 0 0 x",
            "set x 0 0 1 2 3 4", (" "):rep(2000), "set" .. (" "):rep(2000), "set x 0 0" .. (" 1"):rep(900),
            "", "\0" }
        for _, size in ipairs({ "-1", "2147483645", "2147483646", "2147483647", "2147483648", "4294967293",
            "4294967294", "4294967295", "4294967296", "18446744073709551615", "99999999999999999999999" }) do
            lines[#lines + 1] = "set x 0 0 " .. size
        end
        with_users("shop:secret\n", function(guarded)
            for _, line in ipairs(lines) do
                local peer = wire.connect(guarded.address)
                peer:send(line .. "\r\nshop secret\r\nquit\r\n")
                local said = peer:receive()
                assert.truthy(said == nil or said:find("^CLIENT_ERROR") or said == "ERROR",
                    line .. ": " .. tostring(said))
                peer:close()
            end
            local shop = wire.connect(guarded.address)
            shop:send("set login 0 0 11\r\nshop secret\r\nversion\r\n")
            assert.equal("STORED", shop:receive())
            assert.truthy(assert(shop:receive()):find("^VERSION "))
            shop:close()
        end)
    end)

    -- magic, opcode, key, extras, type, status, body, opaque, CAS
    local HEAD <const> = ">BBI2BBI2I4I4I8"

    it("packets that announce a body of two or four gigabytes: the following bytes are no request", function()
        for opcode = 0, 0x24 do
            for _, body_bytes in ipairs({ 0x7fffffff, 0x80000000, 0x80000010, 0xffffffff }) do
                local peer = wire.connect(one.address)
                -- The body is a packet that stores; a server that reads the body as a request has lost count.
                local body = HEAD:pack(0x80, 0x01, 6, 8, 0, 0, 15, 0, 0) .. ("\0"):rep(8) .. "hidden" .. "x"
                peer:send(HEAD:pack(0x80, opcode, 1, 8, 0, 0, body_bytes, 0, 0) .. body)
                peer:shutdown("send")
                peer:receive("*a")
                peer:close()
            end
        end
        assert.is_false((client:get("hidden")))
    end)

    it("stores of the binary protocol that fail while a client watches mutations", function()
        local watcher = one:connect({ timeout_s = 60 })
        assert.equal("OK", watcher:command("watch mutations"))
        local peer = wire.connect(one.address)
        local function store(opcode, key, extras, value_bytes, cas)
            peer:send(HEAD:pack(0x80, opcode, #key, #extras, 0, 0, #extras + #key + value_bytes, 0, cas) .. extras
                .. key .. ("x"):rep(value_bytes))
            local head = assert(peer:receive(24))
            local _, _, _, _, _, status, bytes = HEAD:unpack(head)
            assert(bytes == 0 or peer:receive(bytes))
            return status
        end
        local plain <const> = ("\0"):rep(8)
        -- set, add, replace, append, prepend: the reply of each for a missing key
        for opcode, wanted in pairs({ [0x01] = 0, [0x02] = 0, [0x03] = 1, [0x0e] = 5, [0x0f] = 5 }) do
            local extras = opcode < 0x0e and plain or ""
            assert.equal(3, store(opcode, "large" .. opcode, extras, 2 << 20, 0), "too large")
            assert.equal(wanted, store(opcode, "new" .. opcode, extras, 1, 0), "opcode " .. opcode)
        end
        assert.equal(2, store(0x02, "new2", plain, 1, 0), "it is there")
        assert.equal(2, store(0x01, "new1", plain, 1, 0xfffffffffffffff), "another CAS")
        assert.equal(1, store(0x01, "gone", plain, 1, 7), "a CAS of nothing")
        local told = {}
        patience.wait_for("the failures to be told", function()
            local line = watcher.transport:receive_line(require("slate.base.clock").steady_s() + 1)
            told[#told + 1] = line
            return line and line:find("key=gone", 1, true)
        end)
        told = table.concat(told, "\n")
        assert.truthy(told:find("key=large1 status=too_large", 1, true), told)
        watcher:close()
        peer:close()
    end)
end)

describe("a memcached with a fault", function()
    it("is known by its version", function()
        assert.equal("memcached 1.6.41 crashes on a command to move a page to a class that it does not use",
            (faults.of("1.6.41", "mover_class")))
        for version, wanted in pairs({ ["1.6.33"] = false, ["1.6.34"] = true, ["1.6.40"] = true, ["1.6.41"] = false,
            ["1.5.22"] = false, ["1.6.45-rc1"] = false, ["0.1.0"] = false }) do
            assert.equal(wanted, faults.of_setting({ version = version }, "slab_automove", "2") ~= nil, version)
        end
        assert.is_nil(faults.of_setting({ version = "1.6.40", slated = "0.1.0" }, "slab_automove", "2"))
        assert.is_nil(faults.of_setting({ version = "1.6.40" }, "slab_automove", "1"))
        assert.is_nil(faults.of_setting({ version = "1.6.40" }, "hot_lru_pct", "2"))
        for version, wanted in pairs({ ["1.6.18"] = true, ["1.6.41"] = true, ["1.6.42"] = false,
            ["1.4.39"] = false }) do
            assert.equal(wanted, faults.of_watch({ version = version }, { "evictions", "mutations" }) ~= nil, version)
        end
        assert.is_nil(faults.of_watch({ version = "1.6.18" }, { "evictions", "deletions" }))
        assert.is_nil(faults.of_watch({ version = "1.6.41", slated = "0.1.0" }, { "mutations" }))
    end)

    it("gets a mode that crashes it only after a warning, from all programs", function()
        local fault = faults.of_setting({ version = "1.6.40" }, "slab_automove", "2")
        assert.matches("automove eviction was set .* leave automove at ratio", fault)
        local one = view.observer()
        one:observe(require("support.snapshots").make(1000, {}))
        one.now.version = "1.6.40"
        local told = prediction.change(one, { change = { name = "slab_automove", value = "2" } })
        assert.same({ "WARNING", fault }, { told[1].label, told[1].text })
        local said = {}
        local context = { who = { version = "1.6.40" }, server = { name = "x" },
            print_note = function(_, text) said[#said + 1] = text end }
        require("slate.act.steps").carry_out(context, { command = function() return nil, "gone", "closed" end,
            stats_groups = function()
                return { settings = { "STAT slab_automove 1", "STAT slab_reassign yes" }, [""] = {} }
            end }, { kind = "set", name = "slab_automove", value = "2" })
        assert.same({ "caution: " .. fault }, said)
    end)

    it("is not watched for mutations by slatectl watch without a warning", function()
        local function said_of(version, slated, classes)
            local said = {}
            local context = { who = { version = version, slated = slated }, server = { name = "x" },
                print_note = function(_, text) said[#said + 1] = text end }
            function context.open() return { stats = function() return {} end } end
            function context.connect() -- the warning comes before any watch
                return nil, "gone", "closed"
            end
            local code, message = require("slate.base.failure").caught(require("slate.commands.inspect.watch").run,
                context, { classes = classes, where = {} })
            assert.same({ nil, "gone" }, { code, message })
            return said
        end
        local fault = faults.of_watch({ version = "1.6.41" }, { "mutations" })
        assert.same({ "caution: " .. fault }, said_of("1.6.41", nil, { "fetchers", "mutations" }))
        assert.same({}, said_of("1.6.41", nil, {}))
        assert.same({}, said_of("1.6.42", nil, { "mutations" }))
        assert.same({}, said_of("1.6.41", "0.1.0", { "mutations" }))
    end)
end)

describe("tests/memcached-faults.md", function()
    it("names a test that there is for every row", function()
        local rows = 0
        local list = command.read_file("tests/memcached-faults.md")
        for path, claim in list:gmatch("|[^|\n]*`(tests/[^`]+)`: ([^|\n]+) |") do
            local text = assert(server.read_file(path), path .. " is not there")
            assert.truthy(text:find(claim, 1, true), path .. " claims nothing like: " .. claim)
            rows = rows + 1
        end
        assert.is_true(rows >= 10, "only " .. rows .. " rows")
    end)
end)
