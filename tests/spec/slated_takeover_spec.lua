-- SPDX-License-Identifier: BSD-3-Clause
-- The next process takes over from the one that serves: its items, sockets and connections, or nothing at all.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local patience = require "support.patience"
local server = require "support.server"
local takeover = require "support.takeover"
local wire = require "support.wire"

local EX_UNAVAILABLE <const>, EX_USAGE <const> = 69, 64

describe("a takeover", function()
    local place

    local function start(more)
        place:start(more)
        return place:connect()
    end

    before_each(function()
        place = takeover.place()
    end)

    after_each(function()
        place:finish()
    end)

    it("keeps items, their CAS, and connections, amid a request too, five times over", function()
        local client = start("-m 64")
        local other = place:connect()
        for i = 1, 2000 do
            assert(client:send(("ms key%d %d q\r\n%s\r\n"):format(i, 100 + i % 900, ("v"):rep(100 + i % 900))))
        end
        assert.equal("MN", wire.ask(client, "mn"))
        assert.equal("STORED", wire.ask(client, "set number 0 0 1\r\n0"))
        local cas = 0
        for round = 1, 5 do
            assert(other:send("set half" .. round .. " 0 0 5\r\nhe"))
            assert.equal("HD", wire.ask(client, "mg key1"))
            place:take_over()
            assert(other:send("llo\r\n"))
            assert.equal("STORED", other:receive("*l"))
            assert.equal(tostring(round), wire.ask(client, "incr number 1"))
            local now = tonumber(wire.ask(client, "mg number c"):match("c(%d+)"))
            assert.is_true(now > cas)
            cas = now
            for i = 1, 2000 do
                assert.equal(("HD s%d"):format(100 + i % 900), wire.ask(client, ("mg key%d s"):format(i)))
            end
            local fresh = place:connect()
            assert.equal("HD s5", wire.ask(fresh, ("mg half%d s"):format(round)))
            fresh:close()
        end
        assert.equal(5, place:count("has taken over; clients waited"))
    end)

    it("keeps a connection of the binary protocol", function()
        local client = start("-m 64")
        local noop = "\x80\x0a" .. ("\0"):rep(22)
        assert(client:send(noop))
        assert.equal("\x81\x0a", client:receive(24):sub(1, 2))
        place:take_over()
        assert(client:send(noop))
        assert.equal("\x81\x0a", client:receive(24):sub(1, 2))
    end)

    it("is refused with a sentence where nobody listens, and without a place to look", function()
        local said, status = place:refused("")
        assert.matches("no server listens on " .. place.folder .. "/t", said, 1, true)
        assert.equal(EX_UNAVAILABLE, status)
        said = server.capture(("%s --takeover %s 2>&1; echo $?"):format(server.quoted(server.slated()), server.USER))
        assert.matches("--takeover wants -o takeover_socket", said, 1, true)
        assert.matches("\n" .. EX_USAGE .. "%s*$", said)
        assert.is_nil(place:serving())
    end)

    it("is refused with options that the index does not fit, and the first goes on", function()
        local client = start("-m 64")
        assert.equal("STORED", wire.ask(client, "set a 0 0 1\r\na"))
        for options, sentence in pairs {
            ["--index=chained"] = "another --index",
            ["--partitions=64"] = "another number of --partitions",
            ["-C"] = "one of the two has -C",
            ["-o slab_chunk_max=256k"] = "its largest chunk",
        } do
            local said, status = place:refused("-m 64 " .. options)
            assert.matches(sentence, said, 1, true)
            assert.not_equal(0, status)
            assert.equal("HD", wire.ask(client, "mg a"))
            local fresh = place:connect()
            assert.equal("HD", wire.ask(fresh, "mg a"))
            fresh:close()
        end
        place:take_over()
        assert.equal("HD", wire.ask(client, "mg a"))
    end)

    it("keeps no UDP socket that nobody reads, with fewer threads", function()
        place:finish()
        place = takeover.place { tcp = true, words = "-m 64 -l 127.0.0.1 -p -1 -U -1" }
        local first = place:start("-t 4")
        local port = place:read("ports"):match("UDP INET: (%d+)")
        local function sockets()
            return select(2, server.read_file("/proc/net/udp"):gsub((": 0100007F:%04X "):format(port), ""))
        end
        assert.equal(4, sockets())
        place:run("-t 1 --takeover")
        place:wait_for_next(first)
        assert.equal(1, sockets())
    end)

    it("comes amid a change of the chunk sizes, which the next process takes to its end", function()
        local client = start("-m 16 -o slab_geometry_rate=2,no_slab_geometry_auto")
        for i = 1, 30000 do
            assert(client:send(("ms key%d %d q\r\n%s\r\n"):format(i, 900, ("v"):rep(900))))
        end
        assert.equal("MN", wire.ask(client, "mn"))
        local function geometry()
            return select(2, wire.stats(client, "geometry"))
        end
        assert.matches("^OK", wire.ask(client, "slabs geometry factor 1.07 force"))
        patience.wait_for("a page that the change keeps at hand", function()
            local now = geometry()
            return now.state == "draining" and now.pages_held == "1"
        end)
        local before = place:serving()
        place:run("-m 16 -o slab_geometry_rate=2,no_slab_geometry_auto --takeover")
        place:wait_for_next(before)
        -- the next process serves before its tuner takes the change up
        patience.wait_for("the change to go on", function()
            local state = geometry().state
            assert.is_true(state == "starting" or state == "draining", state)
            return state == "draining"
        end)
        assert.equal("OK", wire.ask(client, "config set slab_geometry_rate 100"))
        patience.wait_for("the end of the change", function() return geometry().state == "steady" end)
        for name, value in pairs(geometry()) do
            assert.is_false(name:find(":class_state", 1, true) ~= nil and value == "retired", name)
        end
    end)

    it("answers every order to the tuner, which rests while a client amid a value holds the takeover up", function()
        local words = "-m 64 -o no_slab_geometry_auto"
        local client, slow = start(words), place:connect()
        assert.equal("STORED", wire.ask(client, "set item 0 0 1\r\na"))
        assert(slow:send("set slow 0 0 100000\r\n" .. ("v"):rep(50000)))
        local before = place:serving()
        place:run(words .. " --takeover")
        local asked = 0
        patience.wait_for("the next process to serve", function()
            local answer = wire.ask(client, "slabs geometry revert dry")
            asked = asked + 1
            assert.is_string(answer, ("order %d has no answer"):format(asked))
            assert.is_truthy(answer:find("^NOREVERT") or answer:find("^BUSY another process is taking over"), answer)
            return place:serving() ~= before
        end)
        place:wait_for_next(before)
        assert.equal("HD", wire.ask(client, "mg item"))
    end)

    it("keeps all items with other options, one after the other, in the chunks that these ask for", function()
        local client = start("-m 32 -o slab_geometry_rate=100,no_slab_geometry_auto")
        for i = 1, 2000 do
            assert(client:send(("ms key%d %d q\r\n%s\r\n"):format(i, 100 + i, ("v"):rep(100 + i))))
        end
        assert.equal("MN", wire.ask(client, "mn"))
        local function sizes()
            local _, geometry = wire.stats(client, "geometry")
            return geometry.state == "steady" and tonumber(geometry.classes)
        end
        local was = sizes()
        for _, words in ipairs { "-m 32 -f 2", "-m 128 -f 2", "-m 16 -f 2 -t 4", "-m 32 -f 2 -I 2m --policy=sieve",
            "-m 32" } do
            local before = place:serving()
            place:run(words .. " -o slab_geometry_rate=100,no_slab_geometry_auto --takeover")
            place:wait_for_next(before)
            patience.wait_for("the chunk sizes of " .. words, function()
                local now = sizes()
                return now and (now < was) == (words:find("-f 2", 1, true) ~= nil)
            end)
            for i = 1, 2000 do
                assert.equal(("HD s%d"):format(100 + i), wire.ask(client, ("mg key%d s"):format(i)), words)
            end
            local _, settings = wire.stats(client, "settings")
            assert.equal(words:match("%-m (%d+)") * (1 << 20), tonumber(settings.maxbytes))
        end
    end)

    it("keeps settings that were changed, times to live, and a flush that is to come", function()
        local client = start("-m 64")
        assert.equal("OK", wire.ask(client, "config set hot_max_factor 0.5"))
        assert.equal("OK", wire.ask(client, "config set slab_automove lra"))
        assert.equal("STORED", wire.ask(client, "set short 0 3 1\r\ns"))
        assert.equal("STORED", wire.ask(client, "set long 0 1000 1\r\nl"))
        place:take_over()
        assert.equal("CONFIG hot_max_factor 0.50 runtime", wire.lines(client, "config get hot_max_factor")[1])
        assert.equal("CONFIG slab_automove lra runtime", wire.lines(client, "config get slab_automove")[1])
        local left = tonumber(wire.ask(client, "mg long t"):match("t(%d+)"))
        assert.is_true(left <= 1000 and left > 900, left)
        patience.wait_for("the time of the short one", function()
            return wire.ask(client, "mg short") == "EN"
        end)
        assert.equal("OK", wire.ask(client, "flush_all 4"))
        place:take_over()
        patience.wait_for("the flush", function()
            return wire.ask(client, "mg long") == "EN"
        end)
        assert.equal("STORED", wire.ask(client, "set after 0 0 1\r\na"))
        place:take_over()
        assert.equal("HD", wire.ask(client, "mg after"))
    end)

    it("is refused where the items are not in the file that the next one's -e names", function()
        local client = start("-m 64")
        assert.equal("STORED", wire.ask(client, "set a 0 0 1\r\na"))
        for _, name in ipairs { "other", "there" } do
            server.write_file(place.folder .. "/there", "")
            local said, status = place:refused(("-m 64 -e %s/%s"):format(place.folder, name))
            assert.matches(("%s/%s, which -e names, is not where the server that runs has its items"):format(
                place.folder, name), said, 1, true)
            assert.not_equal(0, status)
        end
        assert.equal("", place:read("there"))
        place:take_over()
        assert.equal("HD", wire.ask(client, "mg a"))
    end)

    it("keeps a memory file's items for the start after", function()
        local client = start(("-m 64 -e %s/memory"):format(place.folder))
        assert.equal("STORED", wire.ask(client, "set a 0 0 1\r\na"))
        place:take_over()
        assert.equal("STORED", wire.ask(client, "set b 0 0 1\r\nb"))
        place:kill(place:serving())
        os.remove(place.folder .. "/s")
        client = start(("-m 64 -e %s/memory"):format(place.folder))
        assert.equal("HD", wire.ask(client, "mg a"))
        assert.equal("HD", wire.ask(client, "mg b"))
    end)
end)
