-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl get, me and delete of one key; servers by names of one's own; colours on a terminal only.
local command = require "support.command"
local dkjson = require "dkjson"
local names = require "slate.wire.names"
local server = require "support.server"

for _, kind in ipairs(server.both()) do
    describe("slatectl and one key of " .. kind.name, function()
        local ctl = command.beside(setup, teardown, { binary = kind.binary, args = { "-m", "32" } })
        local once = kind.is_slated and it or function() end -- for claims that hold for every server

        it("gets its value byte by byte", function()
            local value = "two\r\nlines\0and\27[31m more"
            assert(ctl.client:set("k", value, { flags = 7 }))
            assert.equal(value, ctl.succeed("get k"))
            local told = dkjson.decode((ctl.succeed("--json get k")))
            assert.same({ "slate/get/1", ctl.one.address, "k", value, #value, 7 },
                { told.schema, told.server, told.key, told.value, told.bytes, told.flags })
            assert(ctl.client:set("k", "\xff\xfe"))
            told = dkjson.decode((ctl.succeed("--json get k")))
            assert.is_nil(told.value)
            assert.equal("//4=", told.value_base64)
        end)

        it("prints the server's facts about the key", function()
            assert(ctl.client:set("mine", ("x"):rep(100), { ttl_s = 3000 }))
            local told = dkjson.decode((ctl.succeed("--json me mine")))
            assert.equal("slate/item/1", told.schema)
            assert.is_false(told.fetched)
            assert.is_true(told.size_bytes > 100 and told.class > 0)
            assert.is_true(told.expires_in_s > 2000 and told.expires_in_s <= 3000)
            ctl.succeed("get mine")
            local text = ctl.succeed("me mine")
            assert.truthy(text:find("since it was stored", 1, true), text)
            assert.truthy(text:find("expires +in [45]%dm"), text)
            assert(ctl.client:set("ever", "x"))
            assert.truthy(ctl.succeed("me ever"):find("expires +never"))
        end)

        it("deletes the key", function()
            assert(ctl.client:set("gone", "x"))
            assert.equal("deleted gone\n", ctl.succeed("delete gone"))
            assert.is_false(ctl.client:get("gone"))
            assert(ctl.client:set("gone", "x"))
            local code, _, err = ctl.run("--read-only delete gone")
            assert.equal(77, code, err)
            assert.truthy(ctl.client:get("gone"))
        end)

        once("says with 1 that there is no such item, with 64 that this is no key", function()
            for _, word in ipairs({ "get", "me", "delete" }) do
                local code, out, err = ctl.run(word .. " nobody")
                assert.equal(1, code, word)
                assert.equal("", out)
                assert.equal("slatectl: no item has the key 'nobody'\n", err)
                assert.equal(64, (ctl.run(word .. " 'two words'")), word)
                assert.equal(64, (ctl.run(word .. " " .. ("k"):rep(251))), word)
            end
        end)

        once("goes by a name that stands for it", function()
            ctl.shell(("mkdir -p names && printf '# mine\\nmine = %s\\npair = %s, %s\\n' >names/servers"):format(
                ctl.one.address, ctl.one.address, ctl.one.address))
            assert(ctl.client:set("named", "value"))
            local code, out, err = ctl.shell("SLATE_SERVERS=names/servers slatectl -s mine get named")
            assert.equal(0, code, err)
            assert.equal("value", out)
            code, out, err = ctl.shell("SLATE_SERVERS=names/servers SLATE_SERVER=mine slatectl get named")
            assert.equal(0, code, err)
            assert.equal("value", out)
            code, out, err = ctl.shell("SLATE_SERVERS=names/servers slatectl -s pair --json fleet")
            assert.equal(0, code, err)
            assert.equal(2, #dkjson.decode(out).servers)
        end)

        once("says so when SLATE_SERVERS names a file that cannot be read", function()
            local slatetop = server.quoted(("%s/%s/bin/slatetop"):format(ctl.root, os.getenv("SLATE_BUILD") or "build"))
            for _, path in ipairs({ "/nonexistent/servers", "/" }) do
                for _, words in ipairs({ "slatectl -s mine get named", slatetop .. " -b -s mine" }) do
                    local code, out, err = ctl.shell(("SLATE_SERVERS=%s %s"):format(path, words))
                    assert.equal(64, code, err)
                    assert.equal("", out)
                    assert.truthy(err:find("cannot read " .. path .. ", the file of SLATE_SERVERS: ", 1, true), err)
                    assert.equal(1, select(2, err:gsub("\n", "")), err)
                end
            end
            local code, _, err = ctl.shell("XDG_CONFIG_HOME=/nonexistent slatectl -s mine.invalid get named")
            assert.equal(69, code, err) -- the usual file may be absent
        end)

        once("has colours on a terminal, and nowhere else", function()
            local function run(environment, words)
                local _, out = ctl.shell(("env -u NO_COLOR TERM=xterm %s script -qec %q /dev/null </dev/null"):format(
                    environment, "slatectl " .. words))
                return out
            end
            if ctl.shell("command -v script") ~= 0 then
                return pending("needs script of util-linux")
            end
            assert(ctl.client:set("some", "x"))
            assert.truthy(run("", "classes --interval 0"):find("\27[1m", 1, true))
            assert.is_nil(run("NO_COLOR=1", "classes --interval 0"):find("\27", 1, true))
            assert.is_nil(run("TERM=dumb", "classes --interval 0"):find("\27", 1, true))
            assert.is_nil(run("", "--json classes --interval 0"):find("\27", 1, true))
            assert.is_nil(ctl.succeed("classes --interval 0"):find("\27", 1, true))
            assert.is_nil(run("", "--color never classes --interval 0"):find("\27", 1, true))
            assert.truthy(run("NO_COLOR=1", "--color always classes --interval 0"):find("\27[1m", 1, true))
        end)

        once("has colours in every table and list by one rule, which words do not depend on", function()
            assert(ctl.client:set("some", "x"))
            server.write_file(ctl.folder .. "/fleet.txt", ctl.one.address .. ":1\n")
            local still = { "advise", "fleet where --servers fleet.txt some", "policy list", "settings maxbytes" }
            local moving = { "automove", "check --interval 0", "classes --interval 0", "conns", "fleet --interval 0",
                "items", "keys", "me some", "pages", "sizes --from metadump", "stats settings",
                "waste", "top --interval 0" }
            for _, words in ipairs(still) do
                local inked = ctl.succeed("--color always " .. words)
                assert.truthy(inked:find("\27[1m", 1, true), words)
                assert.equal(ctl.succeed(words), (inked:gsub("\27%[[%d;]*m", "")))
            end
            for _, words in ipairs(moving) do
                assert.truthy(ctl.succeed("--color always " .. words):find("\27%[[%d;]+m"), words)
                assert.is_nil(ctl.succeed("--color auto " .. words):find("\27", 1, true), words)
                assert.is_nil(ctl.succeed("--json --color always " .. words):find("\27", 1, true), words)
            end
            assert.equal(64, (ctl.run("--color bananas classes")))
        end)
    end)
end

describe("names of servers", function()
    it("are read with their addresses", function()
        local addresses, order = names.read("# all\n\na = host:1\n b-2.c =h, i:2 , /run/x.sock\n", "f")
        assert.same({ a = "host:1", ["b-2.c"] = "h,i:2,/run/x.sock" }, addresses)
        assert.same({ "a", "b-2.c" }, order)
    end)

    it("are refused with the number of their line", function()
        for _, text in ipairs({ "a", "a =", "= b", "a:1 = b", "-a = b", "a b = c" }) do
            local addresses, problem = names.read("x = y\n" .. text .. "\n", "f")
            assert.is_nil(addresses, text)
            assert.truthy(problem:find("^f:2: "), problem)
        end
        assert.same({ a = "h:1" }, (names.read("\xef\xbb\xbfa = h:1\r\n", "f"))) -- as some editors write it
        assert.equal("f:2: a is named twice", select(2, names.read("a = b\na = c\n", "f")))
    end)

    it("stand in the usual file", function()
        local function path(variables) return names.path(function(name) return variables[name] end) end
        assert.equal("/c/slate/servers", path({ XDG_CONFIG_HOME = "/c", HOME = "/h" }))
        assert.equal("/h/.config/slate/servers", path({ XDG_CONFIG_HOME = "relative", HOME = "/h" }))
        assert.equal("/s", path({ SLATE_SERVERS = "/s", HOME = "/h" }))
        assert.is_nil(path({}))
    end)
end)
