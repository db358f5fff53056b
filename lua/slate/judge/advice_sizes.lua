-- SPDX-License-Identifier: BSD-3-Clause
--- Chunk sizes by dynamic programming over a histogram of the items: what those of now, those of the best factor and
-- the best ones waste, and what to type for them.
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local NO_GAIN <const> = 0.005 -- less than half a point of waste is not worth a change

local function sizes_text(sizes, separator)
    return table.concat(sizes, separator)
end

-- The sizes, and whether these are all; or nil, message, code.
local function current_sizes(client, now)
    local classes, complete = must(require("slate.facts.chunks").classes(client, now))
    local sizes = {}
    for i, class in ipairs(classes) do
        sizes[i] = class.chunk_bytes
    end
    return sizes, complete
end

-- The options that make these sizes; or that the server fitted them, or was told them one by one.
local function options_of(settings, sizes)
    local factor, room = settings.growth_factor or 0, settings.chunk_size
    local chunks = require "slate.facts.chunks"
    local by_factor = factor > 1 and chunks.by_factor(factor, room, settings.slab_chunk_max) or {}
    return table.concat(by_factor, " ") == table.concat(sizes, " ") and ("-f %.4g -n %d"):format(factor, room)
        or "the server's own"
end

local function row_of(name, what, judged)
    return { name, judged.classes, units.percent(judged.waste_ratio, 1), units.bytes(judged.taken_bytes), what }
end

-- What to type for these sizes. order: that of `slatectl geometry` by which slated makes them.
local function size_commands(now, sizes, order)
    local list = "-o slab_sizes=" .. sizes_text(sizes, "-")
    if not now.slated then
        return { "memcached " .. list }
    end
    local classes = require("slate.facts.chunks").MOST_CLASSES
    local more = #sizes >= classes and (" --slab-classes=%d"):format(#sizes + 1) or ""
    return { ("slatectl geometry %s --wait"):format(order), "slated " .. list .. more }
end

-- The sizes that slated itself would make, with the order for them, and its prediction; nil where it cannot tell.
local function slated_sizes(client, classes, current)
    local geometry = require "slate.facts.geometry"
    local order = "auto" .. (classes and " " .. classes + 1 or "")
    local prediction, _, code = geometry.order(client, ("slabs geometry %s dry"):format(order))
    if prediction then
        local _, sizes = geometry.split_prediction(prediction)
        return sizes, order, prediction
    end
    return code == "no" and current or nil, order -- they are these already
end

-- Takes the server's own figure in place of what the steps of a histogram let one reckon, in which the place of an item
-- within its step is not known: what `slatectl geometry` tells of the same sizes.
local function take_told(judged, histogram, waste_ratio)
    if waste_ratio and waste_ratio < 1 and histogram.item_bytes then
        judged.waste_ratio = waste_ratio
        judged.taken_bytes = math.floor(histogram.item_bytes / (1 - waste_ratio))
    end
end

-- What a slated says that the sizes of now, those of its own prediction and those of a factor waste.
local function ask_waste(client, histogram, prediction, now, best, by_factor, factor)
    local geometry = require "slate.facts.geometry"
    local after, before = geometry.predicted_waste(prediction)
    take_told(now, histogram, before)
    take_told(best, histogram, after)
    local of_factor = geometry.order(client, ("slabs geometry factor %.2f dry"):format(factor))
    take_told(by_factor, histogram, of_factor and geometry.predicted_waste(of_factor))
end

-- A histogram with what its items need as exactly as the server tells it.
local function histogram_of(client, now, source)
    local histogram = must(require("slate.facts.sizehist").read(client, source, now))
    if histogram.items == 0 then
        return nil, "this server holds no item: chunk sizes cannot be judged", "no"
    end
    return histogram
end

local function sizes_text_of(now, histogram, judged, best, factor, factor_judged, by_itself)
    local saved = judged.waste_ratio - best.waste_ratio
    if saved < NO_GAIN then
        return "leave the chunk sizes as they are: they are as good as the best ones" .. (by_itself and ""
            or ", which are")
    end
    local words = ("other sizes would save %s of %s"):format(units.bytes(judged.taken_bytes - best.taken_bytes),
        units.bytes(judged.taken_bytes))
    if by_itself == "changes" then
        return words .. (": leave that to the server, which fits its sizes by itself (slab_geometry_auto) where it "
            .. "holds 2 % more items, and a page more")
    elseif by_itself then
        return words .. "; the server, which fits its sizes by itself (slab_geometry_auto), leaves them as they are: "
            .. "a class more costs a page when the items change. This command takes the best sizes of now:"
    end
    if judged.waste_ratio - factor_judged.waste_ratio >= NO_GAIN then
        words = words .. (", -f %.2f alone %s"):format(factor,
            units.bytes(judged.taken_bytes - factor_judged.taken_bytes))
    end
    return words .. (now.slated and "; slated changes them while it serves:" or "; memcached takes them at its start:")
        .. (histogram.source == "metadump" and " (judged by a sample of keys)" or "")
end

-- What to say of a server of more classes with items than its limit has pages.
local function over_limit_text(now, over)
    return ("%d classes keep a page each, which is more than the limit of %s: have fewer%s"):format(over.classes,
        units.bytes(over.limit_bytes), now.slated and "; slated changes them while it serves:" or ":")
end

-- What the server does about its sizes by itself: "changes" them now that these bring enough, "waits", or nil where it
-- does nothing.
local function does_by_itself(client, now)
    local geometry = require "slate.facts.geometry"
    local change = now.slated and geometry.read(client)
    return change and change.auto == "yes"
        and ((change.auto_gain or 0) >= geometry.GAIN_LEAST_PCT and "changes" or "waits") or nil
end

-- The best sizes without the largest chunk, the order by which slated makes them, and its prediction: its own sizes, or
-- for stock memcached and for a histogram that was asked for, those of slate.judge.fit. Nil when no item fits a chunk.
local function best_sizes_of(client, now, histogram, current, options)
    local advise, settings = require "slate.judge.advise", now.settings
    local sizes, order, prediction
    if now.slated and not options["from"] then
        sizes, order, prediction = slated_sizes(client, options.classes, current)
    end
    if sizes then
        sizes = table.move(sizes, 1, #sizes - 1, 1, {})
    else
        sizes = advise.sizes(histogram, { classes = options.classes, chunk_max_bytes = settings.slab_chunk_max,
            room_bytes = settings.chunk_size, memory_bytes = now.general.limit_maxbytes or histogram.bytes })
        order = sizes and "sizes " .. sizes_text(sizes, ",")
    end
    return sizes, order, prediction
end

--- f(context, client, options), as slate.judge.advice has one for each subject.
function M.advise(context, client, options)
    must(require("slate.facts.store").needs_slab(context.who, "chunk sizes"))
    local now = must(context:snapshot(client))
    local settings, advise = now.settings or {}, require "slate.judge.advise"
    local chunk_max, room = settings.slab_chunk_max, settings.chunk_size
    if not (chunk_max and room) then
        return nil, "this server does not tell slab_chunk_max and chunk_size", "unsupported"
    end
    local sizes, complete = must(current_sizes(client, now))
    local histogram = must(histogram_of(client, now, options["from"]))
    local best_sizes, order, prediction = best_sizes_of(client, now, histogram, sizes, options)
    if not best_sizes then
        return nil, "every item is larger than the largest chunk: sizes cannot help", "no"
    end
    local judged, best = advise.judge(histogram, sizes, chunk_max), advise.judge(histogram, best_sizes, chunk_max)
    local factor, by_factor = advise.factor(histogram, room, chunk_max, math.max(judged.classes,
        1 + (options.classes or advise.classes_for(now.general.limit_maxbytes or histogram.bytes))))
    if prediction then
        ask_waste(client, histogram, prediction, judged, best, by_factor, factor)
    end
    local by_itself = does_by_itself(client, now)
    local is_left = by_itself and (by_itself == "changes" or judged.waste_ratio - best.waste_ratio < NO_GAIN)
    local over = require("slate.judge.held").over(now)
    local text = not by_itself and over and over.is_much and over.is_by_classes and over_limit_text(now, over)
        or sizes_text_of(now, histogram, judged, best, factor, by_factor, by_itself)
    local unseen, unseen_most = advise.unseen(histogram, advise.whole(best_sizes, chunk_max))
    return {
        facts = {
            { "items", ("%s, %s with their headers"):format(units.count(histogram.items),
                units.bytes(histogram.item_bytes or histogram.bytes)) },
            { "known from", histogram.source .. ": " .. histogram.why },
            { "sizes to come", ("for items of other sizes the best ones would waste %s on average, %s at most"):format(
                units.percent(unseen), units.percent(unseen_most)) },
        },
        table = {
            columns = "SIZES<|CLASSES|WASTE|TAKEN|OPTIONS<",
            rows = {
                row_of("now", complete and options_of(settings, sizes) or "", judged),
                row_of("best factor", ("-f %.2f -n %d"):format(factor, room), by_factor),
                row_of("best sizes", "below", best),
            },
        },
        text = text, commands = is_left and {} or size_commands(now, best_sizes, order),
        source = histogram.source, items = histogram.items, unseen_waste_ratio = unseen,
        unseen_waste_most_ratio = unseen_most, waste_ratio = judged.waste_ratio, sizes = best_sizes,
        sizes_waste_ratio = best.waste_ratio, factor = factor, factor_waste_ratio = by_factor.waste_ratio,
    }
end

return M
