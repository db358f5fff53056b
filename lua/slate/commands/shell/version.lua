-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl version: the version of slatectl.
local M = {}

function M.declare() end

function M.run(context)
    if context.json then
        context:out_json("slate/version/1", { slatectl = context.version })
    else
        context:out("slatectl ", context.version, "\n")
    end
    return 0
end

return M
