-- SPDX-License-Identifier: BSD-3-Clause
--- The counters of a server at moments of the last ten seconds, so that every prediction rests on the same period, on
-- every screen. A moment has lists of the counters that predictions read: some 5 KB for 40 classes. Pure.
local gather = require "slate.base.gather"
local limits = require "slate.judge.thresholds"

local M = {}

local STEP_S <const> = 1
local EARLY_S <const> = 0.1 -- a sample this much early still ends a step: samples are never exactly on time
local OF_SERVER <const> = { "cmd_get", "get_misses" }
local OF_CLASS <const> = { "id", "chunk_size", "cmd_set", "get_hits", "evicted", "used_chunks" }

local Recent = {}
Recent.__index = Recent
Recent.__name = "slate.judge.recent"

--- A history without moments.
function M.new()
    return setmetatable({}, Recent)
end

local function packed(fields, names)
    return gather.values(names, function(name) return fields[name] or false end)
end

local function unpacked(list, names)
    local fields = {}
    for i, name in ipairs(names) do
        fields[name] = list[i] or nil
    end
    return fields
end

--- Takes a snapshot. After a restart or a reset of the counters the history is invalid: make a new one.
function Recent:add(now)
    local last = self[#self]
    if last and now.time_s - last.time_s < STEP_S - EARLY_S then
        return
    end
    local moment = { time_s = now.time_s, of_server = packed(now.general, OF_SERVER), of_classes = {} }
    for i, class in ipairs(now.classes) do
        moment.of_classes[i] = packed(class, OF_CLASS)
    end
    self[#self + 1] = moment
    while self[2] and now.time_s - self[2].time_s >= limits.lately_s - EARLY_S do
        table.remove(self, 1)
    end
end

--- The counters at the begin of the last ten seconds, or of the first snapshot, as a snapshot with these counters only
-- and with today's classes; nil before the first snapshot. A class that is newer, or had other chunks, has its first
-- counters: its work is known from then on.
function Recent:begin()
    local last, classes, sizes = self[#self], {}, {}
    if not last then
        return nil
    end
    for _, class in ipairs(last.of_classes) do
        sizes[class[1]] = class[2]
    end
    for _, moment in ipairs(self) do
        for _, class in ipairs(next(sizes) and moment.of_classes or {}) do
            if sizes[class[1]] == class[2] then
                classes[#classes + 1], sizes[class[1]] = unpacked(class, OF_CLASS), nil
            end
        end
    end
    return { time_s = self[1].time_s, general = unpacked(self[1].of_server, OF_SERVER), classes = classes }
end

return M
