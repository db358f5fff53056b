-- SPDX-License-Identifier: BSD-3-Clause
--- A row of figures for each server of the fleet, and how far each server is from the others (by
-- slate.judge.attention). Functions of models.
local attention = require "slate.judge.attention"
local cells = require "slate.console.cells"
local figure = require "slate.console.figure"
local fleet_table = require "slate.console.draw.fleet_table"
local gather = require "slate.base.gather"
local health = require "slate.console.health"
local model = require "slate.console.model"
local proxy = require "slate.facts.proxy"
local ratio <const> = require("slate.base.units").ratio
local server_facts = require "slate.console.server"
local snapshot = require "slate.facts.snapshot"

local M = {}

local WINDOW_S <const> = 10

-- Rates without those of counters that went back.
local function known(rate)
    return rate and rate > model.RESET and rate or nil
end

-- The figures of a cache; a proxy without items has none.
local function add_cache(row, of)
    row.limit_bytes = of.now.general.limit_maxbytes
    row.fill_ratio = ratio(snapshot.item_bytes(of.now), row.limit_bytes)
    row.gets_per_s = of:mean("gets", WINDOW_S)
    row.hit_ratio = of:mean("hit_ratio", WINDOW_S)
    row.evictions_per_s = of:mean("evictions", WINDOW_S)
    row.age_s = of.observer and of.observer.youngest_s
    row.hits = of:series("hit_ratio", fleet_table.TREND)
    row.evictions = cells.without_spikes(of:series("evictions", fleet_table.TREND))
end

local function version_of(now)
    return now and (now.slated and "s" or proxy.is_one(now) and "p" or "") .. server_facts.version(now) or ""
end

-- A text about a server without its address in brackets, which the row has.
local function without_address(of, text)
    local from, to = text:find((" (%s)"):format(of.server), 1, true)
    return from and text:sub(1, from - 1) .. text:sub(to + 1) or text
end

-- The state of a server in few words. line: its worst line of health.
local function state_of(frame, line)
    local of = frame.model
    if of.link == "down" then
        return "down: " .. without_address(of, of.link_note)
    elseif not of.now or of.link == "connecting" then
        return "connecting"
    elseif health.is_stale(frame) then
        return ("stalled: no answer for %s"):format(figure.age(of:age_s(frame.now_s) // 1))
    elseif not of.before then
        return "measuring"
    end
    return line.tone ~= "good" and (line.short or line.text) or "ok"
end

--- The row of one server. frame: its model, now_s and interval_s. Fields: `server` (its index in the fleet), `model`,
--- `name`, `is_up` (has current figures), `tone` and `words` (the worst line of health, or why the server is down),
--- `state` (the same in few words: "ok", "starves 3"), `retry_s` (of the frame), and those of fleet_table.COLUMNS as
--- far as they are known; `hits` and `evictions`, their newest samples.
function M.row(server, frame, retry_s)
    local of, line = frame.model, health.lines(frame)[1]
    local now = of.now
    local row = { server = server, model = of, name = of.server, version = version_of(now), tone = line.tone,
        words = without_address(of, line.text), state = state_of(frame, line), retry_s = retry_s, hits = { n = 0 },
        evictions = { n = 0 }, is_odd = false, is_up = now ~= nil and not health.is_stale(frame) }
    if now then
        row.uptime_s = now.general.uptime
        row.connections, row.reply_ms = of:metric("connections"), of.reply_ms
        if proxy.has_cache(now) then
            add_cache(row, of)
        end
    end
    return row
end

--- Writes into each row `far` (deviations from the median to the worse side; nil: unknown), `odd` (the field that is
--- farthest) and `is_odd` (an outlier). An outlier without a worse state than a note has a warning: how it is odd.
function M.compare(rows)
    local compared = gather.values(rows, function(row)
        return row.is_up and { hit_ratio = known(row.hit_ratio), age_s = row.age_s,
            evictions_per_s = known(row.evictions_per_s), uptime_s = row.uptime_s } or {}
    end)
    for i, found in ipairs(attention.compare_servers(compared)) do
        local row = rows[i]
        row.far, row.odd, row.is_odd = found.far, found.by, found.is_outlier or false
        if row.is_odd and (row.tone == "note" or row.tone == "good") then
            local words, short = attention.outlier_words(compared[i], found)
            row.tone, row.state, row.words = "warn", short, ("%s; %s"):format(words, row.words)
        end
    end
    return rows
end

--- The compared rows of a list of sessions, in its order.
function M.all(sessions, now_s, interval_s)
    local rows = gather.values(sessions, function(session, i)
        return M.row(i, { model = session.model, now_s = now_s, interval_s = interval_s }, session:retry_s() or 0)
    end)
    return M.compare(rows)
end

return M
