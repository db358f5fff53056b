-- SPDX-License-Identifier: BSD-3-Clause
local make = require("support.snapshots").make
local record = require "slate.facts.record"
local server = require "support.server"

describe("recording", function()
    local folder, path

    before_each(function()
        folder = server.folder()
        path = folder .. "/a.jsonl"
    end)
    after_each(function() server.remove_folder(folder) end)

    local function write(text, mode)
        local file = assert(io.open(path, mode or "w"))
        file:write(text)
        file:close()
    end

    local function write_some(from, to, may_append)
        local writer = assert(record.create(path, may_append))
        for i = from, to do assert(writer:append(make(i, { [1] = { total_pages = i } }))) end
        writer:close()
    end

    it("reads the written values back", function()
        write_some(1, 5)
        local list, skipped = record.load(path)
        assert.equal(5, #list)
        assert.equal(0, skipped)
        assert.same(make(3, { [1] = { total_pages = 3 } }), list[3])
    end)

    it("has snapshots of one moment in the order of its lines", function()
        local writer = assert(record.create(path))
        for pages = 1, 30 do assert(writer:append(make(7, { [1] = { total_pages = pages } }))) end
        writer:close()
        for pages, one in ipairs((record.load(path))) do
            assert.equal(pages, one.classes[1].total_pages)
        end
    end)

    it("stays readable wherever its last line is cut off", function()
        write_some(1, 3)
        local text = server.read_file(path)
        local last_line = #text:match("^(.*\n)[^\n]+\n$")
        for cut = last_line, #text - 2, 7 do
            write(text:sub(1, cut))
            local list, skipped = record.load(path)
            assert.equal(2, #list)
            assert.equal(cut == last_line and 0 or 1, skipped)
        end
    end)

    it("skips a line that is longer than a recording's can be, and reads on", function()
        write_some(1, 3)
        local half = ("x"):rep(record.LINE_BYTES // 2)
        write(half .. half .. "x\n" .. half .. "\n", "a")
        write_some(4, 5, true)
        local list, skipped, problem = record.load(path)
        assert.equal(5, #list)
        assert.equal(2, skipped)
        assert.equal("line 4: longer than 4 MiB", problem)
        write(half .. half .. "x")
        assert.truthy(select(2, record.load(path)):find("is not a recording: line 1: longer than 4 MiB", 1, true))
    end)

    it("continues after a torn line without losing the next one", function()
        write_some(1, 2)
        write('{"schema":"slate/snap', "a")
        write_some(3, 4, true)
        local list, skipped = record.load(path)
        assert.equal(4, #list)
        assert.equal(1, skipped)
    end)

    it("does not touch an existing recording unless told to append", function()
        write_some(1, 2)
        local writer, message, code = record.create(path)
        assert.is_nil(writer)
        assert.equal("usage", code)
        assert.truthy(message:find("--append", 1, true))
        assert.equal(2, #record.load(path))
    end)

    it("never touches a file that is no recording", function()
        write("precious\n")
        local writer, message, code = record.create(path, true)
        assert.is_nil(writer)
        assert.equal("usage", code)
        assert.truthy(message:find("is not a recording", 1, true))
        assert.equal("precious\n", server.read_file(path))
    end)

    it("says why nothing can be read", function()
        for _, case in ipairs({
            { folder .. "/none", "No such file" }, { folder, "Is a directory" },
        }) do
            local list, message, code = record.load(case[1])
            assert.is_nil(list)
            assert.truthy(message:find(case[2], 1, true), message)
            assert.equal("input", code)
        end
        write("hello\n")
        local _, message = record.load(path)
        assert.truthy(message:find("is not a recording", 1, true), message)
        write('{"schema":"slate/snap\n{"schema":"slate/change/1","time_s":1,"of":1,"d":""}\n')
        _, message = record.load(path)
        assert.truthy(message:find("has no whole snapshot, only changes of one: line 1: ", 1, true), message)
        write("")
        _, message = record.load(path)
        assert.truthy(message:find("it is empty", 1, true), message)
        assert(record.create(path)):close() -- a new record may begin there
    end)

    it("reports a full disk and the number of saved snapshots", function()
        local full = assert(io.open("/dev/full", "w"))
        local writer = record.writer(full, "/dev/full")
        local ok, message, code = writer:append(make(1, {}))
        assert.is_nil(ok)
        assert.equal("output", code)
        assert.equal("cannot write /dev/full: No space left on device; it holds 0 snapshots of this run", message)
        pcall(full.close, full)
    end)
end)
