-- SPDX-License-Identifier: BSD-3-Clause
--- Whether more memory, or another eviction policy, would bring hits: the one answer of doctor, advise and slatetop.
--- Pure.
--
-- Both answers come from sampled keys. If pages would help a class that starves, the server lacks neither memory nor
-- another policy: that class comes first.
-- A server that evicts nothing needs neither. about: { starves = the id of the first class that pages would help, or
-- nil; rows = of slate.judge.view.classes; evicts = whether anything is evicted; today = today's hit ratio;
-- reads_per_s, general and classes (those of a snapshot), as far as they are known }.
--
-- First in this file: the help for a class in need.
local chance = require "slate.judge.chance"
local automove = require "slate.facts.automove"
local chunks = require "slate.facts.chunks"
local find = require "slate.base.find"
local gather = require "slate.base.gather"
local sampled = require "slate.facts.sampled"
local limits = require "slate.judge.thresholds"
local page_plan = require "slate.judge.page_plan"
local starving = require "slate.judge.starving"
local units = require "slate.base.units"
local verdict = require "slate.judge.verdict"
local view = require "slate.judge.view"

local M = {}

--- The plan of page moves of slate.judge.page_plan. one: of slate.judge.view; curves: as for slate.judge.verdict, or
-- nil.
function M.plan(one, curves)
    return one.plan and one:plan(curves) or page_plan.of(one, curves)
end

--- The move of the plan for a class, or the one that suits it best; nil if no class can give.
function M.of(one, id, curves)
    M.plan(one, curves)
    return page_plan.move(one, id, one.curves or curves)
end

--- The first class that starves, and the move to it; nil without one.
function M.in_need(one, curves)
    for _, move in ipairs(M.plan(one, curves).advised) do
        if not move.refuses then
            return move.to, move
        end
    end
end

--- The classes on whose curves the plan rests; 0 is the whole cache. Empty if no class is in need.
function M.wanted(one)
    local ids, is_there = {}, {}
    local function add(id)
        ids[#ids + 1], is_there[id] = not is_there[id] and id or nil, true
    end
    for _, move in ipairs(M.plan(one)) do
        add(0)
        add(move.from)
        add(move.to)
    end
    return ids
end

--- Why the donor gives, in words that are true of it: "has 3 free pages", "keeps its items 10m22" if that is clearly
-- longer, "needs its pages less" if that is only predicted.
function M.donor_has(move)
    if starving.has_spare(move.free_pages) or move.free_pages >= move.pages then
        return "has " .. units.plural(move.held_free_pages, "free page")
    elseif move.lifetime_s and move.lifetime_s >= limits.clearly_ratio * (move.row.life_s or 0) then
        return "keeps its items " .. units.age(move.lifetime_s)
    end
    return move.made and "needs its pages less" or "could give pages"
end

--- True if a move that is not advised is expected to bring hits: its gain is not certain.
function M.is_unsure(move)
    return move.made ~= nil and move.expects_gain
end

--- A sentence: a class refuses stores.
function M.refusal(row)
    return ("class %d refuses %s stores a second: it has %s and finds no memory"):format(row.id,
        units.rate(row.out_of_memory_per_s), units.plural(row.pages or 0, "page"))
end

--- A sentence: a class starves, while the donor has free pages or keeps its items longer.
function M.need_words(row, move)
    return ("class %d starves: it evicts %s items a second, which live %s, while class %d %s"):format(row.id,
        units.rate(row.mean_evicted_per_s), units.age(row.life_s), move.from, M.donor_has(move))
end

--- A sentence: a class evicts early, but no move is advised. It has the predicted gain of the best move, or why that is
-- not trusted.
function M.no_use(move)
    return ("class %d evicts items after %s, %s %s"):format(move.to, units.age(move.row.life_s),
        not move.failed and M.is_unsure(move) and "and" or "but", move.failed
        or ("%s of class %d would bring %s"):format(units.plural(move.pages, "page"), move.from,
            verdict.prediction_words(move.made, move.expects_gain)))
end

-- What a move to a class that refuses stores costs, in words; nil if it costs no hits.
local function trade_words(move)
    return move.refuses and move.made and move.made.hit_ratio_change < 0
        and "trades hits for fewer refused stores, which are errors to clients: "
            .. verdict.change_words(move.made) or nil
end

--- The effect of all moves of the plan, in words.
function M.sum_words(plan)
    local one = plan.advised[1]
    local what = plan.advised[2] and ("These %d moves together"):format(#plan.advised)
        or ("%s of class %d"):format(units.plural(one.pages, "page"), one.from)
    local trade = trade_words({ refuses = one.refuses, made = plan.sum })
    if trade then
        return ("%s: this %s"):format(what, trade)
    end
    return plan.sum and ("%s should bring %s"):format(what, verdict.prediction_words(plan.sum))
        or ("What %s would bring is not known: %s"):format(what, one.why)
end

--- A sentence: further classes are in need, besides the class reported in full; nil if there is none. ids: of these
-- classes; is_advised: whether moves to them are advised.
function M.further(ids, is_advised)
    if #ids == 0 then
        return nil
    end
    local names, is_one = units.classes(ids), #ids == 1
    return is_advised and ("%s %s, too"):format(names, is_one and "starves" or "starve")
        or ("%s %s items early, too, and no gain of pages is certain"):format(names, is_one and "evicts" or "evict")
end

-- A difference of hit ratios with its band of 95 %, which ends at `most`, if given.
local function points_words(difference, band, most)
    if most and difference + band > most then
        return verdict.points_words({ hit_ratio_change = difference, least = difference - band, most = most })
            .. " points"
    end
    return ("%+.1f ± %.1f points"):format(difference * 100, band * 100)
end

--- What helps where a server cannot move pages.
M.RULED_OUT = "start the server with -o slab_reassign: without it no page can move"

--- The remedy if a move is not advised: words that continue the sentence of M.no_use, and the command to type.
-- memory, policy: the results of M.memory and M.policy, or nil.
function M.instead(one, move, memory, policy)
    if move.failed then
        return "the record has each", "slatectl audit --accuracy"
    end
    local seen = verdict.figures_seen(one)
    local class = seen and seen.by_id[move.to]
    -- Even a class that starves has some hits, if clients read its items.
    if class and class.stores_per_s > 0
        and class.get_hits_per_s < limits.hardly_read_ratio * class.stores_per_s then
        return "its items are hardly ever read",
            ("store less of what class %d keeps, or for a shorter time"):format(move.to)
    elseif memory and memory.is_short then
        return ("%s more memory would bring %s"):format(units.bytes_in_words(memory.bytes_more),
            M.gain_words(memory.gain, memory.error_ratio, memory.most)), "slatectl advise memory"
    elseif policy and policy.is_better then
        return ("the policy %s would bring %s"):format(policy.best,
            points_words(policy.difference, policy.doubt, policy.most)),
            "slatectl advise policy"
    end
    if M.is_unsure(move) then
        return "a trial or more reads will tell", automove.is_ruled_out(one.now) and M.RULED_OUT
            or ("slatectl move %d %d %d --verdict tries it"):format(move.from, move.to, move.pages)
    end
    return "pages bring no hits", "leave its pages as they are"
end

--- What helps a class that starves or refuses stores, with the command to type. move: of M.of, or nil; plan: of M.plan.
function M.remedy(move, plan)
    if automove.is_ruled_out(plan.now) then
        return M.RULED_OUT
    elseif not move then
        return plan.never_evicts and "no other class has a free page, and with -M no page with items can be moved: "
            .. "delete items or flush, or give the server more memory (slatectl set maxbytes=SIZE)"
            or "no other class has a page to spare"
    end
    local trade = trade_words(move)
    return ("try slatectl move %d %d %d --dry-run (class %d %s)%s"):format(move.from, move.to, move.pages, move.from,
        M.donor_has(move), trade and "; it " .. trade or "")
end

local MEASURING <const> = "measuring: which class starves is not judged yet"

--- The words in place of "no class starves" while a change of pages is not judged; nil if it is. rows: may be nil.
function M.measuring(rows)
    if not starving.is_measuring(rows) then
        return nil
    end
    local untried, waiting, filling = starving.untried(rows), starving.waiting(rows)
    return untried and ("measuring: class %d just got pages, %d are free: wait up to %s"):format(untried.id,
        starving.free_pages(untried), units.age(math.ceil(untried.untried_s)))
        or waiting and ("measuring: class %d keeps items %s, class %d still fills %s"):format(waiting.id,
            units.age(waiting.life_s), filling.id,
            units.plural(math.tointeger(starving.free_pages(filling)), "free page")) or MEASURING
end

--- Why a plan has no move, in words: no class starves; or which one does is not judged yet, or not known.
function M.no_move(one)
    return (M.measuring(one.rows) or one.knows_starving and "no class starves"
        or view.STARVING_UNKNOWN) .. ": no move is advised"
end

--- For slatetop: the first move of the plan, in a sentence with its key, or why none is advised; a list of one { text,
-- tone }. replies: curves.
function M.relief_sentence(one, replies)
    local plan = M.plan(one, replies.curves)
    local move = plan[1]
    if plan.stuck[1] then
        return { { text = ("%s; %s"):format(M.refusal(plan.stuck[1]), M.remedy(nil, plan)) } }
    elseif automove.is_ruled_out(one.now) then
        return { { text = M.RULED_OUT, tone = "note" } }
    elseif move and move.is_advised then
        return { { text = ("class %d %s: %s from class %d%s, m reviews it"):format(move.to,
            move.refuses and "refuses stores" or "starves", units.plural(move.pages, "page"), move.from,
            trade_words(move) and " at the price of hits" or "") } }
    end
    return { { text = move and M.no_use(move) or M.no_move(one) .. "; m moves to the class chosen", tone = "note" } }
end

local WINDOWS_FULL <const> = 8 -- after this many windows reads do not add up any more: the oldest have faded

local MORE_TIMES <const> = { 1.25, 1.5, 2 } -- the gain is computed for these times today's memory
local BY_LRU <const> = "the LRU model"

--- True if anything is evicted, in the last ten seconds or else in the last sample: a server that evicts an item now
-- and then goes on evicting in between. nil if the server does not report evictions, or not yet. one: as for M.about.
function M.evicts(one)
    local evicted_per_s = one.past and one:lately().evictions_per_s or one.rates and one.rates.general.evictions_per_s
    return evicted_per_s and evicted_per_s > 0
end

--- Today's hit ratio: that of the last ten seconds; nil if it is not known. one: as for M.about, or nil.
function M.today(one)
    local lately = one and one.now and one.past and one:lately() or {}
    return (lately.reads or 0) >= limits.hits_reads_least and lately.hit_ratio or nil
end

--- The facts of an observer (of slate.judge.view) for both answers: about. curves: as for M.of.
function M.about(one, curves)
    local now = one.now or {}
    return { starves = (M.in_need(one, curves)), evicts = M.evicts(one), today = M.today(one), now = one.now,
        reads_per_s = one.rates and one.rates.general.cmd_get_per_s, general = now.general, classes = now.classes,
        rows = one.rows }
end

--- The hit ratio over the bytes of memory, as slate.facts.sampled has it, and its source: predictions of the policy in
-- use if there are any, else the LRU model. nil before enough was sampled.
function M.points(curve)
    local by_policy = #curve.sizes >= 2 and curve.bytes
    return sampled.points(curve), by_policy and "predictions of " .. (curve.policy or "its policy") or BY_LRU
end

--- A gain of hit ratio with its band of 95 %: "+4.6 ± 1.2 points". error_ratio: its standard error; most: all misses,
-- with which the band ends: "+1.0 (+0.1 to +1.4) points".
function M.gain_words(gain, error_ratio, most)
    return points_words(gain, limits.errors_apart * error_ratio, most)
end

--- The least memory that the server can hold, and the number of classes that have pages: each class keeps one, whatever
-- the limit. classes: of a snapshot, or nil.
function M.least_bytes(classes)
    local count = gather.count(classes or {}, function(class) return (class.total_pages or 0) > 0 end)
    return count * chunks.PAGE_BYTES, count
end

--- A sentence: so much memory is out of the server's reach; nil if it is within. bytes: of the memory.
function M.below_least(classes, bytes)
    local least_bytes, count = M.least_bytes(classes)
    return bytes < least_bytes and ("each of %d classes keeps a page: the server holds at least %s"):format(count,
        units.bytes_in_words(least_bytes)) or nil
end

--- What helps a server whose classes hold more memory than its limit. now: a snapshot.
function M.against_classes(now)
    local least_bytes, count = M.least_bytes(now.classes)
    local pages = now.general.limit_maxbytes // chunks.PAGE_BYTES
    return ("raise the limit to what %d classes hold: slatectl set memory=%dm; or have fewer classes, at the price of "
        .. "items: %s"):format(count, least_bytes // chunks.PAGE_BYTES, now.slated
        and ("slatectl geometry auto %d --force"):format(pages) or "start it with a larger -f")
end

local UNTOLD <const> = "what other memory would bring is not known: "

--- A sentence: too few reads were sampled to tell what more or less memory brings; nil if there are enough.
function M.few_reads(curve)
    local reads = curve.reads or 0
    return reads < limits.sampled_reads_least and UNTOLD .. ("%s of the %d that are needed"):format(
        units.plural(reads // 1, "sampled read"), limits.sampled_reads_least) or nil
end

--- A sentence: the sample cannot tell yet what more or less memory brings; nil if it can. After its start, and after a
-- change of its memory, a cache has not settled: until then its server lacks something, and says what.
function M.untold(curve)
    return M.few_reads(curve) or curve.lacks and UNTOLD .. curve.lacks or nil
end

--- A sentence: the cache never evicted and still has pages to take; nil if it is full, or was. general: of a snapshot.
function M.unfilled(general, curve)
    local limit, bytes = general.limit_maxbytes, curve.used_bytes
    if not (bytes and limit) or bytes >= limit or (general.evictions or 0) > 0 then
        return nil
    end
    return ("the cache is not full yet, it has %s of %s: %s"):format(units.bytes_in_words(bytes),
        units.bytes_in_words(limit), M.few_reads(curve) or "more memory would bring nothing")
end

--- The sentence about memory while a class starves.
function M.while_starving(about)
    return ("class %d starves: give it pages of other classes before memory is bought"):format(about.starves)
end

-- Why no memory is advised, in a sentence: it is not judged which class starves, or pages lie idle; else nil.
local function before_memory(rows)
    local pages, ids = view.idle_pages(rows or {})
    return M.measuring(rows) or pages > 0 and ("%s lie idle in %s: use these before memory is bought"):format(
        units.plural(pages, "page"), units.classes(ids)) or nil
end

-- A sentence: more memory would bring nothing, or what it brings is not known, as nothing is evicted; nil if it may.
local function without_evictions(curve, about)
    local unfilled = about.general and M.unfilled(about.general, curve)
    if about.evicts or not unfilled and M.few_reads(curve) then
        return nil
    end
    return unfilled or about.evicts == false and "nothing is evicted now: more memory would bring nothing now"
        or "what more memory would bring is not known: evictions are not reported, or not yet"
end

-- A sentence: the sample does not tell what more memory would bring; nil if it does.
local function untold_by(curve)
    return verdict.failed_before(curve) or M.untold(curve)
        or sampled.is_young(curve) and sampled.first_reads_words(curve) or nil
end

--- A sentence: why no gain of more memory is told, the one rule of advice and forecasts; nil if there is a gain.
-- curve: at today's level; about: of M.about.
function M.without_gain(curve, about)
    return without_evictions(curve, about) or untold_by(curve)
end

--- The gain of hit ratio with so many times the memory, its standard error, and the most that it can be (all misses);
-- or nil and why it is not known, a sentence.
function M.gain(curve, about, times)
    local below = M.below_least(about.classes, times * curve.bytes)
    local untold = below and "out of reach: " .. below or times > 1 and M.without_gain(curve, about)
        or M.untold(curve)
    local gain, error_ratio, most = sampled.gain_at(curve, times)
    if untold or not gain then
        return nil, untold or sampled.too_few("for a curve")
    end
    return gain, error_ratio, most
end

--- Whether the server is short of memory: { is_short, bytes_more (of the smallest step with a gain that is large and
-- sure enough), gain, error_ratio (its standard error), most (all misses; these five if it is), text }; nil before
-- enough was sampled.
function M.memory(curve, about)
    curve = sampled.at_level(curve, about.today)
    local twice, error_ratio, most = sampled.gain_at(curve, MORE_TIMES[#MORE_TIMES])
    local waits = about.starves and M.while_starving(about) or twice and (without_evictions(curve, about)
        or before_memory(about.rows) or untold_by(curve))
    if waits or not twice then
        return twice and { text = waits }
    end
    for _, times in ipairs(MORE_TIMES) do
        local gain, its_error, its_most = M.gain(curve, about, times)
        if gain and gain >= limits.gain_least_ratio and gain >= limits.errors_apart * its_error then
            local bytes_more = math.floor(curve.bytes * (times - 1))
            return { is_short = true, bytes_more = bytes_more, gain = gain, error_ratio = its_error, most = its_most,
                text = ("memory is short: %s more (%.0f %%) would bring %s of hits, by its curve"):format(
                    units.bytes_in_words(bytes_more), (times - 1) * 100, M.gain_words(gain, its_error, its_most)) }
        end
    end
    local below = M.below_least(about.classes, curve.bytes * MORE_TIMES[#MORE_TIMES])
    return { text = below and ("%s: %s"):format(below, M.against_classes(about.now))
        or ("%s: twice as much brings %s of hits"):format(
            twice + limits.errors_apart * error_ratio < limits.gain_least_ratio and "more memory would bring little"
                or "what more memory would bring is not known", M.gain_words(math.max(0, twice), error_ratio, most)) }
end

--- The curve of a server and its policies (of slate.facts.answers, or nil), both at the level of today's hit ratio, so
-- that a screen has one level; and why no gain of more memory is known: nil if there is one.
function M.at_level(one, curve, whatif)
    local about = one and M.about(one) or {}
    curve = curve and sampled.at_level(curve, about.today)
    return curve, whatif and sampled.policies_at_level(whatif.totals, whatif.policies, about.today),
        curve and M.without_gain(curve, about)
end

--- How much of a difference may be wrong, at 95 %: the server's figure, but at least what this number of reads can
-- hide. If two policies had the same hits in all n sampled reads, up to 3 of n further reads may still differ.
function M.doubt(guess)
    return math.max(guess.doubt or 0, chance.NONE_SEEN / math.max(guess.reads or math.huge, chance.NONE_SEEN))
end

--- A sentence: the miniatures tell nothing of a class; nil if they do. They have one queue for all classes, and a class
-- has pages of its own: so the miniature of lru must hit what the class's curve, which is lru's, has for these pages.
-- policies: those of the class; curve: that of the class, or nil (of slate.facts.sampled.curves).
function M.unlike_class(policies, curve)
    local _, lru = find.by(policies, "policy", "lru")
    local reads = math.min(lru and lru.reads or 0, curve and curve.reads or 0)
    if reads < limits.sampled_reads_least or #curve == 0 or not curve.bytes then
        return "too few reads of the class were sampled"
    end
    local own = sampled.between(curve, curve.bytes)
    local error = chance.ratio_error(lru.hit_ratio, lru.reads) + chance.ratio_error(own, curve.reads)
    return math.abs(lru.hit_ratio - own) > limits.errors_apart * error
        and ("the miniature of lru hits %s, the class with its own pages %s"):format(
            units.percent(lru.hit_ratio, 1), units.percent(own, 1)) or nil
end

--- For too few reads to compare policies: how many are needed, the seconds until they are there (nil: unknown), and a
-- sentence; nil if there are enough, or there will never be more. totals: of slate.facts.sampled.
function M.too_few(totals, guess, about)
    local missing = limits.sampled_reads_least - (guess.reads or math.huge)
    if missing <= 0 or (totals.windows or 0) >= WINDOWS_FULL then
        return nil
    end
    local sampled_per_s = (about.reads_per_s or 0) * (tonumber(totals.rate) or 0)
    local in_s = sampled_per_s > 0 and missing / sampled_per_s or nil
    return { reads = guess.reads, reads_needed = limits.sampled_reads_least, in_s = in_s,
        text = ("too few reads were sampled to compare policies: %d of the %d that are needed; %s"):format(
            guess.reads // 1, limits.sampled_reads_least,
            in_s and "at this rate that takes " .. units.age(math.ceil(in_s))
                or "more come with traffic, unless sample_rate is 0") }
end

--- The rating of another policy: "better" (worth a change, beyond chance), "worse" (beyond chance), or "inconclusive".
-- guess: { policy, difference, doubt, reads }.
function M.rate(guess)
    local doubt = M.doubt(guess)
    return guess.difference - doubt >= limits.gain_least_ratio and "better" or guess.difference + doubt < 0 and "worse"
        or "inconclusive"
end

--- Whether another policy would hit more: { is_better, best (its name), difference, doubt (its band), most (all
-- misses), too_few (of M.too_few), text }; nil before any was compared.
-- whatif: { totals, policies } of slate.facts.sampled; curve: of the whole cache, or nil. Never `none`, which refuses
-- new items.
function M.policy(whatif, about, curve)
    local failed = curve and verdict.failed_before(curve)
    local totals = whatif.totals
    local best = sampled.best_that_evicts(sampled.policies_at_level(totals, whatif.policies, about.today))
    if not (totals.policy and best and best.difference) then
        return nil
    end
    local few, most = M.too_few(totals, best, about), 1 - (best.hit_ratio - best.difference)
    local words = points_words(best.difference, M.doubt(best), most)
    if about.starves then
        return { best = best.policy, text = ("class %d starves: give it pages of other classes before the policy "
            .. "is judged"):format(about.starves) }
    elseif few then
        return { best = best.policy, too_few = few, text = few.text }
    elseif failed then
        return { best = best.policy, text = failed }
    elseif best.policy == totals.policy or M.rate(best) ~= "better" then
        return { best = best.policy, text = ("no policy is better than %s by more than chance: keep it"):format(
            totals.policy) }
    elseif totals.s3auto == 1 and best.record then
        return { best = best.policy, text = ("%s would bring %s of hits over %s: s3auto switches to it"):format(
            best.policy, words, totals.policy) }
    elseif not about.evicts then
        return { best = best.policy, text = "nothing is evicted now: no policy would hit more now" }
    end
    return { is_better = true, best = best.policy, difference = best.difference, doubt = M.doubt(best), most = most,
        text = ("%s would bring %s of hits over %s, by its miniatures"):format(best.policy, words, totals.policy) }
end

return M
