-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl whatif: the hit ratios that the other policies would have.
local gather = require "slate.base.gather"
local json = require "slate.base.json"
local must = require("slate.base.failure").must
local relief = require "slate.judge.relief"
local sampled = require "slate.facts.sampled"
local units = require "slate.base.units"

local M = {}

local COLUMNS <const> = "POLICY<|HITS|POINTS|± (95%)|SAMPLED"

-- Above the reasons of classes without a table.
local UNKNOWN <const> = "other policies are not known for these classes; a trial tells: slatectl trial "
    .. "class_policy='POLICY CLASS' --for 5m\n"

function M.declare(command)
    command:flag("--classes", "Show each class that has enough reads, too.")
end

-- Policies with the doubt that their reads leave; none of the policy in use.
local function doubted(policies, running)
    for _, one in ipairs(policies) do
        one.doubt = one.policy == running and 0 or relief.doubt(one)
    end
    return json.array(policies)
end

local function as_rows(policies, running)
    local rows = {}
    for i, one in ipairs(policies) do
        local is_now = one.policy == running
        rows[i] = {
            is_now and one.policy .. " *" or one.policy, units.percent(one.hit_ratio, 2),
            is_now and "" or ("%+.2f"):format(100 * one.difference), is_now and "" or ("%.2f"):format(100 * one.doubt),
            units.count(one.reads),
        }
    end
    return rows
end

-- The classes in ascending order: { class, policies, unknown (why the miniatures tell nothing of the class, a sentence;
-- then it has no policies) }. client: of the server.
local function classes_judged(client, classes, running)
    local ids, list = gather.keys(classes), json.array()
    local curves = sampled.curves(client, ids)
    for i, id in ipairs(ids) do
        local unknown = relief.unlike_class(classes[id], curves[id])
        list[i] = { class = id, unknown = unknown,
            policies = unknown and json.array() or doubted(classes[id], running) }
    end
    return list
end

local function out_text(context, totals, policies, classes)
    context:out(context:pairs({
        { "policy", sampled.policy_in_words(totals) },
        { "hits", totals.real_hit_ratio and units.percent(totals.real_hit_ratio, 2)
            .. " lately, measured; the other policies by miniature caches" or "not counted yet" },
        { "why", totals.why }, { "changed", totals.changed },
        { "sample", units.percent(totals.rate or 0, 3) .. " of the keys" },
    }))
    if #policies == 0 then
        return
    end
    context:out("\n", context:table(COLUMNS, as_rows(policies, totals.policy)))
    local records = gather.values(policies, function(one)
        return one.record and { one.policy, (one.record:gsub(",", ", ")) }
    end)
    if #records > 0 then
        context:out("\nwhat these go by\n", context:pairs(records))
    end
    local unknown = {}
    for _, one in ipairs(classes) do
        unknown[#unknown + 1] = one.unknown and { "class " .. one.class, one.unknown }
        context:out(one.unknown and "" or ("\nclass %d\n"):format(one.class),
            one.unknown and "" or context:table(COLUMNS, as_rows(one.policies, totals.policy)))
    end
    if unknown[1] then
        context:out("\n", UNKNOWN, context:pairs(unknown))
    end
end

function M.run(context, parsed)
    local client = must(context:connect())
    local totals, policies, classes = must(sampled.whatif(client))
    policies = doubted(policies, totals.policy)
    classes = parsed.classes and classes_judged(client, classes, totals.policy) or {}
    client:close()
    context:answer("slate/whatif/1", {
        server = context.server.name, time_s = require("slate.base.clock").time_s(), totals = totals,
        policies = policies, classes = parsed.classes and classes or nil,
    }, function() out_text(context, totals, policies, classes) end)
    if #policies == 0 then
        return nil, sampled.too_few("to compare policies"), "no"
    end
    return 0
end

return M
