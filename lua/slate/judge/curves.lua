-- SPDX-License-Identifier: BSD-3-Clause
--- What slatetop tells of a curve and of policies, by slate.judge.relief. Pure.
local answers = require "slate.facts.answers"
local relief = require "slate.judge.relief"

local M = {}

local TOO_FEW <const>, TOO_YOUNG <const> = "too few reads", "too young to tell"
local TONES <const> = { better = "good", worse = "note", [TOO_FEW] = "warn", [TOO_YOUNG] = "warn" }

--- Both answers as sentences: a list of { label = "memory" | "policy", text, tone }. one: of slate.judge.view; replies:
-- as texts (curve, whatif); an answer without its reply is left out.
function M.sentences(one, replies)
    local list, about = {}, relief.about(one, replies.curves)
    local curve, whatif = answers.curve(replies.curve), answers.whatif(replies.whatif)
    local memory = curve and relief.memory(curve, about)
    local policy = whatif and relief.policy(whatif, about, curve)
    list[1] = memory and { label = "memory", text = memory.text, tone = memory.is_short and "good" or nil }
    list[#list + 1] = policy and { label = "policy", text = policy.text, tone = policy.is_better and "good" or nil }
    return list
end

--- All policies in few words, as "lru 91.0% -1.2±0.3", at the level of today's hit ratio: a list of { text }.
function M.compared(one, replies)
    local list, _, policies = {}, relief.at_level(one, nil, answers.whatif(replies.whatif))
    for _, guess in ipairs(policies or {}) do
        list[#list + 1] = guess.hit_ratio and guess.difference and { text = relief.doubt(guess) > 1
            and ("%s: %s"):format(guess.policy, TOO_YOUNG) or ("%s %.1f%% %+.1f±%.1f"):format(
            guess.policy, guess.hit_ratio * 100, guess.difference * 100, relief.doubt(guess) * 100) } or nil
    end
    return list
end

--- The rating of each policy, after the points by which chance may make its comparison wrong if enough reads were
-- sampled, at the level of today's hit ratio: a list of { label = the policy's name, text, tone }.
function M.ratings(one, replies)
    local list, whatif = {}, answers.whatif(replies.whatif)
    local _, policies = relief.at_level(one, nil, whatif)
    for i, guess in ipairs(policies or {}) do
        local is_now = guess.policy == whatif.totals.policy
        local word = relief.too_few(whatif.totals, guess, {}) and TOO_FEW
            or guess.difference and relief.doubt(guess) > 1 and TOO_YOUNG -- no hit ratio differs by more
            or guess.policy == "none" and "refuses when full"
            or guess.difference and relief.rate(guess) or "inconclusive"
        local rating = is_now and "in use" or word == "better" and "+ better" or word == "worse" and "- worse" or word
        list[i] = { label = guess.policy, tone = not is_now and TONES[word] or nil,
            text = TONES[rating] == "warn" and rating
                or ("±%5.2f pt  %s"):format(is_now and 0 or relief.doubt(guess) * 100, rating) }
    end
    return list
end

return M
