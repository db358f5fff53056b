-- SPDX-License-Identifier: BSD-3-Clause
--- Advice about pages and about chunk sizes. Pure.
local automove = require "slate.facts.automove"
local chunks = require "slate.facts.chunks"
local fit = require "slate.judge.fit"
local gather = require "slate.base.gather"
local sampled = require "slate.facts.sampled"
local limits = require "slate.judge.thresholds"
local must = require("slate.base.failure").must
local first = require("slate.base.order").first
local relief = require "slate.judge.relief"
local prediction = require "slate.judge.prediction"
local starving = require "slate.judge.starving"
local units = require "slate.base.units"
local verdict = require "slate.judge.verdict"
local view = require "slate.judge.view"

local M = {}

-- Which class should get pages: the move that slatectl doctor and slatetop name, with its predicted gain, and the worth
-- of a page to each class.

local WORTH_SHOWN <const> = 8

-- The curves of all classes and of the whole cache, from a slated; nil from other servers.
local function all_curves(client, now)
    local ids = { 0 }
    for _, class in ipairs(now.classes) do
        ids[#ids + 1] = class.id
    end
    return now.slated and sampled.curves(client, ids) or nil
end

-- A table for people: the classes for which the worth of a page is known.
local function worth_table(list)
    local cells = gather.values(list, function(one)
        return { one.id, one.pages, "+" .. units.rate(one.gain), "-" .. units.rate(one.loss) }
    end)
    return { columns = "CLASS|PAGES|PAGE MORE|PAGE LESS",
        rows = cells }
end

-- What would help a class that pages do not help: words, and the command. is_slated: judges memory and policy, too.
local function instead_of(client, one, move, is_slated)
    local curve, totals, policies
    if is_slated then
        curve = sampled.curve(client)
        totals, policies = sampled.whatif(client)
    end
    local about = relief.about(one)
    about.starves = nil
    return relief.instead(one, move, curve and relief.memory(curve, about),
        totals and relief.policy({ totals = totals, policies = policies }, about, curve))
end

-- Why no move is advised. helpless: a move whose gain is not certain, or nil.
local function without_moves(client, one, now, helpless)
    if helpless then
        local what, todo = instead_of(client, one, helpless, now.slated)
        return ("%s. No move is advised: %s; %s"):format(relief.no_use(helpless), what, todo)
    end
    local utility = now.slated and (view.automove_mode(now) == "utility" and "; automove utility" or "; utility")
    return relief.no_move(one) .. (utility and utility .. " moves pages to where they bring most hits" or "")
end

-- The text of a plan with moves: its first one in full, and what all bring.
local function text_of_moves(plan)
    local move = plan.advised[1]
    local need = move.refuses and ("%s, while class %d %s"):format(relief.refusal(move.row), move.from,
        relief.donor_has(move)) or relief.need_words(move.row, move)
    return ("%s. %s%s"):format(need, relief.sum_words(plan), automove.is_ruled_out(plan.now)
        and "; but first " .. relief.RULED_OUT or ":")
end

-- The moves for people, and for JSON.
local function moves_of(plan)
    local cells, list = {}, {}
    for i, move in ipairs(plan.advised) do
        local made = move.made or {}
        cells[i] = { move.from, move.to, move.pages, move.refuses and "refuses stores" or "starves",
            move.made and verdict.prediction_words(made) or "not known" }
        list[i] = { src = move.from, dst = move.to, pages = move.pages, refuses = move.refuses,
            predicted_change = made.hit_ratio_change, predicted_least = made.least, predicted_most = made.most }
    end
    return { columns = "FROM|TO|PAGES|CLASS<|EXPECTED (95%)<", rows = cells }, require("slate.base.json").array(list)
end

-- Adds the commands for the moves of a plan, and their predicted effect.
local function add_moves(advice, plan)
    local move, sum = plan.advised[1], plan.sum or {}
    local command = ("slatectl move %d %d %d"):format(move.from, move.to, move.pages)
    advice.src, advice.dst, advice.pages = move.from, move.to, move.pages
    advice.predicted_change, advice.predicted_least, advice.predicted_most = sum.hit_ratio_change, sum.least, sum.most
    advice.commands = automove.is_ruled_out(plan.now) and {}
        or plan.advised[2] and { "slatectl advise pages --apply --verdict" }
        or { command .. " --dry-run", command .. " --verdict" }
end

--- `slatectl advise pages`: the plan of page moves (slate.judge.page_plan) with its predicted gain, and the worth of a
-- page to each class. Arguments and results are those of the functions of slate.judge.advice; then the plan, and the
-- observer on which it rests.
function M.pages(context, client, options)
    must(require("slate.facts.store").needs_slab(context.who, "pages that move"))
    local now, _, _, _, one = must(context:pair(client, options.interval or limits.lately_s))
    local plan = relief.plan(one, now.slated and sampled.curves(client, relief.wanted(one)) or nil)
    local list = prediction.page_worth(one, { curves = all_curves(client, now) })
    local shown = first(list, WORTH_SHOWN)
    local advice = { facts = {}, table = #shown > 0 and worth_table(shown) or nil, commands = {},
        classes = require("slate.base.json").array(list) }
    if #shown > 0 then
        advice.facts[1] = { "worth of a page",
            "in hits a second, as a move of one page is predicted" }
    end
    advice.moves_table, advice.moves = moves_of(plan)
    if plan.advised[1] then
        add_moves(advice, plan)
        advice.text = text_of_moves(plan)
    elseif plan.stuck[1] then
        advice.text = ("%s; %s"):format(relief.refusal(plan.stuck[1]), relief.remedy(nil, plan))
    else
        advice.text = without_moves(client, one, now, plan[1])
        advice.commands[1] = now.slated and not plan[1] and view.automove_mode(now) ~= "utility"
            and "slatectl automove utility" or nil
    end
    return advice, plan, one
end

-- Chunk sizes by dynamic programming over a histogram of the items: the waste of today's sizes, of the best factor and
-- of the best sizes, and the commands for these.

-- The options that make these sizes; else "the server's own": it fitted them, or got them one by one as an option.
local function options_of(settings, sizes)
    local factor, room = settings.growth_factor or 0, settings.chunk_size
    local by_factor = factor > 1 and chunks.by_factor(factor, room, settings.slab_chunk_max) or {}
    return table.concat(by_factor, " ") == table.concat(sizes, " ") and ("-f %.4g -n %d"):format(factor, room)
        or "the server's own"
end

local function row_of(name, what, judged)
    return { name, judged.classes, units.percent(judged.waste_ratio, 1), units.bytes_in_words(judged.taken_bytes),
        what }
end

-- The commands for these sizes. order: the argument of `slatectl geometry` by which slated makes them.
local function size_commands(now, sizes, order)
    local list = "-o slab_sizes=" .. table.concat(sizes, "-")
    if not now.slated then
        return { "memcached " .. list }
    end
    local more = #sizes >= chunks.MOST_CLASSES and (" --slab-classes=%d"):format(#sizes + 1) or ""
    return { ("slatectl geometry %s --wait"):format(order), "slated " .. list .. more }
end

-- The sizes that slated itself would make, the order for them, and its prediction; nil if slated cannot predict them.
local function slated_sizes(client, classes, current)
    local geometry = require "slate.facts.geometry"
    local order = "auto" .. (classes and " " .. classes + 1 or "")
    local predicted, _, code = geometry.order(client, ("slabs geometry %s dry"):format(order))
    if predicted then
        local _, sizes = geometry.split_prediction(predicted)
        return sizes, order, predicted
    end
    return code == "no" and current or nil, order -- the server has these sizes already
end

-- Takes the server's own waste, which `slatectl geometry` shows for the same sizes, in place of the waste computed from
-- the histogram: its steps hide the exact sizes of items.
local function take_reported(judged, histogram, waste_ratio)
    if waste_ratio and waste_ratio < 1 and histogram.item_bytes then
        judged.waste_ratio = waste_ratio
        judged.taken_bytes = math.floor(histogram.item_bytes / (1 - waste_ratio))
    end
end

-- Takes a slated's figures for the waste of today's sizes, of the sizes that it predicts and of those of a factor.
local function predict_waste(client, histogram, predicted, now, best, by_factor, factor)
    local geometry = require "slate.facts.geometry"
    local after, before = geometry.predicted_waste(predicted)
    take_reported(now, histogram, before)
    take_reported(best, histogram, after)
    local of_factor = geometry.order(client, ("slabs geometry factor %.2f dry"):format(factor))
    take_reported(by_factor, histogram, of_factor and geometry.predicted_waste(of_factor))
end

local function sizes_text_of(now, judged, best, factor, factor_judged, by_itself)
    local saved = judged.waste_ratio - best.waste_ratio
    if saved < limits.waste_gain_least_ratio then
        return "leave the chunk sizes as they are: they are as good as the best ones" .. (by_itself and ""
            or ", which are")
    end
    local words = ("other sizes would save %s of %s"):format(
        units.bytes_in_words(judged.taken_bytes - best.taken_bytes), units.bytes_in_words(judged.taken_bytes))
    if by_itself == "changes" then
        return words .. (": leave that to the server, which fits its sizes by itself (slab_geometry_auto) where it "
            .. "holds 2 % more items, and a page more")
    elseif by_itself then
        return words .. "; the server, which fits its sizes by itself (slab_geometry_auto), leaves them as they are: "
            .. "a class more costs a page when the items change. This command takes the best sizes of now:"
    end
    if judged.waste_ratio - factor_judged.waste_ratio >= limits.waste_gain_least_ratio then
        words = words .. (", -f %.2f alone %s"):format(factor,
            units.bytes_in_words(judged.taken_bytes - factor_judged.taken_bytes))
    end
    return words .. (now.slated and "; slated changes them while it serves:" or "; memcached takes them at its start:")
end

-- What the server itself does about its sizes: "changes" (it will change them, the gain is large enough), "waits", or
-- nil: nothing.
local function does_by_itself(client, now)
    local geometry = require "slate.facts.geometry"
    local change = now.slated and geometry.read(client)
    return change and change.auto == "yes"
        and ((change.auto_gain or 0) >= geometry.GAIN_LEAST_PCT and "changes" or "waits") or nil
end

-- The best sizes without the largest chunk, the order by which slated makes them, and its prediction: slated's own
-- sizes, or those of slate.judge.fit for memcached and for option "from". Nil when no item fits a chunk.
local function best_sizes_of(client, now, histogram, current, options)
    local settings = now.settings
    local sizes, order, predicted
    if now.slated and not options["from"] then
        sizes, order, predicted = slated_sizes(client, options.classes, current)
    end
    if sizes then
        sizes = table.move(sizes, 1, #sizes - 1, 1, {})
    else
        sizes = fit.least_waste_sizes(histogram, { classes = options.classes, chunk_max_bytes = settings.slab_chunk_max,
            room_bytes = settings.chunk_size, memory_bytes = now.general.limit_maxbytes or histogram.bytes })
        order = sizes and "sizes " .. table.concat(sizes, ",")
    end
    return sizes, order, predicted
end

--- `slatectl advise sizes`: f(context, client, options), as slate.judge.advice has one for each subject.
function M.sizes(context, client, options)
    must(require("slate.facts.store").needs_slab(context.who, "chunk sizes"))
    local now = must(context:snapshot(client))
    local settings = now.settings or {}
    local chunk_max, room = settings.slab_chunk_max, settings.chunk_size
    if not (chunk_max and room and math.max(chunk_max, room) <= chunks.PAGE_BYTES) then -- absent, or larger than a page
        return nil, "this server does not report slab_chunk_max and chunk_size", "unsupported"
    end
    local classes, complete = must(chunks.classes(client, now))
    local sizes = gather.values(classes, "chunk_bytes")
    local histogram = must(require("slate.facts.sizehist").read(client, options["from"], now))
    if histogram.items == 0 then
        return nil, "this server holds no item: chunk sizes cannot be judged", "no"
    end
    local best_sizes, order, predicted = best_sizes_of(client, now, histogram, sizes, options)
    if not best_sizes then
        return nil, "every item is larger than the largest chunk: sizes cannot help", "no"
    end
    local judged = fit.sizes_judged(histogram, sizes, chunk_max)
    local best = fit.sizes_judged(histogram, best_sizes, chunk_max)
    local factor, by_factor = fit.least_waste_factor(histogram, room, chunk_max, math.max(judged.classes,
        1 + (options.classes or fit.classes_for(now.general.limit_maxbytes or histogram.bytes))))
    if predicted then
        predict_waste(client, histogram, predicted, judged, best, by_factor, factor)
    end
    local by_itself = does_by_itself(client, now)
    local is_left = by_itself and (by_itself == "changes"
        or judged.waste_ratio - best.waste_ratio < limits.waste_gain_least_ratio)
    local over = starving.held_over(now)
    local text = not by_itself and over and over.is_much and over.is_by_classes
        and ("%d classes keep a page each, which is more than the limit of %s: have fewer%s"):format(over.classes,
            units.bytes_in_words(over.limit_bytes), now.slated and "; slated changes them while it serves:" or ":")
        or sizes_text_of(now, judged, best, factor, by_factor, by_itself)
    local unseen, unseen_most = fit.unseen_waste(histogram, fit.whole_sizes(best_sizes, chunk_max))
    return {
        facts = {
            { "items", ("%s, %s with their headers"):format(units.count(histogram.items),
                units.bytes_in_words(histogram.item_bytes or histogram.bytes)) },
            { "known from", histogram.source .. ": " .. histogram.why },
            { "other sizes", ("if item sizes change, the best sizes would waste %s on average, %s at most"):format(
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
