-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl moves: the last page moves, with their reasons and costs.
local must = require("slate.base.failure").must

local M = {}

function M.declare(command)
    command:option("--last", "Show only the last N moves."):argname("N"):convert(require("slate.base.units").whole(1))
    command:flag("--wide", "Show full times, how many items each move rescued and lost, and how long it took.")
end

-- The name of a class, or of the pool.
local function place(id)
    return id == 0 and "pool" or tostring(id)
end

local function as_rows(moves, wide)
    local rows = {}
    for i, move in ipairs(moves) do
        local reason = move.outcome == "moved" and move.reason or move.outcome .. ": " .. move.reason
        local pages = move.pages == move.wanted and move.pages or ("%.0f of %.0f"):format(move.pages, move.wanted)
        local time = os.date(wide and "%Y-%m-%d %H:%M:%S" or "%H:%M:%S", math.floor(move.time_s))
        rows[i] = { time, move.mode, place(move.from), place(move.to), pages }
        if wide then
            local took_ms = ("%.1f"):format(move.duration_us / 1000)
            table.move({ move.rescued, move.lost, move.expired, took_ms }, 1, 4, 6, rows[i])
        end
        rows[i][#rows[i] + 1] = reason
    end
    return rows
end

local function out_text(context, totals, moves, wide)
    local head = { { "mode", totals.mode }, { "now", totals.why } }
    local failed = require("slate.facts.moves").failed(totals)
    if failed then
        head[#head + 1] = { "failed", failed }
    end
    if (totals.over_limit or 0) > 0 then
        local pages = require("slate.base.units").plural(totals.over_limit, "page")
        local why = totals.over_limit_why
        why = why and why ~= "none" and ": " .. why or ""
        head[#head + 1] = { "limit", pages .. " still to be given back" .. why }
    end
    head[#head + 1] = { "so far", ("%s moved, %.0f taken by stores that found nothing to evict; "
        .. "%.0f items rescued, %.0f lost; %.0f put back"):format(
        require("slate.base.units").plural(totals.pages_moved, "page"), totals.steals or 0,
        (totals.rescues or 0) + (totals.chunk_rescues or 0), totals.evicted or 0, totals.given_up or 0) }
    context:out(context:pairs(head))
    if #moves > 0 then
        context:out("\n", context:table(("TIME<|MODE<|FROM|TO|PAGES%s|WHY<"):format(
            wide and "|RESCUED|LOST|EXPIRED|MS" or ""), as_rows(moves, wide)))
    end
end

function M.run(context, parsed)
    local client = must(context:connect())
    local totals, moves = must(require("slate.facts.moves").read(client))
    client:close()
    moves = table.move(moves, math.max(1, #moves - (parsed.last or #moves) + 1), #moves, 1, {})
    return context:answer("slate/moves/1", { server = context.server.name, totals = totals,
        time_s = require("slate.base.clock").time_s(), moves = require("slate.base.json").array(moves) },
        function() out_text(context, totals, moves, parsed.wide) end)
end

return M
