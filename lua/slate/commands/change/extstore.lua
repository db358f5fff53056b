-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl extstore [NAME VALUE]: memcached's storage on flash, and its settings by memcached's own names.
local find = require "slate.base.find"
local must = require("slate.base.failure").must
local storage = require "slate.facts.storage"
local units = require "slate.base.units"

local M = {}

function M.declare(command)
    command:argument("setting", "A setting and its new value: item_size, item_age, low_ttl, recache_rate, max_frag, "
        .. "drop_unread, compact_under, drop_under or max_sleep. Without them the storage is shown."):args("*")
        :argname("NAME VALUE")
    command:option("--interval", "Time between the two samples that give the rates; 0 takes one sample. Default: 1s")
        :argname("TIME"):convert(units.parse_duration)
    command:flag("--dry-run", "Check and show what would be sent; send nothing.")
end

local function set(context, parsed)
    local name, value = "ext_" .. parsed.setting[1]:gsub("^ext_", ""), parsed.setting[2]
    if name == "ext_free_memchunks" then
        return nil, "no memcached shows free_memchunks: a change of it could be neither verified nor taken back, and "
            .. "1.6.45 ignores it", "unsupported"
    elseif not find.place(storage.SETTINGS, name) then
        return nil, ("extstore has no setting '%s': it has %s"):format(parsed.setting[1],
            (table.concat(storage.SETTINGS, ", "):gsub("ext_", ""))), "usage"
    elseif #parsed.setting ~= 2 then
        return nil, "extstore wants a setting and its value, or neither", "usage"
    end
    local client = must(context:open())
    return require("slate.commands.change.set").apply(context, client, { { name = name, value = value } },
        parsed.dry_run)
end

local function rows_of(seen)
    local bytes, rate, percent = units.bytes_in_words, units.rate, units.percent
    local pages = seen.pages and units.plural(seen.pages, "page") or "-"
    return {
        { "size", ("%s: %s of %s, %s free"):format(bytes(seen.limit_bytes), pages, bytes(seen.page_bytes),
            units.count(seen.pages_free)) },
        { "objects", ("%s, %s of all items"):format(units.count(seen.objects), percent(seen.objects_ratio, 1)) },
        { "bytes", ("%s; holes between them %s, %s of the pages in use"):format(bytes(seen.used_bytes),
            bytes(seen.fragmented_bytes), percent(seen.fragmented_ratio, 1)) },
        { "written/s", ("%s objects, %s"):format(rate(seen.written_objects_per_s), bytes(seen.written_bytes_per_s)) },
        { "read/s", ("%s objects, %s; reads that wait %s"):format(rate(seen.read_objects_per_s),
            bytes(seen.read_bytes_per_s), units.count(seen.io_queue)) },
        { "evicted/s", ("%s objects with %s pages"):format(rate(seen.evicted_objects_per_s),
            rate(seen.evicted_pages_per_s)) },
        { "gets/s", ("%s from flash, %s missed there, %s put back into memory"):format(rate(seen.get_per_s),
            rate(seen.missed_per_s), rate(seen.recached_per_s)) },
        { "failed/s", ("%s aborted, %s without memory, %s with a wrong checksum"):format(rate(seen.get_aborted_per_s),
            rate(seen.get_oom_per_s), rate(seen.bad_crc_per_s)) },
        { "compaction/s", ("%s objects kept, %s lost, %s dropped unread; %s pages freed"):format(
            rate(seen.rescued_objects_per_s), rate(seen.lost_objects_per_s), rate(seen.skipped_objects_per_s),
            rate(seen.reclaimed_pages_per_s)) },
        { "memory", ("%s of the pages in memory lack free chunks"):format(percent(seen.memory_pressure_ratio, 1)) },
    }
end

local BUCKET_COLUMNS <const> = "WRITTEN AS<|PAGES|FREE|BYTES|FULL|SPARSE"
local CLASS_COLUMNS <const> = "CLASS|CHUNK|ITEMS|BYTES|AGE|TO FLASH<"

local function out_text(context, document)
    context:out(context:pairs(rows_of(document.storage)), "\n")
    local rows = {}
    for i, bucket in ipairs(document.buckets) do
        rows[i] = { bucket.name, bucket.pages, bucket.pages_free, units.bytes_in_words(bucket.used_bytes),
            units.percent(bucket.fill_ratio, 1), bucket.sparse_pages }
    end
    context:out(context:table(BUCKET_COLUMNS, rows), "SPARSE: less full than ext_max_frag\n\n")
    rows = {}
    for i, class in ipairs(document.classes) do
        rows[i] = { class.id, class.chunk_bytes, units.count(class.items), units.bytes_in_words(class.requested_bytes),
            units.age(class.age_s), class.is_written == nil and "-" or class.is_written and "yes" or "no" }
    end
    context:out("items in memory, with the headers of those on flash:\n", context:table(CLASS_COLUMNS, rows), "\n")
    rows = {}
    for i, setting in ipairs(document.settings) do
        local value = setting.value
        rows[i] = { setting.name, type(value) == "boolean" and (value and "yes" or "no") or value }
    end
    context:out(context:pairs(rows), "change one: slatectl set NAME=VALUE; for a while: slatectl trial NAME=VALUE\n")
end

local function show(context, parsed)
    local client = must(context:open())
    local now, _, rates = must(context:pair(client, parsed.interval or 1))
    local seen = storage.of(now, rates)
    if not seen then
        return nil, storage.absent(now), "unsupported"
    end
    local lines = must(client:stats("extstore"))
    client:close()
    local json = require "slate.base.json"
    local document = { server = now.server, time_s = now.time_s, interval_s = rates and rates.interval_s,
        storage = seen, settings = json.array(storage.settings(now)), classes = json.array(storage.classes(now)),
        buckets = json.array(storage.buckets(lines, seen.page_bytes, (now.settings or {}).ext_max_frag)) }
    return context:answer("slate/extstore/1", document, function() out_text(context, document) end)
end

--- Shows the storage, or changes one of its settings.
function M.run(context, parsed)
    if #parsed.setting == 0 then
        return show(context, parsed)
    end
    return set(context, parsed)
end

return M
