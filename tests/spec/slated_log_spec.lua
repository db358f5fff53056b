-- SPDX-License-Identifier: BSD-3-Clause
-- What slated writes beside its replies: the log on stderr and the record of a policy. Nothing that cannot be written
-- holds it up.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local patience = require "support.patience"
local server = require "support.server"
local wire = require "support.wire"

local CHANGES <const> = 6000 -- each is a line of the log; a pipe and the log's buffer hold some 2,000
local BATCH <const> = 100

describe("slated", function()
    local folder, pid, shell

    -- Starts slated under a shell that does `before` first; `streams` are its redirections. It serves when this
    -- returns.
    local function start(before, words, streams)
        folder = folder or server.folder()
        local program = server.quoted(server.capture("realpath " .. server.slated()))
        local command = ("cd %s && %s; %s -m 16 -s %s/s %s %s </dev/null %s & echo $!; wait $!; echo $?"):format(
            folder, before, program, folder, words, server.USER, streams)
        shell = assert(io.popen(command, "r"))
        pid = assert(math.tointeger(tonumber(shell:read("l"))))
        patience.wait_for("slated to serve", function()
            return os.execute(("test -S %s/s"):format(folder)) == true or not server.is_running(pid)
        end)
    end

    -- The exit status, once it has ended.
    local function status()
        local code = tonumber(shell:read("l"))
        shell:close()
        shell, pid = nil, nil
        return code
    end

    local function connect()
        local connection
        patience.wait_for("a connection", function()
            local ok, got = pcall(wire.connect, folder .. "/s")
            connection = ok and got
            return ok
        end)
        return connection
    end

    local function statistic(client, name)
        return tonumber(select(2, wire.stats(client, "slated"))[name])
    end

    -- Changes a setting so many times, and takes every answer.
    local function change_often(client, times)
        for _ = 1, times / BATCH do
            local asked = {}
            for i = 1, BATCH do
                asked[i] = "verbosity " .. 1 + i % 2 .. "\r\n"
            end
            assert(client:send(table.concat(asked)))
            for _ = 1, BATCH do
                assert.equal("OK", client:receive("*l"))
            end
        end
    end

    after_each(function()
        if pid and server.is_running(pid) then
            os.execute("kill -9 " .. pid)
        end
        if shell then
            shell:close()
        end
        if folder then
            server.remove_folder(folder)
        end
        folder, pid, shell = nil, nil, nil
    end)

    describe("whose stderr is a pipe that nobody reads", function()
        before_each(function()
            start("mkfifo log && exec 9<>log", "-vv -t 2", ">&9 2>&9 9>&-")
        end)

        it("answers all requests that are logged, counts lost lines and tells of them once somebody reads", function()
            local client = connect()
            change_often(client, CHANGES)
            local lost = statistic(client, "log_lines_lost")
            assert.is_true(lost > 0 and lost < CHANGES)
            assert.equal("VERSION 1.6.45", wire.ask(connect(), "version"))

            local reader = assert(io.open(folder .. "/log", "r"))
            local lines, out_of_order, told, last = 0, 0
            repeat
                local line = assert(reader:read("l"))
                lines = lines + 1
                told = line:match("^slated: warn: (%d+) lines of this log were lost$")
                local level = line:match("audit: .*: verbosity (%d)")
                if level and level == last then
                    out_of_order = out_of_order + 1
                end
                last = level or last
            until told
            reader:close()
            assert.equal(lost, tonumber(told))
            assert.is_true(lines > CHANGES - lost)
            assert.equal(0, out_of_order)
            wire.ask(client, "stats reset")
            assert.equal(0, statistic(client, "log_lines_lost"))
        end)

        it("ends when it is told to", function()
            change_often(connect(), CHANGES)
            assert(os.execute("kill -TERM " .. pid))
            assert.equal(0, status())
        end)
    end)

    it("never takes a socket for its stderr: a standard stream that is closed is /dev/null", function()
        start("true", "-vv", ">/dev/null 2>&-")
        assert.equal("VERSION 1.6.45", wire.ask(connect(), "version"))
        assert.equal("/dev/null", server.capture(("readlink /proc/%d/fd/2"):format(pid)))
    end)

    describe("with --automove-record", function()
        local POLICY <const> = "-o slab_automove=lua:ratio " -- asked every second

        local function wait_for_log(words)
            patience.wait_for(words, function()
                return (server.read_file(folder .. "/log") or ""):find(words, 1, true)
            end)
        end

        it("goes on without the record when the disk is full", function()
            start("true", POLICY .. "--automove-record=/dev/full", ">log 2>&1")
            wait_for_log("automove_record cannot be written and ends: No space left on device")
            assert.equal("VERSION 1.6.45", wire.ask(connect(), "version"))
        end)

        it("leaves whole lines in a file that may not grow", function()
            start("ulimit -f 1", POLICY .. "--automove-record=record", ">log 2>&1")
            wait_for_log("automove_record cannot be written and ends: File too large")
            assert.equal("VERSION 1.6.45", wire.ask(connect(), "version"))
            assert.truthy((server.read_file(folder .. "/record") or ""):find("^{.*}\n$"))
        end)

        it("does not start when the record is a pipe that nobody reads", function()
            start("mkfifo record", POLICY .. "--automove-record=record", ">log 2>&1")
            assert.equal(71, status())
            local log = server.read_file(folder .. "/log")
            assert.truthy(log:find("the tuner, which writes record: No such device", 1, true), log)
        end)
    end)
end)
