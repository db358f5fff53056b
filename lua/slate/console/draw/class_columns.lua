-- SPDX-License-Identifier: BSD-3-Clause
--- The columns of the table of classes: the meaning of each, its value for a class, and this value as text. The table,
-- filters and batch mode use them. Pure.
--
-- A column is { name (in filters, JSON and the man page), head, width, rank (columns leave a narrow table from the
-- highest rank down), form, has_total (a sum over classes makes sense), meaning, value = function(model, class,
-- window_s) }; class: of the model's snapshot. A rate is the mean over window_s; over a second or less, the newest one.
local figure = require "slate.console.figure"
local gather = require "slate.base.gather"
local question = require "slate.console.question"
local ratio <const> = require("slate.base.units").ratio
local server = require "slate.console.server"

local M = {}

local PAGE_CHANGE_WINDOW_S <const> = 60
local OWN_RANK <const> = 5 -- own columns come before columns that show known figures in other units

local function figure_of(name)
    return function(_, class) return class[name] end
end

local function rate_of(name)
    return function(model, class, window_s)
        if window_s <= 1 then
            return model:class_metric(class.id, name)
        end
        return model:class_mean(class.id, name, window_s)
    end
end

local function ratio_of(part, whole)
    return function(...) return ratio(part(...), whole(...)) end
end

local function segment_of(name)
    return ratio_of(figure_of(name), figure_of("number"))
end

local function age_s(_, class)
    return server.tail_age_s(class)
end

-- The median of the newest snapshot asked for.
local median = {}

local function median_age_s(model)
    if median.now ~= model.now then
        local ages = gather.values(model.now.classes, server.tail_age_s)
        table.sort(ages)
        median = { now = model.now, age_s = ages[#ages // 2 + 1] }
    end
    return median.age_s
end

local hits, sets, evictions, unread = rate_of("hits"), rate_of("sets"), rate_of("evictions"), rate_of("unread")

--- The columns in their first order.
M.LIST = {
    { name = "class", head = "CL", width = 3, rank = 0, form = "exact", value = figure_of("id"),
        meaning = "slab class id" },
    { name = "size", head = "SIZE", width = 6, rank = 4, form = "exact", value = figure_of("chunk_size"),
        meaning = "chunk size in bytes: the largest item of the class with its header" },
    { name = "pages", head = "PAGES", width = 5, rank = 1, form = "count", has_total = true,
        value = figure_of("total_pages"), meaning = "pages (usually 1 MiB) that the class owns" },
    { name = "change", head = "Δ1m", width = 4, rank = 6, form = "delta", has_total = true,
        value = function(model, class) return model:page_change(class.id, PAGE_CHANGE_WINDOW_S) end,
        meaning = "change of PAGES within the last minute" },
    { name = "used", head = "USED", width = 5, rank = 8, form = "count", value = figure_of("used_chunks"),
        meaning = "chunks in use" },
    { name = "free", head = "FREE", width = 5, rank = 7, form = "count",
        value = function(_, class) return server.free_chunks(class) end, meaning = "free chunks" },
    { name = "items", head = "ITEMS", width = 5, rank = 10, form = "count", has_total = true,
        value = figure_of("number"), meaning = "items in the class; a large item may take chunks of several" },
    { name = "age", head = "AGE", width = 6, rank = 3, form = "age", value = age_s,
        meaning = "age of the oldest item that eviction could take: small means starved" },
    { name = "hits", head = "HIT/s", width = 6, rank = 2, form = "count", has_total = true, value = hits,
        meaning = "keys found in this class a second" },
    { name = "sets", head = "SET/s", width = 6, rank = 9, form = "count", has_total = true, value = sets,
        meaning = "store commands for this class a second" },
    { name = "ev", head = "EV/s", width = 6, rank = 1, form = "count", has_total = true, value = evictions,
        meaning = "live items thrown out of this class a second" },
    { name = "usedpct", head = "USED%", width = 5, rank = 12, form = "share",
        value = ratio_of(figure_of("used_chunks"), figure_of("total_chunks")),
        meaning = "share of the chunks in use" },
    { name = "unread", head = "UNRD%", width = 5, rank = 13, form = "share", value = ratio_of(unread, evictions),
        meaning = "share of the evicted items that were never read" },
    { name = "agex", head = "AGE/MED", width = 7, rank = 11, form = "count", value = ratio_of(age_s, median_age_s),
        meaning = "AGE over the median AGE of all classes" },
    { name = "waste", head = "WST%", width = 5, rank = 14, form = "share",
        value = function(model, class) return (model:row(class.id) or {}).slack_ratio end,
        meaning = "share of the used chunks' bytes that items do not fill" },
    { name = "oom", head = "OOM/s", width = 5, rank = 15, form = "count", has_total = true,
        value = rate_of("out_of_memory"), meaning = "sets refused for want of memory a second" },
    { name = "hot", head = "HOT%", width = 5, rank = 16, form = "share", value = segment_of("number_hot"),
        meaning = "share of the items in the hot segment of the LRU" },
    { name = "warm", head = "WARM%", width = 5, rank = 17, form = "share", value = segment_of("number_warm"),
        meaning = "share of the items in the warm segment" },
    { name = "cold", head = "COLD%", width = 5, rank = 18, form = "share", value = segment_of("number_cold"),
        meaning = "share of the items in the cold segment, where eviction takes from" },
    { name = "evicted", head = "EVICTED", width = 7, rank = 19, form = "count", has_total = true,
        value = figure_of("evicted"), meaning = "live items thrown out since the counters began" },
}

local by_name = {}
for _, column in ipairs(M.LIST) do
    by_name[column.name] = column
end

--- The column of this name; nil if there is none.
function M.named(name)
    return by_name[name]
end

local TEXTS <const> = {
    count = figure.count, delta = figure.delta, age = figure.age, share = figure.percent,
    exact = figure.chunk,
}

--- A value of a column as text, at most as wide as the column.
function M.format(column, value)
    return TEXTS[column.form](value)
end

--- The text of a column for a class.
function M.text(column, model, class, window_s)
    if column.cell then
        return column.cell(model, class)
    end
    return M.format(column, column.value(model, class, window_s))
end

--- The value in the unit of the table: shares in per cent. For filters and JSON.
function M.shown_value(column, model, class, window_s)
    local value = column.value(model, class, window_s)
    return column.form == "share" and value and value > 0 and value * 100 or value
end

-- The columns of an operator's own rules (slate.judge.rules).

local function own_column(i, title, width)
    local function of(cells, class)
        return cells[class.id] and cells[class.id][i]
    end
    return { head = title, width = width, rank = OWN_RANK,
        cell = function(model, class) return of(question.own_cells(model), class) or "-" end,
        value = function(model, class)
            local _, numbers = question.own_cells(model)
            local number = of(numbers, class)
            return number == number and number or nil -- 0/0 is not known
        end }
end

local own_of = setmetatable({}, { __mode = "k" })

--- The columns of these rules; none for nil. A cell is a text, made once for a snapshot; its value is a number, or nil.
function M.own(rules)
    if not rules then
        return {}
    elseif not own_of[rules] then
        own_of[rules] = {}
        for i, column in ipairs(rules.columns) do
            own_of[rules][i] = own_column(i, column.title, column.width)
        end
    end
    return own_of[rules]
end

return M
