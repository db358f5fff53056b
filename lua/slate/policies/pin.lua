-- SPDX-License-Identifier: BSD-3-Clause
-- Floors and caps: a class that is named keeps at least, or at most, so many pages.
--
-- `floors` and `caps` name classes and pages, as 5:10,12:4. A class below its floor gets pages from
-- the class that is furthest above its own: named classes count from their floor, all others from
-- `keep`. Then a class above its cap gives the rest to the class that evicts most and may have it;
-- while nobody evicts it keeps them, since a page in the pool would soon be its own again.
-- It moves nothing else, so it protects a class from whatever else takes pages away, such as an
-- operator's own moves; a class without items is not on the list and is not served.
-- Source: what operators of memcached ask for (its issue 677): to hold a class against the mover.

local function read_pages(text, name)
    local pages = {}
    for part in (text == "" and "" or text .. ","):gmatch("([^,]*),") do
        local id, count = part:match("^(%d+):(%d+)$")
        id, count = math.tointeger(tonumber(id)), math.tointeger(tonumber(count))
        if not id or not count then
            error(("%s are written as class:pages,class:pages, and '%s' is not"):format(name, part), 0)
        end
        pages[id] = count
    end
    return pages
end

local function init(settings)
    local state = {
        floors = read_pages(settings.floors, "floors"), caps = read_pages(settings.caps, "caps"),
        keep = settings.keep, pages_max = settings.pages_max,
    }
    for id, least in next, state.floors do
        if least > (state.caps[id] or least) then
            error(("class %d has a floor of %d pages and a cap of %d"):format(id, least, state.caps[id]), 0)
        end
    end
    return state
end

-- The class with the most pages above its floor, and how many these are.
local function richest(after, state)
    local donor, most = nil, 0
    for _, class in ipairs(after.classes) do
        local above = class.total_pages - (state.floors[class.id] or state.keep)
        if above > most then
            donor, most = class, above
        end
    end
    return donor, most
end

local function fill_up(after, state)
    local donor, above = richest(after, state)
    for _, class in ipairs(after.classes) do
        local missing = (state.floors[class.id] or 0) - class.total_pages
        if missing > 0 and after.pages_free > 0 then
            return { { from = 0, to = class.id, pages = math.min(missing, after.pages_free, state.pages_max),
                reason = ("class %d has %d pages of the %d promised, the pool has %d"):format(
                    class.id, class.total_pages, state.floors[class.id], after.pages_free) } }
        elseif missing > 0 and donor and donor.id ~= class.id then
            return { { from = donor.id, to = class.id, pages = math.min(missing, above, state.pages_max),
                reason = ("class %d has %d pages of the %d promised, class %d has %d"):format(
                    class.id, class.total_pages, state.floors[class.id], donor.id, donor.total_pages) } }
        elseif missing > 0 then
            return {}, ("class %d lacks %d pages, but no class is above its floor"):format(class.id, missing)
        end
    end
end

local function cut_down(before, after, state)
    local receiver, most = nil, 0
    for _, class in ipairs(after.classes) do
        local evicted = class.evicted - before.by_id[class.id].evicted
        if evicted > most and class.total_pages < (state.caps[class.id] or math.huge) then
            receiver, most = class, evicted
        end
    end
    for _, class in ipairs(after.classes) do
        local cap = state.caps[class.id]
        local above = cap and class.total_pages - math.max(cap, 1) or 0
        if above > 0 and not receiver then
            return {}, ("class %d has %d pages above its cap, but no class needs them"):format(class.id, above)
        elseif above > 0 then
            local room = (state.caps[receiver.id] or math.huge) - receiver.total_pages
            return { { from = class.id, to = receiver.id, pages = math.min(above, room, state.pages_max),
                reason = ("class %d has %d pages of the %d allowed, class %d lost %d items"):format(
                    class.id, class.total_pages, cap, receiver.id, most) } }
        end
    end
end

local function decide(before, after, state)
    local moves, why = fill_up(after, state)
    if not moves then
        moves, why = cut_down(before, after, state)
    end
    return moves or {}, why or "every class has the pages it was promised"
end

local function two(second)
    return { { id = 3 }, { id = 7, total_pages = 2, evicted = second * 5 } }
end

return {
    name = "pin",
    summary = "keeps floors and caps of pages for the classes that are named",
    settings = {
        floors = { default = "", unit = "class:pages", help = "at least so many, such as 5:10,12:4" },
        caps = { default = "", unit = "class:pages", help = "at most so many, such as 3:20" },
        keep = { default = 2, min = 1, max = 1 << 32, unit = "pages", help = "what classes that are not named keep" },
        pages_max = { default = 4, min = 1, max = 8, unit = "pages", help = "most in one decision" },
    },
    init = init,
    decide = decide,
    checks = {
        { name = "a floor is filled from the pool first", settings = "floors=7:5", seconds = 2, pool = 1, classes = two,
            moves = "0>7", says = "class 7 has 2 pages of the 5 promised, the pool has 1" },
        { name = "then from the class furthest above its own", settings = "floors=7:5", seconds = 2, classes = two,
            moves = "3>7x3", says = "class 7 has 2 pages of the 5 promised, class 3 has 10" },
        { name = "a floor takes nothing from another floor", settings = "floors=7:5,3:10", seconds = 2, classes = two,
            moves = "", says = "class 7 lacks 3 pages, but no class is above its floor" },
        { name = "a class with its pages is left alone", settings = "floors=7:2", seconds = 2, classes = two,
            moves = "", says = "every class has the pages it was promised" },
        { name = "pages above a cap go to the class that evicts", settings = "caps=3:7", seconds = 2, classes = two,
            moves = "3>7x3", says = "class 3 has 10 pages of the 7 allowed, class 7 lost 5 items" },
        { name = "up to his own cap", settings = "caps=3:7,7:4", seconds = 2, classes = two, moves = "3>7x2" },
        { name = "or stay where no class needs them", settings = "caps=3:7", seconds = 2, moves = "",
            classes = function() return { { id = 3 }, { id = 7 } } end,
            says = "class 3 has 3 pages above its cap, but no class needs them" },
        { name = "what is no list of pages is refused", settings = "floors=many", seconds = 1, classes = two,
            fails = "floors are written as class:pages,class:pages, and 'many' is not" },
        { name = "also among others that are right", settings = "caps=5:10,6:x", seconds = 1, classes = two,
            fails = "caps are written as class:pages,class:pages, and '6:x' is not" },
        { name = "or of which there is none", settings = "floors=5:10,", seconds = 1, classes = two,
            fails = "floors are written as class:pages,class:pages, and '' is not" },
        { name = "so is a floor above its cap", settings = "floors=3:5 caps=3:4", seconds = 1, classes = two,
            fails = "class 3 has a floor of 5 pages and a cap of 4" },
    },
}
