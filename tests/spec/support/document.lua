-- SPDX-License-Identifier: BSD-3-Clause
-- A command's JSON output: one document on one line, read by another parser, with a schema of the manual.
local assert = require "luassert"
local command = require "support.command"
local dkjson = require "dkjson"

local SCHEMAS <const> = command.read_file("man/slate-json.7")

--- Claims all this for a text; returns the document.
return function(text)
    assert.equal(1, select(2, text:gsub("\n", "")), text)
    local value, _, problem = dkjson.decode(text)
    assert.is_table(value, problem)
    assert.truthy(SCHEMAS:find(".It Li " .. value.schema .. "\n", 1, true), value.schema)
    return value
end
