-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl conns: the connections, with the state and the idle time of each.
local must = require("slate.base.failure").must
local order = require "slate.base.order"
local units = require "slate.base.units"

local M = {}

local DEFAULT_TOP <const> = 40

local COLUMNS <const> = "ID|IDLE|STATE<|ADDRESS<"

function M.declare(command)
    command:option("--top", ("Only the first N rows, the longest idle first. Default: %d"):format(DEFAULT_TOP))
        :argname("N"):convert(units.whole(1))
    command:flag("--listening", "Show the sockets that listen too.")
end

-- Connections from the lines of `stats conns`: { id, address, listen_address, state, idle_s }.
function M.parse(lines)
    local stats = require "slate.facts.stats"
    local fields <const> = { addr = "address", listen_addr = "listen_address", state = "state" }
    local list, at = {}, {}
    for _, line in ipairs(lines) do
        local name, text = stats.split(line)
        local id, field = (name or ""):match("^(%d+):(.+)$")
        if id and not at[id] then
            at[id] = { id = math.tointeger(tonumber(id)) }
            list[#list + 1] = at[id]
        end
        if fields[field] then
            at[id][fields[field]] = text
        elseif field == "secs_since_last_cmd" then
            at[id].idle_s = math.tointeger(tonumber(text))
        end
    end
    return order.largest_first(list, "idle_s", "id")
end

local function state_of(one)
    return (one.state or "-"):gsub("^conn_", "")
end

local function out_text(context, list, total, states)
    local rows = {}
    for i, one in ipairs(list) do
        rows[i] = { one.id, units.age(one.idle_s), state_of(one), one.address or "-" }
    end
    context:out_table(COLUMNS, rows)
    local words = {}
    for state, count in pairs(states) do
        words[#words + 1] = ("%d %s"):format(count, state)
    end
    table.sort(words)
    context:out(("%d of %s: %s\n"):format(#list, units.plural(total, "connection"), table.concat(words, ", ")))
end

function M.run(context, parsed)
    local client = must(context:connect())
    local lines = must(client:stats("conns"))
    client:close()
    if #lines == 0 then -- a full list would have this connection
        return nil, "this server does not report its connections", "unsupported"
    end
    local chosen, states = {}, {}
    for _, one in ipairs(M.parse(lines)) do
        local state = state_of(one)
        if parsed.listening or state ~= "listening" then
            chosen[#chosen + 1] = one
            states[state] = (states[state] or 0) + 1
        end
    end
    local shown = order.first(chosen, parsed.top or DEFAULT_TOP)
    return context:answer("slate/conns/1", { server = context.server.name, truncated = #chosen - #shown,
        time_s = require("slate.base.clock").time_s(), connections = require("slate.base.json").array(shown) },
        function() out_text(context, shown, #chosen, states) end)
end

return M
