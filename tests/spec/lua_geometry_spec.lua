-- SPDX-License-Identifier: BSD-3-Clause
local client = require "slate.wire.client"
local geometry = require "slate.facts.geometry"
local script_transport = require "support.script_transport"

local BUSY <const> = "BUSY currently processing another geometry request\r\n"

local function scripted(script) return client.new(script_transport.new(script)) end

describe("an order for other chunk sizes", function()
    it("is sent again while the server predicts for somebody else", function()
        local one = scripted({ { "slabs geometry auto dry\r\n", BUSY }, { "slabs geometry auto dry\r\n", BUSY },
            { "slabs geometry auto dry\r\n", "PREDICTED 6 classes would do\r\n" } })
        assert.equal("6 classes would do", geometry.order(one, "slabs geometry auto dry"))
    end)
end)

-- slated's report on a change of the chunk sizes; without the line of the given name, if any.
local function told(without)
    local lines = {}
    for line in ([[
state steady
why no change was asked for
generation 0
classes 2
classes_retired 0
ranges 0
ranges_done 0
pages_drained 0
items_copied 0
chunks_copied 0
items_dropped 0
waste_before 0.00
waste_predicted 0.00
waste_now 0.00
auto yes
seconds 0.0
1:chunk_size 96
1:class_state active
1:total_pages 3
2:chunk_size 120
2:class_state active
2:total_pages 0
]]):gmatch("[^\n]+") do
        lines[#lines + 1] = line:match("^%S+") ~= without and "STAT " .. line .. "\r\n" or nil
    end
    return table.concat(lines) .. "END\r\n"
end

describe("a server's report on its chunk sizes", function()
    local chunks = require "slate.facts.chunks"

    local function asked(text) return scripted({ { "stats geometry\r\n", text } }) end

    it("is accepted when complete", function()
        local change, classes = geometry.read(asked(told()))
        assert.equal("steady", change.state)
        assert.same({ 96, 120 }, { classes[1].chunk_size, classes[2].chunk_size })
        local list, known_by = chunks.classes(asked(told()), { slated = "1", classes = {} })
        assert.same({ { id = 1, chunk_bytes = 96 }, { id = 2, chunk_bytes = 120 } }, list)
        assert.equal("all", known_by)
    end)

    it("is refused otherwise, with the name of the missing line", function()
        for _, name in ipairs({ "state", "generation", "seconds", "waste_now", "2:class_state", "1:total_pages" }) do
            local change, message, code = geometry.read(asked(told(name)))
            assert.is_nil(change)
            assert.equal("the server's chunk sizes cannot be read: " .. name:match("[%l_]+$")
                .. " is missing, or no number", message)
            assert.equal("protocol", code)
        end
        local damaged = told():gsub("waste_now 0.00", "waste_now yes")
        assert.truthy(select(2, geometry.read(asked(damaged))):find("waste_now", 1, true))
    end)

    it("lacks classes with unknown chunks", function()
        local text = told():gsub("2:chunk_size 120", "2:chunk_size abc")
        local _, classes = geometry.read(asked(text))
        assert.equal(1, #classes)
    end)
end)
