-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl pages [CLASS...]: how full the pages of each class are: every page on slated, else the mean of a class.
local find = require "slate.base.find"
local gather = require "slate.base.gather"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local MAP_COLUMNS <const> = 60
local PAGES_MOST <const> = 1 << 22 -- 4 TiB
-- Upper bounds of the share of a page's chunks in use, each with the title of its column.
local BANDS <const> = {
    { most = 0, title = "EMPTY" }, { most = 0.25, title = "<=25%" }, { most = 0.5, title = "<=50%" },
    { most = 0.75, title = "<=75%" }, { most = 0.9999, title = "<100%" }, { most = 1, title = "FULL" },
}

function M.declare(command)
    command:argument("ids", "Only these classes."):args("*"):argname("CLASS"):convert(units.whole(1, 255))
    command:flag("--map", "Draw every page as a character: . empty, 1 to 9 tenths, # full.")
end

--- One line of `stats pages` of slated: { page, class, state, used_ratio, age_s, idle_s }, or nil. Pure.
function M.parse(line)
    local page, text = line:match("^STAT page:(%d+) (.+)$")
    local class, state, used, chunks, age, idle = (text or ""):match("^(%d+) (%l+) (%d+) (%d+) (%d+) (%S+)$")
    if not class or tonumber(chunks) == 0 then
        return nil
    end
    return {
        page = math.tointeger(tonumber(page)), class = math.tointeger(tonumber(class)), state = state,
        used_ratio = tonumber(used) / tonumber(chunks), age_s = math.tointeger(tonumber(age)),
        idle_s = math.tointeger(tonumber(idle)),
    }
end

-- Every page of a slated, from as many answers as needed; false if the server does not list its pages.
local function exact(client)
    local pages, first = {}, 0
    repeat
        local lines, message, code = client:stats("pages " .. first)
        if not lines then
            if code == "unsupported" then
                return false
            end
            return nil, message, code
        end
        local next_page = 0
        for _, line in ipairs(lines) do
            pages[#pages + 1] = M.parse(line)
            next_page = math.tointeger(tonumber(line:match("^STAT next (%d+)$"))) or next_page
        end
        local goes_on = next_page > first
        first = next_page
    until not goes_on
    return pages
end

-- Pages for a server that does not list its pages: each is as full as its class. nil, message, code if the server does
-- not report how full a class is, or reports more pages than a server can have.
local function estimated(now)
    local pages = {}
    for _, class in ipairs(now.classes) do
        local share = class.used_chunks and (class.total_chunks or 0) > 0 and class.used_chunks / class.total_chunks
        if not class.total_pages or class.total_pages > PAGES_MOST or class.total_pages > 0 and not share then
            return nil, ("this server does not report the pages and chunks of class %d"):format(class.id), "unsupported"
        end
        for _ = 1, class.total_pages do
            pages[#pages + 1] = { class = class.id, used_ratio = share }
        end
    end
    return pages
end

local function by_class(pages)
    local classes, at = {}, {}
    for _, page in ipairs(pages) do
        if not at[page.class] then
            at[page.class] = { id = page.class }
            classes[#classes + 1] = at[page.class]
        end
        table.insert(at[page.class], page)
    end
    table.sort(classes, function(a, b) return a.id < b.id end)
    for _, class in ipairs(classes) do
        table.sort(class, function(a, b) return a.used_ratio > b.used_ratio end)
    end
    return classes
end

local function band_of(page)
    for b, band in ipairs(BANDS) do
        if page.used_ratio <= band.most then
            return b
        end
    end
    return #BANDS
end

local function out_table(context, classes, is_exact)
    local columns, rows = { { title = "CLASS" }, { title = "PAGES" }, { title = "USED" } }, {}
    for b, band in ipairs(is_exact and BANDS or {}) do
        columns[3 + b] = { title = band.title }
    end
    for r, class in ipairs(classes) do
        rows[r] = { class.id, #class, units.percent(gather.sum(class, "used_ratio") / #class) }
        for b = 1, is_exact and #BANDS or 0 do
            rows[r][3 + b] = 0
        end
        for _, page in ipairs(is_exact and class or {}) do
            local b = 3 + band_of(page)
            rows[r][b] = rows[r][b] + 1
        end
    end
    context:out_table(columns, rows)
end

local function glyph(page)
    if page.used_ratio == 0 then
        return "."
    elseif page.used_ratio >= 0.9999 then
        return "#"
    end
    return tostring(math.max(1, math.min(9, math.floor(page.used_ratio * 10))))
end

local function out_map(context, classes)
    for _, class in ipairs(classes) do
        for first = 1, #class, MAP_COLUMNS do
            local line = {}
            for i = first, math.min(#class, first + MAP_COLUMNS - 1) do
                line[#line + 1] = glyph(class[i])
            end
            context:out(("%5s %5s  %s\n"):format(first == 1 and class.id or "", first == 1 and #class or "",
                table.concat(line)))
        end
    end
end

local function only(pages, ids)
    if #ids == 0 then
        return pages
    end
    return gather.values(pages, function(page) return find.place(ids, page.class) and page or nil end)
end

function M.run(context, parsed)
    local client = must(context:open())
    local now = must(context:snapshot(client))
    if context.who.store == "heap" then -- heap's pages are pieces of one area; blocks has pages of blocks
        return nil, select(2, require("slate.facts.store").needs_slab(context.who, "pages of classes"))
    end
    local pages, message, code = exact(client)
    if pages == nil then
        return nil, message, code
    end
    client:close()
    must(require("slate.facts.snapshot").reports_classes(now))
    local is_exact = pages and true
    pages = only(pages or must(estimated(now)), parsed.ids)
    if #pages == 0 and #parsed.ids > 0 then
        return nil, "no such class holds pages on this server", "no"
    end
    if not context.json and #pages == 0 then
        context:out("no class has a page\n")
        return 0
    elseif context.json then
        context:out_json("slate/pages/1", { server = now.server, time_s = now.time_s, estimated = not is_exact,
            pages = require("slate.base.json").array(pages), pages_limit = now.pages_limit,
            pages_free = now.pages_free })
        return 0
    end
    local classes = by_class(pages)
    if parsed.map then
        out_map(context, classes)
    else
        out_table(context, classes, is_exact)
    end
    context:out(("%s of %s; %s free%s\n"):format(units.plural(#pages, "page"), now.pages_limit or "-",
        now.pages_free or "-", is_exact and ""
        or "\nestimated: this server reports how full a class is, not a page (needs slated)"))
    return 0
end

return M
