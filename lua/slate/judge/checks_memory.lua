-- SPDX-License-Identifier: BSD-3-Clause
--- What a doctor looks at in a server's memory: classes, pages, chunk sizes, and what more memory or another policy
--- would bring. Pure. See slate.judge.doctor for what a check is given.
local held = require "slate.judge.held"
local outlook = require "slate.judge.outlook"
local relief = require "slate.judge.relief"
local starving = require "slate.judge.starving"
local units = require "slate.base.units"
local view = require "slate.judge.view"

-- From where on a figure is worth a word.
local FILLS_FROM_RATIO <const> = 0.5 -- of the limit, from where on waste is told before anything is evicted
local WASTE_MOST_RATIO <const> = 0.15
local PING_PONG_LAST <const>, PING_PONG_S <const> = 16, 300 -- a page that goes back later follows the traffic
local TURNS_BY_HAND <const> = 2 -- an undo, and the same move once more: further ones are a program's
local HELD_CRITICAL_RATIO <const> = 1 -- held beyond the limit: twice what was meant
local WINDOW_LONG_S <const>, WINDOW_MOST_S <const> = 60, 1800
local PROCESS_SHARE_RATIO <const> = 0.1 -- of what was asked for: a limit of the process always takes a little
local PRESSURE_LEAST_PERCENT <const> = 10
local EXPIRED_LEAST <const>, EXPIRED_LEAST_RATIO <const> = 1000, 0.25

-- The checks by their names (slate.judge.doctor has their order).
local CHECKS <const> = {}

-- What helps a class, where no class that was told before gets pages of the same giver.
local function remedy_of(about, move)
    return relief.remedy(move, relief.taken_before(about.takers, move))
end

--- Stores that were refused come first.
function CHECKS.out_of_memory(about, add)
    for _, row in ipairs(about.rows) do
        if view.refuses(row) then
            add("critical", relief.refusal(row), remedy_of(about, relief.of(about.one, row.id, about.curves)),
                "out_of_memory", row.id)
        end
    end
    if about.settings.evictions == "off" then
        add("warning", "the server was started with -M: when it is full, it refuses stores instead of evicting",
            "start it without -M, unless a refused store is what you want")
    end
end

-- What to do where a change of the chunk sizes is under way already; nil where none is.
local function change_under_way(about)
    local state = about.geometry and about.geometry.state
    if state == "paused" then
        return "a change of the chunk sizes is paused: slatectl geometry resume"
    end
    return state == "draining" and "a change of the chunk sizes is under way: slatectl geometry tells how it goes"
        or nil
end

-- Whether the server fits its chunk sizes to the items by itself: then nobody need ask for others.
local function fits_sizes(about)
    return about.geometry and about.geometry.auto == "yes"
end

-- What gives memory back that is held beyond the limit.
local function against_held(about, over)
    if over.is_by_classes then
        return change_under_way(about) or (fits_sizes(about)
            and "it makes fewer classes by itself (slab_geometry_auto) where that holds more items; or start it with "
                .. "-m %d or more"
            or about.now.slated and "have fewer classes: slatectl geometry auto; or start it with -m %d or more"
            or "start it with fewer classes (a larger -f), or with -m %d or more"):format(over.classes)
    elseif about.settings.slab_reassign == false then
        return "the server was started without slab_reassign, so no page is given back: restart it"
    elseif about.now.slated then
        return "slated gives pages back by itself: slatectl moves tells how far it is"
    end
    return "memcached gives back only what is moved to the pool: slatectl move SRC 0"
end

function CHECKS.held(about, add)
    local over = held.over(about.now, about.before)
    if not (over and over.is_much) then
        return
    end
    local severity = over.is_falling and "note" or over.over_ratio >= HELD_CRITICAL_RATIO and "critical" or "warning"
    add(severity, ("the server holds %s of memory, %s more than its limit of %s%s"):format(units.bytes(over.held_bytes),
        units.percent(over.over_ratio), units.bytes(over.limit_bytes),
        over.is_by_classes and (": each of %d classes keeps a page"):format(over.classes)
            or over.is_falling and ", and gives it back" or ""), against_held(about, over), "memory.held")
end

-- A limit of the process that leaves items less than was asked for, and a control group that waits for memory.
function CHECKS.process(about, add)
    local process = about.process
    if not process then
        return
    end
    local limit, asked = process.items_limit or 0, process.items_asked or 0
    local is_less = (process.process_limit or 0) > 0 and limit < asked * (1 - PROCESS_SHARE_RATIO)
    if is_less and process.items >= limit then
        add("note", ("items may take %s of the %s asked for: the process is limited to %s, and its other parts take "
            .. "the rest"):format(units.bytes(limit), units.bytes(asked),
            units.bytes(process.process_limit)),
            "raise process_memory, or lower what connections may take (-c, read_buf_mem_limit): "
            .. "slatectl stats memory")
    end
    if (process.group_pressure or 0) >= PRESSURE_LEAST_PERCENT then
        add("warning", ("the server's control group waits for memory %.0f%% of the time"):format(
            process.group_pressure),
            "give the group more memory, or slated less: slatectl set process_memory=SIZE")
    end
end

-- What more memory and another policy would bring, by slate.judge.outlook, as advise and slatetop tell it.
local function outlook_about(about)
    return { starves = about.in_need, evicts = outlook.evicts(about.lately, about.per_s) }
end

local function memory_of(about)
    return about.curve and outlook.memory(about.curve, outlook_about(about))
end

local function policy_of(about)
    return about.whatif and outlook.policy(about.whatif, outlook_about(about))
end

-- For each class that starves: the function tell is given its row and its move.
local function each_that_starves(about, tell)
    local rows = table.move(about.rows, 1, #about.rows, 1, {})
    table.sort(rows, starving.goes_before) -- its is the move that every screen advises
    for _, row in ipairs(rows) do
        local move = row.starves and relief.of(about.one, row.id, about.curves)
        if move then
            tell(row, move)
        end
    end
end

--- Classes that starve for want of pages.
function CHECKS.starving(about, add)
    each_that_starves(about, function(row, move)
        if move.is_advised then
            add("warning", relief.need(row, move), remedy_of(about, move), "starving", row.id)
        end
    end)
end

--- Classes that starve, but would bring no hits with more pages.
function CHECKS.no_relief(about, add)
    each_that_starves(about, function(row, move)
        if not move.is_advised then
            local what, todo = relief.instead(about.one, move, memory_of(about), policy_of(about))
            add("note", ("%s; %s"):format(relief.no_use(move), what), todo, "starving", row.id)
        end
    end)
end

function CHECKS.idle_pages(about, add)
    local pages, ids, evicting = 0, {}, false
    for _, row in ipairs(about.rows) do
        evicting = evicting or (row.evicted_per_s or 0) > 0
        if table.concat(row.flags, " "):find("idle", 1, true) then
            pages, ids[#ids + 1] = pages + row.free_pages // 1, tostring(row.id)
        end
    end
    if pages > 0 and evicting then
        add("warning", ("%s lie idle in class %s while others evict"):format(units.plural(pages // 1, "page"),
            table.concat(ids, ", ")), "slatectl advise automove", "class.free")
    end
end

-- Against pages that go to and fro: only the mode ratio looks at its window, and utility rests such classes by itself.
local function against_ping_pong(about)
    local why = "slatectl moves tells why each moved"
    local mode, window_s = view.automove_mode(about.now), about.settings.slab_automove_window
    if mode == "off" then
        return "automove is off: a person or a program moves them; slatectl audit tells which; " .. why
    elseif mode == "ratio" and math.type(window_s) and window_s < WINDOW_MOST_S then
        return ("a longer window: slatectl set slab_automove_window %.0f; %s"):format(
            math.min(WINDOW_MOST_S, math.max(WINDOW_LONG_S, 2 * window_s // 1)), why)
    elseif mode ~= "utility" and about.now.slated then
        return "a mode that weighs what a move costs: slatectl automove utility; " .. why
    end
    return why
end

-- The moves, one for each pair of classes, by which pages went back lately. Who moves pages by hand, takes that back
-- and does it again, chose each of these moves.
local function moves_to_and_fro(about)
    local last, by_hand, is_told, found = {}, {}, {}, {}
    local now_s = about.general.time -- by the server's clock, as the moves
    for i = math.max(1, #about.moves - PING_PONG_LAST + 1), #about.moves do
        local move = about.moves[i]
        local pair = ("%s %s"):format(math.min(move.from, move.to), math.max(move.from, move.to))
        local there = last[pair]
        local is_back = there and there.from == move.to and move.time_s - there.time_s <= PING_PONG_S
            and (not now_s or now_s - move.time_s <= PING_PONG_S)
        if is_back and move.mode == "operator" then
            by_hand[pair] = (by_hand[pair] or 0) + 1
            is_back = by_hand[pair] > TURNS_BY_HAND
        end
        if is_back and move.from ~= 0 and move.to ~= 0 and not is_told[pair] then
            found[#found + 1], is_told[pair] = move, true
        end
        last[pair] = move
    end
    return found
end

function CHECKS.moves(about, add)
    local lost_per_s = (about.per_s.slab_reassign_evictions_nomem or 0) + (about.per_s.slab_reassign_busy_deletes or 0)
    if lost_per_s > 0 then
        add("note", ("page moves lose %s items a second, which evictions do not count"):format(units.rate(lost_per_s)),
            "slatectl automove tells the mode that moves them, slatectl advise automove whether another is better",
            "lost_by_moves")
    end
    for _, move in ipairs(moves_to_and_fro(about)) do
        add("warning", ("pages move back and forth between class %s and class %s"):format(move.from, move.to),
            against_ping_pong(about), "page_moves")
    end
    if about.settings.slab_automove == 2 and not about.now.slated then
        add("warning", "automove 2 moves a page at every eviction: it is meant for short whiles only",
            "slatectl automove 1")
    end
end

function CHECKS.waste(about, add)
    local waste = require "slate.facts.waste"
    local total = waste.total(about.now, waste.classes(about.now))
    local fills = (about.general.evictions or 0) > 0
        or total.limit_bytes and (total.page_bytes or 0) > FILLS_FROM_RATIO * total.limit_bytes
    if total.waste_ratio and total.waste_ratio > WASTE_MOST_RATIO and fills then
        add("note", ("%s of the memory in use is wasted: the ends of chunks and pages"):format(
            units.percent(total.waste_ratio)), change_under_way(about)
            or fits_sizes(about) and "it fits its chunk sizes by itself (slab_geometry_auto) where that holds 2 % more "
                .. "items: slatectl geometry tells how it goes"
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

-- Items whose time is over, where they were counted (slate.facts.expired): they cannot be while the crawler is off.
function CHECKS.expired(about, add)
    local expired, items = about.expired_items or 0, about.general.curr_items or 0
    if not about.expired_items and about.settings.lru_crawler == false and items >= EXPIRED_LEAST then
        add("note", "the crawler is off: expired items keep their memory until they are read or evicted",
            CRAWLER_ON, "expired_unread")
    end
    if expired < EXPIRED_LEAST or expired < EXPIRED_LEAST_RATIO * items then
        return
    end
    local evicts = (about.per_s.evictions or 0) > 0
    add(evicts and "warning" or "note", ("%s of %s have expired and still take memory%s"):format(
        units.count(expired), units.plural(items, "item"), evicts and " while others are evicted" or ""),
        about.settings.lru_crawler == false and CRAWLER_ON
            or "the server frees them when its crawler comes by or when their chunks are needed", "expired_unread")
end

return CHECKS
