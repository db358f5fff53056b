-- SPDX-License-Identifier: BSD-3-Clause
--- Incidents (of slate.judge.incident) in words: what happened, what followed, what to do. Pure.
local units = require "slate.base.units"

local M = {}

-- The incidents that make hits, items or requests fall, behind "after".
local CAUSES <const> = { flush = "flush_all", restart = "the restart", items_fell = "items fell", stall = "the stall" }

-- when: "" or " 12s ago". so_far: " so far" or nil.
local function fall_of_hits(was, is, when, so_far)
    return ("hits fell%s from %s to %s%s"):format(when, units.percent(was), units.percent(is), so_far or "")
end

local function fall_of_requests(was, is, when)
    return ("requests fell%s from %s to %s a second"):format(when, units.rate(was), units.rate(is))
end

-- The cut of memory that made hits or items fall, after ": "; "" without one.
local function by_cut(one)
    return one.cut and (": the memory limit was lowered from %s to %s%s"):format(units.bytes_in_words(one.cut.was),
        units.bytes_in_words(one.cut.is), one.cut.is_over and ", and raised again" or "") or ""
end

-- Hits that fell as a share alone, after `before`; "" for others.
local function by_misses(one, before)
    return one.is_by_misses and ("%shits/s as before, misses rose by %s/s"):format(before,
        units.rate(one.misses_more)) or ""
end

-- Each (one, when, so_far): `when` and `so_far` as above.
local TITLES <const> = {
    restart = function(one, when)
        return ("the server restarted%s%s%s"):format(when, (one.was or 0) > 0 and " and lost "
            .. units.plural(one.was, "item") or "", one.with and "; " .. one.with or "")
    end,
    flush = function(one, when)
        return ("a client sent flush_all%s%s"):format(when, one.was and (": %s items were in the cache"):format(
            units.count(one.was)) or "")
    end,
    stall = function(one, when)
        return ("the server answered no request for %s%s"):format(units.age(one.stalled_s), when ~= "" and "," .. when
            or "")
    end,
    connections = function(one, when)
        return ("the server turned connections away%s%s"):format(when, one.is and one.most
            and (": %d of %d were open"):format(one.is, one.most) or "")
    end,
    hits_fell = function(one, when, so_far)
        return one.life_s and ("hits are %s now; since the server's start %s ago they were %s"):format(
            units.percent(one.is), units.age(one.life_s), units.percent(one.was))
            or fall_of_hits(one.was, one.hits_is or one.is, when, so_far) .. by_cut(one)
    end,
    items_fell = function(one, when)
        return ("items fell%s from %s to %s%s"):format(when, units.count(one.was), units.count(one.is),
            one.moved_pages and (": moves of %s dropped them"):format(units.plural(one.moved_pages, "page"))
            or one.evicted and ": the server evicted them" or by_cut(one))
    end,
    traffic = function(one, when)
        return one.is == 0 and ("requests stopped%s: %s a second before"):format(when, units.rate(one.was))
            or fall_of_requests(one.was, one.is, when)
    end,
}

local TODOS <const> = {
    restart = "find the reason in its log or in the system's log",
    flush = "find the client: slated lists its address (slatectl stats audit), of a UNIX socket only the path; "
        .. "memcached lists none. -F forbids flush_all",
    stall = "look at the machine at that time: swapping, a paused container or virtual machine, a full processor",
    connections = "start it with a larger -c, or find the clients that keep connections: slatectl conns",
    misses_rose = "find the clients that read keys which are not stored: slatectl conns",
    hits_fell = "see what changed at that time: slatectl audit, deployments, the keys of clients",
    items_fell = "items were deleted, or expired at one time: spread the times to live",
    moved = "nothing, unless hits fell: slatectl undo takes the moves back",
    evicted = "less memory, or other chunk sizes: slatectl settings, slatectl geometry",
    traffic = "look for clients that went away: slatectl conns",
}

local function when_of(ago_s)
    return ago_s and (" %s ago"):format(units.age(ago_s)) or ""
end

--- What happened, in a sentence without its effect; ago_s (optional): so long ago.
function M.title(one, ago_s)
    return TITLES[one.name](one, when_of(ago_s))
end

--- The same in its first moment, when hits may fall further.
function M.began(one)
    return TITLES[one.name](one, "", " so far")
end

--- Hits that fell after an incident, which is the cause, in the first moment.
function M.fewer_hits(one)
    return ("%s, after %s"):format(fall_of_hits(one.hits_was, one.hits_is, "", " so far"), CAUSES[one.name])
end

--- Requests that fell after an incident, which is the cause.
function M.fewer_requests(one)
    return ("%s, after %s"):format(fall_of_requests(one.requests_was, one.requests_is, ""), CAUSES[one.name])
end

--- Lost hits, after `before`; "" if none are known.
function M.cost(cost_hits, before)
    return cost_hits and cost_hits >= 1 and ("%s%s hits lost"):format(before, units.count(cost_hits // 1)) or ""
end

-- lowest: the lowest hit ratio in words, or "".
local function ending(one, lowest, effect)
    local subject = one.is_back and (one.hits_is and "hits are back" or "requests come again")
        or one.hits_is and "hits are still low" or "requests are still few"
    return ("%s after %s%s%s"):format(subject, units.age(one.ends_s - one.from_s), lowest, effect)
end

--- The end of an incident by which hits or requests were low: they are back, or it is counted no longer.
function M.ending(one)
    return ending(one, one.hits_is and (", from %s at the lowest"):format(units.percent(one.hits_is)) or "",
        one.is_by_misses and by_misses(one, ": ") or M.cost(one.cost_hits, ": "))
end

--- What happened, and its effects on hits and requests.
function M.what(one, ago_s)
    local parts = { M.title(one, ago_s) .. by_misses(one, ": ") }
    if one.name ~= "hits_fell" and one.hits_is then
        parts[2] = fall_of_hits(one.hits_was, one.hits_is, "")
    end
    if one.requests_was then
        parts[#parts + 1] = fall_of_requests(one.requests_was, one.requests_is, "")
    end
    return table.concat(parts, "; ")
end

--- What happened so long ago, its effects, and that they are over.
function M.line(one, ago_s)
    return M.what(one, ago_s) .. (one.is_back and "; "
        .. ending(one, "", one.is_by_misses and "" or M.cost(one.cost_hits, ": ")) or "")
end

-- By the name of an incident: what happened, in so few words that a time has room behind them.
local SHORT <const> = { restart = "restarted", flush = "flushed", stall = "stalled", hits_fell = "hits fell",
    items_fell = "items fell", traffic = "requests fell", connections = "turned away" }
local SHORT_MOST <const> = 17

--- The same in at most 17 columns, without " ago" where that has no room.
function M.short(one, ago_s)
    local text = one.life_s and "hits are low" or SHORT[one.name] .. when_of(ago_s)
    return #text <= SHORT_MOST and text or ("%s %s"):format(SHORT[one.name], units.age(ago_s))
end

local MIB <const> = 1 << 20

--- What to do about an incident.
function M.todo(one)
    return one.cut and one.cut.is_over and "nothing: hits come back as items are stored again"
        or one.cut and ("take the memory back if its hits are missed: slatectl set maxbytes=%d"):format(
        math.ceil(one.cut.was / MIB)) or one.moved_pages and TODOS.moved or one.evicted and TODOS.evicted
        or TODOS[one.is_by_misses and "misses_rose" or one.name]
end

return M
