-- SPDX-License-Identifier: BSD-3-Clause
--- What a page more is worth to each class, and a page less, in hits a second. Pure.
--
-- As an automove that weighs pages has measured it (slated's utility), else, of classes with a sampled curve, what
-- predictions of moves rest on (slate.base.policy_curve).
local answers = require "slate.facts.answers"
local foresight = require "slate.facts.foresight"
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

-- One class; nil where nothing is known of it. measured: of slate.facts.answers.automove, or nil.
local function worth_of(class, measured, curve, reads)
    local worth = { id = class.id, pages = class.total_pages }
    if curve and #curve > 0 and reads.sampled > 0 then
        worth.hit_ratio = foresight.between(curve, class.total_pages * PAGE_BYTES)
        worth.read_share = (curve.reads or 0) / reads.sampled
        worth.gain, worth.loss = policy_curve.gain(class, 1), policy_curve.cost(class, 1)
    end
    if measured and measured.gain then
        worth.gain, worth.loss = measured.gain * reads.per_s / 1000, (measured.loss or 0) * reads.per_s / 1000
    end
    return worth.gain and worth or nil
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
-- one: of slate.judge.observer. asked: automove and whatif (replies, as texts) and curves (as for
-- slate.judge.predict), as far as they are known.
function M.classes(one, asked)
    local curves, list = asked.curves or {}, {}
    local seen, reads_per_s = predict.seen(one, curves)
    if not seen then
        return list
    end
    local automove = answers.automove(asked.automove)
    local measured = automove and automove.is_weighed and automove.classes or {}
    local whatif = answers.whatif(asked.whatif) or { classes = {} }
    local reads = { sampled = reads_of(curves), per_s = reads_per_s }
    for _, class in ipairs(seen.classes) do
        if class.total_pages > 0 then
            local worth = worth_of(class, measured[class.id], curves[class.id], reads)
            if worth then
                worth.policy, worth.policy_gain = better_policy(whatif.classes[class.id])
                list[#list + 1] = worth
            end
        end
    end
    table.sort(list, function(a, b)
        if a.gain ~= b.gain then
            return a.gain > b.gain
        end
        return a.id < b.id
    end)
    return list
end

return M
