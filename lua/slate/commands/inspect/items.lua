-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl items [CLASS...]: the items of each class by eviction queue, and its losses.
local find = require "slate.base.find"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

-- Heading, field of a row, name of the statistic, function that formats it.
local COLUMNS <const> = {
    { "CLASS", "id", "id", tostring },
    { "ITEMS", "items", "number", units.count },
    { "HOT", "hot", "number_hot", units.count },
    { "WARM", "warm", "number_warm", units.count },
    { "COLD", "cold", "number_cold", units.count },
    { "TEMP", "temp", "number_temp", units.count },
    { "BYTES", "requested_bytes", "mem_requested", units.bytes_in_words },
    { "AGE", "age_s", "age", units.age },
    { "EVICTED", "evicted", "evicted", units.count },
    { "UNREAD", "evicted_unread", "evicted_unfetched", units.count },
    { "LAST", "evicted_age_s", "evicted_time", units.age },
    { "EXP", "expired_unread", "expired_unfetched", units.count },
    { "OOM", "out_of_memory", "outofmemory", units.count },
    { nil, "reclaimed", "reclaimed" },
}

function M.declare(command)
    command:argument("ids", "Only these classes."):args("*"):argname("CLASS"):convert(units.whole(1, 255))
end

local function rows_of(now, ids)
    local rows = {}
    for _, class in ipairs(now.classes) do
        if class.number and (#ids == 0 or find.place(ids, class.id)) then
            local row = {}
            for _, column in ipairs(COLUMNS) do
                row[column[2]] = class[column[3]]
            end
            if class.evicted == 0 then
                row.evicted_age_s = nil -- servers report 0, which reads as if the item had just been used
            end
            rows[#rows + 1] = row
        end
    end
    return rows
end

-- The columns without TEMP if it is empty, as on most servers: then the table fits a terminal.
local function shown(rows)
    local columns = {}
    for _, column in ipairs(COLUMNS) do
        local is_shown = column[1] and column[1] ~= "TEMP"
        for _, row in ipairs(column[1] == "TEMP" and rows or {}) do
            is_shown = is_shown or (row.temp or 0) > 0
        end
        columns[#columns + 1] = is_shown and column or nil
    end
    return columns
end

local function out_text(context, rows)
    local columns, cells = {}, {}
    for c, column in ipairs(shown(rows)) do
        columns[c] = { title = column[1] }
        for r, row in ipairs(rows) do
            cells[r] = cells[r] or {}
            cells[r][c] = column[4](row[column[2]])
        end
    end
    context:out_table(columns, cells)
    context:out("EVICTED to OOM: counted since the start or the last reset\nUNREAD: evicted without ever being read\n"
        .. "LAST: how long the item evicted last had been unused\nEXP: expired without ever being read\n")
end

function M.run(context, parsed)
    local now = must(context:observe())
    must(require("slate.facts.snapshot").reports_classes(now))
    local rows = rows_of(now, parsed.ids)
    if #rows == 0 and #parsed.ids > 0 then
        return nil, "no such class holds items on this server", "no"
    elseif context.json then
        context:out_json("slate/items/1", { server = now.server, time_s = now.time_s,
            classes = require("slate.base.json").array(rows) })
    elseif #rows == 0 then
        context:out("no class holds an item\n")
    else
        out_text(context, rows)
    end
    return 0
end

return M
