-- SPDX-License-Identifier: BSD-3-Clause
-- A policy inside slated sees the same snapshot as slatectl outside; lua_policy_spec claims the same decisions.
local command = require "support.command"
local fill = require "support.fill"
local patience = require "support.patience"
local record = require "slate.facts.record"
local server = require "support.server"

require "support.world"

describe("a policy inside slated", function()
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
        for _ in io.lines(shown) do count = count + 1 end
        return count
    end

    it("sees the same snapshot as slatectl outside", function()
        local before = lines_shown()
        assert.equal("OK", client:command("slabs automove lua:ratio"))
        patience.wait_for("a snapshot", function() return lines_shown() > before end)
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
