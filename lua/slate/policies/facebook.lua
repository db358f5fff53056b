-- SPDX-License-Identifier: BSD-3-Clause
-- Facebook's balancer: a class whose next victim is much younger than the average gets a page.
--
-- A class is in need when it evicts and its tail is more than `margin` younger than the mean tail
-- of the other classes. The class whose tail is oldest gives it a page. It looks only at ages of this moment
-- and moves one page a window, so it is simple, and slow after a shift of sizes.
-- Source: Nishtala et al., "Scaling Memcache at Facebook", NSDI 2013, section 4.1.

local function mean_age_of_others(after, id)
    local sum, count = 0, 0
    for _, class in ipairs(after.classes) do
        if class.number > 0 and class.id ~= id then
            sum, count = sum + class.age, count + 1
        end
    end
    return count > 0 and sum / count or 0
end

local function decide(before, after, settings)
    local needy, oldest
    for _, class in ipairs(after.classes) do
        if class.evicted > before.by_id[class.id].evicted
            and class.age < mean_age_of_others(after, class.id) * (1 - settings.margin)
            and (not needy or class.age < needy.age) then
            needy = class
        end
        if class.total_pages > 1 and class.number > 0 and (not oldest or class.age > oldest.age) then
            oldest = class
        end
    end
    if not needy then
        return {}, "no class evicts items much younger than the others'"
    elseif not oldest or oldest.id == needy.id then
        return {}, "no other class can give a page"
    end
    return { { from = oldest.id, to = needy.id, reason = ("class %d evicts at age %d s, the others keep %.0f s"):format(
        needy.id, needy.age, mean_age_of_others(after, needy.id)) } }
end

local function starving(age_s)
    return function(second)
        return { { id = 3, age = age_s }, { id = 7, total_pages = 5, age = 10, evicted = second * 600 } }
    end
end

return {
    name = "facebook",
    summary = "from the oldest tail to a class that evicts items 20 % younger than the others, as Facebook did",
    settings = {
        window_s = { default = 1, min = 0, max = 3600, unit = "seconds", help = "between two decisions" },
        margin = { default = 0.2, min = 0, max = 1, unit = "ratio", help = "so much younger than the mean is in need" },
    },
    decide = decide,
    checks = {
        { name = "a class that evicts far younger items than others keep gets a page", seconds = 3,
            classes = starving(100), moves = "3>7", says = "class 7 evicts at age 10 s, the others keep 100 s" },
        { name = "a difference of 17 % is none", seconds = 3, classes = starving(12), moves = "" },
        { name = "but may be made one", settings = "margin=0.1", seconds = 3, classes = starving(12), moves = "3>7" },
        { name = "a young class that does not evict needs nothing", seconds = 3,
            classes = function() return { { id = 3 }, { id = 7, age = 1 } } end, moves = "" },
    },
}
