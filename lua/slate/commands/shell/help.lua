-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl help [COMMAND [ACTION]].
local M = {}

function M.declare(command)
    command:argument("topic", "The command to explain."):args("?"):argname("COMMAND")
    command:argument("action", "An action of this command, such as run of policy."):args("?"):argname("ACTION")
end

-- True if the command's first argument is an action with this name; also without a name.
local function has_action(command, name)
    local first = command._arguments[1]
    local actions = " " .. table.concat(first and first._choices or {}, " ") .. " "
    return not name or actions:find(" " .. name .. " ", 1, true)
end

local function rows_as_json()
    local list = {}
    for i, row in ipairs(require("slate.cli.command_line").COMMANDS) do
        list[i] = { name = row.name, summary = row.summary }
    end
    return list
end

function M.run(context, parsed)
    local cli = require "slate.cli.command_line"
    if context.json then
        context:out_json("slate/help/1", { commands = rows_as_json() })
        return 0
    end
    local parser = cli.parser(parsed.topic)
    local found = not parsed.topic and parser or nil
    for _, command in ipairs(parser._commands) do
        found = command._name == parsed.topic and has_action(command, parsed.action) and command or found
    end
    if not found then
        local words = parsed.topic .. (parsed.action and " " .. parsed.action or "")
        return nil, ("there is no command '%s'; see 'slatectl help'"):format(words), "usage"
    end
    context:out(found:get_help(), "\n")
    return 0
end

return M
