-- SPDX-License-Identifier: BSD-3-Clause
--- How many items have expired and still take memory. No server reports it. But a server's dump of keys leaves expired
--- items out, so the items of a class that its dump does not list have expired.
--
-- Cost: lists up to half of a class's items, the largest classes first, and at most MOST_LISTED keys in all; skips a
-- class whose half exceeds the keys left. A slated frees expired items while it lists the others.
local keydump = require "slate.wire.keydump"

local M = {}

--- The most keys to list: more would take a second.
M.MOST_LISTED = 200000

local LEAST_ITEMS <const> = 1000

-- The expired items of a class, 0 if half of it is listed, as the rest may be live; then the number of listed keys.
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

--- Counts expired items. connect: a function that returns a client for one dump, or nil, message, code. Returns the
-- number in classes of which at least half has expired; or nil, message, code if the server does not list keys.
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
