-- SPDX-License-Identifier: BSD-3-Clause
--- How many items have expired and still take memory. No server tells: its dump of keys leaves such items out, so what
--- a class holds beyond what its dump lists has expired.
--
-- Cost: up to half of a class's items are listed, the largest classes first, and at most MOST_LISTED keys in all; a
-- class whose half is more than is left is not looked at. A slated frees what has expired while it lists the others.
local keydump = require "slate.wire.keydump"

local M = {}

--- At most so many keys are listed: more would take a second.
M.MOST_LISTED = 200000

local LEAST_ITEMS <const> = 1000

-- Expired items of a class, 0 when half of it is listed, whatever the rest is; then how many keys were listed.
local function of_class(connect, class)
    local client, message, code = connect()
    if not client then
        return nil, message, code
    end
    local most = class.number // 2 + 1
    local problem, why, listed = keydump.each(client, { limit = most, class = class.id }, function() end)
    if problem then
        return nil, problem, why
    end
    return listed < most and class.number - listed or 0, listed
end

--- Counts them. connect: a function that returns a client for one dump, or nil, message, code. Returns the number, of
-- classes of which at least half has expired; or nil, message, code where the server does not list keys.
function M.count(connect, now)
    local classes, expired, left = {}, 0, M.MOST_LISTED
    for _, class in ipairs(now.classes) do
        classes[#classes + 1] = (class.number or 0) >= LEAST_ITEMS and class or nil
    end
    table.sort(classes, function(a, b) return a.number > b.number end)
    for _, class in ipairs(classes) do
        if class.number // 2 < left then
            local found, listed, code = of_class(connect, class)
            if not found then
                return nil, listed, code
            end
            expired, left = expired + found, left - listed
        end
    end
    return expired
end

return M
