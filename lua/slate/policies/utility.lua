-- SPDX-License-Identifier: BSD-3-Clause
-- A page goes where it promises most hits, if these are more than its donor would lose.
--
-- Each class has known items, hits and stores; stores count as misses that were filled. Misses are assumed to fall with
-- every item by the same share (s = r e^-kn), so these three give both the gain of a page more and the cost of a page
-- less. A class that does not evict could lose the average of its pages; free chunks for a page cost nothing. Sums of
-- earlier windows count half. A move needs a gain above `margin` times the loss, and `min_hits` more. If the next
-- window confirms a pair, twice as many pages move. For `hold` windows a receiver does not give, and a donor does not
-- get.
-- Source: marginal utility as in Dynacache (HotCloud 2015) and Cliffhanger (NSDI 2016), by a fitted curve. slated's own
-- mode `utility` measures instead: hits on items that it just evicted, and hits in the last page of each queue.

local function smoothed(state, id, hits, stores)
    local seen = state.seen[id] or { hits = 0, stores = 0 }
    seen.hits, seen.stores = seen.hits / 2 + hits, seen.stores / 2 + stores
    state.seen[id] = seen
    return seen.hits, seen.stores
end

-- The hits a window that a page more brings, and that a page less costs.
local function worth(class, evicts, hits, stores)
    if class.free_chunks >= class.chunks_per_page then
        return 0, 0
    elseif not evicts or stores == 0 or class.number == 0 then
        return 0, hits / math.max(class.total_pages, 1)
    end
    local page = math.log((hits + stores) / stores) * class.chunks_per_page / class.number
    return stores * (1 - math.exp(-page)), stores * (math.exp(math.min(page, 50)) - 1)
end

local function best_pair(before, after, state)
    local donor, receiver
    for _, class in ipairs(after.classes) do
        local was = before.by_id[class.id]
        local hits, stores = smoothed(state, class.id, class.get_hits - was.get_hits, class.cmd_set - was.cmd_set)
        local gain, loss = worth(class, class.evicted > was.evicted, hits, stores)
        local may_give = class.total_pages > state.settings.keep and (state.got[class.id] or 0) <= state.round
        local may_get = class.evicted > was.evicted and (state.gave[class.id] or 0) <= state.round
        if may_give and (not donor or loss < donor.loss) then
            donor = { id = class.id, loss = loss, pages = class.total_pages - state.settings.keep }
        end
        if may_get and (not receiver or gain > receiver.gain) then
            receiver = { id = class.id, gain = gain }
        end
    end
    return donor, receiver
end

local function decide(before, after, state)
    local settings = state.settings
    state.round = state.round + 1
    local donor, receiver = best_pair(before, after, state)
    if after.pages_free > 0 then
        return {}, ("the pool has %d pages"):format(after.pages_free)
    elseif not donor or not receiver or donor.id == receiver.id then
        state.pair = nil
        return {}, "no class evicts that may get a page, or none may give one"
    end
    local words = ("a page more brings class %d %.0f hits, a page less costs class %d %.0f"):format(
        receiver.id, receiver.gain, donor.id, donor.loss)
    if receiver.gain < donor.loss * settings.margin + settings.min_hits then
        state.pair = nil
        return {}, words .. ": too close"
    end
    local pair = donor.id << 8 | receiver.id
    state.pages = state.pair == pair and math.min(state.pages * 2, settings.pages_max) or 1
    state.pair = pair
    state.got[receiver.id], state.gave[donor.id] = state.round + settings.hold, state.round + settings.hold
    return { { from = donor.id, to = receiver.id, pages = math.min(state.pages, donor.pages), reason = words } }
end

local function uneven(second)
    return { { id = 3, evicted = second * 100, cmd_set = second * 100, get_hits = second * 300 },
        { id = 7, total_pages = 5, evicted = second * 5000, cmd_set = second * 5000, get_hits = second * 5000 } }
end

return {
    name = "utility",
    summary = "from where a page less costs fewest hits to where a page more brings most",
    settings = {
        window_s = { default = 1, min = 0, max = 3600, unit = "seconds", help = "hits are counted over this time" },
        margin = { default = 1.1, min = 1, max = 100, unit = "ratio", help = "a gain must exceed the loss times this" },
        min_hits = { default = 16, min = 0, max = 1e9, unit = "hits", help = "and exceed it by this many a window" },
        hold = { default = 3, min = 0, max = 1000, unit = "windows",
            help = "a class that got a page does not give, nor the reverse" },
        pages_max = { default = 8, min = 1, max = 8, unit = "pages", help = "most in one decision" },
        keep = { default = 1, min = 1, max = 100000, unit = "pages", help = "no class gives when it has this few" },
    },
    init = function(settings)
        return { settings = settings, round = 0, seen = {}, got = {}, gave = {}, pages = 1 }
    end,
    decide = decide,
    checks = {
        { name = "a page goes where it brings most", seconds = 2, classes = uneven, moves = "3>7",
            says = "a page more brings class 7 647 hits, a page less costs class 3 15" },
        { name = "and twice as many when that is confirmed", seconds = 3, classes = uneven, moves = "3>7x2" },
        { name = "like classes keep what they have", seconds = 5, moves = "",
            classes = function(second)
                local rates = { evicted = second * 100, cmd_set = second * 100, get_hits = second * 300 }
                return { { id = 3, evicted = rates.evicted, cmd_set = rates.cmd_set, get_hits = rates.get_hits },
                    { id = 7, evicted = rates.evicted, cmd_set = rates.cmd_set, get_hits = rates.get_hits } }
            end },
        { name = "a scan that is never read gets nothing", seconds = 5, moves = "",
            classes = function(second)
                return { { id = 3, get_hits = second * 100 },
                    { id = 7, evicted = second * 9000, cmd_set = second * 9000 } }
            end },
        { name = "free chunks are given first", seconds = 2, moves = "5>7",
            classes = function(second)
                local list = uneven(second)
                table.insert(list, 2, { id = 5, free_chunks = 4000, get_hits = second * 90000 })
                return list
            end },
    },
}
