-- SPDX-License-Identifier: BSD-3-Clause
--- Watches a server before and after a change, so that slatectl can report what came of it (see slate.judge.verdict).
local limits = require "slate.judge.thresholds"
local verdict = require "slate.judge.verdict"
local audit = require "slate.facts.audit"
local clock = require "slate.base.clock"
local view = require "slate.judge.view"

local M = {}

--- The default of --verdict, and the longest time that it takes, in seconds.
M.DEFAULT_S, M.MOST_S = 10, limits.verdict_lasts_s

local EVERY_S <const>, LEAST_S <const> = 1, 3

--- The option --verdict of a command that changes a server.
function M.declare(command)
    command:option("--verdict", ("Watch the server for so long before and after the change, 3s to %ds, and report "
        .. "the outcome. Default: %ds"):format(M.MOST_S, M.DEFAULT_S)):args("?"):argname("TIME"):convert(function(text)
        local for_s, problem = require("slate.base.units").parse_duration(text)
        if for_s and (for_s < LEAST_S or for_s > M.MOST_S) then
            return nil, ("--verdict takes %ds to %ds"):format(LEAST_S, M.MOST_S)
        end
        return for_s, problem
    end)
end

--- The time of the option --verdict, in seconds; nil without the option.
function M.wanted(parsed)
    return parsed.verdict and (parsed.verdict[1] or M.DEFAULT_S) or nil
end

--- Predicts the effect of moving pages (slate.judge.verdict), from the samples of a witness. Returns the prediction and
-- its words; nil and a message if too little was seen. client: queried for the curves of a slated's classes.
function M.predict(client, witness, src, dst, pages)
    local one = witness.observer
    local curves = one.now.slated and require("slate.facts.sampled").curves(client, { 0, src, dst }) or {}
    local made, why = verdict.predicted_move(one, src, dst, pages, curves)
    witness.predicted = made
    return made, made and "expected (95%): " .. verdict.prediction_words(made) or why
end

-- Shows the server to an observer for for_s seconds, or until ends() is true. ends: nil, or the observation goes on
-- over another connection when one breaks. True and the client in use; or nil, message, code.
local function watch(context, client, one, for_s, ends)
    local until_s, now, message, code = clock.steady_s() + for_s, nil, nil, nil
    while true do
        if client then
            now, message, code = context:snapshot(client)
        end
        local left_s = until_s - clock.steady_s()
        if now then
            one:observe(now)
            if left_s <= 0 or ends and ends() then
                return true, client
            end
        elseif left_s <= 0 or not ends then
            return nil, message, code
        end
        clock.sleep(math.min(EVERY_S, math.max(0, left_s)))
        if not now then
            client, message, code = context:meet()
        end
    end
end

--- Watches before the change. Returns a witness for `predict` and `after`; or nil, message, code.
function M.before(context, client, for_s)
    local one = view.observer()
    local ok, message, code = watch(context, client, one, for_s)
    if not ok then
        return nil, message, code
    end
    local caveat = one.past:caveat()
    if caveat then
        context:print_note(caveat)
    end
    return { observer = one, for_s = for_s, began_s = one.now.time_s }
end

-- The settings that were changed, as they are after a restart: words. changes: { name, is }.
local function settings_words(context, client, changes)
    local parts = {}
    for _, change in ipairs(changes) do
        local left = require("slate.act.steps").left_by_restart(context, client, change)
        parts[#parts + 1] = left and "; " .. left
    end
    return table.concat(parts)
end

--- Watches after the change until its time is over, or nothing can be judged any more; records what came of it with the
-- change of this id (nil: none is on record) and the items that the change is known to have cost (may be nil).
-- changes: { name, is } of each setting that was changed; nil for none. Returns the outcome with its words in the
-- field words; or nil, message, code. The change stays in any case, unless the server was restarted.
function M.after(context, client, witness, id, items_lost, changes)
    local one, ended_s = witness.observer, nil
    local ok, last, code = watch(context, client, one, witness.for_s, function()
        ended_s = ended_s or one.now.time_s
        local found = one:outcome(witness.began_s, ended_s)
        return found and found.not_judged and found.not_judged ~= "traffic"
    end)
    if not ok then
        return nil, "the change is made, but its outcome is unknown: " .. last, code
    end
    local outcome, words = one:outcome(witness.began_s, ended_s, items_lost)
    if not outcome then
        return { words = "too little traffic to judge the outcome" }
    end
    words = outcome.not_judged == "restart" and words .. settings_words(context, last, changes or {}) or words
    outcome.words, outcome.predicted = words, witness.predicted
    audit.note_outcome(context, id, outcome)
    return outcome
end

return M
