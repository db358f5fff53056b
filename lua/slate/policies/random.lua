-- SPDX-License-Identifier: BSD-3-Clause
-- The class that evicts most gets a page of a class drawn at random: what every other policy should be better than.
--
-- Cheap, without memory, never stuck, and fair to nobody: a class with many pages gives as often as one with two.
-- The draw is a generator of its own that starts from `seed`, so the same snapshots lead to the same moves.
-- Source: twemcache's random slab eviction (-M 2), which drops a random page at every need; here it is once a window.

local function draw(state, most)
    state.random = (state.random * 1103515245 + 12345) & 0x7fffffff
    return (state.random >> 8) % most + 1
end

local function decide(before, after, state)
    local receiver, most, donors = nil, 0, {}
    for _, class in ipairs(after.classes) do
        local was = before.by_id[class.id]
        local losses = class.evicted - was.evicted + class.outofmemory - was.outofmemory
        if losses > most then
            receiver, most = class.id, losses
        end
    end
    if not receiver then
        return {}, "no class evicts"
    end
    for _, class in ipairs(after.classes) do
        if class.total_pages > 1 and class.id ~= receiver then
            donors[#donors + 1] = class.id
        end
    end
    if #donors == 0 then
        return {}, ("class %d evicts, but no other can give a page"):format(receiver)
    end
    local donor = donors[draw(state, #donors)]
    return { { from = donor, to = receiver, reason = ("class %d lost %d items, class %d was drawn of %d"):format(
        receiver, most, donor, #donors) } }
end

local function three(second)
    return { { id = 3 }, { id = 5 }, { id = 7, evicted = second * 10 } }
end

return {
    name = "random",
    summary = "from a class drawn at random to the one that evicts most, as twemcache does",
    settings = {
        window_s = { default = 1, min = 0, max = 3600, unit = "seconds", help = "between two decisions" },
        seed = { default = 1, min = 0, max = 0x7fffffff, unit = "number", help = "where the draw starts" },
    },
    init = function(settings)
        return { random = settings.seed }
    end,
    decide = decide,
    checks = {
        { name = "a drawn class gives to the one that evicts", seconds = 2, classes = three, moves = "3>7",
            says = "class 7 lost 10 items, class 3 was drawn of 2" },
        { name = "the next draw is another", seconds = 6, classes = three, moves = "5>7" },
        { name = "no page moves while no class evicts", seconds = 2, moves = "", says = "no class evicts",
            classes = function() return { { id = 3 }, { id = 5 } } end },
        { name = "last pages stay", seconds = 2, moves = "", says = "class 7 evicts, but no other can give a page",
            classes = function(second) return { { id = 3, total_pages = 1 }, { id = 7, evicted = second } } end },
    },
}
