-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl audit: the record of changes.
local command = require "support.command"
local dkjson = require "dkjson"

describe("the changes on record", function()
    local ctl

    setup(function()
        ctl = command.new()
        local file = assert(io.open(ctl.folder .. "/audit.log", "w"))
        local function add(id, ago_s, address, rest)
            file:write(('{"schema":"slate/audit/1","id":%d,"time_s":%d,"server":"%s",%s}\n'):format(id,
                os.time() - ago_s, address, rest))
        end
        add(1, 90000, "127.0.0.1:1", '"what":"set","name":"verbosity","was":"0","is":"1"')
        add(2, 7300, "127.0.0.1:2", '"what":"move","src":3,"dst":4,"pages":2')
        add(3, 60, "127.0.0.1:1", '"what":"move","src":5,"dst":6,"pages":1')
        file:write('{"schema":"slate/audit/1","what":"outcome","of":3,"words":"so it is","predicted_change":0.02,'
            .. '"predicted_least":0.012,"predicted_most":0.05,"effect":0.01}\n')
        add(4, 30, "127.0.0.1:1", '"what":"geometry","is":"slabs geometry factor 2","generation":1')
        file:close()
    end)
    teardown(function() ctl.remove() end)

    -- The ids in a command line, in their order, and the line's last word.
    local function listed(arguments)
        local out, ids = ctl.succeed(arguments), {}
        for id in out:gmatch("\n +(%d+)  %d+%-") do ids[#ids + 1] = math.tointeger(tonumber(id)) end
        return ids, out:match("([^\n]*)\n$")
    end

    it("are those of the named servers, with each server's name", function()
        local ids, words = listed("audit")
        assert.same({ 1, 2, 3, 4 }, ids)
        assert.equal("4 of 4 changes, of all servers", words)
        ids, words = listed("-s 127.0.0.1:1 audit --last 2")
        assert.same({ 3, 4 }, ids)
        assert.equal("2 of 3 changes, of 127.0.0.1:1; --all shows 1 of other servers, too", words)
        assert.same({ 2 }, (listed("-s 127.0.0.1:2 audit")))
        assert.same({ 1, 2, 3, 4 }, (listed("-s 127.0.0.1:2,127.0.0.1:1 audit")))
        assert.same({ 1, 2, 3, 4 }, (listed("-s 127.0.0.1:2 audit --all")))
        local _, out = ctl.shell("SLATE_SERVER=127.0.0.1:2 slatectl audit")
        assert.truthy(out:find("1 of 1 change, of 127.0.0.1:2; --all shows 3 of other servers, too", 1, true), out)
        assert.truthy(ctl.succeed("-s 127.0.0.1:3 audit"):find("^no such change is on record\n0 of 0 changes"))
    end)

    it("are chosen by kind and by how long ago they were", function()
        assert.same({ 2, 3 }, (listed("audit --kind move")))
        assert.same({ 4 }, (listed("audit --kind geometry")))
        assert.same({ 3, 4 }, (listed("audit --since 2h")))
        assert.same({ 2 }, (listed("-s 127.0.0.1:2 audit --since 1d --kind move")))
        local found = dkjson.decode((ctl.succeed("audit --kind set --json"))).changes
        assert.same({ 1, 1 }, { #found, found[1].id })
        assert.equal(64, (ctl.run("audit --kind nonsense")))
        assert.equal(64, (ctl.run("audit --since yesterday")))
    end)

    it("show the accuracy of predictions, for the same changes", function()
        local none <const> = "no prediction was compared with what came\n"
        local out, err = ctl.succeed("-s 127.0.0.1:2 audit --accuracy --all")
        assert.truthy(out:find("^moves: 1 prediction; half were off by 1.0 points of hits or less, nine of ten by 1.0; "
            .. "0 of 1 came true between their least and their most, where 19 of 20 are meant to\nmemory: " .. none
            .. "policies: " .. none), out)
        assert.truthy(err:find("memory and policies: 127.0.0.1:2: cannot connect", 1, true), err)
        assert.truthy(ctl.succeed("-s 127.0.0.1:2 audit --accuracy"):find("^moves: " .. none))
        assert.truthy(ctl.succeed("-s 127.0.0.1:2 audit --accuracy --all --kind set"):find("^moves: " .. none))
    end)
end)
