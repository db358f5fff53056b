-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl sizes: the sizes of the items, over the boundaries of the classes.
local chunks = require "slate.facts.chunks"
local gather = require "slate.base.gather"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local BAR_COLUMNS <const> = 30

function M.declare(command)
    command:option("--from", "Where the sizes come from: sizehist (slated), sizes (memcached with -o track_sizes) or "
        .. "metadump (a bounded dump of keys). Default: sizehist, else sizes")
        :choices(require("slate.facts.sizehist").SOURCES):argname("SOURCE")
    command:flag("--buckets", "Show every size, not only the classes.")
end

-- Prints the rows of a table: label, items, share and a bar, the longest for the largest share.
local function out_bars(context, columns, rows, items)
    local widest = 0
    for _, row in ipairs(rows) do
        widest = math.max(widest, row.items / items)
    end
    for _, row in ipairs(rows) do
        local share = row.items / items
        row[#row + 1] = units.count(row.items)
        row[#row + 1] = units.percent(share, 1)
        row[#row + 1] = ("#"):rep(math.ceil(share / widest * BAR_COLUMNS))
    end
    context:out_table(columns .. "|ITEMS|SHARE|<", rows)
end

-- The rows of classes by their ids, in the order of their sizes.
local function rows_of(classes)
    local rows, at, lower = {}, {}, 0
    for _, class in ipairs(classes) do
        at[class.id] = { class.id, ("%.0f to %.0f"):format(lower + 1, class.chunk_bytes), items = 0 }
        rows[#rows + 1] = at[class.id]
        lower = class.chunk_bytes
    end
    return rows, at
end

local function with_items(rows)
    return gather.values(rows, function(row) return row.items > 0 and row or nil end)
end

-- By the server's own counts: a step of the histogram may reach into the next class. nil if the server does not report
-- them. The first piece of an item in a chain counts in its class.
local function counted(classes, now)
    local rows, at = rows_of(classes)
    local sum = 0
    for _, class in ipairs(now.classes) do
        local row = at[class.id]
        if not (class.number and (row or class.number == 0)) then
            return nil
        elseif row then
            row.items, sum = class.number, sum + class.number
        end
    end
    return with_items(rows), sum
end

-- By the histogram, where all sizes are exact.
local function by_sizes(classes, sizes, has_chains)
    local rows, at = rows_of(classes)
    local chained = { "-", has_chains and "larger: chains" or "class not known", items = 0 }
    for _, size in ipairs(sizes) do
        local row = size.class and at[size.class] or chained
        row.items = row.items + size.items
    end
    rows[#rows + 1] = chained
    return with_items(rows)
end

local function out_text(context, histogram, classes, every_size, has_chains, now)
    if histogram.items == 0 then
        context:out("no item was seen\n")
        return
    end
    local why = histogram.why
    if every_size then
        local rows = gather.values(histogram.sizes, function(size)
            return { size.bytes, size.class or "-", items = size.items }
        end)
        out_bars(context, "TO BYTES|CLASS", rows, histogram.items)
    else
        local rows, items
        if not histogram.exact then
            rows, items = counted(classes, now)
        end
        why = rows and "every item; the classes by their own counts" or why
        out_bars(context, "CLASS|BYTES",
            rows or by_sizes(classes, histogram.sizes, has_chains), math.max(1, items or histogram.items))
    end
    context:out(("%s, %s with their headers; from %s: %s\n"):format(units.plural(histogram.items, "item"),
        units.bytes_in_words(histogram.item_bytes or histogram.bytes), histogram.source, why))
end

function M.run(context, parsed)
    local client = must(context:open())
    local now = must(context:snapshot(client))
    local has_classes, message, code = require("slate.facts.store").needs_slab(context.who, "classes by size")
    if not has_classes and parsed["from"] ~= "metadump" then
        return nil, message .. "; to sample its keys give --from metadump", code
    end
    local classes, known_by = {}, "all"
    if has_classes then
        classes, known_by = must(chunks.classes(client, now))
    end
    local histogram = must(require("slate.facts.sizehist").read(client, parsed["from"], now))
    client:close()
    for _, size in ipairs(histogram.sizes) do
        local class = chunks.class_of(classes, size.bytes)
        size.class, size.chunk_bytes = class and class.id, class and class.chunk_bytes
    end
    local doubt = chunks.doubt(known_by)
    if doubt then
        context:print_note(doubt)
    end
    return context:answer("slate/sizes/1", { server = now.server, time_s = now.time_s, source = histogram.source,
        why = histogram.why, items = histogram.items, sizes = require("slate.base.json").array(histogram.sizes),
    }, function()
        out_text(context, histogram, classes, parsed.buckets or not has_classes,
            known_by ~= "listed" and chunks.has_chains(now), now)
    end)
end

return M
