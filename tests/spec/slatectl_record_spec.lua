-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl record and chart: their files, also after a full disk or an interrupt.
local command = require "support.command"
local document = require "support.document"
local server = require "support.server"

for _, kind in ipairs(server.both()) do
    describe("slatectl records on " .. kind.name, function()
        local ctl = command.beside(setup, teardown, {
            binary = kind.binary, args = { "-m", "16", "-o", "slab_automove=0" }, pages = 2,
        })
        local once = kind.is_slated and it or function() end -- for claims that hold for every server

        it("records and draws as its options say", function()
            ctl.succeed("record -o a.jsonl --interval 20ms --count 5 --whole")
            local text = command.read_file(ctl.folder .. "/a.jsonl")
            local lines = 0
            for line in text:gmatch("[^\n]+\n") do
                lines = lines + 1
                local one_line = document(line)
                assert.equal(lines == 1, one_line.settings ~= nil)
                assert.equal(kind.is_slated, one_line.slated ~= nil)
            end
            assert.equal(5, lines)
            ctl.succeed("record -o a.jsonl --interval 20ms --count 2 --append")
            ctl.succeed("chart pages a.jsonl -o a.png")
            assert.equal("\137PNG", command.read_file(ctl.folder .. "/a.png"):sub(1, 4))
            ctl.succeed("chart pages --live --for 200ms --interval 50ms -o live.svg")
            assert.truthy(command.read_file(ctl.folder .. "/live.svg"):find("class 12", 1, true))
            assert.truthy(ctl.succeed("chart pages a.jsonl"):find("class 12", 1, true))
            local panel = document((ctl.succeed("chart pages a.jsonl --json"))).panels[1]
            assert.equal(7, #panel.series[1].values)
            assert.equal(7, #panel.at)
            for _, drawn in ipairs(require("slate.chart.draw").KINDS) do
                local live = "chart " .. drawn.name .. " --live --for 60ms --interval 20ms"
                local code, out, err = ctl.run(live .. " --json")
                if code == 0 then
                    assert.equal(drawn.name, document(out).chart)
                    ctl.succeed(live)
                else -- no page moved meanwhile, or no chart of moves was requested
                    assert.equal(1, code)
                    assert.truthy(err:find("to draw", 1, true) or err:find("two snapshots with reads", 1, true), err)
                end
            end
        end)

        once("ends a recording on a full disk with a message, the recording readable", function()
            local code, _, err = ctl.shell("slatectl record --count 3 --interval 10ms >/dev/full")
            assert.equal(74, code)
            assert.truthy(err:find("No space left on device", 1, true), err)
            -- A limit on the size of files fails like a disk that fills up in the middle of a line.
            code, _, err = ctl.shell("trap '' XFSZ; ulimit -f 100; "
                .. "slatectl record -o full.jsonl --interval 10ms --count 200 --whole")
            assert.equal(74, code)
            assert.truthy(err:find("cannot write full.jsonl", 1, true), err)
            local out
            out, err = ctl.succeed("chart pages full.jsonl --json")
            assert.is_true(#document(out).panels[1].at >= 2)
            assert.truthy(err:find("1 damaged line skipped", 1, true) or err == "", err)
        end)

        once("has the flushes and changes that a slated recorded, without an author where none is known", function()
            local snapshot, path, count = require "slate.facts.snapshot", ctl.folder .. "/who.jsonl", 0
            local context = { who = {}, server = { name = "here" }, print_note = function() end }
            function context.open() return ctl.one:connect() end
            function context.snapshot(_, client)
                count = count + 1
                if count == 3 then
                    assert(ctl.client:command("flush_all"))
                    assert(ctl.client:command("slabs automove 1"))
                end
                local one = assert(snapshot.take(client, { slated = "0.1.0", settings = true, server = "here" }))
                one.time_s = 1000 + count
                return one
            end
            assert.equal(0, require("slate.commands.record.record").run(context, { output = path, count = 5,
                interval = 0.01 }))
            local list = assert(require("slate.facts.record").load(path))
            assert.equal(5, #list)
            local changes = require("slate.report.story").changes(list, {})
            assert.same({ "flush_all now", "slab_automove: off → ratio" }, { changes[1].what, changes[2].what })
            for _, one in ipairs(changes) do
                assert.equal(1003, one.time_s)
                assert.is_nil(one.who, "a client of a UNIX socket has no address")
            end
            assert.equal(2, #changes)
            for i, one in ipairs(list) do
                assert.equal(i == 3, one.changes ~= nil)
                assert.truthy(i ~= 3 or one.changes[1].who:find("^unix:"))
            end
            local history = require "slate.judge.history"
            assert.truthy(history.about(history.of(list, nil, changes)[1]):find(
                "^at the moment of a change: flush_all now, author not known$"))
        end)

        once("keeps what it recorded when it is interrupted", function()
            local code, _, err = ctl.shell("slatectl record -o int.jsonl --interval 20ms --count 500 & pid=$!; "
                .. "until [ -s int.jsonl ]; do sleep 0.02; done; kill -INT $pid; wait $pid")
            assert.equal(130, code)
            assert.truthy(err:find("interrupted: %d+ snapshots? written to int.jsonl"), err)
            assert.is_table(document(command.read_file(ctl.folder .. "/int.jsonl"):match("^[^\n]*\n")))
        end)

        once("takes a reader that has had enough for no failure", function()
            local code, out, err = ctl.shell("{ slatectl stats; echo $? >code; } | head -n 1")
            assert.equal(0, code)
            assert.equal("", err)
            assert.equal(1, select(2, out:gsub("\n", "")))
            assert.equal("0\n", command.read_file(ctl.folder .. "/code"))
        end)

        once("reports output that cannot be written", function()
            local code, _, err = ctl.shell("slatectl stats >/dev/full")
            assert.equal(74, code)
            assert.truthy(err:find("No space left on device", 1, true), err)
            -- A closed stream must not become the connection, or the output would be sent to the server.
            for _, arguments in ipairs({ "stats", "top --interval 20ms", "record --count 1" }) do
                for _, closed in ipairs({ ">&-", "<&- >&-" }) do
                    code, _, err = ctl.shell(("slatectl %s %s"):format(arguments, closed))
                    assert.equal(74, code, arguments .. closed)
                    assert.truthy(err:find("cannot write", 1, true), err)
                end
            end
            assert.equal(0, (ctl.shell("slatectl stats <&- 2>&- >/dev/null")))
        end)
    end)
end
