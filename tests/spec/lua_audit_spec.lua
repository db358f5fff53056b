-- SPDX-License-Identifier: BSD-3-Clause
-- The record of changes when several programs write to it.
local audit = require "slate.facts.audit"
local server = require "support.server"

local WRITERS <const>, CHANGES <const> = 4, 25

-- Notes changes, as a slatectl would.
local NOTE <const> = [[
    package.path = "lua/?.lua;" .. package.path
    local audit = require "slate.facts.audit"
    local context = { server = { name = "cache:11211" }, print_note = function(_, text) error(text) end }
    for _ = 1, tonumber(arg[1]) do
        context.command = {}
        audit.note(context, { what = "set", name = "verbosity", was = "0", is = "1" })
    end]]

describe("the record of changes", function()
    local folder, script

    before_each(function()
        folder = server.folder()
        script = folder .. "/note.lua"
        server.write_file(script, NOTE)
    end)
    after_each(function() server.remove_folder(folder) end)

    local function notes(count)
        return ("SLATE_AUDIT=%s/audit.log lua5.4 %s %d"):format(folder, script, count)
    end

    it("is not taken for empty where there is no place for one", function()
        assert.same({ nil, "there is no record of changes: set HOME or SLATE_AUDIT", "input" }, { audit.read(nil) })
    end)

    it("skips entries whose fields have wrong types, and figures that are no numbers", function()
        local line = '{"schema":"slate/audit/1","server":"a","id":%d,"what":"set","name":"n","was":"1","is":"2",%s}'
        local lines = {}
        for i, fields in ipairs({ '"time_s":1', '"time_s":"1"', '"back":1', '"time_s":1e300', '"time_s":-1',
            '"time_s":1,"run":"x"', '"time_s":1,"who":{}', '"time_s":1,"what":"move","src":1,"dst":2,"pages":-5',
            '"time_s":1,"what":"geometry","is":"slabs\\nreassign 1 2"' }) do
            lines[i] = line:format(i, fields)
        end
        lines[#lines + 1] = '{"schema":"slate/audit/1","what":"outcome","of":1,"words":"w","effect":{},'
            .. '"predicted_change":0.5}'
        local entries = audit.entries(table.concat(lines, "\n"))
        assert.equal(1, #entries)
        assert.same({ 1, "w", 0.5 }, { entries[1].id, entries[1].outcome, entries[1].predicted_change })
        assert.is_nil(entries[1].measured_change)
    end)

    it("names the author of a setting's last change by server, value and time", function()
        local lines = {}
        for i, of in ipairs({ { "a", "0", "b:1" }, { "b", "0", "b:1" }, { "c", "2", "b:1" }, { "d", "2", "c:1" } }) do
            lines[i] = audit.line({ schema = audit.SCHEMA, id = i, time_s = 100 + i, who = of[1], server = of[3],
                what = "set", name = "automove", was = "1", is = of[2] })
        end
        local function author(name, is, since_s)
            return audit.author(table.concat(lines), "b:1", name, is, since_s)
        end
        assert.same({ "b", "c" }, { author("slab_automove", "off", 90), author("slab_automove", 2, 90) })
        assert.same({ "c" }, { author("slab_automove", 2, 103), author("slab_automove", 0, 103) })
        assert.is_nil(author("verbosity", "2", 90))
    end)

    it("gives each change a number of its own while several write to it", function()
        local writers = {}
        for i = 1, WRITERS do writers[i] = notes(CHANGES) .. " & p" .. i .. "=$!; " end
        local ends = {}
        for i = 1, WRITERS do ends[i] = "wait $p" .. i end
        assert.is_true(os.execute(table.concat(writers) .. table.concat(ends, " && ")))
        local entries = assert(audit.read(folder .. "/audit.log"))
        assert.equal(WRITERS * CHANGES, #entries)
        for i, entry in ipairs(entries) do assert.equal(i, entry.id) end
    end)

    it("is written when the lock that slatetop takes, too, is given back", function()
        local log = folder .. "/audit.log"
        assert.is_true(os.execute(notes(1)))
        local line = server.read_file(log)
        server.write_file(folder .. "/second", (line:gsub('"id":1', '"id":2')))
        -- The holder writes change 2 once the other requests the lock: a writer that does not wait takes that number,
        -- too.
        local flock = '#!/bin/sh\n: >%s/asked\nPATH=${PATH#*:} exec flock "$@"\n'
        server.write_file(folder .. "/flock", flock:format(folder))
        assert.is_true(os.execute(([[chmod +x %s/flock; exec 9>>%s; flock 9; PATH=%s:$PATH %s 9>&- &
            until [ -e %s/asked ]; do kill -0 $! || break; done
            cat %s/second >&9; exec 9>&-; wait $!]]):format(folder, log, folder, notes(1), folder, folder)))
        local entries = assert(audit.read(log))
        assert.equal(1, entries[1].id)
        assert.same({ 3, 2 }, { #entries, entries[2].id }, line)
        assert.equal(3, entries[3].id)
    end)
end)
