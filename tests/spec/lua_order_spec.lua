-- SPDX-License-Identifier: BSD-3-Clause
package.path = "lua/?.lua;" .. package.path
local order = require "slate.base.order"

local function ids(list)
    local names = {}
    for i, one in ipairs(list) do
        names[i] = one.id
    end
    return names
end

describe("a list in order", function()
    it("has the largest first, of equals the one with the least name, and last what has no number", function()
        local list = { { id = 3, n = 5 }, { id = 7 }, { id = 1, n = 5 }, { id = 2, n = 9 }, { id = 5 },
            { id = 4, n = -1 } }
        assert.same({ 2, 1, 3, 4, 5, 7 }, ids(order.largest_first(list, "n", "id")))
        assert.same({ 2, 1, 3, 4, 5, 7 }, ids(list))
        local function negative(one) return one.n and -one.n end
        assert.same({ 4, 1, 3, 2, 5, 7 }, ids(order.largest_first(list, negative, "id")))
    end)

    it("may be of plain values", function()
        assert.same({ 3, 2, 1 }, order.largest_first({ 1, 3, 2 }, function(one) return one end,
            function(one) return one end))
    end)

    it("gives its first as a list of its own", function()
        local list = { 1, 2, 3 }
        assert.same({ 1, 2 }, order.first(list, 2))
        assert.same({ 1, 2, 3 }, order.first(list, 9))
        assert.same({}, order.first(list, 0))
        local all = order.first(list)
        all[1] = 7
        assert.same({ 1, 2, 3 }, list)
    end)
end)
