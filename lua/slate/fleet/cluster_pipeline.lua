-- SPDX-License-Identifier: BSD-3-Clause
--- Pipelines and the no-reply mode over the servers of a cluster: one of slate.wire.pipeline for each server.
-- @module slate.fleet.cluster_pipeline
local pipeline = require "slate.wire.pipeline"

local M = {}

local BY_KEY <const> = { "get", "set", "delete", "touch", "incr", "decr" }

local Pipeline = {}
Pipeline.__index = Pipeline
Pipeline.__name = "slate.fleet.cluster.pipeline"

--- Makes an empty pipeline. `cluster:pipeline()` does the same.
-- @tparam Cluster cluster
-- @treturn Pipeline
function M.new(cluster)
    return setmetatable({ cluster = cluster, lanes = {}, by_name = {}, count = 0, failed = {} }, Pipeline)
end

-- The pipeline of the server that holds a key, or nil when the server is down.
local function lane_of(self, key)
    local member = self.cluster:server(key)
    local lane = self.by_name[member.name]
    if not lane then
        local client, message, code = self.cluster:reach(member)
        if not client then
            return nil, message, code
        end
        lane = { member = member, pipeline = pipeline.new(client), numbers = {} }
        self.by_name[member.name] = lane
        self.lanes[#self.lanes + 1] = lane
    end
    return lane
end

for _, name in ipairs(BY_KEY) do
    Pipeline[name] = function(self, key, ...)
        self.count = self.count + 1
        local lane, message, code = lane_of(self, tostring(key))
        if lane then
            lane.pipeline[name](lane.pipeline, key, ...)
            lane.numbers[#lane.numbers + 1] = self.count
        else
            self.failed[self.count] = { message, code }
        end
        return self
    end
end

--- Sends all requests and reads all answers; the pipeline is empty afterwards.
-- @tparam[opt] table options `timeout_s`
-- @treturn table from the number of a request, counted from 1, to its answer
-- @treturn table from the number of each that failed to { message, code }
function Pipeline:run(options)
    local pipelines, results, errors = {}, {}, self.failed
    for i, lane in ipairs(self.lanes) do
        pipelines[i] = lane.pipeline
    end
    for i, outcome in ipairs(pipeline.run_all(pipelines, options)) do
        local lane = self.lanes[i]
        for at, number in ipairs(lane.numbers) do
            results[number], errors[number] = outcome[1][at], outcome[2][at]
        end
        self.cluster:settle(lane.member)
    end
    self.lanes, self.by_name, self.count, self.failed = {}, {}, 0, {}
    return results, errors
end

local Quiet = {}
Quiet.__index = Quiet
Quiet.__name = "slate.fleet.cluster.quiet"

--- Makes the no-reply mode of a cluster. `cluster:quiet()` does the same.
-- @tparam Cluster cluster
-- @treturn Quiet
function M.quiet(cluster)
    return setmetatable({ cluster = cluster, lanes = {}, by_name = {} }, Quiet)
end

for _, name in ipairs(BY_KEY) do
    Quiet[name] = function(self, key, ...)
        local member = self.cluster:server(tostring(key))
        local lane = self.by_name[member.name]
        if not lane then
            local client, message, code = self.cluster:reach(member)
            if not client then
                return nil, message, code
            end
            lane = { member = member, quiet = pipeline.quiet(client) }
            self.by_name[member.name] = lane
            self.lanes[#self.lanes + 1] = lane
        end
        return lane.quiet[name](lane.quiet, key, ...)
    end
end

--- Sends what has been gathered, and waits until every server has carried it out.
-- @treturn boolean true, or nil, message, code of the first server that failed
function Quiet:finish()
    local lanes, failure = self.lanes, nil
    self.lanes, self.by_name = {}, {}
    for _, lane in ipairs(lanes) do
        lane.quiet:flush() -- all of them begin before the first is waited for; what fails here fails below too
    end
    for _, lane in ipairs(lanes) do
        local ok, message, code = lane.quiet:finish()
        if not ok and not failure then
            failure = { message, code }
        end
        self.cluster:settle(lane.member)
    end
    if failure then
        return nil, table.unpack(failure, 1, 2)
    end
    return true
end

return M
