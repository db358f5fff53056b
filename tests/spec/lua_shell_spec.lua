-- SPDX-License-Identifier: BSD-3-Clause
-- Commands that the library runs: their output, and that an interrupt meanwhile is not lost.
local server = require "support.server"
local shell = require "slate.base.shell"

-- The output of a Lua program that gets SIGINT when it calls interrupt().
local function said_by(program)
    local path = os.tmpname()
    server.write_file(path, [[package.path = "lua/?.lua;" .. package.path
        local shell = require "slate.base.shell"
        local function interrupt() shell.run("kill -INT $PPID") end
        ]] .. program)
    local said = server.capture("env --default-signal=INT lua5.4 " .. path .. " 2>&1")
    os.remove(path)
    return said
end

describe("a command that the library runs", function()
    it("reports its end", function()
        assert.same({ true, "exit", 0 }, { shell.run("true") })
        assert.same({ nil, "exit", 3 }, { shell.run("exit 3") })
        assert.same({ nil, "signal", 9 }, { shell.run("kill -9 $$") })
    end)

    it("leaves the output and the errors to the process that runs it", function()
        assert.equal("out\nerr", said_by('shell.run("echo out; echo err >&2")'))
    end)

    it("lets an interrupt during its run through", function()
        local said = said_by('interrupt() for _ = 1, 1000 do end print "lost"')
        assert.truthy(said:find("interrupted!", 1, true), said)
        assert.is_nil(said:find("lost", 1, true))
    end)
end)

describe("the record of changes", function()
    it("has the change that was made before an interrupt ends the program", function()
        local path = os.tmpname()
        local said = said_by(([[local record = require("slate.facts.audit_file").new("%s")
            record.append(function() interrupt() return "a line\n" end)
            for _ = 1, 1000 do end print "lost"]]):format(path))
        local text = server.read_file(path)
        os.remove(path)
        assert.equal("a line\n", text)
        assert.truthy(said:find("interrupted!", 1, true), said)
        assert.is_nil(said:find("lost", 1, true))
    end)
end)
