-- SPDX-License-Identifier: BSD-3-Clause
--- What a server had counted at moments of the last ten seconds, so that whatever is predicted rests on the same time,
--- wherever it is told. Pure.
--
-- Of each moment only what predictions read is kept, in two flat lists: for 40 classes some 4 KB.
local M = {}

--- Predictions rest on the last so many seconds, or on all that was seen where that is less.
M.SPAN_S = 10

local STEP_S <const> = 1
local EARLY_S <const> = 0.1 -- a sample that comes so much early still ends a step: nobody looks exactly on time
local OF_SERVER <const> = { "cmd_get", "get_misses" }
local OF_CLASS <const> = { "id", "chunk_size", "cmd_set", "get_hits", "evicted" }

local Recent = {}
Recent.__index = Recent
Recent.__name = "slate.judge.recent"

--- Nothing seen yet.
function M.new()
    return setmetatable({}, Recent)
end

--- Takes a snapshot in. After a restart or a reset of the counters forget the past: make a new one.
function Recent:add(now)
    local last = self[#self]
    if last and now.time_s - last.time_s < STEP_S - EARLY_S then
        return
    end
    local moment = { time_s = now.time_s, of_server = {}, of_classes = {} }
    for i, name in ipairs(OF_SERVER) do
        moment.of_server[i] = now.general[name] or false
    end
    for _, class in ipairs(now.classes) do
        for _, name in ipairs(OF_CLASS) do
            moment.of_classes[#moment.of_classes + 1] = class[name] or false
        end
    end
    self[#self + 1] = moment
    while self[2] and now.time_s - self[2].time_s >= M.SPAN_S - EARLY_S do
        table.remove(self, 1)
    end
end

local function unpacked(list, first, names)
    local fields = {}
    for i, name in ipairs(names) do
        fields[name] = list[first + i - 1] or nil
    end
    return fields
end

--- The counters at the begin of the last ten seconds, or when the server was seen first, as a snapshot of no more than
-- these, with the classes that there are now; nil before the first look. Of a class that was not there yet, or had
-- other chunks, those of when it was seen first: what it did since then is known.
function Recent:begin()
    local last, classes, sizes = self[#self], {}, {}
    if not last then
        return nil
    end
    for first = 1, #last.of_classes, #OF_CLASS do
        sizes[last.of_classes[first]] = last.of_classes[first + 1]
    end
    for _, moment in ipairs(self) do
        for first = 1, #moment.of_classes, #OF_CLASS do
            local class = moment.of_classes
            if sizes[class[first]] == class[first + 1] then
                classes[#classes + 1], sizes[class[first]] = unpacked(class, first, OF_CLASS), nil
            end
        end
        if not next(sizes) then
            break
        end
    end
    return { time_s = self[1].time_s, general = unpacked(self[1].of_server, 1, OF_SERVER), classes = classes }
end

return M
