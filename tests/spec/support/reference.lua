-- SPDX-License-Identifier: BSD-3-Clause
--- Eviction policies over objects of equal size, written from their papers with plain tables: slated's own are compared
--- with these. Slow, exact, and without a line in common with the daemon.
--
--     local cache = require("support.reference").lru(100)
--     local hit = cache("some key")      -- get; on a miss, set
local M = {}

-- A list of nodes from newest to oldest; `newest.older` leads to the oldest.
local function list() return { count = 0 } end

local function push(l, node)
    node.older, node.newer = l.newest, nil
    if l.newest then
        l.newest.newer = node
    else
        l.oldest = node
    end
    l.newest = node
    l.count = l.count + 1
end

local function remove(l, node)
    if node.newer then
        node.newer.older = node.older
    else
        l.newest = node.older
    end
    if node.older then
        node.older.newer = node.newer
    else
        l.oldest = node.newer
    end
    l.count = l.count - 1
end

local function pop(l)
    local node = l.oldest
    remove(l, node)
    return node
end

-- A cache of one queue. on_hit(queue, node) notes a hit, evict(queue) removes a node and returns that node.
local function simple(size, on_hit, evict)
    local queue, nodes = list(), {}
    return function(key)
        local node = nodes[key]
        if node then
            on_hit(queue, node)
            return true
        end
        if queue.count >= size then
            nodes[evict(queue).key] = nil
        end
        node = { key = key, hits = 0 }
        nodes[key] = node
        push(queue, node)
        return false
    end
end

--- First in, first out.
function M.fifo(size) return simple(size, function() end, pop) end

--- Least recently used.
function M.lru(size)
    return simple(size, function(queue, node)
        remove(queue, node)
        push(queue, node)
    end, pop)
end

--- CLOCK with one bit (Corbato, 1968), as a queue whose used nodes go round again.
function M.clock(size)
    return simple(size, function(_, node) node.hits = 1 end, function(queue)
        while queue.oldest.hits > 0 do
            local node = pop(queue)
            node.hits = 0
            push(queue, node)
        end
        return pop(queue)
    end)
end

--- SIEVE (Zhang and others, NSDI 2024): the hand goes from the oldest to newer nodes and clears bits; no node moves.
function M.sieve(size)
    local hand
    return simple(size, function(_, node) node.hits = 1 end, function(queue)
        local node = hand or queue.oldest
        while node.hits > 0 do
            node.hits = 0
            node = node.newer or queue.oldest
        end
        hand = node.newer
        remove(queue, node)
        return node
    end)
end

--- S3-FIFO (Yang and others, SOSP 2023, algorithm 1): a small queue of a tenth, a main queue, and as many ghosts as
--- main nodes.
function M.s3fifo(size)
    local small, main, ghosts, nodes, ghost_of = list(), list(), list(), {}, {}
    local small_size = math.max(1, size // 10)
    local main_size = size - small_size

    local function evict_main()
        while true do
            local node = pop(main)
            if node.hits == 0 then
                nodes[node.key] = nil
                return
            end
            node.hits = node.hits - 1
            push(main, node)
        end
    end

    local function remember(key)
        if ghosts.count >= main_size then
            ghost_of[pop(ghosts).key] = nil
        end
        ghost_of[key] = { key = key }
        push(ghosts, ghost_of[key])
    end

    local function evict_small()
        while small.count > 0 do
            local node = pop(small)
            if node.hits > 1 then
                node.hits, node.in_main = 0, true
                push(main, node)
                if main.count > main_size then
                    evict_main()
                end
            else
                nodes[node.key] = nil
                remember(node.key)
                return
            end
        end
    end

    return function(key)
        local node = nodes[key]
        if node then
            node.hits = math.min(node.hits + 1, 3)
            return true
        end
        while small.count + main.count >= size do
            if small.count >= small_size then
                evict_small()
            else
                evict_main()
            end
        end
        node = { key = key, hits = 0 }
        nodes[key] = node
        local ghost = ghost_of[key]
        if ghost then
            remove(ghosts, ghost)
            ghost_of[key] = nil
        end
        push(ghost and main or small, node)
        return false
    end
end

M.POLICIES = { "fifo", "clock", "lru", "sieve", "s3fifo" }

--- Plays a list of keys to a policy of that size; returns the misses.
function M.misses(policy, size, keys)
    local cache, misses = M[policy](size), 0
    for i = 1, #keys do
        if not cache(keys[i]) then
            misses = misses + 1
        end
    end
    return misses
end

return M
