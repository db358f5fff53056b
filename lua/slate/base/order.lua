-- SPDX-License-Identifier: BSD-3-Clause
--- Sorts lists, the largest first, and takes their first entries. Pure.
local M = {}

local function receiver(of)
    return type(of) == "function" and of or function(one) return one[of] end
end

--- Sorts a list in place, the largest first, and returns it. of: the name of a number in each entry, or a function that
-- returns a number; entries without one come last. tie: as `of`, to order equal entries, the least first. Cost: each
-- number is read once.
function M.largest_first(list, of, tie)
    local size, number_of, tie_of = {}, receiver(of), receiver(tie)
    for _, one in ipairs(list) do
        size[one] = number_of(one) or -math.huge
    end
    table.sort(list, function(a, b)
        if size[a] ~= size[b] then
            return size[a] > size[b]
        end
        return tie_of(a) < tie_of(b)
    end)
    return list
end

--- The first `count` entries of a list, as a new list; all entries without a count.
function M.first(list, count)
    return table.move(list, 1, math.min(count or #list, #list), 1, {})
end

return M
