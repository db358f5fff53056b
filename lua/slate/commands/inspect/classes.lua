-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl classes [ID...]: one row for each slab class.
local find = require "slate.base.find"
local gather = require "slate.base.gather"
local must = require("slate.base.failure").must
local order = require "slate.base.order"
local snapshot = require "slate.facts.snapshot"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local M = {}

-- The columns: heading, the key for --sort, the field of a row with its value, the function that formats the value.
local COLUMNS <const> = {
    { title = "CLASS", key = "id", field = "id", show = tostring },
    { title = "SIZE", key = "size", field = "chunk_bytes", show = units.chunk },
    { title = "PAGES", key = "pages", field = "pages", show = units.count },
    { title = "USED", key = "used", field = "used_ratio", show = units.percent },
    { title = "ITEMS", key = "items", field = "items", show = units.count },
    { title = "HIT/s", key = "hits", field = "get_hits_per_s", show = units.rate },
    { title = "SET/s", key = "sets", field = "set_per_s", show = units.rate },
    { title = "EV/s", key = "ev", field = "evicted_per_s", show = units.rate },
    { title = "AGE", key = "age", field = "age_s", show = units.age },
    { title = "SLACK", key = "slack", field = "slack_ratio", show = units.percent },
}

function M.declare(command)
    command:argument("ids", "Only these classes."):args("*"):argname("CLASS"):convert(units.whole(1, 255))
    command:option("--sort", "Sort by a column, largest first (id: smallest first): "
        .. table.concat(gather.values(COLUMNS, "key"), " ")):choices(gather.values(COLUMNS, "key")):argname("COLUMN")
    command:option("--top", "Only the first N rows."):argname("N"):convert(units.whole(1))
    command:option("--interval", "Time between the two samples that give the rates; 0 takes one sample "
        .. "and shows no rates. Default: 1s, and 3s where anything is "
        .. "evicted"):argname("TIME"):convert(units.parse_duration)
end

--- Sorts rows in place by a column's key; rows without a value come last.
function M.sort(rows, key)
    local field = select(2, find.by(COLUMNS, "key", key)).field
    table.sort(rows, function(a, b)
        local x, y = a[field], b[field]
        if field == "id" or x == y then
            return a.id < b.id
        elseif x == nil or y == nil then
            return y == nil
        end
        return x > y
    end)
end

local function ink_of(row)
    for _, flag in ipairs(row.flags) do
        if flag == "starving" or flag == "out_of_memory" then
            return "bad"
        end
    end
end

--- The rows of a snapshot as a table for people. own: further columns, of slate.judge.rules, with values in each row's
-- field own; nil for none.
function M.text(context, now, rows, own)
    local has_classes, message = snapshot.reports_classes(now)
    if #rows == 0 then
        return (has_classes and "no class has a page" or message) .. "\n"
    end
    local columns, cells = {}, {}
    for c, column in ipairs(COLUMNS) do
        columns[c] = { title = column.title }
    end
    for _, column in ipairs(own or {}) do
        columns[#columns + 1] = { title = column.title }
    end
    columns[#columns + 1] = { title = "NOTE", left = true }
    for r, row in ipairs(rows) do
        cells[r] = {}
        for c, column in ipairs(COLUMNS) do
            cells[r][c] = column.show(row[column.field])
        end
        for i, column in ipairs(own or {}) do
            cells[r][#COLUMNS + i] = require("slate.judge.rules").text(row.own[column.title], column.width)
        end
        cells[r][#columns] = view.note(row)
    end
    return context:table(columns, cells, function(r) return ink_of(rows[r]) end)
end

--- Rows for JSON: flags is a list even if it is empty.
function M.as_json(rows)
    local json = require "slate.base.json"
    for _, row in ipairs(rows) do
        json.array(row.flags)
    end
    return json.array(rows)
end

local function only(rows, ids)
    if #ids == 0 then
        return rows
    end
    local by_id, chosen = gather.map(rows, "id"), {}
    for _, id in ipairs(ids) do
        if not by_id[id] then
            return nil, ("class %d holds nothing on this server"):format(id), "no"
        end
        chosen[#chosen + 1] = by_id[id]
    end
    return chosen
end

-- Adds the columns of an operator's own rules to the field `own` of each row. Returns the columns; nil without any.
local function add_own(context, known)
    local own = require("slate.judge.rules").own(function(message) context:print_note(message) end)
    if not own or #own.columns == 0 then
        return nil
    end
    local values = own:values(known)
    for _, row in ipairs(known.rows) do
        row.own = values[row.id]
    end
    return own.columns
end

function M.run(context, parsed)
    local client = must(context:open())
    local now, before, rates, judge, one = must(context:pair(client, parsed.interval))
    if one and now.slated then -- the states are those of the plan that slatectl advise pages prints
        one:plan(require("slate.facts.sampled").curves(client, require("slate.judge.relief").wanted(one)))
    end
    client:close()
    must(snapshot.reports_classes(now))
    local all = view.classes(now, before, rates, judge)
    local own = add_own(context, { now = now, before = before, rates = rates, rows = all })
    local rows = must(only(all, parsed.ids))
    M.sort(rows, parsed.sort or "id")
    local shown = order.first(rows, parsed.top)
    if context.json then
        context:out_json("slate/classes/1", {
            server = now.server, version = now.version, slated = now.slated, time_s = now.time_s,
            interval_s = rates and rates.interval_s, reset = rates and rates.reset,
            classes = M.as_json(shown), truncated = #rows - #shown,
        })
        return 0
    end
    context:out(M.text(context, now, shown, own))
    if #all == 0 then
        return 0
    end
    local pages = gather.sum(all, function(row) return row.pages or 0 end)
    context:out(("%d of %s, %s%s\n"):format(#shown, units.plural(#all, "class", "classes"), units.plural(pages, "page"),
        rates and (rates.reset and ", counters were reset: no rates"
            or (", rates over %.2f s"):format(rates.interval_s)) or ""))
    return 0
end

return M
