-- SPDX-License-Identifier: BSD-3-Clause
--- The paths of an operator's own files. Pure.
--
-- Each file may have a variable that names its path. Else the file is below a folder of the XDG base directories; a
-- variable of these that is no absolute path does not count.
local M = {}

local FOLDERS <const> = {
    config = { variable = "XDG_CONFIG_HOME", at_home = "/.config" },
    state = { variable = "XDG_STATE_HOME", at_home = "/.local/state" },
}
local FILES <const> = {
    rules = { variable = "SLATE_RULES", folder = "config", name = "rules.lua" },
    servers = { variable = "SLATE_SERVERS", folder = "config", name = "servers" },
    audit = { variable = "SLATE_AUDIT", folder = "state", name = "audit.log" },
    options = { folder = "config", name = "slatetoprc" }, -- of slatetop, and so are the files below
    remembered = { folder = "state", name = "slatetop" },
}

local function absolute(path)
    return path and path:sub(1, 1) == "/" and path or nil
end

local function named_by_variable(one, environment)
    local path = one.variable and environment(one.variable)
    return path ~= "" and path or nil
end

--- True if the file's own variable (SLATE_RULES, ...) gives its path.
function M.is_named(file, environment)
    return named_by_variable(FILES[file], environment) ~= nil
end

--- The path of a file by its name in FILES; nil without a home. environment: os.getenv, or another such function.
function M.path(file, environment)
    local one = FILES[file]
    local named, folder = named_by_variable(one, environment), FOLDERS[one.folder]
    local home = absolute(environment("HOME"))
    local base = absolute(environment(folder.variable)) or home and home .. folder.at_home
    return named or base and base .. "/slate/" .. one.name or nil
end

return M
