-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl hotkeys [COUNT]: the keys asked for most.
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local COLUMNS <const> = "AT LEAST|AT MOST|SHARE|KEY<"

-- What is certain comes first: a key that was seen a little may have the count of one that gave way to it.
local function cells_of(keys, requests)
    local rows = {}
    table.sort(keys, function(a, b)
        local least, other = a.requests - a.error, b.requests - b.error
        return least > other or least == other and a.key < b.key
    end)
    for i, one in ipairs(keys) do
        local least = one.requests - one.error
        rows[i] = { units.count(least), units.count(one.requests), ("%.2f to %.2f%%"):format(100 * least / requests,
            100 * one.requests / requests), one.key }
    end
    return rows
end

function M.declare(command)
    command:argument("count", "How many, at most 128. Default: 20"):args("?"):argname("COUNT")
        :convert(units.whole(1, 128))
end

function M.run(context, parsed)
    local client = must(context:connect())
    local requests, keys = must(require("slate.facts.foresight").hotkeys(client, parsed.count))
    client:close()
    if context.json then
        context:out_json("slate/hotkeys/1", { server = context.server.name,
            time_s = require("slate.base.clock").time_s(),
            requests = requests, keys = require("slate.base.json").array(keys) })
        return 0
    end
    local rows = cells_of(keys, requests)
    if #rows == 0 then
        context:out("no key was sampled yet\n")
    else
        context:out_table(COLUMNS, rows)
    end
    return 0
end

return M
