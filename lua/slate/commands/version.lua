-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl version: ours at once, the server's when asked for.
local M = {}

function M.declare(command)
    command:flag("--caps", "Ask the server too: what it is, and what it can do.")
end

-- What depends on the server: a name, whether stock memcached has it too.
local CAPABILITIES <const> = {
    { "move a page", true }, { "automove off, ratio, eviction", true }, { "record and chart", true },
    { "move many pages with one command", false }, { "automove by other policies", false },
}

local function capabilities(slated)
    local list = {}
    for i, row in ipairs(CAPABILITIES) do
        list[i] = { name = row[1], available = row[2] or slated ~= nil }
    end
    return list
end

local function out_text(context, who, list)
    context:out("slatectl ", context.version, "\n")
    if not who then
        return
    end
    local what = who.slated and ("slated %s, in memcached's place as %s"):format(who.slated, who.version)
        or "memcached " .. who.version
    context:out(context.server.name, " is ", what, "\n")
    for _, row in ipairs(list) do
        context:out(("  %-34s%s\n"):format(row.name, row.available and "yes" or "needs slated"))
    end
end

function M.run(context, parsed)
    local who, list
    if parsed.caps then
        local client, found, code = context:open()
        if not client then
            return nil, found, code
        end
        client:close()
        who, list = found, capabilities(found.slated)
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
