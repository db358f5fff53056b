-- SPDX-License-Identifier: BSD-3-Clause
--- Watches a server after a change, against figures from before it, and takes changes back. `trial` and `fleet apply`
-- share this.
local clock = require "slate.base.clock"
local bounds = require "slate.judge.bounds"

local M = {}

--- The server's figures between two snapshots.
function M.overview_between(before, now)
    return require("slate.judge.view").overview(now, require("slate.facts.snapshot").rates(before, now))
end

--- Watches a server that was just changed, for options.for_s with a sample each options.interval_s, and compares it
-- with `base`, an overview from before. Ends when one of options.guards is crossed. Returns the overview since the
-- change and the sentence of a crossed guard (nil without one); or nil, message, code.
function M.watch(context, client, base, options)
    local first, message, code = context:snapshot(client)
    if not first then
        return nil, message, code
    end
    local until_s, lately, last = clock.steady_s() + options.for_s, { first }, nil
    while clock.steady_s() < until_s do
        clock.sleep(math.min(options.interval_s, math.max(0.01, until_s - clock.steady_s())))
        local now
        now, message, code = context:snapshot(client)
        if not now then
            return nil, message, code
        end
        last, lately[#lately + 1] = M.overview_between(first, now), now
        local from_s = bounds.guards_judged_from_s(first.time_s, options.for_s, now.time_s)
        while from_s and lately[2].time_s <= from_s do
            table.remove(lately, 1)
        end
        local sentence = from_s and bounds.first_guard_crossed(options.guards, base, M.overview_between(lately[1], now))
        if sentence then
            return last, sentence
        end
    end
    return last
end

--- Carries steps out, one after the other. Appends the entries of the record to `done`, for the way back, also when a
-- step fails or an error is raised. Returns the sentences of the steps; or nil, message, code.
function M.carry_out(context, client, list, done)
    local steps, sentences = require "slate.act.steps", {}
    for i, step in ipairs(list) do
        local words, id, entry, of_failed = steps.carry_out(context, client, step)
        done[#done + 1] = words and entry or of_failed
        if not words then
            return nil, id, entry
        end
        sentences[i] = words
        context:print_note(words)
    end
    return sentences
end

--- Takes back the changes in `done`, entries of the record, the last first. Returns the number of failures.
function M.go_back(context, client, done)
    local failed = 0
    for i = #done, 1, -1 do
        local words, problem = require("slate.act.steps").take_back(context, client, done[i], true)
        context:print_note(words and "back: " .. words or "not taken back: " .. problem)
        failed = failed + (words and 0 or 1)
    end
    return failed
end

return M
