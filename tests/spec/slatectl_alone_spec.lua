-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl without a server, with none but hostile ones, without gnuplot, and with wrong words.
local command = require "support.command"
local make = require("support.snapshots").make
local server = require "support.server"
local unix = require "socket.unix"

local MANUAL <const> = command.read_file("man/slatectl.1")

describe("slatectl without a server", function()
    local ctl = command.alone(setup, teardown, { server = "./nobody" })

    it("says that it cannot connect, for every command that must", function()
        for _, arguments in ipairs({ "top", "classes", "stats", "settings", "move 1 2", "automove", "moves",
            "geometry", "record -o r.jsonl", "chart pages --live" }) do
            local code, out, err = ctl.run(arguments)
            assert.equal(69, code, arguments)
            assert.equal("", out)
            assert.truthy(err:find("^slatectl: cannot connect to ./nobody: [^\n]+\n$"), err)
        end
        assert.is_nil(io.open(ctl.folder .. "/r.jsonl"))
    end)

    it("says the same in the process of a spec as in one of its own", function()
        for _, arguments in ipairs({ "help top", "", "stats --json", "set 'a b'", "-s there:1 policy show ratio" }) do
            local line = "NO_COLOR=1 slatectl " .. arguments
            assert.same({ ctl.process(line) }, { ctl.shell(line) }, arguments)
        end
    end)

    it("answers commands that need no server", function()
        local code, out = ctl.run("version")
        assert.equal(0, code)
        assert.truthy(out:find("^slatectl %d+%.%d+%.%d+\n$"), out)
        assert.equal(0, (ctl.run("--version")))
        for _, row in ipairs(require("slate.cli.command_line").COMMANDS) do
            local help_code, text = ctl.run("help " .. row.name)
            assert.equal(0, help_code, row.name)
            assert.truthy(text:find("Usage: slatectl " .. row.name, 1, true))
        end
        assert.equal((ctl.succeed("help policy")), (ctl.succeed("help policy run")))
        ctl.refuses(64, "help policy walk", "there is no command 'policy walk'")
    end)

    it("refuses a wrong command line with one line and exit 64", function()
        for _, arguments in ipairs({ "nonsense", "stats --nonsense", "move 1", "move a b", "move 1 2 0", "move 1 2 x",
            "top --interval soon", "record x", "record -o a.jsonl --count -3", "chart", "chart nonsense", "chart pages",
            "chart pages a.jsonl --live", "chart pages a.jsonl -o a.gif", "classes --sort nonsense", "classes 299",
            "-s 'a b' stats", "-s a -s b set a=b", "--json --csv stats", "-s host:99999 stats", "--timeout x stats",
            "help nonsense", "stats --timeout", "items --frob", "--timeout 0 items", "--csv move 1 2" }) do
            local code, out, err = ctl.run(arguments)
            assert.equal(64, code, arguments .. ": " .. err)
            assert.equal("", out)
            assert.truthy(err:find("^slatectl: [^\n]+\n$"), err)
        end
        assert.equal("slatectl: unknown command 'clases'. Did you mean 'classes'? See 'slatectl help'\n",
            select(3, ctl.run("clases")))
        assert.equal(64, (ctl.run("")))
        assert.equal(64, (ctl.shell("SLATE_SERVER='a b' slatectl stats")))
    end)

    it("says how a server is named where its address stands as an argument", function()
        local refusals = { ["doctor [::1]:9"] = "too many arguments",
            ["[::1]:9 doctor"] = "unknown command '[::1]:9'" }
        for arguments, said in pairs(refusals) do
            local help = arguments:find("^doctor") and "help doctor" or "help"
            local told = "slatectl: %s. A server is named with --server [::1]:9. See 'slatectl %s'\n"
            assert.equal(told:format(said, help), select(3, ctl.run("'" .. arguments:gsub(" ", "' '") .. "'")))
        end
        for _, address in ipairs({ "127.0.0.1:9", "cache7:11211", "localhost:9", "cache.example:9" }) do
            local _, _, err = ctl.run("classes " .. address)
            assert.truthy(err:find("named with --server " .. address .. ".", 1, true), err)
        end
        for _, line in ipairs({ "-s 127.0.0.1:9 doctor x", "get user:17 key", "plan --move 3:5 x", "move 3 5:2" }) do
            local code, _, err = ctl.run(line)
            assert.equal(64, code, err)
            assert.is_nil(err:find("is named", 1, true), err)
        end
    end)

    it("reports the error of a negative number", function()
        for arguments, said in pairs({
            ["chart hits --width -5"] = "-5 is out of range: 20 to ",
            ["advise memory --price-per-gb -4"] = "'-4' is not a price: ",
            ["--timeout -.5 stats"] = "'-.5' is not a duration: ",
            ["stats --trace -1"] = "option '--trace' does not take arguments",
            ["hotkeys -5"] = "write -- before a negative number that is no option's value; see",
            ["fit 900x"] = "'900x' is not a size: write 900, 900k or 2m",
            ["fit 9g"] = "9663676416 is out of range: 0 to 1073741824 is allowed",
            ["hotkeys --for 0"] = "nothing can be counted in no time: --for takes a time above 0",
            ["hotkeys -- -5"] = "-5 is out of range: 1 to 128 is allowed",
        }) do
            local code, _, err = ctl.run(arguments)
            assert.equal(64, code)
            assert.equal("slatectl: " .. said, err:sub(1, #said + 10), err)
        end
    end)

    it("hands slate-load its words untouched, and its exit code on", function()
        local code, out = ctl.shell("mkdir -p bin; "
            .. "printf '#!/bin/sh\\nprintf \"<%%s>\" \"$@\"; exit 5' >bin/slate-load; "
            .. "chmod +x bin/slate-load; unset SLATE_SERVER; cat >run.lua <<'END'\n"
            .. "package.path = '" .. ctl.root .. "/lua/?.lua;' .. package.path\n"
            .. "os.exit(require('slate.cli.main').main(arg, { bin_dir = './bin', version = '1' }))\nEND\n"
            .. "lua5.4 run.lua -s here:1 --json bench calcify \"it's\" 'a b' '$HOME' --json -s")
        assert.equal(5, code)
        assert.equal("<calcify><it's><a b><$HOME><--json><-s><--server><here:1>", out)
        for before, wanted in pairs({ ["-shere:2 --timeout 250ms"] = "<--server><here:2><--timeout><0.250>",
            ["--json --server=here:3"] = "<--server><here:3><--json>" }) do
            assert.equal("<x>" .. wanted, select(2, ctl.shell("lua5.4 run.lua " .. before .. " bench x")))
        end
        assert.equal("<--server=there:1>", select(2, ctl.shell("lua5.4 run.lua -s here:1 bench --server=there:1")))
        for _, before in ipairs({ "--csv", "--trace", "-s a,b", "--nonsense", "-s a:99999" }) do
            assert.equal(64, (ctl.run(before .. " bench")), before)
        end
    end)

    it("says that slate-load is missing", function()
        local code, _, err = ctl.shell("lua5.4 run.lua bench; rm -r bin; lua5.4 run.lua bench")
        assert.equal(69, code)
        assert.truthy(err:find("./bin/slate-load is missing", 1, true), err)
    end)

    local function record(name, samples)
        local writer = assert(require("slate.facts.record").create(ctl.folder .. "/" .. name))
        for i = 1, samples do
            assert(writer:append(make(i, { [3] = { chunk_size = 152, total_pages = 1 + i % 7 } })))
        end
        writer:close()
    end

    it("draws nothing without gnuplot, and names the package to install", function()
        record("long.jsonl", 5000) -- far more than a pipe holds, so a shell without gnuplot must still read all of it
        local code, out, err = ctl.shell("PATH=/nowhere " .. server.quoted(ctl.root .. "/scripts/slatectl")
            .. " chart pages long.jsonl -o a.png")
        assert.equal(69, code)
        assert.equal("", out)
        assert.truthy(err:find("apt install gnuplot-nox", 1, true), err)
        assert.is_nil(io.open(ctl.folder .. "/a.png"))
        assert.is_nil(io.open(ctl.folder .. "/a.png.unfinished"))
    end)

    it("keeps the old chart when the disk is full, and says so", function()
        record("drawn.jsonl", 300)
        for _, extension in ipairs({ "png", "txt" }) do
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

    it("says that a folder in the place of a file cannot be read", function()
        assert(os.execute("mkdir -p " .. ctl.folder .. "/folder"))
        for _, arguments in ipairs({ "fleet where --servers folder KEY", "apply folder", "rules list ./folder",
            "policy test ./folder --recording folder", "doctor --recording folder" }) do
            local code, out, err = ctl.run(arguments)
            assert.is_true(code ~= 0 and out == "", arguments)
            assert.truthy(err:find("^slatectl: cannot read [^\n]*folder: Is a directory\n$")
                or err:find("^slatectl: [^\n]*folder is not a regular file\n$"), err)
        end
    end)

    it("says that there are no rules yet", function()
        ctl.refuses(1, "rules list", "no rules yet: there is no ")
    end)

    it("reports the error of a file that it cannot read or draw", function()
        ctl.refuses(74, "chart pages missing.jsonl", "cannot read missing.jsonl: No such file")
        local code, _, err = ctl.shell("echo hello >hello.txt; slatectl chart pages hello.txt")
        assert.equal(65, code)
        assert.truthy(err:find("hello.txt is not a recording", 1, true), err)
    end)

    it("loads only the modules that a command needs", function()
        local loaded = server.capture("lua5.4 -e 'package.path=\"lua/?.lua;\"..package.path "
            .. "require(\"slate.cli.main\").main({\"version\"}, {version=\"1\"}) "
            .. "for n in pairs(package.loaded) do print(n) end'")
        for _, name in ipairs({ "socket", "cjson", "slate.wire.client", "slate.commands.inspect.top" }) do
            assert.is_nil(loaded:find("\n" .. name:gsub("%.", "%%.")), name)
        end
    end)

    it("documents every command, option and exit code in the manual", function()
        local cli = require "slate.cli.command_line"
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
    local ctl = command.alone(setup, teardown)

    -- The replies of misbehaving servers to a line, and whether they then hang up.
    local BEHAVIOURS <const> = {
        silence = function() return "" end,
        hangup = function() return "", true end,
        http = function() return "HTTP/1.1 400 Bad Request\r\n\r\n", true end,
        endless_line = function() return ("x"):rep(70000) end,
        torn = function() return "VERSION 1.6.45\r\nERROR\r\nSTAT pid 1\r\nSTAT upti", true end,
        escape = function(line)
            return line == "version" and "VERSION \27]0;owned\7\27[31m1.6.18\r\n"
                or "STAT version \27]0;owned\7\27[2J\r\nSTAT 1:chunk_size 96\r\nSTAT 1:total_pages 3\r\nEND\r\n"
        end,
        unreadable = function() return "\27]0;owned\7\r\n", true end,
    }

    -- Runs slatectl beside such a server.
    local function against(behaviour, arguments)
        local listener, peers = unix.stream(), {}
        os.remove(ctl.folder .. "/h")
        assert(listener:bind(ctl.folder .. "/h") and listener:listen())
        listener:settimeout(0)
        finally(function() listener:close() end)
        return ctl.beside("-s ./h " .. arguments, function(rest)
            repeat
                peers[#peers + 1] = listener:accept()
                for _, peer in ipairs(peers) do
                    peer:settimeout(0)
                    local line = peer:receive("*l")
                    local text, ends = BEHAVIOURS[behaviour](line or "")
                    peer:send(line and text or "")
                    if line and ends then
                        peer:close()
                    end
                end
            until not rest()
        end)
    end

    for claim, case in pairs({
        ["waits no longer than its option says"] = { "silence", "--timeout 200ms stats", "did not answer in time" },
        ["recognises a server that is no cache"] = { "http", "top",
            "not a cache server: it answered 'HTTP/1.1 400 Bad Request'" },
        ["does not swallow an endless line"] = { "endless_line", "stats", "a line of more than 65536 bytes" } }) do
        it(claim, function()
            local code, _, err = against(case[1], case[2])
            assert.equal(69, code)
            assert.truthy(err:find(case[3], 1, true), err)
        end)
    end

    it("names the end of a connection, also in the middle of a reply", function()
        for behaviour, arguments in pairs({ hangup = "stats", torn = "top" }) do
            local code, _, err = against(behaviour, arguments)
            assert.equal(69, code)
            assert.truthy(err:find("closed the connection", 1, true) or err:find("Broken pipe", 1, true)
                or err:find("reset by peer", 1, true), err)
        end
    end)

    it("sends no escape sequence of the server's to the terminal", function()
        for arguments, wanted in pairs({ stats = 0, ["top --interval 10ms"] = 0,
            ["export prometheus"] = 0, ["check --interval 10ms"] = 3, ["doctor --interval 10ms"] = 0, moves = 69,
            whatif = 69, curve = 69, ["watch --for 10ms"] = 69, ["policy run burst --once --interval 10ms"] = 0 }) do
            local code, out, err = against("escape", arguments)
            assert.equal(wanted, code, arguments .. ": " .. err)
            assert.is_nil((out .. err):find("[\27\7]"), arguments)
            assert.truthy(wanted == 69 or out:find("%w"), arguments)
        end
        for arguments, wanted in pairs({ top = 69, check = 2 }) do
            local code, out, err = against("unreadable", arguments)
            assert.equal(wanted, code)
            assert.truthy((out .. err):find("it answered '?]0;owned?' to version", 1, true), out .. err)
        end
    end)
end)
