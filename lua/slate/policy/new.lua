-- SPDX-License-Identifier: BSD-3-Clause
--- The skeleton that `slatectl policy new` writes: a whole policy that decides something, with a word on each part.
local M = {}

local SKELETON <const> = [==[
-- What @NAME@ does, in a sentence; below, what it is good at and where it is wrong. slate-policies(7) is the guide.
-- Source: who thought of it, if it was not you.

-- `before` and `after` are snapshots, `state` is what init returned. Here: who refuses stores gets a page of the
-- class that has most pages.
local function decide(before, after, state)
    local richest
    for _, class in ipairs(after.classes) do
        if not richest or class.total_pages > richest.total_pages then
            richest = class
        end
    end
    for _, class in ipairs(after.classes) do
        -- Counters grow: what happened since the snapshot before is the difference, and is never negative.
        local refused = class.outofmemory - before.by_id[class.id].outofmemory
        if refused >= state.settings.least and class.id ~= richest.id and richest.total_pages > 1 then
            -- Up to 8 moves of up to 8 pages. from or to may be 0, the pool of pages that no class has.
            return { { from = richest.id, to = class.id, pages = 1,
                reason = ("class %d refused %d stores"):format(class.id, refused) } }
        end
    end
    return {}, "no class refuses stores" -- why nothing moves, shown to people
end

return {
    name = "@NAME@", -- as the file
    summary = "a class that refuses stores gets a page of the richest",
    -- Given as name=value: slatectl policy run ./@NAME@.lua least=5
    settings = {
        window_s = { default = 1, min = 0, max = 3600, unit = "seconds", help = "between two decisions" },
        least = { default = 1, min = 1, max = 1000000, unit = "stores", help = "fewer are ignored" },
    },
    -- Called once. What it returns is kept from one decision to the next.
    init = function(settings)
        return { settings = settings }
    end,
    decide = decide,
    -- `slatectl policy test ./@NAME@.lua` runs these. What a class leaves out is as in a full class of 10 pages.
    checks = {
        { name = "a class that refuses stores gets a page", seconds = 2, moves = "3>7",
            says = "class 7 refused 2 stores",
            classes = function(second)
                return { { id = 3 }, { id = 7, total_pages = 5, outofmemory = second * 2 } }
            end },
        { name = "few are ignored", settings = "least=5", seconds = 2, moves = "", says = "no class refuses stores",
            classes = function(second)
                return { { id = 3 }, { id = 7, total_pages = 5, outofmemory = second * 2 } }
            end },
    },
}
]==]

--- The source of a new policy.
function M.source(name)
    return (SKELETON:gsub("@NAME@", function() return name end))
end

--- Writes a new policy to a path that must not exist. Returns true, or nil, message, code.
function M.write(path, name)
    if require("slate.base.input").kind(path) then
        return nil, path .. " exists: nothing was written", "usage"
    end
    return require("slate.chart.picture").write_file(path, M.source(name))
end

return M
