-- SPDX-License-Identifier: BSD-3-Clause
--- The changes that clients made to a slated, each with its author: `stats audit`. No memcached reports them.
local stats = require "slate.facts.stats"

local M = {}

local TEXT <const> = { who = true, what = true, was = true, is = true }
local NEEDED <const> = { "time", "who", "what", "is" }

--- The changes after the one with this number: a list of { number, time_s (the server's clock), who, what, was (absent
-- without an old value), is }, and the last number. Empty where there are none; or nil, message, code.
function M.after(client, number)
    local lines, message, code = client:stats("audit")
    if not lines then
        return nil, message, code
    end
    local _, rows = stats.numbered(lines, "number", TEXT, NEEDED)
    local list, last = {}, rows[#rows] and rows[#rows].number or 0
    for _, row in ipairs(rows) do
        row.time_s, row.time = row.time, nil
        list[#list + 1] = (row.number > number or last < number) and row or nil -- a restart begins at 1 again
    end
    return list, last
end

--- True if a value, as of a recording, is a list of such changes.
function M.are_valid(list)
    for _, one in ipairs(type(list) == "table" and list or { false }) do
        if type(one) ~= "table" or type(one.who) ~= "string" or type(one.what) ~= "string" or type(one.is) ~= "string"
            or type(one.was or "") ~= "string" then
            return false
        end
    end
    return true
end

return M
