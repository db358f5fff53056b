-- SPDX-License-Identifier: BSD-3-Clause
--- Shared by all charts over time: the axis, gaps of a recording, marks where automove changed, titles.
local automove = require "slate.facts.automove"
local snapshot = require "slate.facts.snapshot"

local M = {}

local MAX_MARKS <const> = 8
local GAP_FACTOR <const> = 5 -- a pause of this many usual intervals is drawn as a gap

local function unit_of(span_s)
    if span_s <= 180 then
        return 1, "seconds"
    elseif span_s <= 3 * 3600 then
        return 60, "minutes"
    elseif span_s <= 72 * 3600 then
        return 3600, "hours"
    end
    return 86400, "days"
end

local function usual_interval_s(list)
    local gaps = {}
    for i = 2, #list do
        gaps[#gaps + 1] = list[i].time_s - list[i - 1].time_s
    end
    table.sort(gaps)
    return gaps[(#gaps + 1) // 2] or 0
end

--- The axis of a list of snapshots: { label, min, max, start_s (the time of 0), unit_s }, the position of each
-- snapshot, and the gaps: gaps[i] is true if there is one before snapshot i.
function M.axis(list)
    local start_s = list[1].time_s
    local unit_s, unit = unit_of(list[#list].time_s - start_s)
    local at, gaps, gap_s = {}, {}, GAP_FACTOR * usual_interval_s(list)
    for i, one in ipairs(list) do
        at[i] = (one.time_s - start_s) / unit_s
        gaps[i] = i > 1 and one.time_s - list[i - 1].time_s > gap_s or nil
    end
    return {
        label = unit .. " since " .. os.date("!%Y-%m-%d %H:%M:%S UTC", start_s // 1), min = 0,
        max = math.max(at[#at], 1e-3), start_s = start_s, unit_s = unit_s,
    }, at, gaps
end

--- The first eight changes of automove's mode: a list of { x, label }.
function M.marks(list, at)
    local marks, last = {}, nil
    for i, one in ipairs(list) do
        local mode = one.settings and one.settings.slab_automove
        if mode ~= nil then
            if last ~= nil and mode ~= last and #marks < MAX_MARKS then
                marks[#marks + 1] = { x = at[i], label = "automove " .. automove.name_of(mode) }
            end
            last = mode
        end
    end
    return marks
end

--- A title "WHAT, SERVER, VERSION" for the last snapshot.
function M.title(what, list)
    local last = list[#list]
    return ("%s, %s, %s %s"):format(what, last.server or "unknown server", last.slated and "slated" or "memcached",
        last.slated or last.version or "of unknown version")
end

--- The name of a class on a chart.
function M.class_name(id, chunk_bytes)
    return ("class %d (%s B)"):format(id, chunk_bytes and ("%d"):format(chunk_bytes) or "?")
end

M.growth = snapshot.growth

--- The growth of stores refused for want of memory; nil if it is unknown or began again at 0.
function M.refused(before, after)
    local a, b = snapshot.refused_stores(before), snapshot.refused_stores(after)
    return a and b and b >= a and b - a or nil
end

return M
