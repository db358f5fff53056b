-- SPDX-License-Identifier: BSD-3-Clause
local command = require "support.command"
local dkjson = require "dkjson"
local documents = require "support.documents"
local fill = require "support.fill"
local rows = require "slate.cli.rows"
local server = require "support.server"

local SCHEMAS <const> = command.read_file("man/slate-json.7")
local COMMANDS <const> = { "pages", "items", "sizes --from metadump", "conns", "keys", "fit 100 600000 2000000",
    "keys --list --limit 5", "fleet --interval 20ms", "waste", "explain age", "explain", "classes --interval 0",
    "stats", "stats sizes", "stats conns", "settings", "top --interval 20ms", "automove", "help", "version",
    "move 12 5 --dry-run --interval 20ms" }

for _, kind in ipairs(server.both()) do
    describe("slatectl looks at " .. kind.name, function()
        -- A slated would fit its chunk sizes to the items meanwhile.
        local ctl = command.beside(setup, teardown, { binary = kind.binary, pages = 2, args = { "-m", "9", "-o",
            "slab_automove=0,track_sizes" .. (kind.is_slated and ",no_slab_geometry_auto" or "") } })
        local client, parsed

        setup(function() client, parsed = ctl.client, documents.new() end)
        teardown(function() parsed.remove() end)

        local function document(arguments)
            return (assert(dkjson.decode((ctl.succeed(arguments .. " --json")))))
        end

        it("writes JSON, lines of JSON and CSV that other parsers read, under schemas of the manual", function()
            for _, arguments in ipairs(COMMANDS) do
                for _, format in ipairs({ "json", "jsonl", "csv" }) do
                    local code, out, err
                    repeat
                        code, out, err = ctl.run(arguments .. " --" .. format)
                    until code ~= 75 -- memcached is still walking for the earlier request for keys
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

        it("takes shared options before and after the command", function()
            assert.equal(ctl.succeed("--json settings maxbytes"), ctl.succeed("settings maxbytes --json"))
            local named = ctl.succeed("-s " .. ctl.one.address .. " settings maxbytes")
            assert.equal(ctl.succeed("settings maxbytes"), named)
        end)

        it("shows the overview and the classes that matter, for the given rounds, one JSON line each", function()
            local out, rounds = ctl.succeed("top -w 50ms --count 3 --json"), 0
            for line in out:gmatch("[^\n]+\n") do
                rounds = rounds + 1
                assert.is_true(dkjson.decode(line).interval_s > 0)
            end
            assert.equal(3, rounds)
            out = ctl.succeed("top -w 50ms --count 2")
            assert.equal(2, select(2, out:gsub("hits ", "")))
            for _, part in ipairs({ ctl.one.address, "gets/s", "memory", "CLASS", "automove off" }) do
                assert.truthy(out:find(part, 1, true), out)
            end
            assert.is_nil(out:find("\27", 1, true))
        end)

        it("lists the classes with the server's own numbers", function()
            local by_id = {}
            for _, row in ipairs(document("classes --interval 0").classes) do
                by_id[row.id] = row
            end
            assert.equal(fill.pages_of(client, 12), by_id[12].pages)
            assert.equal(fill.pages_of(client, 5), by_id[5].pages)
            assert.is_nil(by_id[12].set_per_s)
            assert.is_true(by_id[12].used_ratio > 0 and by_id[12].used_ratio <= 1)
            local few = document("classes --interval 0 --sort pages --top 1")
            assert.same({ 12, 1 }, { few.classes[1].id, #few.classes })
            assert.is_true(few.truncated >= 1)
            assert.equal(5, document("classes 5 --interval 0").classes[1].id)
            ctl.refuses(1, "classes 63 --interval 0", "class 63 holds nothing")
        end)

        it("prints statistics with the server's names in its order, and names unknown ones", function()
            local names, shown = {}, {}
            for _, line in ipairs(client:stats("settings")) do
                names[#names + 1] = line:match("^STAT (%S+)")
            end
            for line in ctl.succeed("stats settings"):gmatch("[^\n]+") do
                shown[#shown + 1] = line:match("^%S+")
            end
            assert.same(names, shown)
            ctl.refuses(3, "stats nonsense", "does not know 'stats nonsense'")
            for _, line in ipairs(kind.is_slated and {} or { "stats policies", "moves", "geometry auto" }) do
                ctl.refuses(3, line, "needs slated")
            end
        end)

        it("finds settings by a part of their name", function()
            assert.truthy(ctl.succeed("settings automove"):find("^slab_automove"))
            assert.equal(1, (ctl.run("settings nothing-like-it")))
            if kind.is_slated then -- those that only stats config has, too
                assert.truthy(ctl.succeed("settings s3fifo"):find("^s3fifo_small_percent +10\n"))
                assert.truthy(ctl.succeed("settings"):find("\nslab_geometry_auto +%l+\n"))
            end
        end)

        it("lists pages as the server does, or marks them as estimated", function()
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

        it("puts every item into its class, from either source", function()
            local classes = {}
            for _, class in ipairs(document("items").classes) do
                classes[class.id] = class.items
                assert.is_true(class.evicted > 0 or class.evicted_age_s == nil) -- without an eviction there is no age
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

        it("shows as many items of a class as the class counts, also where a step of sizes ends in the next class",
            function()
                local key <const> = ("k"):rep(32)
                assert(client:set(key, ("v"):rep(1400)))
                local classes, shown = {}, {}
                for _, class in ipairs(document("items").classes) do
                    classes[class.id] = class.items
                end
                for id, items in ctl.succeed("sizes"):gmatch("\n *(%d+) +%d+ to %d+ +(%d+)") do
                    shown[tonumber(id)] = tonumber(items)
                end
                assert.same(classes, shown)
                assert.equal("DELETED", client:command("delete " .. key))
            end)

        it("names the class of a value, which is the one that the server puts the value into", function()
            for _, size in ipairs({ { 1, 1, 0 }, { 20, 0, 7 }, { 100, 2048, 0 }, { 100, 2049, 7 }, { 250, 60000, 0 },
                { 7, 300000, 7 } }) do
                local key_bytes, value_bytes, flags = table.unpack(size)
                local key = ("k"):rep(key_bytes)
                assert(client:set(key, ("x"):rep(value_bytes), { flags = flags }))
                local stored = document("me " .. key)
                local told = document(("fit --key %d %s %d --interval 0"):format(key_bytes,
                    flags > 0 and "--flags" or "", value_bytes)).values[1]
                assert.equal(stored.size_bytes, told.item_bytes, ("%d and %d bytes"):format(key_bytes, value_bytes))
                assert.equal(stored.class, told.class)
                assert.is_true(told.chunk_bytes - told.item_bytes == told.waste_bytes and told.pages >= 1)
                client:delete(key)
            end
            local found = document("fit 600000 2m 3k")
            assert.same({ "chain", "refused", 3072 }, { found.values[1].fits, found.values[2].fits,
                found.values[3].value_bytes })
            local text = ctl.succeed("fit 100 600000 2000000 --interval 20ms")
            assert.truthy(text:find("chained: over any chunk\n.*over item_size_max, 1 MiB\n"), text)
            for line in text:gmatch("[^\n]+") do assert.is_true(#line <= 80, line) end
            assert.same({ 64, 64 }, { (ctl.run("fit")), (ctl.run("fit 12x")) })
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

        it("watches events and prints the number lost", function()
            local code, out, err = ctl.beside("watch fetchers --count 3 --where key=nothing --jsonl", function(rest)
                repeat client:get("nothing") until not rest()
            end)
            assert.equal(0, code, err)
            local seen = 0
            for line in out:gmatch("[^\n]+") do
                local event = assert(dkjson.decode(line))
                assert.same({ "item_get", "nothing" }, { event.type, event.key })
                assert.equal("integer", math.type(event.connection))
                seen = seen + 1
            end
            assert.equal(3, seen)
            assert.truthy(err:find("3 events in [%d.]+ s; none lost"), err)
            code, _, err = ctl.run("watch nonsense")
            assert.is_true(code == 64 or code == 77, err)
            assert.truthy(err:find("kinds of events are fetchers, mutations, ", 1, true), err)
        end)

        it("counts the keys with most requests and those with most bytes read, as typed", function()
            client:set("large:1", ("x"):rep(5000))
            client:set("often:1", "x")
            for by, first in pairs({ requests = "often:1", bytes = "large:1" }) do
                local code, out, err = ctl.beside("hotkeys 1 --for 1s --json --by " .. by, function(rest)
                    repeat
                        client:get("large:1")
                        for _ = 1, 20 do client:get("often:1") end
                    until not rest()
                end)
                assert.equal(0, code, err)
                local found = dkjson.decode(out)
                local one = found.keys[1]
                assert.same({ first, 1 }, { one.key, #found.keys })
                assert.truthy(found.seconds >= 1 and found.noted > 0 and found.lost >= 0, out)
                assert.truthy(one.bytes_doubt and one.requests <= found.requests and one.bytes <= found.bytes, out)
                assert.truthy(err:find("counting every request for 1 s", 1, true), err)
                local who = one.who[1]
                assert.is_string(who.host) -- a socket's name, or what that version has for it
                assert.same({ 1, 1, 1, {} }, { #one.who, who.share, who.connections, who.ports })
            end
        end)

        it("keeps to the 80 columns of a terminal", function()
            for _, arguments in ipairs({ "top --interval 20ms", "pages", "items", "policy list", "help chart" }) do
                local _, out = ctl.run(arguments)
                for line in out:gsub("%S*/socket", "127.0.0.1:11211"):gmatch("[^\n]+") do
                    assert.is_true(utf8.len(line) <= 80, arguments .. ": " .. line)
                end
            end
        end)

        it("lists a fleet with the worst first, and a server that is down as a row", function()
            local code, out = ctl.run("-s ./nobody fleet --interval 20ms --json -s " .. ctl.one.address)
            assert.equal(1, code)
            local found = assert(dkjson.decode(out))
            assert.equal(1, found.down)
            assert.equal("./nobody", found.servers[1].server)
            assert.truthy(found.servers[1].why)
            assert.equal(ctl.one.address, found.servers[2].server)
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

    it("quote characters that would end a field", function()
        local text = rows.csv({ schema = "slate/help/1", commands = { { name = 'a "b",\n', summary = "" } } }, true)
        assert.equal('name,summary\n"a ""b"",\n",\n', text)
    end)
end)

describe("a command line", function()
    local is_read = require("slate.wire.guard").is_read

    it("counts as a write unless known to read", function()
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
            -- The program prints its classes when it starts, and then ends: nobody may write to that socket's folder.
            local said, sizes = server.capture(("%s -vv -s /nowhere/socket -f %g -n %d -u root -t 1 2>&1"):format(
                binary, case[1], case[2])), {}
            for id, size in said:gmatch("slab class +(%d+): chunk size +(%d+) ") do
                sizes[math.tointeger(tonumber(id))] = math.tointeger(tonumber(size))
            end
            assert.same(sizes, chunks.by_factor(case[1], case[2], 524288), ("-f %g -n %d"):format(case[1], case[2]))
        end
    end)
end)
