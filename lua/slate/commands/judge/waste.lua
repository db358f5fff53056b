-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl waste: memory that holds no item, by class and by cause.
local must = require("slate.base.failure").must
local order = require "slate.base.order"
local units = require "slate.base.units"

local in_words <const> = units.bytes_in_words
local M = {}

local COLUMNS <const> = "CLASS|CHUNK|PAGES|ITEMS|SLACK|TAILS|FREE|WASTE"

function M.declare(command)
    command:option("--top", "Only the N classes that waste most bytes."):argname("N"):convert(units.whole(1))
end

local function share(part, whole)
    return part and whole and whole > 0 and (" (%s)"):format(units.percent(part / whole, 1)) or ""
end

local function out_text(context, rows, total, count, unreported)
    local cells = {}
    for i, row in ipairs(rows) do
        cells[i] = { row.id, units.chunk(row.chunk_bytes), row.pages, in_words(row.requested_bytes),
            in_words(row.slack_bytes), in_words(row.tail_bytes), in_words(row.free_bytes),
            units.percent(row.waste_ratio, 1) }
    end
    context:out(context:table(COLUMNS, cells), ("%d of %s, the most wasteful first\n\n"):format(#rows,
        units.plural(count, "class", "classes")))
    local held = total.page_bytes and total.page_bytes - total.free_bytes
    local lines = {
        { "items", in_words(total.requested_bytes) .. share(total.requested_bytes, held) .. (total.header_bytes
            and (", of that about %s headers"):format(in_words(total.header_bytes)) or "") },
        { "chunk slack", in_words(total.slack_bytes) .. share(total.slack_bytes, held)
            .. ": the ends of chunks that hold an item" },
        { "page tails", in_words(total.tail_bytes) .. share(total.tail_bytes, held)
            .. ": the ends of pages, too short for a chunk" },
        { "free chunks", in_words(total.free_bytes) .. ": only their class can use them, until the page moves" },
        { "free pages", in_words(total.pool_bytes) .. ": any class may take them" },
        { "besides", ("%s index, %s buffers of connections: outside the limit of %s"):format(
            in_words(total.index_bytes), in_words(total.buffer_bytes), in_words(total.limit_bytes)) },
    }
    context:out(context:pairs(lines))
    if unreported > 0 then
        context:out(("\nthe sums are not known: of %s this server does not report pages and chunks\n"):format(
            units.plural(unreported, "class", "classes")))
    end
    if total.waste_ratio then
        context:out(("\nwasted: %s of the memory in use\n"):format(units.percent(total.waste_ratio, 1)))
    end
end

function M.run(context, parsed)
    local now = must(context:observe())
    must(require("slate.facts.snapshot").reports_classes(now))
    local waste = require "slate.facts.waste"
    local rows = waste.classes(now)
    local total, unreported = waste.total(now, rows), waste.unreported(now, rows)
    if #rows == 0 and unreported > 0 then
        return nil, "this server does not report the pages and chunks of its classes", "unsupported"
    end
    order.largest_first(rows, function(row) return (row.slack_bytes or 0) + row.tail_bytes end, "id")
    local shown = order.first(rows, parsed.top)
    if context.json then
        context:out_json("slate/waste/1", { server = now.server, time_s = now.time_s, total = total,
            classes = require("slate.base.json").array(shown), truncated = #rows - #shown })
    elseif #rows == 0 then
        context:out("no class has a page\n")
    else
        out_text(context, shown, total, #rows, unreported)
    end
    return 0
end

return M
