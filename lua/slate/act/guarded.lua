-- SPDX-License-Identifier: BSD-3-Clause
--- Watches a server after a change, against figures from before it, and takes changes back. `trial` and `fleet apply`
-- share this.
local clock = require "slate.base.clock"
local bounds = require "slate.judge.bounds"
local snapshot = require "slate.facts.snapshot"

local M = {}

--- The server's figures between two snapshots.
function M.overview_between(before, now)
    return require("slate.judge.view").overview(now, require("slate.facts.snapshot").rates(before, now))
end

-- A function that takes snapshots. Where the connection breaks, it waits for the server until until_s, and goes on over
-- another connection; it returns nil, message, code if the server does not come back.
local function sampler(context, client, until_s, interval_s)
    return function()
        local now, message, code = context:snapshot(client)
        if not now then
            context:print_note(message .. ": waiting for the server until the time is over")
        end
        while not now and clock.steady_s() < until_s do
            clock.sleep(interval_s)
            local other
            other, message, code = context:open()
            if other then
                client = other
                now, message, code = context:snapshot(client)
            end
        end
        return now, message, code
    end
end

--- Watches a server that was just changed, for options.for_s with a sample each options.interval_s, and compares it
-- with the time before. Ends when one of options.guards is crossed, or when the server was restarted. one: an observer
-- (of slate.judge.view) of the time before the change. Returns the overview since the change (nil if too little was
-- seen), the sentence of why it ended (nil: the time is over) and one of a guard beyond its bound that did not end it;
-- or nil, message, code.
function M.watch(context, client, one, options)
    local until_s, before = clock.steady_s() + options.for_s, one.now
    local base, first, last = one.past:before(before.time_s) or {}, nil, nil
    local sample = sampler(context, client, until_s, options.interval_s)
    while true do
        local now, message, code = sample()
        if not now then
            return nil, message, code
        elseif snapshot.is_restart(before, now) then
            return last, "the server restarted", "no"
        end
        one:observe(now, true)
        first = first or now
        last = now ~= first and M.overview_between(first, now) or nil
        local sentence = last
            and bounds.guard_crossed_lately(options.guards, base, one.past, first.time_s, options.for_s)
        local left_s = until_s - clock.steady_s()
        if sentence or last and left_s <= 0 then
            return last, sentence, bounds.first_guard_spared(options.guards, base, one.past:since(first.time_s))
        end
        clock.sleep(math.min(options.interval_s, math.max(0.01, left_s)))
    end
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

--- Takes back the changes in `done`, entries of the record, the last first; after a restart of the server since the
-- snapshot `before`, only what still stands. Returns the number of failures, whether the server was restarted, and the
-- number of changes that were not taken back because others changed the same.
function M.go_back(context, client, done, before)
    local steps, failed, is_restarted, left = require "slate.act.steps", 0, false, 0
    local under_way = context.command and context.command.under_way -- an interrupt came before its outcome
    if under_way and under_way.server == context.server.name and done[#done] ~= under_way then
        done[#done + 1] = under_way
    end
    for i = #done, 1, -1 do
        local words, problem, entry, _, was_restarted = steps.end_trial(context, client, done[i], before)
        context:print_note(words and (entry and "back: " .. words or words) or "not taken back: " .. problem)
        left = left + (words and not entry and not was_restarted and 1 or 0)
        failed, is_restarted = failed + (words and 0 or 1), is_restarted or was_restarted or false
    end
    return failed, is_restarted, left
end

return M
