-- SPDX-License-Identifier: BSD-3-Clause
-- The next process takes over from the one that serves: its items and its sockets, or nothing at all.
local patience = require "support.patience"
local server = require "support.server"
local takeover = require "support.takeover"
local wire = require "support.wire"

local EX_UNAVAILABLE <const>, EX_USAGE <const> = 69, 64
local TAKEOVERS <const>, ITEMS <const> = 5, 400
local LARGE_BYTES <const>, UNREAD_GETS <const> = 300000, 20

describe("a takeover", function()
    local place

    local function start(more)
        place:start(more)
        return place:connect()
    end

    -- Whether the server has hung up without a word.
    local function is_closed(client)
        local line, why, part = client:receive("*l")
        return line == nil and why == "closed" and part == ""
    end

    -- The place's next process, and a connection to it.
    local function take_over(more)
        if more then
            local before = place:serving()
            place:run(more .. " --takeover")
            place:wait_for_next(before)
        else
            place:take_over()
        end
        return place:connect()
    end

    local function store(client, count, bytes_of)
        for i = 1, count do
            local bytes = bytes_of(i)
            assert(client:send(("ms key%d %d q\r\n%s\r\n"):format(i, bytes, ("v"):rep(bytes))))
        end
        assert.equal("MN", wire.ask(client, "mn"))
    end

    before_each(function()
        place = takeover.place()
    end)

    after_each(function()
        place:finish()
    end)

    it("keeps items and their CAS, five times over; connections end between two requests", function()
        local client = start("-m 64")
        store(client, ITEMS, function(i) return 100 + i % 900 end)
        assert.equal("STORED", wire.ask(client, "set number 0 0 1\r\n0"))
        local cas = 0
        for round = 1, TAKEOVERS do
            local before = client
            client = take_over()
            assert.is_true(is_closed(before))
            assert.equal(tostring(round), wire.ask(client, "incr number 1"))
            local now = tonumber(wire.ask(client, "mg number c"):match("c(%d+)"))
            assert.is_true(now > cas)
            cas = now
            for i = 1, ITEMS do
                assert.equal(("HD s%d"):format(100 + i % 900), wire.ask(client, ("mg key%d s"):format(i)))
            end
        end
        assert.equal(TAKEOVERS, place:count("has taken over; clients waited"))
        assert.not_matches("names a process that runs", place:log(), 1, true)
    end)

    it("ends connections that are amid a request or a reply, and leaves none of their memory taken", function()
        local client = start("-m 64")
        local set_large = ("set large 0 0 %d\r\n%s"):format(LARGE_BYTES, ("v"):rep(LARGE_BYTES))
        assert.equal("STORED", wire.ask(client, set_large))
        local half, unread, watcher = place:connect(), place:connect(), place:connect()
        assert(half:send(("set half 0 0 %d\r\nbegun"):format(LARGE_BYTES)))
        assert(unread:send(("get large\r\n"):rep(UNREAD_GETS)))
        assert.equal("OK", wire.ask(watcher, "watch mutations"))
        patience.wait_for("values to come and to be sent", function()
            local states = table.concat(wire.lines(client, "stats conns"), " ")
            return states:find("conn_nread") and states:find("conn_mwrite") and states:find("conn_watch")
        end)
        client = take_over()
        assert.is_true(is_closed(half) and is_closed(watcher))
        assert.equal("EN", wire.ask(client, "mg half"))
        assert.equal("DELETED", wire.ask(client, "delete large"))
        local used = 0
        local _, slabs = wire.stats(client, "slabs")
        for name, value in pairs(slabs) do
            used = used + (name:find(":used_chunks$") and tonumber(value) or 0)
        end
        assert.equal(0, used)
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

    it("is refused with options that the items do not fit, and no client of the first notices", function()
        local client = start("-m 16")
        assert.equal("STORED", wire.ask(client, "set a 0 0 1\r\na"))
        server.write_file(place.folder .. "/there", "")
        for options, sentence in pairs {
            ["-m 4096"] = "it has room for",
            ["-o slab_chunk_max=256k"] = "its largest chunk",
            ["-t 0"] = "",
            ["-l 203.0.113.1 -p 1 --public -s ''"] = "",
            [("-e %s/other"):format(place.folder)] = "which -e names, is not where the server that runs has its items",
            [("-e %s/there"):format(place.folder)] = "which -e names, is not where the server that runs has its items",
            ["--store=heap"] = "takeover_socket needs --store=slab",
        } do
            local said, status = place:refused("-m 16 " .. options)
            assert.matches(sentence, said, 1, true)
            assert.not_equal(0, status)
            assert.equal("HD", wire.ask(client, "mg a"), options)
        end
        assert.equal("", place:read("there"))
        assert.equal("HD", wire.ask(take_over(), "mg a"))
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
        local words = "-m 16 -o slab_geometry_rate=2,no_slab_geometry_auto"
        local client = start(words)
        store(client, 30000, function() return 900 end)
        local function geometry()
            return select(2, wire.stats(client, "geometry"))
        end
        assert.matches("^OK", wire.ask(client, "slabs geometry factor 1.07 force"))
        patience.wait_for("a page that the change keeps at hand", function()
            local now = geometry()
            return now.state == "draining" and now.pages_held == "1"
        end)
        client = take_over(words)
        -- the next process serves before its tuner goes on with the change
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

    it("keeps all items with other options, one after the other, in the chunks of these options", function()
        local always = " -o slab_geometry_rate=100,no_slab_geometry_auto"
        local client = start("-m 32" .. always)
        store(client, ITEMS, function(i) return 100 + i end)
        local function sizes()
            local _, geometry = wire.stats(client, "geometry")
            return geometry.state == "steady" and tonumber(geometry.classes)
        end
        local was = sizes()
        for _, words in ipairs { "-m 32 -f 2 --index=cuckoo", "-m 128 -f 2 --partitions=64", "-m 16 -f 2 -t 4 -C",
            "-m 32 -f 2 -I 2m --policy=sieve", "-m 32" } do
            client = take_over(words .. always)
            patience.wait_for("the chunk sizes of " .. words, function()
                local now = sizes()
                return now and (now < was) == (words:find("-f 2", 1, true) ~= nil)
            end)
            for i = 1, ITEMS do
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
        assert.equal("STORED", wire.ask(client, "set long 0 1000000 1\r\nl"))
        client = take_over()
        assert.equal("CONFIG hot_max_factor 0.50 runtime", wire.lines(client, "config get hot_max_factor")[1])
        assert.equal("CONFIG slab_automove lra runtime", wire.lines(client, "config get slab_automove")[1])
        local left = tonumber(wire.ask(client, "mg long t"):match("t(%d+)"))
        assert.is_true(left <= 1000000 and left > 900000, left)
        patience.wait_for("the time of the short one", function()
            return wire.ask(client, "mg short") == "EN"
        end)
        assert.equal("OK", wire.ask(client, "flush_all 4"))
        client = take_over()
        patience.wait_for("the flush", function()
            return wire.ask(client, "mg long") == "EN"
        end)
        assert.equal("STORED", wire.ask(client, "set after 0 0 1\r\na"))
        assert.equal("HD", wire.ask(take_over(), "mg after"))
    end)

    it("keeps a memory file's items for the start after", function()
        local words = ("-m 64 -e %s/memory"):format(place.folder)
        local client = start(words)
        assert.equal("STORED", wire.ask(client, "set a 0 0 1\r\na"))
        assert.equal("STORED", wire.ask(take_over(), "set b 0 0 1\r\nb"))
        place:kill(place:serving())
        os.remove(place.folder .. "/s")
        client = start(words)
        assert.equal("HD", wire.ask(client, "mg a"))
        assert.equal("HD", wire.ask(client, "mg b"))
    end)
end)
