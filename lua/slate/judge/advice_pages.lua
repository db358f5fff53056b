-- SPDX-License-Identifier: BSD-3-Clause
--- Which class should get pages: the move that slatectl doctor and slatetop name, with what it is predicted to bring,
--- and what a page is worth to each class.
local foresight = require "slate.facts.foresight"
local must = require("slate.base.failure").must
local predict = require "slate.judge.predict"
local recent = require "slate.judge.recent"
local starving = require "slate.judge.starving"
local units = require "slate.base.units"
local worth = require "slate.judge.worth"

local M = {}

local WORTH_SHOWN <const> = 8

-- The curves of all classes and of the whole, of a slated; nil of others.
local function all_curves(client, now)
    local ids = { 0 }
    for _, class in ipairs(now.classes) do
        ids[#ids + 1] = class.id
    end
    return now.slated and foresight.curves(client, ids) or nil
end

-- The classes of which it is known what a page is worth to them, as a table for people.
local function worth_table(list)
    local cells = {}
    for i, one in ipairs(list) do
        cells[i] = { one.id, one.pages, "+" .. units.rate(one.gain), "-" .. units.rate(one.loss) }
    end
    return { columns = "CLASS|PAGES|PAGE MORE|PAGE LESS",
        rows = cells }
end

-- What so many pages from the giver would bring, as a sentence. made: of slate.judge.predict; nil, and why, where it
-- cannot be told.
local function promise_in_words(pages, made, why)
    local what = units.plural(pages, "page") .. " from there"
    if not made then
        return ("What %s would bring is not known: %s:"):format(what, why)
    elseif predict.promise(made) == "gain" then
        return ("%s should bring %s:"):format(what, predict.words(made))
    elseif predict.promise(made) == "loss" then
        return ("But %s would cost more hits than they bring: %s. Leave them where they are"):format(what,
            (predict.words(made):gsub(": it costs hits", "")))
    end
    return ("What %s would bring: %s:"):format(what, predict.words(made))
end

-- What to do for the class that starves most: the same move that doctor and slatetop name.
local function help_starving(advice, one, worst, curves)
    local giver, free_pages, keeps_s, pages = one:giver_for(worst.id)
    local made, why = predict.move(one, giver, worst.id, pages, curves)
    local move = ("slatectl move %d %d %d"):format(giver, worst.id, pages)
    advice.src, advice.dst, advice.pages = giver, worst.id, pages
    advice.predicted_change, advice.predicted_band = made and made.hit_ratio_change, made and made.band
    advice.text = ("class %d starves: it evicts %s items a second, which live %s, while class %d %s. %s"):format(
        worst.id, units.rate(worst.mean_evicted_per_s), units.age(worst.life_s), giver,
        starving.has_spare(free_pages) and "has " .. units.plural(free_pages // 1, "free page")
            or "keeps its items " .. units.age(keeps_s), promise_in_words(pages, made, why))
    advice.commands = made and predict.promise(made) == "loss" and {} or { move .. " --dry-run", move .. " --verdict" }
end

--- What `slatectl advise pages` says: which class should get pages, from which, and what that brings. Arguments and
-- results are those of the functions of slate.judge.advice.
function M.advise(context, client, options)
    must(require("slate.facts.store").needs_slab(context.who, "pages that move"))
    local now, _, _, _, _, one = must(context:pair(client, options.interval or recent.SPAN_S))
    local curves = all_curves(client, now)
    local worst = starving.worst(one.rows)
    local automove = curves and client:stats("automove")
    local list = worth.classes(one, { curves = curves,
        automove = automove and table.concat(automove, "\n") })
    local shown = table.move(list, 1, math.min(#list, WORTH_SHOWN), 1, {})
    local advice = { facts = {}, table = #shown > 0 and worth_table(shown) or nil, commands = {},
        classes = require("slate.base.json").array(list) }
    if #shown > 0 then
        advice.facts[1] = { "worth of a page",
            "hits a second, as a move of one is predicted, or as automove has measured it" }
    end
    if worst then
        help_starving(advice, one, worst, curves)
    else
        advice.text = "no class starves: no move is advised" .. (curves and "; utility moves pages to where they bring "
            .. "most hits" or "")
        advice.commands[1] = curves and "slatectl automove utility" or nil
    end
    return advice
end

return M
