-- SPDX-License-Identifier: BSD-3-Clause
--- Requests to a server that slatetop sends only while a view shows their answers. A view names its inquiries; they are
--- sent with every refresh, and at once when one is new. Most are slated's alone.
local server = require "slate.console.server"

local M = {}

--- The inquiries, by their order in a refresh: { name, command (nil: the answer comes with a refresh, or the session
-- makes the line), of = "all" | "slated" | "tracked" (memcached with -o track_sizes), is_for_admin (slated refuses it
-- to other roles, and counts that) }. To add one: a row here, and a parser in slate.console.answers.
M.LIST = {
    { name = "class", of = "all" }, -- every statistic of one class
    { name = "settings", of = "all" }, -- with every refresh, not now and then
    { name = "config", command = "stats config", of = "slated" },
    { name = "policies", command = "stats policies", of = "slated" },
    { name = "moves", command = "stats moves", of = "slated" },
    { name = "automove", command = "stats automove", of = "slated" },
    { name = "evictions", command = "stats evictions", of = "slated" },
    { name = "pages", of = "slated" }, -- in parts
    { name = "sizehist", command = "stats sizehist", of = "slated" },
    { name = "stock_sizes", command = "stats sizes", of = "tracked" },
    { name = "geometry", command = "stats geometry", of = "slated" },
    { name = "curve", command = "stats curve", of = "slated" },
    { name = "class_curves", of = "slated" }, -- some classes a refresh, in turn
    { name = "whatif", command = "stats whatif", of = "slated" },
    { name = "memory", command = "stats memory", of = "slated" },
    { name = "hotkeys", command = "stats hotkeys 64", of = "slated", is_for_admin = true },
    { name = "item", of = "all" }, -- one key's data, by `me`
    { name = "predictions", of = "slated", is_for_admin = true }, -- for orders of chunk sizes: "slabs geometry ... dry"
}

M.BY_NAME = {}
for _, row in ipairs(M.LIST) do
    M.BY_NAME[row.name] = row
end

-- Why memcached has no such answer, and what it reports on the subject.
local STOCK <const> = {
    hotkeys = "needs slated; on memcached, slatectl hotkeys counts reads for ten seconds",
    curve = "needs slated; on memcached compare AGE and UNRD% of the classes (2)",
}

--- Why a server does not know an inquiry, in a few words; nil if it does. now: its snapshot, or nil.
function M.why_not(name, now)
    local of = M.BY_NAME[name].of
    if not now then
        return "nothing is known about the server yet"
    elseif of == "slated" and not now.slated then
        return STOCK[name] or "needs slated: memcached does not report this"
    elseif M.BY_NAME[name].is_for_admin and not server.may_change(now) then
        return "needs the role admin; this user's role is " .. now.role
    elseif of == "tracked" and now.slated then
        return "slated has stats sizehist instead"
    elseif of == "tracked" and (now.settings or {}).track_sizes ~= true then
        return "the server does not track sizes: start it with -o track_sizes"
    end
end

return M
