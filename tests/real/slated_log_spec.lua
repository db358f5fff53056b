-- SPDX-License-Identifier: BSD-3-Clause
-- slated's log on stderr and the record of a policy. An output that cannot be written never delays slated.
local patience = require "support.patience"
local restart = require "support.restart"
local server = require "support.server"
local wire = require "support.wire"

local CHANGES <const> = 6000 -- each is a line of the log; a pipe and the log's buffer hold some 2,000
local BATCH <const> = 100

describe("slated", function()
    local one
    before_each(function() one = restart.place() end)
    after_each(function() one:finish() end)

    local function connect() return one:connect() end

    -- Changes a setting so many times, and reads every reply.
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

    describe("whose stderr is a pipe that nobody reads", function()
        before_each(function()
            one:start("-m 16 -vv -t 2", "mkfifo log && exec 9<>log;", ">&9 2>&9 9>&-")
        end)

        it("answers all logged requests, counts lost lines and reports them once somebody reads", function()
            local client = connect()
            change_often(client, CHANGES)
            local lost = wire.number(client, "log_lines_lost", "slated")
            assert.is_true(lost > 0 and lost < CHANGES)
            assert.equal("VERSION 1.6.45", wire.ask(connect(), "version"))

            local reader = assert(io.open(one.folder .. "/log", "r"))
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
            assert.equal(0, wire.number(client, "log_lines_lost", "slated"))
        end)

        it("ends at SIGTERM", function()
            change_often(connect(), CHANGES)
            assert(os.execute("kill -TERM " .. one.pid))
            assert.equal(0, one:status())
        end)
    end)

    it("never takes a socket for its stderr: a standard stream that is closed is /dev/null", function()
        one:start("-m 16 -vv", "", ">/dev/null 2>&-")
        assert.equal("VERSION 1.6.45", wire.ask(connect(), "version"))
        assert.equal("/dev/null", server.capture(("readlink /proc/%d/fd/2"):format(one.pid)))
    end)

    describe("with --automove-record", function()
        local POLICY <const> = "-m 16 -o slab_automove=lua:ratio " -- requested every second

        local function wait_for_log(words)
            patience.wait_for(words, function()
                return (one:log() or ""):find(words, 1, true)
            end)
        end

        it("goes on without the record when the disk is full", function()
            one:start(POLICY .. "--automove-record=/dev/full")
            wait_for_log("automove_record cannot be written and ends: No space left on device")
            assert.equal("VERSION 1.6.45", wire.ask(connect(), "version"))
        end)

        it("leaves whole lines in a file that may not grow", function()
            one:start(POLICY .. "--automove-record=record", "ulimit -f 1;")
            wait_for_log("automove_record cannot be written and ends: File too large")
            assert.equal("VERSION 1.6.45", wire.ask(connect(), "version"))
            assert.truthy((server.read_file(one.folder .. "/record") or ""):find("^{.*}\n$"))
        end)

        it("does not start when the record is a pipe that nobody reads", function()
            one:start(POLICY .. "--automove-record=record", "mkfifo record;")
            assert.equal(71, one:status())
            local log = one:log()
            assert.truthy(log:find("the control thread, which writes record: No such device", 1, true), log)
        end)
    end)
end)
