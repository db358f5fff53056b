-- SPDX-License-Identifier: BSD-3-Clause
-- Twins of a server (tests/bench/laboratory.lua), by which benches measure the effect of one change.

local SCRIPT <const> = [[
package.path = "tests/bench/?.lua;" .. package.path
local lab = require("laboratory").new("shift", 1)
local function hits_of_3_s(order)
    if order then
        assert(lab.client:command(order) == "OK")
    end
    local was = lab:counts()
    lab:pass(3)
    return lab:counts().hits - was.hits
end
local old, needy
for _, class in ipairs(lab:take().classes) do
    old = (not old or class.total_pages > old.total_pages) and class or old
    needy = (not needy or class.evicted > needy.evicted) and class or needy
end
local order = ("slabs reassign %d %d 8"):format(old.id, needy.id)
for _, words in ipairs({ false, order, false }) do
    print(lab:twin(function() return hits_of_3_s(words) end))
end
print(hits_of_3_s())
]]

describe("twins of tests/bench/laboratory.lua", function()
    it("have equal hits without a change, and one has more once it gets pages that it needs", function()
        local path = os.tmpname()
        local file = assert(io.open(path, "w"))
        file:write(SCRIPT)
        file:close()
        local pipe = assert(io.popen("build/bench/twins " .. path .. " 2>&1"))
        local text = pipe:read("a")
        pipe:close()
        os.remove(path)
        local one, moved, other, itself = text:match("^(%d+)%.?0?\n(%d+)%.?0?\n(%d+)%.?0?\n(%d+)\n$")
        assert.is_truthy(one, text)
        assert.same({ one, one }, { other, itself }, text)
        assert.is_true(tonumber(moved) > 1.01 * tonumber(one), text)
    end)
end)
