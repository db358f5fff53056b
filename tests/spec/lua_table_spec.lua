-- SPDX-License-Identifier: BSD-3-Clause
local tables = require "slate.base.table"

describe("table", function()
    it("makes each column as wide as its widest cell, numbers to the right", function()
        local text = tables.render({ { title = "ID" }, { title = "NAME", left = true } },
            { { 7, "a" }, { 1234, "long one" } })
        assert.equal("  ID  NAME\n   7  a\n1234  long one\n", text)
    end)

    it("shows a missing cell as a dash", function()
        assert.equal("A  B\n-  1\n", tables.render({ { title = "A" }, { title = "B" } }, { { nil, 1 } }))
    end)

    it("lets no control character through to the terminal", function()
        assert.equal("A\nx?[2Jy?\n", tables.render({ { title = "A", left = true } }, { { "x\27[2Jy\n" } }))
        assert.equal("k?  v?\n", tables.pairs({ { "k\r", "v\27" } }))
    end)

    it("counts characters, not bytes", function()
        assert.equal(" é\nab\n", tables.render({ { title = "é" } }, { { "ab" } }))
    end)

    it("is empty when there are no pairs", function()
        assert.equal("", tables.pairs({}))
    end)
end)
