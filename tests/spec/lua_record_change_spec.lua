-- SPDX-License-Identifier: BSD-3-Clause
-- Recordings of the changed values only: exact, short, and the same for slatectl and slatetop.
local change = require "slate.facts.record_change"
local command = require "support.command"
local dkjson = require "dkjson"
local record = require "slate.facts.record"
local record_line = require "slate.facts.record_line"
local snapshot = require "slate.facts.snapshot"

local function deep(value)
    if type(value) ~= "table" then
        return value
    end
    local new = {}
    for key, one in pairs(value) do new[key] = deep(one) end
    return new
end

local function made_up(number)
    local one = { schema = "slate/snapshot/1", time_s = 1000 + number, server = "s", version = "1.6.45", pages_free = 3,
        pages_limit = 64, general = { a = 1, libevent = "1", cpu = 0.5, umask = "t" }, totals = { x = 7 },
        classes = {} }
    for id = 1, 5 do one.classes[id] = { id = id, gets = 0, sets = 0, big = (1 << 53) - 10 } end
    return one
end

describe("the difference of two snapshots", function()
    it("leads from the first to the second, whatever the numbers", function()
        local seed = tonumber(os.getenv("SEED")) or os.time()
        print("# SEED=" .. seed)
        math.randomseed(seed)
        local one, steps = made_up(0), { 0, 1, -1, 31, 32, -33, 1 << 20, -(1 << 40), 1 << 44 }
        for round = 1, 300 do
            local next_one = deep(one)
            next_one.time_s = 1000 + round
            next_one.general.cpu = math.random(0, 1000000000) / 1000000
            next_one.pages_free = math.random(0, 64)
            for _, class in ipairs(next_one.classes) do
                local step = steps[math.random(#steps)]
                class.gets = math.max(0, class.gets + step)
                class.sets = class.sets + math.random(0, 50)
            end
            local text = assert(change.between(one, next_one), "round " .. round)
            local line = { schema = change.SCHEMA, time_s = next_one.time_s, d = text }
            assert.same(next_one, (assert(change.apply(one, line, change.places(one)))))
            one = next_one
        end
    end)

    it("is nothing when nothing but numbers may change and something else did", function()
        for _, alter in ipairs({
            function(one) one.general.libevent = "2" end, function(one) one.general.umask = "u" end,
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
            local one, problem = change.apply(made_up(0), { time_s = 1, d = text }, change.places(made_up(0)))
            assert.is_true(one ~= nil or problem == "its changes do not fit the snapshot before it", text)
        end
        local before, after = made_up(0), made_up(1)
        before.general.cmd_get, after.general.cmd_get = 5, -5
        local line = { time_s = 1, d = assert(change.between(before, after)) }
        assert.is_nil(change.apply(before, line, change.places(before)), "a negative count")
        assert.is_nil(change.apply(made_up(0), { time_s = 1 }, {}))
        assert.is_nil(change.apply(made_up(0), { d = "" }, {}))
    end)
end)

describe("the lines of a recording", function()
    it("are read the same in place and as tables of their own", function()
        local writer, own, in_place = record_line.chain(true), record_line.chain(), record_line.chain(nil, true)
        local seen = {}
        for i = 1, 20 do
            local one = made_up(i)
            one.general.a, one.general.cpu, one.general.libevent = i * 7, i / 8, i < 10 and "1" or "2"
            one.settings = i == 1 and { maxbytes = 5 } or nil
            for _, class in ipairs(one.classes) do
                class.big = 1 << 50 -- the largest number in JSON
            end
            local line = writer:encode(deep(one))
            assert.equal(i == 1 or i == 10, line:find("slate/snapshot/1", 1, true) ~= nil, line)
            seen[i] = assert(own:decode(line))
            assert.same(one, seen[i])
            assert.same(one, (assert(in_place:decode(line))))
        end
        assert.equal(7, seen[1].general.a)
        assert.equal(snapshot.encode(snapshot.build({}, { time_s = 1 })), record_line.chain():next({}, { time_s = 1 }))
        local chain, settings = record_line.chain(), { slab_automove = 1 }
        assert.matches('"settings":{"slab_automove":1}', chain:next({}, { time_s = 1, settings = settings }), 1, true)
        assert.not_matches("settings", chain:next({}, { time_s = 2, settings = settings })) -- they hold on
    end)

    it("that are damaged leave nothing to go on from in place", function()
        local one = record_line.chain(nil, true)
        assert(one:decode(record_line.chain():encode(made_up(1))))
        local line = '{"schema":"slate/change/1","time_s":%d,"of":1,"d":"%s"}'
        local _, problem = one:decode(line:format(2, "AA999999999"))
        assert.equal("its changes do not fit the snapshot before it", problem)
        assert.equal("the line before it is missing", select(2, one:decode(line:format(3, ""))))
    end)

    it("have settings when these are the first, or changed", function()
        local known
        for _, case in ipairs({ { "a", true }, { "a", false }, { nil, false }, { "a", false }, { "b", true } }) do
            local one = { settings = case[1] and { policy = case[1] } }
            known = record_line.drop_known(one, known)
            assert.equal(case[2], one.settings ~= nil)
        end
        assert.same({ policy = "b" }, known)
    end)
end)

describe("a recording of changes", function()
    local ctl = command.beside(setup, teardown, { args = { "-m", "32" } })

    setup(function()
        for i = 1, 2000 do assert(ctl.client:set("key" .. i, ("x"):rep(i))) end
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
        assert.equal(0, (ctl.shell(top .. " -b -n 6 -d 0.1 --record top.jsonl " .. ctl.one.address .. " >/dev/null")))
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
