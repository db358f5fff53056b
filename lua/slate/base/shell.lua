-- SPDX-License-Identifier: BSD-3-Clause
--- Words for a shell, commands, and what they left in a file.
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

--- Runs a command that reads nothing: its output goes where ours goes. As os.execute; but that has the process ignore
-- SIGINT for as long as the command runs, and an order to end that comes meanwhile would be lost.
-- @tparam string command
-- @treturn true|nil whether it ended with 0
-- @treturn string "exit" or "signal"; or why it did not start
-- @treturn integer its exit status, or the signal
function M.run(command)
    local pipe, problem = io.popen(command, "w")
    if not pipe then
        return nil, problem
    end
    return pipe:close()
end

--- The text of a file that a command has written, which goes; "" when there is none.
function M.read_and_remove(path)
    local file = io.open(path, "r")
    local text = file and file:read("a") or ""
    if file then
        file:close()
    end
    os.remove(path)
    return text
end

return M
