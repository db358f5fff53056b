-- SPDX-License-Identifier: BSD-3-Clause
--- Which servers of a fleet are unlike the others: by hits, by how long items live, by evictions. Pure.
--
-- How far a server is from the median, in robust deviations (1.4826 times the median of the distances, which for values
-- of a bell curve is the standard deviation), so that an outlier does not hide itself. Only what is worse counts.
local units = require "slate.base.units"

local M = {}

--- Fewer servers that answer are not compared.
M.LEAST = 4

local FAR <const> = 3 -- from so many deviations on a server is an outlier
local DEVIATION_BY_MEDIAN <const> = 1.4826

local function log1p(value)
    return math.log(1 + value)
end

-- What is compared, as numbers of which a larger one is worse, and back; floor: the least that counts as one deviation.
local COMPARED <const> = {
    { name = "hit_ratio", floor = 0.005, worse = function(value) return -value end,
        back = function(worse) return -worse end },
    { name = "age_s", floor = 0.1, worse = function(value) return -log1p(value) end,
        back = function(worse) return math.exp(-worse) - 1 end },
    { name = "evictions_per_s", floor = 0.2, worse = log1p, back = function(worse) return math.exp(worse) - 1 end },
}

local function median(values)
    table.sort(values)
    local half = #values // 2
    return #values % 2 == 1 and values[half + 1] or (values[half] + values[half + 1]) / 2
end

local function compare(servers, found, figure)
    local values, distances = {}, {}
    for _, one in ipairs(servers) do
        values[#values + 1] = one[figure.name] and figure.worse(one[figure.name])
    end
    if #values < M.LEAST then
        return
    end
    local middle = median(values)
    for i, value in ipairs(values) do
        distances[i] = math.abs(value - middle)
    end
    local deviation = math.max(DEVIATION_BY_MEDIAN * median(distances), figure.floor)
    for i, one in ipairs(servers) do
        local far = one[figure.name] and (figure.worse(one[figure.name]) - middle) / deviation
        if far and not (found[i].far and far <= found[i].far) then
            found[i] = { far = math.max(far, 0), by = figure.name, middle = figure.back(middle),
                is_outlier = far >= FAR }
        end
    end
end

--- servers: a list of { hit_ratio, age_s, evictions_per_s }, each absent where it is not known; empty for one that does
-- not answer. Returns for each { far (deviations to the worse side, 0 for none), by (the name of the figure that is
-- furthest), middle (the median of that figure), is_outlier }; empty where nothing could be compared.
-- Cost: O(n log n).
function M.compare(servers)
    local found = {}
    for i in ipairs(servers) do
        found[i] = {}
    end
    for _, figure in ipairs(COMPARED) do
        compare(servers, found, figure)
    end
    return found
end

local WORDS <const> = {
    hit_ratio = function(value, middle) return ("hits %.0f points below the middle"):format((middle - value) * 100) end,
    age_s = function(value, middle)
        return ("keeps items %s, the middle %s"):format(units.age(value), units.age(middle))
    end,
    evictions_per_s = function(value, middle)
        return ("evicts %s a second, the middle %s"):format(units.rate(value), units.rate(middle))
    end,
}

--- An outlier in words. one: its figures; found: of M.compare.
function M.words(one, found)
    return WORDS[found.by](one[found.by], found.middle)
end

return M
