-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl move SRC DST [PAGES]: see slate.move for what it checks and how it verifies.
local move = require "slate.move"
local units = require "slate.units"

local M = {}

local DEFAULT_LIMIT_S <const> = 60

local function class_id(text)
    if text == "any" then
        return move.ANY
    elseif text == "pool" then
        return move.POOL
    end
    return units.parse_whole(text, move.ANY, move.MAX_CLASS)
end

function M.declare(command)
    command:argument("src", "Class to take pages from; 0 or pool: the global page pool; -1 or any: the server's "
        .. "choice."):argname("SRC"):convert(class_id)
    command:argument("dst", "Class to give pages to; 0 or pool: the global page pool."):argname("DST"):convert(class_id)
    command:argument("pages", "How many pages. Default: 1"):args("?"):argname("PAGES"):convert(function(text)
        return units.parse_whole(text, 1)
    end)
    command:flag("--dry-run", "Check and explain the move; send nothing.")
    command:flag("--wait", "Wait until the pages have moved, and verify it by the page counts.")
    command:option("--limit", "Give up after this long. Default: 60s"):argname("TIME"):convert(units.parse_duration)
end

local function out_plan(context, plan)
    if context.json then
        context:out_json("slate/move/1", {
            server = context.server.name, dry_run = true, src = plan.src, dst = plan.dst, pages_wanted = plan.pages,
            commands = plan.commands, sources = plan.sources, src_pages_before = plan.src_pages,
            dst_pages_before = plan.dst_pages, items_at_risk = plan.items_at_risk, automove = plan.automove,
        })
        return
    end
    context:out(table.concat(move.describe(plan), "\n"), "\nnothing was sent\n")
end

local function out_result(context, plan, result)
    local words = move.words(plan, result)
    if context.json then
        local fields = { server = context.server.name, dry_run = false, src = plan.src, dst = plan.dst, words = words }
        for key, value in pairs(result) do
            fields[key] = value
        end
        fields.code = nil
        if result.state ~= "accepted" and fields.items_lost == nil then
            fields.items_lost = require("slate.json").null -- unknown, which is not none
        end
        context:out_json("slate/move/1", fields)
        return
    end
    context:out(words, "\n")
end

-- A line on the terminal that overwrites itself while pages move.
local function progress_line(context)
    if not context:is_terminal(2) then
        return nil, function() end
    end
    local function show(moved, wanted, retries)
        io.stderr:write(("\rmoved %d of %s%s\27[K"):format(moved, units.plural(wanted, "page"),
            retries > 0 and ", " .. units.plural(retries, "busy retry", "busy retries") or ""))
        io.stderr:flush()
    end
    return show, function() io.stderr:write("\r\27[K") end
end

local function exit_code(result)
    if result.state == "moved" or result.state == "accepted" and not result.why then
        return 0
    end
    return require("slate.cli").EXIT[result.code or "no"]
end

function M.run(context, parsed)
    local client, who, code = context:open()
    if not client then
        return nil, who, code
    end
    local plan, message
    plan, message, code = move.prepare(context, client, {
        src = parsed.src, dst = parsed.dst, pages = parsed.pages or 1,
    })
    if not plan then
        return nil, message, code
    end
    if parsed.dry_run then
        out_plan(context, plan)
        return 0
    end
    local sofar = { pages_wanted = plan.pages, pages_accepted = 0, busy_retries = 0 }
    context.summary = function()
        return ("the server had accepted %d of %s, and goes on with what it accepted"):format(
            sofar.pages_accepted, units.plural(sofar.pages_wanted, "page move"))
    end
    local progress, wipe = progress_line(context)
    local result
    result, message, code = move.run(client, plan, {
        wait = parsed.wait, limit_s = parsed.limit or DEFAULT_LIMIT_S, progress = progress, result = sofar,
    })
    wipe()
    if not result then
        return nil, message, code
    end
    client:close()
    local pages = result.pages_moved or result.pages_accepted
    if pages > 0 then
        require("slate.audit").note(context, { what = "move", src = plan.src, dst = plan.dst, pages = pages })
    end
    out_result(context, plan, result)
    return exit_code(result)
end

return M
