-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl policy: ready-made policies at work beside real servers, over recordings, and tried.
local command = require "support.command"
local dkjson = require "dkjson"
local fill = require "support.fill"
local server = require "support.server"

local FLOOR <const> = "policy run " .. server.quoted(command.root() .. "/tests/fixtures/policies/floor.lua")
-- The window stops automove, which is on between two runs, from taking a page back.
local ARGS <const> = { "-m", "16", "-f", "1.25", "-o", "slab_automove=1,slab_automove_window=1799" }

local function automove(ctl)
    return table.concat(assert(ctl.client:stats("settings")), "\n"):match("STAT slab_automove (%S+)")
end

for _, kind in ipairs(server.both()) do
    describe("slatectl policy on " .. kind.name, function()
        local ctl = command.beside(setup, teardown, { binary = kind.binary, pages = 2, args = ARGS })

        it("moves nothing unless it is told to, and leaves automove alone", function()
            local out, err = ctl.succeed(FLOOR .. " floors=5:4 --once --interval 500ms")
            assert.truthy(out:find("2 pages from class 12 to class 5: class 5 has 2 pages of the 4", 1, true), out)
            assert.truthy(err:find("would have moved 2 pages; with --apply it moves them", 1, true), err)
            assert.same({ 2, "1" }, { fill.pages_of(ctl.client, 5), automove(ctl) })
        end)

        it("takes the samples that a policy needs before --once ends it", function()
            local out = ctl.succeed("policy run ratio window=3 --once --interval 500ms --json")
            assert.equal(3, select(2, out:gsub("slate/policy%-decision/1", "")), out)
        end)

        it("moves pages, verifies that they moved, and gives automove back", function()
            local out, err = ctl.succeed(FLOOR .. " floors=5:4 --once --apply --interval 500ms --json")
            local decision = assert(dkjson.decode(out))
            assert.same({ "slate/policy-decision/1", "moved", 2 },
                { decision.schema, decision.moves[1].state, decision.moves[1].pages_moved })
            assert.truthy(err:find("automove was ratio; it is off while the policy runs", 1, true), err)
            assert.truthy(err:find("automove is ratio again", 1, true), err)
            assert.same({ 4, "1" }, { fill.pages_of(ctl.client, 5), automove(ctl) })
        end)

        it("ends at the limit of pages, and makes no move beyond the limit of a minute", function()
            local code, out = ctl.shell("slatectl " .. FLOOR .. " floors=5:7 --per-minute 1 --apply --interval 500ms"
                .. " --for 60s | grep -m 1 'left out: the limit of pages a minute was reached'") -- grep ends the run
            assert.equal(0, code, out)
            assert.equal(5, fill.pages_of(ctl.client, 5))
            ctl.succeed(FLOOR .. " floors=5:9 pages_max=1 --max-moves 2 --apply --interval 500ms")
            assert.equal(7, fill.pages_of(ctl.client, 5))
        end)
    end)
end

describe("slatectl policy", function()
    local ctl = command.beside(setup, teardown, { pages = 2, args = ARGS })

    -- A policy at work in the background, as `pid`. It has decided once, so it has a snapshot of the server and sees
    -- all later moves.
    local STARTED <const> = "slatectl policy run free-pages --apply --interval 50ms >run.out 2>run.err & pid=$!; "
        .. "until [ -s run.out ]; do sleep 0.02; done; "
    -- The guard, which outlives a killed policy, has gone: its lock is free.
    local FREED <const> = "flock slate-mover-*.lock true; "

    for signal, status in pairs({ INT = 130, TERM = 143, HUP = 129, KILL = 137 }) do
        it("gives automove back when it gets SIG" .. signal, function()
            local code, _, err = ctl.shell(("rm -f run.out; %skill -%s $pid; wait $pid; code=$?; %sexit $code"):format(
                STARTED, signal, FREED))
            assert.same({ status, "1" }, { code, automove(ctl) }, err)
            assert.truthy(command.read_file(ctl.folder .. "/run.err"):find("automove is ratio again", 1, true))
        end)
    end

    it("gives automove back when the policy breaks, and when there is nobody to read", function()
        server.write_file(ctl.folder .. "/bad.lua", "return { decide = function() error(\"oh\") end }\n")
        local code, _, err = ctl.run("policy run ./bad.lua --apply --interval 500ms --for 2s")
        assert.same({ 1, "1" }, { code, automove(ctl) })
        assert.truthy(err:find("policy bad: bad.lua:1: oh", 1, true), err)
        code = ctl.shell("slatectl policy run free-pages --apply --interval 20ms --json | head -1 >/dev/null")
        assert.same({ 0, "1" }, { code, automove(ctl) })
    end)

    it("lets no second mover in, and ends when somebody else moves pages, or sets automove", function()
        local code, out, err = ctl.shell("rm -f run.out; " .. STARTED .. "slatectl policy run burst --apply; code=$?; "
            .. "slatectl policy run burst --once --interval 20ms >/dev/null; slatectl move 12 5 --wait >/dev/null; "
            .. "wait $pid; echo $code $?")
        local said = command.read_file(ctl.folder .. "/run.err")
        assert.same({ 0, "75 75\n" }, { code, out }, err .. said)
        assert.truthy(err:find("another slatectl, process %d+, moves pages on "), err)
        assert.truthy(err:find("burst made 1 decision", 1, true), err) -- a dry run takes no page
        local rival = "another program moves pages on this server: pages that this policy did not move: 1"
        assert.truthy(said:find(rival, 1, true), said)
        assert.equal("1", automove(ctl), said)
        code, out, err = ctl.shell("rm -f run.out; " .. STARTED .. "slatectl automove 2 >/dev/null; wait $pid")
        assert.same({ 75, "2" }, { code, automove(ctl) }, out .. err)
        assert.truthy(command.read_file(ctl.folder .. "/run.err"):find("automove was set to eviction meanwhile, and "
            .. "stays so", 1, true))
    end)

    it("has no window where the policy has none", function()
        ctl.refuses(64, FLOOR .. " floors=5:9 --window 0s", "no setting 'window_s' (there are: floors, pages_max)")
    end)

    it("decides over a recording as at that time", function()
        ctl.succeed("record -o r.jsonl --count 3 --interval 20ms")
        ctl.refuses(74, "policy run ./p.lua --recording r.jsonl", "no policy ./p.lua: No such file")
        server.write_file(ctl.folder .. "/p.lua", [[return { settings = { window_s = { default = 0, min = 0 } },
            decide = function(before, after) return { { from = 12, to = 5, pages = 2,
                reason = ("%d classes"):format(#after.classes) } } end }]])
        local out, err = ctl.succeed("policy run ./p.lua --recording r.jsonl")
        assert.truthy(out:find("2 pages from class 12 to class 5: %d+ classes"), out)
        assert.truthy(err:find("p would have moved 4 pages in 2 decisions over 3 snapshots", 1, true), err)
    end)

    -- lua_policy_spec tests each limit alone. Of the address space slatectl itself takes some 15 MB.
    it("keeps the limit of memory in a process, whatever the policy does", function()
        local code, _, err = ctl.shell(("ulimit -v 65536; LUA_INIT='os.clock = function() return 0 end' slatectl "
            .. "policy test %s/tests/fixtures/policies/keeps.lua"):format(ctl.root))
        assert.equal(1, code, err)
        assert.truthy(err:find("needs more than 16 MiB", 1, true), err)
    end)
end)
