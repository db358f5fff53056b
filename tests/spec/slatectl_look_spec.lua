-- SPDX-License-Identifier: BSD-3-Clause
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local dkjson = require "dkjson"
local documents = require "support.documents"
local fill = require "support.fill"
local rows = require "slate.cli.rows"
local server = require "support.server"

local SCHEMAS <const> = command.read_file("man/slate-json.7")
local COMMANDS <const> = { "pages", "items", "sizes --from metadump", "conns", "keys",
    "fit 100 600000 2000000",
    "keys --list --limit 5", "fleet --interval 20ms", "waste", "explain age", "explain",
    "classes --interval 0", "stats", "settings", "top --interval 20ms", "automove", "help" }

for _, kind in ipairs(server.all()) do
    describe("slatectl looks at " .. kind.name, function()
        local one, client, ctl, parsed

        setup(function()
            -- A slated would fit its chunk sizes to the items meanwhile.
            one = server.start({ binary = kind.binary, args = { "-m", "32", "-o", "slab_automove=0,track_sizes"
                .. (kind.is_slated and ",no_slab_geometry_auto" or "") } })
            client = one:connect()
            ctl = command.new({ server = one.address })
            parsed = documents.new()
            assert.equal(2, fill.fill(client, 5, 2))
            assert.is_true(fill.fill(client, 12) >= 6)
        end)
        teardown(function()
            client:close()
            ctl.remove()
            parsed.remove()
            one:stop()
        end)

        local function document(arguments)
            return (assert(dkjson.decode((ctl.succeed(arguments .. " --json")))))
        end

        it("gives no age to the last eviction of a class that had none", function()
            local seen = 0
            for _, class in ipairs(document("items").classes) do
                if class.evicted == 0 then
                    seen = seen + 1
                    assert.is_nil(class.evicted_age_s)
                end
            end
            assert.truthy(seen > 0)
        end)

        it("writes JSON, lines of JSON and CSV that other parsers read, under schemas of the manual", function()
            for _, arguments in ipairs(COMMANDS) do
                for _, format in ipairs({ "json", "jsonl", "csv" }) do
                    local code, out, err
                    repeat
                        code, out, err = ctl.run(arguments .. " --" .. format)
                    until code ~= 75 -- memcached still walks for the keys that were asked for before
                    if format == "csv" and code == 64 then
                        assert.truthy(err:find("has no rows: use --json", 1, true), err)
                    else
                        assert.equal(0, code, arguments .. ": " .. err)
                        parsed.add(arguments:find("^keys %-%-list") and format == "json" and "jsonl" or format, out,
                            arguments)
                    end
                    if format == "json" then
                        local schema = assert(dkjson.decode(out:match("^[^\n]*"))).schema
                        assert.truthy(SCHEMAS:find(".It Li " .. schema .. "\n", 1, true), schema)
                    end
                end
            end
            assert.equal("", parsed.check())
        end)

        it("lists pages as the server does, or says that it estimates", function()
            local found = document("pages")
            local of_class = {}
            for _, page in ipairs(found.pages) do
                of_class[page.class] = (of_class[page.class] or 0) + 1
                assert.is_true(page.used_ratio >= 0 and page.used_ratio <= 1)
            end
            assert.equal(fill.pages_of(client, 12), of_class[12])
            assert.equal(2, of_class[5])
            assert.equal(not kind.is_slated, found.estimated)
            local text = ctl.succeed("pages 12")
            assert.equal(not kind.is_slated, text:find("estimated", 1, true) ~= nil)
            local map = ctl.succeed("pages 12 --map")
            assert.equal(of_class[12], #map:match("12 +%d+  ([.#%d]+)\n"))
            assert.equal(1, (ctl.run("pages 63")))
        end)

        it("puts every item into the class that holds it, from either source", function()
            local classes = {}
            for _, class in ipairs(document("items").classes) do
                classes[class.id] = class.items
            end
            for _, source in ipairs({ kind.is_slated and "sizehist" or "metadump", "metadump" }) do
                local found, counted = document("sizes --from " .. source), {}
                for _, size in ipairs(found.sizes) do
                    counted[size.class] = (counted[size.class] or 0) + size.items
                    assert.is_true(size.bytes <= size.chunk_bytes)
                end
                assert.same(classes, counted, source)
            end
            assert.truthy(ctl.succeed("sizes"):find(kind.is_slated and "from sizehist" or "from sizes", 1, true))
        end)

        it("tells the class of a value, which is the one that the server puts it into", function()
            local sizes = { { 1, 1 }, { 20, 0 }, { 100, 2048 }, { 100, 2049 }, { 250, 60000 }, { 7, 300000 } }
            for _, size in ipairs(sizes) do
                local key_bytes, value_bytes = size[1], size[2]
                local key = ("k"):rep(key_bytes)
                for _, flags in ipairs({ 0, 7 }) do
                    assert(client:set(key, ("x"):rep(value_bytes), { flags = flags }))
                    local stored = document("me " .. key)
                    local told = document(("fit --key %d %s %d --interval 0"):format(key_bytes,
                        flags > 0 and "--flags" or "", value_bytes)).values[1]
                    assert.equal(stored.size_bytes, told.item_bytes, ("%d and %d bytes"):format(key_bytes, value_bytes))
                    assert.equal(stored.class, told.class)
                    assert.is_true(told.chunk_bytes - told.item_bytes == told.waste_bytes and told.pages >= 1)
                end
                client:delete(key)
            end
            local found = document("fit 600000 2000000")
            assert.same({ "chain", "refused" }, { found.values[1].fits, found.values[2].fits })
            local text = ctl.succeed("fit 100 600000 2000000 --interval 20ms")
            assert.truthy(text:find("chained: over any chunk\n.*over item_size_max, 1M\n"), text)
            for line in text:gmatch("[^\n]+") do
                assert.is_true(#line <= 80, line)
            end
            assert.equal(64, (ctl.run("fit")))
            assert.equal(64, (ctl.run("fit 12k")))
        end)

        it("reads a bounded dump of keys and chooses among them", function()
            local all = document("keys --delimiter -")
            assert.equal(1, #all.prefixes)
            assert.equal("fill-", all.prefixes[1].prefix)
            assert.is_true(all.complete)
            assert.equal(all.keys_read, all.prefixes[1].items)
            local few
            for _ = 1, 100 do -- a dump that was cut short may still be busy for a moment
                local code, out = ctl.run("keys --limit 7 --json")
                few = code == 0 and dkjson.decode(out)
                if few then
                    break
                end
            end
            assert.equal(7, few.keys_read)
            assert.is_false(few.complete)
        end)

        it("watches events and tells how many were lost", function()
            local code, out, err = ctl.shell(("(until [ -e stop ]; do printf 'get nothing\\r\\n'; sleep 0.05; done) "
                .. "| lua5.4 -e 'package.path=\"%s/lua/?.lua;\"..package.path local c = require(\"slate.wire.client\")"
                .. ".connect(\"%s\") for line in io.lines() do c:get(\"nothing\") end' & "
                .. "slatectl watch fetchers --count 3 --where key=nothing --jsonl; code=$?; touch stop; wait; rm stop; "
                .. "exit $code"):format(ctl.root, one.address))
            assert.equal(0, code, err)
            local seen = 0
            for line in out:gmatch("[^\n]+") do
                local event = assert(dkjson.decode(line))
                assert.equal("item_get", event.type)
                assert.equal("nothing", event.key)
                assert.equal("integer", math.type(event.connection))
                seen = seen + 1
            end
            assert.equal(3, seen)
            assert.truthy(err:find("3 events in [%d.]+ s; none lost"), err)
            code, _, err = ctl.run("watch nonsense")
            assert.is_true(code == 3 or code == 77, err)
        end)

        it("warns before it watches mutations where a version of memcached may crash of it", function()
            local version = not kind.is_slated and kind.name:match("(%d+%.%d+%.%d+)") or nil
            local fault = require("slate.facts.faults").of_watch({ version = version }, { "mutations" })
            local code, _, err = ctl.run("watch mutations --for 50ms")
            assert.equal(0, code, err)
            assert.equal(fault and "caution: " .. fault or nil, err:match("caution: [^\n]*"))
        end)

        it("accounts for every byte of the pages of a class", function()
            for _, class in ipairs(document("waste").classes) do
                assert.equal(class.page_bytes, class.used_bytes + class.free_bytes + class.tail_bytes)
                if class.slack_bytes then
                    assert.equal(class.page_bytes, class.requested_bytes + class.slack_bytes + class.free_bytes
                        + class.tail_bytes, "class " .. class.id)
                end
            end
        end)

        it("keeps to the 80 columns of a terminal", function()
            for _, arguments in ipairs({ "top --interval 20ms", "pages", "items", "automove",
                "policy list", "help", "help chart" }) do
                local _, out = ctl.run(arguments)
                for line in out:gsub("%S*/socket", "127.0.0.1:11211"):gmatch("[^\n]+") do
                    assert.is_true(utf8.len(line) <= 80, arguments .. ": " .. line)
                end
            end
        end)

        it("lists a fleet with the worst first, and a server that is down as a row", function()
            local code, out = ctl.run("-s ./nobody fleet --interval 20ms --json -s " .. one.address)
            assert.equal(1, code)
            local found = assert(dkjson.decode(out))
            assert.equal(1, found.down)
            assert.equal("./nobody", found.servers[1].server)
            assert.truthy(found.servers[1].why)
            assert.equal(one.address, found.servers[2].server)
        end)

        it("sends nothing that writes under --read-only", function()
            for _, arguments in ipairs({ "automove 1", "move 12 5", "stats reset", "policy run free-pages --once",
                "bench --requests 1" }) do
                local _, _, err = ctl.run("--read-only --trace " .. arguments)
                assert.is_nil(err:find("\n> slabs", 1, true) or err:find("^> slabs"), err)
                assert.is_nil(err:find("> stats reset", 1, true), err)
            end
            assert.equal(77, (ctl.run("--read-only automove 1")))
            assert.equal(77, (ctl.run("--read-only bench --requests 1")))
            assert.equal(0, (ctl.run("--read-only classes --interval 0")))
        end)

        it("shows in a trace what was sent and what came back", function()
            local _, err = ctl.succeed("--trace automove 0")
            assert.truthy(err:find("> slabs automove 0\n< OK\n", 1, true), err)
        end)
    end)
end

describe("rows", function()
    it("of every schema are in the manual, with all their columns", function()
        for schema, form in pairs(rows.TABLES) do
            local from = assert(SCHEMAS:find(".It Li " .. schema .. "\n", 1, true), schema)
            local entry = SCHEMAS:sub(from, (SCHEMAS:find("\n.It Li ", from + 1, true) or #SCHEMAS))
            if form.columns[1] ~= "name" or form.columns[2] ~= "value" then
                for _, name in ipairs(form.columns) do
                    assert.truthy(entry:find("%f[%w_]" .. name .. "%f[^%w_]"), schema .. " " .. name)
                end
            end
        end
    end)

    it("quote what would end a field", function()
        local text = rows.csv({ schema = "slate/help/1", commands = { { name = 'a "b",\n', summary = "" } } }, true)
        assert.equal('name,summary\n"a ""b"",\n",\n', text)
    end)
end)

describe("a command line", function()
    local is_read = require("slate.wire.guard").is_read

    it("is taken for a write unless it is known to read", function()
        for _, line in ipairs({ "stats", "stats slabs", "version", "get a", "gets a b", "mg a v t", "mn", "me a",
            "config get", "lru_crawler metadump all", "watch evictions", "stats detail dump" }) do
            assert.is_true(is_read(line), line)
        end
        for _, line in ipairs({ "stats reset", "stats detail on", "stats sizes_enable", "set a 0 0 1", "delete a",
            "mg a v N30", "mg a T30", "md a", "slabs reassign 1 2", "slabs automove 0", "flush_all", "config set a 1",
            "lru_crawler crawl all", "verbosity 1", "nonsense", "", "gat 1 a", "incr a 1", "evict policy lru" }) do
            assert.is_false(is_read(line), line)
        end
    end)
end)

describe("chunk sizes computed from settings", function()
    it("are those that memcached makes", function()
        local binary = server.memcached()
        if not binary then
            return pending("no memcached here")
        end
        local chunks = require "slate.facts.chunks"
        for _, case in ipairs({ { 1.25, 48 }, { 1.08, 48 }, { 2, 100 }, { 1.5, 10 } }) do
            -- It says what classes it has when it starts, and then ends: nobody may write to that socket's folder.
            local pipe = io.popen(("%s -vv -s /nowhere/socket -f %g -n %d -u root -t 1 2>&1"):format(binary, case[1],
                case[2]))
            local sizes = {}
            for id, size in pipe:read("a"):gmatch("slab class +(%d+): chunk size +(%d+) ") do
                sizes[math.tointeger(tonumber(id))] = math.tointeger(tonumber(size))
            end
            pipe:close()
            assert.same(sizes, chunks.by_factor(case[1], case[2], 524288), ("-f %g -n %d"):format(case[1], case[2]))
        end
    end)
end)
