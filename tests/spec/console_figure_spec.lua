-- SPDX-License-Identifier: BSD-3-Clause
-- Figures on slatetop's screen. The words of units are tested in lua_units_spec.
local figure = require "slate.console.figure"

local NAN <const> = "unknown" -- stands for nil in the tables below

local CASES <const> = {
    count = { [44213] = "44213", [1630000] = "1630K", [99999.6] = "100K", [-1] = "reset", [NAN] = "-" },
    bytes = { [99500] = "97.2Ki", [1023.9 * 1024 * 1024] = "1Gi", [1e24] = ">999Ei", [NAN] = "-" },
    percent = { [0.9999] = "99.9", [-1] = "reset", [NAN] = "-" },
    age = { [622] = "10m22", [1e300] = ">30y", [-1] = "-", [NAN] = "-" },
    delta = { [2] = "+2", [-3] = "-3", [0] = "·", [-12345678] = "-12.3M", [NAN] = "-" },
    exact = { [524288] = "524288", [99999999] = "99999999", [100000000] = "100M", [NAN] = "-" },
}

describe("a figure", function()
    it("has the words of units, a dash for what is unknown, and its sign as a change", function()
        for form, cases in pairs(CASES) do
            for value, text in pairs(cases) do
                assert.equal(text, figure[form](value ~= NAN and value or nil), form .. " of " .. value)
            end
        end
    end)

    it("fits six columns, whatever its value", function()
        for _ = 1, 20000 do
            local value = math.random() * 2.0 ^ math.random(-27, 92)
            for _, form in ipairs({ "count", "bytes", "age" }) do
                local text = figure[form](value)
                assert.truthy(#text <= 6, ("%s of %g is %s"):format(form, value, text))
            end
        end
    end)
end)
