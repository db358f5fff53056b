-- SPDX-License-Identifier: BSD-3-Clause
-- A policy decides the same inside slated, over a recording of that run, and outside, because it is shown the same.
local command = require "support.command"
local dkjson = require "dkjson"
local fill = require "support.fill"
local moves = require "slate.facts.moves"
local pipeline = require "support.pipeline"
local record = require "slate.facts.record"
local server = require "support.server"

require "support.world"

local POLICY <const>, SETTING <const> = "burst", "window_s=1"

local function eventually(condition)
    for _ = 1, 12000 do -- each window takes a second; this waits far longer
        local result = condition()
        if result then
            return result
        end
        require("slate.base.clock").sleep(0.01)
    end
    return condition()
end

describe("a policy inside slated under load", function()
    local one, client, ctl, shown

    setup(function()
        ctl = command.new()
        shown = ctl.folder .. "/shown.jsonl"
        one = server.start({ args = { "-m", "24", "-o", "slab_automove=0", "--automove-record=" .. shown } })
        ctl.server = one.address
        client = one:connect()
        fill.fill(client, 5)
    end)
    teardown(function()
        client:close()
        one:stop()
        ctl.remove()
    end)

    local function lines_shown()
        local count = 0
        for _ in io.lines(shown) do
            count = count + 1
        end
        return count
    end

    it("decides as slatectl does over what it was shown", function()
        local value, stored = ("x"):rep(fill.value_bytes(client, 20)), 0
        assert.equal("OK", client:command(("slabs automove lua:%s %s"):format(POLICY, SETTING)))
        assert.truthy(eventually(function()
            local batch = pipeline(client)
            batch.timeout_s = 60
            for _ = 1, 200 do
                stored = stored + 1
                batch:set("load-" .. stored, value)
            end
            assert.same({}, (select(2, batch:run())))
            return #select(2, moves.read(client)) >= 4
        end))
        assert.equal("OK", client:command("slabs automove off"))
        local totals, made_all
        eventually(function()
            totals, made_all = moves.read(client)
            return totals.mode == "off" and totals.why == "automove is off"
        end)
        local inside = {}
        for _, made in ipairs(made_all) do
            if made.mode == "lua:" .. POLICY .. " " .. SETTING then -- a set that finds nothing takes a page by itself
                inside[#inside + 1] = ("%d>%d %d %s"):format(made.from, made.to, made.wanted, made.reason)
            end
        end
        local code, out, err = ctl.run(("policy run %s %s --recording shown.jsonl --jsonl"):format(POLICY, SETTING))
        assert.equal(0, code, err)
        local replayed = {}
        for line in out:gmatch("[^\n]+") do
            local asked = assert(dkjson.decode(line))
            if asked.to then
                replayed[#replayed + 1] = ("%d>%d %d %s"):format(asked.from, asked.to, asked.pages, asked.reason)
            end
        end
        assert.is_true(#inside >= 3)
        assert.same(inside, replayed)
    end)

    it("is shown what slatectl sees from outside", function()
        local before = lines_shown()
        assert.equal("OK", client:command("slabs automove lua:ratio"))
        assert.truthy(eventually(function() return lines_shown() > before end))
        assert.equal(0, (ctl.run("record --count 1 -o seen.jsonl")))
        assert.equal("OK", client:command("slabs automove off"))
        local inside, outside = assert(record.load(shown)), assert(record.load(ctl.folder .. "/seen.jsonl"))
        inside, outside = inside[#inside], outside[1]
        assert.equal(outside.pages_limit, inside.pages_limit)
        assert.equal(outside.pages_free, inside.pages_free)
        assert.near(outside.time_s, inside.time_s, 5)
        assert.equal(#outside.classes, #inside.classes)
        for i, class in ipairs(inside.classes) do
            for name, figure in pairs(class) do
                local seen = outside.classes[i][name]
                if name == "age" then -- a second may have passed
                    assert.near(seen, figure, 5)
                else
                    assert.equal(seen, figure, ("class %d, %s"):format(class.id, name))
                end
            end
        end
    end)

    it("cannot be recorded where nothing can be written, and slated says so", function()
        local code, _, err = ctl.shell(("%s -u root -p 0 -m 16 --automove-record=no/where.jsonl"):format(
            server.quoted(ctl.root .. "/" .. assert(server.slated()))))
        assert.equal(71, code)
        assert.truthy(err:find("--automove-record no/where.jsonl: No such file", 1, true), err)
    end)
end)
