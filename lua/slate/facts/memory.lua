-- SPDX-License-Identifier: BSD-3-Clause
--- `stats memory` of slated: where the memory of the process is, and what is left of its limit. All in bytes.
local M = {}

--- Asks a server: a table from the names of `stats memory` to numbers; or nil, message, code ("unsupported": it is no
-- slated, or an older one).
function M.read(client)
    local lines, message, code = client:stats("memory")
    if not lines then
        return nil, message, code
    end
    return require("slate.facts.stats").figures(lines)
end

return M
