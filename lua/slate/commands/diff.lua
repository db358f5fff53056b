-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl diff OLD [NEW]: what changed between two snapshots, or between one and now.
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

function M.declare(command)
    command:argument("old", "A file of slatectl snapshot or record: its last snapshot."):argname("OLD")
    command:argument("new", "Another. Default: the server now"):args("?"):argname("NEW")
    command:flag("--all", "Show every statistic that changed, of the classes too.")
end

local function load_last(context, path)
    local list = must(context:recordings({ path }))
    return list[#list]
end

local function shown(value)
    if math.type(value) == "float" then
        return ("%.6g"):format(value)
    end
    return value == nil and "-" or tostring(value)
end

local function signed(value)
    return value and (value > 0 and "+" or "") .. shown(value) or "-"
end

-- What most people ask first of the general statistics.
local FIRST <const> = {}
for name in ([[curr_items bytes evictions get_hits get_misses cmd_get cmd_set slabs_moved store_no_memory
    slab_global_page_pool curr_connections total_connections slab_reassign_evictions_nomem limit_maxbytes
    version threads]]):gmatch("%S+") do
    FIRST[name] = true
end

local function out_list(context, title, list, with_rates)
    local columns = { { title = title, left = true }, { title = "WAS" }, { title = "IS" } }
    local rows = {}
    for i, change in ipairs(list) do
        rows[i] = { change.name, shown(change.was), shown(change.is) }
        if with_rates then
            rows[i][4], rows[i][5] = signed(change.change), units.rate(change.per_s)
        end
    end
    if with_rates then
        columns[4], columns[5] = { title = "CHANGE" }, { title = "PER SECOND" }
    end
    if #rows > 0 then
        context:out(context:table(columns, rows), "\n")
    end
end

local CLASS_COLUMNS <const> = {
    { "CHUNK", "chunk_size" }, { "PAGES", "total_pages" }, { "ITEMS", "number" }, { "HITS", "get_hits" },
    { "SETS", "cmd_set" }, { "EVICTED", "evicted" }, { "OOM", "outofmemory" },
}

local function out_classes(context, classes)
    local columns, rows = { { title = "CLASS" } }, {}
    for c, column in ipairs(CLASS_COLUMNS) do
        columns[c + 1] = { title = column[1] }
    end
    for _, class in ipairs(classes) do
        local by_name, row, has_any = {}, { class.id }, false
        for _, change in ipairs(class.changes) do
            by_name[change.name] = change
        end
        for c, column in ipairs(CLASS_COLUMNS) do
            local change = by_name[column[2]]
            has_any = has_any or change ~= nil
            row[c + 1] = change and (change.change and signed(change.change)
                or change.was == nil and "now " .. shown(change.is) or "was " .. shown(change.was)) or "."
        end
        rows[#rows + 1] = has_any and row or nil
    end
    if #rows > 0 then
        context:out(context:table(columns, rows), "\n")
    end
end

local function out_text(context, result, before, after, parsed)
    if before.server ~= after.server then
        context:say(("these are two servers: %s and %s"):format(before.server or "-", after.server or "-"))
    end
    out_list(context, "SETTING", result.settings, false)
    local general = {}
    for _, change in ipairs(result.general) do
        general[#general + 1] = (parsed.all or FIRST[change.name]) and change or nil
    end
    out_list(context, "SERVER", general, true)
    out_classes(context, result.classes)
    for _, class in ipairs(parsed.all and result.classes or {}) do
        out_list(context, "CLASS " .. class.id, class.changes, true)
    end
    context:out(("within %s: %s, %s of the server and %s changed%s\n"):format(units.age(result.interval_s),
        units.plural(#result.settings, "setting"), units.plural(#result.general, "statistic"),
        units.plural(#result.classes, "class", "classes"), result.reset
        and "; the counters were reset, or the server restarted" or ""))
end

function M.run(context, parsed)
    local before = load_last(context, parsed.old)
    local after = parsed.new and load_last(context, parsed.new) or must(context:look())
    if after.time_s < before.time_s then
        return nil, ("%s is later than the other: give the earlier one first"):format(parsed.old), "usage"
    end
    local result = require("slate.facts.difference").between(before, after)
    if context.json then
        local array = require("slate.base.json").array
        for _, name in ipairs({ "settings", "general", "classes" }) do
            array(result[name])
        end
        result.server, result.time_s = after.server, after.time_s
        context:out_json("slate/diff/1", result)
    else
        out_text(context, result, before, after, parsed)
    end
    return 0
end

return M
