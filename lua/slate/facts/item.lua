-- SPDX-License-Identifier: BSD-3-Clause
--- The server's data about one item, of its answer to `me`, which does not count as a use. Pure.
local units = require "slate.base.units"

local M = {}

--- The item of an answer's words "KEY exp=-1 la=3 cas=7 fetch=no cls=5 size=120": class, size_bytes (with header and
--- key), expires_in_s (nil: never), idle_s, cas, fetched; nil where the server does not say.
function M.parse(words)
    local fields = {}
    for i = 2, #words do
        local name, value = words[i]:match("^(%l+)=(%S+)$")
        if name then
            fields[name] = value
        end
    end
    local expires_in_s = math.tointeger(tonumber(fields.exp))
    if expires_in_s and expires_in_s < -1 then -- memcached 1.6.18 reports the time with the opposite sign
        expires_in_s = -expires_in_s
    end
    return {
        class = math.tointeger(tonumber(fields.cls)), size_bytes = math.tointeger(tonumber(fields.size)),
        expires_in_s = expires_in_s and expires_in_s >= 0 and expires_in_s or nil,
        idle_s = math.tointeger(tonumber(fields.la)), cas = fields.cas,
        fetched = fields.fetch and fields.fetch == "yes",
    }
end

--- When an item was last used, in words: both servers note the use of a busy item now and then only. memcached stores
--- its time when the item becomes active in its queue. slated's may be early by a third of the item's age.
function M.last_used(item)
    return item.idle_s and ("at most %s ago"):format(units.age(item.idle_s)) or "-"
end

return M
