-- SPDX-License-Identifier: BSD-3-Clause
-- CacheLib's tail-age strategy: who would evict youngest after one more page gets it from who evicts oldest.
--
-- The receiver's age is projected: with a page more its tail would be older in proportion to its
-- pages. So a class of two pages is not fed for ever. The donor's tail must be older than that by `min_age_s`
-- and by `min_ratio`. Unlike ratio it looks at this moment only, without a window, and weighs nothing by evictions.
-- Source: CacheLib's LruTailAgeStrategy (tailAgeDifferenceRatio, minTailAgeDifference, slabProjectionLength).

local function projected_age_s(class, pages)
    return class.age * (class.total_pages + pages) / math.max(class.total_pages, 1)
end

local function decide(before, after, settings)
    if after.pages_free > 0 then
        return {}, ("the pool has %d pages"):format(after.pages_free)
    end
    local receiver, donor
    for _, class in ipairs(after.classes) do
        if class.evicted > before.by_id[class.id].evicted
            and (not receiver or projected_age_s(class, 1) < projected_age_s(receiver, 1)) then
            receiver = class
        end
        if class.total_pages > settings.keep and class.number > 0 and (not donor or class.age > donor.age) then
            donor = class
        end
    end
    if not receiver or not donor or donor.id == receiver.id then
        return {}, "no class evicts, or no other can give a page"
    end
    local age_s = projected_age_s(receiver, 1)
    local words = ("class %d would evict at age %.0f s with a page more, class %d's tail is %d s old"):format(
        receiver.id, age_s, donor.id, donor.age)
    if donor.age - age_s < settings.min_age_s or donor.age < age_s * (1 + settings.min_ratio) then
        return {}, words .. ": close enough"
    end
    return { { from = donor.id, to = receiver.id, reason = words } }
end

local function starving(age_s, pages)
    return function(second)
        return { { id = 3, age = age_s }, { id = 7, total_pages = pages, age = 10, evicted = second * 600 } }
    end
end

return {
    name = "age",
    summary = "from the oldest tail to the class that would still evict youngest, as CacheLib does",
    settings = {
        window_s = { default = 1, min = 0, max = 3600, unit = "seconds", help = "between two decisions" },
        min_age_s = { default = 10, min = 0, max = 1 << 32, unit = "seconds", help = "least difference of ages" },
        min_ratio = { default = 0.25, min = 0, max = 100, unit = "ratio", help = "the same as a share" },
        keep = { default = 1, min = 1, max = 100000, unit = "pages", help = "no class gives when it has this few" },
    },
    decide = decide,
    checks = {
        { name = "the oldest tail gives to the youngest that evicts", seconds = 2, classes = starving(100, 5),
            moves = "3>7", says = "class 7 would evict at age 12 s with a page more, class 3's tail is 100 s old" },
        { name = "a class that a page would make old enough gets none", seconds = 2, classes = starving(19, 1),
            moves = "", says = "class 7 would evict at age 20 s with a page more, class 3's tail is 19 s old: close" },
        { name = "the last pages stay", settings = "keep=10", seconds = 2, classes = starving(100, 5), moves = "",
            says = "no class evicts, or no other can give a page" },
        { name = "nothing moves while the pool has pages", seconds = 2, pool = 1, classes = starving(100, 5),
            moves = "", says = "the pool has 1 pages" },
    },
}
