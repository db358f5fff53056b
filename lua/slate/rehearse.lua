-- SPDX-License-Identifier: BSD-3-Clause
--- What policies would have made of a recording: moves, and the hits that those should have led to.
--
-- A recording shows what happened with the pages that classes had. With others each class would have missed as its
-- curve says, which is fitted anew for every interval (slate.policy_core's miss_curve); stores stand for misses.
-- The policy is shown the server as it would have been then: pages, hits, stores, evictions, items and ages. It is an
-- estimate: keys do not change classes, cliffs are not seen, and a page that comes is full at once.
local core = require "slate.policy_core"

local M = {}

local function counters_of(class)
    return { get_hits = class.get_hits or 0, cmd_set = class.cmd_set or 0, evicted = class.evicted or 0 }
end

-- Hits, misses and evictions of a class in an interval, had it had `pages`.
local function outcome(was, class, pages, seconds)
    local hits = math.max(0, (class.get_hits or 0) - (was.get_hits or 0))
    local stores = math.max(0, (class.cmd_set or 0) - (was.cmd_set or 0))
    local evicted = math.max(0, (class.evicted or 0) - (was.evicted or 0))
    local number, held = class.number or 0, class.total_pages or 0
    if pages == held or number == 0 or hits + stores == 0 then
        return { hits = hits, misses = stores, evicted = evicted, number = number, age = class.age or 0 }
    end
    local room = pages * (class.chunks_per_page or 1)
    local is_full = evicted > 0
    local items = is_full and number * pages / math.max(held, 1) or math.min(number, room)
    local misses = items >= number and not is_full and stores
        or math.min(hits + stores, core.miss_curve(hits + stores, stores, number, (class.age or 0) / seconds)(items))
    local grew = items >= number and not is_full
    return {
        hits = hits + stores - misses, misses = misses, evicted = grew and 0 or misses, number = items // 1,
        age = math.floor((class.age or 0) * items / number),
    }
end

local Rehearsal = {}
Rehearsal.__index = Rehearsal

local function whole(n)
    return math.tointeger(math.floor(n + 0.5))
end

-- The snapshot as it would have been, with the pages of now.
function Rehearsal:imagine(before, after)
    local seconds, was, classes = math.max(after.time_s - before.time_s, 1e-3), {}, {}
    for _, class in ipairs(before.classes) do
        was[class.id] = class
    end
    for i, class in ipairs(after.classes) do
        local id, earlier = class.id, was[class.id] or class
        if not self.pages[id] then -- it is new: its pages came from the pool
            self.pages[id], self.sums[id] = class.total_pages or 0, counters_of(class)
            self.pool = math.max(0, self.pool - (class.total_pages or 0))
        end
        local made, sums = outcome(earlier, class, self.pages[id], seconds), self.sums[id]
        sums.get_hits, sums.cmd_set = sums.get_hits + made.hits, sums.cmd_set + made.misses
        sums.evicted = sums.evicted + made.evicted
        self.hits, self.misses = self.hits + made.hits, self.misses + made.misses
        self.evicted = self.evicted + made.evicted
        local copy = {}
        for name, value in pairs(class) do
            copy[name] = value
        end
        copy.total_pages, copy.age, copy.number = self.pages[id], made.age, whole(made.number)
        copy.total_chunks = copy.total_pages * (class.chunks_per_page or 0)
        copy.used_chunks = math.min(copy.total_chunks, copy.number)
        copy.free_chunks = copy.total_chunks - copy.used_chunks
        copy.get_hits, copy.cmd_set = whole(sums.get_hits), whole(sums.cmd_set)
        copy.evicted = whole(sums.evicted)
        classes[i] = copy
    end
    return { schema = after.schema, time_s = after.time_s, server = after.server, version = after.version,
        slated = after.slated, general = { pid = after.general.pid, uptime = after.general.uptime }, classes = classes,
        pages_limit = after.pages_limit, pages_free = self.pool, totals = {} }
end

function Rehearsal:follow(moves)
    for _, one in ipairs(moves) do
        self.moves, self.moved = self.moves + 1, self.moved + one.pages
        for id, pages in pairs({ [one.from] = -one.pages, [one.to] = one.pages }) do
            if id == 0 then
                self.pool = self.pool + pages
            else
                self.pages[id] = self.pages[id] + pages
            end
        end
    end
end

--- Lets a policy decide over a recording as if its moves had been made.
-- running: of slate.policy, or nil: no page moves.
-- Returns { decisions, moves, pages, hits, requests, hit_ratio (nil without requests), evicted }; or nil, message.
function M.play(list, running)
    local self = setmetatable({ pages = {}, sums = {}, pool = list[1].pages_free or 0, moves = 0, moved = 0, hits = 0,
        misses = 0, evicted = 0 }, Rehearsal)
    for _, class in ipairs(list[1].classes) do
        self.pages[class.id], self.sums[class.id] = class.total_pages or 0, counters_of(class)
    end
    local decisions = 0
    for i = 1, #list do
        local now = self:imagine(list[math.max(1, i - 1)], list[i])
        local moves, problem
        if running then
            moves, problem = running:feed(now)
        end
        if moves then
            decisions = decisions + 1
            self:follow(moves)
        elseif problem then
            return nil, problem
        end
    end
    local requests = self.hits + self.misses
    return { decisions = decisions, moves = self.moves, pages = self.moved, hits = whole(self.hits),
        requests = whole(requests), hit_ratio = requests > 0 and self.hits / requests or nil,
        evicted = whole(self.evicted) }
end

--- The same figures as they were recorded, without the decisions.
function M.recorded(list)
    local sums = { hits = 0, requests = 0, evicted = 0 }
    for i = 2, #list do
        local was = {}
        for _, class in ipairs(list[i - 1].classes) do
            was[class.id] = class
        end
        for _, class in ipairs(list[i].classes) do
            local made = outcome(was[class.id] or class, class, class.total_pages or 0, 1)
            sums.hits, sums.requests = sums.hits + made.hits, sums.requests + made.hits + made.misses
            sums.evicted = sums.evicted + made.evicted
        end
    end
    sums.hit_ratio = sums.requests > 0 and sums.hits / sums.requests or nil
    return sums
end

return M
