-- SPDX-License-Identifier: BSD-3-Clause
-- Runs busted in this interpreter: busted --lua=PROGRAM would load all of busted twice, here and in PROGRAM. And busted
-- searches a spec's globals through all enclosing blocks: here Lua's own globals are found at once.
local environment = require "busted.environment"

package.loaded["busted.environment"] = function(context)
    local made = environment(context)
    local globals = made.wrap(function() return _ENV end)()
    for name, value in pairs(_G) do
        rawset(globals, name, name ~= "assert" and value or nil) -- busted's own assert is in the blocks
    end
    return made
end

-- With --repeat=COUNT a suite in the world runs with other orders each time: those of the next seed. SEED_S: no further
-- run once the process has used so many seconds of processor time.
local is_world, slate_world = pcall(require, "slate_world")
local execute, limit_s = require "busted.execute", tonumber(os.getenv("SEED_S")) or math.huge
local first = math.tointeger(tonumber(os.getenv("SEED"))) or 1

package.loaded["busted.execute"] = function(busted)
    busted.subscribe({ "suite", "start" }, function(_, count, runs)
        if is_world and runs > 1 then
            local seed = first + count - 1
            slate_world.seed(seed, seed % 8)
            print("# SEED=" .. seed)
        end
        return nil, true
    end)
    busted.subscribe({ "suite", "end" }, function()
        busted.skipAll = busted.skipAll or os.clock() >= limit_s
        return nil, true
    end)
    return execute(busted)
end
require "busted.runner"({ standalone = false })
