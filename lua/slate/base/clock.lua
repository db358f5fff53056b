-- SPDX-License-Identifier: BSD-3-Clause
--- Time for the library: one clock that never steps, and sleeps that Ctrl-C can end.
local M = {}

local SLEEP_SLICE_S <const> = 0.1 -- the interpreter sees an interrupt only between two calls

-- lua-system reads the monotonic clock. Without it luasocket's wall clock has to do: a step of the
-- system's time is then seen as a long or a short interval.
local has_system, system = pcall(require, "system")
local wall_s, steady_s, nap
if has_system then
    wall_s, steady_s, nap = system.gettime, system.monotime, system.sleep
else
    local socket = require "socket.core"
    wall_s, steady_s, nap = socket.gettime, socket.gettime, socket.sleep
end

local wall_at_start_s <const> = wall_s()
local steady_at_start_s <const> = steady_s()

--- Seconds since an arbitrary moment; never steps backwards.
M.steady_s = steady_s

--- Seconds since 1970, advancing with the steady clock, so that differences taken within one
-- process are true intervals even when somebody sets the system's time.
function M.time_s()
    return wall_at_start_s + (steady_s() - steady_at_start_s)
end

--- Sleeps. Ctrl-C is answered within a tenth of a second; as a task of slate.wire.together others go on meanwhile.
function M.sleep(seconds)
    local together = package.loaded["slate.wire.together"]
    if together and together.is_task() then
        together.select(nil, nil, seconds)
        return
    end
    local until_s = steady_s() + seconds
    local left_s = seconds
    while left_s > 0 do
        nap(math.min(left_s, SLEEP_SLICE_S))
        left_s = until_s - steady_s()
    end
end

return M
