-- SPDX-License-Identifier: BSD-3-Clause
-- Pages go where each of them earns most hits: CacheLib's hits-per-slab strategy.
--
-- Once a window, the class with the fewest hits a page gives one to the class with the most among
-- those that evict, if the difference is at least `min_diff` hits a page and at least `min_ratio`
-- of what the donor's pages earn. A class that has just gained a page keeps it for `hold` windows,
-- and a class that has just given one gets none back for as long: else two classes that are nearly
-- equal pass a page to and fro. It takes hits to be proportional to pages: where that is far from
-- true (a class that needs all of its pages or none) it can be wrong, which no average shows.
-- Source: CacheLib's HitsPerSlabStrategy; its hold-off is for the receiver only.

local function hits_per_page(was, class)
    return (class.get_hits - was.get_hits) / math.max(class.total_pages, 1)
end

-- The classes that may take part, with what a page of theirs earned in this window.
local function rank(before, after, state)
    local donor, receiver
    for _, class in ipairs(after.classes) do
        local was = before.by_id[class.id]
        local one = { id = class.id, earns = hits_per_page(was, class) }
        local held = (state.held[class.id] or 0) > state.round
        if class.total_pages > state.settings.keep and not held and (not donor or one.earns < donor.earns) then
            donor = one
        end
        if class.evicted > was.evicted and not held and (not receiver or one.earns > receiver.earns) then
            receiver = one
        end
    end
    return donor, receiver
end

local function decide(before, after, state)
    local settings = state.settings
    state.round = state.round + 1
    if after.pages_free > 0 then
        return {}, ("the pool has %d pages"):format(after.pages_free)
    end
    local donor, receiver = rank(before, after, state)
    if not donor or not receiver or donor.id == receiver.id then
        return {}, "no class evicts that may get a page, or none may give one"
    end
    local words = ("a page earned %.0f hits in class %d, %.0f in class %d"):format(
        receiver.earns, receiver.id, donor.earns, donor.id)
    local difference = receiver.earns - donor.earns
    if difference < settings.min_diff then
        return {}, words .. (": less than %.0f hits apart (min_diff)"):format(settings.min_diff)
    elseif difference < donor.earns * settings.min_ratio then
        return {}, words .. ": too close"
    end
    state.held[donor.id] = state.round + settings.hold
    state.held[receiver.id] = state.round + settings.hold
    return { { from = donor.id, to = receiver.id, reason = words } }
end

local function starving(second)
    return { { id = 3 }, { id = 7, total_pages = 5, age = 10, evicted = second * 600, get_hits = second * 50000 } }
end

return {
    name = "hits-per-page",
    summary = "from the class whose pages earn the fewest hits to the one that evicts and earns most",
    settings = {
        window_s = { default = 2, min = 0, max = 3600, unit = "seconds", help = "hits are counted over this time" },
        min_diff = { default = 100, min = 0, max = 1e9, unit = "hits", help = "least difference" },
        min_ratio = { default = 0.1, min = 0, max = 100, unit = "ratio", help = "the same as a share of the donor's" },
        hold = { default = 2, min = 0, max = 1000, unit = "windows", help = "both classes rest so long afterwards" },
        keep = { default = 1, min = 1, max = 100000, unit = "pages", help = "no class gives when it has this few" },
    },
    init = function(settings)
        return { settings = settings, round = 0, held = {} }
    end,
    decide = decide,
    checks = {
        { name = "the class that earns least gives to the evicting one that earns most",
            settings = "window_s=1 hold=2", seconds = 2, classes = starving, moves = "3>7",
            says = "a page earned 10000 hits in class 7, 0 in class 3" },
        { name = "and both rest afterwards", settings = "window_s=1 hold=2", seconds = 3, classes = starving,
            moves = "", says = "no class evicts that may get a page, or none may give one" },
        { name = "but not for longer", settings = "window_s=1 hold=2", seconds = 4, classes = starving, moves = "3>7" },
        { name = "what is too close stays", settings = "window_s=1 min_diff=20000", seconds = 3, classes = starving,
            moves = "", says = "10000 hits in class 7, 0 in class 3: less than 20000 hits apart (min_diff)" },
        { name = "so does what is close in proportion", settings = "window_s=1 min_diff=0 min_ratio=1", seconds = 3,
            classes = function(second)
                return { { id = 3, total_pages = 5, get_hits = second * 45000 },
                    { id = 7, total_pages = 5, age = 10, evicted = second * 600, get_hits = second * 50000 } }
            end, moves = "", says = "a page earned 10000 hits in class 7, 9000 in class 3: too close" },
        { name = "so do the last pages", settings = "window_s=1 keep=10", seconds = 3, classes = starving, moves = "" },
    },
}
