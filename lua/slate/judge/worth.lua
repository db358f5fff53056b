-- SPDX-License-Identifier: BSD-3-Clause
--- What a page more is worth to each class, and a page less, in hits a second. Pure.
--
-- For classes with a sampled curve, by the function that predictions of moves rest on (slate.base.policy_curve): a gain
-- less a loss is the prediction for a move of one page. The weights of slated's utility are told as automove's.
local answers = require "slate.facts.answers"
local foresight = require "slate.facts.foresight"
local order = require "slate.base.order"
local outlook = require "slate.judge.outlook"
local policy_curve = require "slate.base.policy_curve"
local predict = require "slate.judge.predict"

local M = {}

local PAGE_BYTES <const> = 1 << 20

local function reads_of(curves)
    local sum = 0
    for id, curve in pairs(curves) do
        sum = sum + (id > 0 and #curve > 0 and curve.reads or 0)
    end
    return sum
end

-- One class; nil where it has no curve. sampled: the reads of all curves.
local function worth_of(class, curve, sampled)
    if not curve or #curve == 0 or sampled == 0 then
        return nil
    end
    return { id = class.id, pages = class.total_pages, read_share = (curve.reads or 0) / sampled,
        hit_ratio = foresight.between(curve, class.total_pages * PAGE_BYTES),
        gain = policy_curve.gain(class, 1), loss = policy_curve.cost(class, 1) }
end

-- The policy that would be better for a class (by slate.judge.outlook), and by how much; nil without one.
local function better_policy(guesses)
    local best = guesses and foresight.best_that_evicts(guesses)
    if best and best.difference and outlook.rate(best) == "better" then
        return best.policy, best.difference
    end
end

--- The classes of which something is known, those first that would gain most: a list of { id, pages, hit_ratio and
-- read_share (by its curve, where it has one), gain, loss, policy and policy_gain (one that would be better for it) }.
-- one: of slate.judge.observer. asked: whatif (a reply, as text) and curves (as for
-- slate.judge.predict), as far as they are known.
function M.classes(one, asked)
    local curves, list = asked.curves or {}, {}
    local seen = predict.seen(one, curves)
    if not seen then
        return list
    end
    local whatif = answers.whatif(asked.whatif) or { classes = {} }
    local sampled = reads_of(curves)
    for _, class in ipairs(seen.classes) do
        if class.total_pages > 0 then
            local worth = worth_of(class, curves[class.id], sampled)
            if worth then
                worth.policy, worth.policy_gain = better_policy(whatif.classes[class.id])
                list[#list + 1] = worth
            end
        end
    end
    return order.largest_first(list, "gain", "id")
end

return M
