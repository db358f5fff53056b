-- SPDX-License-Identifier: BSD-3-Clause
--- Replies to stats as slatetop has them, in one text, as tables. Pure. A reply that is not there (nil) gives nil.
local M = {}

--- The lines of a reply.
function M.lines(text)
    local lines = {}
    for line in text:gmatch("[^\r\n]+") do
        lines[#lines + 1] = line
    end
    return lines
end

--- `stats settings`: values by their names.
function M.settings(text)
    return text and require("slate.facts.stats").settings(M.lines(text))
end

--- `stats moves`: totals and moves, as of slate.facts.moves.
function M.moves(text)
    if text then
        return require("slate.facts.moves").parse(M.lines(text))
    end
end

--- `stats automove`: { mode, is_weighed, classes = { [id] = { gain, gain_doubt, loss, loss_doubt } } }, in hits of
-- 1,000 requests that a page more brings and a page less costs.
function M.automove(text)
    local list = text and { classes = {} }
    for name, value in pairs(text and require("slate.facts.stats").flat(M.lines(text)) or {}) do
        local id, field = name:match("^(%d+):(.+)$")
        if id then
            id = math.tointeger(tonumber(id))
            list.classes[id] = list.classes[id] or {}
            list.classes[id][field] = tonumber(value)
        elseif name == "mode" then
            list.mode = value
        elseif name == "weighed" then
            list.is_weighed = value == 1
        end
    end
    return list
end

--- `stats memory`: bytes by their names, as of slate.facts.memory.
function M.memory(text)
    return text and require("slate.facts.stats").figures(M.lines(text))
end

--- `stats curve`: of slate.facts.foresight.parse_curve.
function M.curve(text)
    return text and require("slate.facts.foresight").parse_curve(M.lines(text))
end

--- `stats whatif`: { totals, policies, classes }, of slate.facts.foresight.parse_whatif.
function M.whatif(text)
    if text then
        local totals, policies, classes = require("slate.facts.foresight").parse_whatif(M.lines(text))
        return { totals = totals, policies = policies, classes = classes }
    end
end

return M
