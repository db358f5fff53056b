-- SPDX-License-Identifier: BSD-3-Clause
--- How a command of slatectl ends when something that can be expected fails.
--
-- The library answers nil, message, code. A command that cannot go on without the answer wraps the call in `must`; then
-- the command ends with that message and code, wherever it is. What it holds is given back by its <close> variables.
local M = {}

--- The arguments as they are; when the first is nil or false, the command ends with the second and the third, a
-- message and a code of slate.cli.main. It is a fault of the caller when there is no message.
function M.must(answer, message, code, ...)
    if not answer then
        assert(message, "an answer is missing, and so is the reason")
        error({ message = message, code = code }, 0)
    end
    return answer, message, code, ...
end

--- Runs a command's function: what it returns, or nil, message, code when it ended so. Other errors pass.
function M.caught(f, ...)
    local results = table.pack(pcall(f, ...))
    if results[1] then
        return table.unpack(results, 2, results.n)
    elseif type(results[2]) == "table" and results[2].message and results[2].code ~= "output" then
        return nil, results[2].message, results[2].code
    end
    error(results[2], 0)
end

return M
