-- SPDX-License-Identifier: BSD-3-Clause
--- Other chunk sizes for the items of a server, and what each of them would bring: the table of slatetop's Sizes view.
--- Pure.
--
-- A slated predicts them itself, whole pages and each class's first one counted; of a memcached that keeps track of
-- sizes they are reckoned, by the figures of `slatectl advise sizes`.
local advise = require "slate.judge.advise"
local chunks = require "slate.facts.chunks"
local geometry = require "slate.facts.geometry"
local sizehist = require "slate.facts.sizehist"

local M = {}

local AS_GOOD_RATIO <const> = 0.001 -- of the items: so little less is worth fewer classes

-- As orders: slated has them all, a start of memcached the factors.
local ORDERS <const> = { "factor 1.04", "factor 1.08", "factor 1.15", "factor 1.25", "factor 1.50", "factor 2.00",
    "auto" }

local function lines_of(text)
    local lines = {}
    for line in (text or ""):gmatch("[^\r\n]+") do
        lines[#lines + 1] = line
    end
    return lines
end

-- The sizes that a factor makes on this server; nil of another order, and where the server does not tell its limits.
local function sizes_of(now, order)
    local factor = tonumber(order:match("^factor (%S+)$"))
    local settings = now.settings or {}
    local room, most = settings.chunk_size, settings.slab_chunk_max or settings.item_size_max
    return factor and factor > 1 and room and most and chunks.by_factor(factor, room, most) or nil
end

-- Adds a size where it belongs, once.
local function add_size(sizes, bytes)
    local at = #sizes + 1
    while at > 1 and sizes[at - 1] >= bytes do
        at = at - 1
    end
    if sizes[at] ~= bytes then
        table.insert(sizes, at, bytes)
    end
end

-- The sizes of now: as slated lists them, else by the settings, with those in use as they are.
local function sizes_now(now, geometry_text)
    local sizes = {}
    if geometry_text then
        local _, classes = geometry.parse(lines_of(geometry_text))
        for _, class in ipairs(classes) do
            if class.class_state ~= "retired" and math.type(class.chunk_size) then
                add_size(sizes, class.chunk_size)
            end
        end
        return sizes
    end
    local factor = (now.settings or {}).growth_factor
    sizes = factor and sizes_of(now, "factor " .. factor) or sizes
    for _, class in ipairs(now.classes) do
        if class.chunk_size then
            add_size(sizes, class.chunk_size)
        end
    end
    return sizes
end

-- What a slated said of an order. outlook: { classes, waste_pct, items_pct, would_be_made, words }; nil before it did.
local function predicted(outlook)
    if not outlook then
        return {}
    end
    return { is_known = true, is_worth_it = outlook.would_be_made, classes = outlook.classes,
        waste_ratio = outlook.waste_pct and outlook.waste_pct / 100, words = not outlook.items_pct and outlook.words
            or nil, items_change = outlook.items_pct and outlook.items_pct / 100 }
end

-- What an order would bring to a server that does not predict it.
local function reckoned(now, histogram, order, held_now)
    local sizes = sizes_of(now, order)
    if not sizes then
        return nil
    end
    local pages = (now.general.limit_maxbytes or 0) // chunks.PAGE_BYTES
    local held = advise.items_held(histogram, sizes, pages)
    local change = held and held_now and held / held_now - 1 or nil
    local judged = advise.judge(histogram, sizes, sizes[#sizes])
    return { is_known = true, is_worth_it = (change or 0) * 100 >= geometry.GAIN_LEAST_PCT, classes = #sizes,
        waste_ratio = judged.waste_ratio, items_change = change, sizes = sizes }
end

-- Marks the one that brings most items; of those that bring as many, the one with fewest classes.
local function mark_best(list)
    local best
    for _, choice in ipairs(list) do
        local more = choice.is_worth_it and choice.items_change and choice.items_change - (best and best.items_change
            or 0)
        if more and (more >= AS_GOOD_RATIO or best and math.abs(more) < AS_GOOD_RATIO
            and choice.classes < best.classes) then
            best = choice
        end
    end
    if best then
        best.is_best = true
    end
end

--- What other sizes would bring: { now = the sizes, ascending; waste_ratio (of now; nil when unknown); and the orders,
-- each { order, is_known, is_worth_it, is_best, classes, waste_ratio, items_change (of the items that as much memory
-- holds, as a ratio), sizes (of a factor), words (the server's, where it gives no figures) } }. one: of
-- slate.judge.observer. asked: replies as texts (geometry, sizes) and outlooks by order, as far as they are known. Of a
-- server that neither predicts nor keeps track of sizes there are no orders.
function M.choices(one, asked)
    local now = one.now
    local plan = { now = sizes_now(now, asked.geometry) }
    local histogram = not now.slated and asked.sizes and sizehist.of_sizes(lines_of(asked.sizes), now) or nil
    if not now.slated and (not histogram or histogram.items == 0) then
        return plan
    end
    local held = histogram and advise.items_held(histogram, plan.now, (now.general.limit_maxbytes or 0)
        // chunks.PAGE_BYTES)
    plan.waste_ratio = histogram and advise.judge(histogram, plan.now, plan.now[#plan.now]).waste_ratio
    for _, order in ipairs(ORDERS) do
        local choice = histogram and reckoned(now, histogram, order, held) or now.slated
            and predicted((asked.outlooks or {})[order]) or nil
        if choice then
            choice.order, choice.sizes = order, choice.sizes or sizes_of(now, order)
            plan[#plan + 1] = choice
        end
    end
    mark_best(plan)
    return plan
end

--- The orders, for those who ask a slated what each would bring.
function M.orders()
    return ORDERS
end

return M
