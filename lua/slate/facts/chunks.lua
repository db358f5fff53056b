-- SPDX-License-Identifier: BSD-3-Clause
--- Chunk sizes of a server, those of empty classes too, and the class of an item by its size.
--
-- memcached lists only classes that hold pages. The others are computed from its settings, as memcached does at its
-- start. Computed sizes count only if every listed class has its computed size. With a list of sizes (-o slab_sizes)
-- one class may have its computed size by chance.
local M = {}

M.PAGE_BYTES = 1048576
M.ALIGN_BYTES = 8
M.MOST_CLASSES = 63
M.MEMCACHED_HEADER_BYTES = 48
local AGREEING_LEAST <const> = 2 -- listed classes with computed sizes: one may have its by chance

--- Rounds a size up to the alignment of chunks.
function M.aligned(bytes)
    return (bytes + M.ALIGN_BYTES - 1) // M.ALIGN_BYTES * M.ALIGN_BYTES
end

--- The ascending chunk sizes that memcached computes from a growth factor. Pure.
-- room_bytes: its option -n; chunk_max_bytes: slab_chunk_max.
function M.by_factor(factor, room_bytes, chunk_max_bytes)
    local sizes, size = {}, M.MEMCACHED_HEADER_BYTES + room_bytes
    while #sizes < M.MOST_CLASSES - 1 and size < chunk_max_bytes / factor do
        sizes[#sizes + 1] = M.aligned(math.floor(size))
        size = sizes[#sizes] * factor
    end
    sizes[#sizes + 1] = chunk_max_bytes
    return sizes
end

local function computed(now)
    local settings = now.settings or {}
    local factor, room, most = settings.growth_factor, settings.chunk_size, settings.slab_chunk_max
    if not (math.type(room) and math.type(factor) and math.type(most) and factor > 1) then
        return nil
    end
    local list, agreeing = {}, 0
    for id, bytes in ipairs(M.by_factor(factor, room, most)) do
        list[id] = { id = id, chunk_bytes = bytes }
    end
    for _, class in ipairs(now.classes) do
        if class.chunk_size and not (list[class.id] and list[class.id].chunk_bytes == class.chunk_size) then
            return nil
        end
        agreeing = agreeing + (class.chunk_size and 1 or 0)
    end
    return list, agreeing >= AGREEING_LEAST and "all" or "computed"
end

--- True if values longer than the largest chunk are chained: then the server reports slab_chunk_max.
function M.has_chains(now)
    return (now.settings or {}).slab_chunk_max ~= nil or now.slated ~= nil
end

--- A warning about classes whose sizes are known in this way (of M.classes); nil if none is needed.
function M.doubt(known_by)
    return known_by == "listed" and "this server does not report the chunk sizes of classes without pages: a class may "
        .. "be too large" or known_by == "computed" and "computed from growth_factor: the server lists too few classes "
        .. "to check that it has these chunk sizes" or nil
end

--- The classes of a server: a list of { id, chunk_bytes }, smallest chunks first, and the source: "all"; or "computed"
-- from its settings, if fewer than two listed classes agree; or "listed", an incomplete list. Or nil, message, code.
-- client: open; answers `stats geometry` if `now`, a snapshot with settings, is of a slated.
function M.classes(client, now)
    if now.slated then
        local change, classes, code = require("slate.facts.geometry").read(client)
        if not change and code ~= "unsupported" then
            return nil, classes, code
        elseif change then
            local list = {}
            for _, class in ipairs(classes) do
                if class.class_state ~= "retired" then
                    list[#list + 1] = { id = class.id, chunk_bytes = class.chunk_size }
                end
            end
            return list, "all"
        end
    end
    local list, known_by = computed(now)
    if list then
        return list, known_by
    end
    list = {}
    for _, class in ipairs(now.classes) do
        if (class.chunk_size or 0) > 0 then
            list[#list + 1] = { id = class.id, chunk_bytes = class.chunk_size }
        end
    end
    table.sort(list, function(a, b) return a.chunk_bytes < b.chunk_bytes end)
    return list, "listed"
end

-- The bytes of an item besides its key and value: slated's header, plus a count of readers if the value is lent for
-- sending; or memcached's header and the ends of key and value, which are stored.
local SLATED_HEADER_BYTES <const>, BORROWED_ABOVE_BYTES <const>, BORROWED_BYTES <const> = 24, 2048, 4
local MEMCACHED_ENDS_BYTES <const> = 3
local CAS_BYTES <const>, FLAGS_BYTES <const> = 8, 4

--- The bytes of an item of a slated, or of a memcached from 1.5 on. now: a snapshot of the server, with settings;
-- has_flags: true if the client's flags are not 0.
function M.item_bytes(now, value_bytes, key_bytes, has_flags)
    local bytes = key_bytes + value_bytes + (has_flags and FLAGS_BYTES or 0)
    if (now.settings or {}).cas_enabled ~= false then
        bytes = bytes + CAS_BYTES
    end
    if now.slated then
        return bytes + SLATED_HEADER_BYTES + (value_bytes > BORROWED_ABOVE_BYTES and BORROWED_BYTES or 0)
    end
    return bytes + M.MEMCACHED_HEADER_BYTES + MEMCACHED_ENDS_BYTES
end

--- The class for an item of this size, header included; nil if the item needs a chain of chunks.
function M.class_of(classes, bytes)
    for _, class in ipairs(classes) do
        if class.chunk_bytes >= bytes then
            return class
        end
    end
    return nil
end

return M
