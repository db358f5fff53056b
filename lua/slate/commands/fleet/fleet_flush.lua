-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl fleet flush [SERVER...]: flushes one server after the other, each after the last one's hits have recovered.
local clock = require "slate.base.clock"
local limits = require "slate.judge.thresholds"
local guarded = require "slate.act.guarded"
local caught, must = require("slate.base.failure").caught, require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local DEFAULT_WITHIN_POINTS <const>, DEFAULT_FOR_S <const>, DEFAULT_INTERVAL_S <const> = 5, 600, 1

function M.declare(command)
    command:argument("members", "The servers; those of -s and SLATE_SERVER when there are none."):args("*")
        :argname("SERVER"):convert(function(text) return require("slate.wire.addresses").parse(text) end)
    command:option("--within", "Go on when the hit ratio is back within this many points. Default: 5")
        :argname("POINTS"):convert(units.whole(0))
    command:option("--for", "Stop when the hits of a server are not back after this time. Default: 10m")
        :argname("TIME"):convert(units.parse_duration):target("for_s")
    command:option("--interval", "Time between samples. Default: 1s"):argname("TIME"):convert(units.parse_duration)
    command:flag("--dry-run", "Show the hit ratio of each server; flush nothing.")
end

-- Waits until the recent hit ratio has recovered. Sets row.after; fails if that takes too long.
local function wait_for_hits(context, client, row, parsed)
    local began_s, lately = clock.steady_s(), { must(context:snapshot(client)) }
    repeat
        clock.sleep(parsed.interval or DEFAULT_INTERVAL_S)
        lately[#lately + 1] = must(context:snapshot(client))
        while #lately > 2 and lately[2].time_s <= lately[#lately].time_s - limits.lately_s do
            table.remove(lately, 1)
        end
        row.after = guarded.overview_between(lately[1], lately[#lately]).hit_ratio
        row.took_s = clock.steady_s() - began_s
        if row.after and row.after >= row.before - (parsed.within or DEFAULT_WITHIN_POINTS) / 100 then
            return
        end
    until row.took_s >= (parsed.for_s or DEFAULT_FOR_S)
    must(nil, ("the hit ratio was %s, and is %s after %s"):format(units.percent(row.before, 1),
        units.percent(row.after, 1), units.age(row.took_s)), "no")
end

-- Flushes a server, and waits for its hits if they are known: a server without reads has none to wait for.
local function turn(context, row, parsed)
    local client = must(context:open())
    must(client:permits("flush_all"))
    local now, _, rates = must(context:pair(client, limits.lately_s))
    row.before = require("slate.judge.view").overview(now, rates).hit_ratio
    row.state = "would be flushed"
    if not parsed.dry_run then
        must(client:flush_all())
        row.state = "flushed"
        context:print_note("flushed")
    end
    if row.before and not parsed.dry_run then
        wait_for_hits(context, client, row, parsed)
    end
    client:close()
    return true
end

local function out_text(context, rows)
    local cells = {}
    for i, row in ipairs(rows) do
        cells[i] = { row.server, row.state, units.percent(row.before, 1), units.percent(row.after, 1),
            units.age(row.took_s), row.why or "" }
    end
    context:out_table("SERVER<|STATE<|HITS|THEN|AFTER|WHY<", cells, function(i) return rows[i].why and "bad" or nil end)
end

--- Exits with 0 if all servers are flushed; with 1 at the first that fails or whose hits do not recover in time: later
-- servers are not flushed.
function M.run(context, parsed)
    local rows, ended = {}, false
    for i, one in ipairs(must(context:contexts_of(parsed.members))) do
        rows[i] = { server = one.server.name, state = "not flushed" }
        if not ended then
            local ok, message = caught(turn, one, rows[i], parsed)
            rows[i].why, ended = not ok and message or nil, not ok
        end
    end
    context:answer("slate/fleet-flush/1", { dry_run = parsed.dry_run or false, servers = rows }, function()
        out_text(context, rows)
    end)
    return ended and 1 or 0
end

return M
