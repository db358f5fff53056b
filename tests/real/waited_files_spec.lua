-- SPDX-License-Identifier: BSD-3-Clause
-- A FIFO or a device in place of a file: the programs say so, and do not wait for a writer or an end.
local command = require "support.command"
local server = require "support.server"

local ENDS <const> = "timeout 300 " -- exits with 124 where a program waits

describe("a FIFO or a device in place of a file", function()
    local ctl, one, slated

    setup(function()
        ctl, one = command.new(), assert(server.start())
        ctl.server, slated = one.address, ctl.root .. "/" .. server.slated()
        assert(os.execute("mkfifo " .. ctl.folder .. "/fifo"))
    end)
    teardown(function()
        one:stop()
        ctl.remove()
    end)

    it("is refused by slatectl in one sentence", function()
        for _, arguments in ipairs({ "fleet -s file:%s", "apply %s", "chart pages %s", "report %s",
            "fleet where key --servers %s", "load %s", "rules test %s" }) do
            for _, path in ipairs({ "fifo", "/dev/zero" }) do
                local line = arguments:gsub("%%s", path)
                local code, _, err = ctl.shell(ENDS .. "slatectl " .. line)
                assert.equal(74, code, line .. ": " .. err)
                assert.equal(("slatectl: cannot read %s: it is not a regular file\n"):format(path), err, line)
            end
        end
        for variable, words in pairs({ SLATE_AUTH_FILE = "SLATE_AUTH_FILE: ", SLATE_TLS_KEY = "TLS: cannot read " }) do
            local code, _, err = ctl.shell(variable .. "=fifo " .. ENDS .. "slatectl stats")
            assert.equal(74, code)
            assert.equal("slatectl: " .. words .. "fifo: it is not a regular file\n", err)
        end
        local code, _, err = ctl.shell(ENDS .. "slatectl record --count 1 -o fifo")
        assert.equal("74 slatectl: cannot write fifo: it is not a regular file\n", code .. " " .. err)
    end)

    it("is read by slatectl where a shell's <(COMMAND) is one", function()
        ctl.succeed("record --count 2 --interval 10ms -o recording.jsonl")
        local code, out, err = ctl.shell("bash -c 'slatectl doctor --recording <(sleep 0.1; cat recording.jsonl) "
            .. "--json'")
        assert.equal(0, code, err)
        assert.truthy(out:find('"schema"', 1, true))
        code, out = ctl.shell("echo joe:secret >login; bash -c 'SLATE_AUTH_FILE=<(cat login) slatectl stats'")
        assert.equal(0, code, out)
        assert.equal(0, (ctl.shell("slatectl doctor --recording /dev/stdin --json <recording.jsonl")))
    end)

    it("as the record of changes is refused, or reported full", function()
        for _, arguments in ipairs({ "set verbosity 1", "audit", "undo", "fleet undo" }) do
            local code, _, err = ctl.shell("SLATE_AUDIT=fifo " .. ENDS .. "slatectl " .. arguments)
            assert.not_equal(124, code)
            assert.truthy(err:find("fifo: it is not a regular file\n", 1, true), arguments .. ": " .. err)
        end
        local code, _, err = ctl.shell("SLATE_AUDIT=/dev/full " .. ENDS .. "slatectl set verbosity 2")
        assert.truthy(code ~= 124 and err:find("cannot write /dev/full: No space left on device\n", 1, true), err)
        code, _, err = ctl.shell("SLATE_AUDIT=/dev/null " .. ENDS .. "slatectl set verbosity 0")
        assert.equal(0, code, err)
        local out
        code, out = ctl.shell("SLATE_AUDIT=/dev/zero " .. ENDS .. "slatectl audit --json")
        assert.equal(0, code, out)
    end)

    it("is refused by slated as its configuration", function()
        for _, path in ipairs({ "fifo", "/dev/zero" }) do
            local code, _, err = ctl.shell(("%s%s --check-config --config %s"):format(ENDS, slated, path))
            assert.equal(64, code)
            assert.equal(("slated: --config %s cannot be read: it is not a regular file\n"):format(path), err)
        end
        local code, _, err = ctl.shell(("bash -c '%s --check-config --config <(sleep 0.1; echo threads = 2)'"):format(
            slated))
        assert.equal(0, code, err)
    end)

    it("is no pidfile of another slated", function()
        local code, _, err = ctl.shell(("mkfifo pid; timeout -s INT -k 300 1 %s %s -p 0 -P pid"):format(slated,
            server.USER))
        assert.not_equal(137, code)
        assert.equal("", err)
    end)

    it("is refused by slatetop as a certificate", function()
        local code, out, err = ctl.shell(ENDS .. slated:gsub("slated$", "slatetop") .. " -b --tls --tls-ca fifo a:1")
        assert.equal(64, code, out .. err)
        assert.truthy(err:find("cannot read fifo: not a regular file", 1, true), err)
    end)

    it("is refused by slatetop as a file of servers", function()
        local code, out, err = ctl.shell(ENDS .. slated:gsub("slated$", "slatetop") .. " -b file:fifo")
        assert.truthy(code ~= 124 and (out .. err):find("cannot read fifo: not a regular file", 1, true), out .. err)
    end)
end)
