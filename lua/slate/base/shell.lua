-- SPDX-License-Identifier: BSD-3-Clause
--- Words for a shell.
-- @module slate.base.shell
local M = {}

--- A word as a POSIX shell takes it back unchanged: in quotes, unless it is plain. Good for a line that is run and for
-- one that is shown.
-- @tparam string|number word
-- @treturn string
function M.word(word)
    local text = tostring(word)
    return text:find("^[%w_./,:@%%+-]+$") and text or "'" .. text:gsub("'", "'\\''") .. "'"
end

return M
