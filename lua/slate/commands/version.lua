-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl version: ours at once, the server's when asked for.
local must = require("slate.base.failure").must

local M = {}

function M.declare(command)
    command:flag("--caps", "Also ask the server for its version and features.")
end

-- Groups of statistics that memcached has not. A slated is asked which of them it has.
local SLATED_GROUPS <const> = {
    "slated", "policies", "pages", "moves", "geometry", "curve", "whatif", "hotkeys", "latency", "automove",
    "describe",
}

-- What the server can do: list of { name, available }, or nil, message, code.
local function capabilities(client, who)
    local list = {
        { name = "move a page, and see the outcome", available = true },
        { name = "automove off, ratio and eviction", available = true },
        { name = "move many pages with one command", available = who.slated ~= nil },
    }
    local found = {}
    if who.slated then
        found = must(client:stats_groups(SLATED_GROUPS))
    end
    for _, group in ipairs(SLATED_GROUPS) do
        list[#list + 1] = { name = "stats " .. group, available = found[group] ~= nil }
    end
    return list
end

local function out_text(context, who, list)
    context:out("slatectl ", context.version, "\n")
    if not who then
        return
    end
    local what = who.slated and ("slated %s, which tells clients that it is memcached %s"):format(who.slated,
        who.version)
        or "memcached " .. who.version
    context:out(context.server.name, " is ", what, "\n")
    for _, row in ipairs(list) do
        context:out(("  %-34s%s\n"):format(row.name, row.available and "yes"
            or who.slated and "not in this version" or "needs slated"))
    end
end

function M.run(context, parsed)
    local who, list
    if parsed.caps then
        local client, found = must(context:open())
        who = found
        list = capabilities(client, who)
        client:close()
    end
    if context.json then
        context:out_json("slate/version/1", {
            slatectl = context.version, server = who and context.server.name, version = who and who.version,
            slated = who and who.slated, capabilities = list,
        })
    else
        out_text(context, who, list)
    end
    return 0
end

return M
