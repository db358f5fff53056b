-- SPDX-License-Identifier: BSD-3-Clause
--- Faults of memcached's versions, from its releases and public threads: crashes that a command can cause, and
--- counters that count wrongly. Pure.
-- tests/memcached-faults.md has the whole list, with slated's behaviour.
local automove = require "slate.facts.automove"

local M = {}

-- from, to: the first and last 1.6.x with the fault; remedy: how to avoid it; setting, mode: the value that causes it.
local ROWS <const> = {
    mover_class = { from = 34, to = 41,
        words = "crashes on a command to move a page to a class that it does not use",
        remedy = "move pages with slatectl, which checks first, or update to 1.6.42 or later" },
    automove_window = { from = 34, to = 44, words = "crashes on an automove window below 3 or above 1800",
        remedy = "set it with slatectl, which checks first, or update to 1.6.45 or later" },
    automove_eviction = { from = 34, to = 40, setting = "slab_automove", mode = "eviction",
        words = "has crashed days after automove eviction was set (memcached#1269)",
        remedy = "leave automove at ratio, or update to 1.6.41 or later" },
    watch_mutations = { from = 0, to = 41,
        words = "crashes when a store of the binary protocol fails while a client watches mutations",
        remedy = "watch no mutations where clients speak that protocol, or update to 1.6.42 or later" },
}

-- Counters by the versions that count them wrongly: these count each accepted connection as rejected (memcached#619).
local MISCOUNTED <const> = { ["1.5.21"] = "rejected_connections", ["1.5.22"] = "rejected_connections" }

--- The name of the counter that a version counts wrongly; nil if there is none.
function M.miscounted(version)
    return MISCOUNTED[(version or ""):match("^%d+%.%d+%.%d+")]
end

--- Removes the counter that a version counts wrongly from figures (of slate.facts.stats): its value is unknown.
function M.leave_out(version, figures)
    local name = M.miscounted(version)
    if name then
        figures[name] = nil
    end
end

--- The fault with this name, if the version has it: a sentence and the remedy; else nil. version: of a memcached, nil
-- of another server.
function M.of(version, name)
    local minor, row = tonumber((version or ""):match("^1%.6%.(%d+)$")), ROWS[name]
    if minor and row and minor >= row.from and minor <= row.to then
        return ("memcached %s %s"):format(version, row.words), row.remedy
    end
end

--- The fault that a setting's value would cause on a server: a sentence, or nil. who: { version, slated } of a client.
function M.of_setting(who, name, value)
    if who.slated then
        return nil
    end
    for fault, row in pairs(ROWS) do
        local mode = row.setting == name and automove.of(value)
        if mode and mode.name == row.mode then
            local words, remedy = M.of(who.version, fault)
            return words and ("%s: %s"):format(words, remedy)
        end
    end
end

--- The fault that `watch` of some streams, a list of their names, would cause on a server; returned as in of_setting.
function M.of_watch(who, streams)
    for _, stream in ipairs(not who.slated and streams or {}) do
        local words, remedy = M.of(who.version, stream == "mutations" and "watch_mutations")
        if words then
            return ("%s: %s"):format(words, remedy)
        end
    end
end

return M
