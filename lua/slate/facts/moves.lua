-- SPDX-License-Identifier: BSD-3-Clause
--- `stats moves` of slated as tables: the totals of page moves, and each of the last moves.
local stats = require "slate.facts.stats"

local M = {}

local TEXT <const> = { mode = true, failed = true, why = true, reason = true, outcome = true, state = true,
    last_busy = true }
local NEEDED <const> = { "time", "mode", "from", "to", "pages", "wanted", "rescued", "lost", "expired", "duration_us",
    "outcome", "reason" }
local NO_TIME_S <const> = 1e11 -- thousands of years from now

--- Parses the lines of `stats moves`.
-- Returns { mode =, why =, … } with the totals by their names, and a list of the complete moves, oldest first:
-- { number, time_s, mode, from, to, pages, wanted, rescued, lost, expired, duration_us, outcome, reason }.
function M.parse(lines)
    local totals, rows = stats.numbered(lines, "number", TEXT, NEEDED)
    local moves = {}
    for _, move in ipairs(rows) do
        move.time_s, move.time = move.time, nil
        moves[#moves + 1] = move.time_s >= 0 and move.time_s < NO_TIME_S and move or nil
    end
    return totals, moves
end

local POOL <const> = 0

--- "38→12", or "38→pool": the way of pages between classes.
function M.way(from, to)
    return ("%s→%s"):format(from == POOL and "pool" or from, to == POOL and "pool" or to)
end

--- The mode of automove that failed, and the reason, in words; nil if none has failed since a mode was set.
function M.failed(totals)
    local failed = totals and totals.failed
    return type(failed) == "string" and failed ~= "none" and failed ~= "" and failed or nil
end

--- A sentence: the mode that failed, the reason, and the mode in its place; nil if none has failed since a mode was
-- set. One answer of the server has both modes: its settings may be older, and name the mode that failed.
function M.failure(totals)
    local failed = M.failed(totals)
    return failed and ("automove failed: %s; now it is %s"):format(failed, totals.mode or "off")
end

--- Queries a server. Returns totals and moves; or nil, message, code ("unsupported": the server is no slated).
function M.read(client)
    local lines, message, code = stats.query_slated(client, "moves",
        "a record of moves needs slated: this server keeps none")
    if not lines then
        return nil, message, code
    end
    local totals, moves = M.parse(lines)
    if not totals.mode or not totals.pages_moved then
        return nil, "the server's record of moves cannot be read", "protocol"
    end
    return totals, moves
end

return M
