-- SPDX-License-Identifier: BSD-3-Clause
--- What a doctor looks at in memcached's storage on flash (extstore): whether it reads back what was written, keeps up,
--- and frees its pages by compaction rather than by eviction. Pure. See slate.judge.doctor for what a check is given.
local storage = require "slate.facts.storage"
local units = require "slate.base.units"

-- From where on a figure is worth a word.
local WAIT_MOST_S <const> = 0.1 -- that reads wait for the flash, by Little's law: how many wait / how many a second
local HOLES_MOST_RATIO <const> = 0.25 -- of the pages in use
local MAX_FRAG_MOST <const> = 0.95 -- fuller pages cost more writes than they free
local FILLS_FROM_RATIO <const> = 0.5 -- of the pages are in use, from where on holes are worth a word

-- The checks by their names (slate.judge.doctor has their order).
local CHECKS <const> = {}

local function seen_of(about)
    return storage.of(about.now, about.rates)
end

local function positive(value)
    return value and value > 0
end

--- Reads that fail are lost to clients whatever the rest is like.
function CHECKS.storage_reads(about, add)
    local seen = seen_of(about) or {}
    if positive(seen.bad_crc_per_s) then
        add("critical", ("%s values a second come back from flash with a wrong checksum: each is a miss"):format(
            units.rate(seen.bad_crc_per_s)), "do not trust the disk or its file: look at the system's log",
            "extstore.failed")
    end
    if positive(seen.get_oom_per_s) then
        add("warning", ("%s gets a second find no memory to read a value from flash into"):format(
            units.rate(seen.get_oom_per_s)), "keep more memory free: slatectl set slab_automove_freeratio, or a larger "
            .. "-m", "extstore.failed")
    end
    if positive(seen.lost_objects_per_s) then
        add("warning", ("compaction loses %s objects a second, which it cannot write again"):format(
            units.rate(seen.lost_objects_per_s)), "start it with more -o ext_threads, or write less to flash: "
            .. "a larger ext_item_size or ext_item_age", "extstore.compaction")
    end
end

-- How long a read waits at one moment; nil when none does. Reads that wait while none is answered wait without end.
local function wait_s(now, reads_per_s)
    local waiting = now.general.extstore_io_queue
    return positive(waiting) and reads_per_s and waiting / reads_per_s or nil
end

-- One queue that is long is chance; it must be so at both ends of the interval.
function CHECKS.storage_queue(about, add)
    local seen = seen_of(about)
    if not (seen and about.before) then
        return
    end
    local now_s = wait_s(about.now, seen.read_objects_per_s)
    local before_s = wait_s(about.before, seen.read_objects_per_s)
    local least_s = now_s and before_s and math.min(now_s, before_s)
    if least_s and least_s >= WAIT_MOST_S then
        add("warning", ("%s reads wait for the flash, %s"):format(units.count(seen.io_queue),
            least_s < math.huge and ("each some %.1f s"):format(least_s) or "and none is answered"),
            "start it with more -o ext_threads, use a faster disk, or keep more in memory: a lower ext_recache_rate, "
            .. "a larger ext_item_size", "extstore.queue")
    end
end

-- Are pages as sparse as those that compaction looks for, in the mean? Then it has work, and is behind when none is
-- free.
local function is_behind(about, seen)
    return (seen.fragmented_ratio or 0) >= 1 - (about.settings.ext_max_frag or 1)
end

-- What would let compaction free pages before eviction has to.
local function against_evicted_pages(about, seen)
    local settings, holes = about.settings, seen.fragmented_ratio or 0
    if is_behind(about, seen) and settings.ext_compact_under then
        return ("compaction is behind: let it begin earlier, slatectl set ext_compact_under %.0f (now %.0f)"):format(
            math.max(2 * settings.ext_compact_under, 2), settings.ext_compact_under)
    elseif settings.ext_drop_unread == false then
        return "drop unread items in place of whole pages: slatectl set ext_drop_unread yes; or a larger ext_path"
    elseif holes > 0 and settings.ext_max_frag and settings.ext_max_frag < MAX_FRAG_MOST then
        return ("let compaction take fuller pages, slatectl set ext_max_frag %.2f (now %.2f); or a larger ext_path")
            :format(MAX_FRAG_MOST, settings.ext_max_frag)
    end
    return "start it with a larger ext_path, or write less to flash: a larger ext_item_size"
end

-- A flash that is full evicts, as memory does; only where compaction could have freed pages is that a fault.
function CHECKS.storage_pages(about, add)
    local seen = seen_of(about)
    if not seen then
        return
    end
    local severity = is_behind(about, seen) and "warning" or "note"
    if positive(seen.evicted_pages_per_s) then
        add(severity, ("storage on flash is full: it evicts %s objects a second, whole pages at a time"):format(
            units.rate(seen.evicted_objects_per_s)), against_evicted_pages(about, seen), "extstore.evicted")
    elseif seen.pages_free == 0 and positive(seen.pages_used) then
        add(severity, ("no page of the storage on flash is free: the next one evicts some %s objects"):format(
            units.count((seen.objects or 0) / seen.pages_used)), against_evicted_pages(about, seen), "extstore.pages")
    end
end

function CHECKS.storage_unread(about, add)
    local seen = seen_of(about)
    if seen and positive(seen.skipped_objects_per_s) then
        add("note", ("compaction drops %s objects a second that were not read lately"):format(
            units.rate(seen.skipped_objects_per_s)), "ext_drop_unread asks for this; when hits fall, give ext_path "
            .. "more room, or slatectl set ext_drop_unread no", "extstore.compaction")
    end
end

function CHECKS.storage_holes(about, add)
    local seen = seen_of(about)
    if seen and (seen.fragmented_ratio or 0) >= HOLES_MOST_RATIO and seen.pages
        and seen.pages_used >= FILLS_FROM_RATIO * seen.pages then
        local under = about.settings.ext_compact_under
        local waits = under and seen.pages_free >= under
        add("note", ("%s of the storage on flash in use is holes: %s of deleted and replaced values"):format(
            units.percent(seen.fragmented_ratio), units.bytes(seen.fragmented_bytes)), waits
            and ("compaction begins below %s, and %.0f are free: slatectl set ext_compact_under %.0f begins now")
                :format(units.plural(under, "free page"), seen.pages_free, seen.pages_free + 1)
            or "compaction is under way; if holes still grow, start the server with more -o ext_threads",
            "extstore.fragmented")
    end
end

-- Evicting from memory while flash has room: what is evicted is too small to be written, or writing does not keep up.
function CHECKS.storage_idle(about, add)
    local seen = seen_of(about)
    if not seen or not positive(about.per_s.evictions) or not positive(seen.pages_free) then
        return
    end
    local least, small, large = about.settings.ext_item_size, 0, 0
    for _, class in ipairs(about.now.classes) do
        local evicted = ((about.rates.classes or {})[class.id] or {}).evicted or 0
        if least and class.chunk_size and class.chunk_size < least then
            small = small + evicted
        else
            large = large + evicted
        end
    end
    local is_small = small > large
    add("note", ("the server evicts %s items a second from memory while %s of flash are free"):format(
        units.rate(about.per_s.evictions), units.plural(seen.pages_free, "page")), is_small
        and ("most are smaller than ext_item_size (%.0f): write smaller ones, or give memory more room"):format(least)
        or "writing does not keep up: keep more memory free, slatectl set slab_automove_freeratio; or start it with "
            .. "more -o ext_threads", "extstore.written")
end

return CHECKS
