-- SPDX-License-Identifier: BSD-3-Clause
--- The two times that bound a report, as people write them. Pure. All times are UTC.
local units = require "slate.base.units"

local M = {}

local DAY_S <const> = 86400

-- Days since 1970 of a date of the Gregorian calendar.
local function days_of(year, month, day)
    if month <= 2 then
        year, month = year - 1, month + 12
    end
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 719469
end

local function clock_s(hours, minutes, seconds)
    hours, minutes, seconds = tonumber(hours), tonumber(minutes), tonumber(seconds ~= "" and seconds or "0")
    if hours < 24 and minutes < 60 and seconds < 60 then
        return hours * 3600 + minutes * 60 + seconds
    end
end

local function date_s(year, month, day)
    year, month, day = tonumber(year), tonumber(month), tonumber(day)
    local is_date = month >= 1 and month <= 12 and day >= 1
        and days_of(year, month, day) < days_of(year + month // 12, month % 12 + 1, 1)
    return is_date and days_of(year, month, day) * DAY_S or nil
end

--- Reads a time: "14:05" or "14:05:30" of the day on which the recording begins (of the next day if that time is before
-- the beginning), "2026-11-25 14:05", "2026-11-25T14:05:30Z", or a duration since the beginning, "+5m". Returns a
-- function from the first time of the recording, in seconds, to the time; or nil and a message.
function M.parse(text)
    local since = text:match("^%+(.+)$")
    if since then
        local after_s, problem = units.parse_duration(since)
        return after_s and function(first_s) return first_s + after_s end, problem
    end
    local year, month, day, hours, minutes, seconds = text:match(
        "^(%d%d%d%d)%-(%d%d)%-(%d%d)[ T](%d%d):(%d%d):?(%d*)Z?$")
    if year then
        local date, clock = date_s(year, month, day), clock_s(hours, minutes, seconds)
        if date and clock then
            return function() return date + clock end
        end
    else
        hours, minutes, seconds = text:match("^(%d%d?):(%d%d):?(%d*)$")
        local clock = hours and clock_s(hours, minutes, seconds)
        if clock then
            return function(first_s)
                local time_s = first_s // DAY_S * DAY_S + clock
                return time_s < first_s // 60 * 60 and time_s + DAY_S or time_s
            end
        end
    end
    return nil, ("'%s' is not a time: write 14:05, 2026-11-25 14:05:30 (UTC), or +5m from the beginning"):format(text)
end

return M
