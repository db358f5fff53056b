-- SPDX-License-Identifier: BSD-3-Clause
-- Recordings that tell what changed: exact, short, and the same for slatectl and slatetop.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local change = require "slate.facts.record_change"
local command = require "support.command"
local dkjson = require "dkjson"
local record = require "slate.facts.record"
local server = require "support.server"

local function deep(value)
    if type(value) ~= "table" then
        return value
    end
    local new = {}
    for key, one in pairs(value) do
        new[key] = deep(one)
    end
    return new
end

local function made_up(number)
    local one = { schema = "slate/snapshot/1", time_s = 1000 + number, server = "s", version = "1.6.45", pages_free = 3,
        pages_limit = 64, general = { a = 1, switch = true, cpu = 0.5, text = "t" }, totals = { x = 7 }, classes = {} }
    for id = 1, 5 do
        one.classes[id] = { id = id, gets = 0, sets = 0, big = math.maxinteger - 10 }
    end
    return one
end

describe("what changed between two snapshots", function()
    it("leads from the first to the second, whatever the numbers", function()
        local seed = tonumber(os.getenv("SEED")) or os.time()
        print("# SEED=" .. seed)
        math.randomseed(seed)
        local one, steps = made_up(0), { 0, 1, -1, 31, 32, -33, 1 << 20, -(1 << 40), 1 << 52 }
        for round = 1, 300 do
            local next_one = deep(one)
            next_one.time_s = 1000 + round
            next_one.general.cpu = math.random(0, 1000000000) / 1000000
            next_one.pages_free = math.random(0, 64)
            for _, class in ipairs(next_one.classes) do
                local step = steps[math.random(#steps)]
                class.gets = class.gets + step
                class.sets = class.sets + math.random(0, 50)
            end
            local text = assert(change.between(one, next_one), "round " .. round)
            local line = { schema = change.SCHEMA, time_s = next_one.time_s, d = text }
            assert.same(next_one, (assert(change.apply(one, line))))
            one = next_one
        end
    end)

    it("is nothing when nothing but numbers may change and something else did", function()
        for _, alter in ipairs({
            function(one) one.general.switch = false end, function(one) one.general.text = "u" end,
            function(one) one.general.new = 1 end, function(one) one.general.a = nil end,
            function(one) one.classes[6] = { id = 6 } end, function(one) one.classes[5] = nil end,
            function(one) one.classes[2].gets = "reset" end, function(one) one.settings = {} end,
            function(one) one.version = "1.6.46" end, function(one) one.pages_free = nil end,
            function(one) one.general.cpu = 1e300 end, function(one) one.classes[1].big = math.mininteger end,
        }) do
            local after = made_up(1)
            alter(after)
            assert.is_nil(change.between(made_up(0), after))
        end
        assert.equal("", change.between(made_up(0), made_up(1)))
    end)

    it("of a damaged line is refused, never wrong by chance of a crash", function()
        for _, text in ipairs({ "_", "9", "A", "999999999999999999A", "?", "AA\0", ("_"):rep(100) }) do
            local one, problem = change.apply(made_up(0), { time_s = 1, d = text })
            assert.is_true(one ~= nil or problem == "its changes do not fit the snapshot before it", text)
        end
        assert.is_nil(change.apply(made_up(0), { time_s = 1 }))
        assert.is_nil(change.apply(made_up(0), { d = "" }))
    end)
end)

describe("a recording of changes", function()
    local one, client, ctl

    setup(function()
        one = server.start({ args = { "-m", "32" } })
        client = one:connect()
        ctl = command.new({ server = one.address })
        for i = 1, 2000 do
            assert(client:set("key" .. i, ("x"):rep(i)))
        end
    end)
    teardown(function()
        client:close()
        ctl.remove()
        one:stop()
    end)

    it("is a tenth as long as whole snapshots, and holds the same", function()
        ctl.succeed("record -o short.jsonl --count 20 --interval 20ms")
        local text = command.read_file(ctl.folder .. "/short.jsonl")
        local first, rest = text:match("^([^\n]*)\n(.*)$")
        assert.truthy(first:find('^{"schema":"slate/snapshot/1"'))
        local lines = select(2, rest:gsub("\n", ""))
        assert.equal(19, lines)
        assert.is_true(#rest < lines * #first / 10, ("%d bytes in %d lines behind %d"):format(#rest, lines, #first))
        local whole = ctl.succeed("record --recording short.jsonl")
        assert.equal(20, select(2, whole:gsub('{"schema":"slate/snapshot/1"', "")))
        ctl.succeed("record -o whole.jsonl --count 3 --interval 20ms --whole")
        text = command.read_file(ctl.folder .. "/whole.jsonl")
        assert.equal(3, select(2, text:gsub('{"schema":"slate/snapshot/1"', "")))
    end)

    it("skips from a line that is missing to the next whole snapshot", function()
        ctl.shell("rm -f torn.jsonl")
        ctl.succeed("record -o torn.jsonl --count 10 --interval 20ms")
        ctl.shell("sed -i 4d torn.jsonl")
        ctl.succeed("record -o torn.jsonl --count 5 --interval 20ms --append")
        local list, skipped = assert(record.load(ctl.folder .. "/torn.jsonl"))
        assert.equal(3 + 5, #list)
        assert.equal(6, skipped)
    end)

    it("of slatectl is read by slatetop, and the other way round, number by number", function()
        ctl.shell("rm -f ctl.jsonl top.jsonl")
        ctl.succeed("record -o ctl.jsonl --count 6 --interval 100ms")
        local top = ctl.root .. "/build/bin/slatetop"
        assert.equal(0, (ctl.shell(top .. " -b -n 6 -d 0.1 --record top.jsonl " .. one.address .. " >/dev/null")))
        for _, name in ipairs({ "ctl.jsonl", "top.jsonl" }) do
            local list, skipped = assert(record.load(ctl.folder .. "/" .. name))
            assert.equal(0, skipped, name)
            local code, out, err = ctl.shell(("%s -j -n 6 --replay %s"):format(top, name))
            assert.equal(0, code, err)
            local i = 0
            for line in out:gmatch("[^\n]+") do
                i = i + 1
                local shown = assert(dkjson.decode(line))
                for _, part in ipairs({ "general", "totals" }) do
                    for key, value in pairs(list[i][part]) do
                        assert.equal(tostring(value), tostring(shown[part][key]), name .. " " .. key)
                    end
                end
                assert.equal(#list[i].classes, #shown.classes)
                assert.equal(list[i].classes[1].get_hits, shown.classes[1].get_hits)
            end
            assert.equal(6, i)
        end
    end)
end)
