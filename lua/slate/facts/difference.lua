-- SPDX-License-Identifier: BSD-3-Clause
--- What differs between two snapshots of a server. Pure.
local snapshot = require "slate.facts.snapshot"
local stats = require "slate.facts.stats"

local M = {}

-- Values of a class that are compared, besides its counters.
local CLASS_STATES <const> = { chunk_size = true, total_pages = true, number = true, age = true, mem_requested = true }
-- Values that differ between any two moments and say nothing.
local IDLE <const> = { time = true, uptime = true, pid = true }

local function changes(before, after, wanted)
    local names, list = {}, {}
    for name in pairs(before) do
        names[name] = true
    end
    for name in pairs(after) do
        names[name] = true
    end
    for name in pairs(names) do
        if before[name] ~= after[name] and (not wanted or wanted(name)) then
            list[#list + 1] = { name = name, was = before[name], is = after[name] }
        end
    end
    table.sort(list, function(a, b) return a.name < b.name end)
    return list
end

-- The increase of a counter, and its rate. A counter that went back has neither.
local function add_rates(list, interval_s)
    for _, change in ipairs(list) do
        if math.type(change.was) and math.type(change.is) then
            change.change = change.is - change.was
            if stats.COUNTERS[change.name] and change.change > 0 and interval_s > 0 then
                change.per_s = change.change / interval_s
            end
        end
    end
    return list
end

--- Compares two snapshots, the earlier first. Returns { interval_s, reset, settings = list of { name, was, is },
-- general = list of { name, was, is, change, per_s }, classes = list of { id, changes = as general } }. was or is
-- are absent where one side does not know the name; settings are compared when both have them. An id whose chunks have
-- another size since is of two classes: the one that went, without `is`, and then the one that came, without `was`.
function M.between(before, after)
    local interval_s = after.time_s - before.time_s
    local result = {
        interval_s = interval_s, reset = snapshot.is_reset(before, after),
        settings = before.settings and after.settings and changes(before.settings, after.settings) or {},
        general = add_rates(changes(before.general, after.general, function(name)
            return not IDLE[name]
        end), interval_s),
        classes = {},
    }
    local function add_class(id, was, is)
        local list = changes(was or {}, is or {}, function(name)
            return CLASS_STATES[name] or stats.COUNTERS[name]
        end)
        if #list > 0 then
            result.classes[#result.classes + 1] = { id = id, changes = add_rates(list, interval_s) }
        end
    end
    local earlier, later = snapshot.by_id(before), snapshot.by_id(after)
    local same = snapshot.earlier_by_id(before, after)
    for id = 1, 255 do
        if earlier[id] and not same[id] then
            add_class(id, earlier[id], nil)
        end
        add_class(id, same[id], later[id])
    end
    return result
end

return M
