-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl plan: writes changes into a file, checked against the server; slatectl apply carries them out.
local must = require("slate.base.failure").must
local limits = require "slate.judge.thresholds"
local steps = require "slate.act.steps"

local M = {}

M.SCHEMA = "slate/plan/1"

function M.declare(command)
    local units = require "slate.base.units"
    command:option("--policy", "Take the page moves that this policy in Lua decides."):argname("POLICY")
    command:option("--move", "Move pages; may be given again."):argname("SRC:DST[:PAGES]"):count("*")
        :convert(function(text)
            local src, dst, pages = text:match("^(%d+):(%d+):?(%d*)$")
            if not src then
                return nil, ("'%s' is not SRC:DST or SRC:DST:PAGES"):format(text)
            end
            return { kind = "move", src = math.tointeger(src), dst = math.tointeger(dst),
                pages = math.tointeger(pages) or 1 }
        end)
    command:option("--set", "Change a setting; may be given again."):argname("NAME=VALUE"):count("*")
        :convert(function(text)
            local pair, problem = require("slate.commands.change.set").parse_pair(text)
            return pair and { kind = "set", name = pair.name, value = pair.value }, problem
        end)
    command:option("--interval", "How long the policy and predictions of moves observe the server. "
        .. "Default: 10s"):argname("TIME")
        :convert(units.parse_duration)
    command:option("-o --output", "The file to write. Default: standard output"):argname("FILE")
end

-- Observes the server for the time that policies and predictions need: an earlier snapshot, and the observer from it
-- on.
local function watch(context, client, parsed)
    local _, before, _, _, one = must(context:pair(client, math.max(parsed.interval or limits.lately_s, 0.01)))
    return before, one
end

-- The moves that a policy decides now, as steps, its reason to move nothing, and the observer; or nil, message, code.
local function decided(context, client, parsed)
    local one = must(require("slate.policy.file").open(parsed.policy))
    must(require("slate.facts.store").needs_slab(context.who, "pages that move"))
    local running, problem = one:start({})
    if not running then
        return nil, problem, "no"
    end
    local before, seen = watch(context, client, parsed)
    local moves, why = running:decide(before, seen.now)
    if not moves then
        return nil, ("policy %s: %s"):format(parsed.policy, why), "no"
    end
    local list = {}
    for i, one_move in ipairs(moves) do
        list[i] = { kind = "move", src = one_move.from, dst = one_move.to, pages = one_move.pages,
            reason = one_move.reason }
    end
    return list, why, seen
end

-- True if a step switches automove off. Such a step goes before moves: so automove moves no pages meanwhile. An undo
-- goes from the plan's end to its begin, so automove stays off there, too.
local function stops_automove(step)
    local settings = require "slate.facts.settings"
    return settings.row(step.name) == settings.row("slab_automove") and settings.same("slab_automove", step.value, "0")
end

-- The steps, and the observer if a policy decided; or nil, message, code.
local function gather(context, client, parsed)
    local list, why, seen = {}, nil, nil
    if parsed.policy then
        list, why, seen = must(decided(context, client, parsed))
    end
    table.move(parsed.move, 1, #parsed.move, #list + 1, list)
    for _, step in ipairs(parsed.set) do
        table.insert(list, stops_automove(step) and 1 or #list + 1, step)
    end
    if #list == 0 then
        return nil, parsed.policy and ("the policy moves nothing: %s"):format(why or "it gave no reason")
            or "nothing to plan: give --policy, --move or --set", parsed.policy and "no" or "usage"
    end
    return list, seen
end

-- Adds the predicted effect to each step of the list that moves pages.
local function predict_moves(context, client, parsed, list, seen)
    for _, step in ipairs(list) do
        if step.kind == "move" and not seen then
            seen = select(2, watch(context, client, parsed))
        end
        if step.kind == "move" then
            local made, words = require("slate.act.witness").predict(client, { observer = seen }, step.src, step.dst,
                step.pages)
            step.predicted, step.predicted_change = words, made and made.hit_ratio_change
            step.predicted_least, step.predicted_most = made and made.least, made and made.most
        end
    end
end

function M.run(context, parsed)
    local client = must(context:open())
    local list, seen = must(gather(context, client, parsed))
    for _, step in ipairs(list) do
        local prepared, message, code = steps.prepare(context, client, step)
        if not prepared then
            return nil, ("%s: %s"):format(steps.words(step), message), code
        end
        step.was = step.kind == "set" and prepared.was or nil
    end
    predict_moves(context, client, parsed, list, seen)
    client:close()
    local text = require("slate.base.json").encode({ schema = M.SCHEMA, server = context.server.name,
        time_s = require("slate.base.clock").time_s(), steps = require("slate.base.json").array(list) },
        { "schema", "server", "time_s", "kind" }) .. "\n"
    if not parsed.output then
        context:out(text)
        return 0
    end
    must(require("slate.base.files").write(parsed.output, text))
    for _, step in ipairs(list) do
        context:print_note(steps.words(step) .. (step.predicted and "; " .. step.predicted or ""))
    end
    context:print_note(("%s written to %s; slatectl apply carries it out"):format(
        require("slate.base.units").plural(#list, "step"), parsed.output))
    return 0
end

return M
