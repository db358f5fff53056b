-- SPDX-License-Identifier: BSD-3-Clause
-- A memory file (-e) without all its memory: its file system is full, the file was copied with holes, or it was cut.
local patience = require "support.patience"
local restart = require "support.restart"
local server = require "support.server"
local wire = require "support.wire"

local KILLED_BY_SIGBUS <const> = 128 + 7
local VALUE_BYTES <const> = 200000
local FULL_MB <const> = 16

describe("slated -e, where memory is wanting", function()
    local one, folder

    after_each(function()
        if one then
            one:finish()
            one = nil
        end
    end)

    -- Starts a server whose memory file is in a file system of so much memory, and again after each end; `before` is a
    -- command in the same place. No other process sees that file system.
    local function start_in_small(size_mb, before, words)
        server.write_file(folder .. "/script", ("F=%s; mkdir $F/small && mount -t tmpfs -o size=%dm none $F/small "
            .. "&& %s && while test -d $F/small; do %s -v -e $F/small/memory -s $F/s -P $F/pid -u root %s; "
            .. "done"):format(folder, size_mb, before or "true", server.quoted(server.slated()), words))
        return server.capture(("exec unshare -rm sh %s/script </dev/null >>%s/log 2>&1 & echo $!"):format(folder,
            folder))
    end

    local function serving(other_than)
        return patience.wait_for("slated to serve", function()
            local pid = math.tointeger(tonumber((server.read_file(folder .. "/pid") or ""):match("^(%d+)\n")))
            return pid ~= other_than and pid
        end)
    end

    local function in_namespace(body)
        if not os.execute("unshare -rm true 2>/dev/null") then
            pending("needs a mount namespace")
            return
        end
        folder = server.folder()
        local shell, pid
        finally(function()
            os.execute(("mv %s/script %s/gone; kill -9 %s 2>/dev/null"):format(folder, folder, shell))
            pid = math.tointeger(tonumber((server.read_file(folder .. "/pid") or ""):match("^(%d+)\n")))
            if pid then
                os.execute("kill -9 " .. pid .. " 2>/dev/null")
                patience.wait_for("it to end", function() return not server.is_running(pid) end)
            end
            server.remove_folder(folder)
        end)
        body(function(...) shell = start_in_small(...) end)
    end

    local function store(client, first, last, byte)
        for i = first, last do
            assert(client:send(("ms key%d %d q\r\n%s\r\n"):format(i, VALUE_BYTES, (byte):rep(VALUE_BYTES))))
        end
        assert.equal("MN", wire.ask(client, "mn"))
    end

    -- The number of keys with their whole value; the others are missing.
    local function count_whole(client, last, byte)
        local whole = 0
        for i = 1, last do
            local line = wire.ask(client, ("mg key%d v"):format(i))
            if line ~= "EN" then
                assert.equal(("VA %d"):format(VALUE_BYTES), line)
                assert.equal((byte):rep(VALUE_BYTES) .. "\r\n", client:receive(VALUE_BYTES + 2))
                whole = whole + 1
            end
        end
        return whole
    end

    local function log_says(pattern)
        patience.wait_for("the log to say " .. pattern, function()
            return (server.read_file(folder .. "/log") or ""):find(pattern)
        end)
    end

    it("serves on with the pages it has when the file system is full, and goes on with them after kill -9", function()
        in_namespace(function(begin)
            begin(FULL_MB, nil, "-m 64")
            local first = serving()
            local client = wire.connect(folder .. "/s")
            store(client, 1, 300, "v")
            log_says("the memory file stays at %d+ MB: its file system has no room for more")
            local before = count_whole(client, 300, "v")
            assert.is_true(before > 0 and before < 300, before)
            client:close()
            os.execute("rm " .. folder .. "/s; kill -9 " .. first)
            serving(first)
            client = wire.connect(folder .. "/s")
            assert.equal(before, count_whole(client, 300, "v"))
            store(client, 301, 400, "w")
            client:close()
        end)
    end)

    it("empties pages of a copy with holes for which there is no memory", function()
        one = restart.begin("-m 32")
        store(one:connect(), 1, 100, "\0")
        one:stop("TERM")
        in_namespace(function(begin)
            begin(FULL_MB, ("cp --sparse=always %s/memory %s/small/memory"):format(one.folder, folder), "-m 32")
            local first = serving()
            local client = wire.connect(folder .. "/s")
            log_says("items in %d+ pages adopted in .*, [1-9]%d* pages were torn")
            local whole = count_whole(client, 100, "\0")
            assert.is_true(whole > 0 and whole < 100, whole)
            store(client, 101, 200, "w")
            assert.equal(first, serving())
            client:close()
        end)
    end)

    it("is ended by the system when somebody cuts the file, and the next start refuses the remaining part", function()
        one = restart.begin("-m 16")
        local client = one:connect()
        store(client, 1, 20, "v")
        assert(os.execute(("truncate -s 65536 %s/memory"):format(one.folder)))
        client:send("mg key1 v\r\n")
        assert.equal(KILLED_BY_SIGBUS, one:status())
        local said = one:refused(("-m 16 -e %s/memory"):format(one.folder))
        assert.matches("it has 65536 bytes and should have %d+; remove it to start with an empty cache", said)
    end)

    it("warns when somebody removes the file, and serves on", function()
        one = restart.begin("-m 16")
        local client = one:connect()
        store(client, 1, 20, "v")
        os.remove(one.folder .. "/memory")
        one:says("/memory is in use and was removed: the next start has none of its items")
        assert.equal(20, count_whole(client, 20, "v"))
        client = one:again("TERM", "-m 16")
        assert.equal(0, count_whole(client, 20, "v"))
    end)

    it("warns of a file that others may write to", function()
        one = restart.begin("-m 16")
        assert.is_nil(one:log():find("other users may write", 1, true))
        assert(os.execute(("chmod 622 %s/memory"):format(one.folder)))
        one:again("TERM", "-m 16"):close()
        one:says("/memory: other users may write to it, and so change the cache or end the server")
    end)
end)
