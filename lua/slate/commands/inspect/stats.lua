-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl stats [GROUP]: one group of statistics, names and order as the server sends them.
local must = require("slate.base.failure").must
local stats = require "slate.facts.stats"

local M = {}

function M.declare(command)
    command:argument("group", ("general when absent; %s, and on slated: %s"):format(table.concat(stats.GROUPS, ", "),
        table.concat(stats.SLATED_GROUPS, ", "))):args("*"):argname("GROUP")
end

local function explain(group, message, code)
    if code ~= "unsupported" then
        return nil, message, code
    end
    for _, known in ipairs(stats.SLATED_GROUPS) do
        if group:match("^%S*") == known then
            return nil, ("stats %s needs slated: this server does not know it"):format(group), code
        end
    end
    return nil, ("this server does not know 'stats %s'"):format(group), code
end

-- Typed values by name, NULL as null; lines that are no STAT lines stay as text in a list.
local function as_json(lines)
    local json = require "slate.base.json"
    local values, others = {}, json.array()
    for _, line in ipairs(lines) do
        local name, text = stats.split(line)
        if name then
            local value = stats.typed(name, text)
            values[name] = value == nil and json.null or value
        else
            others[#others + 1] = line
        end
    end
    return { stats = values, lines = #others > 0 and others or nil }
end

local function as_text(context, lines)
    local rows = {}
    for i, line in ipairs(lines) do
        local name, text = stats.split(line)
        rows[i] = name and { name, text } or { line, "" }
    end
    return context:pairs(rows)
end

function M.run(context, parsed)
    local group = table.concat(parsed.group, " ")
    local client = must(context:connect())
    local lines, message, code = client:stats(group)
    if not lines then
        return explain(group, message, code)
    end
    client:close()
    if context.json then
        local fields = as_json(lines)
        fields.server, fields.time_s, fields.group = context.server.name, require("slate.base.clock").time_s(), group
        context:out_json("slate/stats/1", fields)
    else
        context:out(as_text(context, lines))
    end
    return 0
end

return M
