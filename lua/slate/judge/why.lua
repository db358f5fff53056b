-- SPDX-License-Identifier: BSD-3-Clause
--- Why automove moves pages, or does not: on slated in its own words, on memcached derived from its documented rule and
--- the figures that it shows. And why a stream of a server is better not watched. Pure.
local answers = require "slate.facts.answers"
local faults = require "slate.facts.faults"
local moves = require "slate.facts.moves"
local relief = require "slate.judge.relief"
local starving = require "slate.judge.starving"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local M = {}

-- memcached's rule (slab_automove.c): what it uses unless told, and what it never changes.
local RATIO_DEFAULT <const>, WINDOW_DEFAULT_S <const> = 0.8, 10
local SOURCE_PAGES_LEAST <const>, FREE_PAGES_KEPT <const> = 3, 2.5

-- What memcached's rule looks at, as far as its statistics show it: the class with the oldest tail of those that may
-- give, the one with the youngest of those that evict, and one with more free chunks than the rule leaves it.
local function measure(rows)
    local seen = {}
    for _, row in ipairs(rows) do
        local age_s = starving.tail_age_s(row)
        local evicts = (row.mean_evicted_per_s or 0) > 0
        if (row.free_pages or 0) > FREE_PAGES_KEPT and not evicts then
            seen.rich = row
        end
        if age_s and (row.pages or 0) >= SOURCE_PAGES_LEAST and not (seen.oldest and seen.oldest_s >= age_s) then
            seen.oldest, seen.oldest_s = row, age_s
        end
        if age_s and evicts and not (seen.youngest and seen.youngest_s <= age_s) then
            seen.youngest, seen.youngest_s = row, age_s
        end
    end
    return seen
end

-- What the rule comes to with these figures: a sentence and its tone.
local function decision(seen, ratio, window_s)
    local oldest, youngest = seen.oldest, seen.youngest
    if not youngest then
        return "No class evicts, so no class needs a page.", "good"
    elseif seen.rich then
        return ("It should move: class %d has %.1f free pages and does not evict. What is beyond %.1f pages goes to "
            .. "the pool when nothing was stored in them for %s."):format(seen.rich.id, seen.rich.free_pages,
            FREE_PAGES_KEPT, units.age(window_s))
    elseif not oldest or oldest.id == youngest.id then
        return ("It cannot move: no other class has the %d pages that one must have to give."):format(
            SOURCE_PAGES_LEAST), "bad"
    elseif seen.youngest_s >= ratio * seen.oldest_s then
        return ("The ages are even enough: that of class %d (%s) is %.2f of that of class %d (%s) or more."):format(
            youngest.id, units.age(seen.youngest_s), ratio, oldest.id, units.age(seen.oldest_s)), "good"
    end
    return ("A page from class %d (%s) to class %d (%s) is due. It moves when that class has evicted in more than half "
        .. "of the last %s, and evicts in that very second; a page a second at most."):format(oldest.id,
        units.age(seen.oldest_s), youngest.id, units.age(seen.youngest_s), units.age(window_s))
end

local function of_ratio(add, one, settings, starves)
    local seen = measure(one.rows)
    local ratio = tonumber(settings.slab_automove_ratio) or RATIO_DEFAULT
    local window_s = tonumber(settings.slab_automove_window) or WINDOW_DEFAULT_S
    add(decision(seen, ratio, window_s))
    if seen.youngest then
        add(("youngest that evicts: class %d, oldest item %s, %s evictions/s"):format(seen.youngest.id,
            units.age(seen.youngest_s), units.rate(seen.youngest.mean_evicted_per_s)))
    end
    if seen.oldest then
        add(("oldest with %d pages or more: class %d, oldest item %s"):format(SOURCE_PAGES_LEAST, seen.oldest.id,
            units.age(seen.oldest_s)))
    end
    add(("rule: youngest < %.2f of oldest, averages over %s (slab_automove_ratio, slab_automove_window)"):format(ratio,
        units.age(window_s)))
    if starves then
        add("It is slow by design. m moves pages now; t sets mode 2 as a trial.")
    end
end

-- Would a move help a class that starves?
local function any_in_need(one, asked)
    return relief.in_need(one, asked.curves) ~= nil
end

local function of_memcached(add, one, asked)
    local mode, starves = view.automove_mode(one.now), any_in_need(one, asked)
    if not mode then
        add("This server does not report an automove setting.", "bad")
    elseif mode == "off" then
        add("automove is off, so only you move pages: t changes the mode, m moves pages.", starves and "bad")
    elseif mode == "eviction" then
        add("automove is 2: a page of another class goes to the class that evicts, at every eviction.")
        add("It goes on as long as anything is evicted, which in a full cache is always: for minutes, not for good.",
            "bad")
    else
        of_ratio(add, one, answers.settings(asked.settings) or {}, starves)
    end
    local over_s = asked.page_moves_over_s or 0
    if over_s > 0 then
        add(("pages moved: %.2f/s over the last %s s"):format(asked.page_moves_per_s or 0,
            (over_s < 0.95 and "%.1f" or "%.0f"):format(math.max(over_s, 0.1))))
    end
end

-- The classes that utility weighed: who would gain most and who would lose least.
local function add_weights(add, list)
    local taker, giver
    for id, worth in pairs(list.classes) do
        taker = worth.gain and not (taker and taker.gain >= worth.gain) and { id = id, gain = worth.gain,
            doubt = worth.gain_doubt } or taker
        giver = worth.loss and not (giver and giver.loss <= worth.loss) and { id = id, loss = worth.loss,
            doubt = worth.loss_doubt } or giver
    end
    if taker and giver then
        add(("a page more would bring class %d most: %.1f ± %.1f hits in 1000 requests"):format(taker.id, taker.gain,
            taker.doubt or 0))
        add(("a page less would cost class %d least: %.1f ± %.1f hits"):format(giver.id, giver.loss, giver.doubt or 0))
        add("a page moves when the gain less its doubt exceeds twice the loss with its doubt")
    end
end

local function of_slated(add, one, asked)
    local totals = answers.moves(asked.moves)
    if not (totals and totals.mode) then
        add(asked.is_past and "The reasons of the past are not recorded: . returns to live."
            or "asking the server ...")
        return
    end
    local mode, said = ("automove is %s"):format(totals.mode), totals.why
    if not said or said:find(mode, 1, true) == 1 then
        add(said and said .. "." or mode .. ".")
    else
        add(("%s: %s."):format(mode, said))
    end
    local failure = moves.failure(totals)
    if failure then
        add(failure, "bad")
        add("mend it, try it with slatectl policy test, and set the mode again: t")
    end
    if totals.state and totals.state ~= "none" then
        add("the page mover: " .. tostring(totals.state))
    end
    local weights = answers.automove(asked.automove)
    if weights and weights.is_weighed then
        add_weights(add, weights)
    end
    add(("pages moved %s, given up %s; items rescued %s, lost %s"):format(units.count(totals.pages_moved),
        units.count(totals.given_up), units.count(totals.rescues), units.count(totals.evicted)))
    if totals.last_busy and totals.last_busy ~= "none" then
        add("the last item that could not be moved: " .. totals.last_busy)
    end
    if view.automove_mode(one.now) == "off" then
        add("only you move pages: t changes the mode, m moves pages", any_in_need(one, asked) and "bad")
    end
end

--- Sentences, the answer first, then the figures that it rests on and what to press: a list of { text, tone = "good" |
-- "bad" | nil }. one: of slate.judge.observer. asked: replies as texts (settings, moves, automove), is_past (an answer
-- that is not there will not come), page_moves_per_s (a mean over page_moves_over_s), curves (as for
-- slate.judge.relief).
function M.automove(one, asked)
    local list = {}
    local function add(text, tone)
        list[#list + 1] = { text = text, tone = tone or nil }
    end
    if not one.now then
        add("Nothing is known about the server yet.")
    elseif one.now.settings.slab_reassign == false then
        add("Pages cannot move: the server runs with slab_reassign off. Start it with -o slab_reassign.", "bad")
    elseif one.now.slated then
        of_slated(add, one, asked)
    else
        of_memcached(add, one, asked)
    end
    return list
end

--- What speaks against watching a stream, asked.change.value: a list of one sentence, or of none.
function M.watch(one, asked)
    local fault = one.now and faults.of_watch(one.now, { asked.change.value })
    return { fault and { text = fault, tone = "bad" } }
end

return M
