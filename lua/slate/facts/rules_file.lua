-- SPDX-License-Identifier: BSD-3-Clause
--- Where the file of an operator's own rules is. By itself, for slatetop looks there before it paints.
local M = {}

--- The path of the file: SLATE_RULES, else slate/rules.lua under XDG_CONFIG_HOME or ~/.config; nil without a home.
function M.path(environment)
    environment = environment or os.getenv
    local config = environment("XDG_CONFIG_HOME") or environment("HOME") and environment("HOME") .. "/.config"
    return environment("SLATE_RULES") or config and config .. "/slate/rules.lua"
end

return M
