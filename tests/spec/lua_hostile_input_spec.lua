-- SPDX-License-Identifier: BSD-3-Clause
-- What slatectl reads from others, damaged at random: JSON, statistics, recordings, policies. A reader gives a value or
-- nil and a message, and never raises an error. SEED= repeats a run.

local json = require("slate.json")
local policy = require("slate.policy")
local record = require("slate.record")
local sizehist = require("slate.sizehist")
local snapshot = require("slate.snapshot")
local stats = require("slate.stats")

local seed = math.tointeger(tonumber(os.getenv("SEED") or "")) or os.time()
local ROUNDS = 1500

local WORDS = {
    "STAT ", "\r\n", "\0", "items:1:number 5", "1:chunk_size 96", "END",
    "{", "}", "[", "]", ":", ",", '"', "\\u0000",
    "\\ud800", "1e999", "-", "-0", "18446744073709551616", "nan", "null", "true", ("["):rep(300), '{"a":', "\xff\xfe",
    "0x10", "9223372036854775807",
}

-- A damaged copy: pieces are cut out, doubled, replaced by words and by bytes.
local function damage(text)
    for _ = 1, math.random(6) do
        local at = math.random(0, #text)
        local upto = math.min(#text, at + math.random(0, 24))
        local kind = math.random(4)
        local put = kind == 1 and "" or kind == 2 and string.char(math.random(0, 255)) or
            kind == 3 and WORDS[math.random(#WORDS)] or text:sub(at + 1, upto):rep(2)
        text = text:sub(1, at) .. put .. text:sub(upto + 1)
    end
    return text
end

-- Reads `rounds` damaged copies of a text.
local function survives(name, text, read)
    local values, refusals = 0, 0
    for round = 1, ROUNDS do
        local input = damage(text)
        local ok, value, message = pcall(read, input)
        assert(ok, ("%s, round %d, SEED=%d: %s\n%q"):format(name, round, seed, tostring(value), input))
        if value ~= nil then
            values = values + 1
        else
            refusals = refusals + 1
            assert.is_string(message, ("%s, round %d, SEED=%d: refused without a word"):format(name, round, seed))
        end
    end
    print(("# SEED=%d; %s: %d read, %d refused"):format(seed, name, values, refusals))
end

local RECORDING = '{"schema":"slate/snapshot/1","time_s":1.5,"general":{"pid":1,"version":"1.6"},' ..
    '"classes":[{"id":1,"age":2.5},{"id":2,"a":"\\u00e9\\n"}]}\n' ..
    '{"schema":"slate/snapshot/1","time_s":2.5,"general":{},"classes":[]}\n'

local function lines_of(text)
    local lines = {}
    for line in text:gmatch("[^\n]+") do
        lines[#lines + 1] = line
    end
    return lines
end

describe("hostile input", function()
    setup(function()
        math.randomseed(seed)
    end)

    it("as JSON gives a value, or nil and a message", function()
        survives("JSON", RECORDING:match("^[^\n]+"), json.decode)
    end)

    it("as a snapshot gives one that can be written again, or nil and a message", function()
        survives("snapshot", RECORDING:match("^[^\n]+"), function(text)
            local one, message = snapshot.decode(text)
            if one then
                assert(snapshot.encode(one))
                snapshot.rates(one, one)
            end
            return one, message
        end)
    end)

    it("as a snapshot of no time is refused", function()
        local one, message = snapshot.decode('{"schema":"slate/snapshot/1","time_s":nan,"general":{},"classes":[]}')
        assert.is_nil(one)
        assert.is_string(message)
    end)

    it("as a recording gives snapshots in order, or nil and a message", function()
        survives("recording", RECORDING:rep(3), function(text)
            local handle = assert(io.tmpfile())
            handle:write(text)
            handle:seek("set")
            local list, message = record.read(handle, "it")
            handle:close()
            for i = 2, #(list or {}) do
                assert(list[i - 1].time_s <= list[i].time_s, "the snapshots are not in order")
            end
            return list, message
        end)
    end)

    it("as statistics gives classes in order", function()
        local text = "STAT 1:chunk_size 96\nSTAT 1:total_pages 2\nSTAT 99999999999999999999:used_chunks 3\n" ..
            "STAT active_slabs 1\nSTAT items:1:number 5\nSTAT items:2:age 7.5\nSTAT version 1.6.45\n"
        survives("statistics", text, function(damaged)
            local lines = lines_of(damaged)
            stats.flat(lines)
            local list = stats.classes(lines, lines)
            for i = 2, #list do
                assert(list[i - 1].id < list[i].id, "the classes are not in order")
            end
            return list
        end)
    end)

    it("as a histogram of sizes gives whole numbers", function()
        local text = "STAT 64 5\nSTAT 128 1.5\nSTAT 99999999999999999999 1\nSTAT sampled_pages 4\n"
        survives("histogram", text, function(damaged)
            local sizes = sizehist.parse(lines_of(damaged))
            for _, size in ipairs(sizes) do
                assert(math.type(size.bytes) == "integer" and math.type(size.items) == "integer", "a size is no number")
            end
            return sizes
        end)
    end)

    it("as a policy is loaded, or refused with a message", function()
        local source = "local n = 0\nreturn { summary = 'x', settings = { ratio = 1 },\n" ..
            "decide = function(before, after, state)\n" ..
            "n = n + 1\nreturn { from = 1, to = 2, pages = 1 }, ('x'):rep(3)\nend }\n"
        survives("policy", source, function(text)
            return policy.load(text, "it.lua")
        end)
    end)
end)
