-- SPDX-License-Identifier: BSD-3-Clause
--- What policies would have made of a recording: moves, and the hits that those should have led to.
--
-- A recording shows what happened with the pages that classes had. With others each class would have missed as its
-- curve says, which is fitted anew for every interval (slate.base.policy_curve's miss_curve). Servers count misses as
-- a whole only: they are shared out among the classes as stores are, so that hits and misses without moves are those
-- that were recorded. The policy is shown the server as it would have been then: pages, hits, stores, evictions,
-- items and ages. It is an estimate: keys do not change classes, cliffs are not seen, and a page that comes is full
-- at once.
local core = require "slate.base.policy_core"
local policy_curve = require "slate.base.policy_curve"

local M = {}

local function counters_of(class)
    return { get_hits = class.get_hits or 0, cmd_set = class.cmd_set or 0, evicted = class.evicted or 0 }
end

local function increase(was, class, name)
    return math.max(0, (class[name] or 0) - (was[name] or 0))
end

-- Hits, misses and evictions of a class in an interval, had it had `pages`. each: misses that a store stands for.
local function outcome(was, class, pages, seconds, each)
    local hits, evicted = increase(was, class, "get_hits"), increase(was, class, "evicted")
    local stores = increase(was, class, "cmd_set")
    local missed = stores * each
    local number, held = class.number or 0, class.total_pages or 0
    if pages == held or number == 0 or hits + missed == 0 then
        return { hits = hits, misses = missed, stores = stores, evicted = evicted, number = number,
            age = class.age or 0 }
    end
    local room = pages * (class.chunks_per_page or 1)
    local is_full = evicted > 0
    local items = is_full and number * pages / math.max(held, 1) or math.min(number, room)
    local misses = items >= number and not is_full and missed
        or math.min(hits + missed,
            policy_curve.miss_curve(hits + missed, missed, number, (class.age or 0) / seconds)(items))
    local grew = items >= number and not is_full
    local stored = missed > 0 and stores * misses / missed or stores + misses
    return {
        hits = hits + missed - misses, misses = misses, stores = stored, evicted = grew and 0 or stored,
        number = items // 1, age = math.floor((class.age or 0) * items / number),
    }
end

local Rehearsal = {}
Rehearsal.__index = Rehearsal

local function whole(n)
    return math.tointeger(math.floor(n + 0.5))
end

-- Pages that came out of the pool in an interval: they would have come with other moves, too.
function Rehearsal:grow(was, after)
    local fresh = 0
    for _, class in ipairs(after.classes) do
        fresh = fresh + (class.total_pages or 0)
    end
    for _, class in pairs(was) do
        fresh = fresh - (class.total_pages or 0)
    end
    for _, class in ipairs(after.classes) do
        local id, grown = class.id, (class.total_pages or 0) - (was[class.id] and was[class.id].total_pages or 0)
        local taken = self.pages[id] and math.max(0, math.min(grown, fresh)) or 0
        if taken > 0 then
            fresh, self.pages[id] = fresh - taken, self.pages[id] + taken
            self.pool = math.max(0, self.pool - taken)
        end
    end
end

-- The snapshot as it would have been, with the pages of now.
function Rehearsal:imagine(before, after)
    local seconds, was, classes = math.max(after.time_s - before.time_s, 1e-3), {}, {}
    local each, unknown = core.misses_a_store(before, after)
    self.misses = self.misses + unknown
    for _, class in ipairs(before.classes) do
        was[class.id] = class
    end
    self:grow(was, after)
    for i, class in ipairs(after.classes) do
        local id, earlier = class.id, was[class.id] or class
        if not self.pages[id] then -- it is new: its pages came from the pool
            self.pages[id], self.sums[id] = class.total_pages or 0, counters_of(class)
            self.pool = math.max(0, self.pool - (class.total_pages or 0))
        end
        local made, sums = outcome(earlier, class, self.pages[id], seconds, each), self.sums[id]
        sums.get_hits, sums.cmd_set = sums.get_hits + made.hits, sums.cmd_set + made.stores
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
-- running: of slate.policy.file, or nil: no page moves.
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
        local each, unknown = core.misses_a_store(list[i - 1], list[i])
        sums.requests = sums.requests + unknown
        for _, class in ipairs(list[i - 1].classes) do
            was[class.id] = class
        end
        for _, class in ipairs(list[i].classes) do
            local made = outcome(was[class.id] or class, class, class.total_pages or 0, 1, each)
            sums.hits, sums.requests = sums.hits + made.hits, sums.requests + made.hits + made.misses
            sums.evicted = sums.evicted + made.evicted
        end
    end
    sums.hit_ratio = sums.requests > 0 and sums.hits / sums.requests or nil
    return sums
end

return M
