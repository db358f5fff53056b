-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl latency: how long round trips take from here, one request at a time.
local clock = require "slate.base.clock"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local DEFAULT_COUNT <const>, MOST <const> = 1000, 1000000
-- No item has this key, unless somebody means to: a get of it is the shortest there is.
local PROBE <const> = "slatectl:latency"
local COMMANDS <const> = { { "mn", "mn" }, { "get", "get " .. PROBE }, { "version", "version" } }

function M.declare(command)
    command:option("--count", ("Requests of each kind. Default: %d"):format(DEFAULT_COUNT)):argname("N")
        :convert(units.whole(1, MOST))
    command:flag("--dist", "Show the distribution too.")
end

local function at_share(sorted, share)
    return sorted[math.max(1, math.ceil(#sorted * share))]
end

-- Times one kind of request. Returns the times in microseconds, ascending; false when the server does not
-- know it; or nil, message, code.
local function measure(client, line, count)
    local times = {}
    for i = 1, count do
        local started_s = clock.steady_s()
        local reply, message, code = client:command(line)
        times[i] = (clock.steady_s() - started_s) * 1e6
        if not reply then
            return nil, message, code
        elseif require("slate.wire.client").refusal(reply) then
            return false
        elseif reply:find("^VALUE") then
            return nil, PROBE .. " is a key of this server, and the measurement needs a key that is not there", "no"
        end
    end
    table.sort(times)
    return times
end

local function summary(name, times)
    return {
        command = name, count = #times, min_us = times[1], p50_us = at_share(times, 0.5),
        p90_us = at_share(times, 0.9), p99_us = at_share(times, 0.99), max_us = times[#times],
    }
end

-- Times by doubling limits: list of { to_us, count }.
local function distribution(times)
    local list, at, to_us = {}, 1, 1
    while at <= #times do
        local from = at
        while at <= #times and times[at] < to_us do
            at = at + 1
        end
        if at > from or #list > 0 then
            list[#list + 1] = { to_us, at - from }
        end
        to_us = to_us * 2
    end
    return list
end

local function microseconds(us)
    return us < 1000 and ("%.0f us"):format(us) or ("%.1f ms"):format(us / 1000)
end

local function out_distribution(context, name, buckets, count)
    local rows = {}
    for i, bucket in ipairs(buckets) do
        rows[i] = { "< " .. microseconds(bucket[1]), bucket[2], units.percent(bucket[2] / count, 1),
            ("#"):rep(math.ceil(bucket[2] / count * 40)) }
    end
    context:out("\n", name, "\n", context:table("TIME|COUNT|SHARE|<", rows))
end

function M.run(context, parsed)
    local client = must(context:connect())
    local rows, cells, distributions = {}, {}, {}
    for _, probe in ipairs(COMMANDS) do
        local times, message, code = measure(client, probe[2], parsed.count or DEFAULT_COUNT)
        if times == nil then
            return nil, message, code
        elseif times then
            local row = summary(probe[1], times)
            rows[#rows + 1] = row
            cells[#cells + 1] = { row.command, row.count, microseconds(row.min_us), microseconds(row.p50_us),
                microseconds(row.p90_us), microseconds(row.p99_us), microseconds(row.max_us) }
            distributions[#distributions + 1] = distribution(times)
        end
    end
    client:close()
    if context.json then
        for i, row in ipairs(rows) do
            row.distribution = distributions[i]
        end
        context:out_json("slate/latency/1", { server = context.server.name, time_s = clock.time_s(), commands = rows })
        return 0
    end
    context:out_table("REQUEST<|COUNT|LEAST|HALF|90%|99%|MOST", cells)
    for i, buckets in ipairs(parsed.dist and distributions or {}) do
        out_distribution(context, rows[i].command, buckets, rows[i].count)
    end
    context:out("round trips from here, one at a time on one connection: the times are those of\nthe network, "
        .. "the server and slatectl together\n")
    return 0
end

return M
