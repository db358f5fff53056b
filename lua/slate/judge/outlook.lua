-- SPDX-License-Identifier: BSD-3-Clause
--- Whether more memory, or another eviction policy, would bring hits: the one answer of doctor, advise and slatetop.
--- Pure.
--
-- Both are told from sampled keys. Where pages would help a class that starves, neither is what the server lacks: see
-- to that class first.
-- A server that evicts nothing needs neither. about: { starves = the id of the first such class, or nil;
-- evicts = whether anything is evicted; reads_per_s and general (that of a snapshot), where they are known }.
local answers = require "slate.facts.answers"
local foresight = require "slate.facts.foresight"
local relief = require "slate.judge.relief"
local units = require "slate.base.units"

local M = {}

--- From a point of hits on, more memory or another policy is worth a word.
M.GAIN_LEAST_RATIO = 0.01
--- Of fewer sampled reads policies are not compared: so many tell a point apart from nothing.
M.READS_LEAST = 300

local WINDOWS_FULL <const> = 8 -- after so many no more reads count than do: the oldest have faded

local UNSEEN_READS <const> = 3 -- of what no read showed, this many a sample may be there in nineteen of twenty cases
local ERRORS_APART <const> = 2 -- a gain is that many times its standard error, so that chance does not count
local MORE_TIMES <const> = { 1.25, 1.5, 2 } -- so many times the memory is asked for
local BY_LRU <const> = "the LRU model"

--- Whether anything is evicted. lately: what happened in the last ten seconds (of slate.judge.observer), or nil; per_s:
-- the rates of the last sample, for where no more is known. A server that evicts an item now and then does not stop in
-- between. nil where the server does not tell.
function M.evicts(lately, per_s)
    local evicted_per_s = lately and lately.evictions_per_s or per_s.evictions
    return evicted_per_s and evicted_per_s > 0
end

--- What is needed of an observer (of slate.judge.observer) for the answers: about. Of none it is not known that
-- anything is evicted. curves: as for slate.judge.relief.
function M.about(one, curves)
    local per_s = one.rates and one.rates.general or {}
    return { starves = (relief.in_need(one, curves)), evicts = M.evicts(one.past and one:lately(), per_s),
        reads_per_s = per_s.cmd_get, general = one.now and one.now.general }
end

-- memory --------------------------------------------------------------------------------------

--- The hit ratio over the bytes of memory, as slate.facts.foresight has it, and who tells it: miniatures of the policy
-- that runs where there are any, else the LRU model. nil before enough was sampled.
function M.points(curve)
    local by_policy = #curve.sizes >= 2 and curve.bytes
    return foresight.points(curve), by_policy and "miniatures of " .. (curve.policy or "its policy") or BY_LRU
end

-- So much more memory would bring so many points: { times, bytes_more, gain }; the least of it that is worth a word.
local function least_worth(curve)
    for _, times in ipairs(MORE_TIMES) do
        local gain, chance = foresight.gain_at(curve, times)
        if gain and gain >= M.GAIN_LEAST_RATIO and gain >= ERRORS_APART * chance then
            return { times = times, bytes_more = math.floor(curve.bytes * (times - 1)), gain = gain }
        end
    end
end

--- That the cache never evicted and still has pages to take: a sentence; nil where it is full, or has been. general: of
-- a snapshot; bytes: the pages that the classes have.
function M.unfilled(general, bytes)
    local limit = general.limit_maxbytes
    if not (bytes and limit) or bytes >= limit or (general.evictions or 0) > 0 then
        return nil
    end
    return ("the cache is not full yet, it has %s of %s: more memory would bring nothing"):format(units.bytes(bytes),
        units.bytes(limit))
end

--- What is to be said of memory while a class starves.
function M.while_starving(about)
    return ("class %d starves: give it pages of other classes before memory is bought"):format(about.starves)
end

--- Whether the server is short of memory: { is_short, times, bytes_more, gain (these three when it is), text }; nil
-- before enough was sampled.
function M.memory(curve, about)
    local twice, chance = foresight.gain_at(curve, MORE_TIMES[#MORE_TIMES])
    if not twice then
        return nil
    elseif about.starves then
        return { text = M.while_starving(about) }
    elseif not about.evicts then
        return { text = about.general and M.unfilled(about.general, curve.bytes)
            or "nothing is evicted now: more memory would bring nothing now" }
    end
    local found = least_worth(curve)
    if found then
        found.is_short = true
        found.text = ("memory is short: %s more (%.0f %%) would bring %.1f points of hits, by its curve"):format(
            units.bytes(found.bytes_more), (found.times - 1) * 100, found.gain * 100)
        return found
    end
    return { text = ("%s: twice as much brings %.1f points of hits ± %.1f"):format(
        twice < M.GAIN_LEAST_RATIO and "more memory would bring little" or "more memory may bring little",
        math.max(0, twice) * 100, ERRORS_APART * chance * 100) }
end

-- policies ------------------------------------------------------------------------------------

--- By how much chance may make a comparison wrong: as the server tells it, but never less than what so few reads can
-- hide. Where two policies had the same of all sampled reads, up to three of as many more may still tell them apart.
function M.doubt(guess)
    return math.max(guess.doubt or 0, UNSEEN_READS / math.max(guess.reads or math.huge, UNSEEN_READS))
end

--- Too few reads to compare policies by: how many are needed, and in how many seconds they will be there (nil: not
-- known), with a sentence; nil where there are enough, or there will never be more. totals: of slate.facts.foresight.
function M.too_few(totals, guess, about)
    local missing = M.READS_LEAST - (guess.reads or math.huge)
    if missing <= 0 or (totals.windows or 0) >= WINDOWS_FULL then
        return nil
    end
    local sampled_per_s = (about.reads_per_s or 0) * (tonumber(totals.rate) or 0)
    local in_s = sampled_per_s > 0 and missing / sampled_per_s or nil
    return { reads = guess.reads, reads_needed = M.READS_LEAST, in_s = in_s,
        text = ("too few reads were sampled to compare policies: %d of the %d that are needed; %s"):format(
            guess.reads // 1, M.READS_LEAST, in_s and "at this rate that takes " .. units.age(math.ceil(in_s))
                or "more come with traffic, unless sample_rate is 0") }
end

--- What is to be thought of another policy: "better" (worth a change, beyond chance), "worse" (beyond chance), or
-- "inconclusive". guess: { policy, difference, doubt, reads }.
function M.rate(guess)
    local doubt = M.doubt(guess) * ERRORS_APART
    return guess.difference - doubt >= M.GAIN_LEAST_RATIO and "better" or guess.difference + doubt < 0 and "worse"
        or "inconclusive"
end

--- Whether another policy would hit more: { is_better, best (its name), difference, too_few (of M.too_few), text }; nil
-- before any was compared.
-- whatif: { totals, policies } of slate.facts.foresight. Never `none`, which refuses what is new.
function M.policy(whatif, about)
    local totals, best = whatif.totals, foresight.best_that_evicts(whatif.policies)
    if not (totals.policy and best and best.difference) then
        return nil
    end
    local few = M.too_few(totals, best, about)
    if about.starves then
        return { best = best.policy, text = ("class %d starves: give it pages of other classes before the policy "
            .. "is judged"):format(about.starves) }
    elseif few then
        return { best = best.policy, too_few = few, text = few.text }
    elseif best.policy == totals.policy or M.rate(best) ~= "better" then
        return { best = best.policy, text = ("no policy is better than %s by more than chance: keep it"):format(
            totals.policy) }
    elseif totals.auto == 1 or totals.s3auto == 1 and best.record then
        return { best = best.policy, text = ("%s would hit %.1f points more than %s: %s switches to it"):format(
            best.policy, best.difference * 100, totals.policy, totals.auto == 1 and "auto" or "s3auto") }
    elseif not about.evicts then
        return { best = best.policy, text = "nothing is evicted now: no policy would hit more now" }
    end
    return { is_better = true, best = best.policy, difference = best.difference,
        text = ("%s would hit %.1f points more than %s, by its miniatures"):format(best.policy, best.difference * 100,
            totals.policy) }
end

-- for slatetop --------------------------------------------------------------------------------

local TOO_FEW <const> = "too few reads"
local TONES <const> = { better = "good", worse = "note", [TOO_FEW] = "warn" }

--- Both answers as sentences: a list of { label = "memory" | "policy", text, tone }. one: of slate.judge.observer;
-- asked: replies as texts (curve, whatif); what is not there is left out.
function M.sentences(one, asked)
    local list, about = {}, M.about(one, asked.curves)
    local curve, whatif = answers.curve(asked.curve), answers.whatif(asked.whatif)
    local memory = curve and M.memory(curve, about)
    local policy = whatif and M.policy(whatif, about)
    list[1] = memory and { label = "memory", text = memory.text, tone = memory.is_short and "good" or nil }
    list[#list + 1] = policy and { label = "policy", text = policy.text, tone = policy.is_better and "good" or nil }
    return list
end

--- All policies in few words, as "lru 91.0% -1.2±0.3": a list of { text }.
function M.compared(_, asked)
    local list = {}
    for _, guess in ipairs((answers.whatif(asked.whatif) or { policies = {} }).policies) do
        list[#list + 1] = guess.hit_ratio and guess.difference and { text = ("%s %.1f%% %+.1f±%.1f"):format(
            guess.policy, guess.hit_ratio * 100, guess.difference * 100, M.doubt(guess) * 100) } or nil
    end
    return list
end

--- What is to be thought of each policy, behind by how many points chance may make its comparison wrong where enough
-- was seen: a list of { label = its name, text, tone }.
function M.ratings(_, asked)
    local list, whatif = {}, answers.whatif(asked.whatif) or { totals = {}, policies = {} }
    for i, guess in ipairs(whatif.policies) do
        local is_now = guess.policy == whatif.totals.policy
        local word = guess.policy == "none" and "refuses when full"
            or M.too_few(whatif.totals, guess, {}) and TOO_FEW
            or guess.difference and M.rate(guess) or "inconclusive"
        local told = is_now and "in use" or word == "better" and "+ better" or word == "worse" and "- worse" or word
        list[i] = { label = guess.policy, tone = not is_now and TONES[word] or nil, text = told == TOO_FEW and told
            or ("±%5.2f pt  %s"):format(is_now and 0 or M.doubt(guess) * 100, told) }
    end
    return list
end

return M
