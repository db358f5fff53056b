-- SPDX-License-Identifier: BSD-3-Clause
local json = require "slate.base.json"
local dkjson = require "dkjson"

describe("json", function()
    it("writes the same keys in the same order every time, the named ones first", function()
        local text = json.encode({ b = 1, a = 2, schema = "s", z = { b = 1, id = 7 } }, { "schema", "id" })
        assert.equal('{"schema":"s","a":2,"b":1,"z":{"id":7,"b":1}}', text)
    end)

    it("keeps integers exact and floats to the last bit", function()
        assert.equal("9223372036854775807", json.encode(math.maxinteger))
        assert.equal("3", json.encode(3.0))
        assert.equal(0.1, json.decode("[" .. json.encode(0.1) .. "]")[1])
        local third = 1 / 3
        assert.equal(third, json.decode("[" .. json.encode(third) .. "]")[1])
    end)

    it("writes null for numbers that JSON lacks", function()
        assert.equal("[null,null,null]", json.encode({ 0 / 0, math.huge, -math.huge }))
        assert.equal('{"a":null}', json.encode({ a = json.null }))
    end)

    it("writes an empty array only when requested", function()
        assert.equal("[]", json.encode(json.array()))
        assert.equal("{}", json.encode({}))
    end)

    it("writes valid JSON for any bytes", function()
        for byte = 0, 255 do
            local text = json.encode({ ["k" .. string.char(byte)] = "a" .. string.char(byte) .. "z" })
            local value, _, problem = dkjson.decode(text)
            assert.is_table(value, problem)
            assert.truthy(utf8.len(text))
        end
        assert.equal('"\\u0000\\n\\"\\\\"', json.encode('\0\n"\\'))
        assert.equal('"é€"', json.encode("é€"))
        assert.equal('"a\u{FFFD}\u{FFFD}b"', json.encode("a\xff\xfeb"))
    end)

    it("refuses values that JSON cannot hold", function()
        assert.has_error(function() json.encode({ f = print }) end)
        assert.has_error(function() json.encode({ [3] = "hole", a = 1 }) end)
    end)

    it("reads integers as integers and null as nothing", function()
        local value = json.decode('{"n":3,"f":2.5,"none":null,"list":[1,2]}')
        assert.equal("integer", math.type(value.n))
        assert.equal(2.5, value.f)
        assert.is_nil(value.none)
        assert.equal("integer", math.type(value.list[2]))
    end)
end)
