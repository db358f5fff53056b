-- SPDX-License-Identifier: BSD-3-Clause
--- A pilot (slate.fleet.pilot) as metrics.
local families = require "slate.cli.families"

local M = {}

local STATES <const> = { "looking", "flying", "watching", "away", "off" }

--- The page: status, kind and body for slate.cli.httpd. Pure.
function M.page(pilot, request)
    if request.path ~= "/metrics" then
        return 404, "text/plain", "only /metrics is served\n"
    end
    local into = families.new()
    into:add("slate_pilot_up", "gauge", "Whether the policy runs; 0 once something spoke against it.", nil,
        pilot.is_over and 0 or 1)
    into:add("slate_pilot_applies", "gauge", "Whether pages are moved, or only what would be is told.", nil,
        pilot.options.apply and 1 or 0)
    into:add("slate_pilot_doubts_total", "counter", "Guards that were crossed, and failures of the policy.", nil,
        pilot.doubts)
    for _, flight in ipairs(pilot.list) do
        local server = { "server", flight.name }
        for _, state in ipairs(STATES) do
            into:add("slate_pilot_server_state", "gauge", "1 for the state that the server is in.",
                { server, { "state", state } }, flight.state == state and 1 or 0)
        end
        into:add("slate_pilot_decisions_total", "counter", "Decisions of the policy.", { server }, flight.decisions)
        into:add("slate_pilot_pages_total", "counter", "Pages that were moved, or would have been.", { server },
            flight.pages)
    end
    local format = request.accept:find("application/openmetrics-text", 1, true) and "openmetrics" or "prometheus"
    return 200, families.KINDS[format], into:text(format)
end

return M
