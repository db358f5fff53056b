-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl version: the version of slatectl.
local M = {}

function M.declare() end

function M.run(context)
    return context:answer("slate/version/1", { slatectl = context.version }, function()
        context:out("slatectl ", context.version, "\n")
    end)
end

return M
