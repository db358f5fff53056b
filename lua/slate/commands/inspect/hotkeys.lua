-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl hotkeys [COUNT]: the keys with the most requests.
local must = require("slate.base.failure").must
local sampled = require "slate.facts.sampled"
local units = require "slate.base.units"

local M = {}

local COLUMNS <const> = "AT LEAST|AT MOST|SHARE|KEY<"

-- Rows by their least number of requests: a key with few may have inherited the count of a key that it replaced.
local function cells_of(keys, requests)
    local rows, ranges = {}, {}
    for i, one in ipairs(keys) do
        local least, most = sampled.hotkey_bounds(one)
        ranges[i] = { key = one.key, least = least, most = math.min(most, requests) }
    end
    table.sort(ranges, function(a, b)
        if a.least ~= b.least then
            return a.least > b.least
        end
        return a.most > b.most or a.most == b.most and a.key < b.key
    end)
    for i, one in ipairs(ranges) do
        rows[i] = { units.count(one.least), units.count(one.most), ("%.2f to %.2f%%"):format(
            100 * one.least / requests, 100 * one.most / requests), one.key }
    end
    return rows
end

function M.declare(command)
    command:argument("count", "How many, at most 128. Default: 20"):args("?"):argname("COUNT")
        :convert(units.whole(1, 128))
end

function M.run(context, parsed)
    local client = must(context:connect())
    local requests, keys, noted = must(sampled.hotkeys(client, parsed.count))
    client:close()
    if context.json then
        context:out_json("slate/hotkeys/1", { server = context.server.name,
            time_s = require("slate.base.clock").time_s(),
            requests = requests, noted = noted, keys = require("slate.base.json").array(keys) })
    elseif #keys > 0 then
        context:out_table(COLUMNS, cells_of(keys, requests))
        if noted then
            context:out(("sample: %d of %d requests\n"):format(noted, requests))
        end
    end
    if #keys == 0 then
        return nil, "no key was sampled yet", "no"
    end
    return 0
end

return M
