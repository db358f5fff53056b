-- An eviction policy for `slatectl simulate TRACE --memory 64m --policy-file gdsf.lua`: GreedyDual-Size-Frequency.
--
-- Of every key it reckons what keeping it is worth: how often it was read, by what it takes. The one worth least goes,
-- and its worth is then added to that of all who come or are read later, so that what nobody reads any more grows old.
-- Source: Cherkasova, "Improving WWW Proxies Performance with Greedy-Dual-Size-Frequency Caching Policy", 1998.

-- A heap of keys, the one worth least on top.
local function swap(heap, a, b)
    local keys = heap.keys
    keys[a], keys[b] = keys[b], keys[a]
    heap.at[keys[a]], heap.at[keys[b]] = a, b
end

local function rise(heap, i)
    while i > 1 and heap.worth[heap.keys[i]] < heap.worth[heap.keys[i // 2]] do
        swap(heap, i, i // 2)
        i = i // 2
    end
end

local function sink(heap, i)
    while true do
        local least = i
        for child = 2 * i, 2 * i + 1 do
            if heap.keys[child] and heap.worth[heap.keys[child]] < heap.worth[heap.keys[least]] then
                least = child
            end
        end
        if least == i then
            return
        end
        swap(heap, i, least)
        i = least
    end
end

local function set_worth(heap, key, bytes)
    heap.worth[key] = heap.age + heap.reads[key] / bytes
    local i = heap.at[key]
    rise(heap, i)
    sink(heap, heap.at[key])
end

return {
    name = "gdsf",
    summary = "the least read for its size goes first",

    -- A cache begins; cache.capacity is what it holds, in objects where cache.by_objects, else in bytes.
    init = function()
        return { keys = {}, at = {}, worth = {}, reads = {}, age = 0 }
    end,

    -- A key that was not there is stored.
    store = function(heap, key, bytes)
        heap.reads[key], heap.worth[key] = 1, math.huge
        heap.keys[#heap.keys + 1] = key
        heap.at[key] = #heap.keys
        set_worth(heap, key, bytes)
    end,

    -- A key that is there was read, or stored again with the same size.
    hit = function(heap, key, bytes)
        heap.reads[key] = heap.reads[key] + 1
        set_worth(heap, key, bytes)
    end,

    -- Which key is to go.
    victim = function(heap)
        heap.age = heap.worth[heap.keys[1]]
        return heap.keys[1]
    end,

    -- A key has gone: evicted, deleted, expired, or stored with another size, which comes next.
    gone = function(heap, key)
        local i, last = heap.at[key], #heap.keys
        swap(heap, i, last)
        heap.keys[last], heap.at[key], heap.worth[key], heap.reads[key] = nil, nil, nil, nil
        if heap.keys[i] then
            rise(heap, i)
            sink(heap, i)
        end
    end,
}
