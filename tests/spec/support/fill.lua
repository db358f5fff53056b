-- SPDX-License-Identifier: BSD-3-Clause
--- Fills slab classes of a server, whatever its class sizes are.
local M = {}

-- The class in which a value of so many bytes lands.
local function class_of(client, value_bytes)
    local key = "probe-of-fill" -- as long as the keys of items, or shorter
    assert(client:set(key, ("x"):rep(value_bytes)))
    local reply = assert(client:meta("me", key))
    client:delete(key)
    for _, flag in ipairs(reply.flags) do
        local id = flag:match("^cls=(%d+)$")
        if id then
            return math.tointeger(tonumber(id))
        end
    end
    error("me does not tell the class")
end

--- The bytes of a value that lands in class `id`: computed where the sizes are the default ones, since each class that
-- is tried takes a page; otherwise by bisection.
function M.value_bytes(client, id)
    local usual = math.floor(0.93 * 96 * 1.25 ^ (id - 1)) - 62
    if usual > 0 and class_of(client, usual) == id then
        return usual
    end
    local low, high = 1, 300000
    while low < high do
        local middle = (low + high) // 2
        if class_of(client, middle) < id then
            low = middle + 1
        else
            high = middle
        end
    end
    assert(class_of(client, low) == id, "no value lands in class " .. id)
    return low
end

-- A figure of class `id` in stats slabs; 0 when the class is missing.
local function figure(client, id, name)
    for _, line in ipairs(assert(client:stats("slabs"))) do
        local value = line:match("^STAT " .. id .. ":" .. name .. " (%d+)$")
        if value then
            return math.tointeger(tonumber(value))
        end
    end
    return 0
end

function M.pages_of(client, id) return figure(client, id, "total_pages") end

local ROUND_ITEMS <const> = 200

--- Stores items until class `id` holds `pages` pages, or until two more pages of items brought no page. Returns the
-- number of its pages.
function M.fill(client, id, pages)
    local value = ("x"):rep(M.value_bytes(client, id))
    local held, stored, stuck = M.pages_of(client, id), 0, 0
    while held < (pages or math.huge) and stuck * ROUND_ITEMS <= 2 * figure(client, id, "chunks_per_page") do
        local lines = {}
        for i = 1, ROUND_ITEMS do
            stored = stored + 1
            lines[i] = ("set fill-%d-%06d 0 0 %d noreply\r\n%s\r\n"):format(id, stored, #value, value)
        end
        assert(client:send(table.concat(lines)))
        local before = held
        held = M.pages_of(client, id)
        stuck = held > before and 0 or stuck + 1
    end
    return held
end

return M
