-- SPDX-License-Identifier: BSD-3-Clause
--- Servers that are marked in the fleet: one reviewed change goes to all of them, or is taken back on all of them.
--- ui.fleet.marked: a set of their indices.
local change = require "slate.console.change"
local figure = require "slate.console.figure"
local gather = require "slate.base.gather"
local health = require "slate.console.health"
local inquiries = require "slate.console.inquiries"
local server = require "slate.console.server"

local M = {}

--- The inquiries to each marked server, by which a change is checked.
M.INQUIRIES = { "settings", "config", "policies" }

local VALUES_SHOWN <const>, NAMES_SHOWN <const> = 3, 3

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
    return #plan > 0 and not gather.any(plan, function(one) return one.pages or one.name == "class_policy" end)
end

local function is_same(a, b)
    return a == b or tonumber(a) ~= nil and tonumber(a) == tonumber(b) -- "0.5" is "0.50"
end

--- Names in a sentence, so many at most: "c1, c2 and 3 more".
function M.names(list, most)
    local more = #list - most
    return table.concat(list, ", ", 1, math.min(#list, most)) .. (more > 0 and (" and %d more"):format(more) or "")
end

--- The news of servers, each text once: "c2, c3: no connection; c4: its role is read". list: of { name, text }.
function M.news(list)
    local texts, names = {}, {}
    for _, one in ipairs(list) do
        texts[#texts + 1] = not names[one.text] and one.text or nil
        names[one.text] = names[one.text] or {}
        table.insert(names[one.text], one.name)
    end
    for i, text in ipairs(texts) do
        texts[i] = ("%s: %s"):format(M.names(names[text], NAMES_SHOWN), text)
    end
    return table.concat(texts, "; ")
end

-- Why no change may go to a server now; nil if one may. frame: with now_s and interval_s.
local function why_no_change(frame, model)
    local now = model.now
    if not now or model.link ~= "up" then
        return "no connection"
    elseif health.is_stale({ model = model, now_s = frame.now_s, interval_s = frame.interval_s }) then
        return "no answer for " .. figure.age(model:age_s(frame.now_s) // 1)
    elseif not server.may_change(now) then
        return ("its role is %s, and changes need admin"):format(now.role)
    elseif not model.answers:text("config") and not inquiries.why_not("config", now) then
        return "its settings have not arrived yet"
    end
end

--- What a plan does on one server: "changes" it, it has ("has") the values already, or it "refuses", with why, and true
--- if it would take other values.
function M.answer(frame, model, plan)
    local why, answer = why_no_change(frame, model), "has"
    local code
    if why then
        return "refuses", why
    end
    for _, one in ipairs(plan) do
        local row = change.row(model, one.name)
        if not (row and row.now and is_same(row.now, one.value)) then
            why, code = change.why_not(model, one)
            if why then
                return "refuses", why, code == "usage"
            end
            answer = "changes"
        end
    end
    return answer
end

--- The models of the marked servers.
function M.models(frame, ui)
    return gather.values(frame.servers, function(row) return ui.fleet.marked[row.server] and row.model or nil end)
end

--- The marked servers that a review changes, a list of { model, changes }, and how many have its values already; or
--- nil, a sentence (which refuse, and why; or none would change), and true if other values may be sent. review: its
--- plan, and taken, by model the changes of an undo.
function M.targets(frame, ui, review)
    local targets, refused, count, is_of_values = {}, {}, 0, true
    for _, model in ipairs(M.models(frame, ui)) do
        local changes, answer, why, takes_others = review.plan, nil, nil, nil
        if not review.taken then
            answer, why, takes_others = M.answer(frame, model, changes)
        elseif review.taken[model] then
            changes, why = review.taken[model], why_no_change(frame, model)
            why = why or select(2, change.set_since(model, changes))
            answer = why and "refuses" or "changes"
        end
        if answer == "refuses" then
            refused[#refused + 1] = { name = model.server, text = why }
            is_of_values = is_of_values and takes_others
        end
        targets[#targets + 1] = answer == "changes" and { model = model, changes = changes } or nil
        count = count + (answer == "has" and 1 or 0)
    end
    if #refused > 0 then
        return nil, M.news(refused), is_of_values
    elseif #targets == 0 then
        return nil, count > 0 and "all marked servers have these values already" or "no server is marked", count > 0
    end
    return targets, count
end

--- The values of a setting on the marked servers: "20", or "10 on 2, 20 on 1" of them; "-" when no server reports it.
function M.now(frame, ui, name)
    local values, count, words = {}, {}, {}
    for _, model in ipairs(M.models(frame, ui)) do
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
