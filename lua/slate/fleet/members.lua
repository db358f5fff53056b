-- SPDX-License-Identifier: BSD-3-Clause
--- Many servers at once: two samples of each, and one row for each, the worst first.
local clock = require "slate.base.clock"
local gather = require "slate.base.gather"
local order = require "slate.base.order"
local together = require "slate.wire.together"
local starving = require "slate.judge.starving"
local proxy = require "slate.facts.proxy"
local relief = require "slate.judge.relief"
local view = require "slate.judge.view"
local attention = require "slate.judge.attention"
local snapshot = require "slate.facts.snapshot"
local units = require "slate.base.units"

local M = {}

-- The badness of a server for each of these troubles. Only the order matters.
local DOWN <const>, OUT_OF_MEMORY <const>, OVER_LIMIT <const>, STARVING <const>, OUTLIER <const> = 1000, 100, 50, 10, 5
local BAD_LINKS <const> = 80 -- of a proxy with a backend to which requests fail

-- If slatectl itself lacks a resource, the command ends: then the servers are not known to be down.
local function open(context, server)
    local client, who, code = context:meet(server)
    if code == "exhausted" then
        error({ message = who, code = code }, 0)
    elseif not client then
        return { server = server, message = who, code = code }
    end
    return { server = server, client = client, who = who, observer = view.observer() }
end

-- Takes a snapshot of a connected member; a member that fails is down from then on.
local function sample(one)
    if not one.client then
        return
    end
    local now, message, code = snapshot.take(one.client, {
        server = one.server.name, slated = one.who.slated, settings = true, before = one.now,
    })
    local ok = now
    if now and proxy.is_one(now) then
        ok, message, code = proxy.query(one.client, now)
    end
    one.now = now
    if not ok then
        one.client, one.message, one.code = nil, message, code
        return
    end
    one.before = one.before or now
    one.observer:observe(now)
end

-- The seconds until the rates of all members are known.
local function untimed_s(members)
    local more_s = 0
    for _, one in ipairs(members) do
        more_s = one.client and math.max(more_s, snapshot.untimed_s(one.before, one.now)) or more_s
    end
    return more_s
end

-- Takes further samples of all members, by slate.judge.starving: as long as any server needs them, or answered late.
local function observe(members, interval_s)
    local samples, step_s = starving.samples_in(interval_s)
    for taken = 1, interval_s == 0 and 0 or samples + snapshot.LATE_MOST do
        local more_s = taken > samples and untimed_s(members) or step_s
        if more_s == 0 then
            return
        end
        clock.sleep(math.max(step_s, more_s))
        together.each(members, sample)
        local has_to_observe = interval_s ~= nil
        for _, one in ipairs(members) do
            has_to_observe = has_to_observe or one.client and starving.has_to_observe(one.observer)
        end
        if not has_to_observe then
            return
        end
    end
end

-- Queries a slated for facts that are not in its statistics.
local function query(one)
    if one.client and one.who.slated then
        one.automove = require("slate.facts.moves").read(one.client) or nil
        one.curves = require("slate.facts.sampled").curves(one.client, relief.wanted(one.observer))
    end
end

-- Two samples of each server. The servers are so few that slatectl may connect to all at once.
local function sample_wave(context, servers, interval_s)
    local members = {}
    for i, opened in ipairs(together.each(servers, function(server) return open(context, server) end)) do
        members[i] = opened[1]
    end
    together.each(members, sample)
    observe(members, interval_s)
    together.each(members, query)
    for _, one in ipairs(members) do
        if one.client then
            if interval_s ~= 0 then
                one.rates, one.judge = snapshot.rates(one.before, one.now), one.observer.judge
            else
                one.before = nil
            end
            one.client:close()
        end
    end
    return members
end

--- Two samples of each server, interval_s apart (one if interval_s is 0; nil: as far as a judgement needs). All are
-- queried at once, 500 at a time, so that any number of servers that are down costs one time-out together. Returns a
-- list in the order of the servers: { server, who, observer, before, now, rates, judge, automove (totals of
-- slate.facts.moves) and curves (of slate.judge.relief; both of a slated) } or { server, message, code }. If slatectl
-- itself has no descriptor or port left, the command ends with that error.
function M.sample(context, servers, interval_s)
    local members, at_once = {}, together.at_once()
    for first = 1, #servers, at_once do
        local wave = table.move(servers, first, math.min(first + at_once - 1, #servers), 1, {})
        wave = sample_wave(context, wave, interval_s)
        table.move(wave, 1, #wave, #members + 1, members)
    end
    return members
end

-- The figures of a cache; a proxy without a cache reports zeros for them.
local CACHE_FIGURES <const> = { "items", "used_bytes", "limit_bytes", "used_ratio", "free_pool_pages", "hit_ratio",
    "hit_ratio_total", "evictions_per_s", "item_loss_per_s", "out_of_memory_per_s", "pages_moved", "pages_moved_per_s",
    "automove", "age_spread" }

-- Turns the row of a cache into that of a proxy.
local function as_proxy(row, one)
    row.proxy = proxy.of(one.now, one.before, one.rates)
    row.get_per_s, row.set_per_s = row.proxy.get_per_s, row.proxy.set_per_s
    for _, name in ipairs(proxy.has_cache(one.now) and {} or CACHE_FIGURES) do
        row[name] = nil
    end
    table.insert(row.notes, 1, proxy.words(row.proxy))
    row.badness = row.badness + ((row.proxy.links_bad or 0) > 0 and BAD_LINKS or 0)
end

local function row_of(one)
    if not one.client then
        if one.code == "unsupported" then -- it answers, but without statistics
            return { server = one.server.name, notes = { "reports no statistics: " .. one.message }, badness = 0 }
        end
        return { server = one.server.name, why = one.message, notes = { "down" }, badness = DOWN }
    end
    local row = view.overview(one.now, one.rates)
    relief.plan(one.observer, one.curves) -- its judgement goes into the rows
    local classes = view.classes(one.now, one.before, one.rates, one.judge)
    row.age_spread, row.notes, row.badness = starving.spread(classes), {}, 0
    local in_need = gather.count(classes, function(class) return class.starves end)
    if (row.out_of_memory_per_s or 0) > 0 then
        row.notes[#row.notes + 1] = "out of memory"
        row.badness = row.badness + OUT_OF_MEMORY
    end
    if in_need > 0 then
        row.notes[#row.notes + 1] = units.plural(in_need, "class starves", "classes starve")
        row.badness = row.badness + STARVING * in_need
    end
    local has_rates = one.rates and one.rates.is_known and not proxy.is_one(one.now)
    if has_rates and not view.knows_starving(one.now, one.rates, classes) then
        row.notes[#row.notes + 1] = "which class starves is not reported"
    end
    local over = starving.held_over(one.now, one.before)
    if over and over.is_much then
        row.notes[#row.notes + 1] = ("holds %s of %s"):format(units.bytes_in_words(over.held_bytes),
            units.bytes_in_words(over.limit_bytes))
        row.badness = row.badness + OVER_LIMIT
    end
    if proxy.is_one(one.now) then
        as_proxy(row, one)
    end
    if row.reset then
        row.notes[#row.notes + 1] = "counters were reset"
    end
    -- Of servers with equal trouble, the one that loses most items a second is the worst.
    row.badness = row.badness + (row.item_loss_per_s or 0) / ((row.item_loss_per_s or 0) + 1000)
    return row
end

--- One row for each member, the worst first. Pure.
-- A row has the fields of view.overview, age_spread, notes (a list of words) and badness (only the order matters). The
-- row of a proxy has proxy (of slate.facts.proxy.of), too, and figures of a cache only if it has one. The row of a
-- server that is down has server, why, notes and badness; that of a server without statistics has no why.
function M.rows(members)
    local rows, figures = {}, {}
    for i, one in ipairs(members) do
        rows[i] = row_of(one)
        figures[i] = { hit_ratio = rows[i].hit_ratio or rows[i].hit_ratio_total,
            evictions_per_s = rows[i].evictions_per_s, age_s = one.observer and one.observer.youngest_s,
            uptime_s = rows[i].uptime_s }
    end
    for i, found in ipairs(attention.compare_servers(figures)) do
        if found.is_outlier then
            rows[i].notes[#rows[i].notes + 1] = attention.outlier_words(figures[i], found)
            rows[i].badness = rows[i].badness + OUTLIER
        end
    end
    return order.largest_first(rows, "badness", "server")
end

return M
