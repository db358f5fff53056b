-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl save and load: the items of a cache in a file, and into another cache, between slated and memcached.
local packets = require "support.binary"
local command = require "support.command"
local document = require "support.document"
local pipeline = require "support.pipeline"
local server = require "support.server"
local wire = require "support.wire"

local VALUE_OF_LINES <const> = "flush_all\r\n# end 1 items 1 bytes\r\nms x 1\r\n"
local HEAD <const> = '# slate-items 1 {"server":"elsewhere","time_s":1}\r\n'
local GET <const>, SET <const>, DELETE <const> = "00", "01", "04"
local FAR_S <const> = 2100000000 -- a moment in 2036

local function store_samples(client)
    assert(client:set("plain", "value", { flags = 7 }))
    assert(client:set("empty", ""))
    assert(client:set("short", "soon gone", { ttl_s = 100000 }))
    assert(client:set("far", "beyond thirty days", { ttl_s = FAR_S }))
    assert(client:set("percent%25", "a name as it is"))
    assert(client:set("lines", VALUE_OF_LINES, { flags = 4294967295 }))
    assert(client:set("large", ("0123456789"):rep(90000)))
    assert(client:meta("ms", "AAECAw==", { "b", "F3" }, "binary key"))
    local many = pipeline(client)
    for i = 1, 2000 do many:set("many-" .. i, tostring(i):rep(20)) end
    assert(many:finish())
end

local function holds_samples(client)
    local function is(key, value, flags, least_s, most_s)
        local item = assert(client:meta("mg", key, { "v", "f", "t" }))
        assert.equal("VA", item.status, key)
        assert.equal(value, item.value)
        assert.equal("f" .. flags, item.flags[1])
        local ttl_s = tonumber(item.flags[2]:sub(2))
        assert.is_true(ttl_s >= least_s and ttl_s <= most_s, key .. " lives " .. ttl_s)
    end
    is("plain", "value", 7, -1, -1)
    is("empty", "", 0, -1, -1)
    is("short", "soon gone", 0, 90000, 100001)
    is("far", "beyond thirty days", 0, FAR_S - os.time() - 100, FAR_S - os.time() + 100)
    is("percent%25", "a name as it is", 0, -1, -1)
    is("lines", VALUE_OF_LINES, 4294967295, -1, -1)
    is("large", ("0123456789"):rep(90000), 0, -1, -1)
    is("many-2000", ("2000"):rep(20), 0, -1, -1)
    local binary = assert(client:meta("mg", "AAECAw==", { "b", "v", "f" }))
    assert.equal("binary key", binary.value)
    assert.equal("f3", binary.flags[1])
end

local function file_of(folder, name, text)
    local file <close> = assert(io.open(folder .. "/" .. name, "wb"))
    assert(file:write(text))
end

describe("slatectl save", function()
    local clock = require "slate.base.clock"
    local sleep = clock.sleep
    setup(function() clock.sleep = function() end end)
    teardown(function() clock.sleep = sleep end)

    it("waits for a server that walks for another", function()
        local asked = 0
        local busy = {
            each_line = function(_, _, _, on_line)
                asked = asked + 1
                if asked < 3 then
                    return nil, "BUSY currently processing crawler request", "busy"
                end
                on_line("mg key")
                return "EN"
            end,
            stats = function() return { "STAT curr_items 1" } end,
            close = function() end,
        }
        local spool <close>, count = assert(require("slate.act.save_items").walk(busy, nil, true))
        assert.equal(1, count)
        assert.equal("key", spool:read("l"))
    end)

    it("waits for the crawler in a dump of keys, too", function()
        local answers = { { nil, "BUSY currently processing crawler request", "busy" }, { "END" } }
        local client = { each_line = function() return table.unpack(table.remove(answers, 1), 1, 3) end }
        function client.close() end
        local problem, _, read = require("slate.wire.keydump").each(client, { limit = 1 }, print)
        assert.same({ nil, 0, 0 }, { problem, read, #answers })
    end)

    it("walks a memcached again whose walk missed a key that moved between its queues", function()
        -- For each walk the keys listed, and for each `stats` the numbers of items present and moved.
        local function walk(walks, figures)
            local walked, asked = 0, 0
            local memcached = {
                each_line = function(_, _, _, on_line)
                    walked = walked + 1
                    for key in walks[walked]:gmatch("%S+") do
                        on_line(("key=%s exp=-1 la=1 cas=1 fetch=no cls=1 size=60"):format(key))
                    end
                    return "END"
                end,
                stats = function()
                    asked = asked + 1
                    local items, moves = table.unpack(figures[math.min(asked, #figures)])
                    return { "STAT curr_items " .. items, "STAT moves_to_cold " .. moves }
                end,
                close = function() end,
            }
            local spool <close>, keys, missing = assert(require("slate.act.save_items").walk(memcached, nil, false))
            return { keys, missing, spool:read("a"), walked }
        end
        assert.same({ 2, 0, "a\nb\n", 2 }, walk({ "a", "a b" }, { { 2, 0 }, { 2, 1 } }))
        assert.same({ 1, 0, "a\n", 1 }, walk({ "a" }, { { 2, 5 } }), "what has expired is no longer told")
        assert.same({ 1, 0, "a\n", 1 }, walk({ "a" }, { { 1, 0 }, { 1, 1 } }), "all were told")
        assert.same({ 2, 1, "a\nc\n", 4 }, walk({ "a", "a c", "a", "b" },
            { { 3, 0 }, { 3, 1 }, { 3, 2 }, { 3, 3 }, { 3, 4 }, { 3, 5 }, { 3, 6 }, { 3, 7 } }), "the best of four")
    end)

    it("breaks off a walk that does not end", function()
        local lines = 0
        local endless = {
            each_line = function(_, _, _, on_line)
                repeat lines = lines + 1 until on_line("no key") == false
                return "mg key"
            end,
            stats = function() return { "STAT curr_items 10" } end,
            close = function() end,
        }
        local spool, message, code = require("slate.act.save_items").walk(endless, nil, true)
        assert.is_nil(spool)
        assert.truthy(message:find("many times what the server holds", 1, true))
        assert.equal("protocol", code)
        assert.is_true(lines < 2000000)
    end)
end)

describe("the pace of save and load", function()
    it("rests as long as the work took, but not for a time in which the process was stopped", function()
        local clock, pace = require "slate.base.clock", require "slate.act.pace"
        local now_s, slept_s, steady_s, sleep = 100, 0, clock.steady_s, clock.sleep
        finally(function() clock.steady_s, clock.sleep = steady_s, sleep end)
        clock.steady_s = function() return now_s end
        clock.sleep = function(seconds) now_s, slept_s = now_s + seconds, slept_s + seconds end
        local work = pace.new(0.5)
        now_s = now_s + 0.25
        work:pause()
        assert.equal(0.25, slept_s)
        now_s = now_s + 600
        work:pause()
        assert.equal(1.25, slept_s)
    end)
end)

for _, kind in ipairs(server.both()) do
    describe("slatectl save and load on " .. kind.name, function()
        local from, to, client, target, ctl
        local once = kind.is_slated and it or function() end -- for claims that hold for every server

        setup(function()
            from = server.start({ binary = kind.binary, args = { "-m", "32" } })
            to = server.start({ binary = kind.binary, args = { "-m", "32" } })
            client, target = from:connect(), to:connect()
            store_samples(client)
            ctl = command.new({ server = from.address, waits = not kind.is_slated }) -- for items that move meanwhile
        end)
        teardown(function()
            client:close()
            target:close()
            ctl.remove()
            from:stop()
            to:stop()
        end)
        before_each(function() assert(target:flush_all()) end)

        for i, name in ipairs({ "day.items", "day.items.gz", "day.items.zst" }) do
            (i == 1 and it or once)("carries every item with its flags and time to live, through " .. name, function()
                local program = name:match("%.gz$") and "gzip" or name:match("%.zst$") and "zstd"
                if program and not os.execute("command -v " .. program .. " >/dev/null") then
                    pending(program .. " is not on this machine")
                    return
                end
                local saved = document((ctl.succeed("save " .. name .. " --json --pace 100%")))
                assert.equal(2008, saved.items)
                assert.equal(0, saved.gone)
                local loaded = document((ctl.succeed("load " .. name .. " --json --server " .. to.address)))
                assert.equal(2008, loaded.stored)
                assert.equal(saved.value_bytes, loaded.value_bytes)
                holds_samples(target)
                assert.equal(0, (ctl.shell("! ls | grep part")))
            end)
        end

        once("goes from server to server through a pipe", function()
            local code, _, err = ctl.shell("slatectl save - | slatectl --server " .. to.address .. " load -")
            assert.equal(0, code, err)
            assert.truthy(err:find("stored 2008 items", 1, true), err)
            holds_samples(target)
        end)

        once("says of packed items in a pipe that they need to be unpacked", function()
            ctl.succeed("save packed.items.gz --prefix many-19")
            local code, _, err = ctl.shell("slatectl load - --server " .. to.address .. " <packed.items.gz")
            assert.equal(74, code)
            assert.truthy(err:find("is it packed? Then it needs zcat or zstdcat before", 1, true), err)
            ctl.shell("zcat packed.items.gz | slatectl load - --server " .. to.address)
            assert.equal(("19"):rep(20), target:get("many-19").value)
        end)

        it("leaves keys that the server has, and replaces them when told to", function()
            assert(target:set("plain", "newer"))
            ctl.succeed("save one.items")
            local into = " --server " .. to.address
            local code, _, err = ctl.run("load one.items" .. into)
            assert.equal(0, code)
            assert.matches("stored 2,?007 of 2,?008 that were read, with .* of values; 1 were there already", err)
            assert.equal("newer", target:get("plain").value)
            assert.equal(2008, document((ctl.succeed("load one.items --json" .. into))).kept)
            assert.equal(0, document((ctl.succeed("load one.items --overwrite --json" .. into))).kept)
            assert.equal("value", target:get("plain").value)
        end)

        it("saves the keys with a prefix alone", function()
            assert.equal(2000, document((ctl.succeed("save many.items --prefix many- --json"))).items)
        end)

        it("leaves items' marks as they were, and a stale item's renewal to others", function()
            assert(client:set("untouched", "1"))
            assert(client:set("outdated", "1"))
            assert(client:meta("md", "outdated", { "I", "T1000" }))
            local saved = document((ctl.succeed("save stale.items --json")))
            assert.equal(1, saved.stale)
            local untouched = assert(client:meta("mg", "untouched", { "h", "u" }))
            assert.equal("h0", untouched.flags[1])
            local outdated = assert(client:meta("mg", "outdated", { "v" }))
            assert.same({ "W", "X" }, (function()
                table.sort(outdated.flags)
                return outdated.flags
            end)())
            assert(client:delete("untouched"))
            assert(client:delete("outdated"))
        end)

        once("leaves out what has expired since it was saved", function()
            file_of(ctl.folder, "old.items", HEAD .. "ms old 1 F0 T1000\r\na\r\nms new 1 F0\r\nb\r\n"
                .. "# end 2 items 2 bytes\r\n")
            local loaded = document((ctl.succeed("load old.items --json --server " .. to.address)))
            assert.equal(1, loaded.expired)
            assert.equal(1, loaded.stored)
            assert.is_false(target:get("old"))
        end)

        once("stores the rest when the server refuses a value, and tells of it", function()
            file_of(ctl.folder, "huge.items", HEAD .. "ms huge 3000000 F0\r\n" .. ("x"):rep(3000000)
                .. "\r\nms small 1 F0\r\na\r\n# end 2 items 3000001 bytes\r\n")
            local code, out, err = ctl.run("load huge.items --json --server " .. to.address)
            assert.equal(1, code)
            assert.truthy(err:find("1 item was refused; the first: .*too large"), err)
            assert.equal(1, document(out).refused)
            assert.equal("a", target:get("small").value)
        end)

        once("refuses what is not a whole file of items, with the place", function()
            local whole = HEAD .. "ms a 1 F0\r\nb\r\n# end 1 items 1 bytes\r\n"
            local summed = ("%s xxh64 %016x\r\n"):format(whole:sub(1, -3),
                require("slate.wire.xxh").xxh64((whole:gsub("# end.*", ""))))
            local long = ("k"):rep(251)
            for text, complaint in pairs({
                [""] = "is not a file of items",
                ["hello\n"] = "is not a file of items",
                [("x"):rep(5000)] = "is not a file of items",
                [HEAD:gsub(" 1 ", " 2 ", 1)] = "of version 2; this slatectl reads version 1",
                [HEAD] = "ends before its last line",
                [whole:sub(1, -10)] = "ends before its last line",
                [HEAD .. "ms a 5 F0\r\nbb"] = "ends within a value",
                [HEAD .. "ms a 1 F0\r\nbbb\r\n"] = "does not end where its line says",
                [HEAD .. "ms a 1\r\nb\r\n"] = "not an item: ms a 1",
                [HEAD .. "ms a 1 F0 Tx\r\nb\r\n"] = "not an item",
                [HEAD .. "ms a 9999999999 F0\r\nb\r\n"] = "not an item",
                [HEAD .. "ms " .. long .. " 1 F0\r\nb\r\n"] = "not an item",
                [HEAD .. "ms a\27[31m 1 F0\r\nb\r\n"] = "not an item: ms a?[31m 1 F0",
                [HEAD .. "ms a 1 F0 q\r\nb\r\n"] = "not an item",
                [HEAD .. "flush_all\r\n"] = "not an item: flush_all",
                [HEAD .. ("y"):rep(5000)] = "a line of more than 2048 bytes",
                [whole:gsub("1 items", "2 items")] = "counts 2 items, 1 were found",
                [summed:gsub("\r\nb\r\n", "\r\nc\r\n")] = "its checksum differs",
                [summed:gsub("F0", "F1")] = "its checksum differs",
                [summed:gsub('elsewhere', 'elsewhare')] = "its checksum differs",
                [summed:gsub("xxh64", "md5")] = "not an item: # end 1 items 1 bytes md5",
            }) do
                file_of(ctl.folder, "bad.items", text)
                local code, _, err = ctl.run("load bad.items --server " .. to.address)
                assert.equal(74, code, complaint .. ": " .. err)
                assert.truthy(err:find(complaint, 1, true), complaint .. ": " .. err)
            end
        end)

        once("takes a file without a checksum, and one whose checksum is right", function()
            local text = HEAD .. "ms a 1 F0\r\nb\r\n"
            local sum = ("%016x"):format(require("slate.wire.xxh").xxh64(text))
            for _, sum_words in ipairs({ "", " xxh64 " .. sum }) do
                file_of(ctl.folder, "good.items", text .. "# end 1 items 1 bytes" .. sum_words .. "\r\n")
                ctl.succeed("load good.items --overwrite --server " .. to.address)
            end
            assert.equal("b", target:get("a").value)
        end)

        once("leaves no part behind when a signal ends it, and the file of before", function()
            file_of(ctl.folder, "kept.items", "of before")
            for _, signal in ipairs({ "TERM", "INT", "KILL" }) do
                -- A pace of 1 % takes long, so a part exists when the command ends; its warden then removes the part.
                local code, _, err = ctl.shell("env --default-signal=INT slatectl save kept.items --pace 1% & pid=$!; "
                    .. "while ! ls | grep -q part; do kill -0 $pid || exit 1; sleep 0.05; done; kill -" .. signal
                    .. " $pid; wait $pid; n=0; while ls | grep -q part; do n=$((n + 1)); "
                    .. "[ $n -lt 600 ] || exit 2; sleep 0.05; done; cat kept.items; exit 0")
                assert.equal(0, code, signal .. ": " .. err)
                assert.equal("of before", command.read_file(ctl.folder .. "/.out"))
            end
        end)

        once("saves and loads a value of 32 MiB within 64 MiB of memory", function()
            local large = server.start({ binary = kind.binary, args = { "-m", "160", "-I", "33m" } })
            local into = server.start({ binary = kind.binary, args = { "-m", "160", "-I", "33m" } })
            finally(function()
                large:stop()
                into:stop()
            end)
            local first, second = large:connect(), into:connect()
            local value = ("0123456789abcdef"):rep(2 << 20)
            assert(first:set("huge", value))
            assert(first:set("small", "1"))
            for _, line in ipairs({ "save huge.items --server " .. large.address,
                "load huge.items --server " .. into.address }) do
                local code, _, err = ctl.shell("ulimit -v 65536; slatectl " .. line)
                assert.equal(0, code, line .. ": " .. err)
            end
            assert.is_true(second:get("huge").value == value)
            assert.equal("1", second:get("small").value)
            first:close()
            second:close()
        end)

        once("leaves no file behind when it cannot save, and never replaces a device", function()
            local code, _, err = ctl.run("save none.items --server 127.0.0.1:1")
            assert.equal(69, code, err)
            code, _, err = ctl.run("save no/such/folder.items")
            assert.equal(74, code, err)
            ctl.refuses(74, "save /dev/full", "No space left on device")
            assert.equal(0, (ctl.shell("! ls | grep -e none -e part && test -c /dev/full")))
            local noise = {}
            for i = 1, 200000 do noise[i] = string.char(math.random(0, 255)) end
            assert(client:set("noise", table.concat(noise))) -- no packer makes this smaller
            finally(function() client:delete("noise") end)
            for _, name in ipairs({ "full.items", "full.gz" }) do
                code, _, err = ctl.shell("trap '' XFSZ; ulimit -f 100; slatectl save " .. name)
                assert.equal(74, code, name)
                assert.truthy(err:find("slatectl: cannot write " .. name, 1, true), err)
                assert.equal(0, (ctl.shell("! ls | grep -e full -e part")))
            end
            code, _, err = ctl.shell("{ slatectl save -; echo $? >status; } | true; exit $(cat status)")
            assert.equal(74, code, err)
        end)

        it("writes whole files when two save into one", function()
            -- A memcached walks for one client at a time, and the other may get BUSY.
            local code, _, err = ctl.shell("slatectl save same.items & slatectl save same.items; "
                .. "wait; slatectl load same.items --server " .. to.address)
            assert.equal(0, code, err) -- load compares a file with its checksum
            if kind.is_slated then -- a memcached's walk may miss items that move from queue to queue
                holds_samples(target)
            end
        end)

        it("saves keys that only packets can hold: with ends of lines, and with a dump's end", function()
            local keys = { "x\nEN\ny", "x\r\nEN\r\n", "x\r\nEND\r\ny", "x\r\nmg plain\r\ny", "two words", "EN", "END" }
            local too_long = ("k"):rep(200) .. "\n"
            local function ask(address, opcode, key, more)
                local name = key:gsub(".", function(byte) return ("\\x%02x"):format(byte:byte()) end)
                local one = packets.client(wire.connect(address))
                local said = one:ask({ ("%s key=%s%s"):format(opcode, name, more or "") })
                one:close()
                return said[1]
            end
            finally(function()
                for _, key in ipairs({ too_long, table.unpack(keys) }) do
                    ask(from.address, DELETE, key)
                end
            end)
            for _, key in ipairs({ too_long, table.unpack(keys) }) do
                assert.matches("status=00", ask(from.address, SET, key, " extras=0000000000000000 value=v"), key)
            end
            local saved = document((ctl.succeed("save odd.items --json")))
            assert.same({ 2008 + #keys, 0, 1 }, { saved.items, saved.gone, saved.unaskable })
            ctl.succeed("load odd.items --server " .. to.address)
            for _, key in ipairs(keys) do
                assert.matches("status=00.* value=v$", ask(to.address, GET, key), key)
            end
            holds_samples(target)
        end)

        once("refuses to store for a client that only reads, and a pace that is none", function()
            file_of(ctl.folder, "one.items", HEAD .. "ms a 1 F0\r\nb\r\n# end 1 items 1 bytes\r\n")
            assert.equal(77, (ctl.run("load one.items --read-only --server " .. to.address)))
            assert.is_false(target:get("a"))
            for _, pace in ipairs({ "0", "0%", "101%", "fast", "-1" }) do
                assert.equal(64, (ctl.run("save x.items --pace=" .. pace)))
            end
            assert.equal(64, (ctl.run("save - --json")))
        end)
    end)
end
