-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl apply FILE: carries a plan out, step by step; verifies and records each step.
local must = require("slate.base.failure").must
local steps = require "slate.act.steps"

local M = {}

local MOST_STEPS <const>, MOST_BYTES <const> = 1000, 1 << 20

function M.declare(command)
    command:argument("file", "A plan of slatectl plan."):argname("FILE")
    command:flag("--dry-run", "Check every step against the server as it is; send nothing.")
    command:flag("--any-server", "Apply a plan that was made for another server.")
end

local function is_step(step)
    if type(step) ~= "table" then
        return false
    elseif step.kind == "set" then
        return type(step.name) == "string" and type(step.value) == "string"
    end
    return step.kind == "move" and math.type(step.src) == "integer" and math.type(step.dst) == "integer"
        and math.type(step.pages) == "integer"
end

--- Reads and checks a plan: the table, or nil, message, code.
function M.load(path)
    local text, problem = require("slate.base.input").read(path, MOST_BYTES + 1)
    if not text then
        return nil, "cannot read " .. problem, "input"
    end
    local plan = #text <= MOST_BYTES and require("slate.base.json").decode(text)
    if type(plan) ~= "table" or plan.schema ~= "slate/plan/1" or type(plan.steps) ~= "table"
        or #plan.steps > MOST_STEPS then
        return nil, path .. " is not a plan of slatectl plan", "form"
    end
    for i, step in ipairs(plan.steps) do
        if not is_step(step) then
            return nil, ("%s: step %d is neither a setting nor a page move"):format(path, i), "form"
        end
    end
    return plan
end

-- Carries out one step, or returns what it would do: a sentence and its id, or nil, message, code.
local function do_step(context, client, step, dry_run)
    if not dry_run then
        return steps.carry_out(context, client, step)
    end
    local prepared, message, code = steps.prepare(context, client, step)
    if not prepared then
        return nil, message, code
    end
    return "would " .. steps.words(step)
end

function M.run(context, parsed)
    local plan = must(M.load(parsed.file))
    if plan.server ~= context.server.name and not parsed.any_server then
        return nil, ("the plan was made for %s, not for %s: --any-server applies it anyway"):format(
            tostring(plan.server), context.server.name), "usage"
    end
    local client = must(context:open())
    local results = {}
    for i, step in ipairs(plan.steps) do
        local words, id, why = do_step(context, client, step, parsed.dry_run)
        if not words then
            return nil, ("step %d of %d, %s: %s; steps that stay done: %d"):format(i, #plan.steps,
                steps.words(step), id, parsed.dry_run and 0 or i - 1), why
        end
        results[i] = { words = words, id = id }
        if not context.json then
            context:out(words, "\n")
        end
    end
    client:close()
    if context.json then
        context:out_json("slate/apply/1", { server = context.server.name, dry_run = parsed.dry_run or false,
            steps = require("slate.base.json").array(results) })
    elseif parsed.dry_run then
        context:out("nothing was sent\n")
    end
    return 0
end

return M
