-- SPDX-License-Identifier: BSD-3-Clause
--- Figures as the screen shows them: at most six characters, never a false zero. An unknown value (nil) is "-"; the
-- rate of a counter that went back (slate.console.model.RESET) is "reset". slate.base.units makes the texts, as in
-- slatectl.
local units = require "slate.base.units"

local M = {}

local RESET <const> = -1

-- A function of units for the screen.
local function shown_by(form)
    return function(value)
        return value and value <= RESET and "reset" or form(value)
    end
end

--- A count or a rate: 7, 0.4, 9120, 44213, 1630K.
M.count = shown_by(units.rate)
--- Bytes in powers of 1024: 96, 1.2Ki, 97.2Ki, 803Mi.
M.bytes = shown_by(units.bytes)
--- A share from 0 to 1 in per cent, without the sign: 91.8.
M.percent = shown_by(units.share)

--- Seconds: 59s, 10m12, 2h00, 41d02.
function M.age(seconds)
    return units.age(seconds and seconds >= 0 and seconds or nil)
end

--- A change: +2, -3, "·" when nothing changed.
function M.delta(change)
    if not change then
        return "-"
    elseif change == 0 then
        return "·"
    end
    return (change < 0 and "-" or "+") .. M.count(math.abs(change))
end

--- A whole number with all its digits, if they fit.
function M.exact(value)
    return value and value >= 0 and value <= 99999999 and ("%d"):format(value // 1) or M.count(value)
end

--- The size of a chunk in bytes, the same on every screen, in six characters: 1184, 11104, 1Mi.
function M.chunk(bytes)
    return bytes and bytes >= 1e6 and M.bytes(bytes) or M.exact(bytes)
end

--- The time of day: 13:58:40.
function M.clock(wall_s)
    return os.date("%H:%M:%S", wall_s // 1)
end

local BY_UNIT <const> = { per_s = M.count, bytes_per_s = M.bytes, ratio = M.percent, ms = M.count, count = M.count }

--- A metric of slate.console.model in its unit. metric: its row.
function M.metric(metric, value)
    return BY_UNIT[metric.unit](value)
end

return M
