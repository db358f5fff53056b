-- SPDX-License-Identifier: BSD-3-Clause

-- A fresh copy of the module, with or without lua-system.
local function load_clock(with_system)
    package.loaded["slate.base.clock"] = nil
    local system = package.loaded.system
    package.loaded.system = nil
    if not with_system then
        package.preload.system = function() error("not installed") end
    end
    local clock = require "slate.base.clock"
    package.preload.system = nil
    package.loaded.system = system
    return clock
end

describe("clock without lua-system", function()
    it("goes on evenly when somebody sets the system's time, forth or back", function()
        local socket, set_s = require "socket.core", 0
        local gettime = socket.gettime
        socket.gettime = function() return gettime() + set_s end
        finally(function() socket.gettime = gettime end)
        local clock = load_clock(false)
        for _, step_s in ipairs({ 3600, -7200, 86400 }) do
            local real_s = gettime() -- before the others: two readings may be far apart
            local began_s, time_s = clock.steady_s(), clock.time_s()
            set_s = set_s + step_s
            clock.sleep(0.02)
            local passed_s, time_passed_s = clock.steady_s() - began_s, clock.time_s() - time_s
            local most_s = gettime() - real_s + 0.1
            assert.is_true(passed_s > 0 and passed_s < most_s, ("%f s after a step of %d s"):format(passed_s, step_s))
            assert.is_true(time_passed_s > 0 and time_passed_s < most_s)
        end
    end)
end)

for _, with_system in ipairs({ true, false }) do
    describe(("clock %s lua-system"):format(with_system and "with" or "without"), function()
        local clock

        setup(function() clock = load_clock(with_system) end)

        it("never steps back, and sleeps at least the given time", function()
            local start_s = clock.steady_s()
            clock.sleep(0.02)
            assert.is_true(clock.steady_s() - start_s >= 0.02)
            clock.sleep(0)
            clock.sleep(-1)
        end)

        it("has the time of day, advancing with the steady clock", function()
            local from_s, now_s = os.time(), clock.time_s()
            assert.is_true(now_s > from_s - 1 and now_s < os.time() + 2)
            -- The steady clock before and after each reading of the time of day: they may be far apart.
            local before_s, time_s, after_s = clock.steady_s(), clock.time_s(), clock.steady_s()
            clock.sleep(0.02)
            local later_before_s, passed_s, later_after_s = clock.steady_s(), clock.time_s() - time_s, clock.steady_s()
            assert.is_true(passed_s > later_before_s - after_s - 0.01)
            assert.is_true(passed_s < later_after_s - before_s + 0.01)
        end)
    end)
end
