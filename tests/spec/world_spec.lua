-- SPDX-License-Identifier: BSD-3-Clause
-- The world (tests/world): what happens in it is decided by the seed alone.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local server = require "support.server"

local COMMANDS <const> = 3000

-- What a script of random commands prints, and its status.
local function played(environment, seed)
    local text = server.capture(("%s build/world/lua tests/world/script.lua %d %d; echo status $?"):format(environment,
        seed, COMMANDS))
    assert.truthy(text:find("\nstatus 0$"), text:sub(-2000))
    return text
end

describe("the world", function()
    for _, switches in ipairs({ 0, 5 }) do
        it(("is the same, to the byte, where the seed is (SLATE_WORLD_SWITCHES=%d)"):format(switches), function()
            local environment = "SLATE_WORLD_SWITCHES=" .. switches .. " SEED="
            local first = played(environment .. "1", 1)
            assert.truthy(#first > 10 * COMMANDS)
            assert.equal(first, played(environment .. "1", 1))
            assert.are_not.equal(first:gsub("^.-\n", ""), (played(environment .. "2", 1):gsub("^.-\n", "")))
        end)
    end
end)
