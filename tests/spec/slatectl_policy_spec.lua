-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl policy: ready-made policies at work beside real servers, over recordings, and tried.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local dkjson = require "dkjson"
local fill = require "support.fill"
local server = require "support.server"

local FLOOR <const> = "policy run " .. server.quoted(command.root() .. "/tests/fixtures/policies/floor.lua")

describe("slatectl policy test", function()
    local ctl = command.new()
    teardown(ctl.remove)

    -- Of the address space slatectl itself takes some 15 MB.
    it("keeps the limits of memory and of time, whatever the policy does", function()
        for name, said in pairs({
            ["sort-long"] = "took more than ", ["compare-long"] = "took more than ", weak = "weak tables (__mode)",
            ["weak-later"] = "needs more than 16 MiB", ["gsub-big"] = "a text of more than 64 KiB",
            ["concat-list"] = "a text of more than 64 KiB", ["concat-one"] = "a text of more than 64 KiB",
            doubles = "a text of more than 64 KiB", ["format-many"] = "a text of more than 64 KiB",
            ["list-grows"] = "needs more than 16 MiB", keeps = "needs more than 16 MiB",
        }) do
            -- Where the limit of time is not the claim, no processor time passes, however slow the machine is.
            local clock = said:find("took more", 1, true) and "" or "LUA_INIT='os.clock = function() return 0 end' "
            local code, _, err = ctl.shell(("ulimit -v 65536; %sslatectl policy test %s/tests/fixtures/policies/%s.lua")
                :format(clock, ctl.root, name))
            assert.equal(1, code, name .. ": " .. err)
            assert.truthy(err:find(said, 1, true), name .. ": " .. err)
        end
    end)
end)

for _, kind in ipairs(server.all()) do
    describe("slatectl policy on " .. kind.name, function()
        -- The window keeps automove, which is on between two runs, from taking a page back.
        local ctl = command.beside(setup, teardown, { binary = kind.binary, pages = 2,
            args = { "-m", "32", "-f", "1.25", "-o", "slab_automove=1,slab_automove_window=1799" } })

        local function automove()
            for _, line in ipairs(assert(ctl.client:stats("settings"))) do
                local mode = line:match("^STAT slab_automove (.+)$")
                if mode then
                    return mode
                end
            end
        end

        it("moves nothing unless it is told to, and leaves automove alone", function()
            local code, out, err = ctl.run(FLOOR .. " floors=5:4 --once --interval 20ms")
            assert.equal(0, code, err)
            assert.truthy(out:find("2 pages from class 12 to class 5: class 5 has 2 pages of the 4", 1, true), out)
            assert.truthy(err:find("would have moved 2 pages; with --apply it moves them", 1, true), err)
            assert.equal(2, fill.pages_of(ctl.client, 5))
            assert.equal("1", automove())
        end)

        it("takes the samples that a policy looks at before --once ends it", function()
            local out = ctl.succeed("policy run ratio window=3 --once --interval 10ms --json")
            assert.equal(3, select(2, out:gsub("slate/policy%-decision/1", "")), out)
        end)

        it("moves pages, verifies that they moved, and gives automove back", function()
            local code, out, err = ctl.run(FLOOR .. " floors=5:4 --once --apply --interval 20ms --json")
            assert.equal(0, code, err)
            local decision = assert(dkjson.decode(out))
            assert.equal("slate/policy-decision/1", decision.schema)
            assert.equal("moved", decision.moves[1].state)
            assert.equal(2, decision.moves[1].pages_moved)
            assert.equal(4, fill.pages_of(ctl.client, 5))
            assert.truthy(err:find("automove was 1; it is off while the policy runs", 1, true), err)
            assert.truthy(err:find("automove is 1 again", 1, true), err)
            assert.equal("1", automove())
        end)

        it("ends at the limit of pages, and leaves out what is beyond that of a minute", function()
            local code, _, err = ctl.run(
                FLOOR .. " floors=5:9 pages_max=2 --max-moves 3 --apply --interval 20ms --window 0s")
            assert.equal(64, code) -- it has no window
            assert.truthy(err:find("no setting 'window_s' (there are: floors, pages_max)", 1, true), err)
            local out
            code, out, err = ctl.run(FLOOR .. " floors=5:9 --per-minute 1 --apply --interval 500ms --for 3s")
            assert.equal(0, code, err)
            assert.equal(5, fill.pages_of(ctl.client, 5))
            assert.truthy(out:find("left out: the limit of pages a minute was reached", 1, true), out)
            code, _, err = ctl.run(FLOOR .. " floors=5:9 pages_max=2 --max-moves 3 --apply --interval 500ms")
            assert.equal(0, code, err)
            assert.equal(8, fill.pages_of(ctl.client, 5))
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
            local code, _, err = ctl.shell(STARTED .. "slatectl policy run burst --apply; code=$?; "
                .. "slatectl policy run burst --once --interval 20ms >/dev/null; kill -INT $pid; wait $pid; exit $code")
            assert.equal(75, code, err)
            assert.truthy(err:find("another slatectl, process %d+, moves pages on "), err)
            assert.truthy(err:find("burst made 1 decision", 1, true), err) -- a dry run takes nothing from anybody
            assert.equal("1", automove())
        end)

        it("ends when somebody else moves pages, or sets automove", function()
            local code, _, err = ctl.shell(STARTED .. "slatectl move 12 5 --wait >/dev/null; wait $pid")
            local said = command.read_file(ctl.folder .. "/run.err")
            assert.equal(75, code, err .. said)
            local rival = "another program moves pages on this server: pages that this policy did not ask for: 1"
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
    end)
end
