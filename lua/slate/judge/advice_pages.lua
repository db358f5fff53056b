-- SPDX-License-Identifier: BSD-3-Clause
--- Which class should get pages: the move that slatectl doctor and slatetop name, with what it is predicted to bring,
--- and what a page is worth to each class.
local foresight = require "slate.facts.foresight"
local must = require("slate.base.failure").must
local order = require "slate.base.order"
local outlook = require "slate.judge.outlook"
local predict = require "slate.judge.predict"
local recent = require "slate.judge.recent"
local relief = require "slate.judge.relief"
local starving = require "slate.judge.starving"
local units = require "slate.base.units"
local view = require "slate.judge.view"
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

-- The first class that starves and its move: one that pages would help, else the worst; nil where none starves.
local function first_of(one, curves)
    local id, move = relief.in_need(one, curves)
    local row = not id and starving.worst(one.rows)
    if row then
        return row, relief.of(one, row.id, curves)
    end
    for _, other in ipairs(id and one.rows or {}) do
        if other.id == id then
            return other, move
        end
    end
end

-- What would help a class that pages do not help: words, and the command for it, of a slated.
local function instead_of(client, one, move, is_slated)
    local curve, totals, policies
    if is_slated then
        curve = foresight.curve(client)
        totals, policies = foresight.whatif(client)
    end
    local about = outlook.about(one)
    about.starves = nil
    return relief.instead(one, move, curve and outlook.memory(curve, about),
        totals and outlook.policy({ totals = totals, policies = policies }, about))
end

-- What to do for a class that refuses stores: pages of others, whatever hits they bring.
local function help_refusing(advice, row, move)
    if not move then
        advice.text = ("%s; %s"):format(relief.refusal(row), relief.remedy(nil))
        return
    end
    local command = ("slatectl move %d %d %d"):format(move.from, row.id, move.pages)
    advice.src, advice.dst, advice.pages = move.from, row.id, move.pages
    advice.text = ("%s, while class %d %s:"):format(relief.refusal(row), move.from, relief.giver_has(move))
    advice.commands = { command .. " --dry-run", command .. " --verdict" }
end

-- What to do for the class that starves: the same move that doctor and slatetop name, or why none.
local function help_starving(advice, row, move, instead)
    local command, made = ("slatectl move %d %d %d"):format(move.from, row.id, move.pages), move.made
    advice.src, advice.dst, advice.pages = move.from, row.id, move.pages
    advice.predicted_change = made and made.hit_ratio_change
    advice.predicted_least, advice.predicted_most = made and made.least, made and made.most
    if not move.is_advised then
        local what, todo = instead()
        advice.text = ("%s. No move is advised: %s; %s"):format(relief.no_use(move), what, todo)
        return
    end
    local pages = units.plural(move.pages, "page") .. " from there"
    advice.text = ("%s. %s:"):format(relief.need(row, move), made and ("%s should bring %s"):format(pages,
        predict.words(made)) or ("What %s would bring is not known: %s"):format(pages, move.why))
    advice.commands = { command .. " --dry-run", command .. " --verdict" }
end

--- What `slatectl advise pages` says: which class should get pages, from which, and what that brings. Arguments and
-- results are those of the functions of slate.judge.advice.
function M.advise(context, client, options)
    must(require("slate.facts.store").needs_slab(context.who, "pages that move"))
    local now, _, rates, _, _, one = must(context:pair(client, options.interval or recent.SPAN_S))
    local curves = all_curves(client, now)
    local refusing, for_refusing = relief.refusing(one, curves)
    local row, move = first_of(one, curves)
    local list = worth.classes(one, { curves = curves })
    local shown = order.first(list, WORTH_SHOWN)
    local advice = { facts = {}, table = #shown > 0 and worth_table(shown) or nil, commands = {},
        classes = require("slate.base.json").array(list) }
    if #shown > 0 then
        advice.facts[1] = { "worth of a page",
            "in hits a second, as a move of one page is predicted" }
    end
    if refusing then
        help_refusing(advice, refusing, for_refusing)
    elseif move then
        help_starving(advice, row, move, function()
            return instead_of(client, one, move, now.slated)
        end)
    else
        local mode = view.automove_mode(now)
        advice.text = (view.knows_starving(now, rates, one and one.rows or {}) and "no class starves"
            or view.STARVING_UNKNOWN) .. ": no move is advised" .. (curves and ("; %s moves pages to where they bring "
            .. "most hits"):format(mode == "utility" and "automove utility" or "utility") or "")
        advice.commands[1] = curves and mode ~= "utility" and "slatectl automove utility" or nil
    end
    return advice
end

return M
