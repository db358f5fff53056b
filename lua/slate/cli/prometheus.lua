-- SPDX-License-Identifier: BSD-3-Clause
--- A server's statistics as metrics: names, types, units and help come from `stats describe` of slated, else from the
-- library's knowledge of memcached's statistics. Pure.
--
-- A statistic NAME is slate_NAME, one of a class slate_class_NAME{class="ID"}. A counter ends in _total; names have
-- seconds or bytes, microseconds become seconds, and _count at the end is dropped, since only histograms have it.
-- Values that are no numbers are left out. The same figures follow with the names of memcached_exporter. slated's own
-- page has the same names (daemon/metrics/exposition.c); a spec compares both.
local gather = require "slate.base.gather"
local order = require "slate.base.order"
local stats = require "slate.facts.stats"

local M = {}

-- Statistics without a metric: numbers of processes and connections, and times of day.
local LEFT_OUT <const> = { pid = true, pointer_size = true, time = true, id = true }
-- The groups of `stats describe` that may have a statistic, by the prefix of its metric.
local GROUPS <const> = { slate_ = { "general" }, slate_class_ = { "slabs", "items" }, slate_memory_ = { "memory" },
    slate_moves_ = { "moves" }, memcached_ = { "general", "slabs", "items" } }

--- Parses lines of `stats describe`: a table from "group:name" to { kind, unit, help }.
function M.descriptions(lines)
    local found = {}
    for _, line in ipairs(lines or {}) do
        local name, kind, unit, help = line:match("^STAT (%S+) (%S+) (%S+) (.*)$")
        if name then
            found[name] = { kind = kind, unit = unit, help = help }
        end
    end
    return found
end

-- The units of memcached's own statistics, so that a series has the same name for memcached and slated.
local UNITS <const> = { chunk_size = "bytes", mem_requested = "bytes", uptime = "seconds", age = "seconds",
    age_hot = "seconds", age_warm = "seconds", evicted_time = "seconds", rusage_user = "seconds",
    rusage_system = "seconds", time_in_listen_disabled_us = "microseconds" }

local function explained(name)
    local entries = require("slate.facts.explain").find(name)
    return entries and entries[1] and entries[1].meaning or nil
end

-- The description of a statistic: { kind, unit, help }.
local function about(prefix, name, descriptions)
    for _, group in ipairs(GROUPS[prefix]) do
        local known = descriptions[group .. ":" .. name]
        if known then
            return known
        end
    end
    return {
        kind = stats.COUNTERS[name] and "counter" or "gauge",
        unit = UNITS[name] or "",
        help = explained(name) or ("memcached's statistic %s"):format(name),
    }
end

-- The name of a metric, and the factor of its value.
local function named(prefix, name, known)
    local metric, factor = name, 1
    if known.unit == "microseconds" then
        metric, factor = name:gsub("_us$", "") .. "_seconds", 1e-6
    elseif known.unit == "seconds" and not name:find("seconds", 1, true) then
        metric = name .. "_seconds"
    elseif known.unit == "bytes" and not name:find("bytes", 1, true) then
        metric = name .. "_bytes"
    end
    if known.kind == "counter" then
        metric = metric:gsub("_total$", "") .. "_total"
    else
        metric = metric:gsub("_total$", ""):gsub("_count$", "")
    end
    return (prefix .. metric):gsub("[^%w_]", "_"), factor
end

local NO_DESCRIPTIONS <const> = {}
local METRICS <const> = setmetatable({}, { __mode = "k" }) -- by descriptions, prefix and name: most names come again

-- The metric of a statistic: { name, kind, help, factor (multiplies the value; nil: none) }.
local function metric_of(prefix, name, descriptions)
    local of_all = METRICS[descriptions] or {}
    METRICS[descriptions] = of_all
    local of_prefix = of_all[prefix] or {}
    of_all[prefix] = of_prefix
    if not of_prefix[name] then
        local known = about(prefix, name, descriptions)
        local metric, factor = named(prefix, name, known)
        of_prefix[name] = { name = metric, kind = known.kind == "counter" and "counter" or "gauge", help = known.help,
            factor = factor ~= 1 and factor or nil }
    end
    return of_prefix[name]
end

-- Adds the numbers among values, by their names.
local function add_figures(families, prefix, values, descriptions, labels)
    for _, name in ipairs(gather.keys(values)) do
        local value = values[name]
        if math.type(value) and not LEFT_OUT[name] then
            local metric = metric_of(prefix, name, descriptions)
            families:add(metric.name, metric.kind, metric.help, labels, value * (metric.factor or 1))
        end
    end
end

-- Adds the mode in which the server moves pages, as a label; the pages moved so far, and whether a mode failed (if a
-- slated reports them).
local function add_automove(families, now, moves, descriptions)
    local mode = require("slate.judge.view").automove_mode(now)
    families:add("slate_automove_mode", "gauge", "how the server moves pages by itself, in the label",
        { { "mode", mode } }, mode and 1)
    if not moves then
        return
    end
    local failure = require("slate.facts.moves").failure(moves)
    families:add("slate_automove_failed", "gauge", "1: a mode of automove failed since one was set, why in the label",
        failure and { { "why", failure } } or nil, failure and 1 or 0)
    add_figures(families, "slate_moves_", moves, descriptions)
end

-- Adds predictions from sampled keys: the hit ratio of other amounts of memory and of other policies.
local function add_curve_and_policies(families, curve, policies)
    for _, point in ipairs(curve and curve.sizes or {}) do
        families:add("slate_predicted_hit_ratio", "gauge", "predicted hit ratio with a multiple of the memory",
            { { "memory", ("%g"):format(point[1]) } }, point[2])
    end
    for _, one in ipairs(policies or {}) do
        families:add("slate_policy_hit_ratio", "gauge", "hit ratio that the policy would have, by its miniature cache",
            { { "policy", one.policy } }, one.hit_ratio)
    end
end

local function add_starving(families, rows, shown)
    for _, row in ipairs(rows or {}) do
        if shown[row.id] and row.starves ~= nil then
            families:add("slate_class_starving", "gauge",
                "1: what the class evicts has lived much shorter than another's, which has pages to spare",
                { { "class", row.id } }, row.starves and 1 or 0)
        end
    end
end

--- Adds the metrics of a snapshot. options: moves (totals of slate.facts.moves, of a slated), process (`memory` of
-- slate.facts.stats, of a slated), policy, curve and policies (of slate.facts.sampled), hotkeys (of
-- slate.facts.hotkeys), rows (of an observer of several snapshots), descriptions (of `descriptions`), classes (the most
-- to show, those with the most pages; nil: all).
function M.add(families, now, options)
    local descriptions, shown = options.descriptions or NO_DESCRIPTIONS, {}
    -- By id: all, none, or those with the most pages.
    local classes = order.first(order.largest_first(order.first(now.classes), "total_pages", "id"), options.classes)
    table.sort(classes, function(a, b) return a.id < b.id end)
    families:add("slate_up", "gauge", "1: the server answered", nil, 1)
    families:add("slate_info", "gauge", "what the server is, in labels",
        { { "version", now.version or "" }, { "slated", now.slated or "" } }, 1)
    add_automove(families, now, options.moves, descriptions)
    families:add("slate_policy", "gauge", "the eviction policy, in the label", { { "policy", options.policy } },
        options.policy and 1)
    add_figures(families, "slate_", now.general, descriptions)
    add_figures(families, "slate_memory_", options.process or {}, descriptions)
    for _, class in ipairs(classes) do
        shown[class.id] = true
        add_figures(families, "slate_class_", class, descriptions, { { "class", class.id } })
    end
    add_starving(families, options.rows, shown)
    add_curve_and_policies(families, options.curve, options.policies)
    for _, one in ipairs(options.hotkeys or {}) do
        local hotkeys = require "slate.facts.hotkeys"
        local bounds, key = hotkeys.bounds, hotkeys.shown_key(one.key)
        families:add("slate_hotkey_requests", "gauge", "requests for the key in the last ten seconds, at least",
            { { "key", key } }, (bounds(one)))
        families:add("slate_hotkey_bytes", "gauge", "bytes of the key's values read in the last ten seconds, at least",
            { { "key", key } }, (bounds(one, "bytes")))
    end
    require("slate.cli.exporter_names").add(families, now, classes, function(name)
        return metric_of("memcached_", name, descriptions).help
    end)
end

--- Adds the metrics of a server that does not answer.
function M.add_down(families)
    families:add("slate_up", "gauge", "1: the server answered", nil, 0)
    families:add("memcached_up", "gauge", "1: the server answered", nil, 0)
end

return M
