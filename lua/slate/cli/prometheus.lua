-- SPDX-License-Identifier: BSD-3-Clause
--- A snapshot in Prometheus' text format: names, types, units and help come from `stats describe` of slated, else
-- from what the library knows of memcached's statistics. Pure.
--
-- A statistic NAME is slate_NAME, one of a class slate_class_NAME{class="ID"}. A counter ends in _total; seconds and
-- bytes stand in the name, and microseconds are seconds. Values that are no numbers are left out.
local stats = require "slate.facts.stats"

local M = {}

-- Statistics that number or date something: no series anybody would draw.
local LEFT_OUT <const> = { pid = true, pointer_size = true, time = true, id = true }
local CLASS_LEFT_OUT <const> = { id = true }

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

-- Units of memcached's own statistics, so that a series has the same name on either server.
local UNITS <const> = { chunk_size = "bytes", mem_requested = "bytes", uptime = "seconds", age = "seconds",
    age_hot = "seconds", age_warm = "seconds", evicted_time = "seconds", rusage_user = "seconds",
    rusage_system = "seconds", time_in_listen_disabled_us = "microseconds" }

local function explained(name)
    local entries = require("slate.facts.explain").find(name)
    return entries and entries[1] and entries[1].meaning or nil
end

-- What is known of a statistic: { kind, unit, help }.
local function about(name, groups, descriptions)
    for _, group in ipairs(groups) do
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

-- The name of a metric and what its value is multiplied with.
local function metric_of(prefix, name, known)
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
        metric = metric:gsub("_total$", "")
    end
    return (prefix .. metric):gsub("[^%w_]", "_"), factor
end

local function escaped(text, quotes)
    text = text:gsub("\\", "\\\\"):gsub("\n", "\\n")
    return quotes and text:gsub('"', '\\"') or text
end

local function number(value)
    if math.type(value) == "integer" then
        return tostring(value)
    end
    return ("%.17g"):format(value)
end

-- Families in the order of their first sample.
local function add(families, metric, kind, help, labels, value)
    local family = families[metric]
    if not family then
        family = { metric = metric, kind = kind, help = help }
        families[metric] = family
        families[#families + 1] = family
    end
    family[#family + 1] = metric .. labels .. " " .. number(value)
end

local function sorted(values)
    local names = {}
    for name, value in pairs(values) do
        if math.type(value) then
            names[#names + 1] = name
        end
    end
    table.sort(names)
    return names
end

-- The classes to show, by id: all, none, or those with most pages.
local function chosen_classes(now, most)
    local list = table.move(now.classes, 1, #now.classes, 1, {})
    table.sort(list, function(a, b)
        if a.total_pages ~= b.total_pages then
            return (a.total_pages or 0) > (b.total_pages or 0)
        end
        return a.id < b.id
    end)
    list = table.move(list, 1, math.min(most or #list, #list), 1, {})
    table.sort(list, function(a, b) return a.id < b.id end)
    return list
end

-- How the server moves pages: a series whose label is the mode, and whether a mode failed (where a slated tells).
local function add_automove(families, now, automove)
    local mode = require("slate.judge.view").automove_mode(now)
    if mode then
        add(families, "slate_automove_mode", "gauge", "how the server moves pages by itself, in the label",
            ('{mode="%s"}'):format(escaped(tostring(mode), true)), 1)
    end
    if automove then
        add(families, "slate_automove_failed", "gauge", "1: a mode of automove failed since one was set", "",
            require("slate.facts.moves").failed(automove) and 1 or 0)
    end
end

-- Where the memory of the process is (where a slated tells).
local function add_process(families, process, descriptions)
    for _, name in ipairs(sorted(process or {})) do
        local known = about(name, { "memory" }, descriptions)
        add(families, metric_of("slate_memory_", name, known), known.kind == "counter" and "counter" or "gauge",
            known.help, "", process[name])
    end
end

--- The text for a snapshot. options: automove (totals of slate.facts.moves, of a slated), process (slate.facts.memory,
-- likewise), descriptions (of `descriptions`), classes (how many at most, those with most pages; nil: all).
function M.text(now, options)
    local families, descriptions = {}, options.descriptions or {}
    add(families, "slate_up", "gauge", "1: the server answered", "", 1)
    add(families, "slate_info", "gauge", "what the server is, in labels", ('{version="%s",slated="%s"}'):format(
        escaped(now.version or "", true), escaped(now.slated or "", true)), 1)
    add_automove(families, now, options.automove)
    for _, name in ipairs(sorted(now.general)) do
        if not LEFT_OUT[name] then
            local known = about(name, { "general" }, descriptions)
            local metric, factor = metric_of("slate_", name, known)
            add(families, metric, known.kind == "counter" and "counter" or "gauge", known.help, "",
                factor == 1 and now.general[name] or now.general[name] * factor)
        end
    end
    add_process(families, options.process, descriptions)
    for _, class in ipairs(chosen_classes(now, options.classes)) do
        for _, name in ipairs(sorted(class)) do
            if not CLASS_LEFT_OUT[name] then
                local known = about(name, { "slabs", "items" }, descriptions)
                local metric, factor = metric_of("slate_class_", name, known)
                add(families, metric, known.kind == "counter" and "counter" or "gauge", known.help,
                    ('{class="%d"}'):format(class.id), factor == 1 and class[name] or class[name] * factor)
            end
        end
    end
    local lines = {}
    for _, family in ipairs(families) do
        lines[#lines + 1] = ("# HELP %s %s"):format(family.metric, escaped(family.help))
        lines[#lines + 1] = ("# TYPE %s %s"):format(family.metric, family.kind)
        table.move(family, 1, #family, #lines + 1, lines)
    end
    return table.concat(lines, "\n") .. "\n"
end

--- The text for a server that does not answer.
M.DOWN = "# HELP slate_up 1: the server answered\n# TYPE slate_up gauge\nslate_up 0\n"

return M
