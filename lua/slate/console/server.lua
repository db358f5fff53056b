-- SPDX-License-Identifier: BSD-3-Clause
--- What a snapshot says about its server: the program, what it allows, and figures of which versions differ. Pure.
local M = {}

--- "slated" or "memcached".
function M.software(now)
    return now.slated and "slated" or "memcached"
end

--- The version of this program; "" when unknown. slated's `version` is that of memcached that it is compatible with.
function M.version(now)
    return now.slated or now.version or ""
end

--- The server as slate.facts.settings and slate.facts.store want to know it.
function M.who(now)
    return { version = now.version, slated = now.slated, store = now.store }
end

--- True if slatetop may change the server: its role is admin, or the server has no roles.
function M.may_change(now)
    return not now.role or now.role == "admin"
end

--- True if memcached writes to flash. Its settings for flash are there without flash, too.
function M.has_extstore(now)
    return now.general.extstore_limit_maxbytes ~= nil
end

--- Free chunks of a class, with the never-used end of its last page that old servers list apart; nil if unknown.
function M.free_chunks(class)
    return class.free_chunks and class.free_chunks + (class.free_chunks_end or 0)
end

--- Pages that the free chunks of a class would fill, were they packed: these it could donate cheaply. nil if unknown.
function M.free_pages(class)
    local free = M.free_chunks(class)
    return free and class.chunks_per_page and free / class.chunks_per_page
end

--- Age of the oldest item that eviction could take; nil for an empty class, which reports 0, or an unknown one.
function M.tail_age_s(class)
    return class.number ~= 0 and class.age or nil
end

return M
