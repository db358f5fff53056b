-- SPDX-License-Identifier: BSD-3-Clause
--- What pages are worth to a class: curves of its misses over the items, the pages or the bytes that it could hold.
--- Pure.
--
-- It is built into slated with slate.base.policy_core, under whose rule it stands: what it uses is looked up once.
local ipairs = ipairs
local abs, exp, log, max, min = math.abs, math.exp, math.log, math.max, math.min

local M = {}

--- Hits grow with the logarithm of the pages: by such a share of a class's reads for each unit of the natural
-- logarithm. slate.judge.predict says why.
M.SLOPE = 0.1

local PAGE_BYTES <const> = 1 << 20

-- (e^z - 1) / z
local function growth(z)
    return abs(z) < 1e-9 and 1 or (exp(z) - 1) / z
end

--- The misses of a class over the items that it could hold, fitted to what it did with those it has.
-- requests, misses: in some time; items: held; age: of the item evicted next, in the same time.
-- By the footprint theory of Xiang et al. (ASPLOS 2013) the items held are what was asked for in the last `age`, and
-- the misses the rate at which that grows. So the curve goes through (0, requests) and (items, misses), and filling
-- it to `items` takes `age`; of the curves requests * (1 + n/a)^-b, from linear to hyperbolic, one fits.
-- Returns a function of items. Cost: some 40 steps to fit.
function M.miss_curve(requests, misses, items, age)
    if misses >= requests then
        return function() return requests end
    elseif misses <= 0 or items <= 0 then -- all that is asked for is there: who knows how little would do
        return function(n) return max(0, requests * (1 - n / max(items, 1))) end
    end
    local fall = log(requests / misses)
    local wanted, low, high = age * requests / items, -fall, 14
    for _ = 1, 40 do
        local middle = (low + high) / 2
        if growth(middle + fall) / growth(middle) < wanted then
            low = middle
        else
            high = middle
        end
    end
    local bend = (low + high) / 2
    return function(n)
        if abs(bend) < 1e-6 then
            return requests * exp(-fall * n / items)
        end
        local base = 1 + (exp(bend) - 1) * n / items
        return base > 0 and requests * base ^ (-fall / bend) or 0
    end
end

-- The hit ratio at so many bytes, along straight lines between the points of a curve, which goes through 0.
local function ratio_at(curve, bytes)
    local last_bytes, last_ratio = 0, 0
    for _, point in ipairs(curve) do
        if point[1] >= bytes then
            return last_ratio + (point[2] - last_ratio) * (bytes - last_bytes) / max(point[1] - last_bytes, 1)
        end
        last_bytes, last_ratio = point[1], point[2]
    end
    return last_ratio
end

--- How many hits a second a class of `after` would have more with so many pages more; a negative number of pages costs
-- hits. By the class's sampled curve where the host gave one, else by the logarithm of the pages.
function M.page_gain(class, pages)
    local held, hits, misses = class.total_pages, class.hits_per_s, class.misses_per_s
    pages = max(pages, -held)
    if class.evicted_per_s == 0 and pages > 0 or hits + misses == 0 then
        return 0 -- it does not fill the pages it has
    elseif class.curve and #class.curve > 0 then
        return (hits + misses) * (ratio_at(class.curve, (held + pages) * PAGE_BYTES)
            - ratio_at(class.curve, held * PAGE_BYTES))
    elseif held + pages <= 0 then
        return -hits
    end
    return max(-hits, min(misses, (hits + misses) * M.SLOPE * log((held + pages) / max(held, 1))))
end

return M
