-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl fit BYTES...: the class for values of these sizes, their waste there, and the state of the class.
local chunks = require "slate.facts.chunks"
local gather = require "slate.base.gather"
local must = require("slate.base.failure").must
local snapshot = require "slate.facts.snapshot"
local units = require "slate.base.units"
local view = require "slate.judge.view"

local M = {}

local DEFAULT_KEY_BYTES <const>, KEY_BYTES_MOST <const> = 20, 250

local COLUMNS <const> = "VALUE|ITEM|CLASS|CHUNK|WASTE|PAGES|AGE|NOTE<"

local SCALES <const> = { [""] = 1, k = 1 << 10, m = 1 << 20, g = 1 << 30 }

-- Reads "900", "900k" or "2m".
local function size_of(text)
    local amount, unit = text:lower():match("^(%d+)([kmg]?)$")
    local bytes = amount and tonumber(amount) * SCALES[unit]
    if not bytes then
        return nil, ("'%s' is not a size: write 900, 900k or 2m"):format(text)
    end
    return units.parse_whole(("%.0f"):format(bytes), 0, SCALES.g)
end

function M.declare(command)
    command:argument("values", "Values of so many bytes each, or with k, m or g; without key and header.")
        :args("+"):argname("BYTES")
        :convert(size_of)
    command:option("--key", ("The key has N bytes. Default: %d"):format(DEFAULT_KEY_BYTES)):argname("N")
        :convert(units.whole(1, KEY_BYTES_MOST))
    command:flag("--flags", "The client stores flags with the value, which take 4 bytes.")
    command:option("--interval", "Time between the two samples that give the rates; 0 takes one sample "
        .. "and shows no rates. Default: 1s, and 3s where anything is "
        .. "evicted"):argname("TIME"):convert(units.parse_duration)
end

-- The class and chunk of one value. rows: of slate.judge.view.classes, by id; has_chains: all chunk sizes are known,
-- and longer values are chained; is_reported: the server lists all classes with pages.
local function place(value_bytes, item_bytes, classes, rows, item_most, has_chains, is_reported)
    local one = { value_bytes = value_bytes, item_bytes = item_bytes, fits = "chunk", flags = {} }
    local class = chunks.class_of(classes, item_bytes)
    if item_most and item_bytes > item_most then
        one.fits = "refused"
    elseif not class then
        one.fits = has_chains and "chain" or "unknown"
    else
        local row = rows[class.id] or {}
        one.class, one.chunk_bytes, one.waste_bytes = class.id, class.chunk_bytes, class.chunk_bytes - item_bytes
        one.waste_ratio = one.waste_bytes / class.chunk_bytes
        one.pages, one.items, one.age_s = row.pages, row.items, row.age_s
        if not row.id and is_reported then -- servers do not list a class without pages
            one.pages, one.items = 0, 0
        end
        one.evicted_per_s, one.flags, one.note = row.evicted_per_s, row.flags or {}, row.flags and view.note(row)
    end
    return one
end

local function note_of(one, about)
    if one.fits == "refused" then
        return ("over item_size_max, %s"):format(units.bytes_in_words(about.item_most))
    elseif one.fits == "chain" then
        return "chained: over any chunk"
    elseif one.fits == "unknown" then
        return about.largest and ("class not known: over the largest chunk listed, %s"):format(
            units.bytes_in_words(about.largest)) or "class not known: no chunk size is listed"
    end
    return one.pages == 0 and "has no page yet" or one.note or ""
end

local function out_text(context, list, about)
    local cells = gather.values(list, function(one)
        return { one.value_bytes, one.item_bytes, one.class or "-", one.chunk_bytes or "-",
            units.percent(one.waste_ratio, 1), units.count(one.pages), units.age(one.age_s),
            note_of(one, about) }
    end)
    context:out_table(COLUMNS, cells, function(r)
        local flags = table.concat(list[r].flags, " ")
        return (flags:find("starving") or flags:find("out_of_memory")) and "bad" or nil
    end)
    context:out(("an item is the value, a key of %s and the header%s\n"):format(units.plural(about.key_bytes, "byte"),
        about.rates and (", rates over %.2f s"):format(about.rates.interval_s) or ""))
end

function M.run(context, parsed)
    local client = must(context:open())
    must(require("slate.facts.store").needs_slab(context.who, "classes by size"))
    local now, before, rates, judge = must(context:pair(client, parsed.interval))
    local classes, known_by = must(chunks.classes(client, now))
    client:close()
    local rows = gather.map(view.classes(now, before, rates, judge), "id")
    local item_most, key_bytes = (now.settings or {}).item_size_max, parsed.key or DEFAULT_KEY_BYTES
    item_most = math.type(item_most) and item_most > 0 and item_most or nil
    local list = gather.values(parsed.values, function(value_bytes)
        return place(value_bytes, chunks.item_bytes(now, value_bytes, key_bytes, parsed.flags), classes, rows,
            item_most, known_by ~= "listed" and chunks.has_chains(now), snapshot.reports_pages(now))
    end)
    local doubt = chunks.doubt(known_by)
    if doubt then
        context:print_note(doubt)
    end
    if context.json then
        for _, one in ipairs(list) do
            one.flags, one.note = require("slate.base.json").array(one.flags), nil
        end
        context:out_json("slate/fit/1", { server = now.server, time_s = now.time_s, key_bytes = key_bytes,
            known_by = known_by, interval_s = rates and rates.interval_s,
            values = require("slate.base.json").array(list) })
    else
        out_text(context, list, { key_bytes = key_bytes, rates = rates, item_most = item_most,
            largest = #classes > 0 and classes[#classes].chunk_bytes or nil })
    end
    return 0
end

return M
