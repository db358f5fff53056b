-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl set NAME=VALUE...: changes settings of a running server, verifies and records them.
local must = require("slate.base.failure").must
local witness = require "slate.act.witness"

local M = {}

--- Reads NAME=VALUE, where a name may be one that slatetop shows: "automove ratio=0.7". Returns { name, value }, or nil
-- and a message.
function M.parse_pair(text)
    local name, value = text:match("^([%a_][%w_ %%/]*)=(.+)$")
    if name then
        return { name = name, value = value }
    end
    return nil, ("'%s' is not NAME=VALUE"):format(text)
end

function M.declare(command)
    command:argument("setting", "NAME VALUE, or NAME=VALUE any number of times; names as slatectl settings has them, "
        .. "or as slatetop's Tune; also automove, memory, and on slated policy."):args("+"):argname("SETTING")
    command:flag("--dry-run", "Check, predict and show what would be sent; send nothing.")
    witness.declare(command)
end

-- The requested settings: a list of { name, value }; or nil and a message.
local function pairs_of(words)
    if #words > 1 and not words[1]:find("=", 1, true) then
        local name, value = require("slate.facts.settings").split(table.concat(words, " "))
        return { { name = name, value = value } }
    end
    local list = {}
    for i, word in ipairs(words) do
        local pair, problem = M.parse_pair(word)
        if not pair then
            return nil, problem
        end
        list[i] = pair
    end
    return list
end

local UNCHECKED <const> = "the server checks the value when it is sent, and may refuse it"

-- What slatetop's review says of a setting before it is sent.
local function predicted(context, client, change)
    return must(require("slate.judge.prediction").of_setting(context, client,
        require("slate.act.shown").change({ kind = "set", name = change.name, value = change.is })))
end

--- Carries out settings one after the other and prints each result; the first failure ends it. steps: of
-- slate.act.steps, all of kind "set". verdict_s: how long to observe before and after; nil: no verdict. Returns an exit
-- code, or nil, message, code.
function M.apply(context, client, steps, dry_run, verdict_s)
    local changes = {}
    for i, step in ipairs(steps) do
        step.kind = "set"
        local change = must(require("slate.act.steps").prepare(context, client, step))
        changes[i] = { name = change.name, was = change.was, is = change.is, commands = change.lines,
            caution = dry_run and change.is_unchecked and UNCHECKED or nil }
        for _, said in ipairs(dry_run and predicted(context, client, changes[i]) or {}) do
            local key = said.label == "expects" and said.label or "caution"
            changes[i][key] = changes[i][key] and changes[i][key] .. "; " .. said.text or said.text
        end
    end
    local seen, outcome
    if verdict_s and not dry_run then
        seen = must(witness.before(context, client, verdict_s))
    end
    for i, step in ipairs(dry_run and {} or steps) do
        local words, id, code = require("slate.act.steps").carry_out(context, client, step)
        if not words then
            return nil, i > 1 and ("%s (%d of %d were set)"):format(id, i - 1, #steps) or id, code
        end
        changes[i].id, changes[i].words = id, words
        if not context.json then
            context:out(words, id and ("  (slatectl undo %d)"):format(id) or "", "\n")
        end
    end
    if seen then
        local message
        outcome, message = witness.after(context, client, seen, changes[#changes].id, nil, changes)
        if not outcome then
            context:print_note(message)
        end
    end
    if context.json then
        context:out_json("slate/set/1", { server = context.server.name, dry_run = dry_run or false, changes = changes,
            outcome = outcome and require("slate.facts.audit").outcome_fields(outcome) })
    elseif outcome then
        context:out(outcome.words, "\n")
    elseif dry_run then
        for _, change in ipairs(changes) do
            context:out(("%s; would send: %s\n"):format(require("slate.act.steps").changed_words(change),
                table.concat(change.commands, "; ")))
            for _, key in ipairs({ "caution", "expects" }) do
                if change[key] then
                    context:out(("%s: %s\n"):format(key, change[key]))
                end
            end
        end
        context:out("nothing was sent\n")
    end
    return 0
end

function M.run(context, parsed)
    local steps, problem = pairs_of(parsed.setting)
    if not steps then
        return nil, problem, "usage"
    end
    return M.apply(context, must(context:open()), steps, parsed.dry_run, witness.wanted(parsed))
end

return M
