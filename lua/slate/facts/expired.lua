-- SPDX-License-Identifier: BSD-3-Clause
--- How many items have expired and still take memory. No server tells: its dump of keys leaves such items out, so what
--- a class holds beyond what its dump lists has expired.
--
-- Cost: a dump of up to half of the items; classes of more than MOST_ITEMS are not looked at. A slated frees what has
-- expired while it lists the others.
local keydump = require "slate.wire.keydump"

local M = {}

--- Classes of more items are not looked at: their dump would take a second or more.
M.MOST_ITEMS = 400000

local LEAST_ITEMS <const> = 1000

-- Expired items of a class; 0 when half of it is listed, whatever the rest is.
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
    return listed < most and class.number - listed or 0
end

--- Counts them. connect: a function that returns a client for one dump, or nil, message, code. Returns the number, of
-- classes of which at least half has expired; or nil, message, code where the server does not list keys.
function M.count(connect, now)
    local expired = 0
    for _, class in ipairs(now.classes) do
        if (class.number or 0) >= LEAST_ITEMS and class.number <= M.MOST_ITEMS then
            local found, message, code = of_class(connect, class)
            if not found then
                return nil, message, code
            end
            expired = expired + found
        end
    end
    return expired
end

return M
