-- SPDX-License-Identifier: BSD-3-Clause
-- The next process takes over from the one that serves: its items, sockets and connections, or nothing at all.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local patience = require "support.patience"
local server = require "support.server"
local wire = require "support.wire"

local EX_UNAVAILABLE <const>, EX_USAGE <const> = 69, 64

describe("a takeover", function()
    local folder, pids

    local function words(more)
        return ("%s -v -t 2 -s %s/s -P %s/pid -o takeover_socket=%s/t %s %s"):format(
            server.quoted(server.slated()), folder, folder, folder, server.USER, more or "")
    end

    local function log()
        return server.read_file(folder .. "/log")
    end

    local function serving()
        local file = io.open(folder .. "/pid")
        local pid = file and math.tointeger(tonumber(file:read("l")))
        if file then
            file:close()
        end
        return pid
    end

    local function start(more)
        os.execute(("%s </dev/null >>%s/log 2>&1 &"):format(words(more), folder))
        patience.wait_for("slated to serve", serving)
        pids[#pids + 1] = serving()
        return wire.connect(folder .. "/s")
    end

    -- Asks the server for its successor, and waits for that.
    local function take_over()
        local before = serving()
        assert(os.execute("kill -USR2 " .. before))
        patience.wait_for("the next process to serve", function()
            return serving() ~= before
        end)
        pids[#pids + 1] = serving()
        patience.wait_for("the one before to end", function()
            return not server.is_running(before)
        end)
    end

    -- What a next process with these options says that does not take over, and its status.
    local function refused(more)
        local said = server.capture(words(more) .. " --takeover 2>&1; echo $?")
        return said:match("^(.*)\n(%d+)%s*$")
    end

    before_each(function()
        folder, pids = server.folder(), {}
    end)

    after_each(function()
        pids[#pids + 1] = serving()
        for _, pid in ipairs(pids) do
            if server.is_running(pid) then
                os.execute(("kill -9 %d 2>/dev/null"):format(pid))
            end
        end
        server.remove_folder(folder)
    end)

    it("keeps items, their CAS, and connections, amid a request too, five times over", function()
        local client = start("-m 64")
        local other = wire.connect(folder .. "/s")
        for i = 1, 2000 do
            assert(client:send(("ms key%d %d q\r\n%s\r\n"):format(i, 100 + i % 900, ("v"):rep(100 + i % 900))))
        end
        assert.equal("MN", wire.ask(client, "mn"))
        assert.equal("STORED", wire.ask(client, "set number 0 0 1\r\n0"))
        local cas = 0
        for round = 1, 5 do
            assert(other:send("set half" .. round .. " 0 0 5\r\nhe"))
            assert.equal("HD", wire.ask(client, "mg key1"))
            take_over()
            assert(other:send("llo\r\n"))
            assert.equal("STORED", other:receive("*l"))
            assert.equal(tostring(round), wire.ask(client, "incr number 1"))
            local now = tonumber(wire.ask(client, "mg number c"):match("c(%d+)"))
            assert.is_true(now > cas)
            cas = now
            for i = 1, 2000 do
                assert.equal(("HD s%d"):format(100 + i % 900), wire.ask(client, ("mg key%d s"):format(i)))
            end
            local fresh = wire.connect(folder .. "/s")
            assert.equal("HD s5", wire.ask(fresh, ("mg half%d s"):format(round)))
            fresh:close()
        end
        local taken = select(2, log():gsub("has taken over; clients waited", ""))
        assert.equal(5, taken)
    end)

    it("keeps a connection of the binary protocol", function()
        local client = start("-m 64")
        local noop = "\x80\x0a" .. ("\0"):rep(22)
        assert(client:send(noop))
        assert.equal("\x81\x0a", client:receive(24):sub(1, 2))
        take_over()
        assert(client:send(noop))
        assert.equal("\x81\x0a", client:receive(24):sub(1, 2))
    end)

    it("is refused with a sentence where nobody listens, and without a place to look", function()
        local said, status = refused("")
        assert.matches("no server listens on " .. folder .. "/t", said, 1, true)
        assert.equal(EX_UNAVAILABLE, tonumber(status))
        said = server.capture(("%s --takeover %s 2>&1; echo $?"):format(server.quoted(server.slated()), server.USER))
        assert.matches("--takeover wants -o takeover_socket", said, 1, true)
        assert.matches("\n" .. EX_USAGE .. "%s*$", said)
        assert.is_nil(serving())
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
            local said, status = refused("-m 64 " .. options)
            assert.matches(sentence, said, 1, true)
            assert.not_equal("0", status)
            assert.equal("HD", wire.ask(client, "mg a"))
            local fresh = wire.connect(folder .. "/s")
            assert.equal("HD", wire.ask(fresh, "mg a"))
            fresh:close()
        end
        take_over()
        assert.equal("HD", wire.ask(client, "mg a"))
    end)

    it("keeps no UDP socket that nobody reads, with fewer threads", function()
        local function words_of(threads, more)
            return ("env MEMCACHED_PORT_FILENAME=%s/ports %s -v -m 64 -t %d -l 127.0.0.1 -p -1 -U -1 -P %s/pid " ..
                "-o takeover_socket=%s/t %s %s </dev/null >>%s/log 2>&1 &"):format(folder,
                server.quoted(server.slated()), threads, folder, folder, server.USER, more, folder)
        end
        os.execute(words_of(4, ""))
        local first = patience.wait_for("slated to serve", serving)
        pids[#pids + 1] = first
        local port = server.read_file(folder .. "/ports"):match("UDP INET: (%d+)")
        local function sockets()
            return select(2, server.read_file("/proc/net/udp"):gsub((": 0100007F:%04X "):format(port), ""))
        end
        assert.equal(4, sockets())
        os.execute(words_of(1, "--takeover"))
        patience.wait_for("the next process to serve", function()
            return serving() ~= first and not server.is_running(first)
        end)
        assert.equal(1, sockets())
    end)

    it("keeps a memory file's items for the start after", function()
        local client = start(("-m 64 -e %s/memory"):format(folder))
        assert.equal("STORED", wire.ask(client, "set a 0 0 1\r\na"))
        take_over()
        assert.equal("STORED", wire.ask(client, "set b 0 0 1\r\nb"))
        local last = serving()
        assert(os.execute("kill -9 " .. last))
        patience.wait_for("it to end", function()
            return not server.is_running(last)
        end)
        os.remove(folder .. "/pid")
        os.remove(folder .. "/s")
        client = start(("-m 64 -e %s/memory"):format(folder))
        assert.equal("HD", wire.ask(client, "mg a"))
        assert.equal("HD", wire.ask(client, "mg b"))
    end)
end)
