-- SPDX-License-Identifier: BSD-3-Clause
--- What relieves a class that starves: the move of pages that every screen and command names, and whether it may be
--- advised at all. Pure, but for one note in the observer, so that what was advised stays.
--
-- A class starves by how long its items live. Pages help only where hits come of them: a class that nobody reads evicts
-- as before, and its giver loses. So a move is advised where slate.judge.predict promises a gain, and on until it
-- promises none; or where nothing can be predicted yet, by the lives alone.
local predict = require "slate.judge.predict"
local starving = require "slate.judge.starving"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local M = {}

local HARDLY_READ_RATIO <const> = 0.02 -- hits by stores: a class with fewer is written, not read

--- The move for a class, whether it starves or not: { from, to, pages, free_pages (whole ones that the giver has),
-- keeps_s (how long it would keep its items), made (of slate.judge.predict; nil, and why, where it cannot be told),
-- is_advised }; nil where no class can give. one: of slate.judge.observer; curves: as for slate.judge.predict, or nil.
function M.of(one, id, curves)
    local row = view.row_of(one.rows, id)
    local giver, free_pages, keeps_s, pages
    if row then
        giver, free_pages, keeps_s, pages = starving.giver_for(row, one.rows)
    end
    if not giver then
        return nil
    end
    local move = { from = giver.id, to = id, pages = pages, free_pages = free_pages, keeps_s = keeps_s }
    move.made, move.why = predict.move(one, giver.id, id, pages, curves)
    if not move.made then
        move.is_advised = true
        return move
    end
    local was = one.relieved[id] == giver.id
    move.is_advised = predict.promise(move.made) == "gain" or was and move.made.hit_ratio_change > 0
    one.relieved[id] = move.is_advised and giver.id or nil
    return move
end

-- The rows of classes that starve, the worst first.
local function in_order(one)
    local rows = {}
    for _, row in ipairs(one.rows or {}) do
        rows[#rows + 1] = row.starves and row or nil
    end
    table.sort(rows, starving.goes_before)
    return rows
end

--- The first class that starves and that a move is advised for, and the move; nil without one.
function M.in_need(one, curves)
    for _, row in ipairs(in_order(one)) do
        local move = M.of(one, row.id, curves)
        if move and move.is_advised then
            return row.id, move
        end
    end
end

--- The first class that refuses stores, and the move for it, nil where no class can give; nil without one.
function M.refusing(one, curves)
    for _, row in ipairs(one.rows or {}) do
        if view.refuses(row) then
            return row, M.of(one, row.id, curves)
        end
    end
end

--- The classes whose curves such moves rest on, 0 for the whole cache: what to ask a slated for. Empty where none
-- starves.
function M.wanted(one)
    local ids, is_there = {}, {}
    local function add(id)
        ids[#ids + 1], is_there[id] = not is_there[id] and id or nil, true
    end
    for _, row in ipairs(in_order(one)) do
        local giver = starving.giver_for(row, one.rows)
        if giver then
            add(0)
            add(giver.id)
            add(row.id)
        end
    end
    return ids
end

-- words ---------------------------------------------------------------------------------------

--- What the giver has to give: "has 3 free pages", "keeps its items 10m22".
function M.giver_has(move)
    return starving.has_spare(move.free_pages) and "has " .. units.plural(move.free_pages // 1, "free page")
        or "keeps its items " .. units.age(move.keeps_s)
end

--- That a class refuses stores, as a sentence.
function M.refusal(row)
    return ("class %d refuses %s stores a second: it has %s and finds no memory"):format(row.id,
        units.rate(row.out_of_memory_per_s), units.plural(row.pages or 0, "page"))
end

--- That a class starves, and beside whom, as a sentence.
function M.need(row, move)
    return ("class %d starves: it evicts %s items a second, which live %s, while class %d %s"):format(row.id,
        units.rate(row.mean_evicted_per_s), units.age(row.life_s), move.from, M.giver_has(move))
end

--- That a class starves, but not for pages: what the best move is predicted to bring.
function M.no_use(move)
    return ("class %d starves, but %s of class %d would bring %s"):format(move.to, units.plural(move.pages, "page"),
        move.from, predict.words(move.made))
end

--- That further classes starve, beside one that was told in full; nil where there is none. ids: theirs; is_advised:
-- whether moves to them are.
function M.further(ids, is_advised)
    if #ids == 0 then
        return nil
    end
    return ("%s %s, too%s"):format((#ids == 1 and "class " or "classes ") .. table.concat(ids, ", "),
        #ids == 1 and "starves" or "starve", is_advised and "" or (", and no move to %s is advised"):format(
            #ids == 1 and "it" or "them"))
end

-- Is what the class stores hardly read? Its hits by its stores in the last ten seconds; a class that starves has some
-- hits even so, where anybody asks for what it keeps.
local function is_hardly_read(one, id)
    local seen = predict.seen(one)
    local class = seen and seen.by_id[id]
    return class and class.stores_per_s > 0 and class.hits_per_s < HARDLY_READ_RATIO * class.stores_per_s or false
end

--- What would help in place of a move that is not advised: words to follow slate.judge.relief.no_use, and what to do.
-- memory and policy: of slate.judge.outlook, or nil.
function M.instead(one, move, memory, policy)
    if is_hardly_read(one, move.to) then
        return "its items are hardly ever read",
            ("store less of what class %d keeps, or for a shorter time"):format(move.to)
    elseif memory and memory.is_short then
        return ("%s more memory would bring %.1f points"):format(units.bytes(memory.bytes_more), memory.gain * 100),
            "slatectl advise memory"
    elseif policy and policy.is_better then
        return ("the policy %s would bring %.1f points"):format(policy.best, policy.difference * 100),
            "slatectl advise policy"
    end
    return "its pages may stay as they are", "leave the pages; slatectl advise pages tells when that changes"
end

--- Notes that pages of a giver are advised to a class. takers: by the id of the giver; empty before the first class is
-- told. Returns the other class to which they were advised before, which comes first; nil without one: the same page
-- cannot help two.
function M.taken_before(takers, move)
    local first = move and takers[move.from]
    if move and not first then
        takers[move.from] = move.to
    end
    return first and first ~= move.to and first or nil
end

--- What helps a class that starves or refuses stores, with the command to type. move: of M.of, or nil; first: of
-- M.taken_before.
function M.remedy(move, first)
    if not move then
        return "no other class has a page to spare"
    elseif first then
        return ("class %d comes first, which gets pages of class %d, too: look again after that move"):format(first,
            move.from)
    end
    return ("try slatectl move %d %d %d --dry-run (class %d: %skeeps its items %s)"):format(move.from, move.to,
        move.pages, move.from, move.free_pages > 0 and units.plural(move.free_pages, "free page") .. ", " or "",
        units.age(move.keeps_s))
end

--- What to do about classes that starve or refuse stores, as sentences with the command to type where there is one,
-- in the order in which they are told everywhere. Of those that starve one is told in full. Empty when nothing stands
-- out and the server tells what that takes. rows: of slate.judge.view.classes.
function M.advice(one, rows, curves)
    local sentences, takers, sorted = {}, {}, table.move(rows, 1, #rows, 1, {})
    local told, further = {}, { [true] = {}, [false] = {} } -- by whether a move is advised
    table.sort(sorted, starving.goes_before)
    for _, row in ipairs(sorted) do
        local refuses = view.refuses(row)
        if row.starves or refuses then
            local move = M.of(one, row.id, curves)
            local is_advised = not move or move.is_advised
            if not refuses and told[is_advised] then
                table.insert(further[is_advised], ("%d"):format(row.id))
            elseif refuses or is_advised then
                sentences[#sentences + 1] = ("class %d %s: %s"):format(row.id, refuses and "refuses stores"
                    or "starves", M.remedy(move, M.taken_before(takers, move)))
            else
                sentences[#sentences + 1] = ("%s; %s"):format(M.no_use(move), (M.instead(one, move)))
            end
            told[is_advised] = told[is_advised] or not refuses
        end
    end
    sentences[#sentences + 1] = M.further(further[true], true)
    sentences[#sentences + 1] = M.further(further[false], false)
    if one.rates and not one.rates.reset and not view.knows_starving(one.now, one.rates, rows) then
        sentences[#sentences + 1] = view.STARVING_UNKNOWN
    end
    return sentences
end

--- For slatetop: the move that is advised, in a sentence with its key, or why none is; a list of one { text, tone }.
-- asked: curves.
function M.sentence(one, asked)
    local refusing, move = M.refusing(one, asked.curves)
    local id = refusing and refusing.id
    if not refusing then
        id, move = M.in_need(one, asked.curves)
    end
    if move then
        return { { text = ("class %d %s: %s from class %d, m reviews it"):format(id,
            refusing and "refuses stores" or "starves", units.plural(move.pages, "page"), move.from) } }
    elseif refusing then
        return { { text = ("%s; %s"):format(M.refusal(refusing), M.remedy(nil)) } }
    end
    local worst = starving.worst(one.rows or {})
    move = worst and M.of(one, worst.id, asked.curves)
    return { { text = move and M.no_use(move)
        or (one.knows_starving and "no class starves" or view.STARVING_UNKNOWN)
        .. ": no move is advised; m moves to the class chosen", tone = "note" } }
end

return M
