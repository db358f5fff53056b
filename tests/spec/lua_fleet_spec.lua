-- SPDX-License-Identifier: BSD-3-Clause
-- Where keys lie in a fleet, by slatectl.
local command = require "support.command"
local ring = require "slate.fleet.ring"
local server = require "support.server"

describe("slatectl fleet", function()
    local ctl = command.alone(before_each, after_each)

    it("where reads the servers from a file in nutcracker's words", function()
        server.write_file(ctl.folder .. "/servers",
            "# ours\n   - 10.0.0.1:11211:1\n   - 10.0.0.2:11211:1 two # the second\n\n")
        local _, text = ctl.run("fleet where --servers servers --copies 2 --json a b")
        local document = require("cjson").decode(text)
        assert.equal("slate/fleet-where/1", document.schema)
        assert.equal(2, #document.keys[1].servers)
        local expected = ring.new({ "10.0.0.1:11211", "10.0.0.2:11211:1 two" }):server("b").name
        assert.equal(expected, document.keys[2].servers[1])
        assert.equal(74, (ctl.run("fleet where --servers nowhere a")))
        local code, _, said = ctl.run("fleet where a")
        assert.equal(64, code)
        assert.truthy(said:find("--servers", 1, true), said)
        code, _, said = ctl.run("fleet where a --servers servers --hash sha1")
        assert.equal(64, code)
        assert.truthy(said:find("no hash named 'sha1'", 1, true), said)
    end)

    it("refuses a single word that is no sub-command and no server's name, and lists the sub-commands", function()
        local ways, one = require("slate.wire.resolver").WAYS, require("support.canned").new({}, {})
        local find = ways.addresses
        finally(function() ways.addresses = find end)
        ways.addresses = function() return nil, "nobody has it" end
        for _, word in ipairs({ "pilot", "autoscale", "up" }) do
            local code, out, err = one:slatectl({ "fleet", word, "--interval", "0" }, { HOME = ctl.folder })
            assert.equal(64, code)
            assert.equal("", out)
            assert.equal(("slatectl: '%s' is no sub-command of fleet, which are where, apply, undo, warm, flush; and "
                .. "no server of that name is found: nobody has it\n"):format(word), err)
        end
        local code, out = ctl.run("fleet 127.0.0.1:1 --interval 0")
        assert.equal(1, code) -- a server that is down
        assert.truthy(out:find("127.0.0.1:1 ", 1, true), out)
        code, out = ctl.run("help fleet where")
        assert.equal(0, code)
        assert.truthy(out:find("^Usage: slatectl fleet%-where"), out)
    end)

    it("is as slate-fleets(7) says: every example runs, in its order", function()
        local one = server.start({ transport = "tcp", args = { "-m", "16" } })
        local by_name = one.address:gsub("127.0.0.1", "localhost")
        server.write_file(ctl.folder .. "/fleet", one.address .. "\n")
        server.write_file(ctl.folder .. "/fleet.txt", ("%s:1\n%s:1\n"):format(one.address, by_name))
        -- The page's servers are this one, by two names; a command that would run on ends soon.
        local in_place_of = { ["10.0.0.1"] = one.address, ["10.0.0.2"] = by_name, ["10.0.0.4"] = by_name,
            [" 10.0.0.3"] = "", ["/etc/slate/fleet"] = "fleet",
            ["--guard hit-2"] = "--for 200ms --interval 50ms --guard hit-2",
            ["free-pages --for 10s"] = "free-pages --for 200ms --interval 50ms" }
        local count = 0
        for line in command.read_file("man/slate-fleets.7"):gmatch("%.Dl (slatectl [^\n]+)") do
            for _, words in ipairs({ "10.0.0.1", "10.0.0.2", " 10.0.0.3", "10.0.0.4",
                "/etc/slate/fleet", "--guard hit-2", "free-pages --for 10s" }) do
                line = line:gsub(words:gsub("%p", "%%%0"), in_place_of[words])
            end
            local code, _, said = ctl.shell(line)
            assert.equal(0, code, line .. ": " .. said)
            count = count + 1
        end
        one:stop()
        assert.equal(6, count)
    end)
end)
