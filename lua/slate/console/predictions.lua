-- SPDX-License-Identifier: BSD-3-Clause
--- slated's predictions for orders of other chunk sizes, requested with `slabs geometry ... dry`: the answer is a
--- sentence with figures, and nothing changes. The server counts complete pages and the page that each class has at
--- least, which a client cannot. A view names the orders that it shows; each is requested again after EVERY_S.
local find = require "slate.base.find"
local printable = require("slate.facts.stats").printable

local M = {}

M.MOST = 8
M.EVERY_S = 10
--- An older prediction is shown with its age.
M.OLD_S = 20

local Predictions = {}
Predictions.__index = Predictions
Predictions.__name = "slate.console.predictions"

--- No predictions, and no orders.
function M.new()
    return setmetatable({ wanted = {}, requested = 0, stamp = 0 }, Predictions)
end

--- Sets the wanted orders, such as "factor 1.25"; known predictions of them stay.
function Predictions:want(orders)
    local before = self.wanted
    self.wanted = {}
    for i = 1, math.min(#orders, M.MOST) do
        local _, known = find.by(before, "order", orders[i])
        self.wanted[i] = known or { order = orders[i] }
    end
end

--- The line of the next request that is due, and its ticket, by which `take` finds its order; nil when none is due.
function Predictions:next(now_s)
    for _, one in ipairs(self.wanted) do
        if not one.requested_s or now_s - one.requested_s >= M.EVERY_S then
            self.requested = self.requested + 1
            one.requested_s, one.ticket = now_s, self.requested
            return ("slabs geometry %s dry"):format(one.order), one.ticket
        end
    end
end

-- "39 classes would hold 1.2 % fewer items in 64 pages, 1000 instead of 1010, and waste 9.9 % of their memory instead
-- of 10.1 %; under 2 % more it would be refused without force"
local function read_figures(words)
    local classes, items, less = words:match("^(%d+) classes would hold ([%d.]+) %% (%a+) items")
    local waste = tonumber(words:match("and waste ([%d.]+) %%"))
    items = tonumber(items)
    if items and waste then
        return tonumber(classes), less == "fewer" and -items or items, waste
    end
end

--- Takes the server's line for the request with this ticket; its order may be unwanted by now. BUSY (with the order of
-- another client) is no answer: the known prediction stays, and the order is requested again with the next refresh.
function Predictions:take(ticket, line, now_s)
    line = printable(line):match("^[^\r\n]*")
    for _, one in ipairs(self.wanted) do
        if one.ticket == ticket and line:find("^BUSY") then
            one.requested_s = nil
        elseif one.ticket == ticket then
            local word, rest = line:match("^(%S+) (.+)$")
            local is_error = line:find("^%u*_?ERROR")
            one.known_s, one.words = now_s, rest and not is_error and rest or line
            one.would_be_made = word == "PREDICTED" and not line:find("it would be refused", 1, true)
            one.classes, one.items_pct, one.waste_pct = read_figures(word == "PREDICTED" and one.words or "")
            self.stamp = self.stamp + 1
        end
    end
end

--- The prediction of an order: { order, known_s, words (the server's, without the first word), would_be_made (without
-- force), classes, items_pct (more items), waste_pct }; the figures are nil if it has none. nil when it is unknown.
function Predictions:of(order)
    local _, one = find.by(self.wanted, "order", order)
    return one and one.known_s and one or nil
end

--- The known predictions by their orders.
function Predictions:known()
    local by_order = {}
    for _, one in ipairs(self.wanted) do
        by_order[one.order] = one.known_s and one or nil
    end
    return by_order
end

return M
