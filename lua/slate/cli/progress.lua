-- SPDX-License-Identifier: BSD-3-Clause
--- A line on standard error every few seconds, from a command that takes long.
local clock = require "slate.base.clock"

local M = {}

local EVERY_S <const> = 5

--- Makes a function to call often; every five seconds it prints the line that `words()` returns.
function M.new(context, words)
    local due_s = clock.steady_s() + EVERY_S
    return function()
        if clock.steady_s() >= due_s then
            context:print_note(words())
            due_s = clock.steady_s() + EVERY_S
        end
    end
end

--- Adds the option --pace to a command: the share of the time in which the command works.
function M.declare_pace(command)
    command:option("--pace", ("Work this share of the time, from 1%% to 100%%, and pause in between. "
        .. "Default: %d%%"):format(require("slate.act.pace").SHARE * 100)):argname("SHARE"):convert(function(text)
        local percent = tonumber((text:gsub("%%$", "")))
        if not percent or percent < 1 or percent > 100 then
            return nil, "--pace wants a share from 1% to 100%"
        end
        return percent / 100
    end)
end

return M
