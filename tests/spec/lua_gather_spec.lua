-- SPDX-License-Identifier: BSD-3-Clause
-- What is found and gathered in lists.
local find = require "slate.base.find"
local gather = require "slate.base.gather"

describe("a list", function()
    local rows = { { id = 4, pages = 3 }, { id = 12, pages = 2 }, { id = 4, pages = 1 } }

    it("has the first place of a value, and of a table by a field, or none", function()
        assert.same({ 2, 12 }, { find.by(rows, "id", 12), select(2, find.by(rows, "id", 12)).id })
        assert.same({ 1, rows[1] }, { find.by(rows, "id", 4) })
        assert.is_nil(find.by(rows, "id", 5))
        assert.same({ 2, nil }, { find.place({ "a", "b", "b" }, "b"), find.place({}, "b") })
    end)

    it("has sums, counts, values and maps of its entries", function()
        assert.equal(6, gather.sum(rows, "pages"))
        assert.equal(12, gather.sum(rows, function(row) return 2 * row.pages end))
        assert.equal(2, gather.count(rows, function(row) return row.pages > 1 end))
        assert.same({ 4, 12, 4 }, gather.values(rows, "id"))
        assert.same({ 4, 24 }, gather.values(rows, function(row, i) return row.pages > 1 and i * row.id or nil end))
        assert.is_true(gather.any(rows, function(row) return row.id == 12 end))
        assert.is_false(gather.any(rows, function(row) return row.id == 13 end))
        assert.same({ "id", "pages" }, gather.keys(rows[1]))
        assert.equal(rows[3], gather.map(rows, "id")[4])
        assert.same({ 0, {}, {} }, { gather.sum({}, "pages"), gather.values({}, "id"), gather.map({}, "id") })
    end)

    it("is copied, also into another table", function()
        local own = { id = 1, name = "own" }
        assert.equal(own, gather.copy(rows[2], own))
        assert.same({ id = 12, pages = 2, name = "own" }, own)
        assert.same(rows[2], gather.copy(rows[2]))
    end)

    it("is made of the words of a text, or of other parts", function()
        assert.same({ "a", "b=c" }, gather.words("  a b=c "))
        assert.same({ "no", "yes" }, gather.words("no|yes", "[^|]+"))
    end)
end)
