-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl settings [PART]: the server's settings, all or those whose name contains PART; on slated also those that
--- memcached does not have.
local must = require("slate.base.failure").must
local settings = require "slate.facts.settings"
local stats = require "slate.facts.stats"

local M = {}

function M.declare(command)
    command:argument("part", "Only settings whose name contains this."):args("?"):argname("PART")
end

-- Names and texts in the server's order: of stats settings, then those that only slated's stats config has.
local function read(client, who)
    local groups, refused = must(client:stats_groups(who.slated and { "settings", "config" } or { "settings" }))
    local list, seen = {}, {}
    local function take(name, text)
        if not seen[name] then
            seen[name] = true
            list[#list + 1] = { name, text }
        end
    end
    settings.each_stat(groups.settings or must(nil, table.unpack(refused.settings, 1, 2)), take)
    settings.each_stat(groups.config, function(name, text)
        local setting = name:match("^(.+):value$")
        if setting then
            take(setting, text)
        end
    end)
    return list
end

function M.run(context, parsed)
    local client, who = must(context:meet())
    local all = read(client, who)
    client:close()
    local json = require "slate.base.json"
    local rows, values = {}, {}
    for _, row in ipairs(all) do
        local name, text = row[1], row[2]
        if not parsed.part or name:find(parsed.part, 1, true) then
            rows[#rows + 1] = { name, settings.named(name, text) }
            local value = stats.typed(name, text)
            values[name] = value == nil and json.null or value
        end
    end
    if #all == 0 then
        return nil, "this server does not report its settings", "unsupported"
    elseif #rows == 0 then
        return nil, ("this server has no setting named like '%s'"):format(parsed.part or "*"), "no"
    end
    return context:answer("slate/settings/1", { server = context.server.name, settings = values }, function()
        context:out(context:pairs(rows))
    end)
end

return M
