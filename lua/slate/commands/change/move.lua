-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl move SRC DST [PAGES]: see slate.act.move for its checks and its verification.
local gather = require "slate.base.gather"
local move = require "slate.act.move"
local move_outcome = require "slate.act.move_outcome"
local must = require("slate.base.failure").must
local limits = require "slate.judge.thresholds"
local units = require "slate.base.units"
local witness = require "slate.act.witness"

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
    command:argument("pages", "How many pages. Default: 1"):args("?"):argname("PAGES"):convert(units.whole(1))
    command:flag("--dry-run", "Check, explain and predict the move; send nothing.")
    command:option("--interval", "With --dry-run: how long to observe the server for the prediction. Default: 10s")
        :argname("TIME"):convert(units.parse_duration)
    command:flag("--wait", "Wait until the pages have moved, and verify it by the page counts.")
    witness.declare(command)
    command:option("--limit", "Give up after this long. Default: 60s"):argname("TIME"):convert(units.parse_duration)
end

-- The reason against the move; nil if there is none. one: of slate.judge.view.
local function caution_of(one, plan)
    return require("slate.judge.prediction").caution(one, { from = plan.src, to = plan.dst, pages = plan.pages })
end

-- Prints what the move would do, the reason against it, and its predicted gain. 0; or nil, message, code.
local function rehearse(context, client, plan, interval_s)
    local seen = must(witness.before(context, client, interval_s))
    local caution = caution_of(seen.observer, plan)
    local predicted, expected
    if plan.src ~= move.ANY then
        predicted, expected = witness.predict(client, seen, plan.src, plan.dst, plan.pages)
    end
    if context.json then
        context:out_json("slate/move/1", {
            server = context.server.name, dry_run = true, src = plan.src, dst = plan.dst, pages_wanted = plan.pages,
            commands = plan.commands, sources = plan.sources, src_pages_before = plan.src_pages,
            dst_pages_before = plan.dst_pages, items_at_risk = plan.items_at_risk, automove = plan.automove,
            caution = caution, predicted_change = predicted and predicted.hit_ratio_change,
            predicted_least = predicted and predicted.least, predicted_most = predicted and predicted.most,
        })
        return 0
    end
    local lines = move.describe(plan)
    lines[#lines + 1] = caution and "caution: " .. caution or nil
    lines[#lines + 1] = expected
    context:out(table.concat(lines, "\n"), "\nnothing was sent\n")
    return 0
end

-- Prints the result. outcome: of slate.act.witness; nil without --verdict.
local function out_result(context, plan, result, outcome)
    if context.json then
        local words = move_outcome.words(plan, result)
        local fields = { server = context.server.name, dry_run = false, src = plan.src, dst = plan.dst, words = words }
        gather.copy(result, fields)
        fields.pages_seen, fields.code = nil, nil
        fields.outcome = outcome and require("slate.facts.audit").outcome_fields(outcome)
        if result.state ~= "accepted" and fields.items_lost == nil then
            fields.items_lost = require("slate.base.json").null -- null is unknown; 0 would mean none
        end
        context:out_json("slate/move/1", fields)
    elseif outcome then
        context:out(outcome.words, "\n")
    end
end

-- Shows a line on the terminal that is overwritten while pages move.
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
    return require("slate.cli.command_line").EXIT[result.code or "no"]
end

function M.run(context, parsed)
    local client = must(context:open())
    local plan = must(move.prepare(context, client, {
        src = parsed.src, dst = parsed.dst, pages = parsed.pages or 1,
    }))
    if parsed.dry_run then
        return rehearse(context, client, plan, math.max(parsed.interval or limits.lately_s, 0.01))
    end
    local sofar = { pages_wanted = plan.pages, pages_accepted = 0, busy_retries = 0 }
    context.summary = function()
        return ("the server accepted %d of %s and goes on with those"):format(
            sofar.pages_accepted, units.plural(sofar.pages_wanted, "page move"))
    end
    local seen
    if witness.wanted(parsed) then
        seen = must(witness.before(context, client, witness.wanted(parsed)))
        local made, expected = witness.predict(client, seen, plan.src, plan.dst, plan.pages)
        if made and not context.json then
            context:out(expected, "\n")
            context:flush()
        end
    end
    local one = seen and seen.observer or require("slate.judge.view").observer()
    if not seen then
        one:observe(plan.before)
    end
    local caution = caution_of(one, plan)
    if caution then
        context:print_note("caution: " .. caution)
    end
    local progress, wipe = progress_line(context)
    local result, id, code = require("slate.act.steps").move(context, client, plan, {
        wait = parsed.wait or seen ~= nil, limit_s = parsed.limit or DEFAULT_LIMIT_S, progress = progress,
        result = sofar,
    })
    wipe()
    must(result, id, code)
    local pages = result.pages_moved or result.pages_accepted
    if not context.json then
        context:out(move_outcome.words(plan, result), "\n") -- printed before the verdict, which takes time
        context:flush()
    end
    local outcome
    if seen and pages > 0 then
        local message
        outcome, message = witness.after(context, client, seen, id, result.items_lost)
        if not outcome then
            context:print_note(message)
        end
    end
    client:close()
    out_result(context, plan, result, outcome)
    return exit_code(result)
end

return M
