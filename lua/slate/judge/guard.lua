-- SPDX-License-Identifier: BSD-3-Clause
--- Guards of a trial: what change from before is too much. Pure. slatetop and slatectl go by the same.
local units = require "slate.base.units"

local M = {}

--- What is judged, before and during a trial: figures of the last seconds, at most.
M.WINDOW_S = 10

local SETTLE_S <const> = 5 -- behind the change, when everything moves; of a short trial a quarter
local EVICTIONS_LEAST_PER_S <const> = 10 -- fewer cross no share of what was

local FIGURES <const> = {
    hit = { get = function(overview) return overview.hit_ratio and overview.hit_ratio * 100 end, is_low_bad = true,
        write = function(points) return ("%.1f%%"):format(points) end },
    ev = { get = function(overview) return overview.evictions_per_s end, write = units.rate,
        share_from = EVICTIONS_LEAST_PER_S },
    loss = { get = function(overview) return overview.item_loss_per_s end, write = units.rate,
        share_from = EVICTIONS_LEAST_PER_S }, -- evictions, and what page moves drop
    oom = { get = function(overview) return overview.out_of_memory_per_s end, write = units.rate },
}

--- Reads a guard: "ev+20%", "ev+100", "hit-2" (points). Returns { name, sign, amount, is_share, text }, or nil and a
-- message.
function M.parse(text)
    local name, sign, amount, percent = text:match("^(%l+)([+-])([%d.]+)(%%?)$")
    if not (name and FIGURES[name] and tonumber(amount)) then
        return nil, ("'%s' is not a guard: write ev+20%%, ev+100, loss+20%%, oom+0 or hit-2 (points)"):format(text)
    elseif (sign == "-") ~= (FIGURES[name].is_low_bad == true) then
        return nil, ("'%s' guards the good direction: write %s%s%s"):format(text, name,
            sign == "-" and "+" or "-", amount)
    end
    return { name = name, amount = tonumber(amount), is_share = percent == "%", text = text }
end

local function all(...)
    local guards = {}
    for i, text in ipairs({ ... }) do
        guards[i] = M.parse(text)
    end
    return guards
end

-- A move of pages costs items at once, and its hits come later: where hits are up already, what was lost was not worth
-- more than what came.
local GAIN_RATIO <const> = 0.01

-- Two guards, of evictions and of losses, that are not crossed while hits are up by a point.
local function of_losses(percent)
    local guards = all(("ev+%d%%"):format(percent), ("loss+%d%%"):format(percent))
    guards[1].unless_hits_rise, guards[2].unless_hits_rise = true, true
    return guards
end

--- The guards of who names none.
function M.defaults()
    local guards = of_losses(50)
    table.move(all("hit-5", "oom+0"), 1, 2, 3, guards)
    return guards
end

--- The guards of the terms that slatetop's review asks for. evictions_pct: items that are evicted, or dropped by page
-- moves, more by this share are too many while hits are not up by a point, and so is any store that is refused;
-- hit_points: the hit ratio less by so many is too little. 0: that is not guarded.
function M.of_terms(evictions_pct, hit_points)
    local guards = evictions_pct > 0 and of_losses(evictions_pct) or {}
    guards[#guards + 1] = evictions_pct > 0 and M.parse("oom+0") or nil
    guards[#guards + 1] = hit_points > 0 and M.parse(("hit-%d"):format(hit_points)) or nil
    return guards
end

--- From when on figures are judged now; nil: it is too early. begun_s, for_s: when the trial began, and how long it is.
function M.judged_from_s(begun_s, for_s, now_s)
    if now_s - begun_s < math.min(SETTLE_S, for_s / 4) then
        return nil
    end
    return math.max(begun_s, now_s - M.WINDOW_S)
end

-- Whether a guard waits, for hits are up by a point.
local function waits(guard, before, now)
    return guard.unless_hits_rise and (now.hit_ratio or 0) - (before.hit_ratio or 1) >= GAIN_RATIO
end

-- A sentence where a figure is beyond its guard, else nil.
local function beyond(guard, before, now)
    local figure = FIGURES[guard.name]
    local was, is = figure.get(before), figure.get(now)
    if not (was and is) then
        return nil
    end
    local room = guard.is_share and was * guard.amount / 100 or guard.amount
    local worse = figure.is_low_bad and was - is or is - was
    if worse > room and not (guard.is_share and is <= (figure.share_from or 0)) then
        return ("%s went from %s to %s, beyond %s"):format(guard.name, figure.write(was), figure.write(is), guard.text)
    end
    return nil
end

--- Is a guard crossed? before, now: { hit_ratio, evictions_per_s, item_loss_per_s, out_of_memory_per_s }, as far as
-- they are known. A sentence when it is, else nil.
function M.crossed(guard, before, now)
    return not waits(guard, before, now) and beyond(guard, before, now) or nil
end

--- The first of several that would be crossed if hits had not risen: its sentence, or nil.
function M.first_waiting(guards, before, now)
    for _, guard in ipairs(guards) do
        local sentence = waits(guard, before, now) and beyond(guard, before, now)
        if sentence then
            return sentence
        end
    end
end

--- The first of several that is crossed: its sentence, or nil.
function M.first_crossed(guards, before, now)
    for _, guard in ipairs(guards) do
        local sentence = M.crossed(guard, before, now)
        if sentence then
            return sentence
        end
    end
end

return M
