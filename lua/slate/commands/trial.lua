-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl trial NAME=VALUE... --for TIME: changes settings for a while, and goes back when a bound is crossed.
local clock = require "slate.base.clock"
local guard = require "slate.judge.guard"
local units = require "slate.base.units"

local M = {}

local DEFAULT_FOR_S <const> = 60

function M.declare(command)
    command:argument("settings", "What to try: NAME=VALUE, as for set."):args("+"):argname("NAME=VALUE")
        :convert(function(text) return require("slate.commands.set").parse_pair(text) end)
    command:option("--for", "How long. Default: 1m"):argname("TIME"):convert(units.parse_duration):target("for_s")
    command:option("--guard", "Go back at once beyond this change: ev+20%, ev+100, loss+20%, oom+0 or hit-2 (points); "
        .. "may be given again. Default: ev+50%, loss+50%, hit-5 and oom+0"):argname("GUARD"):count("*")
        :convert(guard.parse)
    command:option("--interval", "Time between samples. Default: 1s"):argname("TIME"):convert(units.parse_duration)
    command:flag("--keep", "Keep the settings when the time is over and no guard was crossed.")
end

local function overview_between(before, now)
    return require("slate.judge.view").overview(now, require("slate.facts.snapshot").rates(before, now))
end

-- Takes back what was set, entries of the record, the last first. Returns how many could not be.
local function go_back(context, client, done)
    local failed = 0
    for i = #done, 1, -1 do
        local words, problem = require("slate.act.steps").take_back(context, client, done[i], true)
        context:say(words and "back: " .. words or "not taken back: " .. problem)
        failed = failed + (words and 0 or 1)
    end
    return failed
end

-- Watches until time is over. Returns the overview since the change and the sentence of a crossed guard; or nil,
-- message, code.
local function watch(context, client, parsed, base)
    local guards = #parsed.guard > 0 and parsed.guard or guard.defaults()
    local for_s = parsed.for_s or DEFAULT_FOR_S
    local first, message, code = context:snapshot(client)
    if not first then
        return nil, message, code
    end
    local until_s, lately, last = clock.steady_s() + for_s, { first }, nil
    while clock.steady_s() < until_s do
        clock.sleep(math.min(parsed.interval or 1, math.max(0.01, until_s - clock.steady_s())))
        local now
        now, message, code = context:snapshot(client)
        if not now then
            return nil, message, code
        end
        last, lately[#lately + 1] = overview_between(first, now), now
        local from_s = guard.judged_from_s(first.time_s, for_s, now.time_s)
        while from_s and lately[2].time_s <= from_s do
            table.remove(lately, 1)
        end
        local sentence = from_s and guard.first_crossed(guards, base, overview_between(lately[1], now))
        if sentence then
            return last, sentence
        end
    end
    return last
end

local function report(context, base, last, words)
    local function row(name, field, show)
        return { name, show(base[field]), show(last and last[field]) }
    end
    local function percent(ratio) return units.percent(ratio, 2) end
    if context.json then
        context:out_json("slate/trial/1", { server = context.server.name, outcome = words, before = base,
            during = last })
        return
    end
    context:out(require("slate.base.table").render({ { title = "", left = true }, { title = "BEFORE" },
        { title = "DURING" } },
        { row("hit ratio", "hit_ratio", percent), row("gets/s", "get_per_s", units.rate),
            row("evictions/s", "evictions_per_s", units.rate), row("items lost/s", "item_loss_per_s", units.rate),
            row("out of memory/s", "out_of_memory_per_s", units.rate) }), words, "\n")
end

-- Sets everything; the entries of what is done go to `done`, so that it can be taken back. true, or nil, message, code.
local function set_all(context, client, settings, done)
    for _, pair in ipairs(settings) do
        local words, id, entry = require("slate.act.steps").carry_out(context, client,
            { kind = "set", name = pair.name, value = pair.value })
        if not words then
            return nil, id, entry
        end
        done[#done + 1] = entry
        context:say(words)
    end
    return true
end

-- Everything between the first change and the last; raises for an interrupt.
local function try(context, client, parsed, base, done)
    local ok, message, code = set_all(context, client, parsed.settings, done)
    if not ok then
        return nil, message, code
    end
    return watch(context, client, parsed, base)
end

function M.run(context, parsed)
    if parsed.for_s == 0 then
        return nil, "a trial of no time shows nothing: --for takes more than 0", "usage"
    end
    local client, message, code = context:open()
    if not client then
        return nil, message, code
    end
    -- What the trial is held against: as long a time as guards judge it by.
    local now, before, rates = context:pair(client, math.min(guard.WINDOW_S, parsed.for_s or DEFAULT_FOR_S))
    if not now then
        return nil, before, rates
    end
    local base = require("slate.judge.view").overview(now, rates)
    local done = {}
    local finished, last, sentence, why = pcall(try, context, client, parsed, base, done)
    if finished and last and not sentence and parsed.keep then
        report(context, base, last, "the time is over and no guard was crossed: the settings stay")
        return 0
    end
    -- An interrupt may have left an answer unread: go back over a connection of its own.
    client:close()
    local other
    other, message, code = context:open()
    if not other then
        return nil, ("the settings could not be taken back: %s"):format(message), code
    end
    local failed = go_back(context, other, done)
    if not finished then
        error(last, 0)
    elseif not last then
        return nil, sentence, why
    end
    report(context, base, last, sentence and "taken back: " .. sentence
        or "the time is over and no guard was crossed: taken back\n--keep keeps such settings")
    return (failed > 0 or sentence) and 1 or 0
end

return M
