-- SPDX-License-Identifier: BSD-3-Clause
--- The changes that clients made to a server: to a slated each with its author, by `stats audit`; and the settings that
--- differ between two snapshots of any server.
local gather = require "slate.base.gather"
local stats = require "slate.facts.stats"
local units = require "slate.base.units"

local M = {}

-- Loaded with the first change: slatetop's first screen needs neither.
local function settings() return require "slate.facts.settings" end
local function settings_shown() return require "slate.facts.settings_shown" end

local TEXT <const> = { who = true, what = true, was = true, is = true }
local NEEDED <const> = { "time", "who", "what", "is" }

--- The author of a change; nil if unknown: a client of a UNIX socket has no address but the server's own.
function M.author_of(who)
    return not who:find("^unix:") and who or nil
end

--- The changes after the one with this number in a reply to `stats audit`, as lines or one text: a list of { number,
-- time_s (the server's clock), who, what, was (absent without an old value), is }, and the last number.
function M.of_reply(reply, number)
    local lines = {}
    for line in stats.text_of(reply):gmatch("STAT %d+:[^\r\n]*") do -- page moves have rows, too
        lines[#lines + 1] = line
    end
    local _, rows = stats.numbered(lines, "number", TEXT, NEEDED)
    local list, last = {}, rows[#rows] and rows[#rows].number or 0
    for _, row in ipairs(rows) do
        row.time_s, row.time = row.time, nil
        list[#list + 1] = (row.number > number or last < number) and row or nil -- a restart begins at 1 again
    end
    return list, last
end

--- As of_reply, of a server; or nil, message, code.
function M.after(client, number)
    local lines, message, code = client:stats("audit")
    if not lines then
        return nil, message, code
    end
    return M.of_reply(lines, number)
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

-- A change of a setting: { name, is, label (in Tune, without its unit), text ("verbosity 0 → 1"), value ("1") }.
local function of_row(row, was, is)
    local text, label = settings_shown().changed(row.label, settings().shown(row, was), settings().shown(row, is))
    return { name = row.name, is = is, label = label, text = text, value = text:match("→ (.*)$") }
end

--- The settings that differ between the settings of two snapshots, as far as both are known: a list of { name, is (the
-- new value), label (in Tune, without its unit), text ("verbosity 0 → 1") }.
function M.of_settings(before, now)
    local list = {}
    for _, row in ipairs(before ~= now and settings().ROWS or {}) do
        local was, is = value_of(before, row.name), value_of(now, row.name)
        if was ~= nil and is ~= nil and was ~= is then
            list[#list + 1] = of_row(row, settings().written(was), settings().written(is))
        end
    end
    return list
end

local OF_FLUSH <const> = { oldest = true } -- shown as a setting: the time of the last flush

--- The names of the settings that differ between two snapshots, or a server and the same one restarted, by their names.
function M.names(before, after)
    return gather.values(gather.keys(after), function(name)
        return before[name] ~= nil and before[name] ~= after[name] and not OF_FLUSH[name] and name or nil
    end)
end

--- A change by the name of its setting: "slab_automove: ratio → off".
function M.changed_words(name, was, is)
    was, is = tostring(settings().named(name, was)), tostring(settings().named(name, is))
    return ("%s: %s"):format(name, was == is and is .. " already" or was .. " → " .. is)
end

local MOST_OF_START <const> = 8 -- a memcached in the place of a slated differs in far more

--- What a server was restarted with, as far as it differs: "restarted with another memory limit (64 MiB → 32 MiB) and
--- other settings: slab_automove: ratio → off". nil if nothing does. before, after: its settings, or nil.
function M.words_of_start(before, after)
    before, after = before or {}, after or {}
    local words, limit = {}, nil
    for _, name in ipairs(before ~= after and M.names(before, after) or {}) do
        if name == "maxbytes" then
            limit = ("another memory limit (%s → %s)"):format(units.bytes_in_words(before.maxbytes),
                units.bytes_in_words(after.maxbytes))
        else
            words[#words + 1] = M.changed_words(name, before[name], after[name])
        end
    end
    local more = #words - MOST_OF_START
    if more > 0 then
        words = { table.concat(words, ", ", 1, MOST_OF_START) .. (" and %d more"):format(more) }
    end
    local others = words[1] and "other settings: " .. table.concat(words, ", ")
    local all = limit and others and limit .. " and " .. others or limit or others
    return all and "restarted with " .. all
end

-- Settings whose entries have another name; parts of what the settings show as one value; and by entry, a word in
-- which slatetop describes such a change of its own.
local NAMES <const> = { ["policy of classes"] = "policy", temp_lru = "temporary_ttl" }
local PARTS <const> = { temp_lru = true, temporary_ttl = true }
local LABELS <const> = { ["slabs geometry"] = "chunk sizes", ["slabs reassign"] = "page" }

local function recorded_words(change)
    local what = change.what == "slabs reassign" and "moves" or change.what
    return change.was and ("%s %s → %s"):format(what, change.was, change.is) or ("%s %s"):format(what, change.is)
end

--- The seconds that have passed since a recorded change, at most; now: the snapshot that has it, whose server reports
-- its own time in whole seconds. 0: less than one, or not known.
function M.ago_s(change, now)
    local now_s, at_s = now.general.time, change.time_s
    local ago_s = math.type(now_s) and math.type(at_s) and now_s - at_s or 0
    return ago_s > 0 and ago_s + 1 or 0
end

--- The changes of a list that a slated recorded, as of_settings, each with its author (who, nil if unknown) and ago_s.
-- is_part: `of_settings` has the values. is_move: it moves pages. now: the snapshot that has them.
function M.of_recorded(list, now)
    local shown = {}
    for _, change in ipairs(list) do
        local what = change.what
        local row = settings().row(NAMES[what] or what)
        local one = row and change.was and of_row(row, change.was, change.is)
            or { name = what, is = change.is, label = LABELS[what] or what, text = recorded_words(change) }
        one.who, one.is_part, one.ago_s = M.author_of(change.who), PARTS[what], M.ago_s(change, now)
        one.value = not NAMES[what] and one.value or nil -- the settings have it in another form
        one.is_move = what == "slabs reassign"
        shown[#shown + 1] = what ~= "prediction" and one or nil -- a comparison
    end
    return shown
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
