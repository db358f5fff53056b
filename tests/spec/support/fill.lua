-- SPDX-License-Identifier: BSD-3-Clause
--- Fills slab classes of a server, whatever its class sizes are.
local M = {}
local pipeline = require "support.pipeline"

-- The class in which a value of so many bytes lands.
local function class_of(client, value_bytes)
    assert(client:set("probe", ("x"):rep(value_bytes)))
    local reply = assert(client:meta("me", "probe"))
    client:delete("probe")
    for _, flag in ipairs(reply.flags) do
        local id = flag:match("^cls=(%d+)$")
        if id then
            return math.tointeger(tonumber(id))
        end
    end
    error("me does not tell the class")
end

--- The bytes of a value that lands in the middle of class `id`, by bisection.
function M.value_bytes(client, id)
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

local function pages_of(client, id)
    for _, line in ipairs(assert(client:stats("slabs"))) do
        local pages = line:match("^STAT " .. id .. ":total_pages (%d+)$")
        if pages then
            return math.tointeger(tonumber(pages))
        end
    end
    return 0
end

M.pages_of = pages_of

local ROUND_ITEMS <const>, ROUNDS_WITHOUT_GROWTH <const> = 200, 40
local PATIENCE_S <const> = 60 -- only a hang takes as long

--- Stores items until class `id` holds `pages` pages, or, without `pages`, until it gets no more.
-- Returns how many it holds.
function M.fill(client, id, pages)
    local value = ("x"):rep(M.value_bytes(client, id))
    local held, stored, stuck = pages_of(client, id), 0, 0
    while held < (pages or math.huge) and stuck < ROUNDS_WITHOUT_GROWTH do
        local batch = pipeline(client)
        batch.timeout_s = PATIENCE_S
        for _ = 1, ROUND_ITEMS do
            stored = stored + 1
            batch:set(("fill-%d-%d"):format(id, stored), value)
        end
        local _, errors = batch:run()
        assert(not next(errors), table.concat(select(2, next(errors)) or {}, " "))
        local before = held
        held = pages_of(client, id)
        stuck = held > before and 0 or stuck + 1
    end
    return held
end

return M
