-- SPDX-License-Identifier: BSD-3-Clause
--- Parses replies to stats, which slatetop has as one text each, into tables. A missing reply (nil) gives nil. The last
-- reply of each group is cached with its table, which callers only read: several judges need the same table in a
-- refresh, and a server's samples change only every few seconds.
local gather = require "slate.base.gather"

local M = {}

--- The lines of a reply.
function M.lines(text)
    return gather.words(text, "[^\r\n]+")
end

-- Makes a cached parser. parse: from a reply's lines to one or two values.
local function of_text(parse)
    local last_text, first, second
    return function(text)
        if text ~= last_text then
            last_text, first, second = text, nil, nil
            if text then
                first, second = parse(M.lines(text))
            end
        end
        return first, second
    end
end

-- The same by a function of a module, which is loaded when it is needed.
local function by(name, module)
    return of_text(function(lines) return require(module)[name](lines) end)
end

--- `stats settings`: values by their names.
M.settings = by("settings", "slate.facts.stats")
--- `stats moves`: totals and moves, as of slate.facts.moves.
M.moves = by("parse", "slate.facts.moves")
--- `stats memory`: bytes by their names.
M.memory = by("figures", "slate.facts.stats")
--- `stats curve`: as from slate.facts.sampled.parse_curve.
M.curve = by("parse_curve", "slate.facts.sampled")
--- `stats geometry`: the change and the classes, as from slate.facts.geometry.parse.
M.geometry = by("parse", "slate.facts.geometry")
--- `stats hotkeys`: as from slate.facts.hotkeys.parse.
M.hotkeys = by("parse", "slate.facts.hotkeys")
--- `stats sizehist`, and `stats sizes` of memcached: histograms of slate.facts.sizehist; nil if sizes are not tracked.
M.sizehist = by("of_sizehist", "slate.facts.sizehist")
M.stock_sizes = by("of_sizes", "slate.facts.sizehist")

--- `stats automove`: { mode, is_weighed, classes = { [id] = { gain, gain_doubt, loss, loss_doubt } } }, in hits per
-- 1,000 requests: the gain of one page more, and the loss of one page less.
M.automove = of_text(function(lines)
    local totals, rows = require("slate.facts.stats").numbered(lines, "id", { mode = true }, {})
    return { mode = totals.mode, is_weighed = totals.weighed == 1, classes = gather.map(rows, "id") }
end)

--- `stats whatif`: { totals, policies, classes }, as from slate.facts.sampled.parse_whatif.
M.whatif = of_text(function(lines)
    local totals, policies, classes = require("slate.facts.sampled").parse_whatif(lines)
    return { totals = totals, policies = policies, classes = classes }
end)

--- `stats policies`: { active = the policy of the whole, of_class = { [id] = the policy of a class with its own } }.
M.policies = of_text(function(lines)
    local list = { of_class = {} }
    require("slate.facts.settings").each_stat(lines, function(name, text)
        local id = math.tointeger(tonumber(name:match("^class:(%d+):policy$")))
        if id then
            list.of_class[id] = text
        elseif text == "yes" then
            list.active = name:match("^([^:]+):active$") or list.active
        end
    end)
    return list
end)

--- `stats evictions`: by class, how many evicted items had last been used how long ago: { [id] = list of { name =
-- "under_1s" … "older", items } }, in the server's order.
M.evictions = of_text(function(lines)
    local classes = {}
    require("slate.facts.settings").each_stat(lines, function(name, text)
        local id, field = name:match("^(%d+):(%S+)$")
        local items = math.tointeger(tonumber(text:match("^%d+$")))
        id = math.tointeger(tonumber(id))
        if id and items and (field:find("^under_") or field == "older") then
            classes[id] = classes[id] or {}
            table.insert(classes[id], { name = field, items = items })
        end
    end)
    return classes
end)

return M
