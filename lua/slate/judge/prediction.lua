-- SPDX-License-Identifier: BSD-3-Clause
--- Before a change is sent: its likely gain, its unwanted effects, and what undo restores. Pure.
--
-- A change is { from, to, pages } (class ids; to 0: the pool) or { name, value }, as in the record of changes. Moves
-- that are sent together are judged together: a class that gives twice loses more by the second move.
--
-- Also: the worth of a page to each class, and the effect of other chunk sizes.
local answers = require "slate.facts.answers"
local automove = require "slate.facts.automove"
local chunks = require "slate.facts.chunks"
local faults = require "slate.facts.faults"
local fit = require "slate.judge.fit"
local sampled = require "slate.facts.sampled"
local geometry = require "slate.facts.geometry"
local limits = require "slate.judge.thresholds"
local page_plan = require "slate.judge.page_plan"
local largest_first = require("slate.base.order").largest_first
local relief = require "slate.judge.relief"
local policy_curve = require "slate.base.policy_curve"
local sizehist = require "slate.facts.sizehist"
local snapshot = require "slate.facts.snapshot"
local starving = require "slate.judge.starving"
local units = require "slate.base.units"
local verdict = require "slate.judge.verdict"
local view = require "slate.judge.view"

local M = {}

local MIB <const> = 1 << 20

-- Why a class should not give this number of pages: words behind "class 4"; nil if there is no reason.
local function against_giving(from, to, pages)
    local evicts, receiver = from.mean_evicted_per_s or 0, to and to.mean_evicted_per_s or 0
    local costs_items = (from.free_pages or 0) // 1 < pages
    local own_s, its_s = starving.lived_s(from), to and starving.lived_s(to)
    if costs_items and pages + 1 >= (from.pages or 0) then
        return "is left with one page: it evicts nearly all it has"
    elseif evicts > receiver then
        return ("evicts more: %s items a second, %s"):format(units.rate(evicts), not to and "and the pool needs nothing"
            or receiver > 0 and ("class %d only %s"):format(to.id, units.rate(receiver))
            or ("class %d none"):format(to.id))
    elseif costs_items and own_s and its_s and own_s < its_s then
        return ("would starve: it keeps its items %s, class %d %s"):format(units.age(own_s), to.id, units.age(its_s))
    elseif costs_items and evicts > 0 then
        return ("evicts too, %s items a second: it will evict more"):format(units.rate(evicts))
    end
end

-- Each class that gives pages in these moves, in their order, with all its pages: { from, pages }.
local function donors_of(moves)
    local list, by_id = {}, {}
    for _, move in ipairs(moves) do
        local one = by_id[move.from] or { from = move.from, pages = 0 }
        list[#list + 1] = not by_id[move.from] and one or nil
        by_id[move.from], one.pages = one, one.pages + move.pages
    end
    return list
end

-- The most items that a donor may lose: those on its pages, less those that fit into its free chunks; nil if unknown.
local function losses_of(one, donor)
    local class, row = snapshot.by_id(one.now)[donor.from], view.row_of(one.rows, donor.from)
    return class and class.chunks_per_page and row and row.free_pages
        and math.max(donor.pages - row.free_pages // 1, 0) * class.chunks_per_page or nil
end

-- The items that moves may lose, in words.
local function losses(one, donors)
    local sum, ids = 0, {}
    for i, donor in ipairs(donors) do
        local most = losses_of(one, donor)
        if not most then
            return "unknown: this server does not list free chunks"
        end
        sum, ids[i] = sum + most, donor.from
    end
    if sum == 0 then
        return ("probably nothing: %s ha%s as many free chunks as the pages hold"):format(units.classes(ids),
            #ids == 1 and "s" or "ve")
    end
    return ("up to %s items of %s, the oldest ones"):format(units.count(sum), units.classes(ids))
end

local function caution_words(one, change)
    local from = view.row_of(one.rows, change.from)
    return from and against_giving(from, view.row_of(one.rows, change.to), change.pages)
end

--- Why this move of pages is unwise: a sentence; nil if there is no reason. one: of slate.judge.view.
function M.caution(one, change)
    local words = caution_words(one, change)
    return words and ("class %d %s"):format(change.from, words)
end

-- Why classes should not give all their pages in these moves: a list of sentences. Classes with the same reason share
-- one, so that the way back from a plan fits a screen.
local function cautions_of(one, moves, donors)
    local given, words_of, list, ids_of = {}, {}, {}, {}
    for _, move in ipairs(moves) do
        given[move.from] = (given[move.from] or 0) + move.pages
        words_of[move.from] = caution_words(one, { from = move.from, to = move.to, pages = given[move.from] })
            or words_of[move.from]
    end
    for _, donor in ipairs(donors) do
        local words = words_of[donor.from]
        if words and not ids_of[words] then
            list[#list + 1], ids_of[words] = words, {}
        end
        table.insert(words and ids_of[words] or {}, donor.from)
    end
    for i, words in ipairs(list) do
        local ids = ids_of[words]
        list[i] = ("%s%s %s"):format(#ids > 1 and "each of " or "", units.classes(ids), words)
    end
    return list
end

--- The prediction of moves that are sent together (slate.judge.verdict), and a list of those of each; or nil and why
-- there is none. curves: sampled ones by class id, nil if none were requested; a curve that is absent has been
-- requested, and slated has not answered yet.
function M.of_moves(one, curves, moves)
    local list, given, got = {}, {}, {}
    for i, move in ipairs(moves) do
        for _, id in ipairs(one.now.slated and curves and { 0, move.from, move.to } or {}) do
            if not curves[id] then
                return nil, "waiting for the server's curves of the classes"
            end
        end
        local why
        list[i], why = verdict.predicted_move(one, move.from, move.to, move.pages, curves, given[move.from],
            got[move.to])
        if not list[i] then
            return nil, why
        end
        given[move.from], got[move.to] = (given[move.from] or 0) + move.pages, (got[move.to] or 0) + move.pages
    end
    return verdict.sum(list), list
end

local function of_moves(add, one, replies, moves)
    local made, each = M.of_moves(one, replies.curves, moves)
    for i = 1, #moves > 1 and #moves or 0 do
        add("step", made and verdict.points_words(each[i]) or "-")
    end
    local donors = donors_of(moves)
    local cautions = cautions_of(one, moves, donors)
    for _, caution in ipairs(cautions) do
        add("WARNING", caution, "bad")
    end
    add("WARNING", #cautions == 0 and made and verdict.promise(made) == "loss"
        and "it is predicted to cost more hits than it brings", "bad")
    local mode = view.automove_mode(one.now)
    local is_on = mode and mode ~= "off" and not automove.is_ruled_out(one.now)
    add("automove", is_on and "is on and may take the pages back (t changes it)", "warn")
    add("expects", made and verdict.prediction_words(made) or each)
    add("may lose", losses(one, donors))
    add("undo", "u moves the pages back, but not the items that were lost")
end

--- How many pages to move between two classes that the operator chose, or to the pool (0): as many as
-- slate.judge.page_plan would advise for these two. The pool gets one page of a class that would lose items by it.
function M.pages(one, from_id, to_id)
    local from, to = view.row_of(one.rows, from_id), view.row_of(one.rows, to_id)
    if not from then
        return 1
    elseif not to then
        return math.max(1, math.tointeger(math.min(from.free_pages or 0, (from.pages or 0) // 2) // 1))
    end
    return page_plan.pages(one, to, from)
end

-- The hit ratio of the last ten seconds, that with another limit and the band of the change, by the curve; or why more
-- memory has no gain to tell, by the rule of slate.judge.relief.
local function of_memory(one, replies, mib)
    local curve, limit = answers.curve(replies.curve), one.now.general.limit_maxbytes
    if not (curve and curve.bytes and limit and mib and mib > 0) then
        return nil
    end
    local about = relief.about(one)
    curve = sampled.at_level(curve, about.today)
    local gain, error_ratio, most = relief.gain(curve, about, mib * MIB / curve.bytes)
    if not gain then
        return error_ratio
    end
    local here, _, source = about.today or 1 - most, relief.points(curve)
    return ("hit ratio %s → %s, %s, by %s"):format(units.percent(here, 1),
        units.percent(math.max(0, math.min(here + gain, 1)), 1), relief.gain_words(gain, error_ratio, most), source)
end

-- The hit ratio of another policy, in the cache or in one class, by its miniature; or why that is not known.
local function of_policy(one, replies, name, class_id)
    local whatif = answers.whatif(replies.whatif) or { classes = {} }
    local of_class = class_id and whatif.classes[class_id]
    if of_class and #whatif.policies == 0 then
        return "not known: " .. (whatif.totals.why or "no policy was compared yet")
    end
    local doubted = of_class and relief.unlike_class(of_class, (replies.curves or {})[class_id])
    if doubted then
        return ("not known: %s; a trial tells"):format(doubted)
    end
    local policies = of_class or not class_id and select(2, relief.at_level(one, nil, whatif.totals and whatif)) or {}
    for _, guess in ipairs(policies) do
        if guess.policy == name and guess.hit_ratio and guess.difference then
            local rated = relief.rate(guess)
            return ("hit ratio %s, %+.1f points ± %.1f from today's policy, by sampled keys%s"):format(
                units.percent(guess.hit_ratio, 1), guess.difference * 100, relief.doubt(guess) * 100,
                rated == "inconclusive" and ": inconclusive" or "")
        end
    end
end

-- For each setting: the function that adds its sentences, given add, one, replies and the value.
local SETTINGS <const> = {}

function SETTINGS.slab_automove(add, one, _, value)
    local fault = faults.of_setting(one.now, "slab_automove", value)
    if fault then
        add("WARNING", fault, "bad")
    elseif value == "2" or value == "eviction" then
        add("WARNING", "eviction moves a page at every eviction: for minutes, so make it a trial", "bad")
    elseif value == "0" or value == "off" then
        add("WARNING", "with automove off, only you move pages", "bad")
    end
    add("undo", "u sets the old mode again; pages it has moved stay where they are")
end

function SETTINGS.maxbytes(add, one, replies, value)
    local mib, was = tonumber(value), one.now.general.limit_maxbytes
    if mib and was and mib * MIB < was then
        add("WARNING", "a lower limit evicts" .. (one.now.slated and " until it is met"
            or ", and gives no memory back at once"), "bad")
    elseif was and was % MIB ~= 0 then
        add("WARNING", "the limit is no whole number of MiB: undo sets it rounded down", "bad")
    end
    local below = mib and one.now.slated and relief.below_least(one.now.classes, mib * MIB)
    add("WARNING", below, "bad")
    add("expects", one.now.slated and not below and of_memory(one, replies, mib))
    add("undo", "u sets the old limit again; items evicted for a lower one are gone")
end

function SETTINGS.policy(add, one, replies, value)
    add("WARNING", value == "none" and "without eviction a full cache refuses stores", "bad")
    local name, id = value:match("^(%S+) (%d+)$")
    add("expects", of_policy(one, replies, name or value, math.tointeger(tonumber(id))))
    add("undo", "u sets the old policy again; what was evicted meanwhile is gone")
end
SETTINGS.class_policy = SETTINGS.policy

function SETTINGS.geometry(add, _, replies, value)
    local auto = replies.geometry and geometry.parse(answers.lines(replies.geometry)).auto
    add("also", geometry.auto_words(value, auto, replies.change.auto), "warn")
    add("expects", replies.outlook)
    add("undo", ("u reverts to the sizes before%s; items evicted on the way are gone"):format(
        auto == "yes" and ", with automatic sizes on" or ""))
end

--- Sentences on a change: a list of { label = "step" | "WARNING" | "automove" | "also" | "expects" | "may lose" |
-- "undo", text, tone = "bad" | "warn" | nil }, in this order; each of several moves has a "step": the points of hits
-- that it brings. one: of slate.judge.view; replies: as texts (curve, whatif, geometry), outlook (the
-- server's prediction for other chunk sizes), curves (of the classes of moves by id, as lists of { bytes, hit_ratio };
-- nil: not requested) and the change, or changes: a list of moves that are sent together.
function M.change(one, replies)
    local list, add = {}, nil
    function add(label, text, tone)
        if label == "expects" and text then
            add("also", one.past and one.past:caveat(), "warn")
        end
        if text then
            list[#list + 1] = { label = label, text = text, tone = tone }
        end
    end
    local change = replies.change
    local moves = replies.changes or change.pages and { change }
    if not one.now then
        return list
    elseif moves then
        of_moves(add, one, replies, moves)
    elseif SETTINGS[change.name] then
        SETTINGS[change.name](add, one, replies, change.value)
    else
        add("undo", "u sets the old value again")
    end
    return list
end

--- The warnings and the prediction of a setting, read from a server: a list as of M.change, without how slatetop takes
-- the change back; or nil, message, code. change: { name, value } as of slate.act.shown.
function M.of_setting(context, client, change)
    local is_measured = change.name == "maxbytes" -- the gain of memory depends on what is evicted now
    local now, message, code, _, one = context[is_measured and "pair" or "snapshot"](context, client)
    if not now then
        return nil, message, code
    end
    local replies, list = { change = change }, {}
    for _, group in ipairs(now.slated and { "curve", "whatif" } or {}) do
        local lines = client:stats(group)
        replies[group] = lines and table.concat(lines, "\n")
    end
    local class_id = now.slated and change.name == "class_policy" and tonumber(change.value:match(" (%d+)$"))
    replies.curves = class_id and sampled.curves(client, { math.tointeger(class_id) })
    for _, sentence in ipairs(M.change(one or { now = now }, replies)) do
        list[#list + 1] = sentence.label ~= "undo" and sentence or nil
    end
    return list
end

-- The worth of a page more to each class, and of a page less, in hits a second. Pure.
--
-- For classes with a sampled curve, by the function behind predictions of moves (slate.base.policy_curve): a gain less
-- a loss is the prediction for a move of one page. The weights of slated's utility are reported as automove's.

-- The sampled reads of the cache; nil while classes of now do not have nearly all of them: other chunk sizes came, and
-- classes that are gone have them, or their curves have not come yet.
local function all_reads(classes, curves)
    local all, sum = (curves[0] or {}).reads or 0, 0
    for _, class in ipairs(classes) do
        sum = sum + ((curves[class.id] or {}).reads or 0)
    end
    return all > 0 and sum >= limits.read_share_covers_ratio * all and math.max(all, sum) or nil
end

-- The worth of a page to one class; nil if the class has no curve. reads: of all classes; nil if unknown.
local function worth_of(class, curve, reads)
    if not curve or #curve == 0 then
        return nil
    end
    return { id = class.id, pages = class.total_pages, read_share = reads and (curve.reads or 0) / reads,
        hit_ratio = sampled.between(curve, class.total_pages * chunks.PAGE_BYTES),
        gain = policy_curve.gain(class, 1), loss = policy_curve.cost(class, 1) }
end

--- The classes for which the worth of a page is known, those first that would gain most: a list of { id, pages,
-- hit_ratio and read_share (by the class's curve; nil if unknown), gain, loss, policy and policy_gain (of a policy that
-- would be better for the class) }. one: of slate.judge.view. replies: whatif (a reply, as text) and curves (as for
-- slate.judge.verdict), as far as they are known.
function M.page_worth(one, replies)
    local curves, list = replies.curves or {}, {}
    local seen = verdict.figures_seen(one, curves)
    if not seen then
        return list
    end
    local whatif = answers.whatif(replies.whatif) or { classes = {} }
    local reads = all_reads(seen.classes, curves)
    for _, class in ipairs(seen.classes) do
        if class.total_pages > 0 then
            local worth = worth_of(class, curves[class.id], reads)
            local policies = whatif.classes[class.id] or {}
            local best = sampled.best_that_evicts(policies)
            if worth and best and best.difference and relief.rate(best) == "better"
                and not relief.unlike_class(policies, curves[class.id]) then
                worth.policy, worth.policy_gain = best.policy, best.difference
            end
            list[#list + 1] = worth
        end
    end
    return largest_first(list, "gain", "id")
end

-- Other chunk sizes for the items of a server, and the effect of each: the table of slatetop's Sizes view. Pure.
--
-- A slated predicts the effects itself, in whole pages, with each class's first page counted. For a memcached that
-- tracks sizes they are computed with the figures of `slatectl advise sizes`.

-- The sizes that a factor makes on this server; nil for another order, or if the server does not report its limits.
local function sizes_of(now, order)
    local factor = tonumber(order:match("^factor (%S+)$"))
    local settings = now.settings or {}
    local room, most = settings.chunk_size, settings.slab_chunk_max or settings.item_size_max
    return factor and factor > 1 and room and most and chunks.by_factor(factor, room, most) or nil
end

-- Inserts a size into an ascending list, unless the list has it.
local function add_size(sizes, bytes)
    local at = #sizes + 1
    while at > 1 and sizes[at - 1] >= bytes do
        at = at - 1
    end
    if sizes[at] ~= bytes then
        table.insert(sizes, at, bytes)
    end
end

-- The sizes of now: as slated lists them; else by the settings, with the actual sizes of the classes in use.
local function sizes_now(now, geometry_text)
    local sizes = {}
    if geometry_text then
        local _, classes = geometry.parse(answers.lines(geometry_text))
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

-- slated's prediction of an order: { is_known, is_worth_it, classes, waste_ratio, words, items_change }; {} if unknown.
local function predicted(reply)
    if not reply then
        return {}
    end
    return { is_known = true, is_worth_it = reply.would_be_made, classes = reply.classes,
        waste_ratio = reply.waste_pct and reply.waste_pct / 100, words = not reply.items_pct and reply.words
            or nil, items_change = reply.items_pct and reply.items_pct / 100 }
end

-- The computed effect of an order, for a server that does not predict it.
local function reckoned(now, histogram, order, held_now)
    local sizes = sizes_of(now, order)
    if not sizes then
        return nil
    end
    local pages = (now.general.limit_maxbytes or 0) // chunks.PAGE_BYTES
    local held = fit.items_held(histogram, sizes, pages)
    local change = held and held_now and held / held_now - 1 or nil
    local judged = fit.sizes_judged(histogram, sizes, sizes[#sizes])
    return { is_known = true, is_worth_it = (change or 0) * 100 >= geometry.GAIN_LEAST_PCT, classes = #sizes,
        waste_ratio = judged.waste_ratio, items_change = change, sizes = sizes }
end

-- Marks the order that fits most items; of orders that fit as many, the one with fewest classes.
local function mark_best(list)
    local best
    for _, choice in ipairs(list) do
        local more = choice.is_worth_it and choice.items_change and choice.items_change - (best and best.items_change
            or 0)
        if more and (more >= limits.sizes_as_good_ratio or best and math.abs(more) < limits.sizes_as_good_ratio
            and choice.classes < best.classes) then
            best = choice
        end
    end
    if best then
        best.is_best = true
    end
end

--- The effect of other sizes: { now = the sizes, ascending; waste_ratio (of now; nil when unknown); and the orders,
-- each { order, is_known, is_worth_it, is_best, classes, waste_ratio, items_change (of the items that the same memory
-- holds, as a ratio), sizes (of a factor), words (the server's, if it gives no figures) } }. one: of slate.judge.view.
-- replies: as texts (geometry, sizes) and outlooks by order, as far as they are known. No orders for a server that
-- neither predicts nor tracks sizes.
function M.size_choices(one, replies)
    local now = one.now
    local plan = { now = sizes_now(now, replies.geometry) }
    local histogram = not now.slated and replies.sizes and sizehist.of_sizes(answers.lines(replies.sizes), now) or nil
    if not now.slated and (not histogram or histogram.items == 0) then
        return plan
    end
    local held = histogram and fit.items_held(histogram, plan.now, (now.general.limit_maxbytes or 0)
        // chunks.PAGE_BYTES)
    plan.waste_ratio = histogram and fit.sizes_judged(histogram, plan.now, plan.now[#plan.now]).waste_ratio
    for _, order in ipairs(geometry.ORDERS) do
        local choice = histogram and reckoned(now, histogram, order, held) or now.slated
            and predicted((replies.outlooks or {})[order]) or nil
        if choice then
            choice.order, choice.sizes = order, choice.sizes or sizes_of(now, order)
            plan[#plan + 1] = choice
        end
    end
    mark_best(plan)
    return plan
end

return M
