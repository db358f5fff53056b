-- SPDX-License-Identifier: BSD-3-Clause
--- Servers that are marked in the fleet: one reviewed change goes to all of them, or is taken back on all of them.
--- ui.fleet.marked: a set of their indices.
local change = require "slate.console.change"
local inquiries = require "slate.console.inquiries"
local server = require "slate.console.server"

local M = {}

--- The inquiries to each marked server, by which a change is checked.
M.INQUIRIES = { "settings", "config", "policies" }

local VALUES_SHOWN <const> = 3

--- How many servers are marked.
function M.count(ui)
    local count = 0
    for _, is_marked in pairs(ui.fleet.marked) do
        count = count + (is_marked and 1 or 0)
    end
    return count
end

--- True if a plan may go to several servers: settings may, but not pages and not the policy of one class, because
--- classes differ from server to server.
function M.takes(plan)
    for _, one in ipairs(plan) do
        if one.pages or one.name == "class_policy" then
            return false
        end
    end
    return #plan > 0
end

local function is_same(a, b)
    return a == b or tonumber(a) ~= nil and tonumber(a) == tonumber(b) -- "0.5" is "0.50"
end

-- Why no change may go to a server now; nil if one may.
local function why_no_change(model)
    local now = model.now
    if not now or model.link ~= "up" then
        return "no connection"
    elseif not server.may_change(now) then
        return ("its role is %s, and changes need admin"):format(now.role)
    elseif not model.answers:text("config") and not inquiries.why_not("config", now) then
        return "its settings have not arrived yet"
    end
end

--- What a plan does on one server: "changes" it, it has ("has") the values already, or it "refuses", with why.
function M.answer(model, plan)
    local why, answer = why_no_change(model), "has"
    if why then
        return "refuses", why
    end
    for _, one in ipairs(plan) do
        local row = change.row(model, one.name)
        if not (row and row.now and is_same(row.now, one.value)) then
            why, answer = change.why_not(model, one), "changes"
            if why then
                return "refuses", why
            end
        end
    end
    return answer
end

local function marked_models(frame, ui)
    local models = {}
    for _, row in ipairs(frame.servers) do
        models[#models + 1] = ui.fleet.marked[row.server] and row.model or nil
    end
    return models
end

--- The marked servers that a review changes, a list of { model, changes }, and how many have its values already; or
--- nil and a sentence: one refuses, or none would change. review: its plan, and taken, by model the changes of an undo.
function M.targets(frame, ui, review)
    local targets, count = {}, 0
    for _, model in ipairs(marked_models(frame, ui)) do
        local changes, answer, why = review.plan, nil, nil
        if not review.taken then
            answer, why = M.answer(model, changes)
        elseif review.taken[model] then
            changes, why = review.taken[model], why_no_change(model)
            answer = why and "refuses" or "changes"
        end
        if answer == "refuses" then
            return nil, ("%s: %s"):format(model.server, why)
        end
        targets[#targets + 1] = answer == "changes" and { model = model, changes = changes } or nil
        count = count + (answer == "has" and 1 or 0)
    end
    if #targets == 0 then
        return nil, "all marked servers have these values already"
    end
    return targets, count
end

--- The values of a setting on the marked servers: "20", or "10 on 2, 20 on 1" of them; "-" when no server reports it.
function M.now(frame, ui, name)
    local values, count, words = {}, {}, {}
    for _, model in ipairs(marked_models(frame, ui)) do
        local value = (change.row(model, name) or {}).now
        if value and not count[value] then
            values[#values + 1] = value
        end
        if value then
            count[value] = (count[value] or 0) + 1
        end
    end
    if #values < 2 then
        return values[1] or "-"
    end
    for i = 1, math.min(#values, VALUES_SHOWN) do
        words[i] = ("%.20s on %d"):format(values[i], count[values[i]])
    end
    return table.concat(words, ", ") .. (#values > VALUES_SHOWN and ", others on more" or "")
end

return M
