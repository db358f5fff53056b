-- SPDX-License-Identifier: BSD-3-Clause
-- The ready-made policies: each by its own checks, and at work on real servers.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local dkjson = require "dkjson"
local fill = require "support.fill"
local policy = require "slate.policy.file"
local run = require "slate.act.policy_run"
local server = require "support.server"

describe("slate-policies(7)", function()
    local manual = command.read_file("man/slate-policies.7")

    it("has an example that is sound", function()
        local ctl = command.new()
        local source = manual:match("\n%.Bd %-literal %-offset indent\n(%-%- mine%.lua.-)\n%.Ed\n")
        local file = assert(io.open(ctl.folder .. "/mine.lua", "w"))
        file:write(source)
        file:close()
        local code, out, err = ctl.run("policy test ./mine.lua least=5")
        assert.equal(0, code, err)
        assert.is_nil(out:find("remark", 1, true), out)
        local wrong, _, said = ctl.run("policy test ./mine.lua nonsense=1") -- the policy is sound all the same
        assert.equal(64, wrong)
        assert.truthy(said:find("^slatectl: policy mine: no setting 'nonsense'"), said)
        ctl.remove()
    end)

    it("documents every policy, every limit and every field that slated shows", function()
        local pipe = assert(io.popen("build/unit/daemon/test_tune_lua_policy --export free-pages"))
        local text = pipe:read("a")
        assert(pipe:close())
        local one = dkjson.decode(text:match("\nsnapshot (%b{})"))
        local names = { "evicted" }
        for name in pairs(one.classes[1]) do
            names[#names + 1] = name
        end
        assert.is_true(#names > 10)
        for _, name in ipairs(names) do
            assert.truthy(manual:find("\n.It Va " .. name .. "\n", 1, true), name)
        end
        for name in pairs(one) do
            assert.truthy(name == "general" or manual:find("[ ,]" .. name .. "[ \n]"), name)
        end
        for name in io.popen("ls lua/slate/policies"):lines() do
            local short = name:match("^(.*)%.lua$")
            assert.truthy(not short or manual:find("\n.It Cm " .. short .. "\n", 1, true), name)
        end
    end)
end)

describe("every policy", function()
    it("passes its own checks, and those for all, without a remark", function()
        local ctl = command.new()
        local code, out = ctl.run("policy list --json")
        assert.equal(0, code)
        local list = assert(dkjson.decode(out)).policies
        assert.equal(11, #list)
        for _, one in ipairs(list) do
            assert.is_string(one.summary)
            local report
            code, report = ctl.run("policy test --json " .. one.name)
            assert.equal(0, code, report)
            report = dkjson.decode(report)
            assert.same({}, report.remarks)
            assert.is_true(report.decisions > 50)
            assert.is_true(#report.checks >= 4, one.name)
        end
        ctl.remove()
    end)
end)

for _, kind in ipairs(server.all()) do
    describe("slatectl policy on " .. kind.name, function()
        local one, client, ctl

        setup(function()
            -- The window keeps automove, which is on between two runs, from taking a page back.
            one = server.start({ binary = kind.binary,
                args = { "-m", "32", "-f", "1.25", "-o", "slab_automove=1,slab_automove_window=1799" } })
            client = one:connect()
            ctl = command.new({ server = one.address })
            assert.equal(2, fill.fill(client, 5, 2))
            assert.is_true(fill.fill(client, 12) >= 10) -- all that is left, so that no pool hides a move
        end)
        teardown(function()
            client:close()
            ctl.remove()
            one:stop()
        end)

        local function automove()
            for _, line in ipairs(assert(client:stats("settings"))) do
                local mode = line:match("^STAT slab_automove (.+)$")
                if mode then
                    return mode
                end
            end
        end

        it("moves nothing unless it is told to, and leaves automove alone", function()
            local code, out, err = ctl.run("policy run pin floors=5:4 --once --interval 20ms")
            assert.equal(0, code, err)
            assert.truthy(out:find("2 pages from class 12 to class 5: class 5 has 2 pages of the 4", 1, true), out)
            assert.truthy(err:find("would have moved 2 pages; with --apply it moves them", 1, true), err)
            assert.equal(2, fill.pages_of(client, 5))
            assert.equal("1", automove())
        end)

        it("moves pages, verifies that they moved, and gives automove back", function()
            local code, out, err = ctl.run("policy run pin floors=5:4 --once --apply --interval 20ms --json")
            assert.equal(0, code, err)
            local decision = assert(dkjson.decode(out))
            assert.equal("slate/policy-decision/1", decision.schema)
            assert.equal("moved", decision.moves[1].state)
            assert.equal(2, decision.moves[1].pages_moved)
            assert.equal(4, fill.pages_of(client, 5))
            assert.truthy(err:find("automove was 1; it is off while the policy runs", 1, true), err)
            assert.truthy(err:find("automove is 1 again", 1, true), err)
            assert.equal("1", automove())
        end)

        it("ends at the limit of pages, and leaves out what is beyond that of a minute", function()
            local code, _, err = ctl.run(
                "policy run pin floors=5:9 pages_max=2 --max-moves 3 --apply --interval 20ms --window 0s")
            assert.equal(64, code) -- pin has no window
            assert.truthy(err:find("no setting 'window_s' (there are: caps, floors, keep, pages_max)", 1, true), err)
            local out
            code, out, err = ctl.run("policy run pin floors=5:9 --per-minute 1 --apply --interval 500ms --for 3s")
            assert.equal(0, code, err)
            assert.equal(5, fill.pages_of(client, 5))
            assert.truthy(out:find("left out: the limit of pages a minute was reached", 1, true), out)
            code, _, err = ctl.run("policy run pin floors=5:9 pages_max=2 --max-moves 3 --apply --interval 500ms")
            assert.equal(0, code, err)
            assert.equal(8, fill.pages_of(client, 5))
        end)

        -- A policy at work in the background, as `pid`.
        local AWAIT <const> = "await() { n=0; until slatectl automove | grep -q \"mode *$1\"; do "
            .. "n=$((n+1)); [ $n -lt 300 ] || exit 99; sleep 0.05; done; }; "
        -- It has decided once, so it has looked at the server: whatever moves from now on it sees.
        local STARTED <const> = AWAIT .. "slatectl policy run free-pages --apply --interval 50ms >run.out 2>run.err & "
            .. "pid=$!; await 0; until [ -s run.out ]; do sleep 0.02; done; "
        -- The guard, which outlives a policy that was killed, has gone: its lock is free.
        local FREED <const> = "flock slate-mover-*.lock true; "

        for _, signal in ipairs({ "INT", "TERM", "HUP", "KILL" }) do
            it("gives automove back when it gets SIG" .. signal, function()
                local code, _, err = ctl.shell(STARTED .. "kill -" .. signal .. " $pid; wait $pid; code=$?; " .. FREED
                    .. "exit $code")
                assert.equal(({ INT = 130, TERM = 143, HUP = 129, KILL = 137 })[signal], code, err)
                assert.equal("1", automove())
                assert.truthy(command.read_file(ctl.folder .. "/run.err"):find("automove is 1 again", 1, true))
            end)
        end

        it("gives automove back when the policy breaks, and when there is nobody to read", function()
            local code, _, err = ctl.shell("echo 'return { decide = function() error(\"oh\") end }' >bad.lua; "
                .. "slatectl policy run ./bad.lua --apply --interval 20ms --for 2s")
            assert.equal(1, code)
            assert.truthy(err:find("policy bad: bad.lua:1: oh", 1, true), err)
            assert.equal("1", automove())
            code = ctl.shell("slatectl policy run free-pages --apply --interval 20ms --json | head -1 >/dev/null")
            assert.equal(0, code)
            assert.equal("1", automove())
        end)

        it("lets no second mover in, and names the first", function()
            local code, _, err = ctl.shell(STARTED .. "slatectl policy run pin --apply; code=$?; "
                .. "slatectl policy run pin --once --interval 20ms >/dev/null; kill -INT $pid; wait $pid; exit $code")
            assert.equal(75, code, err)
            assert.truthy(err:find("another slatectl, process %d+, moves pages on "), err)
            assert.truthy(err:find("pin made 1 decision", 1, true), err) -- a dry run takes nothing from anybody
            assert.equal("1", automove())
        end)

        it("ends when somebody else moves pages, or sets automove", function()
            local code, _, err = ctl.shell(STARTED .. "slatectl move 12 5 --wait >/dev/null; wait $pid")
            local said = command.read_file(ctl.folder .. "/run.err")
            assert.equal(75, code, err .. said)
            local rival = "somebody else moves pages on this server: 1 were moved that this policy did not ask for"
            assert.truthy(said:find(rival, 1, true), said)
            assert.equal("1", automove(), said)
            code, _, err = ctl.shell(STARTED .. "slatectl automove 2 >/dev/null; wait $pid; code=$?; "
                .. "slatectl automove; slatectl automove 1 >/dev/null; exit $code")
            assert.equal(75, code, err)
            assert.truthy(command.read_file(ctl.folder .. "/run.err"):find(
                "automove was set to 2 meanwhile, and stays so", 1, true))
        end)

        it("decides over a recording as it would have decided then", function()
            local code, out, err = ctl.shell("slatectl record -o r.jsonl --count 3 --interval 20ms 2>/dev/null; "
                .. "slatectl policy run ./p.lua --recording r.jsonl")
            assert.equal(74, code, out)
            assert.truthy(err:find("no policy ./p.lua: No such file", 1, true), err)
            code, out, err = ctl.shell("echo 'return { settings = { window_s = { default = 0, min = 0 } }, "
                .. "decide = function(before, after) return { { from = 12, to = 5, reason = "
                .. "(\"%d classes\"):format(#after.classes) } } end }' >p.lua; "
                .. "slatectl policy run ./p.lua --recording r.jsonl")
            assert.equal(0, code, err)
            assert.truthy(out:find("1 page from class 12 to class 5: %d+ classes"), out)
            assert.truthy(err:find("p would have asked for 2 pages in 2 decisions over 3 snapshots", 1, true), err)
        end)

        it("finds what is wrong with a policy", function()
            local code, _, err = ctl.shell("echo 'return { decide = function(b, a) return { { from = a.classes[1].id, "
                .. "to = 99, reason = \"r\" } } end }' >bad.lua; slatectl policy test bad.lua")
            assert.equal(1, code)
            assert.truthy(err:find("policy bad is broken on nothing stored: bad.lua:1: attempt", 1, true), err)
            local out
            code, out = ctl.shell("echo 'return { decide = function() end }' >plain.lua; "
                .. "slatectl policy test plain.lua")
            assert.equal(0, code)
            assert.truthy(out:find("remark: it has no summary", 1, true), out)
        end)
    end)
end

describe("slabs automove lua:NAME", function()
    local one, client, folder

    setup(function()
        folder = server.folder()
        os.execute(("cp lua/slate/policies/pin.lua %s/"):format(folder))
        for name, text in pairs({
            back = [[return { decide = function(_, after)
                local five, last = after.by_id[5], after.last_moves[1]
                if last or not five then
                    return {}, last and ("moved %d, seen %d before"):format(last.moved, #after.history)
                end
                return { { from = 12, to = 5, reason = ("victims live %.0f s, a page costs %.1f"):format(
                    five.victim_age_s, page_gain(five, -1)) } }
            end }]],
            later = "return { decide = function() error('no more', 0) end }",
            broken = "return {",
            empty = "",
            endless = "while true do end",
        }) do
            local file = assert(io.open(("%s/%s.lua"):format(folder, name), "w"))
            file:write(text)
            file:close()
        end
        one = server.start({ args = { "-m", "32", "-o", "slab_automove=0", "--policy-dir=" .. folder, "-v", "-v" } })
        client = one:connect()
        assert.equal(2, fill.fill(client, 5, 2))
        assert.is_true(fill.fill(client, 12) >= 10)
    end)
    teardown(function()
        client:close()
        one:stop()
        server.remove_folder(folder)
    end)

    local function value(group, name)
        for _, line in ipairs(assert(client:stats(group))) do
            local found = line:match("^STAT " .. name .. " (.*)$")
            if found then
                return found
            end
        end
    end

    -- Every decision of the daemon is a second apart; this waits far longer.
    local function eventually(condition)
        for _ = 1, 6000 do
            if condition() then
                return true
            end
            require("slate.base.clock").sleep(0.01)
        end
        return condition()
    end

    it("runs the policy on the tuner, which moves what it asks for and says why", function()
        assert.equal("OK", client:command("slabs automove lua:pin floors=5:4"))
        assert.equal("lua:pin floors=5:4", value("settings", "slab_automove"))
        assert.is_true(eventually(function() return fill.pages_of(client, 5) == 4 end))
        assert.is_true(eventually(function()
            return value("moves", "why") == "every class has the pages it was promised"
        end), value("moves", "why"))
        assert.equal("none", value("moves", "failed"))
    end)

    it("shows it rates, what became of its last moves, and what was before", function()
        assert.equal("OK", client:command("slabs automove lua:back"))
        assert.is_true(eventually(function()
            return (value("moves", "why") or ""):find("^moved 1, seen %d+ before$") ~= nil
        end), value("moves", "why"))
        assert.equal("none", value("moves", "failed"))
        assert.equal("OK", client:command("slabs automove lua:pin floors=5:4"))
    end)

    it("gets curves of its classes beside a slated, when it wants them", function()
        local source = [[return { curves = true, decide = function(_, after)
            return {}, after.by_id[12].curve and "class 12 has a curve" or "none"
        end }]]
        local function said(text)
            local runner = run.new(client, assert(assert(policy.load(text, "it.lua")):start({})), {
                server = one.address, slated = "0.1.0", dry_run = true })
            assert.is_false((runner:round()))
            require("slate.base.clock").sleep(1)
            return assert(runner:round()).why
        end
        assert.equal("class 12 has a curve", said(source))
        assert.equal("none", said((source:gsub("curves = true, ", ""))))
    end)

    it("refuses a name that is none, and a policy that is not there", function()
        local line = client:command("slabs automove lua:../pin")
        assert.truthy(line:find("^CLIENT_ERROR automove: a policy's name is up to 48 letters"), line)
        line = client:command("slabs automove lua:nosuch")
        assert.truthy(line:find("CLIENT_ERROR automove: there is no policy nosuch in " .. folder, 1, true), line)
        assert.equal("lua:pin floors=5:4", value("settings", "slab_automove"))
    end)

    it("refuses at once a policy that does not load, and settings that it does not take", function()
        for given, said in pairs({
            ["lua:pin floors=5:4 keep=0"] = "setting keep wants a number from 1",
            ["lua:broken"] = "broken.lua:1: ",
            ["lua:empty"] = "not a table with a function decide",
            ["lua:endless"] = "took more than 10000000 instructions",
            ["random seed=1"] = "wants 0, 1, 2 or one of",
        }) do
            local line = client:command("slabs automove " .. given)
            assert.truthy(line:find("^CLIENT_ERROR automove:? ") and line:find(said, 1, true), given .. ": " .. line)
            assert.equal("lua:pin floors=5:4", value("settings", "slab_automove"))
        end
        local line = client:command("config set slab_automove lua:broken")
        assert.truthy(line:find("CLIENT_ERROR slab_automove: broken.lua:1: ", 1, true), line)
        assert.equal("OK", client:command("config set slab_automove lua:later"))
        assert.equal("none", value("moves", "failed"))
    end)

    -- Until a mode that was asked for has decided, the one before may run.
    local function await_decision(mode)
        assert.is_true(eventually(function()
            return value("moves", "mode") == mode and value("moves", "why") ~= "nothing was decided yet"
        end), value("moves", "why"))
    end

    it("falls back to the mode before when the policy breaks, and says so in stats moves, log and audit", function()
        assert.equal("OK", client:command("slabs automove eviction"))
        await_decision("eviction")
        assert.equal("OK", client:command("slabs automove lua:later"))
        local logged = "warn: automove lua:later failed, eviction takes its place: "
        assert.is_true(eventually(function() return one:log():find(logged, 1, true) ~= nil end), one:log())
        assert.is_true(eventually(function() return value("settings", "slab_automove") == "2" end))
        assert.equal("eviction", value("moves", "mode"))
        assert.truthy(value("moves", "failed"):find("lua:later: no more", 1, true), value("moves", "failed"))
        local audit = table.concat(assert(client:stats("audit")), "\n")
        assert.truthy(audit:find("lua:later failed: no more", 1, true), audit)
    end)

    it("falls back to off when the mode before breaks as well", function()
        assert.equal("OK", client:command("slabs automove lua:pin floors=5:4"))
        await_decision("lua:pin floors=5:4")
        os.remove(folder .. "/pin.lua")
        assert.equal("OK", client:command("slabs automove lua:later"))
        local logged = "warn: automove lua:later failed, off takes its place: "
        assert.is_true(eventually(function() return one:log():find(logged, 1, true) ~= nil end), one:log())
        assert.is_true(eventually(function() return value("settings", "slab_automove") == "0" end))
        assert.equal("off", value("moves", "mode"))
        assert.equal("OK", client:command("slabs automove off"))
    end)

    it("starts no server with a policy that does not load", function()
        local here = require("support.command").new()
        local line = ("%s/build/bin/slated -p 0 -m 16 -u root --policy-dir=%s -o slab_automove=lua:nosuch")
        local code, _, said = here.shell(line:format(here.root, folder))
        here.remove()
        assert.equal(64, code, said)
        assert.truthy(said:find("slab_automove=lua:nosuch: there is no policy nosuch in", 1, true), said)
        assert.equal(1, select(2, said:gsub("\n", "")))
    end)
end)
