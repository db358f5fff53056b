-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl capture: a sample of a server's requests as a trace, of slated and of memcached.
local command = require "support.command"
local dkjson = require "dkjson"
local faults = require "slate.facts.faults"
local patience = require "support.patience"
local server = require "support.server"
local wire = require "support.wire"

local slated = assert(server.slated(), "there is no slated to run: run make first")
local KEYS <const> = 2000

local function statistic(connection, name)
    local _, values = wire.stats(connection)
    return tonumber(values[name])
end

local function await_no_watcher(connection)
    repeat
        wire.ask(connection, "mg poke") -- a memcached notices only when it has an event to send
    until statistic(connection, "log_watchers") == 0
end

-- Runs a capture, and `requests` beside it once the capture watches. Returns its exit code, messages and output.
local function capture(ctl, one, arguments, requests)
    local connection = wire.connect(one.address)
    await_no_watcher(connection)
    local code, told, said = ctl.beside("capture " .. arguments, function(rest)
        while statistic(connection, "log_watchers") == 0 and rest() do
        end
        requests(connection)
    end)
    connection:close()
    return code, said, told
end

-- The messages, without the warning that only a memcached with a fault of watching causes.
local function without_caution(said, kind)
    local rest, count = said:gsub("^slatectl: caution: memcached %S+ crashes when a store [^\n]*\n", "")
    local version = not kind.is_slated and kind.name:match("(%d+%.%d+%.%d+)") or nil
    assert.equal(faults.of_watch({ version = version }, { "mutations" }) and 1 or 0, count, said)
    return rest
end

-- Every key is stored, read, and every tenth deleted.
local function load(connection)
    for from = 1, KEYS, 100 do
        local lines = {}
        for i = from, from + 99 do
            lines[#lines + 1] = ("set key%d 0 %d %d\r\n%s\r\nget key%d\r\nget none%d\r\n"):format(i,
                i % 2 == 0 and 600 or 0, i % 50, ("x"):rep(i % 50), i, i)
            if i % 10 == 0 then
                lines[#lines + 1] = ("delete key%d\r\n"):format(i)
            end
        end
        assert(connection:send(table.concat(lines) .. "mn\r\n"))
        repeat
            local line = assert(connection:receive("*l"))
        until line == "MN"
    end
end

local function lines_of(path)
    local list = {}
    for line in io.lines(path) do list[#list + 1] = line end
    return list
end

-- The records of one key that a whole capture of `load` must have.
local function expected(i, has_deletions)
    local size, list = i % 50, {}
    list[1] = ("set key%d %d %d"):format(i, size, i % 2 == 0 and 600 or 0)
    list[2] = ("get key%d %d -"):format(i, size)
    list[3] = ("get none%d - -"):format(i)
    if i % 10 == 0 then -- a delete has no event, but its look-up of the key has
        list[4] = has_deletions and ("delete key%d - -"):format(i) or list[2]
    end
    return list
end

-- The shell makes the file before the capture writes.
local function await_code(ctl)
    patience.wait_for("it to end", function() return (server.read_file(ctl.folder .. "/code") or "") ~= "" end)
end

for _, kind in ipairs(server.both()) do
    describe("slatectl capture from " .. kind.name, function()
        -- the logger's buffers hold all events, however busy the machine is
        local ctl = command.beside(setup, teardown, { binary = kind.binary, args = { "-m", "64", "-t", "1", "-o",
            "worker_logbuf_size=8192,watcher_logbuf_size=16384" } })
        local one, has_deletions
        local once = kind.is_slated and it or function() end -- for claims that hold for every server

        setup(function()
            one = ctl.one
            local connection = wire.connect(one.address)
            has_deletions = wire.ask(connection, "watch deletions") == "OK" -- later memcacheds have deletions
            connection:close()
        end)

        it("writes every request once, with its size, time to live and class", function()
            local _, said = capture(ctl, one, "-o whole --sample 1/1 --max-bytes 110k --for 5m", load)
            assert.truthy(said:find("of all keys in", 1, true) and said:find("none lost", 1, true), said)
            local list, at = lines_of(ctl.folder .. "/whole"), 1
            assert.truthy(list[1]:find("^# slate trace 1 sample=1/1 from=%l+$"))
            for i = 1, 1000 do -- the packed file ends with its last byte
                for _, want in ipairs(expected(i, has_deletions)) do
                    at = at + 1
                    local ms, rest, class = list[at]:match("^(%d+) (.*) (%S+)$")
                    assert.equal(want, rest, "line " .. at)
                    assert.is_true(tonumber(ms) < 300000)
                    assert.equal(want:find("^get none") and "-" or nil, class == "-" and "-" or nil)
                end
            end
        end)

        it("hides keys, and its file plays in the simulator", function()
            local _, said, told = capture(ctl, one,
                "-o hidden --sample 1/4 --anonymize --json --max-bytes 25k --for 5m", load)
            assert.equal("", without_caution(said, kind))
            local document = assert(dkjson.decode(told))
            assert.same({ "slate/capture/1", one.address, "hidden", 0.25, true }, { document.schema, document.server,
                document.file, document.sample_ratio, document.is_anonymous })
            local text = server.read_file(ctl.folder .. "/hidden")
            -- whole words: the letters in place of a key may hold "key1" by chance
            assert.is_nil(text:find("%f[%w]key%d+%f[%W]") or text:find("%f[%w]none%d+%f[%W]"))
            local code, out, err = ctl.shell(("%s --simulate hidden --objects 1000 --json"):format(slated:find("^/")
                and slated or ctl.root .. "/" .. slated))
            assert.equal(0, code, err)
            local row = assert(dkjson.decode(out))
            assert.equal("slate", row.format)
            assert.equal(0.25, row.sample_ratio)
            assert.is_true(row.hits > 0.4 * row.requests and row.hits < 0.65 * row.requests)
        end)

        it("ends after its time with a whole file", function()
            local _, _, said = ctl.run("capture -o short --sample 1/1 --for 300ms")
            said = without_caution(said, kind)
            assert.truthy(said:find("^slatectl: 0 requests of all keys in"), said)
            assert.truthy(server.read_file(ctl.folder .. "/short"):find("\n# end requests=0 seconds=%S+ lost=0\n$"))
        end)

        once("leaves what it could write where the disk is full, and keeps the trace of before", function()
            for _, name in ipairs({ "full", "full.gz" }) do
                server.write_file(ctl.folder .. "/" .. name, "the one of before")
                local connection = wire.connect(one.address)
                await_no_watcher(connection)
                assert.equal(0, (ctl.shell(("(trap '' XFSZ; ulimit -f 8; slatectl capture -o %s --sample 1/1 --for 5m "
                    .. "--max-bytes 100k; echo $? >code) >told 2>said &"):format(name))))
                patience.wait_for("the capture to watch", function()
                    return statistic(connection, "log_watchers") > 0
                end)
                load(connection)
                await_code(ctl)
                assert.equal("74\n", server.read_file(ctl.folder .. "/code"))
                os.remove(ctl.folder .. "/code")
                connection:close()
                local said = server.read_file(ctl.folder .. "/said")
                local part = said:match("cannot write " .. name .. ": [^;]+; what could be written is in (%S+)\n")
                assert.truthy(part, said)
                local text = select(2, ctl.shell(name == "full" and "cat " .. part or "gzip -dc " .. part))
                assert.truthy(text:find("^# slate trace 1 sample=1/1 from=%l+\n%d+ set key1 1 0 %d+\n"),
                    text:sub(1, 99))
                assert.equal("the one of before", server.read_file(ctl.folder .. "/" .. name))
            end
        end)

        once("leaves a trace that plays when a signal ends it", function()
            local connection = wire.connect(one.address)
            for name, signal in pairs({ ended = "INT", ["ended.gz"] = "TERM" }) do
                -- timeout(1) sends the signal to the whole group, the packer and the shells too
                assert.equal(0, (ctl.shell(("rm -f code; (env --default-signal=INT timeout 1h slatectl capture -o %s "
                    .. "--sample 1/1 --for 5m & echo $! >pid; wait $!; echo $? >code) >told 2>said &"):format(name))))
                patience.wait_for("the capture to watch", function()
                    return statistic(connection, "log_watchers") > 0
                end)
                patience.wait_for("it to write", function() -- more than the capture and the packer hold back
                    load(connection)
                    return #select(2, ctl.shell("cat " .. name .. ".*.part")) > 1000
                end)
                os.execute(("kill -%s %s"):format(signal, server.read_file(ctl.folder .. "/pid")))
                patience.wait_for("its file", function() return server.read_file(ctl.folder .. "/" .. name) end)
                patience.wait_for("it to play", function()
                    return ctl.run("simulate " .. name .. " --objects 1000 --policy lru") == 0
                end)
                patience.wait_for("the watcher to be gone", function()
                    wire.ask(connection, "mg poke")
                    return statistic(connection, "log_watchers") == 0
                end)
                assert.equal("", select(2, ctl.shell("ls | grep '^ended.*[.]part$'")))
            end
            connection:close()
        end)

        once("refuses what it cannot do, and leaves no file", function()
            for _, case in ipairs({ { "", 64, "capture needs a file to write: -o FILE" },
                { "-o x --sample 64", 64, "write one key in so many, such as 1/64" },
                { "-o x --max-bytes x", 64, "write 500m or 2g" },
                { "-o x /none.sock", 69, "" }, { "-o /none/x", 74, "cannot write /none/x" } }) do
                local code, _, err = ctl.run("capture " .. case[1])
                assert.equal(case[2], code, err)
                assert.truthy(err:find(case[3], 1, true), err)
            end
            assert.is_nil(server.read_file(ctl.folder .. "/x"))
        end)
    end)
end

describe("slatectl capture from a server that ends", function()
    it("saves the received events, and does not know the number lost", function()
        local ctl = command.beside(command.now, finally, { args = { "-m", "64" } })
        local code, said = capture(ctl, ctl.one, "-o ended --sample 1/1 --for 5m", function(connection)
            assert.equal("STORED", wire.ask(connection, "set key1 0 0 1\r\nx"))
            ctl.one:stop()
        end)
        assert.equal(69, code)
        assert.truthy(said:find("how much was lost is not known: the server did not report it at the end\n", 1, true),
            said)
        assert.truthy(said:find("the capture ended early: ", 1, true), said)
        assert.truthy(server.read_file(ctl.folder .. "/ended"):find("\n# end requests=%d+ seconds=%S+ lost=unknown\n$"))
    end)
end)
