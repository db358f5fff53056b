-- SPDX-License-Identifier: BSD-3-Clause
--- Checks of a server's memory (classes, pages, chunk sizes, the gain of more memory or of another policy) and of
-- memcached's storage on flash. Pure. slate.judge.doctor describes the arguments of a check.
local automove = require "slate.facts.automove"
local gather = require "slate.base.gather"
local limits = require "slate.judge.thresholds"
local relief = require "slate.judge.relief"
local starving = require "slate.judge.starving"
local storage = require "slate.facts.storage"
local units = require "slate.base.units"
local view = require "slate.judge.view"

-- The checks by their names (slate.judge.doctor has their order).
local CHECKS <const> = {}

-- The hits a second that refused stores would have brought, as many each as the server's stores bring; nil if unknown.
local function lost_by_refusals(about, row)
    local hits_per_s, sets_per_s = about.general_rates.get_hits_per_s, about.general_rates.cmd_set_per_s
    return hits_per_s and (sets_per_s or 0) > 0 and row.out_of_memory_per_s * hits_per_s / sets_per_s or nil
end

--- First the classes that refuse stores, then option -M, with which a full server refuses them.
function CHECKS.out_of_memory(about, add)
    local function report(row, move)
        add("critical", relief.refusal(row), relief.remedy(move, about.plan), "out_of_memory", row.id,
            lost_by_refusals(about, row))
    end
    for _, row in ipairs(about.plan.stuck) do
        report(row)
    end
    for _, move in ipairs(about.plan) do
        if move.refuses then
            report(move.row, move)
        end
    end
    if about.settings.evictions == "off" then
        add("warning", "the server was started with -M: when it is full, it refuses stores instead of evicting",
            "start it without -M, unless a refused store is what you want", nil, nil, nil, "refuses when full")
    end
end

-- What to do if a change of the chunk sizes is under way already; nil if none is.
local function change_under_way(about)
    local state = about.geometry and about.geometry.state
    if state == "paused" then
        return "a change of the chunk sizes is paused: slatectl geometry resume"
    end
    return state == "draining" and "a change of the chunk sizes is under way: slatectl geometry shows its progress"
        or nil
end

-- True if the server fits its chunk sizes to the items by itself: then no other sizes need to be requested.
local function fits_sizes(about)
    return about.geometry and about.geometry.auto == "yes"
end

-- The remedy for memory held beyond the limit.
local function against_held(about, over)
    if over.is_by_classes then
        return change_under_way(about) or relief.against_classes(about.now)
    elseif automove.is_ruled_out(about.now) then
        return "the server was started without slab_reassign, so no page is given back: restart it"
    elseif about.now.slated then
        return "slated gives pages back by itself: slatectl moves shows its progress"
    end
    local donor
    for _, row in ipairs(about.rows) do
        donor = starving.may_give(row) and (not donor or starving.is_richer(row, donor)) and row or donor
    end
    return "memcached gives back only what is moved to the pool: " .. (donor and ("slatectl move %d 0"):format(donor.id)
        or "no class has a page to spare now; slatectl pages shows them")
end

function CHECKS.held(about, add)
    local over = starving.held_over(about.now, about.before)
    if not (over and over.is_much) then
        return
    end
    local severity = over.is_falling and "note" or over.over_ratio >= limits.held_critical_ratio and "critical"
        or "warning"
    add(severity, ("the server holds %s of memory, %s more than its limit of %s%s"):format(
        units.bytes_in_words(over.held_bytes), units.percent(over.over_ratio), units.bytes_in_words(over.limit_bytes),
        over.is_by_classes and (": each of %d classes keeps a page"):format(over.classes)
            or over.is_falling and ", and gives it back" or ""), against_held(about, over), "memory.held")
end

-- A limit of the process that leaves items less memory than requested, and a control group that waits for memory.
function CHECKS.process(about, add)
    local process = about.process
    if not process then
        return
    end
    local limit, wanted = process.items_limit or 0, process.items_requested or 0
    local is_less = (process.process_limit or 0) > 0 and limit < wanted * (1 - limits.process_share_ratio)
    if is_less and process.items >= limit then
        add("note", ("items may take %s of the %s given to them: the process is limited to %s, and its other parts "
            .. "take the remainder"):format(units.bytes_in_words(limit), units.bytes_in_words(wanted),
            units.bytes_in_words(process.process_limit)),
            "raise process_memory, or lower what connections may take (-c, read_buf_mem_limit): "
            .. "slatectl stats memory")
    end
    if (process.group_pressure or 0) >= limits.pressure_least_pct then
        add("warning", ("the server's control group waits for memory %.0f%% of the time"):format(
            process.group_pressure),
            "give the group more memory, or slated less: slatectl set process_memory=SIZE")
    end
end

-- The gain of more memory and of another policy, by slate.judge.relief, as in advise and slatetop.
local function memory_of(about)
    return about.curve and relief.memory(about.curve, relief.about(about.one, about.curves))
end

local function policy_of(about)
    return about.whatif and relief.policy(about.whatif, relief.about(about.one, about.curves), about.curve)
end

--- Classes that starve for want of pages: a fault if the moves to them bring hits that count.
function CHECKS.starving(about, add)
    for _, move in ipairs(about.plan) do
        if move.is_advised and not move.refuses then
            add(about.plan.is_large and "warning" or "note", relief.need_words(move.row, move),
                relief.remedy(move, about.plan), "starving", move.to,
                move.made and math.max(0, move.made.hits_per_s))
        end
    end
end

--- Classes that evict and are not judged yet: until then nothing is said of them, and no memory is advised.
function CHECKS.measuring(about, add)
    local measuring = relief.measuring(about.rows)
    if measuring then
        add("note", measuring, starving.untried(about.rows) and "look again then"
            or starving.waiting(about.rows) and "look again when these are full"
            or "look again when three samples are known without page moves", "state.measuring")
    end
end

--- Classes whose items live short lives, but to which no move is advised.
function CHECKS.no_relief(about, add)
    for _, move in ipairs(about.plan) do
        if not move.is_advised then
            local what, todo = relief.instead(about.one, move, memory_of(about), policy_of(about))
            add("note", ("%s; %s"):format(relief.no_use(move), what), todo, "starving", move.to)
        end
    end
end

function CHECKS.idle_pages(about, add)
    local pages, ids = view.idle_pages(about.rows)
    local evicting = gather.any(about.rows, function(row) return (starving.demand_per_s(row) or 0) > 0 end)
    if pages > 0 and evicting then -- a fault only where their move is advised
        local helps = about.plan.advised[1] ~= nil
        add(helps and "warning" or "note", ("%s lie idle in %s while others evict"):format(
            units.plural(pages, "page"), units.classes(ids)),
            automove.is_ruled_out(about.now) and relief.RULED_OUT or helps and "slatectl advise pages"
                or "slatectl advise automove", "class.free")
    end
end

-- Against pages that went to and fro, moved by a mode of automove or an operator. Only the mode ratio has a window.
local function against_ping_pong(about, by)
    local why = "slatectl moves has the reason of each"
    local mode, window_s = view.automove_mode(about.now), about.settings.slab_automove_window
    if by == "operator" then
        return "a person or a program moved them, not automove: slatectl audit shows which; " .. why
    elseif mode == "off" then
        return ("nothing: automove %s moved them, and automove is off now; %s"):format(by or "-", why)
    elseif mode == "ratio" and math.type(window_s) and window_s < limits.window_most_s then
        return ("a longer window: slatectl set slab_automove_window %.0f; %s"):format(
            math.min(limits.window_most_s, math.max(limits.window_long_s, 2 * window_s // 1)), why)
    elseif mode ~= "utility" and about.now.slated then
        return "a mode that weighs what a move costs: slatectl automove utility; " .. why
    end
    return why
end

-- The recent moves that took pages back, one for each pair of classes. An operator may choose to move pages, undo that
-- and repeat the move: the first ping_pong_by_hand moves back of an operator do not count.
local function moves_to_and_fro(about)
    local last, by_hand, is_noted, found = {}, {}, {}, {}
    local now_s = about.general.time -- the times of moves are of the server's clock, too
    for i = math.max(1, #about.moves - limits.ping_pong_moves + 1), #about.moves do
        local move = about.moves[i]
        local pair = ("%s %s"):format(math.min(move.from, move.to), math.max(move.from, move.to))
        local there = last[pair]
        local is_back = there and there.from == move.to and move.time_s - there.time_s <= limits.ping_pong_s
        if is_back and move.mode == "operator" then
            by_hand[pair] = (by_hand[pair] or 0) + 1
            is_back = by_hand[pair] > limits.ping_pong_by_hand
        end
        local is_recent = not now_s or now_s - move.time_s <= limits.incident_shown_s
        if is_back and is_recent and move.from ~= 0 and move.to ~= 0 and not is_noted[pair] then
            found[#found + 1], is_noted[pair] = move, true
        end
        last[pair] = move
    end
    return found
end

function CHECKS.moves(about, add)
    local lost_per_s = (about.general_rates.slab_reassign_evictions_nomem_per_s or 0)
        + (about.general_rates.slab_reassign_busy_deletes_per_s or 0)
    if lost_per_s > 0 then
        add("note", ("page moves lose %s items a second besides those that they evict"):format(units.rate(lost_per_s)),
            "slatectl automove shows the mode that moves them, slatectl advise automove whether another is better",
            "lost_by_moves")
    end
    for _, move in ipairs(moves_to_and_fro(about)) do
        if not (move.mode == "utility" and view.automove_mode(about.now) == "utility") then -- it pauses such classes
            local is_over = move.mode ~= "operator" and view.automove_mode(about.now) == "off"
            add(is_over and "note" or "warning", ("pages moved back and forth between class %s and class %s"):format(
                move.from, move.to), against_ping_pong(about, move.mode), "page_moves")
        end
    end
    if about.settings.slab_automove == 2 and not about.now.slated then
        add("warning", "automove eviction moves a page at every eviction: it is meant for short whiles only",
            "slatectl automove ratio")
    end
end

function CHECKS.waste(about, add)
    local waste = require "slate.facts.waste"
    local total = about.one.waste or waste.total(about.now, waste.classes(about.now))
    local fills = (about.general.evictions or 0) > 0
        or total.limit_bytes and (total.page_bytes or 0) > limits.waste_fills_from_ratio * total.limit_bytes
    if total.waste_ratio and total.waste_ratio > limits.waste_most_ratio and fills then
        add("note", ("%s of the memory in use is wasted: the ends of chunks and pages"):format(
            units.percent(total.waste_ratio)), change_under_way(about)
            or fits_sizes(about) and "it fits its chunk sizes by itself (slab_geometry_auto) where that holds 2 % more "
                .. "items: slatectl geometry shows its progress"
            or "slatectl advise sizes", "class.waste")
    end
end

function CHECKS.geometry(about, add)
    local change = about.geometry
    local advice = change and not fits_sizes(about) and require("slate.facts.geometry").advice(change)
    if advice then
        add("note", advice, "slatectl geometry auto, or for good: slatectl set slab_geometry_auto yes",
            "geometry.auto_gain")
    end
end

function CHECKS.memory(about, add)
    local answer = memory_of(about)
    if answer and answer.is_short then
        add("note", answer.text, "slatectl advise memory", "curve.hit_ratio_x1")
    end
end

function CHECKS.policy(about, add)
    local answer = policy_of(about)
    if answer and answer.is_better then
        add("note", answer.text, "slatectl advise policy", "whatif.difference")
    end
end

local CRAWLER_ON <const> = "let the crawler look for them: slatectl set lru_crawler yes"

-- Expired items, if slate.facts.expired counted any: no count is possible while the crawler is off.
function CHECKS.expired(about, add)
    local expired, items = about.expired_items or 0, about.general.curr_items or 0
    if not about.expired_items and about.settings.lru_crawler == false and items >= limits.expired_least_items then
        add("note", "the crawler is off: expired items keep their memory until they are read or evicted",
            CRAWLER_ON, "expired_unread")
    end
    if expired < limits.expired_least_items or expired < limits.expired_least_ratio * items then
        return
    end
    local evicts = (about.general_rates.evictions_per_s or 0) > 0
    add(evicts and "warning" or "note", ("%s of %s have expired and still take memory%s"):format(
        units.count(expired), units.plural(items, "item"), evicts and " while others are evicted" or ""),
        about.settings.lru_crawler == false and CRAWLER_ON
            or "the server frees them when its crawler comes by or when their chunks are needed", "expired_unread")
end

-- Storage on flash: whether it reads back the values written, whether it keeps up, and whether its pages are freed by
-- compaction rather than by eviction.

local function seen_of(about)
    return storage.of(about.now, about.rates)
end

local function positive(value)
    return value and value > 0
end

--- Failed reads: clients lose these values, whatever the other figures are.
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

-- The seconds that a read waits at one moment; nil if none waits. If no read is answered, the wait is infinite.
local function wait_s(now, reads_per_s)
    local waiting = now.general.extstore_io_queue
    return positive(waiting) and reads_per_s and waiting / reads_per_s or nil
end

-- One long queue may be chance: the wait must be long at both ends of the interval.
function CHECKS.storage_queue(about, add)
    local seen = seen_of(about)
    if not (seen and about.before) then
        return
    end
    local now_s = wait_s(about.now, seen.read_objects_per_s)
    local before_s = wait_s(about.before, seen.read_objects_per_s)
    local least_s = now_s and before_s and math.min(now_s, before_s)
    if least_s and least_s >= limits.storage_wait_most_s then
        add("warning", ("%s reads wait for the flash, %s"):format(units.count(seen.io_queue),
            least_s < math.huge and ("each some %.1f s"):format(least_s) or "and none is answered"),
            "start it with more -o ext_threads, use a faster disk, or keep more in memory: a lower ext_recache_rate, "
            .. "a larger ext_item_size", "extstore.queue")
    end
end

-- True if the mean page is as sparse as the pages that compaction takes. Then compaction has work, and is behind when
-- no page is free.
local function is_behind(about, seen)
    return (seen.fragmented_ratio or 0) >= 1 - (about.settings.ext_max_frag or 1)
end

-- The remedy that lets compaction free pages before eviction has to.
local function against_evicted_pages(about, seen)
    local settings, holes = about.settings, seen.fragmented_ratio or 0
    if is_behind(about, seen) and settings.ext_compact_under then
        return ("compaction is behind: let it begin earlier, slatectl set ext_compact_under %.0f (now %.0f)"):format(
            math.max(2 * settings.ext_compact_under, 2), settings.ext_compact_under)
    elseif settings.ext_drop_unread == false then
        return "drop unread items in place of whole pages: slatectl set ext_drop_unread yes; or a larger ext_path"
    elseif holes > 0 and settings.ext_max_frag and settings.ext_max_frag < limits.storage_max_frag_most_ratio then
        return ("let compaction take fuller pages, slatectl set ext_max_frag %.2f (now %.2f); or a larger ext_path")
            :format(limits.storage_max_frag_most_ratio, settings.ext_max_frag)
    end
    return "start it with a larger ext_path, or write less to flash: a larger ext_item_size"
end

-- A full flash evicts, as memory does. That is a fault only if compaction could have freed pages.
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
            units.rate(seen.skipped_objects_per_s)), "ext_drop_unread causes this; when hits fall, give ext_path "
            .. "more room, or slatectl set ext_drop_unread no", "extstore.compaction")
    end
end

function CHECKS.storage_holes(about, add)
    local seen = seen_of(about)
    if seen and (seen.fragmented_ratio or 0) >= limits.storage_holes_most_ratio and seen.pages
        and seen.pages_used >= limits.storage_fills_from_ratio * seen.pages then
        local under = about.settings.ext_compact_under
        local waits = under and seen.pages_free >= under
        add("note", ("%s of the storage on flash in use is holes: %s of deleted and replaced values"):format(
            units.percent(seen.fragmented_ratio), units.bytes_in_words(seen.fragmented_bytes)), waits
            and ("compaction begins below %s, and %.0f are free: slatectl set ext_compact_under %.0f begins now")
                :format(units.plural(under, "free page"), seen.pages_free, seen.pages_free + 1)
            or "compaction is under way; if holes still grow, start the server with more -o ext_threads",
            "extstore.fragmented")
    end
end

-- Evictions from memory while flash has room: the items are too small for flash, or writing does not keep up.
function CHECKS.storage_idle(about, add)
    local seen = seen_of(about)
    if not seen or not positive(about.general_rates.evictions_per_s) or not positive(seen.pages_free) then
        return
    end
    local least, small_per_s, large_per_s = about.settings.ext_item_size, 0, 0
    for _, row in ipairs(about.rows) do
        local is_small = least and row.chunk_bytes and row.chunk_bytes < least
        small_per_s = small_per_s + (is_small and row.evicted_per_s or 0)
        large_per_s = large_per_s + (not is_small and row.evicted_per_s or 0)
    end
    add("note", ("the server evicts %s items a second from memory while %s of flash are free"):format(
        units.rate(about.general_rates.evictions_per_s), units.plural(seen.pages_free, "page")),
        small_per_s > large_per_s
        and ("most are smaller than ext_item_size (%.0f): write smaller ones, or give memory more room"):format(least)
        or "writing does not keep up: keep more memory free, slatectl set slab_automove_freeratio; or start it with "
            .. "more -o ext_threads", "extstore.written")
end

return CHECKS
