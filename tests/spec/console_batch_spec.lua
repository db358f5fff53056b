-- SPDX-License-Identifier: BSD-3-Clause
-- Batch mode of slatetop: its three forms, several servers, a recording, and the exit codes.
require "support.world" -- its interpreter has slate.console.cells
local batch = require "slate.console.batch"
local dkjson = require "dkjson"
local options = require "slate.console.options"
local screens = require "screens"
local tape = require "slate.console.tape"

local EXIT <const> = options.EXIT

describe("slatetop's batch mode", function()
    local out, errors, now_s, can_write, sessions, signal, write_s

    -- A server with a figure a second; dead: it is down; mute: it does not answer.
    local function session_of(server)
        local is_dead = server.host == "dead"
        local client = { state = function() return is_dead and "down" or "up" end,
            note = function() return is_dead and "cannot connect" or "" end }
        local session = { address = server.name, model = screens.model("slated-0.1"), connection = { client = client },
            poller = { is_steady = function() return now_s > 2 end }, want = function() end, read = function() end,
            finish = function() end,
            polled = function() end, due_s = function() end, close = function(self) self.is_closed = true end }
        function session.step(self) self.has_sample = not is_dead and server.host ~= "mute" and now_s % 1 == 0 end
        sessions[#sessions + 1] = session
        return session
    end

    -- A recording of so many snapshots, a second apart.
    local function replay_of()
        local one, past = screens.model("memcached-1.6.18"), tape.new()
        for _ = 1, 5 do
            screens.go_on(one, 1)
            one.now.server = "cache7"
            past:add(one.now, { at_s = one.at_s, wall_s = one.at_s, reply_ms = 0.4 })
        end
        return { tape = past, model = one, bad_lines = 1, loaded_ratio = function() return 1 end,
            close = function() end }
    end

    local function run(line)
        local words = {}
        for word in line:gmatch("%S+") do words[#words + 1] = word end
        local files = { environment = function() end, write_error = function(text) errors = errors .. text end }
        local function write_out(text)
            out, now_s = out .. text, now_s + write_s
            return can_write, not can_write and EXIT.output or nil
        end
        local link = { now_s = function() return now_s end, wall_s = function() return 1000 + now_s end,
            wait = function() now_s = now_s + 0.5 return now_s, 1000 + now_s end }
        return batch.run(assert(options.parse(words, files)), { files = files, link = link, write_out = write_out,
            term = { catch_interrupts = function() end, signal = function() return signal end },
            open_session = session_of, open_replay = replay_of })
    end

    before_each(function() out, errors, now_s, can_write, sessions, signal, write_s = "", "", 0.5, true, {}, nil, 0 end)

    it("prints as many snapshots of each server as it should, with rates, and closes the server", function()
        assert.equal(EXIT.ok, run("-b -n 3 a b"))
        assert.equal(6, select(2, out:gsub("connections +%d", "")))
        assert.truthy(out:find("%d+%-%d+%-%d+ %d+:%d+:%d+  cache7:11211  slated "), out)
        assert.is_true(sessions[1].is_closed and sessions[2].is_closed)
    end)

    it("gives a dead server up, and prints the others", function()
        assert.equal(EXIT.no_server, run("-b a dead"))
        assert.equal("slatetop: cannot connect\n", errors)
        assert.truthy(out:find("items, ", 1, true))
    end)

    it("gives a server up that does not answer, and waits for a slow reader as long as it takes", function()
        assert.equal(EXIT.no_server, run("-b -d 1 mute"))
        assert.same({ "slatetop: mute:11211 does not answer\n", 6.5 }, { errors, now_s })
        errors, write_s = "", 60
        assert.equal(EXIT.ok, run("-b -d 1 -n 4 a b"))
        assert.same({ 8, "" }, { select(2, out:gsub("connections +%d", "")), errors })
    end)

    it("ends when a signal interrupts it", function()
        signal = "int"
        assert.equal(EXIT.interrupted, run("-b -n 3 a"))
        assert.equal("", out)
    end)

    it("ends when it cannot write", function()
        can_write = false
        assert.equal(EXIT.output, run("-b -n 3 a"))
        assert.equal(1, select(2, out:gsub("connections +%d", "")))
    end)

    it("prints the last moments of a recording, or those from a place on, as JSON", function()
        assert.equal(EXIT.ok, run("-j -n 3 -p file"))
        local times = {}
        for line in out:gmatch("[^\n]+") do
            local one = assert(dkjson.decode(line, nil, dkjson.null))
            times[#times + 1] = one.time_s
            assert.equal("slate/snapshot/1", one.schema)
            assert.same({ "string", "string" }, { type(one.health[1].severity), type(one.figures[1].state) })
            assert.equal(dkjson.null, one.figures[1].unread)
        end
        assert.same({ 18.0, 20.0, 22.0 }, times)
        assert.equal("slatetop: 1 line of file skipped: no snapshots, or changes since one\n", errors)
        out = ""
        run("-j -p file --at 3")
        assert.equal(16, dkjson.decode(out).time_s)
    end)

    it("prints the table of classes as comma-separated values", function()
        run("-v -n 2 -p file")
        local heads, row = out:match("^([^\r]*)\r\n([^\r]*)\r\n")
        assert.equal("time_s,server,class,", heads:sub(1, 20))
        assert.equal(select(2, heads:gsub(",", "")), select(2, row:gsub(",", "")))
        assert.equal(1, select(2, out:gsub("time_s", "")))
    end)
end)
