-- SPDX-License-Identifier: BSD-3-Clause
-- After a shift of sizes: pages go at once to the class that needs most, ever more of them, but no more than needed.
--
-- Evictions are compared in bytes of chunks (an item of 100 KiB is as dear as a thousand of 100 B).
-- The receiver evicted at least `least_kb` a second; a donor evicted less than `share` of the receiver's bytes, oldest
-- tails first. While the same class is the receiver the pages double, up to `pages_max`; a new receiver starts with
-- one. No class gets more than it still lacks: if a share h of its requests hit while it held n items, and its requests
-- go to all of its keys alike, it has n / h keys. For a class with uneven requests that is too many, and the doubling
-- limits the pages; for a class that grew meanwhile it is too few, and the class gets more later.
-- A class that just gave pages gets none in the next window: memcached counts the items that a move drops as evictions,
-- and the page would come back.
-- Quick and blind: it serves the class that stores most, even a scan of items that no client reads again.
-- Source: our own; the pace is that of memcached's mode 2, the donors are those of its mode 1.

local PAGES_A_MOVE <const> = 8

local function evicted_bytes(was, class)
    return (class.evicted - was.evicted + class.outofmemory - was.outofmemory) * class.chunk_size
end

local function receiver_of(before, after, gave)
    local receiver, most = nil, 0
    for _, class in ipairs(after.classes) do
        local bytes = evicted_bytes(before.by_id[class.id], class)
        if bytes > most and not gave[class.id] then
            receiver, most = class, bytes
        end
    end
    return receiver, most
end

-- The classes that may give, the oldest tail first.
local function donors_of(before, after, receiver, least)
    local donors = {}
    for _, class in ipairs(after.classes) do
        if class.id ~= receiver.id and class.total_pages > 1
            and evicted_bytes(before.by_id[class.id], class) < least then
            donors[#donors + 1] = class
        end
    end
    table.sort(donors, function(a, b)
        if a.age ~= b.age then
            return a.age > b.age
        end
        return a.id < b.id
    end)
    return donors
end

-- The pages that a class lacks to hold all requested keys. The class held at least the mean of both moments, as an
-- emptier class fills more quickly. Free chunks came with pages not filled yet: the evictions came before.
local function lacking_pages(was, class)
    local hits, stores = class.get_hits - was.get_hits, class.cmd_set - was.cmd_set
    local least = class.free_chunks > 0 and 0 or 1
    if hits == 0 then
        return class.free_chunks >= class.chunks_per_page and 0 or math.huge
    end
    local keys = (was.number + class.number) / 2 * (hits + stores) / hits
    return math.max(least, math.ceil((keys - class.number - class.free_chunks) / math.max(class.chunks_per_page, 1)))
end

local function moves_to(receiver, donors, pages, words, gave)
    local moves = {}
    for _, donor in ipairs(donors) do
        local can_give = donor.total_pages - 1
        while pages > 0 and can_give > 0 and #moves < 8 do
            local now = math.min(pages, can_give, PAGES_A_MOVE)
            pages, can_give = pages - now, can_give - now
            gave[donor.id] = true
            moves[#moves + 1] = { from = donor.id, to = receiver.id, pages = now,
                reason = ("%s, class %d's tail is %d s old"):format(words, donor.id, donor.age) }
        end
    end
    return moves
end

local function decide(before, after, state)
    local settings, seconds = state.settings, math.max(after.time_s - before.time_s, 0.001)
    local receiver, bytes = receiver_of(before, after, state.gave)
    state.gave = {}
    if not receiver or bytes < settings.least_kb * 1024 * seconds then
        state.receiver = nil
        return {}, "no class evicts enough"
    end
    local words = ("class %d evicted %d KiB"):format(receiver.id, bytes // 1024)
    local donors = donors_of(before, after, receiver, bytes * settings.share)
    if #donors == 0 then
        return {}, words .. ", and so do the others"
    end
    local lacks = lacking_pages(before.by_id[receiver.id], receiver)
    if lacks == 0 then
        return {}, words .. ", but has free chunks for what it lacks"
    end
    state.pages = state.receiver == receiver.id and math.min(state.pages * 2, settings.pages_max) or 1
    state.receiver = receiver.id
    return moves_to(receiver, donors, math.min(state.pages, lacks), words, state.gave)
end

local function starving(second)
    return { { id = 3 }, { id = 7, total_pages = 5, age = 10, evicted = second * 600, cmd_set = second * 600 } }
end

-- A class of 5,120 items, which nine of ten requests hit: a tenth more items, half a page, would satisfy all requests.
local function nearly_there(second)
    return { { id = 3 }, { id = 7, total_pages = 5, age = 10, evicted = second * 600, cmd_set = second * 600,
        get_hits = second * 5400 } }
end

return {
    name = "burst",
    summary = "from the oldest class that hardly evicts to the one that evicts most bytes, ever faster",
    settings = {
        window_s = { default = 0, min = 0, max = 3600, unit = "seconds", help = "between two decisions" },
        least_kb = { default = 256, min = 0, max = 1 << 40, unit = "KiB a second", help = "fewer get no page" },
        share = { default = 0.25, min = 0, max = 1, unit = "ratio", help = "a donor evicts less than this share" },
        pages_max = { default = 32, min = 1, max = 64, unit = "pages", help = "most in one decision" },
    },
    init = function(settings)
        return { settings = settings, pages = 1, gave = {} }
    end,
    decide = decide,
    checks = {
        { name = "it starts with one page", seconds = 2, classes = starving, moves = "3>7",
            says = "class 7 evicted 600 KiB, class 3's tail is 100 s old" },
        { name = "and doubles", seconds = 4, classes = starving, moves = "3>7x4" },
        { name = "up to its limit", settings = "pages_max=2", seconds = 6, classes = starving, moves = "3>7x2" },
        { name = "in moves of eight at most, and no class gives its last page", seconds = 6, moves = "3>7x8 3>7",
            classes = starving },
        { name = "it moves no more than the class lacks", seconds = 6, classes = nearly_there, moves = "3>7" },
        { name = "or than it has free chunks for", seconds = 2, moves = "", says = "has free chunks for what it lacks",
            classes = function(second)
                local list = nearly_there(second)
                list[2].free_chunks = 1024
                return list
            end },
        { name = "what a donor lost by giving is no need of its own", seconds = 3, moves = "",
            classes = function(second)
                return { { id = 3, evicted = second == 3 and 5000 or 0 },
                    { id = 7, total_pages = 5, evicted = math.min(second, 2) * 600 } }
            end },
        { name = "little is not enough", settings = "least_kb=1000", seconds = 3, classes = starving, moves = "",
            says = "no class evicts enough" },
        { name = "no class gives when all evict alike", seconds = 3, moves = "",
            classes = function(second)
                return { { id = 3, evicted = second * 500 }, { id = 7, total_pages = 5, evicted = second * 600 } }
            end, says = "class 7 evicted 600 KiB, and so do the others" },
    },
}
