-- SPDX-License-Identifier: BSD-3-Clause
--- Figures of a server held against thresholds, as monitoring plugins do. Pure.
local held = require "slate.judge.held"
local moves = require "slate.facts.moves"
local relief = require "slate.judge.relief"
local starving = require "slate.judge.starving"
local view = require "slate.judge.view"

local M = {}

-- The ids of the classes with a flag (of slate.judge.view), in the order in which they are told everywhere.
local function classes_with(about, flag)
    local rows, ids = {}, {}
    for _, row in ipairs(about.rows) do
        rows[#rows + 1] = (" " .. table.concat(row.flags, " ") .. " "):find(" " .. flag .. " ", 1, true) and row or nil
    end
    table.sort(rows, starving.goes_before)
    for i, row in ipairs(rows) do
        ids[i] = row.id
    end
    return ids
end

--- What can be checked: name, what it is, how it is read from { now, automove, over, overview, rows, general, rates,
-- knows_starving, one and curves (as for slate.judge.relief) }, whether a low value is the bad one, its unit in
-- performance data, the ids of the classes that it is about, why it is so, and the thresholds when none are given,
-- which hold unless is_expected(the same) says that such a value is meant to be. is_common: all memcacheds since 1.6.13
-- tell it; is_missed(the same): without it the state is not known, though nobody asked for it.
M.FIGURES = {
    { name = "ev", what = "evictions a second", get = function(a) return a.overview.evictions_per_s end },
    { name = "loss", what = "items lost a second, by evictions and page moves",
        get = function(a) return a.overview.item_loss_per_s end },
    { name = "oom", what = "stores refused a second for lack of memory", crit = 0, is_common = true,
        classes = function(a) return classes_with(a, "out_of_memory") end,
        get = function(a) return a.overview.out_of_memory_per_s end },
    { name = "hit", what = "per cent of reads that find their item", is_low_bad = true, unit = "%",
        get = function(a)
            local ratio = a.overview.hit_ratio or a.overview.hit_ratio_total
            return ratio and ratio * 100
        end },
    { name = "used", what = "per cent of the memory in use", unit = "%",
        get = function(a) return a.overview.used_ratio and a.overview.used_ratio * 100 end },
    { name = "over", what = "per cent of the limit that is held beyond it", unit = "%", warn = held.MOST_RATIO * 100,
        crit = 100, is_expected = function(a) return a.over and not a.over.is_much end,
        get = function(a) return a.over and a.over.over_ratio * 100 end },
    { name = "conns", what = "per cent of the connections in use", unit = "%", warn = 90, crit = 98, is_common = true,
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
        classes = function(a) return classes_with(a, "starving") end,
        get = function(a) return a.knows_starving and #classes_with(a, "starving") or nil end,
        is_missed = function(a)
            return a.rates.interval_s and not a.rates.reset and a.overview.evictions_per_s ~= 0
        end,
        is_expected = function(a) return a.one and not relief.in_need(a.one, a.curves) end },
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

--- Reads "NAME=NUMBER", also with a % or /s behind it. Returns { name, number }; or nil and a message.
function M.parse(text)
    local name, number = text:match("^(%l+)=([%d.]+)[%%/s]*$")
    if name == "down" then
        return nil, "a server that is down is always critical"
    elseif not (name and BY_NAME[name] and tonumber(number)) then
        local names = {}
        for i, figure in ipairs(M.FIGURES) do
            names[i] = figure.name
        end
        return nil, ("'%s' is not a threshold: write NAME=NUMBER with one of %s"):format(text,
            table.concat(names, ", "))
    end
    return { name, tonumber(number) }
end

local function crosses(figure, value, threshold)
    if not threshold then
        return false
    elseif figure.is_low_bad then
        return value < threshold
    end
    return value > threshold
end

--- The figures of one member (slate.fleet.members) against thresholds by name.
-- given: { warn = { [name] = number }, crit = … }. Returns a list of { name, what, value (absent when unknown), warn,
-- crit, unit, classes (ids, of some), why (words, of some), is_lacking (the server does not tell what others do),
-- state = "ok" | "warning" | "critical" | "unknown" }, unknown only for a figure that was asked for or is missed.
function M.judge(member, given)
    local about = {
        now = member.now, automove = member.automove, one = member.observer, curves = member.curves,
        over = held.over(member.now, member.before),
        overview = view.overview(member.now, member.rates),
        rows = view.classes(member.now, member.before, member.rates, member.judge),
        general = member.now.general, rates = member.rates or {},
    }
    about.knows_starving = view.knows_starving(member.now, member.rates, about.rows)
    local list = {}
    for i, figure in ipairs(M.FIGURES) do
        local value = figure.get(about)
        local warn, crit = given.warn[figure.name], given.crit[figure.name]
        local asked = warn or crit
        if not asked and not (figure.is_expected and figure.is_expected(about)) then
            warn, crit = figure.warn, figure.crit
        end
        list[i] = {
            name = figure.name, what = figure.what, value = value, warn = warn, crit = crit, unit = figure.unit or "",
            classes = figure.classes and value and figure.classes(about) or nil,
            why = figure.why and value and figure.why(about) or nil,
            is_lacking = value == nil and figure.is_common and about.rates.interval_s ~= nil or nil,
            state = value == nil and ((asked or figure.is_missed and figure.is_missed(about)) and "unknown" or "ok")
                or crosses(figure, value, crit) and "critical"
                or crosses(figure, value, warn) and "warning" or "ok",
        }
    end
    return list
end

return M
