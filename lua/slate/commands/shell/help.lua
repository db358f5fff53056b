-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl help [COMMAND].
local M = {}

function M.declare(command)
    command:argument("topic", "The command to explain."):args("?"):argname("COMMAND")
end

local function rows_as_json()
    local list = {}
    for i, row in ipairs(require("slate.cli.main").COMMANDS) do
        list[i] = { name = row.name, summary = row.summary }
    end
    return list
end

function M.run(context, parsed)
    local cli = require "slate.cli.main"
    if context.json then
        context:out_json("slate/help/1", { commands = rows_as_json() })
        return 0
    end
    local parser = cli.parser(parsed.topic)
    if not parsed.topic then
        context:out(parser:get_help(), "\n")
        return 0
    end
    for _, command in ipairs(parser._commands) do
        if command._name == parsed.topic then
            context:out(command:get_help(), "\n")
            return 0
        end
    end
    return nil, ("there is no command '%s'; see 'slatectl help'"):format(parsed.topic), "usage"
end

return M
