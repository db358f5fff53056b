-- SPDX-License-Identifier: BSD-3-Clause
-- The whole memory is dealt anew by the classes' miss-ratio curves, and pages move towards that.
--
-- For each class that was asked for something, miss_curve (slate-policies(7)) fits the misses over
-- the items it could hold, by the footprint theory of the paper: from its requests, its stores,
-- its items and the age of its tail. Dynamic programming then finds the shares of pages with the
-- fewest misses in all, in steps of `1 / grain` of the memory. Classes that are not asked keep one
-- page. When that promises `min_gain` fewer misses, pages go from who has most too many to who has
-- most too few, `pages_max` a window. Sums of earlier windows count half.
-- Source: Hu et al., "LAMA: Optimized Locality-aware Memory Allocation for Key-value Cache", USENIX ATC 2015.
-- There the curve is measured from a trace; here it is fitted to what every server counts, so it knows no cliffs.

local function smoothed(state, id, hits, stores)
    local seen = state.seen[id] or { hits = 0, stores = 0 }
    seen.hits, seen.stores = seen.hits / 2 + hits, seen.stores / 2 + stores
    state.seen[id] = seen
    return seen.hits, seen.stores
end

-- Classes that take part, with their curves over pages; and all pages that can be dealt beyond one for each class.
local function look(before, after, state)
    local players, pages = {}, 0
    for _, class in ipairs(after.classes) do
        local was = before.by_id[class.id]
        local hits, stores = smoothed(state, class.id, class.get_hits - was.get_hits, class.cmd_set - was.cmd_set)
        pages = pages + math.max(class.total_pages - 1, 0)
        if hits + stores > 0 and class.number > 0 and class.total_pages > 0 then
            local misses = miss_curve(hits + stores, stores, class.number,
                class.age / (2 * (after.time_s - before.time_s))) -- the sums are two windows' worth
            players[#players + 1] = {
                class = class, evicts = class.evicted > was.evicted,
                misses = function(count)
                    return misses(count * class.number / class.total_pages)
                end,
            }
        end
    end
    return players, pages
end

-- Deals `steps` steps of `step` pages. Returns misses, and pages for each player.
local function deal(players, steps, step)
    local best, taken = {}, {}
    for j = 0, steps do
        best[j] = 0
    end
    for i, player in ipairs(players) do
        local cost, with, take = {}, {}, {}
        for q = 0, steps do
            cost[q] = player.misses(1 + q * step)
        end
        for j = 0, steps do
            local least, most_q = math.huge, 0
            for q = 0, j do
                local all = best[j - q] + cost[q]
                if all < least then
                    least, most_q = all, q
                end
            end
            with[j], take[j] = least, most_q
        end
        best, taken[i] = with, take
    end
    local pages, left = {}, steps
    for i = #players, 1, -1 do
        pages[i] = 1 + taken[i][left] * step
        left = left - taken[i][left]
    end
    return best[steps], pages
end

local function moves_towards(after, players, pages, words, settings)
    local wanted, most, least = {}, nil, nil
    for i, player in ipairs(players) do
        wanted[player.class.id] = pages[i]
        local lacks = pages[i] - player.class.total_pages
        if player.evicts and lacks > (least and least.lacks or 0) then
            least = { id = player.class.id, lacks = lacks }
        end
    end
    for _, class in ipairs(after.classes) do
        local above = class.total_pages - (wanted[class.id] or 1)
        if above > (most and most.above or 0) then
            most = { id = class.id, above = above }
        end
    end
    if not least or not most then
        return {}, words .. ", but no class that evicts lacks pages"
    end
    local count = math.min(least.lacks, most.above, settings.pages_max)
    words = ("%s: class %d should have %d pages more, class %d %d fewer"):format(
        words, least.id, least.lacks, most.id, most.above)
    return { { from = most.id, to = least.id, pages = count, reason = words } }
end

local function decide(before, after, state)
    local settings = state.settings
    local players, pages = look(before, after, state)
    if after.pages_free > 0 then
        return {}, ("the pool has %d pages"):format(after.pages_free)
    elseif #players == 0 or pages == 0 then
        return {}, "no class is asked for anything"
    end
    local step = math.max(1, math.ceil(pages / settings.grain))
    local misses, dealt = deal(players, pages // step, step)
    local now = 0
    for _, player in ipairs(players) do
        now = now + player.misses(player.class.total_pages)
    end
    local words = ("%.0f misses could be %.0f"):format(now, misses)
    if misses > now * (1 - settings.min_gain) then
        return {}, words .. ": too close"
    end
    return moves_towards(after, players, dealt, words, settings)
end

local function uneven(second)
    return { { id = 3, evicted = second * 10, cmd_set = second * 10, get_hits = second * 30, age = 500 },
        { id = 7, total_pages = 5, evicted = second * 5000, cmd_set = second * 5000, get_hits = second * 5000,
            age = 2 } }
end

return {
    name = "lama",
    summary = "deals all pages by the miss-ratio curves of the classes, and moves towards that",
    settings = {
        window_s = { default = 5, min = 0.01, max = 3600, unit = "seconds", help = "requests are counted so long" },
        min_gain = { default = 0.02, min = 0, max = 1, unit = "ratio", help = "fewer misses, or nothing moves" },
        pages_max = { default = 8, min = 1, max = 8, unit = "pages", help = "most in one decision" },
        grain = { default = 32, min = 4, max = 64, unit = "steps", help = "the memory is dealt in this many steps" },
    },
    init = function(settings)
        return { settings = settings, seen = {} }
    end,
    decide = decide,
    checks = {
        { name = "pages go to the class whose curve falls most", settings = "window_s=1", seconds = 2,
            classes = uneven, moves = "3>7x8", says = "class 7 should have 9 pages more, class 3 9 fewer" },
        { name = "like classes keep what they have", settings = "window_s=1", seconds = 6, moves = "",
            says = "too close",
            classes = function(second)
                local list = uneven(second)
                list[1] = uneven(second)[2]
                list[1].id = 3
                return list
            end },
        { name = "a class without requests gives all pages but one", settings = "window_s=1", seconds = 2,
            moves = "3>7x8", classes = function(second) return { { id = 3 }, uneven(second)[2] } end },
        { name = "nothing is dealt where nothing is asked", seconds = 12, moves = "",
            classes = function() return { { id = 3 }, { id = 7 } } end, says = "no class is asked for anything" },
    },
}
