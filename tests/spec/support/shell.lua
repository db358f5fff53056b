-- SPDX-License-Identifier: BSD-3-Clause
--- Programs of the system, run by a shell.
local M = {}

--- Runs a command. Returns its output, with standard error, and its exit status.
function M.run(command)
    local pipe = assert(io.popen(command .. " 2>&1"))
    local output = pipe:read("a")
    local _, _, code = pipe:close()
    return output, code
end

--- True when a program can be found.
function M.has(program) return select(2, M.run("command -v " .. program)) == 0 end

return M
