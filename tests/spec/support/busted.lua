-- SPDX-License-Identifier: BSD-3-Clause
-- Runs busted in the interpreter that runs this: busted --lua=PROGRAM loads all of busted, then starts PROGRAM, which
-- does so again. And busted looks a global of a spec up through all the blocks around it, by a function of Lua: here
-- the globals of Lua itself are where a look finds them at once.
local environment = require "busted.environment"

package.loaded["busted.environment"] = function(context)
    local made = environment(context)
    local globals = made.wrap(function() return _ENV end)()
    for name, value in pairs(_G) do
        rawset(globals, name, name ~= "assert" and value or nil) -- busted's own assert is in the blocks
    end
    return made
end
require "busted.runner"({ standalone = false })
