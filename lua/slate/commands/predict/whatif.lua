-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl whatif: the hit ratios that the other policies would have.
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local COLUMNS <const> = "POLICY<|HITS|POINTS|± (95%)|SAMPLED"

function M.declare(command)
    command:flag("--classes", "Show each class that has enough reads, too.")
end

local function as_rows(policies, running)
    local rows, doubt = {}, require("slate.judge.relief").doubt
    for i, one in ipairs(policies) do
        local is_now = one.policy == running
        rows[i] = {
            is_now and one.policy .. " *" or one.policy, units.percent(one.hit_ratio, 2),
            is_now and "" or ("%+.2f"):format(100 * one.difference), is_now and "" or ("%.2f"):format(100 * doubt(one)),
            units.count(one.reads),
        }
    end
    return rows
end

-- The classes that miniatures tell nothing of: the reasons by id. client: of the server.
local function doubts_of(client, classes)
    local ids, doubts = {}, {}
    for id in pairs(classes) do
        ids[#ids + 1] = id
    end
    local curves = require("slate.facts.sampled").curves(client, ids)
    for id, policies in pairs(classes) do
        doubts[id] = require("slate.judge.relief").unlike_class(policies, curves[id])
    end
    return doubts
end

local function out_text(context, totals, policies, classes, doubts)
    context:out(context:pairs({
        { "policy", require("slate.facts.sampled").policy_in_words(totals) },
        { "hits", totals.real_hit_ratio and units.percent(totals.real_hit_ratio, 2)
            .. " lately, measured; the other policies by miniature caches" or "not counted yet" },
        { "why", totals.why }, { "changed", totals.changed },
        { "sample", units.percent(totals.rate or 0, 3) .. " of the keys" },
    }))
    if #policies == 0 then
        return
    end
    context:out("\n", context:table(COLUMNS, as_rows(policies, totals.policy)))
    local records = {}
    for _, one in ipairs(policies) do
        records[#records + 1] = one.record and { one.policy, (one.record:gsub(",", ", ")) }
    end
    if #records > 0 then
        context:out("\nwhat these go by\n", context:pairs(records))
    end
    local ids = {}
    for id in pairs(classes) do
        ids[#ids + 1] = id
    end
    table.sort(ids)
    for _, id in ipairs(ids) do
        context:out(("\nclass %d\n"):format(id), doubts[id] and doubts[id] .. "\n"
            or context:table(COLUMNS, as_rows(classes[id], totals.policy)))
    end
end

local function as_list(classes)
    local list = require("slate.base.json").array()
    for id, policies in pairs(classes) do
        list[#list + 1] = { class = id, policies = policies }
    end
    table.sort(list, function(a, b) return a.class < b.class end)
    return list
end

function M.run(context, parsed)
    local client = must(context:connect())
    local totals, policies, classes = must(require("slate.facts.sampled").whatif(client))
    local doubts = parsed.classes and not context.json and doubts_of(client, classes) or {}
    client:close()
    if context.json then
        context:out_json("slate/whatif/1", {
            server = context.server.name, time_s = require("slate.base.clock").time_s(), totals = totals,
            policies = require("slate.base.json").array(policies), classes = as_list(classes),
        })
    else
        out_text(context, totals, policies, parsed.classes and classes or {}, doubts)
    end
    if #policies == 0 then
        return nil, require("slate.facts.sampled").too_few("to compare policies"), "no"
    end
    return 0
end

return M
