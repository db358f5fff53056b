-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl trial NAME=VALUE... --for TIME: changes settings for a while, and restores them if a bound is crossed.
local gather = require "slate.base.gather"
local limits = require "slate.judge.thresholds"
local bounds = require "slate.judge.bounds"
local guarded = require "slate.act.guarded"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local DEFAULT_FOR_S <const> = 60

function M.declare(command)
    command:argument("settings", "What to try: NAME=VALUE, as for set."):args("+"):argname("NAME=VALUE")
        :convert(function(text) return require("slate.commands.change.set").parse_pair(text) end)
    command:option("--for", "How long. Default: 1m"):argname("TIME"):convert(units.parse_duration):target("for_s")
    command:option("--guard", "Go back at once when a figure changes by more: ev+20%, ev+100, loss+20%, oom+0 or "
        .. "hit-2 (points); "
        .. "may be given again. Default: ev+50%, loss+50%, hit-5 and oom+0"):argname("GUARD"):count("*")
        :convert(bounds.parse_guard)
    command:option("--interval", "Time between samples. Default: 1s"):argname("TIME"):convert(units.parse_duration)
    command:flag("--keep", "Keep the settings when the time is over and no guard was crossed.")
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
    context:out(context:table("<|BEFORE|DURING",
        { row("hit ratio", "hit_ratio", percent), row("gets/s", "get_per_s", units.rate),
            row("evictions/s", "evictions_per_s", units.rate), row("items lost/s", "item_loss_per_s", units.rate),
            row("out of memory/s", "out_of_memory_per_s", units.rate) }), words, "\n")
end

-- Makes the changes, and watches the guards to the end; raises for an interrupt. one: an observer of the time before.
local function try(context, client, parsed, one, done)
    local list = gather.values(parsed.settings, function(pair)
        return { kind = "set", name = pair.name, value = pair.value }
    end)
    local ok, message, code = guarded.carry_out(context, client, list, done)
    if not ok then
        return nil, message, code
    end
    return guarded.watch(context, client, one, { guards = #parsed.guard > 0 and parsed.guard or bounds.default_guards(),
        for_s = parsed.for_s or DEFAULT_FOR_S, interval_s = parsed.interval or 1 })
end

function M.run(context, parsed)
    if parsed.for_s == 0 then
        return nil, "--for takes more than 0: a trial needs some time", "usage"
    end
    local client = must(context:open())
    -- The baseline of the trial covers the same time as the guards' averages.
    local now, _, rates, _, one = must(context:pair(client, math.min(limits.lately_s, parsed.for_s or DEFAULT_FOR_S)))
    local base = require("slate.judge.view").overview(now, rates)
    local done = {}
    local finished, last, sentence, why = pcall(try, context, client, parsed, one, done)
    local over = "the time is over" .. (why and "; " .. why or " and no guard was crossed") -- why: of a guard
    if finished and last and not sentence and parsed.keep then
        report(context, base, last, over .. ": the settings stay")
        return 0
    end
    -- An interrupt may have left an answer unread: the undo uses a connection of its own.
    client:close()
    local other, message, code = context:open()
    if not other then
        local names = gather.values(parsed.settings, "name")
        return nil, ("%s could not be taken back: %s; slatectl undo does it when the server answers again, unless it "
            .. "was restarted"):format(table.concat(names, ", "), message), code
    end
    local failed, is_restarted, left = guarded.go_back(context, other, done, now)
    if not finished then
        error(last, 0)
    elseif is_restarted then
        report(context, base, last, "the server restarted, and nothing is judged: its settings are those of its start")
        return 1
    elseif not last then
        return nil, sentence, why
    end
    local words = sentence or over
    report(context, base, last, left > 0 and words .. ": settings that others changed meanwhile are not taken back"
        or sentence and "taken back: " .. sentence
        or words .. ": the settings are taken back\n--keep would have kept them")
    return (failed > 0 or left > 0 or sentence) and 1 or 0
end

return M
