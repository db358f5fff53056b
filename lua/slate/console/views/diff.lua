-- SPDX-License-Identifier: BSD-3-Clause
--- Diff: the changes between the snapshot that D took and the moment on the screen: the server as a whole, its
-- settings, and the changed classes, the largest change of pages first.
local automove_modes = require "slate.facts.automove"
local cells = require "slate.console.cells"
local figure = require "slate.console.figure"
local keys = require "slate.console.keys"
local narrow = require "slate.console.draw.narrow"
local server = require "slate.console.server"
local snapshot = require "slate.facts.snapshot"
local units = require "slate.base.units"

local M = {
    name = "Diff",
    scope = "diff",
    open = "view_diff",
    shown = { "diff.change", "class.class", "class.size", "class.pages", "class.age", "gets", "hit_ratio", "sets",
        "evictions", "out_of_memory", "page_moves", "curr_items", "memory.items", "memory.limit", "connections",
        "memory.pool", "slab_automove" },
}

function M.state()
    return { top = 1 }
end

local VALUES_END <const>, GAUGES_X <const>, GAUGE_WIDTH <const>, SCREEN_ROWS <const> = 30, 34, 13, 15
local GENERAL_FROM_HEIGHT <const> = 14 -- a lower screen has only the classes

local function change(was, is)
    return was and is and is - was
end

-- The growth of a counter as text. A counter that fell began anew, so its difference means nothing: it is "reset".
local function growth(was, is)
    return figure.count(change(was, is))
end

local function growth_of(name)
    return function(a, b) return growth(a.general[name], b.general[name]) end
end

local function hit_percent(a, b)
    local gets = change(a.general.cmd_get, b.general.cmd_get)
    local hits = change(a.general.get_hits, b.general.get_hits)
    return figure.percent(gets and gets > 0 and hits and hits >= 0 and math.min(hits / gets, 1) or nil)
end

local function refused(a, b)
    return growth(snapshot.refused_stores(a), snapshot.refused_stores(b))
end

local function automove(one)
    local mode = automove_modes.of((one.settings or {}).slab_automove)
    return mode and mode.name or "-"
end

-- The server as a whole: counters at the left, each with the text of its growth; at the right gauges, each with its
-- text in one snapshot.
local COUNTERS <const> = {
    { "keys requested", growth_of "cmd_get" }, { "hit % of these", hit_percent }, { "stores", growth_of "cmd_set" },
    { "evicted", growth_of "evictions" }, { "out of memory", refused }, { "pages moved", growth_of "slabs_moved" },
}
local function gauge_of(form, name)
    return function(one) return form(one.general[name]) end
end
local GAUGES <const> = {
    { "items", gauge_of(figure.count, "curr_items") }, { "item bytes", gauge_of(units.bytes_in_words, "bytes") },
    { "memory", gauge_of(units.bytes_in_words, "limit_maxbytes") },
    { "connections", gauge_of(figure.count, "curr_connections") },
    { "pool pages", gauge_of(figure.count, "slab_global_page_pool") }, { "automove", automove },
}

local function draw_general(grid, y, a, b)
    for i, counter in ipairs(COUNTERS) do
        grid:text(y + i - 1, 0, cells.PLAIN, counter[1])
        grid:text_right(y + i - 1, VALUES_END, cells.STRONG, counter[2](a, b))
    end
    for i, gauge in ipairs(GAUGES) do
        local was, is = gauge[2](a), gauge[2](b)
        grid:text(y + i - 1, GAUGES_X, cells.PLAIN, gauge[1])
        grid:text(y + i - 1, GAUGES_X + GAUGE_WIDTH, was == is and cells.PLAIN or cells.STRONG,
            (was ~= is or i < #GAUGES) and was .. " → " .. is or was)
    end
end

local COMPARED <const> = { "total_pages", "number", "get_hits", "cmd_set", "evicted" }
local GONE <const> = { total_pages = 0, number = 0, get_hits = 0, cmd_set = 0, evicted = 0 }

-- Appends the class `id`, if one of its figures has changed. was, is: of both snapshots; GONE: it is not there.
local function add_changed(list, id, was, is)
    for _, name in ipairs(COMPARED) do
        if was[name] ~= is[name] then
            local pages, evicted = change(was.total_pages, is.total_pages), change(was.evicted, is.evicted) or 0
            list[#list + 1] = { id = id, was = was, is = is, pages = pages, moved = math.abs(pages or 0),
                evicted = math.max(evicted, -1) }
            return
        end
    end
end

-- Of two entries of one id the class that went is first.
local function largest_first(a, b)
    if a.moved ~= b.moved then
        return a.moved > b.moved
    elseif a.evicted ~= b.evicted then
        return a.evicted > b.evicted
    end
    return a.id < b.id or a.id == b.id and b.was == GONE and a.was ~= GONE
end

-- The classes with a changed figure. An id with another chunk size than before has two entries: a class that went, and
-- one that came.
local function changed_classes(a, b)
    local list, before, after = {}, snapshot.by_id(a), snapshot.by_id(b)
    for id, was in pairs(before) do
        local is = after[id] or GONE
        if was.chunk_size and is.chunk_size and was.chunk_size ~= is.chunk_size then
            add_changed(list, id, was, GONE)
            add_changed(list, id, GONE, is)
        else
            add_changed(list, id, was, is)
        end
    end
    for id, is in pairs(after) do
        if not before[id] then
            add_changed(list, id, GONE, is)
        end
    end
    table.sort(list, largest_first)
    return list
end

local function arrow(form, was, is)
    return form(was) .. " → " .. form(is)
end

local function grown(name)
    return function(one) return growth(one.was[name], one.is[name]) end
end

-- The columns of the classes: head, end, and the text; AGE takes the space left of 80.
local COLUMNS <const> = {
    { "CL", 4, function(one) return ("%d"):format(one.id) end },
    { "SIZE", 12, function(one) return figure.exact((one.is == GONE and one.was or one.is).chunk_size) end },
    { "PAGES", 26, function(one) return arrow(figure.count, one.was.total_pages, one.is.total_pages) end },
    { "Δ", 33, function(one) return figure.delta(one.pages) end,
        function(one) return one.pages == 0 and cells.DIM or cells.STRONG end },
    { "ITEMS Δ", 41, function(one) return figure.delta(change(one.was.number, one.is.number)) end },
    { "HITS", 48, grown "get_hits" },
    { "SETS", 55, grown "cmd_set" },
    { "EVICTED", 63, grown "evicted" },
    { "AGE", 80, function(one) return arrow(figure.age, server.tail_age_s(one.was), server.tail_age_s(one.is)) end },
}
local AGE_X <const> = 65

-- Draws a text in a column, but never a part of one.
local function put(grid, y, width, column, style, text)
    if column[1] == "AGE" and column[2] <= width then
        grid:text(y, AGE_X, style, text)
    elseif column[2] <= width then
        grid:text_right(y, column[2], style, text)
    end
end

local function draw_classes(grid, area, a, b, at)
    local list, rows = changed_classes(a, b), math.max(area.height - 1, 0)
    grid:head(area.y, 0, area.width, "")
    local last = 0 -- the end of the last head
    for _, column in ipairs(COLUMNS) do
        put(grid, area.y, area.width, column, cells.HEADER, column[1])
        last = column[2] <= area.width and (column[1] == "AGE" and AGE_X + #"AGE" or column[2]) or last
    end
    if #list == 0 then
        grid:text(area.y + 1, 0, cells.DIM, "no class changed")
    end
    at.top = keys.top(at.top, at.top, rows, #list)
    grid:text_right(area.y, area.width, cells.HEADER, narrow.more(at.top, rows, #list, area.width - last - 1))
    for i = at.top, math.min(at.top + rows - 1, #list) do
        for _, column in ipairs(COLUMNS) do
            put(grid, area.y + 1 + i - at.top, area.width, column, column[4] and column[4](list[i]) or cells.PLAIN,
                column[3](list[i]))
        end
    end
end

-- "cache7 00:16:40 → 00:16:42: 2s"; of a moment before the mark, the mark is behind the arrow.
local function title_of(mark, moment_s)
    local was, is = figure.clock(mark.wall_s), figure.clock(moment_s)
    local span = figure.age(math.abs(moment_s - mark.wall_s))
    if moment_s < mark.wall_s then
        return ("%s → %s %s: %s"):format(is, mark.server, was, span)
    end
    return ("%s %s → %s: %s"):format(mark.server, was, is, span)
end

function M.draw(frame, ui, grid, area)
    local now, mark = frame.model.now, frame.mark
    if not (mark and now) then
        grid:paragraph(area, cells.PLAIN,
            "nothing to compare with yet: press D to mark a moment, and return later")
        return
    end
    grid:rule(area.y, area.x, area.width, title_of(mark, frame.moment_s))
    local a, b = mark.snapshot, now
    if frame.moment_s < mark.wall_s then
        a, b = now, mark.snapshot
    end
    local general = area.height >= GENERAL_FROM_HEIGHT and #COUNTERS or 0
    if general > 0 then
        draw_general(grid, area.y + 1, a, b)
    end
    draw_classes(grid, cells.area(area.y + 1 + general, 0, area.height - 1 - general, area.width), a, b, ui.diff)
end

function M.command(_, ui, command)
    ui.diff.top = keys.step(ui.diff.top, keys.move_rows(command, SCREEN_ROWS), math.maxinteger)
end

return M
