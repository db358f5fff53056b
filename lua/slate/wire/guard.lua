-- SPDX-License-Identifier: BSD-3-Clause
--- Which commands of the protocol leave a server unchanged. An unknown command counts as a write.
local gather = require "slate.base.gather"

local M = {}

local READS <const> = {
    version = true, get = true, gets = true, me = true, mn = true, watch = true, quit = true, verbosity = false,
}
-- Groups of statistics that switch a collection on or off, or reset counters.
local WRITING_GROUPS <const> = { reset = true, sizes_enable = true, sizes_disable = true }
-- Flags with which a meta get only reads. The other flags store, touch or delete.
local READING_FLAGS <const> = "^[bcfhklOqstuvx]"

local SECOND_WORDS <const> = {
    stats = function(second, third)
        return not (WRITING_GROUPS[second] or second == "detail" and third ~= "dump")
    end,
    lru_crawler = function(second) return second == "metadump" or second == "mgdump" end,
    config = function(second) return second == "get" end,
}

--- True if a command line only reads. Pure.
function M.is_read(line)
    local words = gather.words(line)
    local check = SECOND_WORDS[words[1]]
    if check then
        return check(words[2], words[3])
    elseif words[1] == "mg" then
        for i = 3, #words do
            if not words[i]:find(READING_FLAGS) then
                return false
            end
        end
        return true
    end
    return READS[words[1]] == true
end

return M
