-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl trial NAME=VALUE... --for TIME: changes settings for a while, and goes back when a bound is crossed.
local clock = require "slate.base.clock"
local units = require "slate.base.units"

local M = {}

local FIGURES <const> = {
    hit = { get = function(overview) return overview.hit_ratio and overview.hit_ratio * 100 end, is_low_bad = true,
        write = function(points) return ("%.1f%%"):format(points) end },
    ev = { get = function(overview) return overview.evictions_per_s end, write = units.rate },
    loss = { get = function(overview) return overview.item_loss_per_s end, write = units.rate },
    oom = { get = function(overview) return overview.out_of_memory_per_s end, write = units.rate },
}

--- Reads a guard: "ev+20%", "ev+100", "hit-2" (points): what change from before is too much. Returns
-- { name, sign, amount, is_share, text }, or nil and a message. Pure.
function M.parse_guard(text)
    local name, sign, amount, percent = text:match("^(%l+)([+-])([%d.]+)(%%?)$")
    if not (name and FIGURES[name] and tonumber(amount)) then
        return nil, ("'%s' is not a guard: write ev+20%%, ev+100, loss+20%%, oom+0 or hit-2 (points)"):format(text)
    elseif (sign == "-") ~= (FIGURES[name].is_low_bad == true) then
        return nil, ("'%s' guards the good direction: write %s%s%s"):format(text, name,
            sign == "-" and "+" or "-", amount)
    end
    return { name = name, amount = tonumber(amount), is_share = percent == "%", text = text }
end

--- Is a guard crossed? before, now: overviews (slate.judge.view) with rates. A sentence when it is, else nil. Pure.
function M.crossed(guard, before, now)
    local figure = FIGURES[guard.name]
    local was, is = figure.get(before), figure.get(now)
    if not (was and is) then
        return nil
    end
    local room = guard.is_share and was * guard.amount / 100 or guard.amount
    local worse = figure.is_low_bad and was - is or is - was
    if worse > room then
        return ("%s went from %s to %s, beyond %s"):format(guard.name, figure.write(was), figure.write(is), guard.text)
    end
    return nil
end

function M.declare(command)
    command:argument("settings", "What to try: NAME=VALUE, as for set."):args("+"):argname("NAME=VALUE")
        :convert(function(text) return require("slate.commands.set").parse_pair(text) end)
    command:option("--for", "How long. Default: 1m"):argname("TIME"):convert(units.parse_duration):target("for_s")
    command:option("--guard", "Go back at once beyond this change: ev+20%, ev+100, loss+20%, oom+0 or hit-2 (points); "
        .. "may be given again. Default: ev+50%, loss+50%, hit-5 and oom+0"):argname("GUARD"):count("*")
        :convert(M.parse_guard)
    command:option("--interval", "Time between samples. Default: 1s"):argname("TIME"):convert(units.parse_duration)
    command:flag("--keep", "Keep the settings when the time is over and no guard was crossed.")
end

local function default_guards()
    return { M.parse_guard("ev+50%"), M.parse_guard("loss+50%"), M.parse_guard("hit-5"), M.parse_guard("oom+0") }
end

-- The overview since the snapshot `before`; or nil, message, code.
local function overview_since(context, client, before)
    local now, message, code = context:snapshot(client)
    if not now then
        return nil, message, code
    end
    return require("slate.judge.view").overview(now, require("slate.facts.snapshot").rates(before, now))
end

-- Takes back what was set, the last first. Returns how many could not be.
local function go_back(context, client, done)
    local failed = 0
    for i = #done, 1, -1 do
        local change = done[i]
        local words, problem = require("slate.act.steps").carry_out(context, client,
            { kind = "set", name = change.name, value = change.was }, change.id)
        context:say(words and "back: " .. words or "not taken back: " .. problem)
        failed = failed + (words and 0 or 1)
    end
    return failed
end

-- Watches until time is over; figures are those since the change, so that a moment decides nothing.
-- Returns the last overview and the sentence of a crossed guard; or nil, message, code.
local function watch(context, client, parsed, base)
    local guards = #parsed.guard > 0 and parsed.guard or default_guards()
    local before, message, code = context:snapshot(client)
    local until_s = clock.steady_s() + (parsed.for_s or 60)
    local last
    while before and clock.steady_s() < until_s do
        clock.sleep(math.min(parsed.interval or 1, math.max(0.01, until_s - clock.steady_s())))
        local overview, problem, why = overview_since(context, client, before)
        if not overview then
            return nil, problem, why
        end
        last = overview
        for _, guard in ipairs(guards) do
            local sentence = M.crossed(guard, base, overview)
            if sentence then
                return last, sentence
            end
        end
    end
    if not before then
        return nil, message, code
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

-- Sets everything; what is done is noted in `done`, so that it can be taken back. true, or nil, message, code.
local function set_all(context, client, settings, done)
    local steps = require "slate.act.steps"
    for _, pair in ipairs(settings) do
        local step = { kind = "set", name = pair.name, value = pair.value }
        local change, message, code = steps.prepare(context, client, step)
        local words, id = nil, nil
        if change then
            words, id, code = steps.carry_out(context, client, step)
            message = id
        end
        if not words then
            return nil, message, code
        end
        done[#done + 1] = { name = change.name, was = change.was, id = id }
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
    local interval_s = math.max(parsed.interval or 1, 0.01)
    local now, before, rates = context:pair(client, interval_s)
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
