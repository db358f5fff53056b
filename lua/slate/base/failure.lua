-- SPDX-License-Identifier: BSD-3-Clause
--- Ends a command of slatectl when a call fails for an expected reason.
--
-- The library answers nil, message, code. A command that cannot go on without the answer wraps the call in `must`; then
-- the command ends with that message and code, at any depth of calls. <close> variables free what the command holds.
local M = {}

--- Returns its arguments unchanged. If the first is nil or false, the command ends with the second and the third, a
-- message and a code of slate.cli.command_line. A missing message is a mistake of the caller.
function M.must(answer, message, code, ...)
    if not answer then
        assert(message, "an answer is missing, and so is the reason")
        error({ message = message, code = code }, 0)
    end
    return answer, message, code, ...
end

--- Raises an error in the caller's caller unless an argument is a table. usage: the call as it should be.
function M.wants_table(argument, usage)
    if type(argument) ~= "table" then
        error(("%s, not a %s"):format(usage, type(argument)), 3)
    end
end

--- Runs a command's function. Returns its results, or nil, message, code if `must` ended it. Other errors pass.
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
