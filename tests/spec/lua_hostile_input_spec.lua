-- SPDX-License-Identifier: BSD-3-Clause
-- Foreign input of slatectl, damaged at random: JSON, statistics, recordings, policies. A reader gives a value or
-- nil and a message, and never raises an error. SEED= repeats a run.

local client = require("slate.wire.client")
local hotkeys = require("slate.facts.hotkeys")
local sampled = require("slate.facts.sampled")
local geometry = require("slate.facts.geometry")
local json = require("slate.base.json")
local keydump = require("slate.wire.keydump")
local moves = require("slate.facts.moves")
local pipeline = require "support.pipeline"
local record = require("slate.facts.record")
local script_transport = require("support.script_transport")
local sizehist = require("slate.facts.sizehist")
local steps = require("support.steps")

local seed = math.tointeger(tonumber(os.getenv("SEED") or "")) or os.time()
local ROUNDS, FEW_ROUNDS = 500, 100 -- fewer where there are many texts

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

-- Reads damaged copies of a text, ROUNDS of them by default.
local function survives(name, text, read, rounds)
    local values, refusals = 0, 0
    for round = 1, rounds or ROUNDS do
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
    for line in text:gmatch("[^\n]+") do lines[#lines + 1] = line end
    return lines
end

describe("hostile input", function()
    setup(function() math.randomseed(seed) end)

    it("as JSON gives a value, or nil and a message", function()
        survives("JSON", RECORDING:match("^[^\n]+"), json.decode)
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

    it("as statistics of samples gives finite figures", function()
        local text = "STAT bytes 1000\nSTAT reads 700\nSTAT hit_ratio_x1 0.5\nSTAT hit_ratio_x2 0.6\n"
            .. "STAT points 0.4\nSTAT sizes 1\nSTAT point:500 0.4\nSTAT point:1000 0.5\nSTAT policy lru\n"
            .. "STAT windows 4\nSTAT why because\n"
            .. "STAT lru:hit_ratio 0.5\nSTAT lru:difference +0.0000\nSTAT class:3:sieve:hit_ratio 0.4\n"
            .. "STAT class:3:sieve:difference 0.1\nSTAT sieve:hit_ratio 0.6\nSTAT sieve:difference 0.1\n"
            .. "STAT requests 9\nSTAT 1:key a\nSTAT 1:requests 5\nSTAT 1:error 1\n"
            .. "STAT 99999999999999999999:key b\nSTAT 2:key c\nSTAT 2:requests 5\nSTAT 2:error 1\n"
        survives("samples", text, function(damaged)
            local lines = lines_of(damaged)
            sampled.gain_at(sampled.parse_curve(lines), 2)
            local totals, policies = sampled.parse_whatif(lines)
            assert(totals.windows == nil or type(totals.windows) == "number")
            for _, one in ipairs(policies) do assert(one.hit_ratio + one.difference) end
            local hot = hotkeys.parse(lines)
            for _, one in ipairs(hot.keys) do
                assert(one.key and one.requests - one.error + hot.requests)
            end
            return hot.keys
        end)
    end)

    it("as a histogram of sizes beyond all sense ends, and is left out", function()
        local read = sizehist.of_sizehist(lines_of("STAT 9223372036854775807 1\nSTAT 4611686018427387905 2\n"
            .. "STAT 64 9223372036854775807\nSTAT 128 5\nSTAT sampled_pages 99999999999999999999\n"))
        assert.equal(1, #read.sizes)
        assert.equal(640, read.bytes)
    end)

    -- A server's reply to each call. The same bytes, damaged, come from a transport that ends after them.
    local REPLIES = {
        { "VALUE k 5 3 18446744073709551615\r\nx\r\n\r\nEND\r\n", function(c) return c:get("k") end },
        { "VALUE a 0 1 7\r\nx\r\nVALUE b 1 0 8\r\n\r\nEND\r\n", function(c) return c:get_many({ "a", "b", "c" }) end },
        { "STORED\r\n", function(c) return c:set("k", "v") end },
        { "NOT_STORED\r\n", function(c) return c:set("k", "v", { mode = "add" }) end },
        { "DELETED\r\n", function(c) return c:delete("k") end },
        { "VA 3 s3 t-1 c5 Oabc kk W\r\nabc\r\n", function(c)
            return c:meta("mg", "k", { "s", "t", "c", "Oabc", "k", "v" })
        end },
        { "HD c5\r\n", function(c) return c:meta("ms", "k", { "c" }, "abc") end },
        { "STAT pid 1\r\nSTAT version 1.6.45\r\nEND\r\n", function(c) return c:stats("") end },
        { "STAT items:1:number 5\r\nEND\r\nSTAT 1:chunk_size 96\r\nEND\r\n", function(c)
            return c:stats_groups({ "items", "slabs" })
        end },
        { "VERSION 1.6.45\r\nSTAT version 0.1.0\r\nEND\r\n", function(c) return c:identify() end },
        { "STAT mode off\r\nSTAT 1:from 2\r\nSTAT 1:to 3\r\nSTAT 1:time 5\r\nSTAT 1:reason asked for\r\nEND\r\n",
            moves.read },
        { "STAT state steady\r\nSTAT factor 1.25\r\nSTAT 1:bytes 96\r\nSTAT auto_gain 2.5\r\nEND\r\n", geometry.read },
        { "PREDICTED 33 classes would hold 2.7 % fewer items; sizes 96,120\r\n", function(c)
            return geometry.order(c, "slabs geometry auto dry", 0)
        end },
        { "key=a%20b exp=-1 la=5 cas=6 fetch=yes cls=1 size=60\nkey=b exp=9 la=5 cas=7 fetch=no cls=2 size=70\nEND\r\n",
            function(c)
                local keys = {}
                local message, code = keydump.each(c, { limit = 5 }, function(key) keys[#keys + 1] = key end)
                if message then
                    return nil, message, code
                end
                return keys
            end },
        { "HD\r\nVALUE k 0 1 5\r\nx\r\nEND\r\nDELETED\r\n", function(c)
            local results, errors = pipeline(c):meta("ms", "k", {}, "x"):get("k"):delete("n"):run()
            for i = 1, 3 do
                local problem = errors[i]
                assert((results[i] == nil) == (problem ~= nil), "a request has an answer or an error")
                assert(not problem or type(problem[1]) == "string" and type(problem[2]) == "string", "it has both")
            end
            return results
        end },
    }

    it("as a reply gives a value, or nil, a message and a code", function()
        for number, row in ipairs(REPLIES) do
            survives("reply " .. number, row[1], function(text)
                local transport = script_transport.new({})
                transport.pending, transport.ending = text, "closed"
                transport.send = function() return true end
                local value, message, code = row[2](client.new(transport, { timeout_s = 1, max_value_bytes = 1000 }))
                assert(value ~= nil or type(code) == "string", "a refusal has no code")
                return value, message
            end, FEW_ROUNDS)
        end
    end)
end)

describe("a line of 500 letters, blanks or signs", function()
    local BYTES <const>, STEPS_A_BYTE <const> = 512, 40

    -- Repeated, with text that may stand before and after.
    local PIECES <const> = { " ", "a", "1", "=", ":", ",", "a ", "a=", "1:", ",1", "; ", "\r", "\n", "a\n", " \n", "/",
        "%", "[", "-", "." }

    local function split(text)
        local lines = {}
        for line in (text .. "\n"):gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
        return lines
    end

    local context = { json = false, paint = function(_, _, text) return text end }
    function context.pairs(_, list) return require("slate.base.table").pairs(list) end
    local function out_of_stats(lines)
        local mock = setmetatable({ out = function() end, server = { name = "it" } }, { __index = context })
        mock.connect = function() return { stats = function() return lines end, close = function() end } end
        return require("slate.commands.inspect.stats").run(mock, { group = {} })
    end

    local READERS <const> = {
        ["slatectl stats"] = function(text) return out_of_stats(split("STAT " .. text .. "\nSTAT a 1")) end,
        ["a table"] = function(text)
            return require("slate.base.table").render("A|B<", { { text, 1 }, { 1, text } })
        end,
        ["geometry"] = function(text) return geometry.parse(split("STAT " .. text)) end,
        ["moves"] = function(text) return moves.parse(split("STAT last:1 " .. text)) end,
        ["a curve"] = function(text) return sampled.parse_curve(split("STAT " .. text)) end,
        ["hot keys"] = function(text) return hotkeys.parse(split("STAT " .. text)) end,
        ["a dump of keys"] = function(text) return keydump.parse("key=" .. text) or keydump.parse("key=a " .. text) end,
        ["another dump of keys"] = function(text) return keydump.parse("key=a " .. text) end,
        ["sizes"] = function(text) return sizehist.parse(split("STAT " .. text)) end,
        ["names of servers"] = function(text) return require("slate.wire.names").read(text, "it") end,
        ["a server"] = function(text) return require("slate.base.units").parse_server(text) end,
        ["a server of a fleet"] = function(text) return require("slate.fleet.ring").parse_server(text) end,
        ["a list of servers"] = function(text) return require("slate.wire.addresses").parse(text) end,
        ["an audit"] = function(text) return require("slate.facts.answers").lines(text) end,
        ["a duration"] = function(text) return require("slate.base.units").parse_duration(text) end,
        ["a message"] = function(text) return require("slate.base.table").for_terminal(text) end,
        ["prose"] = function(text) return require("slate.base.table").wrap(text, 4) end,
    }

    for name, read in pairs(READERS) do
        it("costs steps in proportion to its length: " .. name, function()
            for _, piece in ipairs(PIECES) do
                for _, ends in ipairs({ "", " x" }) do
                    local text = piece:rep(BYTES // #piece) .. ends
                    assert.has_no.errors(function() steps.count(STEPS_A_BYTE * BYTES, read, text) end)
                end
            end
        end)
    end
end)
