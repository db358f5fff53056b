-- SPDX-License-Identifier: BSD-3-Clause
--- Quotes words for a shell, runs commands, and reads files that they wrote.
local M = {}

--- Quotes a word so that a POSIX shell reads it unchanged; a plain word needs no quotes. For lines that are run and for
-- lines that are shown.
function M.word(word)
    local text = tostring(word)
    return text:find("^[%w_./,:@%%+-]+$") and text or "'" .. text:gsub("'", "'\\''") .. "'"
end

--- Runs a command that reads nothing; its output goes to that of this process. os.execute would ignore SIGINT while the
-- command runs, so an interrupt that comes meanwhile would be lost. Returns as os.execute does: true or nil, "exit" or
-- "signal", and the status or the signal; or nil and why the command did not start.
function M.run(command)
    local pipe, problem = io.popen(command, "w")
    if not pipe then
        return nil, problem
    end
    return pipe:close()
end

--- Returns the text of a file that a command has written, and removes the file; "" if there is none.
function M.read_and_remove(path)
    local file <close> = io.open(path, "r")
    os.remove(path)
    return file and file:read("a") or ""
end

return M
