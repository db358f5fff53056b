-- SPDX-License-Identifier: BSD-3-Clause
--- Finds entries of lists. Pure.
local M = {}

--- The place of a value in a list; nil if it is not there.
function M.place(list, value)
    for i, one in ipairs(list) do
        if one == value then
            return i
        end
    end
end

--- The place of the first table in a list whose field has a value, and the table; nil if there is none.
function M.by(list, field, value)
    for i, one in ipairs(list) do
        if one[field] == value then
            return i, one
        end
    end
end

return M
