-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl fleet apply and fleet undo: one change made to many servers, one after the other, and taken back from all.
local audit = require "slate.facts.audit"
local command = require "support.command"
local document = require "support.document"
local pipeline = require "support.pipeline"
local runtime = require "slate.facts.runtime"
local server = require "support.server"

local PLAN <const> = '{"schema":"slate/plan/1","server":"elsewhere","steps":[%s]}\n'
local SET <const> = '{"kind":"set","name":"hot_lru_pct","value":"25"}'
local SET_BOTH <const> = SET .. ',{"kind":"set","name":"warm_lru_pct","value":"45"}'
local MOVE <const> = '{"kind":"move","src":12,"dst":5,"pages":1}'

describe("slatectl fleet apply", function()
    local servers, ctl = {}, nil

    setup(function()
        ctl = command.new()
        local stock = server.memcached()
        for i, binary in ipairs({ server.slated(), stock or server.slated(), server.slated() }) do
            servers[i] = server.start({ binary = binary, args = { "-m", "16", "-o", "slab_automove=0" } })
        end
    end)
    teardown(function()
        for _, one in ipairs(servers) do one:stop() end
        ctl.remove()
    end)
    before_each(function() os.remove(ctl.folder .. "/audit.log") end)

    local function plan(steps) server.write_file(ctl.folder .. "/plan.json", PLAN:format(steps)) end

    local function value(one, name)
        local client = one:connect()
        local found = assert(runtime.read(client))[name]
        client:close()
        return found
    end

    local function values(name)
        local list = {}
        for i, one in ipairs(servers) do list[i] = value(one, name) end
        return table.concat(list, " ")
    end

    local function names()
        return ("%s %s %s"):format(servers[1].address, servers[2].address, servers[3].address)
    end

    -- Runs a command while a client's reads of a server hit, until hot_lru_pct is 25 there: then they miss, and
    -- changed(), if any, is called.
    local function run_with_mood(one, arguments, changed)
        local client = one:connect()
        assert(client:set("here", "x"))
        local code, out, err = ctl.run(arguments, function()
            local key = assert(runtime.read(client)).hot_lru_pct == "25" and "gone" or "here"
            if key == "gone" and changed then
                changed()
            end
            for _ = 1, 200 do client:get(key) end
        end)
        client:close()
        return code, out, err
    end

    it("changes one after the other, prints the number of the change, and fleet undo takes all of it back", function()
        plan(SET_BOTH)
        local hot, warm = values("hot_lru_pct"), values("warm_lru_pct")
        local out, err = ctl.succeed("fleet apply plan.json " .. names()
            .. " --one-at-a-time --for 200ms --interval 50ms")
        assert.equal("25 25 25", values("hot_lru_pct"))
        assert.equal("45 45 45", values("warm_lru_pct"))
        local at = 0
        for i, one in ipairs(servers) do
            local line = ("slatectl: %d of 3, %s: changed\n"):format(i, one.address)
            at = assert(err:find(line, at + 1, true), err)
        end
        assert.truthy(out:find("\n3 servers changed, and no guard was crossed; slatectl fleet undo 1 takes all of it "
            .. "back\n", 1, true), out)
        local entries = audit.read(ctl.folder .. "/audit.log")
        assert.equal(6, #entries)
        for _, entry in ipairs(entries) do assert.equal(1, entry.fleet) end
        assert.truthy(ctl.succeed("fleet undo --dry-run"):find("nothing was sent\n$"))
        assert.equal("25 25 25", values("hot_lru_pct"))
        out = ctl.succeed("fleet undo 1 -s " .. names():gsub(" ", ",")) -- as the change itself required
        assert.truthy(out:find("\nchange 1 to the fleet is taken back\n$"), out)
        assert.equal(hot, values("hot_lru_pct"))
        assert.equal(warm, values("warm_lru_pct"))
        assert.equal(1, (ctl.run("fleet undo")))
        assert.equal(1, (ctl.run("fleet undo 1")))
    end)

    it("sends nothing to any server when one of them would refuse the change, or is down", function()
        local before = values("hot_lru_pct")
        plan(SET .. ',{"kind":"set","name":"policy","value":"nonsense"}')
        local code, _, err = ctl.run("fleet apply plan.json --for 100ms " .. names())
        assert.is_true(code == 1 or code == 3 or code == 64, err)
        assert.truthy(err:find("; no server was changed\n$"), err)
        plan(SET)
        ctl.refuses(69, "fleet apply plan.json --for 100ms ./nobody " .. names(), "./nobody")
        assert.truthy(ctl.succeed("fleet apply plan.json --dry-run " .. names()):find("\nnothing was sent\n$"))
        assert.equal(before, values("hot_lru_pct"))
        assert.is_nil(io.open(ctl.folder .. "/audit.log"))
        assert.equal(64, (ctl.run("fleet apply plan.json --for 0 " .. names())))
        assert.equal(64, (ctl.run("fleet apply plan.json --guard nonsense " .. names())))
        assert.equal(74, (ctl.run("fleet apply none.json " .. names())))
    end)

    it("changes no server while no change could be put on record", function()
        plan(SET)
        local before = values("hot_lru_pct")
        local code, _, err = ctl.shell("SLATE_AUDIT=/dev/null/audit.log slatectl fleet apply plan.json --for 100ms "
            .. names())
        assert.equal(74, code, err)
        assert.equal("slatectl: no server was changed, since a change that is not on record cannot be taken back: "
            .. "cannot write /dev/null/audit.log: Not a directory\n", err)
        assert.equal(before, values("hot_lru_pct"))
    end)

    it("puts a server back whose change did not get on record, and writes the next entry whole", function()
        plan(SET)
        local before = values("hot_lru_pct")
        server.write_file(ctl.folder .. "/audit.log", ("\n"):rep(1023) .. "{") -- a torn entry; the file is full
        local code, out, err = ctl.shell("trap '' XFSZ; ulimit -f 2; slatectl fleet apply plan.json --for 100ms "
            .. "--interval 50ms " .. names())
        assert.equal(1, code, err)
        assert.truthy(err:find("the change is made, but not on record: cannot write", 1, true), err)
        assert.truthy(err:find(": put back: a change that is not on record cannot be taken back later\n", 1, true), err)
        assert.truthy(out:find(("\nstopped at %s; 0 of 3 servers changed\n"):format(servers[1].address), 1, true), out)
        assert.equal(before, values("hot_lru_pct"))
        ctl.succeed(("fleet apply plan.json --for 100ms --interval 50ms %s"):format(names()))
        assert.equal(3, #audit.read(ctl.folder .. "/audit.log"))
        ctl.succeed("fleet undo")
        assert.equal(before, values("hot_lru_pct"))
    end)

    it("moves pages only between classes that are the same everywhere", function()
        local other = server.start({ args = { "-m", "16", "-f", "1.5", "-o", "slab_automove=0" } })
        local fill = require "support.fill"
        for _, one in ipairs({ servers[1], other }) do
            local client = one:connect()
            fill.fill(client, 12, 3)
            fill.fill(client, 5, 1)
            client:close()
        end
        plan(MOVE)
        local code, _, err = ctl.run(("fleet apply plan.json --for 100ms %s %s"):format(servers[1].address,
            other.address))
        other:stop()
        assert.equal(1, code)
        assert.truthy(err:find("a plan that moves pages fits servers with the same classes; no server was changed\n$"),
            err)
    end)

    it("stops at the first crossed guard, puts that server back, and leaves the later ones", function()
        plan(SET)
        local before = values("hot_lru_pct")
        local code, out, err = run_with_mood(servers[2],
            "fleet apply plan.json --for 3s --interval 100ms --guard hit-5 " .. names())
        assert.equal(1, code)
        assert.truthy(err:find(("2 of 3, %s: put back: hits "):format(servers[2].address), 1, true), err)
        assert.truthy(out:find(("\nstopped at %s; 1 of 3 servers changed; slatectl fleet undo 1 takes all of "
            .. "it back\n"):format(servers[2].address), 1, true), out)
        assert.truthy(out:find(servers[3].address .. " +not begun"), out)
        assert.equal("25", value(servers[1], "hot_lru_pct"))
        ctl.succeed("fleet undo")
        assert.equal(before, values("hot_lru_pct"))
    end)

    it("takes back the changes of all servers with --all-or-nothing", function()
        plan(SET)
        local before = values("hot_lru_pct")
        local code, out = run_with_mood(servers[2],
            "fleet apply plan.json --for 3s --interval 100ms --guard hit-5 --all-or-nothing " .. names())
        assert.equal(1, code)
        assert.truthy(out:find("; 0 of 3 servers changed\n$"), out)
        assert.equal(before, values("hot_lru_pct"))
        assert.equal(1, (ctl.run("fleet undo")))
    end)

    it("leaves on each server what others set meanwhile, also with --all-or-nothing", function()
        plan(SET)
        local before, client = values("hot_lru_pct"), servers[1]:connect()
        local code, out, err = run_with_mood(servers[2],
            "fleet apply plan.json --for 3s --interval 100ms --guard hit-5 --all-or-nothing " .. names(), function()
                client:command("lru tune 30 40 0.2 2.0")
            end)
        assert.equal(1, code)
        assert.truthy(out:find(servers[1].address .. " +others changed it"), out)
        assert.truthy(out:find("; 0 of 3 servers changed\n$"), out)
        assert.truthy(err:find(servers[1].address .. ": hot_lru_pct is no longer 25 but 30: not taken back\n", 1, true),
            err)
        assert.equal("30", value(servers[1], "hot_lru_pct"))
        client:command("lru tune 20 40 0.2 2.0")
        client:close()
        assert.equal(before, values("hot_lru_pct"))
    end)

    it("puts the server under way back when interrupted", function()
        plan(SET)
        local before = values("hot_lru_pct")
        local code, _, err = ctl.run("fleet apply plan.json --for 5s --interval 50ms " .. names(), function()
            if value(servers[1], "hot_lru_pct") == "25" then
                error("interrupted!")
            end
        end)
        assert.equal(130, code, err)
        assert.truthy(err:find("\nslatectl: interrupted: 0 of 3 servers changed\n$"), err)
        assert.equal(before, values("hot_lru_pct"))
    end)

    it("goes on with the others when one cannot be put back, and can be run again", function()
        plan(SET)
        local before = values("hot_lru_pct")
        ctl.succeed("fleet apply plan.json --for 100ms --interval 50ms " .. names())
        ctl.succeed(("-s %s set hot_lru_pct=30"):format(servers[2].address))
        local code, out = ctl.run("fleet undo")
        assert.equal(1, code)
        assert.truthy(out:find("\n1 step of change 1 to the fleet could not be taken back\n$"), out)
        assert.truthy(out:find("hot_lru_pct is no longer 25 but 30, set by ", 1, true), out)
        assert.equal("30", value(servers[2], "hot_lru_pct"))
        ctl.succeed("fleet undo --force")
        assert.equal(before, values("hot_lru_pct"))
    end)
end)

describe("slatectl fleet warm", function()
    local peers, new, ctl = {}, nil, nil

    local function fill(one, prefix, value)
        local client = one:connect()
        local quiet = pipeline(client)
        for i = 1, 300 do quiet:set(prefix .. i, value, { ttl_s = 1000, flags = 3 }) end
        assert(quiet:finish())
        client:close()
    end

    -- The number of a prefix's items on a server, and those that belong to another server by the ring.
    local function held(one, prefix, ring)
        local client = one:connect()
        local count, strange = 0, {}
        for i = 1, 300 do
            local item = assert(client:meta("mg", prefix .. i, { "f", "t" }))
            if item.status ~= "EN" then
                assert.equal("f3", item.flags[1])
                assert.is_true(math.tointeger(tonumber(item.flags[2]:sub(2))) > 0)
                count = count + 1
                strange[#strange + 1] = ring and ring:server(prefix .. i).name ~= one.address and prefix .. i or nil
            end
        end
        client:close()
        return count, strange
    end

    setup(function()
        ctl = command.new()
        for i, binary in ipairs({ server.slated(), server.memcached() or server.slated() }) do
            peers[i] = server.start({ binary = binary, args = { "-m", "16" } })
            fill(peers[i], "of" .. i .. "-", "a value of peer " .. i)
        end
        new = server.start({ args = { "-m", "16" } })
    end)
    before_each(function()
        local client = new:connect()
        assert(client:flush_all())
        client:close()
    end)
    teardown(function()
        new:stop()
        for _, peer in ipairs(peers) do peer:stop() end
        ctl.remove()
    end)

    it("copies every item of every peer, and leaves those that the new server has", function()
        local client = new:connect()
        assert(client:set("of1-7", "newer", { flags = 3, ttl_s = 900 }))
        local told = document((ctl.succeed(("fleet warm %s --from %s,%s --json"):format(new.address, peers[1].address,
            peers[2].address))))
        assert.equal(300, (held(new, "of1-")))
        assert.equal(300, (held(new, "of2-")))
        assert.equal("newer", client:get("of1-7").value)
        client:close()
        assert.same({ 299, 1 }, { told.peers[1].stored, told.peers[1].kept })
        assert.same({ 300, 0 }, { told.peers[2].stored, told.peers[2].kept })
    end)

    it("copies only the keys that the rule gives to the new server", function()
        local lines = { new.address .. ":1", peers[1].address .. ":1", peers[2].address .. ":1" }
        server.write_file(ctl.folder .. "/fleet", table.concat(lines, "\n") .. "\n")
        local list = ("%s,%s,%s"):format(new.address, peers[1].address, peers[2].address) -- NEW itself is passed over
        local told = document((ctl.succeed(("fleet warm %s --from %s --servers fleet --json"):format(new.address,
            list))))
        local ring = assert(require("slate.fleet.ring").new(lines))
        for i, peer in ipairs(peers) do
            local count, strange = held(new, "of" .. i .. "-", ring)
            assert.same({}, strange)
            assert.is_true(count > 0)
            assert.same({ peer.address, count, 300 - count },
                { told.peers[i].server, told.peers[i].stored, told.peers[i].elsewhere })
        end
        server.write_file(ctl.folder .. "/fleet", lines[2] .. "\n")
        ctl.refuses(74, ("fleet warm %s --from %s --servers fleet"):format(new.address, peers[1].address),
            "fleet has no line for " .. new.address)
    end)

    it("names a peer that is not there, copies the others, and ends with 1", function()
        local code, out = ctl.run(("fleet warm %s --from /no/such.sock --from %s"):format(new.address,
            peers[2].address))
        assert.equal(1, code)
        assert.truthy(out:find("/no/such.sock +0 .*failed: cannot connect"), out)
        assert.equal(300, (held(new, "of2-")))
    end)
end)

describe("slatectl fleet flush", function()
    local clock = require "slate.base.clock"
    local steady_s, time_s, sleep = clock.steady_s, clock.time_s, clock.sleep
    local servers, clients, now_s = {}, {}, 1e9

    setup(function()
        for i = 1, 3 do
            servers[i] = server.start({ args = { "-m", "16" } })
            clients[i] = servers[i]:connect()
        end
        clock.steady_s, clock.time_s = function() return now_s end, function() return now_s end
    end)
    teardown(function()
        clock.steady_s, clock.time_s, clock.sleep = steady_s, time_s, sleep
        for i = 1, 3 do
            clients[i]:close()
            servers[i]:stop()
        end
    end)

    -- Runs the command while time passes only by its sleeps. In each sleep the clients of all servers read a key and
    -- store the key anew when refills(server) is true. Returns the exit code and, for each server, its row.
    local function flush(words, refills)
        for i = 1, 3 do assert(clients[i]:set("key", "x")) end
        clock.sleep = function(seconds)
            now_s = now_s + seconds
            for i = 1, 3 do
                if not clients[i]:get("key") and refills(i) then
                    assert(clients[i]:set("key", "x"))
                end
            end
        end
        local parsed, out = { members = {} }, {}
        for name, value in pairs(words) do parsed[name] = value end
        local list = {}
        for i = 1, 3 do
            list[i] = assert(require("slate.base.units").parse_server(servers[i].address))
        end
        local context = require("slate.cli.context").new({ servers = list, server = list[1], format = "json",
            lines = out, timeout_s = 60 })
        context.print_note = function() end
        local code = require("slate.commands.fleet.fleet_flush").run(context, parsed)
        return code, document(table.concat(out)).servers
    end

    local function states(rows)
        local words = {}
        for i, row in ipairs(rows) do words[i] = row.state end
        return table.concat(words, ", ")
    end

    it("flushes the next server when the hits of the last are back", function()
        local code, rows = flush({}, function() return true end)
        assert.equal(0, code)
        assert.equal("flushed, flushed, flushed", states(rows))
        for _, row in ipairs(rows) do
            assert.equal(1, row.before)
            assert.is_true(row.after >= 0.95)
            assert.is_true(row.took_s > 2) -- the first samples have one miss
        end
    end)

    it("flushes no other server when the hits of one do not come back", function()
        local code, rows = flush({ for_s = 30 }, function(i) return i ~= 2 end)
        assert.equal(1, code)
        assert.equal("flushed, flushed, not flushed", states(rows))
        assert.equal("the hit ratio was 100.0%, and is 0.0% after 30s", rows[2].why)
        assert.equal("x", clients[3]:get("key").value)
    end)

    it("flushes nothing in a dry run", function()
        local code, rows = flush({ dry_run = true }, function() return true end)
        assert.equal(0, code)
        assert.equal("would be flushed, would be flushed, would be flushed", states(rows))
        assert.equal("x", clients[1]:get("key").value)
    end)
end)
