-- SPDX-License-Identifier: BSD-3-Clause
--- Time for the library: one clock that never steps, and sleeps that Ctrl-C can end. No other module reads the system's
-- time or sleeps, so a program that replaces these functions controls the time of all.
local M = {}

local SLEEP_SLICE_S <const> = 0.1 -- the interpreter sees an interrupt only between two calls

local STEP_LEAST_S <const> = 0.05 -- the system reports its uptime in hundredths

-- How long the system has been up; nil if the system does not report it.
local function uptime_s()
    local file <close> = io.open("/proc/uptime")
    local up_s = file and file:read("n")
    return up_s
end

-- Makes a clock that never steps from a clock that may be set: it subtracts steps, which it finds by the system's
-- uptime. Without an uptime, it subtracts only steps back.
local function without_steps(gettime)
    local now_s, up_s = gettime(), uptime_s()
    local last_s, apart_s = now_s, up_s and now_s - up_s
    local step_s = 0
    return function()
        now_s, up_s = gettime(), uptime_s()
        local since_s = apart_s and up_s and now_s - up_s - apart_s or 0
        if math.abs(since_s - step_s) > STEP_LEAST_S then
            step_s = since_s
        end
        last_s = math.max(last_s, now_s - step_s)
        return last_s
    end
end

-- lua-system reads the monotonic clock; luasocket only the time of day.
local has_system, system = pcall(require, "system")
local wall_s, steady_s, nap
if has_system then
    wall_s, steady_s, nap = system.gettime, system.monotime, system.sleep
else
    local socket = require "socket.core"
    wall_s, steady_s, nap = socket.gettime, without_steps(socket.gettime), socket.sleep
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

--- Sleeps. Ctrl-C ends it within a tenth of a second; in a task of slate.wire.together, other tasks run meanwhile.
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
