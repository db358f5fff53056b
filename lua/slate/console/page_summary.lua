-- SPDX-License-Identifier: BSD-3-Clause
--- The pages of a class, counted by how full and how old they are, for the page map.
--
-- A summary is { is_exact, pages, draining (pages that are being emptied; no count below has them), by_fill = { [per
-- cent of a page's chunks in use, as of fill_of] = pages }, used_by_fill = { [the same] = chunks in use in those pages
-- }, by_age, by_use (lists of pages by M.AGES; exact ones only; by_use: if noted), youngest_s, oldest_s (nil: unknown)
-- }.
--
-- Exact if the server lists its pages. Else an estimate: the class's chunks in use, packed into as few pages as they
-- fill. This is the best case, for free chunks lie scattered.
local M = {}

--- Letters of the steps of an age, and where each ends.
M.AGES = { { letter = "s", below_s = 60 }, { letter = "m", below_s = 3600 }, { letter = "h", below_s = 86400 },
    { letter = "d", below_s = math.huge } }
--- No server has more pages.
M.PAGES_MOST = 1 << 18

local CLASS_MOST <const> = 255

local function empty(is_exact)
    return { is_exact = is_exact, pages = 0, draining = 0, by_fill = {}, used_by_fill = {}, by_age = { 0, 0, 0, 0 },
        by_use = { 0, 0, 0, 0 } }
end

-- The per cent of a page's chunks in use, rounded down; but only a page without any is 0.
local function fill_of(used, chunks)
    return used > 0 and math.max(used * 100 // chunks, 1) or 0
end

local function add_fill(summary, fill, pages, used)
    summary.by_fill[fill] = (summary.by_fill[fill] or 0) + pages
    summary.used_by_fill[fill] = (summary.used_by_fill[fill] or 0) + used
end

local function add_age(steps, age_s)
    for i, step in ipairs(M.AGES) do
        if age_s < step.below_s then
            steps[i] = steps[i] + 1
            return
        end
    end
end

local function add_page(summary, state, used, chunks, age_s, unused_s)
    summary.pages = summary.pages + 1
    if state == "draining" then
        summary.draining = summary.draining + 1
        return
    end
    add_fill(summary, fill_of(used, chunks), 1, used)
    add_age(summary.by_age, age_s)
    if unused_s then
        add_age(summary.by_use, unused_s)
    end
    summary.youngest_s = math.min(summary.youngest_s or age_s, age_s)
    summary.oldest_s = math.max(summary.oldest_s or age_s, age_s)
end

local List = {}
List.__index = List
List.__name = "slate.console.page_summary.list"

--- The pages of a server, from `stats pages FIRST COUNT`. A large cache answers in parts, over several refreshes. The
-- list has summaries of each part, by class. Fields: next (the first page of the next part; 0 after the last part),
-- is_complete (every part was seen once), notes_use (some page has the time of its use).
function M.list()
    return setmetatable({ next = 0, parts = {} }, List)
end

local PAGE <const> = "STAT page:(%d+) (%d+) (%l+) (%d+) (%d+) (%d+) (%S+)[\r\n]"

--- Takes the part that begins with page `next`.
function List:take(text)
    local first, part, notes_use = self.next, {}, false
    local following = math.tointeger(tonumber(text:match("STAT next (%d+)"))) or 0
    local goes_on = following > first and following < M.PAGES_MOST
    for number, class, state, used, chunks, age, unused in text:gmatch(PAGE) do
        local id, unused_s = tonumber(class), tonumber(unused)
        number, used, chunks, age = tonumber(number), tonumber(used), tonumber(chunks), tonumber(age)
        if number >= first and number < M.PAGES_MOST and id > 0 and id <= CLASS_MOST and used <= chunks then
            part[id] = part[id] or empty(true)
            add_page(part[id], state, used, chunks, age, unused_s)
            notes_use = notes_use or unused_s ~= nil
        end
    end
    for begins in pairs(self.parts) do -- pages that a part does not list no longer have a class
        if begins >= first and (not goes_on or begins < following) then
            self.parts[begins] = nil
        end
    end
    self.parts[first] = part
    self.notes_use = notes_use or first > 0 and self.notes_use
    self.is_complete = self.is_complete or not goes_on
    self.next = goes_on and following or 0
end

local function add_summary(sum, one)
    sum.pages, sum.draining = sum.pages + one.pages, sum.draining + one.draining
    for fill, pages in pairs(one.by_fill) do
        add_fill(sum, fill, pages, one.used_by_fill[fill])
    end
    for i = 1, #M.AGES do
        sum.by_age[i], sum.by_use[i] = sum.by_age[i] + one.by_age[i], sum.by_use[i] + one.by_use[i]
    end
    if one.oldest_s then
        sum.youngest_s = math.min(sum.youngest_s or one.youngest_s, one.youngest_s)
        sum.oldest_s = math.max(sum.oldest_s or one.oldest_s, one.oldest_s)
    end
end

--- The summary of a class.
function List:of(id)
    local sum = empty(true)
    for _, part in pairs(self.parts) do
        if part[id] then
            add_summary(sum, part[id])
        end
    end
    return sum
end

-- Full pages, one with the remaining items, and empty ones. class: of a snapshot, may be nil.
local function estimate(class)
    local summary = empty(false)
    local pages, chunks, used = (class or {}).total_pages, (class or {}).chunks_per_page, (class or {}).used_chunks
    if not (pages and chunks and used) or pages < 1 or pages > M.PAGES_MOST then
        return summary
    end
    local full = math.min(used // chunks, pages)
    summary.pages = pages
    add_fill(summary, 100, full, full * chunks)
    if full < pages then
        local rest = used - full * chunks
        add_fill(summary, math.min(fill_of(rest, chunks), 99), 1, rest)
        add_fill(summary, 0, pages - full - 1, 0)
    end
    return summary
end

--- The summary of a class in a model.
function M.of(model, id)
    local list = model.answers:pages()
    if list and list.is_complete then
        return list:of(id)
    end
    return estimate(model:class(id))
end

--- Chunks in use in the emptiest pages, this many: the highest cost of donating these pages.
function M.cost(summary, pages)
    local cost = 0
    for fill = 0, 100 do
        local count = summary.by_fill[fill] or 0
        if count > 0 and pages > 0 then
            local taken = math.min(count, pages)
            cost, pages = cost + summary.used_by_fill[fill] * taken / count, pages - taken
        end
    end
    return cost
end

--- Pages that are at most `percent` full.
function M.below(summary, percent)
    local pages = 0
    for fill, count in pairs(summary.by_fill) do
        pages = pages + (fill <= percent and count or 0)
    end
    return pages
end

return M
