-- SPDX-License-Identifier: BSD-3-Clause
--- `stats moves` of slated as tables: how pages move, and the last moves one by one.
local M = {}

local TEXT <const> = { mode = true, failed = true, why = true, reason = true, outcome = true }

--- Parses the lines of `stats moves`.
-- Returns { mode =, why =, … } with the totals by their names, and a list of moves, oldest first:
-- { number, time_s, mode, from, to, pages, wanted, rescued, lost, expired, duration_us, outcome, reason }.
function M.parse(lines)
    local totals, moves = require("slate.facts.stats").numbered(lines, "number", TEXT)
    for _, move in ipairs(moves) do
        move.time_s, move.time = move.time, nil
    end
    return totals, moves
end

--- Which mode of automove failed, and why, in words; nil where none did since a mode was set.
function M.failed(totals)
    local failed = totals and totals.failed
    return type(failed) == "string" and failed ~= "none" and failed ~= "" and failed or nil
end

--- Asks a server. Returns totals and moves; or nil, message, code ("unsupported": it is no slated).
function M.read(client)
    local lines, message, code = client:stats("moves")
    if not lines then
        if code == "unsupported" then
            message = "a record of moves needs slated: this server keeps none"
        end
        return nil, message, code
    end
    local totals, moves = M.parse(lines)
    for _, move in ipairs(moves) do
        if not (math.type(move.from) == "integer" and math.type(move.to) == "integer") then
            totals.mode = nil
        end
    end
    if not totals.mode then
        return nil, "the server's record of moves cannot be read", "protocol"
    end
    return totals, moves
end

return M
