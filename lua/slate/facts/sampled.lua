-- SPDX-License-Identifier: BSD-3-Clause
--- Figures from slated's sample of the keys, as tables: `stats curve` and `stats whatif`.
-- Parsers take the lines of a reply. Readers query a server, and return nil, message, code if it has no figures.
local gather = require "slate.base.gather"
local stats = require "slate.facts.stats"

local M = {}

local function read(client, group, parse)
    local lines, message, code = stats.query_slated(client, group,
        ("%s needs slated: this server samples no keys"):format(group:match("^%S+")))
    if not lines then
        return nil, message, code == "refused" and require("slate.facts.runtime").blame(message) or code
    end
    return parse(lines)
end

--- The message while the sample is too small. what: the use of the sample, such as "for a curve".
function M.too_few(what)
    return ("too few reads were sampled %s: traffic brings more, unless sample_rate is 0"):format(what)
end

-- The value of a figure; nil if it is no number.
local function number_of(name, text)
    local value = stats.typed(name, text)
    return type(value) == "number" and value or nil
end

-- Appends a point; without a ratio it is left out.
local function add_point(points, at, text)
    local ratio = number_of("", text)
    if at and ratio and ratio >= 0 and ratio <= 1 then
        points[#points + 1] = { at, ratio }
    end
end

-- Adds the least and the most to a point, if the band is the point's.
local function add_band(point, at, band)
    if point and point[1] == at and band then
        point[3], point[4] = math.max(0, point[2] - band), math.min(1, point[2] + band)
    end
end

-- Sorts points; of two at one place the first one in the sorted list stays.
local function ascend(points)
    table.sort(points, function(a, b) return a[1] < b[1] end)
    for i = #points, 2, -1 do
        if points[i][1] == points[i - 1][1] then
            table.remove(points, i)
        end
    end
end

-- The share of the reads that no memory makes hits; nil if it is not known.
local function unsaved_of(curve)
    return curve.compulsory_ratio or curve.first_reads and (curve.reads or 0) > 0 and curve.first_reads / curve.reads
        or nil
end

-- The most hits that any memory can bring: all reads but those of new and expired keys. Not less than today's hits.
local function ceiling_of(curve)
    local unsaved = unsaved_of(curve)
    for _, size in ipairs(unsaved and curve.sizes or {}) do
        if size[1] == 1 then
            return math.max(size[2], 1 - unsaved)
        end
    end
    return 1
end

--- { bytes =, used_bytes =, reads =, first_reads =, lru_hit_ratio =, points = { { bytes, hit_ratio, least, most }, … },
-- sizes = { { factor, hit_ratio, least, most }, … } }, both lists in ascending order, and empty before enough was
-- sampled; sizes are of the whole cache only. bytes: of a class its pages, of the whole cache its limit, of which
-- classes have used_bytes. 19 of 20 hit ratios should come between the least and the most, which today's size lacks.
-- first_reads: of keys that were never used before, so that no memory makes them hits. The whole cache's curve also has
-- compulsory_ratio (the share of such reads, and of those of expired keys, in all reads), lacks (a text: what the
-- sample has too few of), predictions (the number compared with the hit ratio after a change) and predictions_within
-- (the number that came true).
function M.parse_curve(lines)
    local curve = { points = {}, sizes = {} }
    for _, line in ipairs(lines) do
        local name, text = stats.split(line)
        local bytes, factor = (name or ""):match("^point:(%d+)$"), (name or ""):match("^hit_ratio_x([%d.]+)$")
        local banded = (name or ""):match("^band:(%d+)$")
        if bytes then
            add_point(curve.points, math.tointeger(tonumber(bytes)), text)
        elseif banded then
            add_band(curve.points[#curve.points], math.tointeger(tonumber(banded)), number_of(name, text))
        elseif factor then
            local times = tonumber(factor)
            add_point(curve.sizes, times and times > 0 and times < math.huge and times or nil, text)
        elseif name == "lacks" then
            curve.lacks = text ~= "nothing" and text or nil
        elseif name and type(curve[name]) ~= "table" then
            curve[name] = number_of(name, text)
        end
    end
    ascend(curve.points)
    ascend(curve.sizes)
    for _, size in ipairs(curve.sizes) do
        local band = curve[("band_x%g"):format(size[1])]
        add_band(size, size[1], band)
        size[2] = size[1] > 1 and math.min(size[2], ceiling_of(curve)) or size[2]
        size[3] = size[3] and math.min(size[3], size[2])
    end
    curve.used_bytes = curve.used_bytes or curve.bytes
    return curve
end

local WORDS <const> = { policy = true, why = true, changed = true }

-- The complete entries of a list.
local function whole(list)
    return gather.values(list, function(one) return one.hit_ratio and one.difference and one or nil end)
end

--- The totals by their names; then the policies, the best first: { policy, hit_ratio, difference, doubt, reads, record
-- (the state of a policy with s3fifo's structure, as text) }; then the same by class: { [id] = { … } }.
function M.parse_whatif(lines)
    local totals, policies, classes, at = {}, {}, {}, {}
    for _, line in ipairs(lines) do
        local name, text = stats.split(line)
        local class, policy, field = (name or ""):match("^class:(%d+):(%w+):(%S+)$")
        if not class then
            policy, field = (name or ""):match("^(%w+):(%S+)$")
        end
        if policy then
            local id = class and math.tointeger(tonumber(class))
            local list = policies
            if id then
                classes[id] = classes[id] or {}
                list = classes[id]
            end
            local key = (class or "") .. ":" .. policy
            if not at[key] then
                at[key] = { policy = policy }
                list[#list + 1] = at[key]
            end
            at[key][field] = field == "record" and text or number_of(field, (text:gsub("^%+", "")))
        elseif name then
            totals[name] = WORDS[name] and text or number_of(name, text)
        end
    end
    -- The policy none is last: it hits well because it refuses new items. Of equal policies the running one is first.
    local function best_first(a, b)
        if (a.policy == "none") ~= (b.policy == "none") then
            return b.policy == "none"
        elseif a.hit_ratio ~= b.hit_ratio then
            return a.hit_ratio > b.hit_ratio
        end
        if a.policy == totals.policy or b.policy == totals.policy then
            return a.policy == totals.policy and b.policy ~= totals.policy
        end
        return a.policy < b.policy
    end
    policies = whole(policies)
    table.sort(policies, best_first)
    for id, list in pairs(classes) do
        classes[id] = whole(list)
        table.sort(classes[id], best_first)
    end
    return totals, policies, classes
end

--- The best of policies (of parse_whatif) that evicts; nil without one. `none` keeps its items and refuses every store
-- once memory is full: many hits, but no cache to recommend.
function M.best_that_evicts(policies)
    for _, one in ipairs(policies) do
        if one.policy ~= "none" then
            return one
        end
    end
end

--- The running policy, and whether s3auto chose it, in words. totals: of parse_whatif.
function M.policy_in_words(totals)
    return totals.policy .. (totals.s3auto == 1 and ", chosen by s3auto" or "")
end

--- The value at x of points { x, y }: see slate.base.policy_curve.
M.between = require("slate.base.policy_curve").between

--- Leaves out the sizes and points of a curve below the least memory that the server can hold; today's size stays.
function M.leave_out_below(curve, least_bytes)
    local function keep(list, is_within)
        for i = #list, 1, -1 do
            if not is_within(list[i]) then
                table.remove(list, i)
            end
        end
    end
    keep(curve.points, function(point) return point[1] >= least_bytes end)
    keep(curve.sizes, function(size) return size[1] == 1 or size[1] * curve.bytes >= least_bytes end)
end

-- Half of a band in standard errors: a band holds 19 of 20 values of a normal distribution.
local BAND_DEVIATIONS <const> = 1.96

-- The value at x, by linear interpolation between points over the logarithm of x.
local function between_logs(points, x)
    local logs = gather.values(points, function(point) return { math.log(point[1]), point[2] } end)
    return M.between(logs, math.log(x))
end

--- The standard error of the miniatures' hit ratio at this multiple of the memory, from the server's bands; nil if the
-- server reports none. Between two bands the variance grows as the logarithm of the memory. Beyond the last band, each
-- doubling adds as much variance as those before.
function M.error_at(curve, times)
    local bands = {}
    for _, size in ipairs(curve.sizes) do
        local band = size[1] == 1 and 0 or curve[("band_x%g"):format(size[1])]
        if type(band) ~= "number" then
            return nil
        end
        bands[#bands + 1] = { size[1], band ^ 2 }
    end
    if #bands < 2 then
        return nil
    end
    local most = bands[#bands]
    local beyond = times > most[1] and most[1] > 1 and math.sqrt(math.log(times) / math.log(most[1])) or 1
    return math.sqrt(between_logs(bands, times)) * beyond / BAND_DEVIATIONS
end

-- The differences of the miniatures from the LRU model at their sizes, { bytes, difference }; without that model, the
-- hit ratios of the miniatures. Empty without miniatures.
local function shifts_of(curve)
    local shifts, has_model = {}, #curve.points >= 2
    for i, size in ipairs(#curve.sizes >= 2 and (curve.bytes or 0) > 0 and curve.sizes or {}) do
        local bytes = size[1] * curve.bytes
        shifts[i] = { bytes, size[2] - (has_model and M.between(curve.points, bytes) or 0) }
    end
    return shifts
end

local function ratio_at(curve, shifts, bytes)
    local ratio = (#curve.points >= 2 and M.between(curve.points, bytes) or 0)
        + (#shifts > 0 and between_logs(shifts, bytes) or 0)
    return math.max(0, math.min(ceiling_of(curve), ratio))
end

local STEPS <const> = 8 -- the number of sizes from one miniature to the next

--- The hit ratio over the bytes of memory, a list of { bytes, hit_ratio } in ascending order; nil if the sample is too
-- small. The miniatures have the hit ratio of the running policy at a few sizes; the LRU model has many sizes. So its
-- points are shifted by the miniatures' differences from it: between two miniatures along the logarithm of the memory,
-- beyond the ends by the last difference. (Straight lines between miniatures are too low: misses fall steeply first.
-- `PARTS=between make bench-predictions` compares the ways.)
function M.points(curve)
    local shifts, sizes, points = shifts_of(curve), {}, {}
    if #shifts == 0 then
        return #curve.points >= 2 and curve.points or nil
    end
    for i, shift in ipairs(shifts) do
        local further = shifts[i + 1]
        for step = 0, further and STEPS - 1 or 0 do
            sizes[#sizes + 1] = math.floor(shift[1] * (further and further[1] / shift[1] or 1) ^ (step / STEPS))
        end
    end
    for _, point in ipairs(curve.points) do
        sizes[#sizes + 1] = point[1]
    end
    table.sort(sizes)
    for _, bytes in ipairs(sizes) do
        local last = points[#points]
        points[#points + 1] = not (last and last[1] == bytes) and { bytes, ratio_at(curve, shifts, bytes) } or nil
    end
    return points
end

-- The standard error of the LRU model's hit ratio, from the server's bands; without them, that of so many single reads.
local function error_of_model(curve, bytes, ratio)
    local widths = gather.values(curve.points, function(point)
        return point[3] and { point[1], (point[4] - point[3]) / 2 } or nil
    end)
    return #widths > 1 and M.between(widths, bytes) / BAND_DEVIATIONS
        or (curve.reads or 0) > 0 and math.sqrt(ratio * (1 - ratio) / curve.reads) or 0
end

--- Whether the sample is too young for a price or an advice of more memory: most misses were first reads. Not true if
-- the server does not report them, or before enough was sampled.
function M.is_young(curve)
    local hits, reads = curve.measured_hit_ratio or curve.lru_hit_ratio, curve.reads or 0
    return curve.first_reads and hits and reads > 0 and 2 * curve.first_reads / reads > 1 - hits
end

--- A sentence about first reads, or these and reads of expired keys if the server reports both; nil if they are not
-- known, or none, or while no hits are known to compare them with.
function M.first_reads_words(curve)
    local is_young = M.is_young(curve)
    local hits = curve.measured_hit_ratio or curve.lru_hit_ratio or 0
    if hits == 0 then -- the LRU model begins without points
        return is_young and "nearly all reads were first reads: the sample is too young" or nil
    end
    local misses = 1 - hits
    local unsaved = unsaved_of(curve) or 0
    return unsaved > 0 and ("%.1f of %.1f points of misses are %s: no memory brings them%s"):format(
        100 * math.min(unsaved, misses), 100 * misses,
        curve.compulsory_ratio and "of new or expired keys" or "first reads",
        is_young and "; the sample is too young to tell what more memory would bring" or "") or nil
end

-- The share of a curve's misses, or of a policy's, that misses of today are: 1 if these are not known, or not fewer.
local function share_of_misses(hit_ratio, today)
    return today and hit_ratio and today > hit_ratio and (1 - today) / (1 - hit_ratio) or 1
end

-- Points with this share of their misses. Ratios stand behind the place of a point.
local function with_misses(points, share)
    local list = {}
    for i, point in ipairs(points) do
        list[i] = { point[1] }
        for k = 2, #point do
            list[i][k] = 1 - (1 - point[k]) * share
        end
    end
    return list
end

--- A curve at the level of today's hit ratio, which may be nil. A curve covers minutes: if fewer reads miss now, other
-- memory saves the same share of these misses, so no gain is larger than they are.
function M.at_level(curve, today)
    local shifts = shifts_of(curve)
    local is_known = curve.bytes and (#shifts > 0 or #curve.points >= 2)
    local share = share_of_misses(is_known and ratio_at(curve, shifts, curve.bytes), today)
    if share == 1 then
        return curve
    end
    local levelled = {}
    for name, value in pairs(curve) do
        local scales = name:find("^band_x") or name == "compulsory_ratio" or name == "first_reads"
        levelled[name] = scales and value * share or value
    end
    levelled.points, levelled.sizes = with_misses(curve.points, share), with_misses(curve.sizes, share)
    levelled.measured_hit_ratio = today
    levelled.lru_hit_ratio = curve.lru_hit_ratio and 1 - (1 - curve.lru_hit_ratio) * share
    return levelled
end

--- Policies (of parse_whatif) at the level of today's hit ratio, as a curve of at_level. totals: of parse_whatif.
function M.policies_at_level(totals, policies, today)
    local share, list = share_of_misses(totals.real_hit_ratio, today), {}
    for i, one in ipairs(policies) do
        list[i] = share == 1 and one or setmetatable({ hit_ratio = 1 - (1 - one.hit_ratio) * share,
            difference = one.difference * share, doubt = one.doubt and one.doubt * share }, { __index = one })
    end
    return list
end

--- The gain of hit ratio with this multiple of the memory, by the curve of M.points; then its standard error, from the
-- server's bands (beyond its sizes also from the LRU model's) or the number of reads; then the most that it can be: all
-- misses. nil if the sample is too small.
function M.gain_at(curve, times)
    local shifts = shifts_of(curve)
    if not curve.bytes or #shifts == 0 and #curve.points < 2 then
        return nil
    end
    local here = ratio_at(curve, shifts, curve.bytes)
    local there = ratio_at(curve, shifts, curve.bytes * times)
    local by_sizes = M.error_at(curve, times)
    local is_between = by_sizes and times >= curve.sizes[1][1] and times <= curve.sizes[#curve.sizes][1]
    local by_model = is_between and 0 or error_of_model(curve, curve.bytes * times, there)
    return there - here, math.sqrt((by_sizes or 0) ^ 2 + by_model ^ 2), 1 - here
end

--- Queries a server for its curve, of the whole cache or of one class. With `sizes`, curve.policy is their policy,
-- curve.measured_hit_ratio the server's recent one, and keys and rate are those of the sample.
function M.curve(client, class)
    local curve, message, code = read(client, class and "curve " .. class or "curve", M.parse_curve)
    if curve and not (curve.bytes and curve.reads) then
        return nil, "the server's curve cannot be read", "protocol"
    elseif curve and #curve.sizes > 0 then
        local totals
        totals, message, code = M.whatif(client)
        if not totals then
            return nil, message, code
        end
        curve.policy, curve.measured_hit_ratio = totals.policy, totals.real_hit_ratio
        curve.keys, curve.rate = totals.keys, totals.rate
    end
    return curve, message, code
end

--- A curve of parse_curve as judging modules take it: its points { bytes, hit_ratio } with its reads, bytes, lru_band
-- and sizes, predictions and predictions_within.
function M.as_points(curve)
    local points = curve.points
    points.reads, points.bytes, points.lru_band, points.sizes = curve.reads, curve.bytes, curve.lru_band, curve.sizes
    points.predictions, points.predictions_within = curve.predictions, curve.predictions_within
    return points
end

--- Queries a server for the curves of these classes (0: of the whole cache); a missing curve is absent. Returns for
-- each id a curve of M.as_points.
function M.curves(client, ids)
    local curves = {}
    for _, id in ipairs(ids) do
        local curve = read(client, id > 0 and "curve " .. id or "curve", M.parse_curve)
        curves[id] = curve and M.as_points(curve)
    end
    return curves
end

--- Queries a server for the hit ratios of the other policies.
function M.whatif(client)
    local totals, policies, classes = read(client, "whatif", M.parse_whatif)
    if totals and not totals.policy then
        return nil, "the server's comparison of policies cannot be read", "protocol"
    end
    return totals, policies, classes
end

return M
