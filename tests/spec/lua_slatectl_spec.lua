-- SPDX-License-Identifier: BSD-3-Clause
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local dkjson = require "dkjson"
local fill = require "support.fill"
local make = require("support.snapshots").make
local server = require "support.server"

local MANUAL <const> = command.read_file("man/slatectl.1")
local SCHEMAS <const> = command.read_file("man/slate-json.7")

-- One JSON document on one line, as an independent parser sees it, with a schema from the manual.
local function document(text)
    assert.equal(1, select(2, text:gsub("\n", "")), text)
    local value, _, problem = dkjson.decode(text)
    assert.is_table(value, problem)
    assert.truthy(SCHEMAS:find(".It Li " .. value.schema .. "\n", 1, true), value.schema)
    return value
end

for _, kind in ipairs(server.all()) do
    describe("slatectl on " .. kind.name, function()
        local one, client, ctl

        setup(function()
            one = server.start({ binary = kind.binary, args = { "-m", "32", "-o", "slab_automove=0" } })
            client = one:connect()
            ctl = command.new({ server = one.address })
            assert.equal(2, fill.fill(client, 5, 2))
            assert.is_true(fill.fill(client, 12) >= 6) -- all that is left, so that no pool hides a move
        end)
        teardown(function()
            client:close()
            ctl.remove()
            one:stop()
        end)

        local function succeed(arguments)
            local code, out, err = ctl.run(arguments)
            assert.equal(0, code, arguments .. ": " .. err .. out)
            return out, err
        end

        it("writes valid JSON with a documented schema for every command", function()
            for _, arguments in ipairs({ "top --interval 50ms", "classes --interval 50ms", "classes --interval 0",
                "stats", "stats slabs", "stats items", "stats settings", "stats conns", "stats sizes", "stats reset",
                "settings", "automove", "move 12 5 --dry-run", "record j.jsonl --count 2 --interval 20ms",
                "chart pages j.jsonl", "version", "version --caps", "help" }) do
                document((succeed(arguments .. " --json")))
                os.remove(arguments:find("^chart") and ctl.folder .. "/j.jsonl" or "")
            end
        end)

        it("takes shared options before and after the command", function()
            assert.equal(succeed("--json settings maxbytes"), succeed("settings maxbytes --json"))
            assert.equal(succeed("settings maxbytes"), succeed("-s " .. one.address .. " settings maxbytes"))
        end)

        it("shows the overview and the classes that matter", function()
            local out = succeed("top --interval 50ms")
            for _, part in ipairs({ one.address, "hits ", "gets/s", "memory", "CLASS", "automove 0" }) do
                assert.truthy(out:find(part, 1, true), out)
            end
            assert.is_nil(out:find("\27", 1, true))
        end)

        it("repeats top for the rounds asked for, one JSON line each", function()
            local out = succeed("top -w 50ms --count 3 --json")
            local rounds = 0
            for line in out:gmatch("[^\n]+\n") do
                rounds = rounds + 1
                assert.is_true(document(line).interval_s > 0)
            end
            assert.equal(3, rounds)
            assert.equal(2, select(2, succeed("top -w 50ms --count 2"):gsub("hits ", "")))
        end)

        it("lists the classes with the server's own numbers", function()
            local rows = {}
            for _, row in ipairs(document((succeed("classes --interval 0 --json"))).classes) do
                rows[row.id] = row
            end
            assert.equal(fill.pages_of(client, 12), rows[12].pages)
            assert.equal(fill.pages_of(client, 5), rows[5].pages)
            assert.is_nil(rows[12].set_per_s)
            assert.is_true(rows[12].used_ratio > 0 and rows[12].used_ratio <= 1)
            local few = document((succeed("classes --interval 0 --json --sort pages --top 1")))
            assert.equal(12, few.classes[1].id)
            assert.equal(1, #few.classes)
            assert.is_true(few.truncated >= 1)
            assert.equal(5, document((succeed("classes 5 --interval 0 --json"))).classes[1].id)
            local code, _, err = ctl.run("classes 63 --interval 0")
            assert.equal(1, code)
            assert.truthy(err:find("class 63 holds nothing", 1, true))
        end)

        it("shows rates where there is traffic", function()
            local file = assert(io.open(ctl.folder .. "/traffic.lua", "w"))
            file:write(([[
                package.path = %q .. "/lua/?.lua;" .. package.path
                local client = assert(require("slate.client").connect(%q))
                repeat
                    assert(client:set("r", "v"))
                    local marker = io.open("started", "w")
                    marker:close()
                    local stop = io.open("stop")
                until stop
            ]]):format(ctl.root, one.address))
            file:close()
            local code, out = ctl.shell("lua5.4 traffic.lua & pid=$!; until [ -e started ]; do sleep 0.02; done; "
                .. "slatectl classes --interval 300ms --json; code=$?; touch stop; wait $pid; exit $code")
            assert.equal(0, code)
            local busy = false
            for _, row in ipairs(document(out).classes) do
                busy = busy or (row.set_per_s or 0) > 0
            end
            assert.is_true(busy)
        end)

        it("prints statistics with the server's names in the server's order", function()
            local names = {}
            for _, line in ipairs(client:stats("settings")) do
                names[#names + 1] = line:match("^STAT (%S+)")
            end
            local shown = {}
            for line in succeed("stats settings"):gmatch("[^\n]+") do
                shown[#shown + 1] = line:match("^%S+")
            end
            assert.same(names, shown)
        end)

        it("says what the server does not know, and what needs slated", function()
            local code, _, err = ctl.run("stats nonsense")
            assert.equal(3, code)
            assert.truthy(err:find("does not know 'stats nonsense'", 1, true))
            if not kind.is_slated then
                code, _, err = ctl.run("stats policies")
                assert.equal(3, code)
                assert.truthy(err:find("needs slated", 1, true))
                assert.truthy(succeed("version --caps"):find("needs slated", 1, true))
            else
                local caps = succeed("version --caps")
                assert.truthy(caps:find("is slated", 1, true))
                assert.truthy(caps:find("stats slated +yes"), caps)
            end
        end)

        it("finds settings by a part of their name", function()
            assert.truthy(succeed("settings automove"):find("^slab_automove"))
            assert.equal(1, (ctl.run("settings nothing-like-it")))
        end)

        it("explains a move without sending it", function()
            local before = fill.pages_of(client, 12)
            local out, err = succeed("move 12 5 2 --dry-run --trace")
            assert.truthy(out:find("slabs reassign 12 5", 1, true))
            assert.truthy(out:find(("class 12: %d -> %d pages"):format(before, before - 2), 1, true))
            assert.truthy(out:find("nothing was sent", 1, true))
            assert.is_nil(err:find("> slabs", 1, true))
            assert.equal(before, fill.pages_of(client, 12))
        end)

        it("sends nothing for a class the server does not use or a page it cannot give", function()
            local requests = { "12 63", "-1 63", "62 12", "12 5 63", "12 12", "12 256" }
            if kind.is_slated then
                requests = { "62 12", "12 5 63", "12 12", "12 256" }
            end
            for _, request in ipairs(requests) do
                local code, _, err = ctl.run("move " .. request .. " --trace")
                assert.truthy(code == 1 or code == 64, request .. ": " .. code)
                assert.is_nil(err:find("> slabs", 1, true), err)
            end
        end)

        it("moves pages, waits, and tells the truth about the outcome", function()
            local src, dst = fill.pages_of(client, 12), fill.pages_of(client, 5)
            local out, err = succeed("move 12 5 2 --wait --json --trace")
            local result = document(out)
            assert.equal("moved", result.state)
            assert.equal(2, result.pages_moved)
            assert.equal(src - 2, fill.pages_of(client, 12))
            assert.equal(dst + 2, fill.pages_of(client, 5))
            assert.equal(src - 2, result.src_pages_after)
            assert.equal(dst + 2, result.dst_pages_after)
            assert.equal(kind.is_slated and 1 or 2, select(2, err:gsub("> slabs reassign", "")))
            assert.truthy(succeed("move 12 0 --wait"):find("from class 12 to the global pool", 1, true))
        end)

        it("does not call lost items none when a full class gives pages", function()
            local function items()
                return document((succeed("classes 12 --interval 0 --json"))).classes[1].items
            end
            assert.is_true(fill.fill(client, 12) >= 4)
            local before = items()
            local out = succeed("move 12 5 2 --wait --json")
            local result, gone = document(out), before - items()
            assert.is_true(gone > 0)
            if kind.is_slated then
                assert.equal(gone, result.items_lost)
                assert.truthy(result.words:find(("; %d items? lost"):format(gone)), result.words)
            else
                assert.truthy(out:find('"items_lost":null', 1, true), out)
                assert.is_nil(result.words:find("lost", 1, true), result.words)
                assert.is_true(result.items_evicted_at_most >= gone, out)
            end
        end)

        it("writes singular for one", function()
            local one_class = succeed("classes 5 --interval 0")
            local count = #document((succeed("classes --interval 0 --json"))).classes
            assert.truthy(one_class:find(("1 of %d class%s, "):format(count, count == 1 and "" or "es"), 1, true),
                one_class)
            local _, err = succeed("record one.jsonl --count 1")
            assert.truthy(err:find("1 snapshot written to one.jsonl", 1, true), err)
        end)

        it("shows and sets automove, and checks that it is set", function()
            for mode, name in pairs({ [2] = "eviction", [1] = "ratio", [0] = "off" }) do
                assert.equal(mode, document((succeed("automove " .. name .. " --json"))).mode)
                assert.equal(mode, document((succeed("automove " .. mode .. " --json"))).mode)
                assert.equal(name, document((succeed("automove --json"))).name)
            end
            succeed("automove 0")
            assert.equal(64, (ctl.run("automove 'ratio 0.5'")))
        end)

        it("sends other automove modes on, and puts the server's refusal in a sentence", function()
            for _, mode in ipairs({ "sideways", "lua:", "3", "window" }) do
                local code, out, err = ctl.run("automove " .. mode .. " --trace")
                assert.equal(3, code, mode)
                assert.equal("", out)
                assert.truthy(err:find("> slabs automove " .. mode .. "\n", 1, true), err)
                assert.truthy(err:find("has no automove mode '" .. mode .. "' (", 1, true), err)
                assert.truthy(err:find("off[,|] ?ratio.*eviction.*%); it stays as it was\n"), err)
                assert.equal(kind.is_slated, err:find("utility", 1, true) ~= nil, err)
                assert.equal(0, document((succeed("automove --json"))).mode)
            end
        end)

        it("shows the moves of pages, or that the server keeps no record of them", function()
            if kind.is_slated then
                succeed("automove off")
                local totals = document((succeed("moves --json"))).totals
                assert.equal("off", totals.mode)
                local out = succeed("moves")
                assert.truthy(out:find("mode +off\n"), out)
                assert.truthy(out:find("so far +%d+ pages? moved"), out)
            else
                local code, _, err = ctl.run("moves")
                assert.equal(3, code)
                assert.truthy(err:find("needs slated", 1, true), err)
            end
        end)

        it("offers only automove modes that work", function()
            local modes = 0
            for name in succeed("help automove"):match("0 or .-eviction"):gmatch("%d or (%l+)") do
                succeed("automove " .. name)
                modes = modes + 1
            end
            assert.equal(3, modes)
            succeed("automove 0")
        end)

        it("records what it is told to, and draws it", function()
            succeed("record a.jsonl --interval 20ms --count 5")
            local text = command.read_file(ctl.folder .. "/a.jsonl")
            local lines = 0
            for line in text:gmatch("[^\n]+\n") do
                lines = lines + 1
                local one_line = document(line)
                assert.equal(lines == 1, one_line.settings ~= nil)
                assert.equal(kind.is_slated, one_line.slated ~= nil)
            end
            assert.equal(5, lines)
            succeed("record a.jsonl --interval 20ms --count 2 --append")
            succeed("chart pages a.jsonl -o a.png --keep-script a.gp")
            assert.equal("\137PNG", command.read_file(ctl.folder .. "/a.png"):sub(1, 4))
            assert.truthy(command.read_file(ctl.folder .. "/a.gp"):find("class 12", 1, true))
            succeed("chart pages --live --duration 200ms --interval 50ms -o live.svg")
            assert.truthy(command.read_file(ctl.folder .. "/live.svg"):find("class 12", 1, true))
            assert.truthy(succeed("chart pages a.jsonl"):find("class 12", 1, true))
            local panel = document((succeed("chart pages a.jsonl --json"))).panels[1]
            assert.equal(7, #panel.series[1].values)
            assert.equal(7, #panel.at)
            for _, drawn in ipairs(require("slate.chart").KINDS) do
                local live = "chart " .. drawn.name .. " --live --duration 60ms --interval 20ms"
                local code, out, err = ctl.run(live .. " --json")
                if code == 0 then
                    assert.equal(drawn.name, document(out).chart)
                    succeed(live)
                else -- no page moved meanwhile, or nothing was asked for
                    assert.equal(1, code)
                    assert.truthy(err:find("to draw", 1, true) or err:find("something was asked for", 1, true), err)
                end
            end
        end)

        it("ends a recording on a full disk with a message, the recording readable", function()
            local code, _, err = ctl.shell("slatectl record - --count 3 --interval 10ms >/dev/full")
            assert.equal(74, code)
            assert.truthy(err:find("No space left on device", 1, true), err)
            -- A limit on the size of files fails like a disk that fills up in the middle of a line.
            code, _, err = ctl.shell("trap '' XFSZ; ulimit -f 100; "
                .. "slatectl record full.jsonl --interval 10ms --count 200")
            assert.equal(74, code)
            assert.truthy(err:find("cannot write full.jsonl", 1, true), err)
            local out
            out, err = succeed("chart pages full.jsonl --json")
            assert.is_true(#document(out).panels[1].at >= 2)
            assert.truthy(err:find("1 damaged line skipped", 1, true) or err == "", err)
        end)

        it("keeps what it recorded when it is interrupted", function()
            local code, _, err = ctl.shell("slatectl record int.jsonl --interval 20ms --count 500 & pid=$!; "
                .. "until [ -s int.jsonl ]; do sleep 0.02; done; kill -INT $pid; wait $pid")
            assert.equal(130, code)
            assert.truthy(err:find("interrupted: %d+ snapshots? written to int.jsonl"), err)
            assert.is_table(document(command.read_file(ctl.folder .. "/int.jsonl"):match("^[^\n]*\n")))
        end)

        it("takes a reader that has had enough for no failure", function()
            local code, out, err = ctl.shell("{ slatectl stats; echo $? >code; } | head -n 1")
            assert.equal(0, code)
            assert.equal("", err)
            assert.equal(1, select(2, out:gsub("\n", "")))
            assert.equal("0\n", command.read_file(ctl.folder .. "/code"))
        end)

        it("reports output that cannot be written", function()
            local code, _, err = ctl.shell("slatectl stats >/dev/full")
            assert.equal(74, code)
            assert.truthy(err:find("No space left on device", 1, true), err)
        end)

        it("runs the example of the library's README", function()
            local file = assert(io.open(ctl.folder .. "/example.lua", "w"))
            file:write(command.read_file("lua/README.md"):match("```lua\n(.-)```"))
            file:close()
            local environment = ("SLATE_SERVER=%s LUA_PATH=%s"):format(one.address,
                server.quoted(ctl.root .. "/lua/?.lua"))
            local code, out, err = ctl.shell(environment .. " lua5.4 example.lua")
            assert.equal(0, code, err)
            assert.truthy(out:find("12\t%d"), out)
        end)

        it("runs every example of the manual", function()
            local examples = 0
            ctl.shell("seq 2000 | gzip >trace.gz") -- what one of them reads
            local may_exit = 0
            for line in MANUAL:match("%.Sh EXAMPLES\n(.-)\n%.Sh"):gmatch("[^\n]+") do
                local example = line:match("^%.Dl (slatectl .*)$")
                if example and (not example:find("slatectl bench") or io.open("build/bin/slate-load")) then
                    local code, _, err = ctl.shell((example:gsub("127%.0%.0%.1:11211", one.address)))
                    assert.truthy(code == 0 or code == may_exit, example .. ": " .. err)
                end
                examples = examples + (example and 1 or 0)
                may_exit = math.tointeger(tonumber(line:match('^%.\\" may exit (%d+): .'))) or 0
            end
            assert.is_true(examples >= 10)
            succeed("automove 0")
        end)
    end)
end

for _, kind in ipairs(server.all()) do
    describe("slatectl geometry on " .. kind.name, function()
        local one, ctl

        setup(function()
            one = server.start({ binary = kind.binary, args = { "-m", "32" } })
            ctl = command.new({ server = one.address })
        end)
        teardown(function()
            ctl.remove()
            one:stop()
        end)

        local function succeed(arguments)
            local code, out, err = ctl.run(arguments)
            assert.equal(0, code, arguments .. ": " .. err .. out)
            return out
        end

        it("shows and changes the chunk sizes, or says that the server keeps its own", function()
            if not kind.is_slated then
                local code, _, err = ctl.run("geometry auto")
                assert.equal(3, code)
                assert.truthy(err:find("needs slated", 1, true), err)
                return
            end
            local shown = document((succeed("geometry --json")))
            assert.equal("steady", shown.change.state)
            local before = #shown.classes
            local dry = succeed("geometry factor 1.5 --dry-run")
            assert.truthy(dry:find("would send: slabs geometry factor 1.5\nnothing was changed\n", 1, true))
            assert.truthy(dry:find("predicted: ", 1, true), dry)
            assert.equal("string", type(document((succeed("geometry auto --dry-run --json"))).predicted))
            local refused, _, why = ctl.run("geometry sizes 100,600000 --dry-run")
            assert.equal(64, refused)
            assert.truthy(why:find("sizes must ascend", 1, true), why)
            assert.equal(before, #document((succeed("geometry --json"))).classes)
            succeed("geometry factor 1.5 --force --wait")
            local changed = document((succeed("geometry show --json")))
            assert.truthy(#changed.classes < before, "a larger factor makes fewer classes")
            assert.truthy(succeed("geometry"):find(" % before, ", 1, true), "the waste is shown")
            local code, _, err = ctl.run("geometry factor 1.5")
            assert.equal(1, code)
            assert.truthy(err:find("these are the chunk sizes already", 1, true), err)
            succeed("geometry revert --wait")
            assert.equal(before, #document((succeed("geometry --json"))).classes)
        end)
    end)
end

describe("slatectl without a server", function()
    local ctl

    setup(function() ctl = command.new({ server = "./nobody" }) end)
    teardown(function() ctl.remove() end)

    it("says that it cannot connect, for every command that must", function()
        for _, arguments in ipairs({ "top", "classes", "stats", "settings", "move 1 2", "automove", "moves",
            "geometry", "record r.jsonl", "chart pages --live", "version --caps" }) do
            local code, out, err = ctl.run(arguments)
            assert.equal(69, code, arguments)
            assert.equal("", out)
            assert.truthy(err:find("^slatectl: cannot connect to ./nobody: [^\n]+\n$"), err)
        end
        assert.is_nil(io.open(ctl.folder .. "/r.jsonl"))
    end)

    it("answers what needs no server", function()
        local code, out = ctl.run("version")
        assert.equal(0, code)
        assert.truthy(out:find("^slatectl %d+%.%d+%.%d+\n$"), out)
        assert.equal(0, (ctl.run("--version")))
        for _, row in ipairs(require("slate.cli").COMMANDS) do
            local help_code, text = ctl.run("help " .. row.name)
            assert.equal(0, help_code, row.name)
            assert.truthy(text:find("Usage: slatectl " .. row.name, 1, true))
        end
    end)

    it("refuses a wrong command line with one line and exit 64", function()
        for _, arguments in ipairs({ "nonsense", "stats --nonsense", "move 1", "move a b", "move 1 2 0", "move 1 2 x",
            "top --interval soon", "record", "record a.jsonl --count -3", "chart", "chart nonsense", "chart pages",
            "chart pages a.jsonl --live", "chart pages a.jsonl -o a.gif", "classes --sort nonsense", "classes 299",
            "-s 'a b' stats", "-s a -s b stats", "--json --csv stats", "-s host:99999 stats", "--timeout x stats",
            "help nonsense", "stats --timeout" }) do
            local code, out, err = ctl.run(arguments)
            assert.equal(64, code, arguments .. ": " .. err)
            assert.equal("", out)
            assert.truthy(err:find("^slatectl: [^\n]+\n$"), err)
        end
        assert.equal(64, (ctl.run("")))
        assert.equal(64, (ctl.shell("SLATE_SERVER='a b' slatectl stats")))
    end)

    it("hands slate-load its words untouched, and its exit code on", function()
        local code, out = ctl.shell("mkdir -p bin; "
            .. "printf '#!/bin/sh\\nprintf \"<%%s>\" \"$@\"; exit 5' >bin/slate-load; "
            .. "chmod +x bin/slate-load; unset SLATE_SERVER; cat >run.lua <<'END'\n"
            .. "package.path = '" .. ctl.root .. "/lua/?.lua;' .. package.path\n"
            .. "os.exit(require('slate.cli').main(arg, { bin_dir = './bin', version = '1' }))\nEND\n"
            .. "lua5.4 run.lua -s here:1 --json bench calcify \"it's\" 'a b' '$HOME' --json -s")
        assert.equal(5, code)
        assert.equal("<calcify><it's><a b><$HOME><--json><-s><--server><here:1>", out)
    end)

    it("says that slate-load is missing", function()
        local code, _, err = ctl.shell("lua5.4 run.lua bench; rm -r bin; lua5.4 run.lua bench")
        assert.equal(69, code)
        assert.truthy(err:find("./bin/slate-load is missing", 1, true), err)
    end)

    it("draws nothing without gnuplot, and says what to install", function()
        -- Far more than a pipe holds, so that a shell without gnuplot must still read it all.
        local writer = assert(require("slate.record").create(ctl.folder .. "/long.jsonl"))
        for i = 1, 5000 do
            assert(writer:append(make(i, { [3] = { chunk_size = 152, total_pages = 1 + i % 7 } })))
        end
        writer:close()
        local code, out, err = ctl.shell("PATH=/nowhere " .. server.quoted(ctl.root .. "/scripts/slatectl")
            .. " chart pages long.jsonl -o a.png")
        assert.equal(69, code)
        assert.equal("", out)
        assert.truthy(err:find("apt install gnuplot-nox", 1, true), err)
        assert.is_nil(io.open(ctl.folder .. "/a.png"))
        assert.is_nil(io.open(ctl.folder .. "/a.png.unfinished"))
    end)

    it("keeps the old chart when the disk is full, and says so", function()
        local writer = assert(require("slate.record").create(ctl.folder .. "/drawn.jsonl"))
        for i = 1, 300 do
            assert(writer:append(make(i, { [3] = { chunk_size = 152, total_pages = 1 + i % 7 } })))
        end
        writer:close()
        for _, extension in ipairs({ "png", "svg", "txt" }) do
            local name = "drawn." .. extension
            assert.equal(0, (ctl.run("chart pages drawn.jsonl -o " .. name)))
            local good = command.read_file(ctl.folder .. "/" .. name)
            -- A limit on the size of files fails like a full disk: gnuplot sees failed writes.
            local code, out, err = ctl.shell("trap '' XFSZ; ulimit -f 1; slatectl chart pages drawn.jsonl "
                .. "--width 400 --height 200 -o " .. name)
            assert.equal(74, code, err)
            assert.equal("", out)
            assert.truthy(err:find(extension == "txt" and "^slatectl: cannot write [^\n]+\n$"
                or "^slatectl: cannot [^\n]+ is the disk full%?\n$"), err)
            assert.equal(good, command.read_file(ctl.folder .. "/" .. name))
            assert.is_nil(io.open(ctl.folder .. "/" .. name .. ".unfinished"))
        end
    end)

    it("says what is wrong with a file it cannot read or draw", function()
        local code, _, err = ctl.run("chart pages missing.jsonl")
        assert.equal(74, code)
        assert.truthy(err:find("cannot read missing.jsonl: No such file", 1, true), err)
        code, _, err = ctl.shell("echo hello >hello.txt; slatectl chart pages hello.txt")
        assert.equal(74, code)
        assert.truthy(err:find("hello.txt is not a recording", 1, true), err)
    end)

    it("loads only what a command needs", function()
        local pipe = assert(io.popen("lua5.4 -e 'package.path=\"lua/?.lua;\"..package.path "
            .. "require(\"slate.cli\").main({\"version\"}, {version=\"1\"}) "
            .. "for n in pairs(package.loaded) do print(n) end'"))
        local loaded = pipe:read("a")
        pipe:close()
        for _, name in ipairs({ "socket", "cjson", "slate.client", "slate.commands.top" }) do
            assert.is_nil(loaded:find("\n" .. name:gsub("%.", "%%.")), name)
        end
    end)

    it("documents every command, option and exit code in the manual", function()
        local cli = require "slate.cli"
        for _, row in ipairs(cli.COMMANDS) do
            assert.truthy(MANUAL:find("\n.It Xo\n.Cm " .. row.name, 1, true)
                or MANUAL:find("\n.It Cm " .. row.name, 1, true), row.name)
            for _, one in ipairs(cli.parser(row.name)._commands) do
                for _, option in ipairs(one._name == row.name and one._options or {}) do
                    for _, alias in ipairs(option._aliases) do
                        local words = "Fl " .. alias:gsub("^%-", ""):gsub("^%-", "Fl ")
                        assert.truthy(MANUAL:find(words, 1, true), row.name .. " " .. alias)
                    end
                end
            end
        end
        for _, code in pairs(cli.EXIT) do
            assert.truthy(MANUAL:find(("\n.It %d\n"):format(code), 1, true), "exit " .. code)
        end
    end)
end)

describe("slatectl and a hostile server", function()
    local ctl

    setup(function() ctl = command.new() end)
    teardown(function() ctl.remove() end)

    -- Runs slatectl against a misbehaving server that lives as long as the command.
    local function against(behaviour, arguments)
        local code, out, err = ctl.shell(("rm -f h; lua5.4 %s h %s & server=$!; until [ -S h ]; do sleep 0.02; done\n"
            .. "slatectl -s ./h %s; code=$?; kill $server; wait $server; exit $code"):format(
            server.quoted(ctl.root .. "/tests/spec/support/hostile.lua"), behaviour, arguments))
        return code, out, err
    end

    it("waits no longer than it was told", function()
        local code, _, err = against("silence", "--timeout 200ms stats")
        assert.equal(69, code)
        assert.truthy(err:find("did not answer in time", 1, true), err)
    end)

    it("names the end of a connection, also in the middle of a reply", function()
        for behaviour, arguments in pairs({ hangup = "stats", torn = "top" }) do
            local code, _, err = against(behaviour, arguments)
            assert.equal(69, code)
            assert.truthy(err:find("closed the connection", 1, true) or err:find("Broken pipe", 1, true)
                or err:find("reset by peer", 1, true), err)
        end
    end)

    it("knows what is no cache server", function()
        local code, _, err = against("http", "top")
        assert.equal(69, code)
        assert.truthy(err:find("not a cache server: it answered 'HTTP/1.1 400 Bad Request'", 1, true), err)
    end)

    it("does not swallow an endless line", function()
        local code, _, err = against("endless_line", "stats")
        assert.equal(69, code)
        assert.truthy(err:find("a line of more than 65536 bytes", 1, true), err)
    end)

    it("sends no escape sequence of the server's to the terminal", function()
        local code, out = against("escape", "stats")
        assert.equal(0, code)
        assert.is_nil(out:find("[\27\7]"))
        assert.truthy(out:find("name", 1, true))
    end)
end)
