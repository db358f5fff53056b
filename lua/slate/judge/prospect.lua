-- SPDX-License-Identifier: BSD-3-Clause
--- Before a change is sent: what it is likely to bring, what may come of it that nobody wants, and what undo gives
--- back. Pure.
--
-- A change is { from, to, pages } (class ids; to 0: the pool) or { name, value }, as in the record of changes.
local answers = require "slate.facts.answers"
local faults = require "slate.facts.faults"
local foresight = require "slate.facts.foresight"
local outlook = require "slate.judge.outlook"
local predict = require "slate.judge.predict"
local starving = require "slate.judge.starving"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local M = {}

local MIB <const> = 1 << 20

local function class_of(one, id)
    for _, class in ipairs(one.now.classes) do
        if class.id == id then
            return class
        end
    end
end

-- moves of pages ------------------------------------------------------------------------------

-- Why a class should not give so many pages; nil where nothing speaks against it.
local function against_giving(from, to, pages)
    local evicts, taker = from.mean_evicted_per_s or 0, to and to.mean_evicted_per_s or 0
    local costs_items = (from.free_pages or 0) // 1 < pages
    local own_s, its_s = starving.lived_s(from), to and starving.lived_s(to)
    if costs_items and pages + 1 >= (from.pages or 0) then
        return ("class %d is left with one page: it will evict nearly all it has"):format(from.id)
    elseif evicts > 0 and evicts >= taker then
        return ("class %d starves, too: it evicts %s items a second, %s"):format(from.id, units.rate(evicts),
            to and "as many as the class that gets the pages, or more" or "and the pool needs nothing")
    elseif costs_items and own_s and its_s and own_s < its_s then
        return ("class %d would starve: it keeps its items %s, class %d %s"):format(from.id, units.age(own_s), to.id,
            units.age(its_s))
    elseif costs_items and evicts > 0 then
        return ("class %d evicts too, %s items a second: it will evict more"):format(from.id, units.rate(evicts))
    end
end

-- Items on the pages beyond those that the class's free chunks make up for.
local function losses(one, change)
    local class, row = class_of(one, change.from), view.row_of(one.rows, change.from)
    if not (class and class.chunks_per_page and row and row.free_pages) then
        return "unknown: this server does not list free chunks"
    end
    local most = math.max(change.pages - row.free_pages // 1, 0) * class.chunks_per_page
    if most == 0 then
        return ("probably nothing: class %d has as many free chunks as the pages hold"):format(change.from)
    end
    return ("up to %s items of class %d, the oldest ones"):format(units.count(most), change.from)
end

--- Why pages should not move so; a sentence, nil where nothing speaks against it. one: of slate.judge.observer.
function M.caution(one, change)
    local from = view.row_of(one.rows, change.from)
    return from and against_giving(from, view.row_of(one.rows, change.to), change.pages)
end

--- What a move is predicted to bring (slate.judge.predict), or nil and why that is not known. curves: sampled ones by
-- class id, nil where nobody asks for them; a slated that is being asked has not told one that is absent.
function M.prediction(one, curves, change)
    for _, id in ipairs(one.now.slated and curves and { 0, change.from, change.to } or {}) do
        if not curves[id] then
            return nil, "asking the server for the curves of the classes"
        end
    end
    return predict.move(one, change.from, change.to, change.pages, curves)
end

local function expected(one, asked, change)
    local made, why = M.prediction(one, asked.curves, change)
    return made and predict.words(made) or why, made and predict.promise(made) == "loss"
end

local function of_move(add, one, asked, change)
    local words, is_loss = expected(one, asked, change)
    add("WARNING", M.caution(one, change) or is_loss and "it is predicted to cost more hits than it brings", "bad")
    local mode = view.automove_mode(one.now)
    add("automove", mode and mode ~= "off" and "is on and may take the pages back (t changes it)", "warn")
    add("expects", words)
    add("may lose", losses(one, change))
    add("undo", "u moves the pages back, but not the items that were lost")
end

--- How many pages to move between two classes that somebody chose, or to the pool (0): as many as slate.judge.starving
-- would advise of these two; of a class that costs items the pool gets one.
function M.pages(one, from_id, to_id)
    local from, to = view.row_of(one.rows, from_id), view.row_of(one.rows, to_id)
    if not from then
        return 1
    elseif not to then
        return math.max(1, math.tointeger(math.min(from.free_pages or 0, (from.pages or 0) // 2) // 1))
    end
    local _, _, _, pages = starving.giver_for(to, { from, to })
    return pages or 1
end

-- settings ------------------------------------------------------------------------------------

-- The hit ratio with another limit, by what slate.judge.outlook goes by.
local function of_memory(one, asked, mib)
    local curve, limit = answers.curve(asked.curve), one.now.general.limit_maxbytes
    if not (curve and limit and mib) then
        return nil
    end
    local points, source = outlook.points(curve)
    return points and ("hit ratio %s → %s, by %s"):format(units.percent(foresight.between(points, limit), 1),
        units.percent(foresight.between(points, mib * MIB), 1), source)
end

-- What another policy would hit, of the cache or of one class, by its miniature.
local function of_policy(asked, name, class_id)
    local whatif = answers.whatif(asked.whatif) or { classes = {} }
    for _, guess in ipairs((class_id and whatif.classes[class_id] or not class_id and whatif.policies) or {}) do
        if guess.policy == name and guess.hit_ratio and guess.difference then
            local rated = outlook.rate(guess)
            return ("hit ratio %s, %+.1f points ± %.1f from today's policy, by sampled keys%s"):format(
                units.percent(guess.hit_ratio, 1), guess.difference * 100, outlook.doubt(guess) * 100,
                rated == "inconclusive" and ": inconclusive" or "")
        end
    end
end

local function split_policy(value)
    local name, id = value:match("^(%S+) (%d+)$")
    return name or value, math.tointeger(tonumber(id))
end

-- For each setting what to say, given add, one, asked and the value.
local SETTINGS <const> = {}

function SETTINGS.slab_automove(add, one, _, value)
    local fault = faults.of_setting(one.now, "slab_automove", value)
    if fault then
        add("WARNING", fault, "bad")
    elseif value == "2" or value == "eviction" then
        add("WARNING", "mode 2 moves a page at every eviction: for minutes, so make it a trial", "bad")
    elseif value == "0" or value == "off" then
        add("WARNING", "with automove off, only you move pages", "bad")
    end
    add("undo", "u sets the old mode again; pages it has moved stay where they are")
end

function SETTINGS.maxbytes(add, one, asked, value)
    local mib, was = tonumber(value), one.now.general.limit_maxbytes
    if mib and was and mib * MIB < was then
        add("WARNING", "a lower limit evicts" .. (one.now.slated and " until it is met"
            or ", and gives no memory back at once"), "bad")
    elseif was and was % MIB ~= 0 then
        add("WARNING", "the limit is no whole number of MiB: undo sets it rounded down", "bad")
    end
    add("expects", one.now.slated and of_memory(one, asked, mib))
    add("undo", "u sets the old limit again; items evicted for a lower one are gone")
end

function SETTINGS.policy(add, _, asked, value)
    add("WARNING", value == "none" and "without eviction a full cache refuses stores", "bad")
    add("expects", of_policy(asked, split_policy(value)))
    add("undo", "u sets the old policy again; what was evicted meanwhile is gone")
end
SETTINGS.class_policy = SETTINGS.policy

function SETTINGS.geometry(add, _, asked)
    add("expects", asked.outlook)
    add("undo", "u reverts to the sizes before; items evicted on the way are gone")
end

--- Sentences on a change: a list of { label = "WARNING" | "automove" | "expects" | "may lose" | "undo", text, tone =
-- "bad" | "warn" | nil }, in this order. one: of slate.judge.observer; asked: replies as texts (curve, whatif), outlook
-- (what the server says that other chunk sizes would bring), curves (of the classes of a move by id, as lists of
-- { bytes, hit_ratio }; nil: nobody asks for them) and the change.
function M.change(one, asked)
    local list = {}
    local function add(label, text, tone)
        if text then
            list[#list + 1] = { label = label, text = text, tone = tone }
        end
    end
    local change = asked.change
    if not one.now then
        return list
    elseif change.pages then
        of_move(add, one, asked, change)
    elseif SETTINGS[change.name] then
        SETTINGS[change.name](add, one, asked, change.value)
    else
        add("undo", "u sets the old value again")
    end
    return list
end

return M
