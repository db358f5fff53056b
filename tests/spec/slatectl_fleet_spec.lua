-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl fleet apply and fleet undo: one change made to many servers, one after the other, and taken back from all.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local audit = require "slate.facts.audit"
local command = require "support.command"
local document = require "support.document"
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
        for _, one in ipairs(servers) do
            one:stop()
        end
        ctl.remove()
    end)
    before_each(function() os.remove(ctl.folder .. "/audit.log") end)

    local function plan(steps)
        server.write_file(ctl.folder .. "/plan.json", PLAN:format(steps))
    end

    local function value(one, name)
        local client = one:connect()
        local found = assert(runtime.read(client))[name]
        client:close()
        return found
    end

    local function values(name)
        local list = {}
        for i, one in ipairs(servers) do
            list[i] = value(one, name)
        end
        return table.concat(list, " ")
    end

    local function names()
        return ("%s %s %s"):format(servers[1].address, servers[2].address, servers[3].address)
    end

    -- Runs f while a client's reads of a server hit, until hot_lru_pct is 25 there: from then on they miss.
    local function with_mood(one, f)
        local pid = tonumber(server.capture(("exec lua5.4 %s/tests/spec/support/mood.lua %s hot_lru_pct 25 </dev/null "
            .. ">/dev/null 2>&1 & echo $!"):format(server.quoted(ctl.root), server.quoted(one.address))))
        local client = one:connect()
        for _ = 1, 6000 do
            if table.concat(assert(client:stats("")), "\n"):find("get_hits [1-9]%d%d") then
                break
            end
            require("slate.base.clock").sleep(0.01)
        end
        client:close()
        local ok, problem = pcall(f)
        os.execute("kill " .. pid)
        assert(ok, problem)
    end

    it("changes one after the other, tells the number of the change, and fleet undo takes all of it back", function()
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
        for _, entry in ipairs(entries) do
            assert.equal(1, entry.fleet)
        end
        assert.truthy(ctl.succeed("fleet undo --dry-run"):find("nothing was sent\n$"))
        assert.equal("25 25 25", values("hot_lru_pct"))
        out = ctl.succeed("fleet undo 1 -s " .. names():gsub(" ", ",")) -- as the change itself was asked for
        assert.truthy(out:find("\nchange 1 to the fleet is taken back\n$"), out)
        assert.equal(hot, values("hot_lru_pct"))
        assert.equal(warm, values("warm_lru_pct"))
        assert.equal(1, (ctl.run("fleet undo")))
        assert.equal(1, (ctl.run("fleet undo 1")))
    end)

    it("is told in JSON and CSV", function()
        plan(SET)
        local told = document(ctl.succeed("--json fleet apply plan.json --for 100ms --interval 50ms -s "
            .. names():gsub(" ", ",")))
        assert.equal(3, #told.servers)
        assert.equal("changed", told.servers[3].state)
        assert.equal(told.fleet, document(ctl.succeed("--json fleet undo")).fleet)
        local out = ctl.succeed("--csv fleet apply plan.json --for 100ms --interval 50ms " .. servers[1].address)
        assert.equal("fleet,server,state,why\n7", out:match("^[^\n]*\n%d+")) -- behind three and those that undid them
        ctl.succeed("--csv fleet undo")
    end)

    it("sends nothing to any when one of them cannot take it, or is not there", function()
        local before = values("hot_lru_pct")
        plan(SET .. ',{"kind":"set","name":"policy","value":"nonsense"}')
        local code, _, err = ctl.run("fleet apply plan.json --for 100ms " .. names())
        assert.is_true(code == 1 or code == 3 or code == 64, err)
        assert.truthy(err:find("; no server was changed\n$"), err)
        plan(SET)
        code, _, err = ctl.run("fleet apply plan.json --for 100ms ./nobody " .. names())
        assert.equal(69, code)
        assert.truthy(err:find("./nobody", 1, true), err)
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
        server.write_file(ctl.folder .. "/audit.log", ("\n"):rep(1023) .. "{") -- torn, and not a byte more goes in
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

    it("stops at the first guard that is crossed, puts that server back, and leaves those behind it", function()
        plan(SET)
        local before = values("hot_lru_pct")
        with_mood(servers[2], function()
            local code, out, err = ctl.run("fleet apply plan.json --for 3s --interval 100ms --guard hit-5 " .. names())
            assert.equal(1, code)
            assert.truthy(err:find(("2 of 3, %s: put back: hit went from "):format(servers[2].address), 1, true), err)
            assert.truthy(out:find(("\nstopped at %s; 1 of 3 servers changed; slatectl fleet undo 1 takes all of "
                .. "it back\n"):format(servers[2].address), 1, true), out)
            assert.truthy(out:find(servers[3].address .. " +not begun"), out)
        end)
        assert.equal("25", value(servers[1], "hot_lru_pct"))
        ctl.succeed("fleet undo")
        assert.equal(before, values("hot_lru_pct"))
    end)

    it("takes back what it did to all with --all-or-nothing", function()
        plan(SET)
        local before = values("hot_lru_pct")
        with_mood(servers[2], function()
            local code, out = ctl.run("fleet apply plan.json --for 3s --interval 100ms --guard hit-5 --all-or-nothing "
                .. names())
            assert.equal(1, code)
            assert.truthy(out:find("; 0 of 3 servers changed\n$"), out)
        end)
        assert.equal(before, values("hot_lru_pct"))
        assert.equal(1, (ctl.run("fleet undo")))
    end)

    it("puts the server whose turn it is back when it is interrupted", function()
        plan(SET)
        local before = values("hot_lru_pct")
        local code, _, err = ctl.shell(("env --default-signal=INT slatectl fleet apply plan.json --for 5s --interval "
            .. "50ms %s >told 2>said & pid=$!; until grep -q 'hot_lru_pct: .* -> 25' said; do kill -0 $pid || break; "
            .. "sleep 0.05; done; kill -INT $pid; wait $pid; code=$?; cat said >&2; exit $code"):format(names()))
        assert.equal(130, code, err)
        assert.truthy(err:find("\nslatectl: interrupted: 0 of 3 servers changed\n$"), err)
        assert.equal(before, values("hot_lru_pct"))
    end)

    it("goes on with the others when one cannot be put back, and may be asked again", function()
        plan(SET)
        local before = values("hot_lru_pct")
        ctl.succeed("fleet apply plan.json --for 100ms --interval 50ms " .. names())
        ctl.succeed(("-s %s set hot_lru_pct=30"):format(servers[2].address))
        local code, out = ctl.run("fleet undo")
        assert.equal(1, code)
        assert.truthy(out:find("\n1 step of change 1 to the fleet could not be taken back\n$"), out)
        assert.truthy(out:find("another client changed it since", 1, true), out)
        assert.equal("30", value(servers[2], "hot_lru_pct"))
        ctl.succeed("fleet undo --force")
        assert.equal(before, values("hot_lru_pct"))
    end)
end)
