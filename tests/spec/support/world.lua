-- SPDX-License-Identifier: BSD-3-Clause
--- A spec that requires this runs in the world (tests/world): its servers are in its own process, and the world's time
--- passes when all threads wait, so a claim about an hour takes a moment. The same spec holds for servers in processes
--- of their own, in real time:
---
---     busted --lua=/usr/bin/lua5.4 tests/spec/slated_flush_spec.lua
---
---     local world = require "support.world"
---     world.pass(3600)               -- an hour passes
local socket = require "socket"

local M = {}

local is_there, slate_world = pcall(require, "slate_world")

--- Whether servers are in this process.
M.is_there = is_there

--- The seed of this run, which the world prints.
M.seed = math.tointeger(tonumber(os.getenv("SEED"))) or 1

local SIGTERM <const> = 15

local Process = {}
Process.__index = Process

--- Lets time pass, in seconds.
function M.pass(seconds) socket.sleep(seconds) end

--- Whether the world has this program as a loadable object of the same build.
function M.has(program) return program:find("/bin/slated$") ~= nil end

--- Starts a server in this process: this program with these words. Its output goes to the file `log`. Returns {
-- ask_to_end(), hold(yes), status() }; status is nil while the server runs.
function M.start(program, words, log)
    local object = program:gsub("/bin/slated$", "/world/slated.so")
    return setmetatable({ server = slate_world.start(table.move(words, 1, #words, 2, { object }), log) }, Process)
end

--- Time follows real time, for processes outside of the world, until as many calls have said no as yes.
M.goes_with_real_time = is_there and slate_world.real or nil

function Process:ask_to_end() self.server:signal(SIGTERM) end
function Process:hold(is_held) self.server:hold(is_held) end
function Process:status() return self.server:status() end

return M
