-- SPDX-License-Identifier: BSD-3-Clause
-- The binary protocol over the wire. tests/fixtures/binary-1.6.45.txt has memcached 1.6.45's replies: a claim after
-- `#`, packets to send after `>`, replies after `<` (support/binary.lua has their words), `=` where all replies have
-- come. The same holds for the peer:
--   SLATE_TEST_SERVER=build/peer/memcached busted --lua=/usr/bin/lua5.4 tests/spec/slated_binary_spec.lua
local binary = require "support.binary"
local gather = require "slate.base.gather"
local rig = require("support.rig").new(after_each)
local support = require "support.server"
local wire = require "support.wire"
require "support.world"

local FIXTURE <const> = "tests/fixtures/binary-1.6.45.txt"
local SLATED <const> = support.slated():match("slated[^/]*$") ~= nil

-- The first bytes one by one, the others in pieces that end anywhere.
local function cut(bytes)
    local pieces, at = {}, 1
    while at <= #bytes do
        local n = at < 100 and 1 or 1777
        pieces[#pieces + 1] = bytes:sub(at, at + n - 1)
        at = at + n
    end
    return pieces
end

local start, connect = rig.start, rig.connect

local function client() return binary.client(connect()) end

local function ask(...)
    local one = client()
    local said = one:ask({ ... })
    one:close()
    return said
end

-- A reply of text, up to END; a command without another reply has OK.
local function text(command)
    local connection, lines = connect(), {}
    assert(connection:send(command .. "\r\n"))
    repeat
        local line = assert(connection:receive("*l"))
        lines[#lines + 1] = line ~= "END" and line or nil
    until line == "END" or line == "OK"
    connection:close()
    return lines
end

describe("as memcached 1.6.45 does, the binary protocol answers", function()
    local one

    setup(function() one = support.start() end)
    teardown(function() one:stop() end)

    for _, claim in ipairs(binary.claims(FIXTURE)) do
        it(claim.claim, function()
            for _, feed in ipairs { false, cut } do
                local it = binary.client(wire.connect(one.address))
                for _, step in ipairs(claim.steps) do
                    assert.same(step.want, it:ask(step.sent, feed or nil))
                end
                it:ask({ "08", "10 key=reset", "10 key=detail\\x20off" })
                it:close()
            end
        end)
    end
end)

describe("the binary protocol", function()
    it("shares its items with the text protocol", function()
        start()
        ask("01 key=k extras=0000000700000000 value=abc")
        assert.same({ "VALUE k 7 3", "abc" }, text("get k"))
        ask("05 key=n extras=00000000000000010000000000000063" .. "00000000")
        assert.same({ "VALUE n 0 2", "99" }, text("get n"))
    end)

    it("counts as the text protocol does", function()
        start()
        ask("01 key=k extras=0000000000000000 value=1", "00 key=k", "09 key=miss", "05 key=k extras=" .. ("0"):rep(40),
            "05 key=none extras=" .. ("0"):rep(32) .. "ffffffff", "1c key=k extras=00000000",
            "1d key=none extras=00000000", "01 key=k extras=0000000000000000 cas=99999 value=1", "04 key=k",
            "04 key=k", "08", "05 key=made extras=" .. ("0"):rep(40))
        local count = client():stats()
        assert.same({ "2", "1", "1", "1", "1", "2", "1", "1", "1", "1", "1", "1" }, { count.cmd_get, count.get_hits,
            count.get_misses, count.incr_hits, count.incr_misses, count.cmd_touch, count.touch_hits, count.touch_misses,
            count.cas_badval, count.delete_hits, count.delete_misses, count.cmd_flush })
    end)

    it("has the statistics of text, in their order", function()
        start()
        ask("01 key=k extras=0000000000000000 value=1")
        for _, part in ipairs { "", " settings", " items", " slabs" } do
            local names = gather.values(text("stats" .. part), function(line) return line:match("^STAT (%S+)") end)
            assert.same(names, (select(2, client():stats(part:sub(2)))))
        end
        local lines, told = text("stats describe"), client():stats("describe") -- these replies take many turns
        assert.is_true(#lines > 200)
        for _, line in ipairs(lines) do
            local name, value = line:match("^STAT (%S+) (.*)$")
            assert.equal(value, told[name])
        end
    end)

    it("is not allowed to flush with -F", function()
        start("-F")
        assert.same({ "08 status=20 value=Auth\\x20failure." }, ask("08"))
    end)

    it("has no CAS with -C", function()
        start("-C")
        assert.same({ "01 status=00", "00 status=00 extras=00000000 value=a", "01 status=00" },
            ask("01 key=k extras=0000000000000000 value=a", "00 key=k",
                "01 key=k extras=0000000000000000 cas=7 value=b"))
    end)

    it("says that memory is out, and goes on behind the value", function()
        start("-M", "-m", "8", "-t", "1")
        local one, said = client(), nil
        for i = 1, 40 do
            said = one:ask({ ("01 key=k%d extras=0000000000000000 value=v*500000"):format(i) })[1]
            if said:match("status=82") then
                break
            end
        end
        assert.equal("01 status=82 value=Out\\x20of\\x20memory\\x20allocating\\x20item", said)
    end)
end)

if SLATED then
    describe("slated's binary protocol", function()
        it("drops all of an unknown command, where memcached loses its place", function()
            start()
            assert.same({ "1b status=81 value=Unknown\\x20command", "0b status=00 value=1.6.45" },
                ask("1b extras=00000001", "0b"))
        end)

        it("refuses a value where none belongs, where memcached takes it for the next packet", function()
            start()
            for _, packet in ipairs { "1c key=k extras=00000000 value=x", "10 key=items value=x" } do
                assert.same({ packet:sub(1, 2) .. " status=04 value=Invalid\\x20arguments", "close" }, ask(packet))
            end
        end)

        it("answers the packets before bytes that are no packet", function()
            start()
            assert.same({ "0b status=00 value=1.6.45", "close" }, ask("0b", "00 key=k magic=81"))
        end)

        it("says how many values were too large, and that of a deleted item", function()
            start()
            local watcher = connect()
            assert(watcher:send("watch deletions\r\n"))
            assert.equal("OK", watcher:receive("*l"))
            ask("01 key=k extras=0000000000000000 value=x*1048576", "01 key=k extras=0000000000000000 value=x",
                "04 key=k")
            assert.equal("1", client():stats().store_too_large)
            assert.truthy(watcher:receive("*l"):find("type=deleted key=k cmd=delete", 1, true))
            watcher:close()
        end)

        it("has replies without statistics by their lines' first words", function()
            start()
            ask("01 key=k extras=0000000000000000 value=abc")
            local class
            for _, line in ipairs(text("stats items")) do
                class = line:match("^STAT items:(%d+):number ") or class
            end
            assert.equal("k [3 b; 0 s]", client():stats(("cachedump %s 0"):format(class)).ITEM)
        end)

        it("leaves no key a way to end a line of text: it stands there in base64, as one that came so", function()
            start()
            text("stats detail on")
            ask("01 key=x:\\x0aEN\\x0aEND\\x0ay extras=0000000000000000 value=abc",
                "05 key=a\\x20b extras=" .. ("0"):rep(40), "01 key=c\\x0d:d extras=0000000000000000 value=e",
                "01 key=p\\x0aEND:q extras=0000000000000000 value=r", "04 key=p\\x0aEND:q")
            local keys, connection = {}, connect()
            assert(connection:send("lru_crawler mgdump all\r\nmg YSBi b k v\r\n"))
            assert.equal("OK", connection:receive("*l"))
            for line in function() return connection:receive("*l") end do
                if line == "EN" then
                    break
                end
                keys[#keys + 1] = line
            end
            table.sort(keys)
            assert.same({ "mg YSBi b", "mg Yw06ZA== b", "mg eDoKRU4KRU5ECnk= b" }, keys)
            assert.same({ "VA 1 kYSBi b", "0" }, { connection:receive("*l"), connection:receive("*l") })
            connection:close()
            assert.same({ "PREFIX x get 0 hit 0 set 1 del 0" }, text("stats detail dump"))
        end)

        it("is spoken alone with -B binary, and not with -B ascii", function()
            start("-B", "binary")
            assert.same({ "0b status=00 value=1.6.45" }, ask("0b"))
            local connection = connect()
            assert(connection:send("v"))
            assert.equal("closed", select(2, connection:receive("*l")))
            connection:close()
            start("-B", "ascii")
            assert.same({ "close" }, ask("0b"))
        end)

        it("is spoken by those listeners alone of which -l says so", function()
            local one = support.start({ transport = "tcp", args = { "-l", "proto[binary]:127.0.0.2",
                "-l", "proto[ascii]:127.0.0.3", "-l", "proto[negotiating]:127.0.0.4" } })
            finally(function() one:stop() end)
            local admin = wire.connect(one.address)
            local _, conns = wire.stats(admin, "conns")
            admin:close()
            local spoken = {}
            for name, value in pairs(conns) do
                local host = name:find(":addr$") and value:match("^tcp:(127%.0%.0%.[2-4]):")
                if host then
                    local packets, lines = wire.connect(value:match(":(.+)")), wire.connect(value:match(":(.+)"))
                    spoken[host] = { packets = binary.client(packets):ask({ "0b" })[1] ~= "close",
                        lines = lines:send("version\r\n") and lines:receive("*l") ~= nil }
                    packets:close()
                    lines:close()
                end
            end
            assert.same({ ["127.0.0.2"] = { packets = true, lines = false },
                ["127.0.0.3"] = { packets = false, lines = true },
                ["127.0.0.4"] = { packets = true, lines = true } }, spoken)
        end)

        it("refuses a value whose bytes stop, and goes on after its end", function()
            start("--value-timeout=1")
            local sender = connect()
            local bytes = binary.packet("01 key=k extras=0000000000000000 value=x*900000")
            assert(sender:send(bytes:sub(1, 400000)))
            local late = binary.client(sender)
            local reply = late:receive()
            assert.equal(0x82, reply.status)
            assert.equal("Out of memory allocating item", reply.value)
            assert(sender:send(bytes:sub(400001)))
            assert.same({ "00 status=01 value=Not\\x20found" }, late:ask({ "00 key=k" }))
            sender:close()
            local count = client():stats("slated")
            assert.same({ "1", "0" }, { count.uploads_timed_out, count.draft_bytes })
        end)

    end)
end
