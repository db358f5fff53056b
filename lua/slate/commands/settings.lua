-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl settings [PART]: the server's settings, all or those whose name contains PART.
local must = require("slate.base.failure").must
local stats = require "slate.facts.stats"

local M = {}

function M.declare(command)
    command:argument("part", "Only settings whose name contains this."):args("?"):argname("PART")
end

function M.run(context, parsed)
    local client = must(context:connect())
    local lines = must(client:stats("settings"))
    client:close()
    local json = require "slate.base.json"
    local rows, values = {}, {}
    for _, line in ipairs(lines) do
        local name, text = stats.split(line)
        if name and (not parsed.part or name:find(parsed.part, 1, true)) then
            rows[#rows + 1] = { name, text }
            local value = stats.typed(name, text)
            values[name] = value == nil and json.null or value
        end
    end
    if #rows == 0 then
        return nil, ("this server has no setting named like '%s'"):format(parsed.part or "*"), "no"
    end
    if context.json then
        context:out_json("slate/settings/1", { server = context.server.name, settings = values })
    else
        context:out(context:pairs(rows))
    end
    return 0
end

return M
