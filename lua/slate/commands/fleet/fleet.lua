-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl fleet [SERVER...]: one row for each of many servers, the worst first.
local gather = require "slate.base.gather"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local COLUMNS <const> = "SERVER<|HITS|GET/s|SET/s|EV/s|USED|SPREAD|UP|NOTE<"

function M.declare(command)
    command:argument("members", "The servers; those of -s and SLATE_SERVER when there are none."):args("*")
        :argname("SERVER"):convert(function(text)
            local list, problem = require("slate.wire.addresses").parse(text)
            if list then
                list.word = text
            end
            return list, problem
        end)
    command:option("--interval", "Time between the two samples that give the rates; 0 takes one sample. Default: 1s, "
        .. "and 3s where anything is evicted")
        :argname("TIME"):convert(units.parse_duration)
end

local function out_text(context, rows, down)
    local cells = gather.values(rows, function(row)
        return { row.server, units.percent(row.hit_ratio or row.hit_ratio_total, 1), units.rate(row.get_per_s),
            units.rate(row.set_per_s), units.rate(row.evictions_per_s), units.percent(row.used_ratio),
            row.age_spread and ("%.1f"):format(row.age_spread) or "-", units.age(row.uptime_s),
            row.why and "down: " .. row.why:gsub("^cannot connect to .-: ", "") or table.concat(row.notes, ", ") }
    end)
    context:out_table(COLUMNS, cells, function(i)
        return rows[i].why and "bad" or #rows[i].notes > 0 and "warn" or nil
    end)
    context:out(("%s, %d down\nSPREAD: age of the oldest evicting class by that of the youngest\n"):format(
        units.plural(#rows, "server"), down))
end

-- Refuses a single word that looks like an unknown sub-command. If it is a server's name without a port, it has an
-- address. Returns true; or nil, message, code.
local function is_no_command(members)
    local word = #members == 1 and members[1].word:match("^[%w_-]+$")
    if not word or members[1][1].host ~= word then -- a name of the operator's own has another host
        return true
    end
    local found, problem = require("slate.wire.resolver").WAYS.addresses(word)
    local names = gather.values(found and {} or require("slate.cli.command_line").COMMANDS, function(row)
        return row.name:match("^fleet%-(.*)")
    end)
    return found and true, ("'%s' is no sub-command of fleet, which are %s; and no server of that name is found: %s")
        :format(word, table.concat(names, ", "), problem), "usage"
end

--- Exits with 0; with 1 if a server is down.
function M.run(context, parsed)
    must(is_no_command(parsed.members))
    local servers = must(context:servers_of(parsed.members))
    local members = require "slate.fleet.members"
    local rows = members.rows(members.sample(context, servers, parsed.interval))
    local down = 0
    for _, row in ipairs(rows) do
        down = down + (row.why and 1 or 0)
        require("slate.base.json").array(row.notes)
    end
    context:answer("slate/fleet/1", { time_s = require("slate.base.clock").time_s(), servers = rows,
        down = down }, function() out_text(context, rows, down) end)
    return down > 0 and 1 or 0
end

return M
