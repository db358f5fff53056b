-- SPDX-License-Identifier: BSD-3-Clause
--- The changes that clients made to a server: to a slated each with its author, by `stats audit`; and the settings that
--- differ between two snapshots of any server.
local settings = require "slate.facts.settings"
local settings_shown = require "slate.facts.settings_shown"
local stats = require "slate.facts.stats"

local M = {}

local TEXT <const> = { who = true, what = true, was = true, is = true }
local NEEDED <const> = { "time", "who", "what", "is" }

--- The author of a change; nil if unknown: a client of a UNIX socket has no address but the server's own.
function M.author_of(who)
    return not who:find("^unix:") and who or nil
end

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

local COMPARED <const> = "^(%l+) (%S+) to (%S+): ([%d.]+) expected with a band of ([%d.]+), ([%d.]+) before, "
    .. "([%d.]+) came"

--- The changes of the memory limit and of the cache's policy since the start of a slated, of which it has compared the
-- prediction with the hits that came: entries of slate.facts.audit.entries; or nil, message, code.
function M.compared(client)
    local list, message, code = M.after(client, 0)
    local entries = {}
    for _, row in ipairs(list or {}) do
        local name, was, is, expected, band, before, came = row.is:match(COMPARED)
        expected, before, came = tonumber(expected), tonumber(before), tonumber(came)
        entries[#entries + 1] = row.what == "prediction" and expected and { what = "set", name = name, was = was,
            is = is, time_s = row.time_s, predicted_change = expected - before,
            predicted_least = expected - band - before, predicted_most = expected + band - before,
            measured_change = came - before } or nil
    end
    return list and entries, message, code
end

-- Off is a value of temporary_ttl, too.
local function value_of(known, name)
    return name == "temporary_ttl" and known.temp_lru == false and -1 or known[name]
end

--- The settings that differ between the settings of two snapshots, as far as both are known: a list of { name, label
-- (in Tune), text ("verbosity 0 → 1") }.
function M.of_settings(before, now)
    local list = {}
    for _, row in ipairs(before ~= now and settings.ROWS or {}) do
        local was, is = value_of(before, row.name), value_of(now, row.name)
        if was ~= nil and is ~= nil and was ~= is then
            list[#list + 1] = { name = row.name, label = row.label, text = settings_shown.changed(row.label,
                settings.shown(row, settings.written(was)), settings.shown(row, settings.written(is))) }
        end
    end
    return list
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
