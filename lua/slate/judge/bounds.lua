-- SPDX-License-Identifier: BSD-3-Clause
--- Compares figures of a server with bounds: those of monitoring, and the guards of a trial, which limit the change
-- from before. Pure. slatetop and slatectl use the same.
local chance = require "slate.judge.chance"
local gather = require "slate.base.gather"
local limits = require "slate.judge.thresholds"
local moves = require "slate.facts.moves"
local relief = require "slate.judge.relief"
local starving = require "slate.judge.starving"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local M = {}

-- Figures of a server against thresholds, as in monitoring plugins. Pure.

-- The ids of the classes that starve, or for which is_reported is true.
local function ids_of(about, is_reported)
    return gather.values(starving.in_order(about.rows, is_reported), "id")
end

-- The ids of the classes that starve, or would if a class that still fills its free pages could give them.
local function short_ids(about)
    return ids_of(about, function(row) return row.starves or starving.is_waiting(row) end)
end

--- The figures that monitoring can check: name, what (in words), get (reads the figure from { now, automove, over,
-- overview, rows, general, rates and knows_starving }), is_low_bad (a low value is bad), unit in performance data,
-- classes (their ids), why (the reason), warn and crit: the default thresholds, off if is_expected(the same): the value
-- is meant to be. is_common: all memcacheds since 1.6.13 report the figure. is_missed(the same): without it the state
-- is unknown, even without a given threshold.
M.FIGURES = {
    { name = "ev", what = "evictions a second", get = function(a) return a.overview.evictions_per_s end },
    { name = "loss", what = "items lost a second, by evictions and page moves",
        get = function(a) return a.overview.item_loss_per_s end },
    { name = "oom", what = "stores refused a second for lack of memory", crit = 0, is_common = true,
        classes = function(a) return ids_of(a, starving.refuses) end,
        get = function(a) return a.overview.out_of_memory_per_s end },
    { name = "hit", what = "per cent of reads that find their item", is_low_bad = true, unit = "%",
        get = function(a)
            local ratio = a.overview.hit_ratio or a.overview.hit_ratio_total
            return ratio and ratio * 100
        end },
    { name = "used", what = "per cent of the memory in use", unit = "%",
        get = function(a) return a.overview.used_ratio and a.overview.used_ratio * 100 end },
    { name = "over", what = "per cent of the limit that is held beyond it", unit = "%",
        warn = limits.held_most_ratio * 100, crit = limits.held_critical_ratio * 100,
        is_expected = function(a) return a.over and not a.over.is_much end,
        get = function(a) return a.over and a.over.over_ratio * 100 end },
    { name = "conns", what = "per cent of the connections in use", unit = "%",
        warn = limits.connections_most_ratio * 100, crit = limits.connections_critical_ratio * 100, is_common = true,
        get = function(a)
            local open, limit = view.connections(a.now)
            return open and limit and open / limit * 100
        end },
    { name = "refused", what = "connections turned away a second", crit = 0, is_common = true,
        get = function(a) return a.rates.refused_connections_per_s end },
    { name = "spread", what = "the longest life of evicted items, divided by the shortest, over the classes",
        get = function(a)
            return a.knows_starving and (starving.spread(a.rows) or 1) or nil
        end },
    { name = "starving", what = "classes that starve", warn = 0, is_common = true,
        classes = short_ids, get = function(a) return a.knows_starving and #short_ids(a) or nil end,
        why = function(a) return #ids_of(a) == 0 and starving.waiting(a.rows) and relief.measuring(a.rows) or nil end,
        is_missed = function(a)
            return a.rates.interval_s and not a.rates.reset and a.overview.evictions_per_s ~= 0
        end },
    { name = "failed", what = "1 when a mode of automove failed", warn = 0, get = function(a)
        return a.automove and (moves.failed(a.automove) and 1 or 0)
    end, why = function(a) return moves.failure(a.automove) end },
    { name = "uptime", what = "seconds since the server's start", is_low_bad = true, unit = "s",
        get = function(a) return a.general.uptime end },
}

local BY_NAME <const> = {}
for _, figure in ipairs(M.FIGURES) do
    BY_NAME[figure.name] = figure
end

--- Reads "NAME=NUMBER", also with a % or /s at the end. Returns { name, number }; or nil and a message.
function M.parse(text)
    local name, number = text:match("^(%l+)=([%d.]+)[%%/s]*$")
    if name == "down" then
        return nil, "a server that is down is always critical"
    elseif not (name and BY_NAME[name] and tonumber(number)) then
        return nil, ("'%s' is not a threshold: write NAME=NUMBER with one of %s"):format(text,
            table.concat(gather.values(M.FIGURES, "name"), ", "))
    end
    return { name, tonumber(number) }
end

local function crosses(figure, value, threshold)
    return threshold and (figure.is_low_bad and value < threshold or not figure.is_low_bad and value > threshold)
end

--- Compares the figures of one member (slate.fleet.members) with thresholds by name. given: { warn = { [name] = number
-- }, crit = … }. Returns a list of { name, what, value (absent when unknown), warn, crit, unit, classes (ids, of some),
-- why (words, of some), is_lacking (not reported, though a common figure), state = "ok" | "warning" | "critical" |
-- "unknown" }, unknown only for a figure with a given threshold or a missed one.
function M.judge(member, given)
    if member.observer then
        relief.plan(member.observer, member.curves) -- its judgement goes into the rows
    end
    local about = {
        now = member.now, automove = member.automove,
        over = starving.held_over(member.now, member.before),
        overview = view.overview(member.now, member.rates),
        rows = view.classes(member.now, member.before, member.rates, member.judge),
        general = member.now.general, rates = member.rates or {},
    }
    about.knows_starving = view.knows_starving(member.now, member.rates, about.rows)
    local list = {}
    for i, figure in ipairs(M.FIGURES) do
        local value = figure.get(about)
        local warn, crit = given.warn[figure.name], given.crit[figure.name]
        local is_bounded = warn or crit
        if not is_bounded and not (figure.is_expected and figure.is_expected(about)) then
            warn, crit = figure.warn, figure.crit
        end
        list[i] = {
            name = figure.name, what = figure.what, value = value, warn = warn, crit = crit, unit = figure.unit or "",
            classes = figure.classes and value and figure.classes(about) or nil,
            why = figure.why and value and figure.why(about) or nil,
            is_lacking = value == nil and figure.is_common and about.rates.interval_s ~= nil or nil,
            state = value == nil
                and ((is_bounded or figure.is_missed and figure.is_missed(about)) and "unknown" or "ok")
                or crosses(figure, value, crit) and "critical"
                or crosses(figure, value, warn) and "warning" or "ok",
        }
    end
    return list
end

-- Guards of a trial: limits of the change from before. Pure. slatetop and slatectl use the same.

local FIGURES <const> = {
    hit = { name = "hit_ratio", scale = 100, is_low_bad = true,
        write = function(points) return ("%.1f"):format(points) end,
        words = "hits", unit = " %", step = " points" },
    ev = { name = "evictions_per_s", write = units.rate,
        words = "evictions", share_from = limits.guard_evictions_least_per_s },
    loss = { name = "item_loss_per_s", write = units.rate,
        words = "lost items", share_from = limits.guard_evictions_least_per_s }, -- by evictions and page moves
    oom = { name = "out_of_memory_per_s", write = units.rate,
        words = "refused stores" },
}

--- Reads a guard: "ev+20%", "ev+100", "hit-2" (points). Returns { name, sign, amount, is_share, text }, or nil and a
-- message.
function M.parse_guard(text)
    local name, sign, amount, percent = text:match("^(%l+)([+-])([%d.]+)(%%?)$")
    if not (name and FIGURES[name] and tonumber(amount)) then
        return nil, ("'%s' is not a guard: write ev+20%%, ev+100, loss+20%%, oom+0 or hit-2 (points)"):format(text)
    elseif (sign == "-") ~= (FIGURES[name].is_low_bad == true) then
        return nil, ("'%s' guards the good direction: write %s%s%s"):format(text, name,
            sign == "-" and "+" or "-", amount)
    end
    return { name = name, sign = sign, amount = tonumber(amount), is_share = percent == "%", text = text }
end

-- Two guards, of evictions and of losses. Neither counts as crossed while hits are up by a point.
local function of_losses(percent)
    local guards = { M.parse_guard(("ev+%d%%"):format(percent)), M.parse_guard(("loss+%d%%"):format(percent)) }
    guards[1].unless_hits_rise, guards[2].unless_hits_rise = true, true
    return guards
end

--- The guards of a trial for which the operator names none.
function M.default_guards()
    local guards = of_losses(50)
    guards[3], guards[4] = M.parse_guard("hit-5"), M.parse_guard("oom+0")
    return guards
end

--- The guards of the terms in slatetop's review. evictions_pct: the most by which evicted items, or these with items
-- dropped by page moves, may grow while hits are not up by a point; then a refused store is too much, too. hit_points:
-- the most by which the hit ratio may fall. 0: no such guard.
function M.guards_of_terms(evictions_pct, hit_points)
    local guards = evictions_pct > 0 and of_losses(evictions_pct) or {}
    guards[#guards + 1] = evictions_pct > 0 and M.parse_guard("oom+0") or nil
    guards[#guards + 1] = hit_points > 0 and M.parse_guard(("hit-%d"):format(hit_points)) or nil
    return guards
end

-- True if a guard does not count now because hits are up by a point.
local function waits(guard, before, now)
    return guard.unless_hits_rise == true
        and (now.hit_ratio or 0) - (before.hit_ratio or 1) >= limits.gain_least_ratio
end

-- A sentence if a figure is beyond its guard, and whether by more than chance; else nil.
local function beyond(guard, before, now)
    local figure = FIGURES[guard.name]
    local was, is, scale = before[figure.name], now[figure.name], figure.scale or 1
    if not (was and is) then
        return nil
    end
    local step = tonumber(guard.sign .. guard.amount) / (guard.is_share and 100 or scale)
    local times = guard.is_share and 1 + step or 1
    local bound = guard.is_share and was * times or was + step
    local over = figure.is_low_bad and bound - is or is - bound
    if over <= 0 or guard.is_share and is <= (figure.share_from or -1) then
        return nil
    end
    local error = chance.error(figure.name, before, now, times, bound)
    return ("%s %s -> %s%s, over the bound of %s%g%s"):format(figure.words, figure.write(was * scale),
        figure.write(is * scale), figure.unit or "/s", guard.sign, guard.amount,
        guard.is_share and " %" or figure.step or "/s"), error ~= nil and over > limits.guard_errors_apart * error
end

--- The first of several guards that is crossed: its sentence, or nil. before, now: figures of slate.judge.verdict, the
-- former with their spreads.
function M.first_guard_crossed(guards, before, now)
    for _, guard in ipairs(guards) do
        local sentence, is_sure = beyond(guard, before, now)
        if sentence and is_sure and not waits(guard, before, now) then
            return sentence
        end
    end
end

--- The same for the last ten seconds of a trial; nil while it is too early, and after a flush, which would be judged in
-- its place. past: of slate.judge.verdict; begun_s,
-- for_s: the trial's begin and length.
function M.guard_crossed_lately(guards, before, past, begun_s, for_s)
    local last, previous = past[#past], past[#past - 1]
    if not previous or last.time_s - begun_s < math.min(limits.guard_settle_s, for_s / 4)
        or before.flushes ~= last.flushes then
        return nil
    end
    local from_s = math.max(begun_s, math.min(last.time_s - limits.lately_s, previous.time_s))
    return M.first_guard_crossed(guards, before, past:since(from_s))
end

--- The first of several guards beyond its bound that does not end the trial: a sentence with the reason, or nil.
function M.first_guard_spared(guards, before, now)
    for _, guard in ipairs(guards) do
        local sentence = beyond(guard, before, now)
        if sentence then
            return sentence .. (waits(guard, before, now) and ", which was allowed because hits rose"
                or ", which may be chance")
        end
    end
end

return M
