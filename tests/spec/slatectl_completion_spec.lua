-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl completion: the words possible at each place, and the shells' scripts.
local command = require "support.command"
local server = require "support.server"

local SHELLS <const> = { "bash", "zsh", "fish" }

local function has(name) return os.execute("command -v " .. name .. " >/dev/null 2>&1") == true end

describe("slatectl completion words", function()
    local ctl = command.alone(setup, teardown)

    -- The candidates, as a list and a set; `line` is words for the shell, and the last one is completed.
    local function words(line)
        local code, out, err = ctl.run("completion words -- " .. line)
        assert.equal(0, code, err)
        assert.equal("", err)
        local list = {}
        for word in out:gmatch("([^\t\n]+)[^\n]*\n") do list[#list + 1] = word end
        return list
    end

    local function holds(line, ...)
        local list = words(line)
        for _, wanted in ipairs({ ... }) do
            local found = false
            for _, word in ipairs(list) do found = found or word == wanted end
            assert.is_true(found, ("%s is none of those for `%s`: %s"):format(wanted, line, table.concat(list, " ")))
        end
    end

    it("leave out words that a shell would carry out, wherever they come from", function()
        server.write_file(ctl.folder .. "/audit.log", '{"schema":"slate/audit/1","id":1,"time_s":1,"server":"%s",'
            .. '"what":"set","name":"a","was":1,"is":2}\n')
        local text = server.read_file(ctl.folder .. "/audit.log")
        local lines = {}
        for i, name in ipairs({ "$(touch pwned)", "`id`", "a;id", "a|id", "a b", "~", "good:1" }) do
            lines[i] = (text:gsub("%%s", (name:gsub("%%", "%%%%"))))
        end
        server.write_file(ctl.folder .. "/audit.log", table.concat(lines))
        assert.same({ "127.0.0.1:11211", "good:1", ":files" }, words("slatectl -s ''"))
        os.remove(ctl.folder .. "/audit.log")
    end)

    it("knows every command, and those that begin as the last word does", function()
        for _, row in ipairs(require("slate.cli.command_line").COMMANDS) do
            holds("slatectl ''", row.name)
        end
        assert.same({ "move", "moves" }, words("slatectl mov"))
        assert.same({}, words("slatectl nothing"))
        assert.same({ "move", "moves" }, words("slatectl help mov"))
    end)

    it("knows the options of the whole and of a command", function()
        holds("slatectl -", "-s", "--server", "--json")
        holds("slatectl move -", "--dry-run", "--wait", "--json")
        assert.same({ "--dry-run" }, words("slatectl move any 4 --dry"))
    end)

    it("knows the choices of arguments, each in its place", function()
        assert.same({ "list", "show", "test", "simulate", "run" }, words("slatectl policy ''"))
        holds("slatectl policy run ''", "utility", "free-pages", "burst")
        holds("slatectl automove l", "lra", "lrc", "lua:utility")
        holds("slatectl explain st", "starving")
        holds("slatectl stats se", "settings")
        assert.same({ "any", "pool" }, words("slatectl -s 127.0.0.1:1 move ''")) -- without a server
        assert.same({ "pool" }, words("slatectl -s 127.0.0.1:1 move any ''"))
        assert.same({ ":files" }, words("slatectl chart pages ''"))
        holds("slatectl -s ''", "127.0.0.1:11211", ":files")
        assert.same({}, words("slatectl move any 4 1 ''"))
    end)

    it("gets classes and settings from the server, by any of its names", function()
        local one = server.start({ args = { "-m", "8" } })
        finally(function() one:stop() end)
        local client = one:connect()
        assert(client:set("key", ("x"):rep(100)))
        local id = table.concat(client:stats("slabs"), "\n"):match("STAT (%d+):used_chunks 1")
        client:close()
        local at = "slatectl -s " .. one.address
        holds(at .. " move ''", "any", "pool", id)
        holds(at .. " classes ''", id)
        holds(at .. " classes 1 ''", id)
        holds(at .. " set idle", "idle_timeout=")
        holds(at .. " settings maxc", "maxconns")
        server.write_file(ctl.folder .. "/servers", ("blue = %s,127.0.0.1:1\n"):format(one.address))
        local _, out = ctl.shell("SLATE_SERVERS=$PWD/servers slatectl completion words -- slatectl -s blue set idle")
        assert.truthy(out:find("idle_timeout=", 1, true), out) -- by a name in the file of servers, the first of several
    end)

    it("knows the second words of commands in two words, and no words of slated for a memcached", function()
        holds("slatectl fleet ''", "where", "apply", "undo", "warm", "flush", "127.0.0.1:11211")
        assert.same({ ":files", "where", "warm" }, words("slatectl fleet w"))
        for _, kind in ipairs(server.both()) do
            if not kind.is_slated then
                local one = server.start({ binary = kind.binary })
                finally(function() one:stop() end)
                assert.same({ "off", "ratio", "eviction" }, words("slatectl -s " .. one.address .. " automove ''"))
                assert.same({ "automove=off", "automove=ratio", "automove=eviction" }, words("slatectl -s "
                    .. one.address .. " set automove="))
                assert.same({ "items", "slabs", "settings", "sizes", "conns" }, words("slatectl -s " .. one.address
                    .. " stats ''"))
            end
        end
    end)

    it("knows the values of a setting from the server", function()
        local one = server.start({ args = { "-m", "8" } })
        finally(function() one:stop() end)
        local at = "slatectl -s " .. one.address
        holds(at .. " set pol", "policy=")
        holds(at .. " set policy=", "policy=slru", "policy=s3auto")
        assert.same({ "policy=sieve" }, words(at .. " set idle_timeout=3 policy=si"))
        holds(at .. " trial automove=", "automove=utility", "automove=lua:ratio")
        holds(at .. " plan --set slab_automove=lr", "slab_automove=lra", "slab_automove=lrc")
        holds("slatectl -s 127.0.0.1:1 set lru_crawler=", "lru_crawler=no", "lru_crawler=yes") -- without a server
        assert.same({}, words(at .. " set nothing="))
    end)

    it("completes the value after the = of an option", function()
        assert.same({ "--color=auto", "--color=always" }, words("slatectl --color=a"))
        assert.same({ "--policy=sieve" }, words("slated --policy=si"))
        assert.same({ "--theme=mono" }, words("slatetop --theme=m"))
        assert.same({}, words("slatetop --batch="))
    end)

    it("knows slate-load's options behind slatectl bench", function()
        holds("slatectl -s 127.0.0.1:1 bench --", "--preset", "--duration")
        assert.same({ "--replay" }, words("slatectl bench --preset etc --repl"))
    end)

    it("knows slated's options and their values", function()
        assert(server.slated(), "there is no slated: run make first")
        holds("slated --", "--memory-limit", "--config", "--check-config")
        holds("slated --policy ''", "lru", "s3fifo")
        holds("slated -o slab_auto", "slab_automove=", "slab_automove_window=")
        holds("slated -o idle_timeout=3,slab_automove=u", "idle_timeout=3,slab_automove=utility")
        assert.same({ ":files" }, words("slated --pidfile ''"))
        holds("slatetop --", "--server", "--batch")
        holds("slatetop -C ''", "default", "light", "mono")
        assert.same({ "colour-blind" }, words("slatetop --theme c"))
        holds("slatetop --mouse ''", "auto", "yes", "no")
        holds("slate-load --", "--preset")
        assert.same({}, words("another ''"))
    end)
end)

describe("slatectl completion", function()
    local ctl = command.alone(setup, teardown)

    it("writes scripts, which are no JSON and take no words", function()
        for _, shell in ipairs(SHELLS) do
            local code, out = ctl.run("completion " .. shell)
            assert.equal(0, code)
            assert.truthy(out:find("slatectl completion words", 1, true))
            server.write_file(ctl.folder .. "/script", out)
            if has(shell) then
                assert.same({ 0, "", "" }, { ctl.process(shell .. " -n script") })
            end
        end
        for words, message in pairs({ ["bash --json"] = "takes no --json", ["bash x"] = "takes no further words" }) do
            local code, _, err = ctl.run("completion " .. words)
            assert.equal(64, code)
            assert.truthy(err:find(message, 1, true), err)
        end
    end)

    -- bash's proposals: the function is called as readline calls it.
    local function in_bash(line)
        server.write_file(ctl.folder .. "/ask", ([[
. ./script
COMP_LINE="%s" COMP_POINT=${#COMP_LINE}
_slate
printf '%%s\n' "${COMPREPLY[@]}"
]]):format(line))
        local code, out, err = ctl.shell("slatectl completion bash >script && bash ask")
        assert.equal(0, code, err)
        return out
    end

    it("completes in bash, which parts words at = and : too", function()
        assert.equal("move\nmoves\n", in_bash("slatectl mov"))
        assert.equal("--dry-run\n", in_bash("/usr/bin/slatectl move any 4 --dry"))
        assert.equal("utility\n", in_bash("slatectl automove lua:util"))
        assert.equal("script\n", in_bash("slatectl chart pages scr"))
    end)

    -- _describe -o would offer words only behind a dash.
    it("completes in zsh, words that begin with no dash, too", function()
        if not has("zsh") then
            pending("there is no zsh")
            return
        end
        server.write_file(ctl.folder .. "/ask", [[
compdef() {}
_describe() { print -r -- "$@"; print -rl -- "${(@P)@[-1]}"; }
. ./script
words=(slatectl mov) CURRENT=2
_slate || true
]])
        local code, out, err = ctl.shell("slatectl completion zsh >script && zsh -f ask")
        assert.equal(0, code, err)
        assert.truthy(out:find("^value plain\nmove:[^\n]+\nmoves:[^\n]+\n$"), out)
        -- A word without an explanation appears alone.
        code, out, err = ctl.shell("sed -i 's/slatectl mov/slatectl --color=al/' ask && zsh -f ask")
        assert.same({ 0, "value plain\n--color=always\n", "" }, { code, out, err })
    end)
end)
