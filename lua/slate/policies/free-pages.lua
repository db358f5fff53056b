-- SPDX-License-Identifier: BSD-3-Clause
-- Gives away only unused pages: those whose chunks are free.
--
-- A class can give pages if it had more free chunks than `spare_pages` pages have, in both snapshots, and evicted
-- nothing in between. The pages go to the class that evicted most, or to the pool when none did, one page a window for
-- each donor. Such a move loses no item: the items of the page fit into the free chunks of the class.
-- CacheLib calls this the free-memory strategy; it is the safe part of memcached's automove.

local function pages_to_spare(class, settings)
    local spare = class.chunks_per_page > 0 and class.free_chunks / class.chunks_per_page or 0
    return spare > settings.spare_pages and class.total_pages > 1 and spare
end

-- The class that evicted or refused most since the previous snapshot; nil when none did.
local function most_starved(before, after)
    local receiver, most = nil, 0
    for _, class in ipairs(after.classes) do
        local was = before.by_id[class.id]
        local losses = class.evicted - was.evicted + class.outofmemory - was.outofmemory
        if losses > most then
            receiver, most = class.id, losses
        end
    end
    return receiver, most
end

local function decide(before, after, settings)
    local receiver, losses = most_starved(before, after)
    local moves = {}
    for _, class in ipairs(after.classes) do
        local was = before.by_id[class.id]
        local spare = pages_to_spare(class, settings)
        if spare and pages_to_spare(was, settings) and class.evicted == was.evicted
            and class.id ~= receiver and #moves < settings.moves then
            local words = ("class %d has %.1f pages of free chunks"):format(class.id, spare)
            if receiver then
                words = words .. (", class %d lost %d items"):format(receiver, losses)
            end
            moves[#moves + 1] = { from = class.id, to = receiver or 0, reason = words }
        end
    end
    return moves, ("no class has more than %g pages of free chunks"):format(settings.spare_pages)
end

local function starving(free_chunks)
    return function(second)
        return { { id = 3, free_chunks = free_chunks }, { id = 7, total_pages = 5, evicted = second * 600 } }
    end
end

return {
    name = "free-pages",
    summary = "pages of free chunks go to the class that evicts most, or to the pool",
    settings = {
        window_s = { default = 1, min = 0, max = 3600, unit = "seconds", help = "between two decisions" },
        spare_pages = { default = 2, min = 1, max = 1000, unit = "pages", help = "what a class may keep free" },
        moves = { default = 4, min = 1, max = 8, unit = "pages", help = "most in one decision" },
    },
    decide = decide,
    checks = {
        { name = "what is free goes to the class that evicts most", seconds = 3, classes = starving(5000),
            moves = "3>7", says = "class 3 has 4.9 pages of free chunks, class 7 lost 600 items" },
        { name = "or to the pool", seconds = 3, classes = function() return { { id = 3, free_chunks = 5000 } } end,
            moves = "3>0", says = "class 3 has 4.9 pages of free chunks" },
        { name = "no page is taken from a class that uses its chunks", seconds = 3, classes = starving(2000),
            moves = "", says = "no class has more than 2 pages of free chunks" },
        { name = "nor from a class that evicts", seconds = 3, moves = "",
            classes = function(second) return { { id = 3, free_chunks = 5000, evicted = second } } end },
    },
}
