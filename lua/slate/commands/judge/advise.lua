-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl advise pages|sizes|memory|automove|policy: the change to make, from the server's present figures.
local gather = require "slate.base.gather"
local must = require("slate.base.failure").must
local steps = require "slate.act.steps"
local witness = require "slate.act.witness"

local M = {}

local SUBJECTS <const> = {}
local ABOUT <const> = {
    { "pages", "which class should get pages, from which, and the expected gain" },
    { "sizes", "chunk sizes that waste least" }, { "memory", "how much memory is worth having" },
    { "automove", "which mode, or policy, should move pages" },
    { "policy", "which eviction policy would hit most" },
}
for i, about in ipairs(ABOUT) do
    SUBJECTS[i] = about[1]
end

function M.declare(command)
    local units = require "slate.base.units"
    local words = gather.values(ABOUT, function(about) return table.concat(about, ": ") end)
    command:argument("subject", table.concat(words, "; ") .. ". Without one: this list."):args("?")
        :choices(SUBJECTS):argname("SUBJECT")
    command:option("--from", "Where the sizes come from: sizehist, sizes or metadump; see sizes.")
        :choices(require("slate.facts.sizehist").SOURCES):argname("SOURCE")
    command:option("--classes", "Use N classes, besides the one of the largest chunk."):argname("N")
        :convert(units.whole(2, 254))
    command:option("--hits", "With memory: the hit ratio to reach, in per cent."):argname("PERCENT")
        :convert(function(text)
            local percent = units.parse_decimal(text)
            if percent and percent > 0 and percent <= 100 then
                return percent
            end
            return nil, ("'%s' is not a share in per cent"):format(text)
        end)
    local price = require("slate.judge.money").parse_price
    command:option("--price-per-gb", "With memory: price of a GiB a month; names the size of least cost.")
        :argname("PRICE"):convert(price)
    command:option("--price-per-miss", "With the price of memory: price of one miss, such as 2e-6.")
        :argname("PRICE"):convert(price)
    command:option("--reads-per-s", "With both prices: reads a second to reckon with. Default: those of the interval")
        :argname("N"):convert(require("slate.judge.money").parse_rate)
    command:flag("--apply", "With pages: make all moves of the plan; undo takes them back together.")
    witness.declare(command)
    command:option("--interval", "How long to measure rates. Default: 1s, and 3s where anything is "
        .. "evicted; with pages and prices 10s")
        :argname("TIME"):convert(units.parse_duration)
end

-- The problem of the given options; nil if there is none.
local function wrong_options(parsed)
    local given = parsed.price_per_gb or parsed.price_per_miss or parsed.reads_per_s
    if given and parsed.subject ~= "memory" then
        return "prices are for advise memory"
    elseif parsed.subject ~= "pages" and (parsed.apply or parsed.verdict) then
        return "--apply and --verdict are for advise pages"
    elseif parsed.verdict and not parsed.apply then
        return "--verdict needs --apply"
    elseif given and not (parsed.price_per_gb and parsed.price_per_miss) then
        return "a size that costs least needs both --price-per-gb and --price-per-miss"
    elseif given and parsed.hits then
        return "--hits and the prices exclude each other: the least memory has either a hit ratio or a price"
    end
end

local function list_subjects(context)
    if context.json then
        context:out_json("slate/advice/1", { subjects = require("slate.base.json").array(SUBJECTS) })
        return 0
    end
    context:out("slatectl advise SUBJECT:\n", context:pairs(ABOUT, true))
    return 0
end

-- Makes all moves of the plan and reports what came of them; one undo takes all back. An exit code.
local function apply(context, client, parsed, plan, one)
    local for_s = witness.wanted(parsed)
    local seen, results, id = { observer = one, for_s = for_s, began_s = one.now.time_s, predicted = plan.sum }, {}, nil
    if #plan.advised == 0 then
        return nil, "no move is advised: nothing was sent", "no"
    elseif not context.json then
        context:out(require("slate.judge.relief").sum_words(plan), "\n")
    end
    for i, move in ipairs(plan.advised) do
        local words, message, code = steps.carry_out(context, client,
            { kind = "move", src = move.from, dst = move.to, pages = move.pages })
        if not words then
            return nil, ("move %d of %d: %s; moves that stay made: %d"):format(i, #plan.advised, message, i - 1), code
        end
        id, results[i] = message, { words = words, id = message }
        if not context.json then
            context:out(words, "\n")
            context:flush()
        end
    end
    local outcome, problem
    if for_s then
        outcome, problem = witness.after(context, client, seen, id)
    end
    client:close()
    if problem then
        context:print_note(problem)
    end
    if context.json then
        context:out_json("slate/apply/1", { server = context.server.name, dry_run = false,
            steps = require("slate.base.json").array(results),
            outcome = outcome and require("slate.facts.audit").outcome_fields(outcome) })
    else
        context:out(outcome and outcome.words .. "\n" or "", (outcome or {}).not_judged ~= "restart"
            and "slatectl undo takes all of these moves back\n" or "")
    end
    return 0
end

function M.run(context, parsed)
    if not parsed.subject then
        return list_subjects(context)
    end
    local wrong = wrong_options(parsed)
    if wrong then
        return nil, wrong, "usage"
    end
    local client = must(context:open())
    local advice, plan, one = must(require("slate.judge.advice")[parsed.subject](context, client, parsed))
    if parsed.apply and plan then
        return apply(context, client, parsed, plan, one)
    end
    client:close()
    advice.server, advice.subject = context.server.name, parsed.subject
    advice.time_s = require("slate.base.clock").time_s()
    local code = advice.reads_needed and 1 or 0
    if context.json then
        require("slate.base.json").array(advice.commands)
        advice.facts, advice.table, advice.moves_table = nil, nil, nil -- the other fields have the figures
        context:out_json("slate/advice/1", advice)
        return code
    end
    local tables = require "slate.base.table"
    if advice.moves_table and #advice.moves_table.rows > 1 then
        context:out(context:table(advice.moves_table.columns, advice.moves_table.rows), "\n")
    end
    context:out(context:pairs(advice.facts))
    if advice.table then
        context:out(#advice.facts > 0 and "\n" or "", context:table(advice.table.columns, advice.table.rows))
    end
    context:out((#advice.facts > 0 or advice.table) and "\n" or "", tables.wrap(advice.text), "\n")
    for _, command in ipairs(advice.commands) do
        context:out("  ", command, "\n")
    end
    return code
end

return M
