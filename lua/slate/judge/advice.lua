-- SPDX-License-Identifier: BSD-3-Clause
--- The advice of `slatectl advise`, one function for each subject: f(context, client, options) returns { facts = pairs
-- of a name and a text, table (columns and rows for people), text, commands = what to type, and the subject's figures
-- for JSON }; or nil, message, code, or the function ends the command with these (slate.base.failure).
--
-- Pages and chunk sizes are in slate.judge.advice_slabs.
local automove = require "slate.facts.automove"
local gather = require "slate.base.gather"
local sampled = require "slate.facts.sampled"
local json = require "slate.base.json"
local limits = require "slate.judge.thresholds"
local money = require "slate.judge.money"
local moves = require "slate.facts.moves"
local relief = require "slate.judge.relief"
local starving = require "slate.judge.starving"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local M = {}

local must = require("slate.base.failure").must

local MIB <const> = 1 << 20

-- The command that sets the memory to `bytes`, rounded up to the next MiB.
local function set_memory(bytes)
    return "slatectl set maxbytes " .. math.ceil(bytes / MIB) * MIB
end

-- `slatectl advise memory --price-per-gb P --price-per-miss Q`: the size that costs least.

local function row_of(name, one)
    return { name, units.bytes_in_words(one.bytes), units.percent(one.hit_ratio, 2), money.words(one.cost_of_memory),
        money.words(one.cost_of_misses), money.words(one.cost) }
end

-- The reads a second to calculate with: options.reads_per_s, else those of the interval, and then also their hit ratio.
-- May end the command.
local function reads_of(context, client, options)
    if options.reads_per_s then
        return options.reads_per_s
    end
    local _, _, rates, _, one = must(context:pair(client, options.interval or limits.lately_s))
    return (rates and rates.general.cmd_get_per_s) or 0, relief.today(one)
end

local function text_of(now, best, load)
    if load.reads_per_s == 0 then
        return "no reads now, so no memory is worth its price: repeat this while the server has its usual load, or "
            .. "give --reads-per-s"
    elseif now.bytes >= best.least_bytes and now.bytes <= best.most_bytes then
        return ("leave the memory as it is: it costs %s a month, and no other size is surely cheaper")
            :format(money.words(now.cost))
    end
    return ("%s would cost %s a month, %s less than now%s%s"):format(units.bytes_in_words(best.bytes),
        money.words(best.cost), money.words(now.cost - best.cost),
        best.at_end and "; the curve ends there, and more may cost less still" or "",
        ":")
end

-- The advice of M.memory by price. options: price_per_gb, price_per_miss, reads_per_s, interval.
local function by_price(context, client, options, curve)
    local reads_per_s, today = reads_of(context, client, options)
    curve = sampled.at_level(curve, today)
    local points, lacking = money.points(curve)
    if not points then
        return nil, lacking, "no"
    end
    local load = { reads_per_s = reads_per_s, price_per_gb = options.price_per_gb,
        price_per_miss = options.price_per_miss }
    local now, best = money.cost(points, load, curve.bytes), money.cheapest(points, load, curve)
    local least, most = units.bytes_in_words(best.least_bytes), units.bytes_in_words(best.most_bytes)
    local is_worth_it = reads_per_s > 0 and (now.bytes < best.least_bytes or now.bytes > best.most_bytes)
    return {
        facts = {
            { "reads", ("%s/s, %s"):format(units.rate(reads_per_s), options.reads_per_s and "as given" or "counted") },
            { "sampled", units.plural(curve.reads, "read") },
            { "as cheap", least == most and "no other size"
                or ("sizes from %s to %s cost the same, within error"):format(least, most) },
            { "cost", ("%s a month ± %s (95%%) by the curve's error"):format(money.words(best.cost),
                money.words(best.cost_error)) },
        },
        table = { columns = "<|MEMORY|HITS|MEMORY/MONTH|MISSES/MONTH|COST/MONTH",
            rows = { row_of("now", now), row_of("cheapest", best) } },
        text = text_of(now, best, load),
        commands = is_worth_it and { set_memory(best.bytes) } or {},
        bytes = curve.bytes, reads = curve.reads, reads_per_s = reads_per_s, now = now, cheapest = best,
        is_worth_it = is_worth_it,
    }
end

M.pages = require("slate.judge.advice_slabs").pages
M.sizes = require("slate.judge.advice_slabs").sizes

-- The fewest bytes that reach the hit ratio; nil if no point of the curve reaches it.
local function bytes_for(points, ratio)
    local last
    for _, point in ipairs(points) do
        if point[2] >= ratio then
            if not last or point[2] == last[2] then
                return point[1]
            end
            return math.floor(last[1] + (point[1] - last[1]) * (ratio - last[2]) / (point[2] - last[2]))
        end
        last = point
    end
    return nil
end

-- The text for a server without a curve: whether it evicts, whether a class starves, and what a curve would show.
local function text_without_curve(general, rates, about)
    local by_curve = "is shown by a miss-ratio curve (needs slated) or by a trace:"
    local evicted = general.evictions
    rates = rates and rates.general or {}
    if about.starves then
        return relief.while_starving(about) .. ":"
    elseif not evicted then
        return "this server does not report evictions, so whether more memory would bring anything is not known. That "
            .. by_curve
    elseif general.cmd_get == 0 then
        return "no reads were counted, so whether more memory would bring anything is not known. That " .. by_curve
    elseif evicted == 0 then
        return "nothing was evicted yet: the memory is enough. How much less would do " .. by_curve
    elseif rates.evictions_per_s == 0 then
        return "nothing is evicted now, so more memory would bring nothing now. What it would bring at other times "
            .. by_curve
    end
    local unread = rates.evictions_per_s and rates.evicted_unfetched_per_s
        and units.percent(rates.evicted_unfetched_per_s / rates.evictions_per_s)
            .. " of what it evicts now was never read. "
    return ("the memory is full. %sHow many more hits more memory would bring %s"):format(unread or "", by_curve)
end

-- The advice for a server without a curve: only whether the server evicts, and whether a class starves.
local function memory_without_curve(context, client, options)
    local now, _, rates, _, one = must(context:pair(client, options.interval))
    local general, about = now.general, relief.about(one or { now = now })
    local evicted = general.evictions
    return {
        facts = {
            { "memory", ("%s of %s in use"):format(units.bytes_in_words(general.bytes),
                units.bytes_in_words(general.limit_maxbytes)) },
            { "evictions", evicted and ("%s since the start, %s/s now"):format(units.count(evicted),
                units.rate(rates and rates.general.evictions_per_s)) or "not reported" },
        },
        text = text_without_curve(general, rates, about), evictions = evicted,
        commands = { about.starves and "slatectl advise pages" or "slatectl simulate TRACE --memory 32m,64m,128m" },
    }
end

-- The facts of the server that slate.judge.relief takes; or nil, message, code.
local function relief_about(context, client, options)
    local now, _, _, _, one = must(context:pair(client, options.interval))
    if not one then
        return { evicts = (now.general.evictions or 0) > 0, general = now.general, classes = now.classes }
    end
    return relief.about(one, sampled.curves(client, relief.wanted(one)))
end

-- The gain in words; "not known yet" if chance alone may be as much as the hit ratio can rise, or fall; or why it is
-- not known. about: of slate.judge.relief.
local function gain_in_words(curve, times, about)
    local gain, error_ratio, most = relief.gain(curve, about, times)
    if gain and limits.errors_apart * error_ratio >= (times > 1 and most or 1 - most) then
        return "not known yet: too few reads were sampled"
    end
    return gain and relief.gain_words(gain, error_ratio, most) or error_ratio
end

-- The hit ratio at a point of the curve in words, and the band of 95 % about it. At least as much as today's point
-- differs from the hits counted lately may be wrong.
local function told_at(curve, point, here)
    local _, error_ratio = sampled.gain_at(curve, point[1] / curve.bytes)
    local band = math.max(limits.errors_apart * error_ratio, math.abs((curve.measured_hit_ratio or here) - here))
    return ("the curve covers up to %s and tells %.1f %% (± %.1f)"):format(units.bytes_in_words(point[1]),
        point[2] * 100, band * 100), band
end

-- A text, the memory that the hit ratio of `wanted` needs, and a command with it. Beyond the curve's bounds no memory
-- brings it; within these, or where the band is wider than the gain, it is not known.
local function for_target(curve, points, here, wanted, least_bytes)
    local bytes, most = bytes_for(points, wanted), points[#points]
    local told, band = told_at(curve, most, here)
    if not bytes then
        return ("%g %% of hits are %s: %s"):format(wanted * 100, most[2] + band < wanted and "out of reach"
            or "not known to be in reach", told)
    end
    bytes = math.max(bytes, least_bytes)
    local gain, error_ratio, most_gain = sampled.gain_at(curve, bytes / curve.bytes)
    if relief.untold(curve) or limits.errors_apart * error_ratio > math.abs(gain) then
        return ("the memory for %g %% of hits is not known: by the curve it is about %s, whose gain is %s, of %s")
            :format(wanted * 100, units.bytes_in_words(bytes), relief.gain_words(gain, error_ratio, most_gain),
                units.plural((curve.reads or 0) // 1, "sampled read")), bytes
    end
    return ("%g %% of hits need about %s:"):format(wanted * 100, units.bytes_in_words(bytes)), bytes, set_memory(bytes)
end

-- "8 MiB, 6 MiB of it in use".
local function memory_words(curve)
    local bytes, used = units.bytes_in_words(curve.bytes), units.bytes_in_words(curve.used_bytes)
    return curve.used_bytes < curve.bytes and ("%s, %s of it in use"):format(bytes, used)
        or curve.used_bytes > curve.bytes and ("%s, but the classes hold %s"):format(bytes, used) or bytes
end

--- How much memory is worth having, by slate.judge.relief. Never more while a class starves: other classes have the
-- pages that this class lacks.
function M.memory(context, client, options)
    local curve, message, code = sampled.curve(client)
    if not curve and code == "unsupported" then
        return memory_without_curve(context, client, options)
    elseif not curve then
        return nil, message, code
    elseif options.price_per_gb then
        return by_price(context, client, options, curve)
    end
    local about = must(relief_about(context, client, options))
    curve = sampled.at_level(curve, about.today)
    local points, source = relief.points(curve)
    local unfilled = about.general and relief.unfilled(about.general, curve)
    if not points and unfilled then
        return { facts = {}, text = unfilled, commands = {}, bytes = curve.bytes, is_short = false }
    elseif not points then
        return nil, sampled.too_few("for a curve"), "no"
    end
    local bytes, most = curve.bytes, points[#points][2]
    local here, enough = sampled.between(points, bytes), bytes_for(points, most - limits.policy_gain_least_ratio)
    local judged, is_told = relief.memory(curve, about), not relief.without_gain(curve, about)
    local advice = {
        facts = {
            { "memory", memory_words(curve) },
            { "hits lately", curve.measured_hit_ratio and units.percent(curve.measured_hit_ratio, 2) .. ", counted"
                or "not known yet" },
            { "twice of it", gain_in_words(curve, 2, about) },
            { "half of it", gain_in_words(curve, 0.5, about) },
            { "source", ("%s, of %s; ± is a band of 95%%"):format(source,
                units.plural(curve.reads or 0, "sampled read")) },
            { "first reads", sampled.first_reads_words(curve) or "not known" },
        },
        text = judged.text .. (judged.is_short and ":" or ""), commands = {}, bytes = bytes, hit_ratio = here,
        hit_ratio_most = is_told and most or json.null, enough_bytes = is_told and enough or json.null,
        is_short = judged.is_short or false,
        gain_64m_ratio = relief.gain(curve, about, 1 + 64 * MIB / bytes) or json.null,
    }
    if options.hits then
        advice.text, advice.target_bytes, advice.commands[1] = for_target(curve, points, here, options.hits / 100,
            (relief.least_bytes(about.classes)))
    elseif judged.is_short then
        advice.commands[1] = set_memory(bytes + judged.bytes_more)
    elseif about.starves then
        advice.text, advice.commands[1] = advice.text .. ":", "slatectl advise pages"
    end
    return advice
end

local function too_slow(mode)
    return not mode and "no mode of automove is reported" or mode == "off" and "automove is off"
        or ("mode %s moves pages too slowly for them"):format(mode)
end

-- A mode of automove that is better than the one that is on: a text and what to type; nil if that one is right. spread:
-- the spread of ages that page moves can even out; need: what the classes in need suffer from, in words.
local function better_mode(now, mode, in_need, spread, need)
    if not now.slated and mode == "eviction" then
        return "automove eviction moves a page at every eviction and is not meant to stay on:",
            { "slatectl automove ratio" }
    elseif mode == "utility" then
        return nil
    elseif in_need > 0 and now.slated then
        local is_slow = mode == "off" or mode == "ratio"
        return need .. ", and " .. too_slow(mode) .. "; utility moves pages to where they bring "
            .. "most hits, eviction moves one at every eviction:",
            { "slatectl automove utility", is_slow and "slatectl trial automove=eviction --for 30s" or nil }
    elseif in_need > 0 then
        return need .. ", and " .. too_slow(mode) .. "; run a policy beside the server. Eviction helps within seconds, "
            .. "but soon gives all pages to the newest stores: use it for minutes only:",
            { "slatectl policy run utility --apply", "slatectl trial automove=eviction --for 30s" }
    elseif now.slated and spread and spread > limits.age_spread_most then
        return ("an evicting class with pages to give keeps items %.0f times as long as the youngest:"):format(spread),
            { "slatectl automove utility" }
    end
    return nil
end

-- Why the mode that is on is right. spread: of the ages of the classes that evict; movable: the same, with the longest
-- age among classes with pages to give.
local function right_mode(mode, spread, movable)
    if mode == "utility" then
        return "utility is on and is the right mode: it moves pages by hits, not by age; leave it on"
    elseif not spread then -- one class, or unknown ages: nothing to compare
        return ("%s: fewer than two classes evict items of a known age, so nothing can be compared: leave it as it "
            .. "is"):format(mode == "off" and "automove is off" or (mode or "automove") .. " is on")
    elseif (movable or 0) > limits.age_spread_most then -- memcached: only slated measures the gain of a page
        return ("an evicting class with pages to give keeps items %.0f times as long as the youngest, but no class is "
            .. "in need: moves by age alone cost hits as often as they bring some; leave it as it is"):format(movable)
    elseif spread > limits.age_spread_most then
        return "the evicting classes that keep items longest have one page each, which none gives away: no mode could "
            .. "even that out; leave it as it is"
    elseif mode == "off" then
        return "automove is off, and evicting classes are about equally old: nothing needs to move; leave it as it is"
    end
    return ("%s is on and does its work: evicting classes are about equally old; leave it on"):format(mode
        or "automove")
end

--- The mode of automove that suits the server now.
function M.automove(context, client, options)
    must(require("slate.facts.store").needs_slab(context.who, "pages that move"))
    local now, before, rates, judge, one = must(context:pair(client, options.interval))
    local rows = view.classes(now, before, rates, judge)
    local spread, movable_spread = starving.spread(rows)
    local curves = now.slated and one and sampled.curves(client, relief.wanted(one)) or nil
    local plan = relief.plan(one or { now = now, rows = rows }, curves)
    local evicting, in_need, refusing, idle = 0, #plan.advised + #plan.stuck, 0, 0
    for _, row in ipairs(rows) do
        evicting = evicting + ((starving.demand_per_s(row) or 0) > 0 and 1 or 0)
        refusing = refusing + (starving.refuses(row) and 1 or 0)
        idle = idle + (view.is_idle(row) and 1 or 0)
    end
    local mode, is_known = (now.settings or {}).slab_automove, view.knows_starving(now, rates, rows)
    local failure = now.slated and moves.failure((moves.read(client))) or nil
    local advice = {
        facts = {
            { "automove", view.automove_mode(now) or "-" },
            { "evicting", is_known and ("%s of %s"):format(units.plural(evicting, "class", "classes"), #rows)
                or "not reported" },
            { "starving", is_known and units.plural(in_need - refusing, "class", "classes") or "not known" },
            { "refusing stores", units.plural(refusing, "class", "classes") },
            { "idle pages", is_known and "in " .. units.plural(idle, "class", "classes") or "not known" },
            { "age spread", spread and ("%.1f"):format(spread) or "-" },
            { "pages moved", now.general.slabs_moved and ("%s so far"):format(units.count(now.general.slabs_moved))
                or "not reported" },
        },
        mode = mode, classes_evicting = is_known and evicting or nil, classes_in_need = is_known and in_need or nil,
        age_spread = spread, commands = {},
    }
    if automove.is_ruled_out(now) then
        advice.text = "the server was started without slab_reassign, so no page can move: start it with "
            .. "-o slab_reassign"
    elseif not is_known and in_need == 0 then
        advice.text = view.STARVING_UNKNOWN .. ": no mode is advised"
    elseif evicting == 0 and in_need == 0 then
        advice.text = "no class evicts: nothing needs to move; leave it as it is"
    else
        local set = view.automove_mode(now)
        local text, commands = better_mode(now, set, in_need, movable_spread,
            refusing > 0 and "classes refuse stores" or "classes starve")
        advice.text, advice.commands = text or right_mode(set, spread, movable_spread), commands or advice.commands
    end
    if failure then
        advice.text = ("%s. Mend the policy (slatectl policy test), then set the mode again. Meanwhile: %s"):format(
            failure, advice.text)
    end
    return advice
end

-- A policy as a row for people; without figures if too few reads were sampled for the policy.
local function policy_row(guess, totals, about)
    if relief.too_few(totals, guess, about) then
        return { guess.policy, "-", "-", "-", "too few reads" }
    end
    local is_now = guess.policy == totals.policy
    return { guess.policy, units.percent(guess.hit_ratio, 2),
        is_now and "" or ("%+.2f"):format(guess.difference * 100),
        is_now and "" or ("%.2f"):format(relief.doubt(guess) * 100),
        is_now and "now" or guess.policy == "none" and "refuses stores when full" or "" }
end

--- The eviction policy that would hit most, by slated's miniatures and slate.judge.relief. Never advises `none`.
function M.policy(context, client, options)
    local totals, policies, code = sampled.whatif(client)
    if not totals and code == "unsupported" then
        return {
            facts = { { "policies", "lru, flat or segmented: the only ones this server has" } }, commands = {
                "slatectl simulate TRACE" },
            text = "which policy would hit more needs slated, or a trace to play to it:",
        }
    elseif not totals then
        return nil, policies, code
    end
    local about = must(relief_about(context, client, options))
    local levelled = sampled.policies_at_level(totals, policies, about.today)
    local best, now = sampled.best_that_evicts(levelled) or {}, totals.policy
    local has_none = (best.reads or 0) == 0
    local few = has_none and (tonumber(totals.rate) or 0) > 0 and relief.too_few(totals, { reads = 0 }, about)
    if has_none and not few then
        return nil, sampled.too_few("to compare policies"), "no"
    end
    best.reads = best.reads or 0
    local judged = few and { too_few = few, text = few.text }
        or relief.policy({ totals = totals, policies = policies }, about, (sampled.curve(client)))
    if judged.too_few then
        return { facts = { { "policy", now }, { "sampled", units.plural(best.reads // 1, "read") } },
            text = judged.text, commands = {}, policy = now, is_better = false, reads = best.reads,
            reads_needed = judged.too_few.reads_needed, enough_in_s = judged.too_few.in_s }
    end
    local rows = gather.values(levelled, function(one) return policy_row(one, totals, about) end)
    return {
        facts = { { "policy", now }, { "sampled", units.plural(best.reads, "read") } },
        table = { columns = "POLICY<|HITS|POINTS|± (95%)|<", rows = rows },
        text = judged.text .. ((judged.is_better or about.starves) and ":" or ""),
        commands = { judged.is_better and "slatectl set policy " .. best.policy or about.starves
            and "slatectl advise pages" or nil },
        policy = now, best = best.policy, difference_ratio = best.difference, doubt_ratio = relief.doubt(best),
        is_better = judged.is_better or false,
    }
end

return M
